//! SQuAD 1.1: questions about paragraphs of Wikipedia with answer spans.
//!
//! The file is a JSON object: `data` is an array of articles with `title` and `paragraphs`; a
//! paragraph has its text in `context` and its questions in `qas`; a question has `id`, `question`
//! and `answers`, each with `text` and `answer_start`.
//!
//! - `answer_start` is an offset in characters (code points), not bytes. Every answer is checked
//!   against the context.
//! - Sentence boundaries are not part of the data.
//! - As a test collection ([`Squad::documents`], [`Squad::queries`], [`Squad::qrels`]) a paragraph
//!   is a document, relevant to the questions about it. Its id is the article's title, `/` and the
//!   paragraph's index from 0.
//! - [`Squad::answer_sentences`] is a test collection of sentences.
//!
//! Files of Natural Questions, MS MARCO QA and TriviaQA are converted to the same paragraphs,
//! questions and answer spans ([`QuestionFormat`]):
//!
//! - [Natural Questions](read_natural_questions), simplified JSON lines: paragraphs are the long
//!   answers, answers the short ones.
//! - [MS MARCO QA](read_ms_marco_qa), JSON lines (v1.1) or JSON of columns (v2.1): paragraphs are
//!   the passages, answers are found in them.
//! - [TriviaQA](read_trivia_qa), JSON with a folder of evidence: paragraphs are the lines of the
//!   evidence, answers are the aliases, found in them.

mod builder;
mod file;
mod ms_marco;
mod natural_questions;
mod sentences;
mod trivia_qa;

use std::collections::BTreeMap;
use std::io::BufRead;

use ir_core::{Document, Qrels, Query};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location};
use crate::json::{JsonLineNumbers, json_error};
use crate::lines::read_all;
use ir_core::excerpt;

pub use builder::ConvertedQuestions;
pub use file::{QuestionFormat, SquadFile};
pub use ms_marco::read_ms_marco_qa;
pub use natural_questions::read_natural_questions;
pub use sentences::{AnswerSentences, SquadSentences};
pub use trivia_qa::read_trivia_qa;

/// Articles of a SQuAD file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Squad {
    /// Articles in file order.
    #[serde(rename = "data")]
    pub articles: Vec<Article>,
}

/// Wikipedia article with its paragraphs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Article {
    /// Title with `_` for spaces.
    pub title: String,
    /// Paragraphs in the order of the article.
    pub paragraphs: Vec<Paragraph>,
}

/// Paragraph with the questions about it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Paragraph {
    /// Text of the paragraph.
    pub context: String,
    /// Questions about the paragraph.
    #[serde(rename = "qas")]
    pub questions: Vec<Question>,
}

/// Question with its answers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Question {
    /// Id, unique in the file.
    pub id: String,
    /// Text of the question.
    #[serde(rename = "question")]
    pub text: String,
    /// Answers of the annotators; several may be equal.
    pub answers: Vec<Answer>,
}

/// Span of the paragraph that answers the question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Answer {
    /// Text of the span.
    pub text: String,
    /// Start of the span in characters.
    #[serde(rename = "answer_start")]
    pub start: usize,
}

impl Squad {
    /// Reads a file; `source` names the reader in errors.
    ///
    /// ```
    /// let text = r#"{"version": "1.1", "data": [{"title": "Tea", "paragraphs": [
    ///     {"context": "Tea is grün.", "qas": [{"id": "q1", "question": "What is tea?",
    ///      "answers": [{"text": "grün", "answer_start": 7}]}]}]}]}"#;
    /// let squad = ir_data::squad::Squad::read(text.as_bytes(), "dev.json")?;
    /// assert_eq!(squad.qrels().grade("q1", "Tea/0"), Some(1));
    /// # Ok::<(), ir_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// The source cannot be read or does not have this structure, a question id is not unique, or
    /// an answer does not occur at its offset.
    pub fn read(reader: impl BufRead, source: &str) -> Result<Self, DataError> {
        let text = read_all(reader, source)?;
        let squad: Self =
            serde_json::from_str(&text).map_err(|e| json_error(&e, Location::new(source, 1)))?;
        let mut seen = DuplicateFinder::default();
        let paragraphs = squad.articles.iter().flat_map(|a| &a.paragraphs);
        let questions = paragraphs.flat_map(|p| p.questions.iter().map(move |q| (p, q)));
        for (n, (paragraph, question)) in (0..).zip(questions) {
            if let Some(first) = seen.add(&[&question.id], n) {
                return Err(DataError::RepeatedId {
                    path: source.to_owned(),
                    line: line_of(&text, n),
                    id: question.id.clone(),
                    first: line_of(&text, first),
                });
            }
            for answer in &question.answers {
                let start = paragraph.context.char_indices().nth(answer.start);
                let there =
                    start.is_some_and(|(at, _)| paragraph.context[at..].starts_with(&answer.text));
                if !there {
                    return Err(DataError::Syntax {
                        path: source.to_owned(),
                        line: line_of(&text, n),
                        expected: "each answer at its offset in the context",
                        found: format!("{}: {}", question.id, excerpt(&answer.text)),
                    });
                }
            }
        }
        Ok(squad)
    }

    /// Paragraphs with their ids.
    fn paragraphs(&self) -> impl Iterator<Item = (String, &Article, &Paragraph)> {
        // An article may be split into several entries: indices continue.
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        self.articles.iter().flat_map(move |article| {
            let first = counts.entry(&article.title).or_default();
            let from = *first;
            *first += article.paragraphs.len();
            (from..)
                .zip(&article.paragraphs)
                .map(move |(n, paragraph)| (format!("{}/{n}", article.title), article, paragraph))
        })
    }

    /// Paragraphs as documents with the title of the article, `_` replaced by spaces.
    #[must_use]
    pub fn documents(&self) -> Vec<Document> {
        self.paragraphs()
            .map(|(id, article, paragraph)| {
                Document::new(id)
                    .with_title(article.title.replace('_', " "))
                    .with_text(paragraph.context.as_str())
            })
            .collect()
    }

    /// Questions as queries with the question's id.
    #[must_use]
    pub fn queries(&self) -> Vec<Query> {
        self.paragraphs()
            .flat_map(|(_, _, paragraph)| &paragraph.questions)
            .map(|question| Query::new(question.id.as_str(), question.text.as_str()))
            .collect()
    }

    /// Judgments: grade 1 for the paragraph of a question.
    #[must_use]
    pub fn qrels(&self) -> Qrels {
        let mut qrels = Qrels::new();
        for (id, _, paragraph) in self.paragraphs() {
            for question in &paragraph.questions {
                qrels.insert(&question.id, &id, 1);
            }
        }
        qrels
    }
}

/// Line of the n-th question. Parses the text again, for error messages only.
fn line_of(text: &str, n: u64) -> u64 {
    /// Items of an array in a field of an object.
    fn items<'a>(object: &'a RawValue, field: &str) -> Vec<&'a RawValue> {
        let members = serde_json::from_str::<BTreeMap<String, &RawValue>>(object.get());
        let list = members.ok().and_then(|mut members| members.remove(field));
        let items = list.and_then(|list| serde_json::from_str(list.get()).ok());
        items.unwrap_or_default()
    }
    let file = serde_json::from_str::<&RawValue>(text).ok().into_iter();
    let articles = file.flat_map(|file| items(file, "data"));
    let paragraphs = articles.flat_map(|article| items(article, "paragraphs"));
    let mut questions = paragraphs.flat_map(|paragraph| items(paragraph, "qas"));
    let question = questions.nth(n as usize);
    question.map_or(1, |question| JsonLineNumbers::new(text).line(question))
}
