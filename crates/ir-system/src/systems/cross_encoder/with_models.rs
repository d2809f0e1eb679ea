//! Cross-encoders: found as the models of encoders are, trained, and opened once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::Reranker;
use ir_dense::train::{CrossEncoderTrainer, CrossEncoderTrainingConfig};
use ir_dense::{CrossEncoder, CrossEncoderConfig, ModelFolder, Precision, Windows};

use crate::entries::{RerankSystem, RerankerTrainingEntry, WindowsName};
use crate::error::SystemError;
use crate::observer::{StageReport, StageStatus};
use crate::source::SourceMap;
use crate::system::{OpenReranker, SystemContext};
use crate::systems::model_folder::{find_model, folder_content};
use crate::systems::model_training::{ExampleSource, ModelStage, train};

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

/// Content of the weights: hashes of the files of the model folder, or the key of the training.
pub(in crate::systems) fn content(
    system: &RerankSystem,
    context: &SystemContext<'_>,
) -> Result<String, SystemError> {
    match &system.training {
        Some(training) => Ok(trained_stage(system, training, context)?.key),
        None => folder_content(context, &find(system, context.source)?.folder),
    }
}

/// Stages that train the model, in order.
pub(in crate::systems) fn stages(
    system: &RerankSystem,
    training: &RerankerTrainingEntry,
    context: &SystemContext<'_>,
) -> Result<Vec<StageReport>, SystemError> {
    let trained = trained_stage(system, training, context)?.planned(context);
    let mut stages = Vec::new();
    if trained.status != StageStatus::Cached {
        stages.extend(ExampleSource::from(training).index_stage(context)?);
    }
    stages.push(trained);
    Ok(stages)
}

/// Hyperparameters, with the sequence length of the system.
fn training_config(
    system: &RerankSystem,
    training: &RerankerTrainingEntry,
) -> CrossEncoderTrainingConfig {
    let mut config = training.config();
    let model = &mut config.cross_encoder;
    model.max_tokens = model.max_tokens.or(system.max_tokens);
    config
}

fn trained_stage(
    system: &RerankSystem,
    training: &RerankerTrainingEntry,
    context: &SystemContext<'_>,
) -> Result<ModelStage, SystemError> {
    let config = training_config(system, training);
    let base = folder_content(context, &find(system, context.source)?.folder)?;
    let description = format!(
        "{}, trained as a cross-encoder on split {}, epochs {}, learning rate {:e}",
        system.label(),
        training.split,
        config.epochs,
        config.learning_rate
    );
    let parameters = (&config, &training.mining);
    let template = system.template()?;
    ModelStage::trained(
        context,
        training.into(),
        &base,
        &template,
        &parameters,
        description,
    )
}

/// Folder of the weights, trained if the cache does not have it.
fn folder(system: &RerankSystem, context: &mut SystemContext<'_>) -> Result<PathBuf, SystemError> {
    let base = find(system, context.source)?.folder;
    let Some(training) = &system.training else {
        return Ok(base);
    };
    let config = training_config(system, training);
    let template = system.template()?;
    let stage = trained_stage(system, training, context)?;
    stage.open(context, |context, folder| {
        context.check_template(&template)?;
        let examples = ExampleSource::from(training).examples(context, &template)?;
        let every = config.steps(examples.len()) / 20;
        let trained = train(context, folder, |checkpoints, progress| {
            CrossEncoderTrainer::open(&base, &config)?
                .with_checkpoints(checkpoints)
                .with_checkpoint_every(every)
                .train(&examples, progress)
        })?;
        let saved = trained.cross_encoder.save(folder);
        saved.map_err(SystemError::stage("saving the model"))
    })
}

pub(in crate::systems) fn open_model(
    system: &RerankSystem,
    source: &SourceMap,
) -> Result<OpenReranker, SystemError> {
    open_folder(&find(system, source)?.folder, system)
}

fn open_folder(folder: &Path, system: &RerankSystem) -> Result<OpenReranker, SystemError> {
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
    let model = open_folder(&folder(system, context)?, system)?;
    context.session.keep(key, Arc::new(model.clone()));
    Ok(model)
}
