//! Wilcoxon signed-rank test, exact and approximate.

use std::fmt;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use super::{Alternative, NullDistribution, SignificanceError, TestResult, validate};

/// Wilcoxon signed-rank test. Tied absolute differences get the mean of their ranks.
///
/// The default equals `scipy.stats.wilcoxon` (1.13 and later): zero differences dropped, no
/// continuity correction, [`WilcoxonMethod::Auto`]. As in scipy, ties are exact: 0.6 − 0.5 and
/// 0.4 − 0.3 are not tied. Set [`WilcoxonTest::decimals`] to round differences first.
///
/// The statistic is the smaller of both rank sums in a two-sided test, and the rank sum of the
/// positive differences in a one-sided test.
///
/// # Source
/// Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1945; Pratt, "Remarks
/// on zeros and ties in the Wilcoxon signed rank procedures", JASA 1959; Cureton, "The normal
/// approximation to the signed-rank sampling distribution when zero differences are present",
/// JASA 1967.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WilcoxonTest {
    /// Treatment of zero differences. Default: dropped.
    pub zeros: ZeroDifferences,
    /// Null distribution: exact or normal approximation. Default: scipy's rule.
    pub method: WilcoxonMethod,
    /// Continuity correction of the normal approximation: the statistic moves by ½ towards its
    /// mean. Default: false.
    pub continuity_correction: bool,
    /// Number of decimals to which differences are rounded before ranking. Default: no rounding.
    pub decimals: Option<u8>,
}

/// Treatment of zero differences in the Wilcoxon test; `zero_method` in scipy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ZeroDifferences {
    /// Dropped before ranking (Wilcoxon). The default.
    #[default]
    Drop,
    /// Ranked with the others and dropped afterwards (Pratt).
    Pratt,
}

/// Null distribution of the Wilcoxon test; `method` in scipy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WilcoxonMethod {
    /// scipy's rule: exact up to 50 queries without ties and zero differences, or up to 13 with
    /// them; normal otherwise. Dropped zero differences count as queries. The default.
    #[default]
    Auto,
    /// Exact distribution over all signs of the observed ranks, ties included.
    Exact,
    /// Normal approximation with correction for ties.
    Normal,
}

impl WilcoxonTest {
    /// Tests the null hypothesis that the differences are symmetric about 0.
    ///
    /// # Errors
    /// When there are fewer than two differences, or one is not finite.
    pub fn test(
        &self,
        differences: &[f64],
        alternative: Alternative,
    ) -> Result<TestResult, SignificanceError> {
        validate(differences)?;
        let mut differences = differences.to_vec();
        if let Some(decimals) = self.decimals {
            let unit = 10_f64.powi(i32::from(decimals));
            differences
                .iter_mut()
                .for_each(|d| *d = (*d * unit).round());
        }
        if let Some(result) = TestResult::no_difference(&differences) {
            return Ok(result);
        }
        let ranks = SignedRanks::new(&differences, self.zeros);
        let n = differences.len();
        let exact = match self.method {
            WilcoxonMethod::Auto if ranks.ties || ranks.zeros > 0 => n <= 13,
            WilcoxonMethod::Auto => n <= 50,
            WilcoxonMethod::Exact => true,
            WilcoxonMethod::Normal => false,
        };
        let (positive, total) = (ranks.doubled_positive(), ranks.doubled_total());
        let (greater, less) = if exact {
            ranks.exact_tails()
        } else {
            ranks.normal_tails(self.continuity_correction, alternative)
        };
        Ok(TestResult {
            statistic: Some(match alternative {
                Alternative::TwoSided => positive.min(total - positive) as f64 / 2.0,
                _ => positive as f64 / 2.0,
            }),
            p: Some(alternative.p_value(greater, less)),
            null_distribution: if exact {
                NullDistribution::Exact
            } else {
                NullDistribution::Normal
            },
        })
    }
}

impl fmt::Display for WilcoxonTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.zeros {
            ZeroDifferences::Drop => "zeros dropped",
            ZeroDifferences::Pratt => "zeros after Pratt",
        })?;
        f.write_str(match self.method {
            WilcoxonMethod::Auto => ", exact where scipy is",
            WilcoxonMethod::Exact => ", exact",
            WilcoxonMethod::Normal => ", normal approximation",
        })?;
        if self.continuity_correction {
            f.write_str(", continuity corrected")?;
        }
        match self.decimals {
            None => Ok(()),
            Some(decimals) => write!(f, ", differences to {decimals} decimals"),
        }
    }
}

/// Ranks of the non-zero absolute differences.
struct SignedRanks {
    /// Twice the rank, which is an integer, and whether the difference is positive.
    doubled: Vec<(u64, bool)>,
    /// Number of zero differences.
    zeros: usize,
    /// If `true`, some ranked absolute differences are tied.
    ties: bool,
    /// Tie correction: Σ t³ − t over groups of t tied differences, without zeros.
    tie_sum: f64,
    /// Number of ranked differences; includes zeros with Pratt's treatment.
    ranked: usize,
}

impl SignedRanks {
    fn new(differences: &[f64], treatment: ZeroDifferences) -> Self {
        let mut sizes: Vec<(f64, bool)> = differences
            .iter()
            .filter(|&&d| d != 0.0)
            .map(|&d| (d.abs(), d > 0.0))
            .collect();
        sizes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let zeros = differences.len() - sizes.len();
        let below = match treatment {
            ZeroDifferences::Drop => 0,
            ZeroDifferences::Pratt => zeros,
        };
        let mut ranks = Self {
            doubled: Vec::with_capacity(sizes.len()),
            zeros,
            ties: below > 1,
            tie_sum: 0.0,
            ranked: sizes.len() + below,
        };
        for group in sizes.chunk_by(|a, b| a.0 == b.0) {
            let first = below + ranks.doubled.len() + 1;
            let last = first + group.len() - 1;
            let rank = (first + last) as u64;
            ranks.doubled.extend(group.iter().map(|one| (rank, one.1)));
            let t = group.len() as f64;
            ranks.tie_sum += t * t * t - t;
            ranks.ties |= group.len() > 1;
        }
        ranks
    }

    /// Twice the rank sum of the positive differences.
    fn doubled_positive(&self) -> u64 {
        self.doubled.iter().filter(|r| r.1).map(|r| r.0).sum()
    }

    /// Twice the sum of all ranks.
    fn doubled_total(&self) -> u64 {
        self.doubled.iter().map(|r| r.0).sum()
    }

    /// P(W ≥ observed) and P(W ≤ observed) under the exact null distribution.
    fn exact_tails(&self) -> (f64, f64) {
        // probabilities[s]: of the doubled rank sum s, over the ranks added so far.
        let mut probabilities = vec![0.0; self.doubled_total() as usize + 1];
        probabilities[0] = 1.0;
        let mut reached = 0;
        for &(rank, _) in &self.doubled {
            let rank = rank as usize;
            reached += rank;
            for sum in (0..=reached).rev() {
                let with = sum
                    .checked_sub(rank)
                    .map_or(0.0, |without| probabilities[without]);
                probabilities[sum] = (probabilities[sum] + with) / 2.0;
            }
        }
        let observed = self.doubled_positive() as usize;
        let greater: f64 = probabilities[observed..].iter().rev().sum();
        let less: f64 = probabilities[..=observed].iter().sum();
        (greater.min(1.0), less.min(1.0))
    }

    /// P(W ≥ observed) and P(W ≤ observed) under the normal approximation.
    fn normal_tails(&self, continuity_correction: bool, alternative: Alternative) -> (f64, f64) {
        let cube = |n: f64| n * (n + 1.0) * (2.0 * n + 1.0);
        let (n, zeros) = (
            self.ranked as f64,
            (self.ranked - self.doubled.len()) as f64,
        );
        let mean = (n * (n + 1.0) - zeros * (zeros + 1.0)) / 4.0;
        let variance = (cube(n) - cube(zeros)) / 24.0 - self.tie_sum / 48.0;
        let deviation = self.doubled_positive() as f64 / 2.0 - mean;
        let correction = match alternative {
            _ if !continuity_correction => 0.0,
            Alternative::TwoSided if deviation == 0.0 => 0.0,
            Alternative::TwoSided => 0.5 * deviation.signum(),
            Alternative::Greater => 0.5,
            Alternative::Less => -0.5,
        };
        let z = (deviation - correction) / variance.sqrt();
        let standard_normal = Normal::standard();
        (standard_normal.cdf(-z), standard_normal.cdf(z))
    }
}
