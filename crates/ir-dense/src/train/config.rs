//! Hyperparameters of a training run.

use serde::{Deserialize, Serialize};

use super::TrainError;
use crate::{EncoderConfig, Pooling, SideConfig, SimilarityFunction};

/// Hyperparameters of a training run. Together with the model and the data, they determine the
/// trained weights.
///
/// ```
/// use ir_dense::train::TrainingConfig;
/// let mut config = TrainingConfig::datafinder();
/// config.epochs = 1;
/// let text = serde_json::to_string(&config)?;
/// assert_eq!(serde_json::from_str::<TrainingConfig>(&text)?, config);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TrainingConfig {
    /// Encoder: backend, pooling, prefixes, maximum sequence lengths.
    pub encoder: EncoderConfig,
    /// Number of passes over the training set. Range: ≥ 1. Default: 5.
    pub epochs: u64,
    /// Number of queries per step. The documents of the other queries are in-batch negatives.
    /// Range: ≥ 1. Default: 32.
    #[serde(alias = "batch")]
    pub batch_size: usize,
    /// Number of hard negatives per query. If an example has fewer, some repeat; if it has none,
    /// the query has in-batch negatives only. Range: 0..=65,536. Default: 3.
    #[serde(alias = "negatives")]
    pub hard_negatives: usize,
    /// Number of texts per forward pass (GradCache). Bounds memory for any `batch_size`, at the
    /// cost of a second forward pass; results differ in the last bits only. `None`: all texts of a
    /// step at once. Range: ≥ 1. Default: `None`.
    #[serde(alias = "block")]
    pub mini_batch_size: Option<usize>,
    /// Whether to drop the last, incomplete batch of an epoch, unless it is the only one.
    /// Default: false.
    pub drop_last: bool,
    /// Training loss. Default: softmax cross-entropy with temperature 0.05.
    pub loss: Loss,
    /// SimilarityFunction function of the scores; stored in the trained model. Default: cosine.
    pub similarity: SimilarityFunction,
    /// Whether to exclude known positives of a query from its in-batch negatives: documents that
    /// share id or text with one of its positives. Default: true.
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
    #[serde(alias = "clip")]
    pub max_gradient_norm: Option<f64>,
    /// Seed of the order of examples, the choice of positives and negatives, and dropout masks.
    /// Default: 42.
    pub seed: u64,
    /// Number of steps between evaluations; `None`: one per epoch. The first evaluation is before
    /// the first step and the last after the last step. Range: ≥ 1. Default: `None`.
    pub evaluate_every: Option<u64>,
    /// Early stopping: number of evaluations without improvement after which training stops.
    /// `None` disables early stopping. Range: ≥ 1. Default: 2.
    pub patience: Option<u64>,
}

/// Upper bound of [`TrainingConfig::hard_negatives`].
const MAX_HARD_NEGATIVES: usize = 1 << 16;

/// Training loss; [`super::loss`] has the functions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Loss {
    /// Softmax cross-entropy over all documents of the batch (InfoNCE, multiple negatives ranking):
    /// [`super::loss::softmax`].
    Softmax {
        /// Divisor of the scores. Range: > 0.
        temperature: f64,
    },
    /// Mean of the softmax cross-entropies from queries to documents and from positives to queries:
    /// [`super::loss::symmetric`].
    Symmetric {
        /// Divisor of the scores. Range: > 0.
        temperature: f64,
    },
    /// Binary cross-entropy of every document of the batch: [`super::loss::pointwise`].
    Pointwise {
        /// Factor of the scores before the logistic function. `None`: scores are cosines s, with
        /// probability (1 + s)/2. Range: > 0.
        scale: Option<f64>,
    },
    /// Margin (triplet) loss over all documents of the batch: [`super::loss::margin`].
    Margin {
        /// Required difference between the scores of the positive and of a negative. Range: ≥ 0.
        margin: f64,
    },
    /// KL divergence from the distribution of a teacher over the documents of each query, which
    /// need teacher scores: [`super::loss::kl_divergence`].
    KlDivergence {
        /// Divisor of the scores of both models. Range: > 0.
        temperature: f64,
    },
    /// Squared error of the margins of a teacher between the positive and the negatives of each
    /// query, which need teacher scores: [`super::loss::margin_mse`].
    MarginMse,
}

/// Learning-rate schedule: linear warm-up, then decay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearningRateSchedule {
    /// Fraction of the steps over which the learning rate rises linearly from 0, rounded up to
    /// whole steps. Range: 0..=1.
    #[serde(alias = "warmup")]
    pub warmup_ratio: f64,
    /// Decay after the warm-up.
    pub decay: LearningRateDecay,
}

/// Decay of the learning rate after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LearningRateDecay {
    /// Linear decay to 0.
    Linear,
    /// Constant learning rate after the warm-up.
    Constant,
}

impl LearningRateSchedule {
    /// Returns the factor of the peak learning rate at a step, from 0, of `total`, as
    /// transformers' `get_linear_schedule_with_warmup`: with a warm-up, the first step has the
    /// learning rate 0.
    ///
    /// ```
    /// use ir_dense::train::TrainingConfig;
    /// // 318 of the paper's 3,180 steps are warm-up.
    /// let schedule = TrainingConfig::datafinder().schedule;
    /// assert_eq!(schedule.factor(0, 3180), 0.0);
    /// assert_eq!(schedule.factor(159, 3180), 0.5);
    /// assert_eq!(schedule.factor(318, 3180), 1.0);
    /// assert_eq!(schedule.factor(1749, 3180), 0.5);
    /// ```
    pub fn factor(&self, step: u64, total: u64) -> f64 {
        let warmup = (self.warmup_ratio * total as f64).ceil();
        let step = step as f64;
        if step < warmup {
            return step / warmup;
        }
        match self.decay {
            LearningRateDecay::Constant => 1.0,
            LearningRateDecay::Linear => {
                ((total as f64 - step) / (total as f64 - warmup).max(1.0)).max(0.0)
            }
        }
    }
}

/// AdamW optimizer. Weight decay does not apply to biases and layer normalization.
///
/// # Source
/// Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamWConfig {
    /// β₁, first-moment decay rate. Range: 0..1. Default: 0.9.
    pub beta_1: f64,
    /// β₂, second-moment decay rate. Range: 0..1. Default: 0.999.
    pub beta_2: f64,
    /// ε, added to the root of the second moment. Range: > 0. Default: 1e-8.
    pub epsilon: f64,
    /// Decoupled weight decay: fraction of a weight that is subtracted per step, times the learning
    /// rate. Range: ≥ 0. Default: 0.
    pub weight_decay: f64,
}

impl Default for AdamWConfig {
    fn default() -> Self {
        Self {
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.0,
        }
    }
}

impl Default for TrainingConfig {
    fn default() -> Self {
        Self::small_data()
    }
}

impl TrainingConfig {
    /// Configuration of the DataFinder paper, for about ten thousand queries, starting from
    /// SciBERT: batches of 11 queries with one positive and seven hard negatives each, softmax over
    /// all 88 documents, inner product of `[CLS]` vectors with temperature 1, 32 tokens per query
    /// and 128 per document, two epochs of AdamW with learning rate 5e-6, 10 % warm-up, linear
    /// decay and gradient clipping at norm 1.
    ///
    /// # Source
    /// Viswanathan et al., "DataFinder: Scientific Dataset Recommendation from Natural Language
    /// Descriptions", ACL 2023, and its training script; dropout as in SciBERT.
    pub fn datafinder() -> Self {
        let side = |limit| SideConfig::default().with_max_tokens(limit);
        Self {
            encoder: EncoderConfig::default()
                .with_pooling(Pooling::Cls)
                .with_normalize(false)
                .with_query(side(32))
                .with_document(side(128)),
            epochs: 2,
            batch_size: 11,
            hard_negatives: 7,
            mini_batch_size: None,
            drop_last: true,
            loss: Loss::Softmax { temperature: 1.0 },
            similarity: SimilarityFunction::Dot,
            skip_known_positives: false,
            dropout: 0.1,
            learning_rate: 5e-6,
            schedule: LearningRateSchedule {
                warmup_ratio: 0.1,
                decay: LearningRateDecay::Linear,
            },
            optimizer: AdamWConfig::default(),
            max_gradient_norm: Some(1.0),
            seed: 42,
            evaluate_every: None,
            patience: None,
        }
    }

    /// Configuration for some hundreds of queries, starting from a sentence encoder: pooling and
    /// maximum lengths of the model, cosine similarity with temperature 0.05, known positives
    /// excluded from the negatives, early stopping.
    pub fn small_data() -> Self {
        Self {
            encoder: EncoderConfig::default(),
            epochs: 5,
            batch_size: 32,
            hard_negatives: 3,
            mini_batch_size: None,
            drop_last: false,
            loss: Loss::Softmax { temperature: 0.05 },
            similarity: SimilarityFunction::Cosine,
            skip_known_positives: true,
            dropout: 0.1,
            learning_rate: 2e-5,
            schedule: LearningRateSchedule {
                warmup_ratio: 0.1,
                decay: LearningRateDecay::Linear,
            },
            optimizer: AdamWConfig {
                weight_decay: 0.01,
                ..AdamWConfig::default()
            },
            max_gradient_norm: Some(1.0),
            seed: 42,
            evaluate_every: None,
            patience: Some(2),
        }
    }

    /// Number of steps over all epochs for a number of examples.
    pub fn steps(&self, examples: usize) -> u64 {
        self.epochs.saturating_mul(self.steps_per_epoch(examples))
    }

    pub(super) fn steps_per_epoch(&self, examples: usize) -> u64 {
        let steps = match self.drop_last {
            true => (examples / self.batch_size).max(usize::from(examples > 0)),
            false => examples.div_ceil(self.batch_size),
        };
        steps as u64
    }

    /// Checks the ranges of all values.
    pub(super) fn validate(&self) -> Result<(), TrainError> {
        let invalid = |field: &'static str, expected: &'static str, found: String| {
            Err(TrainError::Setting {
                field,
                expected,
                found,
            })
        };
        let positive = [
            ("epochs", self.epochs),
            ("batch_size", self.batch_size as u64),
            ("mini_batch_size", self.mini_batch_size.unwrap_or(1) as u64),
            ("evaluate_every", self.evaluate_every.unwrap_or(1)),
            ("patience", self.patience.unwrap_or(1)),
        ];
        for (field, value) in positive {
            if value == 0 {
                return invalid(field, "1 or more", value.to_string());
            }
        }
        if self.hard_negatives > MAX_HARD_NEGATIVES {
            return invalid(
                "hard_negatives",
                "65536 or fewer",
                self.hard_negatives.to_string(),
            );
        }
        if self.loss.is_distillation() && self.hard_negatives == 0 {
            return invalid(
                "hard_negatives",
                "1 or more, which distillation needs",
                "0".into(),
            );
        }
        let below_one = [
            ("dropout", self.dropout),
            ("optimizer.beta_1", self.optimizer.beta_1),
            ("optimizer.beta_2", self.optimizer.beta_2),
        ];
        for (field, value) in below_one {
            if !(0.0..1.0).contains(&value) {
                return invalid(field, "at least 0 and below 1", value.to_string());
            }
        }
        if !(0.0..=1.0).contains(&self.schedule.warmup_ratio) {
            let found = self.schedule.warmup_ratio.to_string();
            return invalid("schedule.warmup_ratio", "between 0 and 1", found);
        }
        let not_negative = [
            ("optimizer.weight_decay", self.optimizer.weight_decay),
            ("loss.margin", self.loss.margin().unwrap_or(0.0)),
        ];
        for (field, value) in not_negative {
            if !(value >= 0.0 && value.is_finite()) {
                return invalid(field, "at least 0", value.to_string());
            }
        }
        let above_zero = [
            ("learning_rate", self.learning_rate),
            ("optimizer.epsilon", self.optimizer.epsilon),
            ("max_gradient_norm", self.max_gradient_norm.unwrap_or(1.0)),
            ("loss.temperature", self.loss.temperature()),
            ("loss.scale", self.loss.scale().unwrap_or(1.0)),
        ];
        for (field, value) in above_zero {
            if !(value > 0.0 && value.is_finite()) {
                return invalid(field, "above 0", value.to_string());
            }
        }
        Ok(())
    }
}

impl Loss {
    /// Whether the loss is a distillation loss, over the documents of each query.
    pub(super) fn is_distillation(self) -> bool {
        matches!(self, Self::KlDivergence { .. } | Self::MarginMse)
    }

    /// Whether the loss compares candidates, so that it is constant if a query has only one.
    pub(super) fn is_contrastive(self) -> bool {
        !matches!(self, Self::Pointwise { .. })
    }

    /// Divisor of the scores; 1 for losses without a temperature.
    pub(super) fn temperature(self) -> f64 {
        match self {
            Self::Softmax { temperature }
            | Self::Symmetric { temperature }
            | Self::KlDivergence { temperature } => temperature,
            Self::Pointwise { .. } | Self::Margin { .. } | Self::MarginMse => 1.0,
        }
    }

    fn margin(self) -> Option<f64> {
        match self {
            Self::Margin { margin } => Some(margin),
            _ => None,
        }
    }

    fn scale(self) -> Option<f64> {
        match self {
            Self::Pointwise { scale } => scale,
            _ => None,
        }
    }
}
