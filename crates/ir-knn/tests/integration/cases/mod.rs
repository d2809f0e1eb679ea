//! Random vectors, an oracle for rankings, damaged files, and collections in `IR_DATA`.

#![allow(unreachable_pub)]

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use ir_core::store::OpenIndexError;
use ir_core::{DocIds, DocNum, Hit, Ranking, Retriever, Search, SearchError, SplitMix64};
use ir_knn::{FlatIndex, VectorSimilarity};
use ndarray::Array2;

pub const ALL: [VectorSimilarity; 3] = [
    VectorSimilarity::InnerProduct,
    VectorSimilarity::Cosine,
    VectorSimilarity::Euclidean,
];

/// Path in the folder of the variable IR_DATA. `None` if it is missing: prints that a test is
/// skipped.
pub fn data(name: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os("IR_DATA") else {
        eprintln!("SKIPPED: IR_DATA is not set");
        return None;
    };
    let path = PathBuf::from(root).join(name);
    if !path.exists() {
        eprintln!("SKIPPED: {} does not exist", path.display());
        return None;
    }
    Some(path)
}

/// Runs a task on this number of threads.
pub fn on_threads<T: Send>(threads: usize, task: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(task)
}

/// Approximately normal with standard deviation 1.
pub fn normal(random: &mut SplitMix64) -> f32 {
    let sum: u64 = (0..12).map(|_| random.next_u64() >> 40).sum();
    (sum as f64 / 16_777_216.0 - 6.0) as f32
}

/// Vector of approximately normal components.
pub fn vector(random: &mut SplitMix64, dim: usize) -> Vec<f32> {
    (0..dim).map(|_| normal(random)).collect()
}

/// Thirty clusters in a 12-dimensional subspace of `dim` dimensions, with noise in all.
pub fn clustered(seed: u64, count: usize, dim: usize) -> Vec<Vec<f32>> {
    let (random, shared) = (&mut SplitMix64::new(seed, 1), &mut SplitMix64::new(1, 2));
    let basis: Vec<Vec<f32>> = (0..12).map(|_| vector(shared, dim)).collect();
    let centers: Vec<Vec<f32>> = (0..30).map(|_| vector(shared, 12)).collect();
    let mut row = || {
        let center = &centers[random.below(30)];
        let mut row: Vec<f32> = (0..dim).map(|_| normal(random) * 0.1).collect();
        for (center, axis) in center.iter().zip(&basis) {
            let coordinate = center + normal(random);
            let components = row.iter_mut().zip(axis);
            components.for_each(|(x, axis)| *x += coordinate * axis);
        }
        row
    };
    (0..count).map(|_| row()).collect()
}

/// Nonzero vectors of one of eight distributions.
pub fn random_vectors(
    random: &mut SplitMix64,
    distribution: usize,
    count: usize,
    dim: usize,
) -> Vec<Vec<f32>> {
    let mut vector = |n: usize| -> Vec<f32> {
        let mut value = || match distribution {
            // Few distinct values: many equal scores.
            0 => random.below(3) as f32 - 1.0,
            // Far from the origin, close together.
            1 => 100.0 + normal(random),
            // Norms of several magnitudes.
            2 => normal(random) * 10.0_f32.powi((n % 7) as i32 - 3),
            // Outside the range of 8-bit codes.
            3 => normal(random) * if n.is_multiple_of(2) { 1e-20 } else { 1e15 },
            // Sparse.
            4 if random.below(10) > 0 => 0.0,
            _ => normal(random),
        };
        let mut row: Vec<f32> = (0..dim).map(|_| value()).collect();
        // One dominant component.
        if distribution == 5 {
            row[n % dim] *= 1000.0;
        }
        if row.iter().all(|&value| value == 0.0) {
            row[0] = 1.0;
        }
        row
    };
    (0..count).map(&mut vector).collect()
}

pub fn oracle(similarity: VectorSimilarity, query: &[f32], row: &[f32]) -> f64 {
    let pairs = || {
        query
            .iter()
            .zip(row)
            .map(|(&q, &x)| (f64::from(q), f64::from(x)))
    };
    let product: f64 = pairs().map(|(q, x)| q * x).sum();
    match similarity {
        VectorSimilarity::InnerProduct => product,
        VectorSimilarity::Cosine => {
            let squares = pairs().fold((0.0, 0.0), |(a, b), (q, x)| (a + q * q, b + x * x));
            product / (squares.0 * squares.1).sqrt()
        }
        _ => -pairs().map(|(q, x)| (q - x) * (q - x)).sum::<f64>(),
    }
}

/// Maximum difference of a score from the oracle: half a unit in the last place of f32, and the
/// rounding errors of f64 sums relative to the magnitudes of their terms.
pub fn tolerance(similarity: VectorSimilarity, query: &[f32], row: &[f32]) -> f64 {
    let sizes: f64 = query
        .iter()
        .zip(row)
        .map(|(&q, &x)| (f64::from(q) * f64::from(x)).abs())
        .sum();
    let score = oracle(similarity, query, row).abs();
    let sizes = match similarity {
        VectorSimilarity::InnerProduct => sizes,
        VectorSimilarity::Cosine => 1.0,
        _ => score,
    };
    score * 2.0_f64.powi(-24) + sizes * 1e-13 + 1e-45
}

/// Asserts that `found` is the ranking of the oracle: of full length, every score that of its
/// document, every rank as good as the oracle's, ties by document number.
pub fn check(
    similarity: VectorSimilarity,
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
    let tolerances: Vec<f64> = rows
        .iter()
        .map(|row| tolerance(similarity, query, row))
        .collect();
    let mut expected = vec![f64::NAN; rows.len()];
    for &(score, n) in &scores {
        expected[n] = score;
    }
    assert_eq!(found.len(), k.min(scores.len()));
    for (hit, &(score, best)) in found.iter().zip(&scores) {
        let n = hit.doc.index();
        assert!(allowed(n));
        let tolerance = tolerances[n] + tolerances[best];
        assert!(
            (f64::from(hit.score) - expected[n]).abs() <= tolerances[n],
            "{hit:?} {}",
            expected[n]
        );
        assert!(
            (expected[n] - score).abs() <= tolerance,
            "{hit:?} scores {}, this rank {score}",
            expected[n]
        );
        // If no other score is within the tolerance, the documents are equal.
        let is_clear = |other: &(f64, usize)| {
            other.1 == best || (other.0 - score).abs() > tolerance + tolerances[other.1]
        };
        if scores.iter().all(is_clear) {
            assert_eq!(n, best);
        }
    }
    let is_ordered = |pair: &[Hit]| pair[0].order(&pair[1]).is_lt();
    assert!(found.hits().windows(2).all(is_ordered));
}

/// Recall of the exact hits. Asserts that hits have the exact scores and pass the filter, alone and
/// in a batch.
pub fn recall<E: Retriever<Query = [f32]>, R: Retriever<Query = [f32]>>(
    exact: &E,
    searcher: &R,
    queries: &[Vec<f32>],
    search: &Search<'_>,
) -> Result<f64, SearchError> {
    let asked: Vec<(&[f32], Search<'_>)> =
        queries.iter().map(|query| (&query[..], *search)).collect();
    let (mut found, mut all) = (0, 0);
    for (query, ranking) in queries.iter().zip(searcher.search_batch(&asked)?) {
        assert_eq!(ranking, searcher.search(query, search)?);
        let best = exact.search(query, search)?;
        assert_eq!(ranking.len(), best.len());
        for hit in &ranking {
            let only = |doc: DocNum| doc == hit.doc;
            let own = exact.search(query, &Search::top(1).within(&only))?;
            assert_eq!(own.hits(), [*hit]);
            assert!(search.allows(hit.doc));
        }
        let is_exact = |hit: &&Hit| best.iter().any(|other| other.doc == hit.doc);
        found += ranking.iter().filter(is_exact).count();
        all += best.len();
    }
    Ok(found as f64 / all as f64)
}

pub fn numbered(count: usize) -> DocIds {
    (0..count).map(|n| n.to_string()).collect()
}

/// Rows as a matrix.
pub fn matrix(rows: &[Vec<f32>]) -> Array2<f32> {
    let dim = rows.first().map_or(0, Vec::len);
    Array2::from_shape_vec((rows.len(), dim), rows.concat()).unwrap()
}

pub fn flat_index(rows: &[Vec<f32>], similarity: VectorSimilarity) -> FlatIndex {
    FlatIndex::new(numbered(rows.len()), matrix(rows), similarity).unwrap()
}

/// Asserts that opening and using a file with any single byte changed returns an error.
pub fn check_every_flip<'p, T, E>(path: &'p Path, open: impl Fn(&'p Path) -> Result<T, E>) {
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

/// Asserts that opening a file truncated to any length reports the truncation.
pub fn check_every_cut<'p, T: Debug>(
    path: &'p Path,
    open: impl Fn(&'p Path) -> Result<T, OpenIndexError>,
) {
    let whole = fs::read(path).unwrap();
    for length in 0..whole.len() {
        fs::write(path, &whole[..length]).unwrap();
        let error = open(path).unwrap_err();
        let is_expected = matches!(
            (length, &error),
            (0, OpenIndexError::NotAnIndex { .. }) | (1.., OpenIndexError::Truncated { .. })
        );
        assert!(is_expected, "{length}: {error}");
    }
    fs::write(path, whole).unwrap();
}
