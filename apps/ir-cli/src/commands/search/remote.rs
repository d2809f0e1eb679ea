//! Searches of a collection on a server.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, Result};
use ir_core::trec::{ScoreFormat, write_run};
use ir_core::{Attributes, Predicate, Query, Ranking, Retriever, Run, Search};
use ir_engines::{EngineSearch, MilvusApi, ResultCache};
use ir_system::saved_vectors::{QueryVectors, VectorOrigin};

use super::args::{Args, TimeFilter};
use super::engine::without_queries;
use super::{RUN_HITS, TYPED_QUERY_ID};
use crate::shared::console::{Console, bail_usage};
use crate::shared::filter::warn_of_years;
use crate::shared::format::grouped;
use crate::shared::input::{self, open_documents};
use crate::shared::output::OutputSink;

/// Queries whose years are equal, by number, and the condition that documents are not later.
fn groups_by_year(queries: &[Query]) -> Vec<(Option<Predicate>, Vec<usize>)> {
    let mut groups = BTreeMap::<Option<i64>, Vec<usize>>::new();
    for (at, query) in queries.iter().enumerate() {
        groups.entry(query.attributes.year()).or_default().push(at);
    }
    let not_later = |year: i64| Predicate::AtMost {
        name: Attributes::YEAR.to_owned(),
        limit: year.into(),
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
    let split = args.split.as_deref();
    let queries = match (args.typed(), args.queries.as_deref()) {
        (Some(text), _) => vec![Query::new(TYPED_QUERY_ID, text)],
        (None, Some(queries)) => {
            input::read_queries_of(queries, split, args.text.encoding, console)?.queries
        }
        (None, None) => {
            let documents = open_documents(&args.collection, args.documents(), console)?;
            match input::collection_queries(&documents.collection, split, console)? {
                Some(found) => found.queries,
                None => return without_queries(&args.collection),
            }
        }
    };
    let queries = args.lexical.cleaned(args.query_form.apply(queries)?)?;
    let out = OutputSink::open(args.output.as_ref())?;
    let is_vectors = args.remote.engine_vectors.is_some();
    let is_hybrid = args.remote.engine_hybrid;
    if is_hybrid && address.api != MilvusApi::Grpc {
        bail_usage!("--engine-hybrid: expected milvus+grpc, found {address}");
    }
    let groups = match args.not_later_than_query {
        Some(TimeFilter::Published) => {
            bail_usage!(
                "--not-later-than-query=published: expected an index, found --engine (use =exact)"
            )
        }
        Some(TimeFilter::Exact) => groups_by_year(&queries),
        None => vec![(None, (0..queries.len()).collect())],
    };
    if args.not_later_than_query.is_some() {
        warn_of_years(&queries, console);
    }
    let collection = args.remote.client.collection(address)?;
    let encoder = match &args.remote.engine_vectors {
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
            }
            .open(&queries, &mut |text| console.warn(text));
            Some(vectors?)
        }
        None => None,
    };
    let cache = args.remote.engine_cache.as_ref();
    let search = EngineSearch {
        vectors: encoder,
        ef: args.remote.engine_ef,
        is_hybrid,
        cache: cache.map(ResultCache::open).transpose()?,
    };
    let opened = collection.open(search);
    let index = opened.with_context(|| address.to_string())?;
    let retriever = index.matching(&args.filter);
    let retriever = retriever.with_context(|| address.to_string())?;
    let began = Instant::now();
    let k = args.hits.unwrap_or(RUN_HITS);
    let mut rankings = vec![Ranking::default(); queries.len()];
    for (limit, group) in groups {
        let conditions = [args.filter.clone(), limit.into_iter().collect()].concat();
        let batch = group.iter().map(|&at| (&*queries[at].text, Search::top(k)));
        let batch: Vec<(&str, Search<'_>)> = batch.collect();
        let found = index
            .matching(&conditions)
            .map_err(anyhow::Error::from)
            .and_then(|index| Ok(index.search_batch(&batch)?));
        let found = found.with_context(|| address.to_string())?;
        for (at, ranking) in group.into_iter().zip(found) {
            rankings[at] = ranking;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let default = match (is_hybrid, is_vectors) {
        (true, _) => "remote-hybrid",
        (false, true) => "remote-vectors",
        (false, false) => "remote-bm25",
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
