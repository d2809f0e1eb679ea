//! Record of the validation settings beside a checkpoint, so that a resumed run cannot mix two
//! measures in one history.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ir_core::store::AtomicFile;
use serde_json::{Value, json};

use super::completed;
use super::values::Evaluation;
use crate::shared::console::Console;
use crate::shared::output::failed;

/// Name of the record.
const RECORD: &str = "evaluation.json";

/// Format of checkpoints, in the metadata at the start of their files.
const FORMAT: &str = "ir-dense training checkpoint";
const MAX_HEADER: u64 = 1 << 20;

/// Compares the evaluation settings with the settings of an existing checkpoint, or writes them if
/// there is none. Returns `true` if a checkpoint exists, after a note.
pub(crate) fn check_or_record(
    checkpoints: &Path,
    evaluation: Option<&Evaluation>,
    console: &Console,
) -> Result<bool> {
    let path = checkpoints.join(RECORD);
    reject_foreign(checkpoints)?;
    if checkpoint(checkpoints).exists() {
        let found = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .with_context(|| format!("{}: expected an evaluation", path.display()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => bail!(
                "{}: expected the evaluation settings of the checkpoint, found no file ({})",
                path.display(),
                remedy(checkpoints)
            ),
            Err(error) => return Err(error).context(path.display().to_string()),
        };
        same(evaluation, &found).with_context(|| {
            format!(
                "{}: the checkpoint has different evaluation settings ({})",
                path.display(),
                remedy(checkpoints)
            )
        })?;
        let kept = checkpoints.display();
        console.note(format_args!("resuming from the checkpoint in {kept}"));
        return Ok(true);
    }
    let record =
        evaluation.map(|evaluation| evaluation.iter().cloned().collect::<BTreeMap<_, _>>());
    let record = json!(record);
    let write = || {
        fs::create_dir_all(checkpoints)?;
        let mut file = AtomicFile::create(&path)?;
        writeln!(file, "{record:#}")?;
        file.commit()
    };
    write().with_context(|| failed(path.display()))?;
    Ok(false)
}

/// Removes the record written by [`check_or_record`] if no checkpoint was saved.
pub(super) fn discard_record(checkpoints: &Path) {
    if !checkpoint(checkpoints).exists() {
        let _ = fs::remove_file(checkpoints.join(RECORD));
        let _ = fs::remove_dir(checkpoints);
    }
}

/// Removes the checkpoints of a finished run, and their folder if it has no other files. The
/// checkpoint goes first, so that a run that is killed in between leaves no checkpoint without its
/// record or its best weights.
pub(crate) fn discard(checkpoints: &Path) {
    let _ = fs::remove_file(checkpoint(checkpoints));
    for path in best_weights(checkpoints) {
        let _ = fs::remove_file(path);
    }
    let _ = fs::remove_file(checkpoints.join(RECORD));
    completed::discard(checkpoints);
    discard_record(checkpoints);
}

/// Files of best weights, `best-STEP.safetensors`.
fn best_weights(checkpoints: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(checkpoints).into_iter().flatten().flatten();
    let is_best = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str);
        let step = name.and_then(|name| name.strip_prefix("best-")?.strip_suffix(".safetensors"));
        step.is_some_and(|step| step.parse::<u64>().is_ok())
    };
    entries.map(|entry| entry.path()).filter(is_best).collect()
}

/// Rejects files with the names of a training run that no training run wrote: they would be
/// replaced or deleted. The trainer checks the checkpoint.
fn reject_foreign(checkpoints: &Path) -> Result<()> {
    let record = checkpoints.join(RECORD);
    let is_foreign = |path: &PathBuf| match read_start(path) {
        Ok(text) if *path == record => !is_record(&text),
        Ok(header) => {
            let mut parts = header.windows(FORMAT.len());
            !parts.any(|part| part == FORMAT.as_bytes())
        }
        Err(error) => error.kind() != ErrorKind::NotFound,
    };
    let mut files = best_weights(checkpoints)
        .into_iter()
        .chain([record.clone()]);
    if let Some(path) = files.find(is_foreign) {
        bail!(
            "{}: expected a file of an interrupted training run, found another (move it, or choose another --output)",
            path.display()
        );
    }
    Ok(())
}

/// Reads the first [`MAX_HEADER`] bytes of a file.
fn read_start(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(MAX_HEADER).read_to_end(&mut start)?;
    Ok(start)
}

/// Returns `true` if a file contains evaluation settings, or null for a run without evaluations.
fn is_record(text: &[u8]) -> bool {
    match serde_json::from_slice(text) {
        Ok(Value::Null) => true,
        Ok(Value::Object(fields)) => ["collection", "split", "measure"]
            .iter()
            .all(|field| fields.contains_key(*field)),
        _ => false,
    }
}

fn checkpoint(checkpoints: &Path) -> PathBuf {
    checkpoints.join("checkpoint.safetensors")
}

pub(super) fn remedy(checkpoints: &Path) -> String {
    let folder = checkpoints.display();
    format!("delete the folder {folder} to start over")
}

fn same(wanted: Option<&Evaluation>, found: &Value) -> Result<()> {
    let none = [("collection", Value::Null)];
    for (field, wanted) in wanted.map_or(&none[..], |wanted| &wanted[..]) {
        let found = found.get(field).unwrap_or(&Value::Null);
        if wanted != found {
            let [wanted, found] = [wanted, found].map(|value| match value {
                Value::Null => "none".to_owned(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            bail!("expected {field} {wanted}, found {found}");
        }
    }
    Ok(())
}
