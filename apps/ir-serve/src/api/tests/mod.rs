mod abandoned;
mod filters;
mod generation;
mod headers;
mod index;
mod limits;
mod mcp;
mod openapi;
mod papers;
mod rerank;
mod rescan;
mod tags;
mod vectors;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use ir_qa::soco::SocoDocument;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use crate::app::App;
use crate::app::tests::{opened, wait_until};
use crate::config::{AccessConfig, Limits, ServiceConfig};
use crate::service::{Service, record_of};
use crate::store::KeyRole;

/// Server over a new data folder, without a socket.
struct TestServer {
    runtime: tokio::runtime::Runtime,
    router: Router,
    service: Arc<Service>,
    admin: String,
    query: String,
    _data: TempDir,
}

impl TestServer {
    fn new() -> Self {
        Self::with_config(|_| {})
    }

    fn with_limits(limit: impl FnOnce(&mut Limits)) -> Self {
        Self::with_config(|config| limit(&mut config.limits))
    }

    fn with_config(configure: impl FnOnce(&mut ServiceConfig)) -> Self {
        Self::with_access(AccessConfig::default(), configure)
    }

    fn with_access(access: AccessConfig, configure: impl FnOnce(&mut ServiceConfig)) -> Self {
        let data = TempDir::new().unwrap();
        let mut config = ServiceConfig::new(data.path());
        configure(&mut config);
        let service = Arc::new(opened(config));
        let app = Arc::new(App::new(Arc::clone(&service), access));
        Self {
            runtime: tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
                .unwrap(),
            router: crate::server::router(app),
            admin: service.create_key(KeyRole::Admin).unwrap(),
            query: service.create_key(KeyRole::Query).unwrap(),
            service,
            _data: data,
        }
    }

    fn with_bundled_papers() -> Self {
        let server = Self::new();
        server.add_bundled_papers();
        server
    }

    fn add_bundled_papers(&self) {
        let papers = ir_qa::bundled_papers().unwrap();
        let records: Vec<SocoDocument> = papers.iter().map(record_of).collect();
        let body = json!({"data": records, "auto_index": true});
        let (status, added) = self.post("/v1/index/add", &self.admin, &body);
        assert_eq!((status, &added["new"]), (200, &json!(20)), "{added}");
        self.wait_for(&added);
    }

    fn request(&self, method: &str, path: &str, key: Option<&str>, body: &str) -> (u16, String) {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(key) = key {
            request = request.header(header::AUTHORIZATION, key);
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        self.runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.unwrap();
            let status = response.status().as_u16();
            let bytes = axum::body::to_bytes(response.into_body(), usize::MAX)
                .await
                .unwrap();
            (status, String::from_utf8(bytes.to_vec()).unwrap())
        })
    }

    /// Page with the status 200.
    #[track_caller]
    fn page(&self, path: &str) -> String {
        let request = Request::get(path).header(header::HOST, "localhost");
        let request = request.body(Body::empty()).unwrap();
        self.runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), StatusCode::OK);
            let body = axum::body::to_bytes(response.into_body(), usize::MAX).await;
            String::from_utf8(body.unwrap().to_vec()).unwrap()
        })
    }

    fn post(&self, path: &str, key: &str, body: &Value) -> (u16, Value) {
        let (status, text) = self.request("POST", path, Some(key), &body.to_string());
        (
            status,
            serde_json::from_str(&text).unwrap_or(Value::String(text)),
        )
    }

    /// Body of a response with the status 200.
    #[track_caller]
    fn success(&self, path: &str, key: &str, body: &Value) -> Value {
        let (status, body) = self.post(path, key, body);
        assert_eq!(status, 200, "{body}");
        body
    }

    /// Status of the response to an empty object.
    fn status(&self, method: &str, path: &str, key: Option<&str>) -> u16 {
        self.request(method, path, key, "{}").0
    }

    /// Waits for the end of the publication of a response and returns its state.
    fn wait_for(&self, response: &Value) -> Value {
        self.wait(response["op_id"].as_str().unwrap())
    }

    /// Waits for the end of a publication and returns its state.
    fn wait(&self, op_id: &str) -> Value {
        let path = format!("/v1/op/status/{op_id}");
        let state = || -> Value {
            let (status, text) = self.request("GET", &path, Some(&self.query), "");
            assert_eq!(status, 200, "{text}");
            serde_json::from_str(&text).unwrap()
        };
        wait_until(|| !["queued", "started"].contains(&state()["status"].as_str().unwrap()));
        state()
    }

    fn publish(&self) -> Value {
        let body = self.success("/v1/index/publish", &self.admin, &json!({}));
        self.wait_for(&body)
    }

    fn answers(&self, query: Value) -> Vec<String> {
        let body = self.success("/v1/search/query", &self.query, &json!({"query": query}));
        let results = body["results"].as_array().unwrap();
        let value = |result: &Value| result["a"]["value"].as_str().unwrap().to_owned();
        results.iter().map(value).collect()
    }
}

fn document(id: &str, text: &str) -> Value {
    json!({"doc_type": "soco_doc", "meta": {"doc_id": id}, "data": [{"type": "content", "text": text}]})
}

const QUESTION: &str = "Who wrote questions after a visit to a farm?";
const ANSWER: &str = "Volunteers wrote the questions after a visit to a farm.";

#[test]
fn documents_are_added_published_and_found() {
    let server = TestServer::with_bundled_papers();
    let body = server.success(
        "/v1/search/query",
        &server.query,
        &json!({
            "query": {"query": QUESTION, "n_best": 2, "explain": true, "other": 1},
            "uid": "u",
            "aggs": {"years": {"field": "year", "size": 2}},
        }),
    );
    let results = body["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    let best = &results[0];
    assert_eq!(best["a"]["value"], ANSWER);
    assert!(best["a"]["section"].is_string(), "{best}");
    let link = best["a"]["link"].as_str().unwrap();
    assert!(link.starts_with("/document/harvestqa.xml?frame="), "{link}");
    assert_eq!(best["meta"]["doc_id"], "harvestqa.xml");
    assert_eq!(best["meta"]["chunk_type"], "content");
    let (context, start) = (
        best["a"]["context"].as_str().unwrap(),
        best["a"]["answer_start"].as_u64().unwrap() as usize,
    );
    let tail: String = context.chars().skip(start).collect();
    assert!(tail.starts_with(ANSWER));
    let explained = best["explanation"]["value"].as_f64().unwrap();
    assert!(
        (explained - best["score"].as_f64().unwrap()).abs() < 1e-6,
        "{best}"
    );
    assert!(results[1]["explanation"].is_object(), "{body}");
    let years = body["aggs"]["years"].as_array().unwrap();
    assert_eq!(years.len(), 2);
    assert!(years[0]["count"].as_u64() >= years[1]["count"].as_u64());
}

#[test]
fn filters_restrict_the_documents() {
    let server = TestServer::with_bundled_papers();
    for filter in [
        json!("doc_id!=harvestqa.xml"),
        json!(["year>=1000", "doc_id!=harvestqa.xml"]),
        json!({"not": {"one_of": {"name": "doc_id", "values": ["harvestqa.xml"]}}}),
    ] {
        let answers = server.answers(json!({"query": QUESTION, "n_best": 500, "filter": filter}));
        assert!(
            !answers.is_empty() && !answers.contains(&ANSWER.to_owned()),
            "{filter}"
        );
    }
    let answers =
        server.answers(json!({"query": QUESTION, "n_best": 1, "filter": "doc_id=harvestqa.xml"}));
    assert_eq!(answers, [ANSWER]);
}

#[test]
fn filters_on_unknown_fields_are_told() {
    let server = TestServer::with_bundled_papers();
    let warnings = |filter: Value| {
        let body = json!({"query": {"query": QUESTION, "filter": filter}});
        let body = server.success("/v1/search/query", &server.query, &body);
        body["warnings"].clone()
    };
    let yaer = "filter: no document has an attribute \"yaer\"; all pass";
    assert_eq!(warnings(json!("yaer>=2000")), json!([yaer]));
    for (filter, expected) in [
        (
            json!({"any": vec![json!({"known": {"name": "a"}}); 101]}),
            "at most 100 conditions",
        ),
        (
            json!(format!("a={}", vec!["b"; 10_001].join(","))),
            "at most 10000 values, found 10001",
        ),
    ] {
        let body = json!({"query": {"query": QUESTION, "filter": filter}});
        let (status, body) = server.post("/v1/search/query", &server.query, &body);
        assert_eq!(status, 400);
        assert!(
            body["error"]["message"]
                .as_str()
                .unwrap()
                .contains(expected),
            "{body}"
        );
    }
    let filter = json!({"not": {"any": [{"known": {"name": "b"}}, {"known": {"name": "a"}}]}});
    let warned = warnings(filter);
    assert_eq!(warned.as_array().unwrap().len(), 2, "{warned}");
    assert_eq!(warnings(json!(["year>=2000", "doc_id=p"])), Value::Null);
    // Nothing is published: no field is known.
    let empty = TestServer::new();
    let body = json!({"query": {"query": "tea", "filter": "year>=2000"}});
    let (status, body) = empty.post("/v1/search/query", &empty.query, &body);
    assert_eq!((status, &body["warnings"]), (200, &Value::Null));
}

#[test]
fn queries_see_documents_only_after_a_publication() {
    let server = TestServer::new();
    let tea = json!({"query": "tea", "n_best": 10});
    let add = |text: &str| {
        let body = json!({"data": [document("p", text)]});
        let (status, body) = server.post("/v1/index/add", &server.admin, &body);
        assert_eq!(
            (status, &body["status"]),
            (200, &json!("finished")),
            "{body}"
        );
    };
    add("Tea is a drink.");
    assert!(server.answers(tea.clone()).is_empty());
    assert_eq!(server.publish()["status"], "finished");
    assert_eq!(server.answers(tea.clone()), ["Tea is a drink."]);
    add("Tea grows in Asia.");
    assert_eq!(server.answers(tea.clone()), ["Tea is a drink."]);
    server.publish();
    assert_eq!(server.answers(tea.clone()), ["Tea grows in Asia."]);
    let (status, body) = server.post(
        "/v1/index/delete",
        &server.admin,
        &json!({"doc_ids": ["p", "unknown"]}),
    );
    assert_eq!((status, &body["deleted"]), (200, &json!(1)));
    assert_eq!(server.answers(tea.clone()), ["Tea grows in Asia."]);
    server.publish();
    assert!(server.answers(tea).is_empty());
}

#[test]
fn pages_of_documents_end_with_a_short_one() {
    let server = TestServer::with_bundled_papers();
    let mut ids = Vec::new();
    for skip in [0, 8, 16] {
        let body = json!({"skip": skip, "limit": 8});
        let (status, page) = server.post("/v1/index/read", &server.admin, &body);
        assert_eq!(status, 200);
        let page = page.as_array().unwrap().clone();
        assert_eq!(page.len(), if skip == 16 { 4 } else { 8 });
        ids.extend(
            page.iter()
                .map(|document| document["meta"]["doc_id"].clone()),
        );
    }
    let mut sorted = ids.clone();
    sorted.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    sorted.dedup();
    assert_eq!((ids.len(), &ids), (20, &sorted));
    // What was read can be added again.
    let (_, page) = server.post("/v1/index/read", &server.admin, &json!({}));
    let (status, added) = server.post("/v1/index/add", &server.admin, &json!({"data": page}));
    assert_eq!((status, &added["unchanged"]), (200, &json!(20)), "{added}");
}

#[test]
fn questions_with_answers_are_documents() {
    let server = TestServer::new();
    let faq = json!({"doc_type": "soco_faq", "meta": {"doc_id": "faq"}, "data": [
        {"answer": {"value": "At nine."}, "questions": ["When does it open?"], "meta": {"year": 2020}},
    ]});
    let body = json!({"data": [faq, document("p", "Nine is a number.")], "auto_index": true});
    let (_, body) = server.post("/v1/index/add", &server.admin, &body);
    server.wait_for(&body);
    assert_eq!(
        server.answers(json!({"query": "nine", "filter": "year=2020"})),
        ["At nine."]
    );
    let (_, body) = server.post(
        "/v1/search/suggest",
        &server.query,
        &json!({"query": "when do"}),
    );
    let expected = json!([{"value": "When does it open?", "generated": false}]);
    assert_eq!(body["results"], expected);
    let query = json!({"query": {"query": "does it open"}});
    let (_, body) = server.post("/v1/search/query", &server.query, &query);
    assert_eq!(body["related"][0]["value"], "When does it open?");
}

#[test]
fn keys_permit_their_role_only() {
    let server = TestServer::new();
    let admin = [
        ("POST", "/v1/index/add"),
        ("POST", "/v1/index/read"),
        ("POST", "/v1/index/files"),
        ("POST", "/v1/index/delete"),
        ("POST", "/v1/index/publish"),
        ("POST", "/v1/index/abort"),
    ];
    for (method, path) in admin {
        for (key, expected) in [
            (None, 401),
            (Some("unknown"), 401),
            (Some(""), 401),
            (Some(&*server.query), 403),
        ] {
            let (status, text) = server.request(method, path, key, "{}");
            assert_eq!(status, expected, "{path} {key:?} {text}");
        }
    }
    for path in [
        "/v1/search/query",
        "/v1/search/suggest",
        "/v1/collections/c/search",
    ] {
        assert_eq!(server.status("POST", path, None), 401);
    }
    assert_eq!(server.status("GET", "/v1/op/status/x", None), 401);
    let bearer = format!("Bearer {}", server.admin);
    assert_eq!(server.status("POST", "/v1/index/read", Some(&bearer)), 200);
    server.service.delete_keys().unwrap();
    assert_eq!(server.status("POST", "/v1/index/read", Some(&bearer)), 401);
}

#[test]
fn errors_name_field_and_entry() {
    let server = TestServer::new();
    // Path, body and message.
    let cases = [
        r#"/v1/search/query { => body: EOF"#,
        r#"/v1/index/delete  => body: EOF"#,
        r#"/v1/index/delete  [] => body: expected an object, found an array"#,
        r#"/v1/index/delete {"doc_id": ["a"]}
            => unknown field `doc_id`, expected `auto_index` or `doc_ids`"#,
        r#"/v1/index/delete {"doc_ids": null}
            => field doc_ids: expected a list, found null"#,
        r#"/v1/search/query {} => missing field `query`"#,
        r#"/v1/search/query {"query": {"query": 5}} => field query.query: expected a string, found 5"#,
        r#"/v1/search/query {"query": {"query": "a", "n_best": -1}} => field query.n_best"#,
        r#"/v1/search/query {"query": {"query": "a", "n_best": 1001}}
            => results: expected at most 1000, found 1001"#,
        r#"/v1/search/query {"query": {"query": "a", "filter": "year=>5"}}
            => filter: expected NAME<=LIMIT"#,
        r#"/v1/search/query {"query": "a"}
            => field query: expected an object with the field query"#,
        r#"/v1/search/query {"query": {"query": "a", "filter": 5}}
            => field query.filter: expected a condition such as "year>=2015", a list"#,
        r#"/v1/search/query {"query": {"query": "a", "filter": ["year>=5", "year=>5"]}}
            => field query.filter[1]: expected NAME<=LIMIT"#,
        r#"/v1/search/query {"query": {"query": "a"}, "filter": "year=2015"}
            => body: field filter: expected in the field query"#,
        r#"/v1/search/query {"query": {"query": "a"}, "aggs": {"years": "year"}}
            => field aggs.years: expected an object with the field field"#,
        r#"/v1/search/query {"query": {"query": "a"}} x => trailing characters"#,
        r#"/v1/index/add {"data": 5} => field data: expected an array"#,
        r#"/v1/index/add {"data": [{"doc_type": "x", "data": []}]} => expected soco_doc"#,
        r#"/v1/index/add {"data": [{"doc_type": "soco_doc", "data": [{"text": 5, "type": "title"}]}]}
            => entry 1: field data[0].text"#,
        r#"/v1/index/add {"data": [{"doc_type": "soco_doc", "data": [], "meta": {"doc_id": "a"}},
                         {"doc_type": "soco_doc", "data": [], "meta": {"doc_id": "a"}}]}
            => data[1]: doc_id "a": expected a unique id, found it in data[0] too"#,
        r#"/v1/index/read {"limit": 1001} => limit: expected at most 1000"#,
        r#"/v1/index/read {"doc_ids": ["a"]} => unknown field `doc_ids`"#,
        r#"/v1/collections/c/search {"query": "a", "n": 5} => unknown field `n`"#,
    ];
    for case in cases {
        let (path, case) = case.split_once(' ').unwrap();
        let (body, expected) = case.split_once("=> ").unwrap();
        let body = body.trim_end();
        let (status, text) = server.request("POST", path, Some(&server.admin), body);
        let error: Value = serde_json::from_str(&text).unwrap();
        let message = error["error"]["message"].as_str().unwrap();
        assert_eq!(status, 400, "{path} {body} {text}");
        assert!(message.contains(expected), "{path} {body}: {message}");
        assert_eq!(error["error"]["code"], "invalid_request");
    }
    let (status, body) = server.post(
        "/v1/collections/c/search",
        &server.query,
        &json!({"query": "a"}),
    );
    assert_eq!((status, &body["error"]["code"]), (404, &json!("not_found")));
    assert_eq!(
        server.status("GET", "/v1/op/status/x", Some(&server.query)),
        404
    );
    assert_eq!(
        server.status("GET", "/v1/index/add", Some(&server.admin)),
        405
    );
    assert_eq!(server.status("POST", "/v1/x", Some(&server.admin)), 404);
    // Paths that are no UTF-8.
    for (method, path, parameter) in [
        ("GET", "/v1/op/status/%FF", "op_id"),
        ("POST", "/v1/collections/%FF/search", "name"),
    ] {
        let (status, text) = server.request(method, path, Some(&server.query), "{}");
        let error: Value = serde_json::from_str(&text).unwrap();
        let message = format!("path: Invalid UTF-8 in `{parameter}`");
        let expected = json!({"error": {"code": "invalid_request", "message": message}});
        assert_eq!((status, error), (400, expected), "{path}");
    }
    // Nothing of the failed additions was stored.
    let (_, page) = server.post("/v1/index/read", &server.admin, &json!({}));
    assert_eq!(page, json!([]));
}

#[test]
fn metrics_count_requests_by_route() {
    let server = TestServer::with_bundled_papers();
    server.answers(json!({"query": QUESTION}));
    let (status, text) = server.request("GET", "/metrics", None, "");
    assert_eq!(status, 200);
    for line in [
        "ir_http_requests_total{path=\"/v1/search/query\",status=\"200\"} 1",
        "ir_documents 20",
        "ir_ready 1",
        "ir_jobs 0",
        "ir_encoded_texts_total 0",
        "ir_long_reranked_texts_total 0",
        "ir_reranking_timeouts_total 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert_eq!(server.status("GET", "/ready", None), 200);
}

#[test]
fn metrics_need_a_key_beyond_the_loopback() {
    let with_access = |public_metrics: bool| {
        let access = AccessConfig {
            needs_session: true,
            public_metrics,
            ..AccessConfig::default()
        };
        TestServer::with_access(access, |_| {})
    };
    let server = with_access(false);
    let status = |key| server.status("GET", "/metrics", key);
    assert_eq!(status(None), 401);
    assert_eq!(status(Some("wrong")), 401);
    assert_eq!(status(Some(&server.query)), 200);
    assert_eq!(status(Some(&format!("Bearer {}", server.query))), 200);
    assert_eq!(server.status("GET", "/health", None), 200);
    let public = with_access(true);
    assert_eq!(public.request("GET", "/metrics", None, "").0, 200);
}

#[test]
fn failing_disks_are_no_full_disks() {
    let response = |system: std::io::ErrorKind| {
        let code = rusqlite::ffi::SQLITE_IOERR_WRITE;
        let database = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        let error = crate::store::StoreError::from_system(database, system.into());
        let error = super::ApiError::from(crate::ServiceError::from(error));
        (error.status.as_u16(), error.code)
    };
    assert_eq!(
        response(std::io::ErrorKind::FileTooLarge),
        (507, "disk_full")
    );
    assert_eq!(response(std::io::ErrorKind::Other), (500, "disk_error"));
}
