//! Instructions per query of ir-bm25, counted by valgrind: a metric independent of the load of the
//! machine.
//!
//! valgrind has no AVX-512, so the count is that of the AVX2 code. With `--check`, the counts are
//! compared with those of a page.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use bench_common::{Page, table_of};
use ir_bm25::{Bm25, Index, Searcher};
use ir_core::{Retriever, Search};

use crate::ours;
use crate::workload::{KS, PACKAGES, Workload};

/// Number of queries counted of each kind.
const QUERIES: usize = 40;
/// Settings of the C library in which no instruction of a copy repeats.
const TUNABLES: &str =
    "glibc.cpu.x86_rep_stosb_threshold=1000000000:glibc.cpu.x86_rep_movsb_threshold=1000000000";
/// Maximum ratio of a count to that of the page.
const MAX_RISE: f64 = 1.05;

/// Builds the index, counts the instructions of every kind of query in processes of their own,
/// writes a table, and compares the counts with those of the page `check`.
pub(crate) fn run(
    work: &Workload,
    (collection, limit, threads): (&str, u64, usize),
    check: Option<&Path>,
    page: &Page,
) -> Result<()> {
    let name = format!("instructions {collection}");
    let expected = match check {
        None => None,
        Some(path) => {
            let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
            let table = table_of(&text, &name).map(str::to_owned);
            Some(table.with_context(|| format!("{}: no table {name}", path.display()))?)
        }
    };
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("packages.ir");
    ours::build(work, &path, threads)?;
    let index = Index::open(&path)?;
    let mut table = String::from(
        "| | million instructions per query, k = 10 | k = 1000 | postings of its terms | instructions per \
         posting, k = 10 | k = 1000 |\n|---|---|---|---|---|---|\n",
    );
    let mut risen = Vec::new();
    for &kind in work.kinds() {
        let documents = limit.to_string();
        let count_of = |k: usize| {
            // The difference excludes opening and the first search of every query.
            let [once, twice] = [1, 2].map(|passes: usize| {
                count(
                    folder.path(),
                    &[
                        ("--kind", kind),
                        ("--k", &k.to_string()),
                        ("--passes", &passes.to_string()),
                        ("--documents", &documents),
                        ("--collection", collection),
                        ("--index", &path.to_string_lossy()),
                    ],
                )
            });
            Ok::<_, anyhow::Error>((twice? - once?) / QUERIES as f64 / 1e6)
        };
        let found = [count_of(KS[0])?, count_of(KS[1])?];
        let postings = postings(&index, &counted(work, kind)?)?;
        let [few, many] = found.map(|millions| 1e6 * millions / postings);
        let row = match collection {
            PACKAGES => kind,
            other => other,
        };
        writeln!(
            table,
            "| {row} | {:.3} | {:.3} | {postings:.0} | {few:.1} | {many:.1} |",
            found[0], found[1]
        )?;
        let Some(expected) = &expected else { continue };
        for (at, (found, k)) in found.into_iter().zip(KS).enumerate() {
            let expected = cell(expected, row, at)
                .with_context(|| format!("the page: expected a row {row} with two numbers"))?;
            if found > MAX_RISE * expected {
                risen.push(format!(
                    "{row}, k = {k}: expected {expected}, found {found:.3}"
                ));
            }
        }
    }
    page.write(&name, &table)?;
    if !risen.is_empty() {
        bail!(
            "million instructions per query have risen by more than 5 %\n{}",
            risen.join("\n")
        );
    }
    Ok(())
}

/// The queries of a kind that are counted.
fn counted<'a>(work: &'a Workload, kind: &str) -> Result<Vec<&'a str>> {
    let mut texts = work.texts(kind);
    texts.truncate(QUERIES);
    ensure!(texts.len() == QUERIES, "expected {QUERIES} {kind}");
    Ok(texts)
}

/// Mean number of postings of the terms of a query.
fn postings(index: &Index, texts: &[&str]) -> Result<f64> {
    let searcher = index.searcher(Bm25::LUCENE)?;
    let mut total = 0;
    for text in texts {
        for weighted in searcher.query_terms(text) {
            let stats = index.term("contents", &weighted.term)?;
            total += stats.map_or(0, |stats| stats.docs);
        }
    }
    Ok(total as f64 / texts.len() as f64)
}

/// A number in the row of this name of a table.
fn cell(table: &str, name: &str, at: usize) -> Option<f64> {
    let row = format!("| {name} |");
    let cells = table.lines().find_map(|line| line.strip_prefix(&row))?;
    cells.split('|').nth(at)?.trim().parse().ok()
}

/// Instructions of a whole process.
fn count(folder: &Path, options: &[(&str, &str)]) -> Result<f64> {
    let file = folder.join("cachegrind.out");
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no"])
        .arg(format!("--cachegrind-out-file={}", file.display()))
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
    let total: f64 = total
        .context("cachegrind: expected a summary")?
        .trim()
        .parse()?;
    ensure!(total > 0.0, "cachegrind: expected instructions");
    Ok(total)
}

/// Searches for queries of a kind, once and then in so many passes: what is read, decoded or cached
/// in the first search of a term is not counted.
pub(crate) fn child(
    work: &Workload,
    index: &str,
    kind: &str,
    k: usize,
    passes: usize,
) -> Result<()> {
    let index = Index::open(index)?;
    let searcher = index.searcher(Bm25::LUCENE)?;
    let texts = counted(work, kind)?;
    for _ in 0..=passes {
        search_all(&searcher, &texts, k)?;
    }
    Ok(())
}

#[inline(never)]
fn search_all(searcher: &Searcher, texts: &[&str], k: usize) -> Result<()> {
    for text in texts {
        let _ = std::hint::black_box(searcher.search(text, &Search::top(k))?);
    }
    Ok(())
}
