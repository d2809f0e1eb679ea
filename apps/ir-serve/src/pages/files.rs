//! Files of the folder of papers that have no documents or lack parts.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::{Html, Redirect};
use maud::{Markup, html};

use super::access::Admin;
use super::error::PageError;
use super::layout::{count, page_url, pagination, time};
use super::parameters::UrlParameters;
use crate::app::App;
use crate::published::HiddenDocument;
use crate::service::ReadingState;
use crate::store::{FileStatus, FolderReading};
use crate::urls::document_url;

/// Files on a page.
const FILES: u64 = 100;

/// Time for which the form waits for the end of a reading.
const WAIT: Duration = Duration::from_secs(2);

/// Page of the files, failed ones first. The page loads itself again while the folder is read.
pub(super) async fn page(
    State(app): State<Arc<App>>,
    _: Admin,
    UrlParameters(parameters): UrlParameters,
) -> Result<Html<String>, PageError> {
    let number = parameters.page();
    let skip = (number as u64 - 1) * FILES;
    let (files, counts, reading) = app
        .store(move |store| {
            Ok((
                store.file_problems(skip, FILES)?,
                store.file_problem_counts()?,
                store.folder_reading()?,
            ))
        })
        .await?;
    let total: u64 = counts.iter().sum();
    let (state, published) = (app.service.reading_state(), app.service.published());
    let content = html! {
        h1 { "Files" }
        (last_reading(reading.as_ref()))
        (rescan_form(&app, &state))
        @if total == 0 {
            @if let Some(reading) = &reading {
                p role="status" {
                    @if reading.files > 0 { "All files were read, and lack nothing." } @else { "The folder has no files." }
                }
            }
        } @else {
            p role="status" { (numbers(counts)) "." }
            div.table role="group" aria-label="Files" tabindex="0" {
                table {
                    thead {
                        tr {
                            th scope="col" { "File" }
                            th scope="col" { "Status" }
                            th scope="col" { "Reason" }
                        }
                    }
                    tbody {
                        @for file in &files {
                            tr {
                                td.file { (file.path) }
                                td { span.status { (file.status.name()) } }
                                td { (file.reason) }
                            }
                        }
                    }
                }
            }
            (pagination(number, skip.saturating_add(FILES) < total, |page| page_url("/files", &[], page)))
        }
        @if let Ok(state) = &published { (hidden_papers(state.hidden())) }
    };
    let mut page = app.page("Files").current("/files");
    if state.progress.is_some() {
        page = page.refresh(1);
    }
    Ok(page.html(&content))
}

/// Folder and time of the last complete reading.
fn last_reading(reading: Option<&FolderReading>) -> Markup {
    html! {
        @match reading {
            None => p role="status" { "No folder has been read yet." },
            Some(reading) => p.hint {
                "The last complete reading of the folder of papers: " (reading.path) ", "
                (time(reading.ended_at)) " UTC, "
                (count(usize::try_from(reading.files).unwrap_or(usize::MAX), "file")) ". "
                "A file that failed or was skipped keeps the documents of its last readable version. "
                "A document that was replaced over REST is not read from its file; one that was deleted over REST is read again when its file has changed."
            },
        }
    }
}

/// Papers with the DOI or arXiv id of another one.
fn hidden_papers(papers: &[HiddenDocument]) -> Markup {
    html! {
        @if !papers.is_empty() {
            h2 { "Hidden papers" }
            p { "Another paper has their DOI or arXiv id." }
            ul {
                @for paper in papers {
                    li { (paper.id) ": the same as " a href=(document_url(&paper.published, &[])) { (paper.published) } }
                }
            }
        }
    }
}

/// Progress of the reading that runs, or the error of the last one and a button that starts one.
fn rescan_form(app: &App, state: &ReadingState) -> Markup {
    html! {
        @if let Some((done, total)) = state.progress {
            p role="status" { "The folder is being read: " (done) " of " (total) " files. This page loads itself again." }
            progress aria-label="Progress" value=[(total > 0).then_some(done)] max=(total.max(1)) {}
        } @else {
            @if let Some(error) = &state.error {
                p.error role="alert" { "The last reading failed: " (error) "." }
            }
            @if app.service.papers().is_some() {
                form method="post" action="/files" { button { "Read the folder again" } }
            } @else {
                p.hint { "The service was started without a folder of papers: documents are added over REST." }
            }
        }
    }
}

/// Reads the folder again. Redirects to the publication, or to the list of files if nothing has
/// changed or the folder is still being read after [`WAIT`].
pub(super) async fn rescan(State(app): State<Arc<App>>, _: Admin) -> Result<Redirect, PageError> {
    let rescan = app.rescan(WAIT).await?;
    let publication = rescan.and_then(|rescan| rescan.publication);
    Ok(Redirect::to(&match publication {
        Some(job) => format!("/jobs/{}", job.id),
        None => "/files".to_owned(),
    }))
}

/// Numbers of files by status, such as `2 files failed, 1 file incomplete`.
pub(super) fn numbers(counts: [u64; 3]) -> Markup {
    let numbers = FileStatus::ALL.into_iter().zip(counts);
    let numbers: Vec<String> = numbers
        .filter(|(_, number)| *number > 0)
        .map(|(status, number)| {
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            format!("{} {}", count(number, "file"), status.name())
        })
        .collect();
    html! { (numbers.join(", ")) }
}
