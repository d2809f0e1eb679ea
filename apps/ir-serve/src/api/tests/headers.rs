//! Headers of requests and responses: keys, hosts, origins, methods.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Bytes, HttpBody};
use hyper::body::Frame;

use super::*;

/// Status and a header of the response to a request without a body.
fn respond(
    server: &TestServer,
    (method, target): (&str, &str),
    headers: &[(&str, &str)],
    header: &str,
) -> (u16, String) {
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    send(server, request.body(Body::from("{}")).unwrap(), header)
}

fn send(server: &TestServer, request: Request<Body>, header: &str) -> (u16, String) {
    let response = server.router.clone().oneshot(request);
    let response = server.runtime.block_on(response).unwrap();
    let value = response.headers().get(header);
    let value = value.map_or("", |value| value.to_str().unwrap());
    (response.status().as_u16(), value.to_owned())
}

/// RFC 9110, sections 11.1 and 15.5.2; RFC 6750, section 3.
#[test]
fn schemes_are_of_any_case_and_errors_have_a_challenge() {
    let server = TestServer::new();
    let (admin, query) = (&*server.admin, &*server.query);
    for (value, status, challenge) in [
        (Some(admin.to_owned()), 200, ""),
        (Some(format!("Bearer {admin}")), 200, ""),
        (Some(format!("bearer {admin}")), 200, ""),
        (Some(format!("BEARER  \t{admin}")), 200, ""),
        (None, 401, r#"Bearer realm="ir""#),
        (
            Some("bearer".to_owned()),
            401,
            r#"Bearer realm="ir", error="invalid_token""#,
        ),
        (
            Some(format!("Basic {admin}")),
            401,
            r#"Bearer realm="ir", error="invalid_token""#,
        ),
        (
            Some(format!("bearer {query}")),
            403,
            r#"Bearer realm="ir", error="insufficient_scope""#,
        ),
    ] {
        let key = value.iter().map(|value| ("authorization", &**value));
        let headers: Vec<_> = key.collect();
        let target = ("POST", "/v1/index/read");
        let found = respond(&server, target, &headers, "www-authenticate");
        assert_eq!(found, (status, challenge.to_owned()), "{value:?}");
    }
}

/// RFC 9112, section 3.2.
#[test]
fn requests_have_one_host() {
    let server = TestServer::new();
    let own = ("host", "localhost:8080");
    for (target, hosts, status) in [
        ("/health", &[own] as &[_], 200),
        ("http://localhost:8080/health", &[own], 200),
        ("http://LOCALHOST:8080/health", &[own], 200),
        ("/health", &[own, own], 400),
        ("/", &[own, ("host", "other.example")], 400),
        ("http://other.example/health", &[own], 400),
        ("http://localhost:9090/openapi.json", &[own], 400),
    ] {
        let found = respond(&server, ("GET", target), hosts, "host").0;
        assert_eq!(found, status, "{target} {hosts:?}");
    }
}

#[test]
fn other_methods_are_told_the_right_one() {
    let server = TestServer::new();
    for (method, path) in [
        ("GET", "/mcp"),
        ("DELETE", "/mcp"),
        ("GET", "/v1/index/add"),
    ] {
        let found = respond(&server, (method, path), &[], "allow");
        assert_eq!(found, (405, "POST".to_owned()), "{method} {path}");
    }
}

/// MCP of 2025-06-18, "Security Warning" of the streamable HTTP transport.
#[test]
fn agents_on_pages_of_others_are_rejected() {
    let server = TestServer::new();
    for (host, origin, is_own) in [
        ("localhost:8080", None, true),
        ("localhost:8080", Some("http://localhost:8080"), true),
        ("localhost:8080", Some("http://localhost:9090"), false),
        ("localhost:8080", Some("http://other.example"), false),
        ("localhost:8080", Some("null"), false),
        // DNS rebinding: both names are of the other page.
        ("other.example", Some("http://other.example"), false),
    ] {
        let mut headers = vec![("host", host)];
        headers.extend(origin.map(|origin| ("origin", origin)));
        // Without a key.
        let found = respond(&server, ("POST", "/mcp"), &headers, "host").0;
        let expected = [403, 401][usize::from(is_own)];
        assert_eq!(found, expected, "{host} {origin:?}");
    }
}

/// Body that never arrives.
struct StalledBody;

impl HttpBody for StalledBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

#[test]
fn stalled_bodies_are_errors_of_the_client() {
    let server = TestServer::with_limits(|limits| limits.time = Duration::from_millis(50));
    for path in ["/v1/index/add", "/v1/index/read"] {
        let request = Request::post(path).header(header::AUTHORIZATION, &server.admin);
        let request = request.body(Body::new(StalledBody)).unwrap();
        let found = send(&server, request, "connection");
        assert_eq!(found, (408, "close".to_owned()), "{path}");
    }
}
