//! External collections of feedback documents, of `ir search` and `ir sweep`.

use anyhow::Result;
use ir_bm25::{SegmentedIndex, StoredFields};
use ir_core::store::Verify;
use ir_data::TextEncoding;
use ir_system::SystemSpec;

use crate::shared::console::Console;
use crate::shared::indexing::IndexOptions;
use crate::shared::input::{CollectionSource, open_collection};

/// External collection of feedback documents: a saved index with its texts, or documents.
#[derive(Debug)]
pub(crate) struct FeedbackCollection<'a> {
    /// Argument of `--feedback-collection`.
    pub(crate) name: &'a str,
    pub(crate) encoding: TextEncoding,
    pub(crate) verify: Verify,
    /// How documents are indexed: as those that are searched.
    pub(crate) setup: &'a IndexOptions,
    /// If `true`, their index has positions.
    pub(crate) positions: bool,
    pub(crate) threads: Option<usize>,
}

/// Returns `true` if a system has feedback documents of another collection.
pub(crate) fn has_feedback_collection(spec: &SystemSpec) -> bool {
    let mut systems = spec.systems.iter();
    systems.any(|system| system.parameters.contains_key("feedback_collection"))
}

impl FeedbackCollection<'_> {
    /// Opens the saved index, or indexes the documents and their texts in memory.
    pub(crate) fn open(&self, console: &Console) -> Result<SegmentedIndex> {
        let opened = open_collection(self.name, self.encoding, self.verify, console)?;
        Ok(match opened {
            CollectionSource::Index(index) => index,
            CollectionSource::Documents(documents) => {
                let store = StoredFields::Everything;
                let config = self.setup.config(&documents, None, store)?;
                let config = config.with_positions(self.positions);
                let threads = self.threads;
                let built = (self.setup).build(&documents, None, config, threads, None, console)?;
                built.into()
            }
        })
    }
}
