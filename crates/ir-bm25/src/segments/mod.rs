//! Segmented indexes: documents are added, replaced and deleted without a rebuild.
//!
//! [`ir_core::segments`] documents the files, commits and merge policy. The segments are indexes
//! ([`crate::Index`]). Merges rewrite adjacent segments of similar size as one, without their
//! deleted documents. The result has the bytes of an index that is built from these documents
//! ([`crate::indexer`]).

mod combined_fields;
mod error;
mod searcher;
mod segment_index;
mod snapshot;
mod writer;

pub use error::IndexWriterError;
pub use searcher::Searcher;
pub(crate) use snapshot::NumberedSegment;
pub use snapshot::SegmentedIndex;
pub use writer::IndexWriter;

pub use ir_core::segments::{PutOutcome, SegmentStats};

/// A segment and its deleted documents.
type Segment = ir_core::segments::Segment<crate::Index>;
