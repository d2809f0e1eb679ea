//! Phrases beside tantivy: both engines index positions, with one segment; CPU time on one thread,
//! the best of three passes per phrase. The scores of the top 10 must agree.

use std::collections::HashSet;

use anyhow::{Context, Result, ensure};
use ir_bm25::{Bm25, IndexBuilder, IndexConfig, QuerySyntax, StructuredQuery, StructuredSearcher};
use ir_core::{Analyzer, Document, Search};
use tantivy::collector::TopDocs;
use tantivy::query::PhraseQuery;
use tantivy::schema::{IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, TantivyDocument, Term};

use crate::peer_tantivy::{FACTOR, SharedTokenizer};
use crate::workload::{Workload, process_seconds, thread_seconds};

/// Phrases of each length.
const PHRASES: usize = 400;
const LENGTHS: [usize; 2] = [2, 3];

/// A phrase as text, and its terms with their positions.
struct Phrase {
    text: String,
    terms: Vec<(usize, String)>,
}

pub(crate) fn run(work: &Workload, threads: usize) -> Result<()> {
    let pipeline = ir_bm25::analysis::Analysis::anserini().build()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("positions.ir");
    let start = process_seconds();
    let config = IndexConfig::default().with_positions(true);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    let index = pool.install(|| -> Result<_> {
        let mut builder = IndexBuilder::new(config)?.with_memory(work.budget);
        work.for_each_document(&mut |n, document| {
            let copy = Document::new(format!("{n:010}"));
            let copy = copy
                .with_title(document.title.as_str())
                .with_text(document.text.as_str());
            Ok(builder.push(&copy)?)
        })?;
        Ok(builder.finish_to(&path)?)
    })?;
    let ours_seconds = process_seconds() - start;
    let ours_bytes = std::fs::metadata(&path)?.len();

    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("shared")
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let options = TextOptions::default().set_indexing_options(indexing);
    let contents = schema.add_text_field("contents", options);
    let peer_folder = tempfile::tempdir()?;
    let peer = Index::create_in_dir(peer_folder.path(), schema.build())?;
    peer.tokenizers()
        .register("shared", SharedTokenizer(pipeline.clone()));
    let start = process_seconds();
    let mut writer: tantivy::IndexWriter = peer.writer_with_num_threads(threads, work.budget)?;
    work.for_each_document(&mut |_, document| {
        let mut out = TantivyDocument::default();
        out.add_text(contents, format!("{} {}", document.title, document.text));
        writer.add_document(out)?;
        Ok(())
    })?;
    writer.commit()?;
    let segments = peer.searchable_segment_ids()?;
    if segments.len() > 1 {
        writer.merge(&segments).wait()?;
    }
    writer.wait_merging_threads()?;
    let peer_seconds = process_seconds() - start;
    let peer_bytes = crate::folder_size(peer_folder.path())?;

    let ours = StructuredSearcher::new(index.searcher(Bm25::LUCENE)?, QuerySyntax::Lucene);
    let reader = peer.reader()?;
    let searcher = reader.searcher();
    println!("| mean; 99th percentile, ms | ir-bm25 | tantivy | ratio of the means |");
    println!("|---|---|---|---|");
    for length in LENGTHS {
        let phrases = phrases(work, &pipeline, length)?;
        let search = |phrase: &Phrase| -> Result<Vec<f32>> {
            let query = StructuredQuery::phrase(phrase.text.as_str());
            let ranking = ours.search_query(&query, &Search::top(10))?;
            Ok(ranking.iter().map(|hit| hit.score).collect())
        };
        let search_peer = |phrase: &Phrase| -> Result<Vec<f32>> {
            let terms = phrase.terms.iter();
            let terms = terms.map(|(at, term)| (*at, Term::from_field_text(contents, term)));
            let query = PhraseQuery::new_with_offset(terms.collect());
            let hits = searcher.search(&query, &TopDocs::with_limit(10).order_by_score())?;
            Ok(hits.into_iter().map(|(score, _)| score / FACTOR).collect())
        };
        let mut differing = 0;
        for phrase in &phrases {
            let (found, expected) = (search(phrase)?, search_peer(phrase)?);
            let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-3 * a.abs();
            let equal = found.len() == expected.len() && found.iter().zip(&expected).all(close);
            differing += usize::from(!equal);
        }
        ensure!(
            differing * 50 <= phrases.len(),
            "expected equal scores, found others in {differing} of {} phrases",
            phrases.len()
        );
        let (mean, p99) = times(&phrases, &search)?;
        let (peer_mean, peer_p99) = times(&phrases, &search_peer)?;
        println!(
            "| phrases of {length} words, k = 10 | {mean:.3}; {p99:.2} | {peer_mean:.3}; {peer_p99:.2} | {:.2} |",
            peer_mean / mean
        );
    }
    let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
    println!(
        "\n| index with positions | CPU time, s | size, MiB |\n|---|---|---|\n\
         | ir-bm25 | {ours_seconds:.1} | {:.1} |\n| tantivy | {peer_seconds:.1} | {:.1} |",
        mib(ours_bytes),
        mib(peer_bytes)
    );
    Ok(())
}

/// Distinct phrases of documents at equal distances.
fn phrases(work: &Workload, analyzer: &dyn Analyzer, length: usize) -> Result<Vec<Phrase>> {
    let documents = work.for_each_document(&mut |_, _| Ok(()))?;
    let distance = (documents / (2 * PHRASES as u64)).max(1);
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    work.for_each_document(&mut |n, document| {
        if n % distance != 0 || all.len() == PHRASES {
            return Ok(());
        }
        let mut tokens: Vec<(usize, usize, usize, String)> = Vec::new();
        analyzer.analyze(&document.text, &mut |token| {
            let position = token.position as usize;
            tokens.push((position, token.start, token.end, token.term.to_owned()));
        });
        let Some(window) = tokens.get(..length) else {
            return Ok(());
        };
        let (first, start) = (window[0].0, window[0].1);
        let text = document.text[start..window[length - 1].2].to_owned();
        let terms: Vec<_> = window
            .iter()
            .map(|(at, _, _, term)| (at - first, term.clone()))
            .collect();
        let mut words = HashSet::new();
        let is_new = known.insert(terms.clone());
        if is_new && terms.iter().all(|(_, term)| words.insert(term.as_str())) {
            all.push(Phrase { text, terms });
        }
        Ok(())
    })?;
    ensure!(!all.is_empty(), "expected phrases of {length} words");
    Ok(all)
}

/// Mean and 99th percentile in milliseconds.
fn times(phrases: &[Phrase], search: &dyn Fn(&Phrase) -> Result<Vec<f32>>) -> Result<(f64, f64)> {
    let mut best = vec![f64::INFINITY; phrases.len()];
    // The first pass is a warm-up.
    for pass in 0..4 {
        for (best, phrase) in best.iter_mut().zip(phrases) {
            let start = thread_seconds();
            let _ = std::hint::black_box(search(phrase)?);
            if pass > 0 {
                *best = best.min((thread_seconds() - start) * 1e3);
            }
        }
    }
    best.sort_by(f64::total_cmp);
    let p99 = best.get(best.len() * 99 / 100).context("no phrases")?;
    Ok((best.iter().sum::<f64>() / best.len() as f64, *p99))
}
