//! Access to a hub: endpoint, token, URLs and error codes.

use std::time::Duration;

use ir_fetch::{DownloadError, HttpClient};

use super::{HubError, ModelReference};
use crate::error::ModelError;

/// The Hugging Face hub or a mirror with the same API.
#[derive(Debug, Clone)]
pub struct Hub {
    endpoint: String,
    pub(super) client: HttpClient,
    /// If `true`, the client sends a token.
    has_token: bool,
    pub(super) offline: bool,
}

impl Hub {
    /// The hub of the environment, as in Hugging Face's tools. Variables: `HF_ENDPOINT`, default
    /// `https://huggingface.co`; `HF_TOKEN`, default none; `HF_HUB_OFFLINE`, which with `1`, `ON`,
    /// `YES` or `TRUE` makes every download an error.
    #[must_use]
    pub fn from_env() -> Self {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let endpoint = variable("HF_ENDPOINT");
        let mut hub = Self::new(endpoint.as_deref().unwrap_or("https://huggingface.co"));
        if let Some(token) = variable("HF_TOKEN") {
            hub = hub.with_token(token.trim());
        }
        hub.offline = variable("HF_HUB_OFFLINE").is_some_and(|value| {
            ["1", "ON", "YES", "TRUE"].contains(&value.to_ascii_uppercase().as_str())
        });
        hub
    }

    /// The hub at a URL, without a token.
    pub fn new(endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into().trim_end_matches('/').to_owned(),
            client: HttpClient::new().with_attempts(5, Duration::from_millis(500)),
            has_token: false,
            offline: false,
        }
    }

    /// Access token, sent to the hub only, never to a host that it redirects to.
    #[must_use]
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.client = self.client.with_bearer_token(token);
        self.has_token = true;
        self
    }

    /// Number of consecutive attempts without new data before an error, and backoff after the
    /// first of them, doubled after each further one. Range: ≥ 1 attempt. Default: 5 attempts,
    /// half a second.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32, backoff: Duration) -> Self {
        self.client = self.client.with_attempts(attempts, backoff);
        self
    }
}

/// A hub and the requested model revision.
pub(super) struct Connection<'a> {
    pub(super) hub: &'a Hub,
    pub(super) address: ModelReference<'a>,
}

impl Connection<'_> {
    /// URL of the description of the model revision.
    pub(super) fn listing_url(&self) -> String {
        let ModelReference { name, revision } = self.address;
        let revision = revision.replace('/', "%2F");
        let endpoint = &self.hub.endpoint;
        format!("{endpoint}/api/models/{name}/revision/{revision}?blobs=true")
    }

    pub(super) fn file_url(&self, sha: &str, file: &str) -> String {
        let (endpoint, name) = (&self.hub.endpoint, self.address.name);
        format!("{endpoint}/{name}/resolve/{sha}/{file}")
    }

    /// Interprets the hub's error codes.
    pub(super) fn hub_error(&self, error: DownloadError) -> HubError {
        let name = self.address.name.to_owned();
        let (status, code) = match &error {
            DownloadError::Canceled => return HubError::Canceled,
            DownloadError::Status { status, code, .. } => (*status, code.as_str()),
            _ => return HubError::Download(error),
        };
        match (status, code) {
            (_, "RevisionNotFound") => HubError::NoRevision {
                name,
                revision: self.address.revision.into(),
            },
            (403, _) | (_, "GatedRepo") => HubError::Gated {
                page: format!("{}/{name}", self.hub.endpoint),
                name,
            },
            (401 | 404, "" | "RepoNotFound") => HubError::NoModel {
                endpoint: self.hub.endpoint.clone(),
                name,
                token: self.hub.has_token,
            },
            _ => HubError::Download(error),
        }
    }

    pub(super) fn missing(&self, expected: &'static str) -> HubError {
        let name = self.address.name.into();
        HubError::MissingFile { name, expected }
    }

    pub(super) fn unsupported(&self, source: ModelError) -> HubError {
        let name = self.address.name.into();
        let source = Box::new(source);
        HubError::Model { name, source }
    }
}
