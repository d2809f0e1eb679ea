//! Answers in the text around them, and explanations of their scores.

use std::ops::Range;
use std::sync::LazyLock;

use ir_bm25::analysis::{Analysis, AnalysisPipeline, Highlighter};
use ir_core::{Explanation, MatchedText};
use ir_qa::highlight::{matching_words, segments, segments_of, to_html};
use maud::{Markup, html};

use crate::published::{AnswerPosition, PublishedDocument};
use crate::service::ScoredAnswer;

/// Bytes of the sentences on each side of an answer.
const CONTEXT: usize = 300;

/// Analysis of matching words: the analysis of the answers.
#[expect(clippy::expect_used, reason = "the analysis is a preset")]
static ANALYSIS: LazyLock<AnalysisPipeline> =
    LazyLock::new(|| Analysis::default().build().expect("presets are valid"));

/// Analysis of the words that are marked.
pub(super) fn analysis() -> &'static AnalysisPipeline {
    &ANALYSIS
}

/// Sentences around an answer, and further answers of its paragraph.
#[derive(Debug)]
pub(super) struct Excerpt<'a> {
    answer: &'a ScoredAnswer,
    /// `None` if the document was published anew meanwhile.
    text: Option<ExcerptText<'a>>,
    /// Heading above the answer.
    pub(super) section: Option<&'a str>,
}

#[derive(Debug)]
struct ExcerptText<'a> {
    chunk: &'a str,
    /// Bytes of the excerpt in the chunk.
    range: Range<usize>,
    /// Bytes of the answers in the chunk, in ascending order, with the words that a model matched.
    answers: Vec<(Range<usize>, Option<&'a MatchedText>)>,
}

impl<'a> Excerpt<'a> {
    /// The sentences of the answer's chunk around it and around `others`, further answers of the
    /// chunk.
    pub(super) fn new(
        document: Option<&'a PublishedDocument>,
        answer: &'a ScoredAnswer,
        others: &[&'a ScoredAnswer],
    ) -> Self {
        let id = &answer.frame.id;
        let place = document.and_then(|document| Some((document, document.answer(id)?)));
        let text = place.and_then(|(document, place)| {
            let text = document.chunks.get(place.chunk)?.text.as_deref()?;
            let mut range = around(document, place);
            let mut answers = vec![(place.range.clone(), answer.matched.as_ref())];
            for position in &document.answers {
                let other = others.iter().find(|it| it.frame.id == position.frame);
                if let Some(other) = other.filter(|_| position.chunk == place.chunk) {
                    let around = around(document, position);
                    range = range.start.min(around.start)..range.end.max(around.end);
                    answers.push((position.range.clone(), other.matched.as_ref()));
                }
            }
            answers.sort_by_key(|(answer, _)| answer.start);
            Some(ExcerptText {
                chunk: text,
                range,
                answers,
            })
        });
        Self {
            answer,
            text,
            section: place.and_then(|(document, place)| document.section(place.chunk)),
        }
    }

    /// HTML with the answer marked, and the words of a question, or in answers the words that a
    /// model matched.
    pub(super) fn html(&self, analysis: &AnalysisPipeline, question: &str) -> String {
        let words = Highlighter::new(analysis, question);
        let Some(ExcerptText {
            chunk: text,
            range,
            answers,
        }) = &self.text
        else {
            let (frame, matched) = (&self.answer.frame, self.answer.matched.as_ref());
            return to_html(&segments(frame, &words, matched));
        };
        let excerpt = &text[range.clone()];
        let (mut of_excerpt, mut read) = (Vec::new(), Vec::new());
        for (answer, matched) in answers {
            let answer = answer.start - range.start..answer.end - range.start;
            read.extend(matched.map(|matched| (answer.clone(), matched)));
            of_excerpt.push(answer);
        }
        let words = matching_words(excerpt, &words, &read);
        let mut html = to_html(&segments_of(excerpt, &of_excerpt, &words));
        if range.start > 0 {
            html.insert_str(0, "… ");
        }
        if range.end < text.len() {
            html.push_str(" …");
        }
        html
    }
}

/// Bytes from the first to the last sentence within [`CONTEXT`] of an answer in its chunk.
fn around(document: &PublishedDocument, place: &AnswerPosition) -> Range<usize> {
    let mut range = place.range.clone();
    for other in &document.answers {
        if other.chunk == place.chunk {
            let other = &other.range;
            if other.start < range.start && place.range.start - other.start <= CONTEXT {
                range.start = other.start;
            }
            if other.end > range.end && other.end - place.range.end <= CONTEXT {
                range.end = other.end;
            }
        }
    }
    range
}

/// Nested lists of the values that a score is computed from.
pub(super) fn explanation(node: &Explanation) -> Markup {
    html! {
        ul.explanation { (explanation_item(node, 0)) }
    }
}

/// Levels of an explanation that are shown.
const DEPTH: usize = 12;

fn explanation_item(node: &Explanation, depth: usize) -> Markup {
    html! {
        li {
            span.value { (format!("{:.4}", node.value)) } " " (node.description)
            @if !node.details.is_empty() && depth < DEPTH {
                ul { @for detail in &node.details { (explanation_item(detail, depth + 1)) } }
            }
        }
    }
}
