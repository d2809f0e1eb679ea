//! Several systems over the same queries and judgments.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::config::{ComparedPairs, ComparisonConfig};
use crate::significance::{Alternative, ConfidenceInterval, EffectSize, TestResult};
use crate::{Measure, Rules};

/// Several systems on the same queries: figures with confidence intervals, and, for each pair of
/// systems and each measure, the difference, its size, and whether it is more than chance.
///
/// Made of the reports of one evaluator. Written by [`text`](Comparison::text),
/// [`markdown`](Comparison::markdown), [`latex`](Comparison::latex), [`csv`](Comparison::csv),
/// and, with everything in it, by serde.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::{Comparison, Evaluator, Measure, ComparisonConfig};
/// let mut qrels = Qrels::new();
/// let (mut old, mut new) = (Run::new("old"), Run::new("new"));
/// for query in 0..30 {
///     let id = format!("q{query:02}");
///     qrels.insert(&id, "d", 1);
///     for rank in 0..=query % 3 {
///         old.push(&id, if rank == query % 3 { "d".to_owned() } else { format!("x{rank}") }, -f64::from(rank));
///     }
///     new.push(&id, if query == 7 { "e" } else { "d" }, 1.0);
/// }
/// let evaluator = Evaluator::new(&qrels, &[Measure::RR])?;
/// let reports = [evaluator.evaluate(&old)?, evaluator.evaluate(&new)?];
///
/// let comparison = Comparison::new(&reports, &ComparisonConfig::default())?;
/// let pairwise = &comparison.pairwise_tests()[0];
/// assert_eq!((pairwise.system.as_str(), pairwise.against.as_str()), ("new", "old"));
/// assert_eq!((pairwise.effect.wins, pairwise.effect.losses), (19, 1));
/// assert!(pairwise.significant);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub(super) config: ComparisonConfig,
    pub(super) rules: Rules,
    pub(super) measures: Vec<Measure>,
    pub(super) queries: Vec<String>,
    pub(super) left_out: usize,
    pub(super) systems: Vec<ComparedSystem>,
    pub(super) pairwise_tests: Vec<PairwiseTest>,
}

/// One of the systems that are compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedSystem {
    /// Its name, unlike those of the others: the run's tag, with a number where tags repeat.
    pub name: String,
    /// Judged queries for which it has no results.
    pub missing: usize,
    /// Queries for which it has results and nobody judgments.
    pub unjudged: usize,
    /// What was measured, in the order of [`Comparison::measures`].
    pub scores: Vec<SystemScore>,
}

/// What was measured of one system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemScore {
    /// The measure.
    pub measure: Measure,
    /// The value over all queries: the mean, sum or geometric mean, as the measure has it.
    pub value: f64,
    /// Where that lies with the confidence of the plan, 1 − level, if queries like these were drawn
    /// again.
    pub interval: ConfidenceInterval,
    /// The values of single queries, in the order of [`Comparison::queries`].
    pub values: Vec<f64>,
}

/// Two systems on one measure.
///
/// For measures that are summarised by a geometric mean, the test and the effect go by the natural
/// logarithms of the values, as the mean does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairwiseTest {
    /// The measure.
    pub measure: Measure,
    /// The name of the system.
    pub system: String,
    /// The name of the one it is compared with.
    pub against: String,
    /// The system's figure less the other's.
    pub difference: f64,
    /// The difference as a share of the other's figure; `None` where that is not above 0.
    pub relative: Option<f64>,
    /// The confidence interval of the difference; for geometric means, that of the mean difference
    /// of the logarithms.
    pub interval: ConfidenceInterval,
    /// How large the difference is, query by query.
    pub effect: EffectSize,
    /// What the test found.
    pub result: TestResult,
    /// p, adjusted for the number of tests.
    pub adjusted_p: f64,
    /// Whether the adjusted p is at most the level.
    pub significant: bool,
}

impl Comparison {
    /// How the systems were compared.
    #[must_use]
    pub const fn config(&self) -> &ComparisonConfig {
        &self.config
    }

    /// The rules by which their runs were evaluated.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The measures, each once.
    #[must_use]
    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// The queries that count, by id in ascending byte order: the same for all systems.
    #[must_use]
    pub fn queries(&self) -> &[String] {
        &self.queries
    }

    /// How many queries that one system answered do not count because another one did not, where
    /// the rules skip missing queries.
    #[must_use]
    pub const fn left_out(&self) -> usize {
        self.left_out
    }

    /// The systems, in the order in which they were given.
    #[must_use]
    pub fn systems(&self) -> &[ComparedSystem] {
        &self.systems
    }

    /// A system by name.
    #[must_use]
    pub fn system(&self, name: &str) -> Option<&ComparedSystem> {
        self.systems.iter().find(|system| system.name == name)
    }

    /// What was measured of a system.
    #[must_use]
    pub fn score(&self, system: &str, measure: Measure) -> Option<&SystemScore> {
        let scores = &self.system(system)?.scores;
        scores.iter().find(|score| score.measure == measure)
    }

    /// The tests: measure by measure, and in each by system.
    #[must_use]
    pub fn pairwise_tests(&self) -> &[PairwiseTest] {
        &self.pairwise_tests
    }

    /// The name of the baseline; `None` where all pairs are compared.
    #[must_use]
    pub fn baseline(&self) -> Option<&str> {
        match &self.config.against {
            ComparedPairs::WithFirst => self.systems.first().map(|system| system.name.as_str()),
            ComparedPairs::WithBaseline(name) => Some(name),
            ComparedPairs::AllPairs => None,
        }
    }

    /// How a system compares with another on a measure: `Greater` where it is significantly better,
    /// `Less` where it is significantly worse, `Equal` where neither was shown. "Better" is "has the
    /// higher figure", also for measures where less is more. `None` where the two were not tested.
    #[must_use]
    pub fn verdict(&self, system: &str, against: &str, measure: Measure) -> Option<Ordering> {
        let mut tested = None;
        for pairwise in self.pairwise_tests.iter().filter(|c| c.measure == measure) {
            let verdict = if pairwise.system == system && pairwise.against == against {
                self.shown(pairwise)
            } else if pairwise.system == against && pairwise.against == system {
                self.shown(pairwise).reverse()
            } else {
                continue;
            };
            if tested.is_none_or(|tested| tested == Ordering::Equal) {
                tested = Some(verdict);
            }
        }
        tested
    }

    /// What a test showed.
    pub(super) fn shown(&self, pairwise: &PairwiseTest) -> Ordering {
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
