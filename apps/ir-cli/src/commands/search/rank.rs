//! Batch search with per-query filters.

use anyhow::{Context, Result};
use ir_bm25::feedback::Feedback;
use ir_core::{DocIds, DocNum, Explanation, MatchedText, Progress, Query, Ranking, Search, Side};
use ir_system::saved_vectors::probe;
use ir_system::{FilterName, OpenReranker, OpenSystem, SharedRetriever, SystemEntry};

use super::args::Args;
use super::search_index::SearchIndex;
use crate::shared::console::Console;
use crate::shared::filter::{NamedConditions, QueryFilters, warn_of_years};
use crate::shared::search_data::{SystemOpener, note_long_documents, warn_of_short_queries};
use crate::shared::signals::check_stopped;
use crate::shared::system_options::spec_of_options;

/// Number of queries between progress updates and interrupt checks.
const CHUNK: usize = 128;

pub(crate) struct QueryRunner {
    /// Scoring model, retriever or type of the system, for messages.
    what: String,
    feedback: Option<Feedback>,
    /// The retriever of each run.
    retrievers: Vec<SharedRetriever>,
    /// Retriever that may return an id more than once, for the published time filter.
    with_duplicates: Option<SharedRetriever>,
    filter: FilterName,
    filters: QueryFilters,
    rerankers: Vec<OpenReranker>,
    /// Vector of a fixed text by the query encoder of a shard.
    pub(crate) query_probe: Option<Vec<u32>>,
}

impl QueryRunner {
    /// Searches by the open system of an entry.
    pub(super) fn of_system(open: OpenSystem, entry: &SystemEntry, filters: QueryFilters) -> Self {
        Self {
            what: open.description.unwrap_or_else(|| entry.kind.clone()),
            feedback: open.feedback,
            retrievers: vec![open.retriever],
            with_duplicates: open.with_duplicates,
            filter: entry.filter.unwrap_or_default(),
            filters,
            rerankers: open.rerankers,
            query_probe: None,
        }
    }

    /// Searches by the systems of the options, one for each run. `queries` are the queries to
    /// search.
    pub(crate) fn new(
        engine: &SearchIndex,
        args: &Args,
        queries: &[Query],
        console: &Console,
    ) -> Result<Self> {
        let index = &engine.index;
        let (others, cache) = (args.other_collections(), args.cache.as_ref());
        let opener = SystemOpener::new(&engine.name, index, queries, cache, others, console)?;
        #[cfg(feature = "dense")]
        let opener = opener.with_vectors(
            // Documents of a cached index are not read again: it stores their texts.
            engine.collection.as_ref().filter(|_| args.cache.is_none()),
            args.vectors.backend(),
        );
        let mut opener = opener;
        let mut open = Vec::new();
        for alpha in args.weights() {
            let systems = args.systems(args.lexical.systems_of_cleaned()?, alpha)?;
            open.push(opener.open(&spec_of_options(systems))?);
        }
        let retrievers = open.iter().map(|open| open.retriever.clone()).collect();
        // The systems of several weights differ in nothing else.
        let open = open.into_iter().next().context("expected a system")?;
        if args.lexical.is_bm25f() && index.config().fields.names().len() == 1 {
            console.warn(format_args!(
                "--model bm25f over one field is bm25 (--fields title,text indexes two)"
            ));
        }
        let probed = open
            .query_encoder
            .filter(|_| args.shard.shard.is_some())
            .map(|encoder| probe(&*encoder, Side::Query));
        let (name, time) = (&args.collection, args.not_later_than_query);
        let conditions = NamedConditions::of_option(&args.filter);
        let filters = QueryFilters::new(index, conditions, time.is_some(), name, console)?;
        Ok(Self {
            what: open
                .description
                .unwrap_or_else(|| args.lexical.model_name()),
            feedback: open.feedback,
            retrievers,
            with_duplicates: open.with_duplicates,
            filter: time.map_or(FilterName::None, FilterName::from),
            filters,
            rerankers: open.rerankers,
            query_probe: probed.transpose()?,
        })
    }

    /// Scoring model, retriever or type of the system, for messages.
    pub(super) fn what(&self) -> &str {
        &self.what
    }

    /// Ids of the documents that the rankings number.
    pub(super) fn ids(&self) -> &DocIds {
        self.retrievers[0].ids()
    }

    /// Prints what a reader of the run should know about the searches. `source` is the option or
    /// key of the feedback.
    pub(super) fn note_searches(&self, source: &str, console: &Console) {
        warn_of_short_queries(self.feedback.as_ref(), source, console);
        note_long_documents(&self.rerankers, console);
    }

    /// Number of runs: one, or one for each weight of BM25.
    pub(crate) fn runs(&self) -> usize {
        self.retrievers.len()
    }

    /// Ranks the documents for the queries of a run.
    pub(crate) fn rank(
        &self,
        run: usize,
        queries: &[Query],
        k: usize,
        console: &Console,
    ) -> Result<Vec<Ranking>> {
        if self.filter != FilterName::None {
            warn_of_years(queries, console);
        }
        let retrievers = (&*self.retrievers[run], self.with_duplicates.as_ref());
        let mut bar = console.bar();
        let mut rankings = Vec::with_capacity(queries.len());
        for chunk in queries.chunks(CHUNK) {
            rankings.extend(self.filters.rank(self.filter, retrievers, chunk, k)?);
            let (done, total) = (rankings.len() as u64, queries.len() as u64);
            bar.report("searching", done, Some(total));
            check_stopped()?;
        }
        bar.finish();
        Ok(rankings)
    }

    /// Explains the score of a hit of the first run, which has `k` hits per query.
    pub(crate) fn explain(
        &self,
        query: &Query,
        doc: DocNum,
        k: usize,
    ) -> Result<Option<Explanation>> {
        let year = std::iter::once(query.attributes.year());
        self.filters.apply(year, |filters| {
            let search = Search::top(k);
            let filter = filters.first().copied().flatten();
            let search = filter.map_or(search, |filter| search.within(filter));
            Ok(self.retrievers[0].explain(&query.text, doc, &search)?)
        })
    }

    /// Returns the text of a hit of the first run with the words that the model of the scores
    /// matched, if the model compares words.
    pub(crate) fn matched_text(&self, query: &Query, doc: DocNum) -> Result<Option<MatchedText>> {
        Ok(self.retrievers[0].matched_text(&query.text, doc)?)
    }
}
