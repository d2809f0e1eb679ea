//! Confidence intervals of means.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::student::critical;
use super::{BootstrapResampling, SignificanceError, check, deviation, mean};

/// Where a mean lies with a given confidence. Prints as `[0.1234, 0.2345]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl ConfidenceInterval {
    /// Whether a value lies inside, the ends included.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

impl fmt::Display for ConfidenceInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(4);
        write!(f, "[{:.digits$}, {:.digits$}]", self.low, self.high)
    }
}

/// How the confidence interval of a mean is found.
///
/// ```
/// use ir_eval::significance::IntervalMethod;
/// let interval = IntervalMethod::Student.of(&[1.0, 2.0, 3.0, 4.0], 0.95)?;
/// // 2.5 ± 3.182446 · 1.290994 / 2
/// assert_eq!(interval.to_string(), "[0.4457, 4.5543]");
/// # Ok::<(), ir_eval::significance::SignificanceError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum IntervalMethod {
    /// By Student's t: mean ± t · s / √n. It may reach beyond 0 and 1.
    #[default]
    Student,
    /// By percentiles of bootstrap samples, linear between neighbours.
    Bootstrap(BootstrapResampling),
}

impl IntervalMethod {
    /// The interval of the mean of these values.
    ///
    /// # Errors
    /// When there are fewer than two values, one is not finite, the confidence is not between 0
    /// and 1, or no samples are asked for.
    pub fn of(
        &self,
        values: &[f64],
        confidence: f64,
    ) -> Result<ConfidenceInterval, SignificanceError> {
        check(values)?;
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(SignificanceError::Level { found: confidence });
        }
        match self {
            Self::Student => {
                let n = values.len();
                let t = critical(confidence, n as u64 - 1);
                let reach = t * deviation(values) / (n as f64).sqrt();
                let mean = mean(values);
                Ok(ConfidenceInterval {
                    low: mean - reach,
                    high: mean + reach,
                })
            }
            Self::Bootstrap(resampling) => {
                if resampling.samples == 0 {
                    return Err(SignificanceError::Samples);
                }
                let mut means: Vec<f64> = resampling.means(values).collect();
                means.sort_unstable_by(f64::total_cmp);
                let tail = (1.0 - confidence) / 2.0;
                Ok(ConfidenceInterval {
                    low: quantile(&means, tail),
                    high: quantile(&means, 1.0 - tail),
                })
            }
        }
    }
}

impl fmt::Display for IntervalMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Student => f.write_str("Student's t"),
            Self::Bootstrap(how) => {
                write!(f, "bootstrap ({} samples, seed {})", how.samples, how.seed)
            }
        }
    }
}

/// A quantile of sorted values, linear between neighbours (numpy's default; type 7 of Hyndman and
/// Fan, 1996).
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (at, part) = (place.floor() as usize, place.fract());
    let next = sorted[(at + 1).min(sorted.len() - 1)];
    sorted[at] + part * (next - sorted[at])
}
