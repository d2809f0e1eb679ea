//! Growth with the number of documents: building, opening and searching of ir-bm25, each size in a
//! process of its own.
//!
//! Documents beyond the collection are combinations: the first half of the words of one document
//! and the second half of those of one before it, at a distance that grows with every pass.

use std::collections::VecDeque;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};
use bench_common::Page;
use ir_bm25::{Bm25, Index, IndexBuilder, IndexConfig, SegmentedIndex};
use ir_core::{Document, NoProgress, Retriever, Search};

use crate::workload::{Workload, process_seconds, thread_seconds};
use crate::{folder_size, resident_peak};

const SIZES: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
/// Opening is repeated; the median counts.
const OPENINGS: usize = 9;
/// Batches on one thread and on all, in turn; the median counts.
const BATCHES: usize = 5;
/// Minimum time of a batch on one thread: the queries are repeated.
const MIN_BATCH_SECONDS: f64 = 0.5;
/// Maximum peak memory of indexing.
const MAX_MEMORY: u64 = 4 << 30;

/// Writes a table with a row for each size up to `limit`.
pub(crate) fn run(collection: &str, limit: u64, threads: usize, page: &Page) -> Result<()> {
    let mut table = format!(
        "| documents | indexing: CPU s; wall s | size, MiB | peak memory, MiB | opening, ms | keywords, \
         questions, arguments, ms | batches: queries/s on 1 thread, on {threads} (ratio) |\n\
         |---|---|---|---|---|---|---|\n"
    );
    for size in SIZES.into_iter().filter(|&size| size <= limit) {
        eprintln!("{size} documents ...");
        let output = Command::new(std::env::current_exe()?)
            .args(["--engine", "growth", "--collection", collection])
            .args(["--documents", &size.to_string()])
            .args(["--threads", &threads.to_string()])
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        ensure!(output.status.success(), "{size} documents: failed");
        table.push_str(&String::from_utf8(output.stdout)?);
    }
    page.write("growth", &table)
}

/// Prints the row of one size.
pub(crate) fn child(work: &Workload, size: u64, threads: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("growth.ir");
    let (start, cpu) = (Instant::now(), process_seconds());
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool(threads)?.install(|| -> Result<()> {
        let mut builder = IndexBuilder::new(IndexConfig::default())?
            .with_threads(threads)
            .with_memory(work.budget);
        for_each_document(work, size, &mut |n, title, text| {
            let document = Document::new(format!("{n:010}"));
            Ok(builder.push(&document.with_title(title).with_text(text))?)
        })?;
        builder.finish_to(&path, &mut NoProgress)?;
        Ok(())
    })?;
    let (cpu, wall) = (process_seconds() - cpu, start.elapsed().as_secs_f64());
    let (bytes, peak) = (folder_size(folder.path())?, resident_peak());

    ensure!(
        peak < MAX_MEMORY,
        "expected less than 4 GiB, found {peak} bytes"
    );
    let mut openings = Vec::new();
    for _ in 0..OPENINGS {
        let start = Instant::now();
        let searcher = SegmentedIndex::from(Index::open(&path)?).searcher(Bm25::ANSERINI)?;
        std::hint::black_box(&searcher);
        openings.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let searcher = Index::open(&path)?.searcher(Bm25::ANSERINI)?;
    let mut means = Vec::new();
    for &kind in work.kinds() {
        let texts = work.texts(kind);
        let mut total = 0.0;
        for text in &texts {
            let mut best = f64::INFINITY;
            for _ in 0..3 {
                let start = thread_seconds();
                let _ = std::hint::black_box(searcher.search(text, &Search::top(10))?);
                best = best.min((thread_seconds() - start) * 1e3);
            }
            total += best;
        }
        means.push(format!("{:.3}", total / texts.len() as f64));
    }
    let queries = work.queries().iter();
    let queries: Vec<_> = queries
        .map(|query| (query.text.as_str(), Search::top(10)))
        .collect();
    let (one, all) = (pool(1)?, pool(threads)?);
    let seconds = |pool: &rayon::ThreadPool, queries: &[(&str, Search<'_>)]| -> Result<f64> {
        let start = Instant::now();
        pool.install(|| searcher.search_batch(queries))?;
        Ok(start.elapsed().as_secs_f64())
    };
    // Long enough that the time is not that of starting threads.
    let repeats = (MIN_BATCH_SECONDS / seconds(&one, &queries)?).ceil() as usize;
    let queries = queries.repeat(repeats.max(1));
    let (mut on_one, mut on_all) = (Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        on_one.push(seconds(&one, &queries)?);
        on_all.push(seconds(&all, &queries)?);
    }
    let ratios = on_one.iter().zip(&on_all).map(|(one, all)| one / all);
    let ratio = bench_common::median(ratios);
    let rate = |seconds: Vec<f64>| queries.len() as f64 / bench_common::median(seconds);
    println!(
        "| {} | {cpu:.1}; {wall:.1} | {:.1} | {:.0} | {:.2} | {} | {:.0}, {:.0} ({:.2}) |",
        with_commas(size),
        bytes as f64 / 1_048_576.0,
        peak as f64 / 1_048_576.0,
        bench_common::median(openings),
        means.join(", "),
        rate(on_one),
        rate(on_all),
        ratio,
    );
    Ok(())
}

/// A number with a comma after each three digits.
fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// Visits the number, title and text of `size` documents.
fn for_each_document(
    work: &Workload,
    size: u64,
    visit: &mut dyn FnMut(u64, &str, &str) -> Result<()>,
) -> Result<()> {
    let mut done = 0;
    let mut pass = 0;
    while done < size {
        let before = done;
        let mut earlier: VecDeque<String> = VecDeque::new();
        work.for_each_document(&mut |_, document| {
            if done == size {
                return Ok(());
            }
            let text = match earlier
                .front()
                .filter(|_| earlier.len() == pass && pass > 0)
            {
                Some(other) => combined(&document.text, other),
                None => document.text.clone(),
            };
            visit(done, &document.title, &text)?;
            done += 1;
            earlier.push_back(document.text.clone());
            if earlier.len() > pass {
                earlier.pop_front();
            }
            Ok(())
        })?;
        ensure!(done > before, "expected documents");
        pass += 1;
    }
    Ok(())
}

/// The first half of the words of one text and the second half of those of another.
fn combined(first: &str, second: &str) -> String {
    let (first, second): (Vec<_>, Vec<_>) = (
        first.split_whitespace().collect(),
        second.split_whitespace().collect(),
    );
    let (start, end) = (
        &first[..first.len().div_ceil(2)],
        &second[second.len() / 2..],
    );
    [start, end].concat().join(" ")
}
