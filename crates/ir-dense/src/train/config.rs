//! Hyperparameters of a training run.

use std::ops::Bound::{self, Excluded, Included};
use std::ops::RangeBounds;

use ir_core::VectorSimilarity;
use serde::{Deserialize, Serialize};

use super::TrainError;
use super::sampler::Sampling;
use super::sparsity::SparsityConfig;
use crate::backend::Backend;
use crate::encode::{EncoderConfig, Pooling, SideConfig};
use crate::model_folder::TransformerConfig;
use crate::precision::Precision;

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
    pub batch_size: usize,
    /// Number of hard negatives per query. If an example has fewer, some repeat; if it has none,
    /// the query has in-batch negatives only. Range: 0..=65,536. Default: 3.
    pub hard_negatives: usize,
    /// Number of texts per forward pass (GradCache). Bounds memory for any `batch_size`, at the
    /// cost of a second forward pass; results differ in the last bits only. `None`: all texts of a
    /// step at once. Range: ≥ 1. Default: `None`.
    pub mini_batch_size: Option<usize>,
    /// If `true`, the last, incomplete batch of an epoch is dropped, unless it is the only one.
    /// Default: false.
    pub drop_last: bool,
    /// Training loss. Default: softmax cross-entropy with temperature 0.05.
    pub loss: Loss,
    /// Similarity function of the scores, which the trained model stores. Range: cosine or inner
    /// product (`dot` in JSON). Default: cosine.
    #[serde(with = "crate::similarity")]
    pub similarity: VectorSimilarity,
    /// Sparsity regularization of a learned sparse encoder. Range: `None` for other models.
    /// Default: `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sparsity: Option<SparsityConfig>,
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
    /// Number format of the factors of the matrix products of linear layers, in the forward and the
    /// backward pass. Sums, attention, weights, gradients and the optimizer are f32 in both.
    /// [`Precision::Bf16`] needs the backend [`Backend::Cpu`]; it is faster than f32 on CPUs with
    /// `avx512_bf16`, and slower, with the same bits, on others. Range: f32, or bf16 for models
    /// with BERT's layers. Default: f32.
    #[serde(skip_serializing_if = "Precision::is_f32")]
    pub precision: Precision,
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

/// Functions of the hyperparameters of a model with the configuration `$model`.
macro_rules! run_functions {
    ($model:ident) => {
        /// Number of steps over all epochs for a number of examples.
        pub fn steps(&self, examples: usize) -> u64 {
            self.epochs.saturating_mul(self.steps_per_epoch(examples))
        }

        pub(super) fn steps_per_epoch(&self, examples: usize) -> u64 {
            Sampling::from(self).steps_per_epoch(examples)
        }

        pub(super) fn run_settings(&self) -> RunSettings<'_> {
            RunSettings {
                backend: self.$model.backend,
                epochs: self.epochs,
                batch_size: self.batch_size,
                mini_batch_size: self.mini_batch_size,
                dropout: self.dropout,
                learning_rate: self.learning_rate,
                schedule: self.schedule,
                optimizer: &self.optimizer,
                max_gradient_norm: self.max_gradient_norm,
                precision: self.precision,
                evaluate_every: self.evaluate_every,
                patience: self.patience,
            }
        }
    };
}

pub(super) use run_functions;

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
            drop_last: true,
            loss: Loss::Softmax { temperature: 1.0 },
            similarity: VectorSimilarity::InnerProduct,
            skip_known_positives: false,
            learning_rate: 5e-6,
            optimizer: AdamWConfig::default(),
            patience: None,
            ..Self::small_data()
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
            similarity: VectorSimilarity::Cosine,
            sparsity: None,
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
            precision: Precision::F32,
            seed: 42,
            evaluate_every: None,
            patience: Some(2),
        }
    }

    /// Configuration of late interaction ([`MultiVectorTrainer`](super::MultiVectorTrainer)):
    /// [`TrainingConfig::small_data`] with temperature 1, since MaxSim is a sum over the tokens of
    /// a query, and mini-batches of 32 texts.
    pub fn late_interaction() -> Self {
        Self {
            mini_batch_size: Some(32),
            loss: Loss::Softmax { temperature: 1.0 },
            ..Self::small_data()
        }
    }

    /// Configuration of a learned sparse encoder
    /// ([`SparseEncoderTrainer`](super::SparseEncoderTrainer)): [`TrainingConfig::small_data`] with
    /// inner products of temperature 1, the default penalties of [`SparsityConfig`], and
    /// mini-batches of 32 texts.
    pub fn sparse_encoder() -> Self {
        Self {
            similarity: VectorSimilarity::InnerProduct,
            sparsity: Some(SparsityConfig::default()),
            ..Self::late_interaction()
        }
    }

    run_functions!(encoder);

    /// Checks that every value is in its range.
    ///
    /// # Errors
    /// [`TrainError::Setting`] names the first value that is not.
    pub fn validate(&self) -> Result<(), TrainError> {
        self.run_settings().validate()?;
        let needed = if self.loss.is_distillation() {
            NEEDED
        } else {
            LIMITED
        };
        let margin = match self.loss {
            Loss::Margin { margin } => margin,
            _ => 0.0,
        };
        let scale = match self.loss {
            Loss::Pointwise { scale: Some(scale) } => scale,
            _ => 1.0,
        };
        let negatives = self.hard_negatives as f64;
        check_ranges(&[
            ("hard_negatives", negatives, LIMITED),
            ("hard_negatives", negatives, needed),
            ("loss.margin", margin, NOT_NEGATIVE),
            ("loss.temperature", self.loss.temperature(), POSITIVE),
            ("loss.scale", scale, POSITIVE),
        ])?;
        if let Some(sparsity) = &self.sparsity {
            let [query, document] = [sparsity.query, sparsity.document].map(|it| it.weight);
            check_ranges(&[
                ("sparsity.query.weight", query, NOT_NEGATIVE),
                ("sparsity.document.weight", document, NOT_NEGATIVE),
                ("sparsity.warmup_ratio", sparsity.warmup_ratio, FRACTION),
            ])?;
        }
        if self.similarity == VectorSimilarity::Euclidean {
            return Err(TrainError::Setting {
                field: "similarity",
                expected: "cosine or dot",
                found: "euclidean".into(),
            });
        }
        if self.encoder.precision != Precision::F32 {
            return Err(TrainError::Setting {
                field: "encoder.precision",
                expected: "f32 (the trained encoder can be opened with another precision)",
                found: self.encoder.precision.to_string(),
            });
        }
        Ok(())
    }
}

impl TrainingConfig {
    /// Checks that there is nothing that only applies to a pooled vector per text. `expected` are
    /// the messages for `truncate_dim`, `pooling`, `normalize` and a loss of cosines.
    pub(super) fn check_unpooled(&self, expected: [&'static str; 4]) -> Result<(), TrainError> {
        let encoder = &self.encoder;
        let fields = [
            (
                "encoder.truncate_dim",
                encoder.truncate_dim.map(|it| it.to_string()),
            ),
            ("encoder.pooling", encoder.pooling.map(|it| it.to_string())),
            (
                "encoder.normalize",
                encoder.normalize.map(|it| it.to_string()),
            ),
            (
                "loss.scale",
                matches!(self.loss, Loss::Pointwise { scale: None }).then(|| "null".to_owned()),
            ),
        ];
        let mut given = fields.into_iter().zip(expected);
        match given.find_map(|((field, found), expected)| Some((field, expected, found?))) {
            None => Ok(()),
            Some((field, expected, found)) => Err(TrainError::Setting {
                field,
                expected,
                found,
            }),
        }
    }

    /// Checks that there is no regularization of a learned sparse encoder.
    pub(super) fn check_dense(&self) -> Result<(), TrainError> {
        match self.sparsity {
            None => Ok(()),
            Some(_) => Err(TrainError::Setting {
                field: "sparsity",
                expected: "none: sparsity regularization is for a sparse encoder",
                found: "penalties".to_owned(),
            }),
        }
    }
}

/// Hyperparameters that the training of every kind of model has.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunSettings<'a> {
    pub(super) backend: Backend,
    pub(super) epochs: u64,
    pub(super) batch_size: usize,
    pub(super) mini_batch_size: Option<usize>,
    pub(super) dropout: f64,
    pub(super) learning_rate: f64,
    pub(super) schedule: LearningRateSchedule,
    pub(super) optimizer: &'a AdamWConfig,
    pub(super) max_gradient_norm: Option<f64>,
    pub(super) precision: Precision,
    pub(super) evaluate_every: Option<u64>,
    pub(super) patience: Option<u64>,
}

impl RunSettings<'_> {
    /// Checks that every value is in its range.
    pub(super) fn validate(&self) -> Result<(), TrainError> {
        let count = |value: Option<u64>| value.unwrap_or(1) as f64;
        let mini_batch = self.mini_batch_size.map(|size| size as u64);
        let (adam, warmup) = (self.optimizer, self.schedule.warmup_ratio);
        let max_norm = self.max_gradient_norm.unwrap_or(1.0);
        check_ranges(&[
            ("epochs", self.epochs as f64, AT_LEAST_ONE),
            ("batch_size", self.batch_size as f64, AT_LEAST_ONE),
            ("mini_batch_size", count(mini_batch), AT_LEAST_ONE),
            ("evaluate_every", count(self.evaluate_every), AT_LEAST_ONE),
            ("patience", count(self.patience), AT_LEAST_ONE),
            ("dropout", self.dropout, BELOW_ONE),
            ("optimizer.beta_1", adam.beta_1, BELOW_ONE),
            ("optimizer.beta_2", adam.beta_2, BELOW_ONE),
            ("schedule.warmup_ratio", warmup, FRACTION),
            ("optimizer.weight_decay", adam.weight_decay, NOT_NEGATIVE),
            ("learning_rate", self.learning_rate, POSITIVE),
            ("optimizer.epsilon", adam.epsilon, POSITIVE),
            ("max_gradient_norm", max_norm, POSITIVE),
        ])?;
        let expected = match (self.precision, self.backend) {
            (Precision::F32, _) | (Precision::Bf16, Backend::Cpu) => return Ok(()),
            (Precision::Bf16, _) => "f32, or the backend cpu",
            (Precision::Int8, _) => "f32 or bf16",
        };
        Err(TrainError::Setting {
            field: "precision",
            expected,
            found: self.precision.to_string(),
        })
    }
}

/// Description and bounds of a range.
pub(super) type Range = (&'static str, (Bound<f64>, Bound<f64>));

const AT_LEAST_ONE: Range = ("1 or more", (Included(1.0), Included(f64::MAX)));
const NOT_NEGATIVE: Range = ("at least 0", (Included(0.0), Included(f64::MAX)));
const BELOW_ONE: Range = ("at least 0 and below 1", (Included(0.0), Excluded(1.0)));
const FRACTION: Range = ("between 0 and 1", (Included(0.0), Included(1.0)));
pub(super) const POSITIVE: Range = ("above 0", (Excluded(0.0), Included(f64::MAX)));
/// Range of numbers of negatives.
pub(super) const LIMITED: Range = ("65536 or fewer", (Included(0.0), Included(65_536.0)));
/// Range of numbers of negatives that have the scores of a teacher.
pub(super) const NEEDED: Range = ("1 or more, which distillation needs", AT_LEAST_ONE.1);

/// Returns an error with the first of some fields that is out of range.
pub(super) fn check_ranges(values: &[(&'static str, f64, Range)]) -> Result<(), TrainError> {
    let mut values = values.iter();
    match values.find(|(_, value, (_, range))| !range.contains(value)) {
        None => Ok(()),
        Some(&(field, value, (expected, _))) => Err(TrainError::Setting {
            field,
            expected,
            found: value.to_string(),
        }),
    }
}

impl From<&TrainingConfig> for Sampling {
    fn from(config: &TrainingConfig) -> Self {
        let is_distillation = config.loss.is_distillation();
        Self {
            seed: config.seed,
            batch_size: config.batch_size,
            drop_last: config.drop_last,
            hard_negatives: config.hard_negatives,
            repeats_negatives: true,
            needs_scores: is_distillation,
            needs_negatives: is_distillation,
            skip_known_positives: config.skip_known_positives,
        }
    }
}

/// Returns an error if the layers of a model have no kernels for training in a precision.
pub(super) fn check_precision(
    precision: Precision,
    model: &TransformerConfig,
) -> Result<(), TrainError> {
    if precision == Precision::F32 || model.layer.is_bert() {
        return Ok(());
    }
    Err(TrainError::Setting {
        field: "precision",
        expected: "f32, as the layers of the model differ from BERT's",
        found: precision.to_string(),
    })
}

impl Loss {
    /// Returns `true` for distillation losses, over the documents of each query.
    pub(super) fn is_distillation(self) -> bool {
        matches!(self, Self::KlDivergence { .. } | Self::MarginMse)
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
}
