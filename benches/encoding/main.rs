//! Encoding and training steps beside sentence-transformers and PyTorch, in alternating rounds.
//!
//! The texts are the first documents of ArguAna or, without `IR_DATA`, of the bundled collection,
//! repeated; the model is `IR_MODEL`. Both sides encode the same texts in the same order with the
//! model's maximum length. A training step has `--batch` texts of 64 tokens, half of other queries
//! and half positives.
//!
//! ```sh
//! python3 -m venv venv
//! venv/bin/pip install torch==2.9.0 transformers==4.57.1 sentence-transformers==5.1.2
//! IR_DATA=/path/to/collections IR_MODEL=$(.ci/model) IR_DENSE_PYTHON=$PWD/venv/bin/python \
//!     cargo bench -p bench-encoding --bench encoding [-- --texts 200] [--batch 16]
//!         [--mini-batch N] [--threads 1] [--rounds 3] [--backend cpu]
//! ```
//! `--texts 0` skips encoding, `--batch 0` skips training. `--mini-batch` is the mini-batch size of
//! gradient caching. Without `IR_DENSE_PYTHON`, only ir-dense is timed. Backends other than `cpu`
//! need their feature: `--features tch`.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bench_common::{Clock, Options, Python, Seconds};
use ir_core::training::{TrainingExample, TrainingText};
use ir_core::{Encoder, Flow, Side};
use ir_data::DocTemplate;
use ir_data::catalog::Catalog;
use ir_dense::train::{Trainer, TrainingConfig};
use ir_dense::{Backend, BiEncoder, EncoderConfig};

fn main() -> Result<()> {
    let options = Options::parse("--texts --batch --mini-batch --threads --rounds --backend")?;
    let backend: Backend = options.value("--backend").unwrap_or("cpu").parse()?;
    let threads: usize = options.number("--threads", 1)?;
    let rounds: usize = options.number("--rounds", 3)?;
    let batch: usize = options.number("--batch", 16)?;
    let mini_batch: usize = options.number("--mini-batch", batch)?;
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
            let (threads, batch) = (threads.to_string(), batch.to_string());
            let arguments = [
                model.as_os_str(),
                file.as_ref(),
                threads.as_ref(),
                batch.as_ref(),
            ];
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
        let encoder =
            BiEncoder::open_with(&model, &EncoderConfig::default().with_backend(backend))?;
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
        print_rows(backend, &ours, peer_name.as_deref(), &theirs, |s| {
            tokens as f64 / s
        });
    }
    if batch > 1 {
        println!(
            "\ntraining step, {batch} texts of 64 tokens, mini-batches of {mini_batch}: seconds"
        );
        let ours = time_training_steps(&model, backend, batch, mini_batch, rounds)?;
        let mut theirs = Vec::new();
        if let Some(peer) = &mut peer {
            for _ in &ours {
                theirs.push(peer.ask("step")?);
            }
        }
        print_rows(backend, &ours, peer_name.as_deref(), &theirs, |s| s);
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

/// Times of the training steps. An epoch has one step.
fn time_training_steps(
    model: &Path,
    backend: Backend,
    batch: usize,
    mini_batch: usize,
    rounds: usize,
) -> Result<Vec<Seconds>> {
    let half = batch / 2;
    // Every word is a token, so that all texts are truncated at the maximum length.
    let words = [
        "ship", "sea", "tea", "black", "seen", "data", "house", "river",
    ];
    let text = |n: usize| -> String {
        let words = (0..64).map(|at| words[(n + at * (n + 3)) % words.len()]);
        words.collect::<Vec<_>>().join(" ") + &format!(" {n}")
    };
    let example = |n| {
        TrainingExample::new(text(2 * n))
            .positive(TrainingText::new(format!("{n} {}", text(2 * n + 1))))
    };
    let data: Vec<TrainingExample> = (0..half).map(example).collect();
    let mut config = TrainingConfig::small_data();
    config.encoder = EncoderConfig::default()
        .with_backend(backend)
        .with_max_tokens(64);
    (config.batch_size, config.hard_negatives, config.dropout) = (half, 0, 0.0);
    config.mini_batch_size = Some(mini_batch);
    config.epochs = rounds as u64 + 1;
    let mut clock = Clock::process();
    let mut steps = Vec::new();
    let mut progress = |_: &str, done: u64, _: Option<u64>| {
        if done > 0 {
            steps.push(clock.seconds());
        }
        clock = Clock::process();
        Flow::Continue
    };
    Trainer::open(model, &config)?.train(&data, &mut progress)?;
    Ok(steps)
}

/// Prints one row per library, without the warm-up round, and the ratio.
fn print_rows(
    backend: Backend,
    ours: &[Seconds],
    peer: Option<&str>,
    theirs: &[Seconds],
    unit: impl Fn(f64) -> f64,
) {
    let median = |all: &[Seconds]| Seconds::median(all.iter().skip(1).copied());
    let ir = median(ours);
    let row = |name: &str, time: Seconds| {
        let (cpu, wall) = (unit(time.cpu), unit(time.wall));
        let decimals = if cpu > 100.0 { 0 } else { 2 };
        print!("  {name:<46}{cpu:>9.decimals$}{wall:>9.decimals$}");
    };
    row(&format!("ir-dense, {backend}"), ir);
    if let (Some(name), false) = (peer, theirs.is_empty()) {
        let other = median(theirs);
        println!(
            "   ratio {:.2} {:.2}",
            other.cpu / ir.cpu,
            other.wall / ir.wall
        );
        row(name, other);
    }
    println!();
}

/// Peak resident memory of this process in MiB.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or_default() / 1024
}
