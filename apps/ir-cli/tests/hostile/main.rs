//! The command `ir` with hostile input, and killed at random moments.
//!
//! Cases are generated from a seed. The gate runs a part of them; `CONTRIBUTING.md` has the
//! variables that run all, and one again.
#![cfg(unix)]
#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests; long ones say what they found"
)]

mod cases;
mod checks;
mod definition;
mod files;
#[cfg(feature = "dense")]
mod killed_updates;
#[cfg(feature = "dense")]
mod kills;
#[cfg(feature = "dense")]
#[path = "../common/many_texts.rs"]
mod many_texts;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::cases::Case;
use crate::definition::Subcommand;

/// A number from an environment variable.
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}: expected a number, found {text:?}")),
    )
}

/// The command `ir` in `folder`, without the caller's collections and models.
fn ir(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ir"));
    isolate(&mut command, folder);
    command
}

/// The folder of a small encoder.
#[cfg(feature = "dense")]
fn tiny_model() -> String {
    let tiny =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/ir-dense/testdata/tiny/bert");
    tiny.display().to_string()
}

/// Runs a command in `folder` without the caller's collections, models and network.
fn isolate(command: &mut Command, folder: &Path) {
    for name in ["IR_DATA", "HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env(name, "http://127.0.0.1:9");
    }
    command.current_dir(folder).env("HOME", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null());
}

/// All files below a folder, sorted by path, with their contents or the targets of links; `None`
/// for folders.
fn contents(folder: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let bytes = if let Ok(target) = fs::read_link(&path) {
                Some(target.into_os_string().into_encoded_bytes())
            } else if path.is_dir() {
                folders.push(path.clone());
                None
            } else {
                Some(fs::read(&path).unwrap())
            };
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

/// Generates and runs `IR_HOSTILE_CASES` cases (default: 200) of the seed `IR_HOSTILE_SEED`, or the
/// case `IR_HOSTILE_CASE` alone.
#[test]
fn hostile_inputs() {
    let seed = variable("IR_HOSTILE_SEED").unwrap_or(1);
    let (first, count) = match variable("IR_HOSTILE_CASE") {
        Some(number) => (number, 1),
        None => (0, variable("IR_HOSTILE_CASES").unwrap_or(200)),
    };
    let fixtures = files::Fixtures::create();
    let commands = definition::all();
    let next = AtomicU64::new(first);
    let failures = Mutex::new(Vec::new());
    let codes = Mutex::new(std::collections::BTreeMap::<String, u64>::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, Into::into) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= first + count {
                        break;
                    }
                    let case = Case::generate(seed, number, &commands, &fixtures);
                    let outcome = checks::run(&case, &fixtures);
                    let lock = codes.lock();
                    let mut codes = lock.unwrap_or_else(PoisonError::into_inner);
                    *codes.entry(outcome.summary).or_default() += 1;
                    let lock = failures.lock();
                    let mut failures = lock.unwrap_or_else(PoisonError::into_inner);
                    failures.extend(outcome.failure);
                }
            });
        }
    });
    eprintln!(
        "hostile_inputs: {count} cases of seed {seed}: {:?}",
        codes.into_inner().unwrap()
    );
    let failures = failures.into_inner().unwrap();
    let shown = failures.join("\n\n");
    assert!(
        failures.is_empty(),
        "{} of {count} cases failed:\n\n{shown}",
        failures.len()
    );
}

/// 2,000 cases use every option of every subcommand.
#[test]
fn every_option_is_generated() {
    let fixtures = files::Fixtures::create();
    let commands = definition::all();
    let name = |command: &Subcommand, option: &str| format!("{} {option}", command.name());
    let mut expected: Vec<String> = Vec::new();
    for command in &commands {
        expected.push(name(command, ""));
        expected.extend(
            command
                .options
                .iter()
                .map(|option| name(command, &option.name)),
        );
    }
    for number in 0..6000 {
        let case = Case::generate(1, number, &commands, &fixtures);
        expected.retain(|expected| {
            !case
                .option_names()
                .any(|option| name(case.command, option) == *expected)
                && name(case.command, "") != *expected
        });
    }
    assert!(expected.is_empty(), "{expected:?}");
    let options: usize = commands.iter().map(|command| command.options.len()).sum();
    // Guards the reader of help texts.
    assert!(
        commands.len() >= if cfg!(feature = "dense") { 24 } else { 20 } && options >= 250,
        "{} {options}",
        commands.len()
    );
}
