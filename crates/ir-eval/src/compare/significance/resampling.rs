//! The paired bootstrap test.

use serde::{Deserialize, Serialize};

use super::{
    Alternative, NullDistribution, SignificanceError, TestResult, check, mean, no_difference,
    tolerance,
};
use ir_core::SplitMix;

/// The paired bootstrap test: queries are drawn with replacement, the same for both systems, and
/// the mean difference is looked at again.
///
/// - One-sided, by percentiles: p is the share of samples whose mean difference is not on the side
///   to be shown (0 counts against it).
/// - Two-sided, shifted: the differences are centred first, so that chance is all there is, and p is
///   the share of samples whose mean is at least as far from 0 as the observed one.
///
/// p is a share of the samples drawn and can come out as 0, which means "below 1 / samples".
///
/// # Source
/// Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993, chapters 13 and 16; Sakai,
/// "Evaluating evaluation metrics based on the bootstrap", SIGIR 2006.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BootstrapResampling {
    /// How many samples are drawn, at least 1.
    pub samples: u32,
    /// Where the random numbers start. The same seed draws the same samples for every pair of
    /// systems.
    pub seed: u64,
}

impl Default for BootstrapResampling {
    /// Ten thousand samples.
    fn default() -> Self {
        Self {
            samples: 10_000,
            seed: 0,
        }
    }
}

impl BootstrapResampling {
    /// Tests whether the mean of the differences is 0.
    ///
    /// # Errors
    /// When there are fewer than two differences, one is not finite, or no samples are asked for.
    pub fn test(
        &self,
        differences: &[f64],
        alternative: Alternative,
    ) -> Result<TestResult, SignificanceError> {
        check(differences)?;
        if self.samples == 0 {
            return Err(SignificanceError::Samples);
        }
        if let Some(result) = no_difference(differences) {
            return Ok(result);
        }
        let observed = mean(differences);
        let slack = tolerance(differences);
        let against = |sample: f64| match alternative {
            Alternative::TwoSided => (sample - observed).abs() >= observed.abs() - slack,
            Alternative::Greater => sample <= slack,
            Alternative::Less => sample >= -slack,
        };
        let count = self.means(differences).filter(|&m| against(m)).count();
        Ok(TestResult {
            statistic: observed,
            p: count as f64 / f64::from(self.samples),
            null_distribution: NullDistribution::MonteCarlo {
                samples: self.samples,
            },
        })
    }

    /// The mean of each sample.
    pub(super) fn means<'a>(&self, values: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let seed = self.seed;
        let n = values.len();
        (0..u64::from(self.samples)).map(move |sample| {
            let mut random = SplitMix::new(seed, sample);
            let sum: f64 = (0..n).map(|_| values[random.below(n)]).sum();
            sum / n as f64
        })
    }
}
