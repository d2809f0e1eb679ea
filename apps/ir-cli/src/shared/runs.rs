//! Reading several runs, checks on them and their file arguments, and writing of runs.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use anyhow::Result;
use ir_core::trec::{HeaderLine, ScoreFormat, write_run};
use ir_core::{Flow, Progress, Qrels, Run, RunOrder};
use ir_eval::Report;

use crate::shared::console::{Bar, Console, bail_usage};
use crate::shared::input;
use crate::shared::options::{choice, header};
use crate::shared::output::OutputSink;
use crate::shared::signals::Interrupted;

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

/// Warns if there is one run only. `effect` describes the consequence for the command.
pub(crate) fn warn_of_single(files: &[String], effect: &str, console: &Console) {
    if let [file] = files {
        console.warn(format_args!("{file}: the only run; {effect}"));
    }
}

/// Warns about each run with the same contents as an earlier run.
pub(crate) fn warn_of_repeated(files: &[String], console: &Console) {
    for (at, file) in files.iter().enumerate() {
        let same = |other: &&String| other == &file || same_contents(other, file);
        if file != "-"
            && let Some(first) = files[..at].iter().find(same)
        {
            console.warn(if first == file {
                format!("{file}: the run is given twice")
            } else {
                format!("{file}: the same contents as {first}, the run is given twice")
            });
        }
    }
}

/// Returns `true` if two files have the same bytes. `false` for what is not a file, and if one
/// cannot be read: reading it as a run returns the error.
fn same_contents(first: &str, second: &str) -> bool {
    let size = |path| fs::metadata(path).ok().filter(fs::Metadata::is_file);
    let (Some(a), Some(b)) = (size(first), size(second)) else {
        return false;
    };
    if a.len() != b.len() || a.len() == 0 {
        return false;
    }
    let bytes = |path: &str| File::open(Path::new(path)).map(|file| BufReader::new(file).bytes());
    let (Ok(first), Ok(second)) = (bytes(first), bytes(second)) else {
        return false;
    };
    first
        .zip(second)
        .all(|pair| matches!(pair, (Ok(a), Ok(b)) if a == b))
}

/// Warns about each run without a query in common with the other runs.
pub(crate) fn warn_of_disjoint(runs: &[Run], console: &Console) {
    let queries = |run: &Run| run.iter().map(|(query, _)| query.to_owned()).next();
    for (at, run) in runs.iter().enumerate() {
        let others = || runs.iter().enumerate().filter(|(other, _)| *other != at);
        let is_known = |query: &str| others().any(|(_, other)| other.get(query).is_some());
        let other = others().find_map(|(_, other)| Some((&other.tag, queries(other)?)));
        if let (Some(query), Some((name, example))) = (queries(run), other)
            && !run.iter().any(|(query, _)| is_known(query))
        {
            console.warn(format_args!(
                "{}: no query in common with another run (it has queries such as {query:?}, {name} such as {example:?})",
                run.tag
            ));
        }
    }
}

/// Warns if no result of a run is judged, for any query with judgments.
pub(crate) fn warn_of_unmatched(file: &str, report: &Report, console: &Console) {
    if let Some([judged, retrieved]) = report.unmatched() {
        console.warn(format_args!(
            "{file}: no result is judged (judgments: documents such as {judged:?}; run: {retrieved:?})"
        ));
    }
}

/// Error text for judgments and a run without a common query. `None` if they share a query.
pub(crate) fn without_common_query(qrels: &Qrels, run: &Run) -> Option<String> {
    let judged: BTreeSet<&str> = qrels.iter().map(|(query, _)| query).collect();
    if run.iter().any(|(query, _)| judged.contains(query)) {
        return None;
    }
    let example =
        |query: Option<&str>| query.map_or_else(String::new, |it| format!(", such as {it:?}"));
    Some(format!(
        "the judgments have {} queries{}, the run has {}{}",
        judged.len(),
        example(judged.first().copied()),
        run.iter().len(),
        example(run.iter().map(|(query, _)| query).next())
    ))
}

/// Writes a run with exact scores, with progress in lines.
pub(crate) fn write(run: &Run, out: OutputSink, console: &Console) -> Result<()> {
    let total = run.iter().map(|(_, list)| list.len() as u64).sum();
    out.write_with(|out| {
        let mut out = WritingProgress {
            out,
            bar: console.bar(),
            lines: 0,
            reported: 0,
            total,
        };
        write_run(run, ScoreFormat::Exact, &mut out)
    })
}

/// Number of lines between two reports.
const REPORTED_LINES: u64 = 1 << 16;

/// Writer that reports the number of lines written.
struct WritingProgress<'a> {
    out: &'a mut OutputSink,
    bar: Bar,
    lines: u64,
    reported: u64,
    total: u64,
}

impl Write for WritingProgress<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.lines += bytes[..written].iter().filter(|&&b| b == b'\n').count() as u64;
        if self.lines - self.reported >= REPORTED_LINES {
            self.reported = self.lines;
            if self.bar.report("writing", self.lines, Some(self.total)) == Flow::Stop {
                return Err(io::Error::other(Interrupted));
            }
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
