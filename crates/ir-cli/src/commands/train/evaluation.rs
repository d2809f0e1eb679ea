//! Record of the validation settings beside a checkpoint, so that a resumed run cannot mix two
//! measures in one history.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ir_core::store::AtomicFile;
use serde_json::{Value, json};

use crate::shared::output::failed;

/// Everything that determines the values and steps of evaluations, in the order in which it is
/// compared.
pub(super) type Evaluation = [(&'static str, Value); 9];

/// Compares the evaluation settings with those of an existing checkpoint, or writes them if there
/// is none. Returns whether a checkpoint exists.
pub(super) fn check_or_record(checkpoints: &Path, evaluation: Option<&Evaluation>) -> Result<bool> {
    let path = checkpoints.join("evaluation.json");
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
        let _ = fs::remove_file(checkpoints.join("evaluation.json"));
        let _ = fs::remove_dir(checkpoints);
    }
}

/// Removes the checkpoints of a finished run. The checkpoint goes first, so that a run that is
/// killed in between leaves no checkpoint without its record or its best weights.
pub(super) fn discard(checkpoints: &Path) {
    let _ = fs::remove_file(checkpoint(checkpoints));
    let _ = fs::remove_dir_all(checkpoints);
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
