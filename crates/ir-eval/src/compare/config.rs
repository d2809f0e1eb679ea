//! What is to be compared with what, and how it is judged.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::significance::{
    Alternative, BootstrapResampling, IntervalMethod, MultipleTestingCorrection, PairedTTest,
    RandomizationTest, WilcoxonTest,
};
use crate::{Bootstrap, BootstrapScheme};

/// How systems are compared. Every table prints it.
///
/// The default: every system with the first one, by a two-sided paired t test at the level 0.05,
/// corrected after Holm over the tests of one measure.
///
/// ```
/// use ir_eval::significance::{Alternative, RandomizationTest};
/// use ir_eval::{ComparedPairs, ComparisonConfig, SignificanceTest};
/// let plan = ComparisonConfig {
///     against: ComparedPairs::WithBaseline("bm25".to_owned()),
///     test: SignificanceTest::Randomization(RandomizationTest::default()),
///     alternative: Alternative::Greater,
///     ..ComparisonConfig::default()
/// };
/// assert_eq!(
///     plan.to_string(),
///     "test: Fisher's randomisation (exact up to 20 differing queries, else 100000 samples, \
///      seed 0), one-sided (greater); correction: Holm, over the tests of a measure; level: 0.05"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ComparisonConfig {
    /// Which systems are compared.
    pub against: ComparedPairs,
    /// The test.
    pub test: SignificanceTest,
    /// What it tries to show.
    pub alternative: Alternative,
    /// How p values are adjusted for the number of tests.
    pub correction: MultipleTestingCorrection,
    /// Which tests are corrected together.
    pub family: HypothesisFamily,
    /// The level of significance: an adjusted p of at most this is significant. Confidence
    /// intervals are those of 1 − level, two-sided and not corrected.
    pub level: f64,
    /// How confidence intervals are found.
    pub interval: IntervalMethod,
}

impl Default for ComparisonConfig {
    fn default() -> Self {
        Self {
            against: ComparedPairs::WithFirst,
            test: SignificanceTest::default(),
            alternative: Alternative::TwoSided,
            correction: MultipleTestingCorrection::Holm,
            family: HypothesisFamily::Measure,
            level: 0.05,
            interval: IntervalMethod::Student,
        }
    }
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

/// Which systems are compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedPairs {
    /// Every system with the first one, the baseline.
    #[default]
    WithFirst,
    /// Every system with this one, the baseline.
    WithBaseline(String),
    /// Every system with every other one: the later one less the earlier one, or, one-sided, each
    /// pair both ways.
    AllPairs,
}

/// Which tests are corrected together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HypothesisFamily {
    /// Those of one measure: each measure is a question of its own (Carterette, "Multiple testing
    /// in statistical analysis of systems-based information retrieval experiments", ACM TOIS 2012).
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

/// A test of the differences per query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SignificanceTest {
    /// Student's paired t test.
    PairedT(PairedTTest),
    /// Wilcoxon's signed rank test.
    Wilcoxon(WilcoxonTest),
    /// Fisher's randomisation test.
    Randomization(RandomizationTest),
    /// The paired bootstrap test of the textbooks.
    Bootstrap(BootstrapResampling),
    /// The share of bootstrap samples that the better system does not win, ties counted against
    /// it: one-sided only. With [`BootstrapScheme::Datafinder`] the test of DataFinder's published
    /// evaluation. The statistic is the number of samples won.
    BootstrapWins(Bootstrap),
}

impl Default for SignificanceTest {
    fn default() -> Self {
        Self::PairedT(PairedTTest)
    }
}

impl fmt::Display for SignificanceTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PairedT(_) => f.write_str("paired t"),
            Self::Wilcoxon(test) => write!(f, "Wilcoxon signed rank ({test})"),
            Self::Randomization(test) => write!(
                f,
                "Fisher's randomisation (exact up to {} differing queries, else {} samples, seed {})",
                RandomizationTest::EXACT,
                test.samples,
                test.seed
            ),
            Self::Bootstrap(test) => write!(
                f,
                "paired bootstrap ({} samples, seed {})",
                test.samples, test.seed
            ),
            Self::BootstrapWins(test) => {
                let name = match test.sampling {
                    BootstrapScheme::Textbook => "bootstrap wins",
                    BootstrapScheme::Datafinder { .. } => "DataFinder's paired bootstrap",
                };
                write!(f, "{name} ({} samples, seed {})", test.resamples, test.seed)
            }
        }
    }
}
