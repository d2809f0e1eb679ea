//! Record of a training run that is complete but for writing its output and deleting its
//! checkpoints. If it is killed between these two, the same command finds the record.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ir_core::store::AtomicFile;
use serde_json::{Value, json};

use super::values::Evaluation;
use crate::shared::output::failed;

/// What determines the output of a training run.
pub(crate) struct CompletedRun<'a> {
    /// [`TrainingResult::fingerprint`](ir_dense::train::TrainingResult::fingerprint).
    pub(crate) fingerprint: u64,
    pub(crate) evaluation: Option<&'a Evaluation>,
}

impl CompletedRun<'_> {
    fn to_json(&self) -> Value {
        json!({
            "completed_training_run": format!("{:016x}", self.fingerprint),
            "evaluation": self.evaluation,
        })
    }

    /// Writes the record, before the output.
    pub(crate) fn record(&self, checkpoints: &Path) -> Result<()> {
        let path = path(checkpoints);
        let write = || {
            let mut file = AtomicFile::create(&path)?;
            writeln!(file, "{:#}", self.to_json())?;
            file.commit()
        };
        write().with_context(|| failed(path.display()))
    }

    /// Returns `true` if the record describes this run.
    pub(crate) fn is_recorded(&self, checkpoints: &Path) -> bool {
        let text = fs::read(path(checkpoints)).unwrap_or_default();
        serde_json::from_slice(&text).is_ok_and(|found: Value| found == self.to_json())
    }
}

/// Returns `true` if there is a record, of this or another run.
pub(crate) fn has_record(checkpoints: &Path) -> bool {
    let text = fs::read(path(checkpoints)).unwrap_or_default();
    let found: Option<Value> = serde_json::from_slice(&text).ok();
    found.is_some_and(|found| found.get("completed_training_run").is_some())
}

/// Deletes the record, unless it is a foreign file of this name.
pub(crate) fn discard(checkpoints: &Path) {
    if has_record(checkpoints) {
        let _ = fs::remove_file(path(checkpoints));
    }
}

fn path(checkpoints: &Path) -> PathBuf {
    checkpoints.join("completed.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_run_is_recognized() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        let run = |fingerprint| CompletedRun {
            fingerprint,
            evaluation: None,
        };
        assert!(!run(1).is_recorded(here) && !has_record(here));
        run(1).record(here).unwrap();
        assert!(run(1).is_recorded(here) && has_record(here));
        let evaluation: Evaluation = vec![("measure", json!("RR@10"))];
        let evaluated = CompletedRun {
            fingerprint: 1,
            evaluation: Some(&evaluation),
        };
        assert!(!run(2).is_recorded(here) && !evaluated.is_recorded(here));
        discard(here);
        assert!(!has_record(here));
        // A foreign file is kept.
        fs::write(path(here), "{}").unwrap();
        discard(here);
        assert!(path(here).exists());
    }
}
