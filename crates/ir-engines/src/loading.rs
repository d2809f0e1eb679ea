//! Loading that resumes: batches of rows, each inserted once, verified by counting rows and by
//! their numbers.
//!
//! The primary key of a row is the document number. Filters of ir-core are sets of numbers and
//! become ranges and lists of keys, exact and inside the engine. A row that is sent again has the
//! same key, so that loading counts what is there and sends what is missing. The price is that a
//! collection is loaded once and not updated in place. Where an engine does not enforce unique keys
//! (Milvus), batches are counted after loading, and a batch with too many rows is deleted and sent
//! again.

use std::ops::Range;

use ir_core::{Flow, Progress};

use crate::RemoteError;
use crate::connection::Connection;
use crate::source::{LoadSource, RowBatch};

/// Options of loading a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadOptions {
    /// Number of documents per request. Range: 1 to [`LoadOptions::MAX_BATCH`]; other numbers are
    /// clamped to it. Requests also end after 16 MiB of texts and vectors. Default: 1000.
    pub batch: usize,
}

impl LoadOptions {
    /// Maximum number of documents per request: queries for the documents of a batch return at
    /// most 10,000 hits in Elasticsearch and 16,384 in Milvus.
    pub const MAX_BATCH: usize = 10_000;
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { batch: 1000 }
    }
}

/// Numbers of documents that were loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadReport {
    /// Number of documents of the collection.
    pub documents: usize,
    /// Number of documents that were inserted by this call, repetitions included. The others were
    /// there.
    pub inserted: usize,
    /// If `true`, this call created the collection.
    pub created: bool,
    /// Declared attributes that no document has, such as misspelled ones.
    pub absent_attributes: Vec<String>,
}

/// Collection into which rows are loaded.
pub(crate) trait LoadTarget {
    fn connection(&self) -> &Connection;
    /// Waits until all rows that were inserted are counted.
    fn settle(&self) -> Result<(), RemoteError>;
    /// Counts rows by number.
    fn count(&self, numbers: Range<u32>) -> Result<u64, RemoteError>;
    /// Numbers that are present.
    fn existing(&self, numbers: Range<u32>) -> Result<Vec<u32>, RemoteError>;
    /// Returns `true` if each number is present. An equal count is not enough: a row may be there
    /// twice.
    fn is_distinct(&self, numbers: Range<u32>) -> Result<bool, RemoteError>;
    /// Sends rows at these positions of the batch, once.
    fn insert(&self, batch: &RowBatch, rows: &[usize]) -> Result<(), RemoteError>;
    /// Removes rows by number.
    fn delete(&self, numbers: Range<u32>) -> Result<(), RemoteError>;
}

/// Loads the rows that are missing, and verifies that each is there once. `resumes`: whether some
/// may be there. Returns the number of rows that were sent.
pub(crate) fn load_rows(
    target: &dyn LoadTarget,
    source: &LoadSource<'_>,
    documents: usize,
    options: &LoadOptions,
    with_texts: bool,
    mut resumes: bool,
    progress: &mut dyn Progress,
) -> Result<usize, RemoteError> {
    let size = options.batch.clamp(1, LoadOptions::MAX_BATCH);
    let total = Some(documents as u64);
    let mut inserted = 0;
    // A second pass repairs what a late request of the first one changed.
    for _ in 0..3 {
        if resumes {
            target.settle()?;
        }
        let mut rows = source.rows()?;
        let mut batch = RowBatch::default();
        while batch.fill(&mut rows, size, with_texts)? {
            if progress.report("loading", u64::from(batch.first), total) == Flow::Stop {
                return Err(RemoteError::Canceled);
            }
            inserted += load_batch(target, &batch, resumes, progress)?;
        }
        target.settle()?;
        if count_all(target, documents, size, progress)? {
            return Ok(inserted);
        }
        resumes = true;
    }
    Err(RemoteError::Incomplete {
        collection: target.connection().url(""),
        expected: documents as u64,
        found: target.count(0..u32::MAX)?,
    })
}

/// Returns `true` if each row is there once, and there are no other rows.
fn count_all(
    target: &dyn LoadTarget,
    documents: usize,
    size: usize,
    progress: &mut dyn Progress,
) -> Result<bool, RemoteError> {
    for first in (0..documents as u32).step_by(size) {
        let end = (first as usize + size).min(documents) as u32;
        let found = target.count(first..end)?;
        if found != u64::from(end - first) || !target.is_distinct(first..end)? {
            return Ok(false);
        }
        if progress.report("verifying", u64::from(end), Some(documents as u64)) == Flow::Stop {
            return Err(RemoteError::Canceled);
        }
    }
    Ok(target.count(0..u32::MAX)? == documents as u64)
}

fn load_batch(
    target: &dyn LoadTarget,
    batch: &RowBatch,
    resumes: bool,
    progress: &mut dyn Progress,
) -> Result<usize, RemoteError> {
    let mut missing: Vec<usize> = (0..batch.len()).collect();
    if resumes {
        let found = target.count(batch.numbers())?;
        if found >= batch.len() as u64 {
            if found == batch.len() as u64 && target.is_distinct(batch.numbers())? {
                return Ok(0);
            }
            target.delete(batch.numbers())?;
        } else if found > 0 {
            keep_missing(target, batch, &mut missing)?;
        }
    }
    let mut inserted = 0;
    let mut failures = 0;
    while !missing.is_empty() {
        let error = match target.insert(batch, &missing) {
            Ok(()) => {
                inserted += missing.len();
                break;
            }
            Err(error) if error.is_transient() => error,
            Err(error) => return Err(error),
        };
        failures += 1;
        if failures >= target.connection().attempts() {
            return Err(error);
        }
        target.connection().wait_after(failures, progress)?;
        // The rows may have arrived although the response did not.
        target.settle()?;
        keep_missing(target, batch, &mut missing)?;
    }
    Ok(inserted)
}

fn keep_missing(
    target: &dyn LoadTarget,
    batch: &RowBatch,
    missing: &mut Vec<usize>,
) -> Result<(), RemoteError> {
    let mut existing = target.existing(batch.numbers())?;
    existing.sort_unstable();
    missing.retain(|&at| existing.binary_search(&(batch.first + at as u32)).is_err());
    Ok(())
}
