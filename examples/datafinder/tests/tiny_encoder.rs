//! The main job's tiny encoder: training improves it and is deterministic.

#![allow(clippy::unwrap_used, clippy::print_stderr, dead_code)]

use std::fs;
use std::path::Path;

use datafinder::encoder::EncoderSystems;
use datafinder::task::{MEASURES, TimeFilter, in_keyphrases, recommend};
use ir_core::{NoProgress, Query};
use ir_data::Collection;
use ir_data::catalog::Catalog;
use ir_eval::{Evaluator, Measure};

/// P@5, R@5, MAP and MRR of five datasets per query, for sentences and keyphrases.
fn scores(collection: &Collection, folder: &Path) -> [[f64; 4]; 2] {
    let text = "{text} [SEP] {title}".parse().unwrap();
    let encoder = EncoderSystems::open(folder.to_owned(), collection, &text).unwrap();
    let sentences = collection.queries("test").unwrap();
    let keyphrases: Vec<Query> = sentences.iter().map(in_keyphrases).collect();
    let qrels = collection.qrels("test").unwrap();
    let evaluator = Evaluator::new(&qrels, &MEASURES).unwrap();
    [sentences, keyphrases].map(|queries| {
        let system = encoder.dense("encoder");
        let run = recommend(&system, &queries, TimeFilter::Exact).unwrap();
        let report = evaluator.evaluate(&run).unwrap();
        MEASURES.map(|measure: Measure| report.summary(measure).unwrap())
    })
}

#[test]
fn training_improves_and_is_independent_of_threads() {
    let collection = Catalog::from_env().open("bundled").unwrap();
    let text = "{text} [SEP] {title}".parse().unwrap();
    let folders = [1, 2].map(|threads| {
        let folder = tempfile::tempdir().unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            datafinder::tiny::train(&collection, &text, folder.path(), &mut NoProgress).unwrap()
        });
        folder
    });
    for file in [
        "untrained/model.safetensors",
        "untrained/vocab.txt",
        "trained/model.safetensors",
    ] {
        let [one, two] = [&folders[0], &folders[1]].map(|f| fs::read(f.path().join(file)).unwrap());
        assert!(one == two, "{file}");
    }
    let folder = folders[0].path();
    let before = scores(&collection, &folder.join("untrained"));
    let after = scores(&collection, &folder.join("trained"));
    assert_eq!(
        after,
        scores(&collection, &folders[1].path().join("trained"))
    );
    for (before, after) in before.into_iter().zip(after) {
        eprintln!("before {before:.3?}, after {after:.3?}");
        for (before, after) in before.into_iter().zip(after) {
            assert!(after > before + 0.05, "{before} to {after}");
        }
    }
}
