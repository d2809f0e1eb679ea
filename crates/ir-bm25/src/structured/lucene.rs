//! Lucene's classic query syntax.

use std::fmt;

use super::error::QueryParseError;
use super::query::{BooleanClause, MAX_DEPTH, Occur, StructuredQuery};
use super::text::QueryText;

pub(super) fn parse(query: &str) -> Result<StructuredQuery, QueryParseError> {
    let mut text = QueryText::new(query);
    let parsed = clauses(&mut text, 0)?;
    match text.peek() {
        None => Ok(parsed),
        Some(_) => Err(text.error("no closing parenthesis without an opening one")),
    }
}

/// Returns `true` if a character may occur in a word without a backslash.
fn is_word_char(c: char) -> bool {
    !c.is_whitespace() && !r#"+-!(){}[]^"~*?:\/&|"#.contains(c)
}

/// Returns `true` if a character may follow the first one of a word: as in Lucene, also `-` and
/// `+`. Wildcards end a word.
fn is_inner_word_char(c: char) -> bool {
    is_word_char(c) || "+-!/&|".contains(c)
}

/// A word, or the name of a field, that is read back as one.
pub(super) fn escaped_word(word: &str) -> String {
    match word {
        "AND" | "OR" | "NOT" => format!("\\{word}"),
        _ => escaped(word, is_word_char),
    }
}

/// The text of a phrase between quotation marks.
pub(super) fn escaped_phrase(text: &str) -> String {
    escaped(text, |c| !matches!(c, '"' | '\\'))
}

fn escaped(text: &str, accepts: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if !accepts(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Operator between two clauses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    None,
    And,
    Or,
}

/// Clauses up to a closing parenthesis or the end.
fn clauses(text: &mut QueryText<'_>, depth: usize) -> Result<StructuredQuery, QueryParseError> {
    if depth > MAX_DEPTH {
        return Err(text.error(format!("at most {MAX_DEPTH} nested parentheses")));
    }
    let mut all: Vec<BooleanClause> = Vec::new();
    loop {
        text.skip_white_space();
        let operator = if all.is_empty() {
            Operator::None
        } else {
            operator(text)
        };
        text.skip_white_space();
        if matches!(text.peek(), None | Some(')')) {
            if operator != Operator::None {
                return Err(text.error("a query after AND or OR"));
            }
            break;
        }
        let negated = keyword(text, "NOT") || text.skip('!');
        text.skip_white_space();
        let occur = match (negated, text.peek()) {
            (true, _) => Occur::MustNot,
            (_, Some('+')) => Occur::Must,
            (_, Some('-')) => Occur::MustNot,
            _ if operator == Operator::And => Occur::Must,
            _ => Occur::Should,
        };
        if !negated && matches!(text.peek(), Some('+' | '-')) {
            text.next();
        }
        if operator == Operator::And
            && let Some(before) = all.last_mut()
            && before.occur == Occur::Should
        {
            before.occur = Occur::Must;
        }
        let query = weighted(text, depth)?;
        all.push(BooleanClause { occur, query });
    }
    Ok(match &*all {
        [only] if only.occur == Occur::Should => all.remove(0).query,
        _ => StructuredQuery::Boolean(all),
    })
}

/// `AND`, `OR`, `&&` or `||`.
fn operator(text: &mut QueryText<'_>) -> Operator {
    for (names, operator) in [(["AND", "&&"], Operator::And), (["OR", "||"], Operator::Or)] {
        if names.into_iter().any(|name| keyword(text, name)) {
            return operator;
        }
    }
    Operator::None
}

/// Skips a keyword that white space, a sign or a parenthesis follows.
fn keyword(text: &mut QueryText<'_>, name: &str) -> bool {
    let Some(rest) = text.rest().strip_prefix(name) else {
        return false;
    };
    let ends = rest
        .chars()
        .next()
        .is_none_or(|c| c.is_whitespace() || "(\"+-!".contains(c));
    if ends {
        text.skip_bytes(name.len());
    }
    ends
}

/// A query with an optional weight.
fn weighted(text: &mut QueryText<'_>, depth: usize) -> Result<StructuredQuery, QueryParseError> {
    let query = primary(text, None, depth)?;
    Ok(if text.skip('^') {
        query.with_weight(text.number()?)
    } else {
        query
    })
}

/// A word, a phrase, or clauses in parentheses, with an optional field.
fn primary(
    text: &mut QueryText<'_>,
    field: Option<&str>,
    depth: usize,
) -> Result<StructuredQuery, QueryParseError> {
    let of_field = field.map(str::to_owned);
    if text.skip('(') {
        let query = clauses(text, depth + 1)?;
        if !text.skip(')') {
            return Err(text.error("a closing parenthesis"));
        }
        return Ok(match field {
            Some(field) => query.with_field(field),
            None => query,
        });
    }
    if text.skip('"') {
        let words = characters(text, |c| c != '"')?;
        if !text.skip('"') {
            return Err(text.error("a closing quotation mark"));
        }
        let mut slop = 0;
        if text.skip('~') {
            slop = text.integer(0, "a number of positions after ~")?;
        }
        return Ok(match slop {
            0 => StructuredQuery::Window {
                field: of_field,
                text: words,
                ordered: true,
                width: 1,
            },
            slop => StructuredQuery::SloppyPhrase {
                field: of_field,
                text: words,
                slop,
            },
        });
    }
    let start = text.peek().is_some_and(|c| is_word_char(c) || c == '\\');
    if !start && !matches!(text.peek(), Some('*' | '?')) {
        return Err(text.error("a word, a quotation mark or an opening parenthesis"));
    }
    let word = characters(text, is_inner_word_char)?;
    if matches!(text.peek(), Some('*' | '?' | '~')) {
        return Err(text.error("no wildcards or fuzzy words (a backslash escapes *, ? and ~)"));
    }
    if field.is_none() && text.skip(':') {
        return primary(text, Some(&word), depth);
    }
    Ok(StructuredQuery::Text {
        field: of_field,
        text: word,
    })
}

/// Characters that are accepted or escaped by a backslash.
fn characters(
    text: &mut QueryText<'_>,
    accepts: impl Fn(char) -> bool,
) -> Result<String, QueryParseError> {
    let mut found = String::new();
    loop {
        found += text.take_while(|c| c != '\\' && accepts(c));
        if !text.skip('\\') {
            return Ok(found);
        }
        match text.next() {
            Some(c) => found.push(c),
            None => return Err(text.error("a character after the backslash")),
        }
    }
}

/// Prints the query in Lucene's syntax; windows that are not phrases as `#odN(...)` and `#uwN(...)`
/// and synonyms as `#syn(...)`, which Lucene does not have.
impl fmt::Display for StructuredQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn prefix(f: &mut fmt::Formatter<'_>, field: Option<&String>) -> fmt::Result {
            field.map_or(Ok(()), |field| write!(f, "{}:", escaped_word(field)))
        }
        match self {
            Self::Text { field, text } => {
                prefix(f, field.as_ref())?;
                match escaped_word(text) {
                    word if !text.is_empty() && word == *text => f.write_str(text),
                    escaped => write!(f, "({escaped})"),
                }
            }
            Self::Window {
                field,
                text,
                ordered,
                width,
            } => {
                prefix(f, field.as_ref())?;
                match (ordered, width) {
                    (true, 1) => write!(f, "\"{}\"", escaped_phrase(text)),
                    (true, width) => write!(f, "#od{width}({text})"),
                    (false, width) => write!(f, "#uw{width}({text})"),
                }
            }
            Self::SloppyPhrase { field, text, slop } => {
                prefix(f, field.as_ref())?;
                write!(f, "\"{}\"~{slop}", escaped_phrase(text))
            }
            Self::Synonyms(parts) => {
                f.write_str("#syn(")?;
                for (at, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if at == 0 { "" } else { " " })?;
                }
                f.write_str(")")
            }
            Self::Boolean(clauses) => {
                for (at, BooleanClause { occur, query }) in clauses.iter().enumerate() {
                    let sign = match occur {
                        Occur::Must => "+",
                        Occur::Should => "",
                        Occur::MustNot => "-",
                    };
                    let space = if at == 0 { "" } else { " " };
                    match query {
                        Self::Boolean(_) => write!(f, "{space}{sign}({query})")?,
                        _ => write!(f, "{space}{sign}{query}")?,
                    }
                }
                Ok(())
            }
            Self::Weighted { weight, query } => match **query {
                Self::Boolean(_) | Self::Weighted { .. } => write!(f, "({query})^{weight}"),
                _ => write!(f, "{query}^{weight}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::QuerySyntax;
    use proptest::prelude::*;

    fn parsed(query: &str) -> String {
        QuerySyntax::Lucene.parse(query).unwrap().to_string()
    }

    #[test]
    fn queries_in_canonical_form() {
        for (query, expected) in [
            ("", ""),
            ("  tea ", "tea"),
            ("green tea", "green tea"),
            ("green AND tea OR milk", "+green +tea milk"),
            ("green && tea || NOT milk", "+green +tea -milk"),
            ("green NOT milk !sugar", "green -milk -sugar"),
            ("+green -milk", "+green -milk"),
            (
                "title:(green +tea) text:milk",
                "(title:green +title:tea) text:milk",
            ),
            ("(a b)^2.5 c^0.5", "(a b)^2.5 c^0.5"),
            (
                r#""green tea"~0 "green tea"~6"#,
                r#""green tea" "green tea"~6"#,
            ),
            (r#"title:"green tea"^3"#, r#"title:"green tea"^3"#),
            (
                "covid-19 c++ AT&T either/or",
                r"(covid\-19) (c\+\+) (AT\&T) (either\/or)",
            ),
            (r"1\:2 \(x\)", r"(1\:2) (\(x\))"),
            (r"te\* what\?", r"(te\*) (what\?)"),
            (
                r#"title:"covid-19 vaccine"~2"#,
                r#"title:"covid-19 vaccine"~2"#,
            ),
            ("((a))", "a"),
            ("ORANGE ANDROID NOTES", "ORANGE ANDROID NOTES"),
        ] {
            assert_eq!(parsed(query), expected, "{query}");
        }
    }

    #[test]
    fn errors_name_the_position() {
        for (query, expected) in [
            (
                "tea AND",
                "character 8: expected a query after AND or OR, found the end",
            ),
            (
                "(tea milk",
                "character 10: expected a closing parenthesis, found the end",
            ),
            (
                "tea) milk",
                r#"character 4: expected no closing parenthesis without an opening one, found ")""#,
            ),
            (
                "\"tea",
                "character 5: expected a closing quotation mark, found the end",
            ),
            (
                "tea^x",
                r#"character 5: expected a number above 0, at most 1e9, found "x""#,
            ),
            (
                "tea^0",
                r#"character 5: expected a number above 0, at most 1e9, found "0""#,
            ),
            (
                "grün \"a b\"~ x",
                r#"character 12: expected a number of positions after ~, 0 to 4294967295, found white space before "x""#,
            ),
            (
                "tea : milk",
                r#"character 5: expected a word, a quotation mark or an opening parenthesis, found ":""#,
            ),
            (
                "tea te*",
                r#"character 7: expected no wildcards or fuzzy words (a backslash escapes *, ? and ~), found "*""#,
            ),
            (
                "title:t?a",
                r#"character 8: expected no wildcards or fuzzy words (a backslash escapes *, ? and ~), found "?a""#,
            ),
            (
                "*",
                r#"character 1: expected no wildcards or fuzzy words (a backslash escapes *, ? and ~), found "*""#,
            ),
            (
                "team~2",
                r#"character 5: expected no wildcards or fuzzy words (a backslash escapes *, ? and ~), found "~2""#,
            ),
            (
                "[a TO b]",
                r#"character 1: expected a word, a quotation mark or an opening parenthesis, found "[a""#,
            ),
            (
                "tea \\",
                "character 6: expected a character after the backslash, found the end",
            ),
        ] {
            let error = QuerySyntax::Lucene.parse(query).unwrap_err();
            assert_eq!(error.to_string(), expected, "{query}");
        }
        let deep = "(".repeat(100_000);
        let error = QuerySyntax::Lucene.parse(&deep).unwrap_err();
        assert!(error.expected.contains("64 nested"), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_is_a_query_or_an_error(
            query in r#"([ab :+"()\\^~.1-]|AND|OR |NOT ){0,30}|\PC{0,20}"#,
        ) {
            if let Ok(parsed) = QuerySyntax::Lucene.parse(&query) {
                // What is printed is a query too, which prints the same.
                let printed = parsed.to_string();
                match QuerySyntax::Lucene.parse(&printed) {
                    Ok(again) => prop_assert_eq!(again.to_string(), printed, "{}", query),
                    Err(error) => prop_assert!(false, "{query}: {printed}: {error}"),
                }
            }
            // Windows and synonyms, which are printed with `#`, have no syntax of Lucene.
            if let Ok(parsed) = QuerySyntax::Indri.parse(&query)
                && !query.contains('#')
            {
                let printed = parsed.to_string();
                let again = QuerySyntax::Lucene.parse(&printed).unwrap();
                prop_assert_eq!(again.to_string(), printed, "{}", query);
            }
        }
    }
}
