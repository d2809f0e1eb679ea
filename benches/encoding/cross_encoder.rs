//! Reranking beside ONNX Runtime with a graph of its fused operators, and beside OpenVINO, in
//! alternating rounds.
//!
//! The model is a cross-encoder: the encoder `IR_MODEL`, a BERT folder such as all-MiniLM-L6-v2,
//! with a head of random weights, or `IR_CROSS_ENCODER`, a folder of
//! `BertForSequenceClassification`. A pair is the query with words of ArguAna's documents, or of
//! the bundled collection without `IR_DATA`, and has exactly `--tokens` tokens.
//!
//! Every precision is timed in every round: f32, bf16 and int8 of ir-dense, f32 and dynamically
//! quantized int8 of ONNX Runtime, f32 and calibrated int8 of OpenVINO. The peers have batches of
//! `--peer-batch` pairs. Logits in f32 are compared before anything is timed, and the largest
//! difference of the other precisions to f32 is printed. Rates are pairs per second of CPU time and
//! of wall time. Then the first `--candidates` pairs are reranked `--repetitions` times, by the
//! peers in one batch: median and 99th percentile of the wall time.
//!
//! ```sh
//! IR_DATA=/path/to/collections IR_MODEL=$(.ci/model) IR_ONNX_PYTHON=$(.ci/onnxruntime) \
//!     IR_OPENVINO_PYTHON=$(benches/encoding/openvino.sh) \
//!     taskset -c 0 cargo bench -p bench-encoding --bench cross_encoder [-- --pairs 100]
//!         [--tokens 160] [--threads 1] [--rounds 3] [--peer-batch 32] [--candidates 20]
//!         [--repetitions 100]
//! ```
//! A peer without its variable is not timed. `--threads 2` needs `taskset -c 0,1`.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

mod peers;
mod texts;

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use bench_common::{Options, Seconds};
use ir_core::{Candidate, Reranker};
use ir_data::catalog::Catalog;
use ir_dense::{Activation, CrossEncoder, CrossEncoderConfig, Precision};
use peers::add_peers;
use serde_json::json;
use texts::{read_documents, texts_of_length};

const QUERY: &str = "what are the effects of tea on the health of sailors";
/// Maximum difference of a logit in f32, as a fraction of the largest.
const TOLERANCE: f32 = 1e-5;
/// Names of the workloads of the peers.
const WORKLOAD: &str = "pairs";
const CANDIDATES: &str = "candidates";

fn main() -> Result<()> {
    let options = Options::parse(
        "--pairs --tokens --threads --rounds --peer-batch --candidates --repetitions",
    )?;
    let threads: usize = options.number("--threads", 1)?;
    let rounds: usize = options.number("--rounds", 3)?;
    let tokens: usize = options.number("--tokens", 160)?;
    let count: usize = options.number("--pairs", 100)?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;
    let folder = tempfile::tempdir()?;
    let model = model(folder.path())?;
    let config = CrossEncoderConfig::default()
        .with_activation(Activation::Identity)
        .with_max_tokens(tokens);
    let open = |precision| {
        let model = CrossEncoder::open_with(&model, &config.clone().with_precision(precision))?;
        anyhow::Ok(System::IrDense(precision, Box::new(model)))
    };
    let mut systems: Vec<System> = Precision::ALL
        .into_iter()
        .map(open)
        .collect::<Result<_>>()?;
    let Some(System::IrDense(_, encoder)) = systems.first() else {
        anyhow::bail!("expected a cross-encoder");
    };
    let texts = texts(encoder, count, tokens)?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let pairs: Vec<[&str; 2]> = texts.iter().map(|&text| [QUERY, text]).collect();
    let candidates: usize = options.number("--candidates", 20)?;
    let some: Vec<[&str; 2]> = pairs.iter().copied().cycle().take(candidates).collect();
    let (lists, settings) = (
        json!({WORKLOAD: pairs, CANDIDATES: some}),
        [threads, tokens],
    );
    add_peers(&mut systems, &model, &lists, settings, folder.path())?;
    let peer_batch: usize = options.number("--peer-batch", 32)?;
    let request = format!("{WORKLOAD} {peer_batch}");
    println!("{count} pairs of {tokens} tokens, {threads} thread(s)");
    let file = folder.path().join("logits");
    compare(&mut systems, &texts, &request, &file)?;
    let mut times = vec![Vec::new(); systems.len()];
    for _ in 0..=rounds {
        for (system, times) in systems.iter_mut().zip(&mut times) {
            times.push(system.time(&request, |model| logits(model, &texts))?);
        }
    }
    println!(
        "medians of {rounds} rounds after a warm-up round\n  {:<22}{:>10}{:>10}",
        "pairs per second of", "CPU time", "wall time"
    );
    for (system, times) in systems.iter().zip(&times) {
        let time = Seconds::median(times.iter().skip(1).copied());
        let rates = [time.cpu, time.wall].map(|seconds| count as f64 / seconds);
        println!(
            "  {:<22}{:>10.1}{:>10.1}",
            system.name(),
            rates[0],
            rates[1]
        );
    }
    let repetitions: usize = options.number("--repetitions", 100)?;
    println!("wall time of {candidates} candidates, {repetitions} repetitions");
    let some: Vec<&str> = some.iter().map(|pair| pair[1]).collect();
    let request = format!("{CANDIDATES} {candidates}");
    for system in &mut systems {
        let mut times = Vec::new();
        for _ in 0..repetitions {
            let time = system.time(&request, |model| logits(model, &some))?;
            times.push(time.wall * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let at = |fraction: f64| {
            let last = times.len().saturating_sub(1);
            let number = (fraction * times.len() as f64).ceil() as usize;
            times.get(number.saturating_sub(1).min(last)).copied()
        };
        let [median, high] = [0.5, 0.99].map(|fraction| at(fraction).unwrap_or(f64::NAN));
        println!(
            "  {:<22} median {median:.1} ms, p99 {high:.1} ms",
            system.name()
        );
    }
    Ok(())
}

/// A cross-encoder of a precision.
type System = peers::System<CrossEncoder>;

fn logits(model: &CrossEncoder, texts: &[&str]) -> Result<Vec<f32>> {
    let candidates: Vec<Candidate<'_>> =
        texts.iter().map(|text| Candidate::new("", text)).collect();
    let scores = model.scores(QUERY, &candidates)?.into_iter();
    scores.collect::<Option<_>>().context("expected a score")
}

/// Returns the folder of the cross-encoder.
fn model(folder: &Path) -> Result<PathBuf> {
    if let Some(model) = env::var_os("IR_CROSS_ENCODER") {
        return Ok(model.into());
    }
    let encoder = env::var_os("IR_MODEL");
    let encoder = encoder.context("expected IR_MODEL or IR_CROSS_ENCODER, a model folder")?;
    let model = folder.join("cross-encoder");
    let config = CrossEncoderConfig::default();
    CrossEncoder::with_random_head(encoder, &config, 1)?.save(&model)?;
    Ok(model)
}

/// Documents that have exactly so many tokens with the query and special tokens.
fn texts(model: &CrossEncoder, count: usize, tokens: usize) -> Result<Vec<String>> {
    let documents = read_documents(&Catalog::from_env())?;
    let words = documents.iter().flat_map(|text| text.split_whitespace());
    let length = |text: &str| -> Result<usize> {
        Ok(model.token_ids(QUERY, text)?.iter().map(Vec::len).sum())
    };
    let texts = texts_of_length(&mut words.cycle(), count, tokens, length);
    texts.context("--tokens")
}

/// Checks that all logits in f32 are the same, and prints how near the others are.
fn compare(systems: &mut [System], texts: &[&str], request: &str, file: &Path) -> Result<()> {
    let mut exact: Vec<f32> = Vec::new();
    for system in systems {
        let found = system.outputs(request, file, |model| logits(model, texts))?;
        let name = system.name();
        if exact.is_empty() {
            exact = found;
            continue;
        }
        let (expected, count) = (exact.len(), found.len());
        ensure!(
            expected == count,
            "{name}: expected {expected} logits, found {count}"
        );
        let largest = exact.iter().fold(0.0, |most: f32, x| most.max(x.abs()));
        let differences = exact.iter().zip(&found).map(|(a, b)| (a - b).abs());
        let difference = differences.fold(0.0, f32::max) / largest;
        println!("  {name}: largest difference of a logit {difference:.1e} of the largest logit");
        if system.is_exact_peer() {
            ensure!(
                difference <= TOLERANCE,
                "{name}: expected logits within {TOLERANCE} of ir-dense's, found {difference}"
            );
        }
    }
    Ok(())
}
