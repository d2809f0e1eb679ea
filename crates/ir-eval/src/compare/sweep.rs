//! Parameter sweep with leave-one-out selection.

use serde::{Deserialize, Serialize};

use super::alignment::{self, check_comparable, on_averaging_scale, on_common_queries};
use super::error::CompareError;
use crate::evaluate::Report;
use crate::measure::Measure;

/// Parameter sweep: runs of one system under several settings, and the score of the best setting
/// under leave-one-out selection.
///
/// For each query, the setting with the highest score over all *other* queries is selected, and its
/// value on the held-out query counts. The score over these values is an unbiased estimate for a
/// tuned system; the score of the setting that is best over all queries overestimates it.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::compare::ParameterSweep;
/// use ir_eval::{Evaluator, Measure};
/// let mut qrels = Qrels::new();
/// let (mut one, mut other) = (Run::new("b=0.4"), Run::new("b=0.9"));
/// for query in ["q1", "q2", "q3"] {
///     qrels.insert(query, "d", 1);
///     // The first setting answers q1 and q2, the other one q3.
///     one.push(query, if query == "q3" { "e" } else { "d" }, 1.0);
///     other.push(query, if query == "q3" { "d" } else { "e" }, 1.0);
/// }
/// let evaluator = Evaluator::new(&qrels, &[Measure::RR])?;
/// let reports = [evaluator.evaluate(&one)?, evaluator.evaluate(&other)?];
///
/// let sweep = ParameterSweep::new(&reports, Measure::RR, None)?;
/// // Without q1 each setting answers one query: the first of equal settings is selected.
/// assert_eq!(sweep.choices[0].setting, "b=0.4");
/// assert_eq!(sweep.best().name, "b=0.4");
/// assert_eq!(sweep.held_out_score, sweep.best().score);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParameterSweep {
    /// Measure by which settings are selected and scored.
    pub measure: Measure,
    /// Number of decimals to which values per query were rounded before selection.
    pub decimals: Option<u8>,
    /// Settings, in input order.
    pub settings: Vec<SweepSetting>,
    /// Selected setting of each held-out query, by query id in ascending byte order.
    pub choices: Vec<HeldOutChoice>,
    /// Score over the held-out values.
    pub held_out_score: f64,
}

/// Parameter setting of a [`ParameterSweep`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepSetting {
    /// Run tag, numbered if tags repeat.
    pub name: String,
    /// Score over all queries.
    pub score: f64,
    /// Number of held-out queries for which the setting was selected.
    pub chosen: usize,
}

/// Setting that was selected for one held-out query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeldOutChoice {
    /// Id of the held-out query.
    pub query: String,
    /// Name of the setting that is best over the other queries.
    pub setting: String,
    /// Value of that setting on the held-out query.
    pub value: f64,
}

impl ParameterSweep {
    /// Number of decimals in trec_eval's output. `ParameterSweep::new(..., Some(TREC_EVAL))`
    /// selects settings as a script does that parses this output.
    pub const TREC_EVAL: u8 = 4;

    /// Tolerance within which scores count as equal.
    const TOLERANCE: f64 = 1e-12;

    /// Selects settings by the reports that one evaluator made of their runs.
    ///
    /// The first of equally good settings is selected. `decimals` rounds values per query first.
    ///
    /// # Errors
    /// When there are fewer than two reports; they differ in rules, measures or judged queries;
    /// they do not have the measure; or fewer than two queries are left.
    pub fn new(
        reports: &[Report],
        measure: Measure,
        decimals: Option<u8>,
    ) -> Result<Self, CompareError> {
        let names = check_comparable(reports)?;
        let reports = on_common_queries(reports)?;
        let mut values: Vec<Vec<f64>> = Vec::with_capacity(names.len());
        for report in &reports {
            let column = alignment::values(report, measure)?;
            values.push(column.map(|value| round(value, decimals)).collect());
        }
        let queries = reports[0].queries();
        let others: Vec<Vec<f64>> = values.iter().map(|v| leave_one_out(v, measure)).collect();
        let mut chosen = vec![0; names.len()];
        let mut choices = Vec::with_capacity(queries.len());
        for (at, query) in queries.iter().enumerate() {
            let best = argmax(others.iter().map(|sums| sums[at]), queries.len());
            chosen[best] += 1;
            choices.push(HeldOutChoice {
                query: query.query().to_owned(),
                setting: names[best].clone(),
                value: values[best][at],
            });
        }
        let summary = measure.summary();
        Ok(Self {
            measure,
            decimals,
            held_out_score: summary.aggregate(choices.iter().map(|choice| choice.value)),
            settings: names
                .into_iter()
                .zip(values)
                .zip(chosen)
                .map(|((name, values), chosen)| SweepSetting {
                    name,
                    score: summary.aggregate(values.into_iter()),
                    chosen,
                })
                .collect(),
            choices,
        })
    }

    /// Returns the setting with the highest score over all queries; the first of equal ones.
    #[must_use]
    pub fn best(&self) -> &SweepSetting {
        let scores = self.settings.iter().map(|setting| setting.score);
        &self.settings[argmax(scores, 1)]
    }
}

/// Index of the first highest number, with a tolerance for sums of `terms` values.
fn argmax(numbers: impl Iterator<Item = f64>, terms: usize) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (at, number) in numbers.enumerate() {
        if number > best.1 + ParameterSweep::TOLERANCE * terms as f64 {
            best = (at, number);
        }
    }
    best.0
}

/// For each value the sum of the others, on the scale on which the measure averages.
fn leave_one_out(values: &[f64], measure: Measure) -> Vec<f64> {
    let scaled = on_averaging_scale(measure, values);
    let mut sums = vec![0.0; scaled.len()];
    let mut before = 0.0;
    for (sum, value) in sums.iter_mut().zip(&scaled) {
        *sum += before;
        before += value;
    }
    let mut after = 0.0;
    for (sum, value) in sums.iter_mut().zip(&scaled).rev() {
        *sum += after;
        after += value;
    }
    sums
}

/// Rounds a value by printing it.
pub(super) fn round(value: f64, decimals: Option<u8>) -> f64 {
    let Some(decimals) = decimals else {
        return value;
    };
    let printed = format!("{value:.*}", usize::from(decimals));
    printed.parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Evaluator;
    use ir_core::{Qrels, Run, SplitMix64};

    /// Runs that find the relevant document of each query at a random rank from 1 to 5.
    fn random_reports(seed: u64, settings: usize, queries: usize) -> Vec<Report> {
        let mut random = SplitMix64::new(seed, 0);
        let mut qrels = Qrels::new();
        for query in 0..queries {
            qrels.insert(&format!("q{query:03}"), "d", 1);
        }
        let evaluator = Evaluator::new(&qrels, &[Measure::RR]).unwrap();
        let mut reports = Vec::new();
        for setting in 0..settings {
            let mut run = Run::new(format!("s{setting}"));
            for query in 0..queries {
                for rank in 0..=random.below(5) {
                    run.push(&format!("q{query:03}"), format!("x{rank}"), 9.0);
                }
                run.push(&format!("q{query:03}"), "d", 5.0);
            }
            reports.push(evaluator.evaluate(&run).unwrap());
        }
        reports
    }

    #[test]
    fn selection_equals_a_naive_loop() {
        for seed in 0..50 {
            let (settings, queries) = (2 + seed as usize % 7, 2 + seed as usize % 23);
            let reports = random_reports(seed, settings, queries);
            for decimals in [None, Some(2), Some(ParameterSweep::TREC_EVAL)] {
                let sweep = ParameterSweep::new(&reports, Measure::RR, decimals).unwrap();
                let value = |setting: usize, query: usize| -> f64 {
                    let value = reports[setting].queries()[query].values()[0];
                    match decimals {
                        None => value,
                        Some(d) => {
                            let unit = 10_f64.powi(i32::from(d));
                            (value * unit).round() / unit
                        }
                    }
                };
                let mut sum = 0.0;
                for held_out in 0..queries {
                    let mean = |setting: usize| {
                        let others = (0..queries).filter(|&q| q != held_out);
                        let sum: f64 = others.map(|q| value(setting, q)).sum();
                        sum / (queries - 1) as f64
                    };
                    let mut best = 0;
                    for setting in 1..settings {
                        if mean(setting) > mean(best) + 1e-12 {
                            best = setting;
                        }
                    }
                    assert_eq!(sweep.choices[held_out].setting, format!("s{best}"));
                    sum += value(best, held_out);
                }
                assert!((sweep.held_out_score - sum / queries as f64).abs() < 1e-12);
                let chosen: usize = sweep.settings.iter().map(|s| s.chosen).sum();
                assert_eq!(chosen, queries);
                assert!(
                    sweep
                        .settings
                        .iter()
                        .all(|s| s.score <= sweep.best().score + 1e-12)
                );
            }
        }
    }

    #[test]
    fn errors() {
        let reports = random_reports(1, 2, 2);
        let error_of = |reports: &[Report], measure| {
            let error = ParameterSweep::new(reports, measure, None).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            error_of(&reports[..1], Measure::RR),
            "expected at least 2 systems, found 1"
        );
        assert_eq!(
            error_of(&reports, Measure::AP),
            "the reports do not have AP"
        );
        assert_eq!(
            error_of(&random_reports(1, 2, 1), Measure::RR),
            "expected at least 2 evaluated queries, found 1"
        );
    }
}
