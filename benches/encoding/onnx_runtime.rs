//! Encoding beside ONNX Runtime with a graph of its fused operators, in alternating rounds.
//!
//! The model is `IR_MODEL`, a BERT folder with mean pooling and L2 normalization. Workloads: the
//! first documents of ArguAna, truncated to 256 tokens, in batches of similar length
//! (`--documents`); the first queries of NFCorpus in batches (`--queries`), and the first of them
//! one by one (`--single`). Without `IR_DATA`, texts are those of the bundled collection, repeated.
//! Vectors are compared before anything is timed. The fraction of the peak divides the
//! floating-point operations that the texts need without padding, per second of CPU time, by the
//! rate of a loop of fused multiply-adds in the same round.
//!
//! ```sh
//! IR_DATA=/path/to/collections IR_MODEL=$(.ci/model) IR_ONNX_PYTHON=$(.ci/onnxruntime) \
//!     taskset -c 0 cargo bench -p bench-encoding --bench onnx_runtime [-- --documents 200]
//!         [--queries 1000] [--single 200] [--threads 1] [--rounds 3]
//! ```
//! Without `IR_ONNX_PYTHON`, only ir-dense is timed.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

mod peak;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use bench_common::{Clock, Options, Python, Seconds, median};
use ir_core::{Encoder, Side};
use ir_data::DocTemplate;
use ir_data::catalog::Catalog;
use ir_dense::{BiEncoder, EncoderConfig};

/// Maximum sequence length of both sides.
const MAX_TOKENS: usize = 256;
/// Texts of a batch of ONNX Runtime.
const PEER_BATCH: usize = 32;
/// Maximum difference of an element of an f32 vector.
const TOLERANCE: f32 = 1e-5;

/// Texts that are encoded in batches or one by one.
struct Workload {
    name: &'static str,
    /// Name of the list of texts in the file of the peer.
    list: &'static str,
    side: Side,
    one_by_one: bool,
    texts: Vec<String>,
}

fn main() -> Result<()> {
    let options = Options::parse("--documents --queries --single --threads --rounds")?;
    let threads: usize = options.number("--threads", 1)?;
    let rounds: usize = options.number("--rounds", 3)?;
    let model = env::var_os("IR_MODEL").context("IR_MODEL is not set: expected a model folder")?;
    let model = PathBuf::from(model);
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;
    let workloads = read_workloads(&options)?;
    let folder = tempfile::tempdir()?;
    let mut peer = start_peer(&model, &workloads, threads, folder.path())?;
    let config = EncoderConfig::default().with_max_tokens(MAX_TOKENS);
    let encoder = BiEncoder::open_with(&model, &config)?;
    println!(
        "medians of {rounds} rounds after a warm-up round, {threads} thread(s), CPU time; fraction of the peak of a core"
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
        if let Some(peer) = &mut peer {
            compare_vectors(&encoder, workload, peer, &folder.path().join("vectors"))?;
        }
        let (mut ours, mut theirs, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..=rounds {
            let before = peak::gflops();
            let clock = Clock::process();
            encode(&encoder, workload)?;
            ours.push(clock.seconds());
            if let Some(peer) = &mut peer {
                theirs.push(peer.ask(&request(workload))?);
            }
            peaks.push(before.max(peak::gflops()));
        }
        let peak = median(peaks) * 1e9;
        let median = |all: &[Seconds]| Seconds::median(all.iter().skip(1).copied());
        let print = |name: &str, time: Seconds| {
            print!(
                "  {name:<46}{:>9.0} tokens/s {:>8.3} s {:>6.2} of {:.0} GFLOP/s",
                tokens as f64 / time.cpu,
                time.cpu,
                operations / time.cpu / peak,
                peak / 1e9
            );
        };
        let ir = median(&ours);
        print("ir-dense", ir);
        if !theirs.is_empty() {
            let other = median(&theirs);
            println!("   ratio {:.2}", other.cpu / ir.cpu);
            print("ONNX Runtime", other);
        }
        println!();
    }
    Ok(())
}

fn read_workloads(options: &Options) -> Result<Vec<Workload>> {
    let catalog = Catalog::from_env();
    let name = |name| match catalog.has(name) {
        Ok(true) => name,
        _ => "bundled",
    };
    let arguana = catalog.open(name("beir/arguana"))?;
    let nfcorpus = catalog.open(name("beir/nfcorpus"))?;
    let template = DocTemplate::default();
    let mut documents = Vec::new();
    let count = options.number("--documents", 200)?;
    while documents.len() < count {
        for document in arguana.corpus().docs()?.take(count - documents.len()) {
            documents.push(template.render(&document?));
        }
    }
    let queries = nfcorpus.all_queries()?.into_iter().map(|query| query.text);
    let queries: Vec<String> = queries.collect();
    let first = |count| queries.iter().cycle().take(count).cloned().collect();
    let workload = |name, list, side, one_by_one, texts| Workload {
        name,
        list,
        side,
        one_by_one,
        texts,
    };
    let all = vec![
        workload("documents", "documents", Side::Document, false, documents),
        workload(
            "queries",
            "queries",
            Side::Query,
            false,
            first(options.number("--queries", 1000)?),
        ),
        workload(
            "queries, one by one",
            "single",
            Side::Query,
            true,
            first(options.number("--single", 200)?),
        ),
    ];
    Ok(all.into_iter().filter(|w| !w.texts.is_empty()).collect())
}

fn start_peer(
    model: &Path,
    workloads: &[Workload],
    threads: usize,
    folder: &Path,
) -> Result<Option<Python>> {
    let Some(python) = env::var_os("IR_ONNX_PYTHON") else {
        eprintln!("IR_ONNX_PYTHON is not set: timing ir-dense only");
        return Ok(None);
    };
    let file = folder.join("workloads.json");
    let lists = workloads.iter().map(|w| (w.list, &w.texts));
    let lists: BTreeMap<&str, &Vec<String>> = lists.collect();
    fs::write(&file, serde_json::to_vec(&lists)?)?;
    let (threads, max_tokens) = (threads.to_string(), MAX_TOKENS.to_string());
    let arguments = [
        model.as_os_str(),
        file.as_ref(),
        threads.as_ref(),
        max_tokens.as_ref(),
        "f32".as_ref(),
    ];
    let mut peer = Python::start(Path::new(&python), "encoding/onnx_peer.py", arguments)?;
    println!("{}", peer.line()?);
    Ok(Some(peer))
}

fn request(workload: &Workload) -> String {
    let batch = if workload.one_by_one { 1 } else { PEER_BATCH };
    format!("{} {batch}", workload.list)
}

fn encode(encoder: &BiEncoder, workload: &Workload) -> Result<Vec<f32>> {
    let texts: Vec<&str> = workload.texts.iter().map(String::as_str).collect();
    let dim = encoder.dim();
    let mut vectors = vec![0.0; texts.len() * dim];
    if workload.one_by_one {
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
    let config = encoder.tower(Side::Document).model.config();
    let (hidden, inner) = (config.hidden_size as f64, config.intermediate_size as f64);
    let linear = 8.0 * hidden * hidden + 4.0 * hidden * inner;
    let attention = 4.0 * length as f64 * hidden;
    length as f64 * config.layers as f64 * (linear + attention)
}

/// Checks that both sides return the same vectors.
fn compare_vectors(
    encoder: &BiEncoder,
    workload: &Workload,
    peer: &mut Python,
    file: &Path,
) -> Result<()> {
    let _: Seconds = peer.ask(&format!("{} {}", request(workload), file.display()))?;
    let theirs = fs::read(file)?;
    let (theirs, _) = theirs.as_chunks::<4>();
    let ours = encode(encoder, workload)?;
    ensure!(
        ours.len() == theirs.len(),
        "expected {} elements of ONNX Runtime, found {}",
        ours.len(),
        theirs.len()
    );
    let pairs = ours.iter().zip(theirs);
    let differences = pairs.map(|(a, b)| (a - f32::from_le_bytes(*b)).abs());
    let largest = differences.fold(0.0, f32::max);
    ensure!(
        largest <= TOLERANCE,
        "expected vectors within {TOLERANCE} of ONNX Runtime's, found a difference of {largest}"
    );
    println!("  largest difference of an element: {largest:.1e}");
    Ok(())
}
