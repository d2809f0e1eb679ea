//! Retriever with repository priors.

#[cfg(test)]
mod tests;

use super::{DocumentRepositories, FusionError, RepositoryPriors};
use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::ids::{DocIds, DocNum};
use crate::matched_text::MatchedText;
use crate::ranking::{Hit, Ranking, TopK};
use crate::retriever::{Retriever, in_rounds};
use crate::search::Search;

/// Estimate of the priors of a query.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PriorEstimate {
    /// The same priors for every query (prior 1).
    Fixed(RepositoryPriors),
    /// [`RepositoryPriors::from_ranking`] of the first hits of the query (prior 2), in the whole
    /// collection: priors do not depend on the filter of a search.
    Feedback {
        /// Number of hits. Range: ≥ 1. The plugin's default: 10.
        docs: usize,
        /// Smoothing ε. Range: > 0. The plugin's default: 1.
        epsilon: f64,
        /// Number of all repositories. Hits of more repositories raise it. In the plugin: 23.
        repositories: usize,
    },
}

/// Combination of score and prior.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PriorCombination {
    /// `score + weight · ln p`, for scores that are log-likelihoods.
    LogSum,
    /// `score · p^weight`, for scores that are not negative, such as BM25. Negative scores are an
    /// error: a low prior would rank their documents higher.
    Product,
}

/// Retriever that combines the score of each hit with the prior probability of its repository.
///
/// The ranking equals the combination of all hits: lists are extended until no other document can
/// have a higher score. Weight 0 returns the rankings of the retriever, bit for bit.
///
/// ```
/// use ir_core::fusion::{
///     DocumentRepositories, PriorCombination, PriorEstimate, RepositoryPrior, RepositoryPriors,
/// };
/// use ir_core::{Retriever, Search};
/// # use ir_core::fusion::DocumentPrior;
/// # let bm25 = DocumentPrior::new([("a", 3.0), ("b", 2.9)])?;
/// // bm25: a 3.0, from pdb; b 2.9, from geo.
/// let repositories = DocumentRepositories::new(["pdb", "geo"].map(Some));
/// let priors = RepositoryPriors::new([("pdb", 0.2), ("geo", 0.4)])?;
/// let estimate = PriorEstimate::Fixed(priors);
/// let prior = RepositoryPrior::new(bm25, repositories, estimate, PriorCombination::Product, 1.0)?;
/// let ranking = prior.search("tea", &Search::top(1))?;
/// assert_eq!(prior.ids().id(ranking.hits()[0].doc), "b"); // 2.9 · 0.4 > 3.0 · 0.2
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Source
/// bioCADDIE challenge: repository priors of the pilot of the National Data Service.
#[derive(Debug, Clone)]
pub struct RepositoryPrior<R> {
    retriever: R,
    repositories: DocumentRepositories,
    estimate: PriorEstimate,
    combination: PriorCombination,
    weight: f64,
}

/// Minimum number of hits requested in the first round.
const MIN_DEPTH: usize = 100;

/// Combined scores of one query.
struct CombinedScores<'a, R> {
    prior: &'a RepositoryPrior<R>,
    /// Priors by number of the repository, then the prior of documents without one.
    priors: Vec<f64>,
    /// The summands or factors of `priors`.
    terms: Vec<f64>,
}

impl<R: Retriever> RepositoryPrior<R> {
    /// Wraps a retriever. `repositories` contains the repository of each document. `weight` is the
    /// weight of the prior; range: finite, ≥ 0.
    ///
    /// # Errors
    /// Returns an error if `repositories` and the retriever have different numbers of documents,
    /// the priors do not cover a repository, or a parameter is out of range.
    pub fn new(
        retriever: R,
        repositories: DocumentRepositories,
        estimate: PriorEstimate,
        combination: PriorCombination,
        weight: f64,
    ) -> Result<Self, FusionError> {
        if repositories.len() != retriever.ids().len() {
            return Err(FusionError::RepositoryCount {
                expected: retriever.ids().len(),
                found: repositories.len(),
            });
        }
        if !(weight >= 0.0 && weight.is_finite()) {
            return Err(FusionError::PriorWeight { weight });
        }
        match &estimate {
            PriorEstimate::Fixed(priors) if priors.unseen().is_none() => {
                let mut names = repositories.names().iter();
                let uncovered = names.find(|name| priors.get(name).is_none());
                let missing = repositories.has_missing().then(String::new);
                if let Some(repository) = uncovered.cloned().or(missing) {
                    return Err(FusionError::Uncovered { repository });
                }
            }
            PriorEstimate::Fixed(_) => {}
            &PriorEstimate::Feedback { docs, epsilon, .. } => {
                if docs == 0 {
                    return Err(FusionError::PriorDocs);
                }
                if !(epsilon > 0.0 && epsilon.is_finite()) {
                    return Err(FusionError::Smoothing { epsilon });
                }
            }
        }
        Ok(Self {
            retriever,
            repositories,
            estimate,
            combination,
            weight,
        })
    }

    /// Returns the wrapped retriever.
    pub const fn retriever(&self) -> &R {
        &self.retriever
    }

    /// The combined scores of every query.
    fn scores(
        &self,
        queries: &[(&R::Query, Search<'_>)],
    ) -> Result<Vec<CombinedScores<'_, R>>, SearchError> {
        match &self.estimate {
            PriorEstimate::Fixed(priors) => {
                Ok(queries.iter().map(|_| self.combined(priors)).collect())
            }
            &PriorEstimate::Feedback {
                docs,
                epsilon,
                repositories,
            } => {
                let first: Vec<_> = (queries.iter())
                    .map(|(query, _)| (*query, Search::top(docs)))
                    .collect();
                let found = self.retriever.search_batch(&first)?.into_iter();
                let scores = found.map(|hits| {
                    let documents = &self.repositories;
                    let priors =
                        RepositoryPriors::from_ranking(&hits, documents, repositories, epsilon);
                    let priors = priors.map_err(|error| SearchError::Engine {
                        engine: "the repository prior",
                        source: Box::new(error),
                    })?;
                    Ok(self.combined(&priors))
                });
                scores.collect()
            }
        }
    }

    fn combined(&self, priors: &RepositoryPriors) -> CombinedScores<'_, R> {
        // The constructor has checked that every repository has a prior.
        let unseen = priors.unseen().unwrap_or(1.0);
        let names = self.repositories.names().iter();
        let known = names.map(|name| priors.get(name).unwrap_or(unseen));
        let priors: Vec<f64> = known.chain([unseen]).collect();
        let term = |prior: &f64| match self.combination {
            PriorCombination::LogSum => self.weight * prior.ln(),
            PriorCombination::Product => prior.powf(self.weight),
        };
        CombinedScores {
            prior: self,
            terms: priors.iter().map(term).collect(),
            priors,
        }
    }
}

impl<R: Retriever> CombinedScores<'_, R> {
    /// Position of a document's repository in the tables.
    fn repository(&self, doc: DocNum) -> usize {
        let number = self.prior.repositories.number(doc);
        number.unwrap_or(self.priors.len() - 1)
    }

    fn combine(&self, score: f32, term: f64) -> f32 {
        match self.prior.combination {
            PriorCombination::LogSum => (f64::from(score) + term) as f32,
            PriorCombination::Product => (f64::from(score) * term) as f32,
        }
    }

    fn score(&self, hit: &Hit) -> f32 {
        self.combine(hit.score, self.terms[self.repository(hit.doc)])
    }

    /// The maximum combined score of documents with at most this score. Combined scores increase
    /// with the score.
    fn bound(&self, score: f32) -> f32 {
        let bounds = self.terms.iter().map(|&term| self.combine(score, term));
        bounds.fold(f32::NEG_INFINITY, f32::max)
    }

    /// Rejects a ranking with a negative score. All other hits of the query have lower scores, or
    /// negative ones, and so do not change a ranking without any.
    fn reject_negative(&self, ranking: &Ranking, hits: &Ranking) -> Result<(), SearchError> {
        let mut ranked = ranking.iter();
        let Some(negative) = ranked.find(|hit| hit.score < 0.0) else {
            return Ok(());
        };
        let score = hits.iter().find(|hit| hit.doc == negative.doc);
        let error = FusionError::NegativeScore {
            doc: self.prior.ids().id(negative.doc).to_owned(),
            score: score.map_or(negative.score, |hit| hit.score),
        };
        Err(SearchError::Engine {
            engine: "the repository prior",
            source: Box::new(error),
        })
    }

    /// The best `k` of hits that are the first `depth`; [`None`] if other documents can be better.
    fn best(&self, hits: &Ranking, k: usize, depth: usize) -> Result<Option<Ranking>, SearchError> {
        let mut best = TopK::new(k);
        for hit in hits {
            best.push(hit.doc, self.score(hit));
        }
        let ranking = best.finish()?;
        let worst = hits.hits().last().filter(|_| hits.len() >= depth);
        let is_exact = worst.is_none_or(|worst| {
            let kth = k.checked_sub(1).and_then(|at| ranking.hits().get(at));
            // A document with an equal score may have a lower number.
            kth.is_some_and(|kth| kth.score > self.bound(worst.score))
        });
        if !is_exact {
            return Ok(None);
        }
        if self.prior.combination == PriorCombination::Product {
            self.reject_negative(&ranking, hits)?;
        }
        Ok(Some(ranking))
    }
}

impl<R: Retriever> Retriever for RepositoryPrior<R> {
    type Query = R::Query;

    fn ids(&self) -> &DocIds {
        self.retriever.ids()
    }

    crate::search_as_batch!();

    fn search_batch(
        &self,
        queries: &[(&R::Query, Search<'_>)],
    ) -> Result<Vec<Ranking>, SearchError> {
        if self.weight == 0.0 {
            return self.retriever.search_batch(queries);
        }
        let scores = self.scores(queries)?;
        let all = self.ids().len();
        in_rounds(queries.len(), |open, factor| {
            let depth = |k: usize| match k {
                0 => 0,
                k => k.max(MIN_DEPTH).saturating_mul(factor).min(all),
            };
            let batch: Vec<_> = (open.iter())
                .map(|&n| (queries[n].0, queries[n].1.with_k(depth(queries[n].1.k()))))
                .collect();
            let found = self.retriever.search_batch(&batch)?;
            let answers = open.iter().zip(&batch).zip(found);
            let answers = answers.map(|((&n, (_, asked)), hits)| {
                let k = queries[n].1.k();
                if asked.k() == 0 || asked.k() == all {
                    // All hits.
                    return scores[n].best(&hits, k, usize::MAX);
                }
                scores[n].best(&hits, k, asked.k())
            });
            answers.collect()
        })
    }

    /// Returns the words of the retriever.
    fn matched_text(
        &self,
        query: &R::Query,
        doc: DocNum,
    ) -> Result<Option<MatchedText>, SearchError> {
        self.retriever.matched_text(query, doc)
    }

    fn explain(
        &self,
        query: &R::Query,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let Some(tree) = self.retriever.explain(query, doc, search)? else {
            return Ok(None);
        };
        if self.weight == 0.0 {
            return Ok(Some(tree));
        }
        let scores = self.scores(&[(query, *search)])?;
        let Some(scores) = scores.first() else {
            return Ok(None);
        };
        let at = scores.repository(doc);
        let name = self.repositories.get(doc).unwrap_or("none");
        let prior = Explanation::new(
            scores.priors[at],
            format!("p: prior of the repository {name}"),
        );
        let weight = Explanation::new(self.weight, "weight of the prior");
        let what = match self.combination {
            PriorCombination::LogSum => "weight × ln p",
            PriorCombination::Product => "p ^ weight",
        };
        let term = Explanation::new(scores.terms[at], what)
            .with_detail(prior)
            .with_detail(weight);
        Ok(Some(match self.combination {
            PriorCombination::LogSum => Explanation::sum("sum of", vec![tree, term]),
            PriorCombination::Product => {
                let score = scores.combine(tree.score(), scores.terms[at]);
                let product = Explanation::new(score, "product of");
                product.with_detail(tree).with_detail(term)
            }
        }))
    }
}
