use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use ir_core::Conditions;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::QueryAccess;
use super::body::JsonBody;
use super::document_schema::Filter;
use super::path::ApiPath;
use super::query::predicates;
use crate::api_error::ApiError;
use crate::app::App;

/// Body of `/v1/collections/{name}/search`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(expecting = "an object")]
#[serde(deny_unknown_fields)]
pub(super) struct SearchRequest {
    /// Text of the query.
    query: String,
    /// Maximum number of hits.
    #[serde(default = "hits")]
    #[schema(default = 10, minimum = 0)]
    k: usize,
    /// Conditions on the attributes of the documents, as in `/v1/search/query`.
    #[serde(default)]
    #[schema(value_type = Option<Filter>)]
    filter: Option<Conditions>,
}

/// Hits of a query, the best first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SearchResponse {
    hits: Vec<CollectionHit>,
    /// What may be an error of the request, such as a filter on an attribute that no document has,
    /// or with a limit that values cannot be compared with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct CollectionHit {
    /// Id of the document.
    id: String,
    /// Score; higher is better.
    score: f32,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CollectionList {
    /// Names of the collections.
    collections: Vec<String>,
}

const fn hits() -> usize {
    10
}

/// Returns the names of the collections.
#[utoipa::path(
    get,
    path = "/v1/collections",
    tag = "collections",
    responses((status = 200, description = "Names of the collections", body = CollectionList))
)]
pub(super) async fn list(State(app): State<Arc<App>>, _: QueryAccess) -> Json<CollectionList> {
    let collections = app.service.collections().map(str::to_owned).collect();
    Json(CollectionList { collections })
}

/// Returns ids and scores of the best documents of a collection.
#[utoipa::path(
    post,
    path = "/v1/collections/{name}/search",
    tag = "collections",
    params(("name" = String, Path, description = "Name of the collection")),
    request_body = SearchRequest,
    responses((status = 200, description = "Hits, the best first", body = SearchResponse))
)]
pub(super) async fn search(
    State(app): State<Arc<App>>,
    _: QueryAccess,
    ApiPath(name): ApiPath<String>,
    JsonBody(request): JsonBody<SearchRequest>,
) -> Result<Json<SearchResponse>, ApiError> {
    let filters = predicates(request.filter)?;
    let found = app
        .run_search(move |service| {
            service.search_collection(&name, &request.query, request.k, &filters)
        })
        .await?;
    let hits = found
        .hits
        .into_iter()
        .map(|(id, score)| CollectionHit { id, score });
    Ok(Json(SearchResponse {
        hits: hits.collect(),
        warnings: found.warnings,
    }))
}
