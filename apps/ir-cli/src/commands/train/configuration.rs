//! Options of the training configuration of `ir train`.

use std::path::PathBuf;

use anyhow::Result;
use ir_dense::train::{LearningRateDecay, Loss, TrainError, TrainingConfig};
use ir_dense::{Backend, ModelError, Pooling, Precision, TokenizerError};

use super::options::{
    EXECUTION, EvaluationOptions, OPTIONS_OF_BI_ENCODERS, out_of_range, read_config_over, set,
};
use crate::shared::console::{Usage, bail_usage};
use crate::shared::encoder::{POOLINGS, TRAINING_PRECISIONS, backend};
use crate::shared::options::{choice, positive};

#[derive(Debug, clap::Args)]
pub(super) struct ConfigurationOptions {
    /// Training configuration preset [default: small-data]
    #[arg(long, value_parser = choice(presets()), value_name = "NAME", conflicts_with = "config")]
    preset: Option<TrainingConfig>,

    /// Training configuration as a JSON file, instead of a preset
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Number of passes over the training set
    #[arg(long, value_name = "N")]
    epochs: Option<u64>,

    /// Batch size: number of queries per step
    #[arg(long, visible_alias = "batch-size", value_name = "N")]
    batch: Option<usize>,

    /// Number of hard negatives per query
    #[arg(long, value_name = "N")]
    negatives: Option<usize>,

    /// Gradient caching: maximum number of texts encoded at once; bounds memory for any batch size
    #[arg(long, value_name = "N")]
    block: Option<usize>,

    /// Learning rate at the end of the warm-up, from which it decays
    #[arg(long, value_name = "NUMBER")]
    learning_rate: Option<f64>,

    /// Warm-up: fraction of the steps over which the learning rate rises linearly. Range: 0 to 1
    #[arg(long, value_name = "FRACTION")]
    warmup: Option<f64>,

    /// Keep the learning rate constant after warm-up, instead of linear decay
    #[arg(long)]
    constant: bool,

    /// Temperature: divisor of the logits before the softmax. Range: > 0
    #[arg(long, value_name = "NUMBER")]
    temperature: Option<f64>,

    /// Dropout probability. Range: 0 ≤ p < 1
    #[arg(long, value_name = "FRACTION")]
    dropout: Option<f64>,

    /// Number format of the linear layers' matrix products; sums, weights and optimizer are f32
    #[arg(long, value_parser = choice(TRAINING_PRECISIONS), value_name = "NAME")]
    precision: Option<Precision>,

    /// Random seed of example order, negative sampling and dropout
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Maximum query length in tokens
    #[arg(long, value_parser = positive, value_name = "N")]
    query_tokens: Option<usize>,

    /// Maximum document length in tokens
    #[arg(long, value_parser = positive, value_name = "N")]
    document_tokens: Option<usize>,

    /// Pooling of token vectors
    #[arg(long, value_parser = choice(POOLINGS), value_name = "POOLING")]
    pooling: Option<Pooling>,

    /// Factor of the penalty of query weights of a sparse encoder; 0 disables it. Range: ≥ 0
    /// [default: 5e-5]
    #[arg(long, value_name = "NUMBER", requires = "sparse", conflicts_with_all = OPTIONS_OF_BI_ENCODERS, conflicts_with = "late_interaction")]
    query_penalty: Option<f64>,

    /// Factor of the penalty of document weights of a sparse encoder; 0 disables it. Range: ≥ 0
    /// [default: 3e-5]
    #[arg(long, value_name = "NUMBER", requires = "sparse", conflicts_with_all = OPTIONS_OF_BI_ENCODERS, conflicts_with = "late_interaction")]
    document_penalty: Option<f64>,

    /// Backend, as in `ir encode` [default: cpu, or from --config]
    #[arg(long, visible_alias = "device", value_parser = backend, value_name = "NAME", help_heading = EXECUTION)]
    backend: Option<Backend>,
}

fn presets() -> [(&'static str, &'static str, TrainingConfig); 2] {
    [
        (
            "small-data",
            "For a few hundred queries and a sentence encoder: 5 epochs, batch of 32 queries with 3 \
             hard negatives each, learning rate 2e-5, cosine with temperature 0.05, dropout 0.1",
            TrainingConfig::small_data(),
        ),
        (
            "datafinder",
            "Hyperparameters of the DataFinder paper, for SciBERT: 2 epochs, batch of 11 queries with \
             7 hard negatives each, learning rate 5e-6, inner product, maximum lengths 32 and 128",
            TrainingConfig::datafinder(),
        ),
    ]
}

impl ConfigurationOptions {
    /// Training configuration, and the error of a value out of range with its option. `default`:
    /// values that neither an option nor the file has.
    pub(super) fn settings(
        &self,
        default: TrainingConfig,
        evaluation: &EvaluationOptions,
    ) -> Result<TrainingConfig> {
        let mut config = match &self.config {
            Some(path) => read_config_over(path, &default)?,
            None => self.preset.clone().unwrap_or(default),
        };
        set(&mut config.epochs, &self.epochs);
        set(&mut config.batch_size, &self.batch);
        set(&mut config.hard_negatives, &self.negatives);
        set(&mut config.learning_rate, &self.learning_rate);
        set(&mut config.schedule.warmup_ratio, &self.warmup);
        set(&mut config.dropout, &self.dropout);
        set(&mut config.precision, &self.precision);
        set(&mut config.seed, &self.seed);
        config.mini_batch_size = self.block.or(config.mini_batch_size);
        evaluation.apply(&mut config.evaluate_every, &mut config.patience);
        if self.constant {
            config.schedule.decay = LearningRateDecay::Constant;
        }
        if let Some(value) = self.temperature {
            match &mut config.loss {
                Loss::Softmax { temperature }
                | Loss::Symmetric { temperature }
                | Loss::KlDivergence { temperature } => *temperature = value,
                _ => bail_usage!("--temperature: the loss has no temperature"),
            }
        }
        if self.query_penalty.is_some() || self.document_penalty.is_some() {
            let sparsity = config.sparsity.get_or_insert_default();
            set(&mut sparsity.query.weight, &self.query_penalty);
            set(&mut sparsity.document.weight, &self.document_penalty);
        }
        let encoder = &mut config.encoder;
        encoder.backend = self.backend.unwrap_or(encoder.backend);
        encoder.pooling = self.pooling.or(encoder.pooling);
        encoder.query.max_tokens = self.query_tokens.or(encoder.query.max_tokens);
        encoder.document.max_tokens = self.document_tokens.or(encoder.document.max_tokens);
        config.validate().map_err(|error| {
            let fields = self.field_options(evaluation);
            out_of_range(&error, &fields, self.config.as_deref())
        })?;
        Ok(config)
    }

    /// Fields of the configuration with their options, and `true` if the option is given.
    fn field_options(
        &self,
        evaluation: &EvaluationOptions,
    ) -> [(&'static str, &'static str, bool); 12] {
        [
            ("epochs", "epochs", self.epochs.is_some()),
            ("batch_size", "batch", self.batch.is_some()),
            ("mini_batch_size", "block", self.block.is_some()),
            ("hard_negatives", "negatives", self.negatives.is_some()),
            (
                "learning_rate",
                "learning-rate",
                self.learning_rate.is_some(),
            ),
            ("schedule.warmup_ratio", "warmup", self.warmup.is_some()),
            (
                "loss.temperature",
                "temperature",
                self.temperature.is_some(),
            ),
            ("dropout", "dropout", self.dropout.is_some()),
            ("precision", "precision", self.precision.is_some()),
            (
                "sparsity.query.weight",
                "query-penalty",
                self.query_penalty.is_some(),
            ),
            (
                "sparsity.document.weight",
                "document-penalty",
                self.document_penalty.is_some(),
            ),
            (
                "evaluate_every",
                "evaluate-every",
                evaluation.evaluate_every.is_some(),
            ),
        ]
    }

    /// Adds the options of the maximum lengths to an error about them.
    pub(super) fn with_length_options(&self, error: TrainError) -> anyhow::Error {
        let is_limit = match &error {
            TrainError::Model(ModelError::Setting { field, .. }) => field == "max_tokens",
            TrainError::Model(ModelError::Tokenizer(error)) => {
                matches!(error, TokenizerError::Limit { .. })
            }
            _ => false,
        };
        let options = [
            self.query_tokens.map(|_| "--query-tokens"),
            self.document_tokens.map(|_| "--document-tokens"),
        ];
        let options: Vec<&str> = options.into_iter().flatten().collect();
        if is_limit && !options.is_empty() {
            Usage(format!("{}: {error}", options.join(", "))).into()
        } else {
            error.into()
        }
    }
}
