//! Checks of every request to the pages, and headers of every response.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, LOCATION, ORIGIN, REFERRER_POLICY,
    SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::access::{VISITOR_COOKIE, VisitorToken, cookie_value, visitor_cookie};
use super::error::PageError;
use crate::app::App;
use crate::host::{is_known_host, is_origin_of};
use crate::store::random_hex;

/// What pages may load, and where their forms go: this server.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; frame-ancestors 'none'; \
                      base-uri 'none'";

/// Characters of the token of a visitor.
const TOKEN: usize = 32;

/// Rejects requests for unknown hosts and forms of other sites, gives visitors a token, and sets
/// the headers of the response.
pub(super) async fn check(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Response {
    let known = cookie_value(request.headers(), VISITOR_COOKIE);
    let known = known
        .filter(|token| token.len() == TOKEN && token.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let (token, is_new) = match known {
        Some(token) => (Ok(token.to_owned()), false),
        None => (random_hex(TOKEN / 2), true),
    };
    let mut response = match (rejection(&app, &request), &token) {
        (Some(message), _) => PageError::new(StatusCode::FORBIDDEN, message).into_response(),
        (None, Err(error)) => {
            PageError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response()
        }
        (None, Ok(token)) => {
            request.extensions_mut().insert(VisitorToken(token.clone()));
            next.run(request).await
        }
    };
    let headers = response.headers_mut();
    let is_html = headers
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    let has_cookie = is_new && (is_html || headers.contains_key(LOCATION));
    let cookie = token.map(|token| HeaderValue::from_str(&visitor_cookie(&token)));
    if let (true, Ok(Ok(cookie))) = (has_cookie, cookie) {
        headers.append(SET_COOKIE, cookie);
    }
    if app.access.secure_cookies {
        secure_cookies(headers);
    }
    set_headers(headers);
    response
}

/// Sets the headers of every page.
pub(super) fn set_headers(headers: &mut HeaderMap) {
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Not `no-referrer`, which would set the `Origin` of forms to `null`.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    // Pages differ between visitors.
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}

/// Adds the attribute `Secure` to all cookies of a response.
fn secure_cookies(headers: &mut HeaderMap) {
    let cookies: Vec<HeaderValue> = headers.get_all(SET_COOKIE).iter().cloned().collect();
    headers.remove(SET_COOKIE);
    for cookie in cookies {
        let secure = [cookie.as_bytes(), b"; Secure"].concat();
        headers.append(
            SET_COOKIE,
            HeaderValue::from_bytes(&secure).unwrap_or(cookie),
        );
    }
}

/// Why a request is rejected.
fn rejection(app: &App, request: &Request) -> Option<String> {
    let headers = request.headers();
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| request.uri().authority().map(Authority::as_str));
    let host = host.unwrap_or_default();
    if !is_known_host(host, &app.access.hosts) {
        return Some(format!(
            "Host {host:?}: expected localhost, an IP address or a host that the server was \
             started with."
        ));
    }
    if !request.method().is_safe() && !is_same_origin(headers, host) {
        return Some("The form was sent from another site.".to_owned());
    }
    None
}

/// Returns `true` if a page of this server sent a request, by `Sec-Fetch-Site` or else `Origin`.
/// Every current browser sends one of them.
fn is_same_origin(headers: &HeaderMap, host: &str) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin";
    }
    let Some(origin) = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok()) else {
        return false;
    };
    is_origin_of(origin, host)
}

/// Returns `true` if a request is logged: a page of this server or the visitor sent it, for example
/// by the address bar or a bookmark. Requests from other sites, such as an image with the URL of a
/// search, are not logged. Browsers send `Sec-Fetch-Site` on the loopback and over TLS. Elsewhere,
/// pages need a session, and other sites do not send its cookie.
pub(super) fn is_logged(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    site.is_none_or(|site| site == "same-origin" || site == "none")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_come_from_the_same_origin() {
        let check = |pairs: &[(&'static str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| {
                let name = axum::http::HeaderName::from_static(name);
                (name, HeaderValue::from_str(value).unwrap())
            });
            is_same_origin(&pairs.collect(), "localhost:8080")
        };
        assert!(check(&[("origin", "http://localhost:8080")]));
        assert!(check(&[
            ("sec-fetch-site", "same-origin"),
            ("origin", "null")
        ]));
        assert!(!check(&[]));
        assert!(!check(&[("origin", "null")]));
        assert!(!check(&[("origin", "http://localhost:9090")]));
        assert!(!check(&[("origin", "http://evil.example")]));
        assert!(!check(&[
            ("sec-fetch-site", "same-site"),
            ("origin", "http://localhost:8080")
        ]));
        assert!(!check(&[("sec-fetch-site", "cross-site")]));
        assert!(!check(&[("sec-fetch-site", "none")]));
    }
}
