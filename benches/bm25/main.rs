//! ir-bm25 beside tantivy, Lucene, PISA and bm25s: latency, rate of batches, index time, size and
//! memory, on 1.1 million short documents or any collection of the catalog.
//!
//! All engines index the same terms (ir-bm25's analyzer) with k1 = 1.2 and b = 0.75, the only
//! parameters of tantivy, and merge to one segment. ir-bm25, tantivy and Lucene have one-byte
//! lengths, PISA and bm25s exact ones; PISA has an idf of its own. Each engine runs in its own
//! process, so that memory is measured separately. Latency is CPU time on one thread, the best of
//! three passes per query, without analysis of the query. If an engine has other documents in the
//! top 10, or other scores unless its formula differs, the benchmark fails and prints no times.
//!
//! ```sh
//! IR_DATA=... cargo bench -p bench-bm25 [-- --documents N]
//! IR_BM25_PEERS=$(benches/bm25/peers.sh) IR_DATA=... cargo bench -p bench-bm25
//! IR_BM25_PEERS=... IR_DATA=... cargo bench -p bench-bm25 -- --collection beir/nfcorpus
//! IR_DATA=... cargo bench -p bench-bm25 -- --workload updates [--documents N]
//! IR_DATA=... cargo bench -p bench-bm25 -- --workload instructions [--check PAGE]
//! IR_DATA=... cargo bench -p bench-bm25 -- --workload growth [--documents N]
//! IR_BM25_PEERS=... IR_DATA=... cargo bench -p bench-bm25 -- --workload phrases [--documents N]
//! IR_BM25_PEERS=... IR_DATA=... cargo bench -p bench-bm25 -- --workload models [--model NAME,...]
//! ```
//! Lucene, PISA and bm25s run only with `IR_BM25_PEERS`. They read analyzed text, so that their
//! index time is without analysis. ir-bm25, tantivy and Lucene store ids of documents. The workload
//! `updates` measures commits, replacements and merging, `instructions` counts the instructions of
//! ir-bm25 per query, with valgrind, and `growth` builds, opens and searches 10 thousand to 10
//! million documents. `phrases` compares phrases with tantivy and Lucene, and `models` the scoring
//! models that Lucene has too.
//! Without the real collection, synthetic documents of the same shape are generated from a seed.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

mod external;
mod growth;
mod instructions;
mod lucene;
mod models;
mod ours;
mod peer_tantivy;
mod phrases;
mod updates;
mod workload;

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use bench_common::Options;
pub(crate) use workload::Workload;
use workload::{Latency, Measurements, PACKAGES};

/// Peak resident memory of this process in bytes.
pub(crate) fn resident_peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

pub(crate) fn folder_size(folder: &Path) -> Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(folder)? {
        total += entry?.metadata()?.len();
    }
    Ok(total)
}

const ENGINES: [&str; 2] = ["ir-bm25", "tantivy"];
/// Minimum overlap of the top 10 with a peer. Ties in another order lower it.
const MIN_OVERLAP: f64 = 0.9;

fn main() -> Result<()> {
    // The options after --collection are for the child processes.
    let options = Options::parse(
        "--documents --workload --collection --engine --threads --index --kind --k --passes --check --model",
    )?;
    let collection = options.value("--collection").unwrap_or(PACKAGES);
    let limit: u64 = options.number("--documents", u64::MAX)?;
    if options.value("--engine") == Some("instructions") {
        let kind = options.value("--kind").context("--kind: expected a kind")?;
        let index = options
            .value("--index")
            .context("--index: expected a file")?;
        let k = options.number("--k", 10)?;
        let passes = options.number("--passes", 1)?;
        let work = Workload::open(collection, limit)?;
        return instructions::child(&work, index, kind, k, passes);
    }
    if options.value("--engine") == Some("growth") {
        let work = Workload::open(collection, u64::MAX)?;
        return growth::child(&work, limit, options.number("--threads", 1)?);
    }
    if let Some(engine) = options.value("--engine") {
        let work = Workload::open(collection, limit)?;
        return child(&work, engine, options.number("--threads", 1)?);
    }
    let threads = std::thread::available_parallelism()?.get().min(2);
    match options.value("--workload") {
        None | Some("queries") => {}
        Some("growth") => return growth::run(collection, limit, threads),
        Some("phrases") => return phrases::run(&Workload::open(collection, limit)?, threads),
        Some("models") => {
            let work = Workload::open(collection, limit)?;
            return models::run(&work, options.value("--model"), threads);
        }
        Some("updates") => return updates::run(&Workload::open(collection, limit)?, threads),
        Some("instructions") => {
            let work = Workload::open(collection, limit)?;
            let page = options.value("--check");
            return instructions::run(&work, collection, limit, threads, page);
        }
        Some(other) => {
            bail!(
                "--workload: expected queries, models, phrases, updates, instructions or growth, found {other:?}"
            )
        }
    }
    let work = Workload::open(collection, limit)?;
    let documents = work.for_each_document(&mut |_, _| Ok(()))?;
    let mut results: Vec<Measurements> = Vec::new();
    for engine in ENGINES {
        let mut command = Command::new(env::current_exe()?);
        command
            .args(["--engine", engine])
            .args(["--threads", &threads.to_string()])
            .args(["--documents", &limit.to_string()])
            .args(["--collection", collection]);
        eprintln!("running {engine} ...");
        let output = command.stderr(std::process::Stdio::inherit()).output()?;
        ensure!(output.status.success(), "{engine} failed");
        results.push(serde_json::from_slice(&output.stdout)?);
    }
    results.extend(external::measure(&work)?);
    let queries = work.queries().len();
    println!(
        "{documents} documents, {queries} queries, {threads} threads for indexing, 1 for searching"
    );
    print_tables(&results)
}

/// Prints the comparison of the results and the tables in Markdown.
fn print_tables(results: &[Measurements]) -> Result<()> {
    let Some((ours, peers)) = results.split_first() else {
        bail!("expected results")
    };
    for peer in peers {
        let (overlap, differing) = ours.top.compare(&peer.top)?;
        println!(
            "{}: overlap of the top 10 {:.1} %, scores differ by more than 0.1 % in {differing} queries",
            peer.name,
            100.0 * overlap
        );
        ensure!(
            overlap > MIN_OVERLAP,
            "{}: expected the same documents, found {:.1} %",
            peer.name,
            100.0 * overlap
        );
        let queries = ours.top.queries();
        ensure!(
            peer.has_other_scores || differing * 50 <= queries,
            "{}: expected equal scores, found others in {differing} of {queries} queries",
            peer.name
        );
    }
    println!("\n| mean; 99th percentile, ms{} |", header(ours));
    println!("|{}", "---|".repeat(ours.latencies.len() + 1));
    for engine in results {
        let cell = |of: &Latency| format!(" | {:.3}; {:.2}", of.mean_ms, of.p99_ms);
        let cells: String = engine.latencies.iter().map(cell).collect();
        println!("| {}{cells} |", engine.name);
    }
    let ratios = |of: fn(&Latency) -> f64| -> String {
        let cells = ours.latencies.iter().enumerate().map(|(at, latency)| {
            let fastest = peers.iter().map(|peer| of(&peer.latencies[at]));
            let ratio = fastest.fold(f64::INFINITY, f64::min) / of(latency);
            format!(" | {ratio:.2}")
        });
        cells.collect()
    };
    println!(
        "| ratio to the fastest peer, means{} |",
        ratios(|of| of.mean_ms)
    );
    println!(
        "| ratio to the fastest peer, 99th percentiles{} |",
        ratios(|of| of.p99_ms)
    );
    println!("\n| queries per second, k = 10 | single calls | batches |\n|---|---|---|");
    for engine in results {
        let singles = engine.latencies.iter().filter(|of| of.k == 10);
        let (queries, ms) = singles.fold((0, 0.0), |(queries, ms), of| {
            (queries + of.queries, ms + of.mean_ms * of.queries as f64)
        });
        let batch = engine.batch_rate.map(|rate| format!("{rate:.0}"));
        let (single, batch) = (1e3 * queries as f64 / ms, batch.unwrap_or_default());
        println!("| {} | {single:.0} | {batch} |", engine.name);
    }
    println!("\n| index | CPU time, s | size, MiB | peak memory, MiB |\n|---|---|---|---|");
    let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
    for engine in results {
        println!(
            "| {} | {:.1} | {:.1} | {:.0} |",
            engine.name,
            engine.index_seconds,
            mib(engine.index_bytes),
            mib(engine.index_peak)
        );
    }
    Ok(())
}

fn header(engine: &Measurements) -> String {
    let columns = engine.latencies.iter();
    let columns = columns.map(|of| format!(" | {}, k = {}", of.kind, of.k));
    columns.collect()
}

fn child(work: &Workload, engine: &str, threads: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let result = match engine {
        "ir-bm25" => ours::measure(work, folder.path(), threads)?,
        "tantivy" => peer_tantivy::measure(work, folder.path(), threads)?,
        other => bail!("--engine: expected ir-bm25 or tantivy, found {other:?}"),
    };
    println!("{}", serde_json::to_string(&result)?);
    Ok(())
}
