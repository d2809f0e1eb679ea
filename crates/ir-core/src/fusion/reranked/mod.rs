#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::FusionError;
use super::numbering::{DocumentHits, NumberedRetriever, Numbering};
use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::ids::{DocIds, DocNum};
use crate::matched_text::MatchedText;
use crate::ranking::{Hit, Ranking, TopK};
use crate::reranker::{Candidate, CandidateTexts, Reranker, check_count, check_scores};
use crate::retriever::Retriever;
use crate::search::Search;

/// Size of the texts that are held for one call of the reranker, in bytes. The candidates of a
/// query are never divided.
const BLOCK_BYTES: usize = 64 << 20;

/// Description of a score that the reranker does not explain.
const UNEXPLAINED: &str = "score (this reranker has no explanations)";

/// Retriever that ranks the first hits of another retriever by the scores of a [`Reranker`]: the
/// BM25 top 100 re-ranked by a cross-encoder.
///
/// The candidates are the first `depth` hits of the retriever that pass the filter, or `k` hits if
/// that is larger; [`Reranked::search_with_rest`] keeps to `depth`. Candidates without a score are
/// removed. A filtered search has its own candidates, so it is exempt from the filter contract of
/// [`Retriever`].
///
/// The candidates of all queries of a batch are scored together. Their texts are checked first: a
/// candidate without a text is an error before anything is scored.
///
/// The scores of a second retriever are a reranker:
/// ```
/// use ir_core::fusion::{Reranked, RetrieverScores};
/// # use ir_core::{Ranking, Retriever, Search};
/// # fn search(dense: Box<dyn Retriever<Query = str>>, bm25: Box<dyn Retriever<Query = str>>)
/// # -> Result<Ranking, Box<dyn std::error::Error>> {
/// let reranked = Reranked::new(bm25, RetrieverScores::new(dense)?, 100)?;
/// let ranking = reranked.search("tea", &Search::top(10))?;
/// # Ok(ranking)
/// # }
/// ```
#[derive(Clone)]
pub struct Reranked<A, B> {
    ids: DocIds,
    first: NumberedRetriever<A>,
    reranker: B,
    /// Texts to score, or to explain scores.
    texts: Option<Arc<dyn CandidateTexts>>,
    depth: usize,
    /// [`BLOCK_BYTES`]; tests set it to a lower number.
    block_bytes: usize,
}

/// Hits of [`Reranked::search_with_rest`].
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct RerankedHits {
    hits: Vec<Hit>,
    reranked: usize,
    /// Candidates with their scores in the first retriever, best first.
    candidates: Vec<(DocNum, f32)>,
}

impl RerankedHits {
    /// Returns the hits, best first: the candidates with the scores of the reranker, then the later
    /// hits of the first retriever with their scores there.
    #[must_use]
    pub fn hits(&self) -> &[Hit] {
        &self.hits
    }

    /// Returns the number of hits with a score of the reranker, which are the first hits.
    #[must_use]
    pub const fn reranked(&self) -> usize {
        self.reranked
    }
}

impl<A, B> fmt::Debug for Reranked<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reranked")
            .field("documents", &self.ids.len())
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

impl<Q: ?Sized + Sync, A: Retriever<Query = Q>, B: Reranker<Query = Q>> Reranked<A, B> {
    /// Creates a retriever that ranks the first `depth` hits of `first` by the scores of a reranker
    /// that does not read texts.
    ///
    /// # Errors
    /// Returns [`FusionError::RerankerTexts`] if the reranker reads texts, and [`FusionError::Ids`]
    /// if the retriever holds too many documents.
    pub fn new(first: A, reranker: B, depth: usize) -> Result<Self, FusionError> {
        if reranker.needs_texts() {
            return Err(FusionError::RerankerTexts);
        }
        Self::build(first, reranker, None, depth)
    }

    /// Creates a retriever that ranks the first `depth` hits of `first` by the scores of a reranker
    /// that reads `texts`. For the scores of a reranker that reads none, texts are not read;
    /// [`Reranker::explain`] gets the text of the explained candidate, if it has one.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use std::sync::Arc;
    ///
    /// use ir_core::fusion::{DocumentPrior, Reranked};
    /// use ir_core::{Candidate, Reranker, Retriever, Search, SearchError};
    ///
    /// struct Length;
    ///
    /// impl Reranker for Length {
    ///     type Query = str;
    ///     fn scores(
    ///         &self,
    ///         _: &str,
    ///         candidates: &[Candidate<'_>],
    ///     ) -> Result<Vec<Option<f32>>, SearchError> {
    ///         Ok(candidates.iter().map(|it| Some(it.text.len() as f32)).collect())
    ///     }
    /// }
    ///
    /// let first = DocumentPrior::new([("a", 3.0), ("b", 2.0), ("c", 1.0)])?;
    /// let texts = [("a", "tea"), ("b", "black tea"), ("c", "tea leaves")];
    /// let texts: HashMap<_, _> = texts.map(|(id, text)| (id.to_owned(), text.to_owned())).into();
    /// let reranked = Reranked::with_texts(first, Length, Arc::new(texts), 2)?;
    /// let ranking = reranked.search("tea", &Search::top(2))?;
    /// let found: Vec<&str> = ranking.iter().map(|hit| reranked.ids().id(hit.doc)).collect();
    /// assert_eq!(found, ["b", "a"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`FusionError::Ids`] if the retriever holds too many documents.
    pub fn with_texts(
        first: A,
        reranker: B,
        texts: Arc<dyn CandidateTexts>,
        depth: usize,
    ) -> Result<Self, FusionError> {
        Self::build(first, reranker, Some(texts), depth)
    }

    fn build(
        first: A,
        reranker: B,
        texts: Option<Arc<dyn CandidateTexts>>,
        depth: usize,
    ) -> Result<Self, FusionError> {
        let mut numbering = Numbering::default();
        let first = numbering.add(first)?;
        Ok(Self {
            ids: numbering.ids,
            first,
            reranker,
            texts,
            depth,
            block_bytes: BLOCK_BYTES,
        })
    }

    /// Ranks the first `depth` hits of the first retriever by the reranker, for any number of hits
    /// `k`. Later hits follow in the order of the first retriever, with the scores of the first
    /// retriever. A search for fewer hits returns the first hits of a search for more, so pages of
    /// one ranking agree. Candidates that the reranker removes are not among the hits.
    ///
    /// ```
    /// use ir_core::fusion::{DocumentPrior, Reranked, RetrieverScores};
    /// use ir_core::Search;
    ///
    /// let first = DocumentPrior::new([("a", 3.0), ("b", 2.0), ("c", 1.0)])?;
    /// let second = DocumentPrior::new([("a", 0.1), ("b", 0.2), ("c", 0.3)])?;
    /// let reranked = Reranked::new(first, RetrieverScores::new(second)?, 2)?;
    /// let found = reranked.search_with_rest("tea", &Search::top(3))?;
    /// let hits = found.hits().iter().map(|hit| (hit.doc.get(), hit.score));
    /// // b and a by the reranker, then c.
    /// assert_eq!(hits.collect::<Vec<_>>(), [(1, 0.2), (0, 0.1), (2, 1.0)]);
    /// assert_eq!(found.reranked(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Retriever::search`].
    pub fn search_with_rest(
        &self,
        query: &Q,
        search: &Search<'_>,
    ) -> Result<RerankedHits, SearchError> {
        let batch = [(query, *search)];
        // Later hits replace the candidates that the reranker removes.
        let depth = |k: usize| k.saturating_add(self.depth);
        let mut found = self.first.search(&batch, depth)?;
        let Some(candidates) = found.first_mut() else {
            return Ok(RerankedHits::default());
        };
        let depth = self.depth.min(candidates.hits.len());
        let rest = candidates.hits.split_off(depth);
        let scores = self.scores(&batch, &found)?;
        let candidates = found.pop().map(|found| found.hits).unwrap_or_default();
        let mut best = TopK::new(search.k());
        for ((doc, _), score) in candidates.iter().zip(scores.into_iter().flatten()) {
            if let Some(score) = score {
                best.push(*doc, score);
            }
        }
        let mut hits: Vec<Hit> = best.finish()?.into();
        let reranked = hits.len();
        hits.extend(rest.into_iter().map(|(doc, score)| Hit::new(doc, score)));
        hits.truncate(search.k());
        Ok(RerankedHits {
            hits,
            reranked,
            candidates,
        })
    }

    /// Explains the score of `found.hits()[n]`, which [`Reranked::search_with_rest`] returned for
    /// the query: [`Explanation::score`] equals the score bit for bit. `None` if there is no such
    /// hit.
    ///
    /// `with_details`: if `true`, the reranker explains the score, which may run a model on the
    /// candidate. `first`: parameters of the explanation of the first retriever. If the scores of
    /// the first retriever do not depend on other documents, a filter with the document alone is
    /// fastest.
    ///
    /// # Errors
    /// Returns the errors of the explanations of the first retriever and the reranker.
    pub fn explain_hit(
        &self,
        query: &Q,
        found: &RerankedHits,
        n: usize,
        with_details: bool,
        first: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let Some(hit) = found.hits.get(n) else {
            return Ok(None);
        };
        let candidates = &found.candidates;
        if n >= found.reranked {
            let description = format!(
                "score of the first retriever: after its {} candidates for the reranker",
                candidates.len()
            );
            let tree = self.first.explain(query, (hit.doc, hit.score), first)?;
            return Ok(Some(
                Explanation::new(hit.score, description).with_detail(tree),
            ));
        }
        let Some(rank) = candidates.iter().position(|it| it.0 == hit.doc) else {
            return Ok(None);
        };
        let score = if with_details {
            let texts = self.texts_to_explain(candidates, rank)?;
            let candidates = self.as_candidates(candidates, &texts);
            let tree = self.reranker.explain(query, &candidates, rank)?;
            tree.unwrap_or_else(|| Explanation::new(hit.score, UNEXPLAINED))
        } else {
            Explanation::new(hit.score, "score (without details)")
        };
        self.tree(query, candidates, rank, score, first).map(Some)
    }

    /// Explanation of a candidate from the explanation of its score.
    fn tree(
        &self,
        query: &Q,
        candidates: &[(DocNum, f32)],
        rank: usize,
        score: Explanation,
        first: &Search<'_>,
    ) -> Result<Explanation, SearchError> {
        let first = self.first.explain(query, candidates[rank], first)?;
        let candidate = format!(
            "not part of the score: candidate {} of {} by the first retriever, with the score",
            rank + 1,
            candidates.len()
        );
        // The sum with 0 turns -0 into 0, as `TopK` does.
        let tree = Explanation::new(score.score() + 0.0, "score of the reranker");
        let candidate = Explanation::new(candidates[rank].1, candidate).with_detail(first);
        Ok(tree.with_detail(score).with_detail(candidate))
    }

    /// Candidates of each query, best first.
    fn candidates(&self, queries: &[(&Q, Search<'_>)]) -> Result<Vec<DocumentHits>, SearchError> {
        self.first.search(queries, |k| k.max(self.depth))
    }

    fn ids_of<'a>(&'a self, hits: &'a [(DocNum, f32)]) -> impl Iterator<Item = &'a str> {
        hits.iter().map(|hit| self.ids.id(hit.0))
    }

    /// Texts that the reranker reads to score candidates; `None` if it reads none.
    fn scored_texts(&self) -> Option<&dyn CandidateTexts> {
        let texts = self.texts.as_deref();
        texts.filter(|_| self.reranker.needs_texts())
    }

    /// Texts of the candidates of a query, in order.
    fn texts(&self, hits: &[(DocNum, f32)]) -> Result<Vec<Cow<'_, str>>, SearchError> {
        let Some(texts) = self.scored_texts() else {
            return Ok(vec![Cow::default(); hits.len()]);
        };
        let texts = self.ids_of(hits).map(|id| {
            let text = texts.text(id)?;
            text.ok_or_else(|| SearchError::MissingText { id: id.to_owned() })
        });
        texts.collect()
    }

    /// Texts of the candidates, and the text of the candidate to explain in any case, if there is
    /// one.
    fn texts_to_explain(
        &self,
        hits: &[(DocNum, f32)],
        n: usize,
    ) -> Result<Vec<Cow<'_, str>>, SearchError> {
        let mut texts = self.texts(hits)?;
        if !self.reranker.needs_texts()
            && let Some(source) = &self.texts
            && let Some(text) = source.text(self.ids.id(hits[n].0))?
        {
            texts[n] = text;
        }
        Ok(texts)
    }

    /// Returns an error if a candidate has no text.
    fn check_texts(&self, found: &[DocumentHits]) -> Result<(), SearchError> {
        let Some(texts) = self.scored_texts() else {
            return Ok(());
        };
        for id in found.iter().flat_map(|found| self.ids_of(&found.hits)) {
            if !texts.contains(id)? {
                return Err(SearchError::MissingText { id: id.to_owned() });
            }
        }
        Ok(())
    }

    fn as_candidates<'a>(
        &'a self,
        hits: &'a [(DocNum, f32)],
        texts: &'a [Cow<'_, str>],
    ) -> Vec<Candidate<'a>> {
        let candidates = self.ids_of(hits).zip(texts);
        let candidates = candidates.map(|(id, text)| Candidate::new(id, text));
        candidates.collect()
    }

    /// Scores of the candidates of each query, in order.
    fn scores(
        &self,
        queries: &[(&Q, Search<'_>)],
        found: &[DocumentHits],
    ) -> Result<Vec<Vec<Option<f32>>>, SearchError> {
        let mut scores = Vec::with_capacity(queries.len());
        while scores.len() < queries.len() {
            let start = scores.len();
            let (mut texts, mut bytes) = (Vec::new(), 0_usize);
            for found in &found[start..] {
                if bytes > self.block_bytes {
                    break;
                }
                let of_query = self.texts(&found.hits)?;
                bytes += of_query.iter().map(|text| text.len()).sum::<usize>();
                texts.push(of_query);
            }
            if start == 0 {
                // The texts of later blocks are checked before anything is scored.
                self.check_texts(&found[texts.len()..])?;
            }
            let block = found[start..].iter().zip(&texts);
            let block: Vec<Vec<Candidate<'_>>> = block
                .map(|(found, texts)| self.as_candidates(&found.hits, texts))
                .collect();
            let queries = queries[start..].iter().zip(&block);
            let queries: Vec<(&Q, &[Candidate<'_>])> = queries
                .map(|((query, _), candidates)| (*query, &candidates[..]))
                .collect();
            let of_block = self.reranker.scores_batch(&queries)?;
            check_count(block.len(), of_block.len())?;
            for (candidates, scores) in block.iter().zip(&of_block) {
                check_scores(candidates, scores)?;
            }
            scores.extend(of_block);
        }
        Ok(scores)
    }

    /// Explanation of the score of a candidate, or a node without details. `None` if the reranker
    /// removes the candidate.
    fn score_tree(
        &self,
        query: &Q,
        found: &DocumentHits,
        n: usize,
    ) -> Result<Option<Explanation>, SearchError> {
        let texts = self.texts_to_explain(&found.hits, n)?;
        let candidates = self.as_candidates(&found.hits, &texts);
        if let Some(tree) = self.reranker.explain(query, &candidates, n)? {
            return Ok(Some(tree));
        }
        let scores = self.reranker.scores(query, &candidates)?;
        check_scores(&candidates, &scores)?;
        Ok(scores[n].map(|score| Explanation::new(score, UNEXPLAINED)))
    }
}

impl<Q: ?Sized + Sync, A: Retriever<Query = Q>, B: Reranker<Query = Q>> Retriever
    for Reranked<A, B>
{
    type Query = Q;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    crate::search_as_batch!();

    fn search_batch(&self, queries: &[(&Q, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let found = self.candidates(queries)?;
        let scores = self.scores(queries, &found)?;
        let rankings = found.iter().zip(scores).zip(queries);
        let rankings = rankings.map(|((found, scores), (_, search))| {
            let mut best = TopK::new(search.k());
            for (hit, score) in found.hits.iter().zip(scores) {
                if let Some(score) = score {
                    best.push(hit.0, score);
                }
            }
            best.finish()
        });
        rankings.collect()
    }

    /// Explains the score of the reranker. The second detail is the rank and score of the first
    /// retriever.
    fn explain(
        &self,
        query: &Q,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        if !search.allows(doc) {
            return Ok(None);
        }
        let found = self.candidates(&[(query, *search)])?;
        let Some(found) = found.first() else {
            return Ok(None);
        };
        let Some(rank) = found.hits.iter().position(|hit| hit.0 == doc) else {
            return Ok(None);
        };
        let Some(score) = self.score_tree(query, found, rank)? else {
            return Ok(None);
        };
        let depth = search.with_k(search.k().max(self.depth));
        self.tree(query, &found.hits, rank, score, &depth).map(Some)
    }

    /// Returns the text of a document with the words that [`Reranker::matched_words`] finds in it.
    /// `None` without texts, too. The document need not be a candidate.
    ///
    /// # Panics
    /// If `doc` is not a document of this retriever.
    fn matched_text(&self, query: &Q, doc: DocNum) -> Result<Option<MatchedText>, SearchError> {
        let Some(texts) = &self.texts else {
            return Ok(None);
        };
        let id = self.ids.id(doc);
        let Some(text) = texts.text(id)? else {
            return Ok(None);
        };
        let candidate = Candidate::new(id, &text);
        let words = self.reranker.matched_words(query, &candidate)?;
        Ok(words.map(|words| MatchedText::new(text, words)))
    }
}
