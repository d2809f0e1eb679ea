//! `ir serve`, run as a user would.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod backup;
mod exports;
mod faults;
mod generation;
mod kills;
mod log;
mod server;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use server::{Client, RunningServer, serve_command};
use tempfile::TempDir;

const QUESTION: &str = "Who wrote questions after a visit to a farm?";
const ANSWER: &str = "Volunteers wrote the questions after a visit to a farm.";

#[test]
fn bundled_papers_are_served_from_the_first_start_on() {
    let folder = TempDir::new().unwrap();
    let server = RunningServer::start(folder.path(), &["bundled"]);
    let keys = server.keys.clone();
    assert_eq!(server.client.answers(QUESTION, 1), [ANSWER]);
    server.stop();
    // The second start has the same keys and state, and publishes nothing.
    let server = RunningServer::start_with_keys(folder.path(), &["bundled"], keys.clone());
    assert_eq!(server.client.answers(QUESTION, 1), [ANSWER]);
    let (log, printed) = server.stop();
    assert!(
        printed.is_empty() && !log.contains("published in"),
        "{printed:?} {log}"
    );
    let server = RunningServer::start(folder.path(), &["bundled", "--new-keys"]);
    let old = Client::new(server.client.address.clone(), keys);
    assert_eq!(old.post("/v1/index/read", &json!({})).0, 401);
    assert_eq!(server.client.post("/v1/index/read", &json!({})).0, 200);
}

#[test]
fn changed_files_are_published_at_the_next_start() {
    let folder = TempDir::new().unwrap();
    let papers = folder.path().join("papers");
    fs::create_dir(&papers).unwrap();
    fs::write(papers.join("tea.md"), "# Tea\n\nTea comes from Asia.\n").unwrap();
    fs::write(
        papers.join("cup.md"),
        "# Cup\n\nA cup holds tea and coffee.\n",
    )
    .unwrap();
    fs::write(papers.join("bad.xml"), "<article><unclosed>").unwrap();
    let server = RunningServer::start(folder.path(), &["papers"]);
    assert_eq!(
        server.client.answers("coffee", 5),
        ["A cup holds tea and coffee."]
    );
    let keys = server.keys.clone();
    let (log, _) = server.stop();
    assert!(log.contains("bad.xml"), "{log}");
    assert!(log.contains("failed=1 skipped=0 incomplete=2"), "{log}");
    fs::write(
        papers.join("tea.md"),
        "# Tea\n\nTea grows in many countries.\n",
    )
    .unwrap();
    fs::remove_file(papers.join("cup.md")).unwrap();
    let server = RunningServer::start_with_keys(folder.path(), &["papers"], keys);
    assert_eq!(
        server.client.answers("tea coffee", 5),
        ["Tea grows in many countries."]
    );
    // A file that is damaged keeps its document.
    let keys = server.keys.clone();
    server.stop();
    fs::write(
        papers.join("bad.xml"),
        "<article><front/><body><p>Lakes freeze.</p></body></article>",
    )
    .unwrap();
    let server = RunningServer::start_with_keys(folder.path(), &["papers"], keys);
    assert_eq!(server.client.answers("lakes", 5), ["Lakes freeze."]);
    let keys = server.keys.clone();
    server.stop();
    fs::write(papers.join("bad.xml"), "<article><unclosed>").unwrap();
    let server = RunningServer::start_with_keys(folder.path(), &["papers"], keys);
    assert_eq!(server.client.answers("lakes", 5), ["Lakes freeze."]);
}

#[test]
fn an_empty_folder_keeps_its_papers() {
    let folder = TempDir::new().unwrap();
    let papers = folder.path().join("papers");
    fs::create_dir(&papers).unwrap();
    fs::write(papers.join("tea.md"), "# Tea\n\nTea comes from Asia.\n").unwrap();
    let args = ["papers", "--data", "d"];
    let server = RunningServer::start(folder.path(), &args);
    let keys = server.keys.clone();
    server.stop();
    fs::rename(papers.join("tea.md"), folder.path().join("tea.md")).unwrap();
    let server = RunningServer::start_with_keys(folder.path(), &args, keys.clone());
    assert_eq!(server.client.answers("tea", 5), ["Tea comes from Asia."]);
    let (log, _) = server.stop();
    let expected = "papers: expected papers, found none that can be read. Its 1 documents are kept";
    assert!(
        log.contains(expected) && !log.contains("published in"),
        "{log}"
    );
    // The folder is there again, with another paper.
    fs::write(papers.join("cup.md"), "# Cup\n\nA cup holds coffee.\n").unwrap();
    let server = RunningServer::start_with_keys(folder.path(), &args, keys);
    assert_eq!(
        server.client.answers("tea coffee", 5),
        ["A cup holds coffee."]
    );
}

#[test]
fn indexes_are_collections() {
    let folder = TempDir::new().unwrap();
    let corpus = "{\"_id\": \"d1\", \"text\": \"green tea\", \"metadata\": {\"year\": 2012}}\n\
                  {\"_id\": \"d2\", \"text\": \"black tea leaves\", \"metadata\": {\"year\": 2020}}\n";
    fs::write(folder.path().join("corpus.jsonl"), corpus).unwrap();
    let built = Command::new(env!("CARGO_BIN_EXE_ir"))
        .args([
            "index",
            "corpus.jsonl",
            "-o",
            "tea.ir",
            "--store",
            "attributes",
        ])
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .status();
    assert!(built.unwrap().success());
    let system = "systems = [{ name = \"qld\", type = \"bm25\", model = \"qld\" }]\n";
    fs::write(folder.path().join("qld.toml"), system).unwrap();
    let server = RunningServer::start(
        folder.path(),
        &[
            "--data",
            "d",
            "--collection",
            "tea=tea.ir",
            "--collection",
            "qld=tea.ir#qld.toml",
        ],
    );
    let search = |body: Value| server.client.post("/v1/collections/tea/search", &body);
    let (status, body) = search(json!({"query": "green tea"}));
    assert_eq!(status, 200, "{body}");
    let ids: Vec<&str> = body["hits"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|hit| hit["id"].as_str())
        .collect();
    assert_eq!(ids, ["d1", "d2"]);
    let (_, body) = search(json!({"query": "green tea", "filter": "year>=2015"}));
    assert_eq!(body["hits"][0]["id"], "d2");
    let query = json!({"query": "green tea"});
    let (_, bm25) = search(query.clone());
    let (_, qld) = server.client.post("/v1/collections/qld/search", &query);
    assert_eq!(qld["hits"][0]["id"], "d1");
    assert_ne!(qld["hits"][0]["score"], bm25["hits"][0]["score"]);
}

/// Systems of an experiment file are collections: here a weighted sum of two BM25 scores.
#[test]
fn systems_of_experiments_are_collections() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "data/corpus.jsonl",
        "{\"_id\": \"d1\", \"text\": \"green tea\", \"metadata\": {\"year\": 2012}}\n\
         {\"_id\": \"d2\", \"text\": \"black tea leaves\", \"metadata\": {\"year\": 2020}}\n",
    );
    write(
        "data/queries.jsonl",
        "{\"_id\": \"q\", \"text\": \"tea\"}\n",
    );
    fs::create_dir(folder.path().join("data/qrels")).unwrap();
    write(
        "data/qrels/test.tsv",
        "query-id\tcorpus-id\tscore\nq\td1\t1\n",
    );
    write(
        "tea.toml",
        r#"
        measures = ["RR"]
        tasks = [{ collection = "data" }]
        [[systems]]
        name = "BM25"
        type = "bm25"
        [[systems]]
        name = "Lucene"
        type = "bm25"
        preset = "lucene"
        [[systems]]
        name = "sum"
        type = "hybrid"
        of = ["BM25", "Lucene"]
        weights = [1, 2]
        "#,
    );
    let server = RunningServer::start(
        folder.path(),
        &["--data", "d", "--collection", "tea=tea.toml#sum"],
    );
    let search = |body: Value| server.client.post("/v1/collections/tea/search", &body);
    let (status, body) = search(json!({"query": "green tea"}));
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["hits"][0]["id"], "d1");
    assert_eq!(body["hits"][1]["id"], "d2");
    let (_, body) = search(json!({"query": "green tea", "filter": "year>=2015"}));
    assert_eq!(body["hits"].as_array().unwrap().len(), 1);
    assert_eq!(body["hits"][0]["id"], "d2");
    drop(server);
    let text = std::fs::read_to_string(folder.path().join("tea.toml")).unwrap();
    let text = text.replace(
        "weights = [1, 2]",
        "weights = [1, 2]\nwhere = { known = { name = \"year\" } }",
    );
    write("filtered.toml", &text);
    let filtered = ["--data", "d", "--collection", "tea=filtered.toml#sum"];
    let ran = serve_command(folder.path(), &filtered).output().unwrap();
    let error = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(
        error.contains("where of \"sum\": expected a system without a filter, found"),
        "{error}"
    );
    let unknown = ["--data", "d", "--collection", "tea=tea.toml#smu"];
    let ran = serve_command(folder.path(), &unknown).output().unwrap();
    let error = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(
        error.contains("BM25, Lucene, sum, found \"smu\" (did you mean sum?)"),
        "{error}"
    );
}

#[test]
fn errors_before_the_start() {
    let folder = TempDir::new().unwrap();
    let fails = |args: &[&str], code: i32, expected: &str| {
        let ran = serve_command(folder.path(), args).output().unwrap();
        let error = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(code), "{args:?} {error}");
        assert!(error.contains(expected), "{args:?} {error}");
    };
    fails(&[], 2, "PAPERS");
    fails(&["absent"], 1, "absent: not found");
    fails(
        &["bundled", "--context-weight", "nan"],
        2,
        "expected 0 or 1e-9..=1e9",
    );
    fails(&["bundled", "--collection", "x"], 2, "expected NAME=INDEX");
    fails(&["bundled", "--collection", "x=y"], 1, "y");
    fs::write(folder.path().join("file"), "").unwrap();
    fails(
        &["--data", "file"],
        1,
        "file: expected a folder, found a file",
    );
    fails(
        &["bundled", "--listen", "8080"],
        2,
        "expected IP:PORT such as",
    );
    let server = RunningServer::start(folder.path(), &["bundled"]);
    fails(&["bundled"], 1, "in use by another server");
    let address = server.client.address.clone();
    fails(
        &["--data", "other", "--listen", &address],
        1,
        "cannot be bound",
    );
}

/// Below a path of a proxy.
#[test]
fn base_paths_are_checked_and_served() {
    let folder = TempDir::new().unwrap();
    let fails = |args: &[&str], parts: [&str; 2]| {
        let ran = serve_command(folder.path(), &[&["--data", "d"], args].concat()).output();
        let ran = ran.unwrap();
        let error = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{args:?}: {error}");
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    };
    for path in [
        "ir",
        "/",
        "/ir/",
        "//ir",
        "/a b",
        "/a/../b",
        "/é",
        "http://a/ir",
    ] {
        let expected =
            format!("expected a path such as /ir, without a slash at the end, found {path:?}");
        fails(&["--base-path", path], ["--base-path", &expected]);
    }
    fails(
        &["--base-path", "/ir", "--forwarded-prefix"],
        ["--base-path", "--forwarded-prefix"],
    );
    assert!(!folder.path().join("d").exists());

    let mut child = serve_command(folder.path(), &["--data", "d", "--base-path", "/ir"])
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    printed.read_line(&mut line).unwrap();
    let address = line.strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/ir/\n").unwrap().to_owned();
    let client = Client::new(address, (String::new(), String::new()));
    let status = |path: &str| client.request("GET", path, "").unwrap().0;
    assert_eq!(
        ["/ir/health", "/ir/openapi.json", "/health"].map(status),
        [200, 200, 404]
    );
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &id]).status();
    assert!(sent.unwrap().success());
    assert!(child.wait().unwrap().success());
}
