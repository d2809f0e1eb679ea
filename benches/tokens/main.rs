//! Late interaction over generated token vectors: MaxSim of each encoding beside the naive loop
//! and, optionally, beside next-plaid over the same vectors.
//!
//! ```sh
//! cargo build --release --manifest-path benches/tokens/next-plaid/Cargo.toml
//! IR_NEXT_PLAID=benches/tokens/next-plaid/target/release/next-plaid-peer \
//! cargo bench -p bench-tokens \
//!     [-- --documents N] [--tokens T] [--dim D] [--queries Q] [--rounds R] [--noise X]
//! ```
//! The peer is a program outside the workspace, because it compiles SQLite from C. Without
//! `IR_NEXT_PLAID`, only ir-knn is measured.
//!
//! A document has a topic, a direction of strength 0.5. A token is the direction of one of 2,000
//! words plus topic and noise (`--noise`, length relative to the word, default 0.5), normalized.
//! The 32 tokens of a query are words of one document with the same topic and other noise.
//! Candidates are the 50 documents with the highest exact scores and random others.
//!
//! One thread, CPU time, median of the rounds. The reference of recall@10 is exact MaxSim of the
//! f32 vectors over the same candidates. `scored` is the fraction of token pairs that the search
//! with early termination scores. `bytes` is the size of the file or folder per token.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

mod data;
mod peer;

use std::time::Instant;
use std::{env, fs};

use anyhow::{Result, ensure};
use bench_common::{Clock, Options, median};
use data::Collection;
use ir_core::{DocNum, TokenVectors};
use ir_knn::{
    SegmentedTokenStore, TokenCodebook, TokenCodebookConfig, TokenEncoding, TokenStore,
    TokenStoreConfig, TokenStoreWriter,
};

const K: usize = 10;
/// Numbers of candidates that are measured.
const CANDIDATES: [usize; 2] = [100, 1000];

fn main() -> Result<()> {
    let options = Options::parse("--documents --tokens --dim --queries --rounds --noise")?;
    let documents: usize = options.number("--documents", 2000)?;
    let tokens: usize = options.number("--tokens", 80)?;
    let dim: usize = options.number("--dim", 128)?;
    let queries: usize = options.number("--queries", 50)?;
    let rounds: usize = options.number("--rounds", 5)?;
    let noise: f64 = options.number("--noise", 0.5)?;
    ensure!(
        documents >= CANDIDATES[1],
        "expected at least 1000 documents"
    );
    let collection = Collection::generate(documents, tokens, dim, queries, noise);
    println!("{documents} documents of {tokens} x {dim}, {queries} queries of 32 tokens");

    let started = Instant::now();
    let sample: Vec<f32> = collection.documents.concat();
    let codebook = TokenCodebook::train(dim, &sample, &TokenCodebookConfig::default())?;
    drop(sample);
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{} centroids trained in {seconds:.1} s, all threads",
        codebook.len()
    );
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()?
        .install(|| measure(&collection, &codebook, rounds))
}

/// Exact scores of all documents, and the candidates of each query.
struct Workload {
    exact: Vec<Vec<f32>>,
    /// By number of candidates, then by query.
    candidates: [Vec<Vec<DocNum>>; 2],
}

impl Workload {
    fn new(collection: &Collection, store: &SegmentedTokenStore) -> Result<Self> {
        let all: Vec<DocNum> = (0..store.len() as u32).map(DocNum::new).collect();
        let mut exact = Vec::new();
        for query in &collection.queries {
            exact.push(store.scores(query, &all)?);
        }
        let candidates = CANDIDATES.map(|count| {
            let of_query = |(n, scores): (usize, &Vec<f32>)| data::candidates(n, scores, count);
            exact.iter().enumerate().map(of_query).collect()
        });
        Ok(Self { exact, candidates })
    }

    /// Fraction of the exact top 10 of the candidates that was found.
    fn recall(&self, size: usize, found: &[Vec<u32>]) -> f64 {
        let mut hits = 0;
        for ((docs, exact), found) in self.candidates[size].iter().zip(&self.exact).zip(found) {
            let mut best: Vec<DocNum> = docs.clone();
            best.sort_by(|a, b| exact[b.index()].total_cmp(&exact[a.index()]));
            hits += best[..K]
                .iter()
                .filter(|doc| found.contains(&doc.get()))
                .count();
        }
        hits as f64 / (K * found.len()) as f64
    }
}

fn measure(collection: &Collection, codebook: &TokenCodebook, rounds: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("tokens.ir");
    let mut workload = None;
    println!(
        "\n{:<22} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7}",
        "µs per query",
        "bytes",
        "all 100",
        "top 100",
        "all 1000",
        "top 1000",
        "top q/s",
        "scored",
        "recall"
    );
    for encoding in TokenEncoding::ALL {
        let mut config = TokenStoreConfig::new(collection.dim).with_encoding(encoding);
        if encoding.needs_codebook() {
            config = config.with_codebook(codebook.clone());
        }
        let mut writer = TokenStoreWriter::create(&path, &config)?;
        for (n, values) in collection.documents.iter().enumerate() {
            writer.push(&n.to_string(), &collection.vectors(values))?;
        }
        writer.finish()?;
        let store = TokenStore::open(&path)?;
        let bytes = fs::metadata(&path)?.len() as f64 / store.tokens() as f64;
        let store = SegmentedTokenStore::from(store);
        if workload.is_none() {
            workload = Some(Workload::new(collection, &store)?);
        }
        let Some(workload) = &workload else { continue };
        let (mut times, mut scored, mut recall) = (Vec::new(), 0.0, 0.0);
        for (size, candidates) in workload.candidates.iter().enumerate() {
            let pairs = || collection.queries.iter().zip(candidates);
            times.push(time(rounds, || {
                for (query, docs) in pairs() {
                    store.scores(query, docs)?;
                }
                Ok(())
            })?);
            let mut found = Vec::new();
            times.push(time(rounds, || {
                found.clear();
                for (query, docs) in pairs() {
                    found.push(store.top(query, docs, K)?);
                }
                Ok(())
            })?);
            // Early termination does not change the result.
            for ((query, docs), top) in pairs().zip(&found) {
                let scores = store.scores(query, docs)?;
                let mut order: Vec<usize> = (0..docs.len()).collect();
                order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
                let expected: Vec<(usize, f32)> =
                    order[..K].iter().map(|&at| (at, scores[at])).collect();
                ensure!(top.best == expected, "the best candidates differ");
            }
            let sum =
                |of: fn(&ir_knn::TopCandidates) -> usize| -> usize { found.iter().map(of).sum() };
            scored = sum(|top| top.scored_pairs) as f64 / sum(|top| top.pairs) as f64;
            let ids: Vec<Vec<u32>> = found
                .iter()
                .zip(candidates)
                .map(|(top, docs)| top.best.iter().map(|&(at, _)| docs[at].get()).collect())
                .collect();
            recall = workload.recall(size, &ids);
        }
        let micros = |seconds: f64| 1e6 * seconds / collection.queries.len() as f64;
        let name = encoding.to_string();
        println!(
            "{name:<22} {bytes:>7.1} {:>9.0} {:>9.0} {:>9.0} {:>9.0} {:>9.0} {scored:>7.3} {recall:>7.3}",
            micros(times[0]),
            micros(times[1]),
            micros(times[2]),
            micros(times[3]),
            1e6 / micros(times[3]),
        );
    }
    let Some(workload) = &workload else {
        return Ok(());
    };
    let query = &collection.queries[0];
    let naive = time(3, || {
        for doc in &workload.candidates[0][0] {
            let document = collection.vectors(&collection.documents[doc.index()]);
            let score = naive_max_sim(query, &document);
            ensure!(
                score == workload.exact[0][doc.index()],
                "the naive loop differs"
            );
        }
        Ok(())
    })?;
    println!("naive loop, 100 candidates in f32: {:.0} µs", 1e6 * naive);
    match env::var_os("IR_NEXT_PLAID") {
        Some(program) => peer::measure(program.as_ref(), collection, workload, rounds),
        None => {
            eprintln!("IR_NEXT_PLAID is not set: measuring ir-knn only");
            Ok(())
        }
    }
}

/// Median CPU time of the rounds in seconds, after a warm-up.
fn time(rounds: usize, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    work()?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let clock = Clock::thread();
        work()?;
        times.push(clock.seconds().cpu);
    }
    Ok(median(times))
}

fn naive_max_sim(query: &TokenVectors, document: &TokenVectors) -> f32 {
    let mut sum = 0.0_f64;
    for q in query.rows() {
        let mut max = f32::NEG_INFINITY;
        for d in document.rows() {
            let product = d
                .iter()
                .zip(q)
                .fold(0.0_f32, |sum, (a, b)| a.mul_add(*b, sum));
            max = max.max(product);
        }
        sum += f64::from(max);
    }
    sum as f32
}
