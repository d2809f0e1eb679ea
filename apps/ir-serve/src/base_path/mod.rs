//! Path below which a proxy serves the server: requests lose it, and the URLs of responses get it.
//!
//! Handlers and templates have paths as on a server of its own. [`strip`] removes the base path
//! before the routes are matched. [`with_base`] writes it to the links of pages, redirects and
//! cookies; the description of the interface names it as the server. maud escapes `"` everywhere,
//! so that `href="/` is never text.

use std::fmt;
use std::str::FromStr;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::{IntoResponse, Response};

/// Header of proxies that remove a path from requests, such as Traefik.
const FORWARDED_PREFIX: &str = "x-forwarded-prefix";

/// Maximum number of characters of a base path.
const MAX_LENGTH: usize = 200;

/// Attributes of pages with URLs.
const URL_ATTRIBUTES: [&str; 6] = [
    "href",
    "src",
    "action",
    "formaction",
    "data-suggest",
    "data-drop",
];

/// Path below which a server is reached, such as `/ir` or `/tools/ir`.
///
/// Segments consist of letters, digits and `-._~`; `.` and `..` are none.
///
/// ```
/// use ir_serve::BasePath;
/// let path: BasePath = "/tools/ir".parse()?;
/// assert_eq!(path.as_str(), "/tools/ir");
/// assert!("tools/".parse::<BasePath>().is_err());
/// # Ok::<(), ir_serve::InvalidBasePath>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasePath(String);

/// Error of a text that is no [`BasePath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a path such as /ir, without a slash at the end, found {found:?}")]
pub struct InvalidBasePath {
    /// First 200 characters of the text.
    pub found: String,
}

impl BasePath {
    /// The path, with a slash at the start and none at the end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BasePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for BasePath {
    type Err = InvalidBasePath;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_segment = |segment: &str| {
            let is_plain = |c: u8| c.is_ascii_alphanumeric() || b"-._~".contains(&c);
            !matches!(segment, "" | "." | "..") && segment.bytes().all(is_plain)
        };
        match text.strip_prefix('/') {
            Some(path) if text.len() <= MAX_LENGTH && path.split('/').all(is_segment) => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(InvalidBasePath {
                found: text.chars().take(MAX_LENGTH).collect(),
            }),
        }
    }
}

/// Base path of a request.
#[derive(Debug, Clone)]
pub(crate) enum RequestBase {
    /// URLs of the response get the path.
    Below(BasePath),
    /// The request is for the base path without a slash.
    Missing(BasePath),
    /// The request is for a path that is not below the base path.
    Outside(BasePath),
    /// The header of the proxy has another form.
    Invalid(String),
}

impl RequestBase {
    /// URL of the interface for its description.
    pub(crate) fn url(&self) -> Option<&str> {
        match self {
            Self::Below(path) => Some(path.as_str()),
            _ => None,
        }
    }
}

/// Finds the base path of a request, and removes it from its target. `path` is configured; without
/// one, the header of a proxy has it.
pub(crate) fn strip(mut request: Request, path: Option<&BasePath>) -> Request {
    let base = match path {
        Some(path) => {
            let rest = request.uri().path().strip_prefix(path.as_str());
            let stripped = rest.filter(|rest| rest.starts_with('/'));
            let stripped = stripped.and_then(|rest| without(request.uri(), rest));
            match (stripped, rest) {
                (Some(uri), _) => {
                    *request.uri_mut() = uri;
                    RequestBase::Below(path.clone())
                }
                (None, Some("")) => RequestBase::Missing(path.clone()),
                (None, _) => RequestBase::Outside(path.clone()),
            }
        }
        None => match forwarded(request.headers()) {
            Ok(Some(path)) => RequestBase::Below(path),
            Ok(None) => return request,
            Err(message) => RequestBase::Invalid(message),
        },
    };
    request.extensions_mut().insert(base);
    request
}

/// Target with another path.
fn without(uri: &Uri, path: &str) -> Option<Uri> {
    let target = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(target).ok()?);
    Uri::from_parts(parts).ok()
}

/// Path of the header of a proxy. Without the header, or with `/`, there is none.
fn forwarded(headers: &HeaderMap) -> Result<Option<BasePath>, String> {
    let mut values = headers.get_all(FORWARDED_PREFIX).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err("header X-Forwarded-Prefix: expected one, found several".to_owned());
    }
    let text = String::from_utf8_lossy(value.as_bytes());
    let text = text.trim();
    match text.strip_suffix('/').unwrap_or(text) {
        "" => Ok(None),
        path => path
            .parse()
            .map(Some)
            .map_err(|error| format!("header X-Forwarded-Prefix: {error}")),
    }
}

/// Adds the base path to the URLs of a response.
pub(crate) async fn with_base(mut response: Response, base: &BasePath) -> Response {
    let headers = response.headers_mut();
    if let Some(location) = headers.get(LOCATION).and_then(|value| value.to_str().ok())
        && location.starts_with('/')
        && let Ok(location) = HeaderValue::from_str(&format!("{base}{location}"))
    {
        headers.insert(LOCATION, location);
    }
    let cookies: Vec<HeaderValue> = headers.get_all(SET_COOKIE).iter().cloned().collect();
    headers.remove(SET_COOKIE);
    for cookie in cookies {
        let text = cookie.to_str().unwrap_or_default();
        let text = text.replacen("; Path=/;", &format!("; Path={base};"), 1);
        headers.append(SET_COOKIE, HeaderValue::from_str(&text).unwrap_or(cookie));
    }
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    if !kind.is_some_and(|kind| kind.starts_with(b"text/html")) {
        return response;
    }
    headers.remove(CONTENT_LENGTH);
    let (parts, body) = response.into_parts();
    match to_bytes(body, usize::MAX).await {
        Ok(page) => {
            let page = String::from_utf8_lossy(&page);
            Response::from_parts(parts, Body::from(links_below(&page, base)))
        }
        Err(error) => {
            tracing::error!(%error, "a page was not written");
            axum::http::StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Page with the base path before the paths in its URLs.
fn links_below(page: &str, base: &BasePath) -> String {
    const VALUE: &str = "=\"";
    let mut written = String::with_capacity(page.len() + 64 * base.as_str().len());
    let mut rest = page;
    while let Some(at) = rest.find("=\"/") {
        let (before, after) = rest.split_at(at + VALUE.len());
        let name = before[..at].rsplit([' ', '\n', '<']).next();
        written.push_str(before);
        if name.is_some_and(|name| URL_ATTRIBUTES.contains(&name)) && !after.starts_with("//") {
            written.push_str(base.as_str());
        }
        rest = after;
    }
    written.push_str(rest);
    written
}

#[cfg(test)]
mod tests;
