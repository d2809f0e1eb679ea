//! Who votes for which item, and with what.

use std::collections::BTreeSet;

use ir_core::Search;

use super::{Aggregate, Item, Known, LabelledQueriesConfig};
use crate::Metric;

/// How many queries the published program looks at, and how many results it wants.
const PUBLISHED_DEPTH: usize = 40;
const PUBLISHED_RESULTS: usize = 4;

/// A part of the score of an item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vote {
    /// The place of the item among those that have queries.
    pub(super) item: u32,
    /// The labelled query that votes.
    pub(super) row: u32,
    /// What it adds.
    pub(super) value: f64,
}

/// How alike two queries are: 1 when they are the same.
pub(super) fn similarity(metric: Metric, distance: f64) -> f64 {
    match metric {
        Metric::Euclidean => 1.0 / (1.0 + distance),
        Metric::Cosine => 1.0 - distance,
    }
}

/// The votes for the items that the search allows, by item. The score of an item is their sum.
pub(super) fn votes(
    known: &Known,
    config: &LabelledQueriesConfig,
    distances: &[f64],
    how: &Search<'_>,
) -> Vec<Vote> {
    let election = Election {
        known,
        config,
        distances,
        how,
    };
    match config.aggregate {
        Aggregate::Nearest => election.nearest(),
        Aggregate::Sum => election.sum(),
        Aggregate::WeightedVote { neighbours } if config.oddities.first_rows => {
            election.first_rows(neighbours)
        }
        Aggregate::WeightedVote { neighbours } => election.weighted(neighbours),
        Aggregate::ExactTop => election.exact_top(),
    }
}

/// The most items that the aggregate gives.
pub(super) fn most(config: &LabelledQueriesConfig, k: usize) -> usize {
    match config.aggregate {
        Aggregate::WeightedVote { .. } if config.oddities.four_results => k.min(PUBLISHED_RESULTS),
        _ => k,
    }
}

struct Election<'a> {
    known: &'a Known,
    config: &'a LabelledQueriesConfig,
    distances: &'a [f64],
    how: &'a Search<'a>,
}

impl Election<'_> {
    fn distance(&self, row: u32) -> f64 {
        self.distances[row as usize]
    }

    fn items(&self) -> impl Iterator<Item = (u32, &Item)> {
        (0..)
            .zip(&self.known.items)
            .filter(|(_, item)| self.how.allows(item.doc))
    }

    fn nearer(&self, one: u32, other: u32) -> std::cmp::Ordering {
        let by_distance = self.distance(one).total_cmp(&self.distance(other));
        by_distance.then(one.cmp(&other))
    }

    /// The query of an item that is nearest; of several the first.
    fn nearest_of(&self, item: &Item) -> Option<u32> {
        item.rows
            .iter()
            .copied()
            .min_by(|&one, &other| self.nearer(one, other))
    }

    /// The nearest queries, nearest first.
    fn neighbours(&self, count: usize) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..self.distances.len() as u32).collect();
        let order = |one: &u32, other: &u32| self.nearer(*one, *other);
        if count < rows.len() {
            rows.select_nth_unstable_by(count, order);
            rows.truncate(count);
        }
        rows.sort_unstable_by(order);
        rows
    }

    fn nearest(&self) -> Vec<Vote> {
        let vote = |(place, item)| {
            let row = self.nearest_of(item)?;
            let value = 0.0 - self.distance(row);
            Some(Vote {
                item: place,
                row,
                value,
            })
        };
        self.items().filter_map(vote).collect()
    }

    fn sum(&self) -> Vec<Vote> {
        let vote = |item: u32, row: u32| Vote {
            item,
            row,
            value: similarity(self.config.metric, self.distance(row)),
        };
        self.items()
            .flat_map(|(place, item)| item.rows.iter().map(move |&row| vote(place, row)))
            .collect()
    }

    /// The vote of a query, when the farthest that votes is so far.
    fn weight(&self, row: u32, farthest: f64) -> f64 {
        let distance = self.distance(row);
        if farthest > 0.0 {
            (farthest - distance) / farthest
        } else if distance > 0.0 {
            -distance
        } else {
            1.0
        }
    }

    fn weighted(&self, neighbours: usize) -> Vec<Vote> {
        let voters = self.neighbours(neighbours);
        let farthest = voters.last().map_or(0.0, |&row| self.distance(row));
        let mut votes = vec![false; self.distances.len()];
        for &row in &voters {
            votes[row as usize] = true;
        }
        let mut all = Vec::new();
        for (place, item) in self.items() {
            let vote = |row: u32| Vote {
                item: place,
                row,
                value: self.weight(row, farthest),
            };
            let before = all.len();
            let rows = item.rows.iter().copied();
            all.extend(rows.filter(|&row| votes[row as usize]).map(vote));
            if all.len() == before && !self.config.oddities.four_results {
                all.extend(self.nearest_of(item).map(vote));
            }
        }
        all
    }

    fn first_rows(&self, neighbours: usize) -> Vec<Vote> {
        let voters = self.neighbours(neighbours);
        let farthest = voters.last().map_or(0.0, |&row| self.distance(row));
        let mut all = Vec::new();
        for (labels, &row) in self.known.labels.iter().zip(&voters) {
            let value = self.weight(row, farthest);
            let allowed = labels.iter().filter(|&&item| self.allows(item));
            all.extend(allowed.map(|&item| Vote { item, row, value }));
        }
        all.sort_by_key(|vote| vote.item);
        all
    }

    fn exact_top(&self) -> Vec<Vote> {
        let four = self.config.oddities.four_results;
        let (mut all, mut found) = (Vec::new(), BTreeSet::new());
        if self.how.k() == 0 {
            return all;
        }
        let depth = if four {
            PUBLISHED_DEPTH
        } else {
            self.distances.len()
        };
        for row in self.neighbours(depth) {
            let labels = &self.known.labels[row as usize];
            for &item in labels.iter().filter(|&&item| self.allows(item)) {
                let value = 0.0 - self.distance(row);
                all.push(Vote { item, row, value });
                found.insert(item);
            }
            let enough = if four {
                all.len() >= PUBLISHED_RESULTS
            } else {
                found.len() >= self.how.k()
            };
            if enough {
                break;
            }
        }
        all.sort_by_key(|vote| vote.item);
        all
    }

    fn allows(&self, item: u32) -> bool {
        self.how.allows(self.known.items[item as usize].doc)
    }
}
