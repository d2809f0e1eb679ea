//! Vectors from a seed, and what they cost.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// What this thread has had, in seconds; 0 where the system does not say.
pub(crate) fn processor_time() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// SplitMix64, and the method of Box and Muller.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.next(), self.next());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    fn unit(&mut self, dim: usize) -> Vec<f64> {
        let row: Vec<f64> = (0..dim).map(|_| self.normal()).collect();
        normalized(row)
    }

    pub(crate) fn unit_vectors(&mut self, count: usize, shared: &[f64]) -> Vec<f32> {
        let mut all = Vec::with_capacity(count * shared.len());
        for _ in 0..count {
            let own = self.unit(shared.len());
            let row = own.iter().zip(shared).map(|(own, shared)| own + shared);
            all.extend(
                normalized(row.collect())
                    .into_iter()
                    .map(|value| value as f32),
            );
        }
        all
    }
}

pub(crate) fn normalized(row: Vec<f64>) -> Vec<f64> {
    let length = row.iter().map(|value| value * value).sum::<f64>().sqrt();
    row.into_iter().map(|value| value / length).collect()
}

/// Writes a matrix in NumPy's format, version 1.0.
pub(crate) fn save(path: &Path, dim: usize, rows: &[f32]) -> Result<()> {
    let shape = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {dim}), }}",
        rows.len() / dim
    );
    let length = (shape.len() + 11).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(format!("{shape:<width$}\n", width = length - 1).as_bytes());
    bytes.extend(rows.iter().flat_map(|value| value.to_le_bytes()));
    fs::write(path, bytes).context("the vectors for the others")
}
