//! Documents and queries as JSON, one object per line.
//!
//! | field | in BEIR | what |
//! |---|---|---|
//! | id | `_id` | text or whole number; must be there; no two alike unless [`Repeats::Keep`] |
//! | title | `title` | text; may be absent |
//! | text | `text` | text; must be there; `null` is empty |
//! | metadata | `metadata` | an object; its members become attributes |
//! | any other | | becomes an attribute; `null` is absent, also inside lists and objects |
//!
//! Lines end with `\n`. Blank lines are passed over. The names of the fields are
//! [values](JsonFields).
//!
//! ```
//! use ir_core::{DocReader, Document};
//! use ir_data::{JsonFields, Repeats, jsonl};
//! let lines = "{\"_id\": \"d1\", \"text\": \"tea\", \"year\": 2017}\n{\"_id\": 7}\n";
//! let mut docs = jsonl::Docs::new(lines.as_bytes(), "corpus.jsonl", JsonFields::beir(), Repeats::Refuse);
//! let mut doc = Document::default();
//! assert!(docs.read(&mut doc)?);
//! assert_eq!((doc.id.as_str(), doc.attributes.year()), ("d1", Some(2017)));
//! let error = docs.next_into(&mut doc).unwrap_err();
//! assert_eq!(error.to_string(), "corpus.jsonl:2: expected a field \"text\", found none");
//! # Ok::<(), ir_core::CorpusError>(())
//! ```

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::{Corpus, CorpusError, DocReader, Document, Query};

use crate::error::name_of;
use crate::record::{self, JsonFields};
use crate::seen::Seen;
use crate::{DataError, DataFile, Lines, create, open};

/// What is done with a record whose id an earlier one has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repeats {
    /// An error that names both lines.
    #[default]
    Refuse,
    /// It is read like any other: some published collections have such records.
    Keep,
}

/// Reads documents from a source.
#[derive(Debug)]
pub struct Docs<R> {
    lines: Lines<R>,
    source: Arc<str>,
    fields: JsonFields,
    seen: Option<Seen>,
    /// Whether the end is an error: nothing has been read, and something must be.
    wanting: bool,
}

impl<R: BufRead> Docs<R> {
    /// Reads from `reader`; `source` names it in errors.
    pub fn new(reader: R, source: &str, fields: JsonFields, repeats: Repeats) -> Self {
        Self::of(Lines::new(reader, source), fields, repeats)
    }

    /// Reads from lines, whose limit of length may be another than usual.
    pub fn of(lines: Lines<R>, fields: JsonFields, repeats: Repeats) -> Self {
        Self {
            source: lines.source(),
            lines,
            fields,
            seen: (repeats == Repeats::Refuse).then(Seen::default),
            wanting: false,
        }
    }

    /// Reads the next document into `doc`; `false` at the end. As [`DocReader::read`], with the
    /// error as it is.
    ///
    /// # Errors
    /// When the source cannot be read, or a record is not as the [format](self) wants it.
    pub fn next_into(&mut self, doc: &mut Document) -> Result<bool, DataError> {
        while let Some(line) = self.lines.read()? {
            if line.text.trim_ascii().is_empty() {
                continue;
            }
            record::parse(line.text, &self.fields, doc, &self.source, line.number)?;
            if let Some(seen) = &mut self.seen {
                seen.new_id(&doc.id, &self.source, line.number)?;
            }
            self.wanting = false;
            return Ok(true);
        }
        if self.wanting {
            return Err(DataError::Empty {
                path: self.source.as_ref().to_owned(),
                expected: "documents",
            });
        }
        Ok(false)
    }
}

impl<R: BufRead + Send> DocReader for Docs<R> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        self.next_into(doc).map_err(CorpusError::from)
    }
}

/// A file of documents; opened anew by each reader, decompressed when need be.
#[derive(Debug, Clone)]
pub struct JsonlCorpus {
    path: PathBuf,
    fields: JsonFields,
    repeats: Repeats,
    not_empty: bool,
}

impl JsonlCorpus {
    /// The documents of a file in BEIR's form.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            fields: JsonFields::beir(),
            repeats: Repeats::Refuse,
            not_empty: false,
        }
    }

    /// With these names of fields.
    #[must_use]
    pub fn with_fields(mut self, fields: JsonFields) -> Self {
        self.fields = fields;
        self
    }

    /// With an error where there are no documents: such a file is what a failed copy leaves.
    #[must_use]
    pub fn not_empty(mut self) -> Self {
        self.not_empty = true;
        self
    }

    /// With this treatment of repeated ids.
    #[must_use]
    pub fn with_repeats(mut self, repeats: Repeats) -> Self {
        self.repeats = repeats;
        self
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts reading.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn reader(&self) -> Result<Docs<Box<dyn BufRead + Send>>, DataError> {
        let source = name_of(&self.path);
        let fields = self.fields.clone();
        let mut docs = Docs::new(open(&self.path)?, &source, fields, self.repeats);
        docs.wanting = self.not_empty;
        Ok(docs)
    }
}

impl Corpus for JsonlCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Ok(Box::new(self.reader()?))
    }
}

/// Reads all queries of a source. A title, where a query has one, becomes the attribute `title`.
///
/// # Errors
/// As [`Docs::next_into`]; repeated ids are refused.
pub fn read_queries(
    reader: impl BufRead,
    source: &str,
    fields: &JsonFields,
) -> Result<Vec<Query>, DataError> {
    let fields = JsonFields {
        title: None,
        ..fields.clone()
    };
    let mut docs = Docs::new(reader, source, fields, Repeats::Refuse);
    let mut queries = Vec::new();
    let mut doc = Document::default();
    while docs.next_into(&mut doc)? {
        let doc = std::mem::take(&mut doc);
        let mut query = Query::new(doc.id, doc.text);
        query.attributes = doc.attributes;
        queries.push(query);
    }
    Ok(queries)
}

/// Writes documents or queries into a file, which appears when [`JsonlWriter::commit`] is called.
///
/// What it writes, the readers of this module read back equal, if no attribute is called like one
/// of the fields.
#[derive(Debug)]
pub struct JsonlWriter {
    file: DataFile,
    fields: JsonFields,
    line: u64,
    buffer: Vec<u8>,
}

impl JsonlWriter {
    /// Starts a file in BEIR's form; compressed if its name ends in `.gz` or `.zst`.
    ///
    /// # Errors
    /// As [`create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self, DataError> {
        Ok(Self {
            file: create(path)?,
            fields: JsonFields::beir(),
            line: 0,
            buffer: Vec::new(),
        })
    }

    /// With these names of fields. Without a metadata field, attributes become fields.
    #[must_use]
    pub fn with_fields(mut self, fields: JsonFields) -> Self {
        self.fields = fields;
        self
    }

    /// Writes a document.
    ///
    /// # Errors
    /// When the file cannot be written, or the document has no id, or a title where the format has
    /// none, or an attribute that cannot be written: a number without a value, or the name of a
    /// field.
    pub fn document(&mut self, doc: &Document) -> Result<(), DataError> {
        if self.fields.title.is_none() && !doc.title.is_empty() {
            return Err(self.unwritable("no title", &doc.title));
        }
        self.record(&doc.id, Some(&doc.title), &doc.text, &doc.attributes)
    }

    /// Writes a query.
    ///
    /// # Errors
    /// As [`JsonlWriter::document`].
    pub fn query(&mut self, query: &Query) -> Result<(), DataError> {
        self.record(&query.id, None, &query.text, &query.attributes)
    }

    fn record(
        &mut self,
        id: &str,
        title: Option<&str>,
        text: &str,
        attributes: &ir_core::Attributes,
    ) -> Result<(), DataError> {
        if id.is_empty() {
            return Err(self.unwritable("an id", id));
        }
        for (name, value) in attributes.iter() {
            let taken = self.fields.metadata.is_none()
                && (name == self.fields.id
                    || name == self.fields.text
                    || (title.is_some() && Some(name) == self.fields.title.as_deref()));
            if taken {
                return Err(self.unwritable("an attribute called otherwise than a field", name));
            }
            if !finite(value) {
                return Err(self.unwritable("attributes that JSON can hold", name));
            }
        }
        record::write(&mut self.buffer, &self.fields, id, title, text, attributes)
            .map_err(|error| self.file.fault(error.into()))?;
        self.line += 1;
        self.file
            .write_all(&self.buffer)
            .map_err(|error| self.file.fault(error))
    }

    fn unwritable(&self, expected: &'static str, found: &str) -> DataError {
        DataError::Unwritable {
            path: name_of(self.file.path()),
            line: self.line + 1,
            expected,
            found: crate::error::excerpt(found),
        }
    }

    /// Makes the file appear.
    ///
    /// # Errors
    /// When it cannot be written; then nothing appears.
    pub fn commit(self) -> Result<(), DataError> {
        self.file.commit()
    }
}

/// Whether JSON can hold a value: it has no NaN and no infinity.
fn finite(value: &ir_core::Value) -> bool {
    use ir_core::Value;
    match value {
        Value::Float(number) => number.is_finite(),
        Value::List(values) => values.iter().all(finite),
        Value::Map(members) => members.values().all(finite),
        Value::Bool(_) | Value::Int(_) | Value::Text(_) => true,
    }
}
