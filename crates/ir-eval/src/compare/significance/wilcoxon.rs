//! Wilcoxon's signed rank test.

use std::fmt;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use super::{Alternative, NullDistribution, SignificanceError, TestResult, check, no_difference};

/// Wilcoxon's signed rank test. Equal absolute differences share the mean of their ranks.
///
/// The default is that of scipy's `wilcoxon` (release 1.13 and later): zeros dropped, no continuity
/// correction, [`WilcoxonMethod::Auto`]. As there, differences are compared to the last bit, so that 0.6 − 0.5
/// and 0.4 − 0.3 are no tie; [`WilcoxonTest::decimals`] makes them one.
///
/// The statistic is the smaller of the two rank sums in a two-sided test, and else that of the
/// positive differences.
///
/// # Source
/// Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1945; Pratt, "Remarks
/// on zeros and ties in the Wilcoxon signed rank procedures", JASA 1959; Cureton, "The normal
/// approximation to the signed-rank sampling distribution when zero differences are present",
/// JASA 1967.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WilcoxonTest {
    /// What becomes of queries without a difference.
    pub zeros: ZeroDifferences,
    /// Where the distribution of the statistic comes from.
    pub method: WilcoxonMethod,
    /// Whether the normal approximation moves the statistic by ½ towards its mean.
    pub continuity: bool,
    /// The decimals to which differences are rounded before they are ranked. `None`: not at all.
    pub decimals: Option<u8>,
}

/// What becomes of queries without a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ZeroDifferences {
    /// They are dropped first, as Wilcoxon does.
    #[default]
    Drop,
    /// They are ranked with the others and dropped then, as Pratt does.
    Pratt,
}

/// Where the distribution of Wilcoxon's statistic under chance comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WilcoxonMethod {
    /// scipy's rule: exact for up to 50 queries without ties and zeros, or up to 13 with; else
    /// normal. Zeros count among the queries even where they are dropped.
    #[default]
    Auto,
    /// Exact: over all signs of the ranks there are, ties included.
    Exact,
    /// The normal approximation with correction for ties.
    Normal,
}

impl WilcoxonTest {
    /// Tests whether positive and negative differences have the same rank sums.
    ///
    /// # Errors
    /// When there are fewer than two differences, or one is not finite.
    pub fn test(
        &self,
        differences: &[f64],
        alternative: Alternative,
    ) -> Result<TestResult, SignificanceError> {
        check(differences)?;
        let differences: Vec<f64> = match self.decimals {
            None => differences.to_vec(),
            Some(decimals) => {
                let unit = 10_f64.powi(i32::from(decimals));
                differences.iter().map(|d| (d * unit).round()).collect()
            }
        };
        if let Some(result) = no_difference(&differences) {
            return Ok(result);
        }
        let ranks = Ranks::of(&differences, self.zeros);
        let n = differences.len();
        let exact = match self.method {
            WilcoxonMethod::Auto if ranks.ties || ranks.zeros > 0 => n <= 13,
            WilcoxonMethod::Auto => n <= 50,
            WilcoxonMethod::Exact => true,
            WilcoxonMethod::Normal => false,
        };
        let positive = ranks.positive();
        let (greater, less) = if exact {
            ranks.exact_tails()
        } else {
            ranks.normal_tails(self.continuity, alternative)
        };
        Ok(TestResult {
            statistic: match alternative {
                Alternative::TwoSided => positive.min(ranks.sum() - positive),
                _ => positive,
            },
            p: alternative.of(greater, less),
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
        if self.continuity {
            f.write_str(", continuity corrected")?;
        }
        match self.decimals {
            None => Ok(()),
            Some(decimals) => write!(f, ", differences to {decimals} decimals"),
        }
    }
}

/// The ranks of the differences that are not 0.
struct Ranks {
    /// Twice the rank, which is a whole number, and whether the difference is above 0.
    doubled: Vec<(u64, bool)>,
    /// How many differences are 0.
    zeros: usize,
    /// Whether any two absolute differences are equal, among those ranked.
    ties: bool,
    /// Σ t³ − t over groups of t equal ones, zeros left out.
    tie_sum: f64,
    /// How many were ranked: without the zeros when these were dropped before.
    ranked: usize,
}

impl Ranks {
    fn of(differences: &[f64], rule: ZeroDifferences) -> Self {
        let mut sizes: Vec<(f64, bool)> = differences
            .iter()
            .filter(|&&d| d != 0.0)
            .map(|&d| (d.abs(), d > 0.0))
            .collect();
        sizes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let zeros = differences.len() - sizes.len();
        let below = if rule == ZeroDifferences::Pratt {
            zeros
        } else {
            0
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

    /// The sum of the ranks of positive differences.
    fn positive(&self) -> f64 {
        let sum: u64 = self.doubled.iter().filter(|r| r.1).map(|r| r.0).sum();
        sum as f64 / 2.0
    }

    /// The sum of all ranks.
    fn sum(&self) -> f64 {
        self.doubled.iter().map(|r| r.0).sum::<u64>() as f64 / 2.0
    }

    /// The probabilities of a positive sum of at least, and of at most, the observed one.
    fn exact_tails(&self) -> (f64, f64) {
        let total: u64 = self.doubled.iter().map(|r| r.0).sum();
        let observed: u64 = self.doubled.iter().filter(|r| r.1).map(|r| r.0).sum();
        // chances[s]: of a doubled sum s, over the ranks so far.
        let mut chances = vec![0.0; total as usize + 1];
        chances[0] = 1.0;
        let mut reached = 0;
        for &(rank, _) in &self.doubled {
            let rank = rank as usize;
            reached += rank;
            for sum in (0..=reached).rev() {
                let with = if sum >= rank {
                    chances[sum - rank]
                } else {
                    0.0
                };
                chances[sum] = (chances[sum] + with) / 2.0;
            }
        }
        let observed = observed as usize;
        let greater: f64 = chances[observed..].iter().rev().sum();
        let less: f64 = chances[..=observed].iter().sum();
        (greater.min(1.0), less.min(1.0))
    }

    /// The same by the normal distribution.
    fn normal_tails(&self, continuity: bool, alternative: Alternative) -> (f64, f64) {
        let cube = |n: f64| n * (n + 1.0) * (2.0 * n + 1.0);
        let (n, zeros) = (
            self.ranked as f64,
            (self.ranked - self.doubled.len()) as f64,
        );
        let mean = (n * (n + 1.0) - zeros * (zeros + 1.0)) / 4.0;
        let variance = (cube(n) - cube(zeros)) / 24.0 - self.tie_sum / 48.0;
        let off = self.positive() - mean;
        let towards = match alternative {
            _ if !continuity => 0.0,
            Alternative::TwoSided if off == 0.0 => 0.0,
            Alternative::TwoSided => 0.5 * off.signum(),
            Alternative::Greater => 0.5,
            Alternative::Less => -0.5,
        };
        let z = (off - towards) / variance.sqrt();
        (below(-z), below(z))
    }
}

/// The probability of a standard normal number of at most z.
fn below(z: f64) -> f64 {
    Normal::standard().cdf(z)
}
