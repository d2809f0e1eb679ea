//! Phrases and proximity beside tantivy and Lucene: all engines index positions, with one segment;
//! CPU time on one thread. Rounds of the engines alternate, each phrase at its best of these. The
//! scores of the top 10 of phrases must agree. Those of words near to each other do not: ir-bm25
//! counts unordered windows, Lucene weights matches by their distance, and a word before its
//! predecessor costs two positions in Lucene and tantivy.

use std::collections::HashSet;
use std::fmt::Write;

use anyhow::{Result, ensure};
use bench_common::Page;
use ir_bm25::{Bm25, IndexBuilder, IndexConfig, QuerySyntax, StructuredQuery, StructuredSearcher};
use ir_core::{Analyzer, Document, NoProgress, Search};
use tantivy::collector::TopDocs;
use tantivy::query::PhraseQuery;
use tantivy::schema::{IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, TantivyDocument, Term};

use crate::lucene::{Lucene, Queries};
use crate::peer_tantivy::{FACTOR, SharedTokenizer};
use crate::workload::{Workload, process_seconds, thread_seconds};

/// Phrases of each length.
const PHRASES: usize = 400;
const LENGTHS: [usize; 2] = [2, 3];
/// Positions between two words near to each other.
const SLOP: u32 = 6;
/// Number of timed rounds.
const ROUNDS: usize = 5;
/// CPU time of the phrases in Lucene before the first round, in milliseconds.
const WARM_UP: f64 = 2000.0;
/// BM25 with k1 = 1.2 and b = 0.75.
const LUCENE_BM25: &str = "bm25-lucene";

/// A phrase as text, and its terms with their positions.
struct Phrase {
    text: String,
    terms: Vec<(usize, String)>,
}

pub(crate) fn run(work: &Workload, threads: usize, page: &Page) -> Result<()> {
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
        Ok(builder.finish_to(&path, &mut NoProgress)?)
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
    let all = LENGTHS.map(|length| phrases(work, &pipeline, length));
    let [two, three] = all;
    let (two, three) = (two?, three?);
    let near = format!("two~{SLOP}");
    let all = [("two", 0, &two), ("three", 0, &three), (&near, SLOP, &two)];
    let queries = all.iter().flat_map(|(name, _, phrases)| {
        let terms = phrases.iter().map(|phrase| phrase.terms.clone());
        terms.map(move |terms| (*name, terms))
    });
    let queries: Vec<_> = queries.collect();
    let mut lucene = Lucene::start(work, &queries, Queries::Phrases)?;
    let mut of_lucene = match &mut lucene {
        Some(lucene) => lucene.top(LUCENE_BM25)?.into_scores(),
        None => Vec::new(),
    };
    let mut table = String::from(
        "| mean; 99th percentile, ms | ir-bm25 | tantivy | Lucene | ratio to tantivy, Lucene | queries with another number of hits |\n|---|---|---|---|---|---|\n",
    );
    for (name, slop, phrases) in all {
        let search = |phrase: &Phrase| -> Result<Vec<f32>> {
            let query = StructuredQuery::SloppyPhrase {
                field: None,
                text: phrase.text.clone(),
                slop,
            };
            let ranking = ours.search_query(&query, &Search::top(10))?;
            Ok(ranking.iter().map(|hit| hit.score).collect())
        };
        let search_peer = |phrase: &Phrase| -> Result<Vec<f32>> {
            let terms = phrase.terms.iter();
            let terms = terms.map(|(at, term)| (*at, Term::from_field_text(contents, term)));
            let query = PhraseQuery::new_with_offset_and_slop(terms.collect(), slop);
            let hits = searcher.search(&query, &TopDocs::with_limit(10).order_by_score())?;
            Ok(hits.into_iter().map(|(score, _)| score / FACTOR).collect())
        };
        let found: Vec<_> = phrases.iter().map(search).collect::<Result<_>>()?;
        let expected: Vec<_> = phrases.iter().map(search_peer).collect::<Result<_>>()?;
        let mut peers = vec![("tantivy", expected)];
        if lucene.is_some() {
            let rest = of_lucene.split_off(phrases.len());
            peers.push(("Lucene", std::mem::replace(&mut of_lucene, rest)));
        }
        let mut others: Vec<String> = Vec::new();
        for (peer, expected) in &peers {
            if slop == 0 {
                ensure_equal(peer, &found, expected)?;
            }
            let pairs = found.iter().zip(expected);
            let other = pairs.filter(|(a, b)| a.len() != b.len()).count();
            others.push(other.to_string());
        }
        let mut best: [Vec<f64>; 3] = [const { Vec::new() }; 3];
        // The first round of each is a warm-up.
        for round in 0..=ROUNDS {
            let mut times = vec![times(phrases, &search)?, times(phrases, &search_peer)?];
            if let Some(lucene) = &mut lucene {
                let mut time = || lucene.time(LUCENE_BM25, name, 10);
                let mut warm = time()?;
                while round == 0 && warm.iter().sum::<f64>() < WARM_UP {
                    let more = time()?;
                    let pairs = warm.iter_mut().zip(more);
                    pairs.for_each(|(sum, time)| *sum += time);
                }
                times.push(warm);
            }
            for (best, times) in best.iter_mut().zip(times).filter(|_| round > 0) {
                best.resize(times.len(), f64::INFINITY);
                let pairs = best.iter_mut().zip(times);
                pairs.for_each(|(best, time)| *best = best.min(time));
            }
        }
        let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
        let cells = best.iter_mut().filter(|times| !times.is_empty());
        let cells = cells.map(|times| {
            times.sort_by(f64::total_cmp);
            format!("{:.3}; {:.2}", mean(times), times[times.len() * 99 / 100])
        });
        let cells: Vec<String> = cells.collect();
        let peers = best[1..].iter().filter(|times| !times.is_empty());
        let ratios = peers.map(|times| format!("{:.2}", mean(times) / mean(&best[0])));
        let ratios: Vec<String> = ratios.collect();
        writeln!(
            table,
            "| {} words | {} | {} | {} |",
            name.replace('~', ", slop "),
            cells.join(" | "),
            ratios.join(", "),
            others.join(", ")
        )?;
    }
    let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
    write!(
        table,
        "\n| index with positions | CPU time, s | size, MiB |\n|---|---|---|\n\
         | ir-bm25 | {ours_seconds:.1} | {:.1} |\n| tantivy | {peer_seconds:.1} | {:.1} |\n",
        mib(ours_bytes),
        mib(peer_bytes)
    )?;
    if let Some(lucene) = &lucene {
        let facts = &lucene.facts;
        writeln!(
            table,
            "| {}, of analyzed text | {:.1} | {:.1} |",
            facts.name,
            facts.index_seconds,
            mib(facts.index_bytes)
        )?;
    }
    page.write("phrases", &table)
}

/// Checks that the scores of at least 98 % of the phrases agree.
fn ensure_equal(peer: &str, found: &[Vec<f32>], expected: &[Vec<f32>]) -> Result<()> {
    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-3 * a.abs();
    let is_equal = |(found, expected): (&Vec<f32>, &Vec<f32>)| {
        found.len() == expected.len() && found.iter().zip(expected).all(close)
    };
    let pairs = found.iter().zip(expected);
    let differing = pairs.filter(|pair| !is_equal(*pair)).count();
    ensure!(
        differing * 50 <= found.len() && found.len() == expected.len(),
        "{peer}: expected equal scores, found others in {differing} of {} phrases",
        found.len()
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

/// CPU time of each phrase in milliseconds.
fn times(phrases: &[Phrase], search: &dyn Fn(&Phrase) -> Result<Vec<f32>>) -> Result<Vec<f64>> {
    let times = phrases.iter().map(|phrase| {
        let start = thread_seconds();
        let _ = std::hint::black_box(search(phrase)?);
        Ok((thread_seconds() - start) * 1e3)
    });
    times.collect()
}
