//! Runs a case and checks what must hold for every command line.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::cases::{Case, CommandLine};
use crate::files::Fixtures;
use crate::{contents, isolate, variable};

/// Maximum address space in KiB.
const MEMORY: u64 = 4 << 20;
/// Time after which a command must have reported progress, and must end in order when it is
/// interrupted.
const TIME: Duration = Duration::from_secs(10);

pub(crate) struct Outcome {
    /// Exit code, or what ended the command.
    pub(crate) summary: String,
    /// Command line and defect.
    pub(crate) failure: Option<String>,
}

/// Runs a case in a temporary folder, which remains after a failure.
pub(crate) fn run(case: &Case<'_>, fixtures: &Fixtures) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let [here, temporary, out, err] =
        ["here", "tmp", "out", "err"].map(|name| folder.path().join(name));
    fixtures.copy_to(&here);
    fs::create_dir(&temporary).unwrap();
    let line = case.create(&here);
    let before = contents(&here);
    let mut command = Command::new("sh");
    let limit = format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"");
    command
        .args(["-c", &limit, env!("CARGO_BIN_EXE_ir")])
        .args(&line.arguments);
    isolate(&mut command, &here);
    command.env("TMPDIR", &temporary);
    command
        .stdout(File::create(&out).unwrap())
        .stderr(File::create(&err).unwrap());
    if let Some(stdin) = &case.stdin {
        command.stdin(File::open(here.join(stdin)).unwrap());
    }
    let started = Instant::now();
    let (status, is_stopped) = wait(command.spawn().unwrap());
    let error = fs::read(&err).unwrap();
    let error = String::from_utf8_lossy(&error).into_owned();
    let code = status.and_then(|status| status.code());
    let mut defects = check_messages(case, &line, status, is_stopped, &error);
    let finished = code == Some(0) || error.contains("to resume");
    defects.extend(check_files(
        &before,
        &contents(&here),
        &line,
        finished,
        &here,
    ));
    let left = contents(&temporary);
    if !left.is_empty() {
        defects.push(format!("left in TMPDIR: {left:?}"));
    }
    if variable("IR_HOSTILE_VERBOSE").is_some() {
        let last: String = error
            .lines()
            .last()
            .unwrap_or_default()
            .chars()
            .take(300)
            .collect();
        eprintln!(
            "{} {code:?} {:.1?} ir {}\n    {last}",
            case.number,
            started.elapsed(),
            shown(&line)
        );
    }
    let summary = match (code, is_stopped) {
        (_, true) => "stopped".to_owned(),
        (Some(code), _) => code.to_string(),
        (None, _) => format!("{status:?}"),
    };
    let failure = (!defects.is_empty()).then(|| {
        let error: String = error.chars().take(2000).collect();
        format!(
            "{}\n  in {}: ir {}\n  again: IR_HOSTILE_SEED={} IR_HOSTILE_CASE={}\n  code {summary}, standard error:\n{error}",
            defects.join("\n"),
            folder.path().display(),
            shown(&line),
            case.seed,
            case.number
        )
    });
    if failure.is_some() {
        let _ = folder.keep();
    }
    Outcome { summary, failure }
}

/// Waits for the end. A command that takes longer is interrupted and must end in order.
/// Returns `None` for one that had to be killed, and whether it was interrupted.
fn wait(mut child: Child) -> (Option<ExitStatus>, bool) {
    let ended = |child: &mut Child, has_time: &dyn Fn(&Child, Duration) -> bool| {
        let started = Instant::now();
        loop {
            match child.try_wait().unwrap() {
                None if has_time(child, started.elapsed()) => {
                    sleep(Duration::from_millis(3));
                }
                status => return status,
            }
        }
    };
    if let Some(status) = ended(&mut child, &|child, time| {
        (used(child, time) < TIME || time < TIME) && time < 12 * TIME
    }) {
        return (Some(status), false);
    }
    let id = child.id().to_string();
    let _ = Command::new("kill").args(["-INT", &id]).status();
    let status = ended(&mut child, &|_, time| time < TIME / 2);
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    (status, true)
}

/// CPU time of a command, which does not depend on other processes (Linux; elsewhere wall time).
fn used(child: &Child, time: Duration) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    // After the name in parentheses; in hundredths of a second.
    let fields = stat.rsplit(')').next().unwrap_or_default().split(' ');
    let ticks: Vec<u64> = fields.skip(12).take(2).flat_map(str::parse).collect();
    match ticks[..] {
        [user, system] => Duration::from_millis(10 * (user + system)),
        _ => time,
    }
}

/// Whether a line is of the form `stage: 17 of 90...` or `stage: 17`.
fn is_progress(line: &str) -> bool {
    let Some((stage, rest)) = line.split_once(": ") else {
        return false;
    };
    let end = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_count = end.len() < rest.len() && (end.is_empty() || end.starts_with(" of "));
    is_count && !matches!(stage, "warning" | "error")
}

#[test]
fn progress_lines() {
    for line in ["training: 30 of 90, 0.25/s, 4 min left", "documents: 7"] {
        assert!(is_progress(line), "{line}");
    }
    for line in [
        "warning: 87 of 88 queries",
        "error: 5",
        "x: ",
        "x: 5 y",
        "x",
    ] {
        assert!(!is_progress(line), "{line}");
    }
}

fn check_messages(
    case: &Case<'_>,
    line: &CommandLine,
    status: Option<ExitStatus>,
    is_stopped: bool,
    error: &str,
) -> Vec<String> {
    let mut defects = Vec::new();
    let mut expect = |holds: bool, what: &str| {
        if !holds {
            defects.push(what.to_owned());
        }
    };
    let code = status.and_then(|status| status.code());
    let lines: Vec<&str> = error.lines().collect();
    let errors = lines
        .iter()
        .filter(|line| line.starts_with("error: "))
        .count();
    expect(status.is_some(), "no end within 5 s of SIGINT");
    expect(
        status.and_then(|status| status.signal()).is_none(),
        "ended by a signal",
    );
    expect(!error.contains("panicked"), "panic");
    expect(
        !error.contains(|c: char| c.is_control() && c != '\n' && c != '\t'),
        "control characters in messages",
    );
    if is_stopped {
        let is_orderly = lines
            .last()
            .is_some_and(|line| line.starts_with("error: interrupted"));
        expect(
            code == Some(130) && is_orderly,
            "cannot be interrupted after 10 s",
        );
        let is_quiet = line.arguments.iter().any(|argument| argument == "--quiet");
        let has_progress = lines.iter().any(|line| is_progress(line));
        expect(is_quiet || has_progress, "no progress within 10 s");
        return defects;
    }
    expect(matches!(code, Some(0..=2)), "exit code");
    let has_usage = error.contains("\nUsage: ir");
    match code {
        Some(0) => expect(errors == 0, "an error, but exit code 0"),
        Some(1) if case.command.path == ["diff"] => {
            expect(errors == 0, "an error, but exit code 1")
        }
        _ if has_usage => expect(code == Some(2), "usage, but not exit code 2"),
        _ => expect(
            errors == 1 && lines.last().is_some_and(|line| line.starts_with("error: ")),
            "not one line of error",
        ),
    }
    expect(
        lines.iter().all(|line| line.chars().count() < 2500),
        "a line of more than 2500 characters",
    );
    expect(has_usage || lines.len() <= 12, "more than 12 lines");
    defects
}

type Contents = [(PathBuf, Option<Vec<u8>>)];

/// Describes files that changed or appeared, other than the outputs of a finished command.
fn check_files(
    before: &Contents,
    after: &Contents,
    line: &CommandLine,
    finished: bool,
    here: &Path,
) -> Vec<String> {
    let name = |path: &Path| {
        path.strip_prefix(here)
            .unwrap_or(path)
            .display()
            .to_string()
    };
    let is_of = |path: &Path, output: &Path| {
        // Unfinished work and checkpoints: `OUTPUT.partial`, ...
        let is_beside = name(path).starts_with(&format!("{}.", name(output)));
        is_beside || path.starts_with(output) || output.starts_with(path)
    };
    let is_output = |path: &Path| {
        let mut outputs = line.outputs.iter().filter(|_| finished).chain(&line.caches);
        outputs.any(|output| is_of(path, output))
    };
    // A folder that exists receives new files; those that it had stay.
    let may_change = |path: &Path| {
        let mut folders = line.outputs.iter().filter(|output| output.is_dir());
        is_output(path) && !folders.any(|folder| path.starts_with(folder))
    };
    let find = |all: &Contents, path: &Path| {
        all.binary_search_by(|found| found.0.as_path().cmp(path))
            .ok()
    };
    let changed = before
        .iter()
        .filter_map(|(path, content)| match find(after, path) {
            None => Some(format!("removed: {}", path.display())),
            Some(at) if after[at].1 != *content && !may_change(path) => {
                Some(format!("changed: {}", path.display()))
            }
            _ => None,
        });
    let new = after.iter().filter_map(|(path, _)| {
        let is_left = find(before, path).is_none() && !is_output(path);
        is_left.then(|| format!("left: {}", path.display()))
    });
    changed.chain(new).collect()
}

/// The arguments as a shell reads them.
fn shown(line: &CommandLine) -> String {
    let arguments = line.arguments.iter().map(|argument| {
        let text = format!("{argument:?}");
        let plain = text.trim_matches('"');
        let is_plain = !plain.is_empty()
            && plain
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_=./,:".contains(&b));
        let text = if is_plain { plain.to_owned() } else { text };
        text.chars().take(200).collect::<String>()
    });
    arguments.collect::<Vec<_>>().join(" ")
}
