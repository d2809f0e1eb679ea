//! Training of the model of the type `rerank`.

#[cfg(feature = "dense")]
use ir_dense::train::{
    CrossEncoderTrainingConfig as Config, Loss, MultiVectorTrainer, TrainingConfig,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TeacherEntry;
#[cfg(feature = "dense")]
use super::bm25::expansion::encoder::training::training_error;
use super::bm25::expansion::encoder::training::{
    DecayName, LossName, MiningEntry, TrainingEntry, TrainingPrecisionName, check_forms,
};
use crate::error::SystemError;

/// Training of the model on the labeled queries of a split of the collection, by the parameters of
/// `ir mine` and `ir train-reranker`, or `ir train --late-interaction`.
///
/// A cross-encoder or a late-interaction model is trained further; an encoder gets a new head, or a
/// new projection. Queries and documents that cannot be examples are left out with a note. During a
/// selection on validation queries, these are not among the examples.
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
    /// Teacher with the scores that `margin-mse` and `kl-divergence` learn. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teacher: Option<TeacherEntry>,
    /// Trains a late-interaction model (ColBERT) in place of a cross-encoder. All documents of the
    /// other queries of a step are negatives. Default: false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub late_interaction: bool,
    /// Dimension of the vectors of a new late-interaction model. Range: ≥ 1. Default: 128.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    #[cfg_attr(feature = "dense", schemars(extend("default" = MultiVectorTrainer::DIM)))]
    pub dim: Option<usize>,
    /// Training loss. Default: `softmax`.
    pub loss: Option<RerankerLossName>,
    /// Temperature: divisor of the scores, of the model and of the teacher, before the softmax, for
    /// `softmax`, `symmetric` and `kl-divergence`. Range: > 0. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    #[cfg_attr(feature = "dense", schemars(extend("default" = default_temperature())))]
    pub temperature: Option<f64>,
    /// Factor of the scores before the logistic function, which `pointwise` needs. Range: > 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub scale: Option<f64>,
    /// Number of passes over the training set. Range: ≥ 1. Default: 3; with `late_interaction` 5.
    #[schemars(range(min = 1))]
    pub epochs: Option<u64>,
    /// Number of queries per step. Range: ≥ 1. Default: 8; with `late_interaction` 32.
    #[schemars(range(min = 1))]
    pub batch_size: Option<usize>,
    /// Number of hard negatives per query and step, of those that were mined. Default: 7; with
    /// `late_interaction` 3.
    pub hard_negatives: Option<usize>,
    /// Number of documents of other queries per query and step of a cross-encoder. Default: 0.
    #[cfg_attr(feature = "dense", schemars(extend("default" = Config::default().in_batch_negatives)))]
    pub in_batch_negatives: Option<usize>,
    /// Number of pairs, or with `late_interaction` of texts, per forward pass, which bounds memory.
    /// Range: ≥ 1. Default: 32.
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
    /// Decay of the learning rate of a late-interaction model after the warm-up. Default: `linear`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decay: Option<DecayName>,
    /// Dropout probability. Range: 0 ≤ p < 1. Default: 0.1.
    #[cfg_attr(feature = "dense", schemars(extend("default" = Config::default().dropout)))]
    pub dropout: Option<f64>,
    /// Number format of the factors of the linear layers' matrix products. Default: `f32`.
    pub precision: Option<TrainingPrecisionName>,
    /// Seed of a new head or projection, example order, negative sampling and dropout. Default: 42.
    #[cfg_attr(feature = "dense", schemars(extend("default" = Config::default().seed)))]
    pub seed: Option<u64>,
    /// Maximum sequence length of query and document in tokens during the training of a
    /// cross-encoder. Range: ≥ 1. Default: `max_tokens` of the system.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<usize>,
    /// Maximum query length of a late-interaction model in tokens; a new model expands queries to
    /// this length by mask tokens. Range: ≥ 1. Default: from the model; 32 for a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub query_tokens: Option<usize>,
    /// Maximum document length of a late-interaction model in tokens during training. Range: ≥ 1.
    /// Default: `max_tokens` of the system, or from the model; 180 for a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub document_tokens: Option<usize>,
}

/// Temperature of a late-interaction model.
#[cfg(feature = "dense")]
fn default_temperature() -> Option<f64> {
    match TrainingConfig::late_interaction().loss {
        Loss::Softmax { temperature } => Some(temperature),
        _ => None,
    }
}

/// Training loss of a query and its documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RerankerLossName {
    /// Softmax cross-entropy of the positive among the documents of the query; with
    /// `late_interaction` among all documents of the batch.
    Softmax,
    /// Softmax cross-entropy of 10 times the logistic function of the logits.
    MultipleNegatives,
    /// Binary cross-entropy of every pair of query and document.
    BinaryCrossEntropy,
    /// Logistic loss of the difference between positive and negative.
    RankNet,
    /// With `late_interaction`: mean of the softmax cross-entropies from queries to documents and
    /// from positives to queries.
    Symmetric,
    /// With `late_interaction`: binary cross-entropy of every document of the batch.
    Pointwise,
    /// Squared error of the margins of a teacher between the positive and the hard negatives.
    MarginMse,
    /// KL divergence from the softmax of a teacher over the positive and the hard negatives.
    KlDivergence,
}

impl RerankerLossName {
    /// Returns `true` if the loss learns the scores of a teacher.
    const fn is_distillation(self) -> bool {
        matches!(self, Self::MarginMse | Self::KlDivergence)
    }

    /// Returns `true` if the loss divides the scores by a temperature.
    const fn has_temperature(self) -> bool {
        matches!(self, Self::Softmax | Self::Symmetric | Self::KlDivergence)
    }

    /// Loss that a late-interaction model shares with bi-encoders; `None` for distillation and for
    /// losses of cross-encoders alone.
    const fn late_interaction(self) -> Option<LossName> {
        match self {
            Self::Softmax => Some(LossName::Softmax),
            Self::Symmetric => Some(LossName::Symmetric),
            Self::Pointwise => Some(LossName::Pointwise),
            Self::MultipleNegatives
            | Self::BinaryCrossEntropy
            | Self::RankNet
            | Self::MarginMse
            | Self::KlDivergence => None,
        }
    }
}

impl Default for RerankerTrainingEntry {
    fn default() -> Self {
        Self {
            split: "train".to_owned(),
            queries: None,
            mining: MiningEntry::default(),
            teacher: None,
            late_interaction: false,
            dim: None,
            loss: None,
            temperature: None,
            scale: None,
            epochs: None,
            batch_size: None,
            hard_negatives: None,
            in_batch_negatives: None,
            mini_batch_size: None,
            learning_rate: None,
            warmup_ratio: None,
            decay: None,
            dropout: None,
            precision: None,
            seed: None,
            max_tokens: None,
            query_tokens: None,
            document_tokens: None,
        }
    }
}

impl RerankerTrainingEntry {
    pub(crate) fn check(&self) -> Result<(), SystemError> {
        self.mining.check()?;
        check_forms("training.queries", self.queries.as_deref())?;
        if self.late_interaction {
            self.check_late_interaction()?;
        } else {
            self.check_cross_encoder()?;
        }
        self.check_temperature()?;
        self.check_teacher()?;
        #[cfg(feature = "dense")]
        self.config().validate().map_err(training_error)?;
        if self.needs_hard_negatives() && self.mining.hard == 0 && self.mining.random == 0 {
            let message = "expected hard or random negatives, or in_batch_negatives, which the \
                           loss compares with the positive; found neither";
            return Err(SystemError::parameter("training.mining", message));
        }
        Ok(())
    }

    /// Loss that is given, or the default.
    fn loss(&self) -> RerankerLossName {
        self.loss.unwrap_or(RerankerLossName::Softmax)
    }

    /// Checks that the loss has a temperature if one is given.
    fn check_temperature(&self) -> Result<(), SystemError> {
        if self.temperature.is_none() || self.loss().has_temperature() {
            return Ok(());
        }
        let message = "expected loss = \"softmax\" or \"kl-divergence\", which has it";
        Err(SystemError::parameter("training.temperature", message))
    }

    /// Checks that there is a teacher for distillation, and for no other loss.
    fn check_teacher(&self) -> Result<(), SystemError> {
        match (&self.teacher, self.loss().is_distillation()) {
            (Some(teacher), true) => teacher.check(),
            (Some(_), false) => {
                let message = "expected loss = \"margin-mse\" or \"kl-divergence\", which learns \
                               its scores";
                Err(SystemError::parameter("training.teacher", message))
            }
            (None, true) => Err(SystemError::requires("training.loss", "training.teacher")),
            (None, false) => Ok(()),
        }
    }

    /// Checks that no key of a cross-encoder is given.
    fn check_late_interaction(&self) -> Result<(), SystemError> {
        for (key, is_given, reason) in [
            (
                "training.in_batch_negatives",
                self.in_batch_negatives.is_some(),
                "all documents of the other queries are negatives",
            ),
            (
                "training.max_tokens",
                self.max_tokens.is_some(),
                "query_tokens and document_tokens are the lengths",
            ),
        ] {
            if is_given {
                return Err(SystemError::conflict(
                    "training.late_interaction",
                    key,
                    reason,
                ));
            }
        }
        if !self.loss().is_distillation() && self.loss().late_interaction().is_none() {
            let expected = "\"softmax\", \"symmetric\", \"pointwise\", \"margin-mse\" or \
                            \"kl-divergence\" for a late-interaction model";
            return Err(self.other_loss(expected));
        }
        self.encoder_training().check_loss()
    }

    /// Checks that no key of a late-interaction model is given.
    fn check_cross_encoder(&self) -> Result<(), SystemError> {
        for (key, is_given) in [
            ("training.dim", self.dim.is_some()),
            ("training.scale", self.scale.is_some()),
            ("training.decay", self.decay.is_some()),
            ("training.query_tokens", self.query_tokens.is_some()),
            ("training.document_tokens", self.document_tokens.is_some()),
        ] {
            if is_given {
                let message = "expected late_interaction = true, which has it";
                return Err(SystemError::parameter(key, message));
            }
        }
        match self.loss {
            Some(RerankerLossName::Symmetric | RerankerLossName::Pointwise) => {
                let expected = "\"softmax\", \"multiple-negatives\", \"binary-cross-entropy\", \
                                \"rank-net\", \"margin-mse\" or \"kl-divergence\" for a \
                                cross-encoder";
                Err(self.other_loss(expected))
            }
            _ => Ok(()),
        }
    }

    /// Error of a loss of the other kind of models.
    fn other_loss(&self, expected: &str) -> SystemError {
        let found = serde_json::to_string(&self.loss).unwrap_or_default();
        SystemError::parameter(
            "training.loss",
            format!("expected {expected}, found {found}"),
        )
    }

    /// Keys of a late-interaction model as the training of an encoder.
    fn encoder_training(&self) -> TrainingEntry {
        TrainingEntry {
            epochs: self.epochs,
            batch_size: self.batch_size,
            hard_negatives: self.hard_negatives,
            mini_batch_size: self.mini_batch_size,
            learning_rate: self.learning_rate,
            warmup_ratio: self.warmup_ratio,
            decay: self.decay,
            loss: self.loss.and_then(RerankerLossName::late_interaction),
            temperature: self.temperature,
            scale: self.scale,
            dropout: self.dropout,
            precision: self.precision,
            seed: self.seed,
            query_tokens: self.query_tokens,
            document_tokens: self.document_tokens,
            ..TrainingEntry::default()
        }
    }

    /// Returns `true` if the loss compares a positive with hard negatives alone.
    pub(crate) fn needs_hard_negatives(&self) -> bool {
        let compares = self.loss() != RerankerLossName::BinaryCrossEntropy;
        let others = self.late_interaction || self.in_batch_negatives.unwrap_or(0) > 0;
        self.loss().is_distillation() || compares && !others
    }
}

#[cfg(feature = "dense")]
pub(crate) use with_models::RerankerTrainingConfig;

#[cfg(feature = "dense")]
mod with_models {
    use ir_dense::train::{CrossEncoderLoss, Loss, TrainError};
    use serde::Serialize;

    use super::{Config, RerankerLossName, RerankerTrainingEntry, TrainingConfig};
    use crate::entries::bm25::expansion::encoder::training::set;

    /// Hyperparameters of the training of a reranker.
    #[derive(Debug, Clone, Serialize)]
    #[serde(untagged)]
    pub(crate) enum RerankerTrainingConfig {
        /// Model that reads query and document together.
        CrossEncoder(Config),
        /// Late-interaction model, with the dimension of the vectors if it is new.
        LateInteraction(TrainingConfig, Option<usize>),
    }

    impl RerankerTrainingConfig {
        /// Checks that every value is in its range.
        pub(crate) fn validate(&self) -> Result<(), TrainError> {
            match self {
                Self::CrossEncoder(config) => config.validate(),
                Self::LateInteraction(config, _) => config.validate_late_interaction(),
            }
        }

        /// Maximum length of the document, or of query and document together.
        pub(crate) const fn max_tokens_mut(&mut self) -> &mut Option<usize> {
            match self {
                Self::CrossEncoder(config) => &mut config.cross_encoder.max_tokens,
                Self::LateInteraction(config, _) => &mut config.encoder.document.max_tokens,
            }
        }

        /// Number of steps for a number of examples.
        pub(crate) fn steps(&self, examples: usize) -> u64 {
            match self {
                Self::CrossEncoder(config) => config.steps(examples),
                Self::LateInteraction(config, _) => config.steps(examples),
            }
        }

        /// Describes a training on a split, for plans and progress.
        pub(crate) fn describe(&self, split: &str) -> String {
            let (model, epochs, learning_rate) = match self {
                Self::CrossEncoder(config) => {
                    ("cross-encoder", config.epochs, config.learning_rate)
                }
                Self::LateInteraction(config, _) => (
                    "late-interaction model",
                    config.epochs,
                    config.learning_rate,
                ),
            };
            format!(
                "trained as a {model} on split {split}, epochs {epochs}, learning rate \
                 {learning_rate:e}"
            )
        }
    }

    impl RerankerLossName {
        /// Loss of a cross-encoder; `None` for losses of late-interaction models alone.
        const fn cross_encoder(self, temperature: f64) -> Option<CrossEncoderLoss> {
            match self {
                Self::Softmax => Some(CrossEncoderLoss::Softmax { temperature }),
                Self::MarginMse => Some(CrossEncoderLoss::MarginMse),
                Self::KlDivergence => Some(CrossEncoderLoss::KlDivergence { temperature }),
                Self::MultipleNegatives => {
                    Some(CrossEncoderLoss::MultipleNegatives { scale: 10.0 })
                }
                Self::BinaryCrossEntropy => Some(CrossEncoderLoss::BinaryCrossEntropy {
                    positive_weight: 1.0,
                    soft_labels: false,
                }),
                Self::RankNet => Some(CrossEncoderLoss::RankNet),
                Self::Symmetric | Self::Pointwise => None,
            }
        }
    }

    impl RerankerTrainingEntry {
        /// Hyperparameters, as `ir train-reranker` or `ir train --late-interaction` sets them from
        /// its options.
        pub(crate) fn config(&self) -> RerankerTrainingConfig {
            let temperature = self.temperature.unwrap_or(1.0);
            if self.late_interaction {
                let default = TrainingConfig::late_interaction();
                let mut config = self.encoder_training().config_over(default);
                match self.loss() {
                    RerankerLossName::MarginMse => config.loss = Loss::MarginMse,
                    RerankerLossName::KlDivergence => {
                        config.loss = Loss::KlDivergence { temperature };
                    }
                    _ => {}
                }
                return RerankerTrainingConfig::LateInteraction(config, self.dim);
            }
            let mut config = Config::default();
            set(&mut config.loss, self.loss().cross_encoder(temperature));
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
            RerankerTrainingConfig::CrossEncoder(config)
        }
    }
}
