use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::auth::QueryAccess;
use super::path::ApiPath;
use crate::api_error::ApiError;
use crate::app::App;
use crate::error::ServiceError;
use crate::service::Service;
use crate::store::{Job, JobStatus, now, random_hex};

/// Progress of a job.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct JobRecord {
    job_id: String,
    /// Units that are done.
    done: u64,
    /// Units of the current stage.
    total: u64,
    /// Unix time in milliseconds.
    enqueued_at: i64,
    queue: &'static str,
    status: JobStatus,
    /// Unix time in milliseconds.
    started_at: Option<i64>,
    /// `add`, or the stage of a publication.
    #[serde(rename = "type")]
    kind: String,
}

/// State of a publication.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct StatusResponse {
    /// `finished` once queries see the documents.
    status: JobStatus,
    /// Why the publication failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Progress of the job, by its id.
    progress: BTreeMap<String, JobRecord>,
    /// Vectors of the published answers, if the server has an encoder.
    #[serde(skip_serializing_if = "Option::is_none")]
    vectors: Option<VectorStatus>,
}

/// Vectors of the published answers, which follow a publication.
#[derive(Debug, Serialize, ToSchema)]
struct VectorStatus {
    /// Number of published answers that wait for a vector, their own or one of their questions:
    /// they are ranked by BM25 alone.
    waiting: usize,
    /// Texts with a vector, while texts are encoded: answers, then questions.
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<u64>,
    /// Texts of the current stage, while texts are encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    /// Why the encoding ended. The next publication or start tries again.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl VectorStatus {
    fn new(service: &Service) -> Option<Self> {
        let waiting = service.waiting_for_vectors();
        let waiting = waiting.ok().filter(|_| service.has_encoder())?;
        let encoding = service.encoding();
        let (done, total) = encoding.progress.unzip();
        Some(Self {
            waiting,
            done,
            total,
            error: encoding.error,
        })
    }
}

impl JobRecord {
    /// Record of an addition, which is done at once.
    pub(super) fn addition(documents: u64, enqueued_at: i64) -> Result<Self, ApiError> {
        let job_id = random_hex(16).map_err(ServiceError::from)?;
        Ok(Self {
            job_id,
            done: documents,
            total: documents,
            enqueued_at,
            queue: "documents",
            status: JobStatus::Finished,
            started_at: Some(now()),
            kind: "add".to_owned(),
        })
    }
}

impl From<Job> for JobRecord {
    fn from(job: Job) -> Self {
        Self {
            job_id: job.id,
            done: job.done,
            total: job.total,
            enqueued_at: job.enqueued_at,
            queue: "publications",
            status: job.status,
            started_at: job.started_at,
            kind: job.stage,
        }
    }
}

/// Returns the state of a publication.
#[utoipa::path(
    get,
    path = "/v1/op/status/{op_id}",
    tag = "index",
    params(("op_id" = String, Path, description = "Id of the publication")),
    responses((status = 200, description = "State and progress of the publication", body = StatusResponse))
)]
pub(super) async fn status(
    State(app): State<Arc<App>>,
    _: QueryAccess,
    ApiPath(op_id): ApiPath<String>,
) -> Result<Json<StatusResponse>, ApiError> {
    let id = op_id.clone();
    let job = app.run(move |service| Ok((service.job(&id)?, VectorStatus::new(service))));
    let (job, vectors) = job.await?;
    let Some(job) = job else {
        return Err(ApiError::missing(format!(
            "publication {op_id:?}: not found; the last 1,000 are kept"
        )));
    };
    Ok(Json(StatusResponse {
        status: job.status,
        error: job.error.clone(),
        progress: BTreeMap::from([(op_id, job.into())]),
        vectors,
    }))
}
