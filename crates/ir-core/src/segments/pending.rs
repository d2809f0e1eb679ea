//! Ids written since the last commit.

use std::collections::HashMap;

use super::segment::{Segment, SegmentIndex};
use crate::ids::DocNum;

/// Cost of looking up an id in a segment, relative to hashing one.
const LOOKUP_COST: usize = 20;

/// What a writer did with a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PutOutcome {
    /// Written. A document of an earlier commit with the same id is replaced.
    Written,
    /// Written in place of a document with the same id since the last commit.
    Rewritten,
    /// Skipped because it is blank, if the index drops blank documents.
    Dropped,
    /// Skipped as [`PutOutcome::Dropped`]; the document with the same id is deleted.
    Deleted,
}

/// Ids that were written or deleted since the last commit.
#[derive(Debug, Default)]
pub struct PendingIds(HashMap<String, PendingId>);

/// Documents of an id since the last commit.
#[derive(Debug, Clone, Copy, Default)]
struct PendingId {
    /// Number of its documents in the new segments.
    added: u32,
    /// `true` if the last of these is not deleted.
    is_live: bool,
}

impl PendingIds {
    /// Returns whether there are no changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Records a document that was written to a new segment. It replaces the one with the same id.
    pub fn put(&mut self, id: &str) -> PutOutcome {
        let pending = self.0.entry(id.to_owned()).or_default();
        pending.added += 1;
        if std::mem::replace(&mut pending.is_live, true) {
            PutOutcome::Rewritten
        } else {
            PutOutcome::Written
        }
    }

    /// Records a document that was dropped, as a deletion of the document with the same id.
    /// `is_committed` means the same as in [`PendingIds::delete`].
    pub fn drop_blank(&mut self, id: &str, is_committed: impl FnOnce() -> bool) -> PutOutcome {
        if self.delete(id, is_committed) {
            PutOutcome::Deleted
        } else {
            PutOutcome::Dropped
        }
    }

    /// Records a deletion. `is_committed` tells whether the last commit has the document. Returns
    /// whether there was one.
    pub fn delete(&mut self, id: &str, is_committed: impl FnOnce() -> bool) -> bool {
        if let Some(pending) = self.0.get_mut(id) {
            return std::mem::take(&mut pending.is_live);
        }
        let exists = is_committed();
        if exists {
            self.0.insert(id.to_owned(), PendingId::default());
        }
        exists
    }

    /// Number of documents after a commit to these segments.
    pub(super) fn len_after<I: SegmentIndex>(&self, segments: &[Segment<I>]) -> usize {
        let committed: usize = segments.iter().map(Segment::live).sum();
        let is_committed = |id: &&String| segments.iter().any(|segment| segment.find(id).is_some());
        let replaced = self.0.keys().filter(is_committed).count();
        let added = self.0.values().filter(|pending| pending.is_live).count();
        committed - replaced + added
    }

    /// Deletes the documents of all ids from a segment of the last commit.
    pub(super) fn delete_from<I: SegmentIndex>(&self, segment: &mut Segment<I>) {
        let docs: Vec<DocNum> =
            if self.0.len().saturating_mul(LOOKUP_COST) < segment.index.ids().len() {
                self.0.keys().filter_map(|id| segment.find(id)).collect()
            } else {
                let ids = segment.index.ids().iter().zip((0..).map(DocNum::new));
                let found = ids.filter(|(id, _)| self.0.contains_key(*id));
                found.map(|(_, doc)| doc).collect()
            };
        for doc in docs {
            segment.deleted.insert(doc);
        }
    }

    /// Deletes, from the new segments, the documents that were replaced or deleted later.
    pub(super) fn delete_replaced<I: SegmentIndex>(&self, new: &mut [Segment<I>]) {
        for (id, pending) in &self.0 {
            let mut rest = (pending.added - u32::from(pending.is_live)) as usize;
            for segment in &mut *new {
                if rest == 0 {
                    break;
                }
                let docs: Vec<DocNum> = segment.index.ids().all(id).take(rest).collect();
                rest -= docs.len();
                for doc in docs {
                    segment.deleted.insert(doc);
                }
            }
        }
    }
}
