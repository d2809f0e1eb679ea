//! `experiments/datafinder-bundled.toml` states the main job: same runs, values and marks.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use datafinder::encoders::Encoders;
use datafinder::experiment;
use datafinder::systems;
use datafinder::table::{SystemRow, Table};
use datafinder::task::{TimeFilter, in_keyphrases, recommend, training};
use ir_core::{NoProgress, Query, Run};
use ir_data::Collection;
use ir_data::catalog::Catalog;
use ir_experiment::{Cache, Experiment, ExperimentResults, Registry, Runner, TaskResults};

const FILTERS: [TimeFilter; 3] = [TimeFilter::None, TimeFilter::Published, TimeFilter::Exact];

fn results() -> ExperimentResults {
    let file = "../../experiments/datafinder-bundled.toml";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let experiment = Experiment::open(file).unwrap();
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let results = Runner::new(&cache, &registry).run(&experiment, &mut NoProgress);
    results.unwrap()
}

fn task<'r>(results: &'r ExperimentResults, form: &str, filter: TimeFilter) -> &'r TaskResults {
    results
        .task(&format!("{form}, {}", filter.label()))
        .unwrap()
}

/// Every run of the program equals that of the file.
fn assert_same_runs(results: &ExperimentResults, collection: &Collection) {
    let index = systems::bm25_index(collection).unwrap();
    let encoders = Encoders::train(collection, &index).unwrap();
    let sentences = collection.queries("test").unwrap();
    let keyphrases: Vec<Query> = sentences.iter().map(in_keyphrases).collect();
    let [in_sentences, in_phrases] = training(collection).unwrap();
    let mut compared = 0;
    for (form, queries, training) in [
        ("sentences", sentences, in_sentences),
        ("keyphrases", keyphrases, in_phrases),
    ] {
        let all = systems::all(&index, &training).unwrap().into_iter();
        for system in all.chain(encoders.systems(&index, &training).unwrap()) {
            for filter in FILTERS {
                if filter == TimeFilter::Published && system.raw.is_none() {
                    continue;
                }
                let expected = recommend(&system, &queries, filter).unwrap();
                let mut runs = task(results, form, filter).runs.iter();
                let found = runs.find(|run| run.tag == system.name).unwrap();
                match system.name {
                    // The program divides by the norms of the vectors, which are 1.
                    "untrained encoder" => assert_same_documents(found, &expected),
                    name => assert_eq!(*found, expected, "{form}, {name}, {filter:?}"),
                }
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 2 * (6 * 2 + 1));
}

/// Same documents in the same order, with scores that differ by rounding only.
fn assert_same_documents(found: &Run, expected: &Run) {
    assert_eq!(found.len(), expected.len());
    for ((query, found), (_, expected)) in found.iter().zip(expected.iter()) {
        assert_eq!(found.len(), expected.len(), "{query}");
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found.doc, expected.doc, "{query}");
            let difference = found.score - expected.score;
            assert!(difference.abs() < 1e-6, "{query}: {difference}");
        }
    }
}

/// Tables of both query forms, as the program prints them.
fn tables(results: &ExperimentResults) -> Vec<String> {
    let form = |(title, form): (&str, &str)| {
        let mut rows = Vec::new();
        let systems = task(results, form, TimeFilter::None).reports.iter();
        for system in systems.map(|report| report.run()) {
            for filter in FILTERS {
                let task = task(results, form, filter);
                let mut found = task.runs.iter().zip(&task.reports);
                let found = found.find(|(run, _)| run.tag == system);
                rows.extend(found.map(|(run, report)| SystemRow {
                    filter,
                    run: run.clone(),
                    report: report.clone(),
                }));
            }
        }
        let mut table = Table::default();
        table.systems(title, &rows).unwrap();
        table.text
    };
    [
        ("full sentences", "sentences"),
        ("keyphrases", "keyphrases"),
    ]
    .map(form)
    .into()
}

/// Systems and measures that the comparison of a task marks.
fn marked(task: &TaskResults) -> BTreeSet<(String, String)> {
    let tests = &task.comparison.as_ref().unwrap().pairwise_tests;
    let marked = tests.iter().filter(|test| test.significant);
    marked
        .map(|test| (test.system.clone(), test.measure.to_string()))
        .collect()
}

#[test]
fn the_file_states_the_main_job() {
    let collection = Catalog::from_env().open("bundled").unwrap();
    let results = results();
    assert_same_runs(&results, &collection);
    let printed = experiment::run(&collection).unwrap();
    for table in tables(&results) {
        assert!(printed.contains(&table), "{table}\n{printed}");
    }
    // The comparison of the file has the marks of the printed rows.
    for table in tables(&results) {
        let form = if table.starts_with("keyphrases") {
            "keyphrases"
        } else {
            "sentences"
        };
        for filter in [TimeFilter::None, TimeFilter::Exact] {
            let expected = marked(task(&results, form, filter)).len();
            let rows = table.lines().filter(|line| line.contains(filter.label()));
            let found: usize = rows.map(|line| line.matches('*').count()).sum();
            assert_eq!(found, expected, "{form}, {filter:?}");
        }
    }
}
