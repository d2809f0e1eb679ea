//! Warnings and hints that explain an empty or surprising result.
//!
//! Warnings are printed whether or not standard error is a terminal, because scripts that evaluate
//! the run are affected; hints are printed on a terminal only.

use std::time::Duration;

use anyhow::Result;
use ir_core::{Analyzer as _, Qrels, Query, Ranking};

use super::args::Args;
use super::engine::SearchIndex;
use crate::shared::console::Console;
use crate::shared::format::grouped;

/// Warns about queries without hits, and says if no term of theirs is searched.
pub(super) fn warn_of_empty_rankings(
    engine: &SearchIndex,
    args: &Args,
    queries: &[Query],
    rankings: &[Ranking],
    console: &Console,
) -> Result<()> {
    let without_hits = queries.iter().zip(rankings);
    let without_hits = without_hits.filter(|(_, ranking)| ranking.is_empty());
    let without_hits: Vec<&Query> = without_hits.map(|(query, _)| query).collect();
    let Some(first) = without_hits.first() else {
        return Ok(());
    };
    let analyzer = engine.index.config().analysis.build()?;
    let has_no_terms = |query: &&&Query| analyzer.terms(&query.text).is_empty();
    let without_terms = without_hits.iter().filter(has_no_terms).count();
    if args.typed().is_none() {
        let (empty, all) = (without_hits.len() as u64, queries.len() as u64);
        let reason = match without_terms {
            0 => String::new(),
            count => format!("; {} have stop words only", grouped(count as u64)),
        };
        console.warn(format_args!(
            "{} of {} queries have no hits, such as {:?}{reason}",
            grouped(empty),
            grouped(all),
            first.id
        ));
    } else if without_terms > 0 {
        console.warn("no hits: the query has stop words and punctuation only");
    } else if args.system() == "ir-bm25" {
        let filtered = if args.filter.is_empty() {
            ""
        } else {
            " that passes --filter"
        };
        console.warn(format_args!(
            "no hits: no document{filtered} has a term of the query"
        ));
    } else {
        console.warn("no hits");
    }
    Ok(())
}

/// Warns about query syntax of other search engines, which is searched as text.
pub(super) fn warn_of_query_syntax(query: &str, console: &Console) {
    if let Some(found) = unsupported_syntax(query) {
        console.warn(format_args!(
            "query syntax is not supported: {found} is searched as text; documents match any word, in any order"
        ));
    }
}

/// Quotes or an operator between words of a query.
fn unsupported_syntax(query: &str) -> Option<&str> {
    if query.matches('"').count() > 1 {
        return Some("\"");
    }
    // A query in capitals has no operators.
    let mut words = query.split_whitespace();
    let operator = words.find(|word| ["AND", "OR", "NOT"].contains(word));
    operator.filter(|_| query.contains(char::is_lowercase))
}

/// Warns about judgments of documents that the index lacks.
pub(super) fn warn_of_missing_documents(engine: &SearchIndex, qrels: &Qrels, console: &Console) {
    let ids = engine.index.ids();
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
            ("a 5\" screen", None),
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
