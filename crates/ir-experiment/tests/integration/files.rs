//! Tasks on files: runs and qrels in TREC format, and kNN classification of vectors and texts.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use crate::common::{Recorder, assert_cached, computed, run};
use ir_core::NoProgress;
use ir_eval::Measure;
use ir_experiment::{
    Cache, Experiment, OutputFormat, Registry, Reproduction, Runner, Stage, StageStatus,
};

const RUNS: &str = r#"measures = ["AP", "RR"]
[[tasks]]
name = "all"
qrels = "qrels.txt"

[[tasks]]
name = "with results"
qrels = { file = "qrels.txt", header = false }
rules = { missing = "skip" }
systems = ["a"]

[[systems]]
name = "a"
type = "run"
run = "a.trec"

[[systems]]
name = "b"
type = "run"
run = { file = "b.trec", header = true, unique_lines = true }
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("e.toml", RUNS);
    write("qrels.txt", "1 0 d 1\n1 0 e 0\n2 0 e 1\n");
    write("a.trec", "1 Q0 e 1 2.0 x\n1 Q0 d 2 1.0 x\n");
    write(
        "b.trec",
        "query Q0 doc rank score tag\n1 Q0 d 1 2.0 x\n1 Q0 d 1 2.0 x\n2 Q0 e 1 1.0 x\n",
    );
    folder
}

fn open(folder: &Path) -> Experiment {
    Experiment::open(folder.join("e.toml")).unwrap()
}

#[test]
fn runs_in_files() {
    let folder = folder();
    let experiment = open(folder.path());
    let cache = Cache::temporary().unwrap();
    let (results, _) = run(&experiment, &cache);
    let value = |task, system, measure| results.value(task, system, measure);
    // Query 2 has no results and counts as 0.
    assert_eq!(value("all", "a", Measure::RR), Some(0.25));
    assert_eq!(value("with results", "a", Measure::RR), Some(0.5));
    assert_eq!(value("all", "b", Measure::AP), Some(1.0));
    assert_eq!(value("with results", "b", Measure::AP), None);
    assert_eq!(results.tasks[1].runs.len(), 1);
    let all_cached = |stages: Vec<(Stage, StageStatus)>| {
        stages.iter().all(|stage| stage.1 == StageStatus::Cached)
    };
    assert!(all_cached(run(&experiment, &cache).1));
    // A byte order mark is no part of the first line.
    let repeated = "1 Q0 d 1 2.0 x\n1 Q0 d 1 2.0 x\n2 Q0 e 1 1.0 x\n";
    let text = RUNS.replace("header = true, ", "");
    fs::write(folder.path().join("e.toml"), text).unwrap();
    fs::write(folder.path().join("b.trec"), format!("\u{feff}{repeated}")).unwrap();
    let (results, _) = run(&open(folder.path()), &cache);
    assert_eq!(results.value("all", "b", Measure::AP), Some(1.0));
    let header = "query Q0 doc rank score tag";
    fs::write(
        folder.path().join("b.trec"),
        format!("{header}\n{repeated}"),
    )
    .unwrap();
    // Another run file.
    fs::write(folder.path().join("a.trec"), "1 Q0 d 1 2.0 x\n").unwrap();
    let (results, stages) = run(&experiment, &cache);
    assert!(!all_cached(stages));
    assert_eq!(results.value("all", "a", Measure::RR), Some(0.5));
    // A run beside a system that searches.
    let text = RUNS
        .replace("name = \"all\"\nqrels = \"qrels.txt\"", "collection = \"bundled\"")
        .replace("systems = [\"a\"]", "")
        .replace("type = \"run\"\nrun = \"a.trec\"", "type = \"bm25\"")
        .replace("name = \"with results\"\nqrels = { file = \"qrels.txt\", header = false }\nrules = { missing = \"skip\" }", "name = \"b\"\ncollection = \"bundled\"");
    fs::write(folder.path().join("e.toml"), text).unwrap();
    fs::write(folder.path().join("b.trec"), "q01 Q0 none 1 1.0 x\n").unwrap();
    let (results, _) = run(&open(folder.path()), &cache);
    assert!(results.value("bundled", "a", Measure::AP) > Some(0.4));
    assert_eq!(results.value("bundled", "b", Measure::AP), Some(0.0));
}

/// Judgments in every format of `ir eval`, with its warnings.
#[test]
fn judgments_in_every_format() {
    let folder = folder();
    let evaluate = |qrels: &str| {
        fs::write(folder.path().join("qrels.txt"), qrels).unwrap();
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let mut recorder = Recorder::default();
        let runner = Runner::new(&cache, &registry);
        let results = runner.run(&open(folder.path()), &mut recorder).unwrap();
        recorder.warnings.retain(|it| it.contains("qrels.txt"));
        let values = ["a", "b"].map(|system| results.value("all", system, Measure::AP));
        (values, recorder.warnings)
    };
    let (expected, warnings) = evaluate("1 0 d 1\n1 0 e 0\n2 0 e 1\n");
    assert_eq!((expected, warnings.len()), ([Some(0.25), Some(1.0)], 0));
    for qrels in [
        "query-id\tcorpus-id\tscore\n1\td\t1\n1\te\t0\n2\te\t1\n",
        "query-id\tcorpus-id\tscore\tnote\n1\td\t1\tx\n1\te\t0\tx\n2\te\t1\tx\n",
        "qid,docno,label\n1,d,1\n1,e,0\n2,e,1\n",
        "{\"qid\": 1, \"docno\": \"d\", \"label\": 1}\n{\"qid\": 2, \"docno\": \"e\", \"label\": 1}\n",
    ] {
        assert_eq!(evaluate(qrels), (expected, Vec::new()), "{qrels}");
    }
    let (values, warnings) = evaluate("1 d\n2 e\n");
    assert_eq!(values, expected);
    assert!(!warnings.is_empty());
    let message = "qrels.txt:1: read as query and document, without a grade; every grade is 1";
    assert!(
        warnings.iter().all(|it| it.contains(message)),
        "{warnings:?}"
    );
}

#[test]
fn runs_in_files_without_the_documents_of_the_queries() {
    let folder = folder();
    let text = RUNS.replace("name = \"all\"\n", "name = \"all\"\nremove_self = true\n");
    fs::write(folder.path().join("e.toml"), text).unwrap();
    fs::write(
        folder.path().join("a.trec"),
        "1 Q0 1 1 2.0 x\n1 Q0 d 2 1.0 x\n",
    )
    .unwrap();
    let (results, _) = run(&open(folder.path()), &Cache::temporary().unwrap());
    let value = |task| results.value(task, "a", Measure::RR);
    assert_eq!(value("all"), Some(0.5));
    assert_eq!(value("with results"), Some(0.5));
}

/// Equal scores: trec_eval orders them by descending id, Anserini's format as in the list.
#[test]
fn scores_are_rounded_for_all_systems_or_one() {
    let folder = folder();
    let scores = "1 Q0 d 1 0.5 x\n1 Q0 e 2 0.5 x\n";
    fs::write(folder.path().join("a.trec"), scores).unwrap();
    let text = |of_all: &str, of_one: &str| {
        format!(
            "measures = [\"RR\"]\n[search]\n{of_all}[[tasks]]\nname = \"t\"\nqrels = \"qrels.txt\"\n\
             [[systems]]\nname = \"a\"\ntype = \"run\"\nrun = \"a.trec\"\n\
             [[systems]]\nname = \"b\"\ntype = \"run\"\nrun = \"a.trec\"\n{of_one}"
        )
    };
    let (anserini, exact) = ("scores = \"anserini\"\n", "scores = \"exact\"\n");
    // Query 2 has no results and counts as 0.
    for (of_all, of_one, expected) in [
        ("", "", [0.25, 0.25]),
        (anserini, "", [0.5, 0.5]),
        ("", anserini, [0.25, 0.5]),
        (anserini, exact, [0.5, 0.25]),
    ] {
        fs::write(folder.path().join("e.toml"), text(of_all, of_one)).unwrap();
        let (results, _) = run(&open(folder.path()), &Cache::temporary().unwrap());
        let found = ["a", "b"].map(|system| results.value("t", system, Measure::RR).unwrap());
        assert_eq!(found, expected, "{of_all}{of_one}");
        // Anserini's format separates equal scores.
        let files = results.files(&[OutputFormat::Runs]).unwrap();
        let are_separated = files.iter().map(|file| {
            let text = std::str::from_utf8(&file.content).unwrap();
            let mut scores = text.lines().map(|line| line.split(' ').nth(4));
            scores.next() != scores.next()
        });
        let are_separated: Vec<bool> = are_separated.collect();
        assert_eq!(are_separated, expected.map(|value| value == 0.5));
    }
    let error = Experiment::from_toml(&text("", "scores = \"anserni\"\n")).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("scores: expected one of `exact`, `strict`, `anserini`, found `anserni`"),
        "{error}"
    );
}

#[test]
fn errors_of_runs() {
    let folder = folder();
    let path = folder.path().join("e.toml");
    let error = |from: &str, to: &str| {
        let text = RUNS.replacen(from, to, 1);
        assert_ne!(text, RUNS, "{from}");
        fs::write(&path, text).unwrap();
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let runner = Runner::new(&cache, &registry);
        let ran = Experiment::open(&path).and_then(|it| runner.run(&it, &mut NoProgress));
        let error = ran.unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string);
        format!("{error}: {}", source.unwrap_or_default())
    };
    for (from, to, expected) in [
        (
            "qrels = \"qrels.txt\"",
            "",
            "e.toml:2: tasks[0]: expected the key collection or qrels, found neither",
        ),
        (
            "qrels = \"qrels.txt\"",
            "qrels = \"qrels.txt\"\ncollection = \"bundled\"",
            "e.toml:4: tasks[0].qrels: expected either a collection or qrels, found both",
        ),
        (
            "qrels = \"qrels.txt\"",
            "qrels = \"none.txt\"",
            "none.txt: cannot be read: No such file",
        ),
        (
            "qrels = \"qrels.txt\"",
            "qrels = \"e.toml\"",
            "e.toml:4: tasks[0].qrels: reading failed: ",
        ),
        (
            "header = false",
            "headers = false",
            "e.toml:8: tasks[1].qrels.headers: unknown field `headers`, expected one of `file`",
        ),
        (
            "systems = [\"a\"]",
            "systems = [\"A\"]",
            "e.toml:10: tasks[1].systems[0]: expected a system of the tables (a, b), found \"A\"",
        ),
        (
            "systems = [\"a\"]",
            "systems = []",
            "e.toml:10: tasks[1].systems: expected at least one, found none",
        ),
        (
            "type = \"run\"\nrun = \"a.trec\"",
            "type = \"bm25\"",
            "e.toml:4: tasks[0].qrels: expected systems of type run, found \"a\" of type bm25",
        ),
        (
            "rules = { missing = \"skip\" }",
            "filter = \"published-year\"",
            "e.toml:9: tasks[1].filter: expected systems of type bm25, found \"a\" of type run",
        ),
        (
            "unique_lines = true",
            "unique_lines = false",
            "systems[1]: reading the run failed: ",
        ),
        ("\"a.trec\"", "\"none.trec\"", "e.toml:15: systems[0].run: "),
        // Keys without effect on the type run.
        (
            "name = \"all\"",
            "name = \"all\"\nquery = \"task\"",
            "e.toml:4: tasks[0].query: expected a system that searches",
        ),
        (
            "name = \"all\"",
            "name = \"all\"\nquery_fields = [\"task\"]",
            "e.toml:4: tasks[0].query_fields: expected a system that searches",
        ),
        (
            "name = \"all\"",
            "name = \"all\"\ntraining = { split = \"train\" }",
            "e.toml:4: tasks[0].training: expected a system that searches",
        ),
        (
            "name = \"all\"",
            "name = \"all\"\nfilter = \"year\"",
            "e.toml:4: tasks[0].filter: expected a system that searches",
        ),
        (
            "name = \"all\"",
            "name = \"all\"\ndocument_order = \"lexicographic-row\"",
            "e.toml:4: tasks[0].document_order: expected a system that searches",
        ),
        (
            "type = \"run\"",
            "type = \"run\"\nhits = 5",
            "e.toml:15: systems[0].hits: expected a system that searches",
        ),
        (
            "type = \"run\"",
            "type = \"run\"\nfilter = \"year\"",
            "e.toml:15: systems[0].filter: expected a system that searches",
        ),
        (
            "[[tasks]]",
            "[search]\nhits = 1000\n[[tasks]]",
            "e.toml:3: search.hits: expected a system that searches",
        ),
        (
            "[[tasks]]",
            "[search]\nfilter = \"year\"\n[[tasks]]",
            "e.toml:3: search.filter: expected a system that searches",
        ),
        (
            "[[tasks]]",
            "[search]\nwhere = { known = { name = \"year\" } }\n[[tasks]]",
            "e.toml:3: search.where: expected a system that searches",
        ),
    ] {
        let found = error(from, to);
        assert!(found.contains(expected), "{expected}\n{found}");
    }
}

const CLASSES: &str = r#"title = "Classes"
[[classifications]]
name = "texts"
texts = "texts.jsonl"
k = 1
folds = 2

[[classifications]]
name = "components"
texts = "texts.jsonl"
labels = "labels.txt"
components = 2
normalize = true
k = 1
folds = 2

[reproduction]
source = "by hand"

[[expected]]
task = "texts"
values = { accuracy = 100, "fold 1" = 100, "fold 2" = 99 }
scale = 100
tolerance = 0.5
"#;

#[test]
fn classifications() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.toml");
    let texts = [
        "green tea",
        "black tea",
        "tea leaves",
        "red ship",
        "ship at sea",
        "ship radar",
    ];
    let mut lines = String::new();
    for (n, text) in texts.iter().enumerate() {
        let label = if n < 3 { "drink" } else { "vessel" };
        lines.push_str(&format!(
            "{{\"text\": \"{text}\", \"label\": \"{label}\"}}\n"
        ));
    }
    lines.push_str("{\"text\": \"other\", \"label\": \"unlabeled\"}\n");
    fs::write(folder.path().join("texts.jsonl"), lines).unwrap();
    let labels = "drink\ndrink\ndrink\nvessel\nvessel\nvessel\nunlabeled\n";
    fs::write(folder.path().join("labels.txt"), labels).unwrap();
    fs::write(&path, CLASSES).unwrap();
    let experiment = Experiment::open(&path).unwrap();
    let cache = Cache::temporary().unwrap();
    let (results, stages) = run(&experiment, &cache);
    assert_eq!(computed(&stages, Stage::Classification), 2);
    let found = results.classification("texts").unwrap();
    assert_eq!((found.items, found.classes, found.folds.len()), (6, 2, 2));
    assert_eq!(found.value("accuracy"), Some(1.0));
    assert_eq!(
        (found.value("fold 2"), found.value("fold 3")),
        (Some(1.0), None)
    );
    assert!(
        results
            .to_text()
            .contains("texts               6        2        100.00")
    );
    assert!(results.to_markdown().contains("| components | 6 | 2 | "));
    let latex = results.to_latex();
    for part in [
        "\\caption{Classes: Accuracy of kNN classification.}",
        "\\label{tab:classification-accuracy}",
        "texts & 6 & 2 & 100.00 \\\\\n",
        "\\end{tabular}\n\\end{table}\n",
    ] {
        assert!(latex.contains(part), "{part}\n{latex}");
    }
    let json: serde_json::Value = serde_json::from_str(&results.to_json().unwrap()).unwrap();
    assert_eq!(json["classifications"][0]["folds"][1], 1.0);
    let reproduction = Reproduction::new(&experiment, &results);
    assert_eq!(reproduction.values.len(), 3);
    let outside: Vec<&str> = reproduction
        .failures()
        .map(|it| it.measure.as_str())
        .collect();
    assert_eq!(outside, ["fold 2"]);
    // Stages of the cache.
    let (second, stages) = run(&experiment, &cache);
    assert_cached(&stages);
    assert_eq!(second.to_json().unwrap(), results.to_json().unwrap());
    let status = |experiment: &Experiment| {
        let registry = Registry::default();
        let plan = Runner::new(&cache, &registry).plan(experiment, &mut NoProgress);
        let stages = plan.unwrap().stages.into_iter();
        let status = stages.map(|stage| (stage.task, stage.status));
        status.collect::<Vec<_>>()
    };
    let (cached, to_do) = (StageStatus::Cached, StageStatus::ToDo);
    let both = |first: &StageStatus, second: &StageStatus| {
        [
            ("texts".to_owned(), first.clone()),
            ("components".to_owned(), second.clone()),
        ]
    };
    assert_eq!(status(&experiment), both(&cached, &cached));
    // Another parameter and other labels; the name is not part of the key.
    let mut changed = experiment.clone();
    changed.classifications[0].metric = ir_experiment::systems::MetricName::Cosine;
    changed.expected.clear();
    assert_eq!(status(&changed), both(&to_do, &cached));
    fs::write(
        folder.path().join("labels.txt"),
        labels.replacen("drink", "vessel", 1),
    )
    .unwrap();
    assert_eq!(status(&experiment), both(&cached, &to_do));
    fs::write(folder.path().join("labels.txt"), labels).unwrap();
    for entry in fs::read_dir(cache.folder().join("classification")).unwrap() {
        fs::write(entry.unwrap().path(), "damaged").unwrap();
    }
    let (rebuilt, stages) = run(&experiment, &cache);
    assert_eq!(rebuilt.to_json().unwrap(), results.to_json().unwrap());
    let is_rebuilt = |stage: &(Stage, StageStatus)| matches!(stage.1, StageStatus::Rebuilt { .. });
    assert!(stages.iter().all(is_rebuilt), "{stages:?}");

    // Characters that are special in a format.
    let text = CLASSES.replacen("\"components\"", "\"A & B_c | $d\"", 1);
    fs::write(&path, text).unwrap();
    let results = run(&open(folder.path()), &cache).0;
    assert!(results.to_text().contains("\nA & B_c | $d  "));
    let markdown = results.to_markdown();
    assert!(
        markdown.contains("| A &amp; B\\_c \\| \\$d | 6 | 2 | "),
        "{markdown}"
    );
    let latex = results.to_latex();
    assert!(
        latex.contains("A \\& B\\_c \\textbar{} \\$d & 6 & 2 & "),
        "{latex}"
    );
    assert!(latex.contains("accuracy (\\%)"), "{latex}");

    for (from, to, expected) in [
        (
            "k = 1",
            "k = 0",
            "classifications[0].k: expected at least 1, found 0",
        ),
        (
            "folds = 2",
            "folds = 1",
            "classifications[0].folds: expected at least 2, found 1",
        ),
        (
            "\"components\"",
            "\"texts\"",
            "classifications[1].name: expected a name that no other",
        ),
        (
            "texts = \"texts.jsonl\"",
            "",
            "classifications[0]: expected the key vectors or texts",
        ),
        (
            "texts = \"texts.jsonl\"",
            "vectors = \"x.npy\"",
            "classifications[0].vectors: expected the key labels, found none",
        ),
        (
            "texts = \"texts.jsonl\"",
            "texts = \"none.jsonl\"",
            "classifications[0].texts: ",
        ),
        (
            "k = 1",
            "text_field = \"abstract\"",
            "texts.jsonl:1: expected text in the field \"abstract\", found none",
        ),
        (
            "\"fold 2\"",
            "\"fold 3\"",
            "expected[0].values.fold 3: expected accuracy, or fold 1 to 2",
        ),
        (
            "[reproduction]",
            "[output]\nformats = [\"text\", \"html\"]\n\n[reproduction]",
            "output.formats[1]: expected text, markdown, latex or json, found html, a format of",
        ),
        (
            "task = \"texts\"",
            "task = \"texts\"\nsystem = \"x\"",
            "expected[0].system: expected no system; a classification has none",
        ),
    ] {
        let text = CLASSES.replacen(from, to, 1);
        assert_ne!(text, CLASSES, "{from}");
        fs::write(&path, text).unwrap();
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let runner = Runner::new(&cache, &registry);
        let ran = Experiment::open(&path).and_then(|it| runner.run(&it, &mut NoProgress));
        let found = ran.unwrap_err().to_string();
        assert!(found.contains(expected), "{expected}\n{found}");
    }
    // Labels of other items.
    fs::write(&path, CLASSES).unwrap();
    fs::write(folder.path().join("labels.txt"), "drink\n").unwrap();
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let experiment = Experiment::open(&path).unwrap();
    let error = Runner::new(&cache, &registry).run(&experiment, &mut NoProgress);
    let error = error.unwrap_err().to_string();
    let expected =
        "e.toml:11: classifications[1].labels: expected 7 labels, one for each item, found 1";
    assert!(error.ends_with(expected), "{error}");
}
