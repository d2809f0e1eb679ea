//! In-paper search: the text of a document with all answers to a question marked, up to
//! [`DOCUMENT_ANSWERS`], and its annotations.

mod marked_text;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ir_qa::documents::safe_mathml;
use ir_qa::{Chunk, ChunkKind, Frame, byte_offset, character_count};
use maud::{Markup, PreEscaped, html};

use super::access::{Visitor, short_name};
use super::error::{PageError, status_of};
use super::excerpt::question_words;
use super::guard::is_logged;
use super::layout::{count, name_input};
use super::papers::{citation_links, tag_forms};
use super::parameters::{Parameters, PathParameter, UrlParameters};
use super::search::question_input;
use crate::app::App;
use crate::error::ServiceError;
use crate::published::{AnswerPosition, PublishedDocument, PublishedState};
use crate::service::{DOCUMENT_ANSWERS, DocumentAnswers, PaperTags, Question, Service};
use crate::store::{Annotation, AnnotationStatus};
use crate::urls::{document_url, sentence_hash, url};
use marked_text::{language_of, marked, text_of};

/// Parameters of the page.
#[derive(Debug)]
struct View {
    id: String,
    question: String,
    /// Frame of the answer to start at.
    frame: String,
    /// Hash of the sentence of the frame, in permanent links.
    sentence: String,
    /// If `true`, next and previous follow the ranks of the answers instead of the text.
    by_score: bool,
    /// Number of the answer to start at, from 1 in the order of the text.
    at: Option<usize>,
    /// Number of the query that is continued.
    query: Option<i64>,
    /// If `true`, sentences are links to the form of annotations.
    is_annotating: bool,
    /// Annotation that gets a new span.
    repair: Option<i64>,
}

/// Document and annotations that the page shows, and the answers to the question.
struct InPaperResult {
    state: Arc<PublishedState>,
    answers: DocumentAnswers,
    error: Option<ServiceError>,
    annotations: Vec<Annotation>,
    tags: PaperTags,
}

/// Page of a document by the path.
pub(super) async fn by_path(
    state: State<Arc<App>>,
    visitor: Visitor,
    headers: HeaderMap,
    PathParameter(id): PathParameter<String>,
    UrlParameters(parameters): UrlParameters,
) -> Result<Response, PageError> {
    show(state, visitor, &headers, id, &parameters).await
}

/// Page of a document by the parameter `id`.
pub(super) async fn by_parameter(
    state: State<Arc<App>>,
    visitor: Visitor,
    headers: HeaderMap,
    UrlParameters(parameters): UrlParameters,
) -> Result<Response, PageError> {
    let id = parameters.raw("id").to_owned();
    show(state, visitor, &headers, id, &parameters).await
}

async fn show(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    headers: &HeaderMap,
    id: String,
    parameters: &Parameters,
) -> Result<Response, PageError> {
    let repair = parameters.number("repair");
    let mut view = View {
        id,
        question: parameters.text("q").to_owned(),
        frame: parameters.raw("frame").to_owned(),
        sentence: parameters.text("sentence").to_owned(),
        by_score: parameters.text("by") == "score",
        at: parameters.number("at"),
        query: parameters.number("query"),
        is_annotating: repair.is_some() || parameters.text("annotate") == "1",
        repair,
    };
    let question = Question {
        user: visitor.id.clone(),
        is_suggestion: parameters.text("suggested") == "1",
        is_continued: view.query.is_some() || !is_logged(headers),
        ..Question::new(view.question.clone(), DOCUMENT_ANSWERS)
    };
    let id = view.id.clone();
    let found = app
        .run_search(move |service| find(service, &id, &question))
        .await?;
    let Some(document) = found.state.document(&view.id) else {
        return Err(PageError::not_found(format!(
            "There is no published document {:?}.",
            view.id
        )));
    };
    let is_gone = !view.find_sentence(document);
    let status = found.error.as_ref().map_or(StatusCode::OK, status_of);
    let content = DocumentPage {
        view: &view,
        document,
        found: &found,
        visitor: &visitor,
        answers: answers_of(&view, document, &found.answers),
        is_gone,
    };
    let page = app.page(document.title());
    Ok((status, page.html(&content.markup(parameters))).into_response())
}

impl View {
    /// Sets the frame to the answer with the sentence of a permanent link. Returns `false` if the
    /// document has no such answer.
    fn find_sentence(&mut self, document: &PublishedDocument) -> bool {
        if self.sentence.is_empty() {
            return true;
        }
        let is_sentence = |place: &&AnswerPosition| {
            let text = document.chunks[place.chunk].text.as_deref();
            let text = text.and_then(|text| text.get(place.range.clone()));
            text.is_some_and(|text| sentence_hash(text) == self.sentence)
        };
        let of_frame = document.answer(&self.frame).filter(is_sentence);
        let place = of_frame.or_else(|| document.answers.iter().find(is_sentence));
        let frame = place.map(|place| place.frame.clone());
        let is_found = frame.is_some();
        self.frame = frame.unwrap_or_default();
        is_found
    }
}

fn find(service: &Service, id: &str, question: &Question) -> Result<InPaperResult, ServiceError> {
    let state = service.published()?;
    let annotations = service.store().annotations(Some(id), None)?;
    let (mut answers, mut error) = (DocumentAnswers::default(), None);
    if !question.text.is_empty() && state.document(id).is_some() {
        let words = question_words(&question.text);
        let has_word = |frame: &Frame| {
            let questions = frame.questions.iter().filter(|other| other.displayable);
            let mut texts = questions.map(|other| &*other.text).chain([&*frame.answer]);
            texts.any(|text| !words.spans(text).is_empty())
        };
        match service.ask_in_document(&state, id, question, has_word) {
            Ok(found) => answers = found,
            Err(failed) => error = Some(failed),
        }
    }
    Ok(InPaperResult {
        state,
        answers,
        error,
        annotations,
        tags: service.tags()?,
    })
}

/// Answers in the order of the text: positions in [`PublishedDocument::answers`], with ranks.
struct MarkedAnswers {
    /// Position and rank; an answer that was opened but is not among the best has no rank.
    all: Vec<(usize, Option<usize>)>,
    /// Index of the current answer.
    current: usize,
    /// Indexes in the order of next and previous.
    steps: Vec<usize>,
}

/// Number of the best answers that are marked more strongly than others.
const STRONG: usize = 10;

fn answers_of(
    view: &View,
    document: &PublishedDocument,
    answers: &DocumentAnswers,
) -> MarkedAnswers {
    let ranks: HashMap<&str, usize> = answers.frames.iter().map(|id| &**id).zip(1..).collect();
    let places = document.answers.iter().enumerate();
    let all: Vec<_> = places
        .filter_map(|(position, place)| match ranks.get(&*place.frame) {
            Some(&rank) => Some((position, Some(rank))),
            None if place.frame == view.frame => Some((position, None)),
            None => None,
        })
        .collect();
    let opened = all
        .iter()
        .position(|&(position, _)| document.answers[position].frame == view.frame);
    let best = all.iter().position(|&(_, rank)| rank == Some(1));
    let at = view.at.and_then(|at| at.checked_sub(1));
    let current = at.filter(|&at| at < all.len()).or(opened).or(best);
    let mut steps: Vec<usize> = (0..all.len()).collect();
    if view.by_score {
        steps.sort_by_key(|&index| all[index].1.unwrap_or(usize::MAX));
    }
    MarkedAnswers {
        all,
        current: current.unwrap_or(0),
        steps,
    }
}

struct DocumentPage<'a> {
    view: &'a View,
    document: &'a PublishedDocument,
    found: &'a InPaperResult,
    visitor: &'a Visitor,
    answers: MarkedAnswers,
    /// If `true`, the sentence of a permanent link is not in the document.
    is_gone: bool,
}

impl DocumentPage<'_> {
    fn markup(&self, parameters: &Parameters) -> Markup {
        let document = self.document;
        html! {
            @if self.title_is_text() {
                @let text = document.title();
                @let end = document.answers.iter().take_while(|place| place.chunk == 0).count();
                h1.text #chunk-0 data-chunk="0" {
                    (self.chunk(0, text, &document.answers[..end], 0, &self.words(text)))
                }
            } @else {
                h1 { (document.title()) }
            }
            (self.metadata())
            (tag_forms(document, &self.found.tags))
            @let too_long = usize::try_from(document.dropped.too_long).unwrap_or(usize::MAX);
            @if too_long > 0 {
                p.hint { "Too long to be answers: " (count(too_long, "sentence")) "." }
            }
            @if let Some(id) = parameters.number::<i64>("saved") {
                p.notice role="status" {
                    "The question is saved and waits for its review. "
                    a href={ "/annotations/" (id) } { "Edit it" }
                }
            }
            form.search role="search" action={ (document_url(&document.id, &[])) } {
                @if matches!(&*document.id, "" | "." | "..") { input type="hidden" name="id" value=(document.id); }
                (question_input("Question to this paper", &self.view.question))
            }
            p.actions {
                @if let Some(id) = self.view.repair {
                    span { "Select the text of annotation " (id) ", or a sentence." }
                } @else if self.view.is_annotating {
                    span { "Select a sentence to add a question that it answers." }
                    a href=(self.url(&[])) { "Read" }
                } @else {
                    a href=(self.url(&[("annotate", "1")])) { "Add questions" }
                }
                @if !self.view.question.is_empty() {
                    a href=(url("/", &[("q", &self.view.question)])) { "Search all papers" }
                }
            }
            @if self.is_gone {
                p.hint role="status" { "The sentence of this link is not in the published text any more." }
            }
            (self.outline())
            @if let Some(error) = &self.found.error {
                p.error role="alert" { "The search failed: " (error) "." }
            } @else if !self.view.question.is_empty() && self.answers.all.is_empty() {
                p role="status" { strong { "No sentence of this paper answers the question." } }
            }
            @let total = self.found.answers.total;
            @if total > DOCUMENT_ANSWERS {
                p.hint { "Marked: the " (DOCUMENT_ANSWERS) " best of " (count(total, "answer")) "." }
            }
            article.document dir="auto" lang=[document.meta.text("language").and_then(language_of)] {
                (self.chunks())
            }
            (self.orphans())
            (self.steps())
            (self.panel())
        }
    }

    /// Returns `true` if the title is the first chunk of the text.
    fn title_is_text(&self) -> bool {
        let first = self.document.chunks.first();
        first.is_some_and(|chunk| {
            chunk.kind == ChunkKind::Title && chunk.text.as_deref() == Some(self.document.title())
        })
    }

    /// Words of a text that match the question.
    fn words(&self, text: &str) -> Vec<Range<usize>> {
        match self.view.question.as_str() {
            "" => Vec::new(),
            question => question_words(question).spans(text),
        }
    }

    fn metadata(&self) -> Markup {
        let meta = &self.document.meta;
        let fields = ["authors", "venue", "year"].into_iter().filter_map(|name| {
            let value = text_of(meta.get(name)?)?;
            (!value.is_empty()).then_some(value)
        });
        let answer = self.document.answer(&self.view.frame);
        let frame = answer.and_then(|answer| self.found.state.frame(&answer.frame));
        html! {
            p.place {
                @for field in fields { span { (field) } }
            }
            p.place { (citation_links(self.document, frame)) }
        }
    }

    /// Links to the headings of the sections, if there are several.
    fn outline(&self) -> Markup {
        let chunks = self.document.chunks.iter().enumerate();
        let headings: Vec<(usize, &str)> = chunks
            .filter(|(_, chunk)| chunk.kind == ChunkKind::Section)
            .filter_map(|(number, chunk)| Some((number, chunk.text.as_deref()?)))
            .filter(|(_, text)| !text.trim().is_empty())
            .collect();
        html! {
            @if headings.len() > 1 {
                details.outline {
                    summary { "Sections" }
                    nav aria-label="Sections" {
                        ul {
                            @for (number, text) in headings { li { a href={ "#chunk-" (number) } { (text) } } }
                        }
                    }
                }
            }
        }
    }

    /// URL of this page with the question and further parameters.
    fn url(&self, parameters: &[(&str, &str)]) -> String {
        let mut all = Vec::new();
        if !self.view.question.is_empty() {
            // The question is not logged again.
            all.extend([("q", self.view.question.as_str()), ("query", "0")]);
        }
        all.extend(parameters);
        document_url(&self.document.id, &all)
    }

    fn chunks(&self) -> Markup {
        let mut page = None;
        let mut answers = self.document.answers.as_slice();
        let mut first = 0;
        html! {
            @for (number, chunk) in self.document.chunks.iter().enumerate() {
                @let text = chunk.text.as_deref().unwrap_or_default();
                @let count = answers.iter().take_while(|place| place.chunk <= number).count();
                @let (places, rest) = answers.split_at(count);
                @let start = first;
                @let () = { answers = rest; first += count; };
                @if chunk.page.is_some() && chunk.page != page {
                    p.page { "Page " (chunk.page.unwrap_or_default()) }
                    @let () = { page = chunk.page; };
                }
                @let matches = self.words(text);
                @let body = self.chunk(number, text, places, start, &matches);
                @match chunk.kind {
                    ChunkKind::Title if number == 0 && self.title_is_text() => {}
                    ChunkKind::Title | ChunkKind::Section => h2.text id={ "chunk-" (number) } data-chunk=(number) { (body) },
                    ChunkKind::Formula => div.formula id={ "chunk-" (number) } { (formula(chunk)) },
                    ChunkKind::Content | ChunkKind::Row => p.text id={ "chunk-" (number) } data-chunk=(number) { (body) },
                }
                (self.questions(number, places))
            }
        }
    }

    /// Text of a chunk. Its answers have the positions from `first` on.
    fn chunk(
        &self,
        chunk: usize,
        text: &str,
        places: &[AnswerPosition],
        first: usize,
        words: &[Range<usize>],
    ) -> Markup {
        let notes = self.annotated(chunk, text);
        let mut end = 0;
        html! {
            @for (position, place) in (first..).zip(places) {
                @let range = place.range.start.max(end)..place.range.end.max(end);
                (marked(text, end..range.start, words, &notes))
                @let () = end = range.end;
                @let body = marked(text, range.clone(), words, &notes);
                @let body = html! {
                    @if self.view.is_annotating { a.sentence href=(self.sentence_url(chunk, text, &range)) { (body) } }
                    @else { (body) }
                };
                @match self.answers.all.binary_search_by_key(&position, |&(position, _)| position) {
                    Ok(number) => {
                        @if number == self.answers.current { span #current {} }
                        @let rank = self.answers.all[number].1;
                        mark id={ "answer-" (number + 1) } data-answer=(number + 1) data-rank=[rank] tabindex="-1"
                            data-faint[rank.is_some_and(|rank| rank > STRONG)]
                            .current[number == self.answers.current] { (body) }
                    }
                    Err(_) => (body),
                }
            }
            (marked(text, end..text.len(), words, &notes))
        }
    }

    /// Bytes of the annotated spans of a chunk.
    fn annotated(&self, chunk: usize, text: &str) -> Vec<Range<usize>> {
        let here = self.shown().filter(|annotation| annotation.chunk == chunk);
        here.filter_map(|annotation| {
            let start = byte_offset(text, annotation.start)?;
            let range = start..start + annotation.span.len();
            (text.get(range.clone()) == Some(&*annotation.span)).then_some(range)
        })
        .collect()
    }

    /// Annotations that are neither rejected nor merged.
    fn shown(&self) -> impl Iterator<Item = &Annotation> {
        let hidden = [AnnotationStatus::Rejected, AnnotationStatus::Merged];
        let annotations = self.found.annotations.iter();
        annotations.filter(move |annotation| !hidden.contains(&annotation.status))
    }

    fn sentence_url(&self, chunk: usize, text: &str, range: &Range<usize>) -> String {
        let start = character_count(&text[..range.start]).to_string();
        let span = &text[range.clone()];
        let chunk = chunk.to_string();
        let mut parameters = vec![("chunk", chunk.as_str()), ("start", &start), ("span", span)];
        if let Some(id) = self.view.repair {
            return url(&format!("/annotations/{id}"), &parameters);
        }
        parameters.insert(0, ("document", &self.document.id));
        url("/annotate", &parameters)
    }

    /// Questions of the annotations of a chunk, and other questions of its frames.
    fn questions(&self, chunk: usize, places: &[AnswerPosition]) -> Markup {
        let has_text = self.document.chunks[chunk]
            .text
            .as_deref()
            .is_some_and(|text| !text.is_empty());
        let here = self.shown().filter(|annotation| {
            has_text && annotation.chunk == chunk && self.document.has_span(annotation)
        });
        let here: Vec<&Annotation> = here.collect();
        let state = &self.found.state;
        let frames = places.iter().filter_map(|place| state.frame(&place.frame));
        let published = frames.flat_map(|frame| &frame.questions);
        let published: Vec<&str> = published
            .filter(|question| question.displayable)
            .map(|question| question.text.as_str())
            .filter(|text| here.iter().all(|annotation| annotation.question != *text))
            .collect();
        html! {
            @if !here.is_empty() || !published.is_empty() {
                ul.questions aria-label="Questions about this paragraph" {
                    @for annotation in here {
                        li { (question_of(annotation, self.visitor)) }
                    }
                    @for question in published { li { (question) } }
                }
            }
        }
    }

    /// Annotations with spans that the document does not contain.
    fn orphans(&self) -> Markup {
        let orphans = self.shown();
        let orphans = orphans.filter(|annotation| !self.document.has_span(annotation));
        let orphans: Vec<&Annotation> = orphans.collect();
        html! {
            @if !orphans.is_empty() {
                section aria-labelledby="displaced" {
                    h2 #displaced { "Questions about text that has changed" }
                    ul.questions {
                        @for annotation in orphans {
                            li {
                                (question_of(annotation, self.visitor))
                                blockquote { (annotation.span) }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Previous and next answer.
    fn steps(&self) -> Markup {
        let total = self.answers.all.len();
        if total == 0 {
            return html! {};
        }
        let steps = &self.answers.steps;
        let current = self.answers.current;
        let current = steps.iter().position(|&index| index == current);
        let current = current.unwrap_or_default();
        let link = |step: usize, by_score: bool| {
            let at = (steps[step] + 1).to_string();
            let mut parameters = vec![("at", at.as_str())];
            if by_score {
                parameters.push(("by", "score"));
            }
            if self.view.is_annotating {
                parameters.push(("annotate", "1"));
            }
            format!("{}#answer-{at}", self.url(&parameters))
        };
        let by_score = self.view.by_score;
        let order = by_score.then_some("score");
        html! {
            nav.step aria-label="Answers" data-answers=(total) data-order=[order] {
                a.button.plain href=(link((current + total - 1) % total, by_score)) data-step="-1" accesskey="p" { "Previous" }
                a.button.plain href=(link((current + 1) % total, by_score)) data-step="1" accesskey="n" { "Next" }
                span role="status" { "Answer " span data-current { (current + 1) } " of " (total) }
                @if total > 1 {
                    a href=(link(current, false)) aria-current=[(!by_score).then_some("true")] { "In the text" }
                    a href=(link(current, true)) aria-current=[by_score.then_some("true")] { "By score" }
                }
                span.hint { "Keys in the text: n and p" }
            }
        }
    }

    /// Form that the script shows for a selected span.
    fn panel(&self) -> Markup {
        let (method, action) = match self.view.repair {
            Some(id) => ("get", format!("/annotations/{id}")),
            None => ("post", "/annotations".to_owned()),
        };
        html! {
            form.panel #annotate method=(method) action=(action) aria-label="Question about the selected text" hidden {
                div.stacked {
                    p { "Selected text:" }
                    blockquote data-span {}
                    input type="hidden" name="chunk";
                    input type="hidden" name="start";
                    input type="hidden" name="span";
                    @if self.view.repair.is_none() {
                        input type="hidden" name="document" value=(self.document.id);
                        label for="question" { "Question that it answers" }
                        input #question name="question" required maxlength="1000" autocomplete="off";
                        (name_input(self.visitor))
                    }
                    div.row {
                        button { @if self.view.repair.is_some() { "Use this text" } @else { "Save question" } }
                        button.plain type="button" data-close { "Cancel" }
                    }
                }
            }
        }
    }
}

/// Displayed formula: its MathML, or its text. The text of a paragraph contains it, too, so that it
/// has neither answers nor annotations.
fn formula(chunk: &Chunk) -> Markup {
    let markup = chunk.markup.as_deref().and_then(safe_mathml);
    html! {
        @match markup {
            Some(markup) => (PreEscaped(markup)),
            None => (chunk.text.as_deref().unwrap_or_default()),
        }
    }
}

/// Question of an annotation with its state and a link to edit it.
fn question_of(annotation: &Annotation, visitor: &Visitor) -> Markup {
    html! {
        (annotation.question) " "
        span.status { (annotation.status.name()) }
        " " span.hint { "by " (short_name(&annotation.annotator)) }
        @if visitor.may_edit(&annotation.annotator) {
            " " a href={ "/annotations/" (annotation.id) } {
                "Edit" span.visually-hidden { " question: " (annotation.question) }
            }
        }
    }
}
