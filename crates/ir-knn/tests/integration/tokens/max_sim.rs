//! Scores and selections equal the naive loop bit for bit.

use ir_core::{DocNum, SearchError, SplitMix64, TokenVectors};
use ir_knn::{TokenEncoding, TokenStoreConfig, max_sim};
use proptest::prelude::*;

use super::{clustered, codebook, configs, documents, naive_max_sim, store};

fn docs(count: usize) -> Vec<DocNum> {
    (0..count as u32).map(DocNum::new).collect()
}

fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon_pool(threads);
    pool.install(work)
}

fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

#[test]
fn max_sim_equals_the_naive_loop() {
    let mut random = SplitMix64::new(3, 0);
    for dim in [1, 2, 15, 16, 17, 96, 128] {
        for (of_query, of_document) in [(1, 1), (3, 7), (16, 8), (17, 9), (32, 80), (40, 70)] {
            let query = clustered(1, &mut random, of_query, dim);
            let document = clustered(1, &mut random, of_document, dim);
            let expected = naive_max_sim(&query, &document);
            let score = max_sim(&query, &document).unwrap();
            assert_eq!(
                score.to_bits(),
                expected.to_bits(),
                "{dim} {of_query} {of_document}"
            );
        }
    }
}

#[test]
fn signed_zeros_and_negative_products() {
    let vectors = |values: &[f32]| TokenVectors::new(1, values.to_vec(), vec![0..0; values.len()]);
    let score = |query: &[f32], document: &[f32]| {
        let (query, document) = (vectors(query), vectors(document));
        let score = max_sim(&query, &document).unwrap();
        assert_eq!(score.to_bits(), naive_max_sim(&query, &document).to_bits());
        score
    };
    assert_eq!(score(&[1.0], &[-2.0, -3.0]), -2.0);
    assert_eq!(score(&[-0.0], &[5.0]).to_bits(), 0.0_f32.to_bits());
    assert_eq!(score(&[], &[5.0]), 0.0);
    assert_eq!(score(&[1.0, 1.0], &[]), 0.0);
    assert_eq!(score(&[1e15], &[1e15, -1e15]), 1e15 * 1e15);
}

#[test]
fn stored_scores_equal_the_naive_loop_over_decoded_vectors() {
    let (dim, documents) = (33, documents(5, 300, 33));
    let mut random = SplitMix64::new(5, 7);
    let query = clustered(5, &mut random, 19, dim);
    let all = docs(documents.len());
    for config in configs(dim, &codebook(&documents, 32)) {
        let store = store(&config, &documents);
        let expected: Vec<u32> = all
            .iter()
            .map(|&doc| naive_max_sim(&query, &store.vectors(doc).unwrap()).to_bits())
            .collect();
        for threads in [1, 3] {
            let scores = in_pool(threads, || store.scores(&query, &all).unwrap());
            let bits: Vec<u32> = scores.iter().map(|score| score.to_bits()).collect();
            assert_eq!(bits, expected, "{config:?} {threads}");
        }
        // Alone, as in the list.
        for (doc, expected) in all.iter().zip(&expected).take(20) {
            assert_eq!(
                store.scores(&query, &[*doc]).unwrap()[0].to_bits(),
                *expected
            );
        }
    }
}

/// Enough work that candidates are divided among threads.
#[test]
fn scores_do_not_depend_on_the_number_of_threads() {
    let mut random = SplitMix64::new(8, 0);
    let documents: Vec<(String, TokenVectors)> = (0..300)
        .map(|n| (n.to_string(), clustered(8, &mut random, 60, 64)))
        .collect();
    let config = TokenStoreConfig::new(64).with_encoding(TokenEncoding::Int8);
    let store = store(&config, &documents);
    let query = clustered(8, &mut random, 32, 64);
    let all = docs(documents.len());
    let [one, four] = [1, 4].map(|threads| in_pool(threads, || store.scores(&query, &all)));
    assert_eq!(one.unwrap(), four.unwrap());
}

/// Naive selection: all scores, sorted; equal scores by position.
fn naive_top(scores: &[f32], k: usize) -> Vec<(usize, f32)> {
    let mut all: Vec<(usize, f32)> = scores.iter().copied().enumerate().collect();
    all.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
    all.truncate(k);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// Candidates repeat, in any order; documents are empty or equal.
    #[test]
    fn top_equals_scoring_all(
        seed in 0..50_u64,
        dim in prop::sample::select(vec![2, 8, 33]),
        query_tokens in 0..40_usize,
        of_config in 0..8_usize,
        k in 0..30_usize,
        picks in prop::collection::vec(0..60_u32, 0..80),
        scale in prop::sample::select(vec![1.0_f32, 0.25, -3.0]),
    ) {
        let mut documents = documents(seed, 60, dim);
        for n in 0..10 {
            documents[50 + n].1 = documents[n].1.clone();
        }
        let configs = configs(dim, &codebook(&documents, 16));
        let store = store(&configs[of_config], &documents);
        let mut random = SplitMix64::new(seed, 2);
        let mut query = clustered(seed, &mut random, query_tokens, dim);
        query.values.iter_mut().for_each(|value| *value *= scale);
        let picks: Vec<DocNum> = picks.into_iter().map(DocNum::new).collect();
        let scores = store.scores(&query, &picks).unwrap();
        let top = store.top(&query, &picks, k).unwrap();
        prop_assert_eq!(top.best, naive_top(&scores, k));
        prop_assert!(top.scored_pairs <= top.pairs);
    }
}

/// The first 16 query tokens, and the lengths of the other ones and of the tokens of a document,
/// exclude documents that cannot be among the best.
#[test]
fn early_termination_saves_work() {
    let dim = 16;
    let rows = |axes: &[usize], length: f32| {
        let mut values = vec![0.0; dim * axes.len()];
        for (row, &axis) in values.chunks_exact_mut(dim).zip(axes) {
            row[axis] = length;
        }
        TokenVectors::new(dim, values, vec![0..0; axes.len()])
    };
    // Axes of the query tokens of both blocks; axis and length of the document tokens; documents
    // that are left after the first block; the best one.
    for (blocks, documents, left, best) in [
        // The second document has another direction.
        ([0, 0], [(0, 1.0), (1, 1.0), (0, 1.0)], 1, (0, 32.0)),
        // The first block says nothing.
        ([2, 0], [(0, 1.0), (1, 1.0), (0, 1.0)], 0, (0, 16.0)),
        // The third document has longer tokens than the second one, which is left.
        ([0, 1], [(0, 1.0), (2, 0.5), (1, 40.0)], 1, (2, 640.0)),
    ] {
        let query: Vec<usize> = blocks.iter().flat_map(|&axis| [axis; 16]).collect();
        let query = rows(&query, 1.0);
        let documents = documents.map(|(axis, length)| rows(&[axis, axis + 3], length));
        let ids = (0..).map(|n: usize| n.to_string());
        let documents: Vec<(String, TokenVectors)> = ids.zip(documents).collect();
        for encoding in [TokenEncoding::F32, TokenEncoding::F16] {
            let config = TokenStoreConfig::new(dim).with_encoding(encoding);
            let top = store(&config, &documents).top(&query, &docs(3), 1).unwrap();
            assert_eq!(top.best, [best], "{encoding} {blocks:?}");
            assert_eq!(top.pairs, 3 * 2 * 32);
            assert_eq!(top.scored_pairs, top.pairs - left * 2 * 16);
        }
    }
}

#[test]
fn invalid_queries() {
    let documents = documents(2, 9, 8);
    let store = store(&TokenStoreConfig::new(8), &documents);
    let query = |value: f32| TokenVectors::new(8, vec![value; 16], vec![0..0; 2]);
    let other = TokenVectors::new(7, vec![1.0; 7], vec![0..0; 1]);
    let error = store.scores(&other, &docs(3)).unwrap_err();
    let expected = "query vector: expected 8 dimensions, found 7";
    assert_eq!(error.to_string(), expected);
    for value in [f32::NAN, f32::INFINITY, 1e16] {
        let found = store.top(&query(value), &docs(3), 2).unwrap_err();
        assert!(
            matches!(found, SearchError::NotFinite { at: 0, .. }),
            "{found}"
        );
        let found = max_sim(&query(1.0), &query(value)).unwrap_err();
        assert!(
            matches!(found, SearchError::NotFinite { at: 0, .. }),
            "{found}"
        );
    }
    let error = max_sim(&query(1.0), &other).unwrap_err();
    assert!(matches!(error, SearchError::Dimensions { .. }), "{error}");
}
