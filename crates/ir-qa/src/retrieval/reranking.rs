use std::borrow::Cow;
use std::sync::Arc;

use ir_core::fusion::Reranked;
use ir_core::{CandidateTexts, Reranker, Retriever, SearchError};

use super::{AnswerIndex, AnswerIndexError, with_context};

/// Answers that are ranked by a reranker, such as a cross-encoder.
pub type RerankedAnswers = Reranked<Arc<AnswerIndex>, Arc<dyn Reranker<Query = str>>>;

/// Parameters of [`AnswerReranking::rerank`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerReranking {
    /// Number of answers that are ranked by the reranker: the first ones of the index that pass the
    /// filter. A search for more answers has as many candidates as answers;
    /// [`Reranked::search_with_rest`] keeps to this number. Default: 20.
    pub depth: usize,
    /// If `true`, the reranker gets the answer with its context, `answer [SEP] context`; otherwise
    /// the answer alone. Default: false.
    pub with_context: bool,
}

impl Default for AnswerReranking {
    fn default() -> Self {
        Self {
            depth: 20,
            with_context: false,
        }
    }
}

impl AnswerReranking {
    /// Creates a retriever that ranks the first answers of an index by a reranker of question and
    /// answer. Documents have the numbers of the index. An answer has the score of the reranker,
    /// also if a question of it is asked verbatim.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use ir_core::{Candidate, Reranker, Retriever, Search, SearchError};
    /// use ir_qa::retrieval::{AnswerConfig, AnswerIndex, AnswerReranking};
    /// use ir_qa::{ChunkKind, Frame};
    ///
    /// /// Prefers short answers.
    /// struct Brevity;
    ///
    /// impl Reranker for Brevity {
    ///     type Query = str;
    ///     fn scores(
    ///         &self,
    ///         _: &str,
    ///         candidates: &[Candidate<'_>],
    ///     ) -> Result<Vec<Option<f32>>, SearchError> {
    ///         Ok(candidates.iter().map(|it| Some(-(it.text.len() as f32))).collect())
    ///     }
    /// }
    ///
    /// let frame = |id: &str, text: &str| Frame::new(id, "tea", ChunkKind::Content, text, 0, text);
    /// let frames = vec![
    ///     frame("f1", "Tea grows and tea is drunk.")?,
    ///     frame("f2", "Tea grows.")?,
    /// ];
    /// let index = Arc::new(AnswerIndex::lexical(frames, &AnswerConfig::default())?);
    /// let reranked = AnswerReranking::default().rerank(&index, Arc::new(Brevity))?;
    /// let ranking = reranked.search("Is tea drunk?", &Search::top(2))?;
    /// let answers = index.ranked_answers(&ranking);
    /// assert_eq!(answers[0].frame.id, "f2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`AnswerIndexError::Weight`] if the index has too many answers.
    pub fn rerank(
        &self,
        index: &Arc<AnswerIndex>,
        reranker: Arc<dyn Reranker<Query = str>>,
    ) -> Result<RerankedAnswers, AnswerIndexError> {
        let texts = AnswerTexts {
            index: Arc::clone(index),
            with_context: self.with_context,
        };
        let index = Arc::clone(index);
        let reranked = Reranked::with_texts(index, reranker, Arc::new(texts), self.depth);
        Ok(reranked?)
    }
}

/// Texts of answers by the ids of their frames.
struct AnswerTexts {
    index: Arc<AnswerIndex>,
    with_context: bool,
}

impl CandidateTexts for AnswerTexts {
    fn text(&self, id: &str) -> Result<Option<Cow<'_, str>>, SearchError> {
        let doc = self.index.ids().get(id);
        let frame = doc.and_then(|doc| self.index.frames().get(doc.index()));
        Ok(frame.map(|frame| {
            if self.with_context {
                with_context(frame)
            } else {
                Cow::Borrowed(&*frame.answer)
            }
        }))
    }

    fn contains(&self, id: &str) -> Result<bool, SearchError> {
        Ok(self.index.ids().get(id).is_some())
    }
}
