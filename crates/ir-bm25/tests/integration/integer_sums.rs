//! Sums of term scores as integers: beyond their limit, and of extreme weights.

#![allow(clippy::unwrap_used)]

use ir_bm25::{Bm25, Index, IndexConfig, Pruning, WeightedTerm};
use ir_core::{Document, Search};

use crate::common::built;
use crate::pruning::{Numbers, bits};

/// The sums of term scores of some documents exceed 2^31 times the common divisor of the scores,
/// beyond which they are not added as integers.
#[test]
fn large_sums_are_exact() {
    let mut numbers = Numbers::new(7);
    let word = |n: usize| format!("w{n}");
    let documents: Vec<Document> = (0..2000)
        .map(|n| {
            let words = match n % 500 {
                // All words of the query several times.
                3 => (0..300 * (1 + n / 500)).map(|n| word(n % 300)).collect(),
                _ => {
                    let count = 1 + numbers.below(6);
                    (0..count)
                        .map(|_| word(numbers.below(3000)))
                        .collect::<Vec<_>>()
                }
            };
            Document::new(format!("{n:04}")).with_text(words.join(" "))
        })
        .collect();
    let index = built(&documents, IndexConfig::default());
    let terms: Vec<_> = (0..300)
        .map(|n| WeightedTerm::new(word(n), 1.0 + (n % 3) as f32))
        .collect();
    for count in [4, 12, 40, 300] {
        for k in [1, 5, 1000] {
            let expected = check_terms(&index, &terms[..count], k);
            if count == 300 {
                // The smallest weight is below 8, so that the limit is at most 512.
                assert!(f32::from_bits(expected[0].1) > 1024.0, "{expected:?}");
            }
        }
    }
}

/// Compares the hits for weighted terms with those of exhaustive scoring. Returns documents and
/// bits of their scores.
fn check_terms(index: &Index, terms: &[WeightedTerm], k: usize) -> Vec<(u32, u32)> {
    let search = |pruning| {
        let searcher = index.searcher(Bm25::new(1.2, 0.0)).unwrap();
        let searcher = searcher.with_pruning(pruning);
        let ranking = searcher.search_terms(terms, &Search::top(k)).unwrap();
        bits(&ranking)
    };
    let expected = search(Pruning::Exhaustive);
    for pruning in [Pruning::BlockMax, Pruning::MaxScore, Pruning::Auto] {
        let found = search(pruning);
        assert_eq!(found, expected, "{terms:?}, k = {k}, {pruning:?}");
    }
    expected
}

/// Weights near the smallest positive floats, whose scale as integers is not a float, and weights
/// near the largest floats.
#[test]
fn extreme_weights_are_exact() {
    let mut numbers = Numbers::new(11);
    let documents: Vec<Document> = (0..3000)
        .map(|n| {
            let count = 1 + numbers.below(12);
            Document::new(format!("{n:04}")).with_text(numbers.words(count, 8))
        })
        .collect();
    let index = built(&documents, IndexConfig::default());
    let words: Vec<String> = (0..3).map(|_| numbers.word(8)).collect();
    for weight in [
        f32::MIN_POSITIVE,
        4.0 * f32::MIN_POSITIVE,
        1e-35,
        1e-30,
        1e30,
        1e37,
    ] {
        let terms: Vec<_> = words
            .iter()
            .map(|word| WeightedTerm::new(word, weight))
            .collect();
        for (count, k) in [(1, 1), (1, 10), (3, 1), (3, 10), (3, 1000)] {
            let hits = check_terms(&index, &terms[..count], k);
            assert_eq!(hits.len(), k, "{weight:e}");
            assert!(f32::from_bits(hits[0].1) > 0.0, "{weight:e}");
        }
    }
}
