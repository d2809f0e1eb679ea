//! TREC runs and qrels by path, plain or compressed; [`ir_core::trec`] says how they are read.

use std::io::{BufRead, Cursor, Read};
use std::path::Path;

use ir_core::trec::{self};
pub use ir_core::trec::{Header, Oddity, Parsed, RunScores, TrecError, WriteError};
use ir_core::{Qrels, Run};

use crate::error::name_of;
use crate::{DataError, beir, create, open};

/// Reads a run file as trec_eval does.
///
/// # Errors
/// When the file cannot be opened, or as [`ir_core::trec::read_run`].
pub fn read_run(path: impl AsRef<Path>, header: Header) -> Result<Parsed<Run>, DataError> {
    let path = path.as_ref();
    Ok(trec::read_run(open(path)?, &name_of(path), header)?)
}

/// Reads a qrels file as trec_eval does.
///
/// # Errors
/// When the file cannot be opened, or as [`ir_core::trec::read_qrels`].
pub fn read_qrels(path: impl AsRef<Path>, header: Header) -> Result<Parsed<Qrels>, DataError> {
    let path = path.as_ref();
    Ok(trec::read_qrels(open(path)?, &name_of(path), header)?)
}

/// Reads a qrels file in TREC's form or in BEIR's, told apart by the first line: BEIR's is a header,
/// and has three columns between tabs.
///
/// # Errors
/// As [`read_qrels`] and [`beir::read_qrels`].
pub fn read_qrels_any(path: impl AsRef<Path>, header: Header) -> Result<Parsed<Qrels>, DataError> {
    let path = path.as_ref();
    qrels_any(open(path)?, &name_of(path), header)
}

/// As [`read_qrels_any`], from a source that is open.
///
/// # Errors
/// As [`read_qrels_any`].
pub fn qrels_any(
    mut reader: impl BufRead,
    source: &str,
    header: Header,
) -> Result<Parsed<Qrels>, DataError> {
    let mut head = Vec::new();
    reader
        .by_ref()
        .take(1 << 12)
        .read_until(b'\n', &mut head)
        .map_err(|error| crate::lines::located(error, source, 1))?;
    let first = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    let first = String::from_utf8_lossy(first);
    // Two tabs: a judgment of BEIR's form whose header is missing, which its reader says.
    let beir = beir::is_header(first.split_ascii_whitespace())
        || (first.split('\t').count() == 3 && first.split_ascii_whitespace().count() == 3);
    let reader = Cursor::new(head).chain(reader);
    if beir {
        Ok(Parsed {
            data: beir::read_qrels(reader, source)?,
            oddities: Vec::new(),
        })
    } else {
        Ok(trec::read_qrels(reader, source, header)?)
    }
}

/// Writes a run file, whole or not at all; compressed if its name ends in `.gz` or `.zst`.
///
/// # Errors
/// When it cannot be written, or as [`ir_core::trec::write_run`].
pub fn write_run(path: impl AsRef<Path>, run: &Run, scores: RunScores) -> Result<(), DataError> {
    let mut file = create(path)?;
    trec::write_run(run, scores, &mut file).map_err(|error| file.unwritable(error))?;
    file.commit()
}

/// Writes a qrels file in TREC's form, whole or not at all.
///
/// # Errors
/// As [`write_run`].
pub fn write_qrels(path: impl AsRef<Path>, qrels: &Qrels) -> Result<(), DataError> {
    let mut file = create(path)?;
    trec::write_qrels(qrels, &mut file).map_err(|error| file.unwritable(error))?;
    file.commit()
}
