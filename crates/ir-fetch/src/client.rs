use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ir_core::{Flow, Progress};
use ureq::config::RedirectAuthHeaders;
use ureq::http::Response;
use ureq::http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName,
    IF_RANGE, RANGE,
};
use ureq::tls::{PemItem, RootCerts, TlsConfig};
use ureq::typestate::WithoutBody;
use ureq::{Agent, Body, RequestBuilder};

use crate::{CertificateError, Download, DownloadError};

/// HTTP client with retries, exponential backoff and an optional bearer token. Connections are
/// reused between files.
#[derive(Clone)]
pub struct HttpClient {
    pub(crate) agent: Agent,
    pub(crate) token: Option<String>,
    /// Value of the header `api-key` of [`HttpClient::request`].
    pub(crate) api_key: Option<String>,
    /// Value of the header `Authorization` of [`HttpClient::request`], if there is no token.
    pub(crate) authorization: Option<String>,
    pub(crate) attempts: u32,
    pub(crate) backoff: Duration,
    /// Time limit of [`HttpClient::request`].
    pub(crate) timeout: Duration,
}

impl Default for HttpClient {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Token and key are secrets.
        f.debug_struct("HttpClient")
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("api_key", &self.api_key.as_ref().map(|_| "…"))
            .field("authorization", &self.authorization.as_ref().map(|_| "…"))
            .field("attempts", &self.attempts)
            .field("backoff", &self.backoff)
            .finish_non_exhaustive()
    }
}

impl HttpClient {
    /// Creates a client without a token that makes 5 attempts with an initial backoff of one
    /// second.
    #[must_use]
    pub fn new() -> Self {
        Self::from_agent(Self::agent(TlsConfig::default()))
    }

    fn agent(tls: TlsConfig) -> Agent {
        Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .timeout_connect(Some(Duration::from_secs(30)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .timeout_per_read(Some(Duration::from_secs(60)))
            .user_agent(concat!("ir-fetch/", env!("CARGO_PKG_VERSION")))
            .build()
            .into()
    }

    fn from_agent(agent: Agent) -> Self {
        Self {
            agent,
            token: None,
            api_key: None,
            authorization: None,
            attempts: 5,
            backoff: Duration::from_secs(1),
            timeout: Duration::from_secs(120),
        }
    }

    /// Sets the number of consecutive attempts without new data before an error, and backoff after
    /// the first of them. The backoff doubles after each further one, up to 64-fold. Range: ≥ 1
    /// attempt. Default: 5 attempts, one second.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32, backoff: Duration) -> Self {
        self.attempts = attempts.max(1);
        self.backoff = backoff;
        self
    }

    /// Sets the time limit of one attempt of [`HttpClient::request`]. Downloads have limits per
    /// read instead. Default: 2 minutes.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the bearer token, sent to the host of the requested URL only.
    #[must_use]
    pub fn with_bearer_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sets the header `api-key` of [`HttpClient::request`], by which Azure authenticates. It is
    /// sent to the host of the URL only: a request with this key follows no redirect.
    #[must_use]
    pub fn with_api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// Sets the value of the header `Authorization` of [`HttpClient::request`], for schemes such as
    /// `Basic` and `ApiKey`. It is sent to the host of the URL only.
    #[must_use]
    pub fn with_authorization(mut self, value: impl Into<String>) -> Self {
        self.authorization = Some(value.into());
        self
    }

    /// Trusts the certificates of a PEM file, and no others, in place of the bundled ones of
    /// Mozilla: for servers with certificates of an own authority.
    ///
    /// # Errors
    /// The text has no certificate.
    pub fn with_root_certificates(mut self, pem: &[u8]) -> Result<Self, CertificateError> {
        let parsed = ureq::tls::parse_pem(pem).filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        });
        let certificates = parsed.collect::<Result<Vec<_>, _>>();
        let certificates = certificates.map_err(|error| CertificateError {
            found: error.to_string(),
        })?;
        if certificates.is_empty() {
            return Err(CertificateError {
                found: "no certificate".to_owned(),
            });
        }
        let roots = RootCerts::Specific(Arc::new(certificates));
        self.agent = Self::agent(TlsConfig::builder().root_certs(roots).build());
        Ok(self)
    }

    /// Downloads a short document of at most 10 MiB into memory.
    ///
    /// # Errors
    /// [`DownloadError::NoResponse`], [`DownloadError::Status`] or [`DownloadError::Canceled`].
    pub fn get(&self, url: &str, progress: &mut dyn Progress) -> Result<Vec<u8>, DownloadError> {
        let mut reporter = Reporter::new(progress);
        // The inner result is final: without a range request, 206 and 416 are permanent errors.
        self.retry(&mut reporter, |reporter, _| {
            reporter.report("downloading", 0, None)?;
            let response = send(self.download_request(url), url)?;
            if response.status().as_u16() != 200 {
                return Ok(Err(status_error(url, &response)));
            }
            let bytes = response.into_body().read_to_vec();
            bytes.map(Ok).map_err(|error| no_response(url, error))
        })?
    }

    /// Downloads a file to `path` atomically: after an error the path is unchanged.
    ///
    /// Reports the stages "downloading", "waiting" (between attempts) and "verifying" in bytes.
    ///
    /// # Errors
    /// Returns [`DownloadError`] if no attempt succeeds, the content does not have the expected
    /// size or checksum, a file cannot be read or written, or `progress` cancels.
    pub fn save(
        &self,
        download: &Download,
        path: impl AsRef<Path>,
        progress: &mut dyn Progress,
    ) -> Result<(), DownloadError> {
        let path = path.as_ref();
        let partial = download.partial_path(path)?;
        let mut reporter = Reporter::new(progress);
        // A longer file cannot be the beginning of the expected one.
        let too_long = download.size.is_some_and(|size| length(&partial) > size);
        if partial.exists() && (too_long || !download.resumes()) {
            remove(&partial)?;
        }
        // A complete partial file needs no request; its checksum decides.
        if download.checksum.is_none() || download.size != Some(length(&partial)) {
            let mut transfer = Transfer {
                client: self,
                download,
                partial: &partial,
                total: None,
                tag: None,
                resumed: false,
            };
            self.retry(&mut reporter, |reporter, failures| {
                transfer.attempt(reporter, failures)
            })?;
        }
        if let Some(expected) = &download.checksum {
            let found = expected.compute(&partial, &mut |done| {
                reporter.report("verifying", done, download.size)
            })?;
            if found != expected.digits() {
                remove(&partial)?;
                return Err(DownloadError::Checksum {
                    url: download.url.clone(),
                    algorithm: expected.algorithm(),
                    expected: expected.digits().to_owned(),
                    found,
                });
            }
        }
        File::open(&partial)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&partial, path))
            .map_err(DownloadError::write(path))
    }

    /// Repeats `attempt` until it succeeds, fails permanently, or too many consecutive attempts
    /// received no data. An attempt that received data sets the number of failures to 0.
    fn retry<T>(
        &self,
        reporter: &mut Reporter<'_>,
        mut attempt: impl FnMut(&mut Reporter<'_>, &mut u32) -> Result<T, DownloadError>,
    ) -> Result<T, DownloadError> {
        let mut failures = 0;
        loop {
            let mut error = match attempt(reporter, &mut failures) {
                Err(error) if is_transient(&error) => error,
                result => return result,
            };
            failures += 1;
            if failures >= self.attempts {
                if let DownloadError::NoResponse { attempts, .. } = &mut error {
                    *attempts = failures;
                }
                return Err(error);
            }
            reporter.wait(self.backoff.saturating_mul(1 << (failures - 1).min(6)))?;
        }
    }

    fn download_request(&self, url: &str) -> RequestBuilder<WithoutBody> {
        // Sizes and checksums describe the content without a transfer encoding.
        let request = self.agent.get(url).header(ACCEPT_ENCODING, "identity");
        match &self.token {
            Some(token) => request.header(AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        }
    }
}

fn send(request: RequestBuilder<WithoutBody>, url: &str) -> Result<Response<Body>, DownloadError> {
    let response = request.call().map_err(|error| no_response(url, error))?;
    match response.status().as_u16() {
        200 | 206 | 416 => Ok(response),
        _ => Err(status_error(url, &response)),
    }
}

/// Returns `true` if another attempt may succeed.
fn is_transient(error: &DownloadError) -> bool {
    match error {
        DownloadError::NoResponse { source, .. } => !matches!(
            source.downcast_ref(),
            Some(ureq::Error::BadUri(_) | ureq::Error::Http(_))
        ),
        // 206 and 416: the response to a wrong range, after which the download restarts.
        DownloadError::Status { status, .. } => matches!(status, 206 | 408 | 416 | 429 | 500..),
        DownloadError::Interrupted { .. } => true,
        _ => false,
    }
}

/// Reports progress and remembers the last report for the stage "waiting".
struct Reporter<'a> {
    progress: &'a mut dyn Progress,
    done: u64,
    total: Option<u64>,
}

impl<'a> Reporter<'a> {
    fn new(progress: &'a mut dyn Progress) -> Self {
        Self {
            progress,
            done: 0,
            total: None,
        }
    }

    fn report(&mut self, stage: &str, done: u64, total: Option<u64>) -> Result<(), DownloadError> {
        (self.done, self.total) = (done, total);
        match self.progress.report(stage, done, total) {
            Flow::Continue => Ok(()),
            Flow::Stop => Err(DownloadError::Canceled),
        }
    }

    fn wait(&mut self, mut remaining: Duration) -> Result<(), DownloadError> {
        while !remaining.is_zero() {
            let step = remaining.min(Duration::from_millis(100));
            std::thread::sleep(step);
            remaining -= step;
            self.report("waiting", self.done, self.total)?;
        }
        Ok(())
    }
}

/// Transfer of one file into its partial file.
struct Transfer<'a> {
    client: &'a HttpClient,
    download: &'a Download,
    partial: &'a Path,
    /// Full size that the server states.
    total: Option<u64>,
    /// Strong `ETag` of the file.
    tag: Option<String>,
    /// `true` if the server has answered a range request with the range.
    resumed: bool,
}

impl Transfer<'_> {
    /// Sends one request and appends the response to the partial file.
    fn attempt(
        &mut self,
        reporter: &mut Reporter<'_>,
        failures: &mut u32,
    ) -> Result<(), DownloadError> {
        let before = length(self.partial);
        let mut found = before;
        let expected = self.download.size.or(self.total);
        reporter.report("downloading", found, expected)?;
        let url = &self.download.url;
        let mut request = self.client.download_request(url);
        if before > 0 {
            request = request.header(RANGE, format!("bytes={before}-"));
            if let Some(tag) = &self.tag {
                request = request.header(IF_RANGE, tag);
            }
        }
        let response = send(request, url)?;
        let range = ContentRange::parse(response.headers());
        let stated = number(response.headers(), &CONTENT_LENGTH);
        let total = match (response.status().as_u16(), range) {
            (200, _) => {
                found = 0;
                stated
            }
            (206, Some(range)) if range.start == Some(before) => {
                self.resumed |= before > 0;
                range.total.or(stated.map(|rest| before + rest))
            }
            // The partial file is complete.
            (416, Some(range)) if before > 0 && range.total == Some(before) => {
                return self.check_size(before);
            }
            // Another range than requested, or the file has become shorter: restart.
            _ => {
                remove(self.partial)?;
                return Err(status_error(url, &response));
            }
        };
        if let Some(total) = total {
            self.check_size(total)?;
        }
        self.total = total;
        // With a checksum, resuming needs no tag.
        if self.download.checksum.is_none() {
            self.tag = strong_tag(response.headers());
        }
        if self.append(response, &mut found, reporter)? {
            return Ok(());
        }
        // A server that restarts each time does not advance.
        if found > before && self.resumed {
            *failures = 0;
        }
        Err(DownloadError::Interrupted {
            url: url.clone(),
            expected: self.download.size.or(self.total).unwrap_or(0),
            found,
        })
    }

    /// Returns whether the file is complete.
    fn append(
        &self,
        response: Response<Body>,
        found: &mut u64,
        reporter: &mut Reporter<'_>,
    ) -> Result<bool, DownloadError> {
        let failed = DownloadError::write(self.partial);
        let mut options = OpenOptions::new();
        let open = options.create(true).append(true).open(self.partial);
        let mut file = open.map_err(&failed)?;
        if *found == 0 {
            file.set_len(0).map_err(&failed)?;
        }
        let expected = self.download.size.or(self.total);
        let mut reader = response.into_body().into_reader();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = match reader.read(&mut buffer) {
                Ok(0) => return Ok(expected.is_none_or(|expected| *found >= expected)),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Ok(false),
            };
            *found += count as u64;
            if let Some(expected) = expected.filter(|&expected| *found > expected) {
                return Err(self.wrong_size(expected, *found)?);
            }
            file.write_all(&buffer[..count]).map_err(&failed)?;
            reporter.report("downloading", *found, expected)?;
        }
    }

    fn check_size(&self, found: u64) -> Result<(), DownloadError> {
        match self.download.size {
            Some(expected) if expected != found => Err(self.wrong_size(expected, found)?),
            _ => Ok(()),
        }
    }

    fn wrong_size(&self, expected: u64, found: u64) -> Result<DownloadError, DownloadError> {
        remove(self.partial)?;
        Ok(DownloadError::Size {
            url: self.download.url.clone(),
            expected,
            found,
        })
    }
}

/// Header `Content-Range`: `bytes 100-199/200` or `bytes */200`.
struct ContentRange {
    start: Option<u64>,
    total: Option<u64>,
}

impl ContentRange {
    fn parse(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
        let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
        let start = range.split_once('-').map(|(start, _)| start.parse().ok());
        Some(Self {
            start: start.flatten(),
            total: total.parse().ok(),
        })
    }
}

fn number(headers: &HeaderMap, name: &HeaderName) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// An `ETag` that guarantees equality of every byte; weak ones do not.
fn strong_tag(headers: &HeaderMap) -> Option<String> {
    let tag = headers.get(ETAG)?.to_str().ok()?;
    (!tag.starts_with("W/")).then(|| tag.to_owned())
}

fn status_error(url: &str, response: &Response<Body>) -> DownloadError {
    let code = response.headers().get("x-error-code");
    let code = code.and_then(|code| code.to_str().ok()).unwrap_or_default();
    DownloadError::Status {
        url: url.to_owned(),
        status: response.status().as_u16(),
        code: code.to_owned(),
    }
}

fn no_response(url: &str, error: ureq::Error) -> DownloadError {
    DownloadError::NoResponse {
        url: url.to_owned(),
        attempts: 1,
        source: error.into(),
    }
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Removes a file; one that is absent already is no error.
fn remove(path: &Path) -> Result<(), DownloadError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(DownloadError::write(path)(error))
        }
        _ => Ok(()),
    }
}
