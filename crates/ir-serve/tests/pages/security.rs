//! Hosts, origins, headers and sessions.

use std::num::NonZeroU32;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use ir_serve::store::KeyRole;
use ir_serve::{AccessConfig, Limits};

use crate::support::{Site, document};

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

#[test]
fn visitors_sign_in_with_a_key() {
    let site = Site::new(vec![document("a", "x", 2020)], true);
    let key = site.service.create_key(KeyRole::Query).unwrap();
    let client = site.client();
    let location = client.get("/?q=tea&from=2001").location().to_owned();
    assert_eq!(location, "/sign-in?next=%2F%3Fq%3Dtea%26from%3D2001");
    assert!(
        client
            .get(&location)
            .ok()
            .contains("value=\"/?q=tea&amp;from=2001\"")
    );
    assert_eq!(client.get("/suggest?q=a").status, StatusCode::SEE_OTHER);
    assert_eq!(client.get("/open?frame=a").status, StatusCode::SEE_OTHER);
    for wrong in ["", "wrong", &key[1..]] {
        let page = client.post("/sign-in", &[("key", wrong), ("next", "/")]);
        assert!(
            page.page(StatusCode::UNAUTHORIZED)
                .contains("does not know this key")
        );
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
    assert!(page.ok().contains("Sign out"));
    assert_eq!(client.post("/sign-out", &[]).location(), "/sign-in");
    assert_eq!(client.get("/").status, StatusCode::SEE_OTHER);
}

#[test]
fn cookies_behind_a_tls_proxy_are_secure() {
    let access = AccessConfig::default()
        .with_needs_session(true)
        .with_secure_cookies(true);
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
    let limits = Limits::default().with_rate(NonZeroU32::new(3));
    let access = AccessConfig::default().with_needs_session(true);
    let records = vec![document("a", "x", 2020)];
    let site = Site::with_config(records, access, |config| config.with_limits(limits));
    let keys = [KeyRole::Admin, KeyRole::Query].map(|role| site.service.create_key(role).unwrap());
    let signed_in = |key: &str| {
        let client = site.client();
        client.post("/sign-in", &[("key", key)]).location();
        client
    };
    // Two sessions of one key have one rate.
    let (first, second) = (signed_in(&keys[0]), signed_in(&keys[0]));
    let statuses: Vec<u16> = [&first, &second, &first, &second, &first, &second]
        .map(|client| client.get("/?q=tea").status.as_u16())
        .to_vec();
    assert_eq!(statuses[..3], [200, 200, 200]);
    let busy = statuses.iter().filter(|status| **status == 429).count();
    assert!(busy >= 1, "{statuses:?}");
    loop {
        let answer = second.get("/suggest?q=tea");
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            assert_eq!(answer.headers["retry-after"], "1");
            let words = "too many requests with this key. Wait a moment";
            assert!(answer.page(StatusCode::TOO_MANY_REQUESTS).contains(words));
            break;
        }
    }
    // Another key has a rate of its own, and files of the pages have none.
    let other = signed_in(&keys[1]);
    assert_eq!(other.get("/").status, StatusCode::OK);
    for _ in 0..9 {
        assert_eq!(first.get("/assets/style.css").status, StatusCode::OK);
    }
}
