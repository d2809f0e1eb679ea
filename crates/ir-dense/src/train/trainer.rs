//! Training loop with evaluation, early stopping and checkpoints.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::training::TrainingSet;
use ir_core::{Flow, Progress, Side, VectorSimilarity};
use serde_json::json;

use super::checkpoint::{CheckpointFolder, TrainingState};
use super::config::check_precision;
use super::gradcache::{TrainedTower, TrainedTowers};
use super::history::{EvaluationPoint, TrainingStep};
use super::optimizer::{AdamWState, AdamWStep};
use super::sampler::BatchSampler;
use super::{Loss, TrainError, TrainingConfig, TrainingHistory};
use crate::encode::{BiEncoder, side_folders};
use crate::similarity;

/// Evaluation function: returns a metric of an encoder after a number of steps, where higher is
/// better. For example nDCG@10 on held-out queries.
pub type EvaluateFn<'a> =
    dyn FnMut(&BiEncoder, u64) -> Result<f64, Box<dyn Error + Send + Sync>> + 'a;

/// Function that receives the history while training runs.
pub type HistoryCallback<'a> =
    dyn FnMut(&TrainingHistory) -> Result<(), Box<dyn Error + Send + Sync>> + 'a;

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
    checkpoints: Option<CheckpointFolder>,
    checkpoint_every: u64,
}

/// Result of a training run.
#[derive(Debug)]
#[non_exhaustive]
pub struct TrainingResult {
    /// Encoder with the weights of the best evaluation, or of the last step without evaluation.
    pub encoder: BiEncoder,
    /// Number of steps that gave these weights.
    pub step: u64,
    /// Loss and metric over the steps.
    pub history: TrainingHistory,
    /// If `true`, early stopping ended the run.
    pub stopped_early: bool,
    /// FNV-1a hash of what determines the weights, evaluations aside: configuration, model
    /// folder, initial weights and examples.
    pub fingerprint: u64,
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
            checkpoints: None,
            checkpoint_every: 100,
        };
        // Checks dimensions and maximum lengths.
        trainer.encoder()?;
        Ok(trainer)
    }

    /// Writes checkpoints to a folder and resumes from the checkpoint that it has, if it has the
    /// format version of this release ([`TrainError::Version`]).
    pub fn with_checkpoints(mut self, folder: impl Into<PathBuf>) -> Self {
        self.checkpoints = Some(CheckpointFolder(folder.into()));
        self
    }

    /// Sets the number of steps between checkpoints. Default: 100. Evaluations, the last step and
    /// interruptions write a checkpoint as well.
    pub fn with_checkpoint_every(mut self, steps: u64) -> Self {
        self.checkpoint_every = steps.max(1);
        self
    }

    /// Returns the [fingerprint](TrainingResult::fingerprint) that training would have. Reads all
    /// weights and examples.
    pub fn fingerprint(&self, data: &dyn TrainingSet) -> u64 {
        self.initial_state(data).fingerprint()
    }

    fn initial_state(&self, data: &dyn TrainingSet) -> TrainingState {
        let model = |side| {
            let tower = &self.towers.side(side).tower;
            tower.identity(side, self.config.encoder.side(side))
        };
        let model = json!({"query": model(Side::Query), "document": model(Side::Document)});
        TrainingState::new(&self.config, data.fingerprint(), model, &self.towers.0)
    }

    /// Trains for all epochs; reports progress in steps.
    ///
    /// # Errors
    /// Returns [`TrainError`] if a configuration value or an example is invalid, the loss is not
    /// finite, a checkpoint cannot be read or written or belongs to another run, or `progress`
    /// requests a stop ([`TrainError::Stopped`]).
    pub fn train(
        self,
        data: &dyn TrainingSet,
        progress: &mut dyn Progress,
    ) -> Result<TrainingResult, TrainError> {
        self.run(data, None, &mut |_| Ok(()), progress)
    }

    /// Trains with periodic evaluation and early stopping, and keeps the best weights.
    ///
    /// # Errors
    /// Returns the errors of [`Trainer::train`], and [`TrainError::Evaluation`] if the evaluation
    /// fails.
    pub fn train_and_evaluate(
        self,
        data: &dyn TrainingSet,
        evaluate: &mut EvaluateFn<'_>,
        progress: &mut dyn Progress,
    ) -> Result<TrainingResult, TrainError> {
        self.run(data, Some(evaluate), &mut |_| Ok(()), progress)
    }

    /// Trains, with periodic evaluation if given, and calls `callback` with the history when
    /// training starts or resumes and after every step, with its evaluation.
    ///
    /// # Errors
    /// Returns the errors of [`Trainer::train_and_evaluate`], and [`TrainError::Callback`] if
    /// `callback` fails.
    pub fn train_with_callback(
        self,
        data: &dyn TrainingSet,
        evaluate: Option<&mut EvaluateFn<'_>>,
        callback: &mut HistoryCallback<'_>,
        progress: &mut dyn Progress,
    ) -> Result<TrainingResult, TrainError> {
        self.run(data, evaluate, callback, progress)
    }

    /// Encoder with the current weights.
    fn encoder(&self) -> Result<BiEncoder, TrainError> {
        let query = Arc::new(self.towers.side(Side::Query).to_tower());
        let document = match self.towers.0.len() {
            1 => query.clone(),
            _ => Arc::new(self.towers.side(Side::Document).to_tower()),
        };
        let encoder = BiEncoder::new(query, document, &self.config.encoder)?;
        Ok(encoder.with_similarity(self.config.similarity))
    }

    /// Checks that some query has more candidates than its positive.
    fn check_candidates(&self, data: &dyn TrainingSet) -> Result<(), TrainError> {
        let config = &self.config;
        if data.len().min(config.batch_size) > 1
            || !config.loss.is_contrastive()
            || config.loss.is_distillation()
        {
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

    fn run(
        mut self,
        data: &dyn TrainingSet,
        evaluate: Option<&mut EvaluateFn<'_>>,
        callback: &mut HistoryCallback<'_>,
        progress: &mut dyn Progress,
    ) -> Result<TrainingResult, TrainError> {
        if data.is_empty() {
            return Err(TrainError::Empty);
        }
        self.check_candidates(data)?;
        let mut state = self.initial_state(data);
        let towers = self.towers.0.iter();
        let mut optimizers: Vec<AdamWState> = towers.map(|_| AdamWState::default()).collect();
        if let Some(checkpoints) = &self.checkpoints
            && let Some(found) = checkpoints.load(&state, &mut self.towers.0, &mut optimizers)?
        {
            state = found;
        }
        let mut run = TrainingRun {
            steps: self.config.steps(data.len()),
            per_epoch: self.config.steps_per_epoch(data.len()),
            best: None,
            state,
            optimizers,
            trainer: self,
        };
        run.all(data, evaluate, callback, progress)?;
        run.finish()
    }
}

struct TrainingRun {
    trainer: Trainer,
    state: TrainingState,
    optimizers: Vec<AdamWState>,
    steps: u64,
    per_epoch: u64,
    /// Best weights, if there is no checkpoint folder.
    best: Option<Vec<TrainedTower>>,
}

impl TrainingRun {
    fn all(
        &mut self,
        data: &dyn TrainingSet,
        mut evaluate: Option<&mut EvaluateFn<'_>>,
        callback: &mut HistoryCallback<'_>,
        progress: &mut dyn Progress,
    ) -> Result<(), TrainError> {
        let config = self.trainer.config.clone();
        let mut sampler = BatchSampler::new(data, &config);
        if let Some(evaluate) = &mut evaluate
            && self.state.history.evaluations.is_empty()
        {
            self.evaluate(*evaluate)?;
            self.save()?;
        }
        self.report(callback)?;
        while self.state.step < self.steps && !self.stopped_early() {
            let step = self.state.step;
            if progress.report("training", step, Some(self.steps)) == Flow::Stop {
                self.save()?;
                let steps = self.steps;
                return Err(TrainError::Stopped { step, steps });
            }
            self.step(&mut sampler)?;
            let step = self.state.step;
            let due = step.is_multiple_of(config.evaluate_every.unwrap_or(self.per_epoch));
            let last = step == self.steps;
            let mut save = last || step.is_multiple_of(self.trainer.checkpoint_every);
            if let Some(evaluate) = &mut evaluate
                && (due || last)
            {
                self.evaluate(*evaluate)?;
                save = true;
            }
            if save {
                self.save()?;
            }
            self.report(callback)?;
        }
        progress.report("training", self.state.step, Some(self.steps));
        Ok(())
    }

    fn report(&self, callback: &mut HistoryCallback<'_>) -> Result<(), TrainError> {
        let step = self.state.step;
        callback(&self.state.history).map_err(|source| TrainError::Callback { step, source })
    }

    fn step(&mut self, sampler: &mut BatchSampler<'_>) -> Result<(), TrainError> {
        let Trainer { towers, config, .. } = &mut self.trainer;
        let step = self.state.step;
        let batch = sampler.batch(step)?;
        let (loss, gradients) = towers.gradients(&batch, config, step)?;
        let squares = gradients.iter().zip(&towers.0);
        let squares = squares.map(|(gradients, tower)| gradients.squared_norm(&tower.model));
        let squares: f64 = squares.sum();
        let norm = squares.sqrt();
        if !(loss.is_finite() && norm.is_finite()) {
            return Err(TrainError::NotFinite { step, loss, norm });
        }
        let clip_factor = config
            .max_gradient_norm
            .map_or(1.0, |max| (max / (norm + 1e-6)).min(1.0));
        let rate = config.learning_rate * config.schedule.factor(step, self.steps);
        // Moved, so that the weights are updated in place.
        let updates = self.optimizers.iter_mut().zip(gradients);
        let updated = std::mem::take(&mut towers.0).into_iter().zip(updates);
        let updated = updated.map(|(mut tower, (optimizer, gradients))| {
            let update = AdamWStep {
                config: &config.optimizer,
                learning_rate: rate,
                clip_factor,
                time: step + 1,
            };
            let buffers;
            (tower.model, buffers) = optimizer.update(tower.model, gradients, update);
            tower.cpu.give(buffers);
            tower
        });
        towers.0 = updated.collect();
        self.state.step += 1;
        self.state.history.steps.push(TrainingStep {
            step: step + 1,
            epoch: step / self.per_epoch + 1,
            learning_rate: rate,
            loss,
            gradient_norm: norm,
        });
        Ok(())
    }

    fn evaluate(&mut self, evaluate: &mut EvaluateFn<'_>) -> Result<(), TrainError> {
        let step = self.state.step;
        let encoder = self.trainer.encoder()?;
        let failed = |source| TrainError::Evaluation { step, source };
        let value = evaluate(&encoder, step).map_err(failed)?;
        if !value.is_finite() {
            return Err(failed(
                format!("expected a finite metric, found {value}").into(),
            ));
        }
        let history = &mut self.state.history;
        let is_best = history.best().is_none_or(|best| value > best.value);
        history.evaluations.push(EvaluationPoint { step, value });
        self.state.without_best = if is_best {
            0
        } else {
            self.state.without_best + 1
        };
        if is_best {
            match &self.trainer.checkpoints {
                Some(checkpoints) => checkpoints.save_best(&self.state, &self.trainer.towers.0)?,
                None => self.best = Some(self.trainer.towers.0.clone()),
            }
        }
        Ok(())
    }

    fn stopped_early(&self) -> bool {
        let patience = self.trainer.config.patience;
        patience.is_some_and(|patience| self.state.without_best >= patience)
    }

    fn save(&self) -> Result<(), TrainError> {
        match &self.trainer.checkpoints {
            None => Ok(()),
            Some(checkpoints) => {
                checkpoints.save(&self.state, &self.trainer.towers.0, &self.optimizers)
            }
        }
    }

    fn finish(mut self) -> Result<TrainingResult, TrainError> {
        let stopped_early = self.stopped_early() && self.state.step < self.steps;
        let mut step = self.state.step;
        if let Some(best) = self.state.history.best()
            && best.step != step
        {
            step = best.step;
            match (self.best.take(), &self.trainer.checkpoints) {
                (Some(towers), _) => self.trainer.towers.0 = towers,
                (None, Some(checkpoints)) => {
                    checkpoints.load_best(step, &mut self.trainer.towers.0)?;
                }
                (None, None) => {}
            }
        }
        Ok(TrainingResult {
            encoder: self.trainer.encoder()?,
            step,
            stopped_early,
            fingerprint: self.state.fingerprint(),
            history: self.state.history,
        })
    }
}
