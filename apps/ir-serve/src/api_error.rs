//! Errors of requests as JSON.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ir_core::SearchError;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{ServiceError, with_causes};
use crate::store::StoreError;

/// Error of a request, as `{"error": {"code": ..., "message": ...}}`.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Value of `WWW-Authenticate`.
    challenge: Option<&'static str>,
}

/// Body of an error.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    error: ErrorFields,
}

/// Code for programs, message for people.
#[derive(Debug, Serialize, ToSchema)]
struct ErrorFields {
    /// Kind of the error.
    #[schema(example = "invalid_request")]
    code: &'static str,
    /// What was expected and what was found.
    message: String,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            challenge: None,
        }
    }

    /// Sets the header `WWW-Authenticate`, which a response with status 401 must have (RFC 9110,
    /// section 11.6.1).
    pub(crate) fn with_challenge(mut self, challenge: &'static str) -> Self {
        self.challenge = Some(challenge);
        self
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", message)
    }
}

impl From<ServiceError> for ApiError {
    fn from(error: ServiceError) -> Self {
        let message = error.to_string();
        match error {
            ServiceError::Limit { .. }
            | ServiceError::DuplicateDocument { .. }
            | ServiceError::Tag { .. }
            | ServiceError::Store(StoreError::Tags { .. })
            | ServiceError::NoReranker => Self::invalid(message),
            ServiceError::Search(SearchError::TimeLimit { .. }) => {
                Self::new(StatusCode::GATEWAY_TIMEOUT, "timeout", message)
            }
            ServiceError::NoCollection { .. }
            | ServiceError::NoDocument { .. }
            | ServiceError::NoFile { .. }
            | ServiceError::NoAnswer { .. } => Self::missing(message),
            ServiceError::Loading { .. } => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "loading", message)
            }
            ServiceError::Store(error) if error.is_full() => {
                // The debug format has the extended code of SQLite.
                tracing::error!(?error, "a write failed");
                Self::new(
                    StatusCode::INSUFFICIENT_STORAGE,
                    "disk_full",
                    "the disk is full, or a quota or limit is reached; nothing was changed",
                )
            }
            ServiceError::Store(error) if error.is_file_error() => {
                tracing::error!(?error, "the disk failed");
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "disk_error",
                    "the disk failed to read or write; the log has the cause",
                )
            }
            ServiceError::Document(error) => {
                Self::new(StatusCode::CONFLICT, "conflict", with_causes(&error))
            }
            ServiceError::NoFolder
            | ServiceError::ReadingFolder
            | ServiceError::NoReadableFiles { .. }
            | ServiceError::DuplicateDoi { .. }
            | ServiceError::Store(StoreError::Conflict { .. }) => {
                Self::new(StatusCode::CONFLICT, "conflict", message)
            }
            error => {
                tracing::error!(%error, "request failed");
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "internal",
                    "internal error; the log has the cause",
                )
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let error = ErrorFields {
            code: self.code,
            message: self.message,
        };
        let mut response = (self.status, Json(ErrorBody { error })).into_response();
        if let Some(challenge) = self.challenge {
            let challenge = HeaderValue::from_static(challenge);
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, challenge);
        }
        if matches!(
            self.status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        ) {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
