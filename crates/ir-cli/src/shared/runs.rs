//! What the commands share that take several runs.

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use comfy_table::{CellAlignment, Table, TableStyle};
use ir_core::trec::Header;
use ir_core::{ListOrder, Run};

use crate::shared::console::{Console, Usage};
use crate::shared::qrels::told;
use crate::shared::input;

/// How runs are read.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct RunOptions {
    /// RunOrder of each list: by score as trec_eval sorts it, or as it stands in the file
    #[arg(long, value_enum, default_value_t = RunOrder::TrecEval, value_name = "ORDER")]
    pub(crate) order: RunOrder,

    /// A first line with text in place of a number dropped; trec_eval counts it as data
    #[arg(long)]
    pub(crate) skip_header: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunOrder {
    /// By score, equal scores by document id from z to a
    TrecEval,
    /// As the lines stand
    File,
}

impl From<RunOrder> for ListOrder {
    fn from(order: RunOrder) -> Self {
        match order {
            RunOrder::TrecEval => Self::Score,
            RunOrder::File => Self::File,
        }
    }
}

impl RunOptions {
    pub(crate) fn header(self) -> Header {
        if self.skip_header {
            Header::Skip
        } else {
            Header::AsData
        }
    }

    /// Reads runs, of which one may be standard input, and [`label`]s them.
    pub(crate) fn read(self, files: &[String], console: &Console) -> Result<Vec<Run>> {
        only_one_stdin(files)?;
        let read = |file: &String| -> Result<Run> {
            let run = told(source::run(file, self.header())?, console);
            if run.is_empty() {
                console.warn(format_args!("{file}: no results"));
            }
            Ok(run)
        };
        let mut runs = files.iter().map(read).collect::<Result<Vec<Run>>>()?;
        label(&mut runs, files);
        Ok(runs)
    }
}

/// Calls runs by their tags, or by their files where two have one tag or one has none, with a
/// number where a file comes twice.
pub(crate) fn label(runs: &mut [Run], files: &[String]) {
    let mut tags: Vec<&str> = runs.iter().map(|run| run.tag.as_str()).collect();
    tags.sort_unstable();
    if tags.windows(2).any(|pair| pair[0] == pair[1]) || tags.contains(&"") {
        for (run, file) in runs.iter_mut().zip(files) {
            run.tag.clone_from(file);
        }
    }
    for (at, file) in files.iter().enumerate() {
        let before = files[..at].iter().filter(|other| *other == file).count();
        if before > 0 {
            runs[at].tag = format!("{file} ({})", before + 1);
        }
    }
}

/// Refuses to write over a file that is read.
pub(crate) fn not_over<S: AsRef<str>>(
    output: Option<&Path>,
    option: &str,
    files: impl IntoIterator<Item = S>,
) -> Result<(), Usage> {
    let Some(Ok(output)) = output.map(Path::canonicalize) else {
        return Ok(());
    };
    let same = |file: &S| {
        Path::new(file.as_ref())
            .canonicalize()
            .is_ok_and(|file| file == output)
    };
    match files.into_iter().find(same) {
        Some(file) => Err(Usage(format!(
            "{option}: expected another file than those that are read, found {}",
            file.as_ref()
        ))),
        None => Ok(()),
    }
}

/// Standard input can be read once.
pub(crate) fn only_one_stdin<S: AsRef<str>>(files: &[S]) -> Result<(), Usage> {
    if files.iter().filter(|file| file.as_ref() == "-").count() > 1 {
        return Err(Usage("expected `-` once at most, found it twice".into()));
    }
    Ok(())
}

/// Two results do not go to one place; without a name, and by the name `-`, it is standard output.
pub(crate) fn apart(
    output: Option<&Path>,
    other: Option<&Path>,
    option: &str,
) -> Result<(), Usage> {
    let dash = Path::new("-");
    match other {
        Some(other) if other == output.unwrap_or(dash) => Err(Usage(format!(
            "{option}: expected another place than that of --output, found {} for both",
            other.display()
        ))),
        _ => Ok(()),
    }
}
