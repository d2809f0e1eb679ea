//! Encoding: text to vectors with a bi-encoder.

mod added_tokens;
mod batches;
pub(crate) mod bi_encoder;
mod config;
#[cfg(test)]
mod damaged_tests;
pub(crate) mod dense;
mod description;
pub(crate) mod files;
pub(crate) mod fingerprint;
pub(crate) mod late_interaction_format;
pub(crate) mod model_class;
pub(crate) mod module_config;
pub(crate) mod module_entry;
pub(crate) mod modules;
pub(crate) mod pair_template;
mod pooling;
pub(crate) mod router;
mod save;
pub(crate) mod sentence_transformers;
mod static_embeddings;
mod stream;
mod text_groups;
pub(crate) mod tokenizer;
pub(crate) mod tokenizer_files;
pub(crate) mod tower;
pub(crate) mod transformer_module;
mod word_boundaries;

pub(crate) use batches::{SequenceBatches, batches};
pub use bi_encoder::BiEncoder;
pub(crate) use bi_encoder::side_folders;
pub use config::{EncoderConfig, SideConfig};
pub use description::{
    ComputationDescription, ModuleDescription, SideDescription, TokenizerDescription,
    TowerDescription, WeightDescription,
};
pub use files::model_files;
pub use fingerprint::EncoderFingerprint;
pub(crate) use pooling::{NORM_EPSILON, normalize, normalize_row};
pub use pooling::{Pooling, PoolingModes, UnknownPooling};
pub use static_embeddings::UNLIMITED_TOKENS;
pub use stream::encode_stream;
pub use tokenizer::ModelTokenizer;
pub use tower::Tower;
