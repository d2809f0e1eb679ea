//! Error of the writers of token stores.

use std::io;
use std::path::PathBuf;

use ir_core::IdError;
use ir_core::segments::SegmentsError;
use ir_core::store::OpenIndexError;

use super::encoding::TokenEncoding;
use crate::index::error::SaveVectorIndexError;
use crate::index::partial_file::PartialFileError;

/// Error writing a token store or training a codebook. Tokens and components count from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named in the messages")]
pub enum TokenStoreError {
    /// The dimension of the store is 0 or too large.
    #[error("expected a dimension of 1 to {max}, found {found}")]
    Dim { max: usize, found: usize },
    /// The vectors of a document have another dimension than the store.
    #[error("document {id:?}: expected token vectors of dimension {expected}, found {found}")]
    DocumentDim {
        id: String,
        expected: usize,
        found: usize,
    },
    /// A component is NaN, infinite, or too large for the encoding.
    #[error(
        "document {id:?}, token {token}, component {component}: expected a number of magnitude at most {max}, found {found}"
    )]
    Component {
        id: String,
        token: usize,
        component: usize,
        max: f32,
        found: f32,
    },
    /// A vector does not have unit length, which residual encodings need.
    #[error(
        "document {id:?}, token {token}: expected a vector of length 1 for {encoding}, found length {found}; normalize the vectors or use f16 or int8"
    )]
    Length {
        id: String,
        token: usize,
        encoding: TokenEncoding,
        found: f32,
    },
    /// The range of a token in the text ends before its start.
    #[error("document {id:?}, token {token}: expected a range that does not end before its start")]
    Span { id: String, token: usize },
    /// A document has too many tokens.
    #[error("document {id:?}: expected at most {max} tokens, found {found}")]
    Tokens {
        id: String,
        max: usize,
        found: usize,
    },
    /// A residual encoding has no centroids.
    #[error("expected a codebook for {encoding} (TokenCodebook::train), found none")]
    NoCodebook { encoding: TokenEncoding },
    /// The codebook has another dimension than the store.
    #[error("codebook: expected dimension {expected}, found {found}")]
    CodebookDim { expected: usize, found: usize },
    /// The store has documents that are encoded with another codebook, or without one.
    #[error("expected the codebook of the documents of the store, found another one")]
    OtherCodebook,
    /// The sample of a codebook is empty, or has values that are no vectors of unit length.
    #[error("sample of the codebook: expected {expected}, found {found}")]
    Sample { expected: String, found: String },
    /// A document was written before.
    #[error("document {id:?}: expected an id that occurs once, found it again")]
    Duplicate { id: String },
    /// An id is too long, or there are too many documents.
    #[error(transparent)]
    Ids(#[from] IdError),
    /// A file cannot be written or read.
    #[error("{}: cannot write the token store", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Another writer, of this or another process, writes the same file.
    #[error("{}: locked by another writer", path.display())]
    Locked { path: PathBuf },
    /// The interrupted store has another configuration.
    #[error(
        "{}: expected {expected} to resume, found {found}; delete the file to start again",
        path.display()
    )]
    Mismatch {
        path: PathBuf,
        expected: String,
        found: String,
    },
    /// The folder is locked, contains other files, or a file of it cannot be opened or written.
    #[error(transparent)]
    Segments(#[from] SegmentsError),
    /// A segment cannot be written.
    #[error(transparent)]
    Save(#[from] SaveVectorIndexError),
    /// The progress callback returned [`Flow::Stop`](ir_core::Flow::Stop).
    #[error("writing the token store was canceled")]
    Canceled,
    /// The writer was used after an error.
    #[error("the writer of the token store cannot be used after an error")]
    Abandoned,
    /// The changes were committed, and then segments could not be merged. A later commit or
    /// compaction merges them.
    #[error("the changes are committed, but segments cannot be merged")]
    Merge(#[source] Box<Self>),
}

impl TokenStoreError {
    /// Error of a merge after a commit.
    pub(super) fn from_merge(error: Self) -> Self {
        match error {
            Self::Canceled => error,
            error => Self::Merge(Box::new(error)),
        }
    }
}

impl From<OpenIndexError> for TokenStoreError {
    fn from(error: OpenIndexError) -> Self {
        SegmentsError::from(error).into()
    }
}

impl From<PartialFileError> for TokenStoreError {
    fn from(error: PartialFileError) -> Self {
        match error {
            PartialFileError::Io { path, source } => Self::Io { path, source },
            PartialFileError::Locked { path } => Self::Locked { path },
        }
    }
}
