//! Answers that users open: each is logged, and shown in its document.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};

use super::access::Visitor;
use super::error::PageError;
use super::parameters::UrlParameters;
use super::urls::document_url;
use crate::app::App;

/// Logs that an answer is opened, and redirects to it in its document.
pub(super) async fn open(
    State(app): State<Arc<App>>,
    _: Visitor,
    UrlParameters(parameters): UrlParameters,
) -> Result<Response, PageError> {
    let state = app.service.published()?;
    let id = parameters.raw("frame").to_owned();
    let frame = state.frame(&id).ok_or_else(|| {
        PageError::not_found("This sentence is not in the published papers any more. Search again.")
    })?;
    let query = parameters.number::<i64>("query");
    if let Some(query) = query {
        let rank = parameters.number("rank").unwrap_or(1);
        app.service.log_click(query, id, rank);
    }
    let query = query.unwrap_or_default().to_string();
    let parameters = [
        ("q", parameters.text("q")),
        ("frame", &frame.id),
        ("query", &query),
    ];
    let url = document_url(&frame.paper, &parameters);
    Ok(Redirect::to(&format!("{url}#current")).into_response())
}
