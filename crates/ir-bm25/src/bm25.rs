//! BM25's parameters, as a value.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::SearcherError;

/// Okapi BM25 as Lucene computes it; chosen when searching, not when indexing.
///
/// The part of one term in a document's score is `w - w / (1 + tf / K)`, which is `w · tf / (tf + K)`, with
/// `K = k1 · (1 - b + b · length / average length)`; `w` is the term's count in the query, times the field's weight,
/// times `ln(1 + (N - df + 0.5) / (df + 0.5))`. `N` and the average length are over the documents whose field has at
/// least one token. There is no factor `k1 + 1`, as in Lucene from version 8 on: it would not change any order.
/// A document's score is the sum of its parts, added up in double precision and rounded to single once.
///
/// ```
/// use ir_bm25::{Bm25, DocLengths};
/// assert_eq!(Bm25::ANSERINI.to_string(), "bm25(k1=0.9,b=0.4,lengths=one-byte)");
/// let exact = Bm25::new(1.5, 0.75).with_lengths(DocLengths::Exact);
/// assert!(exact.validate().is_ok());
/// assert!(Bm25::new(-1.0, 0.75).validate().is_err());
/// ```
/// # Source
/// Robertson, Walker, Jones, Hancock-Beaulieu and Gatford, "Okapi at TREC-3", 1994; the form without negative idf
/// is that of Lucene's `BM25Similarity`. Kamphuis et al., "Which BM25 Do You Mean?", ECIR 2020, compares the forms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Bm25 {
    /// How slowly further occurrences of a term stop to count: 0 counts none but the first. At least 0, finite.
    pub k1: f32,
    /// How far a document's length is taken into account: 0 not at all, 1 fully. From 0 to 1.
    pub b: f32,
    /// The form of the lengths.
    pub lengths: DocLengths,
}

/// The form in which BM25 takes the lengths of documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DocLengths {
    /// In one byte as Lucene, Anserini and Pyserini store them: exact up to 40 tokens, rounded down to four
    /// significant bits above. The average is exact.
    #[default]
    OneByte,
    /// The exact number of tokens.
    Exact,
}

impl Bm25 {
    /// Anserini's and Pyserini's default: k1 .9, b .4, lengths in one byte.
    pub const ANSERINI: Self = Self::new(0.9, 0.4);
    /// What DataFinder (Viswanathan et al., ACL 2023) was published with: k1 .8, b .4, lengths in one byte.
    pub const DATAFINDER: Self = Self::new(0.8, 0.4);
    /// Lucene's own default: k1 1.2, b .75, lengths in one byte.
    pub const LUCENE: Self = Self::new(1.2, 0.75);

    /// These parameters, with lengths in one byte.
    #[must_use]
    pub const fn new(k1: f32, b: f32) -> Self {
        Self {
            k1,
            b,
            lengths: DocLengths::OneByte,
        }
    }

    /// The same with the other form of lengths.
    #[must_use]
    pub const fn with_lengths(self, lengths: DocLengths) -> Self {
        Self { lengths, ..self }
    }

    /// Checks the ranges; [`Index::searcher`](crate::Index::searcher) does so too.
    ///
    /// # Errors
    /// When k1 is negative, infinite or NaN, or b is not in 0..=1.
    pub fn validate(&self) -> Result<(), SearcherError> {
        if !(self.k1 >= 0.0 && self.k1.is_finite()) {
            return Err(SearcherError::Parameter {
                name: "k1",
                expected: "a finite number not below 0",
                found: self.k1,
            });
        }
        if !(0.0..=1.0).contains(&self.b) {
            return Err(SearcherError::Parameter {
                name: "b",
                expected: "a number from 0 to 1",
                found: self.b,
            });
        }
        Ok(())
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
        let lengths = match self.lengths {
            DocLengths::OneByte => "one-byte",
            DocLengths::Exact => "exact",
        };
        write!(f, "bm25(k1={},b={},lengths={lengths})", self.k1, self.b)
    }
}
