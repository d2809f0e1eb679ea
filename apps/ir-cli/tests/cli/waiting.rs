//! Commands that wait for a pipe when a signal arrives: the first signal ends them.
//!
//! `/proc` shows that a command waits.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::common::{Folder, QRELS, RUN, tiny, words};
use crate::outputs::contents;
use crate::signals::{send, wait};

/// Signals and their exit codes.
const SIGNALS: [(&str, u64, i32); 2] = [("-INT", 2, 130), ("-TERM", 15, 143)];

/// State and CPU time of a process, in clock ticks; `None` if one of its threads runs.
fn idle_ticks(child: &Child) -> Option<u64> {
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).ok()?;
    let mut ticks = 0;
    for thread in threads {
        let stat = fs::read_to_string(thread.ok()?.path().join("stat")).ok()?;
        let (_, fields) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        if fields[0] != "S" {
            return None;
        }
        ticks += fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?;
    }
    Some(ticks)
}

fn handles(child: &Child, signal: u64) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    mask.is_some_and(|mask| {
        let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
        mask >> (signal - 1) & 1 == 1
    })
}

/// Waits until a process handles the signal and has not run for 20 looks.
#[track_caller]
pub(crate) fn wait_until_blocked(child: &mut Child, signal: u64, line: &str) {
    let (mut looks, mut known) = (0, None);
    wait(|| {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "{line}: {ended:?}");
        let ticks = idle_ticks(child).filter(|_| handles(child, signal));
        looks = if ticks.is_some() && ticks == known {
            looks + 1
        } else {
            0
        };
        known = ticks;
        looks >= 20
    });
}

fn wait_for_end(child: &mut Child) -> ExitStatus {
    let mut status = None;
    wait(|| {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

/// Collection, index, judgments, runs, pipes, and large inputs.
fn inputs() -> Folder {
    let here = Folder::new();
    tiny(&here);
    here.ir("index tiny -o tiny.ir").ok();
    here.write("qrels", QRELS);
    here.write("run", RUN);
    let line = |number: usize| format!("q{number}\ttea ship {number}\n");
    here.write("many.tsv", (0..20_000).map(line).collect::<String>());
    let text = "tea ship ".repeat(100);
    let record = |number: usize| format!("{{\"id\": \"{number}\", \"text\": \"{text}\"}}\n");
    here.write("many.jsonl", (0..1000).map(record).collect::<String>());
    for pipe in ["in.fifo", "out.fifo"] {
        let made = Command::new("mkfifo").arg(here.at(pipe)).status();
        assert!(made.unwrap().success());
    }
    here
}

/// Commands, with the file on standard input; `-` is a pipe that stays open and empty. Nobody reads
/// standard output.
fn commands() -> Vec<(&'static str, String)> {
    let mut commands = vec![
        // Standard input stays open.
        ("-", "search tiny --queries - -o run.trec"),
        ("-", "eval qrels -"),
        ("-", "run /dev/stdin"),
        ("-", "mine tiny --split test --run - -o hard.jsonl"),
        ("-", "ask bundled --questions -"),
        ("-", "worker tokenize"),
        ("-", "worker search tiny.ir"),
        ("-", "fuse - -o fused"),
        // Nobody writes.
        ("/dev/null", "search tiny --queries in.fifo -o run.trec"),
        ("/dev/null", "index -o new.ir --delete in.fifo"),
        ("/dev/null", "eval qrels in.fifo"),
        ("/dev/null", "eval in.fifo run"),
        ("/dev/null", "run in.fifo"),
        ("/dev/null", "mine tiny --examples in.fifo -o hard.jsonl"),
        ("/dev/null", "ask bundled --questions in.fifo"),
        ("/dev/null", "compare qrels run in.fifo"),
        // Nobody reads.
        ("/dev/null", "search tiny tea -o out.fifo"),
        ("/dev/null", "mine tiny --split test -o out.fifo"),
        ("/dev/null", "fuse run -o out.fifo"),
        ("/dev/null", "search tiny --queries many.tsv"),
        ("many.jsonl", "worker tokenize"),
    ];
    if cfg!(feature = "dense") {
        commands.push(("-", "encode BERT --queries - -o v.npy"));
        commands.push(("-", "worker encode BERT"));
    }
    let model = |line: &str| line.replace("BERT", crate::common::BERT);
    commands
        .into_iter()
        .map(|(input, line)| (input, model(line)))
        .collect()
}

#[test]
fn first_signal_ends_commands_that_wait() {
    for (signal, number, code) in SIGNALS {
        let here = inputs();
        let before = contents(&here);
        let start = |(input, line): (&str, String)| {
            let stdin = match input {
                "-" => Stdio::piped(),
                file => File::open(here.at(file)).unwrap().into(),
            };
            let mut command = here.command(&words(&line));
            command
                .stdin(stdin)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            (line, command.spawn().unwrap())
        };
        let mut started: Vec<_> = commands().into_iter().map(start).collect();
        for (line, child) in &mut started {
            wait_until_blocked(child, number, line);
            send(child, signal);
        }
        for (line, child) in &mut started {
            let status = wait_for_end(child);
            let mut error = String::new();
            child
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut error)
                .unwrap();
            assert_eq!(status.code(), Some(code), "{signal} {line}: {error}");
            let last = error.lines().last().unwrap_or_default();
            assert!(
                last.starts_with("error: interrupted"),
                "{signal} {line}: {error}"
            );
        }
        assert!(contents(&here) == before, "{signal}: a file changed");
    }
}

/// A worker says how many records it has written, at the end and after an error or a signal.
#[test]
fn workers_say_what_they_wrote() {
    let here = Folder::new();
    let record = "{\"id\": \"a\", \"text\": \"green tea\"}\n";
    for (count, expected) in [
        (0, "0 records written\n"),
        (1, "1 record written\n"),
        (1200, "1,200 records written\n"),
    ] {
        let ran = here.ir_with("worker tokenize", &record.repeat(count)).ok();
        assert_eq!(
            (ran.err.as_str(), ran.out.lines().count()),
            (expected, count)
        );
    }
    let quiet = here.ir_with("worker tokenize --quiet", record).ok();
    assert_eq!(quiet.err, "");
    // Records are written in batches.
    let ran = here.ir_with("worker tokenize", &format!("{}{{}}\n", record.repeat(3000)));
    let written = ran.out.lines().count();
    assert!(ran.code == 1 && written > 0, "{}", ran.err);
    let written = written.to_string();
    let warning = ran.err.replace(',', "");
    let expected = format!("warning: the output is incomplete: {written} records written\nerror: ");
    assert!(warning.starts_with(&expected), "{}", ran.err);

    // The reader of the output takes all records of the first batch, then none.
    for (signal, number, code) in SIGNALS {
        let mut child = here
            .command(&["worker", "tokenize"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, record.repeat(200).as_bytes()).unwrap();
        wait_until_blocked(&mut child, number, "worker");
        send(&child, signal);
        let status = wait_for_end(&mut child);
        let ended = child.wait_with_output().unwrap();
        let error = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(status.code(), Some(code), "{error}");
        let written = String::from_utf8(ended.stdout).unwrap().lines().count();
        assert_eq!(
            error,
            format!("error: interrupted; {written} records written\n")
        );
        assert_eq!(written, 128);
    }
}

/// A command that nobody listens to: standard error is a full pipe, too.
#[test]
fn blocked_messages_do_not_delay_the_end() {
    let here = inputs();
    let (_reader, writer) = std::io::pipe().unwrap();
    let mut filler = writer.try_clone().unwrap();
    // 64 KiB, the capacity of a pipe.
    std::io::Write::write_all(&mut filler, &[b'\n'; 1 << 16]).unwrap();
    let mut child = here
        .command(&["eval", "qrels", "in.fifo"])
        .stdin(Stdio::null())
        .stderr(writer)
        .spawn()
        .unwrap();
    wait_until_blocked(&mut child, 15, "eval");
    send(&child, "-TERM");
    assert_eq!(wait_for_end(&mut child).code(), Some(143));
}
