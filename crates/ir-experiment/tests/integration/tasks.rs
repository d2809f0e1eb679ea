//! Several tasks on the same documents, and systems whose parts are not selected yet.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use crate::common::run;
use ir_core::{Flow, NoProgress, Progress};
use ir_experiment::{
    Cache, Experiment, Observer, Registry, Runner, Stage, StageReport, StageStatus,
};

/// Removes a file after the first run.
struct RemovesFile(PathBuf);

impl Progress for RemovesFile {
    fn report(&mut self, _: &str, _: u64, _: Option<u64>) -> Flow {
        Flow::Continue
    }
}

impl Observer for RemovesFile {
    fn stage(&mut self, report: &StageReport) {
        if report.stage == Stage::Run {
            let _ = fs::remove_file(&self.0);
        }
    }
}

#[test]
fn tasks_share_their_documents() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("qrels")).unwrap();
    let corpus = "{\"_id\": \"d\", \"text\": \"tea\"}\n{\"_id\": \"e\", \"text\": \"milk\"}\n";
    fs::write(at("corpus.jsonl"), corpus).unwrap();
    let queries = "{\"_id\": \"1\", \"text\": \"tea\"}\n{\"_id\": \"2\", \"text\": \"milk\"}\n";
    fs::write(at("queries.jsonl"), queries).unwrap();
    for (split, line) in [("test", "1\td\t1"), ("dev", "2\te\t1")] {
        let qrels = format!("query-id\tcorpus-id\tscore\n{line}\n");
        fs::write(at(&format!("qrels/{split}.tsv")), qrels).unwrap();
    }
    let path = folder.path().display().to_string();
    let text = format!(
        "measures = [\"RR\"]\n[[tasks]]\nname = \"test\"\ncollection = {path:?}\n[[tasks]]\n\
         name = \"dev\"\ncollection = {path:?}\nsplit = \"dev\"\n[[systems]]\nname = \"a\"\n\
         type = \"bm25\"\n"
    );
    let experiment = Experiment::from_toml(&text).unwrap();
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let mut observer = RemovesFile(at("corpus.jsonl"));
    let results = Runner::new(&cache, &registry).run(&experiment, &mut observer);
    let results = results.unwrap();
    assert!(!at("corpus.jsonl").exists());
    for task in ["test", "dev"] {
        let value = results.value(task, "a", ir_eval::Measure::RR);
        assert_eq!(value, Some(1.0), "{task}");
    }
}

/// Only the second point of the grid has a part with a grid of its own.
#[test]
fn plans_of_grids_whose_points_have_different_parts() {
    let text = r#"
        measures = ["AP"]
        [[tasks]]
        collection = "bundled"
        [[systems]]
        name = "a"
        type = "bm25"
        [[systems]]
        name = "b"
        type = "bm25"
        preset = "lucene"
        [[systems]]
        name = "tuned"
        type = "bm25"
        grid = { k1 = [0.6, 0.9] }
        [[systems]]
        name = "hybrid"
        type = "hybrid"
        grid = { of = [["a", "b"], ["a", "tuned"]] }
        [selection]
        by = "validation"
        split = "train"
    "#;
    let experiment = Experiment::from_toml(text).unwrap();
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let plan = Runner::new(&cache, &registry).plan(&experiment, &mut NoProgress);
    assert_eq!(plan.unwrap().undecided, ["tuned", "hybrid"]);
    run(&experiment, &cache);
    let plan = Runner::new(&cache, &registry).plan(&experiment, &mut NoProgress);
    let plan = plan.unwrap();
    assert!(plan.undecided.is_empty());
    let is_cached = |stage: &StageReport| stage.status == StageStatus::Cached;
    assert!(plan.stages.iter().all(is_cached));
}

/// A selection whose validation queries are all training queries names the key that keeps some.
#[test]
fn validation_queries_that_are_all_training_queries() {
    let with = |selection: &str| {
        let text = format!(
            r#"
            measures = ["AP"]
            [[tasks]]
            collection = "bundled"
            training = {{ split = "train" }}
            [selection]
            by = "validation"
            split = "train"
            {selection}
            [[systems]]
            name = "kNN"
            type = "knn"
            grid = {{ metric = ["cosine", "euclidean"] }}
            "#
        );
        let experiment = Experiment::from_toml(&text).unwrap();
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        Runner::new(&cache, &registry).run(&experiment, &mut NoProgress)
    };
    let expected = "line 8: selection.split: expected training queries that do not validate, found \
                    none: all of split \"train\" validates; set selection.fraction, such as \
                    fraction = 0.2";
    assert_eq!(with("").unwrap_err().to_string(), expected);
    with("fraction = 0.2").unwrap();
}
