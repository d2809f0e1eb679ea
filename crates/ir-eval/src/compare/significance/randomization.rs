//! Fisher's randomization test (paired permutation test).

use serde::{Deserialize, Serialize};

use super::{
    Alternative, NullDistribution, SampleProgress, SignificanceError, TestResult, tolerance,
};
use ir_core::SplitMix64;

/// Fisher's paired randomization (permutation) test by sign flips. The statistic is the mean
/// difference.
///
/// Under the null hypothesis, the sign of every query's difference is arbitrary. p is the fraction
/// of sign patterns with a mean difference at least as extreme as the observed one.
///
/// Up to [`RandomizationTest::EXACT_LIMIT`] queries with a non-zero difference, all sign patterns
/// are enumerated. Beyond that, random patterns are drawn, and p = (1 + count) / (1 + samples), so
/// that p is never 0 (Phipson and Smyth, 2010). Means within 10⁻¹² of the observed mean count as
/// equal to it.
///
/// # Source
/// Fisher, *The Design of Experiments*, 1935, section 21; Smucker, Allan and Carterette, "A
/// comparison of statistical significance tests for information retrieval evaluation", CIKM 2007.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomizationTest {
    /// Number of random sign patterns, where patterns are not enumerated. Range: ≥ 1. Default:
    /// 100,000, for a standard error of about 0.0007 at p = 0.05.
    pub samples: u32,
    /// Random seed. The same seed draws the same patterns for every pair of systems. Default: 0.
    pub seed: u64,
}

impl Default for RandomizationTest {
    fn default() -> Self {
        Self {
            samples: 100_000,
            seed: 0,
        }
    }
}

/// Number of queries per lookup table: one byte of random bits each.
const GROUP: usize = 8;
/// Number of sign patterns per block; the sums of a block fit into the L1 cache.
const BLOCK: usize = 1024;

impl RandomizationTest {
    /// Maximum number of non-zero differences for which all sign patterns are enumerated.
    pub const EXACT_LIMIT: usize = 20;

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
        if self.samples == 0 {
            return Err(SignificanceError::NoSamples);
        }
        if let Some(result) = no_difference {
            return Ok(result);
        }
        let n = differences.len() as f64;
        let observed: f64 = differences.iter().sum();
        let mut counter = ExtremeSums {
            observed,
            // Sums are compared, not means.
            slack: tolerance(differences) * n,
            alternative,
            count: 0,
        };
        let nonzero: Vec<f64> = differences.iter().copied().filter(|&d| d != 0.0).collect();
        let (p, null_distribution) = if nonzero.len() <= Self::EXACT_LIMIT {
            enumerate_patterns(&nonzero, &mut counter);
            let patterns = (1_u64 << nonzero.len()) as f64;
            (counter.count as f64 / patterns, NullDistribution::Exact)
        } else {
            self.draw_patterns(&nonzero, &mut counter, progress)?;
            let samples = self.samples;
            let p = (1.0 + counter.count as f64) / (1.0 + f64::from(samples));
            (p, NullDistribution::MonteCarlo { samples })
        };
        Ok(TestResult {
            statistic: Some(observed / n),
            p: Some(p),
            null_distribution,
        })
    }

    /// Draws sign patterns. One random byte holds the signs of eight queries; a table has the sum
    /// for each byte.
    fn draw_patterns(
        &self,
        differences: &[f64],
        counter: &mut ExtremeSums,
        progress: &mut SampleProgress<'_>,
    ) -> Result<(), SignificanceError> {
        // Sums of up to eight differences under every sign pattern.
        let sum_table = |group: &[f64]| -> [f64; 1 << GROUP] {
            std::array::from_fn(|pattern| signed_sum(group, pattern))
        };
        let tables: Vec<_> = differences.chunks(GROUP).map(sum_table).collect();
        let mut sums = [0.0_f64; BLOCK];
        // The eight bytes of a random number are the patterns of eight groups of queries.
        let mut bytes = [[0_u8; BLOCK]; 8];
        let mut left = self.samples as usize;
        let mut block = 0;
        while left > 0 {
            let used = left.min(BLOCK);
            let mut random = SplitMix64::new(self.seed, block);
            sums.fill(0.0);
            for tables in tables.chunks(bytes.len()) {
                let drawn: [u64; BLOCK] = std::array::from_fn(|_| random.next_u64());
                for (group, bytes) in bytes.iter_mut().enumerate() {
                    for (byte, drawn) in bytes.iter_mut().zip(&drawn) {
                        *byte = drawn.to_le_bytes()[group];
                    }
                }
                for (table, bytes) in tables.iter().zip(&bytes) {
                    for (sum, &byte) in sums.iter_mut().zip(bytes) {
                        *sum += table[usize::from(byte)];
                    }
                }
            }
            sums[..used].iter().for_each(|&sum| counter.add(sum));
            left -= used;
            block += 1;
            progress.advance(used as u64)?;
        }
        Ok(())
    }
}

/// Count of sums that are at least as extreme as the observed one.
struct ExtremeSums {
    observed: f64,
    slack: f64,
    alternative: Alternative,
    count: u64,
}

impl ExtremeSums {
    fn add(&mut self, sum: f64) {
        let extreme = match self.alternative {
            Alternative::TwoSided => sum.abs() >= self.observed.abs() - self.slack,
            Alternative::Greater => sum >= self.observed - self.slack,
            Alternative::Less => sum <= self.observed + self.slack,
        };
        self.count += u64::from(extreme);
    }
}

/// Sum of differences, with the signs of the bits set in `pattern` flipped.
fn signed_sum(differences: &[f64], pattern: usize) -> f64 {
    let differences = differences.iter().enumerate();
    differences
        .map(|(at, &d)| if pattern >> at & 1 == 1 { -d } else { d })
        .sum()
}

/// Enumerates all sign patterns, as sums over both halves of the differences.
fn enumerate_patterns(differences: &[f64], counter: &mut ExtremeSums) {
    let (left, right) = differences.split_at(differences.len() / 2);
    let sums = |half: &[f64]| -> Vec<f64> {
        let patterns = 0..1_usize << half.len();
        patterns.map(|pattern| signed_sum(half, pattern)).collect()
    };
    let (left, right) = (sums(left), sums(right));
    for one in &left {
        right.iter().for_each(|other| counter.add(one + other));
    }
}
