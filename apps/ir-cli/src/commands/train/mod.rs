//! `ir train`: fine-tunes a bi-encoder. `ir train-reranker`: a cross-encoder.

mod configuration;
mod dev;
mod examples;
mod history;
mod options;
pub(crate) mod reranker;
mod run;

use std::path::PathBuf;

use anyhow::Result;
use configuration::ConfigurationOptions;
use ir_core::training::TrainingSet;
use ir_dense::BiEncoder;
use ir_dense::train::{EvaluateFn, Trainer};
use options::CommonOptions;
use run::{RunSteps, prepare, train};

use crate::shared::console::Console;
use crate::shared::encoder::find_model;
use crate::shared::options::use_threads;
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

--config reads JSON with any of the fields epochs, batch_size, hard_negatives
(--negatives), mini_batch_size (--block), drop_last, loss, similarity,
skip_known_positives, dropout, learning_rate, schedule, optimizer,
max_gradient_norm, precision, seed, evaluate_every, patience, encoder; other
options override it:
  {\"epochs\": 3, \"loss\": {\"kind\": \"symmetric\", \"temperature\": 0.05}}
Losses: softmax (temperature), symmetric (temperature), pointwise (scale),
margin (margin) and, with scores of a teacher in the examples, kl_divergence
(temperature) and margin_mse.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    common: CommonOptions,

    /// Separate document encoder (untied weights): model folder or name
    #[arg(long, value_name = "FOLDER")]
    document_model: Option<PathBuf>,

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
    let mut config = args.configuration.settings(&common.evaluation)?;
    config.encoder = model.with_catalog_defaults(config.encoder);
    let inputs = prepare(common, checkpoints, console)?;
    let steps = RunSteps {
        steps: config.steps(inputs.data.len()),
        epochs: config.epochs,
        patience: config.patience,
    };
    steps.check(config.schedule, console);
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
