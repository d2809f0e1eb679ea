//! TREC runs and qrels in files, uncompressed or compressed, in columns or JSON. Parsing rules:
//! [`ir_core::trec`].

use std::path::Path;

use ir_core::trec;
pub use ir_core::trec::{
    HeaderLine, Parsed, ScoreFormat, TrecReadError, TrecWarning, TrecWriteError,
};
use ir_core::{Qrels, Run};

use crate::compression::{create, open};
use crate::error::{DataError, name_of};

/// Reads a run file as trec_eval does.
///
/// # Errors
/// The file cannot be opened or read, or a line is invalid.
pub fn read_run(path: impl AsRef<Path>, header: HeaderLine) -> Result<Parsed<Run>, DataError> {
    let path = path.as_ref();
    Ok(trec::read_run(open(path)?, &name_of(path), header)?)
}

/// Reads a qrels file as trec_eval does.
///
/// # Errors
/// The file cannot be opened or read, or a line is invalid.
pub fn read_qrels(path: impl AsRef<Path>, header: HeaderLine) -> Result<Parsed<Qrels>, DataError> {
    let path = path.as_ref();
    Ok(trec::read_qrels(open(path)?, &name_of(path), header)?)
}

/// Writes a run file atomically, compressed if its name ends in `.gz` or `.zst`.
///
/// # Errors
/// The file cannot be written, an id could not be read back, or a score is NaN or not representable
/// in `scores`.
pub fn write_run(path: impl AsRef<Path>, run: &Run, scores: ScoreFormat) -> Result<(), DataError> {
    let mut file = create(path)?;
    trec::write_run(run, scores, &mut file).map_err(|error| file.trec_error(error))?;
    file.commit()
}

/// Writes a qrels file in TREC format atomically, compressed if its name ends in `.gz` or `.zst`.
///
/// # Errors
/// The file cannot be written, or an id could not be read back.
pub fn write_qrels(path: impl AsRef<Path>, qrels: &Qrels) -> Result<(), DataError> {
    let mut file = create(path)?;
    trec::write_qrels(qrels, &mut file).map_err(|error| file.trec_error(error))?;
    file.commit()
}
