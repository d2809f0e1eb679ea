//! Experiment files of `ir run` and `ir reproduce`: reading, messages, inputs.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::Result;
use ir_core::{Flow, Progress};
use ir_experiment::{Cache, Experiment, Observer, Registry, SpecError, StageReport, StageStatus};

use crate::shared::console::{Bar, Console, Resumable};
use crate::shared::input::arguments;
use crate::shared::output::OutputPath;

/// Reads an experiment file and records its inputs, which outputs cannot replace.
pub(crate) fn open(path: &Path) -> Result<Experiment> {
    let registry = Registry::default();
    let experiment = Experiment::open_with(path, &registry)?;
    arguments::record_experiment(&experiment, &registry)?;
    Ok(experiment)
}

/// Cache of an experiment: a given folder, or `.ir-cache` beside the file.
pub(crate) fn cache(folder: Option<&OutputPath>, experiment: &Experiment) -> Cache {
    Cache::new(match folder {
        Some(folder) => folder.folder(),
        None => experiment.source.folder().join(".ir-cache"),
    })
}

/// Path of the output folder, from the option or else from the file.
pub(crate) fn output_folder(
    option: Option<&OutputPath>,
    experiment: &Experiment,
) -> Option<PathBuf> {
    let of_file = experiment.output.folder.as_ref();
    let of_file = of_file.map(|folder| experiment.source.folder().join(folder));
    option.map(OutputPath::folder).or(of_file)
}

/// Prints stages, notes and progress.
pub(crate) struct ConsoleObserver<'c> {
    console: &'c Console,
    bar: Bar,
    pub(crate) cached: usize,
    pub(crate) computed: usize,
}

impl<'c> ConsoleObserver<'c> {
    pub(crate) fn new(console: &'c Console) -> Self {
        Self {
            console,
            bar: console.bar(),
            cached: 0,
            computed: 0,
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish();
    }
}

impl ConsoleObserver<'_> {
    /// Prints with `print`, in place of the progress bar of a terminal.
    fn interrupt_bar(&mut self, print: impl FnOnce(&Console)) {
        let terminal = std::io::stderr().is_terminal();
        if terminal {
            self.bar.finish();
        }
        print(self.console);
        if terminal {
            self.bar = self.console.bar();
        }
    }
}

impl Progress for ConsoleObserver<'_> {
    fn report(&mut self, stage: &str, done: u64, total: Option<u64>) -> Flow {
        self.bar.report(stage, done, total)
    }
}

impl Observer for ConsoleObserver<'_> {
    fn stage(&mut self, report: &StageReport) {
        match &report.status {
            StageStatus::Cached => self.cached += 1,
            StageStatus::Rebuilt { reason } => {
                self.computed += 1;
                let (stage, what) = (report.stage.name(), &report.description);
                let warning = format!("cached {stage} of {what}: {reason}; computed again");
                self.interrupt_bar(|console| console.warn(warning));
            }
            _ => {
                self.computed += 1;
                let line = stage_line(report, "computed");
                self.interrupt_bar(|console| console.note(line));
            }
        }
    }

    fn note(&mut self, note: &str) {
        self.interrupt_bar(|console| console.note(note));
    }

    fn info(&mut self, info: &str) {
        self.interrupt_bar(|console| console.log(format_args!("note: {info}")));
    }

    fn warning(&mut self, warning: &str) {
        self.interrupt_bar(|console| console.warn(warning));
    }
}

/// Stage in one line: status, kind, start of the key, task, description.
pub(crate) fn stage_line(report: &StageReport, status: &str) -> String {
    let (stage, key) = (report.stage.name(), &report.key[..8.min(report.key.len())]);
    format!(
        "{status:8}  {stage:7}  {key}  {}: {}",
        report.task, report.description
    )
}

/// Error of an experiment. An interrupt says that finished stages are cached.
pub(crate) fn failure(error: SpecError) -> anyhow::Error {
    match error {
        SpecError::Canceled => {
            let message = "interrupted; finished stages are cached, and the same command resumes";
            Resumable(message.to_owned()).into()
        }
        other => other.into(),
    }
}
