//! Folders of training runs: checkpoints beside the output, and records of evaluation and
//! completion.

pub(crate) mod completed;
pub(crate) mod evaluation;
pub(crate) mod values;

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use ir_dense::train::TrainError;

use self::completed::CompletedRun;
use crate::shared::console::{Console, Resumable};
use crate::shared::options::positive;
use crate::shared::output::WorkPath;

/// Options of checkpoints and threads.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Execution")]
pub(crate) struct ExecutionOptions {
    /// Number of steps between checkpoints
    #[arg(long, value_parser = positive, default_value_t = 100, value_name = "N")]
    pub(crate) checkpoint_every: usize,

    /// Keep the checkpoints after training
    #[arg(long)]
    pub(crate) keep_checkpoints: bool,

    /// Number of threads [default: one per core]
    #[arg(long, value_parser = positive, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

/// Output folder and checkpoint folder, which belong to the command with everything in them.
pub(crate) fn work_paths(output: &Path) -> Vec<WorkPath> {
    let checkpoints = checkpoint_folder(output).map(|path| WorkPath {
        what: "checkpoints",
        ..WorkPath::output_folder(path)
    });
    let output = WorkPath::output_folder(output.to_owned());
    checkpoints.into_iter().chain([output]).collect()
}

/// Checkpoint folder beside the output folder; `None` for a path without a name.
fn checkpoint_folder(output: &Path) -> Option<PathBuf> {
    let mut name = output.file_name()?.to_owned();
    name.push(".checkpoints");
    Some(output.with_file_name(name))
}

/// Checks the output folder and returns the checkpoint folder.
pub(crate) fn check_output(output: &Path) -> Result<PathBuf> {
    let shown = output.display();
    let Some(checkpoints) = checkpoint_folder(output) else {
        bail!("{shown}: expected a new folder with a name, found an existing one");
    };
    if output.exists() && !output.is_dir() {
        bail!("{shown}: expected a new folder, found a file");
    }
    if has_files(output) && !completed::has_record(&checkpoints) {
        bail!("{shown}: expected a new folder, found one with files in it");
    }
    Ok(checkpoints)
}

/// Reports a run that was killed after its output was written; any other output is an error.
pub(crate) fn check_completed(
    completed: &CompletedRun<'_>,
    output: &Path,
    checkpoints: &Path,
    console: &Console,
) -> Result<()> {
    let output = output.display();
    if !completed.is_recorded(checkpoints) {
        bail!("{output}: expected a new folder, found one with files in it");
    }
    console.log(format_args!("{output}: complete since an earlier run"));
    Ok(())
}

/// Error of a run that ended, with the command or folder to resume or start over.
pub(crate) fn ended(error: TrainError, checkpoints: &Path) -> anyhow::Error {
    match error {
        TrainError::Stopped { step, steps } => {
            let kept = checkpoints.display();
            Resumable(format!(
                "interrupted after {step} of {steps} steps; run the same command to resume from {kept}"
            ))
            .into()
        }
        TrainError::OtherConfiguration { .. } => {
            anyhow!("{error} ({})", evaluation::remedy(checkpoints))
        }
        _ => {
            evaluation::discard_record(checkpoints);
            error.into()
        }
    }
}

pub(crate) fn has_files(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// Deletes the checkpoints of a complete run, unless they are kept.
pub(crate) fn discard(keep_checkpoints: bool, checkpoints: &Path) {
    if keep_checkpoints {
        completed::discard(checkpoints)
    } else {
        evaluation::discard(checkpoints)
    }
}
