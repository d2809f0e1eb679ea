use ir_bm25::BuildError;
use ir_core::EncodeError;
use ir_core::fusion::FusionError;
use ir_knn::VectorError;

/// Error of building an [`AnswerIndex`](super::AnswerIndex).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum AnswerIndexError {
    #[error("frame {id:?}: expected a unique id, found another frame with it")]
    DuplicateFrame { id: String },
    #[error("{name}: expected {expected}, found {found}")]
    Parameter {
        name: &'static str,
        expected: &'static str,
        found: f32,
    },
    #[error("index of the answers: {0}")]
    Index(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("weights of the answers: {0}")]
    Weight(#[from] FusionError),
    #[error("vectors of the answers: {0}")]
    Encode(#[from] EncodeError),
    #[error("vectors of the answers: {0}")]
    Vectors(#[from] VectorError),
    #[error("encoding was stopped")]
    Stopped,
}

impl From<BuildError> for AnswerIndexError {
    fn from(error: BuildError) -> Self {
        Self::Index(Box::new(error))
    }
}
