//! Corrections for multiple testing.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Adjustment of p values that controls the family-wise error rate: the probability of at least one
/// false positive among the tests of a family.
///
/// ```
/// use ir_eval::compare::significance::MultipleTestingCorrection;
/// let p = [0.01, 0.04, 0.03];
/// assert_eq!(MultipleTestingCorrection::Bonferroni.adjust(&p), [0.03, 0.12, 0.09]);
/// assert_eq!(MultipleTestingCorrection::Holm.adjust(&p), [0.03, 0.06, 0.06]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MultipleTestingCorrection {
    /// Holm's step-down procedure: the k-th smallest of m p values times m − k + 1, made monotone.
    /// Uniformly more powerful than Bonferroni. The default.
    ///
    /// # Source
    /// Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    /// Statistics 1979.
    #[default]
    Holm,
    /// Every p value times the number of tests.
    Bonferroni,
    /// No adjustment of p values.
    None,
}

impl MultipleTestingCorrection {
    /// Returns the adjusted p values of one family of tests, in the same order.
    #[must_use]
    pub fn adjust(self, p: &[f64]) -> Vec<f64> {
        let tests = p.len() as f64;
        match self {
            Self::None => p.to_vec(),
            Self::Bonferroni => p.iter().map(|p| (p * tests).min(1.0)).collect(),
            Self::Holm => {
                let mut order: Vec<usize> = (0..p.len()).collect();
                order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
                let mut adjusted = vec![0.0; p.len()];
                let mut previous: f64 = 0.0;
                for (smaller, &test) in order.iter().enumerate() {
                    previous = previous.max((p[test] * (tests - smaller as f64)).min(1.0));
                    adjusted[test] = previous;
                }
                adjusted
            }
        }
    }
}

impl fmt::Display for MultipleTestingCorrection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holm => "Holm",
            Self::Bonferroni => "Bonferroni",
            Self::None => "none",
        })
    }
}
