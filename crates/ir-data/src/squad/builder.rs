//! Conversion of question-answering datasets to paragraphs, questions and answer spans.

use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;

use super::{Answer, Article, Paragraph, Question, Squad};
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location};

/// Questions of a dataset with another format than SQuAD, in the structure of SQuAD.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConvertedQuestions {
    /// Paragraphs with their questions. Equal paragraphs of an article are one paragraph.
    pub squad: Squad,
    /// Number of questions that are left out because no paragraph answers them.
    pub unanswered: u64,
}

/// Id of a record: a number or a string.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum RecordId {
    Number(i64),
    Text(String),
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            // Ids of queries and documents have no white space.
            Self::Text(text) => f.write_str(&without_spaces(text)),
        }
    }
}

/// Position of a paragraph: indices of the article and of the paragraph in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ParagraphIndex {
    article: usize,
    paragraph: usize,
}

/// Collector of paragraphs and questions.
#[derive(Default)]
pub(super) struct SquadBuilder {
    articles: Vec<Article>,
    titles: HashMap<String, usize>,
    contexts: HashMap<(usize, String), ParagraphIndex>,
    ids: DuplicateFinder,
    unanswered: u64,
}

impl SquadBuilder {
    /// Checks that the id of a question is unique.
    pub(super) fn check_id(&mut self, id: &str, at: Location<'_>) -> Result<(), DataError> {
        self.ids.add_id(id, at)
    }

    /// Adds a paragraph to the article with the title, unless the article has it. `_` replaces
    /// white space of titles, as in SQuAD.
    pub(super) fn add_paragraph(&mut self, title: &str, context: &str) -> ParagraphIndex {
        let title = match without_spaces(title) {
            title if title.is_empty() => "untitled".to_owned(),
            title => title,
        };
        let article = *self.titles.entry(title).or_insert_with_key(|title| {
            self.articles.push(Article {
                title: title.clone(),
                paragraphs: Vec::new(),
            });
            self.articles.len() - 1
        });
        let paragraphs = &mut self.articles[article].paragraphs;
        let known = self.contexts.entry((article, context.to_owned()));
        *known.or_insert_with(|| {
            paragraphs.push(Paragraph {
                context: context.to_owned(),
                questions: Vec::new(),
            });
            ParagraphIndex {
                article,
                paragraph: paragraphs.len() - 1,
            }
        })
    }

    pub(super) fn context(&self, at: ParagraphIndex) -> &str {
        &self.articles[at.article].paragraphs[at.paragraph].context
    }

    /// Adds a question to a paragraph; without a paragraph, counts it.
    pub(super) fn add_question(&mut self, at: Option<ParagraphIndex>, question: Question) {
        match at {
            Some(at) => {
                let paragraph = &mut self.articles[at.article].paragraphs[at.paragraph];
                paragraph.questions.push(question);
            }
            None => self.unanswered += 1,
        }
    }

    pub(super) fn finish(self) -> ConvertedQuestions {
        ConvertedQuestions {
            squad: Squad {
                articles: self.articles,
            },
            unanswered: self.unanswered,
        }
    }
}

fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join("_")
}

/// First occurrence of each answer in a context, without regard to case. An answer that begins or
/// ends with a letter or digit occurs as whole words only.
pub(super) fn find_answers<'a>(
    context: &str,
    answers: impl IntoIterator<Item = &'a str>,
) -> Vec<Answer> {
    let folded = fold(context);
    let found = answers.into_iter().filter_map(|answer| {
        let answer = fold(answer.trim());
        let start = folded[..position(&folded, &answer)?].chars().count();
        let text = context.chars().skip(start).take(answer.chars().count());
        Some(Answer {
            text: text.collect(),
            start,
        })
    });
    found.collect()
}

/// Lower case, character by character, so that positions of characters stay the same.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let folded = text.chars().map(|c| {
        let mut lower = c.to_lowercase();
        let first = lower.next().unwrap_or(c);
        if lower.next().is_some() { c } else { first }
    });
    folded.collect()
}

/// Byte position of an answer in a text, both folded.
fn position(text: &str, answer: &str) -> Option<usize> {
    let first = answer.chars().next()?;
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut from = 0;
    loop {
        let start = from + text[from..].find(answer)?;
        let end = start + answer.len();
        let before = text[..start].chars().next_back();
        let after = text[end..].chars().next();
        let is_part = is_word(Some(first)) && is_word(before)
            || is_word(answer.chars().next_back()) && is_word(after);
        if !is_part {
            return Some(start);
        }
        from = start + first.len_utf8();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_whole_words() {
        let find = |answer: &str| {
            let found = find_answers("Größer teas; Tea is old.", [answer]);
            found
                .first()
                .map(|answer| (answer.start, answer.text.clone()))
        };
        assert_eq!(find("tea"), Some((13, "Tea".to_owned())));
        assert_eq!(find(" GRÖßER "), Some((0, "Größer".to_owned())));
        assert_eq!(find("old."), Some((20, "old.".to_owned())));
        for absent in ["te", "", "milk", "Tea is old. It is hot."] {
            assert_eq!(find(absent), None, "{absent}");
        }
        // An occurrence that is no whole word overlaps the first one that is.
        let found = find_answers("xa a a, İ İK", ["A a", "i", "İ", "İk"]);
        let found: Vec<(usize, &str)> = found.iter().map(|it| (it.start, &*it.text)).collect();
        assert_eq!(found, [(3, "a a"), (8, "İ"), (10, "İK")]);
    }

    #[test]
    fn equal_paragraphs_are_one() {
        let mut builder = SquadBuilder::default();
        let first = builder.add_paragraph("On tea", "Tea is old.");
        assert_eq!(builder.add_paragraph("On  tea", "Tea is old."), first);
        assert_ne!(builder.add_paragraph("", "Tea is old."), first);
        let found = builder.finish().squad;
        let titles: Vec<&str> = found.articles.iter().map(|it| &*it.title).collect();
        assert_eq!(titles, ["On_tea", "untitled"]);
    }
}
