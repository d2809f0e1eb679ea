//! Measures of the user's own.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use ir_core::Grade;

use crate::list::List;
use crate::report::Judged;
use crate::{Kind, Measure, Rules, Summary};

/// A measure of your own.
///
/// Give it a name and a value per query, hand it to [`Evaluator::with`](crate::Evaluator::with), and
/// it stands in reports, tables and files beside the others.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::{CustomMeasure, Evaluator, JudgedList, Measure};
///
/// /// How many documents a reader skims before the first one of the highest grade.
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
    /// What it is called in reports: see [`Name::new`] for what a name can be.
    fn name(&self) -> &str;

    /// How its values over queries become one. The mean unless told otherwise.
    fn summary(&self) -> Summary {
        Summary::Mean
    }

    /// Its value for one query: a finite number, or the evaluation is refused. The list is empty when
    /// nothing was retrieved.
    fn value(&self, list: &JudgedList<'_>) -> f64;
}

impl<M: CustomMeasure + ?Sized> CustomMeasure for Box<M> {
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

impl<M: CustomMeasure + ?Sized> CustomMeasure for Arc<M> {
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

/// The name of a measure of one's own: a small value, like the measures themselves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    bytes: [u8; Self::MOST],
    len: u8,
}

impl Name {
    /// The longest name, in bytes.
    pub const MOST: usize = 40;

    /// A name of 1 to 40 ASCII letters, digits and `_ - . @ + %`, with a letter in front, that
    /// no measure of this crate has. `None` for anything else.
    ///
    /// ```
    /// use ir_eval::Name;
    /// assert!(Name::new("Fresh@10").is_some());
    /// assert!(Name::new("nDCG@10").is_none() && Name::new("two words").is_none());
    /// ```
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let inside = |b: u8| b.is_ascii_alphanumeric() || b"_-.@+%".contains(&b);
        let letter = name.bytes().next()?.is_ascii_alphabetic();
        let fits = letter && name.len() <= Self::MOST && name.bytes().all(inside);
        if !fits || crate::names::taken(name) {
            return None;
        }
        let mut bytes = [0; Self::MOST];
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

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// The list of one query, sorted and cut by the rules, with the judgments beside it: what a
/// [`CustomMeasure`] sees.
#[derive(Debug, Clone, Copy)]
pub struct JudgedList<'a> {
    pub(crate) query: &'a str,
    pub(crate) retrieved: bool,
    pub(crate) list: &'a List,
    pub(crate) states: &'a [Grade],
    pub(crate) grades: &'a [(Grade, u64)],
    pub(crate) rules: &'a Rules,
}

/// A document of a [`JudgedList`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedDocument<'a> {
    /// Its rank, from 1.
    pub rank: usize,
    /// Its id.
    pub doc: &'a str,
    /// Its score, in the precision of the rules.
    pub score: f64,
    /// How it was judged.
    pub judged: Judged,
}

impl JudgedDocument<'_> {
    /// Its grade; `None` when it was not judged.
    #[must_use]
    pub const fn grade(&self) -> Option<Grade> {
        match self.judged {
            Judged::Grade(grade) => Some(grade),
            _ => None,
        }
    }
}

impl<'a> JudgedList<'a> {
    /// The query's id.
    #[must_use]
    pub const fn query(&self) -> &'a str {
        self.query
    }

    /// Whether the run has a list for the query, be it empty.
    #[must_use]
    pub const fn retrieved(&self) -> bool {
        self.retrieved
    }

    /// How many documents the list has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether the list has no documents.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// The documents by rank.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = JudgedDocument<'a>> + Clone + use<'a> {
        let documents = self.list.documents().zip(self.states).enumerate();
        documents.map(|(above, ((doc, score), &state))| JudgedDocument {
            rank: above + 1,
            doc,
            score,
            judged: Judged::of(state),
        })
    }

    /// The grades from 0 on that occur among the judgments of the query, ascending, and how many
    /// documents have each, retrieved or not.
    #[must_use]
    pub const fn grades(&self) -> &'a [(Grade, u64)] {
        self.grades
    }

    /// How many documents are judged to reach a grade, retrieved or not.
    #[must_use]
    pub fn reaching(&self, grade: Grade) -> u64 {
        let reaching = self.grades.iter().filter(|g| g.0 >= grade);
        reaching.map(|g| g.1).sum()
    }

    /// How many documents are relevant at the level of the rules, retrieved or not.
    #[must_use]
    pub fn relevant(&self) -> u64 {
        self.reaching(self.rules.level)
    }

    /// The highest grade among the judgments of the query, at least 0.
    #[must_use]
    pub fn highest(&self) -> Grade {
        self.grades.last().map_or(0, |g| g.0)
    }

    /// The rules of the evaluation.
    #[must_use]
    pub const fn rules(&self) -> &'a Rules {
        self.rules
    }
}

/// A registered measure.
#[derive(Clone)]
pub(crate) struct Registered<'q> {
    pub(crate) measure: Measure,
    formula: Arc<dyn CustomMeasure + 'q>,
}

impl<'q> Registered<'q> {
    /// `None` when it cannot be called what it is called.
    pub(crate) fn new(formula: impl CustomMeasure + 'q) -> Option<Self> {
        let measure = Measure::custom(formula.name(), formula.summary())?;
        let formula = Arc::new(formula);
        Some(Self { measure, formula })
    }
}

impl Registered<'_> {
    /// Whether both are called the same.
    pub(crate) fn has_name_of(&self, other: &Self) -> bool {
        name(&self.measure) == name(&other.measure)
    }
}

impl<'q> Deref for Registered<'q> {
    type Target = dyn CustomMeasure + 'q;

    fn deref(&self) -> &Self::Target {
        &*self.formula
    }
}

impl fmt::Debug for Registered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustomMeasure").field(&self.measure).finish()
    }
}

/// The name of a measure of one's own; `None` for the others.
pub(crate) fn name(measure: &Measure) -> Option<Name> {
    match measure.kind {
        Kind::Custom { name, .. } => Some(name),
        _ => None,
    }
}
