//! Evaluation and comparison of the runs of a task.

use ir_core::trec::{HeaderLine, read_run, write_run};
use ir_core::{Qrels, Run};
use ir_eval::compare::Comparison;
use ir_eval::{Evaluator, Measure, Report, Rules};
use ir_system::{ScoreFormatName, SpecError};

use crate::file::Experiment;
use crate::overlap::overlaps;
use crate::selection::SelectionResult;
use crate::task::TaskData;
use crate::task_results::TaskResults;

/// Reports of runs, after rounding their scores.
pub(crate) fn reports(
    experiment: &Experiment,
    rules: Rules,
    qrels: &Qrels,
    measures: &[Measure],
    runs: &[Run],
) -> Result<Vec<Report>, SpecError> {
    let invalid = |error: String| experiment.source.error("measures", error);
    let evaluator = Evaluator::with_rules(qrels, measures, rules);
    let evaluator = evaluator.map_err(|error| invalid(error.to_string()))?;
    let mut reports = Vec::with_capacity(runs.len());
    for run in runs {
        let (key, format) = score_format(experiment, &run.tag);
        let rounded = round_scores(run, format);
        let rounded = rounded.map_err(|error| experiment.source.error(&key, error))?;
        let report = evaluator.evaluate(rounded.as_ref().unwrap_or(run));
        let report = report.map_err(|error| invalid(error.to_string()))?;
        reports.push(report.with_run_name(&run.tag));
    }
    Ok(reports)
}

/// Key and value of the rounding of a system's scores.
fn score_format(experiment: &Experiment, system: &str) -> (String, ScoreFormatName) {
    let mut systems = experiment.systems.iter();
    let at = systems.position(|entry| entry.name == system);
    let own = at.and_then(|n| {
        Some((
            format!("systems[{n}].scores"),
            experiment.systems[n].scores?,
        ))
    });
    own.unwrap_or_else(|| ("search.scores".to_owned(), experiment.search.scores))
}

/// Scores as in a run file of the format; `None` if they stay the same.
fn round_scores(run: &Run, format: ScoreFormatName) -> Result<Option<Run>, String> {
    if format == ScoreFormatName::Exact {
        return Ok(None);
    }
    let mut plain = run.clone();
    // The tag is a column of the file.
    plain.tag = "run".to_owned();
    let mut file = Vec::new();
    write_run(&plain, format.into(), &mut file).map_err(|error| error.to_string())?;
    let read = read_run(&file[..], "run", HeaderLine::AsData);
    let mut rounded = read.map_err(|error| error.to_string())?.data;
    rounded.tag.clone_from(&run.tag);
    Ok(Some(rounded))
}

/// Evaluates and compares the runs of a task.
pub(crate) fn evaluate(
    experiment: &Experiment,
    data: &TaskData,
    runs: Vec<Run>,
    selections: Vec<SelectionResult>,
) -> Result<TaskResults, SpecError> {
    let qrels = data.test.qrels.clone();
    let rules = data.rules(experiment);
    let reports = reports(experiment, rules, &qrels, &experiment.measures, &runs)?;
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
        selections,
        runs,
        qrels,
    })
}
