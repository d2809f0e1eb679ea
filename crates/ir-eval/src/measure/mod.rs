//! Measures: each family in a file of its own, with formulas, parameters, names and computation.
//!
//! To add a measure, add an entry to `measures!` in the file of its family (documentation,
//! parameters, names and computation), and list its type in the table of `formula`. Parsing,
//! printing, the evaluator and the command-line tool follow from the table. A measure with a
//! trec_eval name also needs its place in `OUTPUT_ORDER` of `trec_eval::selection`.

mod counts;
mod custom;
mod definition;
mod diversity;
mod err;
mod formula;
mod gain;
mod parameters;
mod ranked;
mod rbp;
mod sampled;
mod set;
pub(crate) mod trec_names;
mod trec_syntax;

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use ir_core::Grade;
use serde::{Deserialize, Serialize};

use crate::judged::Gain;

pub use counts::*;
pub use custom::*;
pub use definition::Summary;
pub use diversity::*;
pub use err::*;
pub use formula::Formula;
pub use gain::*;
pub use parameters::ParseMeasureError;
pub use ranked::*;
pub use rbp::*;
pub use sampled::*;
pub use set::*;

pub(crate) use definition::{MeasureInput, Requirement, RequirementIndices};

use definition::MeasureOptions;

/// Effectiveness measure: a formula, its parameters, a relevance level and a cutoff.
///
/// A measure is a small `Copy` value that can be a constant, a map key or a configuration field.
/// It is printed in the syntax of ir_measures, and parsed in that syntax and in trec_eval's:
///
/// ```
/// use ir_eval::Measure;
/// const HEADLINE: [Measure; 3] = [Measure::NDCG.at(10), Measure::RR.at(10), Measure::R.at(1000)];
///
/// let measure: Measure = "P(rel=2)@5".parse()?;
/// assert_eq!(measure, Measure::P.at(5).rel(2));
/// assert_eq!("ndcg_cut_10".parse::<Measure>()?, HEADLINE[0]);
/// assert_eq!(HEADLINE[0].to_string(), "nDCG@10");
/// assert_eq!(HEADLINE[0].trec_name(), Some("ndcg_cut_10".to_owned()));
/// # Ok::<(), ir_eval::ParseMeasureError>(())
/// ```
///
/// # Cutoff
/// With a cutoff k, the formula sees the first k documents only. Precision divides by k even if
/// fewer were retrieved, and the ideal ranking of nDCG is cut as well.
///
/// # Relevance level
/// A document is relevant if its grade reaches the level of the measure ([`Measure::rel`]), or else
/// the level of the [`Rules`](crate::Rules), 1 by default. Measures with graded gains ignore
/// it.
///
/// # Judged documents only
/// [`Measure::judged_only`] removes unjudged documents from the list first, for this measure alone:
/// ir_measures' `nDCG(judged_only=True)@10`.
/// [`UnjudgedDocuments::Remove`](crate::UnjudgedDocuments::Remove) does so for all measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Measure {
    formula: Formula,
    options: MeasureOptions,
}

impl Measure {
    /// [`Precision`].
    pub const P: Self = Self::new(Formula::Precision(Precision::DEFAULT));
    /// [`Recall`].
    pub const R: Self = Self::new(Formula::Recall(Recall));
    /// [`Success`].
    pub const SUCCESS: Self = Self::new(Formula::Success(Success));
    /// [`ReciprocalRank`].
    pub const RR: Self = Self::new(Formula::ReciprocalRank(ReciprocalRank));
    /// [`AveragePrecision`].
    pub const AP: Self = Self::new(Formula::AveragePrecision(AveragePrecision));
    /// [`RPrecision`]: precision after R documents.
    pub const RPREC: Self = Self::new(Formula::RPrecision(RPrecision::DEFAULT));
    /// [`Bpref`].
    pub const BPREF: Self = Self::new(Formula::Bpref(Bpref));
    /// [`Ndcg`] with linear gains.
    pub const NDCG: Self = Self::new(Formula::Ndcg(Ndcg::DEFAULT));
    /// [`Ndcg`] with exponential gains.
    pub const NDCG_EXP: Self = Self::new(Formula::Ndcg(Ndcg {
        gain: Gain::Exponential,
    }));
    /// [`JudgedFraction`].
    pub const JUDGED: Self = Self::new(Formula::JudgedFraction(JudgedFraction));
    /// [`QueryCount`].
    pub const NUM_Q: Self = Self::new(Formula::QueryCount(QueryCount));
    /// [`RetrievedCount`].
    pub const NUM_RET: Self = Self::new(Formula::RetrievedCount(RetrievedCount));
    /// [`RelevantCount`].
    pub const NUM_REL: Self = Self::new(Formula::RelevantCount(RelevantCount));
    /// [`RelevantRetrievedCount`].
    pub const NUM_REL_RET: Self =
        Self::new(Formula::RelevantRetrievedCount(RelevantRetrievedCount));

    /// Creates a measure over whole lists, at the relevance level of the rules.
    #[must_use]
    pub const fn new(formula: Formula) -> Self {
        Self {
            formula,
            options: MeasureOptions {
                level: None,
                cutoff: None,
                judged_only: false,
            },
        }
    }

    /// Creates a custom measure; `None` if `name` is not a valid name.
    ///
    /// A valid name has 1 to 40 ASCII letters, digits and `_ - . @ + %`, starts with a letter, and
    /// is not the name of another measure. The computation is registered by
    /// [`Evaluator::with`](crate::Evaluator::with).
    ///
    /// ```
    /// use ir_eval::{Measure, Summary};
    /// assert!(Measure::custom("Fresh@10", Summary::Mean).is_some());
    /// assert!(Measure::custom("nDCG@10", Summary::Mean).is_none());
    /// assert!(Measure::custom("two words", Summary::Mean).is_none());
    /// ```
    #[must_use]
    pub fn custom(name: &str, summary: Summary) -> Option<Self> {
        let is_free = matches!(
            trec_names::parse(name),
            Err(ParseMeasureError::Unknown { .. })
        );
        let name = CustomName::new(name).filter(|_| is_free)?;
        Some(CustomFormula { name, summary }.into())
    }

    /// Sets the cutoff: only the first `k` documents count. Measures without a cutoff
    /// ([`Formula::takes_cutoff`]) stay unchanged.
    ///
    /// # Panics
    /// If `k` is 0. Parse cutoffs from user input as part of the measure's text, which returns an
    /// error instead.
    #[must_use]
    pub const fn at(mut self, k: u32) -> Self {
        assert!(k > 0, "a cutoff is at least 1");
        if self.formula.takes_cutoff() {
            self.options.cutoff = NonZeroU32::new(k);
        }
        self
    }

    /// Sets the relevance level: documents are relevant from this grade on. Measures without a
    /// level ([`Formula::takes_level`]) stay unchanged.
    #[must_use]
    pub const fn rel(mut self, level: Grade) -> Self {
        if self.formula.takes_level() {
            self.options.level = Some(level);
        }
        self
    }

    /// Removes unjudged documents from the list before the measure is computed. Measures about
    /// unjudged documents ([`Formula::takes_judged_only`]) stay unchanged.
    #[must_use]
    pub const fn judged_only(mut self) -> Self {
        self.options.judged_only = self.formula.takes_judged_only();
        self
    }

    /// Formula of the measure.
    #[must_use]
    pub const fn formula(&self) -> &Formula {
        &self.formula
    }

    /// The measure's own relevance level; `None` for the level of the rules.
    #[must_use]
    pub const fn level(&self) -> Option<Grade> {
        self.options.level
    }

    /// Cutoff; `None` for whole lists.
    #[must_use]
    pub const fn cutoff(&self) -> Option<u32> {
        match self.options.cutoff {
            Some(k) => Some(k.get()),
            None => None,
        }
    }

    /// Returns `true` if unjudged documents are removed first.
    #[must_use]
    pub const fn is_judged_only(&self) -> bool {
        self.options.judged_only
    }

    /// Aggregation of the per-query values.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.formula.definition().summary()
    }

    /// Returns `true` if the values are integers.
    #[must_use]
    pub const fn is_count(&self) -> bool {
        self.formula.properties().is_count
    }

    /// Name in trec_eval's output; `None` if trec_eval does not have the measure (a cutoff on
    /// `bpref`, a relevance level of its own, exponential gains).
    #[must_use]
    pub fn trec_name(&self) -> Option<String> {
        trec_names::write(self)
    }

    /// Returns the values that a measure on trec_eval's command line stands for (`P` with
    /// parameters `5,10`), with their names in trec_eval's output. `text` is what errors show.
    pub(crate) fn expand_trec(
        name: &str,
        parameters: Option<&str>,
        text: &str,
    ) -> Result<Vec<(String, Self)>, ParseMeasureError> {
        let known = trec_names::all().find(|known| known.0 == name);
        let unknown = || ParseMeasureError::Unknown {
            text: text.to_owned(),
        };
        trec_names::expand(known.ok_or_else(unknown)?, parameters, text)
    }
}

impl<F: Into<Formula>> From<F> for Measure {
    fn from(formula: F) -> Self {
        Self::new(formula.into())
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&formula::text(self))
    }
}

impl FromStr for Measure {
    type Err = ParseMeasureError;

    /// Parses ir_measures' syntax (`nDCG@10`, `P(rel=2)@5`), and the syntax of trec_eval's output
    /// (`P_5`) and command line (`P.5`).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        trec_names::parse(text)
    }
}

impl Serialize for Measure {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Measure {
    /// Reads what [`FromStr`] reads. Any other valid name is read as a [`CustomFormula`], which an
    /// evaluator rejects unless that measure is registered.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().or_else(|error| {
            let custom = match (&error, custom::split_summary(&text)) {
                (ParseMeasureError::Unknown { .. }, Some((name, summary))) => {
                    Self::custom(name, summary)
                }
                _ => None,
            };
            custom.ok_or_else(|| serde::de::Error::custom(error))
        })
    }
}
