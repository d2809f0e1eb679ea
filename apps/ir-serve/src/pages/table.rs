//! One question to all papers: a table with the best answer of each, and its file.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{Html, Response};
use maud::{Markup, html};

use super::access::Visitor;
use super::error::PageError;
use super::export::{csv_line, file};
use super::guard::is_logged;
use super::layout::{count, page_url, pagination, slice_of};
use super::parameters::UrlParameters;
use super::search::question_input;
use crate::app::App;
use crate::base_path::RequestBase;
use crate::service::{PaperAnswer, Question};
use crate::urls::{document_url, sentence_url, url};

/// Papers on a page.
const PAPERS: usize = 50;

/// Columns of the file.
const COLUMNS: [&str; 12] = [
    "doc_id", "title", "authors", "year", "venue", "doi", "arxiv", "answer", "section", "page",
    "score", "link",
];

/// Page of the table.
pub(super) async fn page(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    headers: HeaderMap,
    UrlParameters(parameters): UrlParameters,
) -> Result<Html<String>, PageError> {
    let number = parameters.page();
    let question = Question {
        user: visitor.id,
        is_continued: parameters.number::<i64>("query").is_some() || !is_logged(&headers),
        ..Question::new(parameters.text("q"), 0)
    };
    let content = app
        .run_search(move |service| {
            let state = service.published()?;
            let papers = match question.text.as_str() {
                "" => Vec::new(),
                _ => service.ask_every_paper(&state, &question)?,
            };
            Ok(markup(&question.text, &papers, number))
        })
        .await?;
    Ok(app.page("Table of papers").current("/table").html(&content))
}

fn markup(question: &str, papers: &[PaperAnswer<'_>], number: usize) -> Markup {
    let (listed, has_next) = slice_of(papers, number, PAPERS);
    let answered = papers.iter().filter(|paper| paper.answer.is_some()).count();
    html! {
        h1 { "One question to all papers" }
        form.search role="search" action="/table" { (question_input("Question", question)) }
        @if !question.is_empty() {
            p.place {
                span role="status" { "Answers in " (answered) " of " (count(papers.len(), "paper")) }
                a href=(url("/table/answers.csv", &[("q", question)])) { "All as CSV" }
                a href=(url("/", &[("q", question)])) { "Search" }
            }
        }
        @if !listed.is_empty() {
            div.table role="group" aria-label="Papers" tabindex="0" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Paper" }
                            th scope="col" { "Year" }
                            th scope="col" { "Best answer" }
                            th.number scope="col" { "Score" }
                        }
                    }
                    tbody { @for paper in listed { (row(question, paper)) } }
                }
            }
        }
        // Pages are not further queries of the log.
        (pagination(number, has_next, |page| page_url("/table", &[("q", question), ("query", "0")], page)))
    }
}

fn row(question: &str, row: &PaperAnswer<'_>) -> Markup {
    let paper = row.paper;
    html! {
        tr {
            td.file { a href=(document_url(&paper.id, &[("q", question), ("query", "0")])) { (paper.title()) } }
            td { @if let Some(year) = paper.meta.year() { (year) } }
            @match row.answer {
                None => {
                    td { span.hint { "No answer" } }
                    td {}
                }
                Some((frame, score)) => {
                    td { a href=(sentence_url(frame)) { (frame.answer) } }
                    td.number { (format!("{score:.3}")) }
                }
            }
        }
    }
}

/// The table as a file of comma-separated values (RFC 4180).
pub(super) async fn csv(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    UrlParameters(parameters): UrlParameters,
    headers: HeaderMap,
    base: Option<Extension<RequestBase>>,
) -> Result<Response, PageError> {
    let question = Question {
        user: visitor.id,
        is_continued: true,
        ..Question::new(parameters.text("q"), 0)
    };
    // A file has no page that its links are relative to.
    let site = app.site_url(&headers, base.as_ref().map(|Extension(base)| base));
    let content = app
        .run_search(move |service| {
            let state = service.published()?;
            let papers = service.ask_every_paper(&state, &question)?;
            let header = csv_line(COLUMNS.map(str::to_owned));
            let rows = papers.iter().map(|paper| csv_line(fields(paper, &site)));
            Ok([header].into_iter().chain(rows).collect::<String>())
        })
        .await?;
    Ok(file("answers.csv", content))
}

/// Fields of a paper in the order of [`COLUMNS`]; unknown ones are empty.
fn fields(row: &PaperAnswer<'_>, site: &str) -> [String; 12] {
    let citation = row.paper.citation();
    let text = |text: Option<String>| text.unwrap_or_default();
    let frame = row.answer.map(|(frame, _)| frame);
    let section = frame.and_then(|frame| {
        let place = row.paper.answer(&frame.id)?;
        row.paper.section(place.chunk).map(str::to_owned)
    });
    [
        row.paper.id.clone(),
        citation.title,
        citation.authors.join("; "),
        text(citation.year.map(|year| year.to_string())),
        text(citation.venue),
        text(citation.doi),
        text(citation.arxiv),
        text(frame.map(|frame| frame.answer.clone())),
        text(section),
        text(
            frame
                .and_then(|frame| frame.page)
                .map(|page| page.to_string()),
        ),
        text(row.answer.map(|(_, score)| score.to_string())),
        text(frame.map(|frame| format!("{site}{}", sentence_url(frame)))),
    ]
}
