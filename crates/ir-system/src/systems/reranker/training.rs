//! Training of the models of the type `rerank`, a stage of the cache.

use std::path::{Path, PathBuf};

use ir_dense::ModelFolder;
use ir_dense::train::{CrossEncoderTrainer, MultiVectorTrainer, TrainError, TrainingConfig};

use crate::entries::bm25::expansion::encoder::training::training_error;
use crate::entries::{RerankSystem, RerankerTrainingConfig, RerankerTrainingEntry};
use crate::error::SystemError;
use crate::observer::{StageReport, StageStatus};
use crate::system::{OpenReranker, SystemContext};
use crate::systems::model_folder::folder_content;
use crate::systems::model_training::{ExampleSource, ModelStage, train};
use crate::systems::reranker_model::{self, find};

const SAVING: &str = "saving the model";

/// Content of the model, trained or not: the key of the training, or hashes of the files of the
/// model folder and of the token store.
pub(in crate::systems) fn content(
    system: &RerankSystem,
    context: &SystemContext<'_>,
) -> Result<String, SystemError> {
    match &system.training {
        Some(training) => Ok(trained_stage(system, training, context)?.key),
        None => reranker_model::content(system, context),
    }
}

/// Opens the model, trained or not, or returns the open model of a system with the same content and
/// parameters.
pub(in crate::systems) fn shared_model(
    system: &RerankSystem,
    context: &mut SystemContext<'_>,
) -> Result<OpenReranker, SystemError> {
    let Some(training) = &system.training else {
        return reranker_model::shared_model(system, context);
    };
    let stage = trained_stage(system, training, context)?;
    reranker_model::shared_folder(system, &stage.key, context, |context| {
        trained_folder(system, training, &stage, context)
    })
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
        let template = system.template()?;
        stages.extend(ExampleSource::from(training).stages(context, &template)?);
    }
    stages.push(trained);
    Ok(stages)
}

/// Hyperparameters, with the sequence length of the system, and with the prefixes that the catalog
/// has for the model.
fn training_config(
    system: &RerankSystem,
    training: &RerankerTrainingEntry,
    model: &ModelFolder,
) -> RerankerTrainingConfig {
    let mut config = training.config();
    let max_tokens = config.max_tokens_mut();
    *max_tokens = max_tokens.or(system.max_tokens);
    match config {
        RerankerTrainingConfig::LateInteraction(mut config, dim) => {
            config.encoder = model.with_catalog_prefixes(config.encoder);
            RerankerTrainingConfig::LateInteraction(config, dim)
        }
        config @ RerankerTrainingConfig::CrossEncoder(_) => config,
    }
}

/// Stage of the trained model.
fn trained_stage(
    system: &RerankSystem,
    training: &RerankerTrainingEntry,
    context: &SystemContext<'_>,
) -> Result<ModelStage, SystemError> {
    let model = find(system, context.source)?;
    let config = training_config(system, training, &model);
    let mut base = folder_content(context, &model.folder)?;
    let description = config.describe(&training.split);
    let mut description = format!("{}, {description}", system.label());
    if let Some(teacher) = &training.teacher {
        base.push_str(&format!(" teacher {}", teacher.content(context)?));
        description.push_str(&format!(", teacher {}", teacher.label()));
    }
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

/// Opens the model for training, to find errors.
fn check_trainer(base: &Path, config: &RerankerTrainingConfig) -> Result<(), TrainError> {
    match config {
        RerankerTrainingConfig::CrossEncoder(config) => {
            CrossEncoderTrainer::open(base, config)?;
        }
        RerankerTrainingConfig::LateInteraction(config, dim) => {
            multi_vector_trainer(base, config, *dim)?;
        }
    }
    Ok(())
}

fn multi_vector_trainer(
    base: &Path,
    config: &TrainingConfig,
    dim: Option<usize>,
) -> Result<MultiVectorTrainer, TrainError> {
    match dim {
        None => MultiVectorTrainer::open(base, config),
        Some(dim) => MultiVectorTrainer::open_with_dim(base, dim, config),
    }
}

/// Folder of the trained weights of a stage, trained if the cache does not contain it.
fn trained_folder(
    system: &RerankSystem,
    training: &RerankerTrainingEntry,
    stage: &ModelStage,
    context: &mut SystemContext<'_>,
) -> Result<PathBuf, SystemError> {
    let model = find(system, context.source)?;
    let config = training_config(system, training, &model);
    let base = model.folder;
    let template = system.template()?;
    stage.open(context, |context, folder| {
        context.check_template(&template)?;
        // Errors of model and lengths come before the scores of a teacher, which take time.
        check_trainer(&base, &config).map_err(training_error)?;
        let examples = ExampleSource::from(training).examples(context, &template)?;
        let every = config.steps(examples.len()) / 20;
        match &config {
            RerankerTrainingConfig::CrossEncoder(config) => {
                let trained = train(context, folder, |checkpoints, progress| {
                    CrossEncoderTrainer::open(&base, config)?
                        .with_checkpoints(checkpoints)
                        .with_checkpoint_every(every)
                        .train(&examples, progress)
                })?;
                let saved = trained.cross_encoder.save(folder);
                saved.map_err(SystemError::stage(SAVING))
            }
            RerankerTrainingConfig::LateInteraction(config, dim) => {
                let trained = train(context, folder, |checkpoints, progress| {
                    multi_vector_trainer(&base, config, *dim)?
                        .with_checkpoints(checkpoints)
                        .with_checkpoint_every(every)
                        .train(&examples, progress)
                })?;
                let saved = trained.encoder.save(folder);
                saved.map_err(SystemError::stage(SAVING))
            }
        }
    })
}
