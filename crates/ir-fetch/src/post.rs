use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ir_core::{Flow, Progress, SplitMix64};
use ureq::http::Response;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use ureq::{Body, Error};

use crate::{HttpClient, RequestError};

/// Longest `Retry-After` that a request waits for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(600);

/// Maximum number of bytes of a response.
const MAX_RESPONSE: u64 = 10 << 20;

/// Maximum number of bytes of an error response in a message.
const MAX_EXCERPT: usize = 200;

impl HttpClient {
    /// Sends JSON and returns the body of the response, at most 10 MiB.
    ///
    /// Statuses 408, 429 and 5xx and missing responses are retried
    /// ([`with_attempts`](Self::with_attempts)). The wait is the header `Retry-After`, in seconds
    /// or as a date, or else the backoff times a random number from 0.5 to 1 (jitter). Reports the
    /// stages "requesting" and "waiting"; the latter can be canceled.
    ///
    /// # Errors
    /// See [`RequestError`]. Token and key do not occur in them, even if the server repeats them.
    pub fn post_json(
        &self,
        url: &str,
        body: &str,
        progress: &mut dyn Progress,
    ) -> Result<Vec<u8>, RequestError> {
        let mut attempts = 0;
        // Jitter does not affect results.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let seed = now.map_or(0, |it| it.as_nanos() as u64);
        let mut random = SplitMix64::new(seed, u64::from(std::process::id()));
        loop {
            if progress.report("requesting", u64::from(attempts), None) == Flow::Stop {
                return Err(RequestError::Canceled);
            }
            attempts += 1;
            let (error, wait) = match self.send_json(url, body) {
                Ok(response) if response.status().is_success() => match read(response) {
                    Ok(bytes) => return Ok(bytes),
                    Err(error) => (no_response(url, attempts, error)?, None),
                },
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
            if attempts >= self.attempts {
                return Err(error);
            }
            let backoff = self.backoff.saturating_mul(1 << (attempts - 1).min(6));
            let jitter = 0.5 + random.below(1 << 20) as f64 / f64::from(1 << 21);
            let wait = wait.unwrap_or(backoff.mul_f64(jitter));
            wait_for(wait, u64::from(attempts), progress)?;
        }
    }

    fn send_json(&self, url: &str, body: &str) -> Result<Response<Body>, Error> {
        let request = self
            .agent
            .post(url)
            .header(CONTENT_TYPE, "application/json");
        let request = match &self.token {
            Some(token) => request.header(AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        };
        let request = match &self.api_key {
            Some(key) => request.header("api-key", key),
            None => request,
        };
        let timeout = Some(self.timeout);
        let request = request.config().timeout_global(timeout);
        // Redirects drop the header `Authorization`, but no other.
        let request = match self.api_key {
            Some(_) => request.max_redirects(0),
            None => request,
        };
        // The limits of downloads are for data that arrives steadily.
        let request = request
            .timeout_recv_response(timeout)
            .timeout_per_read(timeout);
        request.build().send(body)
    }

    fn status(&self, url: &str, attempts: u32, response: Response<Body>) -> RequestError {
        let status = response.status().as_u16();
        let body = read(response).unwrap_or_default();
        let body = String::from_utf8_lossy(&body);
        // Servers repeat invalid keys.
        let secrets = [&self.token, &self.api_key].into_iter().flatten();
        let body = secrets
            .filter(|secret| !secret.is_empty())
            .fold(body.into_owned(), |body, secret| body.replace(secret, "…"));
        let body: Vec<&str> = body.split_whitespace().collect();
        let body = body.join(" ");
        let end = body
            .char_indices()
            .map(|(at, _)| at)
            .find(|&at| at >= MAX_EXCERPT);
        let body = end.map_or(body.clone(), |end| format!("{}…", &body[..end]));
        RequestError::Status {
            url: url.to_owned(),
            status,
            attempts,
            body,
        }
    }
}

fn read(response: Response<Body>) -> Result<Vec<u8>, Error> {
    let body = response.into_body().into_with_config();
    body.limit(MAX_RESPONSE).read_to_vec()
}

/// Returns the error as the outer result if another attempt is pointless.
fn no_response(url: &str, attempts: u32, error: Error) -> Result<RequestError, RequestError> {
    let is_final = matches!(
        error,
        Error::BadUri(_)
            | Error::Http(_)
            | Error::BodyExceedsLimit(_)
            | Error::RedirectFailed
            | Error::TooManyRedirects
    );
    let error = RequestError::NoResponse {
        url: url.to_owned(),
        attempts,
        source: error.into(),
    };
    if is_final { Err(error) } else { Ok(error) }
}

/// Waits in short steps, so that the caller can cancel.
fn wait_for(
    mut remaining: Duration,
    attempts: u64,
    progress: &mut dyn Progress,
) -> Result<(), RequestError> {
    while !remaining.is_zero() {
        let step = remaining.min(Duration::from_millis(100));
        std::thread::sleep(step);
        remaining -= step;
        if progress.report("waiting", attempts, None) == Flow::Stop {
            return Err(RequestError::Canceled);
        }
    }
    Ok(())
}

/// Header `Retry-After`: seconds, or a date.
fn retry_after(response: &Response<Body>, now: SystemTime) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let then = UNIX_EPOCH + Duration::from_secs(seconds_of_date(text)?);
    Some(then.duration_since(now).unwrap_or_default())
}

/// Seconds since 1970 of a date such as `Sun, 06 Nov 1994 08:49:37 GMT`.
fn seconds_of_date(text: &str) -> Option<u64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let (_, date) = text.split_once(", ")?;
    let parts: Vec<&str> = date.split(' ').collect();
    let &[day, month, year, time, "GMT"] = parts.as_slice() else {
        return None;
    };
    let month = MONTHS
        .find(month)
        .filter(|at| at % 3 == 0 && month.len() == 3)? as u64
        / 3;
    let (day, year): (u64, u64) = (day.parse().ok()?, year.parse().ok()?);
    let clock = time.split(':').map(|part| part.parse::<u64>().ok());
    let clock: Vec<u64> = clock.collect::<Option<_>>()?;
    let &[hours, minutes, seconds] = clock.as_slice() else {
        return None;
    };
    let is_valid = (1970..10_000).contains(&year) && (1..=31).contains(&day);
    if !is_valid || hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    // Years start in March, so that the leap day is the last one (days from civil).
    let (shifted, year) = if month < 2 {
        (month + 10, year - 1)
    } else {
        (month - 2, year)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = 365 * year + leap_days + (153 * shifted + 2) / 5 + day - 1;
    let since_1970 = days.checked_sub(719_468)?;
    Some(since_1970 * 86_400 + hours * 3600 + minutes * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds as printed by `date -d '...' +%s`.
    #[test]
    fn dates() {
        for (text, seconds) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199)),
            ("Fri, 01 Mar 2024 00:00:00 GMT", Some(1_709_251_200)),
            ("Mon, 01 Jan 2100 00:00:00 GMT", Some(4_102_444_800)),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 ovD 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("Sun, 99 Nov 1994 08:49:37 GMT", None),
            ("soon", None),
        ] {
            assert_eq!(seconds_of_date(text), seconds, "{text}");
        }
    }
}
