//! Opening of indexes of every kind, and the first search, in which checksums are verified and
//! files are mapped. The files are in the page cache.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use bench_common::{Page, Random, median};
use ir_bm25::{Bm25, Index, IndexConfig, IndexWriter, SegmentedIndex};
use ir_core::{Document, NoProgress, Retriever, Search};
use ir_knn::{
    EfSearch, FlatIndex, HnswConfig, HnswIndex, SegmentedVectorIndex, VectorIndexConfig,
    VectorIndexWriter, VectorSimilarity,
};

use crate::workload::Workload;
use crate::{folder_size, ours};

/// Opening is repeated; the median counts.
const OPENINGS: usize = 9;
/// Maximum median time of opening in milliseconds.
const MAX_OPENING: f64 = 50.0;
/// Documents per commit of the segmented indexes.
const COMMIT: u64 = 100_000;
/// One of so many documents is deleted.
const DELETED: u64 = 100;
/// Vectors, their dimension, and those in a graph.
const VECTORS: usize = 500_000;
const DIM: usize = 384;
const NODES: usize = 50_000;

/// Median milliseconds of opening and of the first search after it.
fn measure<T>(
    mut open: impl FnMut() -> Result<T>,
    mut search: impl FnMut(&T) -> Result<()>,
) -> Result<[f64; 2]> {
    let (mut openings, mut searches) = (Vec::new(), Vec::new());
    for _ in 0..OPENINGS {
        let start = Instant::now();
        let index = open()?;
        openings.push(start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        search(&index)?;
        searches.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok([median(openings), median(searches)])
}

pub(crate) fn run(work: &Workload, threads: usize, page: &Page) -> Result<()> {
    let mut table =
        String::from("| index | size, MiB | opening, ms | first search, ms |\n|---|---|---|---|\n");
    let mut row = |name: String, path: &Path, [opening, search]: [f64; 2]| -> Result<()> {
        ensure!(
            opening < MAX_OPENING,
            "{name}: expected less than 50 ms, found {opening:.1}"
        );
        let bytes = if path.is_dir() {
            folder_size(path)?
        } else {
            path.metadata()?.len()
        };
        let mib = bytes as f64 / 1_048_576.0;
        writeln!(table, "| {name} | {mib:.0} | {opening:.2} | {search:.2} |")?;
        Ok(())
    };
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    let query = work.queries().first().map_or("", |query| &query.text);
    let search = Search::top(10);
    let bm25 = |searcher: &ir_bm25::Searcher| -> Result<()> {
        let _ = std::hint::black_box(searcher.search(query, &search)?);
        Ok(())
    };

    let path = folder.join("index.ir");
    ours::build(work, &path, threads)?;
    let documents = Index::open(&path)?.len();
    let found = measure(|| Ok(Index::open(&path)?.searcher(Bm25::ANSERINI)?), bm25)?;
    row(format!("BM25, {documents} documents, a file"), &path, found)?;

    let path = folder.join("segments");
    let segments = commit_documents(work, &path, threads)?;
    let open = || Ok(SegmentedIndex::open(&path)?.searcher(Bm25::ANSERINI)?);
    let found = measure(open, bm25)?;
    let name = format!("BM25, {segments} segments, one of {DELETED} documents deleted");
    row(name, &path, found)?;

    let mut random = Random(11);
    let mut vector = || {
        (0..DIM)
            .map(|_| random.uniform() as f32 - 0.5)
            .collect::<Vec<f32>>()
    };
    let query = vector();
    let similarity = VectorSimilarity::InnerProduct;
    let path = folder.join("flat.ir");
    let values = (0..VECTORS).flat_map(|_| vector()).collect();
    let ids = (0..VECTORS).map(|n| n.to_string()).collect();
    let flat = FlatIndex::from_row_major(ids, DIM, values, similarity)?.with_codes();
    flat.save(&path)?;
    drop(flat);
    let found = measure(
        || Ok(FlatIndex::open(&path)?),
        |index| {
            let _ = std::hint::black_box(index.search(&query, &search)?);
            Ok(())
        },
    )?;
    row(
        format!("{VECTORS} × {DIM} vectors with 8-bit codes, a file"),
        &path,
        found,
    )?;

    let path = folder.join("hnsw.ir");
    let values = (0..NODES).flat_map(|_| vector()).collect();
    let ids = (0..NODES).map(|n| n.to_string()).collect();
    let flat = FlatIndex::from_row_major(ids, DIM, values, similarity)?;
    HnswIndex::build(flat, &HnswConfig::default(), &mut NoProgress)?.save(&path)?;
    let found = measure(
        || Ok(HnswIndex::open(&path)?.searcher(EfSearch(50))),
        |searcher| {
            let _ = std::hint::black_box(searcher.search(&query, &search)?);
            Ok(())
        },
    )?;
    row(
        format!("HNSW, {NODES} × {DIM} vectors, a file"),
        &path,
        found,
    )?;

    // With fingerprints, as `ir encode --add` writes them.
    let config = VectorIndexConfig::new(DIM, similarity).with_fingerprints(true);
    let kinds = [
        ("with codes", VECTORS / 2, config.clone().with_codes(true)),
        (
            "with graphs",
            NODES,
            config.with_hnsw(HnswConfig::default()),
        ),
    ];
    for (kind, vectors, config) in kinds {
        let path = folder.join(kind);
        let segments = commit_vectors(&path, config, vectors, &mut vector)?;
        let has_graphs = kind == "with graphs";
        let found = measure(
            || Ok(SegmentedVectorIndex::open(&path)?),
            |index| {
                let found = match index.hnsw_searcher(EfSearch(50)).filter(|_| has_graphs) {
                    Some(graphs) => graphs.search(&query, &search)?,
                    None => index.search(&query, &search)?,
                };
                let _ = std::hint::black_box(found);
                Ok(())
            },
        )?;
        let name = format!(
            "{vectors} × {DIM} vectors {kind}, {segments} segments, one of {DELETED} deleted"
        );
        row(name, &path, found)?;
    }
    page.write("opening", &table)
}

/// Indexes the documents in commits, and deletes some. Returns the number of segments.
fn commit_documents(work: &Workload, folder: &Path, threads: usize) -> Result<usize> {
    let writer = IndexWriter::create(folder, IndexConfig::default())?;
    let mut writer = writer.with_threads(threads).with_memory(work.budget);
    let documents = work.for_each_document(&mut |n, document| {
        let copy = Document::new(format!("{n:010}"));
        let copy = copy
            .with_title(document.title.as_str())
            .with_text(document.text.as_str());
        writer.put(&copy)?;
        if n % COMMIT == COMMIT - 1 {
            writer.commit()?;
        }
        Ok(())
    })?;
    writer.commit()?;
    for n in (0..documents).step_by(DELETED as usize) {
        writer.delete(&format!("{n:010}"))?;
    }
    writer.commit()?;
    drop(writer);
    Ok(SegmentedIndex::open(folder)?.segments().len())
}

/// Writes vectors in commits, and deletes some. Returns the number of segments.
fn commit_vectors(
    folder: &Path,
    config: VectorIndexConfig,
    vectors: usize,
    mut vector: impl FnMut() -> Vec<f32>,
) -> Result<usize> {
    let mut writer = VectorIndexWriter::create(folder, &config)?;
    let commit = (COMMIT as usize).min(vectors / 3);
    for n in 0..vectors {
        writer.put_with_fingerprint(&n.to_string(), &vector(), n as u64)?;
        if n % commit == commit - 1 {
            writer.commit()?;
        }
    }
    for n in (0..vectors).step_by(DELETED as usize) {
        writer.delete(&n.to_string())?;
    }
    writer.commit()?;
    drop(writer);
    Ok(SegmentedVectorIndex::open(folder)?.segments().len())
}
