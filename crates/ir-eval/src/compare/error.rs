//! Why systems could not be compared.

use crate::significance::SignificanceError;
use crate::{BootstrapError, Measure};

/// Why systems could not be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// One system or none.
    #[error("expected at least 2 systems, found {found}")]
    Systems {
        /// How many there are.
        found: usize,
    },
    /// A name that no system has.
    #[error("expected the name of a system ({}), found {found:?}", .known.join(", "))]
    Unknown {
        /// The name.
        found: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// Reports that were made by different rules.
    #[error("expected reports by the same rules, found that {first:?} and {second:?} differ")]
    Rules {
        /// One system.
        first: String,
        /// The other one.
        second: String,
    },
    /// Reports with different measures.
    #[error("expected reports with the same measures, found that {first:?} and {second:?} differ")]
    Measures {
        /// One system.
        first: String,
        /// The other one.
        second: String,
    },
    /// Reports on different judgments.
    #[error(
        "expected reports on the same queries, found {query:?} in that of {first:?} and not in that of {second:?}"
    )]
    Queries {
        /// The system whose report has the query.
        first: String,
        /// The one whose report lacks it.
        second: String,
        /// The query.
        query: String,
    },
    /// A measure that the reports do not have.
    #[error("the reports do not have {measure}")]
    Measure {
        /// The measure.
        measure: Box<Measure>,
    },
    /// One query or none, where several are needed.
    #[error("expected at least 2 queries that count, found {found}")]
    Few {
        /// How many there are.
        found: usize,
    },
    /// A level of significance that is no share between 0 and 1.
    #[error("expected a level of significance between 0 and 1, found {found}")]
    Level {
        /// The level.
        found: f64,
    },
    /// A test that knows one side only.
    #[error("expected a one-sided alternative for a test by wins, found a two-sided one")]
    TwoSided,
    /// The values of a pair could not be tested.
    #[error("{measure} of {system:?} and {against:?} could not be tested")]
    Test {
        /// The measure.
        measure: Box<Measure>,
        /// The system.
        system: String,
        /// The one it is compared with.
        against: String,
        /// Why.
        #[source]
        source: SignificanceError,
    },
    /// The reports of a pair could not be resampled.
    #[error("{measure} of {system:?} and {against:?} could not be resampled")]
    Resample {
        /// The measure.
        measure: Box<Measure>,
        /// The system.
        system: String,
        /// The one it is compared with.
        against: String,
        /// Why.
        #[source]
        source: BootstrapError,
    },
    /// No confidence interval for the values of a system.
    #[error("{measure} of {system:?} has no confidence interval")]
    Interval {
        /// The measure.
        measure: Box<Measure>,
        /// The system.
        system: String,
        /// Why.
        #[source]
        source: SignificanceError,
    },
}
