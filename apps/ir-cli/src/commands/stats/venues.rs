//! Popularity of documents by the venues of queries.

use std::collections::{BTreeMap, HashMap};

use ir_core::{Grade, Qrels, Query};
use ir_eval::plots::{HistogramPlot, Plot};
use ir_studies::datafinder::{GroupPopularity, MIN_PAPERS_OF_VENUE, community};

use super::Row;

/// Popularity by venue or community of each split.
pub(super) type VenueSplits = Vec<(String, BTreeMap<String, GroupPopularity>)>;

/// Attribute of a query.
const VENUE: &str = "venue";

/// Popularity by the venue of the queries, or by its research community.
pub(super) fn popularity(
    queries: &[Query],
    qrels: &Qrels,
    level: Grade,
    communities: bool,
) -> BTreeMap<String, GroupPopularity> {
    let venue = |query: &Query| query.attributes.text(VENUE).map(str::to_owned);
    if !communities {
        return GroupPopularity::by_group(queries, qrels, level, venue);
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    for venue in queries.iter().filter_map(venue) {
        *counts.entry(venue).or_default() += 1;
    }
    GroupPopularity::by_group(queries, qrels, level, |query| {
        let venue = venue(query).filter(|venue| counts[venue] >= MIN_PAPERS_OF_VENUE)?;
        community(&venue).map(str::to_owned)
    })
}

pub(super) fn rows(splits: &VenueSplits) -> Vec<Row> {
    let groups = splits
        .iter()
        .flat_map(|(split, groups)| groups.iter().map(move |(name, found)| (split, name, found)));
    let rows = groups.map(|(split, name, found)| {
        let documents = found.most_relevant.iter().map(|(doc, count)| {
            let percent = 100.0 * *count as f64 / found.queries as f64;
            format!("{doc}:{percent:.1} %")
        });
        let documents = documents.collect::<Vec<_>>().join(" ");
        let noun = if found.queries == 1 {
            "query"
        } else {
            "queries"
        };
        let of_queries = format!("{} {noun}, {documents}", found.queries);
        [format!("{split}: relevant in {name}"), of_queries]
    });
    rows.collect()
}

/// A bar for each of the most relevant documents of a venue or community.
pub(super) fn plots(splits: &VenueSplits) -> Vec<Box<dyn Plot>> {
    let mut plots: Vec<Box<dyn Plot>> = Vec::new();
    for (split, groups) in splits {
        for (name, found) in groups {
            // One bar shows no distribution.
            if found.most_relevant.len() > 1 {
                plots.push(Box::new(HistogramPlot {
                    title: format!("{split} relevant documents in {name}"),
                    value: "document".to_owned(),
                    count: "queries".to_owned(),
                    bars: found.most_relevant.clone(),
                }));
            }
        }
    }
    plots
}
