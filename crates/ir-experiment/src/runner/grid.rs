//! Selection of the points of grids.

use std::collections::HashSet;
use std::sync::Arc;

use ir_core::Run;
use ir_system::{SpecError, SystemError};

use super::{Queries, Selected, TaskRun, ValidationSet};
use crate::evaluation::{evaluator, report};
use crate::file::{SelectionEntry, SelectionMethod};
use crate::queries::without_texts;
use crate::selection::{self, SelectedPoint, SelectionResult, point_label};

impl TaskRun<'_> {
    /// Selects the best point of a grid. One run at a time is in memory.
    pub(super) fn select(&mut self, n: usize, test: Queries<'_>) -> Result<Selected, SpecError> {
        let (experiment, data) = (self.experiment, self.data);
        let entry = &experiment.systems[n];
        let Some(selection) = &experiment.selection else {
            let message = "expected a selection, found none";
            return Err(experiment.source.error("selection", message));
        };
        let measure = selection.measure.unwrap_or(experiment.measures[0]);
        let validation = match selection.by {
            SelectionMethod::Validation => Some(self.validation_set(selection)?),
            _ => None,
        };
        let queries = match validation.as_deref() {
            Some(ValidationSet { set, training }) => Queries {
                set,
                training: training.as_ref(),
                validation: selection.split.as_deref(),
            },
            None => test,
        };
        let qrels = &queries.set.qrels;
        let total = usize::try_from(entry.point_count()).unwrap_or(usize::MAX);
        let (mut reports, mut labels) = (Vec::new(), Vec::new());
        let evaluator = evaluator(experiment, data, qrels, &[measure])?;
        for (done, point) in entry.points().enumerate() {
            self.report_planned(done, total)?;
            labels.push(point_label(entry, &point));
            self.prepare(n, point)?;
            if let Some(run) = self.search(n, queries)? {
                reports.push(report(experiment, &evaluator, &run)?);
            }
        }
        self.systems.remove(&entry.name);
        if reports.len() < labels.len() {
            return Ok(Selected::Undecided);
        }
        let scores: Vec<f64> = reports
            .iter()
            .map(|report| report.summary(measure).unwrap_or_default())
            .collect();
        let mut counts = vec![0; labels.len()];
        let chosen = match selection.by {
            SelectionMethod::Validation => None,
            SelectionMethod::LeaveOneOut => Some(
                selection::leave_one_out(&reports, measure)
                    .map_err(|error| self.located(n, SystemError::stage("selection")(error)))?,
            ),
            SelectionMethod::CrossValidation => {
                let (folds, seed) = (selection.folds(), selection.seed);
                Some(selection::cross_validate(
                    &reports, qrels, measure, folds, seed,
                ))
            }
        };
        let best = selection::best(&scores);
        match &chosen {
            None => counts[best] = test.set.queries.len(),
            Some(chosen) => chosen.values().for_each(|point| counts[*point] += 1),
        }
        let selected = labels.into_iter().zip(&scores).zip(&counts);
        self.selections.push(SelectionResult {
            system: entry.name.clone(),
            by: selection.by,
            measure,
            queries: queries.set.queries.len(),
            points: selected
                .map(|((parameters, score), chosen)| SelectedPoint {
                    parameters,
                    score: *score,
                    chosen: *chosen,
                })
                .collect(),
        });
        let Some(chosen) = chosen else {
            if let Some(point) = entry.points().nth(best) {
                self.prepare(n, point)?;
            }
            return Ok(Selected::Point);
        };
        let mut merged = Run::new(&entry.name);
        for (number, point) in entry.points().enumerate() {
            // Queries without judgments have the list of the first point.
            if number == 0 || counts[number] > 0 {
                self.prepare(n, point)?;
                let Some(run) = self.search(n, queries)? else {
                    return Ok(Selected::Undecided);
                };
                selection::add_chosen(&mut merged, &run, &chosen, number);
            }
        }
        self.systems.remove(&entry.name);
        Ok(Selected::PerQuery(merged))
    }

    /// Validation queries of a selection; read once.
    fn validation_set(
        &mut self,
        selection: &SelectionEntry,
    ) -> Result<Arc<ValidationSet>, SpecError> {
        if let Some(known) = &self.validation {
            return Ok(known.clone());
        }
        let (source, key) = (&self.experiment.source, "selection.split");
        let split = selection.split.as_deref().unwrap_or_default();
        let all = self.data.split(source, key, split)?;
        let held_out = selection.held_out();
        let test = self.data.test.queries.iter();
        let test: HashSet<&str> = test.map(|query| query.text.trim()).collect();
        let mut repeated = 0;
        let set = all.filtered(|query| {
            let is_test = test.contains(query.text.trim());
            repeated += usize::from(is_test);
            !is_test && held_out.contains(&query.text)
        });
        if repeated > 0 {
            self.observer.note(&format!(
                "{}: {repeated} queries of split {split} are test queries and do not validate",
                self.data.name
            ));
        }
        if set.queries.is_empty() {
            let message = format!("expected validation queries in split {split:?}, found none");
            return Err(source.error(key, message));
        }
        let texts = set.queries.iter().map(|query| query.text.trim()).collect();
        let training = self.data.training.as_ref();
        let training = training.map(|training| without_texts(training, &texts));
        let validation = Arc::new(ValidationSet { set, training });
        self.validation = Some(validation.clone());
        Ok(validation)
    }
}
