//! Answer retrieval: the answer sentences for a question.
//!
//! [`AnswerIndex`] ranks the answers of frames by y = cos(h, q) + α·BM25(a, q): h is the vector of
//! an answer or of one of its questions, and an answer has the score of its best vector (Zhao and
//! Lee, "Talk to Papers", ACL 2020, equation 2). BM25 is the score of the answer with the
//! questions of annotators, plus the score of its context, which the equation does not have: on
//! SQuAD, R@5 with all-MiniLM-L6-v2 is 87.5 with contexts and 83.6 without (the experiment
//! `minilm-squad-sentences`). Without an encoder, answers are ranked by BM25 alone.

mod distinct_sentences;
mod error;
mod function_words;
mod index;
mod length;
mod near_questions;
mod reranking;
mod scripts;
#[cfg(test)]
mod tests;
mod verbatim;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use ir_core::Retriever;
use ir_knn::VectorError;

pub use error::AnswerIndexError;
pub use function_words::FunctionWords;
pub use index::AnswerIndex;
pub use reranking::{AnswerReranking, RerankedAnswers};
pub use scripts::ScriptAnalyzer;

use crate::frame::{Frame, FrameQuestion};

/// Parameters of an [`AnswerIndex`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AnswerConfig {
    /// α: weight of BM25 beside the cosine; 0 ranks by the cosine alone. Without
    /// effect if there is no encoder. Range: 0 or above, finite. Default: 0.05, selected by
    /// cross-validation on SQuAD with all-MiniLM-L6-v2 (the experiment `minilm-squad-sentences`).
    pub alpha: f32,
    /// Weight of BM25 of the context beside BM25 of the answer; 0 leaves out the contexts. Range: 0
    /// or 1e-9..=1e9. Default: 1, about as selected by cross-validation on SQuAD (the experiment
    /// `squad-sentences`).
    pub context_weight: f32,
    /// If `true`, the encoder gets the answer with its context, `answer [SEP] context`; otherwise
    /// the answer alone. For encoders that were trained on such texts, as in the experiment
    /// `dual-encoder-squad-sentences`. Default: false.
    pub encodes_context: bool,
    /// Function words of the question, which BM25 leaves out; words between quotation marks score.
    /// Default: English.
    pub function_words: FunctionWords,
    /// Exponent p of the length of the question: with an encoder, BM25 of a question of n scoring
    /// terms is multiplied by (6 / n)^p, because BM25 is a sum over the terms, and the cosine is
    /// not. Range: 0..=2. Default: 0, the same α for all questions.
    pub length_exponent: f32,
    /// Minimum similarity of a question of an annotator to the query for which its answer comes
    /// first: the Jaccard index of their content words. Interrogatives, negations and numbers must
    /// be equal. Without effect if there is an encoder. Range: above 0, at most 1; `None`: only the
    /// question itself. Default: 0.8.
    pub near_questions: Option<f32>,
    /// If `true`, a sentence that is repeated in a paper, up to case and punctuation, is an answer
    /// once: where it scores highest. Default: true.
    pub distinct_sentences: bool,
}

impl Default for AnswerConfig {
    fn default() -> Self {
        Self {
            alpha: 0.05,
            context_weight: 1.0,
            encodes_context: false,
            function_words: FunctionWords::default(),
            length_exponent: 0.0,
            near_questions: Some(0.8),
            distinct_sentences: true,
        }
    }
}

impl AnswerConfig {
    /// Checks the ranges of the parameters that the index does not check.
    fn check(&self) -> Result<(), AnswerIndexError> {
        let out_of_range = |name, expected, found| AnswerIndexError::Parameter {
            name,
            expected,
            found,
        };
        if !(0.0..=2.0).contains(&self.length_exponent) {
            let found = self.length_exponent;
            return Err(out_of_range("length_exponent", "0..=2", found));
        }
        match self.near_questions {
            Some(found) if !(found > 0.0 && found <= 1.0) => Err(out_of_range(
                "near_questions",
                "a number above 0, at most 1",
                found,
            )),
            _ => Ok(()),
        }
    }

    /// The text of a frame that is encoded: the answer or, with
    /// [`AnswerConfig::encodes_context`], `answer [SEP] context`. The answer comes first, so that
    /// answers of one paragraph differ, and a long context is truncated.
    #[must_use]
    pub fn encoded_text<'f>(&self, frame: &'f Frame) -> Cow<'f, str> {
        if self.encodes_context {
            with_context(frame)
        } else {
            frame.answer.as_str().into()
        }
    }
}

/// Text of an answer with its context.
fn with_context(frame: &Frame) -> Cow<'_, str> {
    format!("{} [SEP] {}", frame.answer, frame.context).into()
}

/// Vectors of frames, for [`AnswerIndex::with_vectors`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrameVectors {
    /// Vectors of [`AnswerConfig::encoded_text`] of the frames, row-major `[frames, dim]`.
    pub answers: Vec<f32>,
    /// Vectors of all questions of the first frame, then of the second one, and so on, row-major
    /// `[questions, dim]`.
    pub questions: Vec<f32>,
    /// Rows without a vector, such as of texts that are still to be encoded: rows of `answers`,
    /// and rows of `questions` plus the number of frames. Their values are ignored.
    pub missing: HashSet<usize>,
}

impl FrameVectors {
    /// Checks the numbers of vectors.
    fn check(&self, frames: &[Frame], dim: usize) -> Result<(), AnswerIndexError> {
        let questions: usize = frames.iter().map(|frame| frame.questions.len()).sum();
        for (documents, found) in [
            (frames.len(), self.answers.len()),
            (questions, self.questions.len()),
        ] {
            if documents * dim != found {
                return Err(AnswerIndexError::Vectors(VectorError::Values {
                    documents,
                    dim,
                    found,
                }));
            }
        }
        Ok(())
    }

    /// Vector of a row: of an answer or, after all answers, of a question.
    fn row(&self, row: usize, dim: usize) -> &[f32] {
        let answers = self.answers.len() / dim.max(1);
        match row.checked_sub(answers) {
            None => &self.answers[row * dim..][..dim],
            Some(question) => &self.questions[question * dim..][..dim],
        }
    }
}

/// Answer to a question.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Answer<'a> {
    /// The answer with its context.
    pub frame: &'a Frame,
    /// y of the answer; higher is better.
    pub score: f32,
}

/// Question of a frame that resembles a question.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RelatedQuestion<'a> {
    /// The question; it is displayable or generated.
    pub question: &'a FrameQuestion,
    /// The frame that answers it.
    pub frame: &'a Frame,
    /// As [`Answer::score`], of the question instead of the answer.
    pub score: f32,
}

impl RelatedQuestion<'_> {
    /// Returns `true` if the question equals another up to case, punctuation and white space.
    ///
    /// ```
    /// use ir_core::Search;
    /// use ir_qa::retrieval::{AnswerConfig, AnswerIndex};
    /// use ir_qa::{ChunkKind, Frame, FrameQuestion};
    ///
    /// let sentence = "Tea grows in Asia.";
    /// let mut frame = Frame::new("f1", "tea", ChunkKind::Content, sentence, 0, sentence)?;
    /// frame.questions.push(FrameQuestion::new("Where does tea grow?"));
    /// let index = AnswerIndex::lexical(vec![frame], &AnswerConfig::default())?;
    /// let related = index.related_questions("where does tea grow", &Search::top(1))?;
    /// assert!(related[0].is_same_question("where does tea grow"));
    /// assert!(!related[0].is_same_question("Where does coffee grow?"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_same_question(&self, asked: &str) -> bool {
        letters(&self.question.text).eq(letters(asked))
    }

    /// Keeps the first `k` questions that differ from the one that was asked and from each other
    /// ([`RelatedQuestion::is_same_question`]).
    ///
    /// ```
    /// use ir_core::Search;
    /// use ir_qa::retrieval::{AnswerConfig, AnswerIndex, RelatedQuestion};
    /// use ir_qa::{ChunkKind, Frame, FrameQuestion};
    ///
    /// let sentence = "Tea grows in Asia.";
    /// let mut frame = Frame::new("f1", "tea", ChunkKind::Content, sentence, 0, sentence)?;
    /// for question in ["Where does tea grow?", "What grows in Asia?", "what grows in asia"] {
    ///     frame.questions.push(FrameQuestion::new(question));
    /// }
    /// let index = AnswerIndex::lexical(vec![frame], &AnswerConfig::default())?;
    /// let asked = "Where does tea grow";
    /// let mut related = index.related_questions("Does tea grow in Asia?", &Search::top(8))?;
    /// RelatedQuestion::retain_distinct(&mut related, asked, 3);
    /// assert_eq!(related.len(), 1);
    /// assert!(related[0].is_same_question("What grows in Asia?"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn retain_distinct(related: &mut Vec<Self>, asked: &str, k: usize) {
        let mut known: HashSet<String> = HashSet::from([letters(asked).collect()]);
        related.retain(|one| known.insert(letters(&one.question.text).collect()));
        related.truncate(k);
    }
}

/// The letters and digits of a text, in lowercase.
fn letters(text: &str) -> impl Iterator<Item = char> + '_ {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase)
}

/// Retriever of texts by text.
type TextRetriever = Arc<dyn Retriever<Query = str>>;
