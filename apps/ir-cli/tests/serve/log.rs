//! The log on standard error, and requests when the server is shut down.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{RunningServer, serve_command, wait_until};

/// Every line of standard error is a JSON object with the documented fields.
#[track_caller]
fn json_log(log: &str) -> Vec<Value> {
    let parse = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}"));
        let time = event["timestamp"].as_str().unwrap();
        assert!(time.starts_with("20") && time.ends_with('Z'), "{line}");
        let level = event["level"].as_str().unwrap();
        assert!(["INFO", "WARN", "ERROR"].contains(&level), "{line}");
        assert!(event["fields"]["message"].is_string(), "{line}");
        event
    };
    log.lines().map(parse).collect()
}

#[test]
fn json_logs_have_an_object_per_line() {
    let folder = TempDir::new().unwrap();
    let papers = folder.path().join("papers");
    fs::create_dir(&papers).unwrap();
    fs::write(papers.join("tea.md"), "# Tea\n\nTea comes from Asia.\n").unwrap();
    fs::write(papers.join("bad \"1\".xml"), "<article>").unwrap();
    let server = RunningServer::start(folder.path(), &["papers", "--log", "json"]);
    assert_eq!(server.client.answers("tea", 1), ["Tea comes from Asia."]);
    assert_eq!(server.client.request("GET", "/nothing", "").unwrap().0, 404);
    let (status, body) = server.client.post("/v1/index/files", &json!({}));
    assert_eq!((status, &body["failed"]), (200, &json!(1)), "{body}");
    assert_eq!(body["files"][0]["path"], "bad \"1\".xml");
    let (log, _) = server.stop();
    let events = json_log(&log);
    let requests: Vec<&Value> = events
        .iter()
        .map(|event| &event["fields"])
        .filter(|fields| fields["message"] == "request")
        .collect();
    let query = requests
        .iter()
        .find(|fields| fields["route"] == "/v1/search/query")
        .unwrap();
    assert_eq!(
        (&query["method"], &query["status"]),
        (&json!("POST"), &json!(200))
    );
    assert!(query["ms"].as_f64().is_some_and(|ms| ms > 0.0), "{query}");
    assert!(requests.iter().any(|fields| fields["status"] == 404));
    let has = |level: &str, words: &str| {
        events.iter().any(|event| {
            let message = event["fields"]["message"].as_str().unwrap();
            event["level"] == level && message.contains(words)
        })
    };
    assert!(has("WARN", "bad \"1\".xml"), "{log}");
    assert!(
        has("INFO", "published in") && has("INFO", "until Ctrl-C"),
        "{log}"
    );
    let problems = events
        .iter()
        .find(|event| event["fields"]["failed"] == 1)
        .unwrap();
    assert_eq!(problems["fields"]["skipped"], 0, "{problems}");
    // Errors that end the command are in the log, too.
    fs::write(folder.path().join("x.ir"), "no index").unwrap();
    let args = ["--data", "d", "--collection", "x=x.ir", "--log", "json"];
    let ran = serve_command(folder.path(), &args).output().unwrap();
    assert_eq!(ran.status.code(), Some(1));
    let events = json_log(&String::from_utf8(ran.stderr).unwrap());
    assert_eq!(events.last().unwrap()["level"], "ERROR", "{events:?}");
}

/// Longest time for which the server finishes requests after a signal to stop.
const GRACE: Duration = Duration::from_secs(30);

/// A request whose head has arrived is in flight: the server waits for the rest of its body, stores
/// the document and responds, though it accepts no connection any more.
#[test]
fn requests_in_flight_are_completed_after_sigterm() {
    let folder = TempDir::new().unwrap();
    let server = RunningServer::start(folder.path(), &["--data", "d"]);
    let (client, keys) = (server.client.clone(), server.keys.clone());
    let body = json!({"data": [{
        "doc_type": "soco_doc",
        "meta": {"doc_id": "late"},
        "data": [{"type": "content", "text": "Tea is late."}],
    }]})
    .to_string();
    let mut stream = TcpStream::connect(&client.address).unwrap();
    let mut idle = TcpStream::connect(&client.address).unwrap();
    write!(
        stream,
        "POST /v1/index/add HTTP/1.1\r\nHost: localhost\r\nAuthorization: {}\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        keys.0,
        body.len(),
    )
    .unwrap();
    // The server reads the body.
    let mut head = [0; 25];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(&body.as_bytes()[..20]).unwrap();
    let stopping = thread::spawn(move || server.stop());
    let start = Instant::now();
    wait_until(|| TcpStream::connect(&client.address).is_err());
    assert!(!stopping.is_finished());
    stream.write_all(&body.as_bytes()[20..]).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.contains("\"doc_ids\":[\"late\"]"), "{response}");
    let (log, _) = stopping.join().unwrap();
    assert!(log.contains("/v1/index/add"), "{log}");
    // A connection without a request does not delay the end.
    assert!(start.elapsed() < GRACE);
    assert_eq!(idle.read(&mut [0; 10]).unwrap_or(0), 0);
    let server = RunningServer::start_with_keys(folder.path(), &["--data", "d"], keys);
    let (_, documents) = server.client.post("/v1/index/read", &json!({}));
    assert_eq!(documents[0]["meta"]["doc_id"], "late");
}
