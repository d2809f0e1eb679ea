//! Answers to questions that are asked verbatim.

use std::collections::HashMap;

use ir_core::{
    DocFilter, DocIds, DocNum, DocSet, Explanation, Hit, Ranking, Retriever, Search, SearchError,
};

use super::{TextRetriever, letters};
use crate::frame::Frame;

/// Addition to the score of an answer if its question is asked. BM25 of questions is less.
const ADDITION: f32 = 1_000.0;

/// Adds [`ADDITION`] to the scores of answers with a question that is the query, up to case and
/// punctuation. Generated questions do not count.
pub(super) struct VerbatimFirst {
    scores: TextRetriever,
    /// Frames by the letters of their questions, ascending.
    frames: HashMap<String, Vec<DocNum>>,
}

impl VerbatimFirst {
    /// `scores` has the frames as documents, in their order.
    pub(super) fn new(scores: TextRetriever, frames: &[Frame]) -> Self {
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

    /// Adds to the scores of a ranking of BM25.
    fn with_additions(
        &self,
        ranking: Ranking,
        query: &str,
        search: &Search<'_>,
    ) -> Result<Ranking, SearchError> {
        let first = self.with_question(query).iter().copied();
        let first: DocSet = first.filter(|&doc| search.allows(doc)).collect();
        let Some(count) = first.count().filter(|&count| count > 0) else {
            return Ok(ranking);
        };
        let scored = self
            .scores
            .search(query, &Search::top(count).within(&first))?;
        let scored: HashMap<DocNum, f32> = scored.iter().map(|hit| (hit.doc, hit.score)).collect();
        let score = |doc| ADDITION + scored.get(&doc).copied().unwrap_or(0.0);
        let mut hits: Vec<Hit> = first.iter().map(|doc| Hit::new(doc, score(doc))).collect();
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
        if !(self.with_question(query).contains(&doc) && search.allows(doc)) {
            return Ok(tree);
        }
        let score = ADDITION + tree.as_ref().map_or(0.0, Explanation::score);
        let addition = Explanation::new(ADDITION, "a question of the answer is the query");
        let sum = Explanation::new(score, "sum of").with_detail(addition);
        Ok(Some(match tree {
            None => sum,
            Some(tree) => sum.with_detail(tree),
        }))
    }
}
