//! Instructions per query of ir-bm25, counted by valgrind: a metric independent of the load of the
//! machine.
//!
//! valgrind has no AVX-512, so the count is that of the AVX2 code.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ir_bm25::{Bm25, Index, Searcher};
use ir_core::{Retriever, Search};

use crate::ours;
use crate::workload::Workload;

/// Number of queries counted of each kind.
const QUERIES: usize = 40;
/// Settings of the C library in which no instruction of a copy repeats.
const TUNABLES: &str =
    "glibc.cpu.x86_rep_stosb_threshold=1000000000:glibc.cpu.x86_rep_movsb_threshold=1000000000";
/// The function whose instructions are counted, with those of its callees.
const COUNTED: &str = "*instructions*search_counted*";

/// Builds the index, and counts the instructions of every kind of query in a process of its own.
pub(crate) fn run(work: &Workload, collection: &str, limit: u64, threads: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let index = folder.path().join("packages.ir");
    ours::build(work, &index, threads)?;
    println!("| million instructions per query | k = 10 | k = 1000 |\n|---|---|---|");
    for &kind in work.kinds() {
        let documents = limit.to_string();
        let count = |k: usize| {
            count(
                folder.path(),
                &[
                    ("--kind", kind),
                    ("--k", &k.to_string()),
                    ("--documents", &documents),
                    ("--collection", collection),
                    ("--index", &index.to_string_lossy()),
                ],
            )
        };
        println!("| {kind} | {:.3} | {:.3} |", count(10)?, count(1000)?);
    }
    Ok(())
}

fn count(folder: &Path, options: &[(&str, &str)]) -> Result<f64> {
    let file = folder.join("callgrind.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", &format!("--toggle-collect={COUNTED}")])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(std::env::current_exe()?)
        .args(["--engine", "instructions"])
        .args(options.iter().flat_map(|&(name, value)| [name, value]))
        // Instructions that repeat count as many: copying and clearing must not use them.
        .env("GLIBC_TUNABLES", TUNABLES)
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
    let mut texts = work.texts(kind);
    texts.truncate(QUERIES);
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
