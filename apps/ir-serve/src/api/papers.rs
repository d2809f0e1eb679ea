use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::QueryAccess;
use super::body::JsonBody;
use super::index::{check_page, page};
use crate::api_error::{ApiError, ErrorBody};
use crate::app::App;
use crate::error::ServiceError;
use crate::papers::{
    CitationFormat, PaperOrder, PaperRecord, PaperSelection, citations, sorted_papers,
};

/// Body of `/v1/papers/list`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(expecting = "an object", deny_unknown_fields)]
pub(super) struct ListRequest {
    /// Number of papers to skip.
    #[serde(default)]
    skip: u64,
    /// Maximum number of papers.
    #[serde(default = "page")]
    #[schema(default = 100, maximum = 1000)]
    limit: u64,
    /// Field that the papers are sorted by; papers without it are last.
    #[serde(default)]
    sort: PaperOrder,
    /// If `true`, the largest value is first.
    #[serde(default)]
    descending: bool,
    /// Words that titles contain, as parts of their words.
    #[serde(default)]
    #[schema(example = "bird")]
    title: String,
    /// Tag of the papers. Default: papers with and without tags.
    #[serde(default)]
    #[schema(example = "to read")]
    tag: String,
}

/// Published papers in the order of the request.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ListResponse {
    /// Number of papers, without skip and limit.
    total: usize,
    papers: Vec<PaperRecord>,
}

/// Body of `/v1/papers/tag`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(expecting = "an object", deny_unknown_fields)]
pub(super) struct TagRequest {
    /// Id of the document.
    #[schema(example = "tea.xml")]
    doc_id: String,
    /// Tags to add, each of 1 to 100 characters without commas. A paper has at most 100 tags.
    #[serde(default)]
    #[schema(example = json!(["to read"]))]
    add: Vec<String>,
    /// Tags to remove afterwards. Tags of the document itself stay.
    #[serde(default)]
    remove: Vec<String>,
}

/// Tags of a paper after a change.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TagResponse {
    doc_id: String,
    /// Tags that users gave the paper, and the field `tags` of the document.
    tags: BTreeSet<String>,
}

/// Body of `/v1/papers/cite`. Without ids, all published papers are cited.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(expecting = "an object", deny_unknown_fields)]
pub(super) struct CiteRequest {
    /// Ids of the documents to cite.
    #[serde(default)]
    #[schema(example = json!(["tea.xml"]))]
    doc_ids: Vec<String>,
    /// Ids of answers, which are quoted in the entries of their papers.
    #[serde(default)]
    answers: Vec<String>,
    #[serde(default)]
    format: CitationFormat,
}

/// Entries of a bibliography, one for each paper.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CiteResponse {
    /// Entries in the format of the request.
    entries: String,
    /// Number of cited papers.
    papers: usize,
}

/// Lists the published papers.
#[utoipa::path(
    post,
    path = "/v1/papers/list",
    operation_id = "list_papers",
    tag = "papers",
    request_body = ListRequest,
    responses((status = 200, description = "Papers in the order of the request", body = ListResponse))
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    _: QueryAccess,
    JsonBody(request): JsonBody<ListRequest>,
) -> Result<Json<ListResponse>, ApiError> {
    check_page(request.limit)?;
    let list = app.run(move |service| {
        let state = service.published()?;
        let tags = service.tags()?;
        let selection = PaperSelection {
            order: request.sort,
            is_descending: request.descending,
            words: request.title,
            tag: request.tag,
        };
        let papers = sorted_papers(&state, &tags, &selection);
        let skip = usize::try_from(request.skip).unwrap_or(usize::MAX);
        let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
        let listed = papers.iter().skip(skip).take(limit);
        Ok(ListResponse {
            total: papers.len(),
            papers: listed.map(|paper| PaperRecord::new(paper, &tags)).collect(),
        })
    });
    Ok(Json(list.await?))
}

/// Returns BibTeX or RIS of published papers, with quoted answers.
#[utoipa::path(
    post,
    path = "/v1/papers/cite",
    operation_id = "cite_papers",
    tag = "papers",
    request_body = CiteRequest,
    responses(
        (status = 200, description = "Entries of the papers", body = CiteResponse),
        (status = 404, description = "A document or an answer is not published", body = ErrorBody),
    )
)]
pub(super) async fn cite(
    State(app): State<Arc<App>>,
    _: QueryAccess,
    JsonBody(request): JsonBody<CiteRequest>,
) -> Result<Json<CiteResponse>, ApiError> {
    let cited = app.run(move |service| {
        let limit = service.limits().results;
        let found = request.doc_ids.len() + request.answers.len();
        if found > limit {
            let what = "ids of papers and answers";
            return Err(ServiceError::Limit { what, limit, found });
        }
        let state = service.published()?;
        let cited = citations(&state, &request.doc_ids, &request.answers)?;
        Ok(CiteResponse {
            entries: request.format.write(&cited),
            papers: cited.len(),
        })
    });
    Ok(Json(cited.await?))
}

/// Adds tags to a published paper and removes tags. Lists and filters have them at once.
#[utoipa::path(
    post,
    path = "/v1/papers/tag",
    operation_id = "tag_paper",
    tag = "papers",
    request_body = TagRequest,
    responses(
        (status = 200, description = "The tags were changed", body = TagResponse),
        (status = 404, description = "The document is not published", body = ErrorBody),
    )
)]
pub(super) async fn tag(
    State(app): State<Arc<App>>,
    _: QueryAccess,
    JsonBody(request): JsonBody<TagRequest>,
) -> Result<Json<TagResponse>, ApiError> {
    let changed = app.run(move |service| {
        let tags = service.change_tags(&request.doc_id, &request.add, &request.remove)?;
        Ok(TagResponse {
            doc_id: request.doc_id,
            tags,
        })
    });
    Ok(Json(changed.await?))
}
