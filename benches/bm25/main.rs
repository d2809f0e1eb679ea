//! ir-bm25 beside tantivy: index time, index size, memory and queries per second on 1.1 million
//! short documents.
//!
//! Both engines index the same terms (ir-bm25's analyzer) with k1 = 1.2, b = 0.75 and one-byte
//! lengths, the only parameters of tantivy, and merge to one segment. Each engine runs in its own
//! process, so that memory is measured separately. Rankings are compared before timing.
//!
//! ```sh
//! IR_DATA=... cargo bench -p bench-bm25 [-- --documents N]
//! IR_DATA=... cargo bench -p bench-bm25 -- --workload updates [--documents N]
//! ```
//! The workload `updates` measures commits, replacements and merging.
//! Without the real collection, synthetic documents of the same shape are generated from a seed.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

mod ours;
mod peer_tantivy;
mod updates;
mod workload;

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use anyhow::{Result, bail, ensure};
use bench_common::Options;
pub(crate) use workload::{Measurements, TopHits, Workload};

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

fn main() -> Result<()> {
    // The last two options are for the child processes.
    let options = Options::parse("--documents --workload --engine --threads")?;
    let limit: u64 = options.number("--documents", u64::MAX)?;
    if let Some(engine) = options.value("--engine") {
        return child(engine, options.number("--threads", 1)?, limit);
    }
    let threads = std::thread::available_parallelism()?.get().min(2);
    match options.value("--workload") {
        None | Some("queries") => {}
        Some("updates") => return updates::run(&Workload::open(limit)?, threads),
        Some(other) => bail!("--workload: expected queries or updates, found {other:?}"),
    }
    let mut results = Vec::new();
    for engine in ENGINES {
        let mut command = Command::new(env::current_exe()?);
        command
            .args(["--engine", engine])
            .args(["--threads", &threads.to_string()])
            .args(["--documents", &limit.to_string()]);
        eprintln!("running {engine} ...");
        let output = command.stderr(std::process::Stdio::inherit()).output()?;
        ensure!(output.status.success(), "{engine} failed");
        let (measured, answers): (Measurements, TopHits) = serde_json::from_slice(&output.stdout)?;
        results.push((engine, measured, answers));
    }
    let [(_, ir, ir_hits), (_, tantivy, tantivy_hits)] = &results[..] else {
        bail!("expected the results of two engines")
    };
    let differing = ir_hits.compare(tantivy_hits)?;
    println!(
        "{} documents, {} queries, {threads} threads for indexing, 1 for searching",
        ir.documents, ir.queries
    );
    println!("scores of the top 10 agree within 0.1 % in all but {differing} queries\n");
    println!(
        "{:<34} {:>12} {:>12} {:>10}",
        "", ENGINES[0], ENGINES[1], "ratio"
    );
    let row = |label: &str, a: f64, b: f64, higher_is_better: bool| {
        let ratio = if higher_is_better { a / b } else { b / a };
        println!("{label:<34} {a:>12.1} {b:>12.1} {ratio:>9.2}x");
    };
    let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
    row(
        "index time, s",
        ir.index_seconds,
        tantivy.index_seconds,
        false,
    );
    row(
        "index size, MiB",
        mib(ir.index_bytes),
        mib(tantivy.index_bytes),
        false,
    );
    row(
        "peak memory, indexing, MiB",
        mib(ir.index_peak),
        mib(tantivy.index_peak),
        false,
    );
    for (a, b) in ir.rates.iter().zip(&tantivy.rates) {
        row(
            &format!("queries/s, {}, k = {}", a.kind, a.k),
            a.per_second,
            b.per_second,
            true,
        );
        row(
            &format!("  p95, ms, {}, k = {}", a.kind, a.k),
            a.p95_ms,
            b.p95_ms,
            false,
        );
    }
    println!("\nratio > 1: ir-bm25 is better");
    Ok(())
}

fn child(engine: &str, threads: usize, limit: u64) -> Result<()> {
    let work = Workload::open(limit)?;
    let folder = tempfile::tempdir()?;
    let result = match engine {
        "ir-bm25" => ours::measure(&work, folder.path(), threads)?,
        "tantivy" => peer_tantivy::measure(&work, folder.path(), threads)?,
        other => bail!("--engine: expected ir-bm25 or tantivy, found {other:?}"),
    };
    println!("{}", serde_json::to_string(&result)?);
    Ok(())
}
