//! `.npy` files for Python peers.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result};
use ir_knn::npy;
use ndarray::{Array2, ArrayView2};

/// Writes row-major vectors of `dim` values as a `.npy` file for a Python peer.
///
/// # Errors
/// If the file cannot be written.
pub fn save(path: &Path, dim: usize, rows: &[f32]) -> Result<()> {
    let file = File::create(path).with_context(|| path.display().to_string())?;
    let rows = ArrayView2::from_shape((rows.len() / dim, dim), rows)?;
    npy::write(rows, file).with_context(|| path.display().to_string())
}

/// Reads a two-dimensional `.npy` file of a Python peer.
///
/// # Errors
/// If the file cannot be read or is not two-dimensional.
pub fn load(path: &Path) -> Result<Array2<f64>> {
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| name.clone())?;
    Ok(npy::read(BufReader::new(file), &name)?)
}
