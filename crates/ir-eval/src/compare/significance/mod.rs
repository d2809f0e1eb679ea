//! Is the difference between two systems more than chance? Tests, corrections, intervals, effects.
//!
//! Everything here looks at one number per query: the difference of two systems on a measure. To
//! compare whole runs, with marks and tables, see [`Comparison`](crate::Comparison), which is made
//! of these parts.
//!
//! ```
//! use ir_eval::significance::{Alternative, PairedTTest, WilcoxonTest};
//! let a = [0.5, 0.2, 0.9, 0.4, 0.7, 0.3, 0.8, 0.1];
//! let b = [0.6, 0.1, 1.0, 0.4, 0.9, 0.5, 0.7, 0.3];
//! let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
//!
//! let t = PairedTTest.test(&differences, Alternative::TwoSided)?;
//! assert_eq!(format!("{:.5} {:.6}", t.statistic, t.p), "1.65503 0.141892");
//! let w = WilcoxonTest::default().test(&differences, Alternative::TwoSided)?;
//! assert_eq!(format!("{} {:.5}", w.statistic, w.p), "7 0.28125");
//! # Ok::<(), ir_eval::significance::SignificanceError>(())
//! ```

mod confidence_interval;
mod effect_size;
mod multiple_testing;
mod randomization;
mod resampling;
mod student;
mod wilcoxon;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use confidence_interval::{ConfidenceInterval, IntervalMethod};
pub use effect_size::EffectSize;
pub use multiple_testing::MultipleTestingCorrection;
pub use randomization::RandomizationTest;
pub use resampling::BootstrapResampling;
pub use student::PairedTTest;
pub use wilcoxon::{WilcoxonMethod, WilcoxonTest, ZeroDifferences};

/// What a test tries to show. The differences are those of a system to the one it is compared
/// with: above 0 where the system is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alternative {
    /// The systems differ, either way.
    #[default]
    TwoSided,
    /// The system is better: the differences tend to be above 0.
    Greater,
    /// The system is worse: the differences tend to be below 0.
    Less,
}

impl Alternative {
    /// The p value of two one-sided ones.
    fn of(self, greater: f64, less: f64) -> f64 {
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

/// What a test found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// The test statistic: t, W, or the mean difference. An infinite t (all differences are the
    /// same) is written as text in JSON.
    #[serde(with = "crate::significance::extended")]
    pub statistic: f64,
    /// The probability of such a statistic, or a more extreme one, if there were no difference.
    pub p: f64,
    /// How p was found.
    pub null_distribution: NullDistribution,
}

/// How the distribution of a statistic under chance was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NullDistribution {
    /// Student's t.
    StudentT {
        /// The degrees of freedom.
        degrees_of_freedom: u64,
    },
    /// The normal distribution, as an approximation.
    Normal,
    /// All possible outcomes were counted.
    Exact,
    /// Outcomes were drawn at random.
    MonteCarlo {
        /// How many.
        samples: u32,
    },
    /// All differences are 0, so that there is nothing to test and p is 1.
    NoDifference,
}

impl fmt::Display for NullDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StudentT {
                degrees_of_freedom: freedom,
            } => write!(f, "Student's t, {freedom} degrees of freedom"),
            Self::Normal => f.write_str("normal approximation"),
            Self::Exact => f.write_str("exact"),
            Self::MonteCarlo { samples } => write!(f, "{samples} random samples"),
            Self::NoDifference => f.write_str("all differences are 0"),
        }
    }
}

/// Why differences could not be tested.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SignificanceError {
    /// One query or none.
    #[error("expected at least 2 queries, found {found}")]
    Few {
        /// How many there are.
        found: usize,
    },
    /// A difference that is infinite or not a number.
    #[error("expected finite differences, found {found} at position {position}")]
    NotFinite {
        /// Where it stands, from 0.
        position: usize,
        /// The difference.
        found: f64,
    },
    /// No samples at all.
    #[error("expected at least 1 random sample, found 0")]
    Samples,
    /// A level or a confidence that is no share between 0 and 1.
    #[error("expected a level between 0 and 1, found {found}")]
    Level {
        /// The level.
        found: f64,
    },
}

/// At least two differences, all of them finite.
fn check(differences: &[f64]) -> Result<(), SignificanceError> {
    if differences.len() < 2 {
        return Err(SignificanceError::Few {
            found: differences.len(),
        });
    }
    match differences.iter().position(|d| !d.is_finite()) {
        None => Ok(()),
        Some(position) => Err(SignificanceError::NotFinite {
            position,
            found: differences[position],
        }),
    }
}

/// The outcome where no query tells the systems apart: p = 1 by definition.
fn no_difference(differences: &[f64]) -> Option<TestResult> {
    differences.iter().all(|&d| d == 0.0).then_some(TestResult {
        statistic: 0.0,
        p: 1.0,
        null_distribution: NullDistribution::NoDifference,
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of a sample: the divisor is one less than the number of values.
fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// How far two means of these values may be apart and still count as equal: what rounding does to
/// sums. 10⁻¹² for measures between 0 and 1.
fn tolerance(differences: &[f64]) -> f64 {
    1e-12
        * differences
            .iter()
            .fold(1.0, |most: f64, d| most.max(d.abs()))
}

/// Numbers that may be infinite, in formats that have no word for that.
pub(crate) mod extended {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Number {
        Finite(f64),
        Text(String),
    }

    pub(crate) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        if value.is_finite() {
            Number::Finite(*value).serialize(to)
        } else {
            Number::Text(value.to_string()).serialize(to)
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        match Number::deserialize(from)? {
            Number::Finite(value) => Ok(value),
            Number::Text(text) => text.parse().map_err(de::Error::custom),
        }
    }
}
