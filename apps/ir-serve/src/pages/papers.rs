//! All published papers as a table, and citations of papers and of quoted sentences.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{Html, Response};
use ir_qa::Frame;
use maud::{Markup, html};

use super::access::Visitor;
use super::error::PageError;
use super::export::file;
use super::layout::{count, page_url, pagination, slice_of};
use super::original::original_url;
use super::parameters::{Parameters, PathParameter, UrlParameters};
use super::upload::drop_zone;
use crate::app::App;
use crate::papers::{CitationFormat, PaperOrder, citations, sorted_papers};
use crate::published::PublishedDocument;
use crate::store::KeyRole;
use crate::urls::{document_url, url};

/// Papers on a page.
const PAPERS: usize = 50;

/// Columns of the table with their headings.
const COLUMNS: [(PaperOrder, &str); 5] = [
    (PaperOrder::Title, "Title"),
    (PaperOrder::Authors, "Authors"),
    (PaperOrder::Venue, "Venue"),
    (PaperOrder::Year, "Year"),
    (PaperOrder::Answers, "Sentences"),
];

/// Files of citations with their formats.
pub(super) const CITATIONS: [(&str, CitationFormat, &str); 2] = [
    ("papers.bib", CitationFormat::Bibtex, "BibTeX"),
    ("papers.ris", CitationFormat::Ris, "RIS"),
];

/// Parameters of the table.
struct ListView {
    order: PaperOrder,
    is_descending: bool,
    words: String,
    page: usize,
}

impl ListView {
    fn new(parameters: &Parameters) -> Self {
        Self {
            order: PaperOrder::from_name(parameters.text("sort")).unwrap_or_default(),
            is_descending: parameters.text("descending") == "1",
            words: parameters.text("titles").to_owned(),
            page: parameters.page(),
        }
    }

    /// URL of a page of the table in an order.
    fn url(&self, order: PaperOrder, is_descending: bool, page: usize) -> String {
        let descending = if is_descending { "1" } else { "" };
        let sort = if order == PaperOrder::default() {
            ""
        } else {
            order.name()
        };
        let parameters = [
            ("titles", self.words.as_str()),
            ("sort", sort),
            ("descending", descending),
        ];
        page_url("/papers", &parameters, page)
    }
}

/// Page of all papers.
pub(super) async fn page(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    UrlParameters(parameters): UrlParameters,
) -> Result<Html<String>, PageError> {
    let view = ListView::new(&parameters);
    let page = app.run(move |service| {
        let state = service.published()?;
        let papers = sorted_papers(&state, view.order, view.is_descending, &view.words);
        Ok(markup(&view, &papers))
    });
    let table = page.await?;
    let content = html! {
        (table)
        @if visitor.role == KeyRole::Admin { (drop_zone()) }
    };
    Ok(app.page("Papers").current("/papers").html(&content))
}

fn markup(view: &ListView, papers: &[&PublishedDocument]) -> Markup {
    let (listed, has_next) = slice_of(papers, view.page, PAPERS);
    html! {
        h1 { "Papers" }
        form role="search" action="/papers" {
            div.row {
                div {
                    label for="titles" { "Words in titles" }
                    input #titles name="titles" value=(view.words);
                }
                input type="hidden" name="sort" value=(view.order.name());
                @if view.is_descending { input type="hidden" name="descending" value="1"; }
                button.plain { "Apply" }
            }
        }
        p.place {
            span role="status" { (count(papers.len(), "paper")) }
            @if view.words.is_empty() && !papers.is_empty() {
                @for (name, _, label) in CITATIONS {
                    a href={ "/cite/" (name) } { "All as " (label) }
                }
            }
        }
        @if !listed.is_empty() {
            div.table role="group" aria-label="Papers" tabindex="0" {
                table {
                    thead {
                        tr { @for (order, name) in COLUMNS { (heading(view, order, name)) } }
                    }
                    tbody { @for paper in listed { (row(paper)) } }
                }
            }
        }
        (pagination(view.page, has_next, |page| view.url(view.order, view.is_descending, page)))
    }
}

/// Heading of a column with the link that sorts by it, or reverses its order.
fn heading(view: &ListView, order: PaperOrder, name: &str) -> Markup {
    let is_current = view.order == order;
    // Many sentences and late years come first.
    let first = matches!(order, PaperOrder::Year | PaperOrder::Answers);
    let is_descending = if is_current {
        !view.is_descending
    } else {
        first
    };
    let direction = if view.is_descending {
        "descending"
    } else {
        "ascending"
    };
    let state = is_current.then_some(direction);
    html! {
        th scope="col" aria-sort=[state] .number[order == PaperOrder::Answers] {
            a href=(view.url(order, is_descending, 1)) { (name) }
        }
    }
}

fn row(paper: &PublishedDocument) -> Markup {
    let citation = paper.citation();
    html! {
        tr {
            td.file { a href=(document_url(&paper.id, &[])) { (citation.title) } }
            td { (citation.authors.join(", ")) }
            td { (citation.venue.unwrap_or_default()) }
            td { @if let Some(year) = citation.year { (year) } }
            td.number { (paper.answers.len()) }
        }
    }
}

/// Links to the address of a paper, its file, and its citations, with a quoted sentence.
pub(super) fn citation_links(paper: &PublishedDocument, frame: Option<&Frame>) -> Markup {
    let page = frame.and_then(|frame| frame.page);
    let citation = paper.citation();
    let links = CITATIONS.map(|(name, _, label)| {
        let mut parameters = vec![("doc", paper.id.as_str())];
        parameters.extend(frame.map(|frame| ("frame", frame.id.as_str())));
        (url(&format!("/cite/{name}"), &parameters), label)
    });
    html! {
        @if let Some(address) = citation.url() {
            a href=(address) rel="noreferrer" {
                @if let Some(doi) = &citation.doi { "DOI " (doi) }
                @else { "arXiv " (citation.arxiv.as_deref().unwrap_or_default()) }
            }
        }
        @if let Some(href) = original_url(paper, page) {
            a href=(href) { "File" span.visually-hidden { ": " (citation.title) } }
        }
        @for (href, label) in links {
            a href=(href) { (label) span.visually-hidden { ": " (citation.title) } }
        }
    }
}

/// File with the citations of the documents and answers of the parameters `doc` and `frame`, or of
/// all papers.
pub(super) async fn cite(
    State(app): State<Arc<App>>,
    _: Visitor,
    PathParameter(name): PathParameter<String>,
    UrlParameters(parameters): UrlParameters,
) -> Result<Response, PageError> {
    let format = CITATIONS.iter().find(|(file, ..)| *file == name);
    let (_, format, _) = format.ok_or_else(|| PageError::not_found("This file does not exist."))?;
    let texts = |name| parameters.all(name).map(str::to_owned).collect();
    let (papers, answers): (Vec<String>, Vec<String>) = (texts("doc"), texts("frame"));
    let cited = app.run(move |service| citations(&*service.published()?, &papers, &answers));
    Ok(file(&name, format.write(&cited.await?)))
}
