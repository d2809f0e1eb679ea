//! Error types, one per operation.

use std::io;
use std::path::{Path, PathBuf};

use ir_core::store::OpenIndexError;
use ir_core::{CorpusError, IdError};

use crate::analysis::AnalysisError;

/// Error building an index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum BuildError {
    /// The collection cannot be read.
    #[error("cannot read the documents")]
    Corpus(#[from] CorpusError),
    /// Document ids are repeated, or there are too many documents.
    #[error("invalid document ids")]
    Ids(#[from] IdError),
    /// The analysis configuration is invalid.
    #[error("invalid analysis configuration")]
    Analysis(#[from] AnalysisError),
    /// A field of a document has more tokens than the format can represent.
    #[error("field {field} of document {id:?}: expected at most {limit} tokens")]
    TooLong {
        id: String,
        field: &'static str,
        limit: u32,
    },
    /// An attribute to be stored holds NaN or infinity.
    #[error(
        "attribute {name:?} of document {id:?}: expected finite numbers, found NaN or infinity"
    )]
    NotFinite { id: String, name: String },
    /// The posting list of a term exceeds the format's limit (some billions of postings).
    #[error("posting list of term {term:?}: expected at most {limit} bytes")]
    ListTooLong { term: String, limit: u32 },
    /// The analyzer panicked on a document of a chunk.
    #[error("the analyzer panicked on one of {documents} documents, starting with {first:?}")]
    Panicked { documents: usize, first: String },
    /// A worker thread cannot be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// A temporary file for data beyond the memory budget cannot be written or read.
    #[error("cannot write or read a temporary file of the index builder")]
    Spill(#[source] io::Error),
    /// The index file cannot be written.
    #[error("{}: cannot write the index", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The finished index cannot be opened, or an index to be merged is damaged.
    #[error(transparent)]
    Open(#[from] OpenIndexError),
    /// An index to be merged has another configuration than the first one, or there is no index.
    #[error(
        "index {} of the indexes to merge: expected the configuration of the first index",
        position + 1
    )]
    MergeConfig { position: usize },
    /// The progress callback returned [`Flow::Stop`](ir_core::Flow::Stop).
    #[error("indexing was canceled")]
    Canceled,
    /// The builder was used after an error.
    #[error("the index builder cannot be used after an error")]
    Abandoned,
}

impl BuildError {
    /// Term with two posting lists in a merge, if this is the error.
    #[cfg(feature = "ciff")]
    pub(crate) fn repeated_term(&self) -> Option<&str> {
        let Self::Spill(error) = self else {
            return None;
        };
        let repeated = error.get_ref()?.downcast_ref::<RepeatedTerm>()?;
        Some(&repeated.term)
    }

    /// Converts the error of writing the index file.
    pub(crate) fn write(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Write {
            path: path.to_owned(),
            source,
        }
    }
}

/// Error of a merge of runs with unique terms: two runs have a posting list of the same term.
#[derive(Debug, thiserror::Error)]
#[error("expected one posting list of {term:?}, found two")]
pub(crate) struct RepeatedTerm {
    pub(crate) term: String,
}

/// Error creating a searcher.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum SearcherError {
    /// A parameter is out of range.
    #[error("{name}: expected {expected}, found {found}")]
    Parameter {
        name: &'static str,
        expected: &'static str,
        found: f32,
    },
    /// A parameter of a field is out of range.
    #[error("{name}: expected {expected}, found {found}")]
    FieldParameter {
        name: String,
        expected: &'static str,
        found: f32,
    },
    /// No scoring model has this name.
    #[error(
        "expected a scoring model ({}), found {found:?}{}",
        .expected.join(", "),
        hint(*.nearest)
    )]
    UnknownModel {
        expected: Vec<&'static str>,
        nearest: Option<&'static str>,
        found: String,
    },
    /// Several programs give this name to different scoring models.
    #[error(
        "expected an unambiguous scoring model, found {found:?}: {}",
        meanings(models)
    )]
    AmbiguousModel {
        models: Vec<(&'static str, &'static str)>,
        found: String,
    },
    /// The scoring model has no parameter of this name.
    #[error(
        "expected {}, found {found:?}{}",
        parameters_of(model, expected),
        hint(*.nearest)
    )]
    UnknownModelParameter {
        model: &'static str,
        expected: Vec<&'static str>,
        nearest: Option<&'static str>,
        found: String,
    },
    /// A parameter of a scoring model as text occurs twice.
    #[error("expected every parameter once, found {found:?} twice")]
    RepeatedModelParameter { found: String },
    /// A scoring model as text is malformed.
    #[error("expected a scoring model such as qld, or qld(mu=1000,lengths=exact), found {found:?}")]
    ModelSyntax { found: String },
    /// A weight was given for a field that the index does not have.
    #[error("expected a field of the index ({}), found {found:?}", .expected.join(", "))]
    UnknownField {
        expected: Vec<&'static str>,
        found: String,
    },
    /// The weight of a query term is negative or not finite.
    #[error("weight of the term {term:?}: expected a finite number >= 0, found {found}")]
    TermWeight { term: String, found: f32 },
    /// The index was built with a custom analyzer, which searching needs.
    #[error(
        "the index was built with the custom analyzer {name:?}: pass it to `Index::with_analyzer`"
    )]
    NeedsAnalyzer { name: String },
}

/// The nearest known name as a question, if there is one.
pub(crate) fn hint(nearest: Option<&str>) -> String {
    let hint = nearest.map(|name| format!(" (did you mean {name}?)"));
    hint.unwrap_or_default()
}

/// Names and descriptions of scoring models.
fn meanings(models: &[(&str, &str)]) -> String {
    let models = models.iter();
    let meanings: Vec<_> = models
        .map(|(name, description)| format!("{name} is {description}"))
        .collect();
    meanings.join(", ")
}

fn parameters_of(model: &str, expected: &[&str]) -> String {
    match expected {
        [] => format!("no parameter of {model}"),
        _ => format!("a parameter of {model} ({})", expected.join(", ")),
    }
}

/// Error reading the stored fields of a document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum StoredFieldsError {
    /// The index was built without storing them.
    #[error("the index stores no {what}: it was built with `StoredFields::{found:?}`")]
    NotStored {
        what: &'static str,
        found: crate::StoredFields,
    },
    /// The document number is out of range.
    #[error("expected a document number below {documents}, found {found}")]
    NoSuchDocument { documents: usize, found: u32 },
    /// The stored bytes cannot be decoded.
    #[error("the stored fields of document number {doc} are damaged")]
    Damaged { doc: u32 },
    /// The index file is damaged.
    #[error(transparent)]
    Read(#[from] OpenIndexError),
}
