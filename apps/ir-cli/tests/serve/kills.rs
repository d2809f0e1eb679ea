//! Servers that are killed at random moments.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{Client, RunningServer, serve_command, wait_until};

/// Number of kills: `IR_KILLS`, or a default.
fn kills(default: u64) -> u64 {
    std::env::var("IR_KILLS").map_or(default, |n| n.parse().unwrap())
}

/// Random milliseconds below a limit.
struct Pauses(u64);

impl Pauses {
    fn next(&mut self, limit: u64) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_millis(self.0 % limit)
    }
}

/// Checks the store in the folder `d`.
fn check_store(folder: &Path) {
    let checked = serve_command(folder, &["--data", "d", "--check"]).output();
    let checked = checked.unwrap();
    let line = String::from_utf8_lossy(&checked.stdout);
    assert!(
        checked.status.success() && line.contains(": intact; "),
        "{checked:?}"
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
    let mut pauses = Pauses(0x9e37_79b9_7f4a_7c15);
    for kill in 0..kills(200) {
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
        thread::sleep(pauses.next(60));
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
    check_store(folder.path());
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

/// Version of the documents that are added over REST; those of a paper are lower.
const REST_VERSION: usize = 1_000_000;

/// Replaces a paper by one with a version.
fn write_version(papers: &Path, version: usize) {
    let text = format!("# Tea\n\nVersion {version} of this paper.\n");
    fs::write(papers.join("new"), text).unwrap();
    fs::rename(papers.join("new"), papers.join("tea.md")).unwrap();
}

/// Annotates a paper of the folder with a question, and returns whether it was acknowledged.
fn annotate(client: &Client, number: usize) -> bool {
    let question = format!("Question {number}?");
    let fields = [
        ("document", "fixed.md"),
        ("chunk", "1"),
        ("start", "0"),
        ("span", "Lakes freeze."),
        ("question", &question),
    ];
    client
        .try_post_form("/annotations", &fields)
        .is_ok_and(|status| status == 303)
}

/// Numbers of the questions of all annotations, in the order of their ids.
fn annotated(client: &Client) -> Vec<usize> {
    let path = "/annotations/export/annotations.jsonl";
    let (status, lines) = client.request("GET", path, "").unwrap();
    assert_eq!(status, 200, "{lines}");
    let number = |line: &str| {
        let annotation: Value = serde_json::from_str(line).unwrap();
        let question = annotation["question"].as_str().unwrap();
        let number = question.split([' ', '?']).nth(1).unwrap();
        number.parse().unwrap()
    };
    lines.lines().map(number).collect()
}

/// Kills the server at random moments of annotations and readings of its folder, 40 times or
/// `IR_KILLS` times. Every acknowledged annotation is there, once; documents that were added over
/// REST are not changed by readings; and the next start answers from the current files.
#[test]
fn kills_lose_no_annotation_and_no_file() {
    let folder = TempDir::new().unwrap();
    let papers = folder.path().join("papers");
    fs::create_dir(&papers).unwrap();
    fs::write(papers.join("fixed.md"), "Lakes freeze.\n").unwrap();
    write_version(&papers, 0);
    let args = ["papers", "--data", "d"];
    let first = RunningServer::start(folder.path(), &args);
    let keys = first.keys.clone();
    let (status, body) = first.client.post("/v1/index/add", &group(REST_VERSION));
    assert_eq!(status, 200, "{body}");
    first.kill();
    // Annotations that were acknowledged, by number, and the last number that was sent.
    let (mut acknowledged, mut sent) = (Vec::new(), 0);
    let mut version = 0;
    let mut pauses = Pauses(0x2545_f491_4f6c_dd1d);
    for kill in 0..=kills(40) {
        let server = RunningServer::start_with_keys(folder.path(), &args, keys.clone());
        let client = server.client.clone();
        let stored = annotated(&client);
        let is_known = |number: &usize| acknowledged.contains(number);
        let unknown: Vec<usize> = stored.iter().copied().filter(|n| !is_known(n)).collect();
        assert_eq!(stored.len(), acknowledged.len() + unknown.len(), "{kill}");
        assert!(
            unknown.is_empty() || unknown == [sent],
            "{kill}: {unknown:?}"
        );
        acknowledged = stored;
        // A start publishes the changes of the folder, and additions over REST with them.
        let answers = versions(client.answers("version of this paper or text", 100).iter());
        let expected = BTreeMap::from([(version, 1), (REST_VERSION, GROUP)]);
        assert_eq!(answers, expected, "kill {kill}");

        let stop = Arc::new(AtomicBool::new(false));
        let writer = {
            let (stop, papers) = (Arc::clone(&stop), papers.clone());
            let (mut version, mut sent) = (version, sent);
            thread::spawn(move || {
                let mut acknowledged = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    sent += 1;
                    if !annotate(&client, sent) {
                        break;
                    }
                    acknowledged.push(sent);
                    version += 1;
                    write_version(&papers, version);
                    let rescan = client.try_post("/v1/index/rescan", &json!({}));
                    if !rescan.is_ok_and(|(status, _)| [200, 202, 409].contains(&status)) {
                        break;
                    }
                }
                (acknowledged, version, sent)
            })
        };
        thread::sleep(pauses.next(60));
        server.kill();
        stop.store(true, Ordering::Relaxed);
        let (more, last_version, last_sent) = writer.join().unwrap();
        acknowledged.extend(more);
        (version, sent) = (last_version, last_sent);
    }
    assert!(acknowledged.len() > 10, "{acknowledged:?}");
    check_store(folder.path());
}

/// The publication of a folder whose papers end the process, such as for lack of memory, is given
/// up after five starts: a start waits for it, and adds no other one.
#[test]
fn a_folder_that_ends_the_process_is_given_up() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("papers")).unwrap();
    let sentence = |n: usize| format!("Sentence {n} is on tea number {}. ", n * 7);
    let text: String = (0..120_000).map(sentence).collect();
    fs::write(folder.path().join("papers/long.txt"), text).unwrap();
    let args = ["papers", "--data", "d"];
    // A start that is killed before it begins the publication again is no attempt.
    for _ in 0..20 {
        let mut child = serve_command(folder.path(), &args).spawn().unwrap();
        let mut address = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut address).unwrap();
        let address = address.trim().trim_start_matches("http://");
        let client = Client::new(address.trim_end_matches('/').to_owned(), Default::default());
        let page = |path: &str| client.request("GET", path, "").unwrap().1;
        let mut is_given_up = false;
        wait_until(|| {
            let review = page("/review");
            is_given_up = review.contains(r#"status">failed<"#);
            let job = review.split(r#"href="/jobs/"#).nth(1);
            let job = job.and_then(|rest| rest.split('"').next());
            // Only a publication of this process has progress.
            let is_running = |id: &str| {
                page(&format!("/jobs/{id}")).contains(r#"aria-label="Progress" value=""#)
            };
            is_given_up || job.is_some_and(is_running)
        });
        child.kill().unwrap();
        child.wait().unwrap();
        if is_given_up {
            break;
        }
    }
    // The first start has printed the keys.
    let unknown = ("-".to_owned(), "-".to_owned());
    let server = RunningServer::start_with_keys(folder.path(), &args, unknown);
    assert!(server.client.request("GET", "/ready", "").unwrap().0 == 200);
    let (log, _) = server.stop();
    assert!(log.contains("ended the process several times"), "{log}");
}
