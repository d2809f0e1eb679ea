//! Binary codes: candidates by Hamming distance beside a naive search, and exact scores.

#![allow(clippy::unwrap_used)]

use ir_core::{DocIds, DocNum, Retriever, Search, VectorSimilarity};
use ir_knn::{BinaryIndex, FlatIndex};
use ir_testkit::check_vectors;
use proptest::prelude::*;

fn flat(ids: DocIds, rows: &[Vec<f32>], similarity: VectorSimilarity) -> FlatIndex {
    // Queries of the contract suite have 6 dimensions, also for an index without vectors.
    let dim = rows.first().map_or(6, Vec::len);
    FlatIndex::from_row_major(ids, dim, rows.concat(), similarity).unwrap()
}

/// With all documents as candidates, the flat index ranks.
#[test]
fn contract() {
    for similarity in [VectorSimilarity::InnerProduct, VectorSimilarity::Euclidean] {
        check_vectors(|ids, rows: Vec<Vec<f32>>| {
            BinaryIndex::new(flat(ids, &rows, similarity)).searcher(usize::MAX)
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn hits_are_the_best_of_the_nearest_codes(
        rows in prop::collection::vec(prop::collection::vec(-4_i8..5, 70), 1..60),
        query in prop::collection::vec(-4_i8..5, 70),
        k in 0_usize..8,
        multiplier in 0_usize..4,
        is_filtered in any::<bool>(),
    ) {
        let floats = |row: &[i8]| row.iter().map(|&it| f32::from(it)).collect::<Vec<f32>>();
        let rows: Vec<Vec<f32>> = rows.iter().map(|row| floats(row)).collect();
        let query = floats(&query);
        let ids: Vec<String> = (0..rows.len()).map(|n| format!("d{n}")).collect();
        let ids: DocIds = ids.iter().map(String::as_str).collect();
        let flat = flat(ids, &rows, VectorSimilarity::InnerProduct);
        let searcher = BinaryIndex::new(flat.clone()).searcher(multiplier);
        let even = |doc: DocNum| doc.get().is_multiple_of(2);
        let search = if is_filtered {
            Search::top(k).within(&even)
        } else {
            Search::top(k)
        };
        let passes = |doc: usize| !is_filtered || doc.is_multiple_of(2);
        let distance = |row: &[f32]| {
            let pairs = row.iter().zip(&query);
            pairs.filter(|(a, b)| (**a > 0.0) != (**b > 0.0)).count()
        };
        let mut nearest: Vec<usize> = (0..rows.len()).filter(|&doc| passes(doc)).collect();
        nearest.sort_by_key(|&doc| (distance(&rows[doc]), doc));
        nearest.truncate(k * multiplier.max(1));
        let score = |doc: usize| -> f32 { rows[doc].iter().zip(&query).map(|(a, b)| a * b).sum() };
        nearest.sort_by(|&a, &b| score(b).total_cmp(&score(a)).then(a.cmp(&b)));
        nearest.truncate(k);
        let found = searcher.search(&query, &search).unwrap();
        let found: Vec<(usize, f32)> = found.iter().map(|hit| (hit.doc.index(), hit.score)).collect();
        let expected: Vec<(usize, f32)> = nearest.iter().map(|&doc| (doc, score(doc))).collect();
        prop_assert_eq!(found, expected);
    }
}
