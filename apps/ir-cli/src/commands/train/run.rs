//! A training run: reads examples and validation set, trains, writes model and history.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use ir_core::Progress;
use ir_core::training::TrainingSet;
use ir_data::training::TrainingFile;
use ir_dense::train::{
    CrossEncoderTrainer, EvaluateFn, HistoryCallback, LearningRateSchedule, MultiVectorTrainer,
    SparseEncoderTrainer, TrainError, Trainer, TrainingHistory,
};
use ir_dense::{BiEncoder, CrossEncoder, ModelError, MultiVectorEncoder, SparseEncoder};

use super::candidates::Candidates;
use super::dev::DevSet;
use super::examples;
use super::history::{self, HistoryLog};
use super::options::CommonOptions;
use crate::shared::console::Console;
use crate::shared::format::grouped;
use crate::shared::training_runs::completed::CompletedRun;
use crate::shared::training_runs::values::Evaluation;
use crate::shared::training_runs::{self, discard, evaluation, has_files};

/// Examples, validation set and checkpoint folder.
pub(super) struct Inputs {
    pub(super) data: TrainingFile,
    pub(super) dev_set: Option<DevSet>,
    checkpoints: PathBuf,
}

impl Inputs {
    /// The first `depth` documents of BM25 for every query of the validation set, if there is one.
    pub(super) fn candidates(&self, depth: usize) -> Result<Option<Candidates<'_>>> {
        let dev_set = self.dev_set.as_ref();
        dev_set
            .map(|set| Candidates::search(set, depth))
            .transpose()
    }
}

pub(super) fn prepare(
    args: &CommonOptions,
    checkpoints: PathBuf,
    console: &Console,
) -> Result<Inputs> {
    let dev_set = args.evaluation.dev.as_deref();
    let dev_set = dev_set
        .map(|dev| DevSet::read(args, dev, console))
        .transpose()?;
    let mut bar = console.bar();
    let data = examples::read(args, dev_set.as_ref(), &mut bar, console)?;
    bar.finish();
    if let Some(dev_set) = &dev_set {
        let overlap = dev_set.overlap(&data)?;
        if overlap > 0 {
            console.warn(format_args!(
                "--dev: {overlap} of {} validation queries are in the training set; the measure is biased upwards",
                dev_set.queries().len()
            ));
        }
    }
    Ok(Inputs {
        data,
        dev_set,
        checkpoints,
    })
}

/// Number of steps of a run, and of evaluations without improvement that end it.
#[derive(Clone, Copy)]
pub(super) struct RunSteps {
    pub(super) steps: u64,
    pub(super) epochs: u64,
    pub(super) patience: Option<u64>,
}

impl RunSteps {
    /// Warns if no step has a learning rate above 0.
    pub(super) fn check(self, schedule: LearningRateSchedule, console: &Console) {
        let steps = self.steps;
        if steps > 0 && (0..steps).all(|step| schedule.factor(step, steps) == 0.0) {
            console.warn(format_args!(
                "the learning rate is 0 in every step, because training ({steps} steps) is not longer than the warm-up: use --warmup 0"
            ));
        }
    }
}

/// Trainer of a model that is saved as a folder.
pub(super) trait Finetuning: Sized {
    type Model;

    fn fingerprint(&self, data: &dyn TrainingSet) -> u64;

    /// Trains, with checkpoints after every so many steps.
    fn finetune(
        self,
        checkpoints: (&Path, u64),
        data: &dyn TrainingSet,
        evaluate: Option<&mut EvaluateFn<'_, Self::Model>>,
        callback: &mut HistoryCallback<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Finetuned<Self::Model>, TrainError>;

    fn save(model: &Self::Model, folder: &Path) -> Result<(), ModelError>;
}

/// Trained model with its history.
pub(super) struct Finetuned<M> {
    model: M,
    step: u64,
    history: TrainingHistory,
    stopped_early: bool,
    fingerprint: u64,
}

/// Implements [`Finetuning`] by the methods of a trainer.
macro_rules! finetuning {
    ($trainer:ty, $model:ty, $field:ident) => {
        impl Finetuning for $trainer {
            type Model = $model;

            fn fingerprint(&self, data: &dyn TrainingSet) -> u64 {
                self.fingerprint(data)
            }

            fn finetune(
                self,
                (checkpoints, every): (&Path, u64),
                data: &dyn TrainingSet,
                evaluate: Option<&mut EvaluateFn<'_, $model>>,
                callback: &mut HistoryCallback<'_>,
                progress: &mut dyn Progress,
            ) -> Result<Finetuned<$model>, TrainError> {
                let trainer = self
                    .with_checkpoints(checkpoints)
                    .with_checkpoint_every(every);
                let trained = trainer.train_with_callback(data, evaluate, callback, progress)?;
                Ok(Finetuned {
                    model: trained.$field,
                    step: trained.step,
                    history: trained.history,
                    stopped_early: trained.stopped_early,
                    fingerprint: trained.fingerprint,
                })
            }

            fn save(model: &$model, folder: &Path) -> Result<(), ModelError> {
                model.save(folder)
            }
        }
    };
}

finetuning!(Trainer, BiEncoder, encoder);
finetuning!(CrossEncoderTrainer, CrossEncoder, cross_encoder);
finetuning!(MultiVectorTrainer, MultiVectorEncoder, encoder);
finetuning!(SparseEncoderTrainer, SparseEncoder, encoder);

/// Trains from the last checkpoint on, and writes model and history.
pub(super) fn train<T: Finetuning>(
    args: &CommonOptions,
    trainer: T,
    inputs: &Inputs,
    run: RunSteps,
    evaluation: Option<Evaluation>,
    evaluate: Option<&mut EvaluateFn<'_, T::Model>>,
    console: &Console,
) -> Result<()> {
    let (data, checkpoints) = (&inputs.data, &*inputs.checkpoints);
    let output = &*args.output.folder();
    let validation = &args.evaluation;
    let completed = |fingerprint| CompletedRun {
        fingerprint,
        evaluation: evaluation.as_ref(),
    };
    if has_files(output) {
        let completed = completed(trainer.fingerprint(data));
        training_runs::check_completed(&completed, output, checkpoints, console)?;
        discard(args.execution.keep_checkpoints, checkpoints);
        return Ok(());
    }
    let resumed = evaluation::check_or_record(checkpoints, evaluation.as_ref(), console)?;
    let began = Instant::now();
    let counts = (run.steps, run.epochs);
    let mut log = HistoryLog::new(args.history.as_ref(), counts, &validation.measure, console);
    let mut watch = |history: &TrainingHistory| Ok(log.update(history)?);
    let mut bar = console.bar();
    let every = args.execution.checkpoint_every as u64;
    let trained = trainer.finetune((checkpoints, every), data, evaluate, &mut watch, &mut bar);
    bar.finish();
    let trained = trained.map_err(|error| training_runs::ended(error, checkpoints))?;
    write_history(args, &trained.history)?;
    completed(trained.fingerprint).record(checkpoints)?;
    T::save(&trained.model, output)?;
    discard(args.execution.keep_checkpoints, checkpoints);
    let history = &trained.history;
    let best = history.best();
    let best = best.map(|best| format!(", {} {:.4}", validation.measure, best.value));
    let since = if resumed {
        " since the last checkpoint"
    } else {
        ""
    };
    let ran = history.steps.len() as u64;
    let loss = history
        .steps
        .last()
        .map(|row| format!(", loss {:.4}", row.loss));
    console.log(format_args!(
        "{}: {} examples, weights after {} of {} steps{}{}, {:.1} s{since}",
        output.display(),
        grouped(data.len() as u64),
        grouped(trained.step),
        grouped(ran),
        loss.unwrap_or_default(),
        best.unwrap_or_default(),
        began.elapsed().as_secs_f64(),
    ));
    if trained.stopped_early {
        console.log(format_args!(
            "stopped early after {} of {} steps: {} evaluations without improvement (--patience)",
            grouped(ran),
            grouped(run.steps),
            run.patience.unwrap_or_default(),
        ));
    }
    if trained.step == 0 && ran > 0 {
        console.warn(format_args!(
            "{}: no evaluation improved on the initial model; saved the initial weights",
            output.display()
        ));
    }
    Ok(())
}

/// Writes the training history and its curves.
fn write_history(args: &CommonOptions, trained: &TrainingHistory) -> Result<()> {
    let history = args.history.as_ref();
    if let Some(path) = history.filter(|path| !history::is_appended(path)) {
        path.write(trained.to_csv())?;
    }
    if let Some(path) = &args.curves {
        let measure = args.evaluation.measure.to_string();
        path.write(trained.to_svg(&measure))?;
    }
    Ok(())
}
