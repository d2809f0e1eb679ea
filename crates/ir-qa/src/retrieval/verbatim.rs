//! Answers to questions that are asked verbatim, or nearly so.

use std::collections::{BTreeMap, HashMap};

use ir_core::{
    DocFilter, DocIds, DocNum, DocSet, Explanation, Hit, Ranking, Retriever, Search, SearchError,
};

use super::near_questions::NearQuestions;
use super::{TextRetriever, letters};
use crate::frame::Frame;

/// Addition to the score of an answer if its question is asked. BM25 of questions is less.
const ADDITION: f32 = 1_000.0;

/// Addition to the score of an answer with a near question, times its similarity, which is at most
/// 1: the answers of verbatim questions come first.
const NEAR_ADDITION: f32 = 500.0;

/// Adds [`ADDITION`] to the scores of answers with a question that is the query, up to case and
/// punctuation, and [`NEAR_ADDITION`] for a near question. Generated questions do not count.
pub(super) struct VerbatimFirst {
    scores: TextRetriever,
    /// Frames by the letters of their questions, ascending.
    frames: HashMap<String, Vec<DocNum>>,
    near: Option<NearQuestions>,
}

impl VerbatimFirst {
    /// `scores` has the frames as documents, in their order. `near` is the minimum similarity of
    /// near questions; with `None`, there are none.
    pub(super) fn new(scores: TextRetriever, frames: &[Frame], near: Option<f32>) -> Self {
        let mut by_question: HashMap<String, Vec<DocNum>> = HashMap::new();
        for (doc, frame) in (0..).map(DocNum::new).zip(frames) {
            let questions = frame.questions.iter();
            for question in questions.filter(|question| !question.generated) {
                let key: String = letters(&question.text).collect();
                if !key.is_empty() {
                    by_question.entry(key).or_default().push(doc);
                }
            }
        }
        Self {
            scores,
            frames: by_question,
            near: near.map(|minimum| NearQuestions::new(frames, minimum)),
        }
    }

    /// The frames with a question.
    fn with_question(&self, question: &str) -> &[DocNum] {
        if self.frames.is_empty() {
            &[]
        } else {
            let key: String = letters(question).collect();
            self.frames.get(&key).map_or(&[], Vec::as_slice)
        }
    }

    /// Additions to the scores of the frames with the question, or with a near one.
    fn additions(&self, question: &str) -> BTreeMap<DocNum, f32> {
        let near = self.near.as_ref().map(|near| near.near(question));
        let mut additions = near.unwrap_or_default();
        for similarity in additions.values_mut() {
            *similarity *= NEAR_ADDITION;
        }
        let verbatim = self.with_question(question).iter();
        additions.extend(verbatim.map(|&doc| (doc, ADDITION)));
        additions
    }

    /// Adds to the scores of a ranking of BM25.
    fn with_additions(
        &self,
        ranking: Ranking,
        query: &str,
        search: &Search<'_>,
    ) -> Result<Ranking, SearchError> {
        let mut additions = self.additions(query);
        additions.retain(|&doc, _| search.allows(doc));
        if additions.is_empty() {
            return Ok(ranking);
        }
        let first: DocSet = additions.keys().copied().collect();
        let scored = self
            .scores
            .search(query, &Search::top(additions.len()).within(&first))?;
        let scored: HashMap<DocNum, f32> = scored.iter().map(|hit| (hit.doc, hit.score)).collect();
        let hits = additions.iter().map(|(&doc, addition)| {
            let score = scored.get(&doc).copied().unwrap_or(0.0);
            Hit::new(doc, addition + score)
        });
        let mut hits: Vec<Hit> = hits.collect();
        hits.extend(ranking.iter().filter(|hit| !first.contains(hit.doc)));
        Ok(Ranking::from_hits(hits)?.top(search.k()))
    }
}

impl Retriever for VerbatimFirst {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.scores.ids()
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.with_additions(self.scores.search(query, search)?, query, search)
    }

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let rankings = self.scores.search_batch(queries)?.into_iter().zip(queries);
        let rankings =
            rankings.map(|(ranking, (query, search))| self.with_additions(ranking, query, search));
        rankings.collect()
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let tree = self.scores.explain(query, doc, search)?;
        let additions = self.additions(query);
        let Some(&addition) = additions.get(&doc).filter(|_| search.allows(doc)) else {
            return Ok(tree);
        };
        let score = addition + tree.as_ref().map_or(0.0, Explanation::score);
        let description = if addition == ADDITION {
            "a question of the answer is the query"
        } else {
            "a question of the answer is near the query: 500 times the similarity"
        };
        let addition = Explanation::new(addition, description);
        let sum = Explanation::new(score, "sum of").with_detail(addition);
        Ok(Some(match tree {
            None => sum,
            Some(tree) => sum.with_detail(tree),
        }))
    }
}
