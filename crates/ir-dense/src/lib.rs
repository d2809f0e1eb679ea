#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod backend;
mod batch;
mod catalogue;
mod config;
mod encoder;
mod error;
mod export;
mod folder;
mod host;
mod hub;
mod memory;
mod new_model;
mod parameters;
mod pooling;
mod safetensors_file;
mod similarity;
mod stream;
mod tokens;
mod tower;
pub mod train;
mod transformer;
mod weights;
mod word_pieces;

pub use backend::{Backend, BackendError};
pub use batch::Batch;
pub use burn;
pub use catalogue::KnownModel;
pub use config::{Activation, Architecture, TransformerConfig};
pub use encoder::{BiEncoder, EncoderConfig, SideConfig};
pub use error::ModelError;
pub use hub::ModelCache;
#[cfg(feature = "hub")]
pub use hub::{Hub, HubError};
pub use new_model::NewModel;
pub use pooling::Pooling;
pub use similarity::Similarity;
pub use stream::encode_stream;
pub use tokens::{TokenError, Tokens};
pub use tower::Tower;
pub use transformer::{Layer, Transformer};
