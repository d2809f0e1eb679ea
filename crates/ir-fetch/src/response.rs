//! Responses: bodies, errors, waits before another attempt.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ir_core::{Flow, Progress};
use ureq::http::Response;
use ureq::http::header::RETRY_AFTER;
use ureq::{Body, Error};

use crate::client::HttpClient;
use crate::error::RequestError;

/// Longest `Retry-After` that a request waits for.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_secs(600);

/// Maximum number of bytes of an error response that are read.
const MAX_ERROR_RESPONSE: u64 = 10 << 20;

/// Maximum number of bytes of an error response in a message.
const MAX_EXCERPT: usize = 200;

impl HttpClient {
    pub(crate) fn status(
        &self,
        url: &str,
        attempts: u32,
        response: Response<Body>,
    ) -> RequestError {
        let status = response.status().as_u16();
        let body = read(response, MAX_ERROR_RESPONSE).unwrap_or_default();
        let body = String::from_utf8_lossy(&body);
        // Servers repeat invalid keys.
        let secrets = [&self.token, &self.api_key, &self.authorization];
        let secrets = secrets
            .into_iter()
            .flatten()
            .filter_map(|it| it.rsplit(' ').next());
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

pub(crate) fn read(response: Response<Body>, limit: u64) -> Result<Vec<u8>, Error> {
    response
        .into_body()
        .into_with_config()
        .limit(limit)
        .read_to_vec()
}

/// Returns the error as the outer result if another attempt is pointless.
pub(crate) fn no_response(
    url: &str,
    attempts: u32,
    error: Error,
) -> Result<RequestError, RequestError> {
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
    if is_final || !error.is_transient() {
        Err(error)
    } else {
        Ok(error)
    }
}

/// Waits in short steps, so that the caller can cancel.
pub(crate) fn wait_for(
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
pub(crate) fn retry_after(response: &Response<Body>, now: SystemTime) -> Option<Duration> {
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
