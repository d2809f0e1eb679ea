//! Folders of training runs: checkpoints beside the output, and records of evaluation and
//! completion.

pub(crate) mod completed;
pub(crate) mod evaluation;
pub(crate) mod values;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::shared::output::WorkPath;

/// Output folder and checkpoint folder, which belong to the command with everything in them.
pub(crate) fn work_paths(output: &Path) -> Vec<WorkPath> {
    let folder = |what, path| WorkPath {
        option: "--output",
        what,
        path,
        is_folder: true,
    };
    let checkpoints = checkpoint_folder(output);
    let checkpoints = checkpoints.map(|path| folder("checkpoints", path));
    checkpoints
        .into_iter()
        .chain([folder("", output.to_owned())])
        .collect()
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
