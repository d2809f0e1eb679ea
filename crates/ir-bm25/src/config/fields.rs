//! Named fields of an index, and their texts.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use ir_core::{AttributeValue, Document};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Maximum number of fields.
const MAX_FIELDS: usize = 64;

/// Indexed fields of a document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum IndexedFields {
    /// One field, `contents`: title, a line break and text, as in Anserini's flat indexes.
    #[default]
    One,
    /// One field, `text`. Titles are not indexed.
    TextOnly,
    /// Two fields, `title` and `text`, with separate statistics and weights
    /// ([`Searcher::with_weights`](crate::Searcher::with_weights)).
    Separate,
    /// Named fields of the documents, such as attributes, with separate statistics and weights.
    Named(FieldNames),
}

/// Names of the fields of an index, for [`IndexedFields::Named`]: `id`, `title`, `text`, or
/// attributes of the documents. A list or map is indexed as its members, a number as its digits; a
/// document without the attribute has an empty field.
///
/// ```
/// use ir_bm25::{Bm25, FieldNames, Index, IndexConfig, IndexedFields};
/// use ir_core::{Document, NoProgress, Retriever, Search};
///
/// let documents = vec![
///     Document::new("a").with_title("Tea").with("keywords", "ships"),
///     Document::new("b").with_title("Ships").with("keywords", "tea"),
/// ];
/// let fields = IndexedFields::Named(FieldNames::new(["title", "keywords"])?);
/// let config = IndexConfig::default().with_fields(fields);
/// let index = Index::build(&documents, &config, &mut NoProgress)?;
/// let searcher = index.searcher(Bm25::default())?.with_weights(&[("keywords", 3.0)])?;
/// let first = searcher.search("tea", &Search::top(1))?.hits()[0].doc;
/// assert_eq!(index.ids().id(first), "b");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FieldNames(&'static [&'static str]);

/// Error of a list of field names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum FieldNamesError {
    /// There are no names, or too many.
    #[error("expected 1 to {MAX_FIELDS} fields, found {found}")]
    Count { found: usize },
    /// A name is empty or has a control character.
    #[error("expected a name without control characters, found {found:?}")]
    Name { found: String },
    /// A name occurs more than once.
    #[error("expected different fields, found {found:?} twice")]
    Repeated { found: String },
}

impl FieldNames {
    /// Creates a list of names. Lists are kept for the life of the process, equal ones once.
    ///
    /// # Errors
    /// There are no names or more than 64, a name repeats, is empty, or has a control character.
    pub fn new<N: Into<String>>(
        names: impl IntoIterator<Item = N>,
    ) -> Result<Self, FieldNamesError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        if names.is_empty() || names.len() > MAX_FIELDS {
            let found = names.len();
            return Err(FieldNamesError::Count { found });
        }
        for (n, name) in names.iter().enumerate() {
            let found = || name.clone();
            if name.trim().is_empty() || name.chars().any(char::is_control) {
                return Err(FieldNamesError::Name { found: found() });
            }
            if names[..n].contains(name) {
                return Err(FieldNamesError::Repeated { found: found() });
            }
        }
        Ok(Self(intern(names)))
    }

    /// Returns the names, in field order.
    #[must_use]
    pub const fn names(self) -> &'static [&'static str] {
        self.0
    }
}

/// The same list for equal names.
fn intern(names: Vec<String>) -> &'static [&'static str] {
    static KNOWN: Mutex<Vec<&'static [&'static str]>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut lists = known.iter().copied();
    if let Some(found) =
        lists.find(|list| list.iter().copied().eq(names.iter().map(String::as_str)))
    {
        return found;
    }
    let names: Vec<&'static str> = names.into_iter().map(|name| &*name.leak()).collect();
    let names: &'static [&'static str] = names.leak();
    known.push(names);
    names
}

impl fmt::Debug for FieldNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0).finish()
    }
}

impl Serialize for FieldNames {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for FieldNames {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Self::new(Vec::<String>::deserialize(input)?).map_err(D::Error::custom)
    }
}

impl IndexedFields {
    /// Field names, in field order.
    #[must_use]
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::One => &["contents"],
            Self::TextOnly => &["text"],
            Self::Separate => &["title", "text"],
            Self::Named(names) => names.names(),
        }
    }

    /// Text of a field of a document, in `buffer` if the document does not have it as one text.
    pub(crate) fn text_of<'t>(
        self,
        field: usize,
        doc: &'t Document,
        buffer: &'t mut String,
    ) -> &'t str {
        buffer.clear();
        match (self, field) {
            (Self::One, _) => {
                buffer.push_str(&doc.title);
                buffer.push('\n');
                buffer.push_str(&doc.text);
                buffer
            }
            (Self::Separate, 0) => &doc.title,
            (Self::Separate | Self::TextOnly, _) => &doc.text,
            (Self::Named(names), _) => match names.0[field] {
                "id" => &doc.id,
                "title" => &doc.title,
                "text" => &doc.text,
                name => match doc.attributes.get(name) {
                    Some(AttributeValue::Text(text)) => text,
                    Some(value) => {
                        add_value(value, buffer);
                        buffer
                    }
                    None => "",
                },
            },
        }
    }
}

fn add_value(value: &AttributeValue, text: &mut String) {
    match value {
        AttributeValue::Text(value) => text.push_str(value),
        AttributeValue::Int(value) => text.push_str(&value.to_string()),
        AttributeValue::Float(value) => text.push_str(&value.to_string()),
        AttributeValue::Bool(value) => text.push_str(&value.to_string()),
        AttributeValue::List(members) => add_members(members.iter(), text),
        AttributeValue::Map(members) => add_members(members.values(), text),
    }
}

fn add_members<'v>(members: impl Iterator<Item = &'v AttributeValue>, text: &mut String) {
    for (n, member) in members.enumerate() {
        if n > 0 {
            text.push('\n');
        }
        add_value(member, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_names() {
        let names = FieldNames::new(["title", "keywords"]).unwrap();
        assert_eq!(names, FieldNames::new(["title", "keywords"]).unwrap());
        assert_ne!(names, FieldNames::new(["keywords", "title"]).unwrap());
        let json = serde_json::to_string(&IndexedFields::Named(names)).unwrap();
        assert_eq!(json, r#"{"named":["title","keywords"]}"#);
        let read: IndexedFields = serde_json::from_str(&json).unwrap();
        assert_eq!(read, IndexedFields::Named(names));
        // The names of fields of earlier files.
        for (json, fields) in [
            (r#""one""#, IndexedFields::One),
            (r#""text_only""#, IndexedFields::TextOnly),
            (r#""separate""#, IndexedFields::Separate),
        ] {
            assert_eq!(serde_json::from_str::<IndexedFields>(json).unwrap(), fields);
        }
        let none: [&str; 0] = [];
        assert!(FieldNames::new(none).is_err());
        assert!(FieldNames::new((0..65).map(|n| n.to_string())).is_err());
        for wrong in [&["a", "a"][..], &[""], &["a\tb"]] {
            assert!(FieldNames::new(wrong.iter().copied()).is_err(), "{wrong:?}");
            let json = serde_json::json!({ "named": wrong });
            assert!(serde_json::from_value::<IndexedFields>(json).is_err());
        }
    }

    #[test]
    fn texts_of_attributes() {
        let doc = Document::new("d")
            .with("authors", vec!["Ann", "Bo"])
            .with("year", 2010_i64)
            .with("open", true);
        let names = FieldNames::new(["authors", "year", "open", "none", "id"]).unwrap();
        let fields = IndexedFields::Named(names);
        let mut buffer = String::new();
        let mut text = |field| fields.text_of(field, &doc, &mut buffer).to_owned();
        let texts: Vec<String> = (0..5).map(&mut text).collect();
        assert_eq!(texts, ["Ann\nBo", "2010", "true", "", "d"]);
    }
}
