//! Several tasks on the same documents, and systems whose parts are not selected yet.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use crate::common::run;
use ir_bm25::{Bm25, DuplicateIds, Index, IndexConfig};
use ir_core::{DocNum, Document, Flow, NoProgress, Progress, Retriever, Search};
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

/// Two records with the id `a`. A condition selects records; the year of an id is the year of its
/// first record in the order of the documents.
#[test]
fn records_with_the_same_id() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("qrels")).unwrap();
    // Rows as texts: 0, 1, 10, 2.
    let mut documents: Vec<Document> = (0..11)
        .map(|n| Document::new(format!("x{n}")).with_text("milk"))
        .collect();
    documents[2] = Document::new("a")
        .with_text("tea and milk")
        .with("year", 2001_i64);
    documents[10] = Document::new("a")
        .with_text("tea tea")
        .with("year", 2020_i64);
    let lines = documents.iter().map(|document| {
        let year = document.attributes.year();
        let year = year.map_or(String::new(), |year| format!("\"year\": {year}, "));
        format!(
            "{{\"_id\": {:?}, {year}\"text\": {:?}}}\n",
            document.id, document.text
        )
    });
    fs::write(at("corpus.jsonl"), lines.collect::<String>()).unwrap();
    let queries = "{\"_id\": \"1\", \"text\": \"tea\", \"metadata\": {\"year\": 2010}}\n";
    fs::write(at("queries.jsonl"), queries).unwrap();
    fs::write(
        at("qrels/test.tsv"),
        "query-id\tcorpus-id\tscore\n1\ta\t1\n",
    )
    .unwrap();
    let path = folder.path().display().to_string();
    let hits = |order: &str, of_the_task: &str, keys: &str| -> Vec<(String, f32)> {
        let text = format!(
            "measures = [\"RR\"]\n{order}\n[[tasks]]\ncollection = {path:?}\n{of_the_task}\n\
             [[systems]]\nname = \"a\"\ntype = \"bm25\"\n{keys}\n"
        );
        let experiment = Experiment::from_toml(&text).unwrap();
        let (results, _) = run(&experiment, &Cache::temporary().unwrap());
        let found = results.tasks[0].runs[0].get("1").unwrap_or_default();
        let hits = found.iter();
        hits.map(|hit| (hit.doc.clone(), hit.score as f32))
            .collect()
    };
    let config = IndexConfig::default().with_duplicates(DuplicateIds::Keep);
    let index = Index::build(&documents[..], &config, &mut NoProgress).unwrap();
    let searcher = index.searcher(Bm25::ANSERINI).unwrap();
    // Numbers are in the order of the ids: the records of `a` are first.
    let score = |record: u32| {
        let only = move |doc: DocNum| doc.get() == record;
        let found = searcher.search("tea", &Search::top(1).within(&only));
        vec![("a".to_owned(), found.unwrap().hits()[0].score)]
    };
    let (old, new) = (score(0), score(1));
    assert_ne!(old, new);
    let row = "document_order = \"lexicographic-row\"";
    let collection = "document_order = \"collection\"";
    let limit = "where = { at_most = { name = \"year\", limit = 2010 } }";
    for (order, of_the_task) in [("", ""), (row, ""), ("", row), (row, collection)] {
        assert_eq!(hits(order, of_the_task, ""), new);
        assert_eq!(hits(order, of_the_task, limit), old);
    }
    let year = "filter = \"year\"";
    assert_eq!(hits("", "", year), new);
    assert_eq!(hits(row, collection, year), new);
    assert!(hits(row, "", year).is_empty());
    assert!(hits("", row, year).is_empty());
}
