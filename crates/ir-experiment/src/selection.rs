//! Grids, and the choice of their best points.

use std::collections::{BTreeMap, HashMap};

use ir_core::{Qrels, Run, SplitMix64};
use ir_eval::compare::{CompareError, ParameterSweep};
use ir_eval::{Measure, Report};
use ir_system::SystemEntry;
use serde::Serialize;
use toml::{Table, Value};

use crate::file::SelectionMethod;

/// Selected point of a grid, and the scores of all points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelectionResult {
    /// Name of the system.
    pub system: String,
    /// Method that selected the point.
    pub by: SelectionMethod,
    /// Measure that was maximized.
    pub measure: Measure,
    /// Number of queries on which points were compared.
    pub queries: usize,
    /// Points, in the order of the grid.
    pub points: Vec<SelectedPoint>,
}

/// Point of a grid.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelectedPoint {
    /// Parameters, such as `b=0.4, k1=0.9`.
    pub parameters: String,
    /// Score over all queries on which points were compared.
    pub score: f64,
    /// Number of test queries that are answered with this point.
    pub chosen: usize,
}

impl SelectionResult {
    /// Describes the result in one line.
    pub(crate) fn describe(&self) -> String {
        let total: usize = self.points.iter().map(|point| point.chosen).sum();
        let mut chosen: Vec<&SelectedPoint> = self
            .points
            .iter()
            .filter(|point| point.chosen > 0)
            .collect();
        chosen.sort_by_key(|point| std::cmp::Reverse(point.chosen));
        let (system, measure, queries) = (&self.system, self.measure, self.queries);
        match (self.by, &chosen[..]) {
            (SelectionMethod::Validation, [point, ..]) => format!(
                "{system}: {}, selected on {queries} validation queries ({measure} {:.4})",
                point.parameters, point.score
            ),
            (by, chosen) => {
                let by = match by {
                    SelectionMethod::CrossValidation => "cross-validation",
                    _ => "leaving out one query at a time",
                };
                let points: Vec<String> = chosen
                    .iter()
                    .map(|point| format!("{} for {} of {total}", point.parameters, point.chosen))
                    .collect();
                format!(
                    "{system}: selected by {by} ({measure}): {}",
                    points.join("; ")
                )
            }
        }
    }
}

/// Parameters of the grid in one line.
pub(crate) fn point_label(entry: &SystemEntry, point: &Table) -> String {
    let parameters = entry.grid.keys().filter_map(|key| {
        let value = point.get(key)?;
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some(format!("{key}={text}"))
    });
    parameters.collect::<Vec<_>>().join(", ")
}

/// Position of the best score. Among equal scores, the first wins.
pub(crate) fn best(scores: &[f64]) -> usize {
    const TOLERANCE: f64 = 1e-12;
    let mut best = (0, f64::NEG_INFINITY);
    for (n, score) in scores.iter().enumerate() {
        if *score > best.1 + TOLERANCE {
            best = (n, *score);
        }
    }
    best.0
}

/// Point that answers each test query, by leaving out one query at a time.
pub(crate) fn leave_one_out(
    reports: &[Report],
    measure: Measure,
) -> Result<HashMap<String, usize>, CompareError> {
    if let [only] = reports {
        let queries = only.queries().iter();
        return Ok(queries.map(|query| (query.query().to_owned(), 0)).collect());
    }
    let sweep = ParameterSweep::new(reports, measure, None)?;
    let positions: HashMap<&str, usize> = (sweep.settings.iter().enumerate())
        .map(|(n, setting)| (setting.name.as_str(), n))
        .collect();
    let choices = sweep.choices.iter();
    Ok(choices
        .map(|choice| (choice.query.clone(), positions[choice.setting.as_str()]))
        .collect())
}

/// Point that answers each test query: the best over the queries of the other folds.
pub(crate) fn cross_validate(
    reports: &[Report],
    qrels: &Qrels,
    measure: Measure,
    folds: usize,
    seed: u64,
) -> HashMap<String, usize> {
    let folds = assign_folds(qrels, folds, seed);
    let mut chosen = HashMap::new();
    for fold in 0..=folds.values().copied().max().unwrap_or_default() {
        let score = |report: &Report| {
            let queries = report.queries().iter().map(|query| query.query());
            let values = queries.zip(report.values(measure).into_iter().flatten());
            let others = values.filter(|(query, _)| folds.get(query) != Some(&fold));
            measure.summary().aggregate(others.map(|(_, value)| value))
        };
        let best = best(&reports.iter().map(score).collect::<Vec<_>>());
        let members = folds.iter().filter(|(_, other)| **other == fold);
        chosen.extend(members.map(|(query, _)| ((*query).to_owned(), best)));
    }
    chosen
}

/// Fold of each query: queries in random order, dealt to the folds in turn.
fn assign_folds(qrels: &Qrels, folds: usize, seed: u64) -> BTreeMap<&str, usize> {
    let queries = qrels.iter().map(|(query, _)| query);
    let mut queries: Vec<(u64, &str)> = queries
        .map(|query| (SplitMix64::from_name(seed, query).next_u64(), query))
        .collect();
    queries.sort_unstable();
    let dealt = queries.iter().enumerate();
    dealt.map(|(n, (_, query))| (*query, n % folds)).collect()
}

/// Adds the lists of the queries for which a point was chosen, from its run. Queries without a
/// choice have the lists of the first point.
pub(crate) fn add_chosen(
    merged: &mut Run,
    run: &Run,
    chosen: &HashMap<String, usize>,
    point: usize,
) {
    for (query, list) in run.iter() {
        if chosen.get(query).copied().unwrap_or_default() == point {
            for scored in list {
                merged.push(query, scored.doc.clone(), scored.score);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir_eval::Evaluator;

    fn setting(name: &str, ranks: &[usize]) -> Run {
        let mut run = Run::new(name);
        for (query, rank) in ranks.iter().enumerate() {
            let query = format!("q{query:02}");
            for n in 1..*rank {
                run.push(&query, format!("x{n}"), -(n as f64));
            }
            run.push(&query, "d", -99.0);
        }
        run
    }

    fn qrels(queries: usize) -> Qrels {
        let mut qrels = Qrels::new();
        for query in 0..queries {
            qrels.insert(&format!("q{query:02}"), "d", 1);
        }
        qrels
    }

    fn reports(qrels: &Qrels, runs: &[Run]) -> Vec<Report> {
        let evaluator = Evaluator::new(qrels, &[Measure::RR]).unwrap();
        let reports = runs.iter().map(|run| evaluator.evaluate(run));
        reports.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn points_of_a_grid() {
        let entry = SystemEntry::new("s", "bm25")
            .with("preset", "lucene")
            .with_grid("k1", [0.5, 1.0])
            .with_grid("b", [0.1, 0.2]);
        let points: Vec<Table> = entry.points().collect();
        let labels: Vec<String> = points.iter().map(|it| point_label(&entry, it)).collect();
        // Keys are sorted by name.
        let expected = [
            "b=0.1, k1=0.5",
            "b=0.1, k1=1.0",
            "b=0.2, k1=0.5",
            "b=0.2, k1=1.0",
        ];
        assert_eq!(labels, expected);
        assert!(
            points
                .iter()
                .all(|point| point["preset"].as_str() == Some("lucene"))
        );
        assert!(SystemEntry::new("s", "bm25").points().eq([Table::new()]));
    }

    #[test]
    fn as_many_folds_as_queries_leave_out_one_query() {
        let queries = 11;
        let qrels = qrels(queries);
        let mut random = SplitMix64::new(5, 0);
        for _ in 0..20 {
            let runs: Vec<Run> = (0..4)
                .map(|n| {
                    let ranks: Vec<usize> = (0..queries).map(|_| 1 + random.below(4)).collect();
                    // Runs of a grid have equal tags.
                    setting(if n < 2 { "s" } else { "t" }, &ranks)
                })
                .collect();
            let reports = reports(&qrels, &runs);
            let folds = cross_validate(&reports, &qrels, Measure::RR, queries, 3);
            assert_eq!(folds, leave_one_out(&reports, Measure::RR).unwrap());
        }
    }

    #[test]
    fn folds_are_balanced_and_do_not_see_their_own_queries() {
        let qrels = qrels(23);
        let folds = assign_folds(&qrels, 5, 1);
        for fold in 0..5 {
            let size = folds.values().filter(|other| **other == fold).count();
            assert!((4..=5).contains(&size), "{size}");
        }
        // The second setting is perfect on the queries of fold 0 and bad on all others.
        let ranks: Vec<usize> = folds
            .values()
            .map(|fold| if *fold == 0 { 1 } else { 9 })
            .collect();
        let runs = [setting("a", &[2; 23]), setting("b", &ranks)];
        let chosen = cross_validate(&reports(&qrels, &runs), &qrels, Measure::RR, 5, 1);
        assert!(chosen.values().all(|point| *point == 0));
        let mut merged = Run::new("m");
        for (point, run) in runs.iter().enumerate() {
            add_chosen(&mut merged, run, &chosen, point);
        }
        assert_eq!(merged.get("q00"), runs[0].get("q00"));
    }
}
