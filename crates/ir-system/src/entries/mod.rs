//! Parameters of systems: the tables of a file, with their checks. Nothing here reads data.

pub(crate) mod analyzer;
pub(crate) mod bm25;
pub(crate) mod cleaning;
pub(crate) mod model_parameters;
mod rerank;
mod reranker_training;
mod teacher;

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
pub use teacher::TeacherEntry;
pub(crate) use teacher::{TEACHER_MODEL, TEACHER_SYSTEM};

use ir_data::DocTemplate;

use crate::error::SystemError;

/// Parses the parameter `template`.
pub(crate) fn template(text: &str) -> Result<DocTemplate, SystemError> {
    let parsed = text.parse::<DocTemplate>();
    parsed.map_err(|error| SystemError::parameter("template", error.to_string()))
}
