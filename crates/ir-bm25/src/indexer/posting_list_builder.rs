//! Construction of an index from posting lists.

use std::path::Path;

use ir_core::Progress;
use ir_core::store::Verify;

use super::IndexedDocs;
use super::index_merge::{RUN_BYTES, spill, write};
use super::index_writer::write_index;
use super::sorted_run::{RunWriter, SortedRuns};
use crate::postings::Posting;
use crate::{BuildError, DuplicateIds, Index, IndexConfig};

/// Builder of an index with one field from posting lists, in place of documents.
pub(crate) struct PostingListBuilder {
    config: IndexConfig,
    indexed: IndexedDocs,
    run: RunWriter,
    /// Key of the last list of the run.
    last: Vec<u8>,
    postings: u64,
    memory: usize,
}

impl PostingListBuilder {
    /// `config` has one field, and neither positions nor stored fields. `memory` is the budget for
    /// postings in bytes.
    pub(crate) fn new(config: IndexConfig, memory: usize) -> Self {
        Self {
            config,
            indexed: IndexedDocs {
                lengths: vec![Vec::new()],
                runs: SortedRuns::with_unique_terms(),
                ..IndexedDocs::default()
            },
            run: RunWriter::default(),
            last: Vec::new(),
            postings: 0,
            memory,
        }
    }

    /// Adds the posting list of a term. Terms may have any order. Postings must ascend by document,
    /// and must not be empty.
    pub(crate) fn push_list(&mut self, term: &str, postings: &[Posting]) -> Result<(), BuildError> {
        // The number of the field precedes the term.
        let key = [&[0], term.as_bytes()].concat();
        if key <= self.last || self.run.len() >= RUN_BYTES {
            self.finish_run();
            spill(&mut self.indexed, self.memory)?;
        }
        self.run.push(&key, postings, &[]);
        self.last = key;
        self.postings += postings.len() as u64;
        Ok(())
    }

    /// Adds the next document.
    pub(crate) fn push_document(&mut self, id: &str, length: u32) -> Result<(), BuildError> {
        self.indexed.ids.push(id)?;
        self.indexed.lengths[0].push(length);
        Ok(())
    }

    /// Sum of the document lengths.
    pub(crate) fn tokens(&self) -> u64 {
        let lengths = self.indexed.lengths.iter().flatten();
        lengths.map(|&length| u64::from(length)).sum()
    }

    /// Number of postings of all lists.
    pub(crate) const fn postings(&self) -> u64 {
        self.postings
    }

    fn finish_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        self.indexed.runs.push(run.into_bytes());
        self.last.clear();
    }

    /// Completes the index in memory.
    pub(crate) fn finish(self, progress: &mut dyn Progress) -> Result<Index, BuildError> {
        let (indexed, config) = self.into_indexed()?;
        let path = Path::new("(memory)");
        let bytes = write_index(indexed, &config, None, Vec::new(), path, progress)?;
        Ok(Index::from_bytes(bytes, Verify::SmallSections)?)
    }

    /// Writes the index to a file and opens it. The write is atomic.
    pub(crate) fn finish_to(
        self,
        path: &Path,
        progress: &mut dyn Progress,
    ) -> Result<Index, BuildError> {
        let (indexed, config) = self.into_indexed()?;
        write(indexed, &config, None, path, progress)
    }

    fn into_indexed(mut self) -> Result<(IndexedDocs, IndexConfig), BuildError> {
        self.finish_run();
        if self.config.duplicates == DuplicateIds::Reject {
            self.indexed.ids.check_unique()?;
        }
        Ok((self.indexed, self.config))
    }
}
