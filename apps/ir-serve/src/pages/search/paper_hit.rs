//! Answers of a page grouped by paper.

use std::collections::HashMap;

use ir_qa::Frame;
use maud::{Markup, PreEscaped, html};

use super::{SearchForm, count};
use crate::pages::excerpt::{Excerpt, contributions, explanation};
use crate::pages::papers::citation_links;
use crate::published::PublishedState;
use crate::service::ScoredAnswer;
use crate::urls::{sentence_url, url};

/// Answers of a paragraph, which is shown once.
pub(super) struct ParagraphAnswers<'a> {
    /// Position of the best answer among the answers of the page.
    pub(super) first: usize,
    best: &'a ScoredAnswer,
    /// Further answers, the best first.
    others: Vec<&'a ScoredAnswer>,
}

/// Groups answers by paragraph, in the order of the best ones.
pub(super) fn paragraphs<'a>(
    state: &PublishedState,
    answers: &'a [ScoredAnswer],
) -> Vec<ParagraphAnswers<'a>> {
    let mut paragraphs: Vec<ParagraphAnswers<'a>> = Vec::new();
    let mut known: HashMap<(&str, usize), usize> = HashMap::new();
    for (first, answer) in answers.iter().enumerate() {
        let paper = answer.frame.paper.as_str();
        let chunk = state
            .document(paper)
            .and_then(|document| document.answer(&answer.frame.id))
            .map(|place| place.chunk);
        let place = chunk.and_then(|chunk| known.get(&(paper, chunk)));
        if let Some(&place) = place {
            paragraphs[place].others.push(answer);
            continue;
        }
        if let Some(chunk) = chunk {
            known.insert((paper, chunk), paragraphs.len());
        }
        paragraphs.push(ParagraphAnswers {
            first,
            best: answer,
            others: Vec::new(),
        });
    }
    paragraphs
}

/// Answers of a paper.
pub(super) struct PaperAnswers<'a> {
    /// Paragraph with the best answer.
    pub(super) best: ParagraphAnswers<'a>,
    /// Further paragraphs, the best first.
    others: Vec<ParagraphAnswers<'a>>,
}

/// Groups paragraphs by paper, in the order of the best ones.
pub(super) fn papers(paragraphs: Vec<ParagraphAnswers<'_>>) -> Vec<PaperAnswers<'_>> {
    let mut papers: Vec<PaperAnswers<'_>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for paragraph in paragraphs {
        let paper = paragraph.best.frame.paper.as_str();
        match known.get(paper) {
            Some(&position) => papers[position].others.push(paragraph),
            None => {
                known.insert(paper, papers.len());
                papers.push(PaperAnswers {
                    best: paragraph,
                    others: Vec::new(),
                });
            }
        }
    }
    papers
}

/// A paper with its answers on the page of search.
pub(super) struct PaperHit<'a> {
    pub(super) form: &'a SearchForm,
    pub(super) state: &'a PublishedState,
    pub(super) paper: &'a PaperAnswers<'a>,
    /// Rank of the first answer of the page.
    pub(super) first_rank: usize,
    /// Number of the query in the log.
    pub(super) query: &'a str,
}

impl PaperHit<'_> {
    pub(super) fn markup(&self) -> Markup {
        let best = &self.paper.best;
        let id = best.best.frame.paper.as_str();
        let document = self.state.document(id);
        let title = document.map_or(id, |document| document.title());
        let citation = document
            .map(|document| document.citation())
            .unwrap_or_default();
        let rank = self.first_rank + best.first;
        let others = self.paper.others.iter();
        let more: usize = others.map(|paragraph| 1 + paragraph.others.len()).sum();
        let only = {
            let mut parameters = vec![("q", self.form.question.as_str()), ("doc", id)];
            parameters.retain(|(_, value)| !value.is_empty());
            url("/", &parameters)
        };
        html! {
            article aria-labelledby={ "answer-" (rank) } {
                h3 id={ "answer-" (rank) } { a href=(self.open_url(best)) { (title) } }
                p.place {
                    @if let Some(year) = citation.year { span.year { (year) } }
                    @if !citation.authors.is_empty() { span { (author_list(&citation.authors)) } }
                    @if let Some(venue) = &citation.venue { span { (venue) } }
                }
                (self.paragraph(best, title))
                @if more > 0 {
                    details.more {
                        summary { (more) " more" span.visually-hidden { " of " (title) } }
                        @for paragraph in &self.paper.others { (self.paragraph(paragraph, title)) }
                    }
                }
                p.actions {
                    a href=(only) { "Only this paper" span.visually-hidden { ": " (title) } }
                    @if let Some(document) = document { (citation_links(document, Some(&best.best.frame))) }
                }
            }
        }
    }

    /// URL that logs a click on the best answer of a paragraph, and opens it.
    fn open_url(&self, paragraph: &ParagraphAnswers<'_>) -> String {
        let rank = (self.first_rank + paragraph.first).to_string();
        let parameters = [
            ("query", self.query),
            ("frame", &paragraph.best.frame.id),
            ("rank", &rank),
            ("q", &self.form.question),
        ];
        url("/open", &parameters)
    }

    /// The text around the answers of a paragraph, with its place and links.
    fn paragraph(&self, paragraph: &ParagraphAnswers<'_>, title: &str) -> Markup {
        let (answer, others) = (paragraph.best, &paragraph.others);
        let frame = &answer.frame;
        let document = self.state.document(&frame.paper);
        let excerpt = Excerpt::new(document, answer, others);
        html! {
            p.place {
                @if let Some(section) = excerpt.section { span { "Section “" (section) "”" } }
                @if let Some(page) = frame.page { span { "Page " (page) } }
                @if let Some(question) = question_of_person(frame) {
                    span { span.status { "Accepted" } " answer to “" (question) "”" }
                }
                @if !others.is_empty() { span { (count(others.len() + 1, "answer")) " in this paragraph" } }
            }
            p.context { (PreEscaped(excerpt.html(&self.form.question))) }
            p.actions {
                a href=(self.open_url(paragraph)) { "View in document" span.visually-hidden { ": " (title) } }
                a href=(sentence_url(frame)) data-sentence { "Link to the sentence" span.visually-hidden { ": " (frame.answer) } }
                @if let Some(document) = document {
                    button.plain type="button" data-copy=(document.citation().with_quote(&frame.answer, frame.page).quotation()) hidden {
                        "Copy with citation" span.visually-hidden { ": " (frame.answer) }
                    }
                }
            }
            @if let Some(why) = &answer.explanation {
                details {
                    summary {
                        "Why? Score " (format!("{:.3}", answer.score))
                        @let line = contributions(why, &self.form.question);
                        @if !line.is_empty() { ": " (line) }
                    }
                    (explanation(why))
                }
            }
        }
    }
}

/// First question of a person that a frame answers: of an accepted annotation or an FAQ.
fn question_of_person(frame: &Frame) -> Option<&str> {
    let mut questions = frame.questions.iter();
    let question = questions.find(|it| it.displayable && !it.generated)?;
    Some(&question.text)
}

/// Names of at most three authors.
fn author_list(authors: &[String]) -> String {
    let shown: Vec<&str> = authors.iter().take(3).map(String::as_str).collect();
    match authors.len() {
        0..=3 => shown.join(", "),
        _ => format!("{} et al.", shown.join(", ")),
    }
}
