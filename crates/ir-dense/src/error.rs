//! Why a model cannot be loaded.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use crate::{BackendError, TokenError};

/// Why a folder is not a model that can encode.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// What Git leaves in place of a large file that was not fetched.
    #[error("{} is a pointer of Git LFS, not the file itself: \"git lfs pull\" fetches it", path.display())]
    Pointer {
        /// The file.
        path: PathBuf,
    },
    /// A link to a file that is not there.
    #[error("{} is a link to {}, which is not there", path.display(), target.display())]
    Dangling {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// Weights in several files, which this crate does not read.
    #[error("{} lists several files of weights, expected one: model.safetensors", path.display())]
    Sharded {
        /// The list.
        path: PathBuf,
    },
    /// The folder lacks a file.
    #[error("{} has no {expected}", folder.display())]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// The names that would do.
        expected: &'static str,
    },
    /// A file is not JSON, or not of the expected form.
    #[error("{} is not what it should be", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and what.
        #[source]
        source: serde_json::Error,
    },
    /// A value that this crate cannot work with, or that contradicts another.
    #[error("{}: {field} is {found}, expected {expected}", path.display())]
    Setting {
        /// The file.
        path: PathBuf,
        /// The name in the file.
        field: String,
        /// What would do.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The weights end too early or go on too long.
    #[error("{} has {found} bytes, its header promises {expected}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes promised.
        expected: u64,
        /// Bytes there.
        found: u64,
    },
    /// The weights are no file of their kind.
    #[error("{} is not a file of weights", path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// What its reader says.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A tensor is missing.
    #[error("{} has no tensor {tensor}", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
    },
    /// A tensor has another shape than the configuration says.
    #[error("{}: {tensor} has the shape {found:?}, the configuration says {expected:?}", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// By the configuration.
        expected: Vec<usize>,
        /// In the file.
        found: Vec<usize>,
    },
    /// A tensor does not hold numbers of 16, 32 or 64 bits with a fraction.
    #[error("{}: {tensor} holds {found}, expected f32, f16, bf16 or f64", path.display())]
    Type {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Its type.
        found: String,
    },
    /// A weight is infinite or not a number.
    #[error("{}: element {index} of {tensor} is {value}", path.display())]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Which element, row by row.
        index: usize,
        /// What is there.
        value: f32,
    },
    /// A text's vector is infinite or no number, although all weights are: they are too large.
    #[error("a vector has the element {value}, expected finite numbers: the weights are too large")]
    Overflow {
        /// The element.
        value: f32,
    },
    /// The vocabulary has tokens for which the embedding table has no row.
    #[error(
        "{}: token {token:?} has the number {id}, the table of embeddings has {rows} rows",
        path.display()
    )]
    Vocabulary {
        /// The file with the vocabulary.
        path: PathBuf,
        /// The token with the highest number.
        token: String,
        /// Its number.
        id: u32,
        /// Rows of the table, from 0.
        rows: usize,
    },
    /// The tokeniser cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// The backend is not there.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The two towers give vectors of different lengths.
    #[error("the tower of queries has {query} dimensions, that of documents {document}")]
    Towers {
        /// Dimensions on the query side.
        query: usize,
        /// Dimensions on the document side.
        document: usize,
    },
}

impl ModelError {
    /// A [`ModelError::Setting`].
    pub(crate) fn setting(
        path: &Path,
        field: impl Into<String>,
        expected: impl Into<String>,
        found: impl std::fmt::Display,
    ) -> Self {
        Self::Setting {
            path: path.into(),
            field: field.into(),
            expected: expected.into(),
            found: found.to_string(),
        }
    }
}
