//! The workload in tantivy.

use std::path::Path;

use anyhow::Result;
use ir_core::Analyzer;
use tantivy::collector::TopDocs;
use tantivy::columnar::Column;
use tantivy::query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use tantivy::{Index, IndexWriter, TantivyDocument, Term};

use crate::workload::{Formula, IndexCost, Rankings, SearchTimes, Workload, process_seconds};
use crate::{folder_size, resident_peak};

/// ir-bm25's analyzer as a tantivy tokenizer, so that both engines index the same terms.
#[derive(Clone)]
pub(crate) struct SharedTokenizer(pub(crate) ir_bm25::analysis::AnalysisPipeline);

pub(crate) struct SharedTokenStream {
    tokens: std::vec::IntoIter<Token>,
    current: Token,
}

impl Tokenizer for SharedTokenizer {
    type TokenStream<'a> = SharedTokenStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> SharedTokenStream {
        let mut tokens = Vec::new();
        self.0.analyze(text, &mut |token| {
            tokens.push(Token {
                offset_from: token.start,
                offset_to: token.end,
                position: token.position as usize,
                text: token.term.to_owned(),
                position_length: 1,
            });
        });
        SharedTokenStream {
            tokens: tokens.into_iter(),
            current: Token::default(),
        }
    }
}

impl TokenStream for SharedTokenStream {
    fn advance(&mut self) -> bool {
        self.tokens
            .next()
            .map(|token| self.current = token)
            .is_some()
    }

    fn token(&self) -> &Token {
        &self.current
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.current
    }
}

/// Fields of the index.
const CONTENTS: &str = "contents";
const NUMBER: &str = "number";

/// Factor (k1 + 1) of tantivy's score, which Lucene dropped; k1 is 1.2.
pub(crate) const FACTOR: f32 = 2.2;

/// Builds the index in a folder.
pub(crate) fn build(work: &Workload, folder: &Path, threads: usize) -> Result<IndexCost> {
    let pipeline = ir_bm25::analysis::Analysis::anserini().build()?;
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("shared")
        .set_index_option(IndexRecordOption::WithFreqs);
    let contents = schema.add_text_field(
        CONTENTS,
        TextOptions::default().set_indexing_options(indexing),
    );
    let number = schema.add_u64_field(NUMBER, FAST);
    let id = schema.add_text_field("id", STRING | STORED);
    let index = Index::create_in_dir(folder, schema.build())?;
    index
        .tokenizers()
        .register("shared", SharedTokenizer(pipeline));

    let start = process_seconds();
    let mut writer: IndexWriter = index.writer_with_num_threads(threads, work.budget)?;
    work.for_each_document(&mut |n, document| {
        let mut out = TantivyDocument::default();
        out.add_text(contents, format!("{} {}", document.title, document.text));
        out.add_u64(number, n);
        out.add_text(id, format!("{n:010}"));
        writer.add_document(out)?;
        Ok(())
    })?;
    writer.commit()?;
    // Merge to one segment, as ir-bm25 does.
    let segments = index.searchable_segment_ids()?;
    if segments.len() > 1 {
        writer.merge(&segments).wait()?;
    }
    writer.wait_merging_threads()?;
    let mut words = tantivy::version_string().split([' ', ',']);
    let version = words.nth(1).unwrap_or_default().trim_start_matches('v');
    Ok(IndexCost {
        name: format!("tantivy {version}"),
        seconds: process_seconds() - start,
        bytes: folder_size(folder)?,
        peak: resident_peak(),
        formula: Formula::Lucene,
    })
}

/// Index of a folder, and what its queries need.
struct Opened {
    searcher: tantivy::Searcher,
    contents: Field,
    /// Numbers of the documents in file order.
    numbers: Column<u64>,
    pipeline: ir_bm25::analysis::AnalysisPipeline,
}

impl Opened {
    fn new(folder: &Path) -> Result<Self> {
        let index = Index::open_in_dir(folder)?;
        let searcher = index.reader()?.searcher();
        Ok(Self {
            contents: index.schema().get_field(CONTENTS)?,
            numbers: searcher.segment_readers()[0].fast_fields().u64(NUMBER)?,
            searcher,
            pipeline: ir_bm25::analysis::Analysis::anserini().build()?,
        })
    }

    fn query(&self, text: &str) -> BooleanQuery {
        parse(&self.pipeline, self.contents, text)
    }

    fn top(&self, query: &BooleanQuery, k: usize) -> Result<Vec<(u64, f32)>> {
        let hits = self
            .searcher
            .search(query, &TopDocs::with_limit(k).order_by_score())?;
        let number = |doc| self.numbers.first(doc).unwrap_or(u64::MAX);
        Ok(hits
            .into_iter()
            .map(|(score, at)| (number(at.doc_id), score / FACTOR))
            .collect())
    }
}

/// The hits of all queries in the index of a folder.
pub(crate) fn rank(work: &Workload, folder: &Path) -> Result<Rankings> {
    let opened = Opened::new(folder)?;
    work.rank(|text| opened.query(text), |query, k| opened.top(query, k))
}

/// The times of all queries in the index of a folder.
pub(crate) fn time(work: &Workload, folder: &Path) -> Result<SearchTimes> {
    let opened = Opened::new(folder)?;
    work.time(|text| opened.query(text), |query, k| opened.top(query, k))
}

/// Disjunction of the distinct terms, boosted by their count.
pub(crate) fn parse(
    pipeline: &ir_bm25::analysis::AnalysisPipeline,
    field: Field,
    text: &str,
) -> BooleanQuery {
    let mut counts: Vec<(String, f32)> = Vec::new();
    pipeline.analyze(
        text,
        &mut |token| match counts.iter_mut().find(|(term, _)| term == token.term) {
            Some((_, count)) => *count += 1.0,
            None => counts.push((token.term.to_owned(), 1.0)),
        },
    );
    let clause = |(term, count): (String, f32)| -> (Occur, Box<dyn Query>) {
        let term = TermQuery::new(
            Term::from_field_text(field, &term),
            IndexRecordOption::WithFreqs,
        );
        let query: Box<dyn Query> = if count > 1.0 {
            Box::new(BoostQuery::new(Box::new(term), count))
        } else {
            Box::new(term)
        };
        (Occur::Should, query)
    };
    BooleanQuery::new(counts.into_iter().map(clause).collect())
}
