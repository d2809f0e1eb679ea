//! Batch search with per-query filters.

use anyhow::Result;
use ir_bm25::{Index, Searcher};
use ir_core::{
    AllOf, Distinct, DocFilter, DocNum, DocSet, Explanation, Predicate, Progress, Query, Ranking,
    Retriever, Search, Years,
};
use ir_data::datafinder;

use super::args::{Args, TimeFilter};
use super::engine::bm25;
use crate::shared::console::{Console, check_stopped};
use crate::shared::filter::select_documents;

/// Number of queries between progress updates and interrupt checks.
const CHUNK: usize = 128;

/// A searcher with the command line's filters.
pub(crate) struct QueryRunner {
    system: &'static str,
    searcher: Searcher,
    retriever: Box<dyn Retriever<Query = str>>,
    years: Years,
    time: Option<TimeFilter>,
    /// Documents that satisfy `--filter`; `None` without conditions.
    chosen: Option<DocSet>,
}

impl QueryRunner {
    /// Creates the retriever that `args` select.
    pub(crate) fn new(index: &Index, args: &Args, console: &Console) -> Result<Self> {
        let weights: Vec<(&str, f32)> = args
            .weights
            .iter()
            .map(|(field, weight)| (field.as_str(), *weight))
            .collect();
        let searcher = index.searcher(bm25(args))?.with_weights(&weights)?;
        // Return each id once if the collection has duplicates.
        let retriever: Box<dyn Retriever<Query = str>> = if index.ids().repeated() > 0 {
            Box::new(Distinct(searcher.clone()))
        } else {
            Box::new(searcher.clone())
        };
        #[cfg(feature = "dense")]
        let retriever = match args.vectors.retriever(&searcher, console)? {
            None => retriever,
            Some(_) if args.not_later_than_query == Some(TimeFilter::Published) => {
                let only =
                    "--not-later-than-query=published: expected BM25, found --vectors (use =exact)";
                return Err(crate::shared::console::Usage(only.into()).into());
            }
            Some(retriever) => retriever,
        };
        // Records with the same id have the year of the first one.
        let years = if index.ids().repeated() > 0 {
            index.years().of_first_record(index.ids())
        } else {
            index.years().clone()
        };
        let time = args.not_later_than_query;
        let numbers = || (0..index.len() as u32).map(DocNum::new);
        if time.is_some() && numbers().all(|doc| years.get(doc).is_none()) {
            console.warn("no document has a year; the time filter has no effect");
        }
        let conditions: Vec<Predicate> = args
            .filter
            .iter()
            .map(|condition| condition.0.clone())
            .collect();
        let chosen = if conditions.is_empty() {
            None
        } else {
            Some(select_documents(
                index,
                conditions,
                &args.collection,
                console,
            )?)
        };
        Ok(Self {
            system: args.system(),
            searcher,
            retriever,
            years,
            time,
            chosen,
        })
    }

    /// Description of the retrieval method.
    pub(crate) fn what(&self) -> String {
        let bm25 = self.searcher.bm25();
        match self.system {
            "ir-vectors" => "vectors".to_owned(),
            "ir-hybrid" => format!("vectors and {bm25}"),
            _ => bm25.to_string(),
        }
    }

    /// Explains the score of a document.
    pub(crate) fn explain(&self, query: &str, doc: DocNum) -> Result<Explanation> {
        Ok(self.searcher.explain(query, doc)?)
    }

    /// Returns the top `k` of each query.
    pub(crate) fn rank(
        &self,
        queries: &[Query],
        k: usize,
        console: &Console,
    ) -> Result<Vec<Ranking>> {
        if self.time.is_some()
            && queries
                .iter()
                .all(|query| query.attributes.year().is_none())
        {
            console.warn("no query has a year; the time filter has no effect");
        }
        let mut bar = console.bar();
        let mut rankings = Vec::with_capacity(queries.len());
        for chunk in queries.chunks(CHUNK) {
            rankings.extend(match self.time {
                Some(TimeFilter::Published) => self.published(chunk, k)?,
                _ => self.exact(chunk, k)?,
            });
            bar.report(
                "searching",
                rankings.len() as u64,
                Some(queries.len() as u64),
            );
            check_stopped()?;
        }
        bar.finish();
        Ok(rankings)
    }

    fn exact(&self, queries: &[Query], k: usize) -> Result<Vec<Ranking>> {
        let times: Vec<_> = queries
            .iter()
            .map(|query| self.years.not_later_than(query.attributes.year()))
            .collect();
        let filters: Vec<AllOf<'_>> = times
            .iter()
            .map(|time| {
                let chosen = self.chosen.iter().map(|set| set as &dyn DocFilter);
                let time = self.time.map(|_| time as &dyn DocFilter);
                AllOf(chosen.chain(time).collect())
            })
            .collect();
        let batch: Vec<(&str, Search<'_>)> = queries
            .iter()
            .zip(&filters)
            .map(|(query, filter)| {
                let how = Search::top(k);
                // Without a filter the engine can prune freely.
                let how = if filter.0.is_empty() {
                    how
                } else {
                    how.within(filter)
                };
                (query.text.as_str(), how)
            })
            .collect();
        Ok(self.retriever.search_batch(&batch)?)
    }

    /// Published procedure of the DataFinder paper, over hits with duplicate ids.
    fn published(&self, queries: &[Query], k: usize) -> Result<Vec<Ranking>> {
        let mut how = Search::top(datafinder::published_depth(k));
        if let Some(chosen) = &self.chosen {
            how = how.within(chosen);
        }
        let batch: Vec<(&str, Search<'_>)> = queries
            .iter()
            .map(|query| (query.text.as_str(), how))
            .collect();
        let raw = self.searcher.search_batch(&batch)?;
        let walked = queries.iter().zip(&raw).map(|(query, raw)| {
            let time = self.years.not_later_than(query.attributes.year());
            datafinder::published_filter(raw, self.searcher.ids(), &time, k)
        });
        Ok(walked.collect())
    }
}
