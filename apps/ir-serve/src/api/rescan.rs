use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::AdminAccess;
use super::body::OptionalJsonBody;
use crate::api_error::{ApiError, ErrorBody};
use crate::app::App;
use crate::service::ReadingState;
use crate::store::FolderReading;

/// Longest time for which a request waits for the end of a reading.
const WAIT: Duration = Duration::from_secs(10);

/// Body of `/v1/index/rescan`, which may be empty. Its fields are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
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
    /// Number of papers that were deleted, because their files do not exist any more.
    deleted: usize,
    /// Id of the publication, if documents have changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    op_id: Option<String>,
}

/// Reading of the folder of papers that runs.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReadingResponse {
    /// Progress; `null` if the reading has ended meanwhile.
    reading: Option<ReadingProgress>,
}

/// State of the folder of papers.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FolderStatus {
    /// Progress of the reading that runs.
    reading: Option<ReadingProgress>,
    /// The last complete reading.
    last: Option<FolderReading>,
    /// Error of the last reading since the start of the service, or of the start of its
    /// publication.
    error: Option<String>,
    /// Id of the publication that `POST` has started after the last reading.
    op_id: Option<String>,
}

/// Progress of a reading.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReadingProgress {
    /// Number of files that are done.
    done: u64,
    /// Number of files; 0 while the folder is listed.
    total: u64,
}

impl ReadingProgress {
    fn from_state(state: &ReadingState) -> Option<Self> {
        state.progress.map(|(done, total)| Self { done, total })
    }
}

/// Reads the folder of papers again, and starts a publication if documents have changed. A reading
/// of more than 10 s, or half of the time limit of a request, continues after the response 202;
/// `GET` returns its state.
#[utoipa::path(
    post,
    path = "/v1/index/rescan",
    tag = "index",
    request_body = Option<RescanRequest>,
    responses(
        (status = 200, description = "The folder was read", body = RescanResponse),
        (status = 202, description = "The folder is being read", body = ReadingResponse),
        (status = 409, description = "No folder, or it is being read or cannot be read", body = ErrorBody),
    )
)]
pub(super) async fn rescan(
    State(app): State<Arc<App>>,
    _: AdminAccess,
    OptionalJsonBody(RescanRequest {}): OptionalJsonBody<RescanRequest>,
) -> Result<Response, ApiError> {
    let wait = WAIT.min(app.service.limits().time / 2);
    let Some(rescan) = app.rescan(wait).await? else {
        // Not from the store, for which the reading may wait, too.
        let reading = ReadingProgress::from_state(&app.service.reading_state());
        let response = Json(ReadingResponse { reading });
        return Ok((StatusCode::ACCEPTED, response).into_response());
    };
    let response = RescanResponse {
        read: rescan.report.read(),
        unchanged: rescan.report.unchanged(),
        failed: rescan.report.failed(),
        skipped: rescan.report.skipped(),
        deleted: rescan.deleted,
        op_id: rescan.publication.map(|job| job.id),
    };
    Ok(Json(response).into_response())
}

/// Returns the state of the folder of papers.
#[utoipa::path(
    get,
    path = "/v1/index/rescan",
    operation_id = "rescan_status",
    tag = "index",
    responses((status = 200, description = "State of the folder of papers", body = FolderStatus))
)]
pub(super) async fn status(
    State(app): State<Arc<App>>,
    _: AdminAccess,
) -> Result<Json<FolderStatus>, ApiError> {
    let status = app.run(|service| {
        // Before the store is read: `last` is not older.
        let state = service.reading_state();
        Ok(FolderStatus {
            reading: ReadingProgress::from_state(&state),
            last: service.store().folder_reading()?,
            error: state.error,
            op_id: state.publication,
        })
    });
    Ok(Json(status.await?))
}
