use axum::Json;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::{collections, index, operations, query};

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
                       The header Authorization has a key: an admin key for the index, a query key or an admin key for searches."
    ),
    paths(
        query::query,
        query::suggest,
        index::add,
        index::read,
        index::delete,
        index::publish,
        index::abort,
        operations::status,
        collections::list,
        collections::search,
    ),
    modifiers(&Keys)
)]
struct Interface;

/// The header with the key.
struct Keys;

impl Modify for Keys {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        let header = ApiKey::Header(ApiKeyValue::new("Authorization"));
        components.add_security_scheme("key", SecurityScheme::ApiKey(header));
    }
}

/// Returns [`openapi`] as JSON.
pub(super) async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(openapi())
}
