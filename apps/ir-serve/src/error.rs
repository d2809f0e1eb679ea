use ir_core::SearchError;
use ir_qa::documents::DocumentError;

use crate::store::StoreError;

/// Error of a [`Service`](crate::Service).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum ServiceError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error("{what}: expected at most {limit}, found {found}")]
    Limit {
        what: &'static str,
        limit: usize,
        found: usize,
    },
    /// Entries count from 0.
    #[error("data[{entry}]: doc_id {id:?}: expected a unique id, found it in data[{first}] too")]
    DuplicateDocument {
        id: String,
        first: usize,
        entry: usize,
    },
    #[error("document {id:?}: expected another DOI than {doi}, found it in {known:?} too")]
    DuplicateDoi {
        id: String,
        doi: String,
        known: String,
    },
    #[error("collection {name:?}: expected a unique name, found it twice")]
    DuplicateCollection { name: String },
    #[error(
        "collection {name:?}: not found; known: {}",
        if known.is_empty() { "none".to_owned() } else { known.join(", ") }
    )]
    NoCollection { name: String, known: Vec<String> },
    #[error("expected a server with a reranker (ir serve --rerank MODEL), found none")]
    NoReranker,
    #[error(
        "tag: expected 1 to {limit} characters without a comma or a control character, found {found:?}"
    )]
    Tag { limit: usize, found: String },
    #[error("document {id:?}: not found")]
    NoDocument { id: String },
    #[error("document {id:?}: expected a file in the folder of papers, found none")]
    NoFile { id: String },
    #[error("answer {id:?}: not found")]
    NoAnswer { id: String },
    #[error("expected a folder of papers, found none: the service was started without one")]
    NoFolder,
    #[error("the folder of papers is being read; wait for the end")]
    ReadingFolder,
    /// No file of the folder could be read, and documents would have been deleted.
    #[error(
        "{path}: expected papers, found none that can be read. Its {documents} documents are kept, \
         since the folder may be unmounted: make the files available and read the folder again; \
         to delete the documents, send POST /v1/index/delete, and publish"
    )]
    NoReadableFiles { path: String, documents: usize },
    #[error("internal error")]
    Panic,
    /// The published documents are not loaded yet or, with an error, cannot be.
    #[error("{}", error.as_deref().unwrap_or("the published documents are being loaded"))]
    Loading { error: Option<String> },
}

/// An error with its causes.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
