//! Answers that users open: clicks are logged, and answers are shown in their documents.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};

use super::access::Visitor;
use super::error::PageError;
use super::guard::is_logged;
use super::parameters::UrlParameters;
use crate::app::App;
use crate::urls::document_url;

/// Logs a click of the visitor who asked the query, and redirects to the answer in its document.
/// Requests of other sites are redirected only.
pub(super) async fn open(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    headers: HeaderMap,
    UrlParameters(parameters): UrlParameters,
) -> Result<Response, PageError> {
    let state = app.service.published()?;
    let id = parameters.raw("frame").to_owned();
    let frame = state.frame(&id).ok_or_else(|| {
        PageError::not_found("This sentence is not in the published papers any more. Search again.")
    })?;
    let query = parameters.number::<i64>("query").unwrap_or_default();
    let rank = parameters.number("rank").unwrap_or(1);
    if query > 0 && rank > 0 && is_logged(&headers) {
        app.service.log_click(query, visitor.id, id, rank);
    }
    let query = query.to_string();
    let parameters = [
        ("q", parameters.text("q")),
        ("frame", &frame.id),
        ("query", &query),
    ];
    let url = document_url(&frame.paper, &parameters);
    Ok(Redirect::to(&format!("{url}#current")).into_response())
}
