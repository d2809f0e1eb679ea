//! Natural Questions, in the simplified form.

use std::io::BufRead;
use std::ops::Range;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::builder::{ConvertedQuestions, RecordId, SquadBuilder};
use super::{Answer, Question};
use crate::error::{DataError, Location};
use crate::json::json_error;
use crate::lines::LineReader;

#[derive(Deserialize)]
struct Example {
    document_text: Option<String>,
    document_html: Option<IgnoredAny>,
    document_title: Option<String>,
    document_url: Option<String>,
    question_text: String,
    example_id: RecordId,
    #[serde(default)]
    annotations: Vec<Annotation>,
}

#[derive(Deserialize)]
struct Annotation {
    long_answer: TokenRange,
    #[serde(default)]
    short_answers: Vec<TokenRange>,
}

/// Tokens of the document; -1 if there are none.
#[derive(Deserialize)]
struct TokenRange {
    start_token: i64,
    end_token: i64,
}

impl TokenRange {
    fn range(&self, tokens: usize, at: Location<'_>) -> Result<Option<Range<usize>>, DataError> {
        let (start, end) = (self.start_token, self.end_token);
        if start < 0 && end < 0 {
            return Ok(None);
        }
        match (usize::try_from(start), usize::try_from(end)) {
            (Ok(start), Ok(end)) if start < end && end <= tokens => Ok(Some(start..end)),
            _ => Err(at.syntax(
                "start_token before end_token, within the tokens of document_text",
                &format!("{start} and {end} of {tokens} tokens"),
            )),
        }
    }
}

/// Reads Natural Questions in the simplified form, a JSON object per line: `document_text`, tokens
/// between spaces; `question_text`, `example_id`, and `annotations` with `long_answer` and
/// `short_answers` as `start_token` and `end_token`. `source` names the reader in errors.
///
/// The paragraphs are the long answers without tokens of HTML. A question is at the long answer
/// that most annotators chose, the first of equally frequent ones; its answers are the short
/// answers in this long answer. Questions without a long answer are left out. Titles are
/// `document_title`, or the title in `document_url`.
///
/// ```
/// use ir_data::squad::read_natural_questions;
/// let line = r#"{"document_text": "<P> Tea comes from Asia . </P> <P> Milk . </P>",
///     "document_url": "https://en.wikipedia.org//w/index.php?title=Tea&oldid=1",
///     "question_text": "where is tea from", "example_id": 7, "annotations": [{
///     "long_answer": {"start_token": 0, "end_token": 7},
///     "short_answers": [{"start_token": 4, "end_token": 5}]}]}"#.replace('\n', "");
/// let found = read_natural_questions(line.as_bytes(), "nq.jsonl")?.squad;
/// assert_eq!(found.documents()[0].text, "Tea comes from Asia .");
/// assert_eq!(found.answer_sentences().pairs.grade("7", "Tea/0/0"), Some(1));
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// The source cannot be read, a line does not have this structure or has `document_html` only, as
/// in the original form, a range is not within the tokens, or an id is not unique.
pub fn read_natural_questions(
    reader: impl BufRead,
    source: &str,
) -> Result<ConvertedQuestions, DataError> {
    let mut lines = LineReader::new(reader, source);
    let mut builder = SquadBuilder::default();
    while let Some(line) = lines.read()? {
        let at = Location::new(source, line.number);
        if line.text.trim().is_empty() {
            continue;
        }
        let example: Example =
            serde_json::from_str(line.text).map_err(|error| json_error(&error, at))?;
        add(&mut builder, &example, at)?;
    }
    Ok(builder.finish())
}

fn add(builder: &mut SquadBuilder, example: &Example, at: Location<'_>) -> Result<(), DataError> {
    let Some(text) = &example.document_text else {
        if example.document_html.is_some() {
            return Err(at.syntax(
                "document_text, as in the simplified form of Natural Questions",
                "document_html, as in the original form",
            ));
        }
        return Err(at.missing_field("document_text"));
    };
    let id = example.example_id.to_string();
    builder.check_id(&id, at)?;
    let tokens: Vec<&str> = text.split(' ').collect();
    let mut long_answers: Vec<(Range<usize>, usize)> = Vec::new();
    let mut short_answers = Vec::new();
    for annotation in &example.annotations {
        for answer in &annotation.short_answers {
            short_answers.extend(answer.range(tokens.len(), at)?);
        }
        let Some(range) = annotation.long_answer.range(tokens.len(), at)? else {
            continue;
        };
        match long_answers.iter_mut().find(|(known, _)| *known == range) {
            Some((_, count)) => *count += 1,
            None => long_answers.push((range, 1)),
        }
    }
    // `max_by_key` returns the last of equal elements.
    let chosen = long_answers.iter().rev().max_by_key(|(_, count)| *count);
    let passage = chosen.map(|(range, _)| Passage::new(&tokens, range.clone()));
    let paragraph = passage.as_ref().filter(|passage| !passage.text.is_empty());
    let answers = paragraph.map_or_else(Vec::new, |passage| {
        let answers = short_answers.iter();
        answers.filter_map(|range| passage.answer(range)).collect()
    });
    let at = paragraph.map(|passage| builder.add_paragraph(&title(example), &passage.text));
    let question = Question {
        id,
        text: example.question_text.clone(),
        answers,
    };
    builder.add_question(at, question);
    Ok(())
}

/// Title of the document, or of its URL: `title=` of the query, or the URL itself.
fn title(example: &Example) -> String {
    if let Some(title) = &example.document_title {
        return title.clone();
    }
    let url = example.document_url.as_deref().unwrap_or_default();
    let title = url
        .split(['?', '&'])
        .find_map(|part| part.strip_prefix("title="));
    title.unwrap_or(url).to_owned()
}

/// Tokens without HTML, joined by spaces.
struct Passage {
    range: Range<usize>,
    text: String,
    /// Index of a token and its bytes in the text.
    tokens: Vec<(usize, Range<usize>)>,
}

impl Passage {
    fn new(document: &[&str], range: Range<usize>) -> Self {
        let (mut text, mut tokens) = (String::new(), Vec::new());
        for (index, token) in range.clone().zip(&document[range.clone()]) {
            let is_html = token.starts_with('<') && token.ends_with('>');
            if is_html || token.is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push(' ');
            }
            let start = text.len();
            text.push_str(token);
            tokens.push((index, start..text.len()));
        }
        Self {
            range,
            text,
            tokens,
        }
    }

    /// Span of a short answer in the passage.
    fn answer(&self, range: &Range<usize>) -> Option<Answer> {
        if range.start < self.range.start || range.end > self.range.end {
            return None;
        }
        let mut tokens = self
            .tokens
            .iter()
            .filter(|(index, _)| range.contains(index));
        let (_, first) = tokens.next()?;
        let last = tokens.next_back().map_or(first, |(_, last)| last);
        Some(Answer {
            text: self.text[first.start..last.end].to_owned(),
            start: self.text[..first.start].chars().count(),
        })
    }
}
