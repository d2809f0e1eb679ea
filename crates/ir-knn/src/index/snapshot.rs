//! Commit of a segmented index, with the numbers of the documents.

use std::path::{Path, PathBuf};

use ir_core::segments::{Commit, Segment, SegmentIndex};
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{DocFilter, DocIds, DocNum, SegmentOrder, SegmentedIds};

use super::flat::RowNumbers;
use crate::simd::Cpu;

/// Open commit of an index of segments `I` with the configuration `C`.
#[derive(Debug)]
pub(super) struct Snapshot<I, C> {
    pub(super) cpu: Cpu,
    /// The folder; `None` for a single index.
    pub(super) path: Option<PathBuf>,
    pub(super) config: C,
    pub(super) commit: u64,
    pub(super) segments: Vec<NumberedSegment<I>>,
    pub(super) ids: DocIds,
}

/// Segment with the numbers of its documents in the whole index.
#[derive(Debug)]
pub(super) struct NumberedSegment<I> {
    pub(super) segment: Segment<I>,
    first: u32,
    pub(super) numbers: RowNumbers,
}

impl<I: SegmentIndex> Snapshot<I, I::Config> {
    /// Opens the last commit of the index in a folder.
    pub(super) fn open(folder: &Path, verify: Verify) -> Result<Self, OpenIndexError> {
        let commit = Commit::<I>::open(folder, verify)?;
        let path = Some(folder.to_owned());
        Ok(Self::new(
            path,
            commit.config,
            commit.number,
            commit.segments,
        ))
    }

    /// Creates a snapshot with an index as the only segment.
    pub(super) fn from_index(config: I::Config, index: I) -> Self {
        Self::new(None, config, 0, vec![Segment::new(0, index)])
    }

    fn new(
        path: Option<PathBuf>,
        config: I::Config,
        commit: u64,
        segments: Vec<Segment<I>>,
    ) -> Self {
        let mut first = 0;
        let number = |segment: Segment<I>| {
            let numbered = NumberedSegment {
                numbers: RowNumbers::new(first, segment.index.ids().len(), &segment.deleted),
                first,
                segment,
            };
            first += numbered.segment.live() as u32;
            numbered
        };
        let segments: Vec<NumberedSegment<I>> = segments.into_iter().map(number).collect();
        let ids = match &*segments {
            [only] if only.numbers.is_identity() => only.segment.index.ids().clone(),
            segments => {
                let parts = segments.iter().map(|numbered| &numbered.segment);
                let parts = parts.map(|part| (part.index.ids().clone(), part.deleted.clone()));
                SegmentedIds::new(parts.collect(), SegmentOrder::Insertion).into()
            }
        };
        Self {
            cpu: Cpu::detect(),
            path,
            config,
            commit,
            segments,
            ids,
        }
    }

    /// The index, if it is a single one without deleted documents.
    pub(super) fn single(&self) -> Option<&I> {
        match &*self.segments {
            [only] if only.numbers.is_identity() => Some(&only.segment.index),
            _ => None,
        }
    }

    /// Segment of a document and its number there.
    ///
    /// # Panics
    /// If `doc` is not a document of the index.
    pub(super) fn locate(&self, doc: DocNum) -> (&NumberedSegment<I>, DocNum) {
        assert!(doc.index() < self.ids.len(), "no document {}", doc.get());
        let segments = &self.segments;
        let at = segments.partition_point(|numbered| numbered.first <= doc.get());
        let numbered = &segments[at - 1];
        (numbered, DocNum::new(numbered.numbers.row(doc) as u32))
    }
}

impl<I: SegmentIndex> NumberedSegment<I> {
    /// Returns `true` if no document is deleted.
    pub(super) fn is_whole(&self) -> bool {
        self.segment.deleted.count() == Some(0)
    }
}
