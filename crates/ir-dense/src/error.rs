//! Errors of reading, writing and running a model.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use crate::backend::BackendError;
use crate::precision::Precision;

/// Error reading, writing or running a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum ModelError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file or folder cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file is a Git LFS pointer.
    #[error("{} is a pointer of Git LFS, not the file itself: \"git lfs pull\" fetches it", path.display())]
    Pointer { path: PathBuf },
    /// A symbolic link has no target.
    #[error("{} is a link to {}, which does not exist", path.display(), target.display())]
    Dangling { path: PathBuf, target: PathBuf },
    /// The weights are sharded PyTorch files, which are not supported.
    #[error("{} lists several PyTorch files, expected pytorch_model.bin or safetensors files", path.display())]
    Sharded { path: PathBuf },
    /// The folder lacks a file; `expected` lists the accepted names.
    #[error("{} has no {expected}", folder.display())]
    MissingFile {
        folder: PathBuf,
        expected: &'static str,
    },
    /// A file is not valid JSON, or a field has another type or is missing. `field` is its path,
    /// such as `[1].type`; empty if the file as a whole is invalid.
    #[error("{}{}{field} is invalid", path.display(), if field.is_empty() { "" } else { ": " })]
    Json {
        path: PathBuf,
        field: String,
        #[source]
        source: serde_json::Error,
    },
    /// A value of a file is not supported, or contradicts another: a field of a JSON file; length,
    /// shape, element type or an element of the weights; a token that the embeddings lack.
    #[error("{}: {field} is {found}, expected {expected}", path.display())]
    Setting {
        path: PathBuf,
        field: String,
        expected: String,
        found: String,
    },
    /// A weight file is neither a safetensors file nor a PyTorch file.
    #[error("{} is not a weight file", path.display())]
    Weights {
        path: PathBuf,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A tensor is missing.
    #[error("{} has no tensor {tensor}", path.display())]
    Tensor { path: PathBuf, tensor: String },
    /// The layers have a tensor that the configuration does not describe.
    #[error("{}: the layers have the tensor {tensor}{}, which config.json does not describe",
        path.display(), and_others(*others))]
    UnreadTensor {
        path: PathBuf,
        tensor: String,
        others: usize,
    },
    /// The architecture is implemented by code of the folder, which is not executed.
    #[error("{}: the model needs code of the folder ({code}), which is not executed; \
        model_type is {model_type}, expected {expected}", path.display())]
    RemoteCode {
        path: PathBuf,
        code: String,
        model_type: String,
        expected: String,
    },
    /// A text vector is infinite or NaN although all weights are finite.
    #[error("a vector has the element {value}, expected finite numbers: the weights are too large")]
    Overflow { value: f32 },
    /// The chat template of a model is invalid, or fails.
    #[error("{}: the chat template fails", path.display())]
    Template {
        path: PathBuf,
        #[source]
        source: minijinja::Error,
    },
    /// A score of a cross-encoder is infinite or NaN although all weights are finite. `document`:
    /// the id of a candidate, or the number of a pair.
    #[error(
        "{document} has the score {value}, expected a finite number: the weights are too large"
    )]
    Score { document: String, value: f32 },
    /// The tokenizer cannot be used.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// The backend or the model lacks a precision.
    #[error("precision {precision}: {reason}")]
    Precision {
        precision: Precision,
        reason: String,
    },
    /// The backend is not available.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The dimensions of query vectors and document vectors differ.
    #[error("the query encoder has {query} dimensions, the document encoder {document}")]
    Dimensions { query: usize, document: usize },
}

impl ModelError {
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

    /// Replaces names of fields by the names that the file has for them.
    pub(crate) fn with_field_names<'a>(
        mut self,
        names: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        if let Self::Setting {
            field, expected, ..
        } = &mut self
        {
            for (name, other) in names {
                if field == name {
                    *field = other.into();
                }
                *expected = expected.replace(name, other);
            }
        }
        self
    }

    pub(crate) fn write(path: &Path) -> impl Fn(io::Error) -> Self {
        let path: PathBuf = path.into();
        move |source| Self::Write {
            path: path.clone(),
            source,
        }
    }
}

fn and_others(others: usize) -> String {
    match others {
        0 => String::new(),
        _ => format!(" and {others} others"),
    }
}

/// Command that writes `tokenizer.json` to the folder of a file.
fn conversion(path: &Path) -> String {
    let folder = path.parent().unwrap_or(path).display();
    format!(
        "python -c \"from transformers import AutoTokenizer; \
         AutoTokenizer.from_pretrained('{folder}').save_pretrained('{folder}')\""
    )
}

/// Error reading or running a tokenizer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum TokenizerError {
    /// A file is not a tokenizer of the `tokenizers` library.
    #[error("{} is not a tokenizer", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: tokenizers::Error,
    },
    /// The only tokenizer is a SentencePiece model.
    #[error("{} is a SentencePiece model, expected tokenizer.json; transformers converts it: {}",
        path.display(), conversion(path))]
    SentencePiece { path: PathBuf },
    /// A vocabulary without `tokenizer.json` is of a tokenizer that has other rules.
    #[error("{}: expected tokenizer.json for {class}; transformers converts it: {}",
        path.display(), conversion(path))]
    UnknownClass { path: PathBuf, class: String },
    /// The vocabulary lacks a special token.
    #[error("{} has no {token}", path.display())]
    Special { path: PathBuf, token: String },
    /// The tokens of a text are not contiguous between the special tokens.
    #[error("{}: the tokens of a text are not framed by special tokens", path.display())]
    Template { path: PathBuf },
    /// The maximum length leaves no room for a token besides the special tokens.
    #[error("the limit of {limit} tokens is too low, the least is {least}")]
    Limit { limit: usize, least: usize },
    /// The `tokenizers` library panicked: its file is damaged.
    #[error("{} is damaged: the tokenizers library fails with {message:?}", path.display())]
    Panic { path: PathBuf, message: String },
    /// Tokenization of a text failed.
    #[error("the tokenizer failed")]
    Encode {
        #[source]
        source: tokenizers::Error,
    },
}
