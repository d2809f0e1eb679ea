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

/// Challenge of a request without a key (RFC 6750, section 3).
const NO_KEY: &str = r#"Bearer realm="ir""#;

/// Challenge of a request with an unknown key.
const UNKNOWN_KEY: &str = r#"Bearer realm="ir", error="invalid_token""#;

/// Challenge of a request that needs an admin key.
const NOT_ADMIN: &str = r#"Bearer realm="ir", error="insufficient_scope""#;

/// The key of a value of `Authorization`, with or without the scheme `Bearer` in any case
/// (RFC 9110, section 11.1).
fn key_of(value: &str) -> &str {
    let value = value.trim();
    match value.split_once([' ', '\t']) {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("Bearer") => key.trim(),
        _ => value,
    }
}

/// The role of the key of a request.
pub(crate) fn role_of_request(headers: &HeaderMap, app: &App) -> Result<KeyRole, ApiError> {
    let unauthorized = |message, challenge| {
        ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message).with_challenge(challenge)
    };
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Err(unauthorized(
            "header Authorization: expected a key, found none",
            NO_KEY,
        ));
    };
    let key = key_of(value.to_str().unwrap_or_default());
    let Some(role) = app.service.role(key) else {
        return Err(unauthorized(
            "header Authorization: unknown key",
            UNKNOWN_KEY,
        ));
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
            )
            .with_challenge(NOT_ADMIN)),
        }
    }
}
