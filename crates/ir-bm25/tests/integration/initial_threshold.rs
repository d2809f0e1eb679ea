//! The initial threshold of a search, which is a bound of the k-th highest score of a term, holds
//! whatever was deleted and filtered.

#![allow(clippy::unwrap_used)]

use crate::common::built;
use crate::models::{QUERIES, check_pruning, config, documents, written};
use ir_bm25::{Bm25, DocLengths, SegmentedIndex};
use ir_core::{Retriever, Search};
use proptest::prelude::*;
use tempfile::TempDir;

/// Around the depths that have a bound.
const DEPTHS: [usize; 10] = [1, 9, 10, 11, 60, 99, 100, 101, 1000, 1001];

fn all_bm25() -> [Bm25; 4] {
    [
        Bm25::ANSERINI,
        Bm25::new(0.0, 1.0),
        Bm25::new(3.0, 1.0),
        Bm25::LUCENE.with_lengths(DocLengths::Exact),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        max_shrink_iters: 50,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// The best documents of a query are deleted: those that the bounds in the index count.
    #[test]
    fn deletions_from_the_top(
        mut left in documents(100..1800),
        segments in 1..4_usize,
        deleted in prop::sample::select(vec![1_usize, 5, 9, 15, 95, 120]),
        query in prop::sample::select(QUERIES.to_vec()),
    ) {
        let folder = TempDir::new().unwrap();
        let mut writer = written(folder.path(), &left, segments);
        let before = SegmentedIndex::open(folder.path()).unwrap();
        let ranking = before.searcher(Bm25::ANSERINI).unwrap().search(query, &Search::top(deleted));
        for hit in &ranking.unwrap() {
            let id = before.ids().id(hit.doc);
            prop_assert!(writer.delete(id).unwrap());
            left.retain(|document| document.id != id);
        }
        writer.commit().unwrap();
        let index = SegmentedIndex::open(folder.path()).unwrap();
        let expected = built(&left, config());
        for bm25 in all_bm25() {
            let expected = expected.searcher(bm25).unwrap();
            check_pruning(&index.searcher(bm25).unwrap(), Some(&expected), &DEPTHS);
        }
    }
}
