//! `ir train`: fine-tunes a bi-encoder.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use ir_bm25::Verify;
use ir_core::{DocIds, DocNum, Encoded, Encoder, Qrels, Query, Run, Side, TrainingSet};
use ir_data::DocTemplate;
use ir_data::training::{Texts, TrainingFile, TrainingForm};
use ir_dense::train::{Decay, Loss, TrainError, Trained, Trainer, TrainingConfig};
use ir_dense::{Backend, BiEncoder};
use ir_eval::{Evaluator, Measure};
use ir_knn::{FlatIndex, Similarity};

use crate::args::positive;
use crate::console::{Console, Unfinished, Usage, stop_on_interrupt};
use crate::datasets::grouped;
use crate::encode::Pool;
use crate::index::use_threads;
use crate::models;
use crate::sink::Sink;
use crate::source::{Layout, Source, find};

const EXAMPLES: &str = "\
Examples:
  ir mine beir/nfcorpus -o train.jsonl
  ir train all-MiniLM-L6-v2 train.jsonl -o tuned
  ir train all-MiniLM-L6-v2 train.jsonl -o tuned --dev beir/nfcorpus \\
      --measure nDCG@10 --curves curves.svg --history history.csv
  ir train scibert train.jsonl -o tuned --preset datafinder
  ir train e5-small-v2 pairs.jsonl -o tuned --batch 512 --block 16
  ir train all-MiniLM-L6-v2 train.jsonl -o tuned --config settings.json

Examples to learn from are JSON lines as `ir mine` writes them: query, and
positives and negatives (or positive_passages and negative_passages).

The output is a folder that `ir encode` and sentence-transformers read.
Until it is there, checkpoints are kept in the folder that has its name and
`.checkpoints` after it: interrupted, killed or out of power, the same command
goes on where it was, and ends with the same bytes. Checkpoints of another
model, other examples or other settings are an error.

With --dev the measure is taken before, during and after training on queries
that are not learned from; the best weights are kept.

Settings in --config are JSON with the fields of ir_dense::train's
TrainingConfig; options on the command line come after it.";

/// The arguments of `ir train`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder of the model to begin with, or its name if it was downloaded (see `ir models`)
    model: PathBuf,

    /// File of training examples, as `ir mine` writes it
    examples: PathBuf,

    /// Folder for the trained model
    #[arg(short = 'o', long, value_name = "FOLDER")]
    output: PathBuf,

    /// Folder of another model for documents, which is trained apart
    #[arg(long, value_name = "FOLDER")]
    document_model: Option<PathBuf>,

    /// Settings to begin with
    #[arg(long, value_enum, default_value_t = Preset::SmallData, value_name = "NAME", help_heading = "Settings")]
    preset: Preset,

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
    pooling: Option<Pool>,

    /// Collection with queries to evaluate on
    #[arg(long, value_name = "COLLECTION", help_heading = "Evaluation")]
    dev: Option<String>,

    /// Its split
    #[arg(
        long,
        default_value = "dev",
        value_name = "SPLIT",
        help_heading = "Evaluation"
    )]
    dev_split: String,

    /// What is measured, as in `ir eval`
    #[arg(
        short = 'm',
        long,
        default_value = "nDCG@10",
        value_name = "MEASURE",
        help_heading = "Evaluation"
    )]
    measure: Measure,

    /// Steps between evaluations [default: an epoch]
    #[arg(long, value_name = "N", help_heading = "Evaluation")]
    evaluate_every: Option<u64>,

    /// Evaluations without a new best after which training stops; 0: it goes on
    #[arg(long, value_name = "N", help_heading = "Evaluation")]
    patience: Option<u64>,

    /// Text of a document, of its parts in braces, as in `ir mine` [default: '{title} {text}';
    /// '{text}' for datafinder]
    #[arg(long, value_name = "TEXT", help_heading = "Evaluation")]
    template: Option<DocTemplate>,

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
    #[arg(
        long,
        default_value = "cpu",
        value_name = "NAME",
        help_heading = "Work"
    )]
    backend: Backend,

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
            (None, Preset::SmallData) => TrainingConfig::small_data(),
            (None, Preset::Datafinder) => TrainingConfig::datafinder(),
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
        encoder.backend = self.backend;
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
    let output = &args.output;
    if std::fs::read_dir(output).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!(
            "{}: expected a new folder, found one with files in it",
            output.display()
        );
    }
    let model = models::find(&args.model)?;
    let mut config = args.settings()?;
    config.encoder = model.complete(config.encoder);
    let held_back = args
        .dev
        .as_deref()
        .map(|dev| HeldBack::read(args, dev, &config))
        .transpose()?;
    let mut bar = console.bar();
    let data = examples(args, &held_back, &mut bar)?;
    let trainer = match &args.document_model {
        None => Trainer::open(&model.folder, &config)?,
        Some(documents) => {
            let documents = models::find(documents)?.folder;
            Trainer::open_untied(&model.folder, documents, &config)?
        }
    };
    let mut checkpoints = output.clone().into_os_string();
    checkpoints.push(".checkpoints");
    let trainer = trainer
        .with_checkpoints(&checkpoints)
        .with_checkpoint_every(args.checkpoint_every);

    let began = Instant::now();
    let trained = match &held_back {
        None => trainer.train(&data, &mut bar),
        Some(held_back) => {
            let mut evaluate = |encoder: &BiEncoder, step: u64| {
                let value = held_back.evaluate(encoder)?;
                console.note(format_args!("step {step}: {} {value:.4}", args.measure));
                Ok(value)
            };
            trainer.train_and_evaluate(&data, &mut evaluate, &mut bar)
        }
    };
    bar.finish();
    let trained = match trained {
        Err(TrainError::Stopped { step, steps }) => {
            let kept = Path::new(&checkpoints).display();
            return Err(Unfinished(format!(
                "interrupted after {step} of {steps} steps, which {kept} keeps: the same command goes on from there"
            ))
            .into());
        }
        other => other?,
    };
    write(args, &trained)?;
    if !args.keep_checkpoints {
        let _ = std::fs::remove_dir_all(&checkpoints);
    }
    let history = &trained.history;
    let best = history
        .best()
        .map(|best| format!(", {} {:.4}", args.measure, best.value));
    console.note(format_args!(
        "{}: {} examples, weights after {} of {} steps{}, {:.1} s",
        output.display(),
        grouped(data.len() as u64),
        grouped(trained.step),
        grouped(history.steps.len() as u64),
        best.unwrap_or_default(),
        began.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// What is learned from. Ids without texts are those of the collection that is evaluated on.
fn examples(
    args: &Args,
    held_back: &Option<HeldBack>,
    bar: &mut crate::console::Bar,
) -> Result<TrainingFile> {
    let mut form = TrainingForm::default();
    if let Some(held_back) = held_back {
        form = form.with_texts(Arc::clone(&held_back.texts));
    }
    Ok(TrainingFile::open_watched(&args.examples, form, bar)?)
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

/// A collection whose queries are not learned from.
struct HeldBack {
    texts: Arc<Texts>,
    queries: Vec<Query>,
    qrels: Qrels,
    measure: Measure,
    similarity: Similarity,
}

/// Documents that are looked at per query.
const DEPTH: usize = 1000;

impl HeldBack {
    fn read(args: &Args, dev: &str, config: &TrainingConfig) -> Result<Self> {
        let documents = match find(dev, Verify::Tables)? {
            Source::Documents(documents) => documents,
            Source::Index(_) => bail!("{dev}: expected documents, found an index"),
        };
        let template = match (&args.template, documents.layout) {
            (Some(template), _) => template.clone(),
            (None, Layout::Text) => DocTemplate::text(),
            (None, Layout::One | Layout::Separate) => DocTemplate::default(),
        };
        let collection = &documents.collection;
        Ok(Self {
            queries: collection.queries(&args.dev_split)?,
            qrels: collection.qrels(&args.dev_split)?,
            texts: Arc::new(Texts::read(collection.corpus(), &template)?),
            measure: args.measure,
            similarity: match config.similarity {
                ir_dense::train::Similarity::Cosine => Similarity::Cosine,
                _ => Similarity::InnerProduct,
            },
        })
    }

    /// The mean of the measure over the queries.
    fn evaluate(&self, encoder: &BiEncoder) -> Result<f64, Box<dyn Error + Send + Sync>> {
        // Of several records with one id the first counts.
        let all = self.texts.ids();
        let firsts: Vec<DocNum> = (0..all.len() as u32)
            .map(DocNum::new)
            .filter(|&doc| all.get(all.id(doc)) == Some(doc))
            .collect();
        let texts: Vec<&str> = firsts.iter().map(|&doc| self.texts.text(doc)).collect();
        let vectors = encoder.encode(Side::Document, &texts)?;
        let ids: DocIds = firsts.iter().map(|&doc| all.id(doc)).collect();
        let index = FlatIndex::new(ids, encoder.dim(), vectors, self.similarity)?;
        let run = Run::of("dev", &Encoded::new(encoder, index), &self.queries, DEPTH)?;
        let report = Evaluator::new(&self.qrels, &[self.measure])?.evaluate(&run)?;
        let values = report.values(self.measure).into_iter().flatten();
        let (sum, count) =
            values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        Ok(sum / f64::max(count, 1.0))
    }
}
