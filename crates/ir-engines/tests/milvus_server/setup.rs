//! Client, vectors and sizes of the tests and examples that need a Milvus server.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::time::Duration;

use ir_core::SplitMix64;
use ir_engines::{ClientConfig, Credentials, EngineAddress, MilvusCollection};

pub const DIM: usize = 384;

pub fn patient() -> ClientConfig {
    ClientConfig {
        attempts: 8,
        backoff: Duration::from_millis(500),
        ..ClientConfig::default()
    }
}

pub fn collection(name: &str, config: &ClientConfig) -> MilvusCollection {
    let base = std::env::var("IR_MILVUS_ADDRESS");
    let base = base.unwrap_or_else(|_| "milvus://127.0.0.1".to_owned());
    let address: EngineAddress = format!("{base}/{name}").parse().unwrap();
    MilvusCollection::new(&address, &Credentials::default(), config).unwrap()
}

pub fn count_of(variable: &str, default: usize) -> usize {
    let count = std::env::var(variable);
    count.map_or(default, |count| count.parse().unwrap())
}

/// Unit vectors around 1000 centers.
pub fn data(n: usize, seed: u64) -> Vec<f32> {
    let mut random = SplitMix64::new(seed, 0);
    let mut centers = SplitMix64::new(17, 1);
    let uniform = |random: &mut SplitMix64| random.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0;
    let centers: Vec<f32> = (0..1000 * DIM).map(|_| uniform(&mut centers)).collect();
    let mut values = Vec::with_capacity(n * DIM);
    for _ in 0..n {
        let center = &centers[random.below(1000) * DIM..][..DIM];
        let row: Vec<f32> = center.iter().map(|x| x + uniform(&mut random)).collect();
        let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        values.extend(row.iter().map(|x| x / norm));
    }
    values
}
