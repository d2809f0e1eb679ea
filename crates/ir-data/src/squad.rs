//! SQuAD, version 1.1: questions on paragraphs of Wikipedia, with their answers' places.
//!
//! One JSON object: `data` is a list of articles with `title` and `paragraphs`; a paragraph has its
//! text in `context` and its questions in `qas`; a question has `id`, `question` and `answers`,
//! each with `text` and `answer_start`.
//!
//! - `answer_start` counts characters (code points), not bytes; every one is checked against the
//!   context.
//! - The boundaries of sentences are not part of the data.
//! - As a test collection ([`Squad::documents`], [`Squad::queries`], [`Squad::qrels`]) a paragraph
//!   is a document, called by its article's title, `/` and its place from 0, and is relevant to
//!   the questions on it.

use std::collections::BTreeMap;
use std::io::BufRead;

use ir_core::{Document, Qrels, Query};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::DataError;
use crate::error::excerpt;
use crate::lines::whole;
use crate::record::{LinesOf, json_error};
use crate::seen::Seen;

/// The whole file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Squad {
    /// The articles, in the order of the file.
    #[serde(rename = "data")]
    pub articles: Vec<Article>,
}

/// One article.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Article {
    /// Its title, with `_` for blanks.
    pub title: String,
    /// Its paragraphs, in their order.
    pub paragraphs: Vec<Paragraph>,
}

/// One paragraph and the questions on it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Paragraph {
    /// Its text.
    pub context: String,
    /// The questions.
    #[serde(rename = "qas")]
    pub questions: Vec<Question>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Question {
    /// Its id, unique in the file.
    pub id: String,
    /// What is asked.
    #[serde(rename = "question")]
    pub text: String,
    /// The answers that annotators gave; several may be the same.
    pub answers: Vec<Answer>,
}

/// A part of the paragraph that answers the question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Answer {
    /// The words.
    pub text: String,
    /// Where they begin in the paragraph, in characters.
    #[serde(rename = "answer_start")]
    pub start: usize,
}

impl Squad {
    /// Reads a file; `source` names it in errors.
    ///
    /// ```
    /// let text = r#"{"version": "1.1", "data": [{"title": "Tea", "paragraphs": [{"context": "Tea is grün.",
    ///     "qas": [{"id": "q1", "question": "What is tea?", "answers": [{"text": "grün", "answer_start": 7}]}]}]}]}"#;
    /// let squad = ir_data::squad::Squad::read(text.as_bytes(), "dev.json")?;
    /// assert_eq!(squad.qrels().grade("q1", "Tea/0"), Some(1));
    /// # Ok::<(), ir_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// When the source cannot be read, is not such an object, has a question's id twice, or an
    /// answer that does not stand where it should.
    pub fn read(reader: impl BufRead, source: &str) -> Result<Self, DataError> {
        let text = whole(reader, source)?;
        let squad: Self =
            serde_json::from_str(&text).map_err(|error| json_error(&error, source, 1))?;
        let mut seen = Seen::default();
        let paragraphs = squad.articles.iter().flat_map(|a| &a.paragraphs);
        let questions = paragraphs.flat_map(|p| p.questions.iter().map(move |q| (p, q)));
        for (n, (paragraph, question)) in (0..).zip(questions) {
            if let Some(first) = seen.note(&[&question.id], n) {
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
                        expected: "each answer at its place in the context",
                        found: format!("{}: {}", question.id, excerpt(&answer.text)),
                    });
                }
            }
        }
        Ok(squad)
    }

    /// The paragraphs with their ids.
    fn paragraphs(&self) -> impl Iterator<Item = (String, &Article, &Paragraph)> {
        // An article may stand there in parts: places go on.
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        self.articles.iter().flat_map(move |article| {
            let first = places.entry(&article.title).or_default();
            let from = *first;
            *first += article.paragraphs.len();
            (from..)
                .zip(&article.paragraphs)
                .map(move |(n, paragraph)| (format!("{}/{n}", article.title), article, paragraph))
        })
    }

    /// The paragraphs as documents, titled as their articles with blanks for `_`.
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

    /// The questions as queries.
    #[must_use]
    pub fn queries(&self) -> Vec<Query> {
        self.paragraphs()
            .flat_map(|(_, _, paragraph)| &paragraph.questions)
            .map(|question| Query::new(question.id.as_str(), question.text.as_str()))
            .collect()
    }

    /// Grade 1 for the paragraph that a question is on.
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

/// The line on which the n-th question begins. The text is read again: this is for errors.
fn line_of(text: &str, n: u64) -> u64 {
    #[derive(Deserialize)]
    struct File<'a> {
        #[serde(borrow)]
        data: Vec<Article<'a>>,
    }
    #[derive(Deserialize)]
    struct Article<'a> {
        #[serde(borrow)]
        paragraphs: Vec<Paragraph<'a>>,
    }
    #[derive(Deserialize)]
    struct Paragraph<'a> {
        #[serde(borrow)]
        qas: Vec<&'a RawValue>,
    }
    let Ok(file) = serde_json::from_str::<File<'_>>(text) else {
        return 1;
    };
    let paragraphs = file.data.into_iter().flat_map(|article| article.paragraphs);
    let mut questions = paragraphs.flat_map(|paragraph| paragraph.qas);
    let question = questions.nth(n as usize);
    question.map_or(1, |question| LinesOf::new(text).line(question))
}
