//! Instructions per query of ir-bm25, counted by valgrind: a figure that load on the machine does
//! not change.
//!
//! valgrind has no AVX-512, so the count is that of the AVX2 code.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ir_bm25::{Bm25, Index, Searcher};
use ir_core::{Retriever, Search};

use crate::workload::Workload;
use crate::{KINDS, ours};

/// Number of queries counted of each kind.
const QUERIES: usize = 40;
/// The function whose instructions are counted, with those of its callees.
const COUNTED: &str = "*instructions*search_counted*";

/// Builds the index, and counts the instructions of every kind of query in a process of its own.
pub(crate) fn run(work: &Workload, limit: u64, threads: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let index = folder.path().join("packages.ir");
    ours::build(work, &index, threads)?;
    println!("| million instructions per query | k = 10 | k = 1000 |\n|---|---|---|");
    for kind in KINDS {
        let count = |k| count(folder.path(), &index, kind, k, limit);
        println!("| {kind} | {:.3} | {:.3} |", count(10)?, count(1000)?);
    }
    Ok(())
}

fn count(folder: &Path, index: &Path, kind: &str, k: usize, limit: u64) -> Result<f64> {
    let file = folder.join("callgrind.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", &format!("--toggle-collect={COUNTED}")])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(std::env::current_exe()?)
        .args(["--engine", "instructions", "--kind", kind])
        .args(["--k", &k.to_string(), "--documents", &limit.to_string()])
        .arg("--index")
        .arg(index)
        .output()
        .context("valgrind: expected an executable")?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind: {message}");
    let found = fs::read_to_string(&file)?;
    let total = found
        .lines()
        .find_map(|line| line.strip_prefix("summary: "));
    let total: f64 = total.context("callgrind: expected a summary")?.parse()?;
    Ok(total / QUERIES as f64 / 1e6)
}

/// Searches for queries of a kind. Blocks and tables that are read for the first time are read
/// before counting.
pub(crate) fn child(work: &Workload, index: &str, kind: &str, k: usize) -> Result<()> {
    let index = Index::open(index)?;
    let searcher = index.searcher(Bm25::LUCENE)?;
    let queries = work.queries().iter();
    let texts: Vec<&str> = queries
        .filter(|query| Workload::kind(query) == kind)
        .map(|query| query.text.as_str())
        .take(QUERIES)
        .collect();
    ensure!(texts.len() == QUERIES, "expected {QUERIES} {kind}");
    for text in &texts {
        let _ = searcher.search(text, &Search::top(k))?;
    }
    search_counted(&searcher, &texts, k)
}

#[inline(never)]
fn search_counted(searcher: &Searcher, texts: &[&str], k: usize) -> Result<()> {
    for text in texts {
        let _ = std::hint::black_box(searcher.search(text, &Search::top(k))?);
    }
    Ok(())
}
