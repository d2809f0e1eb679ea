//! BM25 parameters and their defaults.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::parameter::{self, PARAMETERS};
use crate::SearcherError;

/// Parameters of Okapi BM25 as Lucene computes it. Chosen when searching, not when indexing.
///
/// The score of one term in a document is `w - w / (1 + tf / K)`, which equals `w · tf / (tf + K)`,
/// with `K = k1 · (1 - b + b · length / average length)`. `w` is the count of the term in the
/// query, times the field weight, times the idf `ln(1 + (N - df + 0.5) / (df + 0.5))`. `N` and the
/// average length are over the documents with at least one token in the field. There is no factor
/// `k1 + 1`, as in Lucene since version 8; it would not change any ranking. A document's score is
/// the sum of its term scores in double precision, rounded to single once.
///
/// ```
/// use ir_bm25::{Bm25, DocLengths};
/// assert_eq!(Bm25::ANSERINI.to_string(), "bm25(k1=0.9,b=0.4,lengths=one-byte)");
/// let exact = Bm25::new(1.5, 0.75).with_lengths(DocLengths::Exact);
/// assert!(exact.validate().is_ok());
/// assert!(Bm25::new(-1.0, 0.75).validate().is_err());
/// ```
/// # Source
/// Robertson, Walker, Jones, Hancock-Beaulieu and Gatford, "Okapi at TREC-3", 1994. Lucene's
/// `BM25Similarity` is the variant without negative idf. Kamphuis et al., "Which BM25 Do You
/// Mean?", ECIR 2020, compares the variants.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Bm25 {
    /// Term-frequency saturation. 0 ignores repeated occurrences. Range: >= 0, finite. Default:
    /// 0.9.
    pub k1: f32,
    /// Length normalization. 0 disables it, 1 normalizes fully. Range: 0..=1. Default: 0.4.
    pub b: f32,
    /// Precision of document lengths. Default: [`DocLengths::OneByte`].
    pub lengths: DocLengths,
}

/// Precision of the document lengths in BM25.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DocLengths {
    /// One byte, as in Lucene, Anserini and Pyserini: exact up to 40 tokens, above rounded down to
    /// four significant bits. The average length is exact.
    #[default]
    OneByte,
    /// The exact number of tokens.
    Exact,
}

impl DocLengths {
    /// Name: `one-byte` or `exact`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneByte => "one-byte",
            Self::Exact => "exact",
        }
    }
}

impl Bm25 {
    /// Default of Anserini and Pyserini: `k1` 0.9, `b` 0.4, one-byte lengths.
    pub const ANSERINI: Self = Self::new(0.9, 0.4);
    /// Parameters of the DataFinder paper (Viswanathan et al., ACL 2023): `k1` 0.8, `b` 0.4,
    /// one-byte lengths.
    pub const DATAFINDER: Self = Self::new(0.8, 0.4);
    /// Lucene's default: `k1` 1.2, `b` 0.75, one-byte lengths.
    pub const LUCENE: Self = Self::new(1.2, 0.75);

    /// Parameters with one-byte lengths.
    #[must_use]
    pub const fn new(k1: f32, b: f32) -> Self {
        Self {
            k1,
            b,
            lengths: DocLengths::OneByte,
        }
    }

    /// Sets the precision of document lengths.
    #[must_use]
    pub const fn with_lengths(self, lengths: DocLengths) -> Self {
        Self { lengths, ..self }
    }

    /// Checks the ranges of the parameters, as [`Index::searcher`](crate::Index::searcher) does.
    ///
    /// # Errors
    /// [`SearcherError::Parameter`].
    pub fn validate(&self) -> Result<(), SearcherError> {
        parameter::check(PARAMETERS, &[self.k1, self.b])
    }
}

impl Default for Bm25 {
    /// [`Bm25::ANSERINI`].
    fn default() -> Self {
        Self::ANSERINI
    }
}

impl fmt::Display for Bm25 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.lengths.name();
        write!(f, "bm25(k1={},b={},lengths={lengths})", self.k1, self.b)
    }
}
