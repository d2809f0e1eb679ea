//! Errors of structured queries.

/// A structured query does not follow its syntax.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("character {position}: expected {expected}, found {found}")]
#[non_exhaustive]
pub struct QueryParseError {
    /// Position in the query, in characters from 1.
    pub position: usize,
    /// What the syntax allows there.
    pub expected: String,
    /// What the query has there.
    pub found: String,
}

/// A structured query cannot be searched in an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named in the messages")]
pub enum StructuredQueryError {
    /// The query does not follow the syntax.
    #[error("query {query:?}, {source}")]
    Syntax {
        query: String,
        #[source]
        source: QueryParseError,
    },
    /// The query cannot be searched.
    #[error("query {query:?}: {reason}")]
    Query {
        query: String,
        reason: Box<StructuredQueryError>,
    },
    /// A phrase or window in an index without positions.
    #[error(
        "query {query:?}: expected an index with positions for a phrase or window, found one without (IndexConfig::with_positions, `ir index --positions`)"
    )]
    NoPositions { query: String },
    /// The index has no such field. `advice` ends the message if the index has one field only.
    #[error("expected one of the fields {expected}, found {found:?}{advice}")]
    UnknownField {
        expected: String,
        found: String,
        advice: &'static str,
    },
    /// A weight, or the product of nested weights, is out of range.
    #[error("expected a weight above 0, at most 1e9, found {found}")]
    Weight { found: String },
    /// Synonyms of something other than words, phrases and windows.
    #[error("expected words, phrases or windows as synonyms, found {found}")]
    Synonyms { found: String },
    /// Synonyms of different fields.
    #[error("expected synonyms of one field, found {found}")]
    SynonymFields { found: String },
    /// Clauses, phrases or named fields with a model that scores all fields together.
    #[error(
        "expected words and weights, or a model that scores each field, found {found}: it adds up the frequencies of a term over all fields, and clauses, phrases and windows are matched in single fields"
    )]
    Model { found: String },
    /// The query is nested too deeply.
    #[error("expected at most {limit} nested queries, found more")]
    TooDeep { limit: usize },
}
