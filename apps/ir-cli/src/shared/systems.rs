//! Evaluated runs under unique names, for `ir compare` and `ir sweep`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context, Result, bail};
use ir_core::{Judgments, Run};
use ir_eval::compare::CompareError;
use ir_eval::{Evaluator, MissingQueries, Report, Rules, RunFileOptions};

use crate::shared::console::{Console, Usage, bail_usage};
use crate::shared::input;
use crate::shared::options::choice;
use crate::shared::qrels::{QRELS_FORMATS, QrelsFormat, with_judgments_hint};
use crate::shared::rules::RuleOptions;
use crate::shared::runs::{at_most_one_stdin, warn_of_repeated, warn_of_unmatched, with_numbers};
use crate::shared::signals::{Interrupted, check_stopped};

#[derive(Debug, clap::Args)]
pub(crate) struct QrelsAndRuns {
    /// Relevance judgments: a file, a collection by name such as `beir/nfcorpus`, or `-`
    pub(crate) qrels: String,

    /// TREC runs (six columns), runs in JSON or tables; one may be `-` (standard input)
    #[arg(required = true, num_args = 1.., value_name = "RUN")]
    pub(crate) runs: Vec<String>,

    /// Format of the judgments
    #[arg(
        short = 'R', long = "judgments", value_parser = choice(QRELS_FORMATS),
        default_value = "qrels", value_name = "FORM"
    )]
    form: QrelsFormat,

    /// Average over the queries that every run answers, instead of scoring missing queries 0
    #[arg(long)]
    common: bool,

    #[command(flatten)]
    rules: RuleOptions,
}

impl QrelsAndRuns {
    pub(crate) fn files(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.qrels).chain(&self.runs)
    }

    /// Rejects a single run, and a second `-`.
    pub(crate) fn check(&self) -> Result<()> {
        if self.runs.len() < 2 {
            // Most likely the judgments were forgotten.
            let first = &self.qrels;
            bail_usage!(
                "expected at least 2 runs, found 1 (the first argument, {first}, is the judgment file)"
            );
        }
        at_most_one_stdin(self.files())
    }

    pub(crate) fn rules(&self) -> Rules {
        self.rules.rules(if self.common {
            MissingQueries::Skip
        } else {
            MissingQueries::Zero
        })
    }

    pub(crate) fn judgments(&self, console: &Console) -> Result<Box<dyn Judgments>> {
        self.form.read(&self.qrels, self.rules.header(), console)
    }

    /// Evaluates `files` and prints warnings. Runs are named by tag, or by file where tags are not
    /// unique. `keep` keeps the rankings in memory; otherwise runs are streamed.
    pub(crate) fn evaluate(
        &self,
        files: &[String],
        evaluator: &Evaluator<'_>,
        keep: bool,
        console: &Console,
    ) -> Result<Vec<EvaluatedRun>> {
        let header = self.rules.header();
        let options = RunFileOptions {
            header,
            threads: None,
        };
        warn_of_repeated(files, console);
        let mut systems = Vec::with_capacity(files.len());
        for file in files {
            check_stopped()?;
            let (report, list) = if keep {
                let run = input::run(file, header, console)?;
                let report = evaluator.evaluate(&run);
                let report = report.with_context(|| format!("{file} with {}", self.qrels));
                let report = report.map_err(|error| with_judgments_hint(error, &self.qrels))?;
                (report, Some(run))
            } else {
                let report = input::evaluate(evaluator, file, &self.qrels, options, console);
                let report = report.map_err(|error| with_judgments_hint(error, &self.qrels))?;
                (report, None)
            };
            warn_of_unmatched(file, &report, console);
            systems.push(EvaluatedRun {
                tag: report.run().to_owned(),
                file: file.clone(),
                report,
                list,
            });
        }
        let systems = with_unique_names(systems);
        if self.common {
            check_common(&systems)?;
        }
        Ok(systems)
    }
}

/// Rejects runs without a query that all of them answer.
fn check_common(systems: &[EvaluatedRun]) -> Result<()> {
    let queries = |system: &EvaluatedRun| -> BTreeSet<String> {
        let queries = system.report.queries().iter();
        queries.map(|query| query.query().to_owned()).collect()
    };
    let Some((first, others)) = systems.split_first() else {
        return Ok(());
    };
    let mut common = queries(first);
    for system in others {
        let here = queries(system);
        let example = |all: &BTreeSet<String>| format!("{:?}", all.first().map_or("", |id| id));
        if common.is_disjoint(&here) {
            bail!(
                "--common: expected a query that every run answers, found none ({} has queries such as {}, the runs before it such as {})",
                system.name(),
                example(&here),
                example(&common)
            );
        }
        common.retain(|query| here.contains(query));
    }
    Ok(())
}

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

    pub(crate) fn file_name(&self) -> &str {
        let name = Path::new(&self.file).file_name();
        name.and_then(OsStr::to_str).unwrap_or(&self.file)
    }
}

fn with_unique_names(systems: Vec<EvaluatedRun>) -> Vec<EvaluatedRun> {
    let once = |text: fn(&EvaluatedRun) -> &str, one: &EvaluatedRun| {
        let same = systems.iter().filter(|other| text(other) == text(one));
        same.count() == 1
    };
    let name = |one: &EvaluatedRun| {
        let shown = if !one.tag.is_empty() && once(|one| &one.tag, one) {
            &one.tag
        } else if once(EvaluatedRun::file_name, one) {
            one.file_name()
        } else {
            &one.file
        };
        shown.to_owned()
    };
    let names: Vec<String> = systems.iter().map(name).collect();
    // The same file twice, or a tag equal to another file name.
    let named = systems.into_iter().zip(with_numbers(&names));
    let named = named.map(|(system, name)| EvaluatedRun {
        report: system.report.with_run_name(name),
        ..system
    });
    named.collect()
}

/// Converts a comparison error that is caused by the options into a usage error.
pub(crate) fn usage_error(error: CompareError) -> anyhow::Error {
    match error {
        CompareError::UnknownSystem { .. }
        | CompareError::TwoSided
        | CompareError::TooFewSamples { .. } => Usage(error.to_string()).into(),
        CompareError::Canceled => Interrupted.into(),
        error => error.into(),
    }
}
