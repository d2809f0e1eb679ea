//! What the comparisons share; they themselves are the bench targets beside this folder.

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

/// Writes vectors of `dim` values, one after another, where a Python process finds them.
///
/// # Errors
/// When they cannot be written.
pub fn save(path: &Path, dim: usize, rows: &[f32]) -> Result<()> {
    let file = File::create(path).with_context(|| path.display().to_string())?;
    npy::write_flat(rows, dim, file).with_context(|| path.display().to_string())
}

/// Reads an array of a Python process: numbers of up to 32 bits, exactly.
///
/// # Errors
/// When it cannot be read or has not two dimensions.
pub fn load(path: &Path) -> Result<DenseRows> {
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| name.clone())?;
    Ok(npy::read(BufReader::new(file), &name)?)
}
