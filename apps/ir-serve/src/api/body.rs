use std::sync::Arc;

use axum::body::{Bytes, HttpBody};
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use ir_data::parser_message;
use serde::de::DeserializeOwned;
use tokio::sync::OwnedSemaphorePermit;

use crate::api_error::ApiError;
use crate::app::App;

/// JSON object in the body of a request, whatever its content type.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        parse(&read(request, state).await?).map(Self)
    }
}

/// [`JsonBody`] that may be empty or `null`.
pub(super) struct OptionalJsonBody<T>(pub(super) T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalJsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let bytes = read(request, state).await?;
        match bytes.trim_ascii() {
            b"" | b"null" => Ok(Self(T::default())),
            _ => parse(&bytes).map(Self),
        }
    }
}

/// Body of an upload, which is parsed on a thread for blocking functions. It counts as an upload
/// until it is dropped.
pub(super) struct UploadBody {
    bytes: Bytes,
    permit: OwnedSemaphorePermit,
}

/// Permit of an upload, held until its documents are stored.
#[derive(Debug)]
pub(super) struct UploadPermit {
    _permit: OwnedSemaphorePermit,
}

impl UploadBody {
    /// Parses the JSON object of the body.
    pub(super) fn parse<T: DeserializeOwned>(self) -> Result<(T, UploadPermit), ApiError> {
        let value = parse(&self.bytes)?;
        let permit = UploadPermit {
            _permit: self.permit,
        };
        Ok((value, permit))
    }
}

impl FromRequest<Arc<App>> for UploadBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiError> {
        let permit = app.upload_permit(request.body().size_hint().upper())?;
        let bytes = read(request, app).await?;
        Ok(Self { bytes, permit })
    }
}

async fn read<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, ApiError> {
    let bytes = Bytes::from_request(request, state).await;
    bytes.map_err(|error| body_error(&error))
}

/// Parses a JSON object. Errors name its fields.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // Serde takes an array for the fields of a struct: `[]` would delete all documents.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(ApiError::invalid(
            "body: expected an object, found an array",
        ));
    }
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut parser).map_err(|error| {
        let path = error.path().to_string();
        let error = parser_message(&error.into_inner().to_string(), "an object");
        match path.as_str() {
            "." | "?" => ApiError::invalid(format!("body: {error}")),
            path => ApiError::invalid(format!("body: field {path}: {error}")),
        }
    })?;
    match parser.end() {
        Ok(()) => Ok(value),
        Err(error) => Err(ApiError::invalid(format!("body: {error}"))),
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
