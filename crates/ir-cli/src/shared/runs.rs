//! Reading several runs, and checks on their file arguments.

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use ir_core::trec::HeaderLine;
use ir_core::{Run, RunOrder};

use crate::shared::console::{Console, Usage};
use crate::shared::input;
use crate::shared::qrels::with_warnings;

/// Options for reading runs.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct RunOptions {
    /// Ranking order: by score as in trec_eval, or by line order
    #[arg(long, value_enum, default_value_t = RunOrderOption::TrecEval, value_name = "ORDER")]
    pub(crate) order: RunOrderOption,

    /// Skip a header line (text in a numeric column); trec_eval parses it as data
    #[arg(long)]
    pub(crate) skip_header: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunOrderOption {
    /// Descending score; ties by descending document id
    TrecEval,
    /// Line order of the file
    File,
}

impl From<RunOrderOption> for RunOrder {
    fn from(order: RunOrderOption) -> Self {
        match order {
            RunOrderOption::TrecEval => Self::Score,
            RunOrderOption::File => Self::File,
        }
    }
}

impl RunOptions {
    pub(crate) fn header(self) -> HeaderLine {
        if self.skip_header {
            HeaderLine::Skip
        } else {
            HeaderLine::AsData
        }
    }

    /// Reads runs, at most one of them from standard input, and names them uniquely.
    pub(crate) fn read(self, files: &[String], console: &Console) -> Result<Vec<Run>> {
        at_most_one_stdin(files)?;
        let read = |file: &String| -> Result<Run> {
            let run = with_warnings(input::run(file, self.header())?, console);
            if run.is_empty() {
                console.warn(format_args!("{file}: no results"));
            }
            Ok(run)
        };
        let mut runs = files.iter().map(read).collect::<Result<Vec<Run>>>()?;
        name_runs(&mut runs, files);
        Ok(runs)
    }
}

/// Names runs by their tags. If a tag is empty or not unique, all runs are named by their files; a
/// repeated file gets a number.
pub(crate) fn name_runs(runs: &mut [Run], files: &[String]) {
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

/// Rejects an output path that is one of the input files.
pub(crate) fn reject_input_as_output<S: AsRef<str>>(
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
            "{option}: expected a path that is not an input, found {}",
            file.as_ref()
        ))),
        None => Ok(()),
    }
}

/// Rejects a second `-`: standard input can be read once.
pub(crate) fn at_most_one_stdin<S: AsRef<str>>(files: &[S]) -> Result<(), Usage> {
    if files.iter().filter(|file| file.as_ref() == "-").count() > 1 {
        return Err(Usage("expected `-` at most once, found it twice".into()));
    }
    Ok(())
}

/// Rejects two outputs with the same destination; `None` and `-` are standard output.
pub(crate) fn reject_same_destination(
    output: Option<&Path>,
    other: Option<&Path>,
    option: &str,
) -> Result<(), Usage> {
    let dash = Path::new("-");
    match other {
        Some(other) if other == output.unwrap_or(dash) => Err(Usage(format!(
            "{option}: expected a destination other than --output, found {} for both",
            other.display()
        ))),
        _ => Ok(()),
    }
}
