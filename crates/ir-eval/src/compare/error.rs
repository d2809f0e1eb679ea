//! Error of a comparison.

use super::significance::SignificanceError;
use crate::measure::Measure;

/// Error comparing systems, sweeping parameters or bootstrapping scores.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum CompareError {
    /// Fewer than two systems.
    #[error("expected at least 2 systems, found {found}")]
    TooFewSystems { found: usize },
    /// A baseline that is not among the systems.
    #[error("expected the name of a system ({}), found {found:?}", .known.join(", "))]
    UnknownSystem { found: String, known: Vec<String> },
    /// Reports that were evaluated under different rules.
    #[error(
        "expected reports with the same rules, found {first:?} and {second:?} with different ones"
    )]
    Rules { first: String, second: String },
    /// Reports with different measures.
    #[error(
        "expected reports with the same measures, found {first:?} and {second:?} with different ones"
    )]
    Measures { first: String, second: String },
    /// Reports on different judgments: `query` is missing in the report of `second`.
    #[error(
        "expected reports on the same queries, found {query:?} in that of {first:?} and not in that of {second:?}"
    )]
    Queries {
        first: String,
        second: String,
        query: String,
    },
    /// Reports with the same queries in different orders.
    #[error(
        "expected reports with the same order of queries, found {first:?} and {second:?} with different ones"
    )]
    QueryOrder { first: String, second: String },
    /// A measure that the reports do not have.
    #[error("the reports do not have {measure}")]
    Measure { measure: Box<Measure> },
    /// Fewer than two evaluated queries.
    #[error("expected at least 2 evaluated queries, found {found}")]
    TooFewQueries { found: usize },
    /// Fewer than two bootstrap samples.
    #[error("expected at least 2 bootstrap samples, found {found}")]
    TooFewSamples { found: u32 },
    /// Fewer random samples than can reach significance: fewer than 1 / `level`.
    #[error(
        "expected at least {expected} random samples to reach significance at level {level}, found {found}"
    )]
    SamplesForLevel {
        expected: f64,
        found: u32,
        level: f64,
    },
    /// Fewer bootstrap samples than determine the interval: fewer than 1 / `level`.
    #[error(
        "expected at least {expected} bootstrap samples for an interval at level {level}, found {found}"
    )]
    SamplesForInterval {
        expected: f64,
        found: u32,
        level: f64,
    },
    /// A significance level outside (0, 1).
    #[error("expected a significance level between 0 and 1, found {found}")]
    Level { found: f64 },
    /// A two-sided alternative for a one-sided test.
    #[error(
        "expected a one-sided alternative for the bootstrap test on wins, found a two-sided one"
    )]
    TwoSided,
    /// A significance test that cannot be computed.
    #[error("{measure} of {system:?} and {against:?} cannot be tested")]
    Test {
        measure: Box<Measure>,
        system: String,
        against: String,
        #[source]
        source: SignificanceError,
    },
    /// A bootstrap test that cannot be computed.
    #[error("{measure} of {system:?} and {against:?} cannot be resampled")]
    Resample {
        measure: Box<Measure>,
        system: String,
        against: String,
        #[source]
        source: Box<Self>,
    },
    /// The caller's [`Progress`](ir_core::Progress) canceled the comparison.
    #[error("canceled")]
    Canceled,
    /// A confidence interval that cannot be computed.
    #[error("{measure} of {system:?} has no confidence interval")]
    Interval {
        measure: Box<Measure>,
        system: String,
        #[source]
        source: SignificanceError,
    },
}
