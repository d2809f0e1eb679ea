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

/// Waits for a condition. The limit is for commands that hang, not for a machine that is busy.
#[track_caller]
pub(crate) fn wait(mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(300));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Number of bytes that a process has read of a file that is open; 0 if it is not.
#[cfg(target_os = "linux")]
pub(crate) fn bytes_read(child: &Child, name: &str) -> u64 {
    let process = format!("/proc/{}", child.id());
    let position = |descriptor: fs::DirEntry| -> Option<u64> {
        let is_open = fs::read_link(descriptor.path()).ok()?.ends_with(name);
        let number = descriptor.file_name().into_string().ok()?;
        let info = fs::read_to_string(format!("{process}/fdinfo/{number}")).ok()?;
        let position = info.lines().find_map(|line| line.strip_prefix("pos:"));
        position.filter(|_| is_open)?.trim().parse().ok()
    };
    let descriptors = fs::read_dir(format!("{process}/fd")).into_iter();
    let positions = descriptors.flatten().flatten().filter_map(position);
    positions.max().unwrap_or(0)
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
        here.write("many.tsv", (0..20_000).map(line).collect::<String>());
        let mut child = here
            .command(&["encode", model, "many.tsv", "-o", "v.ir", "--threads", "1"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait(|| {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "{signal}: {ended:?}");
            here.at("v.ir.partial").exists()
        });
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        assert!(!here.at("v.ir").exists());
    }
}

/// Killed after any entry of the cache, the next start has the same result.
#[test]
fn killed_runs_resume() {
    let here = Folder::new();
    let experiment = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../experiments/bundled.toml"
    );
    let expected = here.ir(&["run", experiment, "--cache", "whole"]).ok().out;
    let entries = |cache: &str| {
        let stages = ["index", "run"].map(|stage| fs::read_dir(here.at(cache).join(stage)));
        let files = stages.into_iter().flatten().flatten().flatten();
        let is_entry = |file: &fs::DirEntry| file.path().extension().is_some_and(|it| it == "ir");
        files.filter(is_entry).count()
    };
    let all = entries("whole");
    assert!(all > 10, "{all}");
    // Number of commands that were killed after some entries and before others.
    let mut killed = 0;
    for attempt in 0..40 {
        let before = entries("killed");
        let mut command = here.command(&["run", experiment, "--cache", "killed"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // The first one has no time for an entry.
        while attempt > 0 && child.try_wait().unwrap().is_none() && entries("killed") == before {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = child.kill();
        child.wait().unwrap();
        if (1..all).contains(&entries("killed")) {
            killed += 1;
        }
        if killed == 5 {
            break;
        }
        // A command that ended before it was killed, on a machine that is busy.
        if entries("killed") == all {
            fs::remove_dir_all(here.at("killed")).unwrap();
        }
    }
    assert!(killed > 0, "every command ended before it was killed");
    let last = here.ir(&["run", experiment, "--cache", "killed"]).ok();
    assert_eq!(last.out, expected);
    assert_eq!(last.err, "");
}
