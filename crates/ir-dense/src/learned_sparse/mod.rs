//! Learned sparse encoding: a text becomes weights of the tokens of the vocabulary, as in SPLADE.
//!
//! - `folder`: folders of sentence-transformers' `SparseEncoder`, and masked language models
//! - `head`: masked-language-model head, and its pooling over the tokens of a text
//! - `encoder`: texts to weights
//! - `save`: writer of a folder

mod encoder;
mod folder;
mod head;
mod save;

pub use encoder::SparseEncoder;
pub(crate) use folder::SpladeFolder;
pub(crate) use head::{ActiveLogit, MaskedLmHead, MaskedLmLayers, SpladePooling};
