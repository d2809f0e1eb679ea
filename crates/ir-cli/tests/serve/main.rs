//! `ir serve`, run as a user would.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod exports;
mod faults;
mod generation;
mod log;
mod server;

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

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
    let server = RunningServer::start(
        folder.path(),
        &["--data", "d", "--collection", "tea=tea.ir"],
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

/// Documents of one addition, which have its number in their texts.
const GROUP: usize = 3;

fn group(number: usize) -> Value {
    let document = |id: usize| {
        json!({
            "doc_type": "soco_doc",
            "meta": {"doc_id": format!("d{id}")},
            "data": [{"type": "content", "text": format!("Version {number} of this text.")}],
        })
    };
    json!({"data": (0..GROUP).map(document).collect::<Vec<_>>()})
}

/// Kills the server at random moments of additions and publications, 200 times or `IR_KILLS` times.
/// What was acknowledged is there, publications too, and queries see one addition, whole, never
/// older than one that was seen before.
#[test]
fn kills_lose_nothing_that_was_acknowledged() {
    let kills: u64 = std::env::var("IR_KILLS").map_or(200, |n| n.parse().unwrap());
    let folder = TempDir::new().unwrap();
    let args = ["--data", "d"];
    let first = RunningServer::start(folder.path(), &args);
    let keys = first.keys.clone();
    first.kill();
    // Numbers of the last additions that were acknowledged and sent, and that queries saw.
    let (mut acknowledged, mut sent, mut seen) = (0, 0, 0);
    // Addition and id of the last publication that was acknowledged.
    let mut published: Option<(usize, String)> = None;
    let mut ended_after_a_kill = 0;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for kill in 0..kills {
        let server = RunningServer::start_with_keys(folder.path(), &args, keys.clone());
        let client = server.client.clone();
        // The state after the kill: the last acknowledged addition, or the one that was sent.
        let (status, documents) = client.post("/v1/index/read", &json!({}));
        assert_eq!(status, 200, "{documents}");
        let stored = versions(
            documents
                .as_array()
                .unwrap()
                .iter()
                .map(|d| &d["data"][0]["text"]),
        );
        if acknowledged > 0 {
            assert_eq!(stored.len(), 1, "kill {kill}: {documents}");
        }
        for (&number, &count) in &stored {
            assert_eq!(count, GROUP);
            assert!(
                (acknowledged..=sent).contains(&number),
                "{acknowledged} {number} {sent}"
            );
            acknowledged = number;
        }
        // Publications that were acknowledged run to their end after the next start.
        if kill % 4 == 3
            && let Some((number, id)) = published.take()
        {
            client.wait(&id);
            seen = seen.max(number);
            ended_after_a_kill += 1;
        }
        let answers = versions(client.answers("version", 100).iter());
        assert!(answers.len() <= 1, "kill {kill}: {answers:?}");
        assert!(seen == 0 || answers.len() == 1, "kill {kill}: {seen}");
        for (&number, &count) in &answers {
            assert_eq!(count, GROUP);
            assert!(
                seen <= number && number <= acknowledged,
                "{seen} {number} {acknowledged}"
            );
            seen = number;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let progress = Arc::new(Mutex::new((acknowledged, sent, published)));
        let writer = {
            let (stop, progress) = (Arc::clone(&stop), Arc::clone(&progress));
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let number = {
                        let mut progress = progress.lock().unwrap();
                        progress.1 += 1;
                        progress.1
                    };
                    let Ok((200, _)) = client.try_post("/v1/index/add", &group(number)) else {
                        return;
                    };
                    progress.lock().unwrap().0 = number;
                    let Ok((200, publication)) = client.try_post("/v1/index/publish", &json!({}))
                    else {
                        return;
                    };
                    let id = publication["op_id"].as_str().unwrap().to_owned();
                    progress.lock().unwrap().2 = Some((number, id));
                }
            })
        };
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        thread::sleep(Duration::from_millis(random % 60));
        server.kill();
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        (acknowledged, sent, published) = progress.lock().unwrap().clone();
    }
    assert!(acknowledged > 0 && ended_after_a_kill > 0);
    let server = RunningServer::start_with_keys(folder.path(), &args, keys);
    if let Some((number, id)) = published {
        server.client.wait(&id);
        let answers = versions(server.client.answers("version", 100).iter());
        assert!(*answers.keys().next().unwrap() >= number);
    }
    let (_, body) = server.client.post("/v1/index/publish", &json!({}));
    server.client.wait(body["op_id"].as_str().unwrap());
    let answers = versions(server.client.answers("version", 100).iter());
    let number = *answers.keys().next().unwrap();
    assert!((acknowledged..=sent).contains(&number));
    server.kill();
    let checked = serve_command(folder.path(), &["--data", "d", "--check"]).output();
    let checked = checked.unwrap();
    let line = String::from_utf8_lossy(&checked.stdout);
    assert!(
        checked.status.success() && line.contains(": intact; "),
        "{checked:?}"
    );
}

/// Numbers of the additions in texts, with the numbers of texts.
fn versions<'t, T: ToString + 't>(texts: impl Iterator<Item = T>) -> BTreeMap<usize, usize> {
    let mut versions = BTreeMap::new();
    for text in texts {
        let text = text.to_string();
        let number = text.split(' ').nth(1).unwrap().parse().unwrap();
        *versions.entry(number).or_default() += 1;
    }
    versions
}
