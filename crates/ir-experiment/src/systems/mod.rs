//! Built-in types of systems.

mod bm25;
mod encoder;
mod hybrid;
mod knn;
mod rerank;
mod vectors;

pub use bm25::{AnalyzerName, Bm25Preset, Bm25System, DocOrderName, IndexedFieldsName};
#[cfg(feature = "dense")]
pub(crate) use encoder::SharedEncoder;
pub use encoder::{EncoderEntry, PoolingName};
pub use hybrid::{FusionName, HybridSystem};
pub use knn::{AggregationName, KnnSystem, MetricName, StopWordList};
pub use rerank::RerankSystem;
pub use vectors::DenseSystem;

use crate::registry::Registry;

/// Adds the built-in types.
pub(crate) fn register(registry: &mut Registry) {
    registry.register::<Bm25System>("bm25", "BM25 as Lucene computes it.");
    registry.register::<KnnSystem>(
        "knn",
        "kNN over labeled training queries: recommends what is relevant to similar queries.",
    );
    registry.register::<DenseSystem>(
        "dense",
        "Dense retrieval with a bi-encoder, or with saved vectors of documents and queries.",
    );
    registry.register::<HybridSystem>("hybrid", "Fusion of several systems.");
    registry.register::<RerankSystem>(
        "rerank",
        "First hits of one system, ranked by the scores of another.",
    );
}
