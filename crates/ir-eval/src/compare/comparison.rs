//! Comparison of several systems on the same queries and judgments.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::config::{ComparedPairs, ComparisonConfig};
use super::significance::{Alternative, ConfidenceInterval, EffectSize, TestResult};
use crate::measure::Measure;
use crate::rules::Rules;

/// Comparison of systems on the same queries: scores with confidence intervals, and a significance
/// test and effect size for each tested pair of systems and each measure.
///
/// Built from the reports of one evaluator. Written by [`to_text`](Comparison::to_text),
/// [`to_markdown`](Comparison::to_markdown), [`to_latex`](Comparison::to_latex),
/// [`write_csv`](Comparison::write_csv), and, in full, by serde.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::compare::{Comparison, ComparisonConfig};
/// use ir_eval::{Evaluator, Measure};
/// let mut qrels = Qrels::new();
/// let (mut old, mut new) = (Run::new("old"), Run::new("new"));
/// for query in 0..30 {
///     let id = format!("q{query:02}");
///     qrels.insert(&id, "d", 1);
///     for rank in 0..query % 3 {
///         old.push(&id, format!("x{rank}"), -f64::from(rank));
///     }
///     old.push(&id, "d", -3.0);
///     new.push(&id, if query == 7 { "e" } else { "d" }, 1.0);
/// }
/// let evaluator = Evaluator::new(&qrels, &[Measure::RR])?;
/// let reports = [evaluator.evaluate(&old)?, evaluator.evaluate(&new)?];
///
/// let comparison = Comparison::new(&reports, &ComparisonConfig::default())?;
/// let pairwise = &comparison.pairwise_tests[0];
/// assert_eq!((pairwise.system.as_str(), pairwise.against.as_str()), ("new", "old"));
/// assert_eq!((pairwise.effect.wins, pairwise.effect.losses), (19, 1));
/// assert!(pairwise.significant);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Comparison {
    /// Configuration of the comparison.
    pub config: ComparisonConfig,
    /// Evaluation rules of the reports.
    pub rules: Rules,
    /// Measures of all reports, in the order of the scores of each system.
    pub measures: Vec<Measure>,
    /// Ids of the evaluated queries, in ascending byte order; the same for all systems.
    pub queries: Vec<String>,
    /// Number of queries that are left out because some system did not answer them. Positive only
    /// if the rules skip missing queries.
    pub left_out: usize,
    /// Systems, in input order.
    pub systems: Vec<ComparedSystem>,
    /// Significance tests, ordered by measure and system.
    pub pairwise_tests: Vec<PairwiseTest>,
}

/// System of a [`Comparison`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedSystem {
    /// Unique name: the run tag, numbered if tags repeat.
    pub name: String,
    /// Number of judged queries without results.
    pub missing: usize,
    /// Number of queries with results but without judgments.
    pub unjudged: usize,
    /// Scores, in the order of [`Comparison::measures`].
    pub scores: Vec<SystemScore>,
}

/// Score of one system on one measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemScore {
    /// Measure that was computed.
    pub measure: Measure,
    /// Value over all queries: mean, sum or geometric mean, depending on the measure.
    pub value: f64,
    /// Confidence interval of the value, with confidence 1 − [`ComparisonConfig::level`].
    pub interval: ConfidenceInterval,
    /// Values per query, in the order of [`Comparison::queries`].
    pub values: Vec<f64>,
}

/// Significance test of the difference between two systems on one measure.
///
/// For measures with a geometric mean, test, effect size and interval are computed on the natural
/// logarithms of the values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairwiseTest {
    /// Measure on which the systems are compared.
    pub measure: Measure,
    /// Name of the system.
    pub system: String,
    /// Name of the system that it is compared with.
    pub against: String,
    /// Score of `system` minus score of `against`.
    pub difference: f64,
    /// Difference relative to the score of `against`; `None` unless that score is positive.
    pub relative: Option<f64>,
    /// Confidence interval of the difference; of the mean difference of logarithms for geometric
    /// means.
    pub interval: ConfidenceInterval,
    /// Effect size of the differences per query.
    pub effect: EffectSize,
    /// Result of the significance test, not corrected.
    pub result: TestResult,
    /// p value, corrected for multiple testing; `None` if the test has no p. Tests without p do not
    /// count in the family.
    pub adjusted_p: Option<f64>,
    /// If `true`, `adjusted_p` is at most [`ComparisonConfig::level`]. `false` if there is no p.
    pub significant: bool,
}

impl Comparison {
    /// Returns the system of this name.
    #[must_use]
    pub fn system(&self, name: &str) -> Option<&ComparedSystem> {
        self.systems.iter().find(|system| system.name == name)
    }

    /// Returns the score of a system on a measure.
    #[must_use]
    pub fn score(&self, system: &str, measure: Measure) -> Option<&SystemScore> {
        let scores = &self.system(system)?.scores;
        scores.iter().find(|score| score.measure == measure)
    }

    /// Returns the name of the baseline; `None` if all pairs are compared.
    #[must_use]
    pub fn baseline(&self) -> Option<&str> {
        match &self.config.pairs {
            ComparedPairs::WithFirst => self.systems.first().map(|system| system.name.as_str()),
            ComparedPairs::WithBaseline(name) => Some(name),
            ComparedPairs::AllPairs => None,
        }
    }

    /// Returns the verdict on two systems: `Greater` if `system` scores significantly higher than
    /// `against`, `Less` if significantly lower, `Equal` if not significant, `None` if the pair was
    /// not tested. Higher counts as better, also for measures of cost.
    #[must_use]
    pub fn verdict(&self, system: &str, against: &str, measure: Measure) -> Option<Ordering> {
        let mut tested = None;
        for pairwise in self.pairwise_tests.iter().filter(|t| t.measure == measure) {
            let verdict = if pairwise.system == system && pairwise.against == against {
                self.direction(pairwise)
            } else if pairwise.system == against && pairwise.against == system {
                self.direction(pairwise).reverse()
            } else {
                continue;
            };
            if tested.is_none_or(|tested| tested == Ordering::Equal) {
                tested = Some(verdict);
            }
        }
        tested
    }

    /// Direction of a significant difference; `Equal` if the difference is not significant.
    pub(super) fn direction(&self, pairwise: &PairwiseTest) -> Ordering {
        if !pairwise.significant {
            return Ordering::Equal;
        }
        match self.config.alternative {
            Alternative::Greater => Ordering::Greater,
            Alternative::Less => Ordering::Less,
            Alternative::TwoSided => pairwise.effect.mean.total_cmp(&0.0),
        }
    }
}
