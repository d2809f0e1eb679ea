//! Searches of a collection on a server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::{Args as _, Command, Id, ValueHint};
use ir_core::trec::{ScoreFormat, write_run};
use ir_core::{Attributes, Predicate, Query, Ranking, Retriever, Run, Search};
use ir_engines::{EngineAddress, MilvusApi, ResultCache};

use super::args::{Args, TimeFilter};
use super::vectors::DenseOptions;
use super::{RUN_HITS, TYPED_QUERY_ID};
use crate::shared::console::{Console, bail_usage};
use crate::shared::format::grouped;
use crate::shared::indexing::IndexOptions;
use crate::shared::input::{self, open_documents};
use crate::shared::options::{first_set, positive};
use crate::shared::output::OutputSink;
use crate::shared::query_vectors::QueryVectors;
use crate::shared::remote::{ClientOptions, RemoteCollection, RemoteSearch, recorded_origin};
use crate::shared::shards::ShardOption;
use crate::shared::system_options::SystemOptions;

/// Options of a collection on a server.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct RemoteOptions {
    /// Search a collection on a server, loaded by `ir load`, in place of an index:
    /// `ENGINE://HOST[:PORT]/NAME`; `ir load --help` lists the engines. COLLECTION has the queries;
    /// the output is a TREC run
    #[arg(
        long, value_name = "ADDRESS", value_hint = ValueHint::Other,
        conflicts_with_all = embedded_options(),
    )]
    engine: Option<EngineAddress>,

    /// Vectors of the queries, written by `ir encode MODEL COLLECTION --queries -o FILE`. Without,
    /// texts are searched by BM25 (Elasticsearch, OpenSearch and milvus+grpc)
    #[arg(long, value_name = "FILE", requires = "engine")]
    engine_vectors: Option<PathBuf>,

    /// Number of candidates of approximate search. Larger values find more of the nearest vectors
    /// and take longer [default: 100]
    #[arg(long, value_parser = positive, value_name = "N", requires = "engine_vectors")]
    engine_ef: Option<usize>,

    /// Search texts by BM25 and vectors, 100 hits of each, and fuse both lists by reciprocal rank
    /// (k = 60) on the server (milvus+grpc)
    #[arg(long, requires = "engine_vectors")]
    engine_hybrid: bool,

    /// Search with vectors of queries whose file records another encoder than that of the loaded
    /// vectors, or other texts of the queries, with a warning
    #[arg(long, requires = "engine_vectors")]
    engine_any_encoder: bool,

    /// Directory in which responses of the server are cached, by the content of the collection and
    /// of the request. It is created
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "engine")]
    engine_cache: Option<PathBuf>,

    #[command(flatten)]
    client: ClientOptions,
}

/// Options of the embedded search. clap has no group of a struct that contains another one.
fn embedded_options() -> Vec<Id> {
    let command = SystemOptions::augment_args(Command::new(""));
    let command = DenseOptions::augment_args(command);
    let command = IndexOptions::augment_args(command);
    let command = ShardOption::augment_args(command);
    let ids = command
        .get_arguments()
        .map(|option| option.get_id().clone());
    let others = [
        "template", "cache", "verify", "json", "explain", "save", "system",
    ];
    ids.chain(others.map(Id::from)).collect()
}

impl RemoteOptions {
    pub(crate) const fn is_set(&self) -> bool {
        self.engine.is_some()
    }

    /// Rejects options of the client without a server.
    pub(crate) fn check(&self) -> Result<()> {
        let given = first_set([
            ("--engine-timeout", self.client.engine_timeout.is_some()),
            ("--engine-attempts", self.client.engine_attempts.is_some()),
            ("--engine-record", self.client.engine_record.is_some()),
        ]);
        match given {
            Some(option) if !self.is_set() => {
                bail_usage!("{option}: expected --engine, found none")
            }
            _ => Ok(()),
        }
    }
}

/// Queries whose years are equal, by number, and the condition that documents are not later.
fn groups_by_year(queries: &[Query]) -> Vec<(Option<Predicate>, Vec<usize>)> {
    let mut groups = BTreeMap::<Option<i64>, Vec<usize>>::new();
    for (at, query) in queries.iter().enumerate() {
        groups.entry(query.attributes.year()).or_default().push(at);
    }
    // Conditions compare numbers as f64: others are checked before.
    let not_later = |year: i64| Predicate::AtMost {
        name: Attributes::YEAR.to_owned(),
        limit: year as f64,
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
                None => return super::without_queries(&args.collection),
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
        Some(TimeFilter::Exact) => {
            let mut years = queries.iter().filter_map(|query| query.attributes.year());
            if let Some(year) = years.find(|year| year.unsigned_abs() >= 1 << 53) {
                bail!("--not-later-than-query: expected years below 2^53, found {year}");
            }
            groups_by_year(&queries)
        }
        None => vec![(None, (0..queries.len()).collect())],
    };
    if args.not_later_than_query.is_some() && groups.iter().all(|(limit, _)| limit.is_none()) {
        console.warn("no query has a year; the time filter has no effect");
    }
    let collection = RemoteCollection::new(address, &args.remote.client)?;
    let encoder = match &args.remote.engine_vectors {
        Some(path) => {
            let record = collection.record(address);
            let record = record.with_context(|| address.to_string())?;
            let origin = recorded_origin(&record);
            if origin.is_none() {
                console.warn(format_args!(
                    "{address}: has no record of the encoder of its vectors; the queries must be encoded by the same model"
                ));
            }
            let vectors = QueryVectors {
                option: "--engine-vectors",
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
    let search = RemoteSearch {
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
