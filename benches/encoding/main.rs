//! Encoding and training steps beside sentence-transformers and PyTorch, in alternating rounds.
//!
//! The texts are the first documents of ArguAna or, without `IR_DATA`, of the bundled collection,
//! repeated; the model is `IR_MODEL`. Both sides encode the same texts in the same order with the
//! model's maximum length. Training steps have two shapes: `--batch` texts of 64 tokens, half
//! queries and half positives, with mean pooling and cosines; and that of DataFinder, `--queries`
//! queries of 32 tokens with eight documents of 128 tokens each, `[CLS]` vectors and inner
//! products. The loss is the softmax over all documents, without dropout, and weight decay is 0.01.
//! All sides take turns, step by step. Every step of ir-dense has new texts of words drawn from the
//! vocabulary of the model, and every step of the peer new random ids, so that both use most rows
//! of the embedding table. Tokenization is in the time of ir-dense alone.
//!
//! ```sh
//! python3 -m venv venv
//! venv/bin/pip install torch==2.9.0 transformers==4.57.1 sentence-transformers==5.1.2
//! IR_DATA=/path/to/collections IR_MODEL=$(.ci/model) IR_DENSE_PYTHON=$PWD/venv/bin/python \
//!     cargo bench -p bench-encoding --bench encoding [-- --texts 200] [--batch 16] [--queries 11]
//!         [--mini-batch N] [--precision f32,bf16] [--threads 1] [--rounds 3] [--backend cpu]
//!         [--batch-tokens N] [--peer-device cpu] [--peer-precision f32] [--peer-batch 32]
//! ```
//! `--texts 0` skips encoding, `--batch 0` and `--queries 0` a training step. `--mini-batch` is the
//! mini-batch size of gradient caching, `--precision` one or more precisions of training,
//! `--batch-tokens` the token budget of a batch of encoding. Without `IR_DENSE_PYTHON`, only
//! ir-dense is timed. Backends other than `cpu` need their feature: `--features tch`. The peer
//! encodes on a device of PyTorch (`cuda`) in batches of `--peer-batch` texts. With
//! `--peer-precision bf16` it encodes with weights in bf16 and trains with automatic mixed
//! precision.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use bench_common::{Clock, Options, Python, Seconds};
use ir_core::training::{TrainingExample, TrainingText};
use ir_core::{Encoder, Flow, Side, SplitMix64};
use ir_data::DocTemplate;
use ir_data::catalog::Catalog;
use ir_dense::train::{Trainer, TrainingConfig};
use ir_dense::{Backend, BiEncoder, EncoderConfig, Precision};

fn main() -> Result<()> {
    let options = Options::parse(
        "--texts --batch --queries --mini-batch --precision --threads --rounds --backend \
         --batch-tokens --peer-device --peer-precision --peer-batch",
    )?;
    let precisions = options.value("--precision").unwrap_or("f32").split(',');
    let precisions: Vec<Precision> = precisions.map(str::parse).collect::<Result<_, _>>()?;
    let backend: Backend = options.value("--backend").unwrap_or("cpu").parse()?;
    let threads: usize = options.number("--threads", 1)?;
    let rounds: usize = options.number("--rounds", 3)?;
    let batch: usize = options.number("--batch", 16)?;
    let queries: usize = options.number("--queries", 11)?;
    let mini_batch: usize = options.number("--mini-batch", usize::MAX)?;
    let config = EncoderConfig::default().with_backend(backend);
    let batch_tokens = options.number("--batch-tokens", config.batch_tokens)?;
    let config = config.with_batch_tokens(batch_tokens);
    let model = env::var_os("IR_MODEL").context("IR_MODEL is not set: expected a model folder")?;
    let model = PathBuf::from(model);
    let texts = read_texts(options.number("--texts", 200)?)?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;

    let folder = tempfile::tempdir()?;
    let file = folder.path().join("texts.json");
    fs::write(&file, serde_json::to_vec(&texts)?)?;
    let mut peer = match env::var_os("IR_DENSE_PYTHON") {
        Some(python) => {
            let threads = threads.to_string();
            let mut arguments = vec![model.as_os_str(), file.as_ref(), threads.as_ref()];
            for (name, default) in [
                ("--peer-device", "cpu"),
                ("--peer-precision", "f32"),
                ("--peer-batch", "32"),
            ] {
                arguments.push(options.value(name).unwrap_or(default).as_ref());
            }
            Some(Python::start(
                Path::new(&python),
                "encoding/torch_peer.py",
                arguments,
            )?)
        }
        None => {
            eprintln!("IR_DENSE_PYTHON is not set: timing ir-dense only");
            None
        }
    };
    let peer_name = peer.as_mut().map(Python::line).transpose()?;
    println!(
        "medians of {rounds} rounds after a warm-up round, {threads} thread(s); CPU time, wall time"
    );

    if !texts.is_empty() {
        let encoder = BiEncoder::open_with(&model, &config)?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut tokens = 0;
        for text in &texts {
            tokens += encoder.token_ids(Side::Document, text)?.len();
        }
        println!(
            "\nencoding {} texts, {tokens} tokens: tokens per second",
            texts.len()
        );
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..=rounds {
            let clock = Clock::process();
            encoder.encode(Side::Document, &texts)?;
            ours.push(clock.seconds());
            if let Some(peer) = &mut peer {
                theirs.push(peer.ask("encode")?);
            }
        }
        let ours = [(format!("ir-dense, {backend}"), ours)];
        print_rows(&ours, peer_name.as_deref(), &theirs, |s| tokens as f64 / s);
    }
    let words = read_words(&model)?;
    let shapes = [Shape::pairs(batch / 2), Shape::datafinder(queries)];
    for shape in shapes.iter().filter(|shape| shape.queries > 0) {
        println!("\ntraining step, {}: seconds", shape.name);
        let mut config = shape.config();
        config.encoder = config.encoder.with_backend(backend);
        if mini_batch < usize::MAX {
            config.mini_batch_size = Some(mini_batch);
        }
        let configs = precisions.iter().map(|&precision| {
            let mut config = config.clone();
            config.precision = precision;
            config
        });
        let configs: Vec<TrainingConfig> = configs.collect();
        let data = shape.examples(rounds + 1, &words);
        let (ours, theirs) = time_training_steps(&model, &data, &configs, || {
            peer.as_mut().map(|peer| peer.ask(&shape.request()))
        })?;
        let names = precisions
            .iter()
            .map(|precision| format!("ir-dense, {backend}, {precision}"));
        let ours: Vec<(String, Vec<Seconds>)> = names.zip(ours).collect();
        print_rows(&ours, peer_name.as_deref(), &theirs, |s| s);
    }
    println!("\npeak resident memory: {} MiB", peak_memory());
    Ok(())
}

/// First documents of ArguAna, or bundled documents repeated to the same number.
fn read_texts(count: usize) -> Result<Vec<String>> {
    let catalog = Catalog::from_env();
    let real = catalog.has("beir/arguana")?;
    let collection = catalog.open(if real { "beir/arguana" } else { "bundled" })?;
    let template = DocTemplate::default();
    let mut texts = Vec::new();
    while texts.len() < count {
        for document in collection.corpus().docs()?.take(count - texts.len()) {
            texts.push(template.render(&document?));
        }
    }
    Ok(texts)
}

/// Lower-case words of the vocabulary of a model, each of which is one token.
fn read_words(model: &Path) -> Result<Vec<String>> {
    let path = model.join("vocab.txt");
    let vocabulary = fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
    let is_word = |line: &&str| line.len() > 1 && line.bytes().all(|it| it.is_ascii_lowercase());
    let words: Vec<String> = vocabulary
        .lines()
        .filter(is_word)
        .map(str::to_owned)
        .collect();
    ensure!(
        !words.is_empty(),
        "{}: expected words, found none",
        path.display()
    );
    Ok(words)
}

/// Texts of a training step.
struct Shape {
    name: String,
    queries: usize,
    query_tokens: usize,
    /// Documents per query, the first of them relevant.
    documents: usize,
    document_tokens: usize,
    config: fn() -> TrainingConfig,
}

impl Shape {
    fn pairs(queries: usize) -> Self {
        Self {
            name: format!("{} texts of 64 tokens", 2 * queries),
            queries,
            query_tokens: 64,
            documents: 1,
            document_tokens: 64,
            config: || {
                let mut config = TrainingConfig::small_data();
                config.encoder = EncoderConfig::default().with_max_tokens(64);
                config
            },
        }
    }

    fn datafinder(queries: usize) -> Self {
        Self {
            name: format!("{queries} queries of 32 tokens with 8 documents of 128 tokens each"),
            queries,
            query_tokens: 32,
            documents: 8,
            document_tokens: 128,
            config: TrainingConfig::datafinder,
        }
    }

    /// Configuration without dropout and with the weight decay of the peer, for one epoch.
    fn config(&self) -> TrainingConfig {
        let mut config = (self.config)();
        config.batch_size = self.queries;
        config.hard_negatives = self.documents - 1;
        config.dropout = 0.0;
        config.optimizer.weight_decay = 0.01;
        config.epochs = 1;
        config
    }

    /// Examples of a number of steps. Texts have as many random words as they may have tokens, so
    /// that they are truncated.
    fn examples(&self, steps: usize, words: &[String]) -> Vec<TrainingExample> {
        let mut random = SplitMix64::new(1, 0);
        let mut text = |tokens: usize| -> String {
            let words = (0..tokens).map(|_| &*words[random.below(words.len())]);
            words.collect::<Vec<_>>().join(" ")
        };
        let mut example = || {
            let example = TrainingExample::new(text(self.query_tokens));
            let mut document = || TrainingText::new(text(self.document_tokens));
            let example = example.positive(document());
            (1..self.documents).fold(example, |example, _| example.negative(document()))
        };
        (0..steps * self.queries).map(|_| example()).collect()
    }

    /// Request to the peer.
    fn request(&self) -> String {
        let Self {
            queries,
            query_tokens,
            documents,
            document_tokens,
            ..
        } = self;
        format!("step {queries} {query_tokens} {documents} {document_tokens}")
    }
}

/// Times of the training steps of every configuration and of the peer, which take turns.
fn time_training_steps(
    model: &Path,
    data: &Vec<TrainingExample>,
    configs: &[TrainingConfig],
    mut ask_peer: impl FnMut() -> Option<Result<Seconds>>,
) -> Result<(Vec<Vec<Seconds>>, Vec<Seconds>)> {
    let (mut ours, mut theirs) = (vec![Vec::new(); configs.len()], Vec::new());
    thread::scope(|scope| {
        let mut trainers = Vec::new();
        for config in configs {
            let trainer = Trainer::open(model, config)?;
            let (start, started) = mpsc::sync_channel::<()>(0);
            let (finish, finished) = mpsc::channel();
            let thread = scope.spawn(move || {
                let mut clock = Clock::process();
                let mut progress = |_: &str, done: u64, _: Option<u64>| {
                    if done > 0 {
                        let _ = finish.send(clock.seconds());
                    }
                    // An error after the last step, which ends training.
                    if started.recv().is_err() {
                        return Flow::Stop;
                    }
                    clock = Clock::process();
                    Flow::Continue
                };
                trainer.train(data, &mut progress).map(drop)
            });
            trainers.push((start, finished, thread));
        }
        let steps = data.len() / configs.first().map_or(1, |config| config.batch_size);
        for _ in 0..steps {
            for ((start, finished, _), ours) in trainers.iter().zip(&mut ours) {
                // Errors if the trainer has failed, which is returned below.
                if start.send(()).is_ok() {
                    ours.extend(finished.recv());
                }
            }
            if let Some(seconds) = ask_peer() {
                theirs.push(seconds?);
            }
        }
        for (start, _, thread) in trainers {
            drop(start);
            match thread.join() {
                Ok(trained) => trained?,
                Err(_) => bail!("training panicked"),
            }
        }
        Ok((ours, theirs))
    })
}

/// Prints the median of every configuration and of the peer, without the warm-up round, and the
/// ratios of their rates.
fn print_rows(
    ours: &[(String, Vec<Seconds>)],
    peer: Option<&str>,
    theirs: &[Seconds],
    unit: impl Fn(f64) -> f64,
) {
    let median = |all: &[Seconds]| Seconds::median(all.iter().skip(1).copied());
    let row = |name: &str, time: Seconds| {
        let (cpu, wall) = (unit(time.cpu), unit(time.wall));
        let decimals = if cpu > 100.0 { 0 } else { 2 };
        print!("  {name:<46}{cpu:>9.decimals$}{wall:>9.decimals$}");
    };
    let other = match (peer, theirs.is_empty()) {
        (Some(name), false) => Some((name, median(theirs))),
        _ => None,
    };
    for (name, times) in ours {
        let ir = median(times);
        row(name, ir);
        if let Some((_, other)) = other {
            let ratios = [other.cpu / ir.cpu, other.wall / ir.wall];
            print!("   ratio {:.2} {:.2}", ratios[0], ratios[1]);
        }
        println!();
    }
    if let Some((name, other)) = other {
        row(name, other);
        println!();
    }
}

/// Peak resident memory of this process in MiB.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or_default() / 1024
}
