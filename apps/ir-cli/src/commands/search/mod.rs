//! `ir search`: a result list for one query, a TREC run for many.

mod args;
mod engine;
mod file_search;
mod fixed_run;
mod list;
mod notes;
mod rank;
#[cfg(feature = "remote")]
mod remote;
#[cfg(feature = "remote")]
mod remote_options;
mod results;
mod save;
mod search_index;
mod system_file;
#[cfg(feature = "dense")]
mod vectors;

use std::time::Instant;

use anyhow::{Context, Result};
use ir_bm25::StoredFields;
use ir_core::Query;
use ir_experiment::run_tag;
use ir_system::systems::RUN;

pub(crate) use args::Args;
use engine::{open_index, without_queries};
use notes::SystemTraits;
use rank::QueryRunner;
use results::{HitDocuments, OpenSearch, RunOutput};
use search_index::SearchIndex;
use system_file::SystemFile;

use crate::shared::console::Console;
use crate::shared::input::{self, TestQueries, open_documents};
use crate::shared::options::use_threads;
use crate::shared::output::{OutputSink, reject_input};
use crate::shared::shards::{InputHash, ShardPart};
use crate::shared::signals::stop_on_interrupt;

/// Default number of hits of a run, as in Anserini.
const RUN_HITS: usize = 1000;
const LIST_HITS: usize = 10;
const TYPED_QUERY_ID: &str = "1";

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    if !args.is_remote() {
        // Requests to a server do not report progress: an interrupt ends them at once.
        stop_on_interrupt();
    }
    use_threads(args.threads)?;
    let file = SystemFile::read(args)?;
    if file.is_none() {
        args.check()?;
    }
    // Fail early: queries and output are opened before indexing.
    let asked = asked_queries(args, console)?;
    let outputs = open_outputs(args, file.as_ref())?;
    let traits = match &file {
        Some(file) => SystemTraits::of_file(file),
        None => SystemTraits::of_options(args),
    };
    if let Some(query) = &args.typed() {
        notes::warn_of_query_file(query, console);
        notes::warn_of_query_syntax(query, &traits, console);
    }
    if let Some(file) = &file {
        if file.root.kind == RUN {
            return fixed_run::write(args, file, asked, outputs, console);
        }
        return search_by_file(args, file, asked, traits, outputs, console);
    }
    #[cfg(feature = "remote")]
    if let Some(system) = args.remote.system() {
        return remote::run(args, (system, traits), asked, outputs, console);
    }
    search_by_options(args, asked, traits, outputs, console)
}

/// Searches by the system of a file, or of `--type`, which it saves.
fn search_by_file(
    args: &Args,
    file: &SystemFile,
    asked: Option<TestQueries>,
    traits: SystemTraits<'_>,
    outputs: Vec<RunOutput>,
    console: &Console,
) -> Result<()> {
    let saved = args.save.as_ref().map(|path| {
        let spec = save::relocated(file.spec.clone(), path)?;
        reject_input("--save", path)?;
        anyhow::Ok((spec, path))
    });
    let saved = saved.transpose()?;
    let open = file_search::open(args, file, asked, traits, console)?;
    write_all(&open, args, None, outputs, console)?;
    if let Some((spec, path)) = saved {
        save::save(&spec, path)?;
    }
    Ok(())
}

/// Searches by the system of the options, and saves it.
fn search_by_options(
    args: &Args,
    asked: Option<TestQueries>,
    traits: SystemTraits<'_>,
    outputs: Vec<RunOutput>,
    console: &Console,
) -> Result<()> {
    let began = Instant::now();
    let engine = open_index(args, stored_fields(args)?, console)?;
    let building = began.elapsed();
    let saved = args.save.as_ref().map(|path| {
        let first = outputs.first().context("expected a run")?;
        let spec = save::saved(args, path, &engine, &first.tag)?;
        anyhow::Ok((spec, path))
    });
    let saved = saved.transpose()?;
    let mut queries = queries(args, asked, &traits, &engine, console)?;
    let part = shard_part(args, &mut queries, &engine, console)?;
    let runner = QueryRunner::new(&engine, args, &queries, console)?;
    debug_assert_eq!(runner.runs(), outputs.len(), "one output per run");
    let candidates = args.lexical.reranking()?.map(|system| system.depth);
    let open = OpenSearch {
        name: &engine.name,
        queries,
        runner,
        documents: HitDocuments::Index(engine.index.clone()),
        analysis: engine.index.config().analysis.clone(),
        traits,
        hits: args.hits,
        most: candidates.unwrap_or(usize::MAX),
        scores: args.scores(),
    };
    write_all(&open, args, part.as_ref(), outputs, console)?;
    if let Some((spec, path)) = saved {
        save::save(&spec, path)?;
    }
    if engine.collection.is_some() && args.cache.is_none() {
        let hint = notes::index_hint(&engine.name, building);
        hint.iter().for_each(|hint| console.log(hint));
    }
    Ok(())
}

/// Searches the queries for every run, and writes it.
fn write_all(
    open: &OpenSearch<'_>,
    args: &Args,
    part: Option<&ShardPart>,
    outputs: Vec<RunOutput>,
    console: &Console,
) -> Result<()> {
    let mut outputs = outputs.into_iter().enumerate();
    outputs.try_for_each(|output| open.write(args, part, output, console))
}

/// Queries of the command; `None` if they are the queries of the collection.
fn asked_queries(args: &Args, console: &Console) -> Result<Option<TestQueries>> {
    if let Some(text) = args.typed() {
        return Ok(Some(TestQueries {
            queries: vec![Query::new(TYPED_QUERY_ID, text)],
            qrels: None,
        }));
    }
    let asked = args.queries.as_deref().map(|queries| {
        let split = args.split.as_deref();
        input::read_queries_of(queries, split, args.query_options(), console)
    });
    asked.transpose()
}

/// Opens the output of every run.
fn open_outputs(args: &Args, file: Option<&SystemFile>) -> Result<Vec<RunOutput>> {
    let runs = match file {
        Some(file) => {
            let tag = run_tag(&file.root.name);
            vec![(args.tag_or(&tag).to_owned(), args.output.clone())]
        }
        None => args.runs(),
    };
    let runs = runs.into_iter().map(|(tag, path)| {
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

/// Queries to search: the queries that were asked, or the queries of the collection.
fn queries(
    args: &Args,
    asked: Option<TestQueries>,
    traits: &SystemTraits<'_>,
    engine: &SearchIndex,
    console: &Console,
) -> Result<Vec<Query>> {
    let asked = match asked {
        Some(asked) => asked,
        None => collection_queries(engine, args, console)?,
    };
    if let Some(qrels) = &asked.qrels {
        notes::warn_of_missing_documents(engine.index.ids(), qrels, console);
    }
    let queries = args.query_form.apply(asked.queries)?;
    let queries = args.lexical.cleaned(queries)?;
    notes::warn_of_operators(&queries, args, traits, console);
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

/// Queries of COLLECTION; an error if there are none.
fn queries_of_collection(args: &Args, console: &Console) -> Result<TestQueries> {
    let documents = open_documents(&args.collection, args.documents(), console)?;
    documents.check_encoding(args.text.encoding)?;
    let split = args.split.as_deref();
    match input::collection_queries(&documents.collection, split, console)? {
        Some(found) => Ok(found),
        None => without_queries(&args.collection),
    }
}
