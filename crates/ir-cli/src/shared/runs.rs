//! Reading several runs, and checks on their file arguments.

use anyhow::Result;
use ir_core::trec::HeaderLine;
use ir_core::{Run, RunOrder};

use crate::shared::console::{Console, bail_usage};
use crate::shared::input;
use crate::shared::options::{choice, header};

#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct RunOptions {
    /// Ranking order: by score as in trec_eval, or by line order
    #[arg(long, value_parser = choice(ORDERS), default_value = "trec-eval", value_name = "ORDER")]
    pub(crate) order: RunOrder,

    /// Skip a header line (text in a numeric column); trec_eval parses it as data
    #[arg(long)]
    pub(crate) skip_header: bool,
}

const ORDERS: [(&str, &str, RunOrder); 2] = [
    (
        "trec-eval",
        "Descending score; ties by descending document id",
        RunOrder::Score,
    ),
    ("file", "Line order of the file", RunOrder::File),
];

impl RunOptions {
    pub(crate) fn header(self) -> HeaderLine {
        header(self.skip_header)
    }

    /// Reads runs, at most one of them from standard input, and names them uniquely.
    pub(crate) fn read(self, files: &[String], console: &Console) -> Result<Vec<Run>> {
        at_most_one_stdin(files)?;
        let read = |file: &String| -> Result<Run> {
            let run = input::run(file, self.header(), console)?;
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

/// Names runs as [`run_names`].
pub(crate) fn name_runs(runs: &mut [Run], files: &[String]) {
    let names = run_names(runs.iter().map(|run| run.tag.as_str()), files);
    for (run, name) in runs.iter_mut().zip(names) {
        run.tag = name;
    }
}

/// Names of runs: their tags. If a tag is empty or not unique, all runs are named by their files; a
/// repeated file gets a number.
pub(crate) fn run_names<'a>(tags: impl Iterator<Item = &'a str>, files: &[String]) -> Vec<String> {
    let names: Vec<String> = tags.map(str::to_owned).collect();
    let mut tags = names.clone();
    tags.sort_unstable();
    if tags.windows(2).any(|pair| pair[0] == pair[1]) || tags.contains(&String::new()) {
        return with_numbers(files).collect();
    }
    names
}

/// Appends numbers to repeated names.
pub(crate) fn with_numbers(names: &[String]) -> impl Iterator<Item = String> {
    names.iter().enumerate().map(|(at, name)| {
        let before = names[..at].iter().filter(|other| *other == name);
        match before.count() {
            0 => name.clone(),
            before => format!("{name} ({})", before + 1),
        }
    })
}

/// Rejects a second `-`: standard input can be read once.
pub(crate) fn at_most_one_stdin<S: AsRef<str>>(files: impl IntoIterator<Item = S>) -> Result<()> {
    let stdin = |file: &S| file.as_ref() == "-";
    if files.into_iter().filter(stdin).count() > 1 {
        bail_usage!("expected `-` at most once, found it more than once");
    }
    Ok(())
}
