//! Hyperparameters of the training of a cross-encoder.

use serde::{Deserialize, Serialize};

use super::config::{LIMITED, NEEDED, POSITIVE, RunSettings, check_ranges, run_functions};
use super::sampler::Sampling;
use super::{AdamWConfig, LearningRateSchedule, TrainError, TrainingConfig};
use crate::cross_encoder::CrossEncoderConfig;
use crate::precision::Precision;

/// Hyperparameters of the training of a cross-encoder. Together with the model and the data, they
/// determine the trained weights.
///
/// ```
/// use ir_dense::train::{CrossEncoderLoss, CrossEncoderTrainingConfig};
/// let mut config = CrossEncoderTrainingConfig::default();
/// config.loss = CrossEncoderLoss::MultipleNegatives { scale: 10.0 };
/// config.in_batch_negatives = 4;
/// let text = serde_json::to_string(&config)?;
/// assert_eq!(serde_json::from_str::<CrossEncoderTrainingConfig>(&text)?, config);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct CrossEncoderTrainingConfig {
    /// Cross-encoder: backend, maximum length, prompt, activation function of the scores. Training
    /// truncates documents that do not fit, as [`Windows::First`](crate::Windows::First). Losses
    /// take logits, without the activation function.
    pub cross_encoder: CrossEncoderConfig,
    /// Number of passes over the training set. Range: ≥ 1. Default: 3.
    pub epochs: u64,
    /// Number of queries per step. Range: ≥ 1. Default: 8.
    pub batch_size: usize,
    /// Number of hard negatives per query and epoch; an example with fewer takes part with all.
    /// Range: 0..=65,536, and ≥ 1 without in-batch negatives, except for soft labels. Default: 7.
    pub hard_negatives: usize,
    /// Number of in-batch negatives per query: documents of the other queries of the step, drawn at
    /// random; all if there are fewer. Range: 0..=65,536, and 0 for distillation. Default: 0.
    pub in_batch_negatives: usize,
    /// Number of pairs per forward and backward pass (gradient accumulation). Bounds memory for any
    /// `batch_size`; results differ in the last bits only. The pairs of a query are never split.
    /// `None`: all pairs of a step at once. Range: ≥ 1. Default: 32.
    pub mini_batch_size: Option<usize>,
    /// Training loss. Default: softmax cross-entropy with temperature 1.
    pub loss: CrossEncoderLoss,
    /// If `true`, known positives of a query are excluded from its in-batch negatives: documents
    /// that share id or text with one of its positives. Default: true.
    pub skip_known_positives: bool,
    /// Dropout probability. Range: 0..1. Default: 0.1.
    pub dropout: f64,
    /// Peak learning rate. Range: > 0. Default: 2e-5.
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
    /// Seed of the order of examples, the choice of positives and negatives, dropout masks, and the
    /// weights of a new head. Default: 42.
    pub seed: u64,
    /// Number of steps between evaluations; `None`: one per epoch. The first evaluation is before
    /// the first step and the last after the last step. Range: ≥ 1. Default: `None`.
    pub evaluate_every: Option<u64>,
    /// Early stopping: number of evaluations without improvement after which training stops.
    /// `None` disables early stopping. Range: ≥ 1. Default: `None`.
    pub patience: Option<u64>,
}

/// Training loss of a cross-encoder, over the logits of the candidates of each query: its positive,
/// hard negatives and in-batch negatives. [`super::loss`] has the functions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum CrossEncoderLoss {
    /// Softmax cross-entropy of the positive among the candidates (localized contrastive
    /// estimation, Gao et al. 2021): [`super::loss::softmax`].
    Softmax {
        /// Divisor of the logits. Range: > 0.
        temperature: f64,
    },
    /// Multiple negatives ranking loss: [`super::loss::multiple_negatives`]. With
    /// `in_batch_negatives` 4 and `scale` 10 the default of sentence-transformers.
    MultipleNegatives {
        /// Factor of the scores, which are in 0..=1. Range: > 0.
        scale: f64,
    },
    /// Binary cross-entropy of every pair: [`super::loss::binary_cross_entropy`].
    BinaryCrossEntropy {
        /// Weight of positive labels. Range: > 0.
        positive_weight: f64,
        /// If `true`, labels are the scores of a teacher, in 0..=1, which all texts need. If
        /// `false`, the label is 1 for positives and 0 for negatives.
        soft_labels: bool,
    },
    /// Logistic loss of the difference between positive and negative:
    /// [`super::loss::rank_net`].
    RankNet,
    /// Squared error of the margins of a teacher between the positive and the negatives, which need
    /// teacher scores: [`super::loss::margin_mse`].
    MarginMse,
    /// KL divergence from the distribution of a teacher over the candidates, which need teacher
    /// scores: [`super::loss::kl_divergence`].
    KlDivergence {
        /// Divisor of the scores of both models. Range: > 0.
        temperature: f64,
    },
}

impl CrossEncoderLoss {
    /// Returns `true` if the loss needs the scores of a teacher.
    pub(super) fn is_distillation(self) -> bool {
        match self {
            Self::BinaryCrossEntropy { soft_labels, .. } => soft_labels,
            Self::MarginMse | Self::KlDivergence { .. } => true,
            Self::Softmax { .. } | Self::MultipleNegatives { .. } | Self::RankNet => false,
        }
    }

    /// Returns `true` if the loss compares candidates, so that it is constant for one candidate.
    pub(super) fn is_contrastive(self) -> bool {
        !matches!(self, Self::BinaryCrossEntropy { .. })
    }

    /// Returns `true` if the loss needs negatives.
    pub(super) fn needs_negatives(self) -> bool {
        self.is_contrastive() || !self.is_distillation()
    }
}

impl Default for CrossEncoderTrainingConfig {
    fn default() -> Self {
        let TrainingConfig {
            skip_known_positives,
            dropout,
            learning_rate,
            schedule,
            optimizer,
            max_gradient_norm,
            precision,
            seed,
            ..
        } = TrainingConfig::small_data();
        Self {
            cross_encoder: CrossEncoderConfig::default(),
            epochs: 3,
            batch_size: 8,
            hard_negatives: 7,
            in_batch_negatives: 0,
            mini_batch_size: Some(32),
            loss: CrossEncoderLoss::Softmax { temperature: 1.0 },
            skip_known_positives,
            dropout,
            learning_rate,
            schedule,
            optimizer,
            max_gradient_norm,
            precision,
            seed,
            evaluate_every: None,
            patience: None,
        }
    }
}

impl CrossEncoderTrainingConfig {
    run_functions!(cross_encoder);

    /// Checks that every value is in its range.
    ///
    /// # Errors
    /// [`TrainError::Setting`] names the first value that is not.
    pub fn validate(&self) -> Result<(), TrainError> {
        self.run_settings().validate()?;
        let setting = |field, expected, found: String| {
            Err(TrainError::Setting {
                field,
                expected,
                found,
            })
        };
        let (field, value) = match self.loss {
            CrossEncoderLoss::Softmax { temperature }
            | CrossEncoderLoss::KlDivergence { temperature } => ("loss.temperature", temperature),
            CrossEncoderLoss::MultipleNegatives { scale } => ("loss.scale", scale),
            CrossEncoderLoss::BinaryCrossEntropy {
                positive_weight, ..
            } => ("loss.positive_weight", positive_weight),
            CrossEncoderLoss::RankNet | CrossEncoderLoss::MarginMse => ("loss", 1.0),
        };
        let needed = if self.loss.is_distillation() && self.loss.is_contrastive() {
            NEEDED
        } else {
            LIMITED
        };
        let negatives = self.hard_negatives as f64;
        check_ranges(&[
            ("hard_negatives", negatives, LIMITED),
            ("hard_negatives", negatives, needed),
            (field, value, POSITIVE),
        ])?;
        let (most, expected) = if self.loss.is_distillation() {
            (
                0,
                "0, as distillation needs the teacher scores of all candidates",
            )
        } else {
            (65_536, "65536 or fewer")
        };
        if self.in_batch_negatives > most {
            let found = self.in_batch_negatives.to_string();
            return setting("in_batch_negatives", expected, found);
        }
        let has_negatives = self.hard_negatives > 0 || self.in_batch_negatives > 0;
        if self.loss.needs_negatives() && !has_negatives {
            let expected = "1 or more, as the loss needs negatives and in_batch_negatives is 0";
            return setting("hard_negatives", expected, "0".to_owned());
        }
        if self.cross_encoder.precision != Precision::F32 {
            let expected = "f32 (the trained model can be opened with another precision)";
            let found = self.cross_encoder.precision.to_string();
            return setting("cross_encoder.precision", expected, found);
        }
        Ok(())
    }
}

impl From<&CrossEncoderTrainingConfig> for Sampling {
    fn from(config: &CrossEncoderTrainingConfig) -> Self {
        Self {
            seed: config.seed,
            batch_size: config.batch_size,
            drop_last: false,
            hard_negatives: config.hard_negatives,
            repeats_negatives: false,
            needs_scores: config.loss.is_distillation(),
            needs_negatives: false,
            skip_known_positives: config.skip_known_positives,
        }
    }
}
