//! Errors of remote engines.

use std::error::Error;
use std::io;
use std::path::Path;

use ir_core::{CorpusError, IdError, SearchError};
use ir_fetch::{NoResponseReason, RequestError};

/// Error of a remote engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum RemoteError {
    /// The address of a collection is invalid.
    #[error("{found}: expected {expected}")]
    Address {
        found: String,
        expected: &'static str,
    },
    /// An environment variable with credentials is invalid.
    #[error("environment variable {variable}: {message}")]
    Credentials {
        variable: &'static str,
        message: String,
    },
    /// No server accepts connections, or the connection was interrupted.
    #[error("{url}: no server, or the connection was interrupted")]
    Unreachable {
        url: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server does not respond in time.
    #[error("{url}: no complete response within the time limit")]
    Timeout {
        url: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server does not speak TLS, or its certificate is not trusted.
    #[error(
        "{url}: expected TLS with a certificate that is trusted (by IR_REMOTE_CA or else by Mozilla), valid and of this host (without TLS, the scheme has no `+tls`)"
    )]
    Tls {
        url: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server does not speak HTTP: the port of another service such as gRPC, or TLS.
    #[error(
        "{url}: expected HTTP, found another protocol (Milvus over gRPC has the scheme `milvus+grpc`; with TLS, the scheme ends in `+tls`)"
    )]
    NotHttp {
        url: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The credentials are missing, wrong or expired.
    #[error(
        "{url}: expected valid credentials in {}, found HTTP status {status}",
        CREDENTIAL_VARIABLES
    )]
    Unauthorized { url: String, status: u16 },
    /// The server responds with an error status. `body` is the start of the response.
    #[error("{url}: expected a response, found HTTP status {status}: {body:?}")]
    Status {
        url: String,
        status: u16,
        body: String,
    },
    /// The response is not what the engine sends: another service, or a damaged response.
    #[error("{url}: expected {expected}, found {found}")]
    Response {
        url: String,
        expected: String,
        found: String,
    },
    /// The engine rejects a request.
    #[error("{engine} rejects the request to {operation}: {message}")]
    Rejected {
        engine: &'static str,
        operation: &'static str,
        message: String,
    },
    /// The collection does not exist.
    #[error("collection {collection:?}: not found; load it first")]
    NoCollection { collection: String },
    /// The collection was not created by this crate.
    #[error("collection {collection:?}: expected a collection created by ir, found {found}")]
    ForeignCollection { collection: String, found: String },
    /// The collection has another configuration or other documents. `what` is the property:
    /// `dimension`, `similarity`, `attributes`, `number of documents`, `fingerprint` (other
    /// documents), ... `is_load`: whether the collection was to be loaded.
    #[error("collection {collection:?}: {}", conflict(what, expected, found, *is_load))]
    Conflict {
        collection: String,
        what: &'static str,
        expected: String,
        found: String,
        is_load: bool,
    },
    /// The collection has not been loaded completely, or documents were added or lost.
    #[error(
        "collection {collection:?}: expected {expected} documents, found {found}; load it again to complete it"
    )]
    Incomplete {
        collection: String,
        expected: u64,
        found: u64,
    },
    /// The engine cannot express a filter exactly.
    #[error("filter: {reason}")]
    Filter { reason: String },
    /// A search asks for more hits than the engine returns.
    #[error("expected at most {limit} hits, the maximum of {engine}, found {found}")]
    TooManyHits {
        engine: &'static str,
        limit: usize,
        found: usize,
    },
    /// The schema of a collection is invalid.
    #[error("schema: {message}")]
    Schema { message: String },
    /// A document does not fit the schema.
    #[error("document {number} ({id}): {what}: expected {expected}, found {found}")]
    Document {
        number: usize,
        id: String,
        what: String,
        expected: String,
        found: String,
    },
    /// The documents cannot be read.
    #[error("cannot read the documents")]
    Corpus(#[source] CorpusError),
    /// The ids do not fit in memory, or there are too many of them.
    #[error("invalid ids")]
    Ids(#[source] IdError),
    /// The query is invalid.
    #[error("invalid query")]
    Query(#[source] SearchError),
    /// A file of a cache or recording cannot be read or written.
    #[error("{path}: cannot be read or written")]
    File {
        path: String,
        #[source]
        source: std::io::Error,
    },
    /// The caller canceled the work.
    #[error("canceled")]
    Canceled,
}

/// Names of the environment variables with credentials, for messages.
pub(crate) const CREDENTIAL_VARIABLES: &str =
    "IR_REMOTE_TOKEN, IR_REMOTE_API_KEY or IR_REMOTE_USER and IR_REMOTE_PASSWORD";

/// Message of [`RemoteError::Conflict`].
fn conflict(what: &str, expected: &str, found: &str, is_load: bool) -> String {
    let documents = match what {
        "fingerprint" => " (other documents, attributes or vectors)",
        _ => "",
    };
    let is_content = matches!(what, "fingerprint" | "number of documents");
    let remedy = match (is_load, is_content) {
        (false, _) => "",
        (true, true) => "; load into a collection of another name, or delete this one first",
        (true, false) => "; repeat the options of the first load, or load into another name",
    };
    format!("expected {what} {expected}, found {found}{documents}{remedy}")
}

impl RemoteError {
    pub(crate) fn from_request(url: &str, error: RequestError) -> Self {
        let url = url.to_owned();
        match (error.no_response_reason(), error) {
            (_, RequestError::Canceled) => Self::Canceled,
            (_, RequestError::Status { status, body, .. }) => match status {
                401 | 403 => Self::Unauthorized { url, status },
                _ => Self::Status { url, status, body },
            },
            (reason, error) => {
                let source = error.into();
                match reason {
                    Some(NoResponseReason::Timeout) => Self::Timeout { url, source },
                    Some(NoResponseReason::Tls) => Self::Tls { url, source },
                    Some(NoResponseReason::NotHttp) => Self::NotHttp { url, source },
                    _ => Self::Unreachable { url, source },
                }
            }
        }
    }

    /// Returns `true` if another attempt may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } | Self::NotHttp { .. } => true,
            Self::Status { status, .. } => matches!(status, 408 | 429 | 500..=599),
            _ => false,
        }
    }

    pub(crate) fn filter(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Filter { reason }
    }

    pub(crate) fn schema(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Schema { message }
    }

    pub(crate) fn response(
        url: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        let (url, expected, found) = (url.into(), expected.into(), found.into());
        Self::Response {
            url,
            expected,
            found,
        }
    }

    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        |source| Self::File { path, source }
    }

    /// Conflict of an opened collection with its use.
    pub(crate) fn conflict(
        collection: &str,
        what: &'static str,
        expected: impl ToString,
        found: impl ToString,
    ) -> Self {
        Self::Conflict {
            collection: collection.to_owned(),
            what,
            expected: expected.to_string(),
            found: found.to_string(),
            is_load: false,
        }
    }

    /// Converts to an error of a search.
    pub(crate) fn into_search(self, engine: &'static str) -> SearchError {
        match self {
            Self::Query(error) => error,
            error => SearchError::Engine {
                engine,
                source: Box::new(error),
            },
        }
    }
}
