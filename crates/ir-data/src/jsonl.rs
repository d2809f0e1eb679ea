//! Documents and queries as JSON lines, or as one JSON array of such records.
//!
//! | field | name in BEIR | value |
//! |---|---|---|
//! | id | `_id` | string or integer, or `7.0`; required; unique unless [`DuplicateIds::Keep`] |
//! | title | `title` | string; optional |
//! | text | `text` | string; required; `null` is the empty string |
//! | metadata | `metadata` | each member of an object becomes an attribute; optional |
//! | any other | | becomes an attribute; `null` is omitted, also inside arrays and objects |
//!
//! Lines end with `\n`. Blank lines are skipped. A file that starts with `[` is an array;
//! its records are streamed, too. Field names are configurable ([`FieldNames`]), or
//! detected from the first record ([`FieldNames::detect`]).
//!
//! ```
//! use ir_core::{DocReader, Document};
//! use ir_data::{DuplicateIds, FieldNames, jsonl};
//! let lines = "{\"_id\": \"d1\", \"text\": \"tea\", \"year\": 2017}\n{\"_id\": 7}\n";
//! let (fields, duplicates) = (FieldNames::beir(), DuplicateIds::Reject);
//! let mut docs = jsonl::JsonlReader::new(lines.as_bytes(), "corpus.jsonl", fields, duplicates);
//! let mut doc = Document::default();
//! assert!(docs.read(&mut doc)?);
//! assert_eq!((doc.id.as_str(), doc.attributes.year()), ("d1", Some(2017)));
//! let error = docs.read_into(&mut doc).unwrap_err();
//! assert_eq!(error.to_string(), "corpus.jsonl:2: expected a field \"text\", found none");
//! # Ok::<(), ir_core::CorpusError>(())
//! ```

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::{Corpus, CorpusError, DocReader, Document, Query};

use crate::collection::query_from_document;
use crate::compression::{DataFile, create, open};
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location, name_of, write_error};
use crate::json::{FieldNames, RecordReader, for_each_record, parse_document, write_document};
use crate::lines::LineReader;

/// Treatment of records with the id of an earlier record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DuplicateIds {
    /// Returns an error with both lines.
    #[default]
    Reject,
    /// Reads them as documents of their own. Some published collections have such records.
    Keep,
}

/// Reader of documents as JSON lines or as the elements of a JSON array.
#[derive(Debug)]
pub struct JsonlReader<R> {
    records: RecordReader<R>,
    source: Arc<str>,
    fields: FieldNames,
    seen: Option<DuplicateFinder>,
    /// If `true`, the end of the file is an error, because no document was read.
    requires_document: bool,
}

impl<R: BufRead> JsonlReader<R> {
    /// Reads from `reader`; `source` names it in errors.
    pub fn new(reader: R, source: &str, fields: FieldNames, duplicates: DuplicateIds) -> Self {
        Self::from_lines(LineReader::new(reader, source), fields, duplicates)
    }

    /// Reads from lines with a configured length limit.
    pub fn from_lines(lines: LineReader<R>, fields: FieldNames, duplicates: DuplicateIds) -> Self {
        Self {
            source: lines.source(),
            records: RecordReader::new(lines),
            fields,
            seen: (duplicates == DuplicateIds::Reject).then(DuplicateFinder::default),
            requires_document: false,
        }
    }

    /// Reads the next document into `doc`; `false` at the end. Unlike [`DocReader::read`], returns
    /// the typed error.
    ///
    /// # Errors
    /// The source cannot be read, or a record does not follow the [format](self).
    pub fn read_into(&mut self, doc: &mut Document) -> Result<bool, DataError> {
        while let Some((text, line)) = self.records.read()? {
            if text.trim_ascii().is_empty() {
                continue;
            }
            let at = Location::new(&self.source, line);
            parse_document(text, &self.fields, doc, at)?;
            if let Some(seen) = &mut self.seen {
                seen.add_id(&doc.id, at)?;
            }
            self.requires_document = false;
            return Ok(true);
        }
        if self.requires_document {
            return Err(DataError::Empty {
                path: self.source.as_ref().to_owned(),
                expected: "documents",
            });
        }
        Ok(false)
    }
}

impl<R: BufRead + Send> DocReader for JsonlReader<R> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        self.read_into(doc).map_err(CorpusError::from)
    }
}

/// Corpus in a file of JSON lines or with a JSON array, possibly compressed. Every reader opens
/// the file again.
#[derive(Debug, Clone)]
pub struct JsonlCorpus {
    /// Path of the file.
    pub path: PathBuf,
    /// Field names. Default: [`FieldNames::beir`].
    pub fields: FieldNames,
    /// Treatment of duplicate ids. Default: [`DuplicateIds::Reject`].
    pub duplicates: DuplicateIds,
    /// If `true`, a file without documents, as a failed copy may leave, is an error instead of an
    /// empty corpus. Default: false.
    pub require_documents: bool,
}

impl JsonlCorpus {
    /// Creates a corpus from a file with the fields of BEIR.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            fields: FieldNames::beir(),
            duplicates: DuplicateIds::Reject,
            require_documents: false,
        }
    }

    ir_core::setters! {
        with_fields: fields, FieldNames;
        with_duplicate_ids: duplicates, DuplicateIds;
        with_required_documents: require_documents, bool;
    }
}

impl Corpus for JsonlCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let source = name_of(&self.path);
        let fields = self.fields.clone();
        let mut docs = JsonlReader::new(open(&self.path)?, &source, fields, self.duplicates);
        docs.requires_document = self.require_documents;
        Ok(Box::new(docs))
    }
}

/// Reads all queries of a source: JSON lines, or one JSON array of records. A title becomes the
/// attribute `title`.
///
/// ```
/// use ir_data::{FieldNames, jsonl};
/// let array = "[{\"qid\": 1, \"query\": \"tea\"},\n {\"qid\": 2, \"query\": \"milk\"}]";
/// let fields = FieldNames { id: "qid".into(), text: "query".into(), ..FieldNames::beir() };
/// let queries = jsonl::read_queries(array.as_bytes(), "queries.json", &fields)?;
/// assert_eq!((queries[1].id.as_str(), queries[1].text.as_str()), ("2", "milk"));
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// The source cannot be read, a record does not follow the [format](self), or an id occurs twice.
pub fn read_queries(
    reader: impl BufRead,
    source: &str,
    fields: &FieldNames,
) -> Result<Vec<Query>, DataError> {
    let fields = FieldNames {
        title: None,
        ..fields.clone()
    };
    let mut queries = Vec::new();
    let mut seen = DuplicateFinder::default();
    for_each_record(reader, source, |text, line| {
        let at = Location::new(source, line);
        let mut doc = Document::default();
        parse_document(text, &fields, &mut doc, at)?;
        seen.add_id(&doc.id, at)?;
        queries.push(query_from_document(doc));
        Ok(())
    })?;
    Ok(queries)
}

/// Writer of documents or queries as JSON lines. The write is atomic: [`JsonlWriter::commit`]
/// completes the file. The readers of this module restore equal records.
#[derive(Debug)]
pub struct JsonlWriter {
    file: DataFile,
    fields: FieldNames,
    line: u64,
    buffer: Vec<u8>,
}

impl JsonlWriter {
    /// Creates a file with the fields of BEIR, compressed if its name ends in `.gz` or `.zst`.
    ///
    /// # Errors
    /// The path is a directory, or its directory does not exist or is not writable.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, DataError> {
        Ok(Self {
            file: create(path)?,
            fields: FieldNames::beir(),
            line: 0,
            buffer: Vec::new(),
        })
    }

    /// Field names. Without a metadata field, attributes become fields.
    #[must_use]
    pub fn with_fields(mut self, fields: FieldNames) -> Self {
        self.fields = fields;
        self
    }

    /// Writes a document.
    ///
    /// # Errors
    /// The file cannot be written; the document has no id, or a title although the format has no
    /// title field; an attribute is NaN or infinite or has the name of a field.
    pub fn document(&mut self, doc: &Document) -> Result<(), DataError> {
        if self.fields.title.is_none() && !doc.title.is_empty() {
            return Err(self.unwritable("no title", &doc.title));
        }
        self.record(&doc.id, Some(&doc.title), &doc.text, &doc.attributes)
    }

    /// Writes a query.
    ///
    /// # Errors
    /// The file cannot be written; the query has no id; an attribute is NaN or infinite or has the
    /// name of a field.
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
                return Err(self.unwritable("an attribute without the name of a field", name));
            }
            if !finite(value) {
                return Err(self.unwritable("finite numbers in attributes", name));
            }
        }
        write_document(&mut self.buffer, &self.fields, id, title, text, attributes)
            .map_err(|error| write_error(self.file.path())(error.into()))?;
        self.line += 1;
        self.file.append(&self.buffer)
    }

    fn unwritable(&self, expected: &'static str, found: &str) -> DataError {
        self.file.unwritable(self.line + 1, expected, found)
    }

    /// Completes the file.
    ///
    /// # Errors
    /// The file cannot be written. No file is left.
    pub fn commit(self) -> Result<(), DataError> {
        self.file.commit()
    }
}

/// Returns `true` if JSON can represent a value. NaN and infinity have no representation.
fn finite(value: &ir_core::AttributeValue) -> bool {
    use ir_core::AttributeValue;
    match value {
        AttributeValue::Float(number) => number.is_finite(),
        AttributeValue::List(values) => values.iter().all(finite),
        AttributeValue::Map(members) => members.values().all(finite),
        AttributeValue::Bool(_) | AttributeValue::Int(_) | AttributeValue::Text(_) => true,
    }
}
