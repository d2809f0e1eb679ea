use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use serde::de::DeserializeOwned;

use super::ApiError;

/// JSON object in the body of a request, whatever its content type.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|error| body_error(&error))?;
        // Serde takes an array for the fields of a struct: `[]` would delete all documents.
        if bytes.trim_ascii_start().starts_with(b"[") {
            return Err(ApiError::invalid(
                "body: expected an object, found an array",
            ));
        }
        let mut parser = serde_json::Deserializer::from_slice(&bytes);
        let value = serde_path_to_error::deserialize(&mut parser).map_err(|error| {
            let path = error.path().to_string();
            let error = error.into_inner();
            match path.as_str() {
                "." | "?" => ApiError::invalid(format!("body: {error}")),
                path => ApiError::invalid(format!("body: field {path}: {error}")),
            }
        })?;
        match parser.end() {
            Ok(()) => Ok(Self(value)),
            Err(error) => Err(ApiError::invalid(format!("body: {error}"))),
        }
    }
}

fn body_error(error: &BytesRejection) -> ApiError {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "body: larger than the limit on requests",
        ),
        _ => ApiError::invalid(format!("body: {error}")),
    }
}
