//! Record of the validation settings beside a checkpoint, so that a resumed run cannot mix two
//! measures in one history.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ir_core::store::AtomicFile;
use serde::Serialize;
use serde_json::Value;

/// Everything that determines the values and steps of evaluations.
#[derive(Debug, Serialize)]
pub(super) struct Evaluation {
    pub(super) collection: String,
    pub(super) split: String,
    pub(super) measure: String,
    pub(super) template: String,
    pub(super) query_form: String,
    pub(super) remove_self: bool,
    pub(super) not_later_than_query: bool,
    /// Number of steps between evaluations; `None` is one epoch.
    pub(super) every: Option<u64>,
    /// Hash of texts, queries and judgments.
    pub(super) contents: String,
}

/// Fields in the order in which they are compared.
const FIELDS: [&str; 9] = [
    "collection",
    "split",
    "measure",
    "template",
    "query_form",
    "remove_self",
    "not_later_than_query",
    "every",
    "contents",
];

/// Compares the evaluation settings with those of an existing checkpoint, or writes them if there
/// is none. Returns whether a checkpoint exists.
pub(super) fn check_or_record(checkpoints: &Path, evaluation: Option<&Evaluation>) -> Result<bool> {
    let path = checkpoints.join("evaluation.json");
    let wanted = serde_json::to_value(evaluation)?;
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
        same(&wanted, &found).with_context(|| {
            format!(
                "{}: the checkpoint has different evaluation settings ({})",
                path.display(),
                remedy(checkpoints)
            )
        })?;
        return Ok(true);
    }
    let write = || {
        fs::create_dir_all(checkpoints)?;
        let mut file = AtomicFile::create(&path)?;
        writeln!(file, "{wanted:#}")?;
        file.commit()
    };
    write().with_context(|| format!("{}: could not be written", path.display()))?;
    Ok(false)
}

/// Removes the record written by [`check_or_record`] if no checkpoint was saved.
pub(super) fn discard_record(checkpoints: &Path) {
    if !checkpoint(checkpoints).exists() {
        let _ = fs::remove_file(checkpoints.join("evaluation.json"));
        let _ = fs::remove_dir(checkpoints);
    }
}

/// Path of the checkpoint.
fn checkpoint(checkpoints: &Path) -> PathBuf {
    checkpoints.join("checkpoint.safetensors")
}

pub(super) fn remedy(checkpoints: &Path) -> String {
    let folder = checkpoints.display();
    format!("delete the folder {folder} to start over")
}

fn same(wanted: &Value, found: &Value) -> Result<()> {
    for field in FIELDS {
        let [wanted, found] = [wanted, found].map(|value| value.get(field).unwrap_or(&Value::Null));
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
