//! Exports of a served store, read by `ir mine`, `ir search` and `ir eval`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use ir_core::training::{TrainingExample, TrainingSet, TrainingText};
use ir_data::training::TrainingFile;
use serde_json::Value;
use tempfile::TempDir;

use crate::server::{Client, RunningServer, wait_until};
use crate::{ANSWER, QUESTION};

/// Runs `ir` in a folder and returns its standard output.
#[track_caller]
fn ir(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ir"));
    let ran = command.args(args).current_dir(folder).output().unwrap();
    let error = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{args:?} {error}");
    String::from_utf8(ran.stdout).unwrap()
}

fn page(client: &Client, path: &str) -> String {
    let (status, body) = client.request("GET", path, "").unwrap();
    assert!([200, 303].contains(&status), "{path} {status} {body}");
    body
}

/// Asks on the search page and opens the best answers of these paragraphs, which count from 0.
fn open_answers(client: &Client, question: &str, paragraphs: &[usize]) {
    let question = question.replace(' ', "+").replace('?', "%3F");
    let answers = page(client, &format!("/?q={question}"));
    let titles: Vec<&str> = answers.split("<h3 ").skip(1).collect();
    for &paragraph in paragraphs {
        let (_, link) = titles[paragraph].split_once("href=\"").unwrap();
        let link = link.split('"').next().unwrap().replace("&amp;", "&");
        assert!(link.starts_with("/open?"), "{link}");
        page(client, &link);
    }
}

fn ids(texts: &[TrainingText]) -> BTreeSet<&str> {
    let ids = texts.iter().filter_map(|text| text.id.as_deref());
    ids.collect()
}

#[test]
fn opened_answers_are_mined_and_evaluated() {
    let folder = TempDir::new().unwrap();
    let server = RunningServer::start(folder.path(), &["bundled"]);
    open_answers(&server.client, QUESTION, &[0]);
    open_answers(&server.client, "Which datasets have questions?", &[0, 1]);
    // Asked again, and other answers are opened.
    open_answers(&server.client, "which datasets have  questions?", &[2]);
    page(&server.client, "/?q=nobody+opens+tea");
    // Queries and opened answers are written in the background.
    wait_until(|| {
        let log = page(&server.client, "/insight/export/queries.jsonl");
        let queries = log
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let clicks = queries.map(|query| query["clicks"].as_array().unwrap().len());
        clicks.collect::<Vec<_>>() == [1, 2, 1, 0]
    });
    let here = folder.path();
    for name in [
        "examples.jsonl",
        "queries.tsv",
        "qrels.txt",
        "documents.jsonl",
    ] {
        let content = page(&server.client, &format!("/insight/export/{name}"));
        fs::write(here.join(name), content).unwrap();
    }
    server.stop();

    // Hard negatives of the opened answers.
    let mine = ["mine", "documents.jsonl", "--examples", "examples.jsonl"];
    ir(
        here,
        &[&mine[..], &["-n", "5", "-o", "hard.jsonl"]].concat(),
    );
    let set = TrainingFile::open(here.join("hard.jsonl")).unwrap();
    let examples: Vec<TrainingExample> = (0..set.len()).map(|n| set.get(n).unwrap()).collect();
    let queries: Vec<&str> = examples.iter().map(|example| &*example.query).collect();
    assert_eq!(queries, [QUESTION, "Which datasets have questions?"]);
    assert_eq!(examples[0].positives[0].text, ANSWER);
    assert_eq!(examples[1].positives.len(), 3);
    for example in &examples {
        assert_eq!(example.negatives.len(), 5, "{example:?}");
        let positives = ids(&example.positives);
        assert!(
            positives.is_disjoint(&ids(&example.negatives)),
            "{example:?}"
        );
    }

    // The opened answers are the judgments of a run.
    let search = ["search", "documents.jsonl", "--queries", "queries.tsv"];
    let run = ir(here, &[&search[..], &["-k", "1000"]].concat());
    fs::write(here.join("bm25.run"), run).unwrap();
    let eval = ["eval", "qrels.txt", "bm25.run", "-q", "-m"];
    let scores = ir(
        here,
        &[&eval[..], &["num_rel,recip_rank,set_recall"]].concat(),
    );
    let value = |measure: &str, query: &str| {
        let mut lines = scores.lines().map(|line| line.split('\t').map(str::trim));
        let found = lines.find_map(|mut columns| {
            let is_it = columns.next() == Some(measure) && columns.next() == Some(query);
            is_it.then(|| columns.next().unwrap().parse::<f64>().unwrap())
        });
        found.unwrap_or_else(|| panic!("{measure} {query}: {scores}"))
    };
    assert_eq!(value("num_rel", "all"), 4.0);
    assert_eq!(value("recip_rank", "1"), 1.0, "{scores}");
    assert!(value("set_recall", "1") > 0.9, "{scores}");
}
