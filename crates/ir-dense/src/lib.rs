#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod backend;
mod encode;
mod error;
mod hub;
mod kernels;
mod model_folder;
mod random_model;
mod reader;
mod similarity;
pub mod train;
mod transformer;

pub use backend::{Backend, BackendError};
pub use burn;
pub use encode::{
    BiEncoder, EncoderConfig, EncoderFingerprint, ModelTokenizer, OutlierChannels, Pooling,
    Precision, SideConfig, Tower, UnknownPrecision, encode_stream, model_files,
};
pub use error::{ModelError, TokenizerError};
pub use hub::{FindModelError, KnownModel, ModelCache, ModelFolder};
#[cfg(feature = "hub")]
pub use hub::{Hub, HubError};
pub use model_folder::{Activation, Architecture, TransformerConfig};
pub use random_model::{CreateModelError, RandomModel};
pub use reader::{ExtractiveReader, ReaderConfig, WindowLogits};
pub use transformer::{TokenBatch, Transformer, TransformerLayer};
