//! Bootstrap standard errors and paired bootstrap comparison of reports.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::alignment::{self, check_queries, evaluated_queries};
use super::significance::{SampleProgress, bootstrap_p_value};
use super::sweep::round;
use super::{CompareError, ParameterSweep};
use crate::evaluate::Report;
use crate::measure::Measure;
use crate::statistics::mean;
use ir_core::SplitMix64;

/// Bootstrap over queries: the standard error of a score, and how often one system beats another.
///
/// The same seed draws the same samples for every measure and every run over the same queries. Each
/// sample has its own random stream.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::compare::Bootstrap;
/// use ir_eval::{Evaluator, Measure};
/// let (mut qrels, mut run) = (Qrels::new(), Run::new("mine"));
/// for query in 0..100 {
///     qrels.insert(&query.to_string(), "d", 1);
///     run.push(&query.to_string(), if query < 50 { "d" } else { "e" }, 1.0);
/// }
/// let report = Evaluator::new(&qrels, &[Measure::RR])?.evaluate(&run)?;
/// let estimate = Bootstrap::TEXTBOOK.estimate(&report, Measure::RR)?;
/// // Theory: 0.5 / √100.
/// assert!((estimate.standard_error - 0.05).abs() < 0.004);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993, chapters 6 and 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bootstrap {
    /// Number of bootstrap samples. Range: ≥ 2. Default: 1,000.
    pub samples: u32,
    /// Random seed. Default: 0.
    pub seed: u64,
    /// Sampling scheme. Default: textbook.
    pub scheme: BootstrapScheme,
}

/// Scheme of drawing a bootstrap sample of n queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootstrapScheme {
    /// n draws with replacement; the variance divides by the number of samples minus 1. The
    /// default.
    #[default]
    Textbook,
    /// The published evaluation of DataFinder (Viswanathan et al., ACL 2023).
    ///
    /// ⌊n/2⌋ draws with replacement, of which duplicates are dropped, from the queries of qrels and
    /// run together, so that queries without judgments dilute a sample. Scores are rounded to four
    /// decimals, and the variance divides by the number of samples. The standard error is about a
    /// quarter larger than the textbook's. The p value of b samples that are not won is b / B. Use
    /// reports in which missing queries count as 0.
    Datafinder {
        /// If `true`, every sample contains the header line of the published files, read as one
        /// more query that scores 0.
        header: bool,
    },
}

impl Bootstrap {
    /// Textbook bootstrap: 1,000 samples with replacement.
    pub const TEXTBOOK: Self = Self {
        samples: 1000,
        seed: 0,
        scheme: BootstrapScheme::Textbook,
    };

    /// Bootstrap of DataFinder's published evaluation: 1,000 samples, header lines included.
    pub const DATAFINDER: Self = Self {
        scheme: BootstrapScheme::Datafinder { header: true },
        ..Self::TEXTBOOK
    };

    ir_core::setters! { with_seed: seed, u64; }

    /// Estimates the mean and the standard error of a score.
    ///
    /// # Errors
    /// When the report does not have the measure or fewer than two queries, or `samples` is less
    /// than 2.
    pub fn estimate(
        &self,
        report: &Report,
        measure: Measure,
    ) -> Result<BootstrapEstimate, CompareError> {
        let values = self.values(report, measure)?;
        let mut sampler = Sampler::new(self, values.len(), report.unjudged().len());
        let scores: Vec<f64> = (0..self.samples)
            .map(|sample| sampler.score(sample, &values, measure))
            .collect();
        let mean = mean(&scores);
        let squares: f64 = scores.iter().map(|s| (s - mean) * (s - mean)).sum();
        let divisor = match self.scheme {
            BootstrapScheme::Textbook => self.samples - 1,
            BootstrapScheme::Datafinder { .. } => self.samples,
        };
        Ok(BootstrapEstimate {
            mean,
            standard_error: (squares / f64::from(divisor)).sqrt(),
        })
    }

    /// Counts the samples in which the first of two systems scores higher.
    ///
    /// # Errors
    /// When the reports do not have the measure, are not on the same queries or have fewer than
    /// two, or `samples` is less than 2.
    pub fn compare(
        &self,
        first: &Report,
        second: &Report,
        measure: Measure,
    ) -> Result<PairedBootstrapResult, CompareError> {
        self.compare_with_progress(first, second, measure, &mut SampleProgress::default())
    }

    pub(super) fn compare_with_progress(
        &self,
        first: &Report,
        second: &Report,
        measure: Measure,
        progress: &mut SampleProgress<'_>,
    ) -> Result<PairedBootstrapResult, CompareError> {
        for (one, other) in [(first, second), (second, first)] {
            check_queries(one, evaluated_queries(other), [one.run(), other.run()])?;
        }
        // Values are paired by position.
        if !evaluated_queries(first).eq(evaluated_queries(second)) {
            let (first, second) = (first.run().to_owned(), second.run().to_owned());
            return Err(CompareError::QueryOrder { first, second });
        }
        let (one, other) = (self.values(first, measure)?, self.values(second, measure)?);
        let mut unjudged: Vec<&str> = first.unjudged().chain(second.unjudged()).collect();
        unjudged.sort_unstable();
        unjudged.dedup();
        let mut sampler = Sampler::new(self, one.len(), unjudged.len());
        let mut wins = 0;
        for sample in 0..self.samples {
            let score = sampler.score(sample, &one, measure);
            let against = sampler.score(sample, &other, measure);
            wins += u32::from(score > against);
            progress.advance(1).map_err(|_| CompareError::Canceled)?;
        }
        Ok(PairedBootstrapResult {
            wins,
            samples: self.samples,
            scheme: self.scheme,
        })
    }

    fn values(&self, report: &Report, measure: Measure) -> Result<Vec<f64>, CompareError> {
        let values: Vec<f64> = alignment::values(report, measure)?.collect();
        let found = values.len();
        if found < 2 {
            return Err(CompareError::TooFewQueries { found });
        }
        if self.samples < 2 {
            let found = self.samples;
            return Err(CompareError::TooFewSamples { found });
        }
        Ok(values)
    }
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self::TEXTBOOK
    }
}

/// Bootstrap estimate of a score. Displayed as `0.1653 ± 0.0151`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BootstrapEstimate {
    /// Mean over the samples.
    pub mean: f64,
    /// Standard error: the standard deviation over the samples.
    pub standard_error: f64,
}

impl fmt::Display for BootstrapEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4} ± {:.4}", self.mean, self.standard_error)
    }
}

/// Result of a paired bootstrap comparison of two systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairedBootstrapResult {
    /// Number of samples in which the first system scores higher; ties do not count.
    pub wins: u32,
    /// Number of bootstrap samples drawn.
    pub samples: u32,
    /// Sampling scheme, which determines the formula of p.
    #[serde(default)]
    pub scheme: BootstrapScheme,
}

impl PairedBootstrapResult {
    /// One-sided p value of the alternative that the first system is better. It does not win b of B
    /// samples: p = (b + 1) / (B + 1), as for
    /// [`BootstrapResampling`](super::significance::BootstrapResampling), or b / B, as published,
    /// for [`BootstrapScheme::Datafinder`].
    #[must_use]
    pub fn p(&self) -> f64 {
        let not_won = self.samples - self.wins;
        match self.scheme {
            BootstrapScheme::Textbook => bootstrap_p_value(not_won, self.samples),
            BootstrapScheme::Datafinder { .. } => f64::from(not_won) / f64::from(self.samples),
        }
    }
}

/// Sampler of queries with reusable buffers.
struct Sampler {
    bootstrap: Bootstrap,
    /// Number of queries from which a sample is drawn, unjudged ones included.
    population: usize,
    /// Number of draws of each sample.
    size: usize,
    /// Number of draws of each query with a value.
    draws: Vec<u32>,
}

impl Sampler {
    fn new(bootstrap: &Bootstrap, judged: usize, unjudged: usize) -> Self {
        let (population, size) = match bootstrap.scheme {
            BootstrapScheme::Textbook => (judged, judged),
            BootstrapScheme::Datafinder { .. } => (judged + unjudged, (judged + unjudged) / 2),
        };
        Self {
            bootstrap: *bootstrap,
            population,
            size,
            draws: vec![0; judged],
        }
    }

    /// Score of one sample, by sample number.
    fn score(&mut self, sample: u32, values: &[f64], measure: Measure) -> f64 {
        let mut random = SplitMix64::new(self.bootstrap.seed, u64::from(sample));
        self.draws.fill(0);
        for _ in 0..self.size {
            if let Some(draws) = self.draws.get_mut(random.below(self.population)) {
                *draws += 1;
            }
        }
        let pairs = self.draws.iter().zip(values);
        match self.bootstrap.scheme {
            BootstrapScheme::Textbook => {
                let sample =
                    pairs.flat_map(|(&times, &value)| std::iter::repeat_n(value, times as usize));
                measure.summary().aggregate(sample)
            }
            BootstrapScheme::Datafinder { header } => {
                let distinct = pairs.filter(|pair| *pair.0 > 0).map(|pair| *pair.1);
                let sample = distinct.chain(header.then_some(0.0));
                let score = measure.summary().aggregate(sample);
                // The score of an empty sample is 0.
                match round(score, Some(ParameterSweep::TREC_EVAL)) {
                    score if score.is_nan() => 0.0,
                    score => score,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Evaluator;
    use ir_core::{Qrels, Run};

    /// A report with the RR values 1, 1/2, 1/3, ... over and over.
    fn report(queries: usize, extra: usize, better: usize) -> Report {
        let (mut qrels, mut run) = (Qrels::new(), Run::new("test"));
        for query in 0..queries {
            let id = format!("q{query:04}");
            qrels.insert(&id, "d", 1);
            let above = if query < better { 0 } else { query % 7 };
            for rank in 0..above {
                run.push(&id, format!("x{rank}"), 100.0 - rank as f64);
            }
            run.push(&id, "d", 1.0);
        }
        for query in 0..extra {
            run.push(&format!("z{query}"), "d", 1.0);
        }
        let evaluator = Evaluator::new(&qrels, &[Measure::RR]).unwrap();
        evaluator.evaluate(&run).unwrap()
    }

    fn theory(report: &Report) -> f64 {
        let values: Vec<f64> = report.values(Measure::RR).unwrap().collect();
        let (n, mean) = (values.len() as f64, mean(&values));
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
        (variance / n).sqrt()
    }

    #[test]
    fn textbook_standard_error_agrees_with_theory() {
        let report = report(300, 0, 0);
        let many = Bootstrap {
            samples: 20_000,
            ..Bootstrap::TEXTBOOK
        };
        let estimate = many.estimate(&report, Measure::RR).unwrap();
        let ratio = estimate.standard_error / theory(&report);
        assert!((0.98..1.02).contains(&ratio), "{ratio}");
        let observed = report.summary(Measure::RR).unwrap();
        assert!((estimate.mean - observed).abs() < 0.001);
    }

    #[test]
    fn datafinder_standard_error_is_a_quarter_larger() {
        // Of n/2 draws a fraction f = 1 - exp(-1/2) of the queries is distinct, drawn without
        // replacement in effect: sd / theory = sqrt((1 - f) / f), about 1.24.
        let report = report(400, 0, 0);
        let published = Bootstrap {
            samples: 20_000,
            scheme: BootstrapScheme::Datafinder { header: false },
            ..Bootstrap::TEXTBOOK
        };
        let estimate = published.estimate(&report, Measure::RR).unwrap();
        let f = 1.0 - (-0.5_f64).exp();
        let ratio = estimate.standard_error / theory(&report) / ((1.0 - f) / f).sqrt();
        assert!((0.97..1.03).contains(&ratio), "{ratio}");
    }

    #[test]
    fn header_and_unjudged_queries_count() {
        let without = report(100, 0, 0);
        let with = report(100, 100, 0);
        let plain = Bootstrap {
            scheme: BootstrapScheme::Datafinder { header: false },
            ..Bootstrap::TEXTBOOK
        };
        let mean = |b: Bootstrap, r: &Report| b.estimate(r, Measure::RR).unwrap().mean;
        // One more query of value 0 in each sample of about 39 lowers the mean by a fortieth.
        let pulled = mean(Bootstrap::DATAFINDER, &without) / mean(plain, &without);
        assert!((0.97..0.98).contains(&pulled), "{pulled}");
        // Twice the ids and twice the draws: the same fraction of the queries that count.
        let error = |r: &Report| plain.estimate(r, Measure::RR).unwrap().standard_error;
        assert!((error(&without) / error(&with) - 1.0).abs() < 0.1);
    }

    #[test]
    fn systems_are_compared_on_the_same_samples() {
        let (low, high) = (report(50, 0, 0), report(50, 3, 1));
        // (0 + 1) / (1000 + 1), and the published 0 / 1000.
        for (bootstrap, least) in [
            (Bootstrap::TEXTBOOK, 1.0 / 1001.0),
            (Bootstrap::DATAFINDER, 0.0),
        ] {
            let same = bootstrap.compare(&low, &low, Measure::RR).unwrap();
            assert_eq!((same.wins, same.p()), (0, 1.0));
            let better = report(50, 0, 30);
            let won = bootstrap.compare(&better, &low, Measure::RR).unwrap();
            assert_eq!((won.wins, won.p()), (1000, least));
        }
        let compare = |other: &Report| Bootstrap::TEXTBOOK.compare(&low, other, Measure::RR);
        assert_eq!(compare(&high).unwrap().samples, 1000);
        let error = compare(&report(49, 0, 0)).unwrap_err();
        assert!(matches!(error, CompareError::Queries { query, .. } if query == "q0049"));
        let mut unsorted = low.clone();
        unsorted.queries.reverse();
        let mut repeated = low.clone();
        repeated.queries.push(low.queries[0].clone());
        for other in [unsorted, repeated] {
            let error = compare(&other).unwrap_err();
            assert!(matches!(error, CompareError::QueryOrder { .. }));
        }
    }

    #[test]
    fn error_messages() {
        let few = report(1, 0, 0);
        let error = Bootstrap::TEXTBOOK.estimate(&few, Measure::RR);
        assert_eq!(error, Err(CompareError::TooFewQueries { found: 1 }));
        let report = report(5, 0, 0);
        let error = Bootstrap::TEXTBOOK
            .estimate(&report, Measure::AP)
            .unwrap_err();
        assert_eq!(error.to_string(), "the reports do not have AP");
        let none = Bootstrap {
            samples: 0,
            ..Bootstrap::TEXTBOOK
        };
        assert!(none.estimate(&report, Measure::RR).is_err());
    }

    #[test]
    fn seeds_give_different_streams() {
        let report = report(60, 0, 0);
        let estimate = |seed| {
            let bootstrap = Bootstrap::TEXTBOOK.with_seed(seed);
            bootstrap.estimate(&report, Measure::RR).unwrap()
        };
        assert_eq!(estimate(7), estimate(7));
        assert_ne!(estimate(7), estimate(8));
    }
}
