//! Peak resident memory of an encoder, in every precision, each in a process of its own.
//!
//! The texts are the first documents of ArguAna or, without `IR_DATA`, of the bundled collection,
//! repeated, truncated to 256 tokens; the model is `IR_MODEL`. Columns: CPU time to open the model,
//! the least of `--opens`; peak after opening it, after 64 texts one by one, after `--texts` texts
//! in batches, and after four times as many, in MB; the bound, 1.3 times the weight file plus 64
//! MB; a hash of all vectors, to compare builds.
//!
//! ```sh
//! IR_MODEL=$(.ci/model) cargo bench -p bench-encoding --bench memory [-- --texts 200]
//!         [--threads 1] [--opens 5] [--random-model bert-base]
//! ```
//! `--random-model` creates a model as for the benchmark `onnx_runtime`, instead of `IR_MODEL`.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

#[allow(
    dead_code,
    reason = "workloads are those of the benchmark onnx_runtime"
)]
mod texts;
#[allow(
    dead_code,
    reason = "workloads are those of the benchmark onnx_runtime"
)]
mod workloads;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use bench_common::{Clock, Options};
use ir_core::{Encoder, Fnv1a, Side};
use ir_data::DocTemplate;
use ir_data::catalog::Catalog;
use ir_dense::{BiEncoder, EncoderConfig, Precision};
use workloads::{Texts, create_model};

fn main() -> Result<()> {
    let options = Options::parse("--texts --threads --opens --precision --random-model")?;
    let folder = tempfile::tempdir()?;
    let model = match options.value("--random-model") {
        Some(shape) => {
            let path = folder.path().join("model");
            create_model(&path, shape, &Texts::read()?)?;
            path
        }
        None => {
            let model = env::var_os("IR_MODEL");
            PathBuf::from(model.context("expected IR_MODEL, a model folder, or --random-model")?)
        }
    };
    let texts: usize = options.number("--texts", 200)?;
    let threads: usize = options.number("--threads", 1)?;
    let opens: usize = options.number("--opens", 5)?;
    if let Some(precision) = options.value("--precision") {
        return measure(&model, precision.parse()?, texts, [threads, opens]);
    }
    let weights = ["model.safetensors", "pytorch_model.bin"].map(|name| model.join(name));
    let weights = weights.iter().find_map(|path| fs::metadata(path).ok());
    let weights = weights.context("the model has no weight file")?.len() as f64 / 1e6;
    println!("weights: {weights:.1} MB, {threads} thread(s)\n");
    println!(
        "{:<10}{:>10}{:>10}{:>10}{:>12}{:>12}{:>10}  hash",
        "",
        "open",
        "opened",
        "64 single",
        texts,
        4 * texts,
        "bound"
    );
    for precision in Precision::ALL {
        let status = Command::new(env::current_exe()?)
            .env("IR_MODEL", &model)
            .args(["--precision", precision.name()])
            .args(["--texts", &texts.to_string()])
            .args(["--threads", &threads.to_string()])
            .args(["--opens", &opens.to_string()])
            .status()?;
        ensure!(status.success(), "{precision} failed");
    }
    Ok(())
}

/// Child process: opens the encoder and encodes.
fn measure(
    model: &Path,
    precision: Precision,
    texts: usize,
    [threads, opens]: [usize; 2],
) -> Result<()> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;
    let catalog = Catalog::from_env();
    let real = catalog.has("beir/arguana")?;
    let collection = catalog.open(if real { "beir/arguana" } else { "bundled" })?;
    let template = DocTemplate::default();
    let mut documents = Vec::new();
    while documents.len() < texts {
        for document in collection.corpus().docs()?.take(texts - documents.len()) {
            documents.push(template.render(&document?));
        }
    }
    drop(collection);
    let config = EncoderConfig::default()
        .with_max_tokens(256)
        .with_precision(precision);
    let mut seconds = f64::INFINITY;
    let mut open = || {
        let clock = Clock::thread();
        let encoder = BiEncoder::open_with(model, &config);
        std::thread::yield_now();
        seconds = seconds.min(clock.seconds().cpu);
        encoder
    };
    let encoder = open()?;
    let mut peaks = vec![peak()?];
    let mut hash = Fnv1a::new();
    let mut encode = |texts: &[&str]| -> Result<()> {
        for value in encoder.encode(Side::Document, texts)? {
            hash.write(&value.to_bits().to_le_bytes());
        }
        Ok(())
    };
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    for text in documents.iter().take(64) {
        encode(&[text])?;
    }
    peaks.push(peak()?);
    encode(&documents)?;
    peaks.push(peak()?);
    // Chunks as long as those of `encode_stream`.
    for _ in 0..3 {
        documents.chunks(64).try_for_each(&mut encode)?;
    }
    peaks.push(peak()?);
    for _ in 1..opens {
        open()?;
    }
    let weights = ["model.safetensors", "pytorch_model.bin"].map(|name| model.join(name));
    let weights = weights.iter().find_map(|path| fs::metadata(path).ok());
    let bound = 1.3 * weights.context("the model has no weight file")?.len() as f64 / 1e6 + 64.0;
    println!(
        "{:<10}{seconds:>8.3} s{:>10.1}{:>10.1}{:>12.1}{:>12.1}{bound:>10.1}  {:016x}",
        precision.name(),
        peaks[0],
        peaks[1],
        peaks[2],
        peaks[3],
        hash.finish()
    );
    Ok(())
}

/// Peak resident memory of this process in MB.
fn peak() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("VmHWM")?.parse::<f64>()? * 1024.0 / 1e6)
}
