use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ApiError;
use super::auth::AdminAccess;
use super::body::JsonBody;
use super::error::ErrorBody;
use crate::app::{App, blocking};

/// Body of `/v1/index/rescan`. Its fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(expecting = "an object")]
pub(super) struct RescanRequest {}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RescanResponse {
    /// Number of files that were read.
    read: usize,
    /// Number of files that have not changed.
    unchanged: usize,
    /// Number of files that could not be read.
    failed: usize,
    /// Number of files that were skipped.
    skipped: usize,
    /// Id of the publication, if documents have changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    op_id: Option<String>,
}

/// Reads the folder of papers again, and starts a publication if documents have changed. A reading
/// that exceeds the time limit of a request continues; `/v1/index/files` has its problems.
#[utoipa::path(
    post,
    path = "/v1/index/rescan",
    tag = "index",
    security(("key" = [])),
    request_body = RescanRequest,
    responses(
        (status = 200, body = RescanResponse),
        (status = 409, description = "No folder, or it is being read or cannot be read", body = ErrorBody),
        (status = "4XX", body = ErrorBody),
    )
)]
pub(super) async fn rescan(
    State(app): State<Arc<App>>,
    _: AdminAccess,
    JsonBody(RescanRequest {}): JsonBody<RescanRequest>,
) -> Result<Json<RescanResponse>, ApiError> {
    let rescan = blocking(&app, |service| service.rescan()).await?;
    Ok(Json(RescanResponse {
        read: rescan.report.read(),
        unchanged: rescan.report.unchanged(),
        failed: rescan.report.failed(),
        skipped: rescan.report.skipped(),
        op_id: rescan.publication.map(|job| job.id),
    }))
}
