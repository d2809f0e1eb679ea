//! Files of documents in any format, detected by their content.

use std::fmt;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use ir_core::{Corpus, CorpusError, DocReader, Document, Skipped};

use crate::columnar::{ColumnarCorpus, ColumnarReader};
use crate::compression::open;
use crate::csv::{CsvCorpus, Header};
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location, name_of};
use crate::head::{ColumnarFormat, FileHead};
use crate::json::{FieldNames, GivenNames, RecordKind, RecordReader};
use crate::jsonl::JsonlCorpus;
use crate::lines::LineReader;
#[cfg(feature = "html")]
use crate::sgml::SgmlCorpus;
use crate::smart::SmartCorpus;
use crate::text_encoding::TextEncoding;
use crate::tsv::{self, Column, TsvCorpus};

/// How a file of documents or queries is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Character encoding of formats other than JSON, Parquet and Arrow. Default: UTF-8, or the
    /// encoding in the XML declaration of documents and topics.
    pub encoding: TextEncoding,
    /// Names of fields in JSON, CSV, Parquet and Arrow that replace the detected ones, and of the
    /// element of topics with the text. Default: none.
    pub names: GivenNames,
}

/// Format of a file of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentFormat {
    /// JSON lines, or one JSON array.
    Json {
        /// Names of the fields.
        fields: FieldNames,
        /// If `true`, the file is one array.
        is_array: bool,
    },
    /// CSV or TSV with a header line.
    Csv {
        /// Names of the columns for id, title and text.
        fields: FieldNames,
        /// Separator of cells: `tab`, `comma` or `semicolon`.
        separator: &'static str,
        /// All columns in the order of the file.
        columns: Vec<String>,
    },
    /// Tab-separated columns without a header line.
    Tsv(Vec<Column>),
    /// TREC documents in SGML.
    Trec,
    /// SMART format: `.I` and a number.
    Smart,
    /// Parquet or Arrow, with the names of JSON lines.
    Columnar {
        /// Which of the two.
        format: ColumnarFormat,
        /// Names of the columns for id, title and text.
        fields: FieldNames,
        /// Columns that are read.
        columns: Vec<String>,
        /// Columns that are not read: binary data, lists of floating-point numbers, times of day.
        skipped: Vec<String>,
    },
}

impl From<Header> for DocumentFormat {
    fn from(header: Header) -> Self {
        Self::Csv {
            separator: header.separator(),
            fields: header.fields,
            columns: header.columns,
        }
    }
}

impl DocumentFormat {
    /// Name of the format in messages.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Json { is_array: true, .. } => "JSON array",
            Self::Json { .. } => "JSON lines",
            Self::Csv { separator, .. } => match *separator {
                "tab" => "TSV with a header line",
                _ => "CSV with a header line",
            },
            Self::Tsv(layout) if *layout == tsv::msmarco_documents() => {
                "TSV of id, URL, title, text"
            }
            Self::Tsv(_) => "TSV",
            Self::Trec => "TREC",
            Self::Smart => "SMART",
            Self::Columnar { format, .. } => format.name(),
        }
    }

    /// What of the content shows the format.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Json { is_array: true, .. } => "the first character is [".to_owned(),
            Self::Json { .. } => "the first character is {, or the name ends in .json".to_owned(),
            Self::Csv { fields, .. } => format!(
                "the first line has the names {:?} and {:?}",
                fields.id, fields.text
            ),
            Self::Tsv(_) => "the first line has tabs, and no names of columns".to_owned(),
            Self::Trec => "the first element is <DOC>, <DOCS> or the root of a <DOC>".to_owned(),
            Self::Smart => "the first line is .I and a number".to_owned(),
            Self::Columnar { format, .. } => {
                format!("the first bytes are those of {}", format.name())
            }
        }
    }

    /// Returns `true` if the format is UTF-8 by definition.
    #[must_use]
    pub fn is_utf8(&self) -> bool {
        matches!(self, Self::Json { .. } | Self::Columnar { .. })
    }

    /// Names of the fields; `None` for formats without names.
    #[must_use]
    pub fn fields(&self) -> Option<&FieldNames> {
        match self {
            Self::Json { fields, .. }
            | Self::Csv { fields, .. }
            | Self::Columnar { fields, .. } => Some(fields),
            Self::Tsv(_) | Self::Trec | Self::Smart => None,
        }
    }
}

/// File of documents in any format, possibly compressed. The format is detected by the content:
///
/// | content | format |
/// |---|---|
/// | first bytes of Parquet or Arrow | [`crate::columnar`] |
/// | `.I` and a number | SMART: [`crate::smart`] |
/// | `<DOC>`, or a root element of it, also after comments | TREC: [`crate::sgml`] |
/// | `{` or `[`, or a name that ends in `.json`, `.jsonl` or `.ndjson` | JSON: [`crate::jsonl`] |
/// | a line of names of columns, with an id and a text | CSV, TSV: [`crate::csv`] |
/// | four columns separated by tabs, the second a URL | MS MARCO's documents: [`crate::tsv`] |
/// | otherwise | id, text and title, separated by tabs: [`crate::tsv`] |
///
/// ```
/// use ir_core::Corpus;
/// use ir_data::{DocumentFile, ReadOptions};
/// let path = std::env::temp_dir().join(format!("ir-data-documents-{}.csv", std::process::id()));
/// std::fs::write(&path, "id,text\nd1,\"Green tea, hot\"\n")?;
/// let docs = DocumentFile::open(&path, &ReadOptions::default())?;
/// assert_eq!(docs.format().name(), "CSV with a header line");
/// let first = docs.docs()?.next().transpose()?;
/// assert_eq!(first.map(|doc| doc.text).as_deref(), Some("Green tea, hot"));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DocumentFile {
    path: PathBuf,
    format: DocumentFormat,
    corpus: Arc<dyn Corpus>,
}

impl fmt::Debug for DocumentFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocumentFile")
            .field("path", &self.path)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

impl DocumentFile {
    /// Detects the format of a file.
    ///
    /// # Errors
    /// The file cannot be read, is empty or has no texts, the first record has no id or no text,
    /// or there are names in the options and the file has no names of fields.
    pub fn open(path: impl Into<PathBuf>, options: &ReadOptions) -> Result<Self, DataError> {
        let path = path.into();
        let format = detect(&path, options)?;
        let encoding = options.encoding;
        let corpus: Arc<dyn Corpus> = match &format {
            DocumentFormat::Json { fields, .. } => {
                Arc::new(JsonlCorpus::new(&path).with_fields(fields.clone()))
            }
            DocumentFormat::Csv { .. } => {
                let corpus = CsvCorpus::new(&path).with_encoding(encoding);
                Arc::new(corpus.with_names(options.names.clone()))
            }
            DocumentFormat::Tsv(layout) => {
                Arc::new(TsvCorpus::new(&path, layout).with_encoding(encoding))
            }
            #[cfg(feature = "html")]
            DocumentFormat::Trec => Arc::new(SgmlCorpus::new(&path).with_encoding(encoding)),
            #[cfg(not(feature = "html"))]
            DocumentFormat::Trec => return Err(crate::head::no_html(&name_of(&path))),
            DocumentFormat::Smart => {
                Arc::new(SmartCorpus::cranfield(&path).with_encoding(encoding))
            }
            DocumentFormat::Columnar { .. } => {
                Arc::new(ColumnarCorpus::new(&path).with_names(options.names.clone()))
            }
        };
        Ok(Self {
            path,
            format,
            corpus,
        })
    }

    /// Format that the content shows.
    #[must_use]
    pub fn format(&self) -> &DocumentFormat {
        &self.format
    }

    /// Path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Corpus for DocumentFile {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        self.corpus.open()
    }

    fn len_hint(&self) -> Option<u64> {
        self.corpus.len_hint()
    }

    fn skipped(&self) -> Skipped {
        self.corpus.skipped()
    }
}

fn detect(path: &Path, options: &ReadOptions) -> Result<DocumentFormat, DataError> {
    let name = name_of(path);
    if let Some(format) = ColumnarFormat::detect(path)? {
        let file = ColumnarReader::open_with(path, RecordKind::Document, &options.names)?;
        return Ok(DocumentFormat::Columnar {
            format,
            fields: file.fields().clone(),
            columns: file.columns().into_iter().map(str::to_owned).collect(),
            skipped: file.skipped_columns().to_vec(),
        });
    }
    let head = FileHead::read(&mut open(path)?, &name)?;
    if head.is_empty() {
        return Err(DataError::Empty {
            path: name,
            expected: "documents",
        });
    }
    let names = &options.names;
    if head.is_json(path) {
        let mut records = RecordReader::new(LineReader::new(open(path)?, &name));
        let first = loop {
            match records.read()? {
                Some((text, _)) if text.trim_ascii().is_empty() => {}
                Some((text, line)) => break (text.to_owned(), line),
                // An empty array.
                None => break (String::new(), head.number),
            }
        };
        let fields =
            FieldNames::detect_with(&first.0, RecordKind::Document, names, &name, first.1)?;
        let is_array = head.line.starts_with('[');
        return Ok(DocumentFormat::Json { fields, is_array });
    }
    let at = Location::new(&name, head.number);
    let unnamed = if head.is_smart() {
        DocumentFormat::Smart
    } else if head.is_trec() {
        DocumentFormat::Trec
    } else {
        let line = head.decoded(options.encoding);
        match Header::parse(&line, RecordKind::Document, names, at) {
            Ok(header) => return Ok(header.into()),
            // The header lacks a given name, or has a name twice.
            Err(error) if !names.is_empty() => return Err(error),
            Err(error @ (DataError::RepeatedField { .. } | DataError::LineEnd { .. })) => {
                return Err(error);
            }
            Err(_) => {}
        }
        let layout = if head.is_msmarco_document() {
            tsv::msmarco_documents().to_vec()
        } else {
            tsv::ID_TEXT_TITLE.to_vec()
        };
        // Errors of the first line say that the file is read as TSV.
        let first = options.encoding.decode(head.up_to_first_line());
        let read = tsv::read_documents(first, &name, &layout);
        read.map_err(|error| head.with_format(error))?;
        DocumentFormat::Tsv(layout)
    };
    if !names.is_empty() {
        return Err(DataError::OtherFormat {
            path: name,
            expected: "a file with names of fields (JSON, CSV, Parquet or Arrow)",
            found: unnamed.name().to_owned(),
        });
    }
    Ok(unnamed)
}

/// Documents in one or several files, which are read in this order. An id that two files have is an
/// error of the reader, and so are files without documents.
#[derive(Debug, Clone)]
pub struct DocumentFiles {
    files: Vec<DocumentFile>,
}

impl DocumentFiles {
    /// Detects the formats of files.
    ///
    /// # Errors
    /// Returns the error of [`DocumentFile::open`] for the first file that fails.
    pub fn open(
        paths: impl IntoIterator<Item = PathBuf>,
        options: &ReadOptions,
    ) -> Result<Self, DataError> {
        let paths = paths.into_iter();
        let files: Result<_, _> = paths
            .map(|path| DocumentFile::open(path, options))
            .collect();
        Ok(Self { files: files? })
    }
}

impl Corpus for DocumentFiles {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Ok(Box::new(FilesReader {
            corpus: self,
            files: self.files.iter(),
            current: None,
            is_empty: true,
            seen: (self.files.len() > 1).then(DuplicateFinder::default),
        }))
    }

    fn skipped(&self) -> Skipped {
        let files = self.files.iter();
        files.map(Corpus::skipped).sum()
    }
}

struct FilesReader<'a> {
    corpus: &'a DocumentFiles,
    files: slice::Iter<'a, DocumentFile>,
    current: Option<(&'a Path, Box<dyn DocReader + 'a>)>,
    seen: Option<DuplicateFinder>,
    /// If `true`, no document was read.
    is_empty: bool,
}

impl FilesReader<'_> {
    fn end(&self) -> Result<bool, CorpusError> {
        match self.corpus.files.first() {
            Some(first) if self.is_empty => Err(CorpusError::new(DataError::Empty {
                path: name_of(&first.path),
                expected: "documents",
            })),
            _ => Ok(false),
        }
    }
}

impl DocReader for FilesReader<'_> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        loop {
            let Some((path, reader)) = &mut self.current else {
                let Some(file) = self.files.next() else {
                    return self.end();
                };
                self.current = Some((&file.path, Corpus::open(file)?));
                continue;
            };
            if !reader.read(doc)? {
                self.current = None;
                continue;
            }
            if let Some(seen) = &mut self.seen
                && seen.add(&[&doc.id], 0).is_some()
            {
                return Err(CorpusError::new(DataError::IdOfEarlierFile {
                    path: name_of(path),
                    id: doc.id.clone(),
                }));
            }
            self.is_empty = false;
            return Ok(true);
        }
    }
}
