//! Parquet files of the ICLR dataset.

use std::path::Path;

use anyhow::Result;

/// Returns `true` if an argument is a Parquet file, by its first bytes.
pub(crate) fn is_parquet(argument: &str) -> bool {
    ir_data::is_parquet(Path::new(argument)).unwrap_or(false)
}

/// Returns `true` if an argument is a Parquet file with the columns of the ICLR dataset, or cannot
/// be read.
#[cfg(feature = "parquet")]
pub(crate) fn is_iclr(argument: &str) -> bool {
    let has = |columns: &Vec<String>, name: &str| columns.iter().any(|column| column == name);
    is_parquet(argument)
        && ir_data::parquet::columns(argument).map_or(true, |found| {
            has(&found.read, "decision") && has(&found.read, "labels")
        })
}

/// Without the feature, the error names it.
#[cfg(not(feature = "parquet"))]
pub(crate) fn is_iclr(argument: &str) -> bool {
    is_parquet(argument)
}

/// Reads all papers of a file.
#[cfg(feature = "parquet")]
pub(crate) fn read(argument: &str) -> Result<Vec<ir_data::iclr::Paper>> {
    Ok(ir_data::iclr::read(argument)?)
}

/// Error of a build without the feature `parquet`.
#[cfg(not(feature = "parquet"))]
pub(crate) fn read(argument: &str) -> Result<Vec<std::convert::Infallible>> {
    anyhow::bail!(
        "{argument}: Parquet files need the feature `parquet` (cargo install --path apps/ir-cli --features parquet)"
    )
}
