//! Encoding: text to vectors with a bi-encoder.

mod bi_encoder;
mod config;
pub(crate) mod files;
mod fingerprint;
mod modules;
mod pooling;
mod save;
pub(crate) mod sentence_transformers;
mod stream;
mod text_groups;
pub(crate) mod tokenizer;
mod tower;
mod word_boundaries;

pub use bi_encoder::BiEncoder;
pub(crate) use bi_encoder::{batches, side_folders};
pub use config::{EncoderConfig, SideConfig};
pub use files::model_files;
pub use fingerprint::EncoderFingerprint;
pub use pooling::Pooling;
pub(crate) use pooling::{normalize, normalize_row};
pub use stream::encode_stream;
pub use tokenizer::ModelTokenizer;
pub use tower::Tower;
