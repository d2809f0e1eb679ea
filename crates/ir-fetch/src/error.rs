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

/// Error of a request whose response is data, such as an answer of a language model.
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
    /// Whether another attempt may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::NoResponse { .. } => true,
            Self::Status { status, .. } => matches!(status, 408 | 429 | 500..=599),
            _ => false,
        }
    }
}

fn count(attempts: u32) -> String {
    match attempts {
        1 => "1 attempt".to_owned(),
        _ => format!("{attempts} attempts"),
    }
}
