//! Files with a row or line for each item: vectors, labels, titles.

use anyhow::{Result, bail};
use ir_data::LineReader;
use ir_knn::npy;
use ndarray::Array2;

use crate::shared::console::Console;
use crate::shared::input;

/// Reads a NumPy array of two dimensions.
pub(crate) fn vectors(argument: &str, console: &Console) -> Result<Array2<f64>> {
    let (reader, name) = input::open(argument, console)?;
    Ok(npy::read(reader, &name)?)
}

/// Reads labels, one per line.
pub(crate) fn labels(argument: &str, console: &Console) -> Result<Vec<String>> {
    let (reader, name) = input::open(argument, console)?;
    let mut lines = LineReader::new(reader, &name);
    let mut labels = Vec::new();
    while let Some(line) = lines.read()? {
        let label = line.text.trim_end_matches('\r');
        if label.is_empty() {
            let number = line.number;
            bail!("{name}:{number}: expected a label, found an empty line");
        }
        labels.push(label.to_owned());
    }
    Ok(labels)
}
