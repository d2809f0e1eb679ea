//! Preference judgments: which of two documents is better, instead of how relevant each one is.
//!
//! An assessor states preferences between two documents or ranks a few of them. Each assessor (or
//! session) is a *group*. If its judgments were collected in parts, these are *subgroups*. Within a
//! subgroup every document has a level, and higher levels are preferred; the size of the difference
//! is irrelevant, and level 0 means not relevant. Groups may contradict each other. Within a group,
//! the preferences of all subgroups and their transitive closure must be free of cycles.
//!
//! Formats and measures are trec_eval's `prefs`, `qrels_prefs` and `prefs_*`.
//!
//! ```
//! use ir_core::Run;
//! use ir_eval::Rules;
//! use ir_eval::assess::preferences::{self, PreferenceMeasure, PreferenceScope};
//!
//! // Query, group, subgroup, document, level: ann prefers a to b to c, bob prefers b to a.
//! let file = "q1 ann 0 a 3\nq1 ann 0 b 2\nq1 ann 0 c 1\nq1 bob 0 b 2\nq1 bob 0 a 1\n";
//! let preferences = preferences::read(file.as_bytes(), "prefs.txt")?.data;
//! let mut run = Run::new("mine");
//! run.push("q1", "a", 0.9);
//! run.push("q1", "b", 0.8);
//!
//! let simple = PreferenceMeasure::Simple(PreferenceScope::All);
//! let report = preferences.evaluate(&run, &[simple], Rules::default())?;
//! // Fulfilled: a over b, and both over c, which is not retrieved. Not fulfilled: b over a.
//! assert_eq!(report.summary(simple), Some(0.75));
//! # Ok::<(), preferences::PreferenceError>(())
//! ```

mod balanced;
mod evaluate;
mod fulfilled;
mod measure;
mod preference_order;
mod read;

use std::collections::BTreeMap;

use ir_core::trec::TrecReadError;

use crate::evaluate::EvalError;

pub use evaluate::PreferenceReport;
pub use measure::{ParsePreferenceMeasureError, PreferenceMeasure, PreferenceScope};
pub use read::{read, read_qrels};

/// Documents of a subgroup with their levels.
type Subgroup = Vec<(String, f64)>;
/// Subgroups of a judgment group.
type GroupJudgments = BTreeMap<String, Subgroup>;

/// Preference judgments of all queries and judgment groups.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Preferences {
    queries: BTreeMap<String, BTreeMap<String, GroupJudgments>>,
}

impl Preferences {
    /// Creates an empty collection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Inserts the level of a document in a subgroup. The document is preferred to all documents of
    /// a lower level in the same subgroup.
    pub fn insert(
        &mut self,
        query: &str,
        group: &str,
        subgroup: &str,
        doc: impl Into<String>,
        level: f64,
    ) {
        let groups = self.queries.entry(query.to_owned()).or_default();
        let subgroups = groups.entry(group.to_owned()).or_default();
        let members = subgroups.entry(subgroup.to_owned()).or_default();
        members.push((doc.into(), level));
    }

    /// Ids of the judged queries, in ascending byte order.
    pub fn queries(&self) -> impl ExactSizeIterator<Item = &str> {
        self.queries.keys().map(String::as_str)
    }

    ir_core::query_count!("judged queries");
}

/// Error reading preference judgments or evaluating a run by them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum PreferenceError {
    /// A malformed file, or a failed read.
    #[error(transparent)]
    File(#[from] TrecReadError),
    /// A run that cannot be evaluated.
    #[error(transparent)]
    Run(#[from] EvalError),
    /// A level that is NaN.
    #[error("{path}:{line}: expected a level, found NaN")]
    Level { path: String, line: u64 },
    /// A document with two levels in one subgroup.
    #[error(
        "query {query:?}, group {group:?}: expected one level for document {doc:?}, found {first} and {second}"
    )]
    TwoLevels {
        query: String,
        group: String,
        doc: String,
        first: f64,
        second: f64,
    },
    /// A document that is not relevant (level 0) in one subgroup and preferred in another one.
    #[error(
        "query {query:?}, group {group:?}: document {doc:?} has level 0 in one subgroup and another level in a second one"
    )]
    Relevance {
        query: String,
        group: String,
        doc: String,
    },
    /// A cycle: two documents that are preferred to each other.
    #[error(
        "query {query:?}, group {group:?}: documents {first:?} and {second:?} are each preferred to the other"
    )]
    Cycle {
        query: String,
        group: String,
        first: String,
        second: String,
    },
}
