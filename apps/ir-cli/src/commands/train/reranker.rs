//! `ir train-reranker`: trains a cross-encoder.

use std::path::PathBuf;

use anyhow::Result;
use ir_core::training::TrainingSet;
use ir_dense::train::{
    CrossEncoderLoss, CrossEncoderTrainer, CrossEncoderTrainingConfig, EvaluateFn,
};
use ir_dense::{Backend, CrossEncoder, Precision};

use super::options::{CommonOptions, EXECUTION, out_of_range, read_config, set};
use super::run::{RunSteps, prepare, train};
use crate::shared::console::Console;
use crate::shared::encoder::{TRAINING_PRECISIONS, backend, find_model};
use crate::shared::options::{choice, positive, use_threads};
use crate::shared::output::WorkPath;
use crate::shared::signals::stop_on_interrupt;

const EXAMPLES: &str = "\
Examples:
  ir mine beir/nfcorpus -o train.jsonl
  ir train-reranker all-MiniLM-L6-v2 train.jsonl -o reranker
  ir train-reranker all-MiniLM-L6-v2 train.jsonl -o reranker --dev beir/nfcorpus
  ir mine beir/nfcorpus --teacher ms-marco-MiniLM -o scored.jsonl
  ir train-reranker all-MiniLM-L6-v2 scored.jsonl -o student --loss margin-mse

Training examples are those of `ir train`: query, positives and negatives. Each
query of a step is paired with one of its positives, --negatives of its
negatives and --in-batch-negatives documents of other queries. An encoder gets a
new head; the head of a cross-encoder is trained further. The output folder is
readable by sentence-transformers (CrossEncoder) and transformers
(AutoModelForSequenceClassification).

Checkpoints are saved in OUTPUT.checkpoints, as by `ir train`: an interrupted or
killed run resumes and produces the same bytes as an uninterrupted one.

With --dev, the model reranks the first --candidates documents of BM25 for each
validation query before, during and after training, and the best weights are
kept.

--config reads JSON with any of the fields epochs, batch_size, hard_negatives
(--negatives), in_batch_negatives, mini_batch_size (--block), loss,
skip_known_positives, dropout, learning_rate, schedule, optimizer,
max_gradient_norm, precision, seed, evaluate_every, patience, cross_encoder;
other options override it:
  {\"epochs\": 2, \"loss\": {\"kind\": \"softmax\", \"temperature\": 0.5}}";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    common: CommonOptions,

    /// Number of candidates per validation query, the first documents of BM25
    #[arg(long, default_value_t = 100, value_parser = positive, value_name = "N", requires = "dev", help_heading = "Evaluation")]
    candidates: usize,

    #[command(flatten, next_help_heading = "Training configuration")]
    configuration: RerankerOptions,
}

#[derive(Debug, clap::Args)]
struct RerankerOptions {
    /// Training configuration as a JSON file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Training loss [default: softmax]
    #[arg(long, value_parser = choice(LOSSES), value_name = "NAME")]
    loss: Option<CrossEncoderLoss>,

    /// Number of passes over the training set [default: 3]
    #[arg(long, value_name = "N")]
    epochs: Option<u64>,

    /// Batch size: number of queries per step [default: 8]
    #[arg(long, visible_alias = "batch-size", value_name = "N")]
    batch: Option<usize>,

    /// Number of hard negatives per query [default: 7]
    #[arg(long, value_name = "N")]
    negatives: Option<usize>,

    /// Number of documents of other queries per query [default: 0]
    #[arg(long, value_name = "N")]
    in_batch_negatives: Option<usize>,

    /// Number of pairs per forward pass, which bounds memory [default: 32]
    #[arg(long, value_name = "N")]
    block: Option<usize>,

    /// Learning rate at the end of the warm-up, from which it decays [default: 2e-5]
    #[arg(long, value_name = "NUMBER")]
    learning_rate: Option<f64>,

    /// Warm-up: fraction of the steps over which the learning rate rises linearly. Range: 0 to 1
    /// [default: 0.1]
    #[arg(long, value_name = "FRACTION")]
    warmup: Option<f64>,

    /// Dropout probability. Range: 0 ≤ p < 1 [default: 0.1]
    #[arg(long, value_name = "FRACTION")]
    dropout: Option<f64>,

    /// Number format of the linear layers' matrix products; sums, weights and optimizer are f32
    #[arg(long, value_parser = choice(TRAINING_PRECISIONS), value_name = "NAME")]
    precision: Option<Precision>,

    /// Random seed of a new head, example order, negative sampling and dropout [default: 42]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Maximum sequence length in tokens: query and document [default: as in the model]
    #[arg(long, value_parser = positive, value_name = "N")]
    max_tokens: Option<usize>,

    /// Backend, as in `ir encode` [default: cpu, or from --config]
    #[arg(long, visible_alias = "device", value_parser = backend, value_name = "NAME", help_heading = EXECUTION)]
    backend: Option<Backend>,
}

const LOSSES: [(&str, &str, CrossEncoderLoss); 6] = [
    (
        "softmax",
        "Softmax cross-entropy of the positive among the candidates, temperature 1",
        CrossEncoderLoss::Softmax { temperature: 1.0 },
    ),
    (
        "multiple-negatives",
        "Softmax cross-entropy of 10 times the logistic function of the logits",
        CrossEncoderLoss::MultipleNegatives { scale: 10.0 },
    ),
    (
        "binary-cross-entropy",
        "Binary cross-entropy of every pair",
        CrossEncoderLoss::BinaryCrossEntropy {
            positive_weight: 1.0,
            soft_labels: false,
        },
    ),
    (
        "rank-net",
        "Logistic loss of the difference between positive and negative",
        CrossEncoderLoss::RankNet,
    ),
    (
        "margin-mse",
        "Squared error of the margins of a teacher between the positive and the hard negatives; the \
         examples need the scores of `ir mine --teacher`",
        CrossEncoderLoss::MarginMse,
    ),
    (
        "kl-divergence",
        "KL divergence from the softmax of a teacher over the positive and the hard negatives, \
         temperature 1; the examples need the scores of `ir mine --teacher`",
        CrossEncoderLoss::KlDivergence { temperature: 1.0 },
    ),
];

impl Args {
    /// Output folder and checkpoint folder.
    pub(crate) fn work_paths(&self) -> Vec<WorkPath> {
        self.common.work_paths()
    }

    /// Training configuration, and the error of a value out of range with its file.
    fn settings(&self) -> Result<CrossEncoderTrainingConfig> {
        let options = &self.configuration;
        let mut config = match &options.config {
            Some(path) => read_config(path)?,
            None => CrossEncoderTrainingConfig::default(),
        };
        set(&mut config.loss, &options.loss);
        set(&mut config.epochs, &options.epochs);
        set(&mut config.batch_size, &options.batch);
        set(&mut config.hard_negatives, &options.negatives);
        set(&mut config.in_batch_negatives, &options.in_batch_negatives);
        set(&mut config.learning_rate, &options.learning_rate);
        set(&mut config.schedule.warmup_ratio, &options.warmup);
        set(&mut config.dropout, &options.dropout);
        set(&mut config.precision, &options.precision);
        set(&mut config.seed, &options.seed);
        config.mini_batch_size = options.block.or(config.mini_batch_size);
        let validation = &self.common.evaluation;
        validation.apply(&mut config.evaluate_every, &mut config.patience);
        set(&mut config.cross_encoder.backend, &options.backend);
        let model = &mut config.cross_encoder;
        model.max_tokens = options.max_tokens.or(model.max_tokens);
        config.validate().map_err(|error| {
            let fields = self.field_options();
            out_of_range(&error, &fields, options.config.as_deref())
        })?;
        Ok(config)
    }

    /// Fields of the configuration with their options, and `true` if the option is given.
    fn field_options(&self) -> [(&'static str, &'static str, bool); 10] {
        let (options, validation) = (&self.configuration, &self.common.evaluation);
        [
            ("epochs", "epochs", options.epochs.is_some()),
            ("batch_size", "batch", options.batch.is_some()),
            ("mini_batch_size", "block", options.block.is_some()),
            ("hard_negatives", "negatives", options.negatives.is_some()),
            (
                "in_batch_negatives",
                "in-batch-negatives",
                options.in_batch_negatives.is_some(),
            ),
            (
                "learning_rate",
                "learning-rate",
                options.learning_rate.is_some(),
            ),
            ("schedule.warmup_ratio", "warmup", options.warmup.is_some()),
            ("dropout", "dropout", options.dropout.is_some()),
            ("precision", "precision", options.precision.is_some()),
            (
                "evaluate_every",
                "evaluate-every",
                validation.evaluate_every.is_some(),
            ),
        ]
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    let common = &args.common;
    stop_on_interrupt();
    use_threads(common.execution.threads)?;
    let checkpoints = common.check("train-reranker")?;
    let model = find_model(&common.model)?;
    let config = args.settings()?;
    let inputs = prepare(common, checkpoints, console)?;
    let steps = RunSteps {
        steps: config.steps(inputs.data.len()),
        epochs: config.epochs,
        patience: config.patience,
    };
    steps.check(config.schedule, console);
    let trainer = CrossEncoderTrainer::open(&model.folder, &config)?;
    let candidates = inputs.candidates(args.candidates)?;
    let evaluation = candidates.as_ref();
    let evaluation = evaluation.map(|it| it.evaluation(&common.evaluation, config.evaluate_every));
    let mut evaluate = candidates
        .as_ref()
        .map(|candidates| |model: &CrossEncoder, _: u64| Ok(candidates.cross_encoder(model)?));
    let evaluate = evaluate
        .as_mut()
        .map(|evaluate| evaluate as &mut EvaluateFn<'_, CrossEncoder>);
    train(
        common, trainer, &inputs, steps, evaluation, evaluate, console,
    )
}
