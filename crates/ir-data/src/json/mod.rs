//! JSON records: documents, attribute values and error positions.

mod document;
mod names;
mod records;
mod value;

pub(crate) use document::{parse_document, write_document};
pub(crate) use names::alternatives;
pub use names::{GivenNames, RecordKind};
pub(crate) use records::{RecordReader, for_each_record};
pub(crate) use value::{JsonLineNumbers, id_of, json_error, parse_object, type_name};

/// Names of the fields of a document or query: members of a JSON object, or columns of a table.
/// Every other field becomes an attribute.
///
/// ```
/// use ir_data::FieldNames;
/// let mine = FieldNames { id: "docno".into(), text: "body".into(), ..FieldNames::beir() };
/// assert_eq!(mine.title.as_deref(), Some("title"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldNames {
    /// Id field: a string, an integer, or a floating-point number without a fraction. Required.
    pub id: String,
    /// Title field. None: documents have no title.
    pub title: Option<String>,
    /// Text field. Required; may be empty or `null`.
    pub text: String,
    /// Field with an object. Its members become attributes. Another value is an attribute itself.
    /// Optional.
    pub metadata: Option<String>,
}

impl FieldNames {
    /// Fields of BEIR: `_id`, `title`, `text`, `metadata`.
    #[must_use]
    pub fn beir() -> Self {
        Self {
            id: "_id".to_owned(),
            title: Some("title".to_owned()),
            text: "text".to_owned(),
            metadata: Some("metadata".to_owned()),
        }
    }

    /// Fields of Anserini and DataFinder: `id`, `title`, `contents`.
    #[must_use]
    pub fn anserini() -> Self {
        Self {
            id: "id".to_owned(),
            title: Some("title".to_owned()),
            text: "contents".to_owned(),
            metadata: None,
        }
    }
}
