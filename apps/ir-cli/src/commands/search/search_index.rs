//! The index of `ir search`, and the collection from which it was built.

use ir_bm25::SegmentedIndex;
use ir_data::Collection;

/// An index and, if it was built by this command, its collection.
pub(crate) struct SearchIndex {
    pub(crate) name: String,
    pub(crate) index: SegmentedIndex,
    pub(crate) collection: Option<Collection>,
}
