//! Documents and queries as lines of columns between tabs.
//!
//! The usual file has two columns, id and text (MS MARCO's `collection.tsv` and `queries.tsv`), or
//! a third with the title. Other layouts are [values](Column):
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
//! - There is no quoting and no escaping: a text cannot hold a tab or a line end, and the writer
//!   refuses one that does.
//! - Line ends are `\n` or `\r\n`. Empty lines are passed over.
//! - Trailing columns for titles and attributes may be missing; any other number of columns is an
//!   error, and so are an empty id and one that occurs twice.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::{Attributes, Corpus, CorpusError, DocReader, Document, Query};

use crate::error::{excerpt, name_of};
use crate::seen::Seen;
use crate::{DataError, DataFile, Lines, create, open};

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// The id.
    Id,
    /// The text.
    Text,
    /// The title.
    Title,
    /// The attribute of this name, a text. An empty one is absent.
    Attribute(String),
    /// Nothing of interest.
    Skip,
}

/// Id, text, and perhaps a title.
pub const USUAL: [Column; 3] = [Column::Id, Column::Text, Column::Title];

/// Reads documents from a source.
#[derive(Debug)]
pub struct Docs<R> {
    lines: Lines<R>,
    source: Arc<str>,
    layout: Vec<Column>,
    /// How many columns there are at least.
    least: usize,
    seen: Seen,
}

impl<R: BufRead> Docs<R> {
    /// Reads from `reader`; `source` names it in errors.
    pub fn new(reader: R, source: &str, layout: &[Column]) -> Self {
        let needed = |column: &Column| !matches!(column, Column::Title | Column::Attribute(_));
        let lines = Lines::new(reader, source);
        Self {
            source: lines.source(),
            lines,
            layout: layout.to_vec(),
            least: layout.iter().rposition(needed).map_or(0, |last| last + 1),
            seen: Seen::default(),
        }
    }

    /// Reads the next document into `doc`; `false` at the end.
    ///
    /// # Errors
    /// When the source cannot be read, or a line is not as the [format](self) wants it.
    pub fn next_into(&mut self, doc: &mut Document) -> Result<bool, DataError> {
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
            let path = || self.source.as_ref().to_owned();
            if found < self.least || found > self.layout.len() {
                let (least, most) = (self.least as u64, self.layout.len() as u64);
                return Err(DataError::ColumnRange {
                    path: path(),
                    line: line.number,
                    least,
                    most,
                    found: found as u64,
                });
            }
            if doc.id.is_empty() {
                return Err(DataError::Syntax {
                    path: path(),
                    line: line.number,
                    expected: "an id",
                    found: excerpt(text),
                });
            }
            self.seen.new_id(&doc.id, &self.source, line.number)?;
            return Ok(true);
        }
        Ok(false)
    }
}

impl<R: BufRead + Send> DocReader for Docs<R> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        Ok(self.next_into(doc)?)
    }
}

/// A file of documents; opened anew by each reader, decompressed when need be.
#[derive(Debug, Clone)]
pub struct TsvCorpus {
    path: PathBuf,
    layout: Vec<Column>,
}

impl TsvCorpus {
    /// The documents of a file of this layout, often [`USUAL`].
    pub fn new(path: impl Into<PathBuf>, layout: &[Column]) -> Self {
        Self {
            path: path.into(),
            layout: layout.to_vec(),
        }
    }
}

impl Corpus for TsvCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let source = name_of(&self.path);
        Ok(Box::new(Docs::new(
            open(&self.path)?,
            &source,
            &self.layout,
        )))
    }
}

/// Reads all documents of a source, which is named in errors.
///
/// # Errors
/// As [`Docs::next_into`].
pub fn read_documents(
    reader: impl BufRead,
    source: &str,
    layout: &[Column],
) -> Result<Vec<Document>, DataError> {
    let mut docs = Docs::new(reader, source, layout);
    let mut all = Vec::new();
    let mut doc = Document::default();
    while docs.next_into(&mut doc)? {
        all.push(std::mem::take(&mut doc));
    }
    Ok(all)
}

/// Reads all queries of a source. A title becomes the attribute `title`.
///
/// # Errors
/// As [`Docs::next_into`].
pub fn read_queries(
    reader: impl BufRead,
    source: &str,
    layout: &[Column],
) -> Result<Vec<Query>, DataError> {
    let docs = read_documents(reader, source, layout)?;
    Ok(docs
        .into_iter()
        .map(|doc| {
            let mut query = Query::new(doc.id, doc.text);
            query.attributes = doc.attributes;
            if !doc.title.is_empty() {
                query.attributes.set("title", doc.title);
            }
            query
        })
        .collect())
}

/// Writes documents or queries into a file, which appears when [`TsvWriter::commit`] is called.
#[derive(Debug)]
pub struct TsvWriter {
    file: DataFile,
    layout: Vec<Column>,
    line: u64,
    buffer: String,
}

impl TsvWriter {
    /// Starts a file of this layout; compressed if its name ends in `.gz` or `.zst`.
    ///
    /// # Errors
    /// As [`create`].
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
    /// When the file cannot be written, or the document has something that the layout has no
    /// column for, or a column cannot hold: tabs, line ends, attributes that are no texts.
    pub fn document(&mut self, doc: &Document) -> Result<(), DataError> {
        self.record(&doc.id, &doc.title, &doc.text, &doc.attributes)
    }

    /// Writes a query.
    ///
    /// # Errors
    /// As [`TsvWriter::document`].
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
            return Err(self.unwritable("no title, for want of a column", title));
        }
        if !text.is_empty() && !has(&Column::Text) {
            return Err(self.unwritable("no text, for want of a column", text));
        }
        for (name, value) in attributes.iter() {
            if !has(&Column::Attribute(name.to_owned())) {
                return Err(self.unwritable("attributes that have a column", name));
            }
            if !matches!(value, ir_core::Value::Text(text) if !text.is_empty()) {
                return Err(self.unwritable("attributes that are texts, and not empty", name));
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
                return Err(self.unwritable("a text without tabs, line ends and NUL", content));
            }
            self.buffer.push_str(content);
        }
        if self.line == 1 && self.buffer.starts_with('\u{feff}') {
            return Err(self.unwritable("a first line without a byte order mark", id));
        }
        self.buffer.push('\n');
        self.file
            .write_all(self.buffer.as_bytes())
            .map_err(|error| self.file.fault(error))
    }

    fn unwritable(&self, expected: &'static str, found: &str) -> DataError {
        DataError::Unwritable {
            path: name_of(self.file.path()),
            line: self.line,
            expected,
            found: excerpt(found),
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
