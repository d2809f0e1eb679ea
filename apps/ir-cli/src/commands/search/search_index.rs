//! The index of `ir search`, and the collection from which it was built.

use ir_bm25::SegmentedIndex;
use ir_data::Collection;

use crate::shared::input::DocumentOrder;

/// An index and, if it was built by this command, its collection.
pub(crate) struct SearchIndex {
    pub(crate) name: String,
    pub(crate) index: SegmentedIndex,
    pub(crate) collection: Option<Collection>,
    /// Order in which this command indexed the collection; `None` for a saved index.
    pub(crate) order: Option<DocumentOrder>,
}
