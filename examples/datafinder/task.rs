//! The task: five datasets for every query, filtered in one of three ways.

use anyhow::Result;
use ir::core::{
    DocFilter, NotLaterThan, Query, Ranking, Retriever, Run, Search, Years, compat, name,
};
use ir::eval::Measure;

use crate::systems::System;

/// The paper hands in five datasets per query.
const LIMIT: usize = 5;

/// P@5, R@5, MAP and MRR, over all judged queries.
pub(crate) const MEASURES: [Measure; 4] =
    [Measure::P.at(5), Measure::R.at(5), Measure::AP, Measure::RR];

/// A dataset that came out after the query's paper cannot have been used by it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum TimeFilter {
    /// Left alone.
    None,
    /// As the published code does it: 25 hits, filtered afterwards, with its stop rule.
    Published,
    /// Exactly: the five best among the datasets that are old enough.
    Exact,
}

impl TimeFilter {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::None => "no time filter",
            Self::Published => "published filter",
            Self::Exact => "exact time filter",
        }
    }
}

/// The same query with its keyphrase form for text.
pub(crate) fn in_keyphrases(query: &Query) -> Query {
    let mut other = query.clone();
    other.text = query
        .attributes
        .text(name::KEYPHRASES)
        .unwrap_or_default()
        .to_owned();
    other
}

/// Five datasets for every query.
pub(crate) fn recommend(
    system: &System<'_>,
    queries: &[Query],
    years: &Years,
    filter: TimeFilter,
) -> Result<Run> {
    let filters: Vec<NotLaterThan<'_>> = queries
        .iter()
        .map(|query| years.not_later_than(query.attributes.year()))
        .collect();
    let plain = |k| {
        queries
            .iter()
            .map(|query| (query.text.as_str(), Search::top(k)))
            .collect()
    };
    let rankings: Vec<Ranking> = match (filter, &system.raw) {
        (TimeFilter::None, _) => {
            let batch: Vec<_> = plain(LIMIT);
            system.distinct.search_batch(&batch)?
        }
        (TimeFilter::Published, Some(raw)) => {
            let batch: Vec<_> = plain(compat::datafinder_depth(LIMIT));
            let hits = raw.search_batch(&batch)?;
            let walk = |(hits, filter)| compat::datafinder_walk(hits, raw.ids(), filter, LIMIT);
            hits.iter()
                .zip(filters.iter().map(|f| f as &dyn DocFilter))
                .map(walk)
                .collect()
        }
        _ => {
            let filtered = queries.iter().zip(&filters);
            let batch: Vec<_> = filtered
                .map(|(q, f)| (q.text.as_str(), Search::top(LIMIT).within(f)))
                .collect();
            system.distinct.search_batch(&batch)?
        }
    };
    let mut run = Run::new(system.name);
    for (query, ranking) in queries.iter().zip(&rankings) {
        run.push_ranking(&query.id, ranking, system.distinct.ids());
    }
    Ok(run)
}
