//! Parameters of systems: the tables of a file, with their checks. Nothing here reads data.

pub(crate) mod analyzer;
pub(crate) mod bm25;
pub(crate) mod cleaning;
pub(crate) mod model_parameters;
mod rerank;
mod reranker_training;

pub use analyzer::{AnalysisEntry, AnalyzerEntry, AnalyzerName, StopWordsEntry};
pub use bm25::expansion::ExpansionEntry;
pub use bm25::expansion::encoder::training::{
    DecayName, LossName, MiningEntry, RandomEntry, TrainingEntry, TrainingPrecisionName,
    TrainingPreset,
};
pub use bm25::expansion::encoder::{
    EncoderEntry, EncoderReference, PoolingName, PrecisionName, unknown_encoder,
};
pub use bm25::{
    BlankDocsName, Bm25Preset, Bm25System, DocOrderName, IndexedFieldsEntry, IndexedFieldsName,
    QuerySyntaxName,
};
pub use cleaning::{CleaningEntry, StopWordList};
pub use model_parameters::ModelParameters;
pub use rerank::{RerankSystem, WindowsName};
#[cfg(feature = "dense")]
pub(crate) use reranker_training::RerankerTrainingConfig;
pub use reranker_training::{RerankerLossName, RerankerTrainingEntry};

use ir_bm25::feedback::FeedbackModel;
use ir_bm25::models::NamedModel;
use ir_data::DocTemplate;

use crate::error::SystemError;

/// Key of a system of the type `bm25` with this value: `feedback` or `model`.
pub(crate) fn key_of_bm25(value: &str) -> Option<&'static str> {
    if value.parse::<FeedbackModel>().is_ok() {
        return Some("feedback");
    }
    let model = NamedModel::find(value).ok()?;
    (model.name != bm25::BM25).then_some("model")
}

/// Parses the parameter `template`.
pub(crate) fn template(text: &str) -> Result<DocTemplate, SystemError> {
    let parsed = text.parse::<DocTemplate>();
    parsed.map_err(|error| SystemError::parameter("template", error.to_string()))
}
