//! The initial threshold of a search, which is a bound of the k-th highest score of a term, holds
//! whatever was deleted and filtered.

#![allow(clippy::unwrap_used)]

use ir_bm25::{
    Analysis, Bm25, DocLengths, Index, IndexConfig, IndexWriter, Pruning, Searcher, SegmentedIndex,
};
use ir_core::{DocNum, Document, NoProgress, Retriever, Search};
use proptest::prelude::*;
use tempfile::TempDir;

/// Around the depths that have a bound.
const KS: [usize; 10] = [1, 9, 10, 11, 60, 99, 100, 101, 1000, 1001];
const QUERIES: [&str; 5] = ["a", "b", "rare", "a b", "rare c a c"];

fn config() -> IndexConfig {
    IndexConfig::default().with_analysis(Analysis::lucene_standard())
}

fn all_bm25() -> [Bm25; 4] {
    [
        Bm25::ANSERINI,
        Bm25::new(0.0, 1.0),
        Bm25::new(3.0, 1.0),
        Bm25::LUCENE.with_lengths(DocLengths::Exact),
    ]
}

/// Documents of `a` to `c` and filling words. Few have high scores and many have equal ones.
fn document(n: usize, (tfs, filling): ((usize, usize, usize), usize)) -> Document {
    let mut text = "a ".repeat(tfs.0) + &"b ".repeat(tfs.1) + &"c ".repeat(tfs.2);
    if n.is_multiple_of(23) {
        text.push_str("rare ");
    }
    Document::new(format!("d{n:05}")).with_text(text + &"filling ".repeat(filling))
}

fn documents(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Document>> {
    let tf = || prop_oneof![6 => Just(1_usize), 2 => Just(0), 1 => 2..9_usize];
    let filling = prop_oneof![4 => 0..6_usize, 2 => 0..40_usize, 1 => 0..700_usize];
    let one = ((tf(), tf(), tf()), filling);
    prop::collection::vec(one, sizes).prop_map(|all| {
        let all = all.into_iter().enumerate();
        all.map(|(n, shape)| document(n, shape)).collect()
    })
}

fn check(searcher: &Searcher, expected: &Searcher) {
    let even = |doc: DocNum| doc.get().is_multiple_of(2);
    let exhaustive = searcher.clone().with_pruning(Pruning::Exhaustive);
    for query in QUERIES {
        for k in KS {
            for search in [Search::top(k), Search::top(k).within(&even)] {
                let found = searcher.search(query, &search).unwrap();
                let all = exhaustive.search(query, &search).unwrap();
                assert_eq!(found, all, "{k}, {query}");
                let expected = expected.search(query, &search).unwrap();
                assert_eq!(found, expected, "{k}, {query}");
            }
        }
    }
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
        let writer = IndexWriter::create(folder.path(), config()).unwrap();
        let mut writer = writer.with_merge_factor(100);
        for batch in left.chunks(left.len().div_ceil(segments)) {
            for document in batch {
                writer.put(document).unwrap();
            }
            writer.commit().unwrap();
        }
        let before = SegmentedIndex::open(folder.path()).unwrap();
        let ranking = before.searcher(Bm25::ANSERINI).unwrap().search(query, &Search::top(deleted));
        for hit in &ranking.unwrap() {
            let id = before.ids().id(hit.doc);
            prop_assert!(writer.delete(id).unwrap());
            left.retain(|document| document.id != id);
        }
        writer.commit().unwrap();
        let index = SegmentedIndex::open(folder.path()).unwrap();
        let expected = Index::build(&left, &config(), &mut NoProgress).unwrap();
        for bm25 in all_bm25() {
            check(&index.searcher(bm25).unwrap(), &expected.searcher(bm25).unwrap());
        }
    }
}
