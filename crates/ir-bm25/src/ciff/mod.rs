//! Common Index File Format (CIFF): exchange of inverted indexes with Anserini, Lucene, PISA,
//! Terrier and JASS (Lin et al. 2020, <https://arxiv.org/abs/2003.08276>).
//!
//! A file consists of Protocol Buffers messages, each after its size as a varint: a header, posting
//! lists of terms with document numbers as gaps, and one record per document with id and length.
//! Only one field, without positions, stored fields and years, is exchanged. The analyzer is named
//! in the description of the header: [`Index::write_ciff`] writes it as JSON,
//! [`CiffReader::analysis`] reads it.

mod error;
mod messages;
mod read;
mod write;

pub use error::CiffError;
pub use read::CiffReader;

use crate::Analysis;
#[cfg(doc)]
use crate::Index;

/// Version of the format.
const VERSION: i32 = 1;
/// Precedes the analysis in descriptions of exported indexes.
const ANALYSIS: &str = "analysis ";

/// Header of a file in the Common Index File Format.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CiffHeader {
    /// Number of posting lists in the file.
    pub posting_lists: u32,
    /// Number of documents in the file.
    pub documents: u32,
    /// Number of terms of the exported index. A file may contain the posting lists of some terms
    /// only, such as the terms of queries.
    pub total_posting_lists: u32,
    /// Number of tokens of the exported index. Lucene's document lengths are rounded, so that their
    /// sum may differ.
    pub tokens: u64,
    /// Average document length of the exported index.
    pub average_length: f64,
    /// Free text about the exporting program and its analyzer.
    pub description: String,
}

impl CiffHeader {
    /// Analysis that [`Index::write_ciff`] has recorded in the description. [`None`] for files of
    /// other programs and indexes with a custom analyzer.
    #[must_use]
    pub fn analysis(&self) -> Option<Analysis> {
        let (_, json) = self.description.split_once(ANALYSIS)?;
        serde_json::from_str(json).ok()
    }
}
