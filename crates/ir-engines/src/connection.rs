//! Requests to a server.

use std::sync::Arc;

use ir_core::{NoProgress, Progress};
use ir_fetch::{HttpClient, HttpMethod, HttpRequest};
use serde_json::Value;

use crate::recording::Recorder;
use crate::{ClientConfig, Credentials, EngineAddress, RemoteError};

/// Maximum number of bytes of a response.
const MAX_RESPONSE: u64 = 256 << 20;

/// Connection to one server. Connections are reused between requests.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    client: HttpClient,
    base: String,
    recorder: Option<Arc<Recorder>>,
}

impl Connection {
    pub(crate) fn new(
        address: &EngineAddress,
        credentials: &Credentials,
        config: &ClientConfig,
        path: &str,
    ) -> Result<Self, RemoteError> {
        Ok(Self {
            client: config.client(credentials)?,
            base: format!("{}{path}", address.base_url()),
            recorder: None,
        })
    }

    pub(crate) fn with_recorder(mut self, recorder: Arc<Recorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Sends a request that is repeated after transient failures, and parses the response.
    pub(crate) fn call(
        &self,
        method: HttpMethod,
        path: &str,
        body: &str,
    ) -> Result<Value, RemoteError> {
        let url = self.url(path);
        self.send(&HttpRequest::json(method, &url, body), path)
    }

    /// Sends a request once.
    #[cfg(feature = "milvus")]
    pub(crate) fn call_once(
        &self,
        method: HttpMethod,
        path: &str,
        body: &str,
    ) -> Result<Value, RemoteError> {
        let url = self.url(path);
        let request = HttpRequest {
            retry: false,
            ..HttpRequest::json(method, &url, body)
        };
        self.send(&request, path)
    }

    /// Sends lines of JSON, which is repeated after transient failures.
    #[cfg(feature = "elasticsearch")]
    pub(crate) fn call_lines(&self, path: &str, body: &str) -> Result<Value, RemoteError> {
        let url = self.url(path);
        let request = HttpRequest {
            content_type: "application/x-ndjson",
            ..HttpRequest::json(HttpMethod::Post, &url, body)
        };
        self.send(&request, path)
    }

    fn send(&self, request: &HttpRequest<'_>, path: &str) -> Result<Value, RemoteError> {
        let request = HttpRequest {
            max_response: MAX_RESPONSE,
            ..*request
        };
        let response = self.client.request(&request, &mut NoProgress);
        let result = response
            .map_err(|error| RemoteError::from_request(request.url, error))
            .and_then(|bytes| parse(request.url, &bytes));
        if let Some(recorder) = &self.recorder {
            recorder.record(request.method.name(), path, request.body, &result)?;
        }
        result
    }

    /// Waits before another attempt of the caller, or returns `Canceled`.
    pub(crate) fn wait_after(
        &self,
        failures: u32,
        progress: &mut dyn Progress,
    ) -> Result<(), RemoteError> {
        let waited = self.client.wait_after(failures, progress);
        waited.map_err(|error| RemoteError::from_request(&self.base, error))
    }

    /// Maximum number of attempts.
    pub(crate) const fn attempts(&self) -> u32 {
        self.client.attempts()
    }
}

fn parse(url: &str, bytes: &[u8]) -> Result<Value, RemoteError> {
    serde_json::from_slice(bytes).map_err(|error| {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        let found = format!("{} bytes that begin {start:?} ({error})", bytes.len());
        RemoteError::response(url, "JSON", found)
    })
}
