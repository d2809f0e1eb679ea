use ir_data::DataError;
use serde::{Deserialize, Serialize};

use crate::soco::SocoError;

/// Error of reading a document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum DocumentError {
    /// The file cannot be opened, read or decompressed, or is not the expected JSON.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The file, decompressed, exceeds the size limit in bytes.
    #[error("{path}: expected at most {limit} bytes of text, found more")]
    TooLarge { path: String, limit: u64 },
    /// The text does not have its encoding. `encoding` is declared, or UTF-8 by default.
    #[error("{path}:{line}: expected {encoding} text, found invalid bytes")]
    Encoding {
        path: String,
        line: u64,
        encoding: &'static str,
    },
    /// The file is not text.
    #[error("{path}:{line}: expected text, found a NUL byte")]
    Binary { path: String, line: u64 },
    /// The encoding that the file declares is unknown.
    #[error("{path}: expected the name of an encoding, found {found:?}")]
    UnknownEncoding { path: String, found: String },
    /// The XML is not well-formed. `found` is the parser's message.
    #[error("{path}:{line}: expected well-formed XML, found an error ({found})")]
    Xml {
        path: String,
        line: u64,
        found: String,
    },
    /// The XML refers to an entity of its document type. Entities are never expanded.
    #[error("{path}:{line}: expected an entity of XML or HTML, found &{entity};")]
    Entity {
        path: String,
        line: u64,
        entity: String,
    },
    /// XML elements are nested too deeply.
    #[error("{path}:{line}: expected at most {limit} nested elements, found more")]
    Depth {
        path: String,
        line: u64,
        limit: usize,
    },
    /// The XML has too many elements.
    #[error("{path}:{line}: expected at most {limit} elements, found more")]
    Elements {
        path: String,
        line: u64,
        limit: usize,
    },
    /// The file has too many paragraphs, or markup or lines for as many.
    #[error("{path}: expected at most {limit} paragraphs, found more")]
    Paragraphs { path: String, limit: usize },
    /// The records of SOCO are not in their format.
    #[error(transparent)]
    Soco(#[from] SocoError),
    /// The content is of a format that is not read.
    #[error("{path}: expected {expected}, found {found}")]
    Format {
        path: String,
        expected: &'static str,
        found: String,
    },
    /// The PDF cannot be read.
    #[error("{path}: {error}")]
    Pdf { path: String, error: PdfError },
    /// The caller's [`Progress`](ir_core::Progress) canceled the operation.
    #[error("canceled")]
    Canceled,
}

/// Error of reading a PDF.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum PdfError {
    /// The reader has no `PdfConfig`, or the crate not the feature `pdf`.
    #[error("PDF needs the feature `pdf`; or convert it, for example with GROBID or pdftotext")]
    Feature,
    /// The PDF needs a password.
    #[error("expected a PDF without password, found an encrypted one")]
    Encrypted,
    /// No page has text: the pages are scanned images.
    #[error(
        "expected text, found none on {pages} pages: recognize it first, such as with ocrmypdf"
    )]
    NoText { pages: usize },
    /// The PDF is damaged, or its parser fails. `found` is the parser's message.
    #[error("expected a PDF, found a damaged one ({found})")]
    Damaged { found: String },
    /// The text exceeds the size limit in bytes.
    #[error("expected at most {limit} bytes of text, found more")]
    Text { limit: u64 },
    #[error("expected at most {limit} pages, found {found}")]
    Pages { limit: usize, found: usize },
    /// The PDF is not read within the limit of wall time.
    #[error("expected to be read within {seconds} s, took longer")]
    Time { seconds: u64 },
    /// The PDF is not read within the limit of memory.
    #[error("expected to be read within {mebibytes} MiB of memory, needs more")]
    Memory { mebibytes: u64 },
    /// The program that reads PDF cannot be started.
    #[error("{program}: cannot be started to read PDF ({found})")]
    Process { program: String, found: String },
}
