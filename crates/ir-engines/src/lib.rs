#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod address;
mod cache;
mod clause;
#[cfg(all(feature = "milvus", feature = "elasticsearch"))]
mod collection;
mod connection;
#[cfg(feature = "elasticsearch")]
mod elasticsearch;
mod error;
mod loading;
#[cfg(feature = "milvus")]
mod milvus;
mod open_collection;
mod operands;
mod ranking;
mod recording;
mod schema;
mod source;
mod text_indexing;
mod vector_query;

pub use address::{ClientConfig, Credentials, EngineAddress, EngineKind, MilvusApi};
pub use cache::ResultCache;
#[cfg(all(feature = "milvus", feature = "elasticsearch"))]
pub use collection::{EngineCollection, EngineSearch, OpenEngine};
#[cfg(feature = "elasticsearch")]
pub use elasticsearch::{ElasticCollection, ElasticHybrid, ElasticTextIndex, ElasticVectorIndex};
pub use error::RemoteError;
pub use loading::{LoadOptions, LoadReport};
#[cfg(feature = "milvus")]
pub use milvus::{Consistency, MilvusCollection, MilvusIndex};
#[cfg(feature = "milvus-grpc")]
pub use milvus::{MilvusHybrid, MilvusTextIndex};
pub use recording::Recorder;
pub use schema::{
    AttributeType, CollectionRecord, CollectionSchema, RemoteAttribute, RemoteVectorIndex,
};
pub use source::{LoadSource, VectorRows, VectorTable};
pub use text_indexing::{TextAnalysis, TextIndexing};
