//! HNSW on 100,000 × 384 vectors: recall@10 and queries per second beside hnswlib, usearch and
//! FAISS's HNSW with the same vectors, M and efConstruction.
//!
//! ```sh
//! python3 -m venv venv && venv/bin/pip install faiss-cpu hnswlib usearch numpy
//! IR_PEERS_PYTHON=$PWD/venv/bin/python cargo bench -p bench-hnsw \
//!     [-- --data latent|sphere] [--vectors N] [--dim D] [--queries Q] [--rounds R] \
//!     [--m M] [--ef-construction E] [--latent L] [--peers hnswlib,usearch,faiss]
//! ```
//! One thread, CPU time, alternating rounds, median of the rounds. The peers answer all queries in
//! one call, so that Python adds no overhead; ir-knn answers them one at a time. The rate at recall
//! .95 is interpolated logarithmically between the two adjacent values of efSearch.
//!
//! Vectors have unit length. `sphere` is uniform over all directions, which is unlike embeddings
//! and hard for any graph. `latent` resembles embeddings: points around 100 centers in `--latent`
//! dimensions, mapped to 384 dimensions by a random matrix, with noise: x = normalize(A (c + z) +
//! 0.1 e), with A, c, z and e normally distributed.
//!
//! The last table is ir-knn alone: searches with random filters of different selectivity beside
//! exact search with the same filter.
//!
//! Without `IR_PEERS_PYTHON`, only ir-knn is measured.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

mod peer;

use std::path::Path;
use std::{env, fs};

use anyhow::{Result, ensure};
use bench_common::{Clock, Options, Random, Seconds, median, normalized, save};
use ir_core::{DocSet, Hit, NoProgress, Ranking, Retriever, Search};
use ir_knn::{EfSearch, FlatIndex, HnswConfig, HnswIndex, VectorSimilarity};
use peer::Peer;

const K: usize = 10;
const CENTERS: usize = 100;
const NOISE: f64 = 0.1;
const EF_SEARCH: [usize; 12] = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024];
/// Recall beyond which higher values of efSearch are skipped.
const MAX_RECALL: f64 = 0.995;
const TARGET_RECALL: f64 = 0.95;
const FILTERED_EF_SEARCH: usize = 64;

fn main() -> Result<()> {
    let options = Options::parse(
        "--data --vectors --dim --queries --rounds --m --ef-construction --latent --peers",
    )?;
    let count: usize = options.number("--vectors", 100_000)?;
    let dim: usize = options.number("--dim", 384)?;
    let query_count: usize = options.number("--queries", 1000)?;
    let rounds: usize = options.number("--rounds", 5)?;
    let m: usize = options.number("--m", 16)?;
    let ef_construction: usize = options.number("--ef-construction", 200)?;
    let kind = options.value("--data").unwrap_or("latent");
    let mut random = Random(7);
    let mut all = match kind {
        "latent" => latent_vectors(
            &mut random,
            count + query_count,
            dim,
            options.number("--latent", 192)?,
        ),
        "sphere" => random.unit_vectors(count + query_count, &vec![0.0; dim]),
        other => anyhow::bail!("--data: expected latent or sphere, found {other}"),
    };
    let queries = all.split_off(count * dim);
    let folder = tempfile::tempdir()?;
    save(&folder.path().join("rows.npy"), dim, &all)?;
    save(&folder.path().join("queries.npy"), dim, &queries)?;
    let queries: Vec<&[f32]> = queries.chunks_exact(dim).collect();

    let ids = (0..count).map(|n| n.to_string()).collect();
    let flat = FlatIndex::from_row_major(ids, dim, all, VectorSimilarity::InnerProduct)?;
    let batch: Vec<(&[f32], Search<'_>)> = queries
        .iter()
        .map(|&query| (query, Search::top(K)))
        .collect();
    let exact = flat.search_batch(&batch)?;
    println!(
        "{kind}: {count} x {dim}, {query_count} queries, M = {m}, efConstruction = {ef_construction}"
    );
    let config = HnswConfig::default()
        .with_m(m)
        .with_ef_construction(ef_construction);
    let clock = Clock::process();
    let index = HnswIndex::build(flat, &config, &mut NoProgress)?;
    let time = clock.seconds();
    let path = folder.path().join("hnsw.ir");
    index.save(&path)?;
    print_build("ir", "", time, fs::metadata(&path)?.len());
    let mut engines = vec![Engine::Ir(index)];
    if let Some(python) = env::var_os("IR_PEERS_PYTHON") {
        for name in options
            .value("--peers")
            .unwrap_or("hnswlib,usearch,faiss")
            .split(',')
        {
            let python = Path::new(&python);
            let (peer, info) = Peer::build(python, name, folder.path(), m, ef_construction)?;
            print_build(name, &info.version, info.time, info.bytes);
            engines.push(Engine::Peer(name.to_owned(), peer));
        }
    } else {
        eprintln!("IR_PEERS_PYTHON is not set: measuring ir-knn only");
    }

    let mut curves: Vec<RecallCurve> = engines.iter().map(|_| RecallCurve::default()).collect();
    for ef_search in EF_SEARCH {
        for (engine, curve) in engines.iter_mut().zip(&mut curves) {
            if curve.recall() < MAX_RECALL {
                let recall = engine.recall(&queries, ef_search, &exact)?;
                curve.points.push(OperatingPoint {
                    ef_search,
                    recall,
                    times: Vec::new(),
                });
            }
        }
        // The first round is a warm-up.
        for round in 0..=rounds {
            for (engine, curve) in engines.iter_mut().zip(&mut curves) {
                if let Some(point) = curve
                    .points
                    .last_mut()
                    .filter(|point| point.ef_search == ef_search)
                {
                    let time = engine.time(&queries, ef_search)?;
                    if round > 0 {
                        point.times.push(time);
                    }
                }
            }
        }
    }
    println!(
        "\nrecall@{K} and queries per second of CPU time, one thread\n\n{:<10}",
        "efSearch"
    );
    for (engine, curve) in engines.iter().zip(&curves) {
        println!("{}", engine.name());
        for point in &curve.points {
            println!(
                "{:>10} {:.4} {:>8.0}",
                point.ef_search,
                point.recall,
                point.rate(query_count)
            );
        }
    }
    println!("\nat a recall of {TARGET_RECALL}:");
    let ours = curves[0].rate_at(TARGET_RECALL, query_count);
    for (engine, curve) in engines.iter().zip(&curves) {
        match (curve.rate_at(TARGET_RECALL, query_count), ours) {
            (Some(rate), Some(ours)) => println!(
                "{:<10} {rate:>8.0} queries per second, ratio of ir {:.2}",
                engine.name(),
                ours / rate
            ),
            _ => println!("{:<10} not reached", engine.name()),
        }
    }
    match engines.first() {
        // The flat index divides a query among threads.
        Some(Engine::Ir(index)) => rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()?
            .install(|| measure_filtered(index, &queries)),
        _ => Ok(()),
    }
}

/// Prints recall and rates of filtered searches.
fn measure_filtered(index: &HnswIndex, queries: &[&[f32]]) -> Result<()> {
    let queries = &queries[..queries.len().min(200)];
    let searcher = index.searcher(EfSearch(FILTERED_EF_SEARCH));
    println!(
        "\nwith a filter, efSearch {FILTERED_EF_SEARCH}: fraction that passes, recall, queries per second, those of the flat index"
    );
    for fraction in [1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.01] {
        let mut random = Random(11);
        let allowed = DocSet::select(index.ids().len(), |_| random.uniform() < fraction);
        let search = Search::top(K).within(&allowed);
        let timed = |retriever: &dyn Retriever<Query = [f32]>| -> Result<(Vec<Ranking>, f64)> {
            let clock = Clock::thread();
            let found: Result<Vec<Ranking>, _> = queries
                .iter()
                .map(|query| retriever.search(query, &search))
                .collect();
            Ok((found?, queries.len() as f64 / clock.seconds().cpu))
        };
        let (exact, exact_rate) = timed(index.flat())?;
        let (found, rate) = timed(&searcher)?;
        let both = found.iter().zip(&exact).map(|(found, exact)| {
            let is_exact = |hit: &&Hit| exact.iter().any(|other| other.doc == hit.doc);
            found.iter().filter(is_exact).count()
        });
        let recall = both.sum::<usize>() as f64 / (K * queries.len()) as f64;
        println!("{fraction:>10} {recall:.4} {rate:>8.0} {exact_rate:>8.0}");
    }
    Ok(())
}

fn print_build(name: &str, version: &str, time: Seconds, bytes: u64) {
    let Seconds { wall, cpu } = time;
    println!(
        "{name:<10} build time {wall:.1} s ({cpu:.1} s CPU time), file size {:.1} MB  {version}",
        bytes as f64 / 1e6
    );
}

fn latent_vectors(random: &mut Random, count: usize, dim: usize, latent: usize) -> Vec<f32> {
    let mut normals = |n: usize| -> Vec<f64> { (0..n).map(|_| random.normal()).collect() };
    let scale = 1.0 / (latent as f64).sqrt();
    let map: Vec<f64> = normals(latent * dim).iter().map(|x| x * scale).collect();
    let centers = normals(CENTERS * latent);
    let mut all = Vec::with_capacity(count * dim);
    for _ in 0..count {
        let center = (random.uniform() * CENTERS as f64) as usize;
        let mut row: Vec<f64> = (0..dim).map(|_| NOISE * random.normal()).collect();
        for (at, map) in map.chunks_exact(dim).enumerate() {
            let coordinate = centers[center * latent + at] + random.normal();
            row.iter_mut()
                .zip(map)
                .for_each(|(x, map)| *x += coordinate * map);
        }
        all.extend(normalized(row).into_iter().map(|value| value as f32));
    }
    all
}

enum Engine {
    Ir(HnswIndex),
    Peer(String, Peer),
}

impl Engine {
    fn name(&self) -> &str {
        match self {
            Self::Ir(_) => "ir",
            Self::Peer(name, _) => name,
        }
    }

    fn recall(&mut self, queries: &[&[f32]], ef_search: usize, exact: &[Ranking]) -> Result<f64> {
        let found: Vec<i64> = match self {
            Self::Ir(index) => {
                let searcher = index.searcher(EfSearch(ef_search));
                let mut found = Vec::new();
                for query in queries {
                    let ranking = searcher.search(query, &Search::top(K))?;
                    found.extend(ranking.iter().map(|hit| i64::from(hit.doc.get())));
                }
                found
            }
            Self::Peer(_, peer) => peer.answers(ef_search)?,
        };
        ensure!(found.len() == K * queries.len(), "{} found", found.len());
        let both = found.chunks_exact(K).zip(exact).map(|(found, exact)| {
            let is_exact = |doc: &&i64| exact.iter().any(|hit| i64::from(hit.doc.get()) == **doc);
            found.iter().filter(is_exact).count()
        });
        Ok(both.sum::<usize>() as f64 / found.len() as f64)
    }

    fn time(&mut self, queries: &[&[f32]], ef_search: usize) -> Result<f64> {
        match self {
            Self::Ir(index) => {
                let searcher = index.searcher(EfSearch(ef_search));
                let clock = Clock::thread();
                for query in queries {
                    let _ = std::hint::black_box(searcher.search(query, &Search::top(K))?);
                }
                Ok(clock.seconds().cpu)
            }
            Self::Peer(_, peer) => peer.time(ef_search),
        }
    }
}

#[derive(Default)]
struct RecallCurve {
    points: Vec<OperatingPoint>,
}

struct OperatingPoint {
    ef_search: usize,
    recall: f64,
    times: Vec<f64>,
}

impl OperatingPoint {
    fn rate(&self, query_count: usize) -> f64 {
        query_count as f64 / median(self.times.iter().copied())
    }
}

impl RecallCurve {
    fn recall(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.recall)
    }

    /// Interpolated rate at a recall.
    fn rate_at(&self, recall: f64, query_count: usize) -> Option<f64> {
        let at = self
            .points
            .iter()
            .position(|point| point.recall >= recall)?;
        let (after, before) = (&self.points[at], self.points.get(at.checked_sub(1)?)?);
        let fraction = (recall - before.recall) / (after.recall - before.recall);
        let (slow, fast) = (after.rate(query_count).ln(), before.rate(query_count).ln());
        Some((fast + fraction * (slow - fast)).exp())
    }
}
