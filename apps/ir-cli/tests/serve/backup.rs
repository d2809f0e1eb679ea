//! `ir backup` of a data folder that is served.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;
use tempfile::TempDir;

use crate::server::{RunningServer, serve_command, wait_until};
use crate::{ANSWER, QUESTION};

/// Runs `ir backup FROM -o TO` in a folder, and returns success and standard error.
fn backup(folder: &Path, from: &str, to: &str) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ir"));
    let output = command
        .args(["backup", from, "-o", to])
        .current_dir(folder)
        .output()
        .unwrap();
    (
        output.status.success(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn a_served_folder_is_copied_and_restored() {
    let folder = TempDir::new().unwrap();
    let server = RunningServer::start(folder.path(), &["bundled", "--data", "d"]);
    let (keys, client) = (server.keys.clone(), server.client.clone());
    let is_stopped = AtomicBool::new(false);
    // Documents are added and published in pairs meanwhile.
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if is_stopped.load(Ordering::Relaxed) {
                    break;
                }
                let document = |name: &str| {
                    let text = format!("Zebra {n} of {name} eats grass.");
                    json!({"doc_type": "soco_doc", "meta": {"doc_id": format!("{name}{n}")},
                        "data": [{"type": "content", "text": text}]})
                };
                let body = json!({"data": [document("a"), document("b")], "auto_index": true});
                assert_eq!(client.post("/v1/index/add", &body).0, 200);
            }
        });
        for n in 0..3 {
            let (ok, log) = backup(folder.path(), "d", &format!("copies/{n}"));
            assert!(ok && log.contains("verified"), "{log}");
        }
        is_stopped.store(true, Ordering::Relaxed);
    });
    let (ok, log) = backup(folder.path(), "d", "copies/2");
    let expected = "copies/2: expected a new or an empty folder";
    assert!(!ok && log.contains(expected), "{log}");
    server.stop();
    for n in 0..3 {
        let (copy, restored) = (format!("copies/{n}"), format!("restored/{n}"));
        let (ok, log) = backup(folder.path(), &copy, &restored);
        assert!(ok, "{log}");
        let check = serve_command(folder.path(), &["--data", &restored, "--check"]);
        let check = { check }.output().unwrap();
        let printed = String::from_utf8(check.stdout).unwrap();
        assert!(printed.contains("intact"), "{printed}");
        let server =
            RunningServer::start_with_keys(folder.path(), &["--data", &restored], keys.clone());
        let client = &server.client;
        wait_until(|| {
            let (_, metrics) = client.request("GET", "/metrics", "").unwrap();
            metrics.lines().any(|line| line == "ir_jobs 0")
        });
        assert_eq!(client.answers(QUESTION, 1), [ANSWER]);
        // Both documents of an addition, or neither.
        let zebras = client.answers("zebra eats grass", 1_000);
        let of = |name: &str| zebras.iter().filter(|it| it.contains(name)).count();
        assert_eq!(of(" of a "), of(" of b "));
        server.stop();
    }
    assert_eq!(
        fs::read_dir(folder.path().join("copies")).unwrap().count(),
        3
    );
}
