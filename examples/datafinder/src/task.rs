//! The task: five datasets per query, with one of three time filters.

use anyhow::Result;
use ir_core::{NotLaterThan, Query, Retriever, Run, Search};
use ir_data::Collection;
use ir_data::attribute;
use ir_eval::Measure;
use ir_knn::TrainingQuery;
use ir_studies::datafinder;

use crate::systems::System;

/// Number of datasets per query, as in the paper.
const LIMIT: usize = 5;

/// P@5, R@5, MAP and MRR, over all judged queries.
pub const MEASURES: [Measure; 4] = [Measure::P.at(5), Measure::R.at(5), Measure::AP, Measure::RR];

/// Treatment of datasets that are newer than the query's paper.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TimeFilter {
    /// Newer datasets are returned.
    None,
    /// Published procedure: post-filtering of 25 hits, with its stop rule.
    Published,
    /// Filter inside the search: top 5 of the datasets that are old enough.
    Exact,
}

impl TimeFilter {
    pub fn label(self) -> &'static str {
        match self {
            Self::None => "no time filter",
            Self::Published => "published filter",
            Self::Exact => "exact time filter",
        }
    }
}

/// Replaces the text of a query by its keyphrases.
pub fn in_keyphrases(query: &Query) -> Query {
    let mut other = query.clone();
    other.text = query
        .attributes
        .text(attribute::KEYPHRASES)
        .unwrap_or_default()
        .to_owned();
    other
}

/// Training queries, as sentences and as keyphrases.
pub fn training(collection: &Collection) -> Result<[Vec<TrainingQuery>; 2]> {
    let sentences = collection.queries("train")?;
    let keyphrases: Vec<Query> = sentences.iter().map(in_keyphrases).collect();
    let qrels = collection.qrels("train")?;
    Ok([sentences, keyphrases].map(|queries| TrainingQuery::from_qrels(&queries, &qrels)))
}

/// Retrieves five datasets per query.
pub fn recommend(system: &System<'_>, queries: &[Query], filter: TimeFilter) -> Result<Run> {
    let filters: Vec<NotLaterThan<'_>> = queries
        .iter()
        .map(|query| system.years.not_later_than(query.attributes.year()))
        .collect();
    if let (TimeFilter::Published, Some(raw)) = (filter, &system.raw) {
        let search = Search::top(datafinder::published_depth(LIMIT));
        let batch: Vec<_> = queries.iter().map(|q| (q.text.as_str(), search)).collect();
        let mut run = Run::new(system.name);
        for ((query, hits), filter) in queries.iter().zip(raw.search_batch(&batch)?).zip(&filters) {
            let walked = datafinder::published_filter(&hits, raw.ids(), filter, LIMIT);
            run.push_ranking(&query.id, &walked, raw.ids());
        }
        return Ok(run);
    }
    let run = Run::from_retriever_with(system.name, &system.distinct, queries, |n, _| {
        let search = Search::top(LIMIT);
        match filter {
            TimeFilter::None => search,
            _ => search.within(&filters[n]),
        }
    })?;
    Ok(run)
}
