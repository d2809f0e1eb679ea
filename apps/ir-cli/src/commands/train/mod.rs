//! `ir train`: fine-tunes a bi-encoder.

mod configuration;
mod dev;
mod examples;
mod history;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use clap::ValueHint;
use configuration::ConfigurationOptions;
use dev::DevSet;
use history::HistoryLog;
use ir_core::training::TrainingSet;
use ir_data::DocTemplate;
use ir_dense::BiEncoder;
use ir_dense::train::{EvaluateFn, Trainer, TrainingHistory, TrainingResult};
use ir_eval::Measure;

use crate::shared::console::{Console, bail_usage};
use crate::shared::encoder::{find_model, is_model};
use crate::shared::format::grouped;
use crate::shared::input::{is_collection, split_of_collection};
use crate::shared::options::{QueryForm, use_threads};
use crate::shared::output::{OutputPath, WorkPath};
use crate::shared::rules::measure;
use crate::shared::signals::stop_on_interrupt;
use crate::shared::training_runs::completed::CompletedRun;
use crate::shared::training_runs::{self, ExecutionOptions, discard, evaluation, has_files};

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
ids: write {\"text\": \"tea\"} for such a text.

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
dropout, learning_rate, schedule, optimizer, max_gradient_norm, seed,
evaluate_every, patience, encoder; other options override it:
  {\"epochs\": 3, \"loss\": {\"kind\": \"symmetric\", \"temperature\": 0.05}}
Losses: softmax (temperature), symmetric (temperature), pointwise (scale),
margin (margin) and, with scores of a teacher in the examples, kl_divergence
(temperature) and margin_mse.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Model to fine-tune: a folder, or the name of a downloaded model (see `ir models`)
    model: PathBuf,

    /// File of training examples, in the format of `ir mine`
    examples: PathBuf,

    /// Collection that resolves document ids in the examples
    #[arg(long, value_name = "COLLECTION", help_heading = EXAMPLE_OPTIONS)]
    texts: Option<String>,

    /// JSON field of the query, for example keyphrase_query
    #[arg(long, default_value = "query", value_name = "FIELD", value_hint = ValueHint::Other, help_heading = EXAMPLE_OPTIONS)]
    query_field: String,

    /// Template of a document's text for --texts and --dev, as in `ir encode`
    #[arg(long, value_name = "TEXT", help_heading = EXAMPLE_OPTIONS)]
    template: Option<DocTemplate>,

    /// Skip invalid examples and unknown ids
    #[arg(long, help_heading = EXAMPLE_OPTIONS)]
    leave_out: bool,

    /// Output folder of the trained model
    #[arg(short = 'o', long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    output: OutputPath,

    /// Separate document encoder (untied weights): model folder or name
    #[arg(long, value_name = "FOLDER")]
    document_model: Option<PathBuf>,

    #[command(flatten, next_help_heading = "Training configuration")]
    configuration: ConfigurationOptions,

    #[command(flatten, next_help_heading = "Evaluation")]
    evaluation: EvaluationOptions,

    /// Output file of the training history, per step (CSV). Grows by a row per step while training
    /// runs; standard output, pipes and compressed files (.gz, .zst) are written at the end
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    history: Option<OutputPath>,

    /// Output file of the training curves (SVG): loss and measure
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    curves: Option<OutputPath>,

    #[command(flatten)]
    execution: ExecutionOptions,
}

const EXAMPLE_OPTIONS: &str = "Examples";
const EXECUTION: &str = "Execution";

#[derive(Debug, clap::Args)]
struct EvaluationOptions {
    /// Collection of the validation set
    #[arg(long, value_name = "COLLECTION")]
    dev: Option<String>,

    /// Split of the validation set
    #[arg(long, default_value = "dev", value_name = "SPLIT", value_hint = ValueHint::Other, requires = "dev")]
    dev_split: String,

    /// Validation measure, as in `ir eval`
    #[arg(
        short = 'm',
        long,
        default_value = "nDCG@10",
        value_name = "MEASURE",
        value_parser = measure,
        requires = "dev"
    )]
    measure: Measure,

    /// Number of steps between evaluations [default: one epoch]
    #[arg(long, value_name = "N", requires = "dev")]
    evaluate_every: Option<u64>,

    /// Early stopping: number of evaluations without improvement; 0 disables it
    /// [default: 2 for small-data, 0 for datafinder]
    #[arg(long, value_name = "N", requires = "dev")]
    patience: Option<u64>,

    /// Text of the validation queries: text, keyphrases, or another text attribute
    #[arg(long, default_value_t, value_name = "FORM", value_hint = ValueHint::Other, requires = "dev")]
    query_form: QueryForm,

    /// Exclude the document with the id of the query, as for ArguAna
    #[arg(long, requires = "dev")]
    remove_self: bool,

    /// Exclude documents newer than the query (attribute `year`); those without a year pass
    #[arg(long, requires = "dev")]
    not_later_than_query: bool,
}

impl Args {
    /// Output folder and checkpoint folder.
    pub(crate) fn work_paths(&self) -> Vec<WorkPath> {
        training_runs::work_paths(&self.output.folder())
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    use_threads(args.execution.threads)?;
    let validation = &args.evaluation;
    if args.template.is_some() && args.texts.is_none() && validation.dev.is_none() {
        bail_usage!("--template: expected --texts or --dev");
    }
    let output = &*args.output.folder();
    let checkpoints = check_outputs(args, output)?;
    check_arguments(args)?;
    let model = find_model(&args.model)?;
    let mut config = args.configuration.settings(validation)?;
    config.encoder = model.with_catalog_defaults(config.encoder);
    let dev_set = validation.dev.as_deref();
    let dev_set = dev_set
        .map(|dev| DevSet::read(args, dev, &config, console))
        .transpose()?;
    let mut bar = console.bar();
    let data = examples::read(args, dev_set.as_ref(), &mut bar, console)?;
    if let Some(dev_set) = &dev_set {
        let overlap = dev_set.overlap(&data)?;
        if overlap > 0 {
            console.warn(format_args!(
                "--dev: {overlap} of {} validation queries are in the training set; the measure is biased upwards",
                dev_set.len()
            ));
        }
    }
    let steps = config.steps(data.len());
    if steps > 0 && (0..steps).all(|step| config.schedule.factor(step, steps) == 0.0) {
        console.warn(format_args!(
            "the learning rate is 0 in every step, because training ({steps} steps) is not longer than the warm-up: use --warmup 0"
        ));
    }
    let trainer = match &args.document_model {
        None => Trainer::open(&model.folder, &config),
        Some(documents) => {
            let documents = find_model(documents)?.folder;
            Trainer::open_untied(&model.folder, documents, &config)
        }
    };
    let trainer = trainer.map_err(|error| args.configuration.with_length_options(error))?;
    let evaluation = dev_set.as_ref();
    let evaluation = evaluation.map(|set| set.evaluation(validation, config.evaluate_every));
    let completed = |fingerprint| CompletedRun {
        fingerprint,
        evaluation: evaluation.as_ref(),
    };
    if has_files(output) {
        let completed = completed(trainer.fingerprint(&data));
        training_runs::check_completed(&completed, output, &checkpoints, console)?;
        discard(args.execution.keep_checkpoints, &checkpoints);
        return Ok(());
    }
    let resumed = evaluation::check_or_record(&checkpoints, evaluation.as_ref(), console)?;
    let trainer = trainer
        .with_checkpoints(&checkpoints)
        .with_checkpoint_every(args.execution.checkpoint_every as u64);

    let began = Instant::now();
    let counts = (steps, config.epochs);
    let mut log = HistoryLog::new(args.history.as_ref(), counts, &validation.measure, console);
    let mut watch = |history: &TrainingHistory| Ok(log.update(history)?);
    let mut evaluate = dev_set
        .as_ref()
        .map(|dev_set| |encoder: &BiEncoder, _: u64| dev_set.evaluate(encoder));
    let evaluate = evaluate
        .as_mut()
        .map(|evaluate| evaluate as &mut EvaluateFn<'_>);
    let trained = trainer.train_with_callback(&data, evaluate, &mut watch, &mut bar);
    bar.finish();
    let trained = trained.map_err(|error| training_runs::ended(error, &checkpoints))?;
    write_history(args, &trained)?;
    completed(trained.fingerprint).record(&checkpoints)?;
    trained.encoder.save(output)?;
    discard(args.execution.keep_checkpoints, &checkpoints);
    let history = &trained.history;
    let best = history.best();
    let best = best.map(|best| format!(", {} {:.4}", validation.measure, best.value));
    let since = if resumed {
        " since the last checkpoint"
    } else {
        ""
    };
    let ran = history.steps.len() as u64;
    let loss = history
        .steps
        .last()
        .map(|row| format!(", loss {:.4}", row.loss));
    console.log(format_args!(
        "{}: {} examples, weights after {} of {} steps{}{}, {:.1} s{since}",
        output.display(),
        grouped(data.len() as u64),
        grouped(trained.step),
        grouped(ran),
        loss.unwrap_or_default(),
        best.unwrap_or_default(),
        began.elapsed().as_secs_f64(),
    ));
    if trained.stopped_early {
        console.log(format_args!(
            "stopped early after {} of {} steps: {} evaluations without improvement (--patience)",
            grouped(ran),
            grouped(config.steps(data.len())),
            config.patience.unwrap_or_default(),
        ));
    }
    if trained.step == 0 && ran > 0 {
        console.warn(format_args!(
            "{}: no evaluation improved on the initial model; saved the initial weights",
            output.display()
        ));
    }
    Ok(())
}

/// Names the mistake in arguments that are swapped, or a collection in place of examples.
fn check_arguments(args: &Args) -> Result<()> {
    let (model, examples) = (args.model.display(), args.examples.display());
    if is_model(&args.examples) && !is_model(&args.model) {
        bail_usage!("{examples}: expected the model first: ir train {examples} {model}");
    }
    let name = args.examples.to_str().unwrap_or_default();
    let (collection, split) = match split_of_collection(name) {
        Some((collection, split)) => (collection, format!(" --split {split}")),
        None => (name, String::new()),
    };
    if !args.examples.is_file() && (is_collection(collection) || args.examples.is_dir()) {
        bail!(
            "{examples}: expected a file of training examples, found a collection or folder; write its examples with ir mine {collection}{split} -o train.jsonl"
        );
    }
    Ok(())
}

/// Checks all output paths and returns the checkpoint folder.
fn check_outputs(args: &Args, output: &Path) -> Result<PathBuf> {
    let checkpoints = training_runs::check_output(output)?;
    for path in [&args.history, &args.curves].into_iter().flatten() {
        path.check_writable()?;
    }
    Ok(checkpoints)
}

/// Writes the training history and its curves.
fn write_history(args: &Args, trained: &TrainingResult) -> Result<()> {
    let history = args.history.as_ref();
    if let Some(path) = history.filter(|path| !history::is_appended(path)) {
        path.write(trained.history.to_csv())?;
    }
    if let Some(path) = &args.curves {
        let measure = args.evaluation.measure.to_string();
        path.write(trained.history.to_svg(&measure))?;
    }
    Ok(())
}
