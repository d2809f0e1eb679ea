use axum::{Extension, Json};
use utoipa::openapi::Server;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::Ref;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityRequirement, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::{collections, files, index, operations, papers, query, rerank, rescan};
use crate::api_error::ErrorBody;
use crate::base_path::RequestBase;

/// Description of the REST interface, after the OpenAPI specification 3.1.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    Interface::openapi()
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "ir-serve",
        description = "Answer sentences of papers. Documents are added, published, and then found by queries. \
                       The header Authorization has a key: an admin key for the index, a query key or an admin key for searches. \
                       The scheme Bearer before it is optional."
    ),
    paths(
        query::query,
        query::suggest,
        rerank::rerank,
        papers::list,
        papers::cite,
        papers::tag,
        index::add,
        index::read,
        files::files,
        index::delete,
        index::publish,
        index::abort,
        rescan::rescan,
        rescan::status,
        operations::status,
        collections::list,
        collections::search,
    ),
    components(schemas(ErrorBody)),
    modifiers(&Keys, &Errors)
)]
struct Interface;

/// The header with the key, which every operation needs.
struct Keys;

impl Modify for Keys {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        let header = ApiKey::Header(ApiKeyValue::new("Authorization"));
        components.add_security_scheme("key", SecurityScheme::ApiKey(header));
        for item in openapi.paths.paths.values_mut() {
            for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
                let key = SecurityRequirement::new("key", [""; 0]);
                operation.security = Some(vec![key]);
            }
        }
    }
}

/// Errors that every operation may return.
struct Errors;

impl Modify for Errors {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        for (path, item) in &mut openapi.paths.paths {
            let mut errors = vec![
                (
                    "4XX",
                    "The request is invalid, is not permitted, exceeds a limit, or names what does not exist",
                ),
                (
                    "500",
                    "Internal error, or the disk fails; the log has the cause",
                ),
                ("504", "The time limit of a request is exceeded"),
            ];
            if path.starts_with("/v1/search/") || path.starts_with("/v1/papers/") {
                errors.push(("503", "The published documents are not loaded"));
            }
            if path.starts_with("/v1/index/") || path == "/v1/papers/tag" {
                errors.push((
                    "507",
                    "The disk is full, or a quota or limit is reached; nothing was changed",
                ));
            }
            for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
                for (status, description) in &errors {
                    let schema = Ref::from_schema_name("ErrorBody");
                    let content = ContentBuilder::new().schema(Some(schema)).build();
                    let response = ResponseBuilder::new()
                        .description(*description)
                        .content("application/json", content);
                    let responses = &mut operation.responses.responses;
                    responses.insert((*status).to_owned(), response.build().into());
                }
            }
        }
    }
}

/// Returns [`openapi`] as JSON. Below a base path, it is the URL of the server.
pub(super) async fn document(
    base: Option<Extension<RequestBase>>,
) -> Json<utoipa::openapi::OpenApi> {
    let mut openapi = openapi();
    let url = base.as_ref().and_then(|Extension(base)| base.url());
    openapi.servers = url.map(|url| vec![Server::new(url)]);
    Json(openapi)
}
