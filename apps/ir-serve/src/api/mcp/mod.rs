//! Model Context Protocol: agents ask for answer sentences, and quote them.
//!
//! The streamable HTTP transport without streams and sessions: every request gets one JSON
//! response, as the specification of 2025-06-18 permits.

mod tools;

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::header::{ALLOW, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::{Value, json};

use super::auth::QueryAccess;
use super::body::JsonBody;
use crate::api_error::ApiError;
use crate::app::App;
use crate::base_path::RequestBase;
use crate::host::has_own_origin;

/// Version of the protocol. Earlier ones demand batches.
const VERSION: &str = "2025-06-18";

/// Header with the version that client and server have agreed on.
const VERSION_HEADER: &str = "MCP-Protocol-Version";

/// Request or notification of JSON-RPC 2.0. A notification has no id.
#[derive(Debug, Deserialize)]
#[serde(expecting = "a request or notification of JSON-RPC 2.0")]
pub(super) struct RpcRequest {
    jsonrpc: String,
    #[serde(default, deserialize_with = "request_id")]
    id: Option<Value>,
    method: String,
    #[serde(default)]
    params: Value,
}

/// Id of a request. Unlike in JSON-RPC, it is not null.
fn request_id<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Value>, D::Error> {
    match Value::deserialize(input)? {
        id if id.is_string() || id.is_i64() || id.is_u64() => Ok(Some(id)),
        id => Err(D::Error::custom(format!(
            "id: expected a string or an integer, found {id}"
        ))),
    }
}

/// Code and message of an error of JSON-RPC.
struct RpcError {
    code: i64,
    message: String,
}

/// Answers a request of the protocol.
pub(super) async fn call(
    State(app): State<Arc<App>>,
    _: OwnOrigin,
    _: QueryAccess,
    headers: HeaderMap,
    base: Option<Extension<RequestBase>>,
    JsonBody(request): JsonBody<RpcRequest>,
) -> Result<Response, ApiError> {
    if let Some(version) = headers.get(VERSION_HEADER)
        && version != VERSION
    {
        return Err(ApiError::invalid(format!(
            "header {VERSION_HEADER}: expected {VERSION}, found {version:?}"
        )));
    }
    if request.jsonrpc != "2.0" {
        return Err(ApiError::invalid(format!(
            "jsonrpc: expected \"2.0\", found {:?}",
            request.jsonrpc
        )));
    }
    let Some(id) = request.id else {
        return Ok(StatusCode::ACCEPTED.into_response());
    };
    let result = match request.method.as_str() {
        "initialize" => Ok(initialize()),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": tools::list()})),
        "tools/call" => {
            let site = app.site_url(&headers, base.as_ref().map(|Extension(base)| base));
            tools::call(&app, &site, request.params).await
        }
        method => Err(RpcError {
            code: -32601,
            message: format!("method {method:?}: not found"),
        }),
    };
    Ok(Json(match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(RpcError { code, message }) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        }
    })
    .into_response())
}

/// Request without `Origin`, or from a page of this server. The specification demands the check,
/// as other pages could reach a server of the visitor by DNS rebinding.
pub(super) struct OwnOrigin;

impl FromRequestParts<Arc<App>> for OwnOrigin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        match parts.headers.get(ORIGIN) {
            Some(origin) if !has_own_origin(&parts.headers, &app.access.hosts) => {
                Err(ApiError::new(
                    StatusCode::FORBIDDEN,
                    "forbidden",
                    format!("header Origin: expected this server, found {origin:?}"),
                ))
            }
            _ => Ok(Self),
        }
    }
}

/// Answer for other methods: `GET` would open a stream, `DELETE` end a session.
pub(super) async fn no_stream() -> impl IntoResponse {
    let error = ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "streams and sessions are not supported; POST a request",
    );
    ([(ALLOW, "POST")], error)
}

fn initialize() -> Value {
    json!({
        "protocolVersion": VERSION,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "ir-serve", "version": env!("CARGO_PKG_VERSION")},
        "instructions": "Sentences of papers that answer questions. Quote them, with title, year and link.",
    })
}
