//! What an index says about itself.

use serde::{Deserialize, Serialize};

use crate::IndexConfig;

/// The section `meta`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Meta {
    /// The crate that wrote it and its version.
    pub(crate) program: String,
    pub(crate) config: IndexConfig,
    /// The name of the caller's own analyzer, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) analyzer: Option<String>,
    pub(crate) documents: u32,
    pub(crate) blank_dropped: u64,
    pub(crate) fields: Vec<FieldStats>,
}

/// What is known of one field of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FieldStats {
    /// Its name.
    pub name: String,
    /// Documents with at least one token in it: BM25's N.
    pub docs: u64,
    /// Tokens after analysis.
    pub tokens: u64,
    /// Different terms.
    pub terms: u64,
    /// Pairs of a term and a document.
    pub postings: u64,
    /// The most tokens in one document.
    pub longest: u32,
}

impl FieldStats {
    /// The average number of tokens of the documents that have any: BM25's average length. 0 when none has.
    #[must_use]
    pub fn average_length(&self) -> f64 {
        if self.docs == 0 {
            0.0
        } else {
            self.tokens as f64 / self.docs as f64
        }
    }
}
