//! Cross-encoders that an experiment trains: a cached stage, and its errors.
#![cfg(feature = "dense")]
#![allow(clippy::unwrap_used)]

use std::error::Error as _;
use std::fs;

use crate::common::{Recorder, assert_cached, computed, run, weights};
use crate::trained_rerankers::{self, FOLDER, assert_training_is_deterministic, parse, replaced};
use ir_core::NoProgress;
use ir_data::DocTemplate;
use ir_data::training::DocumentTexts;
use ir_dense::{CrossEncoder, CrossEncoderConfig};
use ir_experiment::systems::RerankSystem;
use ir_experiment::{Cache, Registry, Runner, Stage, StageStatus};
use ir_system::SourceMap;

/// BM25, reranked by a tiny cross-encoder that is trained for an epoch.
fn trained() -> String {
    trained_rerankers::experiment("cross-encoders/bert", 48, "")
}

/// The experiment with another text in place of one that it contains.
fn changed(from: &str, to: &str) -> String {
    replaced(&trained(), from, to)
}

#[test]
fn training_is_a_cached_stage() {
    let mut experiment = parse(&trained()).unwrap();
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let runner = Runner::new(&cache, &registry);
    let plan = runner.plan(&experiment, &mut NoProgress).unwrap();
    let planned = |stage| plan.stages.iter().filter(move |it| it.stage == stage);
    let models: Vec<&str> = planned(Stage::Model)
        .map(|it| it.description.as_str())
        .collect();
    let expected = "bert, trained as a cross-encoder on split train, epochs 1, learning rate 3e-3";
    assert_eq!(models, [expected]);
    // Mining searches the index of BM25.
    assert_eq!(planned(Stage::Index).count(), 1);

    let (first, stages) = run(&experiment, &cache);
    assert_eq!(computed(&stages, Stage::Model), 1);
    let trained = weights(&cache);
    assert_eq!(trained.len(), 1);

    // The cached, trained model gives these scores.
    let folder = cache.folder().join("model").join(&trained[0].0);
    let config = CrossEncoderConfig::default().with_max_tokens(48_usize);
    let model = CrossEncoder::open_with(&folder, &config).unwrap();
    let base = format!("{FOLDER}cross-encoders/bert");
    let base = CrossEncoder::open_with(base, &config).unwrap();
    let collection = ir_data::catalog::open("bundled").unwrap();
    let texts = DocumentTexts::from_corpus(collection.corpus(), &DocTemplate::default()).unwrap();
    let (mut compared, mut moved) = (0, 0);
    for query in collection.queries("test").unwrap() {
        let list = first.tasks[0].runs[1].get(&query.id).unwrap_or_default();
        assert!(list.len() <= 10);
        let pairs: Vec<(&str, &str)> = list
            .iter()
            .map(|it| (query.text.as_str(), texts.get(&it.doc).unwrap().1))
            .collect();
        let scores = model.predict(&pairs).unwrap();
        let before = base.predict(&pairs).unwrap();
        for ((scored, labels), before) in list.iter().zip(scores).zip(before) {
            assert!((scored.score - f64::from(labels[0])).abs() < 1e-6);
            moved += usize::from((labels[0] - before[0]).abs() > 1e-4);
            compared += 1;
        }
    }
    assert!(compared > 100 && moved > compared / 2, "{moved} {compared}");

    // Neither a second start nor another measure needs the model.
    experiment.measures.push(ir_eval::Measure::P.at(5));
    let (second, stages) = run(&experiment, &cache);
    assert_cached(&stages);
    assert_eq!(first.tasks[0].runs, second.tasks[0].runs);
    let plan = runner.plan(&experiment, &mut NoProgress).unwrap();
    let mut stages = plan.stages.iter();
    assert!(stages.all(|stage| stage.status == StageStatus::Cached));
}

#[test]
fn systems_share_a_training() {
    let cache = Cache::temporary().unwrap();
    run(&parse(&trained()).unwrap(), &cache);
    let count = |text: &str| {
        let (_, stages) = run(&parse(text).unwrap(), &cache);
        [Stage::Model, Stage::Run].map(|stage| computed(&stages, stage))
    };
    // Another number of candidates, another number format: the same model.
    let text = trained();
    let (before, system) = text.split_at(text.rfind("[[systems]]").unwrap());
    let other = system.replace("\"reranked\"", "\"other\"");
    let other = other.replace("depth = 10", "depth = 5\nprecision = \"int8\"");
    assert_eq!(count(&format!("{before}{system}{other}")), [0, 1]);
    // Whatever determines the weights trains another one.
    for (from, to) in [
        ("epochs = 1", "epochs = 1\nseed = 7"),
        ("hard = 4", "hard = 3"),
        ("epochs = 1", "epochs = 1\nloss = \"rank-net\""),
        ("depth = 10", "depth = 10\ntemplate = \"{title}\""),
        ("max_tokens = 48", "max_tokens = 40"),
        ("cross-encoders/bert", "cross-encoders/electra"),
    ] {
        assert_eq!(count(&changed(from, to)), [1, 1], "{to}");
    }
}

/// An encoder gets a new head.
#[test]
fn an_encoder_becomes_a_cross_encoder() {
    let text = changed("cross-encoders/bert", "tiny/bert-pytorch");
    let text = text.replace("max_tokens = 48", "max_tokens = 32");
    let cache = Cache::temporary().unwrap();
    run(&parse(&text).unwrap(), &cache);
    let trained = weights(&cache);
    assert_eq!(trained.len(), 1);
    let config = cache.folder().join("model").join(&trained[0].0);
    let config = fs::read_to_string(config.join("config.json")).unwrap();
    assert!(config.contains("BertForSequenceClassification"), "{config}");
}

#[test]
fn training_does_not_depend_on_threads_and_interruptions() {
    assert_training_is_deterministic(&parse(&trained()).unwrap());
}

/// A model that is selected on validation queries is not trained on them.
#[test]
fn validation_queries_are_not_training_examples() {
    let text = changed("depth = 10", "grid = { depth = [5, 10] }")
        + "\n[selection]\nby = \"validation\"\nsplit = \"train\"\nfraction = 0.3\n";
    let cache = Cache::temporary().unwrap();
    run(&parse(&text).unwrap(), &cache);
    let trained = weights(&cache);
    assert_eq!(trained.len(), 2);
    assert_ne!(trained[0].1, trained[1].1);
}

/// Queries without a hard negative are left out, unless other queries give negatives.
#[test]
fn queries_without_hard_negatives() {
    let notes = |changes: &str| {
        let text = changed("hard = 4, last_rank = 20", "hard = 1, last_rank = 1");
        let text = text.replace("epochs = 1", changes);
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let mut recorder = Recorder::default();
        let runner = Runner::new(&cache, &registry);
        runner.run(&parse(&text).unwrap(), &mut recorder).unwrap();
        recorder.notes.join("\n")
    };
    let left_out = "training examples of split train are left out: no hard negatives";
    let found = notes("epochs = 1");
    assert!(found.contains(left_out), "{found}");
    for changes in ["in_batch_negatives = 1", "loss = \"binary-cross-entropy\""] {
        let found = notes(&format!("epochs = 1\n{changes}"));
        assert!(!found.contains(left_out), "{changes}: {found}");
    }
}

#[test]
fn errors_name_the_key() {
    let key = "systems[1].training";
    for (from, to, expected) in [
        (
            "epochs = 1",
            "epochs = 0",
            ".epochs: expected at least 1, found 0",
        ),
        (
            "hard_negatives = 2",
            "negatives = 2",
            ".negatives: unknown field `negatives`",
        ),
        (
            "hard_negatives = 2",
            "hard_negatives = 0",
            ".hard_negatives: hard_negatives is 0, expected 1 or more",
        ),
        (
            "epochs = 1",
            "loss = \"mse\"",
            ".loss: expected one of `softmax`, `multiple-negatives`, `binary-cross-entropy`, `rank-net`, `symmetric`, `pointwise`, `margin-mse`, `kl-divergence`, found `mse`",
        ),
        (
            "learning_rate = 3e-3",
            "learning_rate = -1.0",
            ".learning_rate: expected a finite number > 0, found -1",
        ),
        ("epochs = 1", "dropout = 1.0", ".dropout: "),
        (
            "epochs = 1",
            "document_tokens = 32",
            ".document_tokens: expected late_interaction = true, which has it",
        ),
        (
            "epochs = 1",
            "loss = \"symmetric\"",
            ".loss: expected \"softmax\", \"multiple-negatives\", \"binary-cross-entropy\", \"rank-net\", \"margin-mse\" or \"kl-divergence\" for a cross-encoder, found \"symmetric\"",
        ),
        (
            "hard = 4, last_rank = 20",
            "hard = 0",
            ".mining: expected hard or random negatives, or in_batch_negatives",
        ),
        ("last_rank = 20", "last_rank = 0", ".mining.last_rank: "),
        (
            "last_rank = 20",
            "bm25 = { k1 = -1 }",
            ".mining.bm25.k1: expected a finite number >= 0, found -1",
        ),
        (
            "epochs = 1",
            "queries = []",
            ".queries: expected at least one, found none",
        ),
        (
            "model = \"FOLDER/cross-encoders/bert\"\nmax_tokens = 48",
            "second = \"BM25\"",
            ": expected the key model, found second",
        ),
    ] {
        let found = parse(&changed(from, to)).unwrap_err().to_string();
        let expected = format!("{key}{expected}");
        assert!(found.contains(&expected), "{expected}\n{found}");
    }
    // Errors of the data.
    let run = |from: &str, to: &str| {
        let experiment = parse(&changed(from, to)).unwrap();
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let found = Runner::new(&cache, &registry).run(&experiment, &mut NoProgress);
        found.unwrap_err()
    };
    for (from, to, parts) in [
        (
            "epochs = 1",
            "split = \"test\"",
            [
                "systems[1].training.split: expected a split other than that of the test queries",
                "found \"test\"",
            ],
        ),
        (
            "epochs = 1",
            "split = \"trian\"",
            ["systems[1].training.split: ", "(did you mean train?)"],
        ),
        (
            "epochs = 1",
            "queries = [\"text\", \"keyphrases\"]",
            [
                "systems[1].training.queries[1]: expected \"text\" or an attribute of the queries",
                "keyphrase_query",
            ],
        ),
        (
            "cross-encoders/bert",
            "cross-encoders/none",
            ["systems[1].model: ", "none: expected a model folder"],
        ),
    ] {
        let found = run(from, to).to_string();
        for part in parts {
            assert!(found.contains(part), "{part}\n{found}");
        }
    }
    for (from, to, part) in [
        (
            "cross-encoders/bert",
            "cross-encoders/bert-3-labels",
            "the number of labels",
        ),
        (
            "cross-encoders/bert",
            "cross-encoders/bert-pooled",
            "a classification head, which training needs",
        ),
        ("epochs = 1", "max_tokens = 4000", "max_tokens"),
    ] {
        let found = run(from, to);
        let text = found.to_string();
        assert!(text.contains("systems[1]: training failed"), "{text}");
        let source = found.source().unwrap().to_string();
        assert!(source.contains(part), "{part}\n{source}");
    }
}

/// Without a collection, nothing trains a model.
#[test]
fn programs_open_trained_models() {
    let system = "first = \"a\"\nmodel = \"m\"\n[training]\nepochs = 1\n";
    let system: RerankSystem = toml::from_str(system).unwrap();
    let error = system.open_model(&SourceMap::default()).unwrap_err();
    let expected = "training: expected a trained model";
    assert!(error.to_string().starts_with(expected), "{error}");
}
