//! Built-in types of systems.

mod bm25;
mod cleaning;
mod encoder;
mod expansion;
mod hybrid;
mod knn;
mod prior;
mod query_expansion;
mod random_indexing;
mod rerank;
mod run;
mod vectors;

pub use bm25::{
    AnalyzerName, Bm25Preset, Bm25System, DocOrderName, IndexedFieldsEntry, IndexedFieldsName,
};
pub use cleaning::CleaningEntry;
#[cfg(feature = "dense")]
pub(crate) use encoder::SharedEncoder;
pub(crate) use encoder::unknown_encoder;
pub use encoder::{
    DecayName, EncoderEntry, EncoderReference, LossName, MiningEntry, PoolingName, PrecisionName,
    RandomEntry, TrainingEntry, TrainingPrecisionName, TrainingPreset,
};
pub use expansion::ExpansionEntry;
pub(crate) use expansion::FittedExpansion;
pub use hybrid::{FusionName, HybridSystem};
pub use knn::{AggregationName, KnnSystem, MetricName, StopWordList};
pub use prior::{PriorCombinationName, PriorSystem};
pub use random_indexing::{ElementalVectorsName, RandomIndexingSystem, TermWeightingName};
pub use rerank::RerankSystem;
pub(crate) use run::RUN;
pub use run::RunSystem;
use vectors::existing_file;
pub use vectors::{DenseSystem, QuestionsName};

use ir_bm25::feedback::FeedbackModel;
use ir_bm25::models::NamedModel;
use ir_data::DocTemplate;

use crate::error::SystemError;
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
    registry.register::<RandomIndexingSystem>(
        "random-indexing",
        "Random indexing and reflective random indexing of the documents.",
    );
    registry.register::<HybridSystem>("hybrid", "Fusion of several systems.");
    registry.register::<PriorSystem>(
        "prior",
        "Scores of a system combined with the prior probability of a document's repository.",
    );
    registry.register::<RunSystem>(RUN, "Run in a TREC file, such as a published one.");
    registry.register::<RerankSystem>(
        "rerank",
        "First hits of one system, ranked by the scores of another.",
    );
}

/// Key of a system of the type `bm25` with this value: `feedback` or `model`.
pub(crate) fn key_of_bm25(value: &str) -> Option<&'static str> {
    if value.parse::<FeedbackModel>().is_ok() {
        return Some("feedback");
    }
    let model = NamedModel::find(value).ok()?;
    (model.name != bm25::BM25).then_some("model")
}

/// Parses the parameter `template`.
fn template(text: &str) -> Result<DocTemplate, SystemError> {
    let parsed = text.parse::<DocTemplate>();
    parsed.map_err(|error| SystemError::parameter("template", error.to_string()))
}
