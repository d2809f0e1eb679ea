//! How a bi-encoder is trained, as plain values.

use serde::{Deserialize, Serialize};

use super::TrainError;
use crate::{EncoderConfig, Pooling, SideConfig, Similarity};

/// Everything that decides what training gives, beside the model and the data.
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
    /// Pooling, prefixes, length limits, backend.
    pub encoder: EncoderConfig,
    /// How often every example is seen.
    pub epochs: u64,
    /// Queries of a step.
    pub batch: usize,
    /// Negatives of its own that every query brings. One with fewer brings some twice; one with
    /// none brings none. At most 65,536.
    pub negatives: usize,
    /// Texts that are encoded at once; `None`: all of a step. Bounds memory, whatever the batch;
    /// results differ in the last bits only, costs another forward pass (GradCache).
    pub block: Option<usize>,
    /// Whether a last batch of fewer queries is left out, unless it is the only one.
    pub drop_last: bool,
    /// What is made small.
    pub loss: Loss,
    /// What the score of a query and a document is; the encoder that comes out says so, and so
    /// does its folder.
    pub similarity: Similarity,
    /// Whether a document of another query is no negative when it is known to answer this one: it
    /// has the id or the text of one of its positives.
    pub skip_known_positives: bool,
    /// The share of elements that is dropped, as BERT drops them; 0: none.
    pub dropout: f64,
    /// The highest learning rate.
    pub learning_rate: f64,
    /// How the learning rate changes.
    pub schedule: Schedule,
    /// How weights follow gradients.
    pub optimizer: AdamW,
    /// The longest gradient, all weights together; a longer one is shortened. `None`: no limit.
    pub clip: Option<f64>,
    /// Decides the order of examples, which of their texts are taken, and what is dropped.
    pub seed: u64,
    /// Steps between evaluations; `None`: one after every epoch. Before the first and after the
    /// last step there is always one.
    pub evaluate_every: Option<u64>,
    /// Evaluations without a new best after which training stops; `None`: it goes on.
    pub patience: Option<u64>,
}

/// More would not fit into any memory as texts.
const MOST_NEGATIVES: usize = 1 << 16;

/// What training makes small; the functions are in [`super::loss`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Loss {
    /// [`super::loss::softmax`] over all documents of the batch.
    Softmax {
        /// By which scores are divided first; 1 changes nothing.
        temperature: f64,
    },
    /// [`super::loss::symmetric`] over all documents of the batch.
    Symmetric {
        /// By which scores are divided first.
        temperature: f64,
    },
    /// [`super::loss::pointwise`] over all documents of the batch.
    Pointwise {
        /// `None`: scores are cosines, (1 + s)/2 is the probability. Otherwise it is the logistic
        /// function of scores times this.
        scale: Option<f64>,
    },
    /// [`super::loss::margin`] over all documents of the batch.
    Margin {
        /// The margin.
        margin: f64,
    },
    /// [`super::loss::kl_divergence`] over the documents of each query, which need a teacher's
    /// scores.
    KlDivergence {
        /// By which both models' scores are divided first.
        temperature: f64,
    },
    /// [`super::loss::margin_mse`] over the documents of each query, which need a teacher's scores.
    MarginMse,
}

/// How the learning rate changes over the steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The share of steps over which the rate rises from 0, in a line; rounded up.
    pub warmup: f64,
    /// What comes then.
    pub decay: Decay,
}

/// What the learning rate does once it is at its highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decay {
    /// Falls to 0 in a line.
    Linear,
    /// Stays.
    Constant,
}

impl Schedule {
    /// The learning rate's share of its highest at a step from 0 of `total`, as `transformers`
    /// counts: the very first step, with a rate of 0, changes nothing when there is a warm-up.
    ///
    /// ```
    /// use ir_dense::train::TrainingConfig;
    /// // 318 of the paper's 3,180 steps are warm-up.
    /// let schedule = TrainingConfig::datafinder().schedule;
    /// assert_eq!(schedule.share(0, 3180), 0.0);
    /// assert_eq!(schedule.share(159, 3180), 0.5);
    /// assert_eq!(schedule.share(318, 3180), 1.0);
    /// assert_eq!(schedule.share(1749, 3180), 0.5);
    /// ```
    pub fn share(&self, step: u64, total: u64) -> f64 {
        let warmup = (self.warmup * total as f64).ceil();
        let step = step as f64;
        if step < warmup {
            return step / warmup;
        }
        match self.decay {
            Decay::Constant => 1.0,
            Decay::Linear => ((total as f64 - step) / (total as f64 - warmup).max(1.0)).max(0.0),
        }
    }
}

/// Adam with weight decay apart from the gradient. Biases and layer normalisation do not decay, as
/// is usual.
///
/// # Source
/// Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamW {
    /// How slowly the mean of gradients changes.
    pub beta_1: f64,
    /// How slowly the mean of their squares changes.
    pub beta_2: f64,
    /// Added to the root of that mean.
    pub epsilon: f64,
    /// The share of a weight that goes at every step, times the learning rate.
    pub weight_decay: f64,
}

impl Default for AdamW {
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
    /// The recipe of the DataFinder paper: 11 queries with one positive and seven negatives each,
    /// all 88 documents as candidates, inner products of first tokens' vectors without temperature,
    /// queries of 32 and documents of 128 tokens, two epochs of AdamW at 5e-6 with a warm-up of
    /// 10 %, linear decay and gradients of at most 1. For some ten thousand queries, starting from
    /// SciBERT.
    ///
    /// # Source
    /// Viswanathan et al., "DataFinder: Scientific Dataset Recommendation from Natural Language
    /// Descriptions", ACL 2023, and its training script; dropout is SciBERT's own.
    pub fn datafinder() -> Self {
        let side = |limit| SideConfig::default().with_max_tokens(limit);
        Self {
            encoder: EncoderConfig::default()
                .with_pooling(Pooling::Cls)
                .with_normalize(false)
                .with_query(side(32))
                .with_document(side(128)),
            epochs: 2,
            batch: 11,
            negatives: 7,
            block: None,
            drop_last: true,
            loss: Loss::Softmax { temperature: 1.0 },
            similarity: Similarity::Dot,
            skip_known_positives: false,
            dropout: 0.1,
            learning_rate: 5e-6,
            schedule: Schedule {
                warmup: 0.1,
                decay: Decay::Linear,
            },
            optimizer: AdamW::default(),
            clip: Some(1.0),
            seed: 42,
            evaluate_every: None,
            patience: None,
        }
    }

    /// For some hundreds of queries, starting from a model that embeds sentences already: pooling
    /// and limits as the model has them, cosines at a temperature of .05, documents that answer a
    /// query are never its negatives, and an end when the measure no longer rises.
    pub fn small_data() -> Self {
        Self {
            encoder: EncoderConfig::default(),
            epochs: 5,
            batch: 32,
            negatives: 3,
            block: None,
            drop_last: false,
            loss: Loss::Softmax { temperature: 0.05 },
            similarity: Similarity::Cosine,
            skip_known_positives: true,
            dropout: 0.1,
            learning_rate: 2e-5,
            schedule: Schedule {
                warmup: 0.1,
                decay: Decay::Linear,
            },
            optimizer: AdamW {
                weight_decay: 0.01,
                ..AdamW::default()
            },
            clip: Some(1.0),
            seed: 42,
            evaluate_every: None,
            patience: Some(2),
        }
    }

    /// Steps over all epochs for so many examples.
    pub fn steps(&self, examples: usize) -> u64 {
        self.epochs.saturating_mul(self.steps_per_epoch(examples))
    }

    pub(super) fn steps_per_epoch(&self, examples: usize) -> u64 {
        let steps = match self.drop_last {
            true => (examples / self.batch).max(usize::from(examples > 0)),
            false => examples.div_ceil(self.batch),
        };
        steps as u64
    }

    /// That the values make sense.
    pub(super) fn check(&self) -> Result<(), TrainError> {
        let wrong = |field: &'static str, expected: &'static str, found: String| {
            Err(TrainError::Setting {
                field,
                expected,
                found,
            })
        };
        let positive = [
            ("epochs", self.epochs),
            ("batch", self.batch as u64),
            ("block", self.block.map_or(1, |block| block as u64)),
            ("evaluate_every", self.evaluate_every.unwrap_or(1)),
            ("patience", self.patience.unwrap_or(1)),
        ];
        for (field, value) in positive {
            if value == 0 {
                return wrong(field, "1 or more", value.to_string());
            }
        }
        if self.negatives > MOST_NEGATIVES {
            return wrong("negatives", "65536 or fewer", self.negatives.to_string());
        }
        if self.loss.distils() && self.negatives == 0 {
            return wrong(
                "negatives",
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
                return wrong(field, "at least 0 and below 1", value.to_string());
            }
        }
        if !(0.0..=1.0).contains(&self.schedule.warmup) {
            let found = self.schedule.warmup.to_string();
            return wrong("schedule.warmup", "between 0 and 1", found);
        }
        let not_negative = [
            ("optimizer.weight_decay", self.optimizer.weight_decay),
            ("loss.margin", self.loss.margin().unwrap_or(0.0)),
        ];
        for (field, value) in not_negative {
            if !(value >= 0.0 && value.is_finite()) {
                return wrong(field, "at least 0", value.to_string());
            }
        }
        let above_zero = [
            ("learning_rate", self.learning_rate),
            ("optimizer.epsilon", self.optimizer.epsilon),
            ("clip", self.clip.unwrap_or(1.0)),
            ("loss.temperature", self.loss.temperature()),
            ("loss.scale", self.loss.scale().unwrap_or(1.0)),
        ];
        for (field, value) in above_zero {
            if !(value > 0.0 && value.is_finite()) {
                return wrong(field, "above 0", value.to_string());
            }
        }
        Ok(())
    }
}

impl Loss {
    /// Whether it learns from a teacher, over the documents of each query.
    pub(super) fn distils(self) -> bool {
        matches!(self, Self::KlDivergence { .. } | Self::MarginMse)
    }

    /// Whether it is 0 whatever the model says when a query has its answer alone.
    pub(super) fn compares(self) -> bool {
        !matches!(self, Self::Pointwise { .. })
    }

    /// By which scores are divided.
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
