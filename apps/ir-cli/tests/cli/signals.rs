//! Killed commands, and signals.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, tiny};
use crate::outputs::contents;

/// Returns `true` if a process of `/proc` ignores SIGHUP.
fn ignores_hangups(process: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap());
    ignored & 1 == 1
}

/// Signals and their exit codes. SIGHUP is left out if this process ignores it, as under nohup(1):
/// so do the commands that it starts.
fn exit_codes() -> Vec<(&'static str, i32)> {
    let mut signals = vec![("-INT", 130), ("-TERM", 143)];
    if !ignores_hangups("self") {
        signals.push(("-HUP", 129));
    }
    signals
}

/// A folder `tiny` with a pipe for queries, which blocks a search after it opened its output.
fn blocked() -> Folder {
    let here = Folder::new();
    tiny(&here);
    let queries = here.at("tiny/queries.jsonl");
    fs::remove_file(&queries).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(queries)
            .status()
            .unwrap()
            .success()
    );
    here
}

fn temporary_files(here: &Folder) -> Vec<PathBuf> {
    let files = here.files().into_iter();
    files
        .filter(|path| path.extension().is_some_and(|end| end == "tmp"))
        .collect()
}

/// Starts a blocked search and waits for its temporary file.
fn search(here: &Folder, program: &str, args: &[&str]) -> Child {
    let before = temporary_files(here).len();
    let child = Command::new(program)
        .args(args)
        .args(["search", "tiny", "-o", "run.trec"])
        .current_dir(here.path())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait(|| temporary_files(here).len() > before);
    child
}

pub(crate) fn wait(mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn send(child: &Child, signal: &str) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args([signal, &id]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn files_of_killed_commands_are_removed() {
    let here = blocked();
    let ir = env!("CARGO_BIN_EXE_ir");
    let mut killed = search(&here, ir, &[]);
    let mut running = search(&here, ir, &[]);
    let both = temporary_files(&here);
    assert_eq!(both.len(), 2);
    killed.kill().unwrap();
    killed.wait().unwrap();
    // Another destination.
    here.ir("search tiny tea -o other.trec").ok();
    assert_eq!(temporary_files(&here), both);
    // The same destination: the file of the running command stays.
    here.ir("search tiny tea -o run.trec").ok();
    let left = temporary_files(&here);
    assert_eq!(left.len(), 1);
    assert!(
        left[0]
            .display()
            .to_string()
            .contains(&running.id().to_string())
    );
    running.kill().unwrap();
    running.wait().unwrap();
    here.ir("search tiny tea -o run.trec").ok();
    assert!(temporary_files(&here).is_empty());
}

/// Commands end at the first signal, without an output.
#[test]
fn first_signal_removes_temporary_files() {
    for (signal, code) in exit_codes() {
        let here = Folder::new();
        let mut child = here
            .command(&["fuse", "-", "-o", "fused.trec"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The end of standard input would end the command, too.
        let stdin = child.stdin.take();
        wait(|| temporary_files(&here).len() == 1);
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        drop(stdin);
        assert!(here.files().is_empty(), "{signal}");
        // With progress, it waits for a pipe.
        let here = blocked();
        let before = contents(&here);
        let mut child = search(&here, env!("CARGO_BIN_EXE_ir"), &[]);
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        assert!(contents(&here) == before, "{signal}");
    }
}

/// nohup(1) makes a command ignore SIGHUP.
#[test]
fn ignored_hangups_stay_ignored() {
    if !std::path::Path::new("/proc/self/status").exists() {
        eprintln!("ignored_hangups_stay_ignored: skipped, no /proc");
        return;
    }
    let here = blocked();
    let shell = [
        "-c",
        "trap '' HUP; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_ir"),
    ];
    let mut child = search(&here, "sh", &shell);
    let is_ignored = ignores_hangups(&child.id().to_string());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_ignored, "the command handles SIGHUP");
}

/// The first signal stops a command in order; its work can be resumed.
#[cfg(feature = "dense")]
#[test]
fn first_signal_has_its_exit_code() {
    let model = crate::common::BERT;
    let line = |n: usize| format!("d{n}\ttea and a ship number {n}\n");
    for (signal, code) in exit_codes() {
        let here = Folder::new();
        here.write("many.tsv", (0..40_000).map(line).collect::<String>());
        let mut child = here
            .command(&["encode", model, "many.tsv", "-o", "v.ir", "--threads", "1"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait(|| here.at("v.ir.partial").exists());
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        assert!(!here.at("v.ir").exists());
    }
}
