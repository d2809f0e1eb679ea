//! Built-in types of systems.

mod binary;
mod bm25;
mod candidate_texts;
mod cleaning;
mod data_documents;
mod document_texts;
pub(crate) mod encoder;
mod existing_file;
mod expansion;
mod feedback_index;
mod hnsw;
mod hybrid;
mod knn;
#[cfg(feature = "dense")]
mod model_folder;
#[cfg(feature = "dense")]
mod model_training;
mod prior;
mod query_expansion;
mod random_indexing;
#[cfg(feature = "remote")]
mod remote;
mod rerank;
mod reranker;
#[cfg(feature = "dense")]
mod reranker_model;
mod run;
mod sparse;
mod tfidf;
pub(crate) mod vectors;

use std::sync::LazyLock;

pub use crate::entries::{
    AnalysisEntry, AnalyzerEntry, AnalyzerName, BlankDocsName, Bm25Preset, Bm25System,
    CleaningEntry, DecayName, DocOrderName, EncoderEntry, EncoderReference, ExpansionEntry,
    IndexedFieldsEntry, IndexedFieldsName, LossName, MiningEntry, ModelParameters, PoolingName,
    PrecisionName, QuerySyntaxName, RandomEntry, RerankSystem, RerankerLossName,
    RerankerTrainingEntry, StopWordList, StopWordsEntry, TeacherEntry, TrainingEntry,
    TrainingPrecisionName, TrainingPreset, WindowsName, unknown_encoder,
};
pub use binary::BinarySystem;
pub use cleaning::Cleaner;
use existing_file::existing_file;
pub use hnsw::HnswSystem;
pub use hybrid::{FusionName, HybridSystem};
pub use knn::{AggregationName, KnnSystem, MetricName, NeighborTiesName};
pub use prior::{PriorCombinationName, PriorSystem};
pub use random_indexing::{ElementalVectorsName, RandomIndexingSystem, TermWeightingName};
#[cfg(feature = "remote")]
pub use remote::RemoteSystem;
pub use run::{NO_SEARCH, RUN, RunSystem, check_run};
pub use sparse::SparseSystem;
pub use tfidf::{LsiSystem, TfidfSystem};
pub use vectors::{DenseSystem, QuestionsName};

use crate::registry::Registry;

impl Default for Registry {
    fn default() -> Self {
        static BUILT_IN: LazyLock<Registry> = LazyLock::new(|| {
            let mut registry = Registry::empty();
            register(&mut registry);
            registry
        });
        BUILT_IN.clone()
    }
}

/// Adds the built-in types.
fn register(registry: &mut Registry) {
    registry.register::<Bm25System>("bm25", "BM25 as Lucene computes it.");
    registry.register::<KnnSystem>(
        "knn",
        "kNN over labeled training queries: recommends what is relevant to similar queries.",
    );
    registry.register::<DenseSystem>(
        "dense",
        "Dense retrieval with a bi-encoder, or with saved vectors of documents and queries.",
    );
    registry.register::<HnswSystem>(
        "hnsw",
        "Dense retrieval with a bi-encoder, by approximate search of a graph (HNSW).",
    );
    registry.register::<BinarySystem>(
        "binary",
        "Dense retrieval with a bi-encoder, by binary codes that are rescored by the vectors.",
    );
    registry.register::<SparseSystem>(
        "sparse",
        "Sparse vectors of a learned sparse encoder, such as SPLADE, or from files.",
    );
    registry.register::<TfidfSystem>("tfidf", "Cosine of TF-IDF vectors of the documents.");
    registry.register::<LsiSystem>(
        "lsi",
        "Latent semantic indexing: cosine of truncated SVD vectors of the documents.",
    );
    registry.register::<RandomIndexingSystem>(
        "random-indexing",
        "Random indexing and reflective random indexing of the documents.",
    );
    registry.register::<HybridSystem>("hybrid", "Fusion of several systems.");
    registry.register::<PriorSystem>(
        "prior",
        "Scores of a system combined with the prior probability of a document's repository.",
    );
    #[cfg(feature = "remote")]
    registry.register::<RemoteSystem>(
        "remote",
        "Collection of Milvus, Elasticsearch or OpenSearch, loaded by `ir load`.",
    );
    registry.register::<RunSystem>(RUN, "Run in a TREC file, such as a published one.");
    registry.register::<RerankSystem>(
        "rerank",
        "First hits of one system, ranked by a cross-encoder, by a late-interaction model or by the \
         scores of another system.",
    );
}
