//! Options, timers, random vectors and Python peers shared by the benchmarks.

mod options;
mod python;
mod random;
mod time;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result};
use ir_knn::{DenseRows, npy};

pub use options::Options;
pub use python::Python;
pub use random::{Random, normalized};
pub use time::{Clock, Seconds, median};

/// Writes row-major vectors of `dim` values as a `.npy` file for a Python peer.
///
/// # Errors
/// If the file cannot be written.
pub fn save(path: &Path, dim: usize, rows: &[f32]) -> Result<()> {
    let file = File::create(path).with_context(|| path.display().to_string())?;
    npy::write_flat(rows, dim, file).with_context(|| path.display().to_string())
}

/// Reads a two-dimensional `.npy` file of a Python peer.
///
/// # Errors
/// If the file cannot be read or is not two-dimensional.
pub fn load(path: &Path) -> Result<DenseRows> {
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| name.clone())?;
    Ok(npy::read(BufReader::new(file), &name)?)
}
