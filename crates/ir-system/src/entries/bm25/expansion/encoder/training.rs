//! Random models and training of encoders, as tables of an experiment file.

#[cfg(feature = "dense")]
use ir_dense::{
    RandomModel,
    train::{SparsityConfig, TrainingConfig},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entries::bm25::Bm25System;
use crate::error::SystemError;

/// Randomly initialized BERT with a WordPiece vocabulary trained on the documents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RandomEntry {
    /// Maximum vocabulary size. Range: ≥ 1. Default: 30,000.
    #[schemars(range(min = 1))]
    #[cfg_attr(feature = "dense", schemars(extend("default" = RandomModel::default().vocab_size)))]
    pub vocab_size: Option<usize>,
    /// Dimension of token and text vectors; the inner dimension is four times as large. Range: ≥ 1.
    /// Default: 128.
    #[schemars(range(min = 1))]
    #[cfg_attr(feature = "dense", schemars(extend("default" = RandomModel::default().hidden_size)))]
    pub hidden_size: Option<usize>,
    /// Number of layers. Default: 2.
    #[cfg_attr(feature = "dense", schemars(extend("default" = RandomModel::default().layers)))]
    pub layers: Option<usize>,
    /// Number of attention heads; divides `hidden_size`. Range: ≥ 1. Default: 2.
    #[schemars(range(min = 1))]
    #[cfg_attr(feature = "dense", schemars(extend("default" = RandomModel::default().heads)))]
    pub heads: Option<usize>,
    /// Seed of the weights. Default: 42.
    #[cfg_attr(feature = "dense", schemars(extend("default" = RandomModel::default().seed)))]
    pub seed: Option<u64>,
    /// Split with queries for the training of the vocabulary. Default: documents alone.
    pub split: Option<String>,
    /// Query forms of the split, as in `training`. Default: the task's.
    pub queries: Option<Vec<String>>,
}

/// Fine-tuning on the labeled queries of a split of the collection, by the parameters of `ir train`
/// and `ir mine`.
///
/// Queries and documents that cannot be examples are left out with a note. During a selection on
/// validation queries, these are not among the examples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingEntry {
    /// Split of the labeled queries, which must not be the test split. Default: `train`.
    pub split: String,
    /// Query forms: `text`, or query attributes such as `keyphrase_query`. Every query is an
    /// example in each form. Default: the task's.
    pub queries: Option<Vec<String>>,
    /// Adds an example for every document with a title: the title as query, the text as positive.
    /// Default: false.
    pub titles: bool,
    /// Hard negatives by BM25.
    pub mining: MiningEntry,
    /// Training configuration that the other keys override. Default: `small-data`.
    pub preset: TrainingPreset,
    /// Number of passes over the training set. Range: ≥ 1.
    #[schemars(range(min = 1))]
    pub epochs: Option<u64>,
    /// Number of queries per step. Range: ≥ 1.
    #[schemars(range(min = 1))]
    pub batch_size: Option<usize>,
    /// Number of hard negatives per query and step, of those that were mined.
    pub hard_negatives: Option<usize>,
    /// Number of texts per forward pass (GradCache), which bounds memory. Range: ≥ 1. Default: all
    /// texts of a step.
    #[schemars(range(min = 1))]
    pub mini_batch_size: Option<usize>,
    /// Peak learning rate. Range: > 0.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub learning_rate: Option<f64>,
    /// Warm-up: fraction of the steps over which the learning rate rises linearly. Range: 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub warmup_ratio: Option<f64>,
    /// Decay of the learning rate after the warm-up.
    pub decay: Option<DecayName>,
    /// Training loss. Default: `softmax`.
    pub loss: Option<LossName>,
    /// Temperature: divisor of the logits before the softmax, for `softmax` and `symmetric`. Range:
    /// > 0.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub temperature: Option<f64>,
    /// Factor of the cosines before the logistic function, for `pointwise`. Default: none; the
    /// probability of a cosine s is (1 + s)/2. Range: > 0.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub scale: Option<f64>,
    /// Dropout probability. Range: 0 ≤ p < 1.
    pub dropout: Option<f64>,
    /// Number format of the factors of the linear layers' matrix products. Default: `f32`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<TrainingPrecisionName>,
    /// Seed of example order, negative sampling and dropout. Default: 42.
    #[cfg_attr(feature = "dense", schemars(extend("default" = TrainingConfig::small_data().seed)))]
    pub seed: Option<u64>,
    /// Maximum query length in tokens during training. Range: ≥ 1.
    #[schemars(range(min = 1))]
    pub query_tokens: Option<usize>,
    /// Maximum document length in tokens during training. Range: ≥ 1.
    #[schemars(range(min = 1))]
    pub document_tokens: Option<usize>,
    /// Trains a learned sparse encoder (SPLADE), which the type `sparse` searches, by inner
    /// products with temperature 1, mini-batches of 32 texts, and penalties of the weights.
    /// Default: false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sparse: bool,
    /// Penalty of the weights of a sparse encoder, which makes them sparse. Default: `flops`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penalty: Option<PenaltyName>,
    /// Factor of the penalty of queries. Range: ≥ 0. Default: 5e-5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    #[cfg_attr(feature = "dense", schemars(extend("default" = SparsityConfig::default().query.weight)))]
    pub query_penalty: Option<f64>,
    /// Factor of the penalty of documents. Range: ≥ 0. Default: 3e-5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    #[cfg_attr(feature = "dense", schemars(extend("default" = SparsityConfig::default().document.weight)))]
    pub document_penalty: Option<f64>,
    /// Fraction of the steps over which the factors of the penalties rise quadratically. Range: 0
    /// to 1. Default: 1/3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub penalty_warmup: Option<f64>,
}

/// Hard-negative mining: documents that BM25 ranks high and that are not positives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MiningEntry {
    /// Maximum number of hard negatives per query. Default: 7.
    pub hard: usize,
    /// Number of additional random negatives per query. Default: 0.
    pub random: usize,
    /// First rank of the candidates, counting positives. Range: ≥ 1. Default: 1.
    #[schemars(range(min = 1))]
    pub first_rank: usize,
    /// Last rank of the candidates. Range: ≥ `first_rank`. Default: 500.
    pub last_rank: usize,
    /// Seed of the random negatives. Default: 0.
    pub seed: u64,
    /// Parameters of BM25: the keys of the type `bm25`.
    pub bm25: Bm25System,
}

/// Training configuration by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrainingPreset {
    /// For some hundreds of queries and a sentence encoder: 5 epochs, batches of 32 queries with 3
    /// hard negatives each, learning rate 2e-5, cosine with temperature 0.05, dropout 0.1.
    #[default]
    SmallData,
    /// The DataFinder paper's, for SciBERT: 2 epochs, batches of 11 queries with 7 hard negatives
    /// each, learning rate 5e-6, inner product, lengths 32 and 128.
    Datafinder,
}

/// Number format of the factors of matrix products in training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrainingPrecisionName {
    /// Single precision, IEEE 754 binary32.
    F32,
    /// bfloat16, with sums, weights and optimizer in f32.
    Bf16,
}

/// Training loss of a query and the documents of its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossName {
    /// Softmax cross-entropy of the positive among all documents of the batch.
    Softmax,
    /// Mean of the softmax cross-entropies from queries to documents and from positives to queries.
    Symmetric,
    /// Binary cross-entropy of every document of the batch: equation (1) of "Talk to Papers" (Zhao
    /// and Lee, ACL 2020).
    Pointwise,
}

/// Penalty of the weights of a learned sparse encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PenaltyName {
    /// Sum over the vocabulary of the squared mean weight in a batch (Paria et al., ICLR 2020).
    Flops,
    /// Mean over a batch of the sum of weights.
    L1,
}

/// Decay of the learning rate after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DecayName {
    /// Linear decay to 0.
    Linear,
    /// The learning rate stays at its peak.
    Constant,
}

impl Default for TrainingEntry {
    fn default() -> Self {
        Self {
            split: "train".to_owned(),
            queries: None,
            titles: false,
            mining: MiningEntry::default(),
            preset: TrainingPreset::default(),
            epochs: None,
            batch_size: None,
            hard_negatives: None,
            mini_batch_size: None,
            learning_rate: None,
            warmup_ratio: None,
            decay: None,
            loss: None,
            temperature: None,
            scale: None,
            dropout: None,
            precision: None,
            seed: None,
            query_tokens: None,
            document_tokens: None,
            sparse: false,
            penalty: None,
            query_penalty: None,
            document_penalty: None,
            penalty_warmup: None,
        }
    }
}

impl Default for MiningEntry {
    fn default() -> Self {
        let config = ir_core::training::mining::MiningConfig::DATAFINDER;
        Self {
            hard: config.hard,
            random: config.random,
            first_rank: config.first_rank,
            last_rank: config.last_rank,
            seed: config.seed,
            bm25: Bm25System::default(),
        }
    }
}

impl MiningEntry {
    /// Returns `true` if negatives are mined.
    #[cfg(feature = "dense")]
    pub(crate) const fn is_needed(&self) -> bool {
        self.hard > 0 || self.random > 0
    }

    pub(crate) fn config(&self) -> ir_core::training::mining::MiningConfig {
        ir_core::training::mining::MiningConfig {
            hard: self.hard,
            random: self.random,
            first_rank: self.first_rank,
            last_rank: self.last_rank,
            seed: self.seed,
            ..ir_core::training::mining::MiningConfig::DATAFINDER
        }
    }

    pub(crate) fn check(&self) -> Result<(), SystemError> {
        use ir_core::training::mining::MiningError;
        self.config().validate().map_err(|error| {
            let key = match error {
                MiningError::FirstRank => "training.mining.first_rank",
                _ => "training.mining.last_rank",
            };
            SystemError::parameter(key, error.to_string())
        })?;
        if let Some((key, _)) = self.bm25.files().first() {
            let error = SystemError::parameter(key, "expected no file, found one");
            return Err(Self::in_mining(error));
        }
        self.bm25.check().map_err(Self::in_mining)
    }

    /// Error of `bm25`, with the key of the entry.
    pub(crate) fn in_mining(error: SystemError) -> SystemError {
        error.in_table("training.mining.bm25")
    }
}

/// Checks that there is at least one query form, and none twice.
pub(crate) fn check_forms(key: &str, forms: Option<&[String]>) -> Result<(), SystemError> {
    let Some(forms) = forms else {
        return Ok(());
    };
    if forms.is_empty() {
        return Err(SystemError::parameter(
            key,
            "expected at least one, found none",
        ));
    }
    for (n, form) in forms.iter().enumerate() {
        if forms[..n].contains(form) {
            let message = format!("expected different query forms, found {form:?} twice");
            return Err(SystemError::parameter(format!("{key}[{n}]"), message));
        }
    }
    Ok(())
}

impl RandomEntry {
    pub(crate) fn check(&self) -> Result<(), SystemError> {
        if self.queries.is_some() && self.split.is_none() {
            let message = "expected the key split, found none";
            return Err(SystemError::parameter("random.queries", message));
        }
        check_forms("random.queries", self.queries.as_deref())
    }
}

impl TrainingEntry {
    pub(crate) fn check(&self) -> Result<(), SystemError> {
        self.mining.check()?;
        self.check_loss()?;
        self.check_sparse()?;
        #[cfg(feature = "dense")]
        if self.sparse {
            self.config().validate_sparse_encoder()
        } else {
            self.config().validate()
        }
        .map_err(training_error)?;
        check_forms("training.queries", self.queries.as_deref())
    }

    /// Checks that a sparse encoder has no preset, and another one no penalties.
    fn check_sparse(&self) -> Result<(), SystemError> {
        if self.sparse && self.preset != TrainingPreset::default() {
            let reason = "a sparse encoder has a configuration of its own";
            return Err(SystemError::conflict(
                "training.sparse",
                "training.preset",
                reason,
            ));
        }
        for (key, is_given) in [
            ("training.penalty", self.penalty.is_some()),
            ("training.query_penalty", self.query_penalty.is_some()),
            ("training.document_penalty", self.document_penalty.is_some()),
            ("training.penalty_warmup", self.penalty_warmup.is_some()),
        ] {
            if is_given && !self.sparse {
                let message = "expected sparse = true, which has it";
                return Err(SystemError::parameter(key, message));
            }
        }
        Ok(())
    }

    /// Checks that the loss has the parameters that are given.
    pub(crate) fn check_loss(&self) -> Result<(), SystemError> {
        let is_pointwise = self.loss == Some(LossName::Pointwise);
        for (key, set, expected) in [
            (
                "training.scale",
                self.scale.is_some() && !is_pointwise,
                "pointwise",
            ),
            (
                "training.temperature",
                self.temperature.is_some() && is_pointwise,
                "softmax",
            ),
        ] {
            if set {
                let message = format!("expected loss = {expected:?}, which has it");
                return Err(SystemError::parameter(key, message));
            }
        }
        Ok(())
    }
}

#[cfg(feature = "dense")]
pub(crate) use with_models::{set, training_error};

#[cfg(feature = "dense")]
mod with_models {
    use ir_dense::Precision;
    use ir_dense::train::{LearningRateDecay, Loss, RegularizerKind, TrainError};

    use crate::error::{SpecError, SystemError};

    use super::{
        DecayName, LossName, PenaltyName, RandomEntry, RandomModel, TrainingConfig, TrainingEntry,
        TrainingPrecisionName, TrainingPreset,
    };

    impl From<TrainingPrecisionName> for Precision {
        fn from(name: TrainingPrecisionName) -> Self {
            match name {
                TrainingPrecisionName::F32 => Self::F32,
                TrainingPrecisionName::Bf16 => Self::Bf16,
            }
        }
    }

    impl RandomEntry {
        pub(crate) fn config(&self) -> RandomModel {
            let default = RandomModel::default();
            default
                .clone()
                .with_shape(
                    self.hidden_size.unwrap_or(default.hidden_size),
                    self.layers.unwrap_or(default.layers),
                    self.heads.unwrap_or(default.heads),
                )
                .with_vocab_size(self.vocab_size.unwrap_or(default.vocab_size))
                .with_seed(self.seed.unwrap_or(default.seed))
        }
    }

    impl TrainingEntry {
        /// Hyperparameters, as `ir train` sets them from its options.
        pub(crate) fn config(&self) -> TrainingConfig {
            self.config_over(match self.preset {
                _ if self.sparse => TrainingConfig::sparse_encoder(),
                TrainingPreset::SmallData => TrainingConfig::small_data(),
                TrainingPreset::Datafinder => TrainingConfig::datafinder(),
            })
        }

        /// Hyperparameters of the keys that are given, and of `config` for the others.
        pub(crate) fn config_over(&self, mut config: TrainingConfig) -> TrainingConfig {
            set(&mut config.epochs, self.epochs);
            set(&mut config.batch_size, self.batch_size);
            set(&mut config.hard_negatives, self.hard_negatives);
            set(&mut config.learning_rate, self.learning_rate);
            set(&mut config.schedule.warmup_ratio, self.warmup_ratio);
            set(&mut config.dropout, self.dropout);
            set(&mut config.precision, self.precision.map(Into::into));
            set(&mut config.seed, self.seed);
            config.mini_batch_size = self.mini_batch_size.or(config.mini_batch_size);
            config.schedule.decay = match self.decay {
                None => config.schedule.decay,
                Some(DecayName::Linear) => LearningRateDecay::Linear,
                Some(DecayName::Constant) => LearningRateDecay::Constant,
            };
            if let Loss::Softmax { temperature } = config.loss {
                let temperature = self.temperature.unwrap_or(temperature);
                config.loss = match self.loss {
                    None | Some(LossName::Softmax) => Loss::Softmax { temperature },
                    Some(LossName::Symmetric) => Loss::Symmetric { temperature },
                    Some(LossName::Pointwise) => Loss::Pointwise { scale: self.scale },
                };
            }
            if let Some(sparsity) = &mut config.sparsity {
                let kind = self.penalty.map(|name| match name {
                    PenaltyName::Flops => RegularizerKind::Flops,
                    PenaltyName::L1 => RegularizerKind::L1,
                });
                set(&mut sparsity.query.kind, kind);
                set(&mut sparsity.document.kind, kind);
                set(&mut sparsity.query.weight, self.query_penalty);
                set(&mut sparsity.document.weight, self.document_penalty);
                set(&mut sparsity.warmup_ratio, self.penalty_warmup);
            }
            let encoder = &mut config.encoder;
            encoder.query.max_tokens = self.query_tokens.or(encoder.query.max_tokens);
            encoder.document.max_tokens = self.document_tokens.or(encoder.document.max_tokens);
            config
        }
    }

    /// Sets a field to a value that is given.
    pub(crate) fn set<T: Copy>(field: &mut T, value: Option<T>) {
        *field = value.unwrap_or(*field);
    }

    /// Error of a training. A hyperparameter that is out of range is the error of its key.
    pub(crate) fn training_error(error: TrainError) -> SystemError {
        match &error {
            TrainError::Stopped { .. } => SpecError::Canceled.into(),
            TrainError::Setting { field, .. } => {
                let key = match *field {
                    "schedule.warmup_ratio" => "warmup_ratio",
                    "loss.temperature" => "temperature",
                    "loss.scale" => "scale",
                    "sparsity.query.weight" => "query_penalty",
                    "sparsity.document.weight" => "document_penalty",
                    "sparsity.warmup_ratio" => "penalty_warmup",
                    field => field,
                };
                SystemError::parameter(format!("training.{key}"), error.to_string())
            }
            _ => SystemError::stage("training")(error),
        }
    }
}
