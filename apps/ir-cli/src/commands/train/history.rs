//! The training history: a file that grows while training runs, and the loss on the console.

use std::fs::{File, OpenOptions};
use std::io::Write;

use anyhow::{Context, Result};
use ir_dense::train::TrainingHistory;
use ir_eval::Measure;

use crate::shared::console::Console;
use crate::shared::output::{OutputPath, OutputSink, failed, follow_links};
use crate::shared::stream::is_stream;

/// History of a run, as it is written and printed.
pub(super) struct HistoryLog<'a> {
    /// File of the history, to which rows are appended.
    path: Option<&'a OutputPath>,
    file: Option<File>,
    /// Steps per epoch, and of all epochs.
    per_epoch: u64,
    steps: u64,
    measure: &'a Measure,
    console: &'a Console,
    /// Number of steps in the file.
    written: usize,
    /// Number of steps with a printed loss.
    printed: usize,
    /// Number of printed evaluations.
    evaluations: usize,
    started: bool,
}

impl<'a> HistoryLog<'a> {
    pub(super) fn new(
        path: Option<&'a OutputPath>,
        (steps, epochs): (u64, u64),
        measure: &'a Measure,
        console: &'a Console,
    ) -> Self {
        Self {
            path: path.filter(|path| is_appended(path)),
            file: None,
            per_epoch: (steps / epochs.max(1)).max(1),
            steps,
            measure,
            console,
            written: 0,
            printed: 0,
            evaluations: 0,
            started: false,
        }
    }

    /// Writes and prints what is new. The first call replaces the file: a resumed run repeats the
    /// steps after its checkpoint.
    pub(super) fn update(&mut self, history: &TrainingHistory) -> Result<()> {
        self.write(history)?;
        if !self.started {
            self.started = true;
            self.printed = history.steps.len();
            // Evaluations of an earlier run are not printed again.
            self.evaluations = if history.steps.is_empty() {
                0
            } else {
                history.evaluations.len()
            };
        }
        self.print(history);
        Ok(())
    }

    fn write(&mut self, history: &TrainingHistory) -> Result<()> {
        let Some(path) = self.path else {
            return Ok(());
        };
        let context = || failed(path.display());
        match &mut self.file {
            None => {
                let table = history.to_csv();
                OutputSink::open(Some(path))?.write_with(|out| out.write_all(table.as_bytes()))?;
                let file = OpenOptions::new().append(true).open(follow_links(path));
                self.file = Some(file.with_context(context)?);
            }
            // One write for all rows, so that a reader sees whole lines.
            Some(file) => file
                .write_all(history.csv_rows(self.written).as_bytes())
                .with_context(context)?,
        }
        self.written = history.steps.len();
        Ok(())
    }

    /// Prints new evaluations, and the mean loss since the last line: at every evaluation, at the
    /// end of every epoch and after the last step.
    fn print(&mut self, history: &TrainingHistory) {
        let step = history.steps.last().map_or(0, |row| row.step);
        let values = &history.evaluations[self.evaluations..];
        let measured = values
            .last()
            .map(|point| format!("{} {:.4}", self.measure, point.value));
        let is_end = step > 0 && (step.is_multiple_of(self.per_epoch) || step == self.steps);
        if measured.is_none() && !is_end {
            return;
        }
        let loss = mean_loss(history, self.printed).map(|loss| format!("mean loss {loss:.4}"));
        let values: Vec<String> = measured.into_iter().chain(loss).collect();
        if !values.is_empty() {
            let values = values.join(", ");
            self.console.log(format_args!("step {step}: {values}"));
        }
        self.printed = history.steps.len();
        self.evaluations = history.evaluations.len();
    }
}

/// Mean loss of the steps after the first `steps`; `None` if there are none.
fn mean_loss(history: &TrainingHistory, steps: usize) -> Option<f64> {
    let new = history.steps.get(steps..).unwrap_or_default();
    let sum: f64 = new.iter().map(|row| row.loss).sum();
    (!new.is_empty()).then(|| sum / new.len() as f64)
}

/// Returns `true` if rows can be appended to a file. Standard output, other streams and compressed
/// files are written at the end.
pub(super) fn is_appended(path: &OutputPath) -> bool {
    let ending = path.extension().unwrap_or_default();
    let compressed = ["gz", "zst"];
    !path.is_stdout()
        && !is_stream(path)
        && !compressed.iter().any(|it| ending.eq_ignore_ascii_case(it))
}
