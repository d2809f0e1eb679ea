//! Token stores, MaxSim and late interaction beside naive implementations.

mod codes;
mod damage;
mod late_interaction;
mod max_sim;
mod segments;
mod writer;

use std::path::Path;

use ir_core::{SplitMix64, TokenVectors};
use ir_knn::{
    SegmentedTokenStore, TokenCodebook, TokenCodebookConfig, TokenEncoding, TokenStore,
    TokenStoreConfig, TokenStoreWriter,
};

/// Ids and token vectors of documents.
type Documents = Vec<(String, TokenVectors)>;

/// MaxSim as its definition: a loop over query tokens, document tokens and dimensions.
fn naive_max_sim(query: &TokenVectors, document: &TokenVectors) -> f32 {
    let mut sum = 0.0_f64;
    for q in query.rows() {
        let mut max = f32::NEG_INFINITY;
        for d in document.rows() {
            let mut product = 0.0_f32;
            for (a, b) in d.iter().zip(q) {
                product = a.mul_add(*b, product);
            }
            if product > max {
                max = product;
            }
        }
        if document.is_empty() {
            max = 0.0;
        }
        sum += f64::from(max);
    }
    sum as f32
}

fn normal(random: &mut SplitMix64) -> f32 {
    // The sum of 12 uniform numbers has variance 1.
    let uniform = |random: &mut SplitMix64| (random.next_u64() >> 40) as f32 / (1 << 24) as f32;
    (0..12).map(|_| uniform(random)).sum::<f32>() - 6.0
}

fn normalize(row: &mut [f32]) {
    let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
    row.iter_mut().for_each(|x| *x /= length);
}

/// Unit vectors around 20 centers of the seed, with a cosine of about .85 with the center.
fn clustered(seed: u64, random: &mut SplitMix64, tokens: usize, dim: usize) -> TokenVectors {
    let mut values = Vec::new();
    for _ in 0..tokens {
        let mut center = SplitMix64::new(seed, random.below(20) as u64);
        let start = values.len();
        let mut row: Vec<f32> = (0..dim).map(|_| normal(&mut center)).collect();
        normalize(&mut row);
        let noise = 0.6 / (dim as f32).sqrt();
        row.iter_mut().for_each(|x| *x += noise * normal(random));
        values.extend(row);
        normalize(&mut values[start..]);
    }
    let spans = (0..tokens).map(|n| 3 * n..3 * n + 2).collect();
    TokenVectors::new(dim, values, spans)
}

/// Documents of 0 to 11 tokens.
fn documents(seed: u64, count: usize, dim: usize) -> Documents {
    let mut random = SplitMix64::new(seed, 1000);
    (0..count)
        .map(|n| {
            let tokens = random.below(12);
            (format!("ü{n}"), clustered(seed, &mut random, tokens, dim))
        })
        .collect()
}

fn codebook(documents: &Documents, centroids: usize) -> TokenCodebook {
    let sample = documents.iter().flat_map(|(_, it)| &it.values).copied();
    let sample: Vec<f32> = sample.collect();
    let dim = documents.iter().map(|(_, it)| it.dim).max().unwrap();
    let config = TokenCodebookConfig::default().with_centroids(centroids);
    TokenCodebook::train(dim, &sample, &config).unwrap()
}

/// Every encoding, with a codebook, and those that need none without.
fn configs(dim: usize, codebook: &TokenCodebook) -> Vec<TokenStoreConfig> {
    let mut configs = Vec::new();
    for encoding in TokenEncoding::ALL {
        let config = TokenStoreConfig::new(dim)
            .with_encoding(encoding)
            .with_spans(encoding != TokenEncoding::Int8)
            .with_encoder("model");
        if !encoding.needs_codebook() {
            configs.push(config.clone());
        }
        configs.push(config.with_codebook(codebook.clone()));
    }
    configs
}

fn write(path: &Path, config: &TokenStoreConfig, documents: &[(String, TokenVectors)]) {
    let mut writer = TokenStoreWriter::create(path, config).unwrap();
    for (id, vectors) in documents {
        writer.push(id, vectors).unwrap();
    }
    writer.finish().unwrap();
}

fn store(config: &TokenStoreConfig, documents: &[(String, TokenVectors)]) -> SegmentedTokenStore {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.ir");
    write(&path, config, documents);
    TokenStore::open(path).unwrap().into()
}
