//! Models of the type `rerank` in a build without the feature `dense`.

use crate::entries::{RerankSystem, RerankerTrainingEntry};
use crate::error::SystemError;
use crate::observer::StageReport;
use crate::source::SourceMap;
use crate::system::{OpenReranker, SystemContext};

fn unavailable() -> SystemError {
    let message = "rerankers need the feature `dense`, with which this program was not built";
    SystemError::missing("model", message)
}

pub(in crate::systems) fn content(
    _: &RerankSystem,
    _: &SystemContext<'_>,
) -> Result<String, SystemError> {
    Err(unavailable())
}

pub(in crate::systems) fn stages(
    _: &RerankSystem,
    _: &RerankerTrainingEntry,
    _: &SystemContext<'_>,
) -> Result<Vec<StageReport>, SystemError> {
    Err(unavailable())
}

pub(in crate::systems) fn open_model(
    _: &RerankSystem,
    _: &SourceMap,
) -> Result<OpenReranker, SystemError> {
    Err(unavailable())
}

pub(in crate::systems) fn shared_model(
    _: &RerankSystem,
    _: &mut SystemContext<'_>,
) -> Result<OpenReranker, SystemError> {
    Err(unavailable())
}
