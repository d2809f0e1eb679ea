//! `ir train`: fine-tunes a bi-encoder, a late-interaction model, or a learned sparse encoder. `ir
//! train-reranker`: a cross-encoder.

mod candidates;
mod configuration;
mod dev;
mod examples;
mod history;
mod options;
pub(crate) mod reranker;
mod run;

use std::path::{Path, PathBuf};

use anyhow::Result;
use configuration::ConfigurationOptions;
use ir_core::training::TrainingSet;
use ir_dense::train::{
    EvaluateFn, MultiVectorTrainer, SparseEncoderTrainer, Trainer, TrainingConfig,
};
use ir_dense::{BiEncoder, MultiVectorEncoder, SparseEncoder};
use options::{CommonOptions, OPTIONS_OF_BI_ENCODERS, OPTIONS_OF_SPARSE_ENCODERS};
use run::{Inputs, RunSteps, prepare, train};

use crate::shared::console::Console;
use crate::shared::encoder::find_model;
use crate::shared::options::{positive, use_threads};
use crate::shared::output::WorkPath;
use crate::shared::signals::stop_on_interrupt;

const EXAMPLES: &str = "\
Examples:
  ir mine beir/nfcorpus -o train.jsonl
  ir train all-MiniLM-L6-v2 train.jsonl -o tuned
  ir train all-MiniLM-L6-v2 train.jsonl -o tuned --dev beir/nfcorpus \\
      --measure nDCG@10 --curves curves.svg --history history.csv
  ir train scibert train.jsonl -o tuned --preset datafinder
  ir train scibert labeled.jsonl -o tuned --texts datafinder \\
      --template '{text} [SEP] {title}' --query-field keyphrase_query
  ir train all-MiniLM-L6-v2 train.jsonl -o tuned --config settings.json
  ir train all-MiniLM-L6-v2 train.jsonl -o colbert --late-interaction
  ir train splade-tiny train.jsonl -o splade --sparse --document-penalty 1e-4

Training examples are JSON lines in the format of `ir mine`: query, positives
and negatives (or positive_passages and negative_passages), which are arrays
of strings or of objects with text and, optionally, title and id. With --texts
strings are document ids, and files such as DataFinder's and MAKG's need it;
without it they are texts. A file whose positives are all strings of at most
100 characters without a space is then an error, because these are probably
ids: write {\"text\": \"tea\"} for such a text. The columns of
sentence-transformers, anchor, positive and negative, have one text each.

The output folder is readable by `ir encode` and sentence-transformers. The
latter applies the longer of both length limits to both sides; two towers are
saved in a folder each.

Checkpoints are saved in OUTPUT.checkpoints. An interrupted or killed run
resumes from the last checkpoint and produces the same bytes as an
uninterrupted one. A checkpoint of a different model, training set,
configuration or evaluation is an error.

With --dev, the encoder is evaluated on a validation set before, during and
after training, and the best weights are kept.

With --late-interaction, scores are MaxSim of one vector per token, as in
ColBERT, with temperature 1. The model is a late-interaction folder
(MultiVectorEncoder of sentence-transformers, PyLate or Stanford's ColBERT), or
an encoder, which gets a new projection to --dim dimensions, queries that are
expanded to 32 tokens by [MASK] (--query-tokens), documents of at most 180
tokens (--document-tokens) and no vectors for punctuation. With --dev, the model
reranks the first --candidates documents of BM25. The output folder is readable
by sentence-transformers (MultiVectorEncoder).

With --sparse, scores are inner products of weights of the vocabulary's tokens,
as in SPLADE, with temperature 1. The model is a folder of
sentence-transformers' SparseEncoder, or a masked language model. Penalties of
the weights (FLOPS) are added to the loss, so that few weights are not 0; their
factors rise quadratically over the first third of the steps. The output folder
is readable by `ir encode` and sentence-transformers (SparseEncoder).

--config reads JSON with any of the fields epochs, batch_size, hard_negatives
(--negatives), mini_batch_size (--block), drop_last, loss, similarity,
sparsity, skip_known_positives, dropout, learning_rate, schedule, optimizer,
max_gradient_norm, precision, seed, evaluate_every, patience, encoder; other
options override it:
  {\"epochs\": 3, \"loss\": {\"kind\": \"symmetric\", \"temperature\": 0.05}}
Losses: softmax (temperature), symmetric (temperature), pointwise (scale),
margin (margin) and, with scores of a teacher in the examples (`ir mine
--teacher`), kl_divergence (temperature) and margin_mse.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    common: CommonOptions,

    /// Separate document encoder (untied weights): model folder or name
    #[arg(long, value_name = "FOLDER")]
    document_model: Option<PathBuf>,

    /// Train a late-interaction model: one vector per token, MaxSim as score
    #[arg(long, conflicts_with_all = OPTIONS_OF_BI_ENCODERS)]
    late_interaction: bool,

    /// Train a learned sparse encoder: weights of tokens, inner product as score
    #[arg(long, conflicts_with_all = OPTIONS_OF_BI_ENCODERS, conflicts_with = "late_interaction")]
    sparse: bool,

    /// Dimension of the vectors of a new late-interaction model [default: 128]
    #[arg(long, value_parser = positive, value_name = "N", requires = "late_interaction", conflicts_with_all = OPTIONS_OF_BI_ENCODERS, conflicts_with_all = OPTIONS_OF_SPARSE_ENCODERS)]
    dim: Option<usize>,

    /// Number of candidates per validation query for a late-interaction model, the first documents
    /// of BM25
    #[arg(long, default_value_t = 100, value_parser = positive, value_name = "N", requires = "dev", requires = "late_interaction", conflicts_with_all = OPTIONS_OF_BI_ENCODERS, conflicts_with_all = OPTIONS_OF_SPARSE_ENCODERS, help_heading = "Evaluation")]
    candidates: usize,

    #[command(flatten, next_help_heading = "Training configuration")]
    configuration: ConfigurationOptions,
}

impl Args {
    /// Output folder and checkpoint folder.
    pub(crate) fn work_paths(&self) -> Vec<WorkPath> {
        self.common.work_paths()
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    let common = &args.common;
    stop_on_interrupt();
    use_threads(common.execution.threads)?;
    let checkpoints = common.check("train")?;
    let model = find_model(&common.model)?;
    let default = match (args.late_interaction, args.sparse) {
        (true, _) => TrainingConfig::late_interaction(),
        (_, true) => TrainingConfig::sparse_encoder(),
        _ => TrainingConfig::small_data(),
    };
    let mut config = args.configuration.settings(default, &common.evaluation)?;
    config.encoder = if args.late_interaction || args.sparse {
        model.with_catalog_prefixes(config.encoder)
    } else {
        model.with_catalog_defaults(config.encoder)
    };
    let inputs = prepare(common, checkpoints, console)?;
    let steps = RunSteps {
        steps: config.steps(inputs.data.len()),
        epochs: config.epochs,
        patience: config.patience,
    };
    steps.check(config.schedule, console);
    if args.late_interaction {
        return train_late_interaction(args, &model.folder, &config, &inputs, steps, console);
    }
    if args.sparse {
        return train_sparse(args, &model.folder, &config, &inputs, steps, console);
    }
    let trainer = match &args.document_model {
        None => Trainer::open(&model.folder, &config),
        Some(documents) => {
            let documents = find_model(documents)?.folder;
            Trainer::open_untied(&model.folder, documents, &config)
        }
    };
    let trainer = trainer.map_err(|error| args.configuration.with_length_options(error))?;
    let evaluation = inputs.dev_set.as_ref();
    let evaluation =
        evaluation.map(|set| set.evaluation(&common.evaluation, config.evaluate_every));
    let mut evaluate = inputs
        .dev_set
        .as_ref()
        .map(|dev_set| |encoder: &BiEncoder, _: u64| Ok(dev_set.evaluate(encoder)?));
    let evaluate = evaluate
        .as_mut()
        .map(|evaluate| evaluate as &mut EvaluateFn<'_>);
    train(
        common, trainer, &inputs, steps, evaluation, evaluate, console,
    )
}

fn train_late_interaction(
    args: &Args,
    folder: &Path,
    config: &TrainingConfig,
    inputs: &Inputs,
    steps: RunSteps,
    console: &Console,
) -> Result<()> {
    let common = &args.common;
    let trainer = match args.dim {
        None => MultiVectorTrainer::open(folder, config),
        Some(dim) => MultiVectorTrainer::open_with_dim(folder, dim, config),
    };
    let trainer = trainer.map_err(|error| args.configuration.with_length_options(error))?;
    let candidates = inputs.candidates(args.candidates)?;
    let evaluation = candidates.as_ref();
    let evaluation = evaluation.map(|it| it.evaluation(&common.evaluation, config.evaluate_every));
    let mut evaluate = candidates.as_ref().map(|candidates| {
        |encoder: &MultiVectorEncoder, _: u64| Ok(candidates.late_interaction(encoder)?)
    });
    let evaluate = evaluate
        .as_mut()
        .map(|evaluate| evaluate as &mut EvaluateFn<'_, MultiVectorEncoder>);
    train(
        common, trainer, inputs, steps, evaluation, evaluate, console,
    )
}

fn train_sparse(
    args: &Args,
    folder: &Path,
    config: &TrainingConfig,
    inputs: &Inputs,
    steps: RunSteps,
    console: &Console,
) -> Result<()> {
    let common = &args.common;
    let trainer = SparseEncoderTrainer::open(folder, config);
    let trainer = trainer.map_err(|error| args.configuration.with_length_options(error))?;
    let evaluation = inputs.dev_set.as_ref();
    let evaluation =
        evaluation.map(|set| set.evaluation(&common.evaluation, config.evaluate_every));
    let mut evaluate = inputs
        .dev_set
        .as_ref()
        .map(|dev_set| |encoder: &SparseEncoder, _: u64| Ok(dev_set.evaluate_sparse(encoder)?));
    let evaluate = evaluate
        .as_mut()
        .map(|evaluate| evaluate as &mut EvaluateFn<'_, SparseEncoder>);
    train(
        common, trainer, inputs, steps, evaluation, evaluate, console,
    )
}
