//! Reranking beside ONNX Runtime with a graph of its fused operators, in alternating rounds.
//!
//! The model is a cross-encoder: the encoder `IR_MODEL`, a BERT folder such as all-MiniLM-L6-v2,
//! with a head of random weights, or `IR_CROSS_ENCODER`, a folder of
//! `BertForSequenceClassification`.
//! A pair is the query with words of ArguAna's documents, or of the bundled collection without
//! `IR_DATA`, and has exactly `--tokens` tokens.
//!
//! Every precision is timed in every round: f32, bf16 and int8 of ir-dense, f32 and dynamically
//! quantized int8 of ONNX Runtime, which has batches of `--peer-batch` pairs. Logits in f32 are
//! compared before anything is timed, and the largest difference of the other precisions to f32 is
//! printed. Rates are pairs per second of CPU time and of wall time. Then the first `--candidates`
//! pairs are reranked `--repetitions` times: median and 99th percentile of the wall time.
//!
//! ```sh
//! IR_DATA=/path/to/collections IR_MODEL=$(.ci/model) IR_ONNX_PYTHON=$(.ci/onnxruntime) \
//!     taskset -c 0 cargo bench -p bench-encoding --bench cross_encoder [-- --pairs 100]
//!         [--tokens 160] [--threads 1] [--rounds 3] [--peer-batch 32] [--candidates 20]
//!         [--repetitions 100]
//! ```
//! Without `IR_ONNX_PYTHON`, only ir-dense is timed. `--threads 2` needs `taskset -c 0,1`.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use bench_common::{Clock, Options, Python, Seconds};
use ir_core::{Candidate, Reranker};
use ir_data::DocTemplate;
use ir_data::catalog::Catalog;
use ir_dense::{CrossEncoder, CrossEncoderConfig, OutputActivation, Precision};
use serde_json::json;

const QUERY: &str = "what are the effects of tea on the health of sailors";
/// Documents that are read.
const MAX_DOCUMENTS: usize = 2000;
/// Maximum difference of a logit in f32, as a fraction of the largest.
const TOLERANCE: f32 = 1e-5;
/// Name of the workload of the peer.
const WORKLOAD: &str = "pairs";

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
        .with_activation(OutputActivation::Identity)
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
    let pairs = Pairs {
        texts,
        peer_batch: options.number("--peer-batch", 32)?,
        file: folder.path().join("logits"),
    };
    for precision in [Precision::F32, Precision::Int8] {
        let peer = start_peer(&model, &pairs, [threads, tokens], precision, folder.path())?;
        systems.extend(peer.map(|peer| System::OnnxRuntime(precision, peer)));
    }
    println!("{count} pairs of {tokens} tokens, {threads} thread(s)");
    compare(&mut systems, &pairs)?;
    let mut times = vec![Vec::new(); systems.len()];
    for _ in 0..=rounds {
        for (system, times) in systems.iter_mut().zip(&mut times) {
            times.push(system.time(&pairs)?);
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
    let candidates: usize = options.number("--candidates", 20)?;
    let repetitions: usize = options.number("--repetitions", 100)?;
    println!("wall time of {candidates} candidates, {repetitions} repetitions");
    for system in &systems {
        let System::IrDense(_, model) = system else {
            continue;
        };
        let some: Vec<&str> = pairs
            .texts
            .iter()
            .take(candidates)
            .map(String::as_str)
            .collect();
        let mut times = Vec::new();
        for _ in 0..repetitions {
            let clock = Clock::process();
            logits(model, &some)?;
            times.push(clock.seconds().wall * 1e3);
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

/// Documents of the pairs.
struct Pairs {
    texts: Vec<String>,
    /// Pairs of a batch of the peer.
    peer_batch: usize,
    /// File of the logits of the peer.
    file: PathBuf,
}

/// A cross-encoder of a precision.
enum System {
    IrDense(Precision, Box<CrossEncoder>),
    OnnxRuntime(Precision, Python),
}

impl System {
    fn name(&self) -> String {
        match self {
            Self::IrDense(precision, _) => format!("ir-dense, {precision}"),
            Self::OnnxRuntime(precision, _) => format!("ONNX Runtime, {precision}"),
        }
    }

    fn time(&mut self, pairs: &Pairs) -> Result<Seconds> {
        match self {
            Self::IrDense(_, model) => {
                let texts: Vec<&str> = pairs.texts.iter().map(String::as_str).collect();
                let clock = Clock::process();
                logits(model, &texts)?;
                Ok(clock.seconds())
            }
            Self::OnnxRuntime(_, peer) => peer.ask(&format!("{WORKLOAD} {}", pairs.peer_batch)),
        }
    }

    fn logits(&mut self, pairs: &Pairs) -> Result<Vec<f32>> {
        match self {
            Self::IrDense(_, model) => {
                let texts: Vec<&str> = pairs.texts.iter().map(String::as_str).collect();
                logits(model, &texts)
            }
            Self::OnnxRuntime(_, peer) => {
                let file = pairs.file.display();
                let request = format!("{WORKLOAD} {} {file}", pairs.peer_batch);
                let _: Seconds = peer.ask(&request)?;
                let bytes = fs::read(&pairs.file)?;
                let (values, _) = bytes.as_chunks::<4>();
                let values = values.iter().map(|&value| f32::from_le_bytes(value));
                Ok(values.collect())
            }
        }
    }
}

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
    let length = |text: &str| -> Result<usize> {
        Ok(model.token_ids(QUERY, text)?.iter().map(Vec::len).sum())
    };
    let empty = length("")?;
    ensure!(
        empty < tokens,
        "--tokens: expected more than {empty}, found {tokens}"
    );
    let catalog = Catalog::from_env();
    let name = match catalog.has("beir/arguana") {
        Ok(true) => "beir/arguana",
        _ => "bundled",
    };
    let template = DocTemplate::default();
    let mut documents = Vec::new();
    for document in catalog.open(name)?.corpus().docs()?.take(MAX_DOCUMENTS) {
        documents.push(template.render(&document?));
    }
    let words = documents.iter().flat_map(|text| text.split_whitespace());
    let mut words = words.cycle();
    let mut texts = Vec::new();
    while texts.len() < count {
        let (mut text, mut room) = (String::new(), tokens - empty);
        for word in words.by_ref().take(100 * tokens) {
            let found = length(word)? - empty;
            if (1..=room).contains(&found) {
                text.push_str(word);
                text.push(' ');
                room -= found;
            }
            if room == 0 {
                break;
            }
        }
        let found = length(&text)?;
        ensure!(
            found == tokens,
            "expected a pair of {tokens} tokens, found {found}"
        );
        texts.push(text);
    }
    Ok(texts)
}

fn start_peer(
    model: &Path,
    pairs: &Pairs,
    settings: [usize; 2],
    precision: Precision,
    folder: &Path,
) -> Result<Option<Python>> {
    let Some(python) = env::var_os("IR_ONNX_PYTHON") else {
        eprintln!("IR_ONNX_PYTHON is not set: not timing ONNX Runtime, {precision}");
        return Ok(None);
    };
    let file = folder.join("workloads.json");
    let list: Vec<[&str; 2]> = pairs.texts.iter().map(|text| [QUERY, text]).collect();
    fs::write(&file, serde_json::to_vec(&json!({WORKLOAD: list}))?)?;
    let [threads, max_tokens] = settings.map(|number| number.to_string());
    let arguments = [
        model.as_os_str(),
        file.as_ref(),
        threads.as_ref(),
        max_tokens.as_ref(),
        precision.name().as_ref(),
    ];
    let mut peer = Python::start(Path::new(&python), "encoding/onnx_peer.py", arguments)?;
    println!("{}", peer.line()?);
    Ok(Some(peer))
}

/// Checks that all logits in f32 are the same, and prints how near the others are.
fn compare(systems: &mut [System], pairs: &Pairs) -> Result<()> {
    let mut exact: Vec<f32> = Vec::new();
    for system in systems {
        let found = system.logits(pairs)?;
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
        if matches!(system, System::OnnxRuntime(Precision::F32, _)) {
            ensure!(
                difference <= TOLERANCE,
                "{name}: expected logits within {TOLERANCE} of ir-dense's, found {difference}"
            );
        }
    }
    Ok(())
}
