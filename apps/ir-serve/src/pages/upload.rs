//! Files that are dropped on the page of papers.

use std::sync::Arc;

use axum::Json;
use axum::body::{Bytes, HttpBody};
use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use maud::{Markup, html};
use serde::Serialize;

use super::access::Admin;
use super::parameters::UrlParameters;
use crate::api_error::ApiError;
use crate::app::App;
use crate::error::{ServiceError, with_causes};

/// Papers of a file that was added.
#[derive(Debug, Serialize)]
pub(super) struct AddedFile {
    doc_ids: Vec<String>,
    /// Number of papers with these ids that were there.
    replaced: u64,
}

/// Form of the script, which sends each file on its own.
pub(super) fn drop_zone() -> Markup {
    html! {
        section.drop #drop aria-labelledby="add" data-drop="/papers/add" hidden {
            h2 #add { "Add papers" }
            label for="files" { "Drop files here, or choose them" }
            input #files type="file" multiple;
            p.hint { "Text, Markdown, HTML, JATS, TEI, JSON, and PDF if the server was built for it. Queries find them after the publication." }
            div role="status" { ul data-added {} }
            form method="post" action="/publish" hidden { button { "Publish" } }
        }
    }
}

/// Adds the file in the body of a request. The parameter `name` is its name.
pub(super) async fn add(
    State(app): State<Arc<App>>,
    _: Admin,
    UrlParameters(parameters): UrlParameters,
    request: Request,
) -> Result<Json<AddedFile>, ApiError> {
    let permit = app.upload_permit(request.body().size_hint().upper())?;
    let bytes = Bytes::from_request(request, &app).await;
    let bytes = bytes.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "the file is larger than the limit on uploads",
        ),
        _ => ApiError::invalid(format!("the file could not be read: {error}")),
    })?;
    let name = parameters.raw("name").to_owned();
    let added = app.run(move |service| {
        let _permit = permit;
        service.add_file(&name, &bytes)
    });
    let (doc_ids, replaced) = added.await.map_err(|error| match error {
        // Of the file, not of the folder of papers.
        ServiceError::Document(error) => ApiError::invalid(with_causes(&error)),
        error => error.into(),
    })?;
    Ok(Json(AddedFile { doc_ids, replaced }))
}
