//! Batch search with per-query filters.

use anyhow::{Result, anyhow};
use ir_bm25::feedback::Feedback;
use ir_bm25::{
    DuplicateIds, IndexedFields, Searcher, SearcherError, SegmentedIndex, StructuredSearcher,
};
use ir_core::{Distinct, DocNum, Explanation, Progress, Query, Ranking, Retriever, Search};
use ir_studies::datafinder;

use super::args::{Args, TimeFilter};
use super::engine::SearchIndex;
use super::expansion::TextRetriever;
use super::random_indexing;
use crate::shared::console::{Console, check_stopped};
use crate::shared::filter::QueryFilters;
use crate::shared::suggest::did_you_mean;

/// Number of queries between progress updates and interrupt checks.
const CHUNK: usize = 128;

/// Error of an option with fields, with the nearest field of the index.
fn field_error(option: &str, error: SearcherError, index: &SegmentedIndex) -> anyhow::Error {
    let SearcherError::UnknownField { expected, found } = &error else {
        return error.into();
    };
    let hint = match index.config().fields {
        IndexedFields::Separate | IndexedFields::Named(_) => {
            did_you_mean(found, expected.iter().copied())
        }
        _ => " (weights per field need an index with --fields separate)".to_owned(),
    };
    anyhow!("{option}: {error}{hint}")
}

pub(crate) struct QueryRunner {
    system: &'static str,
    is_random_indexing: bool,
    pub(crate) searcher: Searcher,
    feedback: Option<Feedback>,
    /// The retriever of each run.
    retrievers: Vec<Box<dyn Retriever<Query = str>>>,
    time: Option<TimeFilter>,
    filters: QueryFilters,
    /// Vector of a fixed text by the query encoder of a shard.
    pub(crate) query_probe: Option<Vec<u32>>,
}

impl QueryRunner {
    /// `queries` are those that will be searched.
    #[cfg_attr(not(feature = "dense"), allow(unused_variables))]
    pub(crate) fn new(
        engine: &SearchIndex,
        args: &Args,
        queries: &[Query],
        console: &Console,
    ) -> Result<Self> {
        let index = &engine.index;
        let weights = args
            .weights
            .iter()
            .map(|(field, weight)| (field.as_str(), *weight));
        // The model has parameters of fields.
        let searcher = index.searcher(args.model.model()?);
        let searcher = searcher.map_err(|error| field_error("--field-b", error, index))?;
        let searcher = searcher.with_weights(&weights.collect::<Vec<_>>());
        let searcher = searcher.map_err(|error| field_error("--weights", error, index))?;
        if args.model.is_bm25f() && index.config().fields.names().len() == 1 {
            console.warn(format_args!(
                "--model bm25f over one field is bm25 (--fields title,text indexes two)"
            ));
        }
        let (lexical, feedback) = match (args.syntax, args.model.random_indexing()) {
            (_, Some(system)) => (random_indexing::retriever(system, index)?, None),
            (Some(syntax), None) => {
                let structured = StructuredSearcher::new(searcher.clone(), syntax);
                (Box::new(structured) as TextRetriever, None)
            }
            (None, None) => args.expansion.retriever(&searcher, args, console)?,
        };
        // Return each id once if the collection has duplicates.
        let retriever: Box<dyn Retriever<Query = str>> =
            if index.config().duplicates == DuplicateIds::Keep {
                Box::new(Distinct(lexical))
            } else {
                lexical
            };
        let retriever = (args.prior).applied(retriever, index, &engine.name, console)?;
        #[cfg(feature = "dense")]
        let (mut retrievers, query_probe) = args.vectors.retrievers(
            &searcher,
            (args.verification(), args.shard.shard.is_some()),
            engine,
            // Documents of a cached index are not read again: it stores their texts.
            engine.collection.as_ref().filter(|_| args.cache.is_none()),
            queries,
            console,
        )?;
        #[cfg(not(feature = "dense"))]
        let (mut retrievers, query_probe) = (Vec::new(), None);
        if retrievers.is_empty() {
            retrievers.push(retriever);
        }
        let (name, time) = (&args.collection, args.not_later_than_query);
        let filters = QueryFilters::new(index, &args.filter, time.is_some(), name, console)?;
        Ok(Self {
            system: args.system(),
            is_random_indexing: args.model.random_indexing().is_some(),
            searcher,
            feedback,
            retrievers,
            time,
            filters,
            query_probe,
        })
    }

    pub(crate) fn what(&self) -> String {
        let model = self.searcher.model();
        match self.system {
            _ if self.is_random_indexing => "random indexing".to_owned(),
            "ir-vectors" => "vectors".to_owned(),
            "ir-hybrid" => format!("vectors and {model}"),
            _ => match &self.feedback {
                Some(feedback) => format!("{model} with {}", feedback.model()),
                None => model.to_string(),
            },
        }
    }

    /// Prints the number of queries with fewer hits than feedback documents, if there are any.
    pub(crate) fn note_short_queries(&self, console: &Console) {
        let Some(feedback) = &self.feedback else {
            return;
        };
        let (short, docs) = (feedback.short_queries(), feedback.model().docs());
        if short > 0 {
            console.warn(format_args!(
                "--feedback: {short} of the queries have fewer hits than the {docs} feedback documents; all hits are used"
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
        let mut years = queries.iter().map(|query| query.attributes.year());
        if self.time.is_some() && years.all(|year| year.is_none()) {
            console.warn("no query has a year; the time filter has no effect");
        }
        let mut bar = console.bar();
        let mut rankings = Vec::with_capacity(queries.len());
        for chunk in queries.chunks(CHUNK) {
            rankings.extend(match self.time {
                Some(TimeFilter::Published) => self.published(chunk, k)?,
                _ => self.exact(run, chunk, k)?,
            });
            let (done, total) = (rankings.len() as u64, queries.len() as u64);
            bar.report("searching", done, Some(total));
            check_stopped()?;
        }
        bar.finish();
        Ok(rankings)
    }

    fn exact(&self, run: usize, queries: &[Query], k: usize) -> Result<Vec<Ranking>> {
        let years = queries.iter().map(|query| query.attributes.year());
        self.filters.apply(years, |filters| {
            let batch = queries.iter().zip(filters).map(|(query, filter)| {
                let search = Search::top(k);
                let search = filter.map_or(search, |filter| search.within(filter));
                (query.text.as_str(), search)
            });
            Ok(self.retrievers[run].search_batch(&batch.collect::<Vec<_>>())?)
        })
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

    /// Published procedure of the DataFinder paper, over hits with duplicate ids.
    fn published(&self, queries: &[Query], k: usize) -> Result<Vec<Ranking>> {
        let mut how = Search::top(datafinder::published_depth(k));
        if let Some(chosen) = &self.filters.chosen {
            how = how.within(chosen);
        }
        let batch: Vec<_> = queries
            .iter()
            .map(|query| (query.text.as_str(), how))
            .collect();
        let raw = self.searcher.search_batch(&batch)?;
        let walked = queries.iter().zip(&raw).map(|(query, raw)| {
            let time = self.filters.years.not_later_than(query.attributes.year());
            datafinder::published_filter(raw, self.searcher.ids(), &time, k)
        });
        Ok(walked.collect())
    }
}
