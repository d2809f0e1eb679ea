//! Evaluated runs under unique names, for `ir compare` and `ir sweep`.

use std::path::Path;

use anyhow::{Context, Result};
use ir_core::Run;
use ir_core::trec::HeaderLine;
use ir_eval::{CompareError, Evaluator, Report, RunFileOptions};

use crate::shared::console::{Console, Usage, check_stopped};
use crate::shared::input;
use crate::shared::qrels::{QrelsFormat, with_warnings};

/// Arguments of commands that evaluate several runs.
#[derive(Debug, clap::Args)]
pub(crate) struct QrelsAndRuns {
    /// Relevance judgments: a file, a collection by name such as `beir/nfcorpus`, or `-`
    pub(crate) qrels: String,

    /// TREC runs (six columns); one may be `-` (standard input)
    #[arg(required = true, num_args = 1.., value_name = "RUN")]
    pub(crate) runs: Vec<String>,

    /// Format of the judgments
    #[arg(
        short = 'R', long = "judgments", value_enum, default_value_t = QrelsFormat::Qrels,
        value_name = "FORM"
    )]
    pub(crate) form: QrelsFormat,
}

/// A run and its evaluation.
pub(crate) struct EvaluatedRun {
    /// Report under the run's unique name.
    pub(crate) report: Report,
    pub(crate) file: String,
    /// Tag in the run file.
    pub(crate) tag: String,
    /// Rankings, if they were requested.
    pub(crate) list: Option<Run>,
}

impl EvaluatedRun {
    pub(crate) fn name(&self) -> &str {
        self.report.run()
    }
}

pub(crate) struct RunEvaluator<'a> {
    pub(crate) evaluator: &'a Evaluator<'a>,
    /// Judgment file, for error messages.
    pub(crate) qrels: &'a str,
    pub(crate) header: HeaderLine,
    /// Whether to keep the rankings in memory; otherwise runs are streamed.
    pub(crate) lists: bool,
}

impl RunEvaluator<'_> {
    /// Evaluates runs and prints warnings. Runs are named by tag, or by file where tags are not
    /// unique.
    pub(crate) fn systems(&self, files: &[String], console: &Console) -> Result<Vec<EvaluatedRun>> {
        let mut systems = Vec::with_capacity(files.len());
        for file in files {
            check_stopped()?;
            systems.push(self.system(file, console)?);
        }
        let once = |text: &dyn Fn(&EvaluatedRun) -> String, one: &EvaluatedRun| {
            systems
                .iter()
                .filter(|other| text(other) == text(one))
                .count()
                == 1
        };
        let tag = |one: &EvaluatedRun| one.tag.clone();
        let name = |one: &EvaluatedRun| file_name(&one.file);
        let names: Vec<String> = systems
            .iter()
            .map(|one| {
                if !one.tag.is_empty() && once(&tag, one) {
                    one.tag.clone()
                } else if once(&name, one) {
                    name(one)
                } else {
                    one.file.clone()
                }
            })
            .collect();
        // The same file twice, or a tag equal to another file name.
        let numbered = |(at, system): (usize, EvaluatedRun)| {
            let name = &names[at];
            let before = names[..at].iter().filter(|other| *other == name).count();
            let name = match before {
                0 => name.clone(),
                _ => format!("{name} ({})", before + 1),
            };
            EvaluatedRun {
                report: system.report.with_run_name(name),
                ..system
            }
        };
        Ok(systems.into_iter().enumerate().map(numbered).collect())
    }

    fn system(&self, file: &str, console: &Console) -> Result<EvaluatedRun> {
        let (report, list) = if self.lists {
            let run = with_warnings(input::run(file, self.header)?, console);
            let report = self.evaluator.evaluate(&run);
            let report = report.with_context(|| format!("{file} with {}", self.qrels))?;
            (report, Some(run))
        } else {
            let how = RunFileOptions {
                header: self.header,
                threads: None,
            };
            let report = input::evaluate(self.evaluator, file, self.qrels, how, console)?;
            (report, None)
        };
        Ok(EvaluatedRun {
            tag: report.run().to_owned(),
            file: file.to_owned(),
            report,
            list,
        })
    }
}

pub(crate) fn file_name(file: &str) -> String {
    Path::new(file).file_name().map_or_else(
        || file.to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Usage error for a single run; most likely the judgments were forgotten.
pub(crate) fn expected_two_runs(qrels: &str) -> Usage {
    Usage(format!(
        "expected at least 2 runs, found 1 (the first argument, {qrels}, is the judgment file)"
    ))
}

/// Converts a comparison error that is caused by the options into a usage error.
pub(crate) fn usage_error(error: CompareError) -> anyhow::Error {
    match error {
        CompareError::UnknownSystem { .. } | CompareError::TwoSided => {
            Usage(error.to_string()).into()
        }
        error => error.into(),
    }
}
