//! The [`CustomMeasure`] trait and its input, [`JudgedList`].

use std::fmt;
use std::ops::Deref;

use ir_core::Grade;

use super::definition::{Definition, MeasureInput, MeasureOptions, Properties, Summary, measures};
use super::parameters::{Parameters, ParseMeasureError};
use crate::judged::{JudgmentStatus, RetrievedList};
use crate::rules::Rules;

/// Custom measure: a name and a value per query.
///
/// [`Evaluator::with`](crate::Evaluator::with) registers it. Reports, tables and files then show it
/// like any other measure.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::{CustomMeasure, Evaluator, JudgedList, Measure};
///
/// /// Number of documents above the first one of the highest grade.
/// struct Skimmed;
///
/// impl CustomMeasure for Skimmed {
///     fn name(&self) -> &str {
///         "Skimmed"
///     }
///     fn value(&self, list: &JudgedList<'_>) -> f64 {
///         let best = list.documents().position(|doc| doc.grade() == Some(list.highest()));
///         best.unwrap_or(list.len()) as f64
///     }
/// }
///
/// let mut qrels = Qrels::new();
/// qrels.insert("q1", "d1", 1);
/// qrels.insert("q1", "d2", 2);
/// let mut run = Run::new("mine");
/// run.push("q1", "d1", 0.9);
/// run.push("q1", "d2", 0.8);
/// let report = Evaluator::new(&qrels, &[Measure::RR])?.with(Skimmed)?.evaluate(&run)?;
/// assert!(report.to_string().ends_with("RR       1.0000\nSkimmed  1.0000\n"));
/// # Ok::<(), ir_eval::EvalError>(())
/// ```
pub trait CustomMeasure: Send + Sync {
    /// Name in reports; see [`Measure::custom`](crate::Measure::custom) for valid names.
    fn name(&self) -> &str;

    /// Aggregation of the per-query values. Default: mean.
    fn summary(&self) -> Summary {
        Summary::Mean
    }

    /// Value for one query. The list is empty if nothing was retrieved. A value that is not finite
    /// is an evaluation error.
    fn value(&self, list: &JudgedList<'_>) -> f64;
}

impl fmt::Debug for dyn CustomMeasure + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustomMeasure").field(&self.name()).finish()
    }
}

/// Pointers to a measure (`&M`, `Box<M>`, `Arc<M>`) are measures themselves.
impl<P> CustomMeasure for P
where
    P: Deref<Target: CustomMeasure> + Send + Sync,
{
    fn name(&self) -> &str {
        (**self).name()
    }

    fn summary(&self) -> Summary {
        (**self).summary()
    }

    fn value(&self, list: &JudgedList<'_>) -> f64 {
        (**self).value(list)
    }
}

measures! {
    /// Formula of a [`CustomMeasure`]: its name and aggregation. The computation itself is
    /// registered with the evaluator.
    CustomFormula {
        /// Name that reports show.
        name: CustomName = CustomName::EMPTY,
        /// Aggregation of the per-query values.
        summary: Summary = Summary::Mean => custom_summary(),
    } = Properties::new(&[]).without_level().without_ranking();
    impl {
        fn name(&self, _: &MeasureOptions) -> &str {
            self.name.as_str()
        }

        fn summary(&self) -> Summary {
            self.summary
        }
    }
    // Never called: the evaluator calls `CustomMeasure::value`.
    value |_, _| f64::NAN;
}

impl Parameters<'_> {
    /// [`CustomFormula::summary`]; [`split_summary`] reads it.
    fn custom_summary(&mut self, summary: &mut Summary) -> Result<(), ParseMeasureError> {
        let printed = match summary {
            Summary::Mean => return Ok(()),
            Summary::Sum => SUM,
            Summary::GeometricMean => GEOMETRIC,
        };
        self.parameter(&mut (), "summary", (printed, true), |_| Ok(()))
    }
}

const SUM: &str = "sum";
const GEOMETRIC: &str = "geometric";

/// Splits the text of a custom measure into its name and aggregation.
pub(super) fn split_summary(text: &str) -> Option<(&str, Summary)> {
    let Some((name, parameter)) = text
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('))
    else {
        return Some((text, Summary::Mean));
    };
    match parameter.strip_prefix("summary=")? {
        SUM => Some((name, Summary::Sum)),
        GEOMETRIC => Some((name, Summary::GeometricMean)),
        _ => None,
    }
}

/// Name of a [`CustomMeasure`]; `Copy` like measures themselves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CustomName {
    bytes: [u8; Self::MAX_LEN],
    len: u8,
}

impl CustomName {
    /// Maximum length in bytes.
    pub const MAX_LEN: usize = 40;

    const EMPTY: Self = Self {
        bytes: [0; Self::MAX_LEN],
        len: 0,
    };

    /// Returns `None` unless the name has 1 to 40 ASCII letters, digits and `_ - . @ + %` and
    /// starts with a letter.
    pub(super) fn new(name: &str) -> Option<Self> {
        let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"_-.@+%".contains(&b);
        let starts_with_letter = name.bytes().next()?.is_ascii_alphabetic();
        if !starts_with_letter || name.len() > Self::MAX_LEN || !name.bytes().all(is_allowed) {
            return None;
        }
        let mut bytes = [0; Self::MAX_LEN];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        let len = name.len() as u8;
        Some(Self { bytes, len })
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }
}

impl fmt::Display for CustomName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for CustomName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Result list of one query, sorted and cut according to the rules, with its judgments: the input
/// of a [`CustomMeasure`].
#[derive(Debug, Clone, Copy)]
pub struct JudgedList<'a> {
    /// Id of the query.
    pub query: &'a str,
    /// If `true`, the run contains the query, even with an empty list.
    pub retrieved: bool,
    /// Grades ≥ 0 among the judgments of the query, ascending, and the number of documents of each,
    /// retrieved or not.
    pub grades: &'a [(Grade, u64)],
    /// Rules of the evaluation.
    pub rules: &'a Rules,
    pub(crate) list: &'a RetrievedList,
    pub(crate) states: &'a [Grade],
}

/// Document of a [`JudgedList`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedDocument<'a> {
    /// Rank, starting at 1.
    pub rank: usize,
    /// Id of the document.
    pub doc: &'a str,
    /// Score, in the precision of the rules.
    pub score: f64,
    /// Judgment of the document.
    pub judgment: JudgmentStatus,
}

impl JudgedDocument<'_> {
    /// The grade; `None` if the document was not judged.
    #[must_use]
    pub const fn grade(&self) -> Option<Grade> {
        match self.judgment {
            JudgmentStatus::Grade(grade) => Some(grade),
            _ => None,
        }
    }
}

impl<'a> JudgedList<'a> {
    /// Number of documents in the list.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.states.len()
    }

    /// Returns `true` if the list has no documents.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Iterates over the documents by rank.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = JudgedDocument<'a>> + Clone + use<'a> {
        let documents = self.list.documents().zip(self.states).enumerate();
        documents.map(|(above, ((doc, score), &state))| JudgedDocument {
            rank: above + 1,
            doc,
            score,
            judgment: JudgmentStatus::from_state(state),
        })
    }

    /// Number of judged documents with at least this grade, retrieved or not.
    #[must_use]
    pub fn at_least(&self, grade: Grade) -> u64 {
        let counted = self.grades.iter().filter(|g| g.0 >= grade);
        counted.map(|g| g.1).sum()
    }

    /// Number of relevant documents at the level of the rules, retrieved or not.
    #[must_use]
    pub fn relevant(&self) -> u64 {
        self.at_least(self.rules.level)
    }

    /// Highest grade among the judgments of the query, at least 0.
    #[must_use]
    pub fn highest(&self) -> Grade {
        self.grades.last().map_or(0, |g| g.0)
    }
}
