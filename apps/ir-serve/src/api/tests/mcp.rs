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
    assert_eq!(names, ["find_answers", "read_paper"]);
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
    let found: Value = serde_json::from_str(&text(&found)).unwrap();
    assert_eq!(
        (&found[0]["answer"], &found[0]["doc_id"]),
        (&json!(ANSWER), &json!("harvestqa.xml"))
    );
    let misspelled = json!({"question": QUESTION, "filter": ["yaer>=2000"]});
    let warning = &tool("find_answers", misspelled)["result"]["content"][1]["text"];
    assert_eq!(
        warning,
        "filter: no document has an attribute \"yaer\"; all pass"
    );
    let paper = tool("read_paper", json!({"doc_id": "harvestqa.xml"}));
    assert!(text(&paper).contains(ANSWER));
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
