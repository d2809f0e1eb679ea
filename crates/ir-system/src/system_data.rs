//! Documents and queries of systems.

use std::collections::BTreeSet;

use ir_bm25::{IndexConfig, SegmentedIndex};
use ir_core::store::Verify;
use ir_core::{Corpus, DocIds, Query};
use ir_data::Collection;

use crate::error::SystemError;

/// Documents and queries on which systems are opened.
pub trait SystemData {
    /// Returns the name of the data, for messages.
    fn name(&self) -> &str;

    /// Returns the documents, in their order.
    fn corpus(&self) -> &dyn Corpus;

    /// Returns the ids of the documents, in their order.
    fn ids(&self) -> &DocIds;

    /// Returns a hash of all documents, in order: part of every cache key.
    fn corpus_hash(&self) -> &str;

    /// Returns the names of the attributes that some document has.
    fn attributes(&self) -> &BTreeSet<String>;

    /// Returns the collection of the documents; `None` for an index.
    fn collection(&self) -> Option<&Collection>;

    /// Returns the queries to search.
    fn queries(&self) -> &[Query];

    /// Returns all queries of the collection, searched or not, with the texts to search.
    ///
    /// # Errors
    /// Returns [`SystemError::Stage`] if the queries cannot be read.
    fn all_queries(&self) -> Result<Vec<Query>, SystemError>;

    /// Returns the split of the queries to search.
    fn split(&self) -> &str;

    /// Returns the text of a query of the collection in the form of the queries to search.
    fn text_of(&self, query: &Query) -> String;

    /// Returns an index of the documents that is searched in place of one that is built. Default:
    /// `None`.
    fn index(&self) -> Option<&SegmentedIndex> {
        None
    }

    /// Returns all documents of the collection, in any order, for comparisons with the texts of
    /// saved vectors. `None` if only the documents of [`SystemData::index`] are known, which may
    /// lack texts and records. Default: the documents, unless there is an index.
    fn all_documents(&self) -> Option<&dyn Corpus> {
        self.index().is_none().then(|| self.corpus())
    }

    /// Returns the verification of files of saved vectors. Default: all sections, when a file is
    /// opened.
    fn verification(&self) -> Verify {
        Verify::AllSections
    }

    /// Opens the index of another collection, by name or path, in place of one that is built with
    /// `config`. Default: `None`.
    fn other_index(
        &self,
        _name: &str,
        _config: &IndexConfig,
    ) -> Option<Result<SegmentedIndex, SystemError>> {
        None
    }
}
