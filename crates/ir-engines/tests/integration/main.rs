//! Tests of the engines over doubles in the process and recordings. One program, which is linked
//! once.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[macro_use]
#[path = "../common/mod.rs"]
mod common;

#[cfg(feature = "elasticsearch")]
#[path = "../common/elastic_corpus.rs"]
mod elastic_corpus;
#[cfg(feature = "elasticsearch")]
#[path = "../common/elastic_double.rs"]
mod elastic_double;
#[cfg(feature = "elasticsearch")]
#[path = "../common/elastic_setup.rs"]
mod elastic_setup;
#[cfg(feature = "elasticsearch")]
mod elasticsearch;
#[cfg(feature = "elasticsearch")]
mod elasticsearch_conflicts;
#[cfg(feature = "elasticsearch")]
mod elasticsearch_errors;
#[cfg(feature = "elasticsearch")]
mod elasticsearch_existing;
#[cfg(all(feature = "milvus", feature = "elasticsearch"))]
#[path = "../common/exchange.rs"]
mod exchange;
#[cfg(feature = "milvus-grpc")]
#[path = "../common/grpc_double.rs"]
mod grpc_double;
#[cfg(feature = "milvus")]
mod milvus;
#[cfg(feature = "milvus")]
#[path = "../common/milvus_double.rs"]
mod milvus_double;
#[cfg(feature = "milvus")]
mod milvus_errors;
#[cfg(feature = "milvus-grpc")]
mod milvus_grpc;
#[cfg(feature = "milvus")]
#[path = "../common/milvus_setup.rs"]
mod milvus_setup;
#[cfg(all(feature = "milvus", feature = "elasticsearch"))]
mod replay;
#[cfg(all(feature = "milvus", feature = "elasticsearch"))]
#[path = "../common/replay_double.rs"]
mod replay_double;
#[cfg(all(feature = "milvus", feature = "elasticsearch"))]
mod tls;
#[cfg(all(feature = "milvus", feature = "elasticsearch"))]
#[path = "../common/tls_double.rs"]
mod tls_double;
