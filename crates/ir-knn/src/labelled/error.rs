//! What can be wrong with labelled queries.

use ir_core::EncodeError;

use super::Aggregate;
use crate::FitError;

/// Why labelled queries cannot be searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabelledQueriesError {
    /// No query, or none with a label that an item carries.
    #[error("expected labelled queries, found none among {found}")]
    Empty {
        /// How many queries there were.
        found: usize,
    },
    /// A query without labels.
    #[error("labelled query {query:?}: expected at least one label, found none")]
    Unlabelled {
        /// The id of the query.
        query: String,
    },
    /// A label that no item carries.
    #[error("labelled query {query:?}: no item carries the label {label:?}")]
    UnknownLabel {
        /// The id of the query.
        query: String,
        /// The label.
        label: String,
    },
    /// Nobody votes.
    #[error("neighbours: expected a number from 1, found 0")]
    Nobody,
    /// An oddity of another aggregate.
    #[error("{name} does not apply to {aggregate:?}")]
    Oddity {
        /// The oddity.
        name: &'static str,
        /// What was chosen.
        aggregate: Aggregate,
    },
    /// A vector with a component that is NaN or infinite, or outside its length.
    #[error("labelled query {query:?}: component {at} of its vector is {found}")]
    Vector {
        /// The id of the query.
        query: String,
        /// Which component, from 0.
        at: usize,
        /// What it is.
        found: f32,
    },
    /// The queries could not be encoded.
    #[error("the labelled queries could not be encoded")]
    Encode(#[from] EncodeError),
    /// The vectoriser could not learn from the queries.
    #[error("no vectors can be learned from the labelled queries")]
    Fit(#[from] FitError),
}
