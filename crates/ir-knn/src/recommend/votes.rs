//! Votes of training queries for documents.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use ir_core::{DocNum, Search, VectorSimilarity};

use super::{NeighborAggregation, NeighborTies, TrainingQueries, TrainingQueryKnnConfig};

/// Number of training queries that the published program visits, and of its results.
const PUBLISHED_DEPTH: usize = 40;
const PUBLISHED_RESULTS: usize = 4;

/// Summand of the score of a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vote {
    pub(super) doc: DocNum,
    /// Index into [`TrainingQueries::queries`].
    pub(super) row: u32,
    pub(super) value: f64,
}

impl Vote {
    fn new(doc: DocNum, row: u32, value: f64) -> Self {
        Self { doc, row, value }
    }
}

/// Orders training queries by distance; ties by row.
fn compare(distances: &[f64], a: u32, b: u32) -> Ordering {
    let distance = |row: u32| distances[row as usize];
    distance(a).total_cmp(&distance(b)).then(a.cmp(&b))
}

/// Similarity of two queries; 1 at distance 0.
pub(super) fn similarity(metric: VectorSimilarity, distance: f64) -> f64 {
    if metric == VectorSimilarity::Cosine {
        1.0 - distance
    } else {
        1.0 / (1.0 + distance)
    }
}

/// Returns the votes for the documents that the search allows, grouped by document; those for a
/// document in the order of summation, nearest first.
pub(super) fn votes(
    training: &TrainingQueries,
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
    let mut votes = match config.aggregation {
        NeighborAggregation::Nearest if config.ties == NeighborTies::TrainingOrder => {
            voting.nearest_in_training_order()
        }
        NeighborAggregation::Nearest => voting.nearest(),
        NeighborAggregation::Sum => voting.sum(),
        NeighborAggregation::WeightedVote { neighbors } if config.quirks.first_rows => {
            voting.first_rows(neighbors)
        }
        NeighborAggregation::WeightedVote { neighbors } => voting.weighted(neighbors),
        NeighborAggregation::ExactTop => voting.exact_top(),
    };
    for votes in votes.chunk_by_mut(|a, b| a.doc == b.doc) {
        votes.sort_by(|a, b| compare(distances, a.row, b.row));
    }
    votes
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
    training: &'a TrainingQueries,
    config: &'a TrainingQueryKnnConfig,
    /// Distance of each training query.
    distances: &'a [f64],
    search: &'a Search<'a>,
}

impl Voting<'_> {
    fn distance(&self, row: u32) -> f64 {
        self.distances[row as usize]
    }

    /// Allowed documents with training queries, and the rows of these.
    fn allowed_documents(&self) -> impl Iterator<Item = (DocNum, &[u32])> {
        let documents = self.training.documents.iter();
        documents
            .filter(|(doc, _)| self.search.allows(*doc))
            .map(|(doc, rows)| (*doc, rows.as_slice()))
    }

    /// Allowed documents that are relevant to a training query.
    fn allowed_relevant(&self, row: usize) -> impl Iterator<Item = DocNum> {
        let relevant = self.training.relevant[row].iter().copied();
        relevant.filter(|&doc| self.search.allows(doc))
    }

    fn nearest_of(&self, rows: &[u32]) -> Option<u32> {
        let rows = rows.iter().copied();
        rows.min_by(|&a, &b| compare(self.distances, a, b))
    }

    /// Returns the nearest training queries, nearest first.
    fn neighbors(&self, count: usize) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..self.distances.len() as u32).collect();
        let order = |a: &u32, b: &u32| compare(self.distances, *a, *b);
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
        let vote = |(doc, rows)| {
            let row = self.nearest_of(rows)?;
            Some(Vote::new(doc, row, 0.0 - self.distance(row)))
        };
        self.allowed_documents().filter_map(vote).collect()
    }

    /// Votes of [`Self::nearest`] with strictly descending values, in the order of the distances,
    /// the training queries and their relevant documents. Values do not depend on the filter:
    /// documents that the search excludes have one, too.
    fn nearest_in_training_order(&self) -> Vec<Vote> {
        let of_document = |(doc, rows): &(DocNum, Vec<u32>)| {
            let row = self.nearest_of(rows)?;
            let relevant = &self.training.relevant[row as usize];
            let position = relevant.iter().position(|found| found == doc)?;
            Some((row, position, *doc))
        };
        let documents = self.training.documents.iter();
        let mut ordered: Vec<_> = documents.filter_map(of_document).collect();
        ordered
            .sort_unstable_by(|a, b| compare(self.distances, a.0, b.0).then_with(|| a.1.cmp(&b.1)));
        let mut last = f32::INFINITY;
        let mut votes = Vec::new();
        for (row, _, doc) in ordered {
            let score = (0.0 - self.distance(row)) as f32;
            last = if score < last {
                score
            } else {
                last.next_down()
            };
            if self.search.allows(doc) {
                votes.push(Vote::new(doc, row, f64::from(last)));
            }
        }
        votes.sort_unstable_by_key(|vote| vote.doc);
        votes
    }

    fn sum(&self) -> Vec<Vote> {
        let mut votes = Vec::new();
        for (doc, rows) in self.allowed_documents() {
            votes.extend(rows.iter().map(|&row| {
                let value = similarity(self.config.metric, self.distance(row));
                Vote::new(doc, row, value)
            }));
        }
        votes
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
        for (doc, rows) in self.allowed_documents() {
            let vote = |row| Vote::new(doc, row, self.weight(row, farthest));
            let before = votes.len();
            let voters = rows.iter().filter(|&&row| is_voter[row as usize]);
            votes.extend(voters.map(|&row| vote(row)));
            if votes.len() == before && !self.config.quirks.four_results {
                votes.extend(self.nearest_of(rows).map(vote));
            }
        }
        votes
    }

    fn first_rows(&self, neighbors: usize) -> Vec<Vote> {
        let (voters, farthest) = self.voters(neighbors);
        let mut votes = Vec::new();
        for (first, &row) in voters.iter().enumerate() {
            let value = self.weight(row, farthest);
            let relevant = self.allowed_relevant(first);
            votes.extend(relevant.map(|doc| Vote::new(doc, row, value)));
        }
        votes.sort_by_key(|vote| vote.doc);
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
            for doc in self.allowed_relevant(row as usize) {
                votes.push(Vote::new(doc, row, 0.0 - self.distance(row)));
                found.insert(doc);
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
        votes.sort_by_key(|vote| vote.doc);
        votes
    }
}
