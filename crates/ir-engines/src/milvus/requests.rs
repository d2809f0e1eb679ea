//! Requests over REST, and errors of responses.

use ir_core::NoProgress;
use ir_fetch::HttpMethod;
use serde_json::Value;

use super::{MilvusCollection, protocol, protocol_v2};
use crate::{MilvusApi, RemoteError};

impl MilvusCollection {
    /// Sends a request that is repeated after transient failures, also those that a response
    /// states.
    pub(super) fn call(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, RemoteError> {
        let method = match method {
            "GET" => HttpMethod::Get,
            "DELETE" => HttpMethod::Delete,
            _ => HttpMethod::Post,
        };
        self.call_text(method, path, &body.to_string())
    }

    /// Does the same for a body that is text.
    pub(super) fn call_text(
        &self,
        method: HttpMethod,
        path: &str,
        body: &str,
    ) -> Result<Value, RemoteError> {
        let called = self.call_repeated(method, path, body);
        called.map_err(|error| self.not_milvus(error))
    }

    /// Does the same; a path that the server does not have is an error with its status.
    pub(super) fn call_repeated(
        &self,
        method: HttpMethod,
        path: &str,
        body: &str,
    ) -> Result<Value, RemoteError> {
        let mut failures = 0;
        loop {
            let response = self.connection.call(method, path, body)?;
            if !response.is_object() {
                return Err(self.unexpected(path, "a JSON object of Milvus", &response));
            }
            let Some(error) = self.transient(path, &response) else {
                return Ok(response);
            };
            failures += 1;
            if failures >= self.connection.attempts() {
                return Err(error);
            }
            self.connection.wait_after(failures, &mut NoProgress)?;
        }
    }

    /// Sends a request that changes data once.
    pub(super) fn call_once(&self, path: &str, body: &str) -> Result<Value, RemoteError> {
        let called = self.connection.call_once(HttpMethod::Post, path, body);
        let response = called.map_err(|error| self.not_milvus(error))?;
        match self.transient(path, &response) {
            Some(error) => Err(error),
            None => Ok(response),
        }
    }

    /// Error of a response that another attempt may resolve.
    fn transient(&self, path: &str, response: &Value) -> Option<RemoteError> {
        let (status, message) = match self.api {
            MilvusApi::V2 => protocol_v2::transient(response)?,
            MilvusApi::V1 | MilvusApi::Grpc => protocol::transient(response)?,
        };
        let (url, body) = (self.connection.url(path), message);
        Some(RemoteError::Status { url, status, body })
    }

    /// A service without the paths of Milvus is another one, or another port of it.
    fn not_milvus(&self, error: RemoteError) -> RemoteError {
        match error {
            RemoteError::Status {
                url,
                status: status @ (404 | 405),
                body,
            } => RemoteError::Response {
                url,
                expected: match self.api {
                    MilvusApi::V1 | MilvusApi::Grpc => {
                        "the REST API /api/v1 of Milvus (port 9091)".to_owned()
                    }
                    MilvusApi::V2 => {
                        "the REST API /v2/vectordb of Milvus 2.4 or later (port 19530)".to_owned()
                    }
                },
                found: format!("HTTP status {status}: {body:?}"),
            },
            error => error,
        }
    }

    pub(super) fn unexpected(&self, path: &str, expected: &str, response: &Value) -> RemoteError {
        let found: String = response.to_string().chars().take(200).collect();
        RemoteError::response(self.connection.url(path), expected, found)
    }
}
