//! The main job's tiny encoder: training improves it and is deterministic.

#![allow(clippy::unwrap_used, clippy::print_stderr, dead_code)]

use std::fs;
use std::path::Path;

use datafinder::encoder::EncoderSystems;
use datafinder::task::{MEASURES, TimeFilter, in_keyphrases, recommend};
use datafinder::training::{Recipe, tiny_model};
use ir_core::Query;
use ir_data::Collection;
use ir_data::catalog::Catalog;
use ir_eval::{Evaluator, Measure};

/// P@5, R@5, MAP and MRR of five datasets per query, for sentences and keyphrases.
fn scores(collection: &Collection, folder: &Path) -> [[f64; 4]; 2] {
    let text = "{text} [SEP] {title}".parse().unwrap();
    let encoder = EncoderSystems::open(folder, collection, &text).unwrap();
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
    let index = datafinder::systems::bm25_index(&collection).unwrap();
    let recipe = Recipe::tiny();
    let folders = [1, 2].map(|threads| {
        let work = tempfile::tempdir().unwrap();
        let untrained = work.path().join("untrained");
        let train = || {
            tiny_model(&collection, &text, &untrained).unwrap();
            let examples = recipe.examples(&collection, &index, &text).unwrap();
            let trained = work.path().join("trained");
            let encoder = recipe.train(&untrained, &examples).unwrap();
            encoder.save(&trained).unwrap();
            trained
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let trained = pool.build().unwrap().install(train);
        (work, untrained, trained)
    });
    let [(_, untrained, trained), (_, _, by_two)] = &folders;
    let read = |folder: &Path| fs::read(folder.join("model.safetensors")).unwrap();
    for file in ["model.safetensors", "vocab.txt"] {
        let [one, two] = [&folders[0].1, &folders[1].1].map(|f| fs::read(f.join(file)).unwrap());
        assert!(one == two, "{file}");
    }
    assert!(read(trained) == read(by_two));
    let before = scores(&collection, untrained);
    let after = scores(&collection, trained);
    assert_eq!(after, scores(&collection, by_two));
    for (before, after) in before.into_iter().zip(after) {
        eprintln!("before {before:.3?}, after {after:.3?}");
        for (before, after) in before.into_iter().zip(after) {
            assert!(after > before + 0.05, "{before} to {after}");
        }
    }
}
