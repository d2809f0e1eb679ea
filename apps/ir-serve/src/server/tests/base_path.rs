//! Pages and REST below a base path.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt;

use axum::body::{Body, to_bytes};
use axum::http::HeaderMap;

use crate::app::App;
use crate::app::tests::{opened, wait_until};
use crate::config::{AccessConfig, ServiceConfig};
use crate::service::{Service, record_of};
use crate::store::KeyRole;

/// Server with the bundled papers.
struct Site {
    runtime: Runtime,
    router: Router,
    service: Arc<Service>,
    _data: tempfile::TempDir,
}

struct Reply {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Site {
    fn new(access: AccessConfig) -> Self {
        let data = tempfile::tempdir().unwrap();
        let service = Arc::new(opened(ServiceConfig::new(data.path())));
        let records = ir_qa::bundled_papers().unwrap();
        service
            .add(records.iter().map(record_of).collect())
            .unwrap();
        let job = service.publish().unwrap();
        wait_until(|| service.job(&job.id).unwrap().unwrap().status.is_end());
        Self {
            runtime: tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
                .unwrap(),
            router: crate::server::router(Arc::new(App::new(Arc::clone(&service), access))),
            service,
            _data: data,
        }
    }

    fn at(base: &str) -> Self {
        Self::new(AccessConfig {
            base_path: Some(base.parse().unwrap()),
            ..AccessConfig::default()
        })
    }

    fn send(&self, method: Method, target: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut request = axum::http::Request::builder().method(method).uri(target);
        request = request.header("host", "localhost:7860");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        self.runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap();
            Reply {
                status: parts.status.as_u16(),
                headers: parts.headers,
                body: String::from_utf8(body.to_vec()).unwrap(),
            }
        })
    }

    fn get(&self, target: &str) -> Reply {
        self.send(Method::GET, target, &[], "")
    }

    fn form(&self, target: &str, body: &str) -> Reply {
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("sec-fetch-site", "same-origin"),
        ];
        self.send(Method::POST, target, &headers, body)
    }
}

impl Reply {
    fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    /// Links of the page, without fragments.
    fn urls(&self) -> Vec<String> {
        let mut urls = Vec::new();
        for name in ["href", "src"] {
            let start = format!(" {name}=\"");
            let parts = self.body.split(&start);
            urls.extend(parts.skip(1).map(|part| {
                let url = part.split('"').next().unwrap().replace("&amp;", "&");
                url.split('#').next().unwrap().to_owned()
            }));
        }
        urls
    }
}

/// Every link of every page that is reached from the search page.
#[test]
fn all_links_stay_below() {
    let site = Site::at("/tools/ir");
    let mut known = BTreeSet::new();
    let question = "/tools/ir/?q=Who+wrote+questions+after+a+visit+to+a+farm%3F";
    let mut waiting = vec!["/tools/ir/".to_owned(), question.to_owned()];
    while let Some(url) = waiting.pop() {
        let path = url.split('?').next().unwrap().to_owned();
        // Pages of documents have many links that differ in parameters alone.
        if !known.insert(path) && url != question {
            continue;
        }
        let reply = site.get(&url);
        assert!(
            [200, 303].contains(&reply.status) || url.contains("suggest"),
            "{url}: {}",
            reply.status
        );
        if reply.status == 303 {
            let location = reply.header("location");
            assert!(location.starts_with("/tools/ir/"), "{url}");
            waiting.push(location.split('#').next().unwrap().to_owned());
        }
        if !reply.header("content-type").starts_with("text/html") {
            continue;
        }
        for name in ["href=\"/", "src=\"/", "action=\"/"] {
            let inside = format!("{name}tools/ir/");
            assert_eq!(
                reply.body.matches(name).count(),
                reply.body.matches(&inside).count()
            );
        }
        let links = reply.urls().into_iter();
        waiting.extend(links.filter(|link| link.starts_with('/')));
    }
    let document = "/tools/ir/document/";
    assert!(
        known.iter().any(|path| path.starts_with(document)),
        "{known:?}"
    );
    for path in ["assets/style.css", "annotations", "review", "insight"] {
        assert!(
            known.contains(&format!("/tools/ir/{path}")),
            "{path}: {known:?}"
        );
    }
}

#[test]
fn requests_are_below_the_path() {
    let site = Site::at("/ir");
    for (target, status) in [
        ("/ir/", 200),
        ("/ir/health", 200),
        ("/ir/ready", 200),
        ("/ir/metrics", 200),
        ("http://localhost:7860/ir/health", 200),
        ("/", 404),
        ("/health", 404),
        ("/irs/health", 404),
        ("/ir/ir/health", 404),
        ("/review", 404),
        ("/v1/collections", 404),
        ("/ir/v1/collections", 401),
    ] {
        assert_eq!(site.get(target).status, status, "{target}");
    }
    let moved = site.get("/ir?q=tea");
    assert_eq!(
        (moved.status, moved.header("location")),
        (308, "/ir/?q=tea")
    );
    let page = site.get("/health");
    assert!(page.body.contains("the server is at /ir/"), "{}", page.body);
    assert!(page.body.contains("href=\"/ir/\""), "{}", page.body);
    let error: Value = serde_json::from_str(&site.get("/v1/collections").body).unwrap();
    assert_eq!(
        error["error"]["message"],
        "no such path; the server is at /ir/"
    );
}

#[test]
fn interface_and_agents() {
    let site = Site::at("/ir");
    let description: Value = serde_json::from_str(&site.get("/ir/openapi.json").body).unwrap();
    assert_eq!(description["servers"], json!([{"url": "/ir"}]));
    assert!(description["paths"].get("/v1/search/query").is_some());
    let key = site.service.create_key(KeyRole::Query).unwrap();
    let headers = [
        ("authorization", &*key),
        ("content-type", "application/json"),
    ];
    let body = r#"{"query": {"query": "Who wrote questions after a visit to a farm?"}}"#;
    let found = site.send(Method::POST, "/ir/v1/search/query", &headers, body);
    assert_eq!(found.status, 200, "{}", found.body);
    assert!(found.body.contains("harvestqa.xml"), "{}", found.body);
    let call = r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#;
    for (target, status) in [("/ir/mcp", 200), ("/mcp", 404)] {
        let reply = site.send(Method::POST, target, &headers, call);
        assert_eq!(reply.status, status, "{target}: {}", reply.body);
    }
}

#[test]
fn cookies_forms_and_redirects() {
    let site = Site::new(AccessConfig {
        needs_session: true,
        secure_cookies: true,
        base_path: Some("/ir".parse().unwrap()),
        ..AccessConfig::default()
    });
    let asked = site.get("/ir/review?page=2");
    assert_eq!(asked.status, 303);
    assert_eq!(
        asked.header("location"),
        "/ir/sign-in?next=%2Freview%3Fpage%3D2"
    );
    let form = site.get("/ir/sign-in?next=%2Freview%3Fpage%3D2");
    assert!(
        form.body.contains(r#"action="/ir/sign-in""#),
        "{}",
        form.body
    );
    assert!(
        form.body.contains(r#"name="next" value="/review?page=2""#),
        "{}",
        form.body
    );
    let key = site.service.create_key(KeyRole::Admin).unwrap();
    let signed_in = site.form(
        "/ir/sign-in",
        &format!("next=%2Freview%3Fpage%3D2&key={key}"),
    );
    assert_eq!(
        (signed_in.status, signed_in.header("location")),
        (303, "/ir/review?page=2")
    );
    let cookies = signed_in.headers.get_all("set-cookie").iter();
    let cookies: Vec<&str> = cookies.map(|cookie| cookie.to_str().unwrap()).collect();
    assert!(cookies.len() >= 2, "{cookies:?}");
    for cookie in cookies {
        assert!(
            cookie.contains("; Path=/ir; HttpOnly") && cookie.contains("; Secure"),
            "{cookie}"
        );
    }
    let foreign = site.form("/ir/sign-in", &format!("next=%2F%2Fevil.example&key={key}"));
    assert_eq!(foreign.header("location"), "/ir/");
}

#[test]
fn forwarded_prefixes_are_checked() {
    let site = Site::new(AccessConfig {
        forwarded_prefix: true,
        ..AccessConfig::default()
    });
    let get = |prefix: &[&str]| {
        let headers: Vec<_> = prefix
            .iter()
            .map(|value| ("x-forwarded-prefix", *value))
            .collect();
        site.send(Method::GET, "/annotations", &headers, "")
    };
    for (prefix, link) in [
        (&[][..], "href=\"/review\""),
        (&["/"], "href=\"/review\""),
        (&["/ir"], "href=\"/ir/review\""),
        (&["/tools/ir/"], "href=\"/tools/ir/review\""),
    ] {
        let reply = get(prefix);
        assert_eq!(reply.status, 200, "{prefix:?}");
        assert!(reply.body.contains(link), "{prefix:?}: {}", reply.body);
    }
    for prefix in [
        &["//evil.example"][..],
        &["https://evil.example"],
        &["/a\"b"],
        &["/a, /b"],
        &["/a", "/a"],
    ] {
        let reply = get(prefix);
        assert_eq!(reply.status, StatusCode::BAD_REQUEST.as_u16(), "{prefix:?}");
        assert!(
            reply.body.contains("header X-Forwarded-Prefix: expected"),
            "{}",
            reply.body
        );
        assert!(!reply.body.contains("href=\"//"), "{}", reply.body);
    }
    // Without the option, the header has no effect.
    let site = Site::new(AccessConfig::default());
    let reply = site.send(
        Method::GET,
        "/annotations",
        &[("x-forwarded-prefix", "/ir")],
        "",
    );
    assert!(reply.body.contains("href=\"/review\""), "{}", reply.body);
}
