//! Files of the folder of papers that have no documents or lack parts.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};

use super::access::Admin;
use super::error::PageError;
use super::layout::{Page, count, page_url, pagination};
use super::parameters::UrlParameters;
use crate::app::{App, blocking};
use crate::store::FileStatus;

/// Files on a page.
const FILES: u64 = 100;

/// Page of the files, failed ones first.
pub(super) async fn page(
    State(app): State<Arc<App>>,
    _: Admin,
    UrlParameters(parameters): UrlParameters,
) -> Result<Html<String>, PageError> {
    let number = parameters.page();
    let skip = (number as u64 - 1) * FILES;
    let (files, counts) = blocking(&app, move |service| {
        let store = service.store();
        Ok((
            store.file_problems(skip, FILES)?,
            store.file_problem_counts()?,
        ))
    })
    .await?;
    let total: u64 = counts.iter().sum();
    let content = html! {
        h1 { "Files" }
        p.hint { "The last reading of the folder of papers. A failed file keeps the documents of its last readable version." }
        @if total == 0 {
            p role="status" { "All files were read, and lack nothing." }
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
    };
    let page = Page::new("Files")
        .current("/review")
        .with_session(app.access.needs_session);
    Ok(Html(page.render(&content)))
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
