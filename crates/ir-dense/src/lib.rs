#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod activation;
mod architectures;
mod backend;
mod cross_encoder;
mod description;
mod encode;
mod error;
mod head_layers;
mod hub;
mod kernels;
mod late_interaction;
mod learned_sparse;
mod model_folder;
mod precision;
mod random_model;
mod reader;
mod similarity;
pub mod train;
mod transformer;

pub use activation::Activation;
pub use backend::{Backend, BackendError};
pub use burn;
pub use cross_encoder::{
    CrossEncoder, CrossEncoderConfig, CrossEncoderDescription, CrossEncoderFingerprint, Windows,
    describe_cross_encoder,
};
pub use description::{ModelDescription, describe};
pub use encode::{
    BiEncoder, ComputationDescription, EncoderConfig, EncoderFingerprint, ModelTokenizer,
    ModuleDescription, Pooling, PoolingModes, SideConfig, SideDescription, TokenizerDescription,
    Tower, TowerDescription, UNLIMITED_TOKENS, UnknownPooling, WeightDescription, encode_stream,
    model_files,
};
pub use error::{ModelError, TokenizerError};
pub use hub::{FindModelError, KnownModel, ModelCache, ModelFolder};
#[cfg(feature = "hub")]
pub use hub::{Hub, HubError};
pub use late_interaction::{
    ExpansionDescription, LateInteractionDescription, MultiVectorConfig, MultiVectorEncoder,
    MultiVectorFingerprint, TokenSimilarity, TokenVectorBatch, UnknownTokenSimilarity,
};
pub use learned_sparse::SparseEncoder;
pub use model_folder::{
    Architecture, Biases, BottleneckAdapter, Convolution, Disentangled, LayerConfig, Norm,
    NormPlacement, Rotary, RotaryScaling, SharedLayers, TransformerConfig,
};
pub use precision::{OutlierChannels, Precision, UnknownPrecision};
pub use random_model::{CreateModelError, RandomModel};
pub use reader::{ExtractiveReader, ReaderConfig, WindowLogits};
pub use transformer::{
    AdapterProjections, ConvolutionLayer, PositionProjections, TokenBatch, Transformer,
    TransformerLayer,
};
