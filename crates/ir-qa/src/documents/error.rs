use ir_data::DataError;

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
    /// The caller's [`Progress`](ir_core::Progress) canceled the operation.
    #[error("canceled")]
    Canceled,
}
