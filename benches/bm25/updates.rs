//! Indexes whose documents come and go: commits, replacements by id, and merging to one segment.
//!
//! Both engines write the same documents in the same commits, with the same number of threads and
//! memory budget; segments are merged by the default policy of each. A commit of ir-bm25 includes
//! its merges. Those of tantivy run in the background and are waited for at the end of a phase,
//! whose total time includes them.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use bench_common::{Page, median};
use ir_bm25::{Bm25, IndexConfig, IndexWriter, SegmentedIndex};
use ir_core::{Document, Retriever, Search};
use tantivy::collector::TopDocs;
use tantivy::schema::{Field, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, TantivyDocument, Term};

use crate::Workload;
use crate::peer_tantivy::{FACTOR, SharedTokenizer, parse};

/// Documents per commit of the first phase.
const BATCH: usize = 10_000;
/// Documents per commit of the last phase, in which one of [`REPLACED`] documents is replaced.
const SMALL_BATCH: usize = 1000;
const REPLACED: usize = 10;
/// Commits of one document.
const SINGLE: usize = 50;
/// Queries whose scores are compared.
const COMPARED: usize = 200;

/// An index that is written by an engine.
trait UpdatedIndex {
    /// Adds a document, or replaces the one with its id.
    fn put(&mut self, document: &Document) -> Result<()>;
    fn commit(&mut self) -> Result<()>;
    /// Opens the writer if it is not open.
    fn open_writer(&mut self) -> Result<()>;
    /// Waits for merges in the background.
    fn wait(&mut self) -> Result<()>;
    /// Merges to one segment.
    fn compact(&mut self) -> Result<()>;
    /// Scores of the top 10.
    fn scores(&self, query: &str) -> Result<Vec<f32>>;
}

struct Ours {
    writer: IndexWriter,
    folder: std::path::PathBuf,
}

impl Ours {
    fn new(folder: &Path, threads: usize, memory: usize) -> Result<Self> {
        let writer = IndexWriter::create(folder, IndexConfig::default())?;
        Ok(Self {
            writer: writer.with_threads(threads).with_memory(memory),
            folder: folder.to_owned(),
        })
    }
}

impl UpdatedIndex for Ours {
    fn put(&mut self, document: &Document) -> Result<()> {
        self.writer.put(document)?;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        Ok(self.writer.commit()?)
    }

    fn open_writer(&mut self) -> Result<()> {
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        Ok(())
    }

    fn compact(&mut self) -> Result<()> {
        Ok(self.writer.compact()?)
    }

    fn scores(&self, query: &str) -> Result<Vec<f32>> {
        let searcher = SegmentedIndex::open(&self.folder)?.searcher(Bm25::LUCENE)?;
        let ranking = searcher.search(query, &Search::top(10))?;
        Ok(ranking.iter().map(|hit| hit.score).collect())
    }
}

struct Tantivy {
    index: Index,
    writer: Option<tantivy::IndexWriter>,
    threads: usize,
    memory: usize,
    contents: Field,
    id: Field,
    pipeline: ir_bm25::analysis::AnalysisPipeline,
}

impl Tantivy {
    fn new(folder: &Path, threads: usize, memory: usize) -> Result<Self> {
        let pipeline = ir_bm25::analysis::Analysis::anserini().build()?;
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("shared")
            .set_index_option(IndexRecordOption::WithFreqs);
        let options = TextOptions::default().set_indexing_options(indexing);
        let contents = schema.add_text_field("contents", options);
        let id = schema.add_text_field("id", STRING);
        let index = Index::create_in_dir(folder, schema.build())?;
        let tokenizer = SharedTokenizer(pipeline.clone());
        index.tokenizers().register("shared", tokenizer);
        Ok(Self {
            index,
            writer: None,
            threads,
            memory,
            contents,
            id,
            pipeline,
        })
    }

    fn writer(&mut self) -> Result<&mut tantivy::IndexWriter> {
        Ok(match &mut self.writer {
            Some(writer) => writer,
            none => {
                let index = &self.index;
                none.insert(index.writer_with_num_threads(self.threads, self.memory)?)
            }
        })
    }
}

impl UpdatedIndex for Tantivy {
    fn put(&mut self, document: &Document) -> Result<()> {
        let (contents, id) = (self.contents, self.id);
        let writer = self.writer()?;
        writer.delete_term(Term::from_field_text(id, &document.id));
        let mut out = TantivyDocument::default();
        out.add_text(contents, format!("{} {}", document.title, document.text));
        out.add_text(id, &document.id);
        writer.add_document(out)?;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.writer()?.commit()?;
        Ok(())
    }

    fn open_writer(&mut self) -> Result<()> {
        self.writer().map(drop)
    }

    fn wait(&mut self) -> Result<()> {
        self.writer
            .take()
            .map_or(Ok(()), |writer| Ok(writer.wait_merging_threads()?))
    }

    fn compact(&mut self) -> Result<()> {
        self.wait()?;
        let segments = self.index.searchable_segment_ids()?;
        self.writer()?.merge(&segments).wait()?;
        self.wait()
    }

    fn scores(&self, query: &str) -> Result<Vec<f32>> {
        let searcher = self.index.reader()?.searcher();
        let query = parse(&self.pipeline, self.contents, query);
        let hits = searcher.search(&query, &TopDocs::with_limit(10).order_by_score())?;
        Ok(hits.into_iter().map(|(score, _)| score / FACTOR).collect())
    }
}

/// Seconds of a phase.
struct Phase {
    /// Of each batch and its commit, ascending.
    batches: Vec<f64>,
    /// Of the commit of each batch alone. Documents may be indexed in it.
    commits: Vec<f64>,
    /// Of all batches, with the merges in the background.
    total: f64,
}

fn write(index: &mut dyn UpdatedIndex, documents: &[Document], batch: usize) -> Result<Phase> {
    index.open_writer()?;
    let start = Instant::now();
    let (mut batches, mut commits) = (Vec::new(), Vec::new());
    for documents in documents.chunks(batch) {
        let start = Instant::now();
        documents
            .iter()
            .try_for_each(|document| index.put(document))?;
        let committing = Instant::now();
        index.commit()?;
        commits.push(committing.elapsed().as_secs_f64());
        batches.push(start.elapsed().as_secs_f64());
    }
    index.wait()?;
    batches.sort_by(f64::total_cmp);
    Ok(Phase {
        batches,
        commits,
        total: start.elapsed().as_secs_f64(),
    })
}

pub(crate) fn run(work: &Workload, threads: usize, page: &Page) -> Result<()> {
    let mut documents = Vec::new();
    work.for_each_document(&mut |n, document| {
        let mut document = document.clone();
        document.id = format!("{n:010}");
        documents.push(document);
        Ok(())
    })?;
    let replaced: Vec<Document> = documents.iter().step_by(REPLACED).cloned().collect();
    let single = &documents[..SINGLE.min(documents.len())];
    // The name of a row, the values of both engines, and whether they are rates.
    let mut rows: Vec<(String, Vec<f64>, bool)> = Vec::new();
    let mut answers: Vec<Vec<Vec<f32>>> = Vec::new();
    for engine in 0..2 {
        let folder = tempfile::tempdir()?;
        let memory = work.budget;
        let mut index: Box<dyn UpdatedIndex> = match engine {
            0 => Box::new(Ours::new(folder.path(), threads, memory)?),
            _ => Box::new(Tantivy::new(folder.path(), threads, memory)?),
        };
        let mut at = 0;
        let mut row = |name: String, value: f64, is_rate: bool| {
            if engine == 0 {
                rows.push((name, Vec::new(), is_rate));
            }
            rows[at].1.push(value);
            at += 1;
        };
        for (name, documents, batch) in [
            ("added", &documents[..], BATCH),
            ("replaced", single, 1),
            ("replaced", &replaced[..], SMALL_BATCH),
        ] {
            let phase = write(&mut *index, documents, batch)?;
            let p95 = phase.batches[phase.batches.len() * 95 / 100];
            let name = format!("{} {name} in commits of {batch}", documents.len());
            let (batches, commits) = (median(phase.batches), median(phase.commits));
            row(
                format!("{name}: batch and commit, median, s"),
                batches,
                false,
            );
            row(format!("{name}: the same, 95th percentile"), p95, false);
            row(format!("{name}: commit alone, median, s"), commits, false);
            row(format!("{name}: total, s"), phase.total, false);
        }
        let start = Instant::now();
        index.compact()?;
        let seconds = start.elapsed().as_secs_f64();
        row("merging to one segment, s".to_owned(), seconds, false);
        let rate = documents.len() as f64 / seconds;
        row("documents merged per second".to_owned(), rate, true);
        let queries = work.queries().iter().take(COMPARED);
        let scores = queries.map(|query| index.scores(&query.text));
        answers.push(scores.collect::<Result<_>>()?);
    }
    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-3 * a.abs();
    let agree = |(a, b): &(&Vec<f32>, &Vec<f32>)| a.len() == b.len() && a.iter().zip(*b).all(close);
    let differing = answers[0]
        .iter()
        .zip(&answers[1])
        .filter(|pair| !agree(pair));
    let differing = differing.count();
    ensure!(
        differing * 50 <= answers[0].len(),
        "{differing} of {} queries differ",
        answers[0].len()
    );
    let mut table = format!(
        "{} documents, {threads} threads. The scores of the top 10 differ by more than 0.1 % in {differing} of \
         {} queries.\n\n| | ir-bm25 | tantivy | ratio |\n|---|---|---|---|\n",
        documents.len(),
        answers[0].len()
    );
    for (name, values, is_rate) in rows {
        let (ours, peer) = (values[0], values[1]);
        let ratio = if is_rate { ours / peer } else { peer / ours };
        let value = |value: f64| {
            if is_rate {
                format!("{value:.0}")
            } else {
                format!("{value:.3}")
            }
        };
        let (ours, peer) = (value(ours), value(peer));
        writeln!(table, "| {name} | {ours} | {peer} | {ratio:.2} |")?;
    }
    page.write("updates", &table)
}
