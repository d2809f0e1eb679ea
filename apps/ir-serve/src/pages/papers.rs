//! All published papers as a table with their tags, and citations of papers and of quoted
//! sentences.

use std::iter;
use std::sync::Arc;

use axum::extract::State;
use axum::response::{Html, Redirect, Response};
use ir_qa::Frame;
use maud::{Markup, html};
use serde_json::json;

use super::access::Visitor;
use super::error::PageError;
use super::export::{csv_line, file};
use super::layout::{count, page_url, pagination, slice_of};
use super::original::original_url;
use super::parameters::{FormParameters, Parameters, PathParameter, UrlParameters};
use super::upload::drop_zone;
use crate::app::App;
use crate::papers::{
    CitationFormat, PaperOrder, PaperRecord, PaperSelection, citations, sorted_papers,
};
use crate::published::{PublishedDocument, PublishedState};
use crate::service::{PaperTags, own_tags};
use crate::store::KeyRole;
use crate::urls::{document_url, url};

/// Papers on a page.
const PAPERS: usize = 50;

/// Columns of the table with their headings.
const COLUMNS: [(PaperOrder, &str); 6] = [
    (PaperOrder::Title, "Title"),
    (PaperOrder::Authors, "Authors"),
    (PaperOrder::Venue, "Venue"),
    (PaperOrder::Year, "Year"),
    (PaperOrder::Tags, "Tags"),
    (PaperOrder::Answers, "Sentences"),
];

/// Files of the table with their formats.
const EXPORTS: [(&str, &str); 2] = [("papers.csv", "CSV"), ("papers.json", "JSON")];

/// Files of citations with their formats.
pub(super) const CITATIONS: [(&str, CitationFormat, &str); 2] = [
    ("papers.bib", CitationFormat::Bibtex, "BibTeX"),
    ("papers.ris", CitationFormat::Ris, "RIS"),
];

/// Parameters of the table.
struct ListView {
    selection: PaperSelection,
    page: usize,
}

impl ListView {
    fn new(parameters: &Parameters) -> Self {
        let selection = PaperSelection {
            order: PaperOrder::from_name(parameters.text("sort")).unwrap_or_default(),
            is_descending: parameters.text("descending") == "1",
            words: parameters.text("titles").to_owned(),
            tag: parameters.text("tag").to_owned(),
        };
        Self {
            selection,
            page: parameters.page(),
        }
    }

    /// URL of a page of the table in its order.
    fn url(&self, page: usize) -> String {
        let PaperSelection {
            order,
            is_descending,
            ..
        } = self.selection;
        self.sorted_url("/papers", order, is_descending, page)
    }

    /// URL of a page of the table, or of its file, in an order.
    fn sorted_url(
        &self,
        path: &str,
        order: PaperOrder,
        is_descending: bool,
        page: usize,
    ) -> String {
        let descending = if is_descending { "1" } else { "" };
        let sort = if order == PaperOrder::default() {
            ""
        } else {
            order.name()
        };
        let parameters = [
            ("titles", self.selection.words.as_str()),
            ("tag", self.selection.tag.as_str()),
            ("sort", sort),
            ("descending", descending),
        ];
        page_url(path, &parameters, page)
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
        Ok(markup(&view, &state, &service.tags()?))
    });
    let table = page.await?;
    let content = html! {
        (table)
        @if visitor.role == KeyRole::Admin { (drop_zone()) }
    };
    Ok(app.page("Papers").current("/papers").html(&content))
}

fn markup(view: &ListView, state: &PublishedState, tags: &PaperTags) -> Markup {
    let selection = &view.selection;
    let papers = sorted_papers(state, tags, selection);
    let (listed, has_next) = slice_of(&papers, view.page, PAPERS);
    let is_complete = selection.words.is_empty() && selection.tag.is_empty();
    html! {
        h1 { "Papers" }
        form role="search" action="/papers" {
            div.row {
                div {
                    label for="titles" { "Words in titles" }
                    input #titles name="titles" value=(selection.words);
                }
                (tag_input(&selection.tag, &tags.counts(state)))
                input type="hidden" name="sort" value=(selection.order.name());
                @if selection.is_descending { input type="hidden" name="descending" value="1"; }
                button.plain { "Apply" }
            }
        }
        p.place {
            span role="status" { (count(papers.len(), "paper")) }
            @if is_complete && !papers.is_empty() {
                @for (name, _, label) in CITATIONS {
                    a href={ "/cite/" (name) } { "All as " (label) }
                }
            }
            @if !papers.is_empty() {
                @for (name, label) in EXPORTS {
                    a href=(view.sorted_url(&format!("/papers/export/{name}"), selection.order, selection.is_descending, 1)) {
                        @if is_complete { "All as " } @else { "These as " }
                        (label)
                    }
                }
            }
        }
        @if !listed.is_empty() {
            div.table role="group" aria-label="Papers" tabindex="0" {
                table {
                    thead {
                        tr { @for (order, name) in COLUMNS { (heading(view, order, name)) } }
                    }
                    tbody { @for paper in listed { (row(paper, tags)) } }
                }
            }
        }
        (pagination(view.page, has_next, |page| view.url(page)))
    }
}

/// Heading of a column with the link that sorts by it, or reverses its order.
fn heading(view: &ListView, order: PaperOrder, name: &str) -> Markup {
    let is_current = view.selection.order == order;
    // Many sentences and late years come first.
    let first = matches!(order, PaperOrder::Year | PaperOrder::Answers);
    let is_descending = if is_current {
        !view.selection.is_descending
    } else {
        first
    };
    let direction = if view.selection.is_descending {
        "descending"
    } else {
        "ascending"
    };
    let state = is_current.then_some(direction);
    html! {
        th scope="col" aria-sort=[state] .number[order == PaperOrder::Answers] {
            a href=(view.sorted_url("/papers", order, is_descending, 1)) { (name) }
        }
    }
}

/// Selection of a tag, if there are tags.
pub(super) fn tag_input(selected: &str, tags: &[(String, usize)]) -> Markup {
    let is_known = tags.iter().any(|(tag, _)| tag == selected);
    html! {
        @if !(tags.is_empty() && selected.is_empty()) {
            div {
                label for="tag" { "Tag" }
                select #tag name="tag" {
                    option value="" { "Any" }
                    @if !(is_known || selected.is_empty()) { option value=(selected) selected { (selected) } }
                    @for (tag, count) in tags {
                        option value=(tag) selected[tag == selected] { (tag) " (" (count) ")" }
                    }
                }
            }
        }
    }
}

/// Tags of a paper, with the form that adds tags and buttons that remove tags of users.
pub(super) fn tag_forms(paper: &PublishedDocument, tags: &PaperTags) -> Markup {
    let (given, own): (Vec<&str>, Vec<String>) =
        (tags.given(&paper.id).collect(), own_tags(&paper.meta));
    let field = html! { input type="hidden" name="doc" value=(paper.id); };
    html! {
        details.tags open[!(given.is_empty() && own.is_empty())] {
            summary { "Tags" }
            @if !(given.is_empty() && own.is_empty()) {
                ul aria-label="Tags" {
                    @for tag in own.iter().filter(|tag| !given.contains(&tag.as_str())) {
                        li { a href=(tag_url(tag)) { (tag) } span.hint { " (in the document)" } }
                    }
                    @for tag in &given {
                        li {
                            a href=(tag_url(tag)) { (tag) }
                            form method="post" action="/papers/tags" {
                                (field)
                                button.plain name="remove" value=(tag) { "Remove" span.visually-hidden { " tag " (tag) } }
                            }
                        }
                    }
                }
            }
            form method="post" action="/papers/tags" {
                (field)
                label for="add-tags" { "Add tags, separated by commas" }
                div.row {
                    input #add-tags name="add" required maxlength="1000" autocomplete="off";
                    button.plain { "Add" }
                }
            }
        }
    }
}

/// URL of the papers with a tag.
fn tag_url(tag: &str) -> String {
    url("/papers", &[("tag", tag)])
}

/// Changes the tags of a paper, and redirects to it.
pub(super) async fn tag(
    State(app): State<Arc<App>>,
    _: Visitor,
    FormParameters(parameters): FormParameters,
) -> Result<Redirect, PageError> {
    let document = parameters.raw("doc").to_owned();
    let target = document_url(&document, &[]);
    let tags = |name| -> Vec<String> {
        let tags = parameters.all(name).flat_map(|text| text.split(','));
        let tags = tags.filter(|tag| !tag.trim().is_empty());
        tags.map(str::to_owned).collect()
    };
    let (added, removed) = (tags("add"), tags("remove"));
    let changed = app.run(move |service| service.change_tags(&document, &added, &removed));
    changed.await?;
    Ok(Redirect::to(&target))
}

/// File of the papers of the table, of all of its pages.
pub(super) async fn export(
    State(app): State<Arc<App>>,
    _: Visitor,
    PathParameter(name): PathParameter<String>,
    UrlParameters(parameters): UrlParameters,
) -> Result<Response, PageError> {
    let is_json = match EXPORTS.iter().find(|(file, _)| *file == name) {
        Some((_, format)) => *format == "JSON",
        None => return Err(PageError::not_found("This file does not exist.")),
    };
    let view = ListView::new(&parameters);
    let records = app.run(move |service| {
        let (state, tags) = (service.published()?, service.tags()?);
        let papers = sorted_papers(&state, &tags, &view.selection);
        let records = papers.iter().map(|paper| PaperRecord::new(paper, &tags));
        Ok(records.collect::<Vec<_>>())
    });
    let records = records.await?;
    let content = if is_json {
        json!(records).to_string() + "\n"
    } else {
        let header = csv_line(PaperRecord::COLUMNS.map(str::to_owned));
        let lines = records.into_iter().map(|record| csv_line(record.fields()));
        iter::once(header).chain(lines).collect()
    };
    Ok(file(&name, content))
}

fn row(paper: &PublishedDocument, tags: &PaperTags) -> Markup {
    let citation = paper.citation();
    html! {
        tr {
            td.file { a href=(document_url(&paper.id, &[])) { (citation.title) } }
            td { (citation.authors.join(", ")) }
            td { (citation.venue.unwrap_or_default()) }
            td { @if let Some(year) = citation.year { (year) } }
            td {
                @for (number, tag) in tags.tags(paper).iter().enumerate() {
                    @if number > 0 { ", " }
                    a href=(tag_url(tag)) { (tag) }
                }
            }
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
