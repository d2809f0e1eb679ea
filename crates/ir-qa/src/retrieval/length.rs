//! Scores of BM25 that depend on the length of the question.

use ir_bm25::analysis::{Analysis, AnalysisPipeline};
use ir_core::{
    Analyzer as _, DocIds, DocNum, Explanation, Hit, Ranking, Retriever, Search, SearchError,
};

use super::{FunctionWords, TextRetriever};

/// Number of terms of a question for which scores do not change: about the mean of SQuAD.
const TERMS: f32 = 6.0;

/// Multiplies scores by (6 / n)^p for a question of n terms: BM25 is a sum over the terms, and a
/// cosine is not.
pub(super) struct LengthScaled {
    scores: TextRetriever,
    exponent: f32,
    left_out: FunctionWords,
    analyzer: AnalysisPipeline,
}

impl LengthScaled {
    #[expect(clippy::expect_used, reason = "the analysis is a preset")]
    pub(super) fn new(scores: TextRetriever, exponent: f32, left_out: FunctionWords) -> Self {
        Self {
            scores,
            exponent,
            left_out,
            analyzer: Analysis::default().build().expect("presets are valid"),
        }
    }

    fn factor(&self, question: &str) -> f32 {
        let terms = self.analyzer.terms(&self.left_out.without(question)).len();
        (TERMS / terms.max(1) as f32).powf(self.exponent)
    }
}

impl Retriever for LengthScaled {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.scores.ids()
    }

    ir_core::search_as_batch!();

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let rankings = self.scores.search_batch(queries)?.into_iter().zip(queries);
        let scaled = rankings.map(|(ranking, (question, _))| {
            let factor = self.factor(question);
            let hits = ranking.iter();
            let hits = hits.map(|hit| Hit::new(hit.doc, hit.score * factor));
            Ranking::from_hits(hits.collect())
        });
        scaled.collect()
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let tree = self.scores.explain(query, doc, search)?;
        Ok(tree.map(|tree| {
            let factor = self.factor(query);
            let length = Explanation::new(factor, "factor of the length of the question");
            let product = Explanation::new(tree.score() * factor, "product of");
            product.with_detail(length).with_detail(tree)
        }))
    }
}
