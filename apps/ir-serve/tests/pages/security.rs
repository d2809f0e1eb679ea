//! Hosts, origins, headers and sessions.

use std::convert::Infallible;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Request, StatusCode};
use hyper::body::Frame;
use ir_serve::AccessConfig;
use ir_serve::store::KeyRole;

use crate::support::{Site, assert_contains, document};

#[test]
fn pages_have_a_strict_policy() {
    let site = Site::bundled();
    for url in [
        "/",
        "/assets/style.css",
        "/suggest?q=a",
        "/nothing",
        "/sign-in",
    ] {
        let answer = site.client().get(url);
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; "), "{url}");
        for directive in [
            "form-action 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(directive), "{url}");
        }
        assert!(!policy.contains("unsafe"));
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert_eq!(answer.headers["referrer-policy"], "same-origin");
    }
    assert_eq!(site.client().get("/").headers["cache-control"], "no-store");
}

#[test]
fn assets_are_cached_under_their_hash() {
    let site = Site::bundled();
    let page = site.client().get("/");
    for name in ["style.css", "pages.js", "icon.svg"] {
        let url = crate::support::link(
            &page.body.replace("src=", "href="),
            &format!("/assets/{name}?"),
        );
        let file = site.client().get(&url);
        assert_eq!(file.status, StatusCode::OK);
        assert!(
            file.headers["cache-control"]
                .to_str()
                .unwrap()
                .contains("immutable")
        );
        assert!(file.headers.get("set-cookie").is_none());
    }
    assert_eq!(
        site.client().get("/assets/..%2Fsecret").status,
        StatusCode::NOT_FOUND
    );
}

#[test]
fn pages_with_invalid_paths_do_not_exist() {
    let site = Site::bundled();
    let client = site.client();
    let get = |url: &str| client.get(url);
    let post = |url: &str| client.post(url, &[]);
    for answer in [
        get("/annotations/abc"),
        post("/annotations/abc"),
        post("/annotations/99999999999999999999/delete"),
        get("/annotations/export/%FF"),
        get("/datasets/abc"),
        post("/datasets/abc"),
        post("/datasets/abc/delete"),
        post("/review/abc"),
        get("/jobs/%FF"),
        get("/document/%FF"),
        get("/insight/export/%FF"),
        get("/assets/%FF"),
    ] {
        let page = answer.page(StatusCode::NOT_FOUND);
        assert_contains(page, "<h1>Not found</h1>");
        assert_contains(page, "This page does not exist.");
        assert!(answer.headers.contains_key("content-security-policy"));
    }
}

#[test]
fn unknown_hosts_are_rejected() {
    let site = Site::bundled();
    for (host, status) in [
        ("localhost:9", StatusCode::OK),
        ("127.0.0.1:9", StatusCode::OK),
        ("papers.test", StatusCode::OK),
        ("evil.test", StatusCode::FORBIDDEN),
        ("localhost.evil.test", StatusCode::FORBIDDEN),
    ] {
        let request = Request::get("/").header("host", host);
        assert_eq!(
            site.send(request.body(Body::empty()).unwrap()).status,
            status,
            "{host}"
        );
    }
    let none = Request::get("/").body(Body::empty()).unwrap();
    assert_eq!(site.send(none).status, StatusCode::FORBIDDEN);
}

#[test]
fn forms_of_other_sites_are_rejected() {
    let site = Site::bundled();
    for (name, value, is_rejected) in [
        ("origin", "http://localhost:8080", false),
        ("sec-fetch-site", "same-origin", false),
        ("origin", "http://evil.test", true),
        ("origin", "null", true),
        ("sec-fetch-site", "cross-site", true),
        ("sec-fetch-site", "same-site", true),
        ("x-nothing", "", true),
    ] {
        let request = Request::post("/sign-out")
            .header("host", "localhost:8080")
            .header(name, value);
        let answer = site.send(request.body(Body::empty()).unwrap());
        assert_eq!(
            answer.status == StatusCode::FORBIDDEN,
            is_rejected,
            "{name}: {value}"
        );
    }
}

/// Body without an end that counts its bytes: a client that sends as much as it can.
struct EndlessForm(Arc<AtomicUsize>);

impl HttpBody for EndlessForm {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let part = Bytes::from_static(&[b'&'; 4_096]);
        self.0.fetch_add(part.len(), Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(part))))
    }
}

#[test]
fn forms_are_limited_without_a_key() {
    let site = Site::new(vec![document("a", "x", 2020)], true);
    let post = |body: Body| {
        let request = Request::post("/sign-in")
            .header("host", "localhost:8080")
            .header("sec-fetch-site", "same-origin");
        site.send(request.body(body).unwrap())
    };
    let sent = Arc::new(AtomicUsize::new(0));
    let endless = post(Body::new(EndlessForm(Arc::clone(&sent))));
    let page = endless.page(StatusCode::PAYLOAD_TOO_LARGE);
    assert!(page.contains("The form is larger than the limit on forms."));
    assert!(endless.headers.contains_key("content-security-policy"));
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent <= (256 << 10) + 4_096, "{sent} bytes were read");
    // Short parameters take many times their bytes.
    let many = post(Body::from("a&".repeat(1_001)));
    let page = many.page(StatusCode::BAD_REQUEST);
    assert!(page.contains("Parameters: expected at most 1000, found more."));
    assert_eq!(
        post(Body::from("a&".repeat(1_000))).status,
        StatusCode::UNAUTHORIZED
    );
    let url = format!("/sign-in?{}", "a&".repeat(1_001));
    assert_eq!(site.client().get(&url).status, StatusCode::BAD_REQUEST);
}

/// The longest valid forms are below the limits, whatever their characters.
#[test]
fn long_forms_are_stored() {
    let site = Site::bundled();
    let long = "\u{1F375}".repeat(20_000);
    let form = [
        ("abstract", long.as_str()),
        ("query", "tea"),
        ("datasets", "T"),
    ];
    let saved = site.client().post("/datasets/annotate", &form);
    assert_eq!(saved.location(), "/datasets");
    let longer = "\u{1F375}".repeat(60_000);
    let form = [("abstract", longer.as_str()), ("query", "tea")];
    site.client()
        .post("/datasets/annotate", &form)
        .page(StatusCode::PAYLOAD_TOO_LARGE);
}

/// `<img src="http://127.0.0.1:7860/open?...">` on a page of another site writes no click.
#[test]
fn requests_of_other_sites_are_not_logged() {
    let site = Site::new(vec![document("a", "x", 2020)], false);
    let client = site.client();
    let get = |url: &str, from: Option<&str>| client.get_from(url, from);
    let link = |page: &str| crate::support::link(page, "/open?");
    let open = link(get("/?q=boiling", Some("same-origin")).ok());
    assert!(open.starts_with("/open?query=1&frame=a%2F2%2F1&"), "{open}");
    // Other sites get their redirects, and no number of a query.
    for from in ["cross-site", "same-site"] {
        get(&open, Some(from)).location();
        let page = get("/?q=water", Some(from));
        assert!(link(page.ok()).starts_with("/open?query=0&"));
        get(&link(&page.body), Some("same-origin")).location();
        get("/document/a?q=tea", Some(from)).ok();
    }
    // Another visitor, an unknown query, and a sentence that is not published.
    site.client().get(&open).location();
    get("/open?query=7&frame=a%2F2%2F1&rank=1", None).location();
    let unknown = get("/open?query=1&frame=a%2F2%2F9&rank=1", None);
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    let log = || {
        let log = site.log();
        log.into_iter()
            .map(|query| (query.query, query.clicks.len()))
            .collect::<Vec<_>>()
    };
    assert_eq!(log(), [("boiling".to_owned(), 0)]);
    for from in [None, Some("none"), Some("same-origin")] {
        get(&open, from).location();
    }
    assert_eq!(log(), [("boiling".to_owned(), 3)]);
}

#[test]
fn visitors_sign_in_with_a_key() {
    let site = Site::new(vec![document("a", "x", 2020)], true);
    let key = site.service.create_key(KeyRole::Query).unwrap();
    let client = site.client();
    let location = client.get("/?q=tea&from=2001").location().to_owned();
    assert_eq!(location, "/sign-in?next=%2F%3Fq%3Dtea%26from%3D2001");
    client.get(&location).has("value=\"/?q=tea&amp;from=2001\"");
    assert_eq!(client.get("/suggest?q=a").status, StatusCode::SEE_OTHER);
    assert_eq!(client.get("/open?frame=a").status, StatusCode::SEE_OTHER);
    for wrong in ["", "wrong", &key[1..]] {
        let page = client.post("/sign-in", &[("key", wrong), ("next", "/")]);
        page.has_part(StatusCode::UNAUTHORIZED, "does not know this key");
    }
    let evil = client.post("/sign-in", &[("key", &key), ("next", "//evil.test")]);
    assert_eq!(evil.location(), "/");
    let cookie = evil.headers["set-cookie"].to_str().unwrap();
    assert!(
        cookie.starts_with("ir_session=")
            && cookie.contains("; HttpOnly; SameSite=Strict; Max-Age=")
    );
    assert!(!cookie.contains(&key));
    let page = client.get("/?q=tea");
    page.has("Sign out");
    assert_eq!(client.post("/sign-out", &[]).location(), "/sign-in");
    assert_eq!(client.get("/").status, StatusCode::SEE_OTHER);
}

#[test]
fn cookies_behind_a_tls_proxy_are_secure() {
    let access = AccessConfig {
        needs_session: true,
        secure_cookies: true,
        ..AccessConfig::default()
    };
    let site = Site::with_access(vec![document("a", "x", 2020)], access);
    let key = site.service.create_key(KeyRole::Query).unwrap();
    let client = site.client();
    let first = client.get("/");
    let signed_in = client.post("/sign-in", &[("key", &key), ("next", "/")]);
    let signed_out = client.post("/sign-out", &[]);
    for answer in [first, signed_in, signed_out] {
        let cookies: Vec<&str> = answer
            .headers
            .get_all("set-cookie")
            .iter()
            .map(|cookie| cookie.to_str().unwrap())
            .collect();
        assert!(!cookies.is_empty());
        assert!(
            cookies.iter().all(|cookie| cookie.ends_with("; Secure")),
            "{cookies:?}"
        );
    }
}

#[test]
fn the_rate_of_a_key_covers_the_pages_of_its_sessions() {
    let access = AccessConfig {
        needs_session: true,
        ..AccessConfig::default()
    };
    let records = vec![document("a", "x", 2020)];
    let site = Site::with_config(records, access, |mut config| {
        config.limits.rate = NonZeroU32::new(3);
        config
    });
    let keys = [KeyRole::Admin, KeyRole::Query].map(|role| site.service.create_key(role).unwrap());
    let signed_in = |key: &str| {
        let client = site.client();
        client.post("/sign-in", &[("key", key)]).location();
        client
    };
    // Two sessions of one key have one rate.
    let (first, second) = (signed_in(&keys[0]), signed_in(&keys[0]));
    let start = Instant::now();
    let statuses: Vec<u16> = [&first, &second]
        .repeat(6)
        .iter()
        .map(|client| client.get("/?q=tea").status.as_u16())
        .collect();
    assert_eq!(statuses[..3], [200, 200, 200]);
    assert!(statuses.iter().all(|status| [200, 429].contains(status)));
    // A burst of 3, and 3 per second.
    let answered = statuses.iter().filter(|status| **status == 200).count();
    let limit = 3.0 + 3.0 * start.elapsed().as_secs_f64();
    assert!(answered as f64 <= limit, "{statuses:?}");
    let rejected = |url: &str| {
        let mut answers = (0..1_000).map(|_| second.get(url));
        let busy = answers.find(|answer| answer.status == StatusCode::TOO_MANY_REQUESTS);
        let busy = busy.expect("a request beyond the rate");
        assert_eq!(busy.headers["retry-after"], "1");
        busy
    };
    let page = rejected("/annotations");
    let words = "too many requests with this key. Wait a moment";
    page.has_part(StatusCode::TOO_MANY_REQUESTS, words);
    let suggestions: serde_json::Value =
        serde_json::from_str(&rejected("/suggest?q=tea").body).unwrap();
    assert_eq!(suggestions["error"]["code"], "too_many_requests");
    // Another key has a rate of its own, and files of the pages have none.
    let other = signed_in(&keys[1]);
    assert_eq!(other.get("/").status, StatusCode::OK);
    for _ in 0..9 {
        assert_eq!(first.get("/assets/style.css").status, StatusCode::OK);
    }
}
