use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::AdminAccess;
use super::body::JsonBody;
use super::index::{check_page, page};
use crate::api_error::ApiError;
use crate::app::App;
use crate::store::FileProblem;

/// Body of `/v1/index/files`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(expecting = "an object")]
pub(super) struct FilesRequest {
    /// Number of files to skip.
    #[serde(default)]
    skip: u64,
    /// Maximum number of files.
    #[serde(default = "page")]
    #[schema(default = 100, maximum = 1000)]
    limit: u64,
}

/// Files of the folder of papers that have no documents or lack parts, by its last reading.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FilesResponse {
    /// Number of files that could not be read.
    failed: u64,
    /// Number of files that were skipped.
    skipped: u64,
    /// Number of files that lack parts.
    incomplete: u64,
    /// Failed files first, then skipped and incomplete ones, each by path.
    files: Vec<FileProblem>,
}

/// Returns the files of the folder of papers that could not be read, were skipped, or lack parts.
#[utoipa::path(
    post,
    path = "/v1/index/files",
    tag = "index",
    request_body = FilesRequest,
    responses((status = 200, description = "Files with problems, and their numbers", body = FilesResponse))
)]
pub(super) async fn files(
    State(app): State<Arc<App>>,
    _: AdminAccess,
    JsonBody(request): JsonBody<FilesRequest>,
) -> Result<Json<FilesResponse>, ApiError> {
    check_page(request.limit)?;
    let (files, [failed, skipped, incomplete]) = app
        .store(move |store| {
            let files = store.file_problems(request.skip, request.limit)?;
            Ok((files, store.file_problem_counts()?))
        })
        .await?;
    Ok(Json(FilesResponse {
        failed,
        skipped,
        incomplete,
        files,
    }))
}
