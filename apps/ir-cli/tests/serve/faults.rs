//! Full disks, limits on the size of files, and damaged stores.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{Client, Keys, RunningServer, serve_command, wait_until};

/// Mounts a file system of 14 MiB in a namespace of its own, and fills more than a half of it.
/// After the disk was full, SQLite needs as much space as its write-ahead log has.
const SMALL_DISK: &str = "mount -t tmpfs -o size=14m tmpfs disk &&
    head -c 8000000 /dev/zero > disk/ballast && exec \"$@\"";

/// `ir serve` on a small disk; `None` if this machine permits no mounts.
fn on_small_disk(folder: &Path) -> Option<Command> {
    fs::create_dir(folder.join("disk")).unwrap();
    let unshare = |flags: &[&str]| {
        let mut command = Command::new("unshare");
        command
            .args(flags)
            .args(["sh", "-c", SMALL_DISK, "sh"])
            .current_dir(folder)
            .stderr(Stdio::null());
        command
    };
    let ways = [
        &["--mount"][..],
        &["--user", "--map-root-user", "--mount"][..],
    ];
    let way = ways.into_iter().find(|flags| {
        let tried = unshare(flags).arg("true").status();
        tried.is_ok_and(|status| status.success())
    })?;
    Some(within(unshare(way), folder))
}

/// Appends `ir serve` to a command that executes its arguments.
fn within(mut command: Command, folder: &Path) -> Command {
    let serve = serve_command(folder, &["--data", "disk/d"]);
    command
        .arg(serve.get_program())
        .args(serve.get_args())
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A document of about 100 kB.
fn document(number: usize) -> Value {
    let sentence = |n: usize| format!("Sentence {n} of document {number} is about tea. ");
    json!({"data": [{
        "doc_type": "soco_doc",
        "meta": {"doc_id": format!("d{number:03}")},
        "data": [{"type": "content", "text": (0..2_500).map(sentence).collect::<String>()}],
    }]})
}

/// Adds documents until the disk is full, and returns the number of those that were acknowledged.
fn fill(client: &Client) -> usize {
    for number in 0..200 {
        let (status, body) = client.post("/v1/index/add", &document(number));
        if status != 200 {
            assert_eq!((status, &body["error"]["code"]), (507, &json!("disk_full")));
            let message = body["error"]["message"].as_str().unwrap();
            assert!(message.contains("nothing was changed"), "{message}");
            return number;
        }
    }
    panic!("the disk is not full");
}

fn ids(client: &Client) -> Vec<String> {
    let (status, body) = client.post("/v1/index/read", &json!({"limit": 1000}));
    assert_eq!(status, 200, "{body}");
    let documents = body.as_array().unwrap().iter();
    let ids = documents.map(|document| document["meta"]["doc_id"].as_str().unwrap().to_owned());
    ids.collect()
}

fn expected_ids(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("d{number:03}")).collect()
}

/// The server with a full disk: what was acknowledged is there, queries are answered, and jobs end.
fn check_full(client: &Client, acknowledged: usize) {
    assert!(acknowledged > 2, "{acknowledged}");
    assert_eq!(ids(client), expected_ids(acknowledged));
    for _ in 0..3 {
        assert_eq!(client.answers("sentence 7 of document 0", 1).len(), 1);
        // What fails changes nothing.
        let (status, body) = client.post("/v1/index/add", &document(900));
        assert_eq!(status, 507, "{body}");
        let (status, body) = client.post("/v1/index/publish", &json!({}));
        match status {
            200 => {
                let ended = client.end_of(body["op_id"].as_str().unwrap());
                let status = ended["status"].as_str().unwrap();
                assert!(["finished", "failed"].contains(&status), "{ended}");
            }
            _ => assert_eq!(status, 507, "{body}"),
        }
        assert_eq!(client.request("GET", "/health", "").unwrap().0, 200);
    }
    assert_eq!(ids(client), expected_ids(acknowledged));
}

/// Adds and publishes a document, after there is space again.
fn check_free(client: &Client, acknowledged: usize) {
    let (status, body) = client.post("/v1/index/add", &document(acknowledged));
    assert_eq!(status, 200, "{body}");
    assert_eq!(ids(client), expected_ids(acknowledged + 1));
    let (status, body) = client.post("/v1/index/publish", &json!({}));
    assert_eq!(status, 200, "{body}");
    client.wait(body["op_id"].as_str().unwrap());
    let answers = client.answers(&format!("document {acknowledged}"), 1);
    assert!(
        answers[0].contains(&format!("document {acknowledged} ")),
        "{answers:?}"
    );
}

fn publish_first(client: &Client) {
    let (status, body) = client.post("/v1/index/add", &document(0));
    assert_eq!(status, 200, "{body}");
    let (_, body) = client.post("/v1/index/publish", &json!({}));
    client.wait(body["op_id"].as_str().unwrap());
}

#[test]
fn a_full_disk_is_reported_and_survived() {
    let folder = TempDir::new().unwrap();
    let Some(command) = on_small_disk(folder.path()) else {
        eprintln!("SKIPPED: no file system can be mounted (needs root or user namespaces)");
        return;
    };
    let server = RunningServer::start_command(command, Default::default());
    let client = server.client.clone();
    publish_first(&client);
    let acknowledged = fill(&client);
    check_full(&client, acknowledged);
    // The file system is visible to the server only.
    let folder = folder.path().canonicalize().unwrap();
    let root = PathBuf::from(format!("/proc/{}/root", server.id()));
    let ballast = root
        .join(folder.strip_prefix("/").unwrap())
        .join("disk/ballast");
    fs::remove_file(ballast).unwrap();
    check_free(&client, acknowledged);
    let (log, _) = server.stop();
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn a_limit_on_the_size_of_files_is_reported_and_survived() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("disk")).unwrap();
    let mut limited = Command::new("sh");
    // Blocks of 512 or 1,024 bytes, depending on the shell.
    let script = "trap '' XFSZ; ulimit -f 5000 && exec \"$@\"";
    limited.args(["-c", script, "sh"]);
    let server = RunningServer::start_command(within(limited, folder.path()), Default::default());
    let keys = server.keys.clone();
    publish_first(&server.client);
    let acknowledged = fill(&server.client);
    check_full(&server.client, acknowledged);
    let (log, _) = server.stop();
    assert!(!log.contains("panicked"), "{log}");
    // Without the limit, the store has what was acknowledged.
    let args = ["--data", "disk/d"];
    let server = RunningServer::start_with_keys(folder.path(), &args, keys);
    check_free(&server.client, acknowledged);
    server.stop();
    let checked = serve_command(folder.path(), &["--data", "disk/d", "--check"]).output();
    assert!(checked.unwrap().status.success());
}

/// Writes a paper of about 1 MB.
fn write_large_paper(papers: &Path) {
    let sentence = |n: usize| format!("Sentence {n} of the large paper is about coffee.\n\n");
    let text = (0..20_000).map(sentence).collect::<String>();
    fs::write(papers.join("large.md"), format!("# Large\n\n{text}")).unwrap();
}

/// A folder whose papers were published, the folder of its papers, and the keys.
fn published_folder() -> (TempDir, PathBuf, Keys) {
    let folder = TempDir::new().unwrap();
    let papers = folder.path().join("papers");
    fs::create_dir(&papers).unwrap();
    fs::write(papers.join("tea.md"), "# Tea\n\nTea comes from Asia.\n").unwrap();
    let server = RunningServer::start(folder.path(), &["papers", "--data", "d"]);
    let keys = server.keys.clone();
    server.stop();
    (folder, papers, keys)
}

/// Publishes, and checks that the large paper is found.
fn check_repaired(server: RunningServer) {
    let (status, body) = server.client.post("/v1/index/publish", &json!({}));
    assert_eq!(status, 200, "{body}");
    server.client.wait(body["op_id"].as_str().unwrap());
    let answers = server.client.answers("coffee in sentence 77", 1);
    assert_eq!(answers, ["Sentence 77 of the large paper is about coffee."]);
    server.stop();
}

#[test]
fn an_aborted_first_publication_leaves_the_published_papers() {
    // Aborts until a publication was aborted.
    let abort = |client: &Client| {
        wait_until(|| client.post("/v1/index/abort", &json!({})).1["aborted"] != json!([]));
    };
    let warning = "warning: publication aborted; what was published before is served";
    let (folder, papers, keys) = published_folder();
    write_large_paper(&papers);
    let command = serve_command(folder.path(), &["papers", "--data", "d"]);
    let server = RunningServer::start_during(command, keys.clone(), abort);
    assert_eq!(
        server.client.answers("tea coffee", 5),
        ["Tea comes from Asia."]
    );
    let (log, _) = server.stop();
    assert!(log.contains(warning), "{log}");

    // Nothing was published before.
    let command = serve_command(folder.path(), &["papers", "--data", "new"]);
    let server = RunningServer::start_during(command, Default::default(), abort);
    assert!(server.client.answers("tea coffee", 5).is_empty());
    check_repaired(server);
}

#[test]
fn a_full_disk_at_the_start_leaves_the_published_papers() {
    let (folder, papers, keys) = published_folder();
    write_large_paper(&papers);
    let bytes = fs::metadata(folder.path().join("d/store.sqlite"))
        .unwrap()
        .len();
    let serve = serve_command(folder.path(), &["papers", "--data", "d"]);
    let mut limited = Command::new("sh");
    // Blocks of 512 or 1,024 bytes, depending on the shell.
    let script = format!(
        "trap '' XFSZ; ulimit -f {} && exec \"$@\"",
        bytes / 512 + 64
    );
    limited
        .args(["-c", &script, "sh"])
        .arg(serve.get_program())
        .args(serve.get_args())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let server = RunningServer::start_command(limited, keys.clone());
    assert_eq!(
        server.client.answers("tea coffee", 5),
        ["Tea comes from Asia."]
    );
    // The error of the reading is its state.
    let (status, body) = server
        .client
        .request("GET", "/v1/index/rescan", "")
        .unwrap();
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status, 200, "{body}");
    let error = body["error"].as_str().unwrap();
    assert!(error.starts_with("store: "), "{error}");
    let (log, _) = server.stop();
    let warning = format!("warning: papers not read: {error}; what was published before is served");
    assert!(log.contains(&warning), "{log}");
    assert!(!log.contains("panicked"), "{log}");
    // Without the limit, the papers are read.
    let server = RunningServer::start_with_keys(folder.path(), &["papers", "--data", "d"], keys);
    check_repaired(server);
}

/// Runs `ir serve` to its end, for at most a minute.
fn ended(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut child = serve_command(folder, args).spawn().unwrap();
    let start = Instant::now();
    // Its output is short and fits the pipes.
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            panic!("{args:?}: did not end: {output:?}");
        }
        thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn damaged_stores_end_the_server() {
    let folder = TempDir::new().unwrap();
    let here = folder.path();
    let server = RunningServer::start(here, &["bundled", "--data", "d"]);
    // A store in use is neither intact nor damaged.
    let (code, out, error) = ended(here, &["--data", "d", "--check"]);
    assert_eq!((code, &*out), (Some(1), ""), "{error}");
    assert!(
        error.contains("d: not checked: in use by another server"),
        "{error}"
    );
    server.stop();
    let (code, out, error) = ended(here, &["--data", "d", "--check"]);
    assert_eq!(code, Some(0), "{error}");
    assert_eq!(out, "d: intact; 20 records of documents, 0 vectors\n");

    let file = here.join("d/store.sqlite");
    let intact = fs::read(&file).unwrap();
    let pages = intact.len() / 4096;
    for page in [pages / 3, pages / 2, pages - 1] {
        let mut damaged = intact.clone();
        damaged[page * 4096] ^= 0xff;
        fs::write(&file, damaged).unwrap();
        let expected = "restore it from a copy";
        let marker = here.join("d/damaged");
        for (args, is_marked) in [
            // Ends after the start, and then before it.
            (&["--data", "d"][..], false),
            (&["bundled", "--data", "d"], true),
            (&["--data", "d", "--check"], true),
            (&["--data", "d", "--check"], false),
            (&["--data", "d"], true),
        ] {
            if !is_marked {
                let _ = fs::remove_file(&marker);
            }
            let (code, _, error) = ended(here, args);
            assert_eq!(code, Some(1), "page {page} {args:?} {error}");
            assert!(error.contains(expected), "page {page} {args:?} {error}");
            let is_check = args.contains(&"--check");
            assert!(!is_check || marker.exists(), "page {page} {args:?}");
        }
        fs::write(&file, &intact).unwrap();
        RunningServer::start(here, &["--data", "d", "--new-keys"]).stop();
    }
    let (code, _, error) = ended(here, &["--data", "elsewhere", "--check"]);
    assert_eq!(code, Some(1));
    assert!(
        error.contains("elsewhere: expected a data folder"),
        "{error}"
    );
}
