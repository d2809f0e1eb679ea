//! Training loop with evaluation, early stopping and checkpoints, for every kind of model.

use std::error::Error;
use std::path::PathBuf;

use ir_core::{Flow, Progress};

use super::checkpoint::{CheckpointFolder, CheckpointedModel, TrainingState};
use super::config::RunSettings;
use super::history::{EvaluationPoint, TrainingStep};
use super::optimizer::{AdamWState, AdamWStep};
use super::{TrainError, TrainingHistory};
use crate::encode::BiEncoder;

/// Evaluation function: returns a metric of a model after a number of steps, where higher is
/// better. For example nDCG@10 on held-out queries.
pub type EvaluateFn<'a, M = BiEncoder> =
    dyn FnMut(&M, u64) -> Result<f64, Box<dyn Error + Send + Sync>> + 'a;

/// Function that receives the history while training runs.
pub type HistoryCallback<'a> =
    dyn FnMut(&TrainingHistory) -> Result<(), Box<dyn Error + Send + Sync>> + 'a;

/// Weights that are updated together, with moments of their own.
pub(super) trait TrainedPart: CheckpointedModel + Clone {
    type Gradients;

    /// Squared L2 norm of all gradients.
    fn squared_norm(&self, gradients: &Self::Gradients) -> f64;

    /// Returns the part with updated weights.
    fn updated(
        self,
        optimizer: &mut AdamWState,
        gradients: Self::Gradients,
        step: AdamWStep<'_>,
    ) -> Self;
}

/// Model in training with its data.
pub(super) trait TrainingTask {
    /// One per model, or one per tower.
    type Part: TrainedPart;
    /// Trained model, which is evaluated.
    type Model;

    fn parts(&self) -> &[Self::Part];

    fn parts_mut(&mut self) -> &mut Vec<Self::Part>;

    /// Returns the loss of a step, from 0, and the gradients of every part.
    fn gradients(&mut self, step: u64) -> Result<(f64, Vec<PartGradients<Self>>), TrainError>;

    /// Returns the model with the current weights.
    fn model(&self) -> Result<Self::Model, TrainError>;
}

pub(super) type PartGradients<T> = <<T as TrainingTask>::Part as TrainedPart>::Gradients;

/// Folder of checkpoints, if any, and the number of steps between them.
#[derive(Debug, Clone)]
pub(super) struct Checkpoints {
    folder: Option<CheckpointFolder>,
    every: u64,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self {
            folder: None,
            every: 100,
        }
    }
}

/// Functions of a trainer with the field `checkpoints`.
macro_rules! checkpoint_functions {
    () => {
        /// Writes checkpoints to a folder and resumes from the checkpoint that it has, if it has
        /// the format version of this release ([`TrainError::Version`]).
        pub fn with_checkpoints(mut self, folder: impl Into<std::path::PathBuf>) -> Self {
            self.checkpoints.set_folder(folder.into());
            self
        }

        /// Sets the number of steps between checkpoints. Default: 100. The last step, interruptions
        /// and evaluations, if there are any, write a checkpoint as well.
        pub fn with_checkpoint_every(mut self, steps: u64) -> Self {
            self.checkpoints.set_every(steps);
            self
        }
    };
}

/// Result of a trainer, with the model in a field of its own.
macro_rules! training_result {
    (
        $(#[$doc:meta])*
        $result:ident {
            $(#[$field_doc:meta])*
            $field:ident: $model:ty
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[non_exhaustive]
        pub struct $result {
            $(#[$field_doc])*
            pub $field: $model,
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

        impl $result {
            fn new<T: TrainingTask<Model = $model>>(
                finished: FinishedRun<T>,
            ) -> Result<Self, TrainError> {
                Ok(Self {
                    $field: finished.task.model()?,
                    step: finished.step,
                    history: finished.history,
                    stopped_early: finished.stopped_early,
                    fingerprint: finished.fingerprint,
                })
            }
        }
    };
}

/// Functions of a trainer of `$model` with the functions `check_examples`, which returns an error
/// if examples are missing or invalid, `initial_state`, and `into_task`, which returns the model
/// with the examples.
macro_rules! train_functions {
    ($model:ty, $result:ident) => {
        #[doc = concat!("Returns the [fingerprint](", stringify!($result), "::fingerprint) that")]
        /// training would have. Reads all weights and examples.
        pub fn fingerprint(&self, data: &dyn TrainingSet) -> u64 {
            self.initial_state(data).fingerprint()
        }

        /// Trains for all epochs; reports progress in steps.
        ///
        /// # Errors
        /// Returns [`TrainError`] if there are no examples ([`TrainError::Empty`]), every step has
        /// one candidate ([`TrainError::OneCandidate`]), an example is invalid or lacks the
        /// negatives or teacher scores that the loss needs, the loss is not finite, a checkpoint
        /// cannot be read or written or belongs to another run, or `progress` requests a stop
        /// ([`TrainError::Stopped`]).
        pub fn train(
            self,
            data: &dyn TrainingSet,
            progress: &mut dyn Progress,
        ) -> Result<$result, TrainError> {
            self.train_with_callback(data, None, &mut |_| Ok(()), progress)
        }

        /// Trains with periodic evaluation and early stopping, and keeps the best weights.
        /// `evaluate` returns nDCG@10 on held-out queries, for example.
        ///
        /// # Errors
        /// Returns the errors of [`Self::train`], and [`TrainError::Evaluation`] if the evaluation
        /// fails.
        pub fn train_and_evaluate(
            self,
            data: &dyn TrainingSet,
            evaluate: &mut EvaluateFn<'_, $model>,
            progress: &mut dyn Progress,
        ) -> Result<$result, TrainError> {
            self.train_with_callback(data, Some(evaluate), &mut |_| Ok(()), progress)
        }

        /// Trains, with periodic evaluation if given, and calls `callback` with the history when
        /// training starts or resumes and after every step, with its evaluation.
        ///
        /// # Errors
        /// Returns the errors of [`Self::train_and_evaluate`], and [`TrainError::Callback`] if
        /// `callback` fails.
        pub fn train_with_callback(
            self,
            data: &dyn TrainingSet,
            evaluate: Option<&mut EvaluateFn<'_, $model>>,
            callback: &mut HistoryCallback<'_>,
            progress: &mut dyn Progress,
        ) -> Result<$result, TrainError> {
            self.check_examples(data)?;
            let state = self.initial_state(data);
            let (config, checkpoints) = (self.config.clone(), self.checkpoints.clone());
            let settings = config.run_settings();
            let per_epoch = config.steps_per_epoch(data.len());
            let observers = Observers {
                evaluate,
                callback,
                progress,
            };
            let task = self.into_task(data, &config);
            let finished = run::run(task, state, settings, per_epoch, &checkpoints, observers)?;
            $result::new(finished)
        }
    };
}

pub(super) use checkpoint_functions;
pub(super) use train_functions;
pub(super) use training_result;

impl Checkpoints {
    pub(super) fn set_folder(&mut self, folder: PathBuf) {
        self.folder = Some(CheckpointFolder(folder));
    }

    pub(super) fn set_every(&mut self, steps: u64) {
        self.every = steps.max(1);
    }
}

/// Functions that observe a training run.
pub(super) struct Observers<'a, 'e, 'c, M> {
    pub(super) evaluate: Option<&'a mut EvaluateFn<'e, M>>,
    pub(super) callback: &'a mut HistoryCallback<'c>,
    pub(super) progress: &'a mut dyn Progress,
}

/// Task with the weights of the best evaluation, or of the last step without evaluation.
pub(super) struct FinishedRun<T> {
    pub(super) task: T,
    /// Number of steps that gave these weights.
    pub(super) step: u64,
    pub(super) stopped_early: bool,
    pub(super) fingerprint: u64,
    pub(super) history: TrainingHistory,
}

/// Trains for all epochs, from the last checkpoint on. `state`: state before the first step.
pub(super) fn run<T: TrainingTask>(
    mut task: T,
    state: TrainingState,
    settings: RunSettings<'_>,
    per_epoch: u64,
    checkpoints: &Checkpoints,
    observers: Observers<'_, '_, '_, T::Model>,
) -> Result<FinishedRun<T>, TrainError> {
    let parts = task.parts().iter();
    let mut optimizers: Vec<AdamWState> = parts.map(|_| AdamWState::default()).collect();
    let found = match &checkpoints.folder {
        Some(folder) => folder.load(&state, task.parts_mut(), &mut optimizers)?,
        None => None,
    };
    let mut run = TrainingRun {
        task,
        state: found.unwrap_or(state),
        optimizers,
        steps: settings.epochs.saturating_mul(per_epoch),
        per_epoch,
        settings,
        checkpoints,
        best: None,
    };
    run.all(observers)?;
    run.finish()
}

struct TrainingRun<'a, T: TrainingTask> {
    task: T,
    state: TrainingState,
    optimizers: Vec<AdamWState>,
    steps: u64,
    per_epoch: u64,
    settings: RunSettings<'a>,
    checkpoints: &'a Checkpoints,
    /// Best weights, if there is no checkpoint folder.
    best: Option<Vec<T::Part>>,
}

impl<T: TrainingTask> TrainingRun<'_, T> {
    fn all(&mut self, observers: Observers<'_, '_, '_, T::Model>) -> Result<(), TrainError> {
        let Observers {
            mut evaluate,
            callback,
            progress,
        } = observers;
        let steps = self.steps;
        let every = self.settings.evaluate_every.unwrap_or(self.per_epoch);
        if let Some(evaluate) = &mut evaluate
            && self.state.history.evaluations.is_empty()
        {
            self.evaluate(*evaluate)?;
            self.save()?;
        }
        self.report(callback)?;
        while self.state.step < steps && !self.stopped_early() {
            let step = self.state.step;
            if progress.report("training", step, Some(steps)) == Flow::Stop {
                self.save()?;
                return Err(TrainError::Stopped { step, steps });
            }
            self.step()?;
            let step = self.state.step;
            let due = step.is_multiple_of(every);
            let last = step == steps;
            let mut save = last || step.is_multiple_of(self.checkpoints.every);
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
        progress.report("training", self.state.step, Some(steps));
        Ok(())
    }

    fn report(&self, callback: &mut HistoryCallback<'_>) -> Result<(), TrainError> {
        let step = self.state.step;
        callback(&self.state.history).map_err(|source| TrainError::Callback { step, source })
    }

    fn step(&mut self) -> Result<(), TrainError> {
        let settings = self.settings;
        let step = self.state.step;
        let (loss, gradients) = self.task.gradients(step)?;
        let squares = gradients.iter().zip(self.task.parts());
        let squares = squares.map(|(gradients, part)| part.squared_norm(gradients));
        let squares: f64 = squares.sum();
        let norm = squares.sqrt();
        if !(loss.is_finite() && norm.is_finite()) {
            return Err(TrainError::NotFinite { step, loss, norm });
        }
        let clip_factor = settings
            .max_gradient_norm
            .map_or(1.0, |max| (max / (norm + 1e-6)).min(1.0));
        let rate = settings.learning_rate * settings.schedule.factor(step, self.steps);
        let update = AdamWStep {
            config: settings.optimizer,
            learning_rate: rate,
            clip_factor,
            time: step + 1,
        };
        // Moved, so that the weights are updated in place.
        let parts = std::mem::take(self.task.parts_mut()).into_iter();
        let updates = self.optimizers.iter_mut().zip(gradients);
        let updated = parts.zip(updates);
        *self.task.parts_mut() = updated
            .map(|(part, (optimizer, gradients))| part.updated(optimizer, gradients, update))
            .collect();
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

    fn evaluate(&mut self, evaluate: &mut EvaluateFn<'_, T::Model>) -> Result<(), TrainError> {
        let step = self.state.step;
        let model = self.task.model()?;
        let failed = |source| TrainError::Evaluation { step, source };
        let value = evaluate(&model, step).map_err(failed)?;
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
            match &self.checkpoints.folder {
                Some(folder) => folder.save_best(&self.state, self.task.parts())?,
                None => self.best = Some(self.task.parts().to_vec()),
            }
        }
        Ok(())
    }

    fn stopped_early(&self) -> bool {
        let patience = self.settings.patience;
        patience.is_some_and(|patience| self.state.without_best >= patience)
    }

    fn save(&self) -> Result<(), TrainError> {
        match &self.checkpoints.folder {
            None => Ok(()),
            Some(folder) => folder.save(&self.state, self.task.parts(), &self.optimizers),
        }
    }

    fn finish(mut self) -> Result<FinishedRun<T>, TrainError> {
        let stopped_early = self.stopped_early() && self.state.step < self.steps;
        let mut step = self.state.step;
        if let Some(best) = self.state.history.best()
            && best.step != step
        {
            step = best.step;
            match (self.best.take(), &self.checkpoints.folder) {
                (Some(parts), _) => *self.task.parts_mut() = parts,
                (None, Some(folder)) => folder.load_best(step, self.task.parts_mut())?,
                (None, None) => {}
            }
        }
        Ok(FinishedRun {
            task: self.task,
            step,
            stopped_early,
            fingerprint: self.state.fingerprint(),
            history: self.state.history,
        })
    }
}
