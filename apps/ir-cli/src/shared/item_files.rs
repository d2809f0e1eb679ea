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
    let (name, labels) = lines(argument, console)?;
    if let Some(row) = labels.iter().position(String::is_empty) {
        bail!("{name}:{}: expected a label, found an empty line", row + 1);
    }
    Ok(labels)
}

/// Reads titles, one per line; an empty line is an item without a title.
pub(crate) fn titles(argument: &str, console: &Console) -> Result<Vec<String>> {
    Ok(lines(argument, console)?.1)
}

/// Name of a file, and its lines.
fn lines(argument: &str, console: &Console) -> Result<(String, Vec<String>)> {
    let (reader, name) = input::open(argument, console)?;
    let mut reader = LineReader::new(reader, &name);
    let mut lines = Vec::new();
    while let Some(line) = reader.read()? {
        lines.push(line.text.trim_end_matches('\r').to_owned());
    }
    Ok((name, lines))
}
