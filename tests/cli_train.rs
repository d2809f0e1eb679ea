//! `ir train`: a tiny model on the bundled collection.
#![cfg(all(feature = "cli", feature = "dense"))]
#![allow(clippy::unwrap_used)]

mod cli_common;

use std::fs;
use std::path::Path;

use cli_common::Folder;

fn model() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let model = root.join("crates/ir-dense/testdata/tiny/bert-pytorch");
    model.display().to_string()
}

fn mined(here: &Folder) {
    here.ir(&["mine", "bundled", "-o", "train.jsonl"]).ok();
}

#[test]
fn from_examples_to_a_model_that_encodes() {
    let here = Folder::new();
    mined(&here);
    let train = [
        "train",
        &model(),
        "train.jsonl",
        "-o",
        "tuned",
        "--epochs",
        "2",
        "--batch",
        "8",
        "--negatives",
        "2",
        "--learning-rate",
        "0.002",
        "--document-tokens",
        "16",
        "--dev",
        "bundled",
        "--dev-split",
        "test",
        "--measure",
        "RR@10",
        "--history",
        "history.csv",
        "--curves",
        "curves.svg",
    ];
    here.ir(&train).ok();
    let history = fs::read_to_string(here.path().join("history.csv")).unwrap();
    let rows: Vec<&str> = history.lines().collect();
    assert_eq!(rows[0], "step,epoch,learning_rate,loss,gradient,measure");
    assert!(rows[1].starts_with("0,,,,,0."), "{}", rows[1]);
    assert!(
        rows.last()
            .unwrap()
            .split(',')
            .all(|field| !field.is_empty()),
        "{history}"
    );
    let curves = fs::read_to_string(here.path().join("curves.svg")).unwrap();
    assert!(curves.starts_with("<svg") && curves.matches("<polyline").count() == 2);
    assert!(curves.contains(">RR@10<"), "{curves}");
    assert!(!here.path().join("tuned.checkpoints").exists());
    here.ir(&[
        "encode",
        "tuned",
        "bundled",
        "--queries",
        "-o",
        "queries.npy",
    ])
    .ok();

    // Again, elsewhere, on one thread: the same bytes.
    let mut again = train.to_vec();
    again[4] = "again";
    again.extend(["--threads", "1", "--keep-checkpoints"]);
    here.ir(&again).ok();
    let weights =
        |folder: &str| fs::read(here.path().join(folder).join("model.safetensors")).unwrap();
    assert!(weights("tuned") == weights("again"));

    // The checkpoints that were kept belong to these settings.
    fs::remove_dir_all(here.path().join("again")).unwrap();
    let mut other = again.clone();
    other.extend(["--seed", "1"]);
    here.ir(&other)
        .fails(1, &["again.checkpoints", "seed was 42, expected 1"]);
    here.ir(&again).ok();
    assert!(weights("tuned") == weights("again"));
}

#[test]
fn mistakes_are_told_at_once() {
    let here = Folder::new();
    mined(&here);
    let model = model();
    let train = |more: &[&str]| {
        let mut arguments = vec!["train", &model, "train.jsonl", "-o", "tuned"];
        arguments.extend(more);
        here.ir(&arguments)
    };
    train(&["--batch", "0"]).fails(1, &["batch is 0, expected 1 or more"]);
    train(&["--measure", "good"]).fails(2, &["good"]);
    train(&["--dev", "bundled", "--dev-split", "none"]).fails(1, &["none"]);
    fs::write(here.path().join("settings.json"), "{\"epoch\": 3}").unwrap();
    train(&["--config", "settings.json"]).fails(1, &["settings.json", "unknown field `epoch`"]);
    fs::write(
        here.path().join("margin.json"),
        "{\"loss\": {\"kind\": \"margin\", \"margin\": 0.1}}",
    )
    .unwrap();
    train(&["--config", "margin.json", "--temperature", "1"]).fails(2, &["--temperature"]);
    here.ir(&["train", "nowhere", "train.jsonl", "-o", "tuned"])
        .fails(1, &["nowhere"]);
    here.ir(&["train", &model, "none.jsonl", "-o", "tuned"])
        .fails(1, &["none.jsonl"]);
    fs::write(
        here.path().join("bad.jsonl"),
        "{\"query\": \"tea\", \"positives\": []}\n",
    )
    .unwrap();
    here.ir(&["train", &model, "bad.jsonl", "-o", "tuned"])
        .fails(1, &["bad.jsonl", "positive"]);
    // The folder is not one to write into.
    here.ir(&["train", &model, "train.jsonl", "-o", "."])
        .fails(1, &["expected a new folder"]);
    assert!(!here.path().join("tuned").exists());
}
