//! The workload in ir-bm25.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use ir_bm25::{Bm25, Index, IndexBuilder, IndexConfig};
use ir_core::{DocNum, Document, Retriever, Search};

use crate::{Measurements, TopHits, Workload, folder_size, resident_peak};

pub(crate) fn measure(
    work: &Workload,
    folder: &Path,
    threads: usize,
) -> Result<(Measurements, TopHits)> {
    let path = folder.join("packages.ir");
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    let start = Instant::now();
    pool.install(|| -> Result<()> {
        let mut builder = IndexBuilder::new(IndexConfig::default())?.with_memory(work.budget);
        work.for_each_document(&mut |n, document| {
            // The zero-padded number is the id, so that the id order is the numeric order.
            let copy = Document::new(format!("{n:010}"))
                .with_title(document.title.clone())
                .with_text(document.text.clone());
            Ok(builder.push(&copy)?)
        })?;
        builder.finish_to(&path)?;
        Ok(())
    })?;
    let index_seconds = start.elapsed().as_secs_f64();
    let index_peak = resident_peak();

    let index = Index::open(&path)?;
    let searcher = index.searcher(Bm25::LUCENE)?;
    let top = |text: &str, k: usize| -> Result<Vec<(u64, f32)>> {
        let ranking = searcher.search(text, &Search::top(k))?;
        Ok(ranking
            .iter()
            .map(|hit| (number(hit.doc), hit.score))
            .collect())
    };
    let mut measured = work.time_queries(top)?;
    measured.index_seconds = index_seconds;
    measured.index_bytes = folder_size(folder)?;
    measured.index_peak = index_peak;
    Ok((measured, work.answers(top)?))
}

fn number(doc: DocNum) -> u64 {
    u64::from(doc.get())
}
