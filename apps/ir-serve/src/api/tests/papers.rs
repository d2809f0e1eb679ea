use serde_json::{Value, json};

use super::TestServer;

/// Papers with the given fields.
fn server(papers: &[Value]) -> TestServer {
    let server = TestServer::new();
    let records = papers.iter().map(|meta| {
        let text = format!("Tea of {} grows. It is drunk.", meta["doc_id"]);
        json!({"doc_type": "soco_doc", "meta": meta, "data": [{"type": "content", "text": text}]})
    });
    let records: Vec<Value> = records.collect();
    let body = json!({"data": records, "auto_index": true});
    server.wait_for(&server.success("/v1/index/add", &server.admin, &body));
    server
}

#[test]
fn papers_are_listed_in_an_order() {
    let server = server(&[
        json!({"doc_id": "a", "title": "green Tea", "authors": ["Zoe Adams"], "year": 2001}),
        json!({"doc_id": "b", "title": "Black tea", "authors": ["Al Young"], "year": 2020}),
        json!({"doc_id": "c", "title": "White coffee", "doi": "doi:10.1000/182"}),
    ]);
    let ids = |request: Value| -> (u64, Vec<String>) {
        let list = server.success("/v1/papers/list", &server.query, &request);
        let papers = list["papers"].as_array().unwrap().iter();
        let ids = papers.map(|paper| paper["doc_id"].as_str().unwrap().to_owned());
        (list["total"].as_u64().unwrap(), ids.collect())
    };
    for (request, expected) in [
        (json!({}), vec!["b", "a", "c"]),
        (json!({"descending": true}), vec!["c", "a", "b"]),
        // Papers without the field are last in both directions.
        (json!({"sort": "year"}), vec!["a", "b", "c"]),
        (
            json!({"sort": "year", "descending": true}),
            vec!["b", "a", "c"],
        ),
        (json!({"sort": "authors"}), vec!["a", "b", "c"]),
        (json!({"sort": "answers"}), vec!["a", "b", "c"]),
    ] {
        assert_eq!(ids(request.clone()).1, expected, "{request}");
    }
    assert_eq!(
        ids(json!({"title": "TEA"})),
        (2, vec!["b".to_owned(), "a".to_owned()])
    );
    assert_eq!(
        ids(json!({"skip": 1, "limit": 1})),
        (3, vec!["a".to_owned()])
    );
    let list = server.success(
        "/v1/papers/list",
        &server.query,
        &json!({"title": "coffee"}),
    );
    assert_eq!(
        list["papers"][0],
        json!({
            "doc_id": "c", "title": "White coffee", "authors": [], "year": null, "venue": null,
            "doi": "10.1000/182", "arxiv": null, "url": "https://doi.org/10.1000/182", "answers": 2,
            "tags": [],
        })
    );
    for (request, part) in [
        (json!({"sort": "size"}), "sort"),
        (json!({"order": "year"}), "order"),
        (json!({"limit": 1_001}), "expected at most 1000, found 1001"),
    ] {
        let (status, body) = server.post("/v1/papers/list", &server.query, &request);
        assert_eq!(status, 400, "{body}");
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(server.status("POST", "/v1/papers/list", None), 401);
}

#[test]
fn papers_and_answers_are_cited() {
    let server = server(&[
        json!({"doc_id": "a", "title": "Tea & Co", "authors": ["Zoe Adams"], "year": 2001}),
        json!({"doc_id": "b", "title": "Black tea"}),
    ]);
    let cite = |request: Value| server.post("/v1/papers/cite", &server.query, &request);
    let (status, cited) = cite(json!({"answers": ["a/0/1", "a/0/0"]}));
    assert_eq!(status, 200, "{cited}");
    let entry = "@misc{adams2001tea,\n  author = {Adams, Zoe},\n  title = {Tea \\& Co},\n  \
                 year = {2001},\n  annote = {“It is drunk.” “Tea of \"a\" grows.”}\n}\n";
    assert_eq!(
        (&cited["entries"], &cited["papers"]),
        (&json!(entry), &json!(1))
    );
    // A paper is cited once, and all without ids.
    let (_, cited) = cite(json!({"doc_ids": ["b", "b"], "answers": ["b/0/1"], "format": "ris"}));
    let entry = "TY  - GEN\r\nTI  - Black tea\r\nN1  - “It is drunk.”\r\nER  - \r\n";
    assert_eq!(cited["entries"], entry);
    assert_eq!(cite(json!({})).1["papers"], 2);
    for (request, status, part) in [
        (json!({"doc_ids": ["x"]}), 404, "document \"x\": not found"),
        (
            json!({"answers": ["a/9/9"]}),
            404,
            "answer \"a/9/9\": not found",
        ),
        (json!({"format": "xml"}), 400, "format"),
        (json!({"ids": []}), 400, "ids"),
        (
            json!({"doc_ids": vec!["a"; 1_001]}),
            400,
            "expected at most 1000",
        ),
    ] {
        let (found, body) = cite(request);
        assert_eq!(found, status, "{body}");
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains(part), "{message}");
    }
}
