use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::{HeaderMap, StatusCode, header, request::Parts};

use crate::api_error::ApiError;
use crate::app::App;
use crate::store::{KeyRole, sha256};

/// Request with a query key or an admin key.
pub(crate) struct QueryAccess;

/// Request with an admin key.
pub(crate) struct AdminAccess;

/// The role of the key of a request: the header `Authorization`, with or without the scheme
/// `Bearer`.
pub(crate) fn role_of_request(headers: &HeaderMap, app: &App) -> Result<KeyRole, ApiError> {
    let unauthorized = |message| ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message);
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Err(unauthorized(
            "header Authorization: expected a key, found none",
        ));
    };
    let key = value.to_str().unwrap_or_default().trim();
    let key = key.strip_prefix("Bearer ").unwrap_or(key).trim();
    let Some(role) = app.service.role(key) else {
        return Err(unauthorized("header Authorization: unknown key"));
    };
    app.check_rate(&sha256(key.as_bytes()))?;
    Ok(role)
}

impl FromRequestParts<Arc<App>> for QueryAccess {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        role_of_request(&parts.headers, app).map(|_| Self)
    }
}

impl FromRequestParts<Arc<App>> for AdminAccess {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        match role_of_request(&parts.headers, app)? {
            KeyRole::Admin => Ok(Self),
            KeyRole::Query => Err(ApiError::new(
                StatusCode::FORBIDDEN,
                "forbidden",
                "expected an admin key, found a query key",
            )),
        }
    }
}
