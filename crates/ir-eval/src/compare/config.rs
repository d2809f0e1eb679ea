//! What is to be compared with what, and how it is judged.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::significance::{
    Alternative, Correction, IntervalMethod, Randomisation, Resampling, Student, Wilcoxon,
};
use crate::{Bootstrap, Sampling};

/// How systems are compared. Every table prints it.
///
/// The default: every system with the first one, by a two-sided paired t test at the level 0.05,
/// corrected after Holm over the tests of one measure.
///
/// ```
/// use ir_eval::significance::{Alternative, Randomisation};
/// use ir_eval::{Against, Plan, Test};
/// let plan = Plan {
///     against: Against::System("bm25".to_owned()),
///     test: Test::Randomisation(Randomisation::default()),
///     alternative: Alternative::Greater,
///     ..Plan::default()
/// };
/// assert_eq!(
///     plan.to_string(),
///     "test: Fisher's randomisation (exact up to 20 differing queries, else 100000 samples, \
///      seed 0), one-sided (greater); correction: Holm, over the tests of a measure; level: 0.05"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    /// Which systems are compared.
    pub against: Against,
    /// The test.
    pub test: Test,
    /// What it tries to show.
    pub alternative: Alternative,
    /// How p values are adjusted for the number of tests.
    pub correction: Correction,
    /// Which tests are corrected together.
    pub family: Family,
    /// The level of significance: an adjusted p of at most this is significant. Confidence
    /// intervals are those of 1 − level, two-sided and not corrected.
    pub level: f64,
    /// How confidence intervals are found.
    pub interval: IntervalMethod,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            against: Against::First,
            test: Test::default(),
            alternative: Alternative::TwoSided,
            correction: Correction::Holm,
            family: Family::Measure,
            level: 0.05,
            interval: IntervalMethod::Student,
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "test: {}, {}", self.test, self.alternative)?;
        write!(f, "; correction: {}", self.correction)?;
        if self.correction != Correction::None {
            write!(f, ", over {}", self.family)?;
        }
        write!(f, "; level: {}", self.level)
    }
}

/// Which systems are compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// Every system with the first one, the baseline.
    #[default]
    First,
    /// Every system with this one, the baseline.
    System(String),
    /// Every system with every other one: the later one less the earlier one, or, one-sided, each
    /// pair both ways.
    AllPairs,
}

/// Which tests are corrected together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Those of one measure: each measure is a question of its own (Carterette, "Multiple testing
    /// in statistical analysis of systems-based information retrieval experiments", ACM TOIS 2012).
    #[default]
    Measure,
    /// All tests of the comparison.
    All,
}

impl fmt::Display for Family {
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
pub enum Test {
    /// Student's paired t test.
    Student(Student),
    /// Wilcoxon's signed rank test.
    Wilcoxon(Wilcoxon),
    /// Fisher's randomisation test.
    Randomisation(Randomisation),
    /// The paired bootstrap test of the textbooks.
    Bootstrap(Resampling),
    /// The share of bootstrap samples that the better system does not win, ties counted against
    /// it: one-sided only. With [`Sampling::Datafinder`] the test of DataFinder's published
    /// evaluation. The statistic is the number of samples won.
    Wins(Bootstrap),
}

impl Default for Test {
    fn default() -> Self {
        Self::Student(Student)
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Student(_) => f.write_str("paired t"),
            Self::Wilcoxon(test) => write!(f, "Wilcoxon signed rank ({test})"),
            Self::Randomisation(test) => write!(
                f,
                "Fisher's randomisation (exact up to {} differing queries, else {} samples, seed {})",
                Randomisation::EXACT,
                test.samples,
                test.seed
            ),
            Self::Bootstrap(test) => write!(
                f,
                "paired bootstrap ({} samples, seed {})",
                test.samples, test.seed
            ),
            Self::Wins(test) => {
                let name = match test.sampling {
                    Sampling::Textbook => "bootstrap wins",
                    Sampling::Datafinder { .. } => "DataFinder's paired bootstrap",
                };
                write!(f, "{name} ({} samples, seed {})", test.resamples, test.seed)
            }
        }
    }
}
