//! Requests for data, with retries.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ir_core::{Flow, Progress, SplitMix64};
use ureq::http::Response;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use ureq::{Body, Error};

use crate::client::HttpClient;
use crate::error::RequestError;
use crate::response::{MAX_RETRY_AFTER, no_response, read, retry_after, wait_for};

/// Default maximum number of bytes of a response.
const MAX_RESPONSE: u64 = 10 << 20;

/// Method of a [`HttpRequest`]. All methods send the body; some servers read the body of a GET
/// request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum HttpMethod {
    Get,
    Post,
    Put,
    Delete,
}

impl HttpMethod {
    /// Returns the name, such as `GET`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// Request for data, for [`HttpClient::request`].
#[derive(Debug, Clone, Copy)]
pub struct HttpRequest<'a> {
    /// HTTP method of the request.
    pub method: HttpMethod,
    /// URL with scheme, host and path.
    pub url: &'a str,
    /// Header `Content-Type`. Default: `application/json`.
    pub content_type: &'a str,
    /// Body; empty for none.
    pub body: &'a str,
    /// If `true`, failed attempts are repeated. `false` suits requests that change data, if the
    /// caller has to find out first whether the change happened. Default: `true`.
    pub retry: bool,
    /// Maximum number of bytes of the response. Default: 10 MiB.
    pub max_response: u64,
}

impl<'a> HttpRequest<'a> {
    /// Creates a JSON request that is repeated after transient failures.
    #[must_use]
    pub const fn json(method: HttpMethod, url: &'a str, body: &'a str) -> Self {
        Self {
            method,
            url,
            content_type: "application/json",
            body,
            retry: true,
            max_response: MAX_RESPONSE,
        }
    }
}

impl HttpClient {
    /// Sends a request and returns the body of the response.
    ///
    /// Statuses 408, 429 and 5xx and missing responses are retried
    /// ([`with_attempts`](Self::with_attempts)), except for reasons of TLS. The wait is the header
    /// `Retry-After`, in seconds or as a date, or else the backoff times a random number from 0.5
    /// to 1 (jitter). Reports the stages "requesting" and "waiting"; the latter can be canceled.
    ///
    /// # Errors
    /// Returns [`RequestError`] if no attempt succeeds, the response is too long, the server asks
    /// for a wait of more than 10 minutes, or `progress` cancels. Errors never contain credentials,
    /// even if the server repeats them.
    pub fn request(
        &self,
        request: &HttpRequest<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Vec<u8>, RequestError> {
        let url = request.url;
        let mut attempts = 0;
        loop {
            if progress.report("requesting", u64::from(attempts), None) == Flow::Stop {
                return Err(RequestError::Canceled);
            }
            attempts += 1;
            let (error, wait) = match self.send_request(request) {
                Ok(response) if response.status().is_success() => {
                    match read(response, request.max_response) {
                        Ok(bytes) => return Ok(bytes),
                        Err(error) => (no_response(url, attempts, error)?, None),
                    }
                }
                Ok(response) => {
                    let wait = retry_after(&response, SystemTime::now());
                    let error = self.status(url, attempts, response);
                    if !error.is_transient() {
                        return Err(error);
                    }
                    if let Some(wait) = wait.filter(|wait| *wait > MAX_RETRY_AFTER) {
                        let url = url.to_owned();
                        return Err(RequestError::RetryAfter { url, wait });
                    }
                    (error, wait)
                }
                Err(error) => (no_response(url, attempts, error)?, None),
            };
            if attempts >= self.attempts || !request.retry {
                return Err(error);
            }
            let wait = wait.unwrap_or_else(|| self.jittered_backoff(attempts));
            wait_for(wait, u64::from(attempts), progress)?;
        }
    }

    /// Sends JSON and returns the body of the response, at most 10 MiB: [`HttpClient::request`]
    /// with [`HttpMethod::Post`].
    ///
    /// # Errors
    /// Returns the errors of [`HttpClient::request`].
    pub fn post_json(
        &self,
        url: &str,
        body: &str,
        progress: &mut dyn Progress,
    ) -> Result<Vec<u8>, RequestError> {
        self.request(&HttpRequest::json(HttpMethod::Post, url, body), progress)
    }

    /// Waits as before a further attempt: the backoff of `failures` failed attempts, with jitter.
    /// For callers that repeat requests themselves.
    ///
    /// # Errors
    /// [`RequestError::Canceled`].
    pub fn wait_after(
        &self,
        failures: u32,
        progress: &mut dyn Progress,
    ) -> Result<(), RequestError> {
        wait_for(
            self.jittered_backoff(failures),
            u64::from(failures),
            progress,
        )
    }

    /// Backoff after a number of failures, times a random number from 0.5 to 1.
    fn jittered_backoff(&self, failures: u32) -> Duration {
        // Jitter does not affect results.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let seed = now.map_or(0, |it| it.as_nanos() as u64);
        let mut random = SplitMix64::new(seed, u64::from(std::process::id()));
        let backoff = self
            .backoff
            .saturating_mul(1 << failures.saturating_sub(1).min(6));
        backoff.mul_f64(0.5 + random.below(1 << 20) as f64 / f64::from(1 << 21))
    }

    /// Returns the maximum number of attempts.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    fn send_request(&self, request: &HttpRequest<'_>) -> Result<Response<Body>, Error> {
        let url = request.url;
        let built = match request.method {
            HttpMethod::Post => self.agent.post(url),
            HttpMethod::Put => self.agent.put(url),
            HttpMethod::Get => self.agent.get(url).force_send_body(),
            HttpMethod::Delete => self.agent.delete(url).force_send_body(),
        };
        let content_type = (!request.body.is_empty()).then(|| request.content_type.to_owned());
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let api_key = HeaderName::from_static("api-key");
        let headers = [
            (CONTENT_TYPE, content_type),
            (AUTHORIZATION, self.authorization.clone()),
            (AUTHORIZATION, bearer),
            (api_key, self.api_key.clone()),
        ];
        let headers = headers.into_iter();
        let headers = headers.filter_map(|(name, value)| Some((name, value?)));
        let built = headers.fold(built, |built, (name, value)| built.header(name, value));
        let timeout: Option<Duration> = Some(self.timeout);
        let built = built.config().timeout_global(timeout);
        // Redirects drop the header `Authorization`, but no other.
        let built = match self.api_key {
            Some(_) => built.max_redirects(0),
            None => built,
        };
        // The limits of downloads are for data that arrives steadily.
        let built = built
            .timeout_recv_response(timeout)
            .timeout_per_read(timeout)
            .build();
        if request.body.is_empty() {
            built.send_empty()
        } else {
            built.send(request.body)
        }
    }
}
