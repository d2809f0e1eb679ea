//! Index configuration: analysis, fields, numbering, stored fields.

mod fields;

pub use fields::{FieldNames, FieldNamesError, IndexedFields};

use serde::{Deserialize, Serialize};

use crate::Analysis;
use ir_core::setters;

/// Index configuration. Saved with the index ([`Index::config`](crate::Index::config)).
///
/// BM25 parameters are chosen when searching ([`Bm25`](crate::Bm25)). Memory budget and number of
/// threads do not affect the index and are set on the [`IndexBuilder`](crate::IndexBuilder).
///
/// ```
/// use ir_bm25::{Analysis, IndexedFields, IndexConfig, StoredFields};
/// let config = IndexConfig::default()
///     .with_analysis(Analysis::english())
///     .with_fields(IndexedFields::Separate)
///     .with_store(StoredFields::Everything);
/// assert_eq!(config.fields.names(), ["title", "text"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct IndexConfig {
    /// Text analysis of documents and queries. Default: [`Analysis::porter`].
    pub analysis: Analysis,
    /// Indexed fields. Default: [`IndexedFields::One`].
    pub fields: IndexedFields,
    /// Document numbering, which breaks ties. Default: [`DocOrder::Id`].
    pub order: DocOrder,
    /// Treatment of repeated document ids. Default: [`DuplicateIds::Reject`].
    pub duplicates: DuplicateIds,
    /// Treatment of blank documents. Default: [`BlankDocs::Keep`].
    pub blank: BlankDocs,
    /// Stored fields. Default: [`StoredFields::Nothing`].
    pub store: StoredFields,
    /// If `true`, postings store the positions of terms, which phrases and proximity need. Other
    /// queries have the same rankings and speed with and without positions. An index without stored
    /// texts is about twice as large with positions. Default: false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub positions: bool,
}

impl IndexConfig {
    setters! {
        with_analysis: analysis, Analysis;
        with_fields: fields, IndexedFields;
        with_order: order, DocOrder;
        with_duplicates: duplicates, DuplicateIds;
        with_blank: blank, BlankDocs;
        with_store: store, StoredFields;
        with_positions: positions, bool;
    }
}

/// Document numbering. Ties are broken by ascending document number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DocOrder {
    /// By ascending id, compared as bytes: ties are ordered as in Anserini's runs.
    #[default]
    Id,
    /// In insertion order: ties are ordered as in a Lucene index written by one thread.
    Insertion,
}

/// Treatment of repeated document ids.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DuplicateIds {
    /// Indexing fails with an error that names the id.
    #[default]
    Reject,
    /// All are indexed as separate documents. Wrap the searcher in
    /// [`Distinct`](ir_core::Distinct) to rank each id once.
    Keep,
}

/// Treatment of blank documents. The indexed fields of a blank document contain only characters up
/// to U+0020 (as in Java's `trim`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlankDocs {
    /// Blank documents are indexed and match no query. Scores do not depend on them.
    #[default]
    Keep,
    /// Blank documents are skipped, as in Anserini, and counted in
    /// [`IndexStats::blank_dropped`](crate::IndexStats::blank_dropped).
    Drop,
}

/// Stored fields, in increasing order. Document ids and years are always stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StoredFields {
    /// Nothing but document ids and years.
    #[default]
    Nothing,
    /// Attributes, for [`Index::attributes`](crate::Index::attributes) and
    /// [`Index::select`](crate::Index::select).
    Attributes,
    /// Title, text and attributes, for [`Index::document`](crate::Index::document).
    Everything,
}
