//! ir-bm25 beside tantivy, Lucene, PISA and bm25s: latency, rate of batches, index time, size and
//! memory, on 1.1 million short documents or any collection of the catalog.
//!
//! All engines index the same terms (ir-bm25's analyzer) with k1 = 1.2 and b = 0.75, the only
//! parameters of tantivy, and merge to one segment. ir-bm25 is also measured with five segments and
//! 1 % deleted documents, whose hits and bits of scores must be those of one segment; its CPU time
//! of indexing is not listed. ir-bm25, tantivy and Lucene have one-byte lengths, PISA and bm25s
//! exact ones; PISA has an idf of its own. Lucene counts no more than k hits. Building, ranking and
//! timing are processes of their own for each engine, so that memory is measured separately; that
//! of searching is the peak after the single calls and the batches. Latency is CPU time on one
//! thread, the best of three passes per query, without analysis of the query; a batch is timed as a
//! whole. The engines are timed in turn, twice, and the better value counts. If an engine has other
//! documents in the top 10 or 1,000, or other scores unless its formula differs, the benchmark
//! fails before it times any.
//!
//! ```sh
//! IR_DATA=... cargo bench -p bench-bm25 [-- --documents N] [--threads N]
//! IR_BM25_PEERS=$(benches/bm25/peers.sh) IR_DATA=... cargo bench -p bench-bm25
//! IR_BM25_PEERS=... IR_DATA=... cargo bench -p bench-bm25 -- --collection beir/nfcorpus
//! IR_DATA=... cargo bench -p bench-bm25 -- --workload updates [--documents N]
//! IR_DATA=... cargo bench -p bench-bm25 -- --workload opening
//! IR_DATA=... cargo bench -p bench-bm25 -- --workload instructions [--check PAGE]
//! IR_BM25_PEERS=... IR_DATA=... cargo bench -p bench-bm25 -- --page docs/performance.md ...
//! IR_DATA=... cargo bench -p bench-bm25 -- --workload growth [--documents N]
//! IR_BM25_PEERS=... IR_DATA=... cargo bench -p bench-bm25 -- --workload phrases [--documents N]
//! IR_BM25_PEERS=... IR_DATA=... cargo bench -p bench-bm25 -- --workload models [--model NAME,...]
//! ```
//! Lucene, PISA and bm25s run only with `IR_BM25_PEERS`. They read analyzed text, so that their
//! index time is without analysis. ir-bm25, tantivy and Lucene store ids of documents. The workload
//! `updates` measures commits, replacements and merging, `opening` the opening of indexes of every
//! kind; `instructions` counts the instructions of ir-bm25 per query, with valgrind; `growth`
//! builds, opens and searches 10 thousand to 10 million documents; `phrases` compares phrases with
//! tantivy and Lucene, and `models` the scoring models that Lucene has too. With `--page`, the
//! tables replace those of a page; `.ci/performance` writes those of docs/performance.md.
//! `--threads` is the number of threads that build an index (1 in Lucene, PISA and bm25s), in
//! `growth` also of the second batch. Range: at least 1. Default: one per core, at most 2.
//! Without the real collection, synthetic documents of the same shape are generated from a seed.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

mod engines;
mod growth;
mod instructions;
mod lucene;
mod models;
mod opening;
mod ours;
mod peer_tantivy;
mod phrases;
mod results;
mod updates;
mod workload;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use bench_common::{Options, Page};
use engines::Setting;
use workload::PACKAGES;
pub(crate) use workload::Workload;

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

fn main() -> Result<()> {
    // The options after --collection are for the child processes, except --check, --model and
    // --page; --threads is for both.
    let options = Options::parse(
        "--documents --workload --collection --engine --step --threads --index --kind --k --passes --check --model --page",
    )?;
    let collection = options.value("--collection").unwrap_or(PACKAGES);
    let limit: u64 = options.number("--documents", u64::MAX)?;
    if let Some(engine) = options.value("--engine") {
        return child(engine, collection, limit, &options);
    }
    // Relative to the root of the workspace: cargo runs benchmarks in the folder of the package.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let in_root = |path: &str| root.join(path);
    let page = options.value("--page").map(in_root);
    let page = Page::new(page.as_deref());
    let cores = std::thread::available_parallelism()?.get();
    let threads = options.number("--threads", cores.min(2))?;
    ensure!(threads > 0, "--threads: expected at least 1, found 0");
    let open = || Workload::open(collection, limit);
    match options.value("--workload") {
        None | Some("queries") => {
            let setting = Setting {
                collection,
                limit,
                threads,
                needs_all: options.value("--page").is_some(),
            };
            results::run(&open()?, &setting, &page)
        }
        Some("growth") => growth::run(collection, limit, threads, &page),
        Some("phrases") => phrases::run(&open()?, threads, &page),
        Some("models") => {
            let models = options.value("--model");
            models::run(&open()?, collection, models, threads, &page)
        }
        Some("opening") => opening::run(&open()?, threads, &page),
        Some("updates") => updates::run(&open()?, threads, &page),
        Some("instructions") => {
            let check = options.value("--check").map(in_root);
            let setting = (collection, limit, threads);
            instructions::run(&open()?, setting, check.as_deref(), &page)
        }
        Some(other) => {
            bail!(
                "--workload: expected queries, models, phrases, updates, opening, instructions or growth, found {other:?}"
            )
        }
    }
}

/// Runs one step of an engine.
fn child(engine: &str, collection: &str, limit: u64, options: &Options) -> Result<()> {
    let threads = options.number("--threads", 1)?;
    let expected = |name: &'static str| {
        let value = options.value(name);
        value.with_context(|| format!("{name}: expected a value"))
    };
    match engine {
        "growth" => growth::child(&Workload::open(collection, u64::MAX)?, limit, threads),
        "instructions" => {
            let work = Workload::open(collection, limit)?;
            let (index, kind) = (expected("--index")?, expected("--kind")?);
            let (k, passes) = (options.number("--k", 10)?, options.number("--passes", 1)?);
            instructions::child(&work, index, kind, k, passes)
        }
        engine => {
            let work = Workload::open(collection, limit)?;
            let index = Path::new(expected("--index")?);
            engines::child(&work, (engine, expected("--step")?), index, threads)
        }
    }
}
