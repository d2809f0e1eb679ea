//! What an index is made of, as a value that is saved with it.

use serde::{Deserialize, Serialize};

use crate::Analysis;

/// How documents become an index. Saved with the index ([`Index::config`](crate::Index::config)).
///
/// BM25's k1, b and the treatment of lengths are not here: they are chosen when searching.
/// Nor are memory and threads, which do not show in the result: see [`IndexBuilder`](crate::IndexBuilder).
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
    /// How text becomes terms, of documents and of queries. Default: Anserini's English.
    pub analysis: Analysis,
    /// What is searched. Default: title and text as one field.
    pub fields: IndexedFields,
    /// How documents are numbered, and so how equal scores are ordered. Default: by id.
    pub order: DocOrder,
    /// What happens when an id occurs twice. Default: an error.
    pub duplicates: DuplicateIds,
    /// What happens to documents without content. Default: they are kept, and match nothing.
    pub blank: BlankDocs,
    /// What is kept beside the inverted index. Default: nothing (but ids and years).
    pub store: StoredFields,
}

macro_rules! with {
    ($($name:ident: $field:ident, $type:ty);* $(;)?) => {$(
        #[doc = concat!("The same with another [`", stringify!($field), "`](Self::", stringify!($field), ").")]
        #[must_use]
        pub fn $name(self, $field: $type) -> Self {
            Self { $field, ..self }
        }
    )*};
}

impl IndexConfig {
    with! {
        with_analysis: analysis, Analysis;
        with_fields: fields, IndexedFields;
        with_order: order, DocOrder;
        with_duplicates: duplicates, DuplicateIds;
        with_blank: blank, BlankDocs;
        with_store: store, StoredFields;
    }
}

/// Which parts of a document are searched, and as how many fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum IndexedFields {
    /// Title, a line break and text as one field, `contents`: Anserini's flat form.
    #[default]
    One,
    /// The text alone, as the field `text`; titles are not searched.
    TextOnly,
    /// `title` and `text` as two fields with their own statistics, weighted when searching.
    Separate,
}

impl IndexedFields {
    /// The names of the fields, in their order.
    #[must_use]
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::One => &["contents"],
            Self::TextOnly => &["text"],
            Self::Separate => &["title", "text"],
        }
    }
}

/// How documents are numbered. Equal scores are ordered by number, ascending.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DocOrder {
    /// By ascending id, as bytes: equal scores then stand as in Anserini's runs.
    #[default]
    Id,
    /// As they were given: equal scores then stand as in a Lucene index written by one thread.
    Insertion,
}

/// What happens when an id occurs twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DuplicateIds {
    /// Building fails and names the id.
    #[default]
    Reject,
    /// All are kept, as documents of their own. Wrap the searcher in
    /// [`Distinct`](ir_core::Distinct) to get each id once.
    Keep,
}

/// What happens to documents of which no searched part holds anything but blanks and control
/// characters (up to U+0020, as in Java's `trim`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlankDocs {
    /// They get a number and match no query. Scores do not depend on them.
    #[default]
    Keep,
    /// They are left out and counted in [`IndexStats::blank_dropped`](crate::IndexStats::blank_dropped), as Anserini does.
    Drop,
}

/// What is kept of the documents beside the inverted index. Ids and years always are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StoredFields {
    /// Nothing more.
    #[default]
    Nothing,
    /// Attributes, for [`Index::attributes`](crate::Index::attributes) and [`Index::select`](crate::Index::select).
    Attributes,
    /// Title, text and attributes, for [`Index::document`](crate::Index::document).
    Everything,
}
