//! The main job with a model on a part of the real collection: killed and run again, it prints the
//! same table. Skipped with a notice without `IR_DATA` and `IR_MODEL`.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet};
use std::env::{current_exe, var_os};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use datafinder::encoders::Settings;
use datafinder::experiment;
use datafinder::training::Recipe;
use ir_core::{Document, Flow, Qrels};
use ir_data::Collection;
use ir_data::InMemoryJudgedQueries;
use ir_data::catalog::Catalog;

/// Test queries, training queries, and their datasets.
fn part(whole: &Collection) -> Collection {
    let mut judged = InMemoryJudgedQueries::default();
    let mut datasets = BTreeSet::new();
    for (split, count) in [("test", 12), ("train", 10)] {
        let (all, mut qrels) = (whole.qrels(split).unwrap(), Qrels::new());
        for query in whole.queries(split).unwrap().into_iter().take(count) {
            for (dataset, grade) in all.get(&query.id).into_iter().flatten() {
                qrels.insert(&query.id, dataset, grade);
                datasets.insert(dataset.to_owned());
            }
            judged.queries.push(query);
        }
        judged.qrels.insert(split.to_owned(), qrels);
    }
    let documents = whole.corpus().docs().unwrap().map(Result::unwrap);
    let documents: Vec<Document> = documents.filter(|doc| datasets.contains(&doc.id)).collect();
    Collection::new(whole.name(), documents, judged)
}

fn settings(model: PathBuf, work: PathBuf) -> Settings {
    let mut recipe = Recipe::small();
    recipe.config.batch_size = 4;
    recipe.config.epochs = 1;
    Settings {
        model: Some(model),
        trained: None,
        recipe,
        work,
    }
}

fn model_and_data() -> Option<(PathBuf, Collection)> {
    let (catalog, model) = (Catalog::from_env(), var_os("IR_MODEL"));
    match model.filter(|_| catalog.has("datafinder").unwrap()) {
        Some(model) => Some((model.into(), part(&catalog.open("datafinder").unwrap()))),
        None => {
            eprintln!("skipped: needs IR_MODEL, a model folder (.ci/model), and IR_DATA");
            None
        }
    }
}

/// Names and bytes of the trained model and of the vectors.
fn files(work: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for path in fs::read_dir(work)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let file = if path.is_dir() {
            path.join("model.safetensors")
        } else {
            path
        };
        if file
            .extension()
            .is_some_and(|it| it == "ir" || it == "safetensors")
        {
            let name = file.strip_prefix(work).unwrap().to_owned();
            files.insert(name, fs::read(&file).unwrap());
        }
    }
    files
}

/// Runs in a process that `a_killed_run_resumes_to_the_same_table` kills.
#[test]
fn child() {
    let Some(work) = var_os("IR_DATAFINDER_CHILD").map(PathBuf::from) else {
        return;
    };
    let (model, collection) = model_and_data().unwrap();
    // Tells how far the run is.
    let mut progress = |stage: &str, done: u64, _: Option<u64>| {
        fs::write(work.join("progress"), format!("{stage} {done}")).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        Flow::Continue
    };
    let settings = settings(model, work.join("work"));
    let table = experiment::run(&collection, settings, &mut progress).unwrap();
    fs::write(work.join("table"), table).unwrap();
}

#[test]
fn a_killed_run_resumes_to_the_same_table() {
    let Some((model, collection)) = model_and_data() else {
        return;
    };
    let here = tempfile::tempdir().unwrap();
    // Kills at the fourth step, before datasets and before queries are encoded, and at no point.
    for kill_at in [
        "training 3",
        "encoding datasets 0",
        "encoding queries 0",
        "never",
    ] {
        let mut child = Command::new(current_exe().unwrap())
            .args(["--exact", "child"])
            .env("IR_DATAFINDER_CHILD", here.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let status = loop {
            let progress = fs::read_to_string(here.path().join("progress")).unwrap_or_default();
            if progress == kill_at {
                child.kill().unwrap();
            }
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        assert_eq!(status.success(), kill_at == "never", "{kill_at}");
    }
    let resumed = files(&here.path().join("work"));

    // Without interruption.
    let work = here.path().join("whole");
    let mut stages = BTreeMap::new();
    let mut progress = |stage: &str, done: u64, total: Option<u64>| {
        let first = stages.entry(stage.to_owned()).or_insert(done);
        assert!(*first == 0 && total.is_some(), "{stage}");
        Flow::Continue
    };
    let table = experiment::run(
        &collection,
        settings(model.clone(), work.clone()),
        &mut progress,
    )
    .unwrap();
    assert!(stages.contains_key("training") && stages.contains_key("encoding queries"));
    assert!(files(&work) == resumed);
    // Trained model, and datasets and queries of both encoders.
    assert_eq!(resumed.len(), 5);
    assert_eq!(
        fs::read_to_string(here.path().join("table")).unwrap(),
        table
    );
    for row in [
        "kNN (encoder)",
        "off-the-shelf encoder",
        "bi-encoder",
        "hybrid (RRF)",
    ] {
        assert!(
            table.contains(&format!("\n{row}, exact time filter")),
            "{table}"
        );
    }
    assert!(table.contains("\n  paper: bi-encoder  "), "{table}");

    // Everything is reused.
    let mut nothing = |stage: &str, _: u64, _: Option<u64>| -> Flow { panic!("{stage}") };
    let again = experiment::run(&collection, settings(model, work), &mut nothing).unwrap();
    assert_eq!(again, table);
}
