//! `ir worker`: encodes, searches or tokenizes records of standard input.

#[cfg(feature = "dense")]
mod encode;
mod records;

use anyhow::{Result, bail};
use ir_bm25::Analysis;
use ir_core::store::Verify;
use ir_core::{Ranking, Retriever, Search};
use ir_data::TextEncoding;
use serde::Serialize;

use crate::shared::console::{Console, bail_usage, stop_on_interrupt};
use crate::shared::indexing::analysis;
use crate::shared::input::{CollectionSource, open_collection};
use crate::shared::options::{Bm25Options, positive, use_threads};
use crate::shared::output::OutputSink;
use records::{InputRecords, flush, write_record};

const EXAMPLES: &str = "\
Examples:
  ir worker tokenize < docs.jsonl
  ir worker encode all-MiniLM-L6-v2 < docs.jsonl > vectors.jsonl
  ir worker search corpus.ir -k 100 < queries.jsonl > hits.jsonl
  ir worker search --vectors docs.vectors < vectors.jsonl
  ir worker search --vectors docs.vectors --encoder all-MiniLM-L6-v2 \\
      < queries.jsonl
  parallel --pipe --block 10M ir worker tokenize < docs.jsonl

Reads records, one JSON object per line, and writes one for each, in the same
order. Batch systems start it for every partition: `rdd.pipe` of Spark, GNU
parallel, Hadoop streaming.

Input:   {\"id\": ID, \"text\": TEXT} or {\"id\": ID, \"vector\": [NUMBER, ...]};
         `_id` is accepted as well, other fields are ignored
encode:  {\"id\": ID, \"vector\": [NUMBER, ...]}
search:  {\"id\": ID, \"hits\": [{\"id\": ID, \"score\": NUMBER}, ...]}
tokenize: {\"id\": ID, \"tokens\": [TOKEN, ...]}

Numbers have as many digits as f32 needs: they are read back unchanged. The
output does not depend on partitions, batches or threads. An invalid record is
an error that names the line; the exit code is then 1 and the output
incomplete.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, clap::Subcommand)]
enum Task {
    /// Encode texts as vectors
    #[cfg(feature = "dense")]
    Encode(Box<encode::Args>),
    /// Search an index of BM25, or vectors
    Search(Box<SearchArgs>),
    /// Tokenize texts with an analyzer
    Tokenize(TokenizeArgs),
}

#[derive(Debug, clap::Args)]
struct SearchArgs {
    /// BM25 index, written by `ir index`
    #[arg(required_unless_present = "vectors", conflicts_with = "vectors")]
    index: Option<String>,

    #[command(flatten)]
    bm25: Bm25Options,

    #[cfg(feature = "dense")]
    #[command(flatten)]
    vectors: encode::VectorOptions,

    /// Number of hits per record
    #[arg(long, short = 'k', value_parser = positive, default_value_t = 10, value_name = "K")]
    hits: usize,

    /// Number of threads [default: one per core]
    #[arg(long, value_parser = positive, value_name = "N")]
    threads: Option<usize>,
}

#[derive(Debug, clap::Args)]
struct TokenizeArgs {
    /// Analyzer, as in `ir index` [default: anserini]
    #[arg(long, value_parser = analysis, value_name = "NAME")]
    analysis: Option<Analysis>,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    let mut out = OutputSink::open(None)?;
    match &args.task {
        #[cfg(feature = "dense")]
        Task::Encode(args) => encode::run(args, &mut out)?,
        Task::Search(args) => search(args, &mut out, console)?,
        Task::Tokenize(args) => tokenize(args, &mut out)?,
    }
    out.commit()
}

/// Maximum number of records in memory.
const BATCH: usize = 128;

#[derive(Serialize)]
struct TokenRecord<'a> {
    id: &'a str,
    tokens: &'a [String],
}

fn tokenize(args: &TokenizeArgs, out: &mut OutputSink) -> Result<()> {
    let analysis = args.analysis.clone().unwrap_or_else(Analysis::anserini);
    let analyzer = analysis.build()?;
    let mut records = InputRecords::stdin();
    loop {
        let batch = records.batch(BATCH)?;
        if batch.is_empty() {
            return Ok(());
        }
        for record in batch {
            let (id, text) = record.into_text()?;
            let tokens = ir_core::Analyzer::terms(&analyzer, &text);
            let (id, tokens) = (&*id, &*tokens);
            write_record(&TokenRecord { id, tokens }, out)?;
        }
        flush(out)?;
    }
}

#[derive(Serialize)]
struct HitsRecord<'a> {
    id: &'a str,
    hits: Vec<HitRecord<'a>>,
}

#[derive(Serialize)]
struct HitRecord<'a> {
    id: &'a str,
    score: f32,
}

fn search(args: &SearchArgs, out: &mut OutputSink, console: &Console) -> Result<()> {
    use_threads(args.threads)?;
    #[cfg(feature = "dense")]
    if args.vectors.is_set() {
        return args.vectors.search(args.hits, out, console);
    }
    let Some(name) = &args.index else {
        bail_usage!("expected an index, found none");
    };
    let opened = open_collection(name, TextEncoding::Utf8, Verify::SmallSections, console)?;
    let CollectionSource::Index(index) = opened else {
        bail!("{name}: expected an index (`ir index {name} -o FILE`), found documents");
    };
    let searcher = index.searcher(args.bm25.parameters())?;
    search_records(
        args.hits,
        &searcher,
        |record| record.into_text(),
        |text| text.as_str(),
        out,
    )
}

/// Searches the records of standard input, a batch at a time. `query` extracts id and query of a
/// record.
fn search_records<T, R: Retriever + ?Sized>(
    k: usize,
    retriever: &R,
    query: impl Fn(records::InputRecord) -> Result<(String, T)>,
    borrowed: impl Fn(&T) -> &R::Query,
    out: &mut OutputSink,
) -> Result<()> {
    let mut records = InputRecords::stdin();
    loop {
        let batch = records.batch(BATCH)?;
        if batch.is_empty() {
            return Ok(());
        }
        let queries: Vec<(String, T)> = batch.into_iter().map(&query).collect::<Result<_>>()?;
        let searches: Vec<_> = queries
            .iter()
            .map(|(_, query)| (borrowed(query), Search::top(k)))
            .collect();
        let rankings: Vec<Ranking> = retriever.search_batch(&searches)?;
        for ((id, _), ranking) in queries.iter().zip(&rankings) {
            let hits = ranking.iter().map(|hit| HitRecord {
                id: retriever.ids().id(hit.doc),
                score: hit.score,
            });
            let hits = hits.collect();
            write_record(&HitsRecord { id, hits }, out)?;
        }
        flush(out)?;
    }
}
