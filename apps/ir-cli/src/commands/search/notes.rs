//! Warnings and hints that explain an empty or surprising result.
//!
//! Both are printed whether or not standard error is a terminal.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use ir_bm25::analysis::Analysis;
use ir_core::{Analyzer as _, DocIds, Qrels, Query, Ranking};

use super::args::Args;
use super::system_file::SystemFile;
use crate::shared::console::Console;
use crate::shared::format::grouped;

/// What the messages about a search say of its system.
pub(super) struct SystemTraits<'a> {
    /// System file; `None` for the options.
    file: Option<&'a SystemFile>,
    /// If `true`, documents match by the words of the query.
    is_lexical: bool,
    /// If `true`, the queries have a syntax.
    has_syntax: bool,
    /// Options or key of the cleaning of the queries.
    cleaning: Option<String>,
    /// Option or key of the conditions.
    filter: Option<String>,
}

impl<'a> SystemTraits<'a> {
    pub(super) fn of_options(args: &Args) -> Self {
        Self {
            file: None,
            is_lexical: args.default_tag() == "ir-bm25",
            has_syntax: args.lexical.has_syntax(),
            cleaning: args.lexical.cleaning().map(str::to_owned),
            filter: (!args.filter.is_empty()).then(|| "--filter".to_owned()),
        }
    }

    pub(super) fn of_file(file: &'a SystemFile) -> Self {
        Self {
            file: Some(file),
            is_lexical: file.is_lexical(),
            has_syntax: file.has_key("syntax"),
            cleaning: file.has_key("cleaning").then(|| file.key("cleaning")),
            filter: file.root.condition.as_ref().map(|_| file.key("where")),
        }
    }

    /// Name of the feedback: an option, or a key of the file.
    pub(super) fn feedback(&self) -> String {
        match self.file {
            None => "--feedback".to_owned(),
            Some(file) => file.key("feedback"),
        }
    }

    /// Option or key that makes the queries have a syntax.
    fn syntax(&self, value: &str) -> String {
        match self.file {
            None => format!("--syntax {value}").trim_end().to_owned(),
            Some(_) if value.is_empty() => "the key syntax".to_owned(),
            Some(_) => format!("syntax = \"{value}\""),
        }
    }
}

/// Warns about queries without hits, and says if no term of theirs is searched.
pub(super) fn warn_of_empty_rankings(
    traits: &SystemTraits<'_>,
    (analysis, documents): (&Analysis, &DocIds),
    args: &Args,
    (queries, rankings): (&[Query], &[Ranking]),
    console: &Console,
) -> Result<()> {
    let without_hits = queries.iter().zip(rankings);
    let without_hits = without_hits.filter(|(_, ranking)| ranking.is_empty());
    let without_hits: Vec<&Query> = without_hits.map(|(query, _)| query).collect();
    let (count_without, Some(&first)) = (without_hits.len(), without_hits.first()) else {
        return Ok(());
    };
    let (analyzer, cleaning) = (analysis.build()?, traits.cleaning.as_deref());
    // A system of a file cleans the queries itself.
    let cleaner = match traits.file {
        Some(file) => file.cleaner()?,
        None => None,
    };
    // Queries that the cleaning has left without words, and queries with stop words only.
    let (mut blank, mut without_terms) = (0, 0);
    for query in without_hits {
        let cleaned = match &cleaner {
            Some(cleaner) => Some(cleaner.clean(&query.text)?),
            None => None,
        };
        let text = cleaned.as_ref().unwrap_or(&query.text);
        if cleaning.is_some() && text.trim().is_empty() {
            blank += 1;
        } else if analyzer.terms(text).is_empty() {
            without_terms += 1;
        }
    }
    let cleaning = cleaning.unwrap_or_default();
    if args.typed().is_none() {
        let (empty, all) = (count_without as u64, queries.len() as u64);
        let count = |count: u64, what: &str| match count {
            0 => String::new(),
            count => format!("; {} have {what}", grouped(count)),
        };
        let cleaned = count(blank, &format!("no words after {cleaning}"));
        let stop_words = count(without_terms, "stop words only");
        console.warn(format_args!(
            "{} of {} queries have no hits, such as {:?}{cleaned}{stop_words}",
            grouped(empty),
            grouped(all),
            first.id
        ));
    } else if documents.is_empty() {
        console.warn("no hits: the index is empty");
    } else if blank > 0 {
        console.warn(format_args!(
            "no hits: the query has no words after {cleaning}"
        ));
    } else if first.text.trim().is_empty() {
        console.warn("no hits: the query is empty");
    } else if without_terms > 0 {
        console.warn("no hits: the query has stop words and punctuation only");
    } else if traits.is_lexical {
        let filtered = match &traits.filter {
            None => String::new(),
            Some(filter) => format!(" that passes {filter}"),
        };
        let wanted = if traits.has_syntax {
            "matches the query"
        } else {
            "has a term of the query"
        };
        console.warn(format_args!("no hits: no document{filtered} {wanted}"));
    } else {
        console.warn("no hits");
    }
    Ok(())
}

/// Warns about a query that is the name of a file.
pub(super) fn warn_of_query_file(query: &str, console: &Console) {
    if !query.contains(' ') && Path::new(query).is_file() {
        console.warn(format_args!(
            "{query}: searched as text; --queries {query} reads the queries in the file"
        ));
    }
}

/// Warns about query syntax of other search engines, which is searched as text without --syntax.
pub(super) fn warn_of_query_syntax(query: &str, traits: &SystemTraits<'_>, console: &Console) {
    if traits.has_syntax {
        return;
    }
    if let Some(found) = unsupported_syntax(query) {
        // Vectors depend on the order of the words.
        let matched = if traits.is_lexical {
            let syntax = traits.syntax("");
            format!("; documents match any word, in any order ({syntax} parses queries)")
        } else {
            String::new()
        };
        console.warn(format_args!(
            "query syntax is not supported: {found} is searched as text{matched}"
        ));
    }
}

/// Warns about queries of a collection or file with Indri's operators, which are searched as text
/// without --syntax.
pub(super) fn warn_of_operators(
    queries: &[Query],
    args: &Args,
    traits: &SystemTraits<'_>,
    console: &Console,
) {
    let has_operator = |query: &&Query| {
        let text = query.text.trim_start();
        // Most of bioCADDIE's topics lack the `#`.
        text.starts_with("weight(")
            || text
                .strip_prefix('#')
                .and_then(|rest| rest.split_once('('))
                .is_some_and(|(name, _)| {
                    let name = name.trim_end();
                    !name.is_empty() && name.chars().all(char::is_alphanumeric)
                })
    };
    if traits.has_syntax || args.typed().is_some() {
        return;
    }
    if let Some(query) = queries.iter().find(has_operator) {
        console.warn(format_args!(
            "query {:?}: operators of Indri are searched as text ({} reads them)",
            query.id,
            traits.syntax("indri")
        ));
    }
}

/// Quotes or an operator of a query.
fn unsupported_syntax(query: &str) -> Option<&str> {
    let is_quote = |c: char| matches!(c, '"' | '“' | '”' | '„' | '«' | '»');
    let mut quotes = query.matches(is_quote);
    if let (Some(quote), Some(_)) = (quotes.next(), quotes.next()) {
        return Some(quote);
    }
    // A query in capitals has no operators.
    let has_operators = query.contains(char::is_lowercase);
    let mut words = query.split_whitespace();
    words.find(|word| ["AND", "OR", "NOT"].contains(word) && has_operators || is_operator(word))
}

/// Returns `true` if a word has a field (`title:tea`), a wildcard (`te*`, `t?a`), an edit distance
/// (`tea~2`), a boost (`tea^2`), or a leading `+` or `-`.
fn is_operator(word: &str) -> bool {
    let is_letter = |c: char| c.is_alphabetic();
    let is_name = |name: &str| {
        name.starts_with(is_letter) && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let field = word.split_once(':');
    let fuzzy = word.split_once('~');
    let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let boost = word.split_once('^').filter(|(_, boost)| !boost.is_empty());
    let wildcard = word.split_once('?');
    field.is_some_and(|(name, term)| is_name(name) && term.starts_with(char::is_alphanumeric))
        || fuzzy.is_some_and(|(term, edits)| is_name(term) && is_number(edits))
        || boost.is_some_and(|(term, boost)| is_name(term) && is_number(boost))
        || wildcard.is_some_and(|(start, end)| is_name(start) && end.starts_with(is_letter))
        || word
            .split_once('*')
            .is_some_and(|(start, _)| start.ends_with(is_letter))
        || word
            .strip_prefix(['+', '-'])
            .is_some_and(|term| term.starts_with(is_letter))
}

/// Warns about judgments of documents that the index lacks.
pub(super) fn warn_of_missing_documents(ids: &DocIds, qrels: &Qrels, console: &Console) {
    let judged = qrels.iter().flat_map(|(_, docs)| docs);
    let mut missing = judged.filter(|(doc, _)| ids.get(doc).is_none());
    if let Some((first, _)) = missing.next() {
        console.warn(format_args!(
            "{} of {} judgments are of documents that the index lacks, such as {first:?}; these cannot be retrieved",
            grouped(1 + missing.count() as u64),
            grouped(qrels.judgments() as u64),
        ));
    }
}

/// Hint at `ir index` after an index was built for one search only.
pub(super) fn index_hint(name: &str, building: Duration) -> Option<String> {
    const LONG: Duration = Duration::from_secs(2);
    (building >= LONG).then(|| {
        let seconds = building.as_secs_f64();
        format!(
            "building the index took {seconds:.1} s; `ir index {name} -o FILE` saves it for later searches"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_of_other_search_engines() {
        for (query, found) in [
            ("\"green tea\" leaves", Some("\"")),
            ("tea AND milk", Some("AND")),
            ("tea NOT coffee", Some("NOT")),
            ("“green tea” leaves", Some("“")),
            ("«thé vert»", Some("«")),
            ("title:tea", Some("title:tea")),
            ("green te*", Some("te*")),
            ("tea~2 leaves", Some("tea~2")),
            ("tea~", Some("tea~")),
            ("tea^2 leaves", Some("tea^2")),
            ("green t?a", Some("t?a")),
            ("what is tea? or x^y", None),
            ("https://example.org/a?b=c", None),
            ("+tea -sea", Some("+tea")),
            ("tea -sea", Some("-sea")),
            ("a 5\" screen", None),
            ("at 10:30, from https://example.org: e-mail", None),
            ("std::vector, 2 * 3 and ~5 or -5 + 1", None),
            ("ROCK AND ROLL", None),
            ("salt and pepper", None),
        ] {
            assert_eq!(unsupported_syntax(query), found, "{query}");
        }
    }

    #[test]
    fn hint_after_a_long_build() {
        assert_eq!(index_hint("big", Duration::from_millis(1900)), None);
        let hint = index_hint("big", Duration::from_secs(9)).unwrap();
        assert!(hint.contains("9.0 s; `ir index big -o FILE`"), "{hint}");
    }
}
