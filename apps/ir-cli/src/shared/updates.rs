//! What the commands that update an index in a folder share.

use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use ir_core::segments::LOCK_NAME;
use ir_data::LineReader;

use crate::shared::console::{Console, MAX_WORD, shortened};
use crate::shared::format::grouped;
use crate::shared::input;

/// Reads the ids of --delete, one per line; empty lines are skipped.
pub(crate) fn read_ids(file: &str, console: &Console) -> Result<Vec<String>> {
    let opened = input::open(file, console);
    let (reader, name) = opened.context("--delete: expected a file with one id per line")?;
    let mut lines = LineReader::new(reader, &name);
    let mut ids = Vec::new();
    while let Some(line) = lines.read()? {
        let id = line.text.trim_end_matches('\r');
        if !id.is_empty() {
            ids.push(id.to_owned());
        }
    }
    Ok(ids)
}

/// Deletes ids and returns the number of deleted documents. A warning counts unknown ids.
pub(crate) fn delete_ids<E>(
    ids: &[String],
    console: &Console,
    mut delete: impl FnMut(&str) -> Result<bool, E>,
) -> Result<u64, E> {
    let mut unknown: Vec<&str> = Vec::new();
    for id in ids {
        if !delete(id)? {
            unknown.push(id);
        }
    }
    if let Some(first) = unknown.first() {
        let first = shortened(first, MAX_WORD);
        console.warn(format_args!(
            "--delete: {} of {} ids are not in the index, such as {first:?}",
            grouped(unknown.len() as u64),
            grouped(ids.len() as u64)
        ));
    }
    Ok((ids.len() - unknown.len()) as u64)
}

/// Returns `true` if a folder contains files, but no lock file. A writer that was killed before its
/// first commit leaves a lock file.
pub(crate) fn has_other_files(folder: &Path) -> Result<bool> {
    let names = folder.read_dir().and_then(|entries| {
        let names = entries.map(|entry| Ok(entry?.file_name()));
        names.collect::<io::Result<Vec<_>>>()
    });
    let names = names.with_context(|| format!("{}: cannot be read", folder.display()))?;
    Ok(!names.is_empty() && !names.iter().any(|name| name == LOCK_NAME))
}
