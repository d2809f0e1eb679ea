//! The workload in ir-bm25.

use std::path::Path;

use anyhow::Result;
use ir_bm25::{Bm25, Index, IndexBuilder, IndexConfig, IndexedFields, WeightedTerm};
use ir_core::{DocNum, Document, Ranking, Search};
use rayon::prelude::*;

use crate::workload::{IndexCost, Measurements, Workload, batch_rate, process_seconds};
use crate::{folder_size, resident_peak};

pub(crate) fn measure(work: &Workload, folder: &Path, threads: usize) -> Result<Measurements> {
    let path = folder.join("packages.ir");
    let start = process_seconds();
    build(work, &path, threads)?;
    let cost = IndexCost {
        seconds: process_seconds() - start,
        bytes: folder_size(folder)?,
        peak: resident_peak(),
    };

    let index = Index::open(&path)?;
    let searcher = index.searcher(Bm25::LUCENE)?;
    let prepare = |text: &str| searcher.query_terms(text);
    let top = |terms: &Vec<WeightedTerm>, k: usize| -> Result<Vec<(u64, f32)>> {
        let ranking = searcher.search_terms(terms, &Search::top(k))?;
        Ok(ranking
            .iter()
            .map(|hit| (number(hit.doc), hit.score))
            .collect())
    };
    let mut measured = work.measure("ir-bm25".to_owned(), cost, prepare, top)?;
    let queries: Vec<_> = work
        .queries()
        .iter()
        .map(|query| prepare(&query.text))
        .collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    measured.batch_rate = Some(batch_rate(queries.len(), || {
        let search = |terms: &Vec<WeightedTerm>| searcher.search_terms(terms, &Search::top(10));
        let rankings: Vec<Ranking> =
            pool.install(|| queries.par_iter().map(search).collect::<Result<_, _>>())?;
        std::hint::black_box(rankings);
        Ok(())
    })?);
    Ok(measured)
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

fn number(doc: DocNum) -> u64 {
    u64::from(doc.get())
}
