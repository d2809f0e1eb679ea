//! Segmented indexes: documents are added, replaced and deleted without a rebuild. The parts that
//! do not depend on the type of index: files, commits, deletions, merge policy.
//!
//! A segmented index is a folder:
//!
//! | file | content |
//! |---|---|
//! | `manifest.ir` | the last commit: configuration, and the segments from oldest to newest |
//! | `segment-N.ir` | an immutable index ([`SegmentIndex`]) |
//! | `deleted-N.ir` | the deleted documents of a segment |
//! | `writer.lock` | locked by the writer ([`SegmentFolder`]); empty before the first commit |
//!
//! A commit writes new files, syncs them, and then replaces the manifest atomically: a process that
//! is killed leaves the index at its last commit. The manifest records a checksum of each file.
//! Files to which it does not refer are removed by the next commit or writer.
//!
//! A writer collects the ids written since the last commit ([`PendingIds`]), writes the documents
//! as new segments, and commits both ([`SegmentFolder::commit`]). Then it merges the segments that
//! the merge policy selects ([`SegmentFolder::segments_to_merge`], [`SegmentFolder::replace`]). A
//! reader opens a [`Commit`] and never waits.

mod commit;
mod deleted;
mod error;
mod files;
mod folder;
mod lock;
mod manifest;
mod merge_policy;
mod pending;
mod segment;

pub use commit::{Commit, exists, folder_of};
pub use error::SegmentsError;
pub use files::MANIFEST_NAME;
pub use folder::SegmentFolder;
pub use lock::LOCK_NAME;
pub use pending::{PendingIds, PutOutcome};
pub use segment::{Segment, SegmentIndex, SegmentStats};
