//! The file format of an index: sections and metadata.

use ir_core::store::IndexFormat;
use serde::{Deserialize, Serialize};

use crate::IndexConfig;
use crate::postings::BLOCK;

/// The container format; see [`ir_core::store`].
pub(crate) static FORMAT: IndexFormat = IndexFormat {
    magic: *b"ir-bm25\n",
    version: 5,
    name: "a BM25 index",
    large_sections: &[section::POSTINGS, section::STORED],
};

/// Names of the sections.
pub(crate) mod section {
    /// [`Metadata`](super::Metadata) as JSON.
    pub(crate) const META: &str = "meta";
    /// Document ids in document order ([`ir_core::DocIds::write_section`]).
    pub(crate) const IDS: &str = "ids";
    /// Years in document order, as varints: 0 for none, else 1 and the year in zigzag encoding.
    /// Absent when no document has a year.
    pub(crate) const YEARS: &str = "years";
    /// Document lengths, field by field, in Lucene's one-byte encoding.
    pub(crate) const CODES: &str = "codes";
    /// Differences of the exact document lengths from the decoded ones, field by field, as varints;
    /// none for codes that encode one length ([`crate::small_float`]).
    pub(crate) const RESIDUALS: &str = "residuals";
    /// Term dictionary: finite state transducer from field number and term to an offset in
    /// `postings`.
    pub(crate) const TERMS: &str = "terms";
    /// Posting lists ([`crate::postings`]), with checksums of their pages in `postings-pages`
    /// ([`ir_core::store::PagedSection`]).
    pub(crate) const POSTINGS: &str = "postings";
    /// Stored fields, document by document ([`crate::stored_fields`]), with checksums of their
    /// pages in `stored-pages`.
    pub(crate) const STORED: &str = "stored";
    /// End offsets of the stored fields of each document, eight bytes each.
    pub(crate) const STORED_ENDS: &str = "stored-ends";
}

/// The metadata of an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Metadata {
    /// The crate that wrote the index, and its version.
    pub(crate) program: String,
    pub(crate) config: IndexConfig,
    /// Name of the custom analyzer, if one was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) analyzer: Option<String>,
    pub(crate) documents: u32,
    pub(crate) blank_dropped: u64,
    pub(crate) fields: Vec<FieldStats>,
}

/// Collection statistics of one field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FieldStats {
    /// Name of the field, as in [`IndexedFields::names`](crate::IndexedFields::names).
    pub name: String,
    /// Number of documents with at least one token in the field: BM25's N.
    pub docs: u64,
    /// Number of tokens after analysis.
    pub tokens: u64,
    /// Number of distinct terms.
    pub terms: u64,
    /// Number of postings: pairs of a term and a document.
    pub postings: u64,
    /// Maximum number of tokens in one document.
    pub longest: u32,
}

impl FieldStats {
    /// BM25's average document length, over the documents with at least one token in the field;
    /// 0 if there are none.
    #[must_use]
    pub fn average_length(&self) -> f64 {
        if self.docs == 0 {
            0.0
        } else {
            self.tokens as f64 / self.docs as f64
        }
    }

    /// Returns whether a field of an index of `documents` documents can have these statistics.
    fn is_possible(&self, documents: u64) -> bool {
        let longest = u64::from(self.longest);
        self.docs <= documents
            && (self.docs..=self.docs.saturating_mul(longest)).contains(&self.tokens)
            && (self.terms..=self.tokens).contains(&self.postings)
            && self.postings <= self.terms.saturating_mul(self.docs)
            && longest <= self.tokens
    }
}

/// Returns `true` if an index of `documents` documents with `bytes` bytes of postings can have
/// these statistics. A posting list takes at least one byte, and so does a block of postings. So
/// forged statistics cannot make a reader list more terms and postings than that.
pub(crate) fn are_possible(fields: &[FieldStats], documents: u64, bytes: u64) -> bool {
    let sum = |count: fn(&FieldStats) -> u64| {
        let mut counts = fields.iter().map(count);
        counts.try_fold(0, u64::checked_add)
    };
    fields.iter().all(|field| field.is_possible(documents))
        && sum(|field| field.terms).is_some_and(|terms| terms <= bytes)
        && sum(|field| field.postings)
            .is_some_and(|postings| postings <= bytes.saturating_mul(BLOCK as u64))
        && sum(|field| field.tokens).is_some()
}
