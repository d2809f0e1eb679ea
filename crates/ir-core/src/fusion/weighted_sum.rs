use super::FusionError;
use super::numbering::{DocumentHits, NumberedRetriever, matched_text, number_retrievers};
use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::ids::{DocIds, DocNum, DocSet};
use crate::matched_text::MatchedText;
use crate::ranking::{Ranking, TopK};
use crate::retriever::{Retriever, in_rounds};
use crate::search::Search;

/// Hybrid retriever that ranks by the weighted sum of the scores of several retrievers, such as
/// cos + α·BM25.
///
/// The score of a document is Σ wᵢ·sᵢ, summed in f64 and rounded to f32. A document that retriever
/// i does not return has sᵢ = 0; a document that no retriever returns is not a hit.
///
/// The ranking equals exhaustive scoring: candidates are the first hits of each retriever, all
/// retrievers score every candidate through a filter, and the lists are extended until no other
/// document can score higher. The last retriever is searched only above the score
/// with which a further document can enter the top k ([`Retriever::search_batch_above`]): put a
/// vector index last, since the floor makes its scan faster. Scores should be of comparable
/// magnitude: BM25 is unbounded, so choose α with α·BM25 ≤ 1 when the other score is a cosine.
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
/// The [module](super) has an example.
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

    /// Searches a batch. `seen` receives every candidate of a round with its scores.
    fn search_rounds(
        &self,
        queries: &[(&R::Query, Search<'_>)],
        seen: &mut dyn FnMut(DocNum, &[Option<f32>]),
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
        seen: &mut dyn FnMut(DocNum, &[Option<f32>]),
    ) -> Result<Vec<(Ranking, bool)>, SearchError> {
        let count = queries.len();
        let selections = queries.iter().map(|(_, search)| TopK::new(search.k()));
        let mut best: Vec<TopK> = selections.collect();
        let mut candidates = vec![DocSet::new(); count];
        let mut lists: Vec<Vec<DocumentHits>> = Vec::with_capacity(self.retrievers.len());
        for (number, (retriever, weight)) in self.weighted().enumerate() {
            let is_last = number + 1 == self.retrievers.len();
            let floors: Vec<f32> = if is_last && number > 0 {
                // The sums of the candidates so far bound what is searched in the last list.
                self.add_sums(queries, &lists, &candidates, &mut best, seen)?;
                let floor = |n: usize| floor(&best[n], self.bound(&lists, n), weight);
                (0..count).map(floor).collect()
            } else {
                vec![f32::NEG_INFINITY; count]
            };
            let mut found = retriever.search_above(queries, depth, &floors)?;
            let mut new = vec![DocSet::new(); count];
            for ((found, new), known) in found.iter_mut().zip(&mut new).zip(&mut candidates) {
                found.hits.sort_unstable_by_key(|hit| hit.0);
                for (doc, _) in &found.hits {
                    if known.insert(*doc) {
                        new.insert(*doc);
                    }
                }
            }
            lists.push(found);
            if is_last {
                let added = if number > 0 { &new } else { &candidates };
                self.add_sums(queries, &lists, added, &mut best, seen)?;
            }
        }
        let rounds = best.into_iter().zip(queries).enumerate();
        let rounds = rounds.map(|(n, (best, (_, search)))| {
            let bound = self.bound(&lists, n);
            let safe = lists.iter().all(|found| found[n].all)
                || search.k() == 0
                || best.worst().is_some_and(|hit| hit.score > bound as f32);
            Ok((best.finish()?, safe))
        });
        rounds.collect()
    }

    /// Bound of the sum of a document in no list.
    fn bound(&self, lists: &[Vec<DocumentHits>], query: usize) -> f64 {
        let bounds = lists.iter().zip(self.weighted());
        bounds
            .map(|(found, (_, weight))| weight * f64::from(found[query].bound))
            .sum()
    }

    /// Adds the sums of documents to the best of each query. `lists` has the hits of the first
    /// retrievers, in ascending order of documents; other scores are searched.
    fn add_sums(
        &self,
        queries: &[(&R::Query, Search<'_>)],
        lists: &[Vec<DocumentHits>],
        documents: &[DocSet],
        best: &mut [TopK],
        seen: &mut dyn FnMut(DocNum, &[Option<f32>]),
    ) -> Result<(), SearchError> {
        let mut scores: Vec<Vec<Vec<(DocNum, f32)>>> = Vec::with_capacity(self.retrievers.len());
        for (number, retriever) in self.retrievers.iter().enumerate() {
            let missing = |n: usize| -> DocSet {
                let docs = documents[n].iter();
                match lists.get(number).map(|found| &found[n]) {
                    None => documents[n].clone(),
                    Some(found) if found.all => DocSet::new(),
                    Some(found) => docs
                        .filter(|&doc| score(&found.hits, doc).is_none())
                        .collect(),
                }
            };
            let searches = queries.iter().enumerate();
            let searches = searches.map(|(n, (query, _))| (*query, missing(n)));
            let mut found = retriever.scores(&searches.collect::<Vec<_>>())?;
            for found in &mut found {
                found.sort_unstable_by_key(|hit| hit.0);
            }
            scores.push(found);
        }
        let mut of_document = vec![None; self.retrievers.len()];
        for (n, (documents, best)) in documents.iter().zip(best).enumerate() {
            for doc in documents.iter() {
                let mut sum = 0.0;
                for (number, (of_document, &weight)) in
                    of_document.iter_mut().zip(&self.weights).enumerate()
                {
                    let listed = lists.get(number);
                    let listed = listed.and_then(|found| score(&found[n].hits, doc));
                    *of_document = listed.or_else(|| score(&scores[number][n], doc));
                    sum += f64::from(weight) * f64::from(of_document.unwrap_or_default());
                }
                seen(doc, &of_document);
                best.push(doc, sum as f32);
            }
        }
        Ok(())
    }
}

/// Score of a document in hits in ascending order of documents.
fn score(hits: &[(DocNum, f32)], doc: DocNum) -> Option<f32> {
    let at = hits.binary_search_by_key(&doc, |hit| hit.0).ok()?;
    Some(hits[at].1)
}

/// Floor of the last list: with a score of at most this, a document that no other list contains has
/// a lower sum than the last of the best documents. `bound` is the upper bound of its sum in the
/// other lists, `weight` the weight of the last list. Negative infinity if there is no floor.
fn floor(best: &TopK, bound: f64, weight: f64) -> f32 {
    let Some(worst) = best.worst().filter(|_| weight > 0.0) else {
        return f32::NEG_INFINITY;
    };
    let below = f64::from(worst.score.next_down());
    let floor = (((below - bound) / weight) as f32).next_down();
    // Sums are rounded in the same order, so that a lower score has no higher sum.
    let is_below = ((bound + weight * f64::from(floor)) as f32) < worst.score;
    if is_below && floor > 0.0 {
        floor
    } else {
        f32::NEG_INFINITY
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
        // The search returns the scores of the last round.
        let mut scores: Vec<Option<f32>> = vec![None; self.retrievers.len()];
        self.search_rounds(&[(query, *search)], &mut |candidate, found| {
            if candidate == doc {
                scores.copy_from_slice(found);
            }
        })?;
        if scores.iter().all(Option::is_none) {
            // Not a candidate.
            let only: DocSet = [doc].into_iter().collect();
            for (retriever, score) in self.retrievers.iter().zip(&mut scores) {
                let found = retriever.scores(&[(query, only.clone())])?;
                *score = found.into_iter().flatten().map(|hit| hit.1).next();
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

    /// Returns the words of the first retriever that compares words. A retriever with weight 0 is
    /// not asked.
    fn matched_text(
        &self,
        query: &R::Query,
        doc: DocNum,
    ) -> Result<Option<MatchedText>, SearchError> {
        let weighted = self.weighted().filter(|(_, weight)| *weight != 0.0);
        matched_text(weighted.map(|(retriever, _)| retriever), query, doc)
    }
}
