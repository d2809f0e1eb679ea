//! Parquet files of the ICLR dataset.

use std::fs::File;
use std::io::Read as _;

use anyhow::Result;

/// Returns `true` if an argument is a Parquet file, by its first bytes.
pub(crate) fn is_parquet(argument: &str) -> bool {
    let mut mark = [0; 4];
    let file = (argument != "-").then(|| File::open(argument));
    let read = file.map(|file| file.and_then(|mut file| file.read_exact(&mut mark)));
    matches!(read, Some(Ok(()))) && mark == *b"PAR1"
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
