//! Late interaction: one vector per token of a text, as in ColBERT.
//!
//! - `folder`: folders of sentence-transformers, PyLate and Stanford's ColBERT
//! - `expansion`: query expansion by mask tokens
//! - `mask`: skip list, tokens without a vector
//! - `encoder`: texts to vectors of tokens
//! - `similarity`: MaxSim
//! - `save`: writer of folders

mod config;
mod description;
mod encoder;
mod expansion;
mod fingerprint;
mod folder;
mod mask;
mod save;
mod similarity;
mod tokens;
mod training;

pub use config::MultiVectorConfig;
pub(crate) use description::describe;
pub use description::{ExpansionDescription, LateInteractionDescription};
pub use encoder::MultiVectorEncoder;
pub(crate) use encoder::rules;
pub use fingerprint::MultiVectorFingerprint;
pub(crate) use folder::LateInteractionFolder;
pub use similarity::{TokenSimilarity, UnknownTokenSimilarity};
pub(crate) use tokens::{TextTokens, TokenRules};
pub use training::TokenVectorBatch;
