//! TREC runs and qrels in files, uncompressed or compressed. Parsing rules: [`ir_core::trec`].

use std::io::{BufRead, Cursor, Read};
use std::path::Path;

use ir_core::trec;
pub use ir_core::trec::{
    HeaderLine, Parsed, ScoreFormat, TrecReadError, TrecWarning, TrecWriteError,
};
use ir_core::{Qrels, Run};

use crate::beir;
use crate::compression::{create, open};
use crate::error::{DataError, name_of};

/// Reads a run file as trec_eval does.
///
/// # Errors
/// The file cannot be opened; otherwise see [`ir_core::trec::read_run`].
pub fn read_run(path: impl AsRef<Path>, header: HeaderLine) -> Result<Parsed<Run>, DataError> {
    let path = path.as_ref();
    Ok(trec::read_run(open(path)?, &name_of(path), header)?)
}

/// Reads a qrels file as trec_eval does.
///
/// # Errors
/// The file cannot be opened; otherwise see [`ir_core::trec::read_qrels`].
pub fn read_qrels(path: impl AsRef<Path>, header: HeaderLine) -> Result<Parsed<Qrels>, DataError> {
    let path = path.as_ref();
    Ok(trec::read_qrels(open(path)?, &name_of(path), header)?)
}

/// Reads a qrels file in TREC or BEIR format. The first line decides: in BEIR format it is a header
/// of three tab-separated columns.
///
/// # Errors
/// See [`read_qrels`] and [`beir::read_qrels`].
pub fn read_qrels_any(
    path: impl AsRef<Path>,
    header: HeaderLine,
) -> Result<Parsed<Qrels>, DataError> {
    let path = path.as_ref();
    parse_qrels_any(open(path)?, &name_of(path), header)
}

/// Reads qrels in TREC or BEIR format from a reader; see [`read_qrels_any`].
///
/// # Errors
/// See [`read_qrels_any`].
pub fn parse_qrels_any(
    mut reader: impl BufRead,
    source: &str,
    header: HeaderLine,
) -> Result<Parsed<Qrels>, DataError> {
    let mut head = Vec::new();
    reader
        .by_ref()
        .take(1 << 12)
        .read_until(b'\n', &mut head)
        .map_err(|error| crate::lines::at_line(error, source, 1))?;
    let first = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    let first = String::from_utf8_lossy(first);
    // Two tabs without a header are BEIR format too, for which its reader reports the missing
    // header.
    let beir = beir::is_header(first.split_ascii_whitespace())
        || (first.split('\t').count() == 3 && first.split_ascii_whitespace().count() == 3);
    let reader = Cursor::new(head).chain(reader);
    if beir {
        Ok(Parsed {
            data: beir::read_qrels(reader, source)?,
            warnings: Vec::new(),
        })
    } else {
        Ok(trec::read_qrels(reader, source, header)?)
    }
}

/// Writes a run file atomically, compressed if its name ends in `.gz` or `.zst`.
///
/// # Errors
/// The file cannot be written; otherwise see [`ir_core::trec::write_run`].
pub fn write_run(path: impl AsRef<Path>, run: &Run, scores: ScoreFormat) -> Result<(), DataError> {
    let mut file = create(path)?;
    trec::write_run(run, scores, &mut file).map_err(|error| file.trec_error(error))?;
    file.commit()
}

/// Writes a qrels file in TREC format atomically, compressed if its name ends in `.gz` or `.zst`.
///
/// # Errors
/// See [`write_run`].
pub fn write_qrels(path: impl AsRef<Path>, qrels: &Qrels) -> Result<(), DataError> {
    let mut file = create(path)?;
    trec::write_qrels(qrels, &mut file).map_err(|error| file.trec_error(error))?;
    file.commit()
}
