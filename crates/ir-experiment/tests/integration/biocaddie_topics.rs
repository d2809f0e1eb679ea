//! Topics of bioCADDIE in Indri's query language.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::PathBuf;

use ir_bm25::{
    Bm25, BooleanClause, Index, IndexConfig, Occur, QuerySyntax, StructuredQuery,
    StructuredSearcher,
};
use ir_core::{Document, NoProgress, Query, Retriever, Search};

fn topics(name: &str) -> Option<Vec<Query>> {
    let data = std::env::var_os("IR_DATA").filter(|data| !data.is_empty());
    let path = PathBuf::from(data?).join("biocaddie/queries").join(name);
    if !path.is_file() {
        return None;
    }
    Some(ir_data::indri::read_queries(ir_data::open(&path).unwrap(), name).unwrap())
}

fn clauses(query: &StructuredQuery) -> &[BooleanClause] {
    match query {
        StructuredQuery::Boolean(clauses) => clauses,
        other => panic!("expected clauses, found {other}"),
    }
}

/// The files with `#or` of `#band` and with `#weight` of the idf of every word.
#[test]
fn topics_are_structured_queries() {
    let (Some(boolean), Some(idf)) = (
        topics("boolqueries.combined.short"),
        topics("queries.combined.idf"),
    ) else {
        eprintln!("topics_are_structured_queries: skipped, no biocaddie in IR_DATA");
        return;
    };
    let parse = |query: &Query| QuerySyntax::Indri.parse(&query.text).unwrap();
    let mut pairs = 0;
    for query in &boolean {
        for pair in clauses(&parse(query)) {
            assert_eq!(pair.occur, Occur::Should, "{}", query.id);
            let words = clauses(&pair.query);
            assert!(words.iter().all(|word| word.occur == Occur::Must));
            pairs += 1;
        }
    }
    assert_eq!((boolean.len(), pairs), (21, 303));
    for query in &idf {
        let parsed = parse(query);
        let weights = clauses(&parsed).iter().map(|clause| match clause.query {
            StructuredQuery::Weighted { weight, .. } => f64::from(weight),
            _ => panic!("{}: {}", query.id, clause.query),
        });
        let sum: f64 = weights.sum();
        assert!((sum - 1.0).abs() < 1e-5, "{}: {sum}", query.id);
        assert_eq!(
            clauses(&parsed).len(),
            query.text.split_whitespace().count() / 2 - 1
        );
    }
    // The parenthesis of the sentence is not one of an operator.
    let last = parse(idf.last().unwrap()).to_string();
    assert!(
        last.contains("MG^") && last.contains("Myasthenia^"),
        "{last}"
    );
    assert!(last.contains("gravis^"), "{last}");

    let documents = [
        Document::new("a").with_text("NF-κB signaling in myasthenia gravis"),
        Document::new("b").with_text("signaling of insulin"),
        Document::new("c").with_text("myasthenia of patients"),
    ];
    let index = Index::build(&documents[..], &IndexConfig::default(), &mut NoProgress).unwrap();
    let searcher = index.searcher(Bm25::ANSERINI).unwrap();
    let searcher = StructuredSearcher::new(searcher, QuerySyntax::Indri);
    for topics in [&boolean, &idf] {
        let last = &topics.last().unwrap().text;
        let ranking = searcher.search(last, &Search::top(3)).unwrap();
        assert_eq!(searcher.ids().id(ranking.hits()[0].doc), "a");
    }
}
