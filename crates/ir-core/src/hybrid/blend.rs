//! Weighted sums of scores, exact.

use super::part::{Found, Numbering, Part};
use crate::{DocFilter, DocIds, DocSet, Ranking, Retriever, Search, SearchError, TopK};

/// Ranks by the weighted sum of the scores of several retrievers: cos + α·BM25, say.
///
/// The score of a document is Σ wᵢ·sᵢ in 64 bits, rounded to 32. A document that a part does not
/// return at all (no word in common, no vector) has 0 from it; one that no part returns is no hit.
///
/// The result is that of summing over all documents: candidates are the first hits of each part,
/// every candidate is scored by all parts (through a filter), and lists are made longer until no
/// document beyond them can be better. So scores should be of comparable size: BM25 has no upper
/// end, and a weight α with α·BM25 ≤ 1 leaves a cosine its say.
///
/// # Complexity
/// Every part is asked twice, more often where the parts disagree widely. In batches, queries are
/// encoded and searched together.
///
/// # Source
/// cos + α·BM25: Zhao and Lee, "Talk to Papers: Bringing Neural Question Answering to Academic
/// Search", ACL 2020, equation (2), where questions' vectors stand for their answer: give several
/// vectors one id. The bound: Fagin, Lotem and Naor, "Optimal aggregation algorithms for
/// middleware", 2003.
///
/// # Examples
/// See the [module](super).
#[derive(Debug, Clone)]
pub struct Blend<R> {
    ids: DocIds,
    parts: Vec<Part<R>>,
    weights: Vec<f32>,
}

/// The least hits that each part is asked for at first.
const LEAST: usize = 100;

impl<R: Retriever> Blend<R> {
    /// Retrievers with their weights. Unlike ones go into boxes: `Box<dyn Retriever<Query = str>>`.
    ///
    /// # Errors
    /// When a weight is negative or not finite, or the documents are too many.
    pub fn new(retrievers: impl IntoIterator<Item = (R, f32)>) -> Result<Self, SearchError> {
        let (retrievers, weights): (Vec<R>, Vec<f32>) = retrievers.into_iter().unzip();
        let (ids, parts) = Numbering::parts(retrievers)?;
        let mut blend = Self {
            ids,
            parts,
            weights: Vec::new(),
        };
        blend.set_weights(&weights)?;
        Ok(blend)
    }

    /// Other weights, one for each retriever in their order; missing ones are 0.
    ///
    /// # Errors
    /// When a weight is negative or not finite.
    pub fn set_weights(&mut self, weights: &[f32]) -> Result<(), SearchError> {
        if let Some(&found) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return Err(SearchError::Parameter {
                name: "weight",
                expected: "a finite number of at least 0",
                found: f64::from(found),
            });
        }
        self.weights = weights.to_vec();
        self.weights.resize(self.parts.len(), 0.0);
        Ok(())
    }

    /// The weights.
    #[must_use]
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The parts that count.
    fn used(&self) -> impl Iterator<Item = (&Part<R>, f64)> {
        let weights = self.weights.iter().map(|&w| f64::from(w));
        // A weight of 0 still makes a document a hit: it is found, with 0 from this part.
        self.parts.iter().zip(weights)
    }

    /// The best of the candidates that lists of some depth bring up, and whether nothing beyond
    /// them can be better.
    fn round(
        &self,
        queries: &[(&R::Query, Search<'_>)],
        depth: &dyn Fn(usize) -> usize,
    ) -> Result<Vec<(Ranking, bool)>, SearchError> {
        let deep: Vec<(&R::Query, Search<'_>)> = queries
            .iter()
            .map(|(query, how)| (*query, how.with_k(depth(how.k()))))
            .collect();
        let found: Vec<Vec<Found>> = self
            .used()
            .map(|(part, _)| part.search(&deep))
            .collect::<Result<_, _>>()?;
        let candidates: Vec<DocSet> = (0..queries.len())
            .map(|n| {
                found
                    .iter()
                    .flat_map(|f| &f[n].hits)
                    .map(|hit| hit.0)
                    .collect()
            })
            .collect();
        let mut sums: Vec<Vec<f64>> = candidates
            .iter()
            .map(|docs| vec![0.0; docs.iter().count()])
            .collect();
        let mut bounds = vec![0.0; queries.len()];
        let mut complete = vec![true; queries.len()];
        for ((part, weight), found) in self.used().zip(&found) {
            // What the list of this part does not tell.
            let missing: Vec<(&R::Query, DocSet)> = queries
                .iter()
                .zip(&candidates)
                .zip(found)
                .map(|(((query, _), docs), found)| {
                    let listed: DocSet = found.hits.iter().map(|hit| hit.0).collect();
                    let missing = docs
                        .iter()
                        .filter(|doc| !found.all && !listed.contains(*doc));
                    (*query, missing.collect())
                })
                .collect();
            let scores = part.scores(&missing)?;
            for (n, mut scores) in scores.into_iter().enumerate() {
                scores.extend(found[n].hits.iter().copied());
                for (sum, doc) in sums[n].iter_mut().zip(candidates[n].iter()) {
                    let score = scores.get(&doc).copied().unwrap_or_default();
                    *sum += weight * f64::from(score);
                }
                // A document in no list has at most the last score, or none, which is 0.
                let last = found[n].hits.last().map_or(0.0, |hit| f64::from(hit.1));
                complete[n] &= found[n].all;
                bounds[n] += weight * if found[n].all { 0.0 } else { last.max(0.0) };
            }
        }
        let mut rounds = Vec::with_capacity(queries.len());
        for (n, (_, how)) in queries.iter().enumerate() {
            let mut best = TopK::new(how.k());
            for (doc, &sum) in candidates[n].iter().zip(&sums[n]) {
                best.push(doc, sum as f32);
            }
            let safe = complete[n]
                || how.k() == 0
                || best.worst().is_some_and(|hit| hit.score > bounds[n] as f32);
            rounds.push((best.finish()?, safe));
        }
        Ok(rounds)
    }
}

impl<R: Retriever> Retriever for Blend<R> {
    type Query = R::Query;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, query: &R::Query, how: &Search<'_>) -> Result<Ranking, SearchError> {
        let mut rankings = self.search_batch(&[(query, *how)])?;
        Ok(rankings.pop().unwrap_or_default())
    }

    fn search_batch(
        &self,
        queries: &[(&R::Query, Search<'_>)],
    ) -> Result<Vec<Ranking>, SearchError> {
        let mut rankings: Vec<Ranking> = queries.iter().map(|_| Ranking::default()).collect();
        let mut open: Vec<usize> = (0..queries.len()).collect();
        let mut wider = 1_usize;
        while !open.is_empty() {
            let batch: Vec<(&R::Query, Search<'_>)> = open.iter().map(|&n| queries[n]).collect();
            let depth = |k: usize| match k {
                0 => 0,
                k => k.max(LEAST).saturating_mul(wider).min(self.ids.len()),
            };
            let rounds = self.round(&batch, &depth)?;
            let mut still = Vec::new();
            for (&n, (ranking, safe)) in open.iter().zip(rounds) {
                if safe || depth(queries[n].1.k()) >= self.ids.len() {
                    rankings[n] = ranking;
                } else {
                    still.push(n);
                }
            }
            open = still;
            wider = wider.saturating_mul(4);
        }
        Ok(rankings)
    }
}
