use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use ir_qa::soco::{SocoDocument, SocoReader};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::auth::AdminAccess;
use super::body::{JsonBody, UploadBody};
use super::document_schema::DocumentRecord;
use super::operations::JobRecord;
use crate::api_error::ApiError;
use crate::app::App;
use crate::service::Service;
use crate::store::DocumentState;

/// Body of `/v1/index/add`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(expecting = "an object")]
pub(super) struct AddRequest {
    /// Documents: `{"data": [...], "meta": {...}, "doc_type": "soco_doc"}`. The field `doc_id` of
    /// `meta` is the id; a document with a known id replaces it.
    #[schema(value_type = Vec<DocumentRecord>, example = json!([{
        "doc_type": "soco_doc",
        "meta": {"doc_id": "tea", "year": 2020},
        "data": [{"type": "title", "text": "On tea"}, {"type": "content", "text": "Tea is a drink."}]
    }]))]
    data: Box<RawValue>,
    /// If `true`, publishes afterwards.
    #[serde(default)]
    auto_index: bool,
}

/// Documents that were added. They are durable.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AddResponse {
    /// Ids of the documents, in the order of the request.
    doc_ids: Vec<String>,
    /// Number of new ids.
    new: u64,
    /// Number of documents that replaced another one.
    replaced: u64,
    /// Number of documents that were known.
    unchanged: u64,
    /// Id of the publication, with `auto_index`.
    #[serde(skip_serializing_if = "Option::is_none")]
    op_id: Option<String>,
    #[serde(flatten)]
    job: JobRecord,
}

/// Body of `/v1/index/read`. Unknown fields are errors: `doc_ids` selects no documents here.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(expecting = "an object", deny_unknown_fields)]
pub(super) struct ReadRequest {
    /// Number of documents to skip.
    #[serde(default)]
    skip: u64,
    /// Maximum number of documents.
    #[serde(default = "page")]
    #[schema(default = 100, maximum = 1000)]
    limit: u64,
}

/// Body of `/v1/index/delete`. Unknown fields are errors: a misspelled `doc_ids` would delete all
/// documents.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(expecting = "an object", deny_unknown_fields)]
pub(super) struct DeleteRequest {
    /// If `true`, publishes afterwards.
    #[serde(default)]
    auto_index: bool,
    /// Ids of the documents. Default: all documents; `null`, as of a variable that was not set, is
    /// an error.
    #[serde(default, deserialize_with = "some_ids")]
    #[schema(nullable = false)]
    doc_ids: Option<Vec<String>>,
}

/// Ids that must not be `null`.
fn some_ids<'de, D: Deserializer<'de>>(ids: D) -> Result<Option<Vec<String>>, D::Error> {
    Vec::deserialize(ids).map(Some)
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DeleteResponse {
    /// Number of documents that were deleted.
    deleted: usize,
    /// Id of the publication, with `auto_index`.
    #[serde(skip_serializing_if = "Option::is_none")]
    op_id: Option<String>,
}

/// Body of `/v1/index/publish`. Its fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(expecting = "an object")]
pub(super) struct PublishRequest {}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PublishResponse {
    /// Id for `/v1/op/status/{op_id}`.
    op_id: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AbortResponse {
    /// Ids of the publications that were waiting or running.
    aborted: Vec<String>,
}

pub(super) const fn page() -> u64 {
    100
}

/// Maximum number of documents or files that are read at a time.
const MAX_PAGE: u64 = 1_000;

/// Rejects a limit that is too large.
pub(super) fn check_page(limit: u64) -> Result<(), ApiError> {
    match limit {
        0..=MAX_PAGE => Ok(()),
        _ => Err(ApiError::invalid(format!(
            "limit: expected at most {MAX_PAGE}, found {limit}"
        ))),
    }
}

/// Adds documents, all or none. Queries see them after a publication.
#[utoipa::path(
    post,
    path = "/v1/index/add",
    tag = "index",
    request_body = AddRequest,
    responses((status = 200, description = "The documents were added", body = AddResponse))
)]
pub(super) async fn add(
    State(app): State<Arc<App>>,
    _: AdminAccess,
    upload: UploadBody,
) -> Result<Json<AddResponse>, ApiError> {
    let added = app.run(move |service| Ok(add_documents(service, upload)));
    Ok(Json(added.await??))
}

/// Parses and adds documents.
fn add_documents(service: &Service, upload: UploadBody) -> Result<AddResponse, ApiError> {
    let (request, _permit) = upload.parse::<AddRequest>()?;
    let documents = documents(&request.data)?;
    drop(request.data);
    let total = documents.len() as u64;
    let enqueued_at = crate::store::now();
    let (doc_ids, added) = service.add(documents)?;
    let job = request.auto_index.then(|| service.publish()).transpose()?;
    Ok(AddResponse {
        doc_ids,
        new: added.new,
        replaced: added.replaced,
        unchanged: added.unchanged,
        op_id: job.map(|job| job.id),
        job: JobRecord::addition(total, enqueued_at)?,
    })
}

/// Returns documents as they were added, in the order of their ids.
#[utoipa::path(
    post,
    path = "/v1/index/read",
    tag = "index",
    request_body = ReadRequest,
    responses((status = 200, description = "Documents", body = Vec<DocumentRecord>))
)]
pub(super) async fn read(
    State(app): State<Arc<App>>,
    _: AdminAccess,
    JsonBody(request): JsonBody<ReadRequest>,
) -> Result<Json<Vec<SocoDocument>>, ApiError> {
    check_page(request.limit)?;
    let documents = app
        .store(move |store| store.documents(DocumentState::Added, request.skip, request.limit))
        .await?;
    Ok(Json(
        documents
            .into_iter()
            .map(|document| document.record)
            .collect(),
    ))
}

/// Deletes documents by id, or all. Queries see them until a publication.
#[utoipa::path(
    post,
    path = "/v1/index/delete",
    tag = "index",
    request_body = DeleteRequest,
    responses((status = 200, description = "The documents were deleted", body = DeleteResponse))
)]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    _: AdminAccess,
    upload: UploadBody,
) -> Result<Json<DeleteResponse>, ApiError> {
    let deleted = app.run(move |service| Ok(delete_documents(service, upload)));
    Ok(Json(deleted.await??))
}

/// Parses a list of documents, and deletes them.
fn delete_documents(service: &Service, upload: UploadBody) -> Result<DeleteResponse, ApiError> {
    let (request, _permit) = upload.parse::<DeleteRequest>()?;
    let deleted = service.delete(request.doc_ids.as_deref())?;
    let job = request.auto_index.then(|| service.publish()).transpose()?;
    Ok(DeleteResponse {
        deleted,
        op_id: job.map(|job| job.id),
    })
}

/// Starts to make the documents visible to queries.
#[utoipa::path(
    post,
    path = "/v1/index/publish",
    tag = "index",
    request_body = PublishRequest,
    responses((status = 200, description = "The publication waits or runs", body = PublishResponse))
)]
pub(super) async fn publish(
    State(app): State<Arc<App>>,
    _: AdminAccess,
    JsonBody(PublishRequest {}): JsonBody<PublishRequest>,
) -> Result<Json<PublishResponse>, ApiError> {
    let job = app.run(|service| service.publish()).await?;
    Ok(Json(PublishResponse { op_id: job.id }))
}

/// Aborts the publications that wait or run. What queries see does not change. Answers that wait
/// for their vectors are encoded after the next publication or start.
#[utoipa::path(
    post,
    path = "/v1/index/abort",
    tag = "index",
    responses((status = 200, description = "The publications were aborted", body = AbortResponse))
)]
pub(super) async fn abort(
    State(app): State<Arc<App>>,
    _: AdminAccess,
) -> Result<Json<AbortResponse>, ApiError> {
    let aborted = app.run(|service| service.abort()).await?;
    Ok(Json(AbortResponse { aborted }))
}

/// Documents of an array. Errors name entry and field.
fn documents(data: &RawValue) -> Result<Vec<SocoDocument>, ApiError> {
    if !data.get().starts_with('[') {
        return Err(ApiError::invalid("body: field data: expected an array"));
    }
    SocoReader::new(data.get().as_bytes(), "data")
        .collect::<Result<_, _>>()
        .map_err(|error| ApiError::invalid(error.to_string()))
}
