//! Late-interaction models that an experiment trains: a cached stage, and its errors.
#![cfg(feature = "dense")]
#![allow(clippy::unwrap_used)]

use crate::common::{Recorder, assert_cached, computed, run, weights};
use crate::trained_rerankers::{self, assert_training_is_deterministic, parse, replaced};
use ir_core::{Candidate, NoProgress, Reranker as _};
use ir_data::DocTemplate;
use ir_data::training::DocumentTexts;
use ir_dense::MultiVectorEncoder;
use ir_experiment::{Cache, Registry, Runner, Stage};
use ir_knn::LateInteraction;

/// BM25, reranked by a tiny encoder that becomes a late-interaction model in an epoch.
fn trained() -> String {
    trained_rerankers::experiment(
        "tiny/bert-pytorch",
        16,
        "late_interaction = true\ndim = 8\n",
    )
}

/// The experiment with another text in place of one that it contains.
fn changed(from: &str, to: &str) -> String {
    replaced(&trained(), from, to)
}

#[test]
fn training_is_a_cached_stage() {
    let experiment = parse(&trained()).unwrap();
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let plan = Runner::new(&cache, &registry).plan(&experiment, &mut NoProgress);
    let stages = plan.unwrap().stages;
    let models = stages.iter().filter(|it| it.stage == Stage::Model);
    let models: Vec<&str> = models.map(|it| it.description.as_str()).collect();
    let expected = "bert-pytorch, trained as a late-interaction model on split train, epochs 1, \
                    learning rate 3e-3";
    assert_eq!(models, [expected]);

    let (first, stages) = run(&experiment, &cache);
    assert_eq!(computed(&stages, Stage::Model), 1);
    let trained = weights(&cache);
    assert_eq!(trained.len(), 1);

    // The cached model has the maximum length of the system, and gives these scores.
    let folder = cache.folder().join("model").join(&trained[0].0);
    let model = MultiVectorEncoder::open(&folder).unwrap();
    assert_eq!(model.max_tokens(ir_core::Side::Document), 16);
    let model = LateInteraction::new(model);
    let collection = ir_data::catalog::open("bundled").unwrap();
    let texts = DocumentTexts::from_corpus(collection.corpus(), &DocTemplate::default()).unwrap();
    let mut compared = 0;
    for query in collection.queries("test").unwrap() {
        let list = first.tasks[0].runs[1].get(&query.id).unwrap_or_default();
        assert!(list.len() <= 10);
        let candidates: Vec<Candidate<'_>> = list
            .iter()
            .map(|it| Candidate::new(&it.doc, texts.get(&it.doc).unwrap().1))
            .collect();
        let scores = model.scores(&query.text, &candidates).unwrap();
        for (scored, score) in list.iter().zip(scores) {
            assert!((scored.score - f64::from(score.unwrap())).abs() < 1e-5);
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");

    let (second, stages) = run(&experiment, &cache);
    assert_cached(&stages);
    assert_eq!(first.tasks[0].runs, second.tasks[0].runs);
}

#[test]
fn systems_share_a_training() {
    let cache = Cache::temporary().unwrap();
    run(&parse(&trained()).unwrap(), &cache);
    let count = |from: &str, to: &str| {
        let (_, stages) = run(&parse(&changed(from, to)).unwrap(), &cache);
        [Stage::Model, Stage::Run].map(|stage| computed(&stages, stage))
    };
    // Another number of candidates: the same model.
    assert_eq!(count("depth = 10", "depth = 5"), [0, 1]);
    // Whatever determines the weights trains another one. A late-interaction model is trained
    // further, in its dimension.
    for (from, to) in [
        ("dim = 8", "dim = 6"),
        ("dim = 8", "dim = 8\ntemperature = 0.5"),
        ("dim = 8", "dim = 8\nloss = \"pointwise\"\nscale = 2"),
        ("dim = 8", "dim = 8\ndocument_tokens = 12"),
        ("dim = 8", "dim = 8\nquery_tokens = 24"),
        ("dim = 8", "dim = 8\ndecay = \"constant\""),
        ("tiny/bert-pytorch", "late-interaction/pylate"),
    ] {
        assert_eq!(count(from, to), [1, 1], "{to}");
    }
}

#[test]
fn training_does_not_depend_on_threads_and_interruptions() {
    assert_training_is_deterministic(&parse(&trained()).unwrap());
}

/// All documents of a batch are negatives, so that queries without a hard negative are examples.
#[test]
fn hard_negatives_are_not_needed() {
    let text = changed("hard_negatives = 2", "hard_negatives = 0");
    let text = text.replace("hard = 4, last_rank = 20", "hard = 0");
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let mut recorder = Recorder::default();
    let runner = Runner::new(&cache, &registry);
    runner.run(&parse(&text).unwrap(), &mut recorder).unwrap();
    assert_eq!(weights(&cache).len(), 1);
    let notes = recorder.notes.join("\n");
    assert!(!notes.contains("no hard negatives"), "{notes}");
}

#[test]
fn errors_name_the_key() {
    let key = "systems[1].training";
    for (from, to, expected) in [
        ("dim = 8", "dim = 0", ".dim: expected at least 1, found 0"),
        (
            "dim = 8",
            "max_tokens = 16",
            ".max_tokens: expected either training.late_interaction or training.max_tokens, found both: ",
        ),
        (
            "dim = 8",
            "in_batch_negatives = 4",
            ".in_batch_negatives: expected either training.late_interaction or training.in_batch_negatives, found both: ",
        ),
        (
            "dim = 8",
            "loss = \"rank-net\"",
            ".loss: expected \"softmax\", \"symmetric\", \"pointwise\", \"margin-mse\" or \"kl-divergence\" for a late-interaction model, found \"rank-net\"",
        ),
        (
            "dim = 8",
            "loss = \"pointwise\"",
            ".scale: loss.scale is null, expected above 0",
        ),
        (
            "dim = 8",
            "scale = 2",
            ".scale: expected loss = \"pointwise\", which has it",
        ),
        (
            "dim = 8",
            "temperature = 0",
            ".temperature: expected a finite number > 0, found 0",
        ),
        (
            "late_interaction = true\n",
            "",
            ".dim: expected late_interaction = true, which has it",
        ),
    ] {
        let found = parse(&changed(from, to)).unwrap_err().to_string();
        let expected = format!("{key}{expected}");
        assert!(found.contains(&expected), "{expected}\n{found}");
    }
    for (from, to, expected) in [
        (
            "depth = 10",
            "windows = \"mean\"",
            "systems[1].windows: expected \"first\" for a late-interaction model",
        ),
        (
            "depth = 10",
            "tokens = \"tokens.ir\"",
            "systems[1].tokens: expected either training or tokens, found both",
        ),
    ] {
        let found = parse(&changed(from, to)).unwrap_err().to_string();
        assert!(found.contains(expected), "{expected}\n{found}");
    }
}
