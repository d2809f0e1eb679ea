//! Votes of training queries for documents.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use ir_core::Search;

use super::{JudgedDocument, NeighborAggregation, TrainingQueryKnnConfig, TrainingSet};
use crate::neighbors::DistanceMetric;

/// Number of training queries that the published program visits, and of its results.
const PUBLISHED_DEPTH: usize = 40;
const PUBLISHED_RESULTS: usize = 4;

/// Summand of the score of a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vote {
    /// Index into [`TrainingSet::documents`].
    pub(super) document: u32,
    /// Index into [`TrainingSet::queries`].
    pub(super) row: u32,
    pub(super) value: f64,
}

/// Similarity of two queries; 1 at distance 0.
pub(super) fn similarity(metric: DistanceMetric, distance: f64) -> f64 {
    match metric {
        DistanceMetric::Euclidean => 1.0 / (1.0 + distance),
        DistanceMetric::Cosine => 1.0 - distance,
    }
}

/// Returns the votes for the documents that the search allows, grouped by document.
pub(super) fn votes(
    training: &TrainingSet,
    config: &TrainingQueryKnnConfig,
    distances: &[f64],
    search: &Search<'_>,
) -> Vec<Vote> {
    let voting = Voting {
        training,
        config,
        distances,
        search,
    };
    match config.aggregation {
        NeighborAggregation::Nearest => voting.nearest(),
        NeighborAggregation::Sum => voting.sum(),
        NeighborAggregation::WeightedVote { neighbors } if config.quirks.first_rows => {
            voting.first_rows(neighbors)
        }
        NeighborAggregation::WeightedVote { neighbors } => voting.weighted(neighbors),
        NeighborAggregation::ExactTop => voting.exact_top(),
    }
}

/// Returns the maximum number of results of the aggregation.
pub(super) fn max_results(config: &TrainingQueryKnnConfig, k: usize) -> usize {
    match config.aggregation {
        NeighborAggregation::WeightedVote { .. } if config.quirks.four_results => {
            k.min(PUBLISHED_RESULTS)
        }
        _ => k,
    }
}

struct Voting<'a> {
    training: &'a TrainingSet,
    config: &'a TrainingQueryKnnConfig,
    /// Distance of each training query.
    distances: &'a [f64],
    search: &'a Search<'a>,
}

impl Voting<'_> {
    fn distance(&self, row: u32) -> f64 {
        self.distances[row as usize]
    }

    fn allowed_documents(&self) -> impl Iterator<Item = (u32, &JudgedDocument)> {
        (0..)
            .zip(&self.training.documents)
            .filter(|(_, document)| self.search.allows(document.doc))
    }

    fn is_allowed(&self, document: u32) -> bool {
        let document = &self.training.documents[document as usize];
        self.search.allows(document.doc)
    }

    /// Orders training queries by distance; ties by row.
    fn compare(&self, a: u32, b: u32) -> Ordering {
        let by_distance = self.distance(a).total_cmp(&self.distance(b));
        by_distance.then(a.cmp(&b))
    }

    fn nearest_query(&self, document: &JudgedDocument) -> Option<u32> {
        let rows = document.rows.iter().copied();
        rows.min_by(|&a, &b| self.compare(a, b))
    }

    /// Returns the nearest training queries, nearest first.
    fn neighbors(&self, count: usize) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..self.distances.len() as u32).collect();
        let order = |a: &u32, b: &u32| self.compare(*a, *b);
        if count < rows.len() {
            rows.select_nth_unstable_by(count, order);
            rows.truncate(count);
        }
        rows.sort_unstable_by(order);
        rows
    }

    /// Returns the nearest training queries and the distance of the farthest of them.
    fn voters(&self, count: usize) -> (Vec<u32>, f64) {
        let voters = self.neighbors(count);
        let farthest = voters.last().map_or(0.0, |&row| self.distance(row));
        (voters, farthest)
    }

    fn nearest(&self) -> Vec<Vote> {
        let vote = |(document, judged)| {
            let row = self.nearest_query(judged)?;
            let value = 0.0 - self.distance(row);
            Some(Vote {
                document,
                row,
                value,
            })
        };
        self.allowed_documents().filter_map(vote).collect()
    }

    fn sum(&self) -> Vec<Vote> {
        let vote = |document: u32, row: u32| Vote {
            document,
            row,
            value: similarity(self.config.metric, self.distance(row)),
        };
        self.allowed_documents()
            .flat_map(|(document, judged)| judged.rows.iter().map(move |&row| vote(document, row)))
            .collect()
    }

    /// Weight of the vote of a training query.
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

    fn weighted(&self, neighbors: usize) -> Vec<Vote> {
        let (voters, farthest) = self.voters(neighbors);
        let mut is_voter = vec![false; self.distances.len()];
        for &row in &voters {
            is_voter[row as usize] = true;
        }
        let mut votes = Vec::new();
        for (document, judged) in self.allowed_documents() {
            let vote = |row: u32| Vote {
                document,
                row,
                value: self.weight(row, farthest),
            };
            let before = votes.len();
            let rows = judged.rows.iter().copied();
            votes.extend(rows.filter(|&row| is_voter[row as usize]).map(vote));
            if votes.len() == before && !self.config.quirks.four_results {
                votes.extend(self.nearest_query(judged).map(vote));
            }
        }
        votes
    }

    fn first_rows(&self, neighbors: usize) -> Vec<Vote> {
        let (voters, farthest) = self.voters(neighbors);
        let mut votes = Vec::new();
        for (relevant, &row) in self.training.relevant.iter().zip(&voters) {
            let value = self.weight(row, farthest);
            let documents = relevant
                .iter()
                .filter(|&&document| self.is_allowed(document));
            votes.extend(documents.map(|&document| Vote {
                document,
                row,
                value,
            }));
        }
        votes.sort_by_key(|vote| vote.document);
        votes
    }

    fn exact_top(&self) -> Vec<Vote> {
        let four_results = self.config.quirks.four_results;
        let (mut votes, mut found) = (Vec::new(), BTreeSet::new());
        if self.search.k() == 0 {
            return votes;
        }
        let depth = if four_results {
            PUBLISHED_DEPTH
        } else {
            self.distances.len()
        };
        for row in self.neighbors(depth) {
            let relevant = &self.training.relevant[row as usize];
            for &document in relevant
                .iter()
                .filter(|&&document| self.is_allowed(document))
            {
                let value = 0.0 - self.distance(row);
                votes.push(Vote {
                    document,
                    row,
                    value,
                });
                found.insert(document);
            }
            let enough = if four_results {
                votes.len() >= PUBLISHED_RESULTS
            } else {
                found.len() >= self.search.k()
            };
            if enough {
                break;
            }
        }
        votes.sort_by_key(|vote| vote.document);
        votes
    }
}
