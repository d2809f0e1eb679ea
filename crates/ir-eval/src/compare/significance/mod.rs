//! Paired significance tests, corrections for multiple testing, confidence intervals, effect sizes.
//!
//! The input is one number per query: the difference between two systems on a measure. To compare
//! whole runs, with significance marks and tables, use [`Comparison`](crate::compare::Comparison).
//!
//! | test | null distribution | like |
//! |---|---|---|
//! | [`PairedTTest`] | Student's t | `scipy.stats.ttest_rel` |
//! | [`WilcoxonTest`] | exact or normal approximation | `scipy.stats.wilcoxon` |
//! | [`RandomizationTest`] | exact or Monte Carlo sign flips | `scipy.stats.permutation_test` |
//! | [`BootstrapResampling`] | bootstrap samples | Sakai, SIGIR 2006 |
//!
//! ```
//! use ir_eval::compare::significance::{Alternative, PairedTTest, WilcoxonTest};
//! let a = [0.5, 0.2, 0.9, 0.4, 0.7, 0.3, 0.8, 0.1];
//! let b = [0.6, 0.1, 1.0, 0.4, 0.9, 0.5, 0.7, 0.3];
//! let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
//!
//! let t = PairedTTest.test(&differences, Alternative::TwoSided)?;
//! assert_eq!(t.p.map(|p| format!("{p:.6}")).as_deref(), Some("0.141892"));
//! let w = WilcoxonTest::default().test(&differences, Alternative::TwoSided)?;
//! assert_eq!((w.statistic, w.p), (Some(7.0), Some(0.28125)));
//! # Ok::<(), ir_eval::compare::significance::SignificanceError>(())
//! ```

mod confidence_interval;
mod effect_size;
mod multiple_testing;
mod randomization;
mod resampling;
mod student;
mod wilcoxon;

use std::fmt;

use ir_core::{Flow, Progress};
use serde::{Deserialize, Serialize};

pub use confidence_interval::{ConfidenceInterval, IntervalMethod};
pub use effect_size::EffectSize;
#[cfg(feature = "plots")]
pub(super) use effect_size::count_wins_ties_losses;
pub use multiple_testing::MultipleTestingCorrection;
pub use randomization::RandomizationTest;
pub use resampling::BootstrapResampling;
pub(super) use resampling::bootstrap_p_value;
pub use student::PairedTTest;
pub use wilcoxon::{WilcoxonMethod, WilcoxonTest, ZeroDifferences};

/// Alternative hypothesis. A difference is the value of a system minus the value of the system it
/// is compared with, so that positive differences favor the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alternative {
    /// The systems differ in either direction. The default.
    #[default]
    TwoSided,
    /// The system is better: differences tend to be positive.
    Greater,
    /// The system is worse: differences tend to be negative.
    Less,
}

impl Alternative {
    /// The p value, from the p values of both one-sided tests.
    fn p_value(self, greater: f64, less: f64) -> f64 {
        match self {
            Self::TwoSided => (2.0 * greater.min(less)).min(1.0),
            Self::Greater => greater,
            Self::Less => less,
        }
    }
}

impl fmt::Display for Alternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TwoSided => "two-sided",
            Self::Greater => "one-sided (greater)",
            Self::Less => "one-sided (less)",
        })
    }
}

/// Result of a significance test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// Test statistic: t, Wilcoxon's W, the mean difference, or the number of bootstrap samples
    /// won. `None` for [`NullDistribution::EqualDifferences`].
    pub statistic: Option<f64>,
    /// The p value: probability, under the null hypothesis, of a statistic at least as extreme as
    /// the observed one. `None` for [`NullDistribution::EqualDifferences`].
    pub p: Option<f64>,
    /// Null distribution from which p was computed, or the reason why there is no p.
    pub null_distribution: NullDistribution,
}

impl TestResult {
    /// Result of a test that divides by the standard deviation, on equal differences.
    const EQUAL_DIFFERENCES: Self = Self {
        statistic: None,
        p: None,
        null_distribution: NullDistribution::EqualDifferences,
    };

    /// Validates the differences. Returns the result p = 1 if all of them are 0.
    fn if_all_zero(differences: &[f64]) -> Result<Option<Self>, SignificanceError> {
        validate(differences)?;
        Ok(Self::no_difference(differences))
    }

    /// Returns the result p = 1 if all differences are 0.
    fn no_difference(differences: &[f64]) -> Option<Self> {
        let result = Self {
            statistic: Some(0.0),
            p: Some(1.0),
            null_distribution: NullDistribution::NoDifference,
        };
        differences.iter().all(|&d| d == 0.0).then_some(result)
    }
}

/// Distribution of a test statistic under the null hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NullDistribution {
    /// Student's t distribution with n − 1 degrees of freedom.
    #[allow(missing_docs)]
    StudentT { degrees_of_freedom: u64 },
    /// Normal approximation of the statistic.
    Normal,
    /// Exact distribution, by enumeration.
    Exact,
    /// Monte Carlo estimate from random samples.
    #[allow(missing_docs)]
    MonteCarlo { samples: u32 },
    /// No distribution: all differences are 0 and p is 1.
    NoDifference,
    /// No distribution and no p: all differences are equal up to rounding and not 0, and the
    /// statistic is a quotient by their standard deviation.
    EqualDifferences,
}

impl fmt::Display for NullDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StudentT { degrees_of_freedom } => {
                write!(f, "Student's t, {degrees_of_freedom} degrees of freedom")
            }
            Self::Normal => f.write_str("normal approximation"),
            Self::Exact => f.write_str("exact"),
            Self::MonteCarlo { samples } => write!(f, "{samples} random samples"),
            Self::NoDifference => f.write_str("all differences are 0"),
            Self::EqualDifferences => f.write_str("all differences are equal up to rounding"),
        }
    }
}

/// Error testing paired differences.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum SignificanceError {
    /// Fewer than two queries.
    #[error("expected at least 2 queries, found {found}")]
    TooFewQueries { found: usize },
    /// An infinite difference or NaN; `position` counts from 0.
    #[error("expected finite differences, found {found} at position {position}")]
    NotFinite { position: usize, found: f64 },
    /// A number of random samples of 0.
    #[error("expected at least 1 random sample, found 0")]
    NoSamples,
    /// A significance level or confidence outside (0, 1).
    #[error("expected a level between 0 and 1, found {found}")]
    Level { found: f64 },
    /// The caller's [`Progress`] canceled the test.
    #[error("canceled")]
    Canceled,
}

/// Progress over the random samples of one or several tests and intervals. Default: none is
/// reported.
#[derive(Default)]
pub(super) struct SampleProgress<'a> {
    progress: Option<&'a mut dyn Progress>,
    drawn: u64,
    total: Option<u64>,
}

impl<'a> SampleProgress<'a> {
    /// Number of samples between two reports.
    const INTERVAL: u64 = 4096;

    pub(super) fn new(progress: &'a mut dyn Progress, total: Option<u64>) -> Self {
        Self {
            progress: Some(progress),
            drawn: 0,
            total,
        }
    }

    /// Counts drawn samples; returns an error if the receiver cancels.
    pub(super) fn advance(&mut self, samples: u64) -> Result<(), SignificanceError> {
        let reported = self.drawn / Self::INTERVAL;
        self.drawn += samples;
        let is_due = self.drawn / Self::INTERVAL > reported;
        if let Some(progress) = self.progress.as_mut().filter(|_| is_due)
            && progress.report("resampling", self.drawn, self.total) == Flow::Stop
        {
            return Err(SignificanceError::Canceled);
        }
        Ok(())
    }
}

/// Requires at least two differences, all of them finite.
fn validate(differences: &[f64]) -> Result<(), SignificanceError> {
    let found = differences.len();
    if found < 2 {
        return Err(SignificanceError::TooFewQueries { found });
    }
    match (0..).zip(differences).find(|(_, d)| !d.is_finite()) {
        None => Ok(()),
        Some((position, &found)) => Err(SignificanceError::NotFinite { position, found }),
    }
}

/// Rounding tolerance for comparing means of these values: 10⁻¹² for measures between 0 and 1.
fn tolerance(differences: &[f64]) -> f64 {
    let largest = differences
        .iter()
        .fold(1.0, |most: f64, d| most.max(d.abs()));
    1e-12 * largest
}
