//! Exact search of 100,000 × 384 vectors by inner product, beside FAISS's `IndexFlatIP`.
//!
//! Both libraries get the same random vectors, and their results are compared before timing. Rounds
//! alternate, so that other load on the machine affects both. FAISS runs in its own process:
//!
//! ```sh
//! python3 -m venv venv && venv/bin/pip install faiss-cpu numpy
//! IR_FAISS_PYTHON=$PWD/venv/bin/python cargo bench -p bench-flat \
//!     [-- --vectors N] [--dim D] [--queries B] [--rounds R] [--common C] [--memory 1]
//! ```
//! Vectors have unit length and are uniformly distributed over all directions. `--common 1` adds a
//! common direction of equal strength, so that cosines are around 0.5, as for many trained
//! encoders; this makes the 8-bit bounds less tight.
//!
//! `--memory 1` times nothing and prints the memory use of a saved index: anonymous memory, and
//! bytes read from the file by searches (on Linux, with GNU dd, in a temporary folder on a disk).
//!
//! Without `IR_FAISS_PYTHON`, only ir-knn is timed.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

mod memory;
mod peer_faiss;

use std::env;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use bench_common::{Clock, Options, Random, Seconds, save};
use ir_core::{DocIds, Retriever, Search};
use ir_knn::{FlatIndex, VectorSimilarity};
use peer_faiss::Faiss;

/// Number of single queries per round.
const SINGLES: usize = 30;

fn main() -> Result<()> {
    // The last two options are for the child processes.
    let options = Options::parse(
        "--vectors --dim --queries --rounds --common --memory --memory-of --folder",
    )?;
    if let Some(contents) = options.value("--memory-of") {
        let folder = options.value("--folder").context("--folder")?;
        return memory::child(contents, Path::new(folder));
    }
    let count: usize = options.number("--vectors", 100_000)?;
    let dim: usize = options.number("--dim", 384)?;
    let batch: usize = options.number("--queries", 1000)?;
    let rounds: usize = options.number("--rounds", 7)?;
    let common: f64 = options.number("--common", 0.0)?;
    ensure!(batch >= SINGLES, "expected at least {SINGLES} queries");
    let mut random = Random(7);
    let shared = vec![common / (dim as f64).sqrt(); dim];
    let rows = random.unit_vectors(count, &shared);
    let queries = random.unit_vectors(batch, &shared);

    let folder = tempfile::tempdir()?;
    save(&folder.path().join("queries.npy"), dim, &queries)?;
    let ids: DocIds = (0..count).map(|n| n.to_string()).collect();
    if options.number("--memory", 0)? > 0 {
        let index = FlatIndex::from_row_major(ids, dim, rows, VectorSimilarity::InnerProduct)?;
        return memory::measure(&index, folder.path());
    }
    let mut faiss = match env::var_os("IR_FAISS_PYTHON") {
        Some(python) => {
            save(&folder.path().join("rows.npy"), dim, &rows)?;
            Some(Faiss::start(Path::new(&python), folder.path(), SINGLES)?)
        }
        None => {
            eprintln!("IR_FAISS_PYTHON is not set: timing ir-knn only");
            None
        }
    };
    let index = FlatIndex::from_row_major(ids, dim, rows, VectorSimilarity::InnerProduct)?;
    let clock = Clock::thread();
    let coded = index.clone().with_codes();
    println!(
        "{count} x {dim}, batches of {batch}; quantizing all rows takes {:.0} ms",
        clock.seconds().wall * 1e3
    );
    let queries: Vec<&[f32]> = queries.chunks_exact(dim).collect();
    if let Some(faiss) = &mut faiss {
        println!("{}", faiss.version);
        for k in [10, 100] {
            let answers = index.search_batch(&top_k_searches(&queries, k))?;
            ensure!(
                answers == coded.search_batch(&top_k_searches(&queries, k))?,
                "codes"
            );
            for (n, (query, answer)) in queries.iter().zip(&answers).enumerate().take(SINGLES) {
                ensure!(
                    *answer == index.search(query, &Search::top(k))?,
                    "query {n}"
                );
                ensure!(
                    *answer == coded.search(query, &Search::top(k))?,
                    "query {n}"
                );
            }
            let differing = faiss.compare(k, &answers)?;
            println!(
                "k = {k}: scores agree; {differing} of {} ranks have another document of equal score",
                batch * k
            );
        }
    }
    println!(
        "\nqueries per second of wall time (CPU time), medians of {rounds} rounds\n\n{:<28} {:>18} {:>18} {:>18} {:>8} {:>8}",
        "", "ir", "ir, 8-bit codes", "FAISS", "ratio", "coded"
    );
    for mode in [SearchMode::Single, SearchMode::Batch] {
        for k in [10, 100] {
            for threads in [1, 2] {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()?;
                let mut times = [const { Vec::new() }; 3];
                for _ in 0..=rounds {
                    for (index, times) in [&index, &coded].into_iter().zip(&mut times) {
                        times.push(pool.install(|| mode.time(index, &queries, k))?);
                    }
                    if let Some(faiss) = &mut faiss {
                        times[2].push(faiss.time(k, threads, mode.name())?);
                    }
                }
                let query_count = match mode {
                    SearchMode::Single => SINGLES,
                    SearchMode::Batch => batch,
                };
                // The first round is a warm-up.
                let [ours, codes, faiss_rate] =
                    times.map(|times| Rate::new(query_count, times.get(1..).unwrap_or_default()));
                println!(
                    "{:<28} {:>18} {:>18} {:>18} {:>7.2}x {:>7.2}x",
                    format!("{}, k = {k}, {threads} thread(s)", mode.name()),
                    ours.format(threads),
                    codes.format(threads),
                    faiss_rate.format(threads),
                    ours.wall / faiss_rate.wall,
                    codes.wall / faiss_rate.wall,
                );
            }
        }
    }
    Ok(())
}

fn top_k_searches<'q>(queries: &[&'q [f32]], k: usize) -> Vec<(&'q [f32], Search<'static>)> {
    let query = |&query| (query, Search::top(k));
    queries.iter().map(query).collect()
}

#[derive(Clone, Copy)]
enum SearchMode {
    Single,
    Batch,
}

impl SearchMode {
    const fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Batch => "batch",
        }
    }

    fn time(self, index: &FlatIndex, queries: &[&[f32]], k: usize) -> Result<Seconds> {
        let clock = Clock::thread();
        match self {
            Self::Single => {
                for query in &queries[..SINGLES] {
                    let _ = std::hint::black_box(index.search(query, &Search::top(k))?);
                }
            }
            Self::Batch => {
                let _ = std::hint::black_box(index.search_batch(&top_k_searches(queries, k))?);
            }
        }
        Ok(clock.seconds())
    }
}

/// Queries per second of wall time and of CPU time.
struct Rate {
    wall: f64,
    cpu: f64,
}

impl Rate {
    fn new(query_count: usize, times: &[Seconds]) -> Self {
        let Seconds { wall, cpu } = Seconds::median(times.iter().copied());
        Self {
            wall: query_count as f64 / wall,
            cpu: query_count as f64 / cpu,
        }
    }

    fn format(&self, threads: usize) -> String {
        match threads {
            1 => format!("{:.0} ({:.0})", self.wall, self.cpu),
            _ => format!("{:.0}", self.wall),
        }
    }
}
