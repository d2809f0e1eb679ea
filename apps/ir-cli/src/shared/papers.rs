//! Parquet and Arrow files of the ICLR dataset.

use ir_data::{ColumnarFormat, columnar};

/// Returns `true` if an argument is a Parquet or Arrow file, by its first bytes.
pub(crate) fn is_columnar(argument: &str) -> bool {
    matches!(ColumnarFormat::detect(argument), Ok(Some(_)))
}

/// Returns `true` if an argument is a Parquet or Arrow file with the columns of the ICLR dataset,
/// or cannot be read.
pub(crate) fn is_iclr(argument: &str) -> bool {
    let has = |columns: &Vec<String>, name: &str| columns.iter().any(|column| column == name);
    is_columnar(argument)
        && columnar::columns(argument).map_or(true, |found| {
            has(&found.read, "decision") && has(&found.read, "labels")
        })
}
