//! Encoders of an experiment file: names, random weights, and training as a cached stage.
#![cfg(feature = "dense")]
#![allow(clippy::unwrap_used)]

use std::fs;

use crate::common::{Recorder, StopsTraining, computed, run, weights};
use ir_core::{Flow, NoProgress, Progress};
use ir_experiment::{Cache, Experiment, Observer, Registry, Runner, SpecError, Stage, StageStatus};

/// A small encoder with random weights, and the same fine-tuned in two query forms.
const TRAINED: &str = r#"
measures = ["AP"]

[[tasks]]
collection = "bundled"
training = { split = "train" }

[[tasks]]
collection = "bundled"
query = "keyphrase_query"
training = { split = "train" }

[search]
hits = 5
filter = "year"

[encoders.random]
random = { vocab_size = 600, hidden_size = 32, layers = 1, heads = 2, split = "train" }

[encoders.tuned]
random = { vocab_size = 600, hidden_size = 32, layers = 1, heads = 2, split = "train", queries = ["text"] }
max_tokens = 64

[encoders.tuned.training]
queries = ["text", "keyphrase_query"]
titles = true
epochs = 2
batch_size = 32
hard_negatives = 1
learning_rate = 3e-3
query_tokens = 32
document_tokens = 48
mining = { hard = 3 }

[[systems]]
name = "BM25"
type = "bm25"

[[systems]]
name = "random"
type = "dense"
encoder = "random"

[[systems]]
name = "tuned"
type = "dense"
encoder = "tuned"

[[systems]]
name = "kNN"
type = "knn"
encoder = "tuned"

[[systems]]
name = "both"
type = "hybrid"
of = ["BM25", "tuned"]
"#;

fn experiment() -> Experiment {
    Experiment::from_toml(TRAINED).unwrap()
}

#[test]
fn training_is_a_cached_stage() {
    let mut experiment = experiment();
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let runner = Runner::new(&cache, &registry);
    let plan = runner.plan(&experiment, &mut NoProgress).unwrap();
    let planned = |stage| plan.stages.iter().filter(|it| it.stage == stage).count();
    // The vocabulary of `random` is trained on the query form of each task. The base of `tuned` is
    // `random` of the first task, and both tasks have the same `tuned`.
    assert_eq!(planned(Stage::Model), 2 + 1);
    assert!(plan.stages.iter().any(|stage| {
        stage.description == "random model, fine-tuned on split train, epochs 2, learning rate 3e-3"
    }));

    let (first, stages) = run(&experiment, &cache);
    assert_eq!(computed(&stages, Stage::Model), 2 + 1);
    assert_eq!(computed(&stages, Stage::Vectors), 2 + 1);
    let checkpoints = fs::read_dir(cache.folder().join("model")).unwrap();
    let mut names = checkpoints.map(|entry| entry.unwrap().file_name());
    assert!(!names.any(|name| name.to_string_lossy().contains("checkpoint")));
    for task in &first.tasks {
        let value = |system| task.value(system, ir_eval::Measure::AP).unwrap();
        assert!(
            value("tuned") > value("random") + 0.05,
            "{}",
            first.to_text()
        );
    }

    // Neither a second start nor another measure needs the models.
    experiment.measures.push(ir_eval::Measure::P.at(5));
    let (second, stages) = run(&experiment, &cache);
    assert!(
        stages
            .iter()
            .all(|stage| *stage == (Stage::Run, StageStatus::Cached))
    );
    assert_eq!(first.tasks[0].runs, second.tasks[0].runs);
    let plan = runner.plan(&experiment, &mut NoProgress).unwrap();
    assert!(
        plan.stages
            .iter()
            .all(|stage| stage.status == StageStatus::Cached)
    );

    // Another hyperparameter: one training, and what depends on it.
    let training = experiment.encoders.get_mut("tuned").unwrap();
    training.training.as_mut().unwrap().seed = Some(7);
    let (third, stages) = run(&experiment, &cache);
    assert_eq!(computed(&stages, Stage::Model), 1);
    assert_eq!(computed(&stages, Stage::Vectors), 1);
    assert_eq!(computed(&stages, Stage::Run), 2 * 3);
    assert_ne!(first.tasks[0].runs[2], third.tasks[0].runs[2]);
}

#[test]
fn training_does_not_depend_on_the_number_of_threads() {
    let trained = [1, 2].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let cache = Cache::temporary().unwrap();
        let results = pool
            .build()
            .unwrap()
            .install(|| run(&experiment(), &cache).0);
        (weights(&cache), results.to_json().unwrap())
    });
    assert_eq!(trained[0].0.len(), 3);
    assert!(trained[0] == trained[1]);
}

#[test]
fn interrupted_training_resumes_and_damaged_models_are_rebuilt() {
    let experiment = experiment();
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let (expected, _) = run(&experiment, &cache);
    let whole = weights(&cache);

    let cache = Cache::temporary().unwrap();
    let runner = Runner::new(&cache, &registry);
    let stopped = runner.run(&experiment, &mut StopsTraining(5));
    assert!(matches!(stopped, Err(SpecError::Canceled)));
    let model = |ending: &str| {
        let entries = fs::read_dir(cache.folder().join("model")).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths.find(|path| path.to_string_lossy().ends_with(ending))
    };
    assert!(model(".checkpoints").is_some());
    // The rest of the steps is trained.
    struct FirstStep(Option<u64>);
    impl Progress for FirstStep {
        fn report(&mut self, stage: &str, done: u64, _: Option<u64>) -> Flow {
            if stage == "training" {
                self.0.get_or_insert(done);
            }
            Flow::Continue
        }
    }
    impl Observer for FirstStep {}
    let mut first = FirstStep(None);
    let resumed = runner.run(&experiment, &mut first).unwrap();
    assert_eq!(first.0, Some(5));
    assert!(model(".checkpoints").is_none());
    assert!(weights(&cache) == whole);
    assert_eq!(resumed.to_json().unwrap(), expected.to_json().unwrap());

    // A flipped bit in the weights is found by the record.
    for (name, _) in &whole {
        let path = cache
            .folder()
            .join("model")
            .join(name)
            .join("model.safetensors");
        let mut bytes = fs::read(&path).unwrap();
        let last = bytes.len() - 3;
        bytes[last] ^= 1;
        fs::write(path, bytes).unwrap();
    }
    for stage in ["run", "vectors"] {
        fs::remove_dir_all(cache.folder().join(stage)).unwrap();
    }
    let (rebuilt, stages) = run(&experiment, &cache);
    let is_rebuilt = |stage: &&(Stage, StageStatus)| {
        stage.0 == Stage::Model && matches!(stage.1, StageStatus::Rebuilt { .. })
    };
    assert_eq!(stages.iter().filter(is_rebuilt).count(), whole.len());
    assert!(weights(&cache) == whole);
    assert_eq!(rebuilt.to_json().unwrap(), expected.to_json().unwrap());
}

#[test]
fn a_damaged_checkpoint_is_discarded() {
    let experiment = experiment();
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let runner = Runner::new(&cache, &registry);
    runner.run(&experiment, &mut StopsTraining(3)).unwrap_err();
    let mut damaged = 0;
    for entry in fs::read_dir(cache.folder().join("model")).unwrap() {
        let checkpoint = entry.unwrap().path().join("checkpoint.safetensors");
        if checkpoint.exists() {
            let bytes = fs::read(&checkpoint).unwrap();
            fs::write(&checkpoint, &bytes[..bytes.len() / 2]).unwrap();
            damaged += 1;
        }
    }
    assert_eq!(damaged, 1);
    let mut recorder = Recorder::default();
    let results = runner.run(&experiment, &mut recorder).unwrap();
    let notes = recorder.notes.join("\n");
    assert!(notes.contains("; training starts again"), "{notes}");
    let (expected, _) = run(&experiment, &Cache::temporary().unwrap());
    assert_eq!(results.to_json().unwrap(), expected.to_json().unwrap());
}

/// Validation queries are not training examples: a model selected on them differs from one that is
/// trained on all queries.
#[test]
fn validation_queries_are_not_training_examples() {
    let text = TRAINED.replace(
        "encoder = \"tuned\"\n\n[[systems]]\nname = \"kNN\"",
        "grid = { encoder = [\"tuned\", \"random\"] }\n\n[[systems]]\nname = \"kNN\"",
    ) + "[selection]\nby = \"validation\"\nsplit = \"train\"\nfraction = 0.3\n";
    let experiment = Experiment::from_toml(&text).unwrap();
    let cache = Cache::temporary().unwrap();
    run(&experiment, &cache);
    let mut models: Vec<Vec<u8>> = weights(&cache).into_iter().map(|it| it.1).collect();
    models.sort();
    models.dedup();
    // Random weights; trained on all queries, and without the validation queries of each task.
    assert_eq!(models.len(), 1 + 1 + 2);
}

#[test]
fn errors_name_encoder_and_key() {
    for (from, to, expected) in [
        (
            "encoder = \"random\"",
            "encoder = \"radnom\"",
            "systems[1].encoder: expected an entry of [encoders] (random, tuned), found \"radnom\" \
             (did you mean random?)",
        ),
        (
            "encoder = \"random\"",
            "encoder = 7",
            "systems[1].encoder: expected the name of an entry",
        ),
        (
            "encoder = \"random\"",
            "encoder = { model = \"m\", epochs = 1 }",
            "systems[1].encoder.epochs: unknown field `epochs`",
        ),
        (
            "encoder = \"random\"",
            "encoder = { model = \"m\", training = { epochs = 0 } }",
            "systems[1].encoder.training.epochs: expected at least 1, found 0",
        ),
        (
            "epochs = 2",
            "epochs = 0",
            "line 27: encoders.tuned.training.epochs: expected at least 1, found 0",
        ),
        (
            "epochs = 2",
            "epochs = 2\nloss = \"pairwise\"",
            "encoders.tuned.training.loss: expected one of `softmax`, `symmetric`, `pointwise`, found `pairwise`",
        ),
        (
            "epochs = 2",
            "epochs = 2\nscale = 10.0",
            "encoders.tuned.training.scale: expected loss = \"pointwise\", which has it",
        ),
        (
            "epochs = 2",
            "epochs = 2\nloss = \"pointwise\"\ntemperature = 0.1",
            "encoders.tuned.training.temperature: expected loss = \"softmax\", which has it",
        ),
        (
            "epochs = 2",
            "epochs = 2\nloss = \"pointwise\"\nscale = 0.0",
            "encoders.tuned.training.scale: expected a finite number > 0, found 0",
        ),
        (
            "hard_negatives = 1",
            "negatives = 1",
            "encoders.tuned.training.negatives: unknown field `negatives`",
        ),
        (
            "learning_rate = 3e-3",
            "learning_rate = -1.0",
            "encoders.tuned.training.learning_rate: expected a finite number > 0, found -1",
        ),
        (
            "query_tokens = 32",
            "query_tokens = 0",
            "encoders.tuned.training.query_tokens: expected at least 1, found 0",
        ),
        (
            "mining = { hard = 3 }",
            "mining = { last_rank = 0 }",
            "encoders.tuned.training.mining.last_rank: ",
        ),
        (
            "mining = { hard = 3 }",
            "mining = { bm25 = { k1 = -1 } }",
            "encoders.tuned.training.mining.bm25.k1: expected a finite number >= 0, found -1",
        ),
        (
            "max_tokens = 64",
            "model = \"m\"",
            "encoders.tuned.random: expected either model or random, found both",
        ),
        (
            "max_tokens = 64",
            "template = \"{title\"",
            "encoders.tuned.template: ",
        ),
        (
            "[\"text\", \"keyphrase_query\"]",
            "[]",
            "encoders.tuned.training.queries: expected at least one, found none",
        ),
        (
            "[\"text\", \"keyphrase_query\"]",
            "[\"text\", \"text\"]",
            "encoders.tuned.training.queries[1]: expected different query forms",
        ),
    ] {
        let text = TRAINED.replacen(from, to, 1);
        assert_ne!(text, TRAINED, "{from}");
        let found = Experiment::from_toml(&text).unwrap_err().to_string();
        assert!(found.contains(expected), "{expected}\n{found}");
    }
    // Errors of the data.
    for (from, to, expected) in [
        (
            "epochs = 2",
            "split = \"test\"\nepochs = 2",
            "line 27: encoders.tuned.training.split: expected a split other than that of the test \
             queries, found \"test\"",
        ),
        (
            "epochs = 2",
            "split = \"trian\"\nepochs = 2",
            "encoders.tuned.training.split: ",
        ),
        (
            "\"text\", \"keyphrase_query\"",
            "\"text\", \"keyphrases\"",
            "encoders.tuned.training.queries[1]: expected \"text\" or an attribute of the queries (",
        ),
        (
            "heads = 2, split = \"train\" }",
            "heads = 3, split = \"train\" }",
            "encoders.random.random.heads: ",
        ),
    ] {
        let text = TRAINED.replacen(from, to, 1);
        assert_ne!(text, TRAINED, "{from}");
        let experiment = Experiment::from_toml(&text).unwrap();
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let found = Runner::new(&cache, &registry).run(&experiment, &mut NoProgress);
        let found = found.unwrap_err().to_string();
        assert!(found.contains(expected), "{expected}\n{found}");
    }
}

/// Keys of the planned stages of a kind.
fn planned_keys(text: &str, stage: Stage) -> Vec<String> {
    let experiment = Experiment::from_toml(text).unwrap();
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let plan = Runner::new(&cache, &registry).plan(&experiment, &mut NoProgress);
    let mut stages = plan.unwrap().stages;
    stages.retain(|it| it.stage == stage);
    stages.into_iter().map(|it| it.key).collect()
}

#[test]
fn training_uses_the_query_form_of_the_task() {
    let keys = |form: &str, queries: &str| {
        let text = TRAINED.replace("query = \"keyphrase_query\"", form);
        let text = text.replace("queries = [\"text\", \"keyphrase_query\"]", queries);
        planned_keys(&text, Stage::Model)
    };
    // Random and trained weights of the first task; `random`, `tuned` and trained of the second.
    let trained = |keys: &[String]| [keys[1].clone(), keys.last().unwrap().clone()];
    let query = "query = \"keyphrase_query\"";
    let [text, keyphrases] = trained(&keys(query, ""));
    assert!(keys(query, "queries = [\"text\"]").contains(&text));
    assert!(keys(query, "queries = [\"keyphrase_query\"]").contains(&keyphrases));
    // The attribute has words that a keyphrase query leaves out.
    let [same, fields] = trained(&keys("query_fields = [\"keyphrase_query\"]", ""));
    assert_eq!(same, text);
    assert!(fields != text && fields != keyphrases);
}

#[test]
fn mining_uses_all_parameters_of_bm25() {
    let mined = |bm25: &str| {
        let to = format!("mining = {{ hard = 3, last_rank = 8, bm25 = {{ {bm25} }} }}");
        let text = TRAINED.replace("mining = { hard = 3 }", &to);
        let text = text.replace("epochs = 2", "epochs = 1");
        let mut experiment = Experiment::from_toml(&text).unwrap();
        experiment.tasks.truncate(1);
        experiment.systems.truncate(3);
        experiment.systems.remove(1);
        let cache = Cache::temporary().unwrap();
        run(&experiment, &cache);
        let mut models: Vec<Vec<u8>> = weights(&cache).into_iter().map(|it| it.1).collect();
        assert_eq!(models.len(), 2);
        models.sort();
        models
    };
    let whole = mined("fields = \"separate\"");
    assert!(whole == mined("fields = \"separate\", title_weight = 1"));
    assert!(whole != mined("fields = \"separate\", title_weight = 0"));
    let cleaning = "cleaning = { punctuation = true, lower_case = true, stop_words = \"nltk\" }";
    let whole = mined("analyzer = \"whitespace\"");
    assert!(whole != mined(&format!("analyzer = \"whitespace\", {cleaning}")));
}

/// Validation queries are not in the vocabulary of random weights.
#[test]
fn validation_queries_are_not_in_the_vocabulary() {
    let text = TRAINED.replace(
        "encoder = \"random\"\n",
        "grid = { encoder = [\"random\"] }\n",
    );
    let mut with = Experiment::from_toml(
        &(text + "[selection]\nby = \"validation\"\nsplit = \"train\"\nfraction = 0.3\n"),
    )
    .unwrap();
    with.tasks.truncate(1);
    with.systems.truncate(2);
    let models = |experiment: &Experiment| {
        let cache = Cache::temporary().unwrap();
        run(experiment, &cache);
        weights(&cache).len()
    };
    assert_eq!(models(&with), 2);
    // Another split than that of the vocabulary.
    let random = with.encoders.get_mut("random").unwrap();
    random.random.as_mut().unwrap().split = None;
    assert_eq!(models(&with), 1);
}

/// Each loss is a stage of its own; softmax is the default.
#[test]
fn losses_are_stages_of_their_own() {
    let keys = |loss: &str| {
        let text = TRAINED.replacen("epochs = 2", &format!("epochs = 2\n{loss}"), 1);
        planned_keys(&text, Stage::Model)
    };
    let default = keys("");
    assert_eq!(keys("loss = \"softmax\""), default);
    let mut all = vec![default];
    for loss in [
        "loss = \"symmetric\"",
        "loss = \"pointwise\"",
        "loss = \"pointwise\"\nscale = 20.0",
    ] {
        let found = keys(loss);
        assert!(!all.contains(&found), "{loss}");
        all.push(found);
    }
}
