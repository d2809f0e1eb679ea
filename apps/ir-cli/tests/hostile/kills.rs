//! `ir index`, `ir encode`, `ir train`, `ir train-reranker` and `ir train-reader`, killed at random
//! moments and run again.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ir_core::SplitMix64;

use crate::many_texts::many_texts;
use crate::{contents, ir, tiny_model, variable};

/// Kills `IR_KILLS` commands (default: 10) at random moments. After up to three kills, the command
/// runs to its end: the folder then has the same files with the same bytes as after an undisturbed
/// run.
fn kill(name: &str, prepare: impl Fn(&Path), lines: &[&str]) {
    let count = variable("IR_KILLS").unwrap_or(10);
    let mut random = SplitMix64::from_name(variable("IR_HOSTILE_SEED").unwrap_or(1), name);
    let mut killed = 0;
    let mut left = std::collections::BTreeMap::new();
    for (number, line) in lines.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        let finish = || {
            let output = ir(here)
                .args(line.split(' '))
                .stderr(Stdio::piped())
                .output()
                .unwrap();
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{name}: {line}: {error}");
        };
        prepare(here);
        let inputs = contents(here);
        let started = Instant::now();
        finish();
        let time = started.elapsed();
        let expected = contents(here);
        let outputs = || expected.iter().filter(|file| !inputs.contains(file));
        // On a machine that has become faster, most commands end before they are killed.
        let mut attempts = 0;
        while attempts < 20 * count && killed < count * (number as u64 + 1) / lines.len() as u64 {
            for _ in 0..=random.below(3) {
                // Half of them near the end, where files are renamed and removed.
                attempts += 1;
                killed += u64::from(kill_once(here, line, time, &mut random));
                for (path, bytes) in contents(here) {
                    let relative = path.strip_prefix(here).unwrap().display().to_string();
                    let whole = outputs().find(|output| output.0 == path);
                    // The history of a training is appended to while it runs.
                    let grows = path.ends_with("history.csv");
                    let is_prefix = |whole: &Option<Vec<u8>>| match (whole, &bytes) {
                        (Some(whole), Some(found)) => grows && whole.starts_with(found),
                        _ => false,
                    };
                    assert!(
                        whole.is_none_or(|whole| whole.1 == bytes || is_prefix(&whole.1)),
                        "{name}: incomplete {relative}"
                    );
                    if whole.is_none() && !inputs.iter().any(|input| input.0 == path) {
                        *left.entry(digits_removed(&relative)).or_insert(0) += 1;
                    }
                }
                // A finished `ir train` does not replace its folder. Its last steps delete the
                // record and the folder that it was in.
                if !here.join("tuned.checkpoints/completed.json").exists() {
                    let _ = fs::remove_dir_all(here.join("tuned"));
                }
            }
            finish();
            let found = contents(here);
            let names = || found.iter().map(|file| &file.0).collect::<Vec<_>>();
            assert!(found == expected, "{name}: {line}: {:?}", names());
            for (path, _) in outputs() {
                let _ = fs::remove_file(path);
            }
            let _ = fs::remove_dir_all(here.join("tuned"));
        }
        eprintln!(
            "{name}: {killed} kills, {:.1} s undisturbed: {line}",
            Duration::as_secs_f64(&time)
        );
    }
    eprintln!("{name}: files found after kills: {left:?}");
    assert!(killed > 0 || count == 0, "{name}: no command was killed");
}

/// Runs a command, which takes `time`, and kills it at a random moment. Half of these are near the
/// end, where files are renamed and removed. Returns `true` if the command had not ended before.
pub(crate) fn kill_once(here: &Path, line: &str, time: Duration, random: &mut SplitMix64) -> bool {
    let moment = match random.below(2) {
        0 => random.below(1100),
        _ => 800 + random.below(300),
    };
    let mut child = ir(here)
        .args(line.split(' '))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(time.mul_f64(moment as f64 / 1000.0));
    child.kill().unwrap();
    child.wait().unwrap().signal() == Some(9)
}

fn digits_removed(name: &str) -> String {
    let mut text = name.replace(|c: char| c.is_ascii_digit(), "0");
    while text.contains("00") {
        text = text.replace("00", "0");
    }
    text
}

#[test]
fn killed_index() {
    let index = "index many.tsv -o index.ir --threads 1";
    kill(
        "index",
        |here| fs::write(here.join("many.tsv"), many_texts(20_000)).unwrap(),
        &[index, &format!("{index} --memory 1MB")],
    );
}

#[test]
fn killed_encode() {
    let encode = format!("encode {} many.tsv --threads 1", tiny_model());
    let lines = [
        "-o vectors.ir --ids ids.txt",
        "-o vectors.npy --ids ids.txt.gz",
    ];
    let lines = lines.map(|outputs| format!("{encode} {outputs}"));
    kill(
        "encode",
        |here| fs::write(here.join("many.tsv"), many_texts(6_000)).unwrap(),
        &lines.each_ref().map(String::as_str),
    );
}

/// Writes training examples of the bundled collection.
fn mine(here: &Path) {
    let mined = ir(here)
        .args(["mine", "bundled", "-o", "examples.jsonl", "--quiet"])
        .status();
    assert!(mined.unwrap().success());
}

#[test]
fn killed_train() {
    let train = format!(
        "train {} examples.jsonl -o tuned --threads 1 --epochs 1 --batch 8 --negatives 1 --checkpoint-every 2 --history history.csv",
        tiny_model()
    );
    let evaluated =
        format!("{train} --dev bundled --dev-split test --evaluate-every 3 --curves curves.svg");
    kill("train", mine, &[&train, &evaluated]);
}

#[test]
fn killed_train_late_interaction() {
    let train = format!(
        "train {} examples.jsonl -o tuned --late-interaction --dim 8 --threads 1 --epochs 1 --batch 8 --negatives 1 --document-tokens 16 --checkpoint-every 2 --history history.csv",
        tiny_model()
    );
    let evaluated =
        format!("{train} --dev bundled --dev-split test --candidates 5 --evaluate-every 3");
    kill("train-late-interaction", mine, &[&train, &evaluated]);
}

#[test]
fn killed_train_reranker() {
    let train = format!(
        "train-reranker {} examples.jsonl -o tuned --threads 1 --epochs 1 --batch 8 --negatives 1 --max-tokens 32 --checkpoint-every 2 --history history.csv",
        tiny_model()
    );
    let evaluated =
        format!("{train} --dev bundled --dev-split test --candidates 5 --evaluate-every 3");
    kill("train-reranker", mine, &[&train, &evaluated]);
}

#[test]
fn killed_train_reader() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../crates/ir-dense/testdata/tiny/bert-pytorch");
    let train = format!(
        "train-reader {} squad.json -o tuned --threads 1 --epochs 20 --batch 3 --checkpoint-every 7",
        model.display()
    );
    let evaluated = format!("{train} --test squad.json");
    let question = |n: usize| {
        let thing = ["ship", "tea", "radar", "sea", "black tea", "green sea"][n % 6];
        let context = format!("The {thing} is seen by the ship {n} times. ").repeat(1 + n % 3);
        let answers = [serde_json::json!({"text": thing, "answer_start": 4})];
        let id = n.to_string();
        let qas = [serde_json::json!({"id": id, "question": "What is seen?", "answers": answers})];
        let paragraph = serde_json::json!({"context": context, "qas": qas});
        serde_json::json!({"title": id, "paragraphs": [paragraph]})
    };
    let data: Vec<_> = (0..30).map(question).collect();
    let squad = serde_json::json!({"data": data}).to_string();
    kill(
        "train-reader",
        |here| fs::write(here.join("squad.json"), &squad).unwrap(),
        &[&train, &evaluated],
    );
}
