//! next-plaid in a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::json;

use super::data::Collection;
use super::{CANDIDATES, K, Workload};

/// Reply to one request.
#[derive(Deserialize)]
struct Reply {
    /// Bytes of the folder of the index.
    bytes: u64,
    /// Median CPU time per query in seconds, by number of candidates.
    seconds: Vec<f64>,
    /// Documents found, by number of candidates and query.
    found: Vec<Vec<Vec<u32>>>,
    /// Median CPU time per query of a search without candidates, and the documents found.
    search_seconds: f64,
    search_found: Vec<Vec<u32>>,
}

/// Measures next-plaid with 4 and 2 bits over the same vectors and candidates.
pub(crate) fn measure(
    program: &Path,
    collection: &Collection,
    workload: &Workload,
    rounds: usize,
) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, rows: &[&[f32]]| -> Result<()> {
        let mut file = std::fs::File::create(folder.path().join(name))?;
        for row in rows {
            file.write_all(bytemuck::cast_slice(row))?;
        }
        Ok(())
    };
    let documents: Vec<&[f32]> = collection.documents.iter().map(Vec::as_slice).collect();
    write("documents.f32", &documents)?;
    let queries: Vec<&[f32]> = collection.queries.iter().map(|it| &*it.values).collect();
    write("queries.f32", &queries)?;
    let tokens = collection.documents[0].len() / collection.dim;
    let query_tokens = collection.queries[0].len();
    for bits in [4, 2] {
        let candidates = workload.candidates.each_ref().map(|of_queries| {
            let ids = |docs: &Vec<ir_core::DocNum>| docs.iter().map(|doc| doc.get()).collect();
            of_queries.iter().map(ids).collect::<Vec<Vec<u32>>>()
        });
        let request = json!({
            "folder": folder.path(), "bits": bits, "dim": collection.dim, "tokens": tokens,
            "query_tokens": query_tokens, "k": K, "rounds": rounds, "candidates": candidates,
        });
        let mut child = Command::new(program)
            .env("RAYON_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        writeln!(child.stdin.take().context("standard input")?, "{request}")?;
        let output = BufReader::new(child.stdout.take().context("standard output")?);
        // The library may print lines of its own.
        let lines = output.lines().collect::<Result<Vec<String>, _>>()?;
        child.wait()?;
        let reply = lines.last().context("a reply")?;
        let reply: Reply = serde_json::from_str(reply)?;
        let all: usize = documents.len() * tokens;
        println!(
            "next-plaid, {bits} bits: {:.1} bytes per token",
            reply.bytes as f64 / all as f64
        );
        for (size, count) in CANDIDATES.into_iter().enumerate() {
            println!(
                "  {count} candidates: {:.0} µs per query, recall@10 {:.3}",
                1e6 * reply.seconds[size],
                workload.recall(size, &reply.found[size])
            );
        }
        let mut hits = 0;
        for (exact, found) in workload.exact.iter().zip(&reply.search_found) {
            let mut order: Vec<u32> = (0..exact.len() as u32).collect();
            order.sort_by(|&a, &b| exact[b as usize].total_cmp(&exact[a as usize]));
            hits += order[..K].iter().filter(|doc| found.contains(doc)).count();
        }
        println!(
            "  all documents, PLAID: {:.0} µs per query, recall@10 {:.3}",
            1e6 * reply.search_seconds,
            hits as f64 / (K * workload.exact.len()) as f64
        );
    }
    Ok(())
}
