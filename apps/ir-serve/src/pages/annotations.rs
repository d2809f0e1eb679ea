//! Annotations: questions of visitors about spans of documents.

use std::iter;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::{AppendHeaders, Html, IntoResponse, Redirect, Response};
use ir_qa::character_count;
use maud::{Markup, html};

use super::access::{Visitor, short_name};
use super::error::PageError;
use super::layout::{count, name_input, page_url, pagination, slice_of, time};
use super::parameters::{FormParameters, Parameters, PathParameter, UrlParameters};
use crate::app::App;
use crate::error::ServiceError;
use crate::published::PublishedState;
use crate::store::{Annotation, AnnotationStatus, NewAnnotation, StoreError};
use crate::urls::document_url;

/// Annotations on a page of the list.
const PAGE: usize = 50;

/// Maximum number of characters of a question.
const MAX_QUESTION: usize = 1_000;

/// Maximum number of characters of a span.
const MAX_SPAN: usize = 5_000;

/// Page of the annotations in a state, the latest first.
pub(super) async fn list(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    UrlParameters(parameters): UrlParameters,
) -> Result<Html<String>, PageError> {
    let status = AnnotationStatus::parse(parameters.text("status"));
    let is_displaced = parameters.text("displaced") == "1";
    let mut annotations = app
        .store(move |store| store.annotations(None, status))
        .await?;
    annotations.retain(|annotation| !is_displaced || annotation.is_displaced);
    annotations.reverse();
    let state = app.service.published().ok();
    let (shown, has_next) = slice_of(&annotations, parameters.page(), PAGE);
    let name = status.map_or("", AnnotationStatus::name);
    let displaced = if is_displaced { "1" } else { "" };
    let filters = [("status", name), ("displaced", displaced)];
    let link = |page| page_url("/annotations", &filters, page);
    let content = html! {
        h1 { "Annotations" }
        p { "Questions of readers, each with the text that answers it. Accepted questions are found and suggested after the next publication." }
        nav.actions aria-label="States" {
            @let all = status.is_none() && !is_displaced;
            a href="/annotations" aria-current=[all.then_some("page")] { "All" }
            @for other in AnnotationStatus::ALL {
                a href=(page_url("/annotations", &[("status", other.name())], 1))
                    aria-current=[(status == Some(other)).then_some("page")] { (capitalized(other.name())) }
            }
            a href="/annotations?displaced=1" aria-current=[is_displaced.then_some("page")] { "Text has changed" }
        }
        p.hint { (count(annotations.len(), "annotation")) }
        @if annotations.is_empty() {
            p { "There are none. Open a document from the " a href="/" { "search" } " and select “Add questions”." }
        }
        @for annotation in shown {
            div.item {
                (card(annotation, state.as_deref(), true))
                @if visitor.may_edit(&annotation.annotator) {
                    p.actions {
                        a href={ "/annotations/" (annotation.id) } {
                            "Edit or delete" span.visually-hidden { " annotation " (annotation.id) }
                        }
                    }
                }
            }
        }
        (pagination(parameters.page(), has_next, link))
        section aria-labelledby="export" {
            h2 #export { "Export" }
            p.hint { "White space and % in ids of sentences are percent-encoded." }
            ul {
                li { a href="/annotations/export/annotations.jsonl" { "All annotations, JSON lines" } }
                li { a href="/annotations/export/squad.json" { "Accepted annotations, SQuAD 1.1" } }
                li { a href="/annotations/export/qrels.txt" { "Accepted annotations, TREC qrels of answer sentences" } }
                li { a href="/annotations/export/queries.tsv" { "Queries of the qrels, TSV" } }
                li { a href="/annotations/export/examples.jsonl" { "Accepted annotations, training examples for " code { "ir mine --examples" } } }
                li { a href="/annotations/export/documents.jsonl" { "Answer sentences, the collection of the qrels and of the examples" } }
            }
        }
    };
    let page = app.page("Annotations").current("/annotations");
    Ok(page.html(&content))
}

fn capitalized(name: &str) -> String {
    let mut characters = name.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

/// Question and span of an annotation; with `has_verdict`, the state that the last verdict decided.
pub(super) fn card(
    annotation: &Annotation,
    state: Option<&PublishedState>,
    has_verdict: bool,
) -> Markup {
    let document = state.and_then(|state| state.document(&annotation.document));
    let title = document.map_or(&*annotation.document, |document| document.title());
    let target = annotation.merged_into.filter(|_| has_verdict);
    html! {
        h2 { (annotation.question) }
        blockquote { (annotation.span) }
        p.place {
            @if has_verdict { span.status { (annotation.status.name()) } }
            @if let Some(target) = target { span { "into " (target) } }
            @if annotation.is_displaced { span.status { "text has changed" } }
            @else if state.is_some_and(|state| !has_answer(annotation, state)) {
                span.status { "no answer sentence" }
            }
            @if document.is_some() {
                a href={ (document_url(&annotation.document, &[])) "#chunk-" (annotation.chunk) } { (title) }
            } @else { span { (title) " (not published)" } }
            span { "Annotation " (annotation.id) " by " (short_name(&annotation.annotator)) }
            span { (time(annotation.updated_at)) " UTC" }
        }
    }
}

/// Returns `true` if the document has an answer sentence for the span of an annotation, so that its
/// question can be published, or if the document is not published.
pub(super) fn has_answer(annotation: &Annotation, state: &PublishedState) -> bool {
    let document = state.document(&annotation.document);
    document.is_none_or(|document| {
        let nearest = document.nearest_answer(annotation.chunk, annotation.start);
        nearest.is_some()
    })
}

/// Span and question of a form, checked against the published document.
fn new_annotation(
    state: &PublishedState,
    document: &str,
    parameters: &Parameters,
) -> Result<NewAnnotation, String> {
    let question = parameters.text("question");
    let question = question.split_whitespace().collect::<Vec<_>>().join(" ");
    let span = parameters.raw("span");
    let length = character_count(span);
    if question.is_empty() {
        return Err("Question: expected a text, found nothing.".to_owned());
    }
    if character_count(&question) > MAX_QUESTION {
        let found = character_count(&question);
        return Err(format!(
            "Question: expected at most {MAX_QUESTION} characters, found {found}."
        ));
    }
    if span.trim().is_empty() || length > MAX_SPAN {
        return Err(format!(
            "Text: expected 1 to {MAX_SPAN} characters, found {length}."
        ));
    }
    let found = state
        .document(document)
        .ok_or_else(|| format!("There is no published document {document:?}."))?;
    let place = parameters.number("chunk").zip(parameters.number("start"));
    let place = place.filter(|&(chunk, start)| found.span(chunk, start, length) == Some(span));
    let (chunk, start) = place.ok_or_else(|| {
        "The document does not have the text at this place any more. Select it again.".to_owned()
    })?;
    if found.nearest_answer(chunk, start).is_none() {
        let message = "Text: its section has no sentence that can be an answer. Select a sentence.";
        return Err(message.to_owned());
    }
    Ok(NewAnnotation {
        document: document.to_owned(),
        chunk,
        start,
        span: span.to_owned(),
        question,
    })
}

/// Hidden fields of a span, and the span.
fn span_fields(document: &str, parameters: &Parameters) -> Markup {
    html! {
        input type="hidden" name="document" value=(document);
        @for name in ["chunk", "start", "span"] {
            input type="hidden" name=(name) value=(parameters.raw(name));
        }
        p { "Text that answers the question:" }
        blockquote { (parameters.raw("span")) }
    }
}

fn create_form(visitor: &Visitor, parameters: &Parameters, error: Option<&str>) -> Markup {
    let document = parameters.raw("document");
    html! {
        h1 { "Add a question" }
        @if let Some(error) = error { p.error role="alert" { (error) } }
        form.stacked method="post" action="/annotations" {
            (span_fields(document, parameters))
            label for="question" { "Question" }
            input #question name="question" required maxlength=(MAX_QUESTION) autocomplete="off" value=(parameters.raw("question"));
            (name_input(visitor))
            div.row {
                button { "Save question" }
                a href=(document_url(document, &[("annotate", "1")])) { "Back to the document" }
            }
        }
    }
}

/// Form of a new annotation.
pub(super) async fn create_page(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    UrlParameters(parameters): UrlParameters,
) -> Result<Html<String>, PageError> {
    let content = create_form(&visitor, &parameters, None);
    Ok(app.page("Add a question").html(&content))
}

/// Stores a new annotation, and redirects to its document.
pub(super) async fn create(
    State(app): State<Arc<App>>,
    mut visitor: Visitor,
    FormParameters(parameters): FormParameters,
) -> Result<Response, PageError> {
    let cookie = visitor.rename(parameters.text("name"));
    let state = app.service.published()?;
    let new = match new_annotation(&state, parameters.raw("document"), &parameters) {
        Ok(new) => new,
        Err(message) => {
            let content = create_form(&visitor, &parameters, Some(&message));
            let page = app.page("Add a question").html(&content);
            return Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response());
        }
    };
    let annotator = visitor.annotator();
    let annotation = app
        .store(move |store| store.annotate(&new, &annotator))
        .await?;
    let id = annotation.id.to_string();
    let url = document_url(&annotation.document, &[("saved", &id)]);
    let redirect = Redirect::to(&format!("{url}#chunk-{}", annotation.chunk));
    let cookies = AppendHeaders(cookie.map(|cookie| (SET_COOKIE, cookie)));
    Ok((cookies, redirect).into_response())
}

/// The annotation with the id, if the visitor may edit it.
async fn editable(app: &Arc<App>, visitor: &Visitor, id: i64) -> Result<Annotation, PageError> {
    let annotation = app.store(move |store| store.annotation(id)).await?;
    if visitor.may_edit(&annotation.annotator) {
        return Ok(annotation);
    }
    let message = "This annotation is of another annotator. Only they and admins edit it.";
    Err(PageError::new(StatusCode::FORBIDDEN, message))
}

fn edit_form(annotation: &Annotation, span: &Parameters, error: Option<&str>) -> Markup {
    let id = annotation.id;
    let repair = id.to_string();
    let select = [("annotate", "1"), ("repair", &repair)];
    html! {
        h1 { "Annotation " (id) }
        @if let Some(error) = error { p.error role="alert" { (error) } }
        p.place {
            span.status { (annotation.status.name()) }
            span { "By " (short_name(&annotation.annotator)) }
            span { "Revision " (annotation.revision) }
        }
        @if annotation.is_displaced {
            p.error role="status" { "The document does not have this text any more. Select the text anew, or delete the annotation." }
        }
        form.stacked method="post" action={ "/annotations/" (id) } {
            input type="hidden" name="revision" value=(annotation.revision);
            (span_fields(&annotation.document, span))
            p { a href=(document_url(&annotation.document, &select)) { "Select another text in the document" } }
            label for="question" { "Question" }
            input #question name="question" required maxlength=(MAX_QUESTION) autocomplete="off" value=(span.raw("question"));
            p.hint { "An edited annotation is reviewed again." }
            div.row {
                button { "Save" }
                a href="/annotations" { "Back to the list" }
            }
        }
        form.stacked method="post" action={ "/annotations/" (id) "/delete" } {
            input type="hidden" name="revision" value=(annotation.revision);
            button.danger { "Delete" }
        }
    }
}

/// Span and question as parameters of a form. A span in `parameters` replaces the span of the
/// annotation.
fn with_span(annotation: &Annotation, parameters: &Parameters) -> Parameters {
    let question = ("question", annotation.question.clone());
    let span = match parameters.raw("span") {
        "" => [
            ("chunk", annotation.chunk.to_string()),
            ("start", annotation.start.to_string()),
            ("span", annotation.span.clone()),
        ],
        _ => ["chunk", "start", "span"].map(|name| (name, parameters.raw(name).to_owned())),
    };
    iter::once(question).chain(span).collect()
}

/// Form of an annotation.
pub(super) async fn edit_page(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    PathParameter(id): PathParameter<i64>,
    UrlParameters(parameters): UrlParameters,
) -> Result<Html<String>, PageError> {
    let annotation = editable(&app, &visitor, id).await?;
    let content = edit_form(&annotation, &with_span(&annotation, &parameters), None);
    Ok(app.page("Edit annotation").html(&content))
}

/// Stores an edited annotation. If another edit was stored meanwhile, the page has both versions.
pub(super) async fn edit(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    PathParameter(id): PathParameter<i64>,
    FormParameters(parameters): FormParameters,
) -> Result<Response, PageError> {
    let annotation = editable(&app, &visitor, id).await?;
    let state = app.service.published()?;
    let page = app.page("Edit annotation");
    let new = match new_annotation(&state, &annotation.document, &parameters) {
        Ok(new) => new,
        Err(message) => {
            let content = edit_form(&annotation, &parameters, Some(&message));
            let page = page.html(&content);
            return Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response());
        }
    };
    let revision = parameters.number("revision").unwrap_or(0);
    let mine = new.clone();
    let edited = app.store(move |store| store.edit_annotation(id, revision, &new));
    match edited.await {
        Ok(_) => Ok(Redirect::to("/annotations").into_response()),
        Err(ServiceError::Store(StoreError::Conflict { .. })) => {
            let stored = editable(&app, &visitor, id).await?;
            let content = conflict(&stored, Some(&mine));
            Ok((StatusCode::CONFLICT, page.html(&content)).into_response())
        }
        Err(error) => Err(error.into()),
    }
}

/// Both versions of an annotation that two forms edited; without `mine`, it was to be deleted.
fn conflict(stored: &Annotation, mine: Option<&NewAnnotation>) -> Markup {
    let id = stored.id;
    html! {
        h1 { "Annotation " (id) " was edited meanwhile" }
        p.error role="alert" { "Nothing was stored. Choose a version." }
        div.columns {
            section aria-labelledby="stored" {
                h2 #stored { "Stored version" }
                p { strong { (stored.question) } }
                blockquote { (stored.span) }
                p.place {
                    span.status { (stored.status.name()) }
                    span { "Revision " (stored.revision) ", " (time(stored.updated_at)) " UTC" }
                }
                a.button.plain href={ "/annotations/" (id) } { "Keep it" }
            }
            section aria-labelledby="mine" {
                @if let Some(mine) = mine {
                    h2 #mine { "Your version" }
                    p { strong { (mine.question) } }
                    blockquote { (mine.span) }
                    form method="post" action={ "/annotations/" (id) } {
                        input type="hidden" name="revision" value=(stored.revision);
                        input type="hidden" name="chunk" value=(mine.chunk);
                        input type="hidden" name="start" value=(mine.start);
                        input type="hidden" name="span" value=(mine.span);
                        input type="hidden" name="question" value=(mine.question);
                        button { "Replace it with yours" }
                    }
                } @else {
                    h2 #mine { "Deletion" }
                    form method="post" action={ "/annotations/" (id) "/delete" } {
                        input type="hidden" name="revision" value=(stored.revision);
                        button.danger { "Delete it all the same" }
                    }
                }
            }
        }
    }
}

/// Deletes an annotation of the revision that the form had.
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    PathParameter(id): PathParameter<i64>,
    FormParameters(parameters): FormParameters,
) -> Result<Response, PageError> {
    editable(&app, &visitor, id).await?;
    let revision = parameters.number("revision").unwrap_or(0);
    let deleted = app.store(move |store| store.delete_annotation(id, revision));
    match deleted.await {
        Ok(()) => Ok(Redirect::to("/annotations").into_response()),
        Err(ServiceError::Store(StoreError::Conflict { .. })) => {
            let stored = editable(&app, &visitor, id).await?;
            let page = app.page("Delete annotation").html(&conflict(&stored, None));
            Ok((StatusCode::CONFLICT, page).into_response())
        }
        Err(error) => Err(error.into()),
    }
}
