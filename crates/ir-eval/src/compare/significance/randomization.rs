//! Fisher's randomisation test.

use serde::{Deserialize, Serialize};

use super::{
    Alternative, NullDistribution, SignificanceError, TestResult, check, no_difference, tolerance,
};
use ir_core::SplitMix;

/// Fisher's randomisation test of paired values, by flipping signs: if the systems did not differ,
/// each query's difference might as well have had the other sign. The statistic is the mean
/// difference; two-sided, its absolute value.
///
/// With up to [`RandomizationTest::EXACT`] queries that differ at all, every pattern of signs is
/// counted. With more, patterns are drawn and p = (1 + count) / (1 + samples), so that p is never 0
/// (Phipson and Smyth, 2010). Means within 10⁻¹² of the observed one count as equal to it.
///
/// # Source
/// Fisher, *The Design of Experiments*, 1935, section 21; Smucker, Allan and Carterette, "A
/// comparison of statistical significance tests for information retrieval evaluation", CIKM 2007.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomizationTest {
    /// How many patterns of signs are drawn, at least 1, where not all are counted.
    pub samples: u32,
    /// Where the random numbers start. The same seed draws the same patterns for every pair of
    /// systems.
    pub seed: u64,
}

impl Default for RandomizationTest {
    /// A hundred thousand samples: the error of a p value about 0.05 is about 0.0007.
    fn default() -> Self {
        Self {
            samples: 100_000,
            seed: 0,
        }
    }
}

/// Queries whose signs are looked up at once.
const GROUP: usize = 8;
/// Patterns that are worked on at once, so that all of it stays in the fastest memory.
const BLOCK: usize = 1024;

impl RandomizationTest {
    /// The number of differences other than 0 up to which all patterns of signs are counted.
    pub const EXACT: usize = 20;

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
        let n = differences.len() as f64;
        let mut tally = Tally {
            observed: differences.iter().sum(),
            // Of sums, not of means.
            slack: tolerance(differences) * n,
            alternative,
            extreme: 0,
        };
        let observed = tally.observed;
        // Queries without a difference have no sign.
        let signed: Vec<f64> = differences.iter().copied().filter(|&d| d != 0.0).collect();
        let (p, null_distribution) = if signed.len() <= Self::EXACT {
            count_all(&signed, &mut tally);
            let patterns = (1_u64 << signed.len()) as f64;
            (tally.extreme as f64 / patterns, NullDistribution::Exact)
        } else {
            self.draw(&signed, &mut tally);
            let samples = self.samples;
            let p = (1.0 + tally.extreme as f64) / (1.0 + f64::from(samples));
            (p, NullDistribution::MonteCarlo { samples })
        };
        Ok(TestResult {
            statistic: observed / n,
            p,
            null_distribution,
        })
    }

    /// Draws patterns of signs, eight queries to a byte, whose sums are looked up in tables.
    fn draw(&self, differences: &[f64], tally: &mut Tally) {
        let tables: Vec<[f64; 1 << GROUP]> = differences.chunks(GROUP).map(sums).collect();
        let mut sum = [0.0_f64; BLOCK];
        // One list of bytes for each group of queries, 64 bits of the generator over eight groups.
        let mut bytes = [[0_u8; BLOCK]; 8];
        let mut left = self.samples as usize;
        let mut block = 0;
        while left > 0 {
            let used = left.min(BLOCK);
            let mut random = SplitMix::new(self.seed, block);
            sum.fill(0.0);
            for tables in tables.chunks(bytes.len()) {
                let drawn: [u64; BLOCK] = std::array::from_fn(|_| random.bits());
                for (group, bytes) in bytes.iter_mut().enumerate() {
                    for (byte, drawn) in bytes.iter_mut().zip(&drawn) {
                        *byte = drawn.to_le_bytes()[group];
                    }
                }
                for (table, bytes) in tables.iter().zip(&bytes) {
                    for (sum, &byte) in sum.iter_mut().zip(bytes) {
                        *sum += table[usize::from(byte)];
                    }
                }
            }
            sum[..used].iter().for_each(|&sum| tally.see(sum));
            left -= used;
            block += 1;
        }
    }
}

/// Counts sums that are at least as extreme as the observed one.
struct Tally {
    observed: f64,
    slack: f64,
    alternative: Alternative,
    extreme: u64,
}

impl Tally {
    fn see(&mut self, sum: f64) {
        let extreme = match self.alternative {
            Alternative::TwoSided => sum.abs() >= self.observed.abs() - self.slack,
            Alternative::Greater => sum >= self.observed - self.slack,
            Alternative::Less => sum <= self.observed + self.slack,
        };
        self.extreme += u64::from(extreme);
    }
}

/// The sums of up to eight differences under every pattern of their signs.
fn sums(differences: &[f64]) -> [f64; 1 << GROUP] {
    std::array::from_fn(|pattern| signed_sum(differences, pattern))
}

/// The sum of differences, those of the bits set in `pattern` with the other sign.
fn signed_sum(differences: &[f64], pattern: usize) -> f64 {
    let signed = differences.iter().enumerate();
    signed
        .map(|(at, &d)| if pattern >> at & 1 == 1 { -d } else { d })
        .sum()
}

/// Sees the sums of all patterns: those of one half of the differences with those of the other.
fn count_all(differences: &[f64], tally: &mut Tally) {
    let (left, right) = differences.split_at(differences.len() / 2);
    let all = |half: &[f64]| -> Vec<f64> {
        let patterns = 0..1_usize << half.len();
        patterns.map(|pattern| signed_sum(half, pattern)).collect()
    };
    let (left, right) = (all(left), all(right));
    for one in &left {
        right.iter().for_each(|other| tally.see(one + other));
    }
}
