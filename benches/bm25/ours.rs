//! The workload in ir-bm25.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use ir_bm25::{
    Bm25, DocLengths, Index, IndexBuilder, IndexConfig, IndexWriter, IndexedFields, Searcher,
    SegmentedIndex, WeightedTerm,
};
use ir_core::{Document, NoProgress, Retriever, Search};
use rayon::prelude::*;

use crate::workload::{
    Formula, IndexCost, KS, Latency, Rankings, SearchTimes, Workload, batch_rate, process_seconds,
};
use crate::{folder_size, resident_peak};

/// The index in the folder of the engine.
const FILE: &str = "index.ir";
/// Segments of the segmented index.
const SEGMENTS: u64 = 5;
/// A copy of one of so many documents is added to the segmented index and deleted.
const DELETED: u64 = 100;

/// Builds the index in a folder.
pub(crate) fn build_in(work: &Workload, folder: &Path, threads: usize) -> Result<IndexCost> {
    let start = process_seconds();
    build(work, &folder.join(FILE), threads)?;
    Ok(IndexCost {
        name: "ir-bm25".to_owned(),
        seconds: process_seconds() - start,
        bytes: folder_size(folder)?,
        peak: resident_peak(),
        formula: Formula::Lucene,
    })
}

/// Builds a segmented index in a folder: the same documents in [`SEGMENTS`] commits of equal size,
/// with copies of one of [`DELETED`] documents that are deleted after the last commit.
pub(crate) fn build_segments(work: &Workload, folder: &Path, threads: usize) -> Result<IndexCost> {
    let start = process_seconds();
    let documents = work.for_each_document(&mut |_, _| Ok(()))?;
    // Merging needs one segment more.
    let mut writer = IndexWriter::create(folder, IndexConfig::default())?
        .with_threads(threads)
        .with_memory(work.budget)
        .with_merge_factor(SEGMENTS as usize + 1);
    let mut copies = Vec::new();
    work.for_each_document(&mut |n, document| {
        writer.put(&with_id(document, number_id(n)))?;
        if n % DELETED == DELETED / 2 {
            let id = format!("{}-copy", number_id(n));
            writer.put(&with_id(document, id.clone()))?;
            copies.push(id);
        }
        if (n + 1) * SEGMENTS / documents > n * SEGMENTS / documents {
            writer.commit()?;
        }
        Ok(())
    })?;
    for id in &copies {
        writer.delete(id)?;
    }
    writer.commit()?;
    let segments = writer.segments().len() as u64;
    let deleted: usize = writer.segments().map(|segment| segment.deleted).sum();
    ensure!(
        segments == SEGMENTS && deleted == copies.len(),
        "expected {SEGMENTS} segments and {} deleted documents, found {segments} and {deleted}",
        copies.len()
    );
    Ok(IndexCost {
        name: format!("ir-bm25, {SEGMENTS} segments, {} % deleted", 100 / DELETED),
        seconds: process_seconds() - start,
        bytes: folder_size(folder)?,
        peak: resident_peak(),
        formula: Formula::Lucene,
    })
}

/// The hits of all queries in the index of a folder, by the formula of a peer.
pub(crate) fn rank(work: &Workload, folder: &Path, formula: Formula) -> Result<Rankings> {
    let bm25 = match formula {
        Formula::ExactLengths => Bm25::LUCENE.with_lengths(DocLengths::Exact),
        Formula::Lucene | Formula::Other => Bm25::LUCENE,
    };
    rank_with(work, &Index::open(folder.join(FILE))?.searcher(bm25)?)
}

/// The hits of all queries in the segmented index of a folder.
pub(crate) fn rank_segments(work: &Workload, folder: &Path) -> Result<Rankings> {
    rank_with(work, &SegmentedIndex::open(folder)?.searcher(Bm25::LUCENE)?)
}

fn rank_with(work: &Workload, searcher: &Searcher) -> Result<Rankings> {
    let prepare = |text: &str| searcher.query_terms(text);
    work.rank(prepare, |terms: &Vec<WeightedTerm>, k| {
        let ranking = searcher.search_terms(terms, &Search::top(k))?;
        let hits = ranking.iter().map(|hit| {
            let id = searcher.ids().id(hit.doc);
            let number = id.parse().with_context(|| format!("unexpected id {id}"))?;
            Ok((number, hit.score))
        });
        hits.collect()
    })
}

/// The times of all queries in the segmented index of a folder.
pub(crate) fn time_segments(work: &Workload, folder: &Path) -> Result<SearchTimes> {
    let searcher = SegmentedIndex::open(folder)?.searcher(Bm25::LUCENE)?;
    work.time(|text| searcher.query_terms(text), top(&searcher))
}

/// The times of all queries in the index of a folder.
pub(crate) fn time(work: &Workload, folder: &Path) -> Result<SearchTimes> {
    let index = Index::open(folder.join(FILE))?;
    let searcher = index.searcher(Bm25::LUCENE)?;
    let prepare = |text: &str| searcher.query_terms(text);
    let mut times = work.time(prepare, top(&searcher))?;
    let queries = work.queries().iter();
    let queries: Vec<_> = queries.map(|query| prepare(&query.text)).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for k in KS {
        let search = |terms: &Vec<WeightedTerm>| searcher.search_terms(terms, &Search::top(k));
        let search_all = || queries.par_iter().map(search).collect::<Vec<_>>();
        times.batch_rates.push(batch_rate(queries.len(), || {
            let rankings = pool.install(search_all).into_iter();
            std::hint::black_box(rankings.collect::<Result<Vec<_>, _>>()?);
            Ok(())
        })?);
        let texts = work.queries().iter();
        let texts: Vec<_> = texts
            .map(|query| (query.text.as_str(), Search::top(k)))
            .collect();
        times.text_batch_rates.push(batch_rate(texts.len(), || {
            std::hint::black_box(pool.install(|| searcher.search_batch(&texts))?);
            Ok(())
        })?);
    }
    times.peak = resident_peak();
    for kind in work.kinds() {
        let queries: Vec<_> = work.texts(kind).into_iter().map(prepare).collect();
        for k in KS {
            let new_searcher = || Ok(index.searcher(Bm25::LUCENE)?);
            let search = |searcher: &Searcher, terms: &Vec<WeightedTerm>| {
                let _ = std::hint::black_box(searcher.search_terms(terms, &Search::top(k))?);
                Ok(())
            };
            let first = Latency::measure_prepared(kind, k, &queries, new_searcher, search)?;
            times.first_searches.push(first);
        }
    }
    Ok(times)
}

fn top(searcher: &Searcher) -> impl Fn(&Vec<WeightedTerm>, usize) -> Result<Vec<(u64, f32)>> {
    |terms, k| {
        let ranking = searcher.search_terms(terms, &Search::top(k))?;
        let hits = ranking.iter();
        Ok(hits
            .map(|hit| (u64::from(hit.doc.get()), hit.score))
            .collect())
    }
}

/// Builds the index of title and text in one field, and writes it to a file.
pub(crate) fn build(work: &Workload, path: &Path, threads: usize) -> Result<()> {
    build_fields(work, path, IndexedFields::default(), threads)
}

/// Builds the index and writes it to a file.
pub(crate) fn build_fields(
    work: &Workload,
    path: &Path,
    fields: IndexedFields,
    threads: usize,
) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    pool.install(|| -> Result<()> {
        let mut builder = IndexBuilder::new(IndexConfig::default().with_fields(fields))?
            .with_threads(threads)
            .with_memory(work.budget);
        work.for_each_document(&mut |n, document| {
            Ok(builder.push(&with_id(document, number_id(n)))?)
        })?;
        builder.finish_to(path, &mut NoProgress)?;
        Ok(())
    })
}

/// The zero-padded number is the id, so that the id order is the numeric order.
fn number_id(n: u64) -> String {
    format!("{n:010}")
}

/// A copy of a document with another id.
fn with_id(document: &Document, id: String) -> Document {
    Document::new(id)
        .with_title(document.title.clone())
        .with_text(document.text.clone())
}
