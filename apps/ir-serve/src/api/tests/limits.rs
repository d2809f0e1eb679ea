//! Limits on requests, and jobs that are aborted or forgotten.

use axum::http::{Method, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::routing::get;

use super::*;

#[test]
fn limits_are_enforced() {
    let server = TestServer::with_limits(|limits| {
        limits.body_bytes = 1_000;
        limits.rate = std::num::NonZeroU32::new(3);
    });
    let long = " ".repeat(2_000);
    let (status, text) = server.request("POST", "/v1/index/read", Some(&server.admin), &long);
    assert_eq!(status, 413, "{text}");
    assert!(text.contains("too_large"), "{text}");
    let mut statuses = (0..1_000).map(|_| {
        let body = json!({"query": ""});
        server.post("/v1/search/suggest", &server.query, &body).0
    });
    assert!(statuses.by_ref().take(3).all(|status| status == 200));
    assert!(statuses.any(|status| status == 429));

    let server = TestServer::with_limits(|limits| limits.concurrency = 0);
    let (status, text) = server.request("POST", "/v1/index/read", Some(&server.admin), "");
    assert_eq!(
        (status, text.contains("too_many_requests")),
        (429, true),
        "{text}"
    );
    assert_eq!(
        server.request("GET", "/health", None, ""),
        (200, "ok\n".to_owned())
    );
}

/// Errors before and after the handlers are JSON for programs, and pages for people.
#[test]
fn limits_have_bodies() {
    let mut slow = TestServer::with_limits(|limits| limits.time = Duration::from_millis(50));
    let app = Arc::new(App::new(Arc::clone(&slow.service), AccessConfig::default()));
    let wait = std::future::pending::<()>;
    slow.router = Router::new()
        .route("/v1/wait", get(wait))
        .route("/wait", get(wait).post(wait))
        .layer(from_fn_with_state(
            Arc::clone(&app),
            crate::server::limit_time,
        ))
        .with_state(app);
    let busy = TestServer::with_limits(|limits| limits.concurrency = 0);
    for (server, expected, code, words) in [
        (&slow, 504, "timeout", "no answer in 0.05 s, the time limit"),
        (
            &busy,
            429,
            "too_many_requests",
            "too many requests at the same time",
        ),
    ] {
        let (status, body) = server.request("GET", "/v1/wait", None, "");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &body["error"]["code"]), (expected, &json!(code)));
        assert_eq!(body["error"]["message"], words);
        let (status, page) = server.request("GET", "/wait", None, "");
        assert_eq!(status, expected);
        assert!(
            page.contains("<h1>Error</h1>") && page.contains(words),
            "{page}"
        );
    }
    // A form that was sent may have been stored: nothing suggests to send it again.
    let (status, page) = slow.request("POST", "/wait", None, "");
    assert_eq!(status, 504);
    assert!(
        page.contains("look before you repeat it") && !page.contains("Load the page again"),
        "{page}"
    );
    let busy = crate::pages::failure(&Method::GET, StatusCode::TOO_MANY_REQUESTS, "busy");
    assert_eq!(busy.headers()["retry-after"], "1");
}

/// Only uploads, which need an admin key, have large bodies.
#[test]
fn bodies_of_queries_are_limited() {
    let server = TestServer::new();
    let long = format!(
        "{{\"query\": \"tea\", \"data\": [], \"pad\": \"{}\"}}",
        " ".repeat(2 << 20)
    );
    for path in [
        "/v1/search/query",
        "/v1/search/suggest",
        "/v1/collections/c/search",
        "/v1/index/read",
        "/mcp",
    ] {
        let (status, text) = server.request("POST", path, Some(&server.admin), &long);
        assert_eq!((status, text.contains("too_large")), (413, true), "{path}");
        assert_eq!(server.request("POST", path, None, &long).0, 401, "{path}");
    }
    let (status, text) = server.request("POST", "/v1/index/add", Some(&server.admin), &long);
    assert_eq!(status, 200, "{text}");
}

#[test]
fn aborts_end_publications_that_wait() {
    let server = TestServer::with_bundled_papers();
    let (status, body) = server.post("/v1/index/abort", &server.admin, &json!({}));
    assert_eq!((status, body), (200, json!({"aborted": []})));
    let jobs: Vec<String> = (0..20)
        .map(|_| server.service.publish().unwrap().id)
        .collect();
    let (_, body) = server.post("/v1/index/abort", &server.admin, &json!({}));
    let aborted: Vec<&str> = body["aborted"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    for job in &jobs {
        let state = server.wait(job);
        let found = state["status"].as_str().unwrap();
        // A job finishes if its result was being stored.
        assert!(
            found == "finished" || (found == "aborted" && aborted.contains(&&**job)),
            "{state}"
        );
    }
    assert_eq!(
        server.answers(json!({"query": QUESTION, "n_best": 1})),
        [ANSWER]
    );
}

#[test]
fn jobs_that_have_ended_are_not_aborted_and_are_forgotten_at_last() {
    let server = TestServer::new();
    let (_, body) = server.post("/v1/index/publish", &server.admin, &json!({}));
    let first = body["op_id"].as_str().unwrap().to_owned();
    assert_eq!(server.wait(&first)["status"], "finished");
    let (status, body) = server.post("/v1/index/abort", &server.admin, &json!({}));
    assert_eq!((status, body), (200, json!({"aborted": []})));
    assert_eq!(server.wait(&first)["status"], "finished");
    // Without waits for the disk.
    server.service.store().execute("PRAGMA synchronous = OFF");
    let status = |id: &str| {
        let path = format!("/v1/op/status/{id}");
        server.request("GET", &path, Some(&server.query), "")
    };
    for _ in 0..999 {
        server.service.publish().unwrap();
    }
    assert_eq!(status(&first).0, 200);
    let last = server.service.publish().unwrap().id;
    let (code, text) = status(&first);
    assert_eq!(code, 404, "{text}");
    assert!(text.contains("the last 1,000 are kept"), "{text}");
    assert_eq!(server.wait(&last)["status"], "finished");
    assert_eq!(status("unknown").0, 404);
}
