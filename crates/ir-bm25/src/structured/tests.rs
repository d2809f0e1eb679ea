//! Steps of parsing and evaluation.

use std::cell::Cell;

use ir_core::{Document, NoProgress, Retriever, Search};

use super::{QuerySyntax, StructuredSearcher};
use crate::{Bm25, Index, IndexConfig};

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts characters read for an error, and matches of leaves.
pub(super) fn count_steps(steps: usize) {
    STEPS.set(STEPS.get() + steps);
}

fn steps_of(work: impl FnOnce()) -> usize {
    STEPS.set(0);
    work();
    STEPS.get()
}

/// The number of steps is proportional to the length of a query.
#[test]
fn steps_of_long_queries() {
    let documents: Vec<Document> = (0..300)
        .map(|n| Document::new(format!("d{n:04}")).with_text("green tea"))
        .collect();
    let config = IndexConfig::default().with_positions(true);
    let index = Index::build(&documents, &config, &mut NoProgress).unwrap();
    let searcher = index.searcher(Bm25::ANSERINI).unwrap();
    let searcher = StructuredSearcher::new(searcher, QuerySyntax::Indri);
    let hits = |query: &str| searcher.search(query, &Search::top(9)).unwrap().len();
    let steps = |count: usize| {
        let windows: Vec<String> = (0..count)
            .map(|n| format!("#uw{}(green tea)", n + 2))
            .collect();
        let query = format!("#syn({})", windows.join(" "));
        steps_of(|| assert_eq!(hits(&query), 9))
    };
    // The matches of every window, for statistics and for the query, then the documents of all.
    assert_eq!(steps(50), (2 * 50 + 1) * documents.len());
    assert_eq!(steps(200), (2 * 200 + 1) * documents.len());
    let repeated = format!("#uw{}({})", u32::MAX, "tea ".repeat(20_000));
    assert_eq!(steps_of(|| assert_eq!(hits(&repeated), 0)), 0);
    assert_eq!(hits(&format!("#od{}(green tea)", u32::MAX)), 9);
    let many = "#syn(a) ".repeat(100_000);
    let parse = || drop(QuerySyntax::Indri.parse(&many).unwrap());
    assert_eq!(steps_of(parse), 0);
}
