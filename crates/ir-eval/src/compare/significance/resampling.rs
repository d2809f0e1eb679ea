//! Bootstrap resampling and the paired bootstrap test.

use serde::{Deserialize, Serialize};

use super::{
    Alternative, NullDistribution, SampleProgress, SignificanceError, TestResult, tolerance,
};
use crate::statistics::mean;
use ir_core::SplitMix64;

/// Bootstrap resampling of queries: a paired significance test, and percentile confidence intervals
/// through [`IntervalMethod::Bootstrap`](super::IntervalMethod::Bootstrap).
///
/// Every bootstrap sample draws n queries with replacement, the same for both systems.
///
/// - One-sided (percentile): b counts the samples with a mean difference that does not have the
///   sign of the alternative; 0 counts against it.
/// - Two-sided (shifted): the differences are centered at 0 first, and b counts the samples with a
///   mean at least as far from 0 as the observed mean.
///
/// p = (b + 1) / (B + 1) for B samples, so that p is never 0 (Davison and Hinkley, *Bootstrap
/// Methods and their Application*, 1997, section 4.2; Phipson and Smyth, 2010), as for
/// [`RandomizationTest`](super::RandomizationTest).
///
/// # Source
/// Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993, chapters 13 and 16; Sakai,
/// "Evaluating evaluation metrics based on the bootstrap", SIGIR 2006.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BootstrapResampling {
    /// Number of bootstrap samples. Range: ≥ 1. Default: 10,000.
    pub samples: u32,
    /// Random seed. The same seed draws the same samples for every pair of systems. Default: 0.
    pub seed: u64,
}

/// The p value (b + 1) / (B + 1) of B samples, of which b support the null hypothesis.
pub(in crate::compare) fn bootstrap_p_value(count: u32, samples: u32) -> f64 {
    (1.0 + f64::from(count)) / (1.0 + f64::from(samples))
}

impl Default for BootstrapResampling {
    fn default() -> Self {
        Self {
            samples: 10_000,
            seed: 0,
        }
    }
}

impl BootstrapResampling {
    /// Tests the null hypothesis that the mean difference is 0.
    ///
    /// # Errors
    /// When there are fewer than two differences, one is not finite, or `samples` is 0.
    pub fn test(
        &self,
        differences: &[f64],
        alternative: Alternative,
    ) -> Result<TestResult, SignificanceError> {
        self.test_with_progress(differences, alternative, &mut SampleProgress::default())
    }

    pub(in crate::compare) fn test_with_progress(
        &self,
        differences: &[f64],
        alternative: Alternative,
        progress: &mut SampleProgress<'_>,
    ) -> Result<TestResult, SignificanceError> {
        let no_difference = TestResult::if_all_zero(differences)?;
        let means = self.sample_means(differences)?;
        if let Some(result) = no_difference {
            return Ok(result);
        }
        let observed = mean(differences);
        let slack = tolerance(differences);
        let supports_null = |sample: f64| match alternative {
            Alternative::TwoSided => (sample - observed).abs() >= observed.abs() - slack,
            Alternative::Greater => sample <= slack,
            Alternative::Less => sample >= -slack,
        };
        let mut count = 0_u32;
        for mean in means {
            count += u32::from(supports_null(mean));
            progress.advance(1)?;
        }
        let samples = self.samples;
        Ok(TestResult {
            statistic: Some(observed),
            p: Some(bootstrap_p_value(count, samples)),
            null_distribution: NullDistribution::MonteCarlo { samples },
        })
    }

    /// Means of the bootstrap samples.
    pub(super) fn sample_means<'a>(
        &self,
        values: &'a [f64],
    ) -> Result<impl Iterator<Item = f64> + use<'a>, SignificanceError> {
        let Self { samples, seed } = *self;
        if samples == 0 {
            return Err(SignificanceError::NoSamples);
        }
        let n = values.len();
        Ok((0..u64::from(samples)).map(move |sample| {
            let mut random = SplitMix64::new(seed, sample);
            let sum: f64 = (0..n).map(|_| values[random.below(n)]).sum();
            sum / n as f64
        }))
    }
}
