//! What can go wrong, one enum a kind of operation.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use ir_core::{CorpusError, IdError};

use crate::analysis::AnalysisError;

/// Why an index could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The collection could not be read.
    #[error("the documents could not be read")]
    Corpus(#[from] CorpusError),
    /// Ids are repeated, or there are too many documents.
    #[error("the document ids cannot be used")]
    Ids(#[from] IdError),
    /// The analysis is not valid.
    #[error("the analysis cannot be built")]
    Analysis(#[from] AnalysisError),
    /// A field of a document is longer than an index can say.
    #[error("field {field} of document {id:?} has more than {limit} tokens")]
    TooLong {
        /// The document.
        id: String,
        /// The field.
        field: &'static str,
        /// The most that fit.
        limit: u32,
    },
    /// An attribute that is to be stored holds a number that is NaN or infinite.
    #[error("attribute {name:?} of document {id:?} holds a number that is not finite")]
    NotFinite {
        /// The document.
        id: String,
        /// The attribute.
        name: String,
    },
    /// The list of one term does not fit the format (some billions of postings).
    #[error("the postings of term {term:?} take more than {limit} bytes")]
    ListTooLong {
        /// The term.
        term: String,
        /// The most that fit.
        limit: u32,
    },
    /// The analyzer panicked.
    #[error(
        "the analyzer panicked on one of {documents} documents, the first of which is {first:?}"
    )]
    Panicked {
        /// How many documents were at work.
        documents: usize,
        /// The id of the first of them.
        first: String,
    },
    /// The system gave no thread.
    #[error("a thread could not be started")]
    Thread(#[source] io::Error),
    /// A temporary file could not be written or read: the memory budget was used up.
    #[error("a temporary file for the part of the index that exceeds the memory budget failed")]
    Spill(#[source] io::Error),
    /// The index could not be written.
    #[error("{}: could not be written", path.display())]
    Write {
        /// The destination.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The new index could not be opened.
    #[error("the index that was just written cannot be opened")]
    Open(#[from] OpenError),
    /// The caller asked to stop.
    #[error("stopped on request")]
    Cancelled,
    /// A document was pushed, or the index finished, after an earlier error.
    #[error("an earlier error ended the building of this index")]
    Abandoned,
}

/// Why an index could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The system could not open or read the file.
    #[error("{}: could not be read", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A directory was given.
    #[error("{}: expected an index file, found a directory", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// The file does not begin as an index does.
    #[error("{}: not an index: expected it to begin with {expected:?}, found {found:?}", path.display())]
    NotAnIndex {
        /// The file.
        path: PathBuf,
        /// How an index begins.
        expected: String,
        /// How the file begins.
        found: String,
    },
    /// The file was written by a newer version of this crate.
    #[error("{}: index format {found} is newer than {expected}, the newest that this version reads", path.display())]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// The newest version that can be read.
        expected: u32,
        /// The version of the file.
        found: u32,
    },
    /// The end is missing.
    #[error("{}: cut short, or damaged at the end: no closing mark in the last of its {found} bytes", path.display())]
    CutShort {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        found: u64,
    },
    /// Bytes have changed since the index was written.
    #[error("{}: damaged: section {section} has checksum {found:08x}, expected {expected:08x}", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The damaged section.
        section: String,
        /// The checksum that was written.
        expected: u32,
        /// The checksum of what is there.
        found: u32,
    },
    /// A part of the index is missing or does not fit the rest.
    #[error("{}: damaged: section {section} does not hold {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The section.
        section: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// The description of the index cannot be understood.
    #[error("{}: the description of the index cannot be read", path.display())]
    Description {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

impl OpenError {
    /// Whether the file is an index of this format that was cut or changed after it was written.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::CutShort { .. } | Self::Checksum { .. } | Self::Malformed { .. }
        )
    }
}

/// Why a searcher could not be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SearcherError {
    /// A parameter outside its range.
    #[error("{name} is {found}, expected {expected}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// The range.
        expected: &'static str,
        /// What was given.
        found: f32,
    },
    /// A weight for a field that the index does not have.
    #[error("the index has no field {found:?}, its fields are {expected:?}")]
    UnknownField {
        /// The fields of the index.
        expected: Vec<&'static str>,
        /// What was given.
        found: String,
    },
    /// The index was built with an analyzer of the caller's own, which is needed to search it.
    #[error(
        "the index was built with the caller's own analyzer {name:?}; pass it to `Index::with_analyzer`"
    )]
    NeedsAnalyzer {
        /// The name that was given to the analyzer.
        name: String,
    },
}

/// Why a stored document could not be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The index was built without.
    #[error("the index holds no {what}: it was built with `Store::{found:?}`")]
    NotStored {
        /// What was asked for.
        what: &'static str,
        /// What the index was built with.
        found: crate::Store,
    },
    /// The index has no such document.
    #[error("document number {found} in an index of {documents} documents")]
    NoSuchDocument {
        /// The number of documents.
        documents: usize,
        /// What was asked for.
        found: u32,
    },
    /// The stored bytes are damaged.
    #[error("the stored form of document number {doc} is damaged")]
    Damaged {
        /// The document.
        doc: u32,
    },
}

/// A list of postings that cannot be what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the postings of a term are damaged")]
pub(crate) struct Damaged;
