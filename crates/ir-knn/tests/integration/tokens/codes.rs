//! Errors of the encodings, beside scores of the vectors themselves.

use ir_core::{DocNum, SplitMix64, TokenVectors};
use ir_knn::{TokenCodebook, TokenCodebookConfig, TokenEncoding, TokenStoreConfig};

use super::{clustered, naive_max_sim, store};

const DIM: usize = 64;

fn collection() -> (Vec<(String, TokenVectors)>, Vec<TokenVectors>) {
    let mut random = SplitMix64::new(9, 0);
    let documents = (0..200).map(|n| (n.to_string(), clustered(n % 25, &mut random, 30, DIM)));
    let documents = documents.collect();
    let queries = (0..25).map(|n| clustered(n, &mut random, 16, DIM));
    (documents, queries.collect())
}

fn train(documents: &[(String, TokenVectors)]) -> TokenCodebook {
    let sample = documents.iter().flat_map(|(_, it)| &it.values).copied();
    let sample: Vec<f32> = sample.collect();
    TokenCodebook::train(DIM, &sample, &TokenCodebookConfig::default()).unwrap()
}

/// Mean error (bias) and mean absolute error of scores per query token, and recall@10, of the
/// scores of an encoding beside exact scores.
fn quality(encoding: TokenEncoding) -> (f64, f64, f64) {
    let (documents, queries) = collection();
    let config = TokenStoreConfig::new(DIM)
        .with_encoding(encoding)
        .with_codebook(train(&documents));
    let store = store(&config, &documents);
    let docs: Vec<DocNum> = (0..documents.len() as u32).map(DocNum::new).collect();
    let (mut bias, mut error, mut found) = (0.0, 0.0, 0);
    for query in &queries {
        let exact = documents.iter().map(|(_, it)| naive_max_sim(query, it));
        let exact: Vec<f32> = exact.collect();
        let scores = store.scores(query, &docs).unwrap();
        for (score, exact) in scores.iter().zip(&exact) {
            let difference = f64::from(score - exact) / query.len() as f64;
            bias += difference;
            error += difference.abs();
        }
        let top = |scores: &[f32]| {
            let mut order: Vec<usize> = (0..scores.len()).collect();
            order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
            order.truncate(10);
            order
        };
        let exact = top(&exact);
        found += top(&scores)
            .iter()
            .filter(|doc| exact.contains(doc))
            .count();
    }
    let pairs = (queries.len() * documents.len()) as f64;
    (
        bias / pairs,
        error / pairs,
        found as f64 / (10 * queries.len()) as f64,
    )
}

#[test]
fn errors_of_scores() {
    // Maximum of |bias|, mean absolute error per query token, and minimum of recall@10.
    for (encoding, max_bias, max_error, min_recall) in [
        (TokenEncoding::F32, 0.0, 0.0, 1.0),
        (TokenEncoding::F16, 1e-5, 2e-5, 0.99),
        (TokenEncoding::Int8, 5e-4, 5e-4, 0.98),
        (TokenEncoding::Residual4, 5e-3, 5e-3, 0.95),
        (TokenEncoding::Residual2, 3e-2, 3e-2, 0.85),
    ] {
        let (bias, error, recall) = quality(encoding);
        println!("{encoding}: bias {bias:.6}, error {error:.6}, recall {recall}");
        assert!(bias.abs() <= max_bias, "{encoding}: bias {bias}");
        assert!(error <= max_error, "{encoding}: error {error}");
        assert!(recall >= min_recall, "{encoding}: recall {recall}");
    }
}

/// The same sample gives the same codebook on any number of threads, other seeds give others.
#[test]
fn codebooks_are_deterministic() {
    let (documents, _) = collection();
    let train = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| train(&documents))
    };
    let one = train(1);
    assert_eq!(one.len(), 1024);
    assert_eq!(one, train(3));
    let sample: Vec<f32> = documents
        .iter()
        .flat_map(|(_, it)| &it.values)
        .copied()
        .collect();
    let other = TokenCodebookConfig::default().with_seed(7);
    assert_ne!(one, TokenCodebook::train(DIM, &sample, &other).unwrap());
    for row in one.centroids().chunks_exact(DIM) {
        let length: f32 = row.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-5);
    }
}

/// K-means decreases the distance to the nearest centroid.
#[test]
fn iterations_improve_the_centroids() {
    let (documents, _) = collection();
    let sample: Vec<f32> = documents
        .iter()
        .flat_map(|(_, it)| &it.values)
        .copied()
        .collect();
    let mean_product = |iterations: usize| {
        let config = TokenCodebookConfig::default()
            .with_centroids(64_usize)
            .with_iterations(iterations);
        let codebook = TokenCodebook::train(DIM, &sample, &config).unwrap();
        let best = |row: &[f32]| {
            let centroids = codebook.centroids().chunks_exact(DIM);
            let products = centroids.map(|c| c.iter().zip(row).map(|(a, b)| a * b).sum::<f32>());
            products.fold(f32::MIN, f32::max)
        };
        let rows = sample.chunks_exact(DIM);
        rows.map(|row| f64::from(best(row))).sum::<f64>() / (sample.len() / DIM) as f64
    };
    let [none, one, four] = [0, 1, 4].map(mean_product);
    assert!(none + 0.02 < one && one < four, "{none} {one} {four}");
}

#[test]
fn invalid_samples() {
    let config = TokenCodebookConfig::default();
    for (dim, sample, expected) in [
        (
            0,
            vec![],
            "at least one vector of dimension 0, which is positive, found 0 values",
        ),
        (
            2,
            vec![1.0, 0.0, 0.0],
            "at least one vector of dimension 2, which is positive, found 3 values",
        ),
        (
            2,
            vec![1.0, 0.0, 3.0, 4.0],
            "vectors of length 1, found vector 1 of length 5",
        ),
        (
            1,
            vec![f32::NAN],
            "vectors of length 1, found vector 0 of length NaN",
        ),
    ] {
        let error = TokenCodebook::train(dim, &sample, &config).unwrap_err();
        let expected = format!("sample of the codebook: expected {expected}");
        assert_eq!(error.to_string(), expected);
    }
}
