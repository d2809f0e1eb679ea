//! The type `random-indexing` beside the same steps by hand.

#![allow(clippy::unwrap_used)]

use ir_bm25::analysis::Analysis;
use ir_core::{Analyzer, NoProgress};
use ir_data::catalog;
use ir_experiment::{Cache, Experiment, Registry, Runner};
use ir_knn::{RandomIndexing, RandomIndexingConfig};
use ndarray::ArrayView1;

fn file(keys: &str) -> String {
    format!(
        "measures = [\"AP\"]\n[[tasks]]\ncollection = \"bundled\"\n\
         [[systems]]\nname = \"RI\"\ntype = \"random-indexing\"\n{keys}"
    )
}

/// Documents by descending cosine with `query`, which has length 1.
fn ranked(query: ArrayView1<'_, f64>, vectors: &ndarray::Array2<f64>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..vectors.nrows()).collect();
    order.sort_by(|&a, &b| {
        let cosine = |doc: usize| vectors.row(doc).dot(&query);
        cosine(b).total_cmp(&cosine(a))
    });
    order
}

#[test]
fn rankings_are_those_of_the_vectors() {
    let collection = catalog::open("bundled").unwrap();
    let documents = collection.corpus().docs().unwrap().map(Result::unwrap);
    let (ids, texts): (Vec<String>, Vec<String>) = documents
        .map(|doc| (doc.id, format!("{} {}", doc.title, doc.text)))
        .unzip();
    let mut config = RandomIndexingConfig::default().with_dim(300);
    (config.nonzero, config.reflections, config.seed) = (6, 2, 9);
    let analyzer = Analysis::anserini().build().unwrap();
    let fitted = RandomIndexing::fit_transform_with(analyzer.clone(), &texts, &config);
    let (indexing, vectors) = fitted.unwrap();

    for docs in [0, 3] {
        let mut keys = "dim = 300\nnonzero = 6\nreflections = 2\nseed = 9\n".to_owned();
        if docs > 0 {
            keys.push_str("feedback_docs = 3\nbeta = 0.5\n");
        }
        let experiment = Experiment::from_toml(&file(&keys)).unwrap();
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let results = Runner::new(&cache, &registry).run(&experiment, &mut NoProgress);
        let results = results.unwrap();
        let run = &results.tasks[0].runs[0];
        let queries = collection.queries("test").unwrap();
        assert_eq!(run.iter().len(), queries.len());
        for query in &queries {
            assert!(!analyzer.terms(&query.text).is_empty());
            let mut vector = indexing.transform(&[&query.text]).row(0).to_owned();
            let first = ranked(vector.view(), &vectors);
            for &doc in &first[..docs] {
                vector.scaled_add(0.5 / 3.0, &vectors.row(doc));
            }
            let expected = ranked(vector.view(), &vectors);
            let expected: Vec<&str> = expected[..10].iter().map(|&n| ids[n].as_str()).collect();
            let found = &run.get(&query.id).unwrap()[..10];
            let found: Vec<&str> = found.iter().map(|hit| hit.doc.as_str()).collect();
            assert_eq!(found, expected, "{docs} {}", query.id);
        }
    }
}

#[test]
fn errors_name_the_key() {
    for (keys, expected) in [
        (
            "dim = 1",
            "systems[0].dim: expected a number from 2 to 65536, found 1",
        ),
        (
            "dim = 4000000000",
            "systems[0].dim: expected a number from 2 to 65536",
        ),
        (
            "nonzero = 3",
            "systems[0].nonzero: expected an even number from 2 to 200, found 3",
        ),
        (
            "dim = 8",
            "systems[0].nonzero: expected an even number from 2 to 8, found 10",
        ),
        (
            "reflections = 101",
            "systems[0].reflections: expected at most 100, found 101",
        ),
        (
            "feedback_docs = 0",
            "systems[0].feedback_docs: expected at least 1, found 0",
        ),
        (
            "beta = 0.5",
            "systems[0].beta: expected the key feedback_docs, found none",
        ),
        (
            "feedback_docs = 5\nbeta = -1.0",
            "systems[0].beta: expected a finite number >= 0, found -1",
        ),
        ("elemental = \"documents\"", ", found `documents`"),
        ("template = \"{\"", "systems[0].template: "),
        ("cycles = 2", "cycles"),
    ] {
        let error = Experiment::from_toml(&file(keys)).unwrap_err().to_string();
        assert!(error.contains(expected), "{keys}: {error}");
    }
}
