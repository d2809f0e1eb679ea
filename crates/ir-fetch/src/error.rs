use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Error downloading a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum DownloadError {
    /// The server cannot be reached or does not speak HTTP.
    #[error("{url}: no response after {attempts} attempts")]
    NoResponse {
        url: String,
        attempts: u32,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server responds with an error status. `code` is the value of the header
    /// `X-Error-Code`, empty if absent.
    #[error("{url}: expected the file, found HTTP status {status}")]
    Status {
        url: String,
        status: u16,
        code: String,
    },
    /// The connection was interrupted in every attempt. The partial file is kept; `expected` is 0
    /// if the size is unknown.
    #[error("{url}: expected {expected} bytes, found the connection interrupted after {found}")]
    Interrupted {
        url: String,
        expected: u64,
        found: u64,
    },
    /// The file does not have the expected size. The partial file is removed.
    #[error("{url}: expected {expected} bytes, found {found}")]
    Size {
        url: String,
        expected: u64,
        found: u64,
    },
    /// The file does not have the expected checksum. The partial file is removed.
    #[error("{url}: expected {algorithm} {expected}, found {found}")]
    Checksum {
        url: String,
        algorithm: &'static str,
        expected: String,
        found: String,
    },
    /// The destination is a directory or has no file name.
    #[error("{}: expected the path of a file, found a directory", path.display())]
    Directory { path: PathBuf },
    /// The partial file cannot be read.
    #[error("{}: cannot read", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The partial file or the destination cannot be written.
    #[error("{}: cannot write", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The caller canceled the download. The partial file is kept.
    #[error("canceled")]
    Canceled,
}

impl DownloadError {
    pub(crate) fn write(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        move |source| Self::Write {
            path: path.to_owned(),
            source,
        }
    }
}

/// Error of a request for data, such as an answer of a language model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum RequestError {
    /// The server cannot be reached, does not speak HTTP, or does not respond in time.
    #[error("{url}: no response after {}", count(*attempts))]
    NoResponse {
        url: String,
        attempts: u32,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server responds with an error status. `body` is the start of the response.
    #[error("{url}: expected a response, found HTTP status {status} after {}: {body:?}", count(*attempts))]
    Status {
        url: String,
        status: u16,
        attempts: u32,
        body: String,
    },
    /// The server asks to wait for more than ten minutes.
    #[error("{url}: expected a wait of at most 10 minutes, found {} s in Retry-After", wait.as_secs())]
    RetryAfter { url: String, wait: Duration },
    /// The caller canceled the request.
    #[error("canceled")]
    Canceled,
}

impl RequestError {
    /// Returns whether another attempt may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            // Certificates and protocols stay what they are.
            Self::NoResponse { .. } => self.no_response_reason() != Some(NoResponseReason::Tls),
            Self::Status { status, .. } => matches!(status, 408 | 429 | 500..=599),
            _ => false,
        }
    }
}

impl RequestError {
    /// Returns why there was no response; `None` for other errors.
    #[must_use]
    pub fn no_response_reason(&self) -> Option<NoResponseReason> {
        let Self::NoResponse { source, .. } = self else {
            return None;
        };
        let source: &(dyn Error + 'static) = source.as_ref();
        Some(match source.downcast_ref::<ureq::Error>() {
            Some(ureq::Error::Timeout(_)) => NoResponseReason::Timeout,
            Some(
                ureq::Error::Tls(_)
                | ureq::Error::Rustls(_)
                | ureq::Error::Pem(_)
                | ureq::Error::TlsRequired,
            ) => NoResponseReason::Tls,
            Some(ureq::Error::Protocol(_) | ureq::Error::Http(_)) => NoResponseReason::NotHttp,
            // The TLS library reports its errors as invalid data.
            Some(ureq::Error::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                NoResponseReason::Tls
            }
            _ => NoResponseReason::Unreachable,
        })
    }
}

/// Reason of [`RequestError::NoResponse`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoResponseReason {
    /// No connection, or an interrupted one.
    Unreachable,
    /// The time limit of the attempt passed.
    Timeout,
    /// The server does not speak TLS, or its certificate is not trusted.
    Tls,
    /// The response is not HTTP: another service, or one that speaks TLS.
    NotHttp,
}

/// Error of [`HttpClient::with_root_certificates`](crate::HttpClient::with_root_certificates).
#[derive(Debug, thiserror::Error)]
#[error("expected certificates in PEM format, found {found}")]
pub struct CertificateError {
    /// What the text has instead.
    pub found: String,
}

fn count(attempts: u32) -> String {
    match attempts {
        1 => "1 attempt".to_owned(),
        _ => format!("{attempts} attempts"),
    }
}
