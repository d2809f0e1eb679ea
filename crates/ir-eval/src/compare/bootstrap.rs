//! How far a figure would move with other queries.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Measure, Report};
use ir_core::SplitMix;

/// Resampling of queries: the deviation of a figure, and which of two systems is better how often.
///
/// The same seed gives the same samples, for every measure and every run over the same queries.
/// Each sample has a stream of random numbers of its own, so nothing depends on who draws when.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::{Bootstrap, Evaluator, Measure};
/// let (mut qrels, mut run) = (Qrels::new(), Run::new("mine"));
/// for query in 0..100 {
///     qrels.insert(&query.to_string(), "d", 1);
///     run.push(&query.to_string(), if query < 50 { "d" } else { "e" }, 1.0);
/// }
/// let report = Evaluator::new(&qrels, &[Measure::RR])?.evaluate(&run)?;
/// let spread = Bootstrap::TEXTBOOK.deviation(&report, Measure::RR)?;
/// // The theory says 0.5 / √100.
/// assert!((spread.deviation - 0.05).abs() < 0.004);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993, chapters 6 and 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bootstrap {
    /// How many samples are drawn, at least 2.
    pub resamples: u32,
    /// Where the random numbers start.
    pub seed: u64,
    /// What a sample is.
    pub sampling: BootstrapScheme,
}

/// What a bootstrap sample of n queries is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootstrapScheme {
    /// n draws with replacement; the deviation divides by the number of samples less one.
    #[default]
    Textbook,
    /// What the published evaluation of DataFinder does (Viswanathan et al., ACL 2023): ⌊n/2⌋ draws
    /// with replacement, of which repeats are lost, from the queries of qrels and run together,
    /// so that those without judgments dilute a sample; figures rounded to four decimals; the
    /// deviation divides by the number of samples. It comes out about a quarter larger than the
    /// textbook's. Meant for reports in which missing queries count, like the published ones.
    Datafinder {
        /// Whether the header lines of the published files, which are read as one more query that
        /// nobody answers rightly, are part of every sample.
        header: bool,
    },
}

impl Bootstrap {
    /// A thousand samples, as the textbook has them.
    pub const TEXTBOOK: Self = Self {
        resamples: 1000,
        seed: 0,
        sampling: BootstrapScheme::Textbook,
    };

    /// A thousand samples, as DataFinder's published evaluation draws them, header lines included.
    pub const DATAFINDER: Self = Self {
        sampling: BootstrapScheme::Datafinder { header: true },
        ..Self::TEXTBOOK
    };

    /// The same samples of another stream.
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Mean and standard deviation of a figure over the samples.
    ///
    /// # Errors
    /// When the report does not have the measure or fewer than two queries, or fewer than two
    /// samples are asked for.
    pub fn deviation(
        &self,
        report: &Report,
        measure: Measure,
    ) -> Result<BootstrapEstimate, BootstrapError> {
        let values = self.values(report, measure)?;
        let mut samples = Samples::new(self, values.len(), report.unjudged().len());
        let scores: Vec<f64> = (0..self.resamples)
            .map(|at| samples.score(at, &values, measure))
            .collect();
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        let squares: f64 = scores.iter().map(|f| (f - mean) * (f - mean)).sum();
        let divisor = match self.sampling {
            BootstrapScheme::Textbook => self.resamples - 1,
            BootstrapScheme::Datafinder { .. } => self.resamples,
        };
        Ok(BootstrapEstimate {
            mean,
            deviation: (squares / f64::from(divisor)).sqrt(),
        })
    }

    /// In how many samples the first of two systems has the higher figure.
    ///
    /// # Errors
    /// As [`Bootstrap::deviation`], and when the reports are not about the same queries.
    pub fn compare(
        &self,
        first: &Report,
        second: &Report,
        measure: Measure,
    ) -> Result<PairedBootstrapResult, BootstrapError> {
        let ids = |report: &Report| -> Vec<String> {
            let queries = report.queries().iter();
            queries.map(|query| query.query().to_owned()).collect()
        };
        if ids(first) != ids(second) {
            return Err(BootstrapError::Queries {
                first: first.queries().len(),
                second: second.queries().len(),
            });
        }
        let (one, other) = (self.values(first, measure)?, self.values(second, measure)?);
        let mut without: Vec<&str> = first.unjudged().chain(second.unjudged()).collect();
        without.sort_unstable();
        without.dedup();
        let mut samples = Samples::new(self, one.len(), without.len());
        let mut wins = 0;
        for at in 0..self.resamples {
            let score = samples.score(at, &one, measure);
            let against = samples.score(at, &other, measure);
            wins += u32::from(score > against);
        }
        Ok(PairedBootstrapResult {
            wins,
            resamples: self.resamples,
        })
    }

    fn values(&self, report: &Report, measure: Measure) -> Result<Vec<f64>, BootstrapError> {
        let values = report
            .values(measure)
            .ok_or_else(|| BootstrapError::Measure {
                measure: Box::new(measure),
            })?;
        let found = values.len();
        if found < 2 {
            return Err(BootstrapError::Few { found });
        }
        if self.resamples < 2 {
            let found = self.resamples;
            return Err(BootstrapError::Resamples { found });
        }
        Ok(values.collect())
    }
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self::TEXTBOOK
    }
}

/// Mean and standard deviation of a figure over bootstrap samples. Prints as `0.1653 ± 0.0151`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BootstrapEstimate {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

impl fmt::Display for BootstrapEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4} ± {:.4}", self.mean, self.deviation)
    }
}

/// How two systems compared over bootstrap samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairedBootstrapResult {
    /// Samples in which the first system had the higher figure; ties count against it.
    pub wins: u32,
    /// All samples.
    pub resamples: u32,
}

impl PairedBootstrapResult {
    /// The one-sided p value of "the first system is better": the share of samples it did not win.
    #[must_use]
    pub fn p(&self) -> f64 {
        f64::from(self.resamples - self.wins) / f64::from(self.resamples)
    }
}

/// Why nothing could be resampled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BootstrapError {
    /// The report does not have the measure.
    #[error("the report does not have {measure}")]
    Measure {
        /// The measure.
        measure: Box<Measure>,
    },
    /// One query or none.
    #[error("expected at least 2 queries, found {found}")]
    Few {
        /// How many there are.
        found: usize,
    },
    /// One sample or none.
    #[error("expected at least 2 resamples, found {found}")]
    Resamples {
        /// How many were asked for.
        found: u32,
    },
    /// Two reports about different queries.
    #[error("expected reports on the same queries, found {first} and {second} queries that differ")]
    Queries {
        /// How many the first has.
        first: usize,
        /// How many the second has.
        second: usize,
    },
}

/// Draws samples.
struct Samples {
    seed: u64,
    sampling: BootstrapScheme,
    /// Queries with values.
    counted: usize,
    /// Those and the ones without.
    all: usize,
    /// How often each query with a value was drawn.
    drawn: Vec<u32>,
}

impl Samples {
    fn new(bootstrap: &Bootstrap, counted: usize, without: usize) -> Self {
        let all = match bootstrap.sampling {
            BootstrapScheme::Textbook => counted,
            BootstrapScheme::Datafinder { .. } => counted + without,
        };
        Self {
            seed: bootstrap.seed,
            sampling: bootstrap.sampling,
            counted,
            all,
            drawn: vec![0; counted],
        }
    }

    /// The figure of sample number `at`.
    fn score(&mut self, at: u32, values: &[f64], measure: Measure) -> f64 {
        let mut random = SplitMix::new(self.seed, u64::from(at));
        self.drawn.fill(0);
        let draws = match self.sampling {
            BootstrapScheme::Textbook => self.all,
            BootstrapScheme::Datafinder { .. } => self.all / 2,
        };
        for _ in 0..draws {
            let query = random.below(self.all);
            if query < self.counted {
                self.drawn[query] += 1;
            }
        }
        let pairs = self.drawn.iter().zip(values);
        match self.sampling {
            BootstrapScheme::Textbook => {
                let sample =
                    pairs.flat_map(|(&times, &value)| std::iter::repeat_n(value, times as usize));
                measure.summary().of(sample)
            }
            BootstrapScheme::Datafinder { header } => {
                let distinct = pairs.filter(|pair| *pair.0 > 0).map(|pair| *pair.1);
                let score = measure.summary().of(distinct.chain(header.then_some(0.0)));
                rounded(score)
            }
        }
    }
}

/// To the four decimals that trec_eval prints; a sample without any query counts as 0.
fn rounded(score: f64) -> f64 {
    let printed = format!("{score:.4}").parse().unwrap_or(0.0);
    if f64::is_nan(printed) { 0.0 } else { printed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Evaluator;
    use ir_core::{Qrels, Run};

    /// A report whose RR values are 1, 1/2, 1/3, ... over and over.
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
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
        (variance / n).sqrt()
    }

    #[test]
    fn textbook_deviation_agrees_with_theory() {
        let report = report(300, 0, 0);
        let many = Bootstrap {
            resamples: 20_000,
            ..Bootstrap::TEXTBOOK
        };
        let spread = many.deviation(&report, Measure::RR).unwrap();
        let ratio = spread.deviation / theory(&report);
        assert!((0.98..1.02).contains(&ratio), "{ratio}");
        let observed = report.summary(Measure::RR).unwrap();
        assert!((spread.mean - observed).abs() < 0.001);
    }

    #[test]
    fn datafinder_deviation_is_a_quarter_larger() {
        // Of n/2 draws a share f = 1 - exp(-1/2) of the queries is distinct, drawn without
        // replacement in effect: sd / theory = sqrt((1 - f) / f), about 1.24.
        let report = report(400, 0, 0);
        let published = Bootstrap {
            resamples: 20_000,
            sampling: BootstrapScheme::Datafinder { header: false },
            ..Bootstrap::TEXTBOOK
        };
        let spread = published.deviation(&report, Measure::RR).unwrap();
        let f = 1.0 - (-0.5_f64).exp();
        let ratio = spread.deviation / theory(&report) / ((1.0 - f) / f).sqrt();
        assert!((0.97..1.03).contains(&ratio), "{ratio}");
    }

    #[test]
    fn the_header_and_unjudged_queries_count() {
        let without = report(100, 0, 0);
        let with = report(100, 100, 0);
        let plain = Bootstrap {
            sampling: BootstrapScheme::Datafinder { header: false },
            ..Bootstrap::TEXTBOOK
        };
        let mean = |b: Bootstrap, r: &Report| b.deviation(r, Measure::RR).unwrap().mean;
        // A query worth 0 in each sample of about 39 pulls the mean down by a fortieth.
        let pulled = mean(Bootstrap::DATAFINDER, &without) / mean(plain, &without);
        assert!((0.97..0.98).contains(&pulled), "{pulled}");
        // Twice the ids and twice the draws: the same share of the queries that count.
        let (a, b) = (
            plain.deviation(&without, Measure::RR),
            plain.deviation(&with, Measure::RR),
        );
        assert!((a.unwrap().deviation / b.unwrap().deviation - 1.0).abs() < 0.1);
    }

    #[test]
    fn pairs_share_their_samples() {
        let (low, high) = (report(50, 0, 0), report(50, 3, 1));
        for bootstrap in [Bootstrap::TEXTBOOK, Bootstrap::DATAFINDER] {
            let same = bootstrap.compare(&low, &low, Measure::RR).unwrap();
            assert_eq!((same.wins, same.p()), (0, 1.0));
            let better = report(50, 0, 30);
            let won = bootstrap.compare(&better, &low, Measure::RR).unwrap();
            assert_eq!(won.wins, 1000);
            assert_eq!(won.p(), 0.0);
        }
        assert!(
            Bootstrap::TEXTBOOK
                .compare(&low, &high, Measure::RR)
                .is_ok()
        );
        let other = report(49, 0, 0);
        let error = Bootstrap::TEXTBOOK.compare(&low, &other, Measure::RR);
        assert_eq!(
            error,
            Err(BootstrapError::Queries {
                first: 50,
                second: 49
            })
        );
    }

    #[test]
    fn says_what_is_missing() {
        let few = report(1, 0, 0);
        let error = Bootstrap::TEXTBOOK.deviation(&few, Measure::RR);
        assert_eq!(error, Err(BootstrapError::Few { found: 1 }));
        let report = report(5, 0, 0);
        let error = Bootstrap::TEXTBOOK
            .deviation(&report, Measure::AP)
            .unwrap_err();
        assert_eq!(error.to_string(), "the report does not have AP");
        let none = Bootstrap {
            resamples: 0,
            ..Bootstrap::TEXTBOOK
        };
        assert!(none.deviation(&report, Measure::RR).is_err());
    }

    #[test]
    fn seeds_are_streams() {
        let report = report(60, 0, 0);
        let spread = |seed| {
            let bootstrap = Bootstrap::TEXTBOOK.with_seed(seed);
            bootstrap.deviation(&report, Measure::RR).unwrap()
        };
        assert_eq!(spread(7), spread(7));
        assert_ne!(spread(7), spread(8));
    }
}
