use std::collections::HashMap;

use super::FusionError;
use super::numbering::{NumberedRetriever, Numbering};
use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::ids::{DocIds, DocNum, DocSet};
use crate::reranker::{Candidate, Reranker};
use crate::retriever::Retriever;
use crate::search::Search;

/// [`Reranker`] with the scores of a [`Retriever`], such as dense retrieval over the candidates of
/// BM25.
///
/// Documents are matched by id. Of several records with one id, the best score counts. The
/// retriever searches the candidates alone, by a filter. A candidate that the retriever does not
/// return is removed. Texts are not read.
///
/// ```
/// use ir_core::fusion::{DocumentPrior, RetrieverScores};
/// use ir_core::{Candidate, Reranker};
///
/// let citations = DocumentPrior::new([("ImageNet", 62.0), ("COCO", 32.0)])?;
/// let reranker = RetrieverScores::new(citations)?;
/// let candidates = ["COCO", "SQuAD"].map(|id| Candidate::new(id, ""));
/// assert_eq!(reranker.scores("images", &candidates)?, [Some(32.0), None]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct RetrieverScores<R> {
    ids: DocIds,
    retriever: NumberedRetriever<R>,
}

impl<R: Retriever> RetrieverScores<R> {
    /// Creates a reranker from a retriever.
    ///
    /// # Errors
    /// Returns [`FusionError::Ids`] if the retriever holds too many documents.
    pub fn new(retriever: R) -> Result<Self, FusionError> {
        let mut numbering = Numbering::default();
        let retriever = numbering.add(retriever)?;
        Ok(Self {
            ids: numbering.ids,
            retriever,
        })
    }

    /// Numbers of the candidates that the retriever contains.
    fn documents(&self, candidates: &[Candidate<'_>]) -> DocSet {
        let known = candidates.iter().filter_map(|it| self.ids.get(it.id));
        known.collect()
    }
}

impl<R: Retriever> Reranker for RetrieverScores<R> {
    type Query = R::Query;

    fn needs_texts(&self) -> bool {
        false
    }

    fn scores(
        &self,
        query: &R::Query,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<Option<f32>>, SearchError> {
        let mut scores = self.scores_batch(&[(query, candidates)])?;
        Ok(scores.pop().unwrap_or_default())
    }

    fn scores_batch(
        &self,
        queries: &[(&R::Query, &[Candidate<'_>])],
    ) -> Result<Vec<Vec<Option<f32>>>, SearchError> {
        let documents: Vec<(&R::Query, DocSet)> = queries
            .iter()
            .map(|(query, candidates)| (*query, self.documents(candidates)))
            .collect();
        let found = self.retriever.scores(&documents)?;
        let scores = queries.iter().zip(found).map(|((_, candidates), found)| {
            let found: HashMap<DocNum, f32> = found.into_iter().collect();
            let score = |it: &Candidate<'_>| found.get(&self.ids.get(it.id)?).copied();
            candidates.iter().map(score).collect()
        });
        Ok(scores.collect())
    }

    /// Scores all candidates in one search: scores of retrievers such as
    /// [`Fused`](super::Fused) depend on the other candidates.
    fn scores_while(
        &self,
        query: &R::Query,
        candidates: &[Candidate<'_>],
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<Option<f32>>>, SearchError> {
        if !candidates.is_empty() && !goes_on() {
            return Ok(None);
        }
        self.scores(query, candidates).map(Some)
    }

    /// Returns the explanation of the retriever, or a node without details if the retriever does
    /// not explain scores.
    fn explain(
        &self,
        query: &R::Query,
        candidates: &[Candidate<'_>],
        n: usize,
    ) -> Result<Option<Explanation>, SearchError> {
        let Some(doc) = candidates.get(n).and_then(|it| self.ids.get(it.id)) else {
            return Ok(None);
        };
        let documents = self.documents(candidates);
        let found = self.retriever.scores(&[(query, documents.clone())])?;
        let mut found = found.into_iter().flatten();
        let Some((_, score)) = found.find(|(scored, _)| *scored == doc) else {
            return Ok(None);
        };
        let within = Search::top(candidates.len()).within(&documents);
        let tree = self.retriever.explain(query, (doc, score), &within)?;
        Ok(Some(tree))
    }
}
