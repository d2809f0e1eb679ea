//! Search: answer sentences in their contexts.

mod paper_hit;
mod without_answers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use ir_core::{AttributeValue, Attributes, Predicate};
use maud::{Markup, html};

use super::access::Visitor;
use super::error::{PageError, status_of};
use super::generated::generation_of;
use super::guard::is_logged;
use super::layout::{count, page_url, pagination, slice_of};
use super::papers::tag_input;
use super::parameters::{FormParameters, Parameters, UrlParameters};
use crate::api_error::ApiError;
use crate::app::App;
use crate::error::ServiceError;
use crate::papers::has_title_words;
use crate::published::{PublishedState, is_displayed};
use crate::service::{AnswerList, GeneratedAnswer, Question, Service, Suggestion, TAGS};
use crate::urls::url;
use paper_hit::{PaperHit, papers, paragraphs};
use without_answers::{home, no_answers};

/// Answers on a page.
const ANSWERS: usize = 10;

/// Suggestions for a typed text.
const SUGGESTIONS: usize = 8;

/// Papers that the filter lists.
const PAPERS: usize = 50;

/// The state of the form.
#[derive(Debug, Default)]
struct SearchForm {
    question: String,
    /// Ids of documents; empty for all.
    documents: Vec<String>,
    from: String,
    to: String,
    /// Words of the titles that the filter lists.
    titles: String,
    /// Tag of the papers; empty for all papers.
    tag: String,
    page: usize,
    /// Number of the query in the log, on further pages of results.
    query: Option<i64>,
    is_suggestion: bool,
}

/// What is found for a form.
struct SearchResult {
    state: Arc<PublishedState>,
    /// Tags of papers with the numbers of papers.
    tags: Vec<(String, usize)>,
    found: Result<Option<AnswerList>, ServiceError>,
    /// Suggestions: for a question without answers, or for the empty form.
    suggestions: Vec<Suggestion>,
    time: Duration,
    /// Model that can generate an answer.
    model: Option<String>,
    generated: Option<GeneratedAnswer>,
    /// If `true`, nothing is published yet, but papers are being read or indexed.
    is_starting: bool,
}

impl SearchForm {
    fn new(parameters: &Parameters) -> Self {
        let documents = parameters.all("doc").filter(|id| !id.is_empty());
        Self {
            question: parameters.text("q").to_owned(),
            documents: documents.map(str::to_owned).collect(),
            from: parameters.text("from").to_owned(),
            to: parameters.text("to").to_owned(),
            titles: parameters.text("titles").to_owned(),
            tag: parameters.text("tag").to_owned(),
            page: parameters.page(),
            query: parameters.number("query"),
            is_suggestion: parameters.text("suggested") == "1",
        }
    }

    /// Years and a message for those that are not numbers.
    fn year(text: &str) -> Result<Option<i64>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        let year = text
            .parse::<i64>()
            .ok()
            .filter(|year| (-9999..=9999).contains(year));
        let year =
            year.ok_or_else(|| format!("Year: expected a number such as 2020, found {text:?}."));
        year.map(Some)
    }

    fn filters(&self, state: &PublishedState) -> Result<Vec<Predicate>, String> {
        let name = || Attributes::YEAR.to_owned();
        let mut filters = Vec::new();
        let (from, to) = (Self::year(&self.from)?, Self::year(&self.to)?);
        if let (Some(first), Some(last)) = (from, to)
            && first > last
        {
            return Err(format!(
                "Years: expected the first one first, found {first} and {last}."
            ));
        }
        if from.is_some() || to.is_some() {
            filters.push(Predicate::Known { name: name() });
        }
        if let Some(limit) = from {
            filters.push(Predicate::AtLeast {
                name: name(),
                limit: limit.into(),
                strict: false,
            });
        }
        if let Some(limit) = to {
            filters.push(Predicate::AtMost {
                name: name(),
                limit: limit.into(),
                strict: false,
            });
        }
        if !self.tag.is_empty() {
            filters.push(Predicate::OneOf {
                name: TAGS.to_owned(),
                values: vec![AttributeValue::Text(self.tag.clone())],
            });
        }
        let ids: Option<Vec<&String>> = match (&*self.documents, self.titles.trim()) {
            ([], "") => None,
            ([], _) => {
                let titled = state.documents().iter();
                let titled =
                    titled.filter(|document| has_title_words(document.title(), &self.titles));
                Some(titled.map(|document| &document.id).collect())
            }
            (selected, _) => Some(selected.iter().collect()),
        };
        if let Some(ids) = ids {
            let values = ids.into_iter().cloned().map(AttributeValue::Text);
            filters.push(Predicate::OneOf {
                name: "doc_id".to_owned(),
                values: values.collect(),
            });
        }
        Ok(filters)
    }

    fn has_filters(&self) -> bool {
        let fields = [&*self.from, &self.to, self.titles.trim(), &self.tag];
        !(self.documents.is_empty() && fields.iter().all(|field| field.is_empty()))
    }

    /// Parameters of the form with another question, and without the number of the page.
    fn with_question<'a>(&'a self, question: &'a str) -> Vec<(&'a str, &'a str)> {
        let mut parameters = vec![("q", question)];
        parameters.extend(self.documents.iter().map(|id| ("doc", id.as_str())));
        for (name, value) in [
            ("from", &self.from),
            ("to", &self.to),
            ("titles", &self.titles),
            ("tag", &self.tag),
        ] {
            if !value.is_empty() {
                parameters.push((name, value));
            }
        }
        parameters
    }
}

/// Page of search: the form, and the answers if there is a question.
pub(super) async fn page(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    headers: HeaderMap,
    UrlParameters(parameters): UrlParameters,
) -> Result<Response, PageError> {
    respond(&app, visitor, &headers, &parameters, false).await
}

/// Page of search with an answer that a language model writes. A form with `POST`, so that neither
/// another site nor a crawler makes the model work.
pub(super) async fn generate(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    headers: HeaderMap,
    FormParameters(parameters): FormParameters,
) -> Result<Response, PageError> {
    respond(&app, visitor, &headers, &parameters, true).await
}

async fn respond(
    app: &Arc<App>,
    visitor: Visitor,
    headers: &HeaderMap,
    parameters: &Parameters,
    generates: bool,
) -> Result<Response, PageError> {
    let start = Instant::now();
    let form = SearchForm::new(parameters);
    let state = app.service.published()?;
    let filters = match form.filters(&state) {
        Ok(filters) => filters,
        Err(message) => {
            let content = html! {
                (form_of(&form, &state, &[]))
                p.error role="alert" { (message) }
            };
            let page = page_of(app, &form, &content);
            return Ok((StatusCode::BAD_REQUEST, page).into_response());
        }
    };
    let end = form.page.saturating_mul(ANSWERS);
    // One more tells whether there is a next page.
    let limit = end.saturating_add(1).min(app.service.limits().results);
    let question = Question {
        text: form.question.clone(),
        limit,
        filters,
        user: visitor.id,
        is_suggestion: form.is_suggestion,
        explain: true,
        matches: true,
        explained: Some(end.saturating_sub(ANSWERS)..end),
        is_continued: form.query.is_some() || !is_logged(headers),
        records_clicks: true,
    };
    let mut result = app
        .run_search(move |service| search(service, &question))
        .await?;
    // Only the first page displays it.
    if generates
        && form.page == 1
        && let Ok(Some(list)) = &result.found
    {
        result.generated = app.generate(start, &form.question, &list.answers).await;
    }
    let status = match &result.found {
        Ok(_) => StatusCode::OK,
        Err(error) => status_of(error),
    };
    let content = html! {
        (form_of(&form, &result.state, &result.tags))
        (results(&form, &result))
    };
    Ok((status, page_of(app, &form, &content)).into_response())
}

fn search(service: &Service, question: &Question) -> Result<SearchResult, ServiceError> {
    let state = service.published()?;
    let start = Instant::now();
    let found = match question.text.as_str() {
        "" => Ok(None),
        _ => service.ask(question).map(Some),
    };
    let time = start.elapsed();
    let has_answers = matches!(&found, Ok(Some(list)) if !list.answers.is_empty());
    let suggestions = match (has_answers, &found) {
        (_, Ok(None)) => first_questions(&state),
        (false, Ok(_)) => {
            let mut texts = service.complete(&question.text, 5).unwrap_or_default();
            texts.retain(|suggestion| suggestion.text != question.text);
            texts
        }
        _ => Vec::new(),
    };
    let is_starting = state.documents().is_empty()
        && (service.unfinished_jobs() > 0 || service.reading_state().progress.is_some());
    Ok(SearchResult {
        is_starting,
        tags: service.tags()?.counts(&state),
        state,
        found,
        suggestions,
        time,
        model: service.generator().map(str::to_owned),
        generated: None,
    })
}

/// Questions to start with: displayable questions, then titles of papers.
fn first_questions(state: &PublishedState) -> Vec<Suggestion> {
    let frames = state.index().frames().iter();
    let questions = frames
        .flat_map(|frame| &frame.questions)
        .filter(|question| question.displayable && is_displayed(&question.text))
        .map(|question| question.text.clone());
    let answered = state.documents().iter();
    let answered = answered.filter(|document| !document.answers.is_empty());
    let titles = answered.map(|document| document.title().to_owned());
    let texts = questions.chain(titles).take(5);
    texts.map(Suggestion::new).collect()
}

fn page_of(app: &App, form: &SearchForm, content: &Markup) -> Html<String> {
    let title = match form.question.as_str() {
        "" => "Search",
        question => question,
    };
    app.page(title).current("/").html(content)
}

fn form_of(form: &SearchForm, state: &PublishedState, tags: &[(String, usize)]) -> Markup {
    html! {
        h1 .visually-hidden[!form.question.is_empty()] { "Search papers" }
        form.search role="search" action="/" {
            (question_input("Question", &form.question))
            details.filters open[form.has_filters() || !form.titles.is_empty()] {
                summary { "Filters" }
                (filter_inputs(form, state, tags))
            }
        }
    }
}

/// Input for a question with auto-complete, and its button.
pub(super) fn question_input(label: &str, question: &str) -> Markup {
    html! {
        label for="q" { (label) }
        div.box {
            div.combobox {
                input #q name="q" type="search" value=(question) autocomplete="off" maxlength="1000"
                    placeholder="Ask a question" enterkeyhint="search" data-suggest="/suggest";
                input type="hidden" name="suggested" value="1" disabled;
            }
            button { "Search" }
        }
    }
}

fn filter_inputs(form: &SearchForm, state: &PublishedState, tags: &[(String, usize)]) -> Markup {
    let documents = state.documents();
    let has_years = !(form.from.is_empty() && form.to.is_empty());
    let has_words = !form.titles.trim().is_empty();
    let selected = documents
        .iter()
        .filter(|document| form.documents.contains(&document.id));
    let mut others = documents
        .iter()
        .filter(|document| !form.documents.contains(&document.id));
    let lists_all = documents.len() <= PAPERS || has_words;
    let listed: Vec<_> = others
        .by_ref()
        .filter(|document| lists_all && has_title_words(document.title(), &form.titles))
        .take(PAPERS)
        .collect();
    html! {
        div.row {
            div {
                label for="from" { "From year" }
                input #from name="from" inputmode="numeric" size="6" value=(form.from);
            }
            div {
                label for="to" { "To year" }
                input #to name="to" inputmode="numeric" size="6" value=(form.to);
            }
            div {
                label for="titles" { "Words in titles" }
                input #titles name="titles" value=(form.titles);
            }
            (tag_input(&form.tag, tags))
            button.plain { "Apply" }
        }
        @if has_years {
            @let undated = documents.iter().filter(|document| document.meta.year().is_none()).count();
            @if undated > 0 {
                p.hint { "Years leave out " (count(undated, "paper")) " without a year." }
            }
        }
        fieldset {
            legend {
                "Only in these papers "
                span.hint {
                    @if lists_all && has_words { "(none selected: all with these words in their titles)" }
                    @else if lists_all { "(none selected: all papers)" }
                    @else { "(" (count(documents.len(), "paper")) ": enter words of a title to list some)" }
                }
            }
            div.scroll role="group" aria-label="Papers" tabindex="0" {
                @for document in selected {
                    label.check {
                        input type="checkbox" name="doc" value=(document.id) checked;
                        " " (document.title())
                    }
                }
                @for document in &listed {
                    label.check {
                        input type="checkbox" name="doc" value=(document.id);
                        " " (document.title())
                    }
                }
                @if listed.is_empty() && has_words {
                    p.hint { "No title has all of these words." }
                }
            }
        }
    }
}

fn results(form: &SearchForm, result: &SearchResult) -> Markup {
    let list = match &result.found {
        Err(error) => {
            return html! {
                p.error role="alert" { "The search failed: " (error) "." }
            };
        }
        Ok(None) => return home(result),
        Ok(Some(list)) => list,
    };
    let (answers, has_next) = slice_of(&list.answers, form.page, ANSWERS);
    let query = form.query.unwrap_or(list.query).to_string();
    let milliseconds = result.time.as_micros() as f64 / 1000.0;
    html! {
        section aria-labelledby="results" {
            h2 #results .visually-hidden { "Answers" }
            @for warning in &list.warnings { p.hint role="status" { "Warning: " (warning) "." } }
            @if answers.is_empty() {
                (no_answers(form, result))
            } @else {
                p.hint role="status" {
                    @if has_next || form.page > 1 {
                        @let first = (form.page - 1) * ANSWERS;
                        "Answers " (first + 1) " to " (first + answers.len())
                    } @else { (count(answers.len(), "answer")) }
                    " in " (format!("{milliseconds:.1}")) " ms"
                }
                @if form.page == 1 {
                    @let parameters = {
                        let mut parameters = form.with_question(&form.question);
                        parameters.push(("query", &query));
                        parameters
                    };
                    (generation_of(&result.state, result.model.as_deref(), result.generated.as_ref(), answers, &parameters))
                }
                ol.answers start=((form.page - 1) * ANSWERS + 1) {
                    @for paper in &papers(paragraphs(&result.state, answers)) {
                        @let rank = (form.page - 1) * ANSWERS + paper.best.first + 1;
                        li value=(rank) {
                            (PaperHit { form, state: &result.state, paper, first_rank: (form.page - 1) * ANSWERS + 1, query: &query }.markup())
                        }
                    }
                }
                p.actions { a href=(url("/table", &[("q", &form.question), ("query", "0")])) { "Best answer of every paper" } }
                (pagination(form.page, has_next, |page| {
                    let mut parameters = form.with_question(&form.question);
                    parameters.push(("query", &query));
                    page_url("/", &parameters, page)
                }))
            }
        }
        @if !list.related.is_empty() {
            section.related aria-labelledby="related" {
                h2 #related { "You may also want to know" }
                ul {
                    @for question in &list.related {
                        li { (question_link(form, question)) }
                    }
                }
            }
        }
    }
}

/// Link that asks a suggested question. Generated ones are marked.
fn question_link(form: &SearchForm, suggestion: &Suggestion) -> Markup {
    let mut parameters = form.with_question(&suggestion.text);
    parameters.push(("suggested", "1"));
    html! {
        a href=(url("/", &parameters)) { (suggestion.text) }
        @if suggestion.generated { " " span.hint { "(generated)" } }
    }
}

/// Suggestions for a typed text, as a JSON array of [`Suggestion`].
pub(super) async fn suggest(
    State(app): State<Arc<App>>,
    visitor: Result<Visitor, PageError>,
    UrlParameters(parameters): UrlParameters,
) -> Response {
    if let Err(error) = visitor {
        let response = error.into_response();
        // The script of the pages reads JSON.
        return match response.status() {
            StatusCode::TOO_MANY_REQUESTS => {
                ApiError::busy("too many requests with this key").into_response()
            }
            _ => response,
        };
    }
    let typed = parameters.raw("q").to_owned();
    if typed.trim().is_empty() {
        return Json(Vec::<Suggestion>::new()).into_response();
    }
    match app
        .run_search(move |service| service.complete(&typed, SUGGESTIONS))
        .await
    {
        Ok(suggestions) => Json(suggestions).into_response(),
        Err(error) => (status_of(&error), Json(Vec::<Suggestion>::new())).into_response(),
    }
}
