//! Records in the XML and JSON forms.

use std::io::BufRead;

use ir_core::{AttributeValue, Document};
use serde::Serialize;

use super::TextRule;
use super::metadata::{Metadata, all_texts, texts_at, texts_of};
use super::repositories::Repository;
use super::xml::{XmlElements, read_text};
use crate::attribute;
use crate::error::{DataError, Location};
use crate::json::{parse_object, type_name};
use crate::text_encoding::TextEncoding;

/// Record of the collection, a dataset.
///
/// ```
/// use ir_data::biocaddie::{Record, TextRule};
/// let line = r#"{"DOCNO": 7, "TITLE": "VDR targets", "REPOSITORY": "arrayexpress_020916",
///     "METADATA": {"dataItem": {"description": "THP-1 cells"}}}"#;
/// let record = Record::from_json(line, "records", 1)?;
/// assert_eq!((record.id.as_str(), record.repository_key()), ("7", "arrayexpress"));
/// let document = record.into_document(TextRule::Paths);
/// assert_eq!((document.title.as_str(), document.text.as_str()), ("VDR targets", "THP-1 cells"));
/// # Ok::<(), ir_data::DataError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    /// DOCNO, as in qrels and runs.
    pub id: String,
    /// TITLE; may be empty.
    pub title: String,
    /// REPOSITORY: key and date of the harvest, such as `arrayexpress_020916`.
    pub repository: String,
    /// METADATA; [`None`] for `null`.
    pub metadata: Option<Metadata>,
}

impl Record {
    /// Parses a record in the JSON form: an object with DOCNO (string or integer), TITLE,
    /// REPOSITORY and METADATA (object, string with an object, or `null`). `source` and `line` name
    /// the position in errors.
    ///
    /// # Errors
    /// The text is not JSON, a field is missing or of the wrong type, or the JSON text in METADATA
    /// is malformed.
    pub fn from_json(text: &str, source: &str, line: u64) -> Result<Self, DataError> {
        let at = Location::new(source, line);
        let mut fields = parse_object(text, at)?;
        let mut record = Self::default();
        let wrong = |field: &str, expected, value: &AttributeValue| {
            at.wrong_type(field, expected, type_name(value))
        };
        record.id = match fields.remove("DOCNO") {
            Some(AttributeValue::Text(id)) if !id.trim().is_empty() => id.trim().to_owned(),
            Some(AttributeValue::Int(id)) => id.to_string(),
            Some(other) => return Err(wrong("DOCNO", "an id", &other)),
            None => return Err(at.missing_field("DOCNO")),
        };
        let mut text = |field: &str| match fields.remove(field) {
            Some(AttributeValue::Text(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(field, "a string", &other)),
            None => Ok(None),
        };
        record.title = text("TITLE")?.unwrap_or_default();
        let repository = text("REPOSITORY")?;
        record.repository = repository.ok_or_else(|| at.missing_field("REPOSITORY"))?;
        record.metadata = match fields.remove("METADATA") {
            None => None,
            Some(AttributeValue::Map(members)) => Some(members),
            Some(AttributeValue::Text(text)) => inner_json(&text, at, &record.id)?,
            Some(other) => return Err(wrong("METADATA", "an object", &other)),
        };
        Ok(record)
    }

    /// Reads a record in the XML form: a DOC with DOCNO, TITLE, REPOSITORY and METADATA. The text
    /// of METADATA is an escaped JSON object. `source` names the reader in errors. The XML
    /// declaration states the character encoding: UTF-8, ISO-8859-1 or Windows-1252. Default:
    /// UTF-8.
    ///
    /// # Errors
    /// The source cannot be read or is not text in its encoding, an element is missing, repeated or
    /// unknown, or the JSON text in METADATA is malformed.
    pub fn read_xml(reader: impl BufRead + Send, source: &str) -> Result<Self, DataError> {
        Self::read_encoded_xml(reader, source, None)
    }

    /// [`Record::read_xml`] with an encoding that replaces the one in the XML declaration.
    pub(super) fn read_encoded_xml(
        reader: impl BufRead + Send,
        source: &str,
        encoding: Option<TextEncoding>,
    ) -> Result<Self, DataError> {
        let text = read_text(reader, source, encoding)?;
        let mut elements = XmlElements::new(&text, source)?;
        let start = elements.location();
        let (mut id, mut title, mut repository) = (None, None, None);
        let mut metadata = None;
        while let Some(element) = elements.next()? {
            let slot = match element.name {
                "DOCNO" => &mut id,
                "TITLE" => &mut title,
                "REPOSITORY" => &mut repository,
                "METADATA" => {
                    if metadata.replace(element).is_some() {
                        return Err(element.at.repeated_field("METADATA"));
                    }
                    continue;
                }
                _ => {
                    return Err(element
                        .at
                        .syntax("DOCNO, TITLE, REPOSITORY or METADATA", element.name));
                }
            };
            if slot.replace(element.text()).is_some() {
                return Err(element.at.repeated_field(element.name));
            }
        }
        let id = id.filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| start.missing_field("DOCNO"))?;
        let metadata = match metadata {
            None => None,
            Some(element) => match inner_json(&element.text(), element.at, &id) {
                Ok(metadata) => metadata,
                // Some programs write the JSON text without escaping it, so that entities in its
                // strings are no markup.
                Err(error) => match inner_json(element.raw.trim(), element.at, &id) {
                    Ok(metadata) => metadata,
                    Err(_) => return Err(error),
                },
            },
        };
        Ok(Self {
            id,
            title: title.unwrap_or_default(),
            repository: repository.ok_or_else(|| start.missing_field("REPOSITORY"))?,
            metadata,
        })
    }

    /// Key of the repository: the part of [`Record::repository`] before the first `_`.
    #[must_use]
    pub fn repository_key(&self) -> &str {
        self.repository_and_harvest().0
    }

    /// The key of the repository, and the date of the harvest or the empty string.
    fn repository_and_harvest(&self) -> (&str, &str) {
        let parts = self.repository.split_once('_');
        parts.unwrap_or((&self.repository, ""))
    }

    /// The texts at a path in METADATA, names separated by dots and compared without case. Lists
    /// along the path are searched member by member; everything below its end counts.
    ///
    /// ```
    /// # use ir_data::biocaddie::Record;
    /// let line = r#"{"DOCNO": "7", "REPOSITORY": "ctn_02", "METADATA":
    ///     {"dataSet": [{"keywords": ["heroin", "opioid"]}, {"keywords": "smoking"}]}}"#;
    /// let record = Record::from_json(line, "records", 1)?;
    /// assert_eq!(record.texts("dataset.keywords"), ["heroin", "opioid", "smoking"]);
    /// # Ok::<(), ir_data::DataError>(())
    /// ```
    #[must_use]
    pub fn texts(&self, path: &str) -> Vec<String> {
        let mut texts = Vec::new();
        if let Some(metadata) = &self.metadata {
            texts_at(metadata, path, &mut texts);
        }
        texts
    }

    /// Converts the record into a document. The attribute `repository` is the key, `harvest` the
    /// rest of REPOSITORY, and `year` the year of `dataItem.releaseDate`. `harvest` and `year` are
    /// optional.
    #[must_use]
    pub fn into_document(self, rule: TextRule) -> Document {
        let mut document = Document::new("");
        document.text = self.text(rule);
        let (key, harvest) = self.repository_and_harvest();
        document.attributes.set(attribute::REPOSITORY, key);
        if !harvest.is_empty() {
            document.attributes.set("harvest", harvest);
        }
        let date = self.texts("dataItem.releaseDate");
        let year = date
            .first()
            .and_then(|date| date.get(..4)?.parse::<i64>().ok());
        if let Some(year) = year {
            document.attributes.set(attribute::YEAR, year);
        }
        if rule == TextRule::Fields {
            let mut texts = Vec::new();
            for value in self.metadata.iter().flat_map(|members| members.values()) {
                all_texts(value, &mut texts);
            }
            if !texts.is_empty() {
                document.attributes.set("meta", texts.join("\n"));
            }
        }
        document.id = self.id;
        document.title = self.title;
        document
    }

    fn text(&self, rule: TextRule) -> String {
        let key = self.repository_key();
        if rule == TextRule::WholeRecord {
            return self.to_json(key);
        }
        let Some(metadata) = &self.metadata else {
            return match rule {
                TextRule::Organizers => name_of_repository(key).to_owned(),
                _ => String::new(),
            };
        };
        match rule {
            // The title is a field of its own.
            TextRule::Paths | TextRule::Fields | TextRule::WholeRecord => {
                let mut texts = texts_of(metadata, key);
                texts.retain(|text| text != self.title.trim());
                texts.join("\n")
            }
            TextRule::Organizers => {
                let mut texts = Vec::new();
                for part in ["dataItem", "dataset"] {
                    texts_at(metadata, &format!("{part}.description"), &mut texts);
                }
                texts_at(metadata, "desc", &mut texts);
                texts.push(name_of_repository(key).to_owned());
                texts_at(metadata, "publication", &mut texts);
                texts.join("\n")
            }
        }
    }

    /// The record in the JSON form, with the key of its repository.
    fn to_json(&self, repository: &str) -> String {
        #[derive(Serialize)]
        #[serde(rename_all = "UPPERCASE")]
        struct WholeRecord<'a> {
            docno: &'a str,
            title: &'a str,
            repository: &'a str,
            metadata: &'a Option<Metadata>,
        }
        let record = WholeRecord {
            docno: &self.id,
            title: &self.title,
            repository,
            metadata: &self.metadata,
        };
        // Strings and maps always serialize.
        serde_json::to_string(&record).unwrap_or_default()
    }
}

fn name_of_repository(key: &str) -> &str {
    Repository::find(key).map_or(key, |repository| repository.name)
}

/// Parses the JSON text of METADATA.
fn inner_json(text: &str, at: Location<'_>, record: &str) -> Result<Option<Metadata>, DataError> {
    if text.is_empty() || text == "null" {
        return Ok(None);
    }
    let inner = |line: u64, column: u64, found: String| DataError::InnerJson {
        path: at.path.to_owned(),
        line,
        record: record.to_owned(),
        field: "METADATA",
        column,
        found,
    };
    parse_object(text, at)
        .map(Some)
        .map_err(|error| match error {
            DataError::Json {
                line,
                column,
                found,
                ..
            } => inner(line, column, found),
            DataError::WrongType { found, .. } => {
                inner(at.line, 1, format!("{found} instead of an object"))
            }
            other => other,
        })
}
