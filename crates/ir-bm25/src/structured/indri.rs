//! Indri's query language, as far as [`StructuredQuery`] covers it.

use super::error::QueryParseError;
use super::query::{BooleanClause, MAX_DEPTH, Occur, StructuredQuery};
use super::text::QueryText;

const OPERATORS: &str =
    "#combine, #weight, #1, #odN, #uwN, #syn, #band, #or or #not, with a parenthesis";

/// Parses a query. Words without an operator are the words of a `#combine`.
pub(super) fn parse(query: &str) -> Result<StructuredQuery, QueryParseError> {
    let mut text = QueryText::new(query);
    let mut parts = parts(&mut text, 0, None)?;
    if text.peek().is_some() {
        return Err(text.error("no closing parenthesis without an opening one"));
    }
    match parts.len() {
        1 => Ok(parts.remove(0)),
        _ => Ok(combine(parts)),
    }
}

/// Queries up to a closing parenthesis or the end, of the operator `parent`.
fn parts(
    text: &mut QueryText<'_>,
    depth: usize,
    parent: Option<&str>,
) -> Result<Vec<StructuredQuery>, QueryParseError> {
    let mut all = Vec::new();
    while let Some(part) = part(text, depth, parent)? {
        all.push(part);
    }
    Ok(all)
}

/// A word or an operator; [`None`] before a closing parenthesis or the end.
fn part(
    text: &mut QueryText<'_>,
    depth: usize,
    parent: Option<&str>,
) -> Result<Option<StructuredQuery>, QueryParseError> {
    text.skip_white_space();
    match text.peek() {
        None | Some(')') => Ok(None),
        Some('#') => operator(text, depth, parent).map(Some),
        Some('(') => Err(text.error("a word or an operator before the parenthesis")),
        Some(_) if text.rest().starts_with("weight(") => operator(text, depth, parent).map(Some),
        Some(_) => {
            let start = text.offset();
            let word = text.take_while(|c| !c.is_whitespace() && !"()#".contains(c));
            if word.ends_with('.') && text.peek() == Some('(') {
                let expected =
                    "a field such as word.title: fields in parentheses are not supported";
                return Err(text.error_at(start, expected));
            }
            let (word, field) = split_field(word);
            Ok(Some(StructuredQuery::Text {
                field: field.map(str::to_owned),
                text: word.to_owned(),
            }))
        }
    }
}

/// Word and field of `word.field`. The name of a field starts with a letter; quotation marks keep
/// the dots of a word.
fn split_field(word: &str) -> (&str, Option<&str>) {
    let parts = word.rsplit_once('.').filter(|(before, field)| {
        let is_name = |c: char| c.is_alphanumeric() || "_-,".contains(c);
        let starts = field.starts_with(char::is_alphabetic);
        starts && field.chars().all(is_name) && before.chars().any(char::is_alphanumeric)
    });
    match parts {
        Some((before, field)) if !word.starts_with('"') => (before, Some(field)),
        _ => (word, None),
    }
}

/// Field after an operator, as in `#1(a b).title`.
fn field_after<'a>(text: &mut QueryText<'a>) -> Option<&'a str> {
    let rest = text.rest().strip_prefix('.')?;
    rest.starts_with(char::is_alphabetic).then(|| {
        text.skip('.');
        text.take_while(|c| c.is_alphanumeric() || "_-,".contains(c))
    })
}

/// Words of a window and their field. All words must have the same field, or none.
fn words_of_window(text: &mut QueryText<'_>) -> Result<(String, Option<String>), QueryParseError> {
    text.skip_white_space();
    let start = text.offset();
    let words = text.take_while(|c| !"()#".contains(c));
    let split = words.split_whitespace().map(split_field);
    let (words, mut fields): (Vec<&str>, Vec<Option<&str>>) = split.unzip();
    fields.dedup();
    match fields[..] {
        [] | [None] => Ok((words.join(" "), None)),
        [Some(field)] => Ok((words.join(" "), Some(field.to_owned()))),
        _ => Err(text.error_at(
            start,
            "words of one field in a window, such as #1(a b).title",
        )),
    }
}

fn operator(
    text: &mut QueryText<'_>,
    depth: usize,
    parent: Option<&str>,
) -> Result<StructuredQuery, QueryParseError> {
    if depth > MAX_DEPTH {
        return Err(text.error(format!("at most {MAX_DEPTH} nested operators")));
    }
    let start = text.offset();
    let unknown = |text: &QueryText<'_>| text.error_at(start, OPERATORS);
    text.skip('#');
    let name = text.take_while(|c| c.is_ascii_alphanumeric());
    text.skip_white_space();
    if !text.skip('(') {
        return Err(unknown(text));
    }
    let parts = |text: &mut QueryText<'_>| parts(text, depth + 1, Some(name));
    let query = match name {
        "weight" | "wsum" => weights(text, depth)?,
        "combine" | "sum" => combine(parts(text)?),
        "syn" => StructuredQuery::Synonyms(parts(text)?),
        "or" => StructuredQuery::boolean(clauses(parts(text)?, Occur::Should)),
        "band" => StructuredQuery::boolean(clauses(parts(text)?, Occur::Must)),
        "not" if parent != Some("band") => {
            return Err(text.error_at(start, "#not within #band"));
        }
        "not" => StructuredQuery::boolean(clauses(parts(text)?, Occur::MustNot)),
        other => {
            let (ordered, digits) = match other.strip_prefix("uw") {
                Some(digits) => (false, digits),
                None => (true, other.strip_prefix("od").unwrap_or(other)),
            };
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(unknown(text));
            }
            let width = digits.parse().ok().filter(|width| *width > 0);
            let width: u32 = width.ok_or_else(|| {
                text.error_at(start, format!("a width of 1 to {} in a window", u32::MAX))
            })?;
            let (words, field) = words_of_window(text)?;
            if text.peek() == Some('#') {
                return Err(text.error("words in a window"));
            }
            StructuredQuery::Window {
                field,
                text: words,
                ordered,
                width,
            }
        }
    };
    if !text.skip(')') {
        return Err(text.error("a closing parenthesis"));
    }
    Ok(match field_after(text) {
        Some(field) => query.with_field(field),
        None => query,
    })
}

/// Clauses of parts. The parts of `#not` become [`Occur::MustNot`].
fn clauses(parts: Vec<StructuredQuery>, occur: Occur) -> Vec<BooleanClause> {
    let mut all = Vec::new();
    for query in parts {
        match query {
            StructuredQuery::Boolean(inner)
                if inner.iter().all(|clause| clause.occur == Occur::MustNot) =>
            {
                all.extend(inner);
            }
            query => all.push(BooleanClause { occur, query }),
        }
    }
    all
}

fn combine(parts: Vec<StructuredQuery>) -> StructuredQuery {
    weighted(parts.into_iter().map(|part| (1.0, part)).collect())
}

/// Pairs of a weight and a query; pairs of weight 0 are left out. So are parentheses as in
/// `1 (Myasthenia 1 gravis)`, which occur where weights were added to a text with a parenthesis.
fn weights(text: &mut QueryText<'_>, depth: usize) -> Result<StructuredQuery, QueryParseError> {
    let mut all = Vec::new();
    let mut open = 0_usize;
    loop {
        text.skip_white_space();
        if open > 0 && text.skip(')') {
            open -= 1;
            continue;
        }
        if matches!(text.peek(), None | Some(')')) {
            return Ok(weighted(all));
        }
        let weight = text.number_or_zero()?;
        text.skip_white_space();
        while text.skip('(') {
            open += 1;
        }
        let Some(query) = part(text, depth + 1, None)? else {
            return Err(text.error("a query after the weight"));
        };
        if weight > 0.0 {
            all.push((weight, query));
        }
    }
}

/// Parts with their weights divided by the sum of these.
fn weighted(parts: Vec<(f32, StructuredQuery)>) -> StructuredQuery {
    let total: f32 = parts.iter().map(|(weight, _)| weight).sum();
    let parts = parts.into_iter().map(|(weight, query)| {
        let weighted = match weight / total {
            1.0 => query,
            weight => query.with_weight(weight),
        };
        weighted.should()
    });
    StructuredQuery::boolean(parts)
}

#[cfg(test)]
mod tests {
    use super::super::QuerySyntax;

    #[test]
    fn operators() {
        for (query, expected) in [
            ("", ""),
            ("green tea", "green^0.5 tea^0.5"),
            ("#combine(tea)", "tea"),
            (
                "#weight( 3 green 1.0 #1(hot tea) )",
                "green^0.75 \"hot tea\"^0.25",
            ),
            ("weight( 1 a 1 b )", "a^0.5 b^0.5"),
            ("#weight( 2 (a 1 b) 1 c )", "a^0.5 b^0.25 c^0.25"),
            ("#weight(0 a 2 b 0.0 #1(c d) 2 e)", "b^0.5 e^0.5"),
            ("#weight(0 a 1 b)", "b"),
            ("#weight(0 a)", ""),
            ("tea.title", "title:tea"),
            ("#combine(green.title tea)", "title:green^0.5 tea^0.5"),
            ("#1(green tea).title", "title:\"green tea\""),
            ("#uw8(green.title tea.title)", "title:#uw8(green tea)"),
            (
                "#syn(tea #1(hot drink)).title",
                "#syn(title:tea title:\"hot drink\")",
            ),
            ("#syn(tea.title drink.title)", "#syn(title:tea title:drink)"),
            (
                "2.5 v1.2 vs. \"U.S\" .5",
                "2.5^0.2 v1.2^0.2 vs.^0.2 (\\\"U.S\\\")^0.2 .5^0.2",
            ),
            ("#od3(a b) ", "#od3(a b)"),
            ("#uw8( a b )", "#uw8(a b)"),
            ("#syn(tea #1(hot drink))", "#syn(tea \"hot drink\")"),
            (
                "#or( #band( TGF-β signaling ) x )",
                "(+(TGF\\-β) +signaling) x",
            ),
            ("#band(a b #not(c d))", "+a +b -c -d"),
            (
                "#weight(.8 #combine(a b) .2 #uw2(a b))",
                "(a^0.5 b^0.5)^0.8 #uw2(a b)^0.2",
            ),
        ] {
            let parsed = QuerySyntax::Indri.parse(query).unwrap();
            assert_eq!(parsed.to_string(), expected, "{query}");
        }
    }

    #[test]
    fn errors_name_the_position() {
        for (query, expected) in [
            (
                "a #near(b c)",
                "character 3: expected #combine, #weight, #1,",
            ),
            ("#combine", "character 1: expected #combine, #weight, #1,"),
            (
                "#od0(a b)",
                "character 1: expected a width of 1 to 4294967295 in a window, found \"#od0(a\"",
            ),
            (
                "#uw99999999999(a b)",
                "character 1: expected a width of 1 to 4294967295",
            ),
            ("#od(a b)", "character 1: expected #combine, #weight, #1,"),
            (
                "a tea.(title)",
                "character 3: expected a field such as word.title",
            ),
            (
                "#1(green.title tea)",
                "character 4: expected words of one field in a window",
            ),
            (
                "#weight(-1 a)",
                "character 9: expected a number from 0 to 1e9",
            ),
            (
                "#1(a #2(b c))",
                "character 6: expected words in a window, found \"#2(b\"",
            ),
            (
                "#weight(a b)",
                "character 9: expected a number from 0 to 1e9",
            ),
            (
                "#weight(2 )",
                "character 11: expected a query after the weight",
            ),
            (
                "#combine(a",
                "character 11: expected a closing parenthesis, found the end",
            ),
            (
                "a (b)",
                "character 3: expected a word or an operator before the parenthesis",
            ),
            (
                "#combine(a #not(b))",
                "character 12: expected #not within #band, found \"#not(b))\"",
            ),
            (
                "#band(a #not(#not(b)))",
                "character 14: expected #not within",
            ),
            ("#or(a #not(b))", "character 7: expected #not within #band"),
            (
                "#weight(1 (a 1 b )",
                "character 19: expected a closing parenthesis",
            ),
            (
                "#weight(1 a) 1 b)",
                "character 17: expected no closing parenthesis",
            ),
            ("a ) b", "character 3: expected no closing parenthesis"),
        ] {
            let error = QuerySyntax::Indri.parse(query).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{query}: {error}");
        }
        let deep = "#combine(".repeat(100_000);
        let error = QuerySyntax::Indri.parse(&deep).unwrap_err();
        assert!(error.expected.contains("64 nested"), "{error}");
    }
}
