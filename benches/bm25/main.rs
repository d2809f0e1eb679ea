//! ir-bm25 beside tantivy: index time, index size, memory and queries per second on 1.1 million
//! short documents.
//!
//! Both engines index the same terms (ir-bm25's analyzer) with k1 = 1.2, b = 0.75 and one-byte
//! lengths, the only parameters of tantivy, and merge to one segment. Each engine runs in its own
//! process, so that memory is measured separately. Rankings are compared before timing.
//!
//! ```sh
//! IR_DATA=... cargo bench -p bench-bm25 [-- --documents N]
//! ```
//! Without the real collection, synthetic documents of the same shape are generated from a seed.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal"
)]

mod ours;
mod peer_tantivy;
mod workload;

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use anyhow::{Result, bail, ensure};
use bench_common::Options;
pub(crate) use workload::{Answers, Measured, Workload};

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
    let options = Options::given(&["--documents", "--engine", "--threads"])?;
    let limit: u64 = options.number("--documents", u64::MAX)?;
    if let Some(engine) = options.text("--engine") {
        return child(engine, options.number("--threads", 1)?, limit);
    }
    let threads = std::thread::available_parallelism()?.get().min(2);
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
        let (measured, answers): (Measured, Answers) = serde_json::from_slice(&output.stdout)?;
        results.push((engine, measured, answers));
    }
    let [(_, ours, our_answers), (_, theirs, their_answers)] = &results[..] else {
        bail!("two engines")
    };
    let differing = our_answers.compare(their_answers)?;
    println!(
        "{} documents, {} queries, {threads} threads for indexing, 1 for searching",
        ours.documents, ours.queries
    );
    println!("answers: scores of the top 10 agree within 0.1 % in all but {differing} queries\n");
    println!(
        "{:<34} {:>12} {:>12} {:>10}",
        "", ENGINES[0], ENGINES[1], "ratio"
    );
    let row = |what: &str, a: f64, b: f64, higher_is_better: bool| {
        let ratio = if higher_is_better { a / b } else { b / a };
        println!("{what:<34} {a:>12.1} {b:>12.1} {ratio:>9.2}x");
    };
    let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
    row(
        "index time, s",
        ours.index_seconds,
        theirs.index_seconds,
        false,
    );
    row(
        "index size, MiB",
        mib(ours.index_bytes),
        mib(theirs.index_bytes),
        false,
    );
    row(
        "peak resident while indexing, MiB",
        mib(ours.index_peak),
        mib(theirs.index_peak),
        false,
    );
    for (a, b) in ours.rates.iter().zip(&theirs.rates) {
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
    println!("\nratio: above 1 ir-bm25 is ahead");
    Ok(())
}

fn child(engine: &str, threads: usize, limit: u64) -> Result<()> {
    let work = Workload::open(limit)?;
    let folder = tempfile::tempdir()?;
    let result = match engine {
        "ir-bm25" => ours::measure(&work, folder.path(), threads)?,
        "tantivy" => peer_tantivy::measure(&work, folder.path(), threads)?,
        other => bail!("no engine {other:?}"),
    };
    println!("{}", serde_json::to_string(&result)?);
    Ok(())
}
