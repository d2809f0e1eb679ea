//! Cross-encoders: found as the models of encoders are, and opened once.

use std::sync::Arc;

use ir_core::Reranker;
use ir_dense::{CrossEncoder, CrossEncoderConfig, ModelFolder, Precision, Windows};

use crate::entries::{RerankSystem, WindowsName};
use crate::error::SystemError;
use crate::source::SourceMap;
use crate::system::{OpenReranker, SystemContext};
use crate::systems::model_folder::{find_model, folder_content};

/// Configuration of the model, without defaults of its folder.
fn config(system: &RerankSystem) -> CrossEncoderConfig {
    let mut config = CrossEncoderConfig::default();
    config.precision = system.precision.map(Precision::from).unwrap_or_default();
    config.windows = match system.windows {
        None | Some(WindowsName::First) => Windows::First,
        Some(WindowsName::Maximum) => Windows::Maximum,
        Some(WindowsName::Mean) => Windows::Mean,
    };
    config.max_tokens = system.max_tokens;
    config.stride = system.stride;
    config.batch_tokens = system.batch.unwrap_or(config.batch_tokens);
    config
}

fn find(system: &RerankSystem, source: &SourceMap) -> Result<ModelFolder, SystemError> {
    find_model(source, system.model.as_deref().unwrap_or_default())
}

/// Hashes of the files of the model folder.
pub(in crate::systems) fn content(
    system: &RerankSystem,
    context: &SystemContext<'_>,
) -> Result<String, SystemError> {
    folder_content(context, &find(system, context.source)?.folder)
}

pub(in crate::systems) fn open_model(
    system: &RerankSystem,
    source: &SourceMap,
) -> Result<OpenReranker, SystemError> {
    let folder = find(system, source)?.folder;
    let model = CrossEncoder::open_with(folder, &config(system));
    let model = Arc::new(model.map_err(SystemError::stage("opening the model"))?);
    // A model with several labels is an error before anything is searched.
    let scores = Reranker::scores(&*model, "", &[]);
    scores.map_err(SystemError::stage("opening the model"))?;
    Ok(OpenReranker {
        reranker: model.clone(),
        long_documents: Arc::new(move || model.long_documents()),
    })
}

/// Opens the model, or returns the model of a system with the same files and parameters.
pub(in crate::systems) fn shared_model(
    system: &RerankSystem,
    context: &mut SystemContext<'_>,
) -> Result<OpenReranker, SystemError> {
    let config = serde_json::to_string(&config(system));
    let config = config.map_err(SystemError::stage("serialization"))?;
    let key = format!("cross-encoder {config}{}", content(system, context)?);
    if let Some(open) = context.session.get::<OpenReranker>(&key) {
        return Ok((*open).clone());
    }
    let model = open_model(system, context.source)?;
    context.session.keep(key, Arc::new(model.clone()));
    Ok(model)
}
