//! Searches of a collection on a server.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, Result};
use ir_core::trec::{ScoreFormat, write_run};
use ir_core::{Attributes, Predicate, Query, Ranking, Retriever, Run, Search};
use ir_engines::{EngineAddress, EngineSearch, MilvusApi, OpenEngine, ResultCache};
use ir_system::saved_vectors::{QueryVectors, VectorOrigin};

use super::args::{Args, TimeFilter};
use super::engine::without_queries;
use super::{RUN_HITS, TYPED_QUERY_ID};
use crate::shared::console::{Console, bail_usage};
use crate::shared::filter::warn_of_years;
use crate::shared::format::grouped;
use crate::shared::input::{self, open_documents};
use crate::shared::options::check_query_encoding;
use crate::shared::output::OutputSink;

/// Queries whose years are equal, by number, and the condition that documents are not later.
fn groups_by_year(queries: &[Query]) -> QueryGroups {
    let mut groups = BTreeMap::<Option<i64>, Vec<usize>>::new();
    for (at, query) in queries.iter().enumerate() {
        groups.entry(query.attributes.year()).or_default().push(at);
    }
    let not_later = |year: i64| Predicate::AtMost {
        name: Attributes::YEAR.to_owned(),
        limit: year.into(),
        strict: false,
    };
    let groups = groups.into_iter();
    groups
        .map(|(year, all)| (year.map(not_later), all))
        .collect()
}

pub(super) fn run(args: &Args, console: &Console) -> Result<()> {
    let Some(address) = &args.remote.engine else {
        bail_usage!("expected --engine, found none");
    };
    args.check_typed()?;
    let queries = queries(args, console)?;
    let out = OutputSink::open(args.output.as_ref())?;
    if args.remote.engine_hybrid && address.api != MilvusApi::Grpc {
        bail_usage!("--engine-hybrid: expected milvus+grpc, found {address}");
    }
    let groups = groups(args, &queries, console)?;
    let index = open(args, address, &queries, console)?;
    let retriever = index.matching(&args.filter);
    let retriever = retriever.with_context(|| address.to_string())?;
    let began = Instant::now();
    let rankings = search(args, &index, &queries, groups);
    let rankings = rankings.with_context(|| address.to_string())?;
    let seconds = began.elapsed().as_secs_f64();
    let default = match (args.remote.engine_hybrid, &args.remote.engine_vectors) {
        (true, _) => "remote-hybrid",
        (false, Some(_)) => "remote-vectors",
        (false, None) => "remote-bm25",
    };
    let mut run = Run::new(args.tag_or(default));
    let (mut hits, mut empty) = (0, 0);
    for (query, mut ranking) in queries.iter().zip(rankings) {
        if args.remove_self {
            ranking = ranking.retain(|hit| retriever.ids().id(hit.doc) != query.id);
        }
        hits += ranking.len();
        empty += u64::from(ranking.is_empty());
        run.push_ranking(&query.id, &ranking, retriever.ids());
    }
    if empty > 0 {
        console.warn(format_args!(
            "{} of {} queries have no hits",
            grouped(empty),
            grouped(queries.len() as u64)
        ));
    }
    let scores = args.scores_or(ScoreFormat::Exact);
    out.write_with(|out| write_run(&run, scores, out))?;
    console.note(format_args!(
        "{address}: {} queries, {} hits of {} documents, {seconds:.2} s",
        grouped(queries.len() as u64),
        grouped(hits as u64),
        grouped(retriever.ids().len() as u64),
    ));
    Ok(())
}

/// Queries to search: typed, of a file, or of the collection.
fn queries(args: &Args, console: &Console) -> Result<Vec<Query>> {
    let split = args.split.as_deref();
    let queries = match (args.typed(), args.queries.as_deref()) {
        (Some(text), _) => vec![Query::new(TYPED_QUERY_ID, text)],
        (None, Some(queries)) => {
            check_query_encoding(queries, args.text.encoding)?;
            input::read_queries_of(queries, split, args.query_options(), console)?.queries
        }
        (None, None) => {
            let documents = open_documents(&args.collection, args.documents(), console)?;
            documents.check_encoding(args.text.encoding)?;
            match input::collection_queries(&documents.collection, split, console)? {
                Some(found) => found.queries,
                None => return without_queries(&args.collection),
            }
        }
    };
    args.lexical.cleaned(args.query_form.apply(queries)?)
}

/// Numbers of queries, with the condition of their years.
type QueryGroups = Vec<(Option<Predicate>, Vec<usize>)>;

/// Queries by the condition of `--not-later-than-query`; one group without it.
fn groups(args: &Args, queries: &[Query], console: &Console) -> Result<QueryGroups> {
    match args.not_later_than_query {
        Some(TimeFilter::Published) => {
            bail_usage!(
                "--not-later-than-query=published: expected an index, found --engine (use =exact)"
            )
        }
        Some(TimeFilter::Exact) => {
            warn_of_years(queries, console);
            Ok(groups_by_year(queries))
        }
        None => Ok(vec![(None, (0..queries.len()).collect())]),
    }
}

/// Opens the collection on the server, with the vectors of the queries if they are given.
fn open(
    args: &Args,
    address: &EngineAddress,
    queries: &[Query],
    console: &Console,
) -> Result<OpenEngine> {
    let collection = args.remote.client.collection(address)?;
    let vectors = match &args.remote.engine_vectors {
        Some(path) => {
            let record = collection.record();
            let record = record.with_context(|| address.to_string())?;
            let origin = record.encoder.as_deref();
            let origin = origin.and_then(|text| serde_json::from_str::<VectorOrigin>(text).ok());
            if origin.is_none() {
                console.warn(format_args!(
                    "{address}: has no record of the encoder of its vectors; the queries must be encoded by the same model"
                ));
            }
            let vectors = QueryVectors {
                key: "--engine-vectors",
                path,
                documents: origin.as_ref(),
                any_encoder: args.remote.engine_any_encoder,
                acceptance: "--engine-any-encoder",
                required: None,
            };
            Some(vectors.open(queries, &mut |text| console.warn(text))?)
        }
        None => None,
    };
    let cache = args.remote.engine_cache.as_ref();
    let opened = collection.open(EngineSearch {
        vectors,
        ef: args.remote.engine_ef,
        is_hybrid: args.remote.engine_hybrid,
        cache: cache.map(ResultCache::open).transpose()?,
    });
    opened.with_context(|| address.to_string())
}

/// Ranks the documents for all queries, in their order.
fn search(
    args: &Args,
    index: &OpenEngine,
    queries: &[Query],
    groups: QueryGroups,
) -> Result<Vec<Ranking>> {
    let k = args.hits.unwrap_or(RUN_HITS);
    let mut rankings = vec![Ranking::default(); queries.len()];
    for (limit, group) in groups {
        let conditions = [args.filter.clone(), limit.into_iter().collect()].concat();
        let batch = group.iter().map(|&at| (&*queries[at].text, Search::top(k)));
        let batch: Vec<(&str, Search<'_>)> = batch.collect();
        let found = index.matching(&conditions)?.search_batch(&batch)?;
        for (at, ranking) in group.into_iter().zip(found) {
            rankings[at] = ranking;
        }
    }
    Ok(rankings)
}
