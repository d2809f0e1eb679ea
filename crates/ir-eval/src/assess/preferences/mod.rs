//! Preferences: judgments that say which of two documents is better, not how good each is.
//!
//! A person is asked for the better of two documents, or to put a few in order. Each such person
//! (or session) is a *group*; a group whose answers came in pieces has *subgroups*. Within a
//! subgroup every document has a level and the higher level is preferred; the size of the
//! difference means nothing, and level 0 means not relevant. Groups may contradict each other, a
//! group must not contradict itself: what its subgroups say together, and what follows from that
//! (a over b and b over c is a over c), may hold no circle.
//!
//! These are trec_eval's formats `prefs` and `qrels_prefs` and its measures `prefs_*`.
//!
//! ```
//! use ir_core::Run;
//! use ir_eval::Rules;
//! use ir_eval::preferences::{self, PreferenceMeasure, PreferenceScope};
//!
//! // Query, group, subgroup, document, level: ann puts a over b over c, bob b over a.
//! let file = "q1 ann 0 a 3\nq1 ann 0 b 2\nq1 ann 0 c 1\nq1 bob 0 b 2\nq1 bob 0 a 1\n";
//! let preferences = preferences::read(file.as_bytes(), "prefs.txt")?.data;
//! let mut run = Run::new("mine");
//! run.push("q1", "a", 0.9);
//! run.push("q1", "b", 0.8);
//!
//! let simple = PreferenceMeasure::Simple(PreferenceScope::All);
//! let report = preferences.evaluate(&run, &[simple], Rules::default())?;
//! // Kept: a over b, and a and b over c, which was not retrieved. Not kept: b over a.
//! assert_eq!(report.summary(simple), Some(0.75));
//! # Ok::<(), preferences::PreferenceError>(())
//! ```

mod balanced;
mod count;
mod evaluate;
mod measure;
mod order;
mod read;

use std::collections::BTreeMap;

use ir_core::trec::TrecReadError;

use crate::EvalError;

pub use evaluate::{PreferenceReport, PreferenceValues};
pub use measure::{ParsePreferenceMeasureError, PreferenceMeasure, PreferenceScope};
pub use read::{read, read_qrels};

/// The documents of a subgroup and their levels.
type Subgroup = Vec<(String, f64)>;
/// The subgroups of a group.
type Opinion = BTreeMap<String, Subgroup>;

/// Preferences between documents: of every query, what each group of judgments prefers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Preferences {
    queries: BTreeMap<String, BTreeMap<String, Opinion>>,
}

impl Preferences {
    /// No preferences.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records the level of a document in a subgroup. It is preferred to all documents that have a
    /// lower level there.
    pub fn insert(
        &mut self,
        query: &str,
        group: &str,
        subgroup: &str,
        doc: impl Into<String>,
        level: f64,
    ) {
        let opinions = entry(&mut self.queries, query);
        let opinion = entry(opinions, group);
        entry(opinion, subgroup).push((doc.into(), level));
    }

    /// The queries that have preferences, in ascending byte order.
    pub fn queries(&self) -> impl ExactSizeIterator<Item = &str> {
        self.queries.keys().map(String::as_str)
    }

    /// How many queries have preferences.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }
}

fn entry<'m, T: Default>(map: &'m mut BTreeMap<String, T>, key: &str) -> &'m mut T {
    if !map.contains_key(key) {
        map.insert(key.to_owned(), T::default());
    }
    map.entry(key.to_owned()).or_default()
}

/// Why preferences could not be read, or a run not evaluated by them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PreferenceError {
    /// The file is not one of preferences.
    #[error(transparent)]
    File(#[from] TrecReadError),
    /// The run and the preferences do not fit, or a list has no order.
    #[error(transparent)]
    Run(#[from] EvalError),
    /// A level that is not a number.
    #[error("{path}:{line}: expected a level, found NaN")]
    Level {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u64,
    },
    /// A document that has two levels in one subgroup.
    #[error(
        "query {query:?}, group {group:?}: expected one level for document {doc:?}, found {first} and {second}"
    )]
    TwoLevels {
        /// The query.
        query: String,
        /// The group.
        group: String,
        /// The document.
        doc: String,
        /// One level.
        first: f64,
        /// The other.
        second: f64,
    },
    /// A document that one subgroup calls not relevant (level 0) and another prefers.
    #[error(
        "query {query:?}, group {group:?}: document {doc:?} has level 0 in one subgroup and another level in a second one"
    )]
    Relevance {
        /// The query.
        query: String,
        /// The group.
        group: String,
        /// The document.
        doc: String,
    },
    /// Two documents each of which is preferred to the other.
    #[error(
        "query {query:?}, group {group:?}: documents {first:?} and {second:?} are each preferred to the other"
    )]
    Circle {
        /// The query.
        query: String,
        /// The group.
        group: String,
        /// One document.
        first: String,
        /// The other.
        second: String,
    },
}
