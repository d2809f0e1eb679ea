use axum::body::Body;
use axum::http::{Request, header};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{ANSWER, QUESTION, TestServer};

#[test]
fn agents_find_answers_and_read_papers() {
    let server = TestServer::with_bundled_papers();
    let call = |method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let (status, body) = server.post("/mcp", &server.query, &body);
        assert_eq!((status, &body["id"]), (200, &json!(7)), "{body}");
        body
    };
    let started = call("initialize", json!({"protocolVersion": "2025-03-26"}));
    assert_eq!(started["result"]["protocolVersion"], "2025-06-18");
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(server.post("/mcp", &server.query, &notification).0, 202);
    let tools = call("tools/list", json!({}));
    let names: Vec<&Value> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(names, ["find_answers", "read_paper", "list_papers"]);
    let tool = |name: &str, arguments: Value| {
        call("tools/call", json!({"name": name, "arguments": arguments}))
    };
    let text = |body: &Value| {
        body["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let found = tool(
        "find_answers",
        json!({"question": QUESTION, "filter": ["year>=2000"]}),
    );
    let structured = &found["result"]["structuredContent"];
    let serialized: Value = serde_json::from_str(&text(&found)).unwrap();
    assert_eq!(structured, &serialized);
    let first = &structured["answers"][0];
    assert_eq!(
        (&first["answer"], &first["doc_id"], &first["title"]),
        (
            &json!(ANSWER),
            &json!("harvestqa.xml"),
            &json!("HarvestQA: Questions About Farming Leaflets")
        )
    );
    assert!(first["section"].is_string(), "{first}");
    // Without a host, links are paths. They open the sentence.
    let link = first["link"].as_str().unwrap();
    assert!(link.starts_with("/document/harvestqa.xml?frame="), "{link}");
    let page = server.page(link.split('#').next().unwrap());
    assert!(page.contains("<mark class=\"current\""), "{page}");
    let misspelled = json!({"question": QUESTION, "filter": ["yaer>=2000"]});
    let warning = &tool("find_answers", misspelled)["result"]["content"][1]["text"];
    assert_eq!(
        warning,
        "filter: no document has an attribute \"yaer\"; all pass"
    );
    let paper = tool("read_paper", json!({"doc_id": "harvestqa.xml"}));
    assert!(text(&paper).contains(ANSWER));
    let page = &paper["result"]["structuredContent"];
    assert_eq!((&page["start"], &page["next"]), (&json!(0), &json!(null)));
    let rest = tool("read_paper", json!({"doc_id": "harvestqa.xml", "start": 1}));
    let title = "# HarvestQA: Questions About Farming Leaflets\n\n";
    assert_eq!(text(&paper), format!("{title}{}", text(&rest)));
    let unknown = tool("read_paper", json!({"doc_id": "x"}));
    assert_eq!(unknown["result"]["isError"], true);
    for (body, code) in [
        (tool("find_answers", json!({"question": 5})), -32602),
        (
            tool(
                "find_answers",
                json!({"question": "a", "filter": ["year=>5"]}),
            ),
            -32602,
        ),
        (tool("list_papers", json!({"limit": 1_001})), -32602),
        (tool("list_papers", json!({"sort": "size"})), -32602),
        (tool("other", json!({})), -32602),
        (call("other", json!({})), -32601),
    ] {
        assert_eq!(body["error"]["code"], code, "{body}");
    }
    for id in [json!(null), json!({"a": 1}), json!(1.5)] {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        let (status, body) = server.post("/mcp", &server.query, &body);
        assert_eq!(status, 400, "{body}");
        let message = body["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("expected a string or an integer"),
            "{body}"
        );
    }
    for (version, expected) in [("2025-06-18", 200), ("1999-01-01", 400)] {
        let request = Request::post("/mcp")
            .header(header::AUTHORIZATION, &server.query)
            .header("MCP-Protocol-Version", version)
            .body(Body::from(
                r#"{"jsonrpc": "2.0", "id": "a", "method": "ping"}"#,
            ))
            .unwrap();
        let response = server.router.clone().oneshot(request);
        let response = server.runtime.block_on(response).unwrap();
        assert_eq!(response.status(), expected, "{version}");
    }
    assert_eq!(server.status("POST", "/mcp", None), 401);
    assert_eq!(server.status("GET", "/mcp", Some(&server.query)), 405);
}

#[test]
fn agents_read_long_papers_in_pages() {
    let server = TestServer::new();
    let paragraph = "Tea grows in Asia. ".repeat(400);
    let chunk = json!({"type": "content", "text": paragraph});
    let record = json!({
        "doc_type": "soco_doc",
        "meta": {"doc_id": "long"},
        "data": vec![chunk; 7],
    });
    let body = json!({"data": [record], "auto_index": true});
    server.wait_for(&server.success("/v1/index/add", &server.admin, &body));
    let read = |start: u64| {
        let arguments = json!({"doc_id": "long", "start": start});
        let params = json!({"name": "read_paper", "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let result = server.success("/mcp", &server.query, &body);
        result["result"]["structuredContent"].clone()
    };
    // Three paragraphs of 7,600 bytes exceed 20,000.
    let (mut next, mut pages, mut text) = (Some(0), Vec::new(), String::new());
    while let Some(start) = next {
        let page = read(start);
        assert_eq!(page["paragraphs"], 7);
        text += page["text"].as_str().unwrap();
        pages.push(start);
        next = page["next"].as_u64();
    }
    assert_eq!(pages, [0, 3, 6]);
    assert_eq!(text.matches("Tea grows").count(), 7 * 400);
    assert_eq!(read(99)["text"], "");
}

#[test]
fn agents_list_papers() {
    let server = TestServer::with_bundled_papers();
    let list = |arguments: Value| {
        let params = json!({"name": "list_papers", "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let result = server.success("/mcp", &server.query, &body);
        result["result"]["structuredContent"].clone()
    };
    let all = list(json!({}));
    assert_eq!(all["total"], 20);
    assert_eq!(all["papers"].as_array().unwrap().len(), 20);
    let found = list(json!({"title": "bird", "limit": 1}));
    let paper = &found["papers"][0];
    assert_eq!(
        (&found["total"], &paper["doc_id"]),
        (&json!(1), &json!("bird-calls.xml"))
    );
    assert_eq!(paper["authors"], json!(["Rosa Ibarra", "Chike Obi"]));
}
