//! Errors of reading and writing files.

use std::io;

use ir_core::store::OpenIndexError;

use crate::BuildError;

/// Error importing or exporting a file in the Common Index File Format.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum CiffError {
    /// The file cannot be read.
    #[error("{name}: cannot be read")]
    Read {
        name: String,
        #[source]
        source: io::Error,
    },
    /// The file is damaged or of another format. `offset` is the first byte of the message.
    #[error("{name}: {message} at byte {offset}: expected {expected}, found {found}")]
    Invalid {
        name: String,
        message: String,
        offset: u64,
        expected: String,
        found: String,
    },
    /// A term has two posting lists.
    #[error("{name}: expected one posting list per term, found two of {term:?}")]
    RepeatedTerm { name: String, term: String },
    /// The index cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The index to be exported has no such field.
    #[error("expected a field of the index ({}), found {found:?}", .expected.join(", "))]
    UnknownField {
        expected: Vec<&'static str>,
        found: String,
    },
    /// The index has more than the format can represent.
    #[error("{what}: expected at most {limit} in CIFF, found {found}")]
    TooLarge {
        what: String,
        limit: u64,
        found: u64,
    },
    /// The index to be exported is damaged.
    #[error(transparent)]
    Damaged(#[from] OpenIndexError),
    /// The file cannot be written.
    #[error("the CIFF file cannot be written")]
    Write(#[source] io::Error),
    /// The progress callback returned [`Flow::Stop`](ir_core::Flow::Stop).
    #[error("the export was canceled")]
    Canceled,
}
