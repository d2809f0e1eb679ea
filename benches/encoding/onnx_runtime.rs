//! Encoding beside ONNX Runtime with a graph of its fused operators, and beside OpenVINO, in
//! alternating rounds.
//!
//! The model is `IR_MODEL`, a BERT folder with mean pooling and L2 normalization, or randomly
//! initialized: `--random-model bert-base` has the shape of BERT-base and SciBERT (768 dimensions,
//! 12 layers, 12 heads, 3,072 inner dimensions), `--random-model 64,2,2` these dimensions, layers
//! and heads.
//!
//! Workloads: the first documents of ArguAna, truncated to 256 tokens, in batches of similar length
//! (`--documents`); the first queries of NFCorpus in batches (`--queries`), and the first of them
//! one by one (`--single`). With `--lengths 32,128,512` instead, texts of exactly so many tokens:
//! words of the documents, `--length-tokens` tokens per length. Without `IR_DATA`, texts are those
//! of the bundled collection, repeated.
//!
//! Every precision is timed in every round: f32, bf16 and int8 of ir-dense, f32 and dynamically
//! quantized int8 of ONNX Runtime, f32 and calibrated int8 of OpenVINO. f32 vectors are compared
//! before anything is timed, and the least cosine of the other precisions to f32 is printed. Rates
//! and ratios are of CPU time and of wall time. With several threads compare wall time: the threads
//! of ONNX Runtime then spin while they wait, which is its default. The fraction of the peak is the
//! number of operations that the texts need without padding, per second of CPU time, divided by the
//! rate of a loop of f32 fused multiply-adds on one thread in the same round; bf16 and int8 can
//! exceed 1.
//!
//! ```sh
//! IR_DATA=/path/to/collections IR_MODEL=$(.ci/model) IR_ONNX_PYTHON=$(.ci/onnxruntime) \
//!     IR_OPENVINO_PYTHON=$(benches/encoding/openvino.sh) \
//!     taskset -c 0 cargo bench -p bench-encoding --bench onnx_runtime [-- --documents 200]
//!         [--queries 1000] [--single 200] [--threads 1] [--rounds 3] [--peer-batch 32]
//!         [--random-model bert-base] [--lengths 32,128,512] [--length-tokens 16384]
//! ```
//! A peer without its variable is not timed. `--threads 2` needs `taskset -c 0,1`.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

mod peak;
mod peers;
mod texts;
mod workloads;

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use bench_common::{Options, Seconds, median};
use ir_core::{Encoder, Side};
use ir_dense::{BiEncoder, EncoderConfig, Precision};
use peers::add_peers;
use serde_json::json;
use workloads::{Texts, Workload, read_lengths};

/// Maximum sequence length of both sides.
const MAX_TOKENS: usize = 256;
/// Maximum difference of an element of an f32 vector.
const TOLERANCE: f32 = 2e-6;

fn main() -> Result<()> {
    let options = Options::parse(
        "--documents --queries --single --threads --rounds --peer-batch --random-model --lengths \
         --length-tokens",
    )?;
    let threads: usize = options.number("--threads", 1)?;
    let rounds: usize = options.number("--rounds", 3)?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;
    let texts = Texts::read()?;
    let lengths = read_lengths(&options)?;
    let folder = tempfile::tempdir()?;
    let model = match options.value("--random-model") {
        Some(shape) => {
            let path = folder.path().join("model");
            workloads::create_model(&path, shape, &texts)?;
            path
        }
        None => {
            let model = env::var_os("IR_MODEL");
            PathBuf::from(model.context("expected IR_MODEL, a model folder, or --random-model")?)
        }
    };
    let file = folder.path().join("vectors");
    let mut systems = Vec::new();
    let max_tokens = lengths.iter().max().copied().unwrap_or(MAX_TOKENS);
    for precision in Precision::ALL {
        let config = EncoderConfig::default().with_max_tokens(max_tokens);
        let config = config.with_precision(precision);
        let encoder = Box::new(BiEncoder::open_with(&model, &config)?);
        systems.push(System::IrDense(precision, encoder));
    }
    let System::IrDense(_, encoder) = &systems[0] else {
        bail!("expected an encoder");
    };
    let encoder = encoder.clone();
    let workloads = match &lengths[..] {
        [] => texts.workloads(&options)?,
        lengths => texts.workloads_of_lengths(lengths, &encoder, &options)?,
    };
    let lists = workloads.iter().map(|w| (&*w.list, &w.texts));
    let lists: BTreeMap<&str, &Vec<String>> = lists.collect();
    let (lists, settings) = (json!(lists), [threads, max_tokens]);
    add_peers(&mut systems, &model, &lists, settings, folder.path())?;
    println!(
        "medians of {rounds} rounds after a warm-up round, {threads} thread(s)\n\
         {:<24}{:>10}{:>10}{:>20}   ratios of CPU time (wall time)",
        "tokens per second of", "CPU time", "wall time", "of the peak"
    );
    for workload in &workloads {
        let tokens = count_tokens(&encoder, workload)?;
        let operations = tokens.iter().map(|&length| operations(&encoder, length));
        let operations: f64 = operations.sum();
        let tokens: usize = tokens.iter().sum();
        println!(
            "\n{}: {} texts, {tokens} tokens, {:.1} MFLOP per token",
            workload.name,
            workload.texts.len(),
            operations / tokens as f64 / 1e6
        );
        compare_vectors(&mut systems, workload, &file)?;
        let request = request(workload);
        let mut times = vec![Vec::new(); systems.len()];
        let mut peaks = Vec::new();
        for _ in 0..=rounds {
            let mut peak = peak::gflops();
            for (system, times) in systems.iter_mut().zip(&mut times) {
                times.push(system.time(&request, |encoder| encode(encoder, workload))?);
            }
            peak = peak.max(peak::gflops());
            peaks.push(peak);
        }
        let peak = median(peaks) * 1e9;
        let medians = times
            .iter()
            .map(|all| Seconds::median(all.iter().skip(1).copied()));
        let medians: Vec<Seconds> = medians.collect();
        for (system, time) in systems.iter().zip(&medians) {
            print!(
                "  {:<22}{:>10.0}{:>10.0}{:>7.2} of {:>3.0} GFLOP/s",
                system.name(),
                tokens as f64 / time.cpu,
                tokens as f64 / time.wall,
                operations / time.cpu / peak,
                peak / 1e9
            );
            print_ratios(system, time, &systems, &medians);
        }
    }
    Ok(())
}

/// An encoder of a precision.
type System = peers::System<BiEncoder>;

/// Prints the rate of an encoder of ir-dense in units of the rates of the peers in the same
/// precision and of ir-dense in f32.
fn print_ratios(system: &System, time: &Seconds, systems: &[System], medians: &[Seconds]) {
    if let System::IrDense(precision, _) = system {
        let peers = systems.iter().zip(medians);
        for (other, other_time) in peers {
            let is_baseline = match other {
                System::IrDense(other, _) => *other == Precision::F32 && *precision != *other,
                System::Peer(_, other, _) => other == precision,
            };
            if is_baseline {
                print!(
                    "   {:.2} ({:.2}) x {}",
                    other_time.cpu / time.cpu,
                    other_time.wall / time.wall,
                    other.name()
                );
            }
        }
    }
    println!();
}

fn request(workload: &Workload) -> String {
    format!("{} {}", workload.list, workload.peer_batch)
}

fn encode(encoder: &BiEncoder, workload: &Workload) -> Result<Vec<f32>> {
    let texts: Vec<&str> = workload.texts.iter().map(String::as_str).collect();
    let dim = encoder.dim();
    let mut vectors = vec![0.0; texts.len() * dim];
    if workload.peer_batch == 1 {
        for (text, vector) in texts.iter().zip(vectors.chunks_mut(dim)) {
            encoder.encode_into(workload.side, &[text], vector)?;
        }
    } else {
        encoder.encode_into(workload.side, &texts, &mut vectors)?;
    }
    Ok(vectors)
}

fn count_tokens(encoder: &BiEncoder, workload: &Workload) -> Result<Vec<usize>> {
    let texts = workload.texts.iter();
    let lengths = texts.map(|text| Ok(encoder.token_ids(workload.side, text)?.len()));
    lengths.collect()
}

/// Floating-point operations of the matrix products of a text.
fn operations(encoder: &BiEncoder, length: usize) -> f64 {
    let config = encoder.tower(Side::Document).config();
    let (hidden, inner) = (config.hidden_size as f64, config.intermediate_size as f64);
    let linear = 8.0 * hidden * hidden + 4.0 * hidden * inner;
    let attention = 4.0 * length as f64 * hidden;
    length as f64 * config.layers as f64 * (linear + attention)
}

/// Checks that all encoders in f32 return the same vectors, and prints how near the others are.
fn compare_vectors(systems: &mut [System], workload: &Workload, file: &Path) -> Result<()> {
    let mut exact: Vec<f32> = Vec::new();
    for system in systems {
        let encoder = |encoder: &BiEncoder| encode(encoder, workload);
        let found = system.outputs(&request(workload), file, encoder)?;
        if exact.is_empty() {
            exact = found;
            continue;
        }
        let name = system.name();
        ensure!(
            exact.len() == found.len(),
            "{name}: expected {} elements, found {}",
            exact.len(),
            found.len()
        );
        if system.is_exact_peer() {
            let differences = exact.iter().zip(&found).map(|(a, b)| (a - b).abs());
            let largest = differences.fold(0.0, f32::max);
            ensure!(
                largest <= TOLERANCE,
                "{name}: expected vectors within {TOLERANCE} of ir-dense's, found a difference of \
                 {largest}"
            );
            println!("  {name}: largest difference of an element {largest:.1e}");
            continue;
        }
        let dim = exact.len() / workload.texts.len();
        let rows = exact.chunks(dim).zip(found.chunks(dim));
        // Vectors are normalized.
        let cosines = rows.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>());
        let least = cosines.fold(1.0, f32::min);
        println!("  {name}: cosine to f32 at least {least:.5}");
    }
    Ok(())
}
