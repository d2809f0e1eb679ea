//! Models of the type `rerank` without training: found like the models of encoders, and opened
//! once. The files of the folder distinguish cross-encoders and late-interaction models.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::store::OpenIndexError;
use ir_core::{Reranker, Side};
use ir_dense::{
    Activation, CrossEncoder, CrossEncoderConfig, ModelFolder, MultiVectorConfig,
    MultiVectorEncoder, Precision, Windows,
};
use ir_knn::LateInteraction;

use crate::entries::{RerankSystem, WindowsName};
use crate::error::SystemError;
use crate::saved_vectors::open_tokens;
use crate::source::SourceMap;
use crate::system::{OpenReranker, SystemContext};
use crate::systems::existing_file::{existing_path, folder_hash};
use crate::systems::model_folder::{find_model, folder_content};

const OPENING: &str = "opening the model";

/// Key of the token store.
const TOKENS: &str = "tokens";

/// Model of the key `model`.
pub(super) fn find(system: &RerankSystem, source: &SourceMap) -> Result<ModelFolder, SystemError> {
    find_model(source, system.model.as_deref().unwrap_or_default())
}

/// Configuration of a cross-encoder, without defaults of its folder.
fn cross_encoder_config(system: &RerankSystem) -> CrossEncoderConfig {
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

/// Configuration of a late-interaction model, without defaults of its folder.
fn late_interaction_config(system: &RerankSystem) -> Result<MultiVectorConfig, SystemError> {
    system.check_first_window()?;
    let mut config = MultiVectorConfig::default();
    config.precision = system.precision.map(Precision::from).unwrap_or_default();
    config.document.max_tokens = system.max_tokens;
    config.batch_tokens = system.batch.unwrap_or(config.batch_tokens);
    Ok(config)
}

/// Content of the model before training: hashes of the files of the model folder and of the token
/// store.
pub(super) fn content(
    system: &RerankSystem,
    context: &SystemContext<'_>,
) -> Result<String, SystemError> {
    let mut content = folder_content(context, &find(system, context.source)?.folder)?;
    if let Some(path) = &system.tokens {
        let path = existing_path(context.source, TOKENS, path)?;
        let hash = if path.is_dir() {
            folder_hash(context, &path)?
        } else {
            context.file_hash(&path)?
        };
        content.push_str(&format!(" {TOKENS}:{hash}"));
    }
    Ok(content)
}

/// Opens the model before training.
pub(super) fn open_model(
    system: &RerankSystem,
    source: &SourceMap,
) -> Result<OpenReranker, SystemError> {
    open_folder(system, &find(system, source)?.folder, source)
}

/// Opens the model in a folder, and the token store.
fn open_folder(
    system: &RerankSystem,
    folder: &Path,
    source: &SourceMap,
) -> Result<OpenReranker, SystemError> {
    let is_late_interaction = MultiVectorEncoder::is_model_folder(folder);
    if is_late_interaction.map_err(SystemError::stage(OPENING))? {
        let encoder = MultiVectorEncoder::open_with(folder, &late_interaction_config(system)?);
        let encoder = encoder.map_err(SystemError::stage(OPENING))?;
        // The clone counts the same texts.
        let counts = encoder.clone();
        let mut reranker = LateInteraction::new(encoder);
        if let Some(path) = &system.tokens {
            reranker = with_store(reranker, path, source)?;
        }
        let reranker: Arc<dyn Reranker<Query = str>> = Arc::new(reranker);
        return Ok(OpenReranker {
            reranker: reranker.clone(),
            long_documents: Arc::new(move || counts.truncated_texts(Side::Document)),
            teacher: Arc::new(move || reranker.clone()),
        });
    }
    let model = CrossEncoder::open_with(folder, &cross_encoder_config(system));
    let model = Arc::new(model.map_err(SystemError::stage(OPENING))?);
    // A model with several labels is an error before anything is searched.
    let scores = Reranker::scores(&*model, "", &[]);
    scores.map_err(SystemError::stage(OPENING))?;
    if system.tokens.is_some() {
        let message = "expected a late-interaction model, found a cross-encoder, which reads texts";
        return Err(SystemError::parameter(TOKENS, message));
    }
    let counts = model.clone();
    Ok(OpenReranker {
        reranker: model.clone(),
        long_documents: Arc::new(move || counts.long_documents()),
        teacher: Arc::new(move || -> Arc<dyn Reranker<Query = str>> {
            let model = CrossEncoder::clone(&model);
            Arc::new(model.with_activation(Activation::Identity))
        }),
    })
}

/// Reads the vectors of the documents from the token store at `path`.
fn with_store(
    reranker: LateInteraction<MultiVectorEncoder>,
    path: &str,
    source: &SourceMap,
) -> Result<LateInteraction<MultiVectorEncoder>, SystemError> {
    let path = existing_path(source, TOKENS, path)?;
    let store = open_tokens(&path).map_err(|error| match error {
        OpenIndexError::NotAnIndex { .. } => {
            let message = format!("{error} (`ir encode` with a late-interaction model writes one)");
            SystemError::parameter(TOKENS, message)
        }
        error => SystemError::stage("opening the token store")(error),
    })?;
    reranker.with_store(store).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        SystemError::parameter(TOKENS, message)
    })
}

/// Opens the model before training, or returns the open model of a system with the same files and
/// parameters.
pub(super) fn shared_model(
    system: &RerankSystem,
    context: &mut SystemContext<'_>,
) -> Result<OpenReranker, SystemError> {
    let content = content(system, context)?;
    shared_folder(system, &content, context, |context| {
        Ok(find(system, context.source)?.folder)
    })
}

/// Opens the model in the folder of `folder`, or returns the open model of a system with the same
/// content and parameters.
pub(super) fn shared_folder(
    system: &RerankSystem,
    content: &str,
    context: &mut SystemContext<'_>,
    folder: impl FnOnce(&mut SystemContext<'_>) -> Result<PathBuf, SystemError>,
) -> Result<OpenReranker, SystemError> {
    let parameters = (
        system.precision,
        system.max_tokens,
        system.windows,
        system.stride,
        system.batch,
    );
    let parameters = serde_json::to_string(&parameters);
    let parameters = parameters.map_err(SystemError::stage("serialization"))?;
    let key = format!("reranker {parameters}{content}");
    if let Some(open) = context.session.get::<OpenReranker>(&key) {
        return Ok((*open).clone());
    }
    let folder = folder(context)?;
    let model = open_folder(system, &folder, context.source)?;
    context.session.keep(key, Arc::new(model.clone()));
    Ok(model)
}
