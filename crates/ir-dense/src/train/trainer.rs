//! Training of a bi-encoder.

use std::path::Path;
use std::sync::Arc;

use ir_core::training::TrainingSet;
use ir_core::{Progress, Side, VectorSimilarity};
use serde_json::json;

use super::checkpoint::TrainingState;
use super::config::check_precision;
use super::gradcache::{TrainedTower, TrainedTowers};
use super::gradients::ModelGradients;
use super::optimizer::{AdamWState, AdamWStep};
use super::run::{
    self, Checkpoints, FinishedRun, Observers, TrainedPart, TrainingTask, checkpoint_functions,
    train_functions, training_result,
};
use super::sampler::{BatchSampler, check_scores};
use super::{EvaluateFn, HistoryCallback, Loss, TrainError, TrainingConfig, TrainingHistory};
use crate::encode::{BiEncoder, side_folders};
use crate::similarity;

/// Trainer of a bi-encoder.
///
/// The same model, data and configuration give the same weights, byte for byte, on any number of
/// threads, and also if training was interrupted and resumed.
///
/// ```no_run
/// use ir_core::NoProgress;
/// use ir_core::training::{TrainingExample, TrainingText};
/// use ir_dense::train::{Trainer, TrainingConfig};
///
/// let data = vec![
///     TrainingExample::new("how is tea brewed")
///         .positive(TrainingText::new("Pour hot water over the leaves."))
///         .negative(TrainingText::new("Coffee is roasted.")),
///     // and some hundreds more
/// ];
/// let trainer = Trainer::open("all-MiniLM-L6-v2", &TrainingConfig::small_data())?
///     .with_checkpoints("checkpoints");
/// let trained = trainer.train(&data, &mut NoProgress)?;
/// trained.encoder.save("my-model")?;
/// # Ok::<(), ir_dense::train::TrainError>(())
/// ```
#[derive(Debug)]
pub struct Trainer {
    towers: TrainedTowers,
    config: TrainingConfig,
    checkpoints: Checkpoints,
}

training_result! {
    /// Result of a training run.
    TrainingResult {
        /// Encoder with the weights of the best evaluation, or of the last step without evaluation.
        encoder: BiEncoder
    }
}

impl Trainer {
    /// Opens a folder in the Hugging Face layout. Queries and documents share its weights, unless
    /// it has two such folders, `query` and `document`.
    ///
    /// # Errors
    /// If the model cannot be read or a configuration value is out of range.
    pub fn open(folder: impl AsRef<Path>, config: &TrainingConfig) -> Result<Self, TrainError> {
        let folder = folder.as_ref();
        if let Some([query, document]) = side_folders(folder) {
            return Self::open_untied(query, document, config);
        }
        Self::new(vec![TrainedTower::open(folder, &config.encoder)?], config)
    }

    /// Opens two folders, which may be the same: query encoder and document encoder with separate
    /// weights, as in DPR.
    ///
    /// # Errors
    /// If a model cannot be read, the dimensions of their vectors differ, or a configuration value
    /// is out of range.
    pub fn open_untied(
        query: impl AsRef<Path>,
        document: impl AsRef<Path>,
        config: &TrainingConfig,
    ) -> Result<Self, TrainError> {
        let open = |folder: &Path| TrainedTower::open(folder, &config.encoder);
        let towers = vec![open(query.as_ref())?, open(document.as_ref())?];
        Self::new(towers, config)
    }

    fn new(towers: Vec<TrainedTower>, config: &TrainingConfig) -> Result<Self, TrainError> {
        config.validate()?;
        config.check_dense()?;
        for tower in &towers {
            check_precision(config.precision, tower.model.config())?;
        }
        let cosines = config.similarity == VectorSimilarity::Cosine
            || towers.iter().all(|it| it.tower.normalize);
        if matches!(config.loss, Loss::Pointwise { scale: None }) && !cosines {
            return Err(TrainError::Setting {
                field: "similarity",
                expected: "cosine, or vectors of length 1, for this loss without a scale",
                found: similarity::name(config.similarity).into(),
            });
        }
        let is_truncated = |it: &TrainedTower| it.tower.modules.truncate_dim().is_some();
        if config.encoder.normalize == Some(true) && towers.iter().any(is_truncated) {
            return Err(TrainError::Setting {
                field: "encoder.normalize",
                expected: "false or unset: a folder with truncate_dim cannot record normalization after truncation",
                found: "true".into(),
            });
        }
        let trainer = Self {
            towers: TrainedTowers(towers),
            config: config.clone(),
            checkpoints: Checkpoints::default(),
        };
        // Checks dimensions and maximum lengths.
        encoder(&trainer.towers, config)?;
        Ok(trainer)
    }

    checkpoint_functions!();

    fn initial_state(&self, data: &dyn TrainingSet) -> TrainingState {
        let model = |side| {
            let tower = &self.towers.side(side).tower;
            tower.identity(side, self.config.encoder.side(side))
        };
        let model = json!({"query": model(Side::Query), "document": model(Side::Document)});
        TrainingState::new(&self.config, data.fingerprint(), model, &self.towers.0)
    }

    train_functions!(BiEncoder, TrainingResult);

    fn check_examples(&self, data: &dyn TrainingSet) -> Result<(), TrainError> {
        check_candidates(data, &self.config)
    }

    fn into_task<'a>(
        self,
        data: &'a dyn TrainingSet,
        config: &'a TrainingConfig,
    ) -> BiEncoderTask<'a> {
        BiEncoderTask {
            towers: self.towers,
            config,
            sampler: BatchSampler::new(data, config),
        }
    }
}

/// Checks that there are examples, and that some query has more candidates than its positive.
pub(super) fn check_candidates(
    data: &dyn TrainingSet,
    config: &TrainingConfig,
) -> Result<(), TrainError> {
    if data.is_empty() {
        return Err(TrainError::Empty);
    }
    if config.loss.is_distillation() {
        return (0..data.len()).try_for_each(|index| check_scores(index, &data.get(index)?, false));
    }
    if data.len().min(config.batch_size) > 1 {
        return Ok(());
    }
    if config.hard_negatives > 0 {
        for index in 0..data.len() {
            if !data.get(index)?.negatives.is_empty() {
                return Ok(());
            }
        }
    }
    Err(TrainError::OneCandidate)
}

/// Encoder with the current weights.
fn encoder(towers: &TrainedTowers, config: &TrainingConfig) -> Result<BiEncoder, TrainError> {
    let query = Arc::new(towers.side(Side::Query).to_tower());
    let document = match towers.0.len() {
        1 => query.clone(),
        _ => Arc::new(towers.side(Side::Document).to_tower()),
    };
    let encoder = BiEncoder::new(query, document, &config.encoder)?;
    Ok(encoder.with_similarity(config.similarity))
}

/// Towers with the examples of a run.
struct BiEncoderTask<'a> {
    towers: TrainedTowers,
    config: &'a TrainingConfig,
    sampler: BatchSampler<'a>,
}

impl TrainingTask for BiEncoderTask<'_> {
    type Part = TrainedTower;
    type Model = BiEncoder;

    fn parts(&self) -> &[TrainedTower] {
        &self.towers.0
    }

    fn parts_mut(&mut self) -> &mut Vec<TrainedTower> {
        &mut self.towers.0
    }

    fn gradients(&mut self, step: u64) -> Result<(f64, Vec<ModelGradients>), TrainError> {
        let batch = self.sampler.batch(step)?;
        self.towers.gradients(&batch, self.config, step)
    }

    fn model(&self) -> Result<BiEncoder, TrainError> {
        encoder(&self.towers, self.config)
    }
}

impl TrainedPart for TrainedTower {
    type Gradients = ModelGradients;

    fn squared_norm(&self, gradients: &ModelGradients) -> f64 {
        gradients.squared_norm(&self.model)
    }

    fn updated(
        mut self,
        optimizer: &mut AdamWState,
        gradients: ModelGradients,
        step: AdamWStep<'_>,
    ) -> Self {
        let buffers;
        (self.model, buffers) = optimizer.update(self.model, gradients, step);
        self.cpu.give(buffers);
        self
    }
}
