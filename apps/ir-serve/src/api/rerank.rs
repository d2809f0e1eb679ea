use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::QueryAccess;
use super::body::JsonBody;
use crate::api_error::ApiError;
use crate::app::App;

/// Body of `/v1/rerank`, as clients of Cohere, Jina and vLLM send it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with the fields query and documents"
)]
pub(super) struct RerankRequest {
    /// Text of the query.
    #[schema(example = "Where does tea grow?")]
    query: String,
    /// Texts to rank. At most 1,000 unless the server has another limit on results.
    #[schema(example = json!(["Tea grows in Asia.", {"id": "d7", "text": "Cups hold tea."}]))]
    documents: Vec<RerankDocument>,
    /// Maximum number of results. Default: all documents.
    #[serde(default)]
    top_n: Option<usize>,
    /// If `true`, results have the texts of their documents. Default: `false`.
    #[serde(default)]
    return_documents: bool,
    /// Name of a model, which clients of services with several models send. Any name means the
    /// reranker of the server.
    #[serde(default)]
    #[expect(dead_code, reason = "the server has one reranker")]
    model: Option<String>,
}

/// Text of a document, or an object with its id and text.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "expected a text, or an object with the field text"
)]
enum RerankDocument {
    Text(String),
    Document {
        #[serde(default)]
        id: Option<String>,
        text: String,
    },
}

/// Documents by score, the best first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RerankResponse {
    results: Vec<RerankResult>,
}

#[derive(Debug, Serialize, ToSchema)]
struct RerankResult {
    /// Position of the document in the request, from 0.
    index: usize,
    /// Id of the document, if the request has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Score; higher is better.
    relevance_score: f32,
    /// The document, if the request asks for documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<RerankText>,
}

#[derive(Debug, Serialize, ToSchema)]
struct RerankText {
    text: String,
}

/// Ranks texts by the reranker of the server.
#[utoipa::path(
    post,
    path = "/v1/rerank",
    tag = "search",
    request_body = RerankRequest,
    responses((status = 200, description = "Documents by score, the best first", body = RerankResponse))
)]
pub(super) async fn rerank(
    State(app): State<Arc<App>>,
    _: QueryAccess,
    JsonBody(request): JsonBody<RerankRequest>,
) -> Result<Json<RerankResponse>, ApiError> {
    let (ids, texts): (Vec<Option<String>>, Vec<String>) = (request.documents.into_iter())
        .map(|document| match document {
            RerankDocument::Text(text) => (None, text),
            RerankDocument::Document { id, text } => (id, text),
        })
        .unzip();
    // Documents without an id have their positions, for messages.
    let named = ids.iter().enumerate();
    let names = named.map(|(index, id)| id.clone().unwrap_or_else(|| index.to_string()));
    let documents: Vec<(String, String)> = names.zip(texts).collect();
    let limit = request.top_n.unwrap_or(documents.len());
    let rerank = move |service: &crate::Service| {
        let ranked = service.rerank(&request.query, &documents, limit)?;
        let results = ranked.into_iter().map(|ranked| {
            let text = request.return_documents.then(|| &documents[ranked.index].1);
            RerankResult {
                index: ranked.index,
                id: ids[ranked.index].clone(),
                relevance_score: ranked.score,
                document: text.map(|text| RerankText { text: text.clone() }),
            }
        });
        let results = results.collect();
        Ok(RerankResponse { results })
    };
    Ok(Json(app.run_search(rerank).await?))
}
