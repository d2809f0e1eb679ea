//! What the commands that update an index in a folder share.

use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::HumanBytes;
use ir_core::segments::{LOCK_NAME, SegmentStats};
use ir_data::LineReader;

use crate::shared::console::{Console, MAX_WORD, shortened};
use crate::shared::format::{counted, grouped};
use crate::shared::input;
use crate::shared::signals::check_stopped;

/// Reads the ids of --delete, one per line; empty lines are skipped. None without the option.
pub(crate) fn read_ids(file: Option<&String>, console: &Console) -> Result<Vec<String>> {
    let Some(file) = file else {
        return Ok(Vec::new());
    };
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

/// Index in a folder, for errors.
pub(crate) struct UpdatedIndex {
    pub(crate) name: &'static str,
    /// What a command does with documents.
    pub(crate) verb: &'static str,
    /// Arguments of a command that adds documents, up to `-o FOLDER --add`.
    pub(crate) command: &'static str,
}

impl UpdatedIndex {
    /// Rejects a file in place of the folder.
    pub(crate) fn check_folder(&self, folder: &Path) -> Result<()> {
        let (path, Self { name, verb, .. }) = (folder.display(), self);
        if folder.is_file() {
            bail!(
                "{path}: expected the folder of {name}, found a file, which is not updated; {verb} \
                 its documents into a folder with --add"
            );
        }
        Ok(())
    }

    /// Rejects a new folder without documents to add, and a folder with other files.
    pub(crate) fn check_new<T>(&self, folder: &Path, documents: Option<T>) -> Result<T> {
        let (path, Self { name, command, .. }) = (folder.display(), self);
        let Some(documents) = documents else {
            bail!(
                "{path}: expected the folder of {name} (`{command} -o FOLDER --add`), found none"
            );
        };
        if folder.is_dir() && has_other_files(folder)? {
            bail!("{path}: expected {name} or an empty folder, found other files");
        }
        Ok(documents)
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct WaitOption {
    /// Time to wait for another writer that has locked the index, in seconds. Range: ≥ 0
    /// [default: 0]
    #[arg(long, value_parser = seconds, value_name = "SECONDS", help_heading = "Update")]
    pub(crate) wait: Option<Duration>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let parsed = text.parse().ok();
    let parsed = parsed.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    parsed.ok_or_else(|| format!("expected a number of seconds >= 0, found {text:?}"))
}

/// Time between two attempts to lock an index.
const RETRY: Duration = Duration::from_millis(50);

impl WaitOption {
    /// Opens a writer. While another writer has locked the index, tries again until the time is
    /// over. `is_locked` selects the error of a locked index.
    pub(crate) fn open<T, E: Into<anyhow::Error>>(
        &self,
        console: &Console,
        mut open: impl FnMut() -> Result<T, E>,
        is_locked: impl Fn(&E) -> bool,
    ) -> Result<T> {
        let (began, wait) = (Instant::now(), self.wait.unwrap_or_default());
        let mut is_waiting = false;
        loop {
            let error = match open() {
                Ok(opened) => return Ok(opened),
                Err(error) => error,
            };
            let left = wait.saturating_sub(began.elapsed());
            if left.is_zero() || !is_locked(&error) {
                return Err(error.into());
            }
            if !is_waiting {
                let seconds = wait.as_secs_f64();
                console.log(format_args!(
                    "the index is locked by another writer; waiting up to {seconds} s for it"
                ));
                is_waiting = true;
            }
            check_stopped()?;
            thread::sleep(left.min(RETRY));
        }
    }
}

/// Number and size of segments.
pub(crate) fn describe_segments(segments: impl ExactSizeIterator<Item = SegmentStats>) -> String {
    let count = counted(segments.len() as u64, "segment");
    let bytes = segments.map(|segment| segment.bytes).sum();
    format!("{count}, {}", HumanBytes(bytes))
}

/// Returns `true` if a folder contains files, but no lock file. A writer that was killed before its
/// first commit leaves a lock file.
fn has_other_files(folder: &Path) -> Result<bool> {
    let names = folder.read_dir().and_then(|entries| {
        let names = entries.map(|entry| Ok(entry?.file_name()));
        names.collect::<io::Result<Vec<_>>>()
    });
    let names = names.with_context(|| format!("{}: cannot be read", folder.display()))?;
    Ok(!names.is_empty() && !names.iter().any(|name| name == LOCK_NAME))
}
