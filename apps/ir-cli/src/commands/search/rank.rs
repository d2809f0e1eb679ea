//! Batch search with per-query filters.

use anyhow::Result;
use ir_bm25::feedback::Feedback;
use ir_core::{DocIds, DocNum, Explanation, Progress, Query, Ranking, Search};
use ir_system::{FilterName, OpenReranker, OpenSystem, SharedRetriever, SystemEntry};

use super::args::Args;
use super::search_index::SearchIndex;
use crate::shared::console::Console;
use crate::shared::filter::{Conditions, QueryFilters, warn_of_years};
use crate::shared::format::counted;
use crate::shared::search_data::SystemOpener;
use crate::shared::signals::check_stopped;

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

    /// Searches by the system of the options. `queries` are the queries to search.
    #[cfg_attr(not(feature = "dense"), allow(unused_variables))]
    pub(crate) fn new(
        engine: &SearchIndex,
        args: &Args,
        queries: &[Query],
        console: &Console,
    ) -> Result<Self> {
        let index = &engine.index;
        let (others, cache) = (args.other_collections(), args.cache.as_ref());
        let opener = SystemOpener::new(&engine.name, index, queries, cache, others, console);
        let spec = args.lexical.spec_of_cleaned()?;
        // Vectors replace the system that finds the candidates.
        #[cfg(feature = "dense")]
        let spec = if args.has_vectors() {
            args.lexical.spec_of_candidates()?
        } else {
            spec
        };
        let open = opener?.open(&spec)?;
        if args.lexical.is_bm25f() && index.config().fields.names().len() == 1 {
            console.warn(format_args!(
                "--model bm25f over one field is bm25 (--fields title,text indexes two)"
            ));
        }
        #[cfg_attr(not(feature = "dense"), allow(unused_mut))]
        let mut rerankers = open.rerankers;
        #[cfg(feature = "dense")]
        let (mut retrievers, query_probe) = args.vectors.retrievers(
            open.with_duplicates.as_ref().unwrap_or(&open.retriever),
            (args.verification(), args.shard.shard.is_some()),
            engine,
            // Documents of a cached index are not read again: it stores their texts.
            engine.collection.as_ref().filter(|_| args.cache.is_none()),
            queries,
            console,
        )?;
        #[cfg(feature = "dense")]
        if !retrievers.is_empty() {
            let (reranked, reranker) = args.lexical.rerank_all(retrievers, index)?;
            (retrievers, rerankers) = (reranked, reranker.into_iter().collect());
        }
        #[cfg(not(feature = "dense"))]
        let (mut retrievers, query_probe) = (Vec::new(), None);
        if retrievers.is_empty() {
            retrievers.push(open.retriever);
        }
        let (name, time) = (&args.collection, args.not_later_than_query);
        let conditions = Conditions::of_option(&args.filter);
        let filters = QueryFilters::new(index, conditions, time.is_some(), name, console)?;
        let reranking = match args.lexical.reranking()? {
            Some(system) => format!(", reranked by {}", system.label()),
            None => String::new(),
        };
        let lexical = open
            .description
            .unwrap_or_else(|| args.lexical.model_name());
        Ok(Self {
            what: match args.default_tag() {
                "ir-vectors" => format!("vectors{reranking}"),
                "ir-hybrid" => format!("vectors and {lexical}{reranking}"),
                _ => lexical,
            },
            feedback: open.feedback,
            retrievers,
            with_duplicates: open.with_duplicates,
            filter: time.map_or(FilterName::None, FilterName::from),
            filters,
            rerankers,
            query_probe,
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

    /// Prints the number of queries with fewer hits than feedback documents, if there are any.
    /// `source` is the option or key of the feedback.
    pub(super) fn note_short_queries(&self, source: &str, console: &Console) {
        let Some(feedback) = &self.feedback else {
            return;
        };
        let (short, docs) = (feedback.short_queries(), feedback.model().docs());
        if short > 0 {
            console.warn(format_args!(
                "{source}: {short} of the queries have fewer hits than the {docs} feedback documents; all hits are used"
            ));
        }
    }

    /// Prints the number of documents that are longer than the model of the reranking, if there are
    /// any.
    pub(crate) fn note_long_documents(&self, console: &Console) {
        let long = self.rerankers.iter().map(OpenReranker::long_documents);
        let count: u64 = long.sum();
        if count > 0 {
            let count = counted(count, "candidate");
            console.log(format_args!(
                "note: {count} longer than the model: truncated, or scored by windows"
            ));
        }
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
}
