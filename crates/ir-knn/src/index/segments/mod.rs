//! Segmented vector indexes: vectors are added, replaced and deleted without a rebuild.
//!
//! [`ir_core::segments`] documents the files, commits and merge policy. The segments are flat
//! indexes, or HNSW indexes if the configuration has graph parameters ([`VectorIndexConfig`]). They
//! are immutable: a graph has links to deleted vectors, which a search traverses and does not
//! return, until a merge builds a new graph. A graph per segment was preferred to one graph into
//! which vectors are inserted, because the file of a graph would be rewritten by every commit, and
//! the graph would depend on the history of writes. As it is, merged segments have the bytes of an
//! index built once.
//!
//! Exact search scans the segments as if they were one index ([`FlatScan`]).
//!
//! [`FlatScan`]: super::flat::FlatScan

mod config;
mod error;
mod hnsw;
mod index;
mod merge;
mod vector_segment;
mod writer;

pub use config::VectorIndexConfig;
pub use error::VectorIndexWriterError;
pub use hnsw::SegmentedHnswSearcher;
pub use index::SegmentedVectorIndex;
pub use ir_core::segments::{PutOutcome, SegmentStats};
pub use writer::VectorIndexWriter;

use vector_segment::VectorSegment;

/// A segment and its deleted vectors.
type Segment = ir_core::segments::Segment<VectorSegment>;
