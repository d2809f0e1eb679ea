//! Syntaxes of structured queries.

use serde::{Deserialize, Serialize};

use super::error::QueryParseError;
use super::query::StructuredQuery;
use super::{indri, lucene};

/// Syntax of structured queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum QuerySyntax {
    /// Lucene's classic syntax: `+must -not "a phrase" "near words"~8 field:word word^2 (a b)`, and
    /// `AND`, `OR`, `NOT`. A backslash escapes a character. `"..."~N` is an unordered window that
    /// is N wider than the phrase, which equals Lucene's slop for two words in order. There are no
    /// wildcards, fuzzy words and ranges: `te*`, `te?m`, `team~` and `[a TO b]` are errors.
    Lucene,
    /// Indri's operators: `#combine(...)`, `#weight(w query ...)`, `#1(...)` and `#odN(...)`
    /// (ordered windows), `#uwN(...)` (unordered), `#syn(...)`, `#band(...)` (all words),
    /// `#or(...)` (any), `#not(...)` within `#band`. As in Indri, the weights of `#weight` and
    /// `#combine` are divided by their sum; parts of weight 0 are left out. `weight(` without `#`,
    /// as in bioCADDIE's topics, is accepted. `word.field` and `#1(...).field` search one field;
    /// a field's name starts with a letter: `"example.com"` is a word with a dot.
    Indri,
}

impl QuerySyntax {
    /// Parses a query. A query without words matches nothing.
    ///
    /// # Errors
    /// [`QueryParseError`] names the position, what was expected and what was found.
    pub fn parse(self, query: &str) -> Result<StructuredQuery, QueryParseError> {
        match self {
            Self::Lucene => lucene::parse(query),
            Self::Indri => indri::parse(query),
        }
    }
}
