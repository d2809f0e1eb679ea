//! On the default backend, a vector has the same bytes in any batch.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use crate::common::{minilm, on_default_backend, tiny};
use ir_core::{Encoder, Side};
use ir_dense::{BiEncoder, EncoderConfig, Precision};

/// Texts of many lengths, with repeated lengths.
fn texts(count: usize) -> Vec<String> {
    let words = [
        "ship", "sea", "tea", "radar", "green", "black", "seen", "the", "at",
    ];
    let mut state = 7_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    (0..count)
        .map(|_| {
            let length = [next(6), next(40)][next(2)];
            (0..length)
                .map(|_| words[next(words.len())])
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

fn check(folder: &std::path::Path, count: usize, precision: Precision) {
    let texts = texts(count);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let open = |tokens| {
        let config = EncoderConfig::default()
            .with_precision(precision)
            .with_batch_tokens(tokens);
        BiEncoder::open_with(folder, &config).unwrap()
    };
    let encoder = open(2048);
    let dim = encoder.dim();
    let together = encoder.encode(Side::Document, &texts).unwrap();
    assert!(together.iter().all(|x| x.is_finite()));

    for (text, vector) in texts.iter().zip(together.chunks(dim)) {
        assert_eq!(
            encoder.encode(Side::Document, &[text]).unwrap(),
            vector,
            "{text:?} alone"
        );
    }
    for tokens in [1, 50, 333, 100_000] {
        let found = open(tokens).encode(Side::Document, &texts).unwrap();
        assert!(found == together, "batches of {tokens} tokens");
    }
    let reversed: Vec<&str> = texts.iter().rev().copied().collect();
    let found = encoder.encode(Side::Document, &reversed).unwrap();
    assert!(
        found.chunks(dim).rev().eq(together.chunks(dim)),
        "in reverse"
    );
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let found = pool
            .install(|| encoder.encode(Side::Document, &texts))
            .unwrap();
        assert!(found == together, "{threads} threads");
    }
}

#[test]
fn tiny_models_have_same_bytes_in_any_batch() {
    if !on_default_backend() {
        return;
    }
    for model in ["bert", "bert-f16", "distilbert", "roberta", "mpnet"] {
        for precision in Precision::ALL {
            let count = if precision == Precision::F32 { 200 } else { 60 };
            check(&tiny(model), count, precision);
        }
    }
}

#[test]
fn minilm_has_same_bytes_in_any_batch() {
    let Some(folder) = minilm().filter(|_| on_default_backend()) else {
        return;
    };
    for precision in Precision::ALL {
        check(&folder, 12, precision);
    }
}
