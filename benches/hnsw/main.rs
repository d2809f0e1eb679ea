//! HNSW on 100,000 × 384 vectors: recall@10 and queries per second beside hnswlib, usearch and
//! FAISS's HNSW with the same vectors, links (M) and build effort (efConstruction).
//!
//! ```sh
//! python3 -m venv venv && venv/bin/pip install faiss-cpu hnswlib usearch numpy
//! IR_PEERS_PYTHON=$PWD/venv/bin/python cargo bench -p bench-hnsw \
//!     [-- --data latent|sphere] [--vectors N] [--dim D] [--queries Q] [--rounds R] \
//!     [--links M] [--build-effort E] [--latent L] [--peers hnswlib,usearch,faiss]
//! ```
//! One thread, CPU time, alternating rounds, median of the rounds. The peers answer all queries in
//! one call, so that Python adds no overhead; ir-knn answers them one at a time. The rate at recall
//! .95 is interpolated logarithmically between the two adjacent efforts.
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

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal"
)]

mod peer;

use std::path::Path;
use std::{env, fs};

use anyhow::{Result, ensure};
use bench_common::{Clock, Options, Random, Seconds, median, normalized, save};
use ir_core::{DocSet, Hit, Ranking, Retriever, Search};
use ir_knn::{EfSearch, FlatIndex, HnswConfig, HnswIndex, VectorSimilarity};
use peer::Peer;

const K: usize = 10;
const CENTERS: usize = 100;
const NOISE: f64 = 0.1;
const EFFORTS: [usize; 12] = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024];
/// Efforts beyond this recall are skipped.
const ENOUGH: f64 = 0.995;
const TARGET: f64 = 0.95;
const FILTERED: usize = 64;

fn main() -> Result<()> {
    let options = Options::given(&[
        "--data",
        "--vectors",
        "--dim",
        "--queries",
        "--rounds",
        "--links",
        "--build-effort",
        "--latent",
        "--peers",
    ])?;
    let count: usize = options.number("--vectors", 100_000)?;
    let dim: usize = options.number("--dim", 384)?;
    let asked: usize = options.number("--queries", 1000)?;
    let rounds: usize = options.number("--rounds", 5)?;
    let links: usize = options.number("--links", 16)?;
    let build_effort: usize = options.number("--build-effort", 200)?;
    let kind = options.text("--data").unwrap_or("latent");
    let mut random = Random(7);
    let mut all = match kind {
        "latent" => latent(
            &mut random,
            count + asked,
            dim,
            options.number("--latent", 192)?,
        ),
        "sphere" => random.unit_vectors(count + asked, &vec![0.0; dim]),
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
        "{kind}: {count} x {dim}, {asked} queries, M = {links}, efConstruction = {build_effort}"
    );
    let config = HnswConfig::default()
        .with_m(links)
        .with_ef_construction(build_effort);
    let clock = Clock::of_all_threads();
    let index = HnswIndex::new(flat, &config)?;
    let took = clock.seconds();
    let path = folder.path().join("hnsw.ir");
    index.save(&path)?;
    built("ir", "", took, fs::metadata(&path)?.len());
    let mut engines = vec![Engine::Ours(index)];
    if let Some(python) = env::var_os("IR_PEERS_PYTHON") {
        for name in options
            .text("--peers")
            .unwrap_or("hnswlib,usearch,faiss")
            .split(',')
        {
            let python = Path::new(&python);
            let (peer, about) = Peer::build(python, name, folder.path(), links, build_effort)?;
            built(name, &about.version, about.took, about.bytes);
            engines.push(Engine::Theirs(name.to_owned(), peer));
        }
    } else {
        eprintln!("IR_PEERS_PYTHON is not set: this side alone");
    }

    let mut curves: Vec<Curve> = engines.iter().map(|_| Curve::default()).collect();
    for effort in EFFORTS {
        for (engine, curve) in engines.iter_mut().zip(&mut curves) {
            if curve.recall() < ENOUGH {
                let recall = engine.recall(&queries, effort, &exact)?;
                curve.points.push(Point {
                    effort,
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
                    .filter(|point| point.effort == effort)
                {
                    let time = engine.time(&queries, effort)?;
                    if round > 0 {
                        point.times.push(time);
                    }
                }
            }
        }
    }
    println!(
        "\nrecall@{K} and queries per second of CPU time, one thread\n\n{:<10}",
        "effort"
    );
    for (engine, curve) in engines.iter().zip(&curves) {
        println!("{}", engine.name());
        for point in &curve.points {
            println!(
                "{:>10} {:.4} {:>8.0}",
                point.effort,
                point.recall,
                point.rate(asked)
            );
        }
    }
    println!("\nat a recall of {TARGET}:");
    let ours = curves[0].at(TARGET, asked);
    for (engine, curve) in engines.iter().zip(&curves) {
        match (curve.at(TARGET, asked), ours) {
            (Some(rate), Some(ours)) => println!(
                "{:<10} {rate:>8.0} queries per second, ir {:.2} times as many",
                engine.name(),
                ours / rate
            ),
            _ => println!("{:<10} not reached", engine.name()),
        }
    }
    match engines.first() {
        // The exact index would split a query among threads.
        Some(Engine::Ours(index)) => rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()?
            .install(|| filtered(index, &queries)),
        _ => Ok(()),
    }
}

/// Prints recall and rates of filtered searches.
fn filtered(index: &HnswIndex, queries: &[&[f32]]) -> Result<()> {
    let queries = &queries[..queries.len().min(200)];
    let searcher = index.searcher(EfSearch(FILTERED));
    println!(
        "\nwith a filter, effort {FILTERED}: share that passes, recall, queries per second, of the exact index"
    );
    for share in [1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.01] {
        let mut random = Random(11);
        let allowed = DocSet::select(index.ids().len(), |_| random.uniform() < share);
        let how = Search::top(K).within(&allowed);
        let timed = |retriever: &dyn Retriever<Query = [f32]>| -> Result<(Vec<Ranking>, f64)> {
            let clock = Clock::of_this_thread();
            let found: Result<Vec<Ranking>, _> = queries
                .iter()
                .map(|query| retriever.search(query, &how))
                .collect();
            Ok((found?, queries.len() as f64 / clock.seconds().cpu))
        };
        let (exact, exact_rate) = timed(index.flat())?;
        let (found, rate) = timed(&searcher)?;
        let both = found.iter().zip(&exact).map(|(found, exact)| {
            let there = |hit: &&Hit| exact.iter().any(|other| other.doc == hit.doc);
            found.iter().filter(there).count()
        });
        let recall = both.sum::<usize>() as f64 / (K * queries.len()) as f64;
        println!("{share:>10} {recall:.4} {rate:>8.0} {exact_rate:>8.0}");
    }
    Ok(())
}

fn built(name: &str, version: &str, took: Seconds, bytes: u64) {
    let Seconds { wall, cpu } = took;
    println!(
        "{name:<10} built in {wall:.1} s ({cpu:.1} s CPU time), a file of {:.1} MB  {version}",
        bytes as f64 / 1e6
    );
}

fn latent(random: &mut Random, count: usize, dim: usize, latent: usize) -> Vec<f32> {
    let mut normals = |n: usize| -> Vec<f64> { (0..n).map(|_| random.normal()).collect() };
    let scale = 1.0 / (latent as f64).sqrt();
    let map: Vec<f64> = normals(latent * dim).iter().map(|x| x * scale).collect();
    let centers = normals(CENTERS * latent);
    let mut all = Vec::with_capacity(count * dim);
    for _ in 0..count {
        let center = (random.uniform() * CENTERS as f64) as usize;
        let mut row: Vec<f64> = (0..dim).map(|_| NOISE * random.normal()).collect();
        for (at, map) in map.chunks_exact(dim).enumerate() {
            let place = centers[center * latent + at] + random.normal();
            row.iter_mut()
                .zip(map)
                .for_each(|(x, map)| *x += place * map);
        }
        all.extend(normalized(row).into_iter().map(|value| value as f32));
    }
    all
}

enum Engine {
    Ours(HnswIndex),
    Theirs(String, Peer),
}

impl Engine {
    fn name(&self) -> &str {
        match self {
            Self::Ours(_) => "ir",
            Self::Theirs(name, _) => name,
        }
    }

    fn recall(&mut self, queries: &[&[f32]], effort: usize, exact: &[Ranking]) -> Result<f64> {
        let found: Vec<i64> = match self {
            Self::Ours(index) => {
                let searcher = index.searcher(EfSearch(effort));
                let mut found = Vec::new();
                for query in queries {
                    let ranking = searcher.search(query, &Search::top(K))?;
                    found.extend(ranking.iter().map(|hit| i64::from(hit.doc.get())));
                }
                found
            }
            Self::Theirs(_, peer) => peer.answers(effort)?,
        };
        ensure!(found.len() == K * queries.len(), "{} found", found.len());
        let both = found.chunks_exact(K).zip(exact).map(|(found, exact)| {
            let there = |doc: &&i64| exact.iter().any(|hit| i64::from(hit.doc.get()) == **doc);
            found.iter().filter(there).count()
        });
        Ok(both.sum::<usize>() as f64 / found.len() as f64)
    }

    fn time(&mut self, queries: &[&[f32]], effort: usize) -> Result<f64> {
        match self {
            Self::Ours(index) => {
                let searcher = index.searcher(EfSearch(effort));
                let clock = Clock::of_this_thread();
                for query in queries {
                    let _ = std::hint::black_box(searcher.search(query, &Search::top(K))?);
                }
                Ok(clock.seconds().cpu)
            }
            Self::Theirs(_, peer) => peer.time(effort),
        }
    }
}

#[derive(Default)]
struct Curve {
    points: Vec<Point>,
}

struct Point {
    effort: usize,
    recall: f64,
    times: Vec<f64>,
}

impl Point {
    fn rate(&self, asked: usize) -> f64 {
        asked as f64 / median(self.times.iter().copied())
    }
}

impl Curve {
    fn recall(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.recall)
    }

    /// Interpolated rate at a recall.
    fn at(&self, recall: f64, asked: usize) -> Option<f64> {
        let at = self
            .points
            .iter()
            .position(|point| point.recall >= recall)?;
        let (after, before) = (&self.points[at], self.points.get(at.checked_sub(1)?)?);
        let part = (recall - before.recall) / (after.recall - before.recall);
        let (slow, fast) = (after.rate(asked).ln(), before.rate(asked).ln());
        Some((fast + part * (slow - fast)).exp())
    }
}
