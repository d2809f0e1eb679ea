//! Segmented indexes: documents are added, replaced and deleted without a rebuild.
//!
//! A segmented index is a folder:
//!
//! | file | content |
//! |---|---|
//! | `manifest.ir` | the last commit: configuration, and the segments from oldest to newest |
//! | `segment-N.ir` | an immutable index ([`crate::Index`]) |
//! | `deleted-N.ir` | the deleted documents of a segment |
//! | `writer.lock` | locked by the [`IndexWriter`] |
//!
//! A commit writes new files, syncs them, and then replaces the manifest atomically: a process that
//! is killed leaves the index at its last commit. Files to which the manifest does not refer are
//! removed by the next commit or writer.
//!
//! Merges rewrite adjacent segments of similar size as one, without their deleted documents. The
//! result has the bytes of an index that is built from these documents ([`crate::indexer`]).

mod error;
mod manifest;
mod merge_policy;
mod searcher;
mod snapshot;
mod writer;

pub use error::IndexWriterError;
pub use searcher::Searcher;
pub use snapshot::{SegmentStats, SegmentedIndex};
pub use writer::{IndexWriter, PutOutcome};
