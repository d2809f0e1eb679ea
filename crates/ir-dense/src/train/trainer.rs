//! [`Trainer`]: from a model and examples to a better model.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::{Flow, Progress, Side, TrainingSet};

use super::adamw::Moments;
use super::checkpoint::{Checkpoints, State};
use super::history::{Evaluated, StepRow};
use super::sampler::Sampler;
use super::step::Towers;
use super::{History, Loss, TrainError, TrainingConfig};
use crate::encoder::sides;
use crate::{BiEncoder, Similarity, Tower};

/// How good an encoder is after so many steps: higher is better. nDCG on held-back queries, say.
pub type Evaluate<'a> =
    dyn FnMut(&BiEncoder, u64) -> Result<f64, Box<dyn Error + Send + Sync>> + 'a;

/// Fine-tunes a bi-encoder.
///
/// The same model, data and configuration give the same weights, byte by byte, whatever the number
/// of threads, and whether or not training was stopped and resumed in between.
///
/// ```no_run
/// use ir_core::{NoProgress, TrainingExample, TrainingText};
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
    towers: Towers,
    config: TrainingConfig,
    checkpoints: Option<Checkpoints>,
    every: u64,
}

/// What training gives.
#[derive(Debug)]
#[non_exhaustive]
pub struct Trained {
    /// The encoder: of the best evaluation, or of the last step when nothing was evaluated.
    pub encoder: BiEncoder,
    /// Steps after which it had these weights.
    pub step: u64,
    /// What happened.
    pub history: History,
    /// Whether the measure stopped rising before all epochs were over.
    pub stopped_early: bool,
}

impl Trainer {
    /// Reads a folder in the Hugging Face layout; queries and documents share its weights, unless it
    /// is one with two such folders in it, `query` and `document`.
    ///
    /// # Errors
    /// When the model cannot be read or a setting makes no sense.
    pub fn open(folder: impl AsRef<Path>, config: &TrainingConfig) -> Result<Self, TrainError> {
        let folder = folder.as_ref();
        if let Some([query, document]) = sides(folder) {
            return Self::open_untied(query, document, config);
        }
        Self::new(vec![Tower::open(folder, &config.encoder)?], config)
    }

    /// Two folders: queries and documents have weights of their own, as DPR has. Both may be the
    /// same folder.
    ///
    /// # Errors
    /// When a model cannot be read, their vectors differ in length, or a setting makes no sense.
    pub fn open_untied(
        query: impl AsRef<Path>,
        document: impl AsRef<Path>,
        config: &TrainingConfig,
    ) -> Result<Self, TrainError> {
        let query = Tower::open(query, &config.encoder)?;
        Self::new(vec![query, Tower::open(document, &config.encoder)?], config)
    }

    fn new(towers: Vec<Tower>, config: &TrainingConfig) -> Result<Self, TrainError> {
        config.check()?;
        let cosines =
            config.similarity == Similarity::Cosine || towers.iter().all(|tower| tower.normalize);
        if matches!(config.loss, Loss::Pointwise { scale: None }) && !cosines {
            return Err(TrainError::Setting {
                field: "similarity",
                expected: "cosine, or vectors of length 1, for this loss without a scale",
                found: config.similarity.name().into(),
            });
        }
        let trainer = Self {
            towers: Towers(towers),
            config: config.clone(),
            checkpoints: None,
            every: 100,
        };
        // Limits and lengths are checked there.
        trainer.encoder()?;
        Ok(trainer)
    }

    /// Keeps checkpoints in a folder, and goes on from the one that is there already.
    pub fn with_checkpoints(mut self, folder: impl Into<PathBuf>) -> Self {
        self.checkpoints = Some(Checkpoints::new(folder.into()));
        self
    }

    /// Steps between checkpoints, 100 unless set. There is always one after an evaluation, after
    /// the last step, and when training is asked to stop.
    pub fn with_checkpoint_every(mut self, steps: u64) -> Self {
        self.every = steps.max(1);
        self
    }

    /// Trains for all epochs. Progress is told in steps.
    ///
    /// # Errors
    /// See [`TrainError`]; [`TrainError::Stopped`] when `progress` asks for it.
    pub fn train(
        self,
        data: &dyn TrainingSet,
        progress: &mut dyn Progress,
    ) -> Result<Trained, TrainError> {
        self.run(data, None, progress)
    }

    /// Trains, evaluates on the way, and keeps the best.
    ///
    /// # Errors
    /// As [`Trainer::train`], and when the evaluation fails.
    pub fn train_and_evaluate(
        self,
        data: &dyn TrainingSet,
        evaluate: &mut Evaluate<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Trained, TrainError> {
        self.run(data, Some(evaluate), progress)
    }

    /// The encoder as it is now.
    fn encoder(&self) -> Result<BiEncoder, TrainError> {
        let query = Arc::new(self.towers.of(Side::Query).clone());
        let document = match self.towers.0.len() {
            1 => query.clone(),
            _ => Arc::new(self.towers.of(Side::Document).clone()),
        };
        let encoder = BiEncoder::new(query, document, &self.config.encoder)?;
        Ok(encoder.with_similarity(self.config.similarity))
    }

    /// That some query has more than its answer to choose from.
    fn check_candidates(&self, data: &dyn TrainingSet) -> Result<(), TrainError> {
        let config = &self.config;
        if data.len().min(config.batch) > 1 || !config.loss.compares() || config.loss.distils() {
            return Ok(());
        }
        if config.negatives > 0 {
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
        evaluate: Option<&mut Evaluate<'_>>,
        progress: &mut dyn Progress,
    ) -> Result<Trained, TrainError> {
        if data.is_empty() {
            return Err(TrainError::Empty);
        }
        self.check_candidates(data)?;
        let mut state = State::new(&self.config, data.fingerprint(), &self.towers.0)?;
        let mut moments: Vec<Moments> = self
            .towers
            .0
            .iter()
            .map(|tower| Moments::new(&tower.model))
            .collect();
        if let Some(checkpoints) = &self.checkpoints
            && let Some(found) = checkpoints.load(&state, &mut self.towers.0, &mut moments)?
        {
            state = found;
        }
        let mut run = Run {
            steps: self.config.steps(data.len()),
            per_epoch: self.config.steps_per_epoch(data.len()),
            best: None,
            state,
            moments,
            trainer: self,
        };
        run.all(data, evaluate, progress)?;
        run.finish()
    }
}

/// Training under way.
struct Run {
    trainer: Trainer,
    state: State,
    moments: Vec<Moments>,
    steps: u64,
    per_epoch: u64,
    /// The best weights, where no file keeps them.
    best: Option<Vec<Tower>>,
}

impl Run {
    fn all(
        &mut self,
        data: &dyn TrainingSet,
        mut evaluate: Option<&mut Evaluate<'_>>,
        progress: &mut dyn Progress,
    ) -> Result<(), TrainError> {
        let config = self.trainer.config.clone();
        let mut sampler = Sampler::new(data, &config);
        if let Some(evaluate) = &mut evaluate
            && self.state.history.evaluations.is_empty()
        {
            self.evaluate(*evaluate)?;
            self.save()?;
        }
        while self.state.step < self.steps && !self.stopped_early() {
            let step = self.state.step;
            if progress.report("training", step, Some(self.steps)) == Flow::Stop {
                self.save()?;
                let steps = self.steps;
                return Err(TrainError::Stopped { step, steps });
            }
            self.step(&mut sampler)?;
            let due = match config.evaluate_every {
                Some(every) => self.state.step.is_multiple_of(every),
                None => self.state.step.is_multiple_of(self.per_epoch),
            };
            let last = self.state.step == self.steps;
            let mut save = last || self.state.step.is_multiple_of(self.trainer.every);
            if let Some(evaluate) = &mut evaluate
                && (due || last)
            {
                self.evaluate(*evaluate)?;
                save = true;
            }
            if save {
                self.save()?;
            }
        }
        progress.report("training", self.state.step, Some(self.steps));
        Ok(())
    }

    fn step(&mut self, sampler: &mut Sampler<'_>) -> Result<(), TrainError> {
        let Trainer { towers, config, .. } = &mut self.trainer;
        let step = self.state.step;
        let sample = sampler.step(step)?;
        let (loss, gradients) = towers.gradients(&sample, config, step)?;
        let squares: f64 = gradients.iter().map(|gradients| gradients.squares()).sum();
        let length = squares.sqrt();
        if !(loss.is_finite() && length.is_finite()) {
            return Err(TrainError::NotFinite { step, loss, length });
        }
        let factor = config
            .clip
            .map_or(1.0, |most| (most / (length + 1e-6)).min(1.0));
        let rate = config.learning_rate * config.schedule.share(step, self.steps);
        let parts = towers.0.iter_mut().zip(&mut self.moments).zip(gradients);
        for ((tower, moments), gradients) in parts {
            let model = &mut tower.model;
            moments.update(model, gradients, &config.optimizer, rate, factor, step + 1);
        }
        self.state.step += 1;
        self.state.history.steps.push(StepRow {
            step: step + 1,
            epoch: step / self.per_epoch + 1,
            learning_rate: rate,
            loss,
            gradient: length,
        });
        Ok(())
    }

    fn evaluate(&mut self, evaluate: &mut Evaluate<'_>) -> Result<(), TrainError> {
        let step = self.state.step;
        let encoder = self.trainer.encoder()?;
        let failed = |source| TrainError::Evaluation { step, source };
        let value = evaluate(&encoder, step).map_err(failed)?;
        if !value.is_finite() {
            return Err(TrainError::Measure { step, found: value });
        }
        let history = &mut self.state.history;
        let is_best = history.best().is_none_or(|best| value > best.value);
        history.evaluations.push(Evaluated { step, value });
        self.state.without_best = match is_best {
            true => 0,
            false => self.state.without_best + 1,
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
                checkpoints.save(&self.state, &self.trainer.towers.0, &self.moments)
            }
        }
    }

    fn finish(mut self) -> Result<Trained, TrainError> {
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
        Ok(Trained {
            encoder: self.trainer.encoder()?,
            step,
            history: self.state.history,
            stopped_early,
        })
    }
}
