//! Builds and searches an index of next-plaid, as `benches/tokens/main.rs` asks: one request as a
//! line of JSON on standard input, one reply as the last line of standard output.

use std::error::Error;
use std::path::{Path, PathBuf};

use ndarray::Array2;
use next_plaid::{IndexConfig, MmapIndex, SearchParameters, UpdateConfig};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Request {
    folder: PathBuf,
    bits: usize,
    dim: usize,
    tokens: usize,
    query_tokens: usize,
    k: usize,
    rounds: usize,
    candidates: Vec<Vec<Vec<i64>>>,
}

#[derive(Serialize)]
struct Reply {
    bytes: u64,
    seconds: Vec<f64>,
    found: Vec<Vec<Vec<i64>>>,
    search_seconds: f64,
    search_found: Vec<Vec<i64>>,
}

fn read(path: &Path, tokens: usize, dim: usize) -> Result<Vec<Array2<f32>>, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let values = bytes
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let values: Vec<f32> = values.collect();
    let rows = values.chunks_exact(tokens * dim);
    rows.map(|rows| Ok(Array2::from_shape_vec((tokens, dim), rows.to_vec())?))
        .collect()
}

/// CPU time of all threads of the process in seconds.
fn cpu_time() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let time = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        text.split_whitespace()
            .next()
            .and_then(|n| n.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    threads.map(time).sum::<f64>() / 1e9
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    let request: Request = serde_json::from_str(&line)?;
    let documents = read(
        &request.folder.join("documents.f32"),
        request.tokens,
        request.dim,
    )?;
    let queries = read(
        &request.folder.join("queries.f32"),
        request.query_tokens,
        request.dim,
    )?;
    let path = request.folder.join(format!("plaid{}", request.bits));
    let config = IndexConfig {
        nbits: request.bits,
        seed: Some(42),
        ..IndexConfig::default()
    };
    let folder = path.to_str().ok_or("a path in UTF-8")?;
    let (index, ids) =
        MmapIndex::update_or_create(&documents, folder, &config, &UpdateConfig::default())?;
    assert!(
        ids.iter().copied().eq(0..documents.len() as i64),
        "ids in order"
    );
    let mut bytes = 0;
    for entry in std::fs::read_dir(&path)? {
        bytes += entry?.metadata()?.len();
    }
    let parameters = SearchParameters {
        top_k: request.k,
        ..SearchParameters::default()
    };
    let timed = |subsets: Option<&Vec<Vec<i64>>>| -> Result<(f64, Vec<Vec<i64>>), Box<dyn Error>> {
        let (mut times, mut found) = (Vec::new(), Vec::new());
        for round in 0..=request.rounds {
            found.clear();
            let started = cpu_time();
            for (n, query) in queries.iter().enumerate() {
                let subset = subsets.map(|subsets| &*subsets[n]);
                found.push(index.search(query, &parameters, subset)?.passage_ids);
            }
            // The first round is a warm-up.
            if round > 0 {
                times.push((cpu_time() - started) / queries.len() as f64);
            }
        }
        times.sort_by(f64::total_cmp);
        Ok((times[times.len() / 2], found))
    };
    let (mut seconds, mut found) = (Vec::new(), Vec::new());
    for subsets in &request.candidates {
        let (time, hits) = timed(Some(subsets))?;
        seconds.push(time);
        found.push(hits);
    }
    let (search_seconds, search_found) = timed(None)?;
    let reply = Reply {
        bytes,
        seconds,
        found,
        search_seconds,
        search_found,
    };
    println!("{}", serde_json::to_string(&reply)?);
    Ok(())
}
