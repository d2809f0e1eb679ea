//! Several systems over the same queries and judgments.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::significance::{Alternative, Effect, Interval, Outcome};
use super::config::{Against, Plan};
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
/// use ir_eval::{Comparison, Evaluator, Measure, Plan};
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
/// let comparison = Comparison::new(&reports, &Plan::default())?;
/// let contrast = &comparison.contrasts()[0];
/// assert_eq!((contrast.system.as_str(), contrast.against.as_str()), ("new", "old"));
/// assert_eq!((contrast.effect.wins, contrast.effect.losses), (19, 1));
/// assert!(contrast.significant);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub(super) plan: Plan,
    pub(super) rules: Rules,
    pub(super) measures: Vec<Measure>,
    pub(super) queries: Vec<String>,
    pub(super) left_out: usize,
    pub(super) systems: Vec<System>,
    pub(super) contrasts: Vec<Contrast>,
}

/// One of the systems that are compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// Its name, unlike those of the others: the run's tag, with a number where tags repeat.
    pub name: String,
    /// Judged queries for which it has no results.
    pub missing: usize,
    /// Queries for which it has results and nobody judgments.
    pub unjudged: usize,
    /// What was measured, in the order of [`Comparison::measures`].
    pub figures: Vec<Figure>,
}

/// What was measured of one system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The measure.
    pub measure: Measure,
    /// The value over all queries: the mean, sum or geometric mean, as the measure has it.
    pub value: f64,
    /// Where that lies with the confidence of the plan, 1 − level, if queries like these were drawn
    /// again.
    pub interval: Interval,
    /// The values of single queries, in the order of [`Comparison::queries`].
    pub values: Vec<f64>,
}

/// Two systems on one measure.
///
/// For measures that are summarised by a geometric mean, the test and the effect go by the natural
/// logarithms of the values, as the mean does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
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
    pub interval: Interval,
    /// How large the difference is, query by query.
    pub effect: Effect,
    /// What the test found.
    pub outcome: Outcome,
    /// p, adjusted for the number of tests.
    pub adjusted_p: f64,
    /// Whether the adjusted p is at most the level.
    pub significant: bool,
}

impl Comparison {
    /// How the systems were compared.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
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
    pub fn systems(&self) -> &[System] {
        &self.systems
    }

    /// A system by name.
    #[must_use]
    pub fn system(&self, name: &str) -> Option<&System> {
        self.systems.iter().find(|system| system.name == name)
    }

    /// What was measured of a system.
    #[must_use]
    pub fn figure(&self, system: &str, measure: Measure) -> Option<&Figure> {
        let figures = &self.system(system)?.figures;
        figures.iter().find(|figure| figure.measure == measure)
    }

    /// The tests: measure by measure, and in each by system.
    #[must_use]
    pub fn contrasts(&self) -> &[Contrast] {
        &self.contrasts
    }

    /// The name of the baseline; `None` where all pairs are compared.
    #[must_use]
    pub fn baseline(&self) -> Option<&str> {
        match &self.plan.against {
            Against::First => self.systems.first().map(|system| system.name.as_str()),
            Against::System(name) => Some(name),
            Against::AllPairs => None,
        }
    }

    /// How a system compares with another on a measure: `Greater` where it is significantly better,
    /// `Less` where it is significantly worse, `Equal` where neither was shown. "Better" is "has the
    /// higher figure", also for measures where less is more. `None` where the two were not tested.
    #[must_use]
    pub fn verdict(&self, system: &str, against: &str, measure: Measure) -> Option<Ordering> {
        let mut tested = None;
        for contrast in self.contrasts.iter().filter(|c| c.measure == measure) {
            let verdict = if contrast.system == system && contrast.against == against {
                self.shown(contrast)
            } else if contrast.system == against && contrast.against == system {
                self.shown(contrast).reverse()
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
    pub(super) fn shown(&self, contrast: &Contrast) -> Ordering {
        if !contrast.significant {
            return Ordering::Equal;
        }
        match self.plan.alternative {
            Alternative::Greater => Ordering::Greater,
            Alternative::Less => Ordering::Less,
            Alternative::TwoSided => contrast.effect.mean.total_cmp(&0.0),
        }
    }
}
