//! DataFinder's annotation form: the abstract of a paper, the fields of a query, and the datasets
//! that are relevant.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::{AppendHeaders, Html, IntoResponse, Redirect, Response};
use ir_studies::datafinder::keyphrase_query;
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::access::{Visitor, short_name};
use super::error::PageError;
use super::export::{file, json_lines};
use super::layout::{count, name_input, page_url, pagination, slice_of, time};
use super::parameters::{FormParameters, Parameters, PathParameter, UrlParameters};
use crate::app::App;
use crate::error::ServiceError;
use crate::store::{DatasetAnnotation, NewDatasetAnnotation, StoreError};

/// Annotations on a page of the list.
const PAGE: usize = 50;

/// Maximum number of characters of an abstract.
const MAX_ABSTRACT: usize = 20_000;

/// Fields of DataFinder's records in their order, with labels, hints, and the values that are
/// suggested if the abstract has them.
const FIELDS: [(&str, &str, &str, &str); 6] = [
    ("task", "Task", "such as question answering", ""),
    ("domain", "Domain", "such as biomedical", ""),
    (
        "modality",
        "Modality",
        "such as text, images",
        "text, images, video, audio, speech, graphs, point clouds, tables, time series",
    ),
    (
        "language",
        "Language",
        "such as English",
        "English, Chinese, German, French, Spanish, Arabic, Hindi, Japanese, multilingual",
    ),
    (
        "training_style",
        "Training style",
        "such as supervised",
        "supervised, semi-supervised, unsupervised, self-supervised, weakly supervised, few-shot, \
         zero-shot, transfer learning, reinforcement learning",
    ),
    (
        "text_length",
        "Text length",
        "such as sentence-level",
        "sentence-level, paragraph-level, document-level",
    ),
];

/// List of dataset annotations.
pub(super) async fn list(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    UrlParameters(parameters): UrlParameters,
) -> Result<Html<String>, PageError> {
    let mut annotations = stored(&app).await?;
    annotations.reverse();
    let (shown, has_next) = slice_of(&annotations, parameters.page(), PAGE);
    let content = html! {
        h1 { "Queries for datasets" }
        p { "An annotation has the abstract of a paper, a query with its fields, and the datasets that are relevant to the query, as in the test queries of DataFinder." }
        p { a.button href="/datasets/annotate" { "Add a query" } }
        p.hint { (count(annotations.len(), "annotation")) }
        @for annotation in shown {
            div.item {
                h2 { (annotation.content.fields.get("query").map_or("", String::as_str)) }
                p.hint { (annotation.content.summary.chars().take(300).collect::<String>()) }
                p { "Datasets: " (annotation.content.datasets.join("; ")) }
                p.place {
                    span { "Annotation " (annotation.id) " by " (short_name(&annotation.annotator)) }
                    span { (time(annotation.updated_at)) " UTC" }
                    @if visitor.may_edit(&annotation.annotator) {
                        a href={ "/datasets/" (annotation.id) } {
                            "Edit or delete" span.visually-hidden { " annotation " (annotation.id) }
                        }
                    }
                }
            }
        }
        (pagination(parameters.page(), has_next, |page| page_url("/datasets", &[], page)))
        @if !annotations.is_empty() {
            p { a href="/datasets/export/queries.jsonl" { "Export as DataFinder’s test queries, JSON lines" } }
        }
    };
    Ok(app.page("Datasets").current("/datasets").html(&content))
}

async fn stored(app: &Arc<App>) -> Result<Vec<DatasetAnnotation>, PageError> {
    Ok(app.store(|store| store.dataset_annotations()).await?)
}

/// Content of the form. Datasets are lines.
fn content_of(parameters: &Parameters) -> NewDatasetAnnotation {
    let names = FIELDS
        .iter()
        .map(|(name, ..)| *name)
        .chain(["query", "year"]);
    let fields = names.map(|name| {
        let value = parameters.text(name).split_whitespace().collect::<Vec<_>>();
        (name.to_owned(), value.join(" "))
    });
    let mut datasets = Vec::new();
    let lines = parameters.raw("datasets").lines();
    for name in lines.chain(parameters.all("dataset")) {
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        if !name.is_empty() && !datasets.contains(&name) {
            datasets.push(name);
        }
    }
    NewDatasetAnnotation {
        summary: parameters.text("abstract").to_owned(),
        fields: fields.filter(|(_, value)| !value.is_empty()).collect(),
        datasets,
    }
}

fn check(content: &NewDatasetAnnotation) -> Result<(), String> {
    let length = content.summary.chars().count();
    if length == 0 || length > MAX_ABSTRACT {
        return Err(format!(
            "Abstract: expected 1 to {MAX_ABSTRACT} characters, found {length}."
        ));
    }
    if !content.fields.contains_key("query") {
        return Err("Query: expected a sentence, found nothing.".to_owned());
    }
    match content.fields.get("year") {
        Some(year) if year.parse::<i32>().is_err() => Err(format!(
            "Year: expected a number such as 2020, found {year:?}."
        )),
        _ => Ok(()),
    }
}

/// Values of fields and names of datasets that occur in an abstract.
#[derive(Debug, Default)]
struct Suggestions {
    fields: BTreeMap<&'static str, String>,
    datasets: Vec<String>,
}

/// Suggests known values, and values and datasets of stored annotations, that are in the abstract.
fn suggestions(summary: &str, annotations: &[DatasetAnnotation]) -> Suggestions {
    let mut suggestions = Suggestions::default();
    for (field, .., known) in FIELDS {
        let stored = annotations.iter();
        let stored = stored.filter_map(|annotation| annotation.content.fields.get(field));
        let values = iter::once(known).chain(stored.map(String::as_str));
        let mut found: Vec<&str> = Vec::new();
        for value in values.flat_map(|values| values.split(',').map(str::trim)) {
            let is_new = found.iter().all(|other| !other.eq_ignore_ascii_case(value));
            if is_new && has_words(summary, value) {
                found.push(value);
            }
        }
        // "supervised" is not a value of its own beside "semi-supervised".
        let all = found.clone();
        found.retain(|value| {
            all.iter()
                .all(|other| other == value || !other.contains(value))
        });
        if !found.is_empty() {
            suggestions.fields.insert(field, found.join(", "));
        }
    }
    let names: BTreeSet<&str> = annotations
        .iter()
        .flat_map(|annotation| annotation.content.datasets.iter().map(String::as_str))
        .collect();
    let names = names.into_iter().filter(|name| has_words(summary, name));
    suggestions.datasets = names.map(str::to_owned).collect();
    suggestions
}

/// Returns `true` if a text contains a phrase as words, in any case.
fn has_words(text: &str, phrase: &str) -> bool {
    let (text, phrase) = (text.to_lowercase(), phrase.to_lowercase());
    !phrase.is_empty()
        && text.match_indices(&phrase).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + phrase.len()..].chars().next();
            let is_edge = |edge: Option<char>| edge.is_none_or(|edge| !edge.is_alphanumeric());
            is_edge(before) && is_edge(after)
        })
}

/// The form: for a new annotation, or with the stored one.
fn form(
    visitor: &Visitor,
    content: &NewDatasetAnnotation,
    stored: Option<&DatasetAnnotation>,
    suggestions: &Suggestions,
    error: Option<&str>,
) -> Markup {
    let action = stored.map_or("/datasets/annotate".to_owned(), |stored| {
        format!("/datasets/{}", stored.id)
    });
    let value = |name: &str| content.fields.get(name).map_or("", String::as_str);
    html! {
        h1 {
            @if let Some(stored) = stored { "Query for datasets " (stored.id) } @else { "Add a query for datasets" }
        }
        @if let Some(error) = error { p.error role="alert" { (error) } }
        form.stacked method="post" action=(action) {
            @if let Some(stored) = stored {
                input type="hidden" name="revision" value=(stored.revision);
            }
            label for="abstract" { "Abstract of the paper" }
            textarea #abstract name="abstract" rows="8" required maxlength=(MAX_ABSTRACT) { "\n" (content.summary) }
            p { button.plain name="suggest" value="1" formnovalidate { "Suggest fields from the abstract" } }
            label for="query" { "Query " span.hint { "(one sentence that asks for datasets, without their names)" } }
            input #query name="query" required maxlength="1000" value=(value("query"));
            div.columns {
                @for (name, label, hint, _) in FIELDS {
                    div {
                        label for=(name) { (label) " " span.hint { "(" (hint) ")" } }
                        @let suggested = suggestions.fields.get(name).map_or("", String::as_str);
                        @let filled = if value(name).is_empty() { suggested } else { value(name) };
                        input id=(name) name=(name) maxlength="500" value=(filled);
                        @if !suggested.is_empty() && suggested != filled { p.hint { "Suggested: " (suggested) } }
                    }
                }
                div {
                    label for="year" { "Year of the paper" }
                    input #year name="year" inputmode="numeric" maxlength="5" value=(value("year"));
                }
            }
            label for="datasets" { "Relevant datasets " span.hint { "(one per line)" } }
            textarea #datasets name="datasets" rows="4" { "\n" (content.datasets.join("\n")) }
            @let others: Vec<&String> = suggestions.datasets.iter().filter(|name| !content.datasets.contains(name)).collect();
            @if !others.is_empty() {
                fieldset {
                    legend { "Datasets that the abstract names" }
                    @for name in others {
                        label.check { input type="checkbox" name="dataset" value=(name); " " (name) }
                    }
                }
            }
            @if stored.is_none() { (name_input(visitor)) }
            div.row {
                button { "Save" }
                a href="/datasets" { "Back to the list" }
            }
        }
        @if let Some(stored) = stored {
            form.stacked method="post" action={ "/datasets/" (stored.id) "/delete" } {
                input type="hidden" name="revision" value=(stored.revision);
                button.danger { "Delete" }
            }
        }
    }
}

fn page(app: &App, status: StatusCode, content: &Markup) -> Response {
    let page = app.page("Query for datasets").current("/datasets");
    (status, page.html(content)).into_response()
}

/// Form of a new annotation.
pub(super) async fn create_page(State(app): State<Arc<App>>, visitor: Visitor) -> Response {
    let (content, suggestions) = Default::default();
    let content = form(&visitor, &content, None, &suggestions, None);
    page(&app, StatusCode::OK, &content)
}

/// Stores a new annotation, or shows the form with suggestions.
pub(super) async fn create(
    State(app): State<Arc<App>>,
    mut visitor: Visitor,
    FormParameters(parameters): FormParameters,
) -> Result<Response, PageError> {
    let content = content_of(&parameters);
    if parameters.text("suggest") == "1" {
        let suggestions = suggestions(&content.summary, &stored(&app).await?);
        let content = form(&visitor, &content, None, &suggestions, None);
        return Ok(page(&app, StatusCode::OK, &content));
    }
    let cookie = visitor.rename(parameters.text("name"));
    if let Err(message) = check(&content) {
        let content = form(
            &visitor,
            &content,
            None,
            &Suggestions::default(),
            Some(&message),
        );
        return Ok(page(&app, StatusCode::UNPROCESSABLE_ENTITY, &content));
    }
    let annotator = visitor.annotator();
    app.store(move |store| store.annotate_datasets(&content, &annotator))
        .await?;
    let cookies = AppendHeaders(cookie.map(|cookie| (SET_COOKIE, cookie)));
    Ok((cookies, Redirect::to("/datasets")).into_response())
}

async fn editable(
    app: &Arc<App>,
    visitor: &Visitor,
    id: i64,
) -> Result<DatasetAnnotation, PageError> {
    let found = app.store(move |store| store.dataset_annotation(id)).await?;
    if visitor.may_edit(&found.annotator) {
        return Ok(found);
    }
    let message = "This annotation is of another annotator. Only they and admins edit it.";
    Err(PageError::new(StatusCode::FORBIDDEN, message))
}

/// Form of a stored annotation.
pub(super) async fn edit_page(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    PathParameter(id): PathParameter<i64>,
) -> Result<Response, PageError> {
    let found = editable(&app, &visitor, id).await?;
    let suggestions = Suggestions::default();
    let content = form(&visitor, &found.content, Some(&found), &suggestions, None);
    Ok(page(&app, StatusCode::OK, &content))
}

/// Stores an edited annotation. After a conflict the form has the visitor's version, with the
/// revision of the stored one, which is shown.
pub(super) async fn edit(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    PathParameter(id): PathParameter<i64>,
    FormParameters(parameters): FormParameters,
) -> Result<Response, PageError> {
    let found = editable(&app, &visitor, id).await?;
    let content = content_of(&parameters);
    let mut hints = Suggestions::default();
    if parameters.text("suggest") == "1" {
        hints = suggestions(&content.summary, &stored(&app).await?);
        let markup = form(&visitor, &content, Some(&found), &hints, None);
        return Ok(page(&app, StatusCode::OK, &markup));
    }
    if let Err(message) = check(&content) {
        let markup = form(&visitor, &content, Some(&found), &hints, Some(&message));
        return Ok(page(&app, StatusCode::UNPROCESSABLE_ENTITY, &markup));
    }
    let revision = parameters.number("revision").unwrap_or(0);
    let new = content.clone();
    let edited = app.store(move |store| store.edit_dataset_annotation(id, revision, &new));
    match edited.await {
        Ok(_) => Ok(Redirect::to("/datasets").into_response()),
        Err(ServiceError::Store(StoreError::Conflict { .. })) => {
            let found = editable(&app, &visitor, id).await?;
            let message = "It was edited meanwhile. Nothing was stored: the form has your version, \
                           and Save replaces the stored version below.";
            let markup = html! {
                (form(&visitor, &content, Some(&found), &hints, Some(message)))
                section aria-labelledby="stored" {
                    h2 #stored { "Stored version" }
                    @for (name, value) in &found.content.fields { p { (name) ": " (value) } }
                    p { "Datasets: " (found.content.datasets.join("; ")) }
                    blockquote { (found.content.summary) }
                }
            };
            Ok(page(&app, StatusCode::CONFLICT, &markup))
        }
        Err(error) => Err(error.into()),
    }
}

/// Deletes an annotation of the revision that the form had.
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    PathParameter(id): PathParameter<i64>,
    FormParameters(parameters): FormParameters,
) -> Result<Redirect, PageError> {
    editable(&app, &visitor, id).await?;
    let revision = parameters.number("revision").unwrap_or(0);
    app.store(move |store| store.delete_dataset_annotation(id, revision))
        .await?;
    Ok(Redirect::to("/datasets"))
}

/// Exports the annotations as DataFinder's test queries.
pub(super) async fn export(State(app): State<Arc<App>>, _: Visitor) -> Result<Response, PageError> {
    let annotations = stored(&app).await?;
    let records: Vec<Value> = annotations.iter().map(record).collect();
    Ok(file("queries.jsonl", json_lines(&records)?))
}

/// Test query in DataFinder's form.
fn record(annotation: &DatasetAnnotation) -> Value {
    let content = &annotation.content;
    let field = |name: &str| content.fields.get(name).map_or("", String::as_str);
    let mut datasets = content.datasets.clone();
    datasets.sort();
    let mut record = Map::new();
    record.insert("documents".to_owned(), datasets.into());
    if let Ok(year) = field("year").parse::<i32>() {
        record.insert("year".to_owned(), year.into());
    }
    // Order of the published keyphrase queries, which do not have the text length.
    let keyphrases = keyphrase_query(["task", "modality", "domain", "language"].map(field));
    record.insert("keyphrase_query".to_owned(), keyphrases.into());
    record.insert("abstract".to_owned(), content.summary.as_str().into());
    for (name, ..) in FIELDS {
        record.insert(name.to_owned(), field(name).into());
    }
    record.insert("query".to_owned(), field("query").into());
    Value::Object(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_the_abstract_are_suggested() {
        let found = suggestions(
            "Semi-supervised parsing of English text and IMAGES; contexts.",
            &[],
        );
        assert_eq!(found.fields["modality"], "text, images");
        assert_eq!(found.fields["language"], "English");
        assert_eq!(found.fields["training_style"], "semi-supervised");
        assert_eq!(found.fields.get("text_length"), None);
        assert!(
            !has_words("contexts", "text") && has_words("(text)", "Text") && !has_words("a", "")
        );
    }
}
