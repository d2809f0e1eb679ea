//! Confidence intervals of means.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::student::critical_value;
use super::{BootstrapResampling, SampleProgress, SignificanceError, validate};
use crate::statistics::{mean, quantile, standard_deviation};

/// Confidence interval. Displayed as `[0.1234, 0.2345]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceInterval {
    /// Inclusive lower bound of the interval.
    pub low: f64,
    /// Inclusive upper bound of the interval.
    pub high: f64,
}

impl ConfidenceInterval {
    /// Returns `true` if a value is inside the interval, bounds included.
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

/// Method of computing the confidence interval of a mean.
///
/// ```
/// use ir_eval::compare::significance::IntervalMethod;
/// let interval = IntervalMethod::Student.mean_interval(&[1.0, 2.0, 3.0, 4.0], 0.95)?;
/// // 2.5 ± 3.182446 · 1.290994 / 2
/// assert_eq!(interval.to_string(), "[0.4457, 4.5543]");
/// # Ok::<(), ir_eval::compare::significance::SignificanceError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum IntervalMethod {
    /// Student's t interval: mean ± t · s / √n. Not clipped to the range of the measure. s is 0 for
    /// values that are equal up to rounding.
    #[default]
    Student,
    /// Percentile bootstrap interval, with linearly interpolated percentiles.
    Bootstrap(BootstrapResampling),
}

impl IntervalMethod {
    /// Computes the confidence interval of the mean of `values` at the given confidence level.
    ///
    /// # Errors
    /// When there are fewer than two values, one is not finite, the confidence is not between 0
    /// and 1, or the number of bootstrap samples is 0.
    pub fn mean_interval(
        &self,
        values: &[f64],
        confidence: f64,
    ) -> Result<ConfidenceInterval, SignificanceError> {
        self.mean_interval_with_progress(values, confidence, &mut SampleProgress::default())
    }

    pub(in crate::compare) fn mean_interval_with_progress(
        &self,
        values: &[f64],
        confidence: f64,
        progress: &mut SampleProgress<'_>,
    ) -> Result<ConfidenceInterval, SignificanceError> {
        validate(values)?;
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(SignificanceError::Level { found: confidence });
        }
        match self {
            Self::Student => {
                let n = values.len();
                let t = critical_value(confidence, n as u64 - 1);
                let deviation = standard_deviation(values).unwrap_or(0.0);
                let half_width = t * deviation / (n as f64).sqrt();
                let mean = mean(values);
                Ok(ConfidenceInterval {
                    low: mean - half_width,
                    high: mean + half_width,
                })
            }
            Self::Bootstrap(resampling) => {
                let mut means = Vec::new();
                for mean in resampling.sample_means(values)? {
                    means.push(mean);
                    progress.advance(1)?;
                }
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
            Self::Bootstrap(BootstrapResampling { samples, seed }) => {
                write!(f, "bootstrap ({samples} samples, seed {seed})")
            }
        }
    }
}
