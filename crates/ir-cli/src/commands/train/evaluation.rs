//! What the evaluations of a checkpoint are of: a file beside it, so that no history holds two measures.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ir_core::AtomicFile;
use serde::Serialize;
use serde_json::Value;

/// What decides the value of an evaluation, and when there is one.
#[derive(Debug, Serialize)]
pub(super) struct Evaluation {
    pub(super) collection: String,
    pub(super) split: String,
    pub(super) measure: String,
    pub(super) template: String,
    pub(super) query_form: String,
    pub(super) remove_self: bool,
    pub(super) not_later_than_query: bool,
    /// Steps between evaluations; none: an epoch.
    pub(super) every: Option<u64>,
    /// A hash of texts, queries and judgments.
    pub(super) contents: String,
}

/// In the order in which differences are told.
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

/// Writes down beside the checkpoints what is evaluated, if anything; an error where those that are
/// there have been evaluated in another way. Whether there is a checkpoint.
pub(super) fn settle(checkpoints: &Path, evaluation: Option<&Evaluation>) -> Result<bool> {
    let path = checkpoints.join("evaluation.json");
    let wanted = serde_json::to_value(evaluation)?;
    if checkpoint(checkpoints).exists() {
        let found = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .with_context(|| format!("{}: expected an evaluation", path.display()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => bail!(
                "{}: expected what the checkpoint's evaluations are of, found nothing ({})",
                path.display(),
                remedy(checkpoints)
            ),
            Err(error) => return Err(error).context(path.display().to_string()),
        };
        same(&wanted, &found).with_context(|| {
            format!(
                "{}: the checkpoint was evaluated in another way ({})",
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

/// Takes back what [`settle`] wrote, where no checkpoint has come to it; anything else stays.
pub(super) fn leave(checkpoints: &Path) {
    if !checkpoint(checkpoints).exists() {
        let _ = fs::remove_file(checkpoints.join("evaluation.json"));
        let _ = fs::remove_dir(checkpoints);
    }
}

/// The checkpoint that training goes on from.
fn checkpoint(checkpoints: &Path) -> PathBuf {
    checkpoints.join("checkpoint.safetensors")
}

pub(super) fn remedy(checkpoints: &Path) -> String {
    let folder = checkpoints.display();
    format!("delete the folder {folder} to begin again")
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
