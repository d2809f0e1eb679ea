//! Choosing a parameter without looking at the query it is judged on.

use serde::{Deserialize, Serialize};

use super::paired_tests::{names, on_common_queries, same};
use crate::{CompareError, Measure, Report, Summary};

/// Runs of one system under several settings of a parameter, and what the best setting is worth.
///
/// Leave one query out: for each query, the setting with the highest figure over all *other*
/// queries is chosen, and its value on the held-out query counts. The figure over these values is
/// what a tuned system can honestly claim; the figure of the setting that is best over all queries
/// is what it looks like in hindsight.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::{Evaluator, Measure, ParameterSweep};
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
/// // Without q1 each answers one query: a tie, which the first setting wins.
/// assert_eq!(sweep.choices[0].setting, "b=0.4");
/// assert_eq!(sweep.best().name, "b=0.4");
/// assert_eq!(sweep.held_out_score, sweep.best().score);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParameterSweep {
    /// The measure by which settings are chosen and judged.
    pub measure: Measure,
    /// The decimals to which values per query were rounded first.
    pub decimals: Option<u8>,
    /// The settings, in the order given.
    pub settings: Vec<SweepSetting>,
    /// What was chosen for each query, by id in ascending byte order.
    pub choices: Vec<HeldOutChoice>,
    /// The figure over the held-out values.
    pub held_out_score: f64,
}

/// One setting of the parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepSetting {
    /// Its name: the tag of its run, numbered where tags repeat.
    pub name: String,
    /// Its figure over all queries.
    pub score: f64,
    /// For how many held-out queries it was chosen.
    pub chosen: usize,
}

/// What was chosen when a query was held out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeldOutChoice {
    /// The query.
    pub query: String,
    /// The name of the setting that is best over the others.
    pub setting: String,
    /// Its value on the query.
    pub value: f64,
}

impl ParameterSweep {
    /// The decimals of trec_eval's output: `ParameterSweep::new(..., Some(ParameterSweep::TREC_EVAL))` chooses as a
    /// script does that reads it.
    pub const TREC_EVAL: u8 = 4;

    /// Settings that are this close are equally good: the earlier one is chosen.
    const SLACK: f64 = 1e-12;

    /// Chooses among settings by the reports that one evaluator made of their runs. Of equally good
    /// settings the first one is chosen. Where `decimals` are given, values per query are rounded to
    /// them first.
    ///
    /// # Errors
    /// As [`Comparison::new`](crate::Comparison::new) has them: when there are fewer than two
    /// reports, or they differ in rules, measures or judged queries; also when they do not have the
    /// measure, or fewer than two queries count.
    pub fn new(
        reports: &[Report],
        measure: Measure,
        decimals: Option<u8>,
    ) -> Result<Self, CompareError> {
        let found = reports.len();
        if found < 2 {
            return Err(CompareError::Systems { found });
        }
        let names = names(reports);
        for (other, name) in reports.iter().zip(&names).skip(1) {
            same(&reports[0], &names[0], other, name)?;
        }
        let reports = on_common_queries(reports);
        let mut values: Vec<Vec<f64>> = Vec::with_capacity(found);
        for report in &reports {
            let of_one = report
                .values(measure)
                .ok_or_else(|| CompareError::Measure {
                    measure: Box::new(measure),
                })?;
            values.push(of_one.map(|value| rounded(value, decimals)).collect());
        }
        let queries = reports[0].queries();
        if queries.len() < 2 {
            let found = queries.len();
            return Err(CompareError::Few { found });
        }
        let others: Vec<Vec<f64>> = values.iter().map(|v| without_each(v, measure)).collect();
        let mut chosen = vec![0; found];
        let mut choices = Vec::with_capacity(queries.len());
        for (at, query) in queries.iter().enumerate() {
            let best = best(others.iter().map(|sums| sums[at]), queries.len());
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
            held_out_score: summary.of(choices.iter().map(|choice| choice.value)),
            settings: names
                .into_iter()
                .zip(values)
                .zip(chosen)
                .map(|((name, values), chosen)| SweepSetting {
                    name,
                    score: summary.of(values.into_iter()),
                    chosen,
                })
                .collect(),
            choices,
        })
    }

    /// The setting with the highest figure over all queries: the best in hindsight, of equal ones
    /// the first.
    #[must_use]
    pub fn best(&self) -> &SweepSetting {
        let scores = self.settings.iter().map(|setting| setting.score);
        &self.settings[best(scores, 1)]
    }
}

/// The place of the highest number; a later one must exceed it by more than rounding does. `terms`
/// is the number of values each is the sum of.
fn best(scores: impl Iterator<Item = f64>, terms: usize) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (at, score) in scores.enumerate() {
        if score > best.1 + ParameterSweep::SLACK * terms as f64 {
            best = (at, score);
        }
    }
    best.0
}

/// For each value, the sum of the others, on the scale on which the measure averages.
fn without_each(values: &[f64], measure: Measure) -> Vec<f64> {
    let scaled: Vec<f64> = match measure.summary() {
        Summary::GeometricMean => values.iter().map(|v| v.max(Summary::LEAST).ln()).collect(),
        Summary::Mean | Summary::Sum => values.to_vec(),
    };
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

/// A value as it is printed with so many decimals.
fn rounded(value: f64, decimals: Option<u8>) -> f64 {
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
    use ir_core::{Qrels, Run, SplitMix};

    /// Runs that find the relevant document of each query at a random rank from 1 to 5.
    fn random_reports(seed: u64, settings: usize, queries: usize) -> Vec<Report> {
        let mut random = SplitMix::new(seed, 0);
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
    fn chooses_as_the_slow_way_does() {
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
    fn what_cannot_be_swept() {
        let reports = random_reports(1, 2, 2);
        let refused = |reports: &[Report], measure| {
            let error = ParameterSweep::new(reports, measure, None).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            refused(&reports[..1], Measure::RR),
            "expected at least 2 systems, found 1"
        );
        assert_eq!(refused(&reports, Measure::AP), "the reports do not have AP");
        assert_eq!(
            refused(&random_reports(1, 2, 1), Measure::RR),
            "expected at least 2 queries that count, found 1"
        );
    }
}
