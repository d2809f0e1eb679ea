//! The task: five datasets for every query, filtered in one of three ways.

use anyhow::Result;
use ir_core::{NotLaterThan, Query, Retriever, Run, Search, compat, name};
use ir_data::Collection;
use ir_eval::Measure;
use ir_knn::LabelledQuery;

use crate::systems::System;

/// The paper hands in five datasets per query.
const LIMIT: usize = 5;

/// P@5, R@5, MAP and MRR, over all judged queries.
pub const MEASURES: [Measure; 4] =
    [Measure::P.at(5), Measure::R.at(5), Measure::AP, Measure::RR];

/// A dataset that came out after the query's paper cannot have been used by it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TimeFilter {
    /// Left alone.
    None,
    /// As the published code does it: 25 hits, filtered afterwards, with its stop rule.
    Published,
    /// Exactly: the five best among the datasets that are old enough.
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

/// The same query with its keyphrase form for text.
pub fn in_keyphrases(query: &Query) -> Query {
    let mut other = query.clone();
    other.text = query
        .attributes
        .text(name::KEYPHRASES)
        .unwrap_or_default()
        .to_owned();
    other
}

/// Queries whose papers' datasets are known, as sentences and in keyphrases.
pub fn training(collection: &Collection) -> Result<[Vec<LabelledQuery>; 2]> {
    let sentences = collection.queries("train")?;
    let keyphrases: Vec<Query> = sentences.iter().map(in_keyphrases).collect();
    let qrels = collection.qrels("train")?;
    Ok([sentences, keyphrases].map(|queries| LabelledQuery::from_qrels(&queries, &qrels)))
}

/// Five datasets for every query.
pub fn recommend(system: &System<'_>, queries: &[Query], filter: TimeFilter) -> Result<Run> {
    let filters: Vec<NotLaterThan<'_>> = queries
        .iter()
        .map(|query| system.years.not_later_than(query.attributes.year()))
        .collect();
    if let (TimeFilter::Published, Some(raw)) = (filter, &system.raw) {
        let how = Search::top(compat::datafinder_depth(LIMIT));
        let batch: Vec<_> = queries.iter().map(|q| (q.text.as_str(), how)).collect();
        let mut run = Run::new(system.name);
        for ((query, hits), filter) in queries.iter().zip(raw.search_batch(&batch)?).zip(&filters) {
            let walked = compat::datafinder_walk(&hits, raw.ids(), filter, LIMIT);
            run.push_ranking(&query.id, &walked, raw.ids());
        }
        return Ok(run);
    }
    let run = Run::search(system.name, &system.distinct, queries, |n, _| {
        let how = Search::top(LIMIT);
        match filter {
            TimeFilter::None => how,
            _ => how.within(&filters[n]),
        }
    })?;
    Ok(run)
}
