//! Training of the cross-encoder of the type `rerank`.

#[cfg(feature = "dense")]
use ir_dense::train::CrossEncoderTrainingConfig as Config;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(feature = "dense")]
use super::bm25::expansion::encoder::training::training_error;
use super::bm25::expansion::encoder::training::{MiningEntry, TrainingPrecisionName, check_forms};
use crate::error::SystemError;

/// Training of the cross-encoder on the labeled queries of a split of the collection, by the
/// parameters of `ir train-reranker` and `ir mine`.
///
/// A cross-encoder is trained further; an encoder gets a new head. Queries and documents that
/// cannot be examples are left out with a note. During a selection on validation queries, these are
/// not among the examples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RerankerTrainingEntry {
    /// Split of the labeled queries, which must not be the test split. Default: `train`.
    pub split: String,
    /// Query forms: `text`, or query attributes such as `keyphrase_query`. Every query is an
    /// example in each form. Default: the task's.
    pub queries: Option<Vec<String>>,
    /// Hard negatives by BM25.
    pub mining: MiningEntry,
    /// Training loss. Default: `softmax`.
    pub loss: Option<RerankerLossName>,
    /// Number of passes over the training set. Range: ≥ 1. Default: 3.
    #[schemars(range(min = 1))]
    #[cfg_attr(feature = "dense", schemars(extend("default" = Config::default().epochs)))]
    pub epochs: Option<u64>,
    /// Number of queries per step. Range: ≥ 1. Default: 8.
    #[schemars(range(min = 1))]
    #[cfg_attr(feature = "dense", schemars(extend("default" = Config::default().batch_size)))]
    pub batch_size: Option<usize>,
    /// Number of hard negatives per query and step, of those that were mined. Default: 7.
    #[cfg_attr(feature = "dense", schemars(extend("default" = Config::default().hard_negatives)))]
    pub hard_negatives: Option<usize>,
    /// Number of documents of other queries per query and step. Default: 0.
    #[cfg_attr(feature = "dense", schemars(extend("default" = Config::default().in_batch_negatives)))]
    pub in_batch_negatives: Option<usize>,
    /// Number of pairs per forward pass, which bounds memory. Range: ≥ 1. Default: 32.
    #[schemars(range(min = 1))]
    #[cfg_attr(feature = "dense", schemars(extend("default" = Config::default().mini_batch_size)))]
    pub mini_batch_size: Option<usize>,
    /// Peak learning rate. Range: > 0. Default: 2e-5.
    #[schemars(extend("exclusiveMinimum" = 0))]
    #[cfg_attr(feature = "dense", schemars(extend("default" = Config::default().learning_rate)))]
    pub learning_rate: Option<f64>,
    /// Warm-up: fraction of the steps over which the learning rate rises linearly. Range: 0 to 1.
    /// Default: 0.1.
    #[schemars(range(min = 0.0, max = 1.0))]
    #[cfg_attr(feature = "dense", schemars(extend("default" = Config::default().schedule.warmup_ratio)))]
    pub warmup_ratio: Option<f64>,
    /// Dropout probability. Range: 0 ≤ p < 1. Default: 0.1.
    #[cfg_attr(feature = "dense", schemars(extend("default" = Config::default().dropout)))]
    pub dropout: Option<f64>,
    /// Number format of the factors of the linear layers' matrix products. Default: `f32`.
    pub precision: Option<TrainingPrecisionName>,
    /// Seed of a new head, example order, negative sampling and dropout. Default: 42.
    #[cfg_attr(feature = "dense", schemars(extend("default" = Config::default().seed)))]
    pub seed: Option<u64>,
    /// Maximum sequence length of query and document in tokens during training. Range: ≥ 1.
    /// Default: `max_tokens` of the system.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<usize>,
}

/// Training loss of a query and its documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RerankerLossName {
    /// Softmax cross-entropy of the positive among the documents of the query, temperature 1.
    Softmax,
    /// Softmax cross-entropy of 10 times the logistic function of the logits.
    MultipleNegatives,
    /// Binary cross-entropy of every pair of query and document.
    BinaryCrossEntropy,
    /// Logistic loss of the difference between positive and negative.
    RankNet,
}

impl Default for RerankerTrainingEntry {
    fn default() -> Self {
        Self {
            split: "train".to_owned(),
            queries: None,
            mining: MiningEntry::default(),
            loss: None,
            epochs: None,
            batch_size: None,
            hard_negatives: None,
            in_batch_negatives: None,
            mini_batch_size: None,
            learning_rate: None,
            warmup_ratio: None,
            dropout: None,
            precision: None,
            seed: None,
            max_tokens: None,
        }
    }
}

impl RerankerTrainingEntry {
    pub(crate) fn check(&self) -> Result<(), SystemError> {
        self.mining.check()?;
        check_forms("training.queries", self.queries.as_deref())?;
        #[cfg(feature = "dense")]
        self.config().validate().map_err(training_error)?;
        if self.needs_hard_negatives() && self.mining.hard == 0 && self.mining.random == 0 {
            let message = "expected hard or random negatives, or in_batch_negatives, which the \
                           loss compares with the positive; found neither";
            return Err(SystemError::parameter("training.mining", message));
        }
        Ok(())
    }

    /// Returns `true` if the loss compares a positive with hard negatives alone.
    pub(crate) fn needs_hard_negatives(&self) -> bool {
        let compares = self.loss != Some(RerankerLossName::BinaryCrossEntropy);
        compares && self.in_batch_negatives.unwrap_or(0) == 0
    }
}

#[cfg(feature = "dense")]
mod with_models {
    use ir_dense::train::CrossEncoderLoss;

    use super::{Config, RerankerLossName, RerankerTrainingEntry};
    use crate::entries::bm25::expansion::encoder::training::set;

    impl From<RerankerLossName> for CrossEncoderLoss {
        fn from(name: RerankerLossName) -> Self {
            match name {
                RerankerLossName::Softmax => Self::Softmax { temperature: 1.0 },
                RerankerLossName::MultipleNegatives => Self::MultipleNegatives { scale: 10.0 },
                RerankerLossName::BinaryCrossEntropy => Self::BinaryCrossEntropy {
                    positive_weight: 1.0,
                    soft_labels: false,
                },
                RerankerLossName::RankNet => Self::RankNet,
            }
        }
    }

    impl RerankerTrainingEntry {
        /// Hyperparameters, as `ir train-reranker` sets them from its options.
        pub(crate) fn config(&self) -> Config {
            let mut config = Config::default();
            set(&mut config.loss, self.loss.map(Into::into));
            set(&mut config.epochs, self.epochs);
            set(&mut config.batch_size, self.batch_size);
            set(&mut config.hard_negatives, self.hard_negatives);
            set(&mut config.in_batch_negatives, self.in_batch_negatives);
            set(&mut config.learning_rate, self.learning_rate);
            set(&mut config.schedule.warmup_ratio, self.warmup_ratio);
            set(&mut config.dropout, self.dropout);
            set(&mut config.precision, self.precision.map(Into::into));
            set(&mut config.seed, self.seed);
            config.mini_batch_size = self.mini_batch_size.or(config.mini_batch_size);
            config.cross_encoder.max_tokens = self.max_tokens;
            config
        }
    }
}
