//! `ir train`: a tiny model on the bundled collection.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

#[cfg(unix)]
use crate::common::contents;
use crate::common::{BERT_PYTORCH, Folder, words};

fn model() -> String {
    BERT_PYTORCH.to_owned()
}

fn mined(here: &Folder) {
    here.ir("mine bundled -o train.jsonl").ok();
}

#[test]
fn train_save_and_encode() {
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
    let ran = here.ir(&train).ok();
    assert!(ran.err.contains("step 0: RR@10 0."), "{}", ran.err);
    let last = ran.err.lines().rfind(|line| line.starts_with("step "));
    assert!(last.is_some_and(|line| line.contains(": RR@10 0.") && line.contains(", mean loss ")));
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
    here.ir("encode tuned bundled --queries -o queries.npy")
        .ok();

    // The saved model has the best measured score.
    here.ir("encode tuned bundled -o tuned.ir").ok();
    let search = ["search", "bundled", "--split", "test", "-o", "run.trec"];
    let by = ["--vectors", "tuned.ir", "--encoder", "tuned"];
    here.ir(&[&search[..], &by].concat()).ok();
    let scores = here.ir("eval bundled run.trec -m RR@10").ok();
    let found = scores.out.split_whitespace().last().unwrap();
    let measured = rows.iter().skip(1).filter_map(|row| row.rsplit(',').next());
    let best = measured
        .filter_map(|value| value.parse::<f64>().ok())
        .fold(0.0, f64::max);
    assert_eq!(found, format!("{best:.4}"), "{}", scores.out);

    // Another folder and one thread: the same bytes.
    let mut again = train.to_vec();
    again[4] = "again";
    again.extend(["--threads", "1", "--keep-checkpoints"]);
    here.ir(&again).ok();
    let weights =
        |folder: &str| fs::read(here.path().join(folder).join("model.safetensors")).unwrap();
    assert!(weights("tuned") == weights("again"));

    // Checkpoints of other settings are rejected.
    fs::remove_dir_all(here.path().join("again")).unwrap();
    let mut other = again.clone();
    other.extend(["--seed", "1"]);
    here.ir(&other)
        .fails(1, &["again.checkpoints", "seed was 42, expected 1"]);
    here.ir(&again).ok();
    assert!(weights("tuned") == weights("again"));
}

#[test]
fn errors_before_training() {
    let here = Folder::new();
    mined(&here);
    let model = model();
    let train = |more: &[&str]| {
        let mut arguments = vec!["train", &model, "train.jsonl", "-o", "tuned"];
        arguments.extend(more);
        here.ir(&arguments)
    };
    train(&["--batch", "0"]).fails(2, &["batch_size is 0, expected 1 or more"]);
    train(&["--measure", "good"]).fails(2, &["good"]);
    let measure = ["--dev", "bundled", "--measure", "ndgc@10"];
    train(&measure).fails(2, &["(did you mean ndcg@10?)"]);
    train(&["--backend", "cud:0"]).fails(2, &["cud:0", "(did you mean cuda:0?)"]);
    train(&["--dev", "bundled", "--dev-split", "none"]).fails(1, &["none"]);
    fs::write(here.path().join("settings.json"), "{\"epoch\": 3}").unwrap();
    let error = ["settings.json", "unknown field `epoch`"];
    train(&["--config", "settings.json"]).fails(1, &error);
    here.write("settings.json", "\u{feff}{\"epoch\": 3}");
    train(&["--config", "settings.json"]).fails(1, &error);
    fs::write(
        here.path().join("margin.json"),
        "{\"loss\": {\"kind\": \"margin\", \"margin\": 0.1}}",
    )
    .unwrap();
    train(&["--config", "margin.json", "--temperature", "1"]).fails(2, &["--temperature"]);
    here.ir("train nowhere train.jsonl -o tuned")
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
    // The output folder is not empty.
    here.write("old/file", "");
    here.ir(&["train", &model, "train.jsonl", "-o", "old"])
        .fails(1, &["expected a new folder"]);
    assert!(!here.path().join("tuned").exists());
}

/// A short training of the tiny model.
fn short<'a>(model: &'a str, examples: &'a str) -> Vec<&'a str> {
    let rest = words("-o tuned --epochs 1 --batch 8 --document-tokens 16");
    [&["train", model, examples], &rest[..]].concat()
}

#[test]
fn checkpoint_records_its_evaluation() {
    let here = Folder::new();
    mined(&here);
    let model = model();
    let train = |more: &[&str]| {
        let outputs = ["--keep-checkpoints", "--history", "history.csv"];
        here.ir(&[&short(&model, "train.jsonl")[..], &outputs, more].concat())
    };
    let on_test = ["--dev", "bundled", "--dev-split", "test"];
    let first = [&on_test[..], &["--measure", "RR@10"]].concat();
    train(&first).ok();
    let history = here.read("history.csv");
    fs::remove_dir_all(here.at("tuned")).unwrap();

    let note = "tuned.checkpoints/evaluation.json";
    let remedy = "delete the folder tuned.checkpoints";
    let others: [(&[&str], &str); 6] = [
        (
            &[
                "--dev",
                "bundled",
                "--dev-split",
                "train",
                "--measure",
                "P@5",
            ],
            "expected split train, found test",
        ),
        (
            &[
                "--dev",
                "bundled",
                "--dev-split",
                "test",
                "--measure",
                "P@5",
            ],
            "expected measure P@5, found RR@10",
        ),
        (
            &[&first[..], &["--template", "{text}"]].concat(),
            "expected template {text}, found ",
        ),
        (
            &[&first[..], &["--evaluate-every", "3"]].concat(),
            "expected every 3, found none",
        ),
        (
            &[&first[..], &["--not-later-than-query"]].concat(),
            "expected not_later_than_query true, found false",
        ),
        (&[], "expected collection none, found bundled"),
    ];
    for (other, difference) in others {
        train(other).fails(1, &[note, difference, remedy]);
        assert!(!here.at("tuned").exists());
    }
    // The same settings resume, with the same history.
    train(&first).ok();
    assert_eq!(here.read("history.csv"), history);

    // A checkpoint without evaluation settings.
    fs::remove_dir_all(here.at("tuned")).unwrap();
    fs::remove_file(here.at(note)).unwrap();
    train(&first).fails(1, &[note, "found no file", remedy]);
}

#[test]
fn ids_as_texts_are_rejected() {
    let here = Folder::new();
    here.write("corpus.jsonl", crate::common::CORPUS);
    let lines = [
        r#"{"n": 0, "paper_id": "7", "query": "what to drink", "keyphrase_query": "tea", "positives": ["d1"]}"#,
        r#"{"n": 1, "paper_id": "8", "query": "what is black", "keyphrase_query": "coffee", "positives": ["d2"]}"#,
    ];
    here.write("ids.jsonl", lines.join("\n"));
    let model = model();
    let train = |examples: &str, more: &[&str]| {
        let _ = fs::remove_dir_all(here.at("tuned"));
        here.ir(&[&short(&model, examples)[..], more].concat())
    };
    let expected = [
        "ids.jsonl: expected texts as positives",
        "\"d1\"",
        "--texts COLLECTION",
    ];
    train("ids.jsonl", &[]).fails(1, &expected);
    // --dev does not resolve ids.
    let dev = ["--dev", "bundled", "--dev-split", "test"];
    train("ids.jsonl", &dev).fails(1, &expected);

    // Ids resolved by --texts equal literal texts, for both query forms.
    let weights = || fs::read(here.at("tuned/model.safetensors")).unwrap();
    for (field, queries) in [
        ("query", ["what to drink", "what is black"]),
        ("keyphrase_query", ["tea", "coffee"]),
    ] {
        train(
            "ids.jsonl",
            &["--texts", "corpus.jsonl", "--query-field", field],
        )
        .ok();
        let by_ids = weights();
        let texts = ["Tea Green tea leaves", "Coffee Black coffee and tea"];
        let rows = queries.iter().zip(texts).zip(["d1", "d2"]);
        let lines: String = rows
            .map(|((query, text), id)| {
                let passages = serde_json::json!([{"docid": id, "text": text}]);
                let line = serde_json::json!({"query": query, "positive_passages": passages});
                format!("{line}\n")
            })
            .collect();
        here.write("texts.jsonl", lines);
        train("texts.jsonl", &[]).ok();
        assert!(weights() == by_ids, "{field}");
    }

    // An id that is not in the collection.
    let unknown = r#"{"query": "tea", "positives": ["d9"]}"#;
    here.write("ids.jsonl", [&lines[..], &[unknown]].concat().join("\n"));
    let texts = ["--texts", "corpus.jsonl"];
    train("ids.jsonl", &texts).fails(1, &["ids.jsonl:3", "d9"]);
    let ran = train("ids.jsonl", &[&texts[..], &["--leave-out"]].concat()).ok();
    assert!(ran.err.contains("skipped: ids.jsonl:3"), "{}", ran.err);

    // Literal texts.
    here.write(
        "words.jsonl",
        r#"{"query": "leaves", "positives": [{"text": "tea"}]}
{"query": "beans", "positives": [{"text": "coffee"}]}"#,
    );
    train("words.jsonl", &[]).ok();
}

#[test]
fn validation_overlap_warning() {
    let here = Folder::new();
    mined(&here);
    let model = model();
    let dev = words("--dev bundled --dev-split train --measure RR");
    let ran = here
        .ir(&[&short(&model, "train.jsonl")[..], &dev].concat())
        .ok();
    assert!(
        ran.err
            .contains("validation queries are in the training set"),
        "{}",
        ran.err
    );
}

/// Training that changes nothing causes a warning.
#[test]
fn warnings_about_useless_training() {
    let here = Folder::new();
    mined(&here);
    let model = model();
    let train = |more: &[&str]| {
        let common = [
            "train",
            &model[..],
            "train.jsonl",
            "--document-tokens",
            "16",
        ];
        here.ir(&[&common[..], more].concat()).ok().err
    };
    // The only step is a warm-up step.
    let err = train(&["-o", "short", "--epochs", "1", "--batch", "5000"]);
    let at = |part: &str| err.find(part).unwrap_or_else(|| panic!("{part} in {err}"));
    assert!(at("the learning rate is 0 in every step") < at("weights after"));
    let dev = words("--dev bundled --dev-split test --evaluate-every 1");
    let rest = words("-o early --batch 30 --learning-rate 1e-30 --patience 2");
    let err = train(&[&dev[..], &rest].concat());
    assert!(err.contains("stopped early after 2 of "), "{err}");
    assert!(
        err.contains("no evaluation improved on the initial model"),
        "{err}"
    );
}

#[test]
fn incompatible_options() {
    let here = Folder::new();
    mined(&here);
    let model = model();
    let train = |more: &[&str]| here.ir(&[&short(&model, "train.jsonl")[..], more].concat());
    for option in [
        ["--measure", "RR"],
        ["--patience", "3"],
        ["--evaluate-every", "3"],
        ["--dev-split", "test"],
    ] {
        train(&option).fails(2, &["--dev"]);
    }
    train(&["--template", "{text}"]).fails(2, &["--template", "--texts"]);
    here.write("notes/tea.md", "# Tea\n");
    train(&["--dev", "notes"]).fails(
        2,
        &["--dev: expected a collection with judged queries, found notes"],
    );
    // --backend overrides the backend of the config file.
    here.write("settings.json", r#"{"encoder": {"backend": "cuda:1"}}"#);
    let config = ["--config", "settings.json"];
    train(&[&config[..], &["--preset", "datafinder"]].concat()).fails(2, &["--preset"]);
    train(&config).fails(1, &["cuda:1"]);
    train(&[&config[..], &["--backend", "cpu"]].concat()).ok();
}

#[test]
fn outputs_are_checked_first() {
    let here = Folder::new();
    mined(&here);
    here.write("file", "mine");
    let model = model();
    let train = |output: &str, more: &[&str]| {
        let mut arguments = short(&model, "train.jsonl");
        arguments[4] = output;
        arguments.extend(more);
        here.ir(&arguments)
    };
    train("file", &[]).fails(1, &["file: expected a new folder, found a file"]);
    fs::create_dir(here.at("empty")).unwrap();
    train("empty/.", &["--history", "no/where.csv"]).fails(1, &["no/where.csv"]);
    train("tuned", &["--curves", "no/where.svg"]).fails(1, &["no/where.svg"]);
    train("tuned", &["--curves", "empty"]).fails(1, &["empty"]);
    train("empty", &["--history", "empty/h.csv"]).fails(2, &["--history"]);
    let both = ["--history", "h.csv", "--curves", "h.csv"];
    train("empty", &both).fails(
        2,
        &["--curves: expected a destination other than --history"],
    );
    let alone = ["--batch", "1", "--negatives", "0", "-o", "tuned"];
    let alone = here.ir(&[&["train", &model[..], "train.jsonl"], &alone[..]].concat());
    alone.fails(1, &["one query with one text"]);
    train("file/tuned", &[]).fails(1, &["file/tuned.checkpoints"]);
    for name in [
        "tuned",
        "tuned.checkpoints",
        "file.checkpoints",
        "empty.checkpoints",
    ] {
        assert!(!here.at(name).exists(), "{name}");
    }
    assert_eq!(here.read("file"), "mine");
    // A trailing slash.
    train("tuned/", &["--keep-checkpoints"]).ok();
    assert!(here.at("tuned/model.safetensors").is_file());
    assert!(
        here.at("tuned.checkpoints/checkpoint.safetensors")
            .is_file()
    );
}

/// Values out of range name the option, or the file that has them.
#[test]
fn options_out_of_range() {
    let here = Folder::new();
    mined(&here);
    let model = model();
    let train = |more: &[&str]| here.ir(&[&short(&model, "train.jsonl")[..4], more].concat());
    for (option, value) in [
        ("--epochs", "0"),
        ("--batch", "0"),
        ("--block", "0"),
        ("--negatives", "70000"),
        ("--learning-rate", "0"),
        ("--warmup", "100"),
        ("--temperature", "0"),
        ("--dropout", "1"),
    ] {
        train(&["tuned", option, value]).fails(2, &[&format!("{option}: "), ", expected "]);
    }
    let dev = ["tuned", "--dev", "bundled", "--evaluate-every", "0"];
    train(&dev).fails(2, &["--evaluate-every: evaluate_every is 0"]);
    let tokens = ["tuned", "--query-tokens", "4000"];
    train(&tokens).fails(2, &["--query-tokens: ", "max_tokens is 4000"]);
    train(&["tuned", "--document-tokens", "2"]).fails(2, &["--document-tokens: "]);
    here.write("settings.json", r#"{"dropout": 1}"#);
    train(&["tuned", "--config", "settings.json"]).fails(
        2,
        &["settings.json: dropout is 1, expected at least 0 and below 1"],
    );
}

/// Arguments in the wrong order, a collection in place of examples, and other formats.
#[test]
fn examples_of_another_kind() {
    let here = Folder::new();
    mined(&here);
    crate::common::tiny(&here);
    let model = model();
    let train = |examples: &str| here.ir(&["train", &model, examples, "-o", "tuned"]);
    let swapped = format!("{model}: expected the model first: ir train {model} train.jsonl");
    here.ir(&["train", "train.jsonl", &model, "-o", "tuned"])
        .fails(2, &[&swapped]);
    for (name, command) in [
        ("bundled", "ir mine bundled -o train.jsonl"),
        (
            "bundled:train",
            "ir mine bundled --split train -o train.jsonl",
        ),
        ("tiny", "ir mine tiny -o train.jsonl"),
    ] {
        let expected = format!("{name}: expected a file of training examples, found a collection");
        train(name).fails(1, &[&expected, command]);
    }
    for (line, expected) in [
        (
            r#"{"question": "a", "positive": "b", "negative": "c"}"#,
            "expected a field \"query\" or \"anchor\", found \"negative\", \"positive\", \"question\"",
        ),
        (
            r#"{"query": "a", "pos": ["b"], "neg": ["c"]}"#,
            "expected a field \"positives\", \"positive_passages\" or \"positive\", found \"neg\", \"pos\", \"query\"",
        ),
        ("{}", "expected a field \"query\" or \"anchor\", found none"),
    ] {
        here.write("other.jsonl", line);
        train("other.jsonl").fails(1, &["other.jsonl:1: ", expected]);
    }
    let help = here.ir("train --help").ok().out;
    assert!(help.contains("at most\n100 characters without a space is then an error"));
}

/// Without a validation set, the loss is printed after every epoch.
#[test]
fn loss_is_printed() {
    let here = Folder::new();
    mined(&here);
    let model = model();
    let train = short(&model, "train.jsonl");
    let ran = here.ir(&train).ok();
    let losses: Vec<&str> = ran
        .err
        .lines()
        .filter(|line| line.contains(": mean loss "))
        .collect();
    assert_eq!(losses.len(), 1, "{}", ran.err);
    assert!(losses[0].starts_with("step "), "{}", ran.err);
    assert!(
        ran.err.lines().last().unwrap().contains(", loss "),
        "{}",
        ran.err
    );
}

/// A training of many steps with a history.
fn long(model: &str) -> Vec<&str> {
    let history = ["--history", "history.csv", "--checkpoint-every", "2"];
    let mut train = [&short(model, "train.jsonl")[..], &history].concat();
    let epochs = train.iter().position(|word| *word == "--epochs").unwrap();
    train[epochs + 1] = "30";
    train
}

/// Starts a training and waits until its history has several rows. Returns the rows.
fn started(here: &Folder, train: &[&str]) -> (Child, String) {
    let mut child = here
        .command(train)
        .env_remove("IR_DATA")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    loop {
        let text = fs::read_to_string(here.at("history.csv")).unwrap_or_default();
        if text.lines().count() > 6 {
            return (child, text);
        }
        assert!(began.elapsed() < Duration::from_secs(120), "no history");
        assert!(child.try_wait().unwrap().is_none(), "{text}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The history is in its file while training runs, and a resumed run has every row once.
#[test]
fn history_grows_while_training_runs() {
    let here = Folder::new();
    mined(&here);
    let model = model();
    let train = long(&model);
    let expected = {
        let here = Folder::new();
        mined(&here);
        here.ir(&train).ok();
        here.read("history.csv")
    };
    let (mut child, seen) = started(&here, &train);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(expected.starts_with(&seen), "{seen}");
    here.ir(&train).ok();
    assert_eq!(here.read("history.csv"), expected);
}

/// A file size limit simulates a full disk: a checkpoint is larger, a history smaller.
#[cfg(unix)]
#[test]
fn full_disk_keeps_the_last_checkpoint() {
    let here = Folder::new();
    mined(&here);
    let model = model();
    let train = long(&model);
    let (mut child, _) = started(&here, &train);
    crate::signals::send(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let before = contents(&here.at("tuned.checkpoints"));
    assert!(before["checkpoint.safetensors"].len() > 32 << 10);
    let ran = here.ir_with_file_size(32, &train);
    let error = ran.err.lines().last().unwrap();
    let expected = "cannot write tuned.checkpoints/checkpoint.safetensors: ";
    assert!(
        error.starts_with("error: ") && error.contains(expected),
        "{error}"
    );
    assert_eq!(ran.code, 1);
    assert!(contents(&here.at("tuned.checkpoints")) == before);
    // With space again, the training resumes.
    here.ir(&train).ok();
    assert!(here.at("tuned/config.json").exists());
}
