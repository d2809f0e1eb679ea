//! The workload in ir-bm25.

use std::path::Path;

use anyhow::Result;
use ir_bm25::{
    Bm25, DocLengths, Index, IndexBuilder, IndexConfig, IndexedFields, Searcher, WeightedTerm,
};
use ir_core::{Document, Ranking, Retriever, Search};
use rayon::prelude::*;

use crate::workload::{
    Formula, IndexCost, KS, Latency, Rankings, SearchTimes, Workload, batch_rate, process_seconds,
};
use crate::{folder_size, resident_peak};

/// The index in the folder of the engine.
const FILE: &str = "index.ir";

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

/// The hits of all queries in the index of a folder, by the formula of a peer.
pub(crate) fn rank(work: &Workload, folder: &Path, formula: Formula) -> Result<Rankings> {
    let bm25 = match formula {
        Formula::ExactLengths => Bm25::LUCENE.with_lengths(DocLengths::Exact),
        Formula::Lucene | Formula::Other => Bm25::LUCENE,
    };
    let searcher = Index::open(folder.join(FILE))?.searcher(bm25)?;
    work.rank(|text| searcher.query_terms(text), top(&searcher))
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
        times.batch_rates.push(batch_rate(queries.len(), || {
            let search = |terms: &Vec<WeightedTerm>| searcher.search_terms(terms, &Search::top(k));
            let rankings: Vec<Ranking> =
                pool.install(|| queries.par_iter().map(search).collect::<Result<_, _>>())?;
            std::hint::black_box(rankings);
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
        let mut builder =
            IndexBuilder::new(IndexConfig::default().with_fields(fields))?.with_memory(work.budget);
        work.for_each_document(&mut |n, document| {
            // The zero-padded number is the id, so that the id order is the numeric order.
            let copy = Document::new(format!("{n:010}"))
                .with_title(document.title.clone())
                .with_text(document.text.clone());
            Ok(builder.push(&copy)?)
        })?;
        builder.finish_to(path)?;
        Ok(())
    })
}
