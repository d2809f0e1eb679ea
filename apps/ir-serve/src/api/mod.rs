//! REST interface: documents, publication, queries, papers and collections as JSON.

mod auth;
mod body;
mod collections;
mod document_schema;
mod files;
mod index;
mod mcp;
mod openapi;
mod operations;
mod papers;
mod path;
mod query;
mod rerank;
mod rescan;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::{get, post};

use crate::api_error::ApiError;
use crate::app::App;

pub(crate) use auth::role_of_request;
pub use openapi::openapi;

/// Maximum number of bytes of a request that uploads nothing.
const REQUEST_BYTES: usize = 1 << 20;

/// Routes under `/v1`, `/mcp` and `/openapi.json`. `body_bytes` limits uploads and lists of
/// documents to delete.
pub(crate) fn router(body_bytes: usize) -> Router<Arc<App>> {
    let uploads = Router::new()
        .route("/v1/index/add", post(index::add))
        .route("/v1/index/delete", post(index::delete))
        .layer(DefaultBodyLimit::max(body_bytes));
    let others = Router::new()
        .route("/v1/search/query", post(query::query))
        .route("/v1/search/suggest", post(query::suggest))
        .route("/v1/rerank", post(rerank::rerank))
        .route("/v1/papers/list", post(papers::list))
        .route("/v1/papers/cite", post(papers::cite))
        .route("/v1/papers/tag", post(papers::tag))
        .route("/v1/index/read", post(index::read))
        .route("/v1/index/files", post(files::files))
        .route("/v1/index/publish", post(index::publish))
        .route("/v1/index/abort", post(index::abort))
        .route("/v1/index/rescan", post(rescan::rescan).get(rescan::status))
        .route("/v1/op/status/{op_id}", get(operations::status))
        .route("/v1/collections", get(collections::list))
        .route("/v1/collections/{name}/search", post(collections::search))
        .route("/mcp", post(mcp::call).fallback(mcp::no_stream))
        .route("/openapi.json", get(openapi::document))
        .route("/v1/{*path}", axum::routing::any(not_found))
        .layer(DefaultBodyLimit::max(REQUEST_BYTES.min(body_bytes)));
    uploads
        .merge(others)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(map_response(with_headers))
}

/// Responses are not stored, and have the content type that they name.
async fn with_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Answer for unknown paths of the interface.
async fn not_found() -> ApiError {
    ApiError::missing("no such path; /openapi.json describes the interface")
}

/// Answer for other methods.
async fn method_not_allowed() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this path has another method; /openapi.json describes the interface",
    )
}
