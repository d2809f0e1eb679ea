//! Random vectors, what a search must find among them, and what damage to a file must come to.

#![allow(dead_code, unreachable_pub, reason = "each test takes what it needs")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Debug;
use std::fs;
use std::path::Path;

use ir_core::{DocIds, Hit, Ranking, SplitMix};
use ir_knn::{OpenError, Similarity};

pub const ALL: [Similarity; 3] = [
    Similarity::InnerProduct,
    Similarity::Cosine,
    Similarity::Euclidean,
];

/// About normal, of deviation 1.
pub fn normal(random: &mut SplitMix) -> f32 {
    let sum: u64 = (0..12).map(|_| random.bits() >> 40).sum();
    (sum as f64 / 16_777_216.0 - 6.0) as f32
}

/// Vectors of one of eight kinds, none of them zero.
pub fn random_vectors(
    random: &mut SplitMix,
    kind: usize,
    count: usize,
    dim: usize,
) -> Vec<Vec<f32>> {
    let mut vector = |n: usize| -> Vec<f32> {
        let mut value = || match kind {
            // Few values: many equal scores.
            0 => random.below(3) as f32 - 1.0,
            // Far from the origin, close together.
            1 => 100.0 + normal(random),
            // Rows of very different lengths.
            2 => normal(random) * 10.0_f32.powi((n % 7) as i32 - 3),
            // Beyond what 8 bits are used for.
            3 => normal(random) * if n.is_multiple_of(2) { 1e-20 } else { 1e15 },
            // Mostly zeros.
            4 if random.below(10) > 0 => 0.0,
            _ => normal(random),
        };
        let mut row: Vec<f32> = (0..dim).map(|_| value()).collect();
        // One component outweighs the rest.
        if kind == 5 {
            row[n % dim] *= 1000.0;
        }
        if row.iter().all(|&value| value == 0.0) {
            row[0] = 1.0;
        }
        row
    };
    (0..count).map(&mut vector).collect()
}

pub fn oracle(similarity: Similarity, query: &[f32], row: &[f32]) -> f64 {
    let pairs = || {
        query
            .iter()
            .zip(row)
            .map(|(&q, &x)| (f64::from(q), f64::from(x)))
    };
    let product: f64 = pairs().map(|(q, x)| q * x).sum();
    match similarity {
        Similarity::InnerProduct => product,
        Similarity::Cosine => {
            let squares = pairs().fold((0.0, 0.0), |(a, b), (q, x)| (a + q * q, b + x * x));
            product / (squares.0 * squares.1).sqrt()
        }
        _ => -pairs().map(|(q, x)| (q - x) * (q - x)).sum::<f64>(),
    }
}

/// How far apart the two may be: half the distance of 32-bit numbers of that size, and what sums in
/// 64 bits may differ by, relative to the sizes of their terms.
pub fn tolerance(similarity: Similarity, query: &[f32], row: &[f32]) -> f64 {
    let sizes: f64 = query
        .iter()
        .zip(row)
        .map(|(&q, &x)| (f64::from(q) * f64::from(x)).abs())
        .sum();
    let score = oracle(similarity, query, row).abs();
    let sizes = match similarity {
        Similarity::InnerProduct => sizes,
        Similarity::Cosine => 1.0,
        _ => score,
    };
    score * 2.0_f64.powi(-24) + sizes * 1e-13 + 1e-45
}

/// Fails unless `found` is the ranking: as many as there can be, each score that of its document,
/// every place as good as the same place of the sorted oracle, ties by number.
pub fn check(
    similarity: Similarity,
    query: &[f32],
    rows: &[Vec<f32>],
    k: usize,
    allowed: &dyn Fn(usize) -> bool,
    found: &Ranking,
) {
    let mut scores: Vec<(f64, usize)> = (0..rows.len())
        .filter(|&n| allowed(n))
        .map(|n| (oracle(similarity, query, &rows[n]), n))
        .collect();
    scores.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let offs: Vec<f64> = rows
        .iter()
        .map(|row| tolerance(similarity, query, row))
        .collect();
    let mut own = vec![f64::NAN; rows.len()];
    for &(score, n) in &scores {
        own[n] = score;
    }
    assert_eq!(found.len(), k.min(scores.len()));
    for (hit, &(score, best)) in found.iter().zip(&scores) {
        let n = hit.doc.index();
        assert!(allowed(n));
        let off = offs[n] + offs[best];
        assert!(
            (f64::from(hit.score) - own[n]).abs() <= offs[n],
            "{hit:?} {}",
            own[n]
        );
        assert!(
            (own[n] - score).abs() <= off,
            "{hit:?} is {}, place is {score}",
            own[n]
        );
        // Beyond rounding, it is the same document.
        let clear =
            |other: &(f64, usize)| other.1 == best || (other.0 - score).abs() > off + offs[other.1];
        if scores.iter().all(clear) {
            assert_eq!(n, best);
        }
    }
    let ordered = |pair: &[Hit]| pair[0].order(&pair[1]).is_lt();
    assert!(found.hits().windows(2).all(ordered));
}

pub fn numbered(count: usize) -> DocIds {
    (0..count).map(|n| n.to_string()).collect()
}

/// Changes one byte of a file after the other: each change must be refused.
pub fn refuses_every_flip<'p, T>(path: &'p Path, open: impl Fn(&'p Path) -> Result<T, OpenError>) {
    let whole = fs::read(path).unwrap();
    let mut damaged = whole.clone();
    for at in 0..whole.len() {
        damaged[at] ^= [0x04, 0x10, 0xff][at % 3];
        fs::write(path, &damaged).unwrap();
        assert!(open(path).is_err(), "byte {at}");
        damaged[at] = whole[at];
    }
    fs::write(path, whole).unwrap();
}

/// Cuts a file to every length that is less than its own: each must be refused as cut short.
pub fn refuses_every_cut<'p, T: Debug>(
    path: &'p Path,
    open: impl Fn(&'p Path) -> Result<T, OpenError>,
) {
    let whole = fs::read(path).unwrap();
    for length in 0..whole.len() {
        fs::write(path, &whole[..length]).unwrap();
        let error = open(path).unwrap_err();
        let expected = matches!(
            (length, &error),
            (0, OpenError::NotAnIndex { .. }) | (1.., OpenError::CutShort { .. })
        );
        assert!(expected, "{length}: {error}");
    }
    fs::write(path, whole).unwrap();
}
