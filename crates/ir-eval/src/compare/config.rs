//! Configuration of a comparison.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::CompareError;
use super::bootstrap::{Bootstrap, BootstrapScheme};
use super::significance::{
    Alternative, BootstrapResampling, IntervalMethod, MultipleTestingCorrection, PairedTTest,
    RandomizationTest, WilcoxonTest,
};

/// Configuration of a [`Comparison`](crate::compare::Comparison). All tables print it.
///
/// The default compares every system with the first one by a two-sided paired t-test at level 0.05,
/// with Holm's correction over the tests of each measure.
///
/// ```
/// use ir_eval::compare::significance::{Alternative, RandomizationTest};
/// use ir_eval::compare::{ComparedPairs, ComparisonConfig, SignificanceTest};
/// let config = ComparisonConfig {
///     pairs: ComparedPairs::WithBaseline("bm25".to_owned()),
///     test: SignificanceTest::Randomization(RandomizationTest::default()),
///     alternative: Alternative::Greater,
///     ..ComparisonConfig::default()
/// };
/// assert_eq!(
///     config.to_string(),
///     "test: Fisher's randomization (exact up to 20 differing queries, else 100000 samples, \
///      seed 0), one-sided (greater); correction: Holm, over the tests of a measure; level: 0.05"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ComparisonConfig {
    /// Pairs of systems to test. Default: every system with the first one.
    pub pairs: ComparedPairs,
    /// Significance test. Default: paired t-test.
    pub test: SignificanceTest,
    /// Alternative hypothesis. Default: two-sided.
    pub alternative: Alternative,
    /// Correction for multiple testing. Default: Holm.
    pub correction: MultipleTestingCorrection,
    /// Family of hypotheses that are corrected together. Default: the tests of one measure.
    pub family: HypothesisFamily,
    /// Significance level α: a difference is significant if its adjusted p value is at most α.
    /// Confidence intervals have confidence 1 − α; they are two-sided and not corrected. Range:
    /// between 0 and 1. Default: 0.05.
    pub level: f64,
    /// Method for confidence intervals. Default: Student's t.
    pub interval: IntervalMethod,
}

impl Default for ComparisonConfig {
    fn default() -> Self {
        Self {
            pairs: ComparedPairs::WithFirst,
            test: SignificanceTest::default(),
            alternative: Alternative::TwoSided,
            correction: MultipleTestingCorrection::Holm,
            family: HypothesisFamily::Measure,
            level: 0.05,
            interval: IntervalMethod::Student,
        }
    }
}

impl ComparisonConfig {
    /// Checks that the numbers of random samples of the test and of the interval suit the level: at
    /// least 1 / `level` each, as in [`SignificanceTest::check_samples`].
    ///
    /// # Errors
    /// Returns [`CompareError::SamplesForLevel`] for fewer samples of the test, and
    /// [`CompareError::SamplesForInterval`] for fewer samples of the interval.
    pub fn check_samples(&self) -> Result<(), CompareError> {
        let level = self.level;
        self.test.check_samples(level)?;
        let expected = minimum_samples(level);
        match self.interval {
            IntervalMethod::Bootstrap(BootstrapResampling { samples: found, .. })
                if f64::from(found) < expected =>
            {
                Err(CompareError::SamplesForInterval {
                    expected,
                    found,
                    level,
                })
            }
            _ => Ok(()),
        }
    }
}

/// Minimum number of random samples at a significance level, or at the confidence 1 - level.
fn minimum_samples(level: f64) -> f64 {
    // Rounding can make the quotient a little larger than an integer.
    (1.0 / level - 1e-9).ceil()
}

impl fmt::Display for ComparisonConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "test: {}, {}", self.test, self.alternative)?;
        write!(f, "; correction: {}", self.correction)?;
        if self.correction != MultipleTestingCorrection::None {
            write!(f, ", over {}", self.family)?;
        }
        write!(f, "; level: {}", self.level)
    }
}

/// Pairs of systems that are tested.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedPairs {
    /// Every system with the first one, which is the baseline. The default.
    #[default]
    WithFirst,
    /// Every system with the named baseline.
    WithBaseline(String),
    /// All pairs of systems: later minus earlier; both directions for a one-sided alternative.
    AllPairs,
}

/// Family of hypotheses for the correction for multiple testing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HypothesisFamily {
    /// The tests of one measure. The default (Carterette, "Multiple testing in statistical analysis
    /// of systems-based information retrieval experiments", ACM TOIS 2012).
    #[default]
    Measure,
    /// All tests of the comparison.
    All,
}

impl fmt::Display for HypothesisFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Measure => "the tests of a measure",
            Self::All => "all tests",
        })
    }
}

/// Significance test of a [`Comparison`](crate::compare::Comparison).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SignificanceTest {
    /// Student's paired t-test. The default.
    PairedT(PairedTTest),
    /// Wilcoxon signed-rank test of the differences.
    Wilcoxon(WilcoxonTest),
    /// Fisher's randomization test of the mean difference.
    Randomization(RandomizationTest),
    /// Paired bootstrap test of the mean difference.
    Bootstrap(BootstrapResampling),
    /// One-sided bootstrap test on the scores of both systems, from the b of B samples that the
    /// system does not win, ties included: p = (b + 1) / (B + 1). The statistic is the number of
    /// samples won. With [`BootstrapScheme::Datafinder`], the test of DataFinder's published
    /// evaluation, p = b / B.
    BootstrapWins(Bootstrap),
}

impl Default for SignificanceTest {
    fn default() -> Self {
        Self::PairedT(PairedTTest)
    }
}

impl SignificanceTest {
    /// Returns whether the test draws random samples.
    #[must_use]
    pub const fn draws_samples(&self) -> bool {
        self.samples().is_some()
    }

    /// Returns the test with a number of random samples and a seed. `None` keeps the number. A test
    /// that draws no samples stays the same.
    ///
    /// ```
    /// use ir_eval::compare::SignificanceTest;
    /// use ir_eval::compare::significance::{PairedTTest, RandomizationTest};
    /// let test = SignificanceTest::Randomization(RandomizationTest::default());
    /// let seeded = test.with_sampling(None, 7).to_string();
    /// assert!(seeded.ends_with("else 100000 samples, seed 7)"));
    /// let t = SignificanceTest::PairedT(PairedTTest);
    /// assert_eq!(t.with_sampling(Some(10), 7), t);
    /// ```
    #[must_use]
    pub fn with_sampling(mut self, count: Option<u32>, random_seed: u64) -> Self {
        let (samples, seed) = match &mut self {
            Self::Randomization(test) => (&mut test.samples, &mut test.seed),
            Self::Bootstrap(test) => (&mut test.samples, &mut test.seed),
            Self::BootstrapWins(test) => (&mut test.samples, &mut test.seed),
            Self::PairedT(_) | Self::Wilcoxon(_) => return self,
        };
        *samples = count.unwrap_or(*samples);
        *seed = random_seed;
        self
    }

    /// Number of random samples; `None` if the test draws none.
    #[must_use]
    pub const fn samples(&self) -> Option<u32> {
        match self {
            Self::PairedT(_) | Self::Wilcoxon(_) => None,
            Self::Randomization(test) => Some(test.samples),
            Self::Bootstrap(test) => Some(test.samples),
            Self::BootstrapWins(test) => Some(test.samples),
        }
    }

    /// Checks that the number of random samples can reach significance at a level: at least
    /// 1 / `level`. Tests that draw no samples have no such bound.
    ///
    /// ```
    /// use ir_eval::compare::SignificanceTest;
    /// use ir_eval::compare::significance::BootstrapResampling;
    /// let test = SignificanceTest::Bootstrap(BootstrapResampling::default());
    /// assert!(test.with_sampling(Some(20), 0).check_samples(0.05).is_ok());
    /// let error = test.with_sampling(Some(19), 0).check_samples(0.05).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "expected at least 20 random samples to reach significance at level 0.05, found 19"
    /// );
    /// ```
    ///
    /// # Errors
    /// Returns [`CompareError::SamplesForLevel`] for fewer samples.
    pub fn check_samples(&self, level: f64) -> Result<(), CompareError> {
        let expected = minimum_samples(level);
        match self.samples() {
            Some(found) if f64::from(found) < expected => Err(CompareError::SamplesForLevel {
                expected,
                found,
                level,
            }),
            _ => Ok(()),
        }
    }

    /// Returns the alternative hypothesis of a test for which none is given: greater for the
    /// one-sided test on wins, otherwise two-sided.
    #[must_use]
    pub const fn default_alternative(&self) -> Alternative {
        match self {
            Self::BootstrapWins(_) => Alternative::Greater,
            _ => Alternative::TwoSided,
        }
    }
}

impl fmt::Display for SignificanceTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PairedT(_) => f.write_str("paired t"),
            Self::Wilcoxon(test) => write!(f, "Wilcoxon signed rank ({test})"),
            Self::Randomization(RandomizationTest { samples, seed }) => write!(
                f,
                "Fisher's randomization (exact up to {} differing queries, else {samples} samples, \
                 seed {seed})",
                RandomizationTest::EXACT_LIMIT,
            ),
            Self::Bootstrap(BootstrapResampling { samples, seed }) => {
                write!(f, "paired bootstrap ({samples} samples, seed {seed})")
            }
            Self::BootstrapWins(test) => {
                let name = match test.scheme {
                    BootstrapScheme::Textbook => "bootstrap wins",
                    BootstrapScheme::Datafinder { .. } => "DataFinder's paired bootstrap",
                };
                write!(f, "{name} ({} samples, seed {})", test.samples, test.seed)
            }
        }
    }
}
