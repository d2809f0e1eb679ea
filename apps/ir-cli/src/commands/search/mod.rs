//! `ir search`: a result list for one query, a TREC run for many.

mod args;
mod engine;
mod list;
mod notes;
mod rank;
#[cfg(feature = "remote")]
mod remote;
#[cfg(feature = "remote")]
mod remote_options;
mod save;
mod search_index;
mod system_file;
#[cfg(feature = "dense")]
mod vector_texts;
#[cfg(feature = "dense")]
mod vectors;

use std::time::Instant;

use anyhow::{Context, Result};
use ir_bm25::StoredFields;
use ir_bm25::analysis::Highlighter;
use ir_core::trec::write_run;
use ir_core::{Query, Ranking, Run};

pub(crate) use args::Args;
use engine::{open_index, without_queries};
use list::ShownHit;
use rank::QueryRunner;
use search_index::SearchIndex;

use crate::shared::console::Console;
use crate::shared::format::grouped;
use crate::shared::input::{self, TestQueries};
use crate::shared::list_style::ListStyle;
use crate::shared::options::use_threads;
use crate::shared::output::{OutputPath, OutputSink, failed};
use crate::shared::shards::{InputHash, OutputKind, ShardPart};
use crate::shared::signals::stop_on_interrupt;

/// Default number of hits of a run, as in Anserini.
const RUN_HITS: usize = 1000;
const LIST_HITS: usize = 10;
const TYPED_QUERY_ID: &str = "1";

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    #[cfg(feature = "remote")]
    if args.remote.is_set() {
        // An interrupt ends it at once: requests do not report progress.
        return remote::run(args, console);
    }
    if let Some(path) = &args.system {
        return system_file::run(args, path, console);
    }
    stop_on_interrupt();
    use_threads(args.threads)?;
    args.check()?;
    // Fail early: queries and output are opened before indexing.
    let asked = args.queries.as_deref().map(|queries| {
        let split = args.split.as_deref();
        input::read_queries_of(queries, split, args.query_options(), console)
    });
    let asked = asked.transpose()?;
    let outputs = open_outputs(args)?;
    if let Some(query) = &args.typed() {
        notes::warn_of_query_file(query, console);
        notes::warn_of_query_syntax(query, args, console);
    }
    let began = Instant::now();
    let engine = open_index(args, stored_fields(args)?, console)?;
    let building = began.elapsed();
    let saved = args.save.as_ref().map(|path| {
        let first = outputs.first().context("expected a run")?;
        let spec = save::saved(args, path, engine.index.config(), &first.tag)?;
        anyhow::Ok((spec, path))
    });
    let saved = saved.transpose()?;
    let mut queries = queries(args, asked, &engine, console)?;
    let part = shard_part(args, &mut queries, &engine, console)?;
    let runner = QueryRunner::new(&engine, args, &queries, console)?;
    debug_assert_eq!(runner.runs(), outputs.len(), "one output per run");
    for (run, output) in outputs.into_iter().enumerate() {
        search(
            args,
            &engine,
            &runner,
            &queries,
            part.as_ref(),
            (run, output),
            console,
        )?;
    }
    if let Some((spec, path)) = saved {
        save::save(&spec, path)?;
    }
    if engine.collection.is_some() && args.cache.is_none() {
        let hint = notes::index_hint(&engine.name, building);
        hint.iter().for_each(|hint| console.log(hint));
    }
    Ok(())
}

/// Output of a run.
struct RunOutput {
    tag: String,
    path: Option<OutputPath>,
    out: OutputSink,
}

fn open_outputs(args: &Args) -> Result<Vec<RunOutput>> {
    let runs = args.runs().into_iter().map(|(tag, path)| {
        let out = if args.is_list() {
            OutputSink::colored_stdout()
        } else {
            OutputSink::open(path.as_ref())?
        };
        Ok(RunOutput { tag, path, out })
    });
    runs.collect()
}

/// Returns `true` if hits are printed with their documents, for a reader or as JSON.
fn shows_documents(args: &Args) -> bool {
    args.json || args.is_list()
}

/// Fields of the documents that the search reads.
fn stored_fields(args: &Args) -> Result<StoredFields> {
    let shown = if shows_documents(args) {
        StoredFields::Everything
    } else if args.filter.is_empty() {
        StoredFields::Nothing
    } else {
        StoredFields::Attributes
    };
    Ok(shown.max(args.index_needs()?.store))
}

/// Queries to search: typed, of a file, or of the collection.
fn queries(
    args: &Args,
    asked: Option<TestQueries>,
    engine: &SearchIndex,
    console: &Console,
) -> Result<Vec<Query>> {
    let asked = match (args.typed(), asked) {
        (Some(text), _) => TestQueries {
            queries: vec![Query::new(TYPED_QUERY_ID, text)],
            qrels: None,
        },
        (None, Some(asked)) => asked,
        (None, None) => collection_queries(engine, args, console)?,
    };
    if let Some(qrels) = &asked.qrels {
        notes::warn_of_missing_documents(engine, qrels, console);
    }
    let queries = args.query_form.apply(asked.queries)?;
    let queries = args.lexical.cleaned(queries)?;
    notes::warn_of_operators(&queries, args, console);
    Ok(queries)
}

/// Keeps the queries of `--shard`.
fn shard_part(
    args: &Args,
    queries: &mut Vec<Query>,
    engine: &SearchIndex,
    console: &Console,
) -> Result<Option<ShardPart>> {
    let Some(shard) = args.shard.shard else {
        return Ok(None);
    };
    // The order of a run file: run files of shards can be concatenated.
    queries.sort_by(|a, b| a.id.cmp(&b.id));
    let mut input = InputHash::of_queries(queries).and_ids(engine.index.ids());
    // The record has the checksum of a saved index.
    if let Some(collection) = &engine.collection {
        input = input.and_documents(collection.corpus(), console)?;
    }
    let part = ShardPart::new(shard, &input);
    *queries = queries.drain(part.range()).collect();
    Ok(Some(part))
}

/// Searches the queries, and writes a run or prints the hits.
fn search(
    args: &Args,
    engine: &SearchIndex,
    runner: &QueryRunner,
    queries: &[Query],
    part: Option<&ShardPart>,
    (run, output): (usize, RunOutput),
    console: &Console,
) -> Result<()> {
    let RunOutput { tag, path, mut out } = output;
    let to_read = args.typed().is_some() && args.output.is_none();
    let default = if to_read { LIST_HITS } else { RUN_HITS };
    let candidates = args.lexical.reranking()?.map(|system| system.depth);
    let default = default.min(candidates.unwrap_or(default));
    let k = args.hits.unwrap_or(default);
    let began = Instant::now();
    let mut rankings = runner
        .rank(run, queries, k, console)
        .with_context(|| format!("{}: search failed", engine.name))?;
    let took = began.elapsed();
    let ids = engine.index.ids();
    if args.remove_self {
        for (query, ranking) in queries.iter().zip(&mut rankings) {
            *ranking = std::mem::take(ranking).retain(|hit| ids.id(hit.doc) != query.id);
        }
    }
    if shows_documents(args) {
        print_hits(engine, runner, queries, &rankings, k, args, &mut out)?;
        out.commit()?;
    } else {
        let mut run = Run::new(&tag);
        for (query, ranking) in queries.iter().zip(&rankings) {
            run.push_ranking(&query.id, ranking, ids);
        }
        out.write_with(|out| write_run(&run, args.scores(), out))?;
    }
    if let (Some(part), Some(path)) = (part, &path) {
        part.write_record(path, OutputKind::Lines, &tag, runner.query_probe.as_deref())?;
    }
    if run == 0 {
        notes::warn_of_empty_rankings(engine, args, queries, &rankings, console)?;
        runner.note_short_queries(console);
        runner.note_long_documents(console);
    }
    let found: usize = rankings.iter().map(Ranking::len).sum();
    let (documents, seconds) = (grouped(engine.index.len() as u64), took.as_secs_f64());
    if to_read {
        console.note(format_args!("{found} of {documents} documents, {took:.1?}"));
    } else {
        let empty = rankings.iter().filter(|ranking| ranking.is_empty()).count();
        console.note(format_args!(
            "{tag}: {} queries ({empty} without hits), {} hits of {documents} documents, {seconds:.2} s, {}",
            grouped(queries.len() as u64),
            grouped(found as u64),
            runner.what(),
        ));
    }
    Ok(())
}

/// Queries of the collection that was indexed; an error if there are none.
fn collection_queries(engine: &SearchIndex, args: &Args, console: &Console) -> Result<TestQueries> {
    if let Some(collection) = &engine.collection {
        let split = args.split.as_deref();
        if let Some(queries) = input::collection_queries(collection, split, console)? {
            return Ok(queries);
        }
    }
    without_queries(&args.collection)
}

fn print_hits(
    engine: &SearchIndex,
    runner: &QueryRunner,
    queries: &[Query],
    rankings: &[Ranking],
    k: usize,
    args: &Args,
    out: &mut OutputSink,
) -> Result<()> {
    let style = ListStyle::for_stdout();
    let index = &engine.index;
    let analyzer = index.config().analysis.build()?;
    let stored = index.config().store == StoredFields::Everything;
    for (query, ranking) in queries.iter().zip(rankings) {
        let highlighter = Highlighter::new(&analyzer, &query.text);
        for (rank, hit) in (1..).zip(ranking) {
            let document = stored.then(|| index.document(hit.doc)).transpose();
            let explain = || runner.explain(query, hit.doc, k);
            let shown = ShownHit {
                rank,
                id: index.ids().id(hit.doc),
                score: hit.score,
                document: document.with_context(|| format!("{}: cannot be read", engine.name))?,
                explanation: args.explain.then(explain).transpose()?.flatten(),
            };
            let written = if args.json {
                list::write_json(&query.id, &shown, out)
            } else {
                list::write(&shown, &highlighter, style, out)
            };
            written.with_context(|| failed(out.name()))?;
        }
    }
    Ok(())
}
