//! Hyperparameters of the training of a reader.

use serde::{Deserialize, Serialize};

use super::config::RunSettings;
use super::{AdamWConfig, LearningRateSchedule, TrainError, TrainingConfig};
use crate::precision::Precision;
use crate::reader::ReaderConfig;

/// Hyperparameters of the training of an extractive reader. Together with the model and the data,
/// they determine the trained weights. The defaults follow BERT on SQuAD, with batches of 16.
///
/// ```
/// use ir_dense::train::ReaderTrainingConfig;
/// let mut config = ReaderTrainingConfig::default();
/// config.epochs = 1;
/// let text = serde_json::to_string(&config)?;
/// assert_eq!(serde_json::from_str::<ReaderTrainingConfig>(&text)?, config);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ReaderTrainingConfig {
    /// Reader: backend, maximum lengths, stride.
    pub reader: ReaderConfig,
    /// Number of passes over the windows of the training set. Range: ≥ 1. Default: 2.
    pub epochs: u64,
    /// Number of windows per step. Range: ≥ 1. Default: 16.
    pub batch_size: usize,
    /// Number of windows per forward and backward pass (gradient accumulation). Bounds memory for
    /// any `batch_size`; results differ in the last bits only. `None`: all windows of a step at
    /// once. Range: ≥ 1. Default: `None`.
    pub mini_batch_size: Option<usize>,
    /// Dropout probability. Range: 0..1. Default: 0.1.
    pub dropout: f64,
    /// Peak learning rate. Range: > 0. Default: 5e-5.
    pub learning_rate: f64,
    /// Learning-rate schedule. Default: 10 % warm-up, then linear decay.
    pub schedule: LearningRateSchedule,
    /// Optimizer. Default: AdamW with weight decay 0.01.
    pub optimizer: AdamWConfig,
    /// Maximum global gradient norm (gradient clipping). `None` disables clipping. Range: > 0.
    /// Default: 1.
    pub max_gradient_norm: Option<f64>,
    /// Number format of the factors of the linear layers' matrix products, as in
    /// [`TrainingConfig::precision`]. Range: f32, or bf16 on [`Backend::Cpu`](crate::Backend::Cpu).
    /// Default: f32.
    #[serde(skip_serializing_if = "Precision::is_f32")]
    pub precision: Precision,
    /// Seed of the order of windows, dropout masks, and the weights of a new span head. Default:
    /// 42.
    pub seed: u64,
}

impl Default for ReaderTrainingConfig {
    fn default() -> Self {
        let TrainingConfig {
            dropout,
            schedule,
            optimizer,
            max_gradient_norm,
            precision,
            seed,
            ..
        } = TrainingConfig::small_data();
        Self {
            reader: ReaderConfig::default(),
            epochs: 2,
            batch_size: 16,
            mini_batch_size: None,
            dropout,
            learning_rate: 5e-5,
            schedule,
            optimizer,
            max_gradient_norm,
            precision,
            seed,
        }
    }
}

impl ReaderTrainingConfig {
    /// Checks that every value is in its range.
    ///
    /// # Errors
    /// [`TrainError::Setting`] names the first value that is not.
    pub fn validate(&self) -> Result<(), TrainError> {
        self.run_settings().validate()
    }

    pub(super) fn run_settings(&self) -> RunSettings<'_> {
        RunSettings {
            backend: self.reader.backend,
            epochs: self.epochs,
            batch_size: self.batch_size,
            mini_batch_size: self.mini_batch_size,
            dropout: self.dropout,
            learning_rate: self.learning_rate,
            schedule: self.schedule,
            optimizer: &self.optimizer,
            max_gradient_norm: self.max_gradient_norm,
            precision: self.precision,
            evaluate_every: None,
            patience: None,
        }
    }
}
