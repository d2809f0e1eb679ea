//! Errors of pages and of the service.

use axum::http::{Method, StatusCode};

use crate::error::{ServiceError, with_causes};
use crate::store::StoreError;

/// Error as a page, or a redirect in place of a page.
#[derive(Debug)]
pub(super) struct PageError(pub(super) Box<PageErrorKind>);

#[derive(Debug)]
pub(super) enum PageErrorKind {
    Message {
        status: StatusCode,
        message: String,
        /// If `true`, the page loads itself again.
        is_loading: bool,
    },
    Redirect(String),
}

impl PageError {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self(Box::new(PageErrorKind::Message {
            status,
            message: message.into(),
            is_loading: false,
        }))
    }

    /// Redirects with status 303.
    pub(super) fn redirect(url: String) -> Self {
        Self(Box::new(PageErrorKind::Redirect(url)))
    }

    /// Rejects a request because of a limit.
    pub(super) fn busy(method: &Method, message: &str) -> Self {
        Self::failed(method, StatusCode::TOO_MANY_REQUESTS, message)
    }

    /// Error of a request that was not processed, or not in time, with advice for its method.
    pub(super) fn failed(method: &Method, status: StatusCode, message: &str) -> Self {
        let advice = match status {
            StatusCode::TOO_MANY_REQUESTS => "Wait a moment, then load the page again.",
            _ if method.is_safe() => "Load the page again, or ask a shorter question.",
            // Writes continue after the time limit.
            _ => "It may have been stored: look before you repeat it.",
        };
        Self::new(status, format!("The request failed: {message}. {advice}"))
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }
}

/// Status of an error of the service.
pub(super) fn status_of(error: &ServiceError) -> StatusCode {
    match error {
        ServiceError::Limit { .. } => StatusCode::BAD_REQUEST,
        ServiceError::Loading { .. } => StatusCode::SERVICE_UNAVAILABLE,
        ServiceError::NoFolder
        | ServiceError::ReadingFolder
        | ServiceError::NoReadableFiles { .. }
        | ServiceError::DuplicateDoi { .. }
        | ServiceError::Document(_) => StatusCode::CONFLICT,
        ServiceError::Store(error) if error.is_full() => StatusCode::INSUFFICIENT_STORAGE,
        ServiceError::NoDocument { .. }
        | ServiceError::NoFile { .. }
        | ServiceError::NoAnswer { .. }
        | ServiceError::Store(StoreError::NoAnnotation { .. }) => StatusCode::NOT_FOUND,
        ServiceError::Store(StoreError::Conflict { .. }) => StatusCode::CONFLICT,
        ServiceError::Tag { .. }
        | ServiceError::Store(StoreError::NoMerge { .. } | StoreError::Tags { .. }) => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<ServiceError> for PageError {
    fn from(error: ServiceError) -> Self {
        let status = status_of(&error);
        let message = match &error {
            ServiceError::Loading { error: None } => {
                "The papers are being loaded. This page loads itself again.".to_owned()
            }
            ServiceError::Loading { error: Some(error) } => {
                format!("The papers cannot be loaded: {error}. Publish them again.")
            }
            ServiceError::Store(store) if store.is_full() => {
                // The debug format has the extended code of SQLite.
                tracing::error!(error = ?store, "a write failed");
                "The disk is full, or a quota or limit is reached. Nothing was changed.".to_owned()
            }
            ServiceError::Store(store) if store.is_file_error() => {
                tracing::error!(error = ?store, "the disk failed");
                "The disk of the server failed to read or write. Its log has the reason.".to_owned()
            }
            ServiceError::Document(error) => with_causes(error),
            error if status == StatusCode::INTERNAL_SERVER_ERROR => {
                tracing::error!(%error, "a page failed");
                "The server failed to answer. Its log has the reason.".to_owned()
            }
            error => error.to_string(),
        };
        Self(Box::new(PageErrorKind::Message {
            status,
            message,
            is_loading: matches!(error, ServiceError::Loading { error: None }),
        }))
    }
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        ServiceError::from(error).into()
    }
}

/// Page of an unknown path.
pub(super) async fn not_found() -> PageError {
    PageError::not_found("This page does not exist.")
}
