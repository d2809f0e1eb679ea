//! Evaluation and comparison of the systems of a task.

use ir_core::trec::{HeaderLine, TrecReadError, TrecWriteError, read_run, write_run};
use ir_core::{Qrels, Run};
use ir_eval::compare::Comparison;
use ir_eval::{Evaluator, Measure, Report};
use ir_system::{ScoreFormatName, SpecError};

use crate::costs::SystemCosts;
use crate::file::Experiment;
use crate::overlap::overlaps;
use crate::selection::SelectionResult;
use crate::task::TaskData;
use crate::task_results::TaskResults;

/// Evaluator of the runs of a task.
pub(crate) fn evaluator<'q>(
    experiment: &Experiment,
    data: &TaskData,
    qrels: &'q Qrels,
    measures: &[Measure],
) -> Result<Evaluator<'q>, SpecError> {
    let evaluator = Evaluator::with_rules(qrels, measures, data.rules(experiment));
    evaluator.map_err(|error| experiment.source.error("measures", error.to_string()))
}

/// Report of a run, after rounding its scores.
pub(crate) fn report(
    experiment: &Experiment,
    evaluator: &Evaluator<'_>,
    run: &Run,
) -> Result<Report, SpecError> {
    let (key, format) = score_format(experiment, &run.tag);
    let rounded = round_scores(run, format);
    let rounded = rounded.map_err(|error| experiment.source.error(&key, error.to_string()))?;
    let report = evaluator.evaluate(rounded.as_ref().unwrap_or(run));
    let report = report.map_err(|error| {
        let at = position(experiment, &run.tag);
        let key = at.map_or_else(|| "measures".to_owned(), |n| format!("systems[{n}]"));
        experiment.source.error(&key, error.to_string())
    })?;
    Ok(report.with_run_name(&run.tag))
}

fn position(experiment: &Experiment, system: &str) -> Option<usize> {
    let mut systems = experiment.systems.iter();
    systems.position(|entry| entry.name == system)
}

/// Key and value of the rounding of a system's scores.
fn score_format(experiment: &Experiment, system: &str) -> (String, ScoreFormatName) {
    let own = position(experiment, system).and_then(|n| {
        Some((
            format!("systems[{n}].scores"),
            experiment.systems[n].scores?,
        ))
    });
    own.unwrap_or_else(|| ("search.scores".to_owned(), experiment.search.scores))
}

/// Error rounding the scores of a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum RoundScoresError {
    /// A run that cannot be written as TREC file.
    #[error(transparent)]
    Write(#[from] TrecWriteError),
    /// A run that cannot be read as TREC file.
    #[error(transparent)]
    Read(#[from] TrecReadError),
}

/// Returns a run with the scores of a run file in the format; `None` if they stay the same.
///
/// # Errors
/// Returns [`RoundScoresError`] for an id that a run file cannot hold.
pub fn round_scores(run: &Run, format: ScoreFormatName) -> Result<Option<Run>, RoundScoresError> {
    if format == ScoreFormatName::Exact {
        return Ok(None);
    }
    let mut plain = run.clone();
    // The tag is a column of the file.
    plain.tag = "run".to_owned();
    let mut file = Vec::new();
    write_run(&plain, format.into(), &mut file)?;
    let mut rounded = read_run(&file[..], "run", HeaderLine::AsData)?.data;
    rounded.tag.clone_from(&run.tag);
    Ok(Some(rounded))
}

/// Result of a system.
pub(crate) struct SystemResult {
    pub(crate) report: Report,
    /// Run, if runs are kept.
    pub(crate) run: Option<Run>,
    /// Costs, if the experiment has them.
    pub(crate) costs: Option<SystemCosts>,
}

/// Compares the systems of a task. `results` are in the order of the table.
pub(crate) fn compare(
    experiment: &Experiment,
    data: &TaskData,
    results: impl IntoIterator<Item = SystemResult>,
    selections: Vec<SelectionResult>,
) -> Result<TaskResults, SpecError> {
    let (mut reports, mut runs) = (Vec::<Report>::new(), Vec::<Run>::new());
    let mut costs: Vec<SystemCosts> = Vec::new();
    for found in results {
        reports.push(found.report);
        runs.extend(found.run);
        costs.extend(found.costs);
    }
    let formats = runs.iter();
    let formats = formats.map(|run| score_format(experiment, &run.tag).1);
    let formats = formats.collect();
    let comparison = match reports.len() {
        0 | 1 => None,
        _ => {
            let compared = Comparison::new(&reports, &experiment.comparison.config());
            let invalid = |error: ir_eval::compare::CompareError| {
                experiment.source.error("comparison", error.to_string())
            };
            Some(compared.map_err(invalid)?)
        }
    };
    let overlaps = match (&comparison, experiment.comparison.overlap_depth) {
        (Some(comparison), Some(depth)) => overlaps(comparison, depth, &runs),
        _ => Vec::new(),
    };
    Ok(TaskResults {
        name: data.name.clone(),
        documents: data.documents.ids.len(),
        queries: data.test.queries.len(),
        measures: experiment.measures.clone(),
        reports,
        comparison,
        overlaps,
        costs,
        selections,
        runs,
        formats,
        qrels: data.test.qrels.clone(),
    })
}
