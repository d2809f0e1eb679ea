//! Structured queries: Boolean clauses, weights, phrases, windows, synonyms and fields.
//!
//! [`StructuredQuery`] is the query, which the syntaxes of Lucene and Indri are parsed into
//! ([`QuerySyntax`]). [`StructuredSearcher`] evaluates it over the lists of matches of its leaves
//! ([`matches`]).

mod error;
mod evaluate;
mod indri;
mod lucene;
mod matches;
mod query;
mod searcher;
mod sequential_dependence;
mod syntax;
#[cfg(test)]
mod tests;
mod text;
mod top_windows;
mod windows;

pub use error::{QueryParseError, StructuredQueryError};
pub use query::{BooleanClause, Occur, StructuredQuery};
pub use searcher::StructuredSearcher;
pub use sequential_dependence::SequentialDependence;
pub use syntax::QuerySyntax;
