//! The retriever of the unit tests.

use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::ids::{DocIds, DocNum};
use crate::ranking::{Ranking, TopK};
use crate::retriever::Retriever;
use crate::search::Search;

/// Retriever with a constant score per record; a record without a score is not a hit.
#[derive(Debug, Clone)]
pub(crate) struct ConstantScores {
    pub(crate) ids: DocIds,
    pub(crate) scores: Vec<Option<f32>>,
}

impl ConstantScores {
    pub(crate) fn new<I: AsRef<str>>(records: &[(I, Option<f32>)]) -> Self {
        Self {
            ids: records.iter().map(|(id, _)| id.as_ref()).collect(),
            scores: records.iter().map(|(_, score)| *score).collect(),
        }
    }
}

impl Retriever for ConstantScores {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, _: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        let mut best = TopK::new(search.k());
        for (doc, score) in (0..).map(DocNum::new).zip(&self.scores) {
            if let Some(score) = *score
                && search.allows(doc)
            {
                best.push(doc, score);
            }
        }
        best.finish()
    }

    fn explain(
        &self,
        _: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let score = self.scores[doc.index()].filter(|_| search.allows(doc));
        Ok(score.map(|score| Explanation::new(score + 0.0, "constant")))
    }
}
