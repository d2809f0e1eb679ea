use std::collections::HashMap;

use super::FusionError;
use super::numbering::{DocumentHits, NumberedRetriever, number_retrievers};
use crate::retriever::in_rounds;
use crate::{
    DocFilter, DocIds, DocNum, DocSet, Explanation, Ranking, Retriever, Search, SearchError, TopK,
};

/// Hybrid retriever that ranks by the weighted sum of the scores of several retrievers, such as
/// cos + α·BM25.
///
/// The score of a document is Σ wᵢ·sᵢ, summed in f64 and rounded to f32. A document that retriever
/// i does not return has sᵢ = 0; a document that no retriever returns is not a hit.
///
/// The ranking equals that of scoring every document: candidates are the first hits of each
/// retriever, all retrievers score every candidate through a filter, and the lists are extended
/// until no other document can score higher. Scores should be of comparable magnitude: BM25 is
/// unbounded, so choose α with α·BM25 ≤ 1 when the other score is a cosine.
///
/// # Complexity
/// At least two searches per retriever; more where the retrievers disagree. Batches are encoded and
/// searched together.
///
/// # Source
/// cos + α·BM25: Zhao and Lee, "Talk to Papers: Bringing Neural Question Answering to Academic
/// Search", ACL 2020, equation (2), where vectors of questions represent their answer: give several
/// vectors one id. Stopping bound: Fagin, Lotem and Naor, "Optimal aggregation algorithms for
/// middleware", 2003.
///
/// # Examples
/// See the [module](super).
#[derive(Debug, Clone)]
pub struct WeightedSum<R> {
    ids: DocIds,
    retrievers: Vec<NumberedRetriever<R>>,
    weights: Vec<f32>,
    names: Vec<String>,
}

/// Minimum number of hits requested from each retriever in the first round.
const MIN_DEPTH: usize = 100;

impl<R: Retriever> WeightedSum<R> {
    /// Creates a hybrid of retrievers with weights. Box retrievers of different types:
    /// `Box<dyn Retriever<Query = str>>`.
    ///
    /// # Errors
    /// [`FusionError::Weight`] or [`FusionError::Ids`].
    pub fn new(retrievers: impl IntoIterator<Item = (R, f32)>) -> Result<Self, FusionError> {
        let (retrievers, weights): (Vec<R>, Vec<f32>) = retrievers.into_iter().unzip();
        let (ids, retrievers) = number_retrievers(retrievers)?;
        let mut sum = Self {
            ids,
            retrievers,
            weights: Vec::new(),
            names: Vec::new(),
        };
        sum.set_weights(&weights)?;
        Ok(sum)
    }

    /// Names the retrievers in explanations, in their order; without a name, a retriever has its
    /// number.
    #[must_use]
    pub fn with_names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the weights, in the order of the retrievers; missing weights are 0.
    ///
    /// # Errors
    /// [`FusionError::Weight`] if a weight is negative or not finite.
    pub fn set_weights(&mut self, weights: &[f32]) -> Result<(), FusionError> {
        let invalid = |weight: &f32| !(weight.is_finite() && *weight >= 0.0);
        if let Some(retriever) = weights.iter().position(invalid) {
            let weight = weights[retriever];
            return Err(FusionError::Weight { retriever, weight });
        }
        self.weights = weights.to_vec();
        self.weights.resize(self.retrievers.len(), 0.0);
        Ok(())
    }

    /// Returns the weights in the order of the retrievers.
    #[must_use]
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Returns the retrievers and their weights. A retriever of weight 0 still adds candidates.
    fn weighted(&self) -> impl Iterator<Item = (&NumberedRetriever<R>, f64)> {
        let weights = self.weights.iter().map(|&w| f64::from(w));
        self.retrievers.iter().zip(weights)
    }

    /// Searches a batch. `seen` receives, for every round, query and retriever, the scores of the
    /// candidates.
    fn search_rounds(
        &self,
        queries: &[(&R::Query, Search<'_>)],
        seen: &mut dyn FnMut(usize, &HashMap<DocNum, f32>),
    ) -> Result<Vec<Ranking>, SearchError> {
        in_rounds(queries.len(), |open, factor| {
            let batch: Vec<(&R::Query, Search<'_>)> = open.iter().map(|&n| queries[n]).collect();
            let depth = |k: usize| match k {
                0 => 0,
                k => k.max(MIN_DEPTH).saturating_mul(factor).min(self.ids.len()),
            };
            let rounds = self.round(&batch, &depth, seen)?;
            let answers = open.iter().zip(rounds).map(|(&n, (ranking, safe))| {
                let exhaustive = depth(queries[n].1.k()) >= self.ids.len();
                (safe || exhaustive).then_some(ranking)
            });
            Ok(answers.collect())
        })
    }

    /// Returns the best candidates at the given depth of the lists, and whether no other document
    /// can score higher.
    fn round(
        &self,
        queries: &[(&R::Query, Search<'_>)],
        depth: &dyn Fn(usize) -> usize,
        seen: &mut dyn FnMut(usize, &HashMap<DocNum, f32>),
    ) -> Result<Vec<(Ranking, bool)>, SearchError> {
        let found: Vec<Vec<DocumentHits>> = self
            .weighted()
            .map(|(retriever, _)| retriever.search(queries, depth))
            .collect::<Result<_, _>>()?;
        let union = |n: usize| {
            let hits = found.iter().flat_map(|found| &found[n].hits);
            hits.map(|hit| hit.0).collect()
        };
        let candidates: Vec<DocSet> = (0..queries.len()).map(union).collect();
        let zeros = |docs: &DocSet| vec![0.0; docs.iter().count()];
        let mut sums: Vec<Vec<f64>> = candidates.iter().map(zeros).collect();
        let mut bounds = vec![0.0; queries.len()];
        let mut complete = vec![true; queries.len()];
        for (number, ((retriever, weight), found)) in self.weighted().zip(&found).enumerate() {
            // Candidates whose score is not in the list of this retriever.
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
            let scores = retriever.scores(&missing)?;
            for (n, mut scores) in scores.into_iter().enumerate() {
                scores.extend(found[n].hits.iter().copied());
                seen(number, &scores);
                for (sum, doc) in sums[n].iter_mut().zip(candidates[n].iter()) {
                    let score = scores.get(&doc).copied().unwrap_or_default();
                    *sum += weight * f64::from(score);
                }
                // A document in no list scores at most the last score, or 0 if not returned at all.
                let last = found[n].hits.last().map_or(0.0, |hit| f64::from(hit.1));
                complete[n] &= found[n].all;
                bounds[n] += weight * if found[n].all { 0.0 } else { last.max(0.0) };
            }
        }
        let mut rounds = Vec::with_capacity(queries.len());
        for (n, (_, search)) in queries.iter().enumerate() {
            let mut best = TopK::new(search.k());
            for (doc, &sum) in candidates[n].iter().zip(&sums[n]) {
                best.push(doc, sum as f32);
            }
            let safe = complete[n]
                || search.k() == 0
                || best.worst().is_some_and(|hit| hit.score > bounds[n] as f32);
            rounds.push((best.finish()?, safe));
        }
        Ok(rounds)
    }
}

impl<R: Retriever> Retriever for WeightedSum<R> {
    type Query = R::Query;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    crate::search_as_batch!();

    fn search_batch(
        &self,
        queries: &[(&R::Query, Search<'_>)],
    ) -> Result<Vec<Ranking>, SearchError> {
        self.search_rounds(queries, &mut |_, _| {})
    }

    /// Explains a score as the sum of the retrievers' scores times their weights. A document that a
    /// retriever does not return has no detail of that retriever.
    fn explain(
        &self,
        query: &R::Query,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        if !search.allows(doc) {
            return Ok(None);
        }
        // The scores of the last round, which those of the search are.
        let mut scores: Vec<Option<f32>> = vec![None; self.retrievers.len()];
        self.search_rounds(&[(query, *search)], &mut |retriever, found| {
            scores[retriever] = found.get(&doc).copied();
        })?;
        if scores.iter().all(Option::is_none) {
            // Not a candidate.
            let only: DocSet = [doc].into_iter().collect();
            for (retriever, score) in self.retrievers.iter().zip(&mut scores) {
                let found = retriever.scores(&[(query, only.clone())])?;
                *score = found.first().and_then(|found| found.get(&doc)).copied();
            }
        }
        let mut details = Vec::new();
        let within = search.with_k(search.k().max(MIN_DEPTH));
        for (n, ((retriever, weight), score)) in self.weighted().zip(scores).enumerate() {
            let Some(score) = score else { continue };
            let tree = retriever.explain(query, (doc, score), &within)?;
            let name = self.names.get(n).cloned();
            let name = name.unwrap_or_else(|| format!("retriever {}", n + 1));
            let description = format!("{name}: weight × score");
            details.push(
                Explanation::new(weight * f64::from(score), description)
                    .with_detail(Explanation::new(weight, "weight"))
                    .with_detail(tree),
            );
        }
        let is_hit = !details.is_empty();
        Ok(is_hit.then(|| Explanation::sum("sum, in double precision, of", details)))
    }
}
