//! Tags of papers in lists, filters and requests.

use serde_json::{Value, json};

use super::TestServer;

/// Three papers: `a` and `b` without tags, `c` with the field `tags`.
fn server() -> TestServer {
    let server = TestServer::new();
    let record = |id: &str, meta: Value| {
        let mut meta = meta;
        meta["doc_id"] = json!(id);
        let text = format!("Tea of paper {id} grows.");
        json!({"doc_type": "soco_doc", "meta": meta, "data": [{"type": "content", "text": text}]})
    };
    let records = [
        record("a", json!({})),
        record("b", json!({})),
        record("c", json!({"tags": ["Asia", 2020]})),
    ];
    let body = json!({"data": records, "auto_index": true});
    server.wait_for(&server.success("/v1/index/add", &server.admin, &body));
    server
}

fn change(server: &TestServer, id: &str, add: &[&str], remove: &[&str]) -> Value {
    let body = json!({"doc_id": id, "add": add, "remove": remove});
    server.success("/v1/papers/tag", &server.query, &body)["tags"].clone()
}

/// Ids of the papers with an answer that pass a filter, sorted, and the warnings; `null` if there
/// are none.
fn found(server: &TestServer, filter: &Value) -> (Vec<String>, Value) {
    let query = json!({"query": "tea paper", "n_best": 9, "filter": filter});
    let body = server.success("/v1/search/query", &server.query, &json!({"query": query}));
    let results = body["results"].as_array().unwrap().iter();
    let ids = results.map(|it| it["meta"]["doc_id"].as_str().unwrap().to_owned());
    let mut ids: Vec<String> = ids.collect();
    ids.sort_unstable();
    (ids, body["warnings"].clone())
}

#[test]
fn tags_are_a_filter_of_searches_at_once() {
    let server = server();
    assert_eq!(
        change(&server, "a", &["to  read", " x\ty "], &[]),
        json!(["to read", "x y"])
    );
    assert_eq!(
        change(&server, "b", &["to read"], &["none"]),
        json!(["to read"])
    );
    assert_eq!(
        change(&server, "c", &["x y"], &[]),
        json!(["2020", "Asia", "x y"])
    );
    let one_of = |tag: &str| json!({"one_of": {"name": "tags", "values": [tag]}});
    for (filter, expected) in [
        (json!("tags=to read"), &["a", "b"][..]),
        (json!("tags=x y"), &["a", "c"]),
        // Of the document.
        (json!("tags=Asia"), &["c"]),
        (json!("tags=2020"), &["c"]),
        (json!("tags=Asia,to read"), &["a", "b", "c"]),
        (json!(["tags=x y", "tags=to read"]), &["a"]),
        (one_of("to read"), &["a", "b"]),
        (json!({"not": one_of("to read")}), &["c"]),
        (json!({"known": {"name": "tags"}}), &["a", "b", "c"]),
        (
            json!({"any": [one_of("Asia"), {"all": [one_of("x y"), one_of("to read")]}]}),
            &["a", "c"],
        ),
    ] {
        let (ids, warnings) = found(&server, &filter);
        assert_eq!(ids, expected, "{filter}");
        assert_eq!(warnings, Value::Null, "{filter}");
    }
    let (ids, warnings) = found(&server, &json!("tags=Europe"));
    assert!(ids.is_empty());
    assert_eq!(warnings, json!(["filter: no paper has the tag \"Europe\""]));
    // Tags of the document stay.
    assert_eq!(
        change(&server, "c", &[], &["x y", "Asia"]),
        json!(["2020", "Asia"])
    );
    assert_eq!(found(&server, &json!("tags=x y")).0, ["a"]);
    // A paper that is deleted and added again has its tags.
    let ids = json!({"doc_ids": ["a"], "auto_index": true});
    server.wait_for(&server.success("/v1/index/delete", &server.admin, &ids));
    assert!(found(&server, &json!("tags=x y")).0.is_empty());
    let body = json!({"auto_index": true, "data": [{"doc_type": "soco_doc", "meta": {"doc_id": "a"},
        "data": [{"type": "content", "text": "Tea paper."}]}]});
    server.wait_for(&server.success("/v1/index/add", &server.admin, &body));
    assert_eq!(found(&server, &json!("tags=x y")).0, ["a"]);
}

#[test]
fn papers_are_listed_by_tags() {
    let server = server();
    change(&server, "a", &["zebra"], &[]);
    change(&server, "b", &["Boat", "zebra"], &[]);
    let ids = |request: Value| -> Vec<String> {
        let list = server.success("/v1/papers/list", &server.query, &request);
        let papers = list["papers"].as_array().unwrap().iter();
        papers
            .map(|it| it["doc_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(json!({"tag": "zebra"})), ["a", "b"]);
    assert_eq!(ids(json!({"tag": "Asia"})), ["c"]);
    assert!(ids(json!({"tag": "asia"})).is_empty());
    // First tags: 2020, boat, zebra.
    assert_eq!(ids(json!({"sort": "tags"})), ["c", "b", "a"]);
    assert_eq!(
        ids(json!({"sort": "tags", "descending": true})),
        ["a", "b", "c"]
    );
    let list = server.success("/v1/papers/list", &server.query, &json!({"tag": "Boat"}));
    assert_eq!(list["papers"][0]["tags"], json!(["Boat", "zebra"]));
}

#[test]
fn tags_that_are_not_permitted_change_nothing() {
    let server = server();
    let long = "é".repeat(101);
    let expected = "tag: expected 1 to 100 characters without a comma or a control character";
    for tag in ["", "  ", "a,b", "a\u{7}", &long] {
        let body = json!({"doc_id": "a", "add": ["fine", tag]});
        let (status, body) = server.post("/v1/papers/tag", &server.query, &body);
        assert_eq!(status, 400, "{tag:?}");
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(expected), "{message}");
    }
    let many: Vec<String> = (0..101).map(|n| n.to_string()).collect();
    let body = json!({"doc_id": "a", "add": many});
    let (status, body) = server.post("/v1/papers/tag", &server.query, &body);
    let message = body["error"]["message"].as_str().unwrap();
    assert_eq!(
        (status, message),
        (400, "tags of a paper: expected at most 100, found 101")
    );
    assert_eq!(change(&server, "a", &[], &[]), json!([]));
    assert_eq!(
        change(&server, "a", &["é".repeat(100).as_str()], &[])
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let body = json!({"doc_id": "none", "add": ["x"]});
    let (status, _) = server.post("/v1/papers/tag", &server.query, &body);
    assert_eq!(status, 404);
    assert_eq!(server.status("POST", "/v1/papers/tag", None), 401);
}
