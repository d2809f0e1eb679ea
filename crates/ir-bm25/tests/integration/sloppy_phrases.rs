//! Sloppy phrases: windows as wide as their terms.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use crate::common::built;
use ir_bm25::{Bm25, IndexConfig, IndexedFields, QuerySyntax, StructuredSearcher};
use ir_core::{Document, Retriever, Search};

/// The width of a sloppy phrase is that of its terms after analysis.
#[test]
fn sloppy_phrases_of_hyphenated_words() {
    let documents = [
        Document::new("a").with_text("a covid-19 vaccine"),
        Document::new("b").with_text("the vaccine of 2021 against covid 19"),
        Document::new("c").with_text("covid 19 needs a good new vaccine"),
    ];
    let config = IndexConfig::default()
        .with_fields(IndexedFields::TextOnly)
        .with_positions(true);
    let index = built(&documents, config);
    let searcher =
        StructuredSearcher::new(index.searcher(Bm25::ANSERINI).unwrap(), QuerySyntax::Lucene);
    let hits = |query: &str| {
        let ranking = searcher.search(query, &Search::top(10)).unwrap();
        let ids = ranking.iter().map(|hit| index.ids().id(hit.doc).to_owned());
        ids.collect::<BTreeSet<_>>().into_iter().collect::<String>()
    };
    for (query, expected) in [
        (r#""covid-19 vaccine""#, "a"),
        (r#""covid-19 vaccine"~1"#, "a"),
        (r#""covid-19 vaccine"~2"#, "a"),
        (r#""covid-19 vaccine"~3"#, "ab"),
        (r#""covid-19 vaccine"~4"#, "abc"),
        (r#""covid 19 vaccine"~4"#, "abc"),
        // A removed stop word keeps its position.
        (r#""vaccine of 2021"~1"#, "b"),
    ] {
        assert_eq!(hits(query), expected, "{query}");
    }
}
