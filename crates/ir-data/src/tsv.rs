//! Documents and queries as tab-separated columns.
//!
//! The common layout is id and text, as in MS MARCO's `collection.tsv` and `queries.tsv`, and an
//! optional title. Other layouts are lists of [`Column`]s:
//!
//! ```
//! use ir_data::tsv::{Column, read_documents};
//! let layout = [Column::Id, Column::Attribute("url".into()), Column::Title, Column::Text];
//! let line = "D1\thttps://example.org\tTea\tGreen tea and black tea\n";
//! let docs = read_documents(line.as_bytes(), "docs.tsv", &layout)?;
//! assert_eq!((docs[0].title.as_str(), docs[0].attributes.text("url")), ("Tea", Some("https://example.org")));
//! # Ok::<(), ir_data::DataError>(())
//! ```
//!
//! - There is no quoting and no escaping. The writer rejects texts with tabs or line ends.
//! - Lines end with `\n` or `\r\n`; a first line with a tab behind a `\r` is an error. Empty lines
//!   are skipped.
//! - Trailing columns of titles and attributes are optional. Any other number of columns, an empty
//!   id and a duplicate id are errors.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::{Attributes, Corpus, CorpusError, DocReader, Document, Query};

use crate::collection::{collect_documents, query_from_document};
use crate::compression::{DataFile, create};
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location, name_of};
use crate::lines::{LineReader, check_line_end};
use crate::text_encoding::TextEncoding;

/// Content of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// Id of the document or query.
    Id,
    /// Text of the document or query.
    Text,
    /// Title; of a query, the attribute `title`.
    Title,
    /// String attribute of this name; omitted if empty.
    Attribute(String),
    /// Column that is not read.
    Skip,
}

/// Common layout: id, text and an optional title.
pub const ID_TEXT_TITLE: [Column; 3] = [Column::Id, Column::Text, Column::Title];

/// Layout of MS MARCO's documents (`msmarco-docs.tsv`): id, URL as attribute `url`, title and text.
///
/// ```
/// let line = "D1\thttps://example.org\tTea\tGreen tea and black tea\n";
/// let layout = ir_data::tsv::msmarco_documents();
/// let docs = ir_data::tsv::read_documents(line.as_bytes(), "docs.tsv", &layout)?;
/// assert_eq!((docs[0].title.as_str(), docs[0].text.as_str()), ("Tea", "Green tea and black tea"));
/// # Ok::<(), ir_data::DataError>(())
/// ```
#[must_use]
pub fn msmarco_documents() -> [Column; 4] {
    let url = Column::Attribute("url".to_owned());
    [Column::Id, url, Column::Title, Column::Text]
}

/// Reader of documents as tab-separated columns.
#[derive(Debug)]
pub struct TsvReader<R> {
    lines: LineReader<R>,
    source: Arc<str>,
    layout: Vec<Column>,
    /// Number of required columns.
    min_columns: usize,
    seen: DuplicateFinder,
}

impl<R: BufRead> TsvReader<R> {
    /// Reads from `reader`; `source` names it in errors.
    pub fn new(reader: R, source: &str, layout: &[Column]) -> Self {
        let needed = |column: &Column| !matches!(column, Column::Title | Column::Attribute(_));
        let lines = LineReader::new(reader, source);
        Self {
            source: lines.source(),
            lines,
            layout: layout.to_vec(),
            min_columns: layout.iter().rposition(needed).map_or(0, |last| last + 1),
            seen: DuplicateFinder::default(),
        }
    }

    /// Reads the next document into `doc`; `false` at the end.
    ///
    /// # Errors
    /// The source cannot be read, or a line does not follow the [format](self).
    pub fn read_into(&mut self, doc: &mut Document) -> Result<bool, DataError> {
        while let Some(line) = self.lines.read()? {
            let text = line.text.strip_suffix('\r').unwrap_or(line.text);
            if text.is_empty() {
                continue;
            }
            doc.clear();
            let mut found = 0;
            for column in text.split('\t') {
                match self.layout.get(found) {
                    Some(Column::Id) => doc.id.push_str(column),
                    Some(Column::Text) => doc.text.push_str(column),
                    Some(Column::Title) => doc.title.push_str(column),
                    Some(Column::Attribute(_)) if column.is_empty() => {}
                    Some(Column::Attribute(name)) => doc.attributes.set(name.as_str(), column),
                    Some(Column::Skip) | None => {}
                }
                found += 1;
            }
            let at = Location::new(&self.source, line.number);
            let expected = self.min_columns..=self.layout.len();
            let after_cr = || text.split_once('\r').map_or("", |(_, after)| after);
            let has_columns = expected.contains(&found);
            if !has_columns || (line.number == 1 && after_cr().contains('\t')) {
                check_line_end(text, at)?;
            }
            if !has_columns {
                return Err(at.columns(expected, found));
            }
            if doc.id.is_empty() {
                return Err(at.syntax("an id", text));
            }
            self.seen.add_id(&doc.id, at)?;
            return Ok(true);
        }
        Ok(false)
    }
}

impl<R: BufRead + Send> DocReader for TsvReader<R> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        Ok(self.read_into(doc)?)
    }
}

/// Corpus in a TSV file, possibly compressed. Every reader opens the file again.
#[derive(Debug, Clone)]
pub struct TsvCorpus {
    path: PathBuf,
    layout: Vec<Column>,
    encoding: TextEncoding,
}

impl TsvCorpus {
    /// Creates a corpus from a file of this layout, for example [`ID_TEXT_TITLE`].
    pub fn new(path: impl Into<PathBuf>, layout: &[Column]) -> Self {
        Self {
            path: path.into(),
            layout: layout.to_vec(),
            encoding: TextEncoding::Utf8,
        }
    }

    /// Sets the character encoding. Default: UTF-8.
    #[must_use]
    pub fn with_encoding(mut self, encoding: TextEncoding) -> Self {
        self.encoding = encoding;
        self
    }
}

impl Corpus for TsvCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let source = name_of(&self.path);
        Ok(Box::new(TsvReader::new(
            self.encoding.open(&self.path)?,
            &source,
            &self.layout,
        )))
    }
}

/// Reads all documents; `source` names the reader in errors.
///
/// # Errors
/// The source cannot be read, or a line does not follow the [format](self).
pub fn read_documents(
    reader: impl BufRead,
    source: &str,
    layout: &[Column],
) -> Result<Vec<Document>, DataError> {
    let mut docs = TsvReader::new(reader, source, layout);
    collect_documents(|doc| docs.read_into(doc))
}

/// Reads all queries; `source` names the reader in errors. A title becomes the attribute `title`.
///
/// # Errors
/// The source cannot be read, or a line does not follow the [format](self).
pub fn read_queries(
    reader: impl BufRead,
    source: &str,
    layout: &[Column],
) -> Result<Vec<Query>, DataError> {
    let docs = read_documents(reader, source, layout)?;
    Ok(docs.into_iter().map(query_from_document).collect())
}

/// Writer of documents or queries as tab-separated columns. The write is atomic:
/// [`TsvWriter::commit`] completes the file.
#[derive(Debug)]
pub struct TsvWriter {
    file: DataFile,
    layout: Vec<Column>,
    line: u64,
    buffer: String,
}

impl TsvWriter {
    /// Creates a file of this layout, compressed if its name ends in `.gz` or `.zst`.
    ///
    /// # Errors
    /// The path is a directory, or its directory does not exist or is not writable.
    pub fn create(path: impl AsRef<Path>, layout: &[Column]) -> Result<Self, DataError> {
        Ok(Self {
            file: create(path)?,
            layout: layout.to_vec(),
            line: 0,
            buffer: String::new(),
        })
    }

    /// Writes a document.
    ///
    /// # Errors
    /// The file cannot be written, the layout lacks a column for a field of the document, or a
    /// value is not a string without tabs and line ends.
    pub fn document(&mut self, doc: &Document) -> Result<(), DataError> {
        self.record(&doc.id, &doc.title, &doc.text, &doc.attributes)
    }

    /// Writes a query.
    ///
    /// # Errors
    /// The file cannot be written, the layout lacks a column for a field of the query, or a value
    /// is not a string without tabs and line ends.
    pub fn query(&mut self, query: &Query) -> Result<(), DataError> {
        self.record(&query.id, "", &query.text, &query.attributes)
    }

    fn record(
        &mut self,
        id: &str,
        title: &str,
        text: &str,
        attributes: &Attributes,
    ) -> Result<(), DataError> {
        self.line += 1;
        if id.is_empty() {
            return Err(self.unwritable("an id", id));
        }
        let has = |column: &Column| self.layout.contains(column);
        if !title.is_empty() && !has(&Column::Title) {
            return Err(self.unwritable("no title, since the layout has no title column", title));
        }
        if !text.is_empty() && !has(&Column::Text) {
            return Err(self.unwritable("no text, since the layout has no text column", text));
        }
        for (name, value) in attributes.iter() {
            if !has(&Column::Attribute(name.to_owned())) {
                return Err(self.unwritable("attributes with a column in the layout", name));
            }
            if !matches!(value, ir_core::AttributeValue::Text(text) if !text.is_empty()) {
                return Err(self.unwritable("attributes that are non-empty strings", name));
            }
        }
        self.buffer.clear();
        for (n, column) in self.layout.iter().enumerate() {
            if n > 0 {
                self.buffer.push('\t');
            }
            let content = match column {
                Column::Id => id,
                Column::Text => text,
                Column::Title => title,
                Column::Attribute(name) => attributes.text(name).unwrap_or_default(),
                Column::Skip => "",
            };
            if content.contains(['\t', '\n', '\r', '\0']) {
                return Err(self.unwritable("a string without tabs, line ends and NUL", content));
            }
            self.buffer.push_str(content);
        }
        if self.line == 1 && self.buffer.starts_with('\u{feff}') {
            return Err(self.unwritable("a first line without a byte order mark", id));
        }
        self.buffer.push('\n');
        self.file.append(self.buffer.as_bytes())
    }

    fn unwritable(&self, expected: &'static str, found: &str) -> DataError {
        self.file.unwritable(self.line, expected, found)
    }

    /// Completes the file.
    ///
    /// # Errors
    /// The file cannot be written. No file is left.
    pub fn commit(self) -> Result<(), DataError> {
        self.file.commit()
    }
}
