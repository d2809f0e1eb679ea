//! `ir train`: fine-tunes a bi-encoder.

mod dev;
mod evaluation;
mod examples;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use dev::DevSet;
use ir_core::TrainingSet;
use ir_data::DocTemplate;
use ir_dense::train::{Decay, Loss, TrainError, Trained, Trainer, TrainingConfig};
use ir_dense::{Backend, BiEncoder};
use ir_eval::Measure;

use crate::shared::options::positive;
use crate::shared::console::{Console, Unfinished, Usage, stop_on_interrupt};
use crate::shared::format::grouped;
use crate::shared::options::use_threads;
use crate::shared::encoder::{PoolingOption, find_model};
use crate::shared::options::QueryForm;
use crate::shared::output::{Sink, is_stream};

const EXAMPLES: &str = "\
Examples:
  ir mine beir/nfcorpus -o train.jsonl
  ir train all-MiniLM-L6-v2 train.jsonl -o tuned
  ir train all-MiniLM-L6-v2 train.jsonl -o tuned --dev beir/nfcorpus \\
      --measure nDCG@10 --curves curves.svg --history history.csv
  ir train scibert train.jsonl -o tuned --preset datafinder
  ir train scibert labelled.jsonl -o tuned --texts datafinder \\
      --template '{text} [SEP] {title}' --query-field keyphrase_query
  ir train e5-small-v2 pairs.jsonl -o tuned --batch 512 --block 16
  ir train all-MiniLM-L6-v2 train.jsonl -o tuned --config settings.json

Examples to learn from are JSON lines as `ir mine` writes them: query, and
positives and negatives (or positive_passages and negative_passages). Lists of
ids, as DataFinder's and MAKG's files have them, go with --texts.

The output is a folder that `ir encode` and sentence-transformers read; there
both sides have the longer limit, and of two models each has its folder.
Until it is there, checkpoints are kept in the folder that has its name and
`.checkpoints` after it: interrupted, killed or out of power, the same command
goes on where it was, and ends with the same bytes. Checkpoints of another
model, other examples, other settings or another evaluation are an error.

With --dev the measure is taken before, during and after training on queries
that are not learned from; the best weights are kept.

Settings: small-data takes 5 epochs, 32 queries a step with 3 negatives each,
a learning rate of 2e-5, cosines divided by 0.05, dropout 0.1; datafinder 2
epochs, 11 queries with 7 negatives, 5e-6, inner products, lengths 32 and 128.
In --config they are JSON with the fields of ir_dense::train's TrainingConfig;
options on the command line come after it:
  {\"epochs\": 3, \"loss\": {\"kind\": \"symmetric\", \"temperature\": 0.05}}";

/// The arguments of `ir train`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder of the model to begin with, or its name if it was downloaded (see `ir models`)
    model: PathBuf,

    /// File of training examples, as `ir mine` writes it
    examples: PathBuf,

    /// Collection whose documents the examples name by id
    #[arg(long, value_name = "COLLECTION", help_heading = "Examples")]
    texts: Option<String>,

    /// Field of the examples that has the query: keyphrase_query, say
    #[arg(
        long,
        default_value = "query",
        value_name = "FIELD",
        help_heading = "Examples"
    )]
    query_field: String,

    /// Text of a document of --texts and --dev, of its parts in braces, as in `ir mine`
    /// [default: '{title} {text}'; '{text}' for datafinder]
    #[arg(long, value_name = "TEXT", help_heading = "Examples")]
    template: Option<DocTemplate>,

    /// Leave out examples that cannot be learned from, and unknown ids
    #[arg(long, help_heading = "Examples")]
    leave_out: bool,

    /// Folder for the trained model
    #[arg(short = 'o', long, value_name = "FOLDER")]
    output: PathBuf,

    /// Folder of another model for documents, which is trained apart
    #[arg(long, value_name = "FOLDER")]
    document_model: Option<PathBuf>,

    /// Settings to begin with [default: small-data]
    #[arg(
        long,
        value_enum,
        value_name = "NAME",
        conflicts_with = "config",
        help_heading = "Settings"
    )]
    preset: Option<Preset>,

    /// File of settings in JSON, in place of the preset's
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    config: Option<PathBuf>,

    /// How often every example is seen
    #[arg(long, value_name = "N", help_heading = "Settings")]
    epochs: Option<u64>,

    /// Queries of a step
    #[arg(long, value_name = "N", help_heading = "Settings")]
    batch: Option<usize>,

    /// Negatives that every query brings
    #[arg(long, value_name = "N", help_heading = "Settings")]
    negatives: Option<usize>,

    /// Texts encoded at once: bounds memory, whatever --batch is
    #[arg(long, value_name = "N", help_heading = "Settings")]
    block: Option<usize>,

    /// The highest learning rate
    #[arg(long, value_name = "NUMBER", help_heading = "Settings")]
    learning_rate: Option<f64>,

    /// The share of steps over which the learning rate rises
    #[arg(long, value_name = "SHARE", help_heading = "Settings")]
    warmup: Option<f64>,

    /// The learning rate stays after the warm-up
    #[arg(long, help_heading = "Settings")]
    constant: bool,

    /// By which scores are divided before the softmax
    #[arg(long, value_name = "NUMBER", help_heading = "Settings")]
    temperature: Option<f64>,

    /// The share of elements that is dropped
    #[arg(long, value_name = "SHARE", help_heading = "Settings")]
    dropout: Option<f64>,

    /// Decides order and choice of examples
    #[arg(long, value_name = "N", help_heading = "Settings")]
    seed: Option<u64>,

    /// Tokens of a query that are kept
    #[arg(long, value_parser = positive, value_name = "N", help_heading = "Settings")]
    query_tokens: Option<usize>,

    /// Tokens of a document that are kept
    #[arg(long, value_parser = positive, value_name = "N", help_heading = "Settings")]
    document_tokens: Option<usize>,

    /// How tokens' vectors become a text's
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Settings")]
    pooling: Option<PoolingOption>,

    /// Collection with queries to evaluate on
    #[arg(long, value_name = "COLLECTION", help_heading = "Evaluation")]
    dev: Option<String>,

    /// Its split
    #[arg(
        long,
        default_value = "dev",
        value_name = "SPLIT",
        requires = "dev",
        help_heading = "Evaluation"
    )]
    dev_split: String,

    /// What is measured, as in `ir eval`
    #[arg(
        short = 'm',
        long,
        default_value = "nDCG@10",
        value_name = "MEASURE",
        requires = "dev",
        help_heading = "Evaluation"
    )]
    measure: Measure,

    /// Steps between evaluations [default: an epoch]
    #[arg(long, value_name = "N", requires = "dev", help_heading = "Evaluation")]
    evaluate_every: Option<u64>,

    /// Evaluations without a new best after which training stops; 0: it goes on
    /// [default: 2 of small-data; datafinder goes on]
    #[arg(long, value_name = "N", requires = "dev", help_heading = "Evaluation")]
    patience: Option<u64>,

    /// Form of its queries: their text, or their keyphrases where it has them
    #[arg(long, value_enum, default_value_t = QueryForm::Text, value_name = "FORM", requires = "dev", help_heading = "Evaluation")]
    query_form: QueryForm,

    /// A query does not find itself, the document of its id: for ArguAna and its like
    #[arg(long, requires = "dev", help_heading = "Evaluation")]
    remove_self: bool,

    /// Only documents that are not newer than their query, by the attribute `year`; an unknown
    /// year passes
    #[arg(long, requires = "dev", help_heading = "Evaluation")]
    not_later_than_query: bool,

    /// File for the history as CSV: step, epoch, learning rate, loss, gradient, measure
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    history: Option<PathBuf>,

    /// File for the curves of loss and measure as SVG
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    curves: Option<PathBuf>,

    /// Steps between checkpoints
    #[arg(long, default_value_t = 100, value_name = "N", help_heading = "Work")]
    checkpoint_every: u64,

    /// Checkpoints stay when the model is written
    #[arg(long, help_heading = "Work")]
    keep_checkpoints: bool,

    /// What computes: cpu, tch, tch-cuda:N, wgpu, vulkan, cuda:N, as far as compiled in
    /// [default: cpu, or as --config says]
    #[arg(long, value_name = "NAME", help_heading = "Work")]
    backend: Option<Backend>,

    /// Threads [default: one per core]
    #[arg(long, value_parser = positive, value_name = "N", help_heading = "Work")]
    threads: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Preset {
    /// For some hundreds of queries and a model that embeds sentences
    SmallData,
    /// The DataFinder paper's recipe, for SciBERT
    Datafinder,
}

impl Args {
    fn settings(&self) -> Result<TrainingConfig> {
        let mut config = match (&self.config, self.preset) {
            (Some(path), _) => {
                let name = path.display();
                let text = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
                serde_json::from_slice(&text).with_context(|| format!("{name}"))?
            }
            (None, None | Some(Preset::SmallData)) => TrainingConfig::small_data(),
            (None, Some(Preset::Datafinder)) => TrainingConfig::datafinder(),
        };
        fn set<T: Clone>(field: &mut T, option: &Option<T>) {
            if let Some(value) = option {
                field.clone_from(value);
            }
        }
        set(&mut config.epochs, &self.epochs);
        set(&mut config.batch, &self.batch);
        set(&mut config.negatives, &self.negatives);
        set(&mut config.learning_rate, &self.learning_rate);
        set(&mut config.schedule.warmup, &self.warmup);
        set(&mut config.dropout, &self.dropout);
        set(&mut config.seed, &self.seed);
        config.block = self.block.or(config.block);
        config.evaluate_every = self.evaluate_every.or(config.evaluate_every);
        config.patience = match self.patience {
            Some(0) => None,
            other => other.or(config.patience),
        };
        if self.constant {
            config.schedule.decay = Decay::Constant;
        }
        if let Some(value) = self.temperature {
            match &mut config.loss {
                Loss::Softmax { temperature }
                | Loss::Symmetric { temperature }
                | Loss::KlDivergence { temperature } => *temperature = value,
                _ => return Err(Usage("--temperature: the loss has none".into()).into()),
            }
        }
        let encoder = &mut config.encoder;
        encoder.backend = self.backend.unwrap_or(encoder.backend);
        encoder.pooling = self.pooling.map(Into::into).or(encoder.pooling);
        encoder.query.max_tokens = self.query_tokens.or(encoder.query.max_tokens);
        encoder.document.max_tokens = self.document_tokens.or(encoder.document.max_tokens);
        Ok(config)
    }
}

/// Runs `ir train`.
pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    use_threads(args.threads)?;
    if args.template.is_some() && args.texts.is_none() && args.dev.is_none() {
        let only = "--template is of use with --texts and --dev only";
        return Err(Usage(only.into()).into());
    }
    let checkpoints = destinations(args)?;
    let output = &args.output;
    let model = find_model(&args.model)?;
    let mut config = args.settings()?;
    config.encoder = model.complete(config.encoder);
    let dev_set = args
        .dev
        .as_deref()
        .map(|dev| DevSet::read(args, dev, &config))
        .transpose()?;
    let mut bar = console.bar();
    let data = examples::read(args, dev_set.as_ref(), &mut bar, console)?;
    if let Some(dev_set) = &dev_set {
        let learned = dev_set.learned(&data)?;
        if learned > 0 {
            console.warn(format_args!(
                "--dev: {learned} of {} queries are among the examples: the measure flatters",
                dev_set.len()
            ));
        }
    }
    let trainer = match &args.document_model {
        None => Trainer::open(&model.folder, &config)?,
        Some(documents) => {
            let documents = find_model(documents)?.folder;
            Trainer::open_untied(&model.folder, documents, &config)?
        }
    };
    let evaluation = dev_set
        .as_ref()
        .map(|dev_set| dev_set.evaluation(args, config.evaluate_every));
    let resumed = evaluation::settle(&checkpoints, evaluation.as_ref())?;
    if resumed {
        let kept = checkpoints.display();
        console.note(format_args!("going on with the checkpoint in {kept}"));
    }
    let trainer = trainer
        .with_checkpoints(&checkpoints)
        .with_checkpoint_every(args.checkpoint_every);

    let began = Instant::now();
    let trained = match &dev_set {
        None => trainer.train(&data, &mut bar),
        Some(dev_set) => {
            let mut evaluate = |encoder: &BiEncoder, step: u64| {
                let value = dev_set.evaluate(encoder)?;
                console.log(format_args!("step {step}: {} {value:.4}", args.measure));
                Ok(value)
            };
            trainer.train_and_evaluate(&data, &mut evaluate, &mut bar)
        }
    };
    bar.finish();
    let trained = match trained {
        Err(TrainError::Stopped { step, steps }) => {
            let kept = checkpoints.display();
            return Err(Unfinished(format!(
                "interrupted after {step} of {steps} steps, which {kept} keeps: the same command goes on from there"
            ))
            .into());
        }
        Err(error @ TrainError::OtherConfiguration { .. }) => {
            bail!("{error} ({})", evaluation::remedy(&checkpoints));
        }
        Err(error) => {
            evaluation::leave(&checkpoints);
            return Err(error.into());
        }
        Ok(trained) => trained,
    };
    write(args, &trained)?;
    if !args.keep_checkpoints {
        let _ = std::fs::remove_dir_all(&checkpoints);
    }
    let history = &trained.history;
    let best = history
        .best()
        .map(|best| format!(", {} {:.4}", args.measure, best.value));
    console.log(format_args!(
        "{}: {} examples, weights after {} of {} steps{}, {:.1} s{}",
        output.display(),
        grouped(data.len() as u64),
        grouped(trained.step),
        grouped(history.steps.len() as u64),
        best.unwrap_or_default(),
        began.elapsed().as_secs_f64(),
        if resumed {
            " since the last checkpoint"
        } else {
            ""
        }
    ));
    let ran = history.steps.len() as u64;
    if trained.stopped_early {
        console.log(format_args!(
            "stopped early, after {} of {} steps: {} evaluations without a new best (--patience)",
            grouped(ran),
            grouped(config.steps(data.len())),
            config.patience.unwrap_or_default(),
        ));
    }
    if ran > 0 && history.steps.iter().all(|step| step.learning_rate == 0.0) {
        console.warn(
            "nothing was learned: the learning rate was 0 in every step, as there are fewer than the warm-up takes (--warmup 0)",
        );
    } else if trained.step == 0 && ran > 0 {
        console.warn(format_args!(
            "{}: nothing was better than the beginning, whose weights these are",
            output.display()
        ));
    }
    Ok(())
}

/// The folder of the checkpoints, after a look at all places that are written to in the end.
fn destinations(args: &Args) -> Result<PathBuf> {
    let output = &args.output;
    let shown = output.display();
    let Some(name) = output.file_name() else {
        bail!("{shown}: expected a new folder with a name, found one that is there");
    };
    if output.exists() {
        let Ok(mut entries) = std::fs::read_dir(output) else {
            bail!("{shown}: expected a new folder, found a file");
        };
        if entries.next().is_some() {
            bail!("{shown}: expected a new folder, found one with files in it");
        }
    }
    if args.history.is_some() && args.history == args.curves {
        return Err(Usage("--history, --curves: expected two files, found one".into()).into());
    }
    let files = [("--history", &args.history), ("--curves", &args.curves)];
    for (option, path) in files {
        let Some(path) = path.as_deref() else {
            continue;
        };
        if path.parent() == Some(output) {
            return Err(Usage(format!(
                "{option}: expected a file outside of {shown}, which is written in one go"
            ))
            .into());
        }
        if path != Path::new("-") && !is_stream(path) {
            drop(Sink::open(Some(path))?);
        }
    }
    let mut checkpoints = name.to_owned();
    checkpoints.push(".checkpoints");
    Ok(output.with_file_name(checkpoints))
}

fn write(args: &Args, trained: &Trained) -> Result<()> {
    if let Some(path) = &args.history {
        save(path, &trained.history.to_csv())?;
    }
    if let Some(path) = &args.curves {
        save(path, &trained.history.to_svg(&args.measure.to_string()))?;
    }
    trained.encoder.save(&args.output)?;
    Ok(())
}

fn save(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    let mut sink = Sink::open(Some(path))?;
    let failed = || format!("{}: could not be written", path.display());
    sink.write_all(text.as_bytes()).with_context(failed)?;
    sink.commit()
}
