//! Model Context Protocol: agents ask for answer sentences, and quote them.
//!
//! The streamable HTTP transport without streams and sessions: every request gets one JSON
//! response, as the specification of 2025-06-18 permits.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::header::{ALLOW, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ir_core::Predicate;
use ir_data::parser_message;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::{Value, json};

use super::auth::QueryAccess;
use super::body::JsonBody;
use super::query::check_filter_size;
use crate::api_error::ApiError;
use crate::app::App;
use crate::error::ServiceError;
use crate::host::has_own_origin;
use crate::service::{AnswerList, Question, Service};

/// Version of the protocol. Earlier ones demand batches.
const VERSION: &str = "2025-06-18";

/// Header with the version that client and server have agreed on.
const VERSION_HEADER: &str = "MCP-Protocol-Version";

/// Default number of answers.
const ANSWERS: usize = 5;

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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FindAnswers {
    question: String,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    filter: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadPaper {
    doc_id: String,
}

/// Answers a request of the protocol.
pub(super) async fn call(
    State(app): State<Arc<App>>,
    _: OwnOrigin,
    _: QueryAccess,
    headers: HeaderMap,
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
        "tools/list" => Ok(json!({"tools": tools()})),
        "tools/call" => call_tool(&app, request.params).await,
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
        "instructions": "Sentences of papers that answer questions. Quote them, with title and year.",
    })
}

fn tools() -> Value {
    json!([
        {
            "name": "find_answers",
            "description": "Returns sentences of papers that answer a question, verbatim, with their contexts, titles and years.",
            "annotations": {"readOnlyHint": true},
            "inputSchema": {
                "type": "object",
                "properties": {
                    "question": {"type": "string"},
                    "limit": {"type": "integer", "minimum": 1, "default": ANSWERS},
                    "filter": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Conditions that all papers must meet, such as year>=2020 or doc_id=p1",
                    },
                },
                "required": ["question"],
                "additionalProperties": false,
            },
        },
        {
            "name": "read_paper",
            "description": "Returns the text of a paper by the doc_id of an answer.",
            "annotations": {"readOnlyHint": true},
            "inputSchema": {
                "type": "object",
                "properties": {"doc_id": {"type": "string"}},
                "required": ["doc_id"],
                "additionalProperties": false,
            },
        },
    ])
}

async fn call_tool(app: &Arc<App>, mut params: Value) -> Result<Value, RpcError> {
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let arguments = match params.get_mut("arguments") {
        Some(arguments) => arguments.take(),
        None => json!({}),
    };
    let invalid = |error: String| RpcError {
        code: -32602,
        message: format!("tool {name:?}: {error}"),
    };
    let message_of = |error: &serde_json::Error| parser_message(&error.to_string(), "an object");
    let result = match name.as_str() {
        "find_answers" => {
            let arguments: FindAnswers =
                serde_json::from_value(arguments).map_err(|error| invalid(message_of(&error)))?;
            let limit = arguments.limit.unwrap_or(ANSWERS);
            let parsed = arguments.filter.iter().map(|condition| condition.parse());
            let filters: Vec<Predicate> = parsed
                .collect::<Result<_, _>>()
                .map_err(|error| invalid(format!("filter: {error}")))?;
            check_filter_size(&filters).map_err(invalid)?;
            let question = Question {
                filters,
                user: "mcp".to_owned(),
                ..Question::new(arguments.question, limit)
            };
            let found = app.ask(question).await;
            found.map(|list| {
                let mut texts = vec![answers(&list)];
                texts.extend(list.warnings);
                texts
            })
        }
        "read_paper" => {
            let ReadPaper { doc_id } =
                serde_json::from_value(arguments).map_err(|error| invalid(message_of(&error)))?;
            let text = app.run(move |service| paper_text(service, &doc_id)).await;
            text.map(|text| vec![text])
        }
        _ => return Err(invalid("not found".to_owned())),
    };
    // Errors of a tool are results, so that the agent sees them.
    Ok(match result {
        Ok(texts) => {
            let content = texts.iter();
            let content = content.map(|text| json!({"type": "text", "text": text}));
            json!({"content": content.collect::<Vec<_>>()})
        }
        Err(error) => {
            let message = ApiError::from(error).message;
            json!({"content": [{"type": "text", "text": message}], "isError": true})
        }
    })
}

/// Answers as JSON text.
fn answers(list: &AnswerList) -> String {
    let answers: Vec<Value> = list
        .answers
        .iter()
        .map(|answer| {
            let frame = &answer.frame;
            json!({
                "answer": frame.answer,
                "context": frame.context,
                "doc_id": frame.paper,
                "page": frame.page,
                "meta": frame.metadata,
                "score": answer.score,
            })
        })
        .collect();
    Value::Array(answers).to_string()
}

/// Chunks of a published document, separated by blank lines.
fn paper_text(service: &Service, id: &str) -> Result<String, ServiceError> {
    let state = service.published()?;
    let Some(document) = state.document(id) else {
        return Err(ServiceError::NoDocument { id: id.to_owned() });
    };
    let texts = document
        .chunks
        .iter()
        .filter_map(|chunk| chunk.text.as_deref());
    Ok(texts.collect::<Vec<_>>().join("\n\n"))
}
