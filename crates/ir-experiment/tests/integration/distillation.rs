//! Rerankers that learn the scores of a teacher: cached scores, and errors of the keys.
#![cfg(feature = "dense")]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use crate::common::{Recorder, assert_cached, computed, run, weights};
use crate::trained_rerankers::{self, FOLDER, assert_training_is_deterministic, parse, replaced};
use ir_core::store::IndexFormat;
use ir_core::{Flow, NoProgress, Progress, Qrels, Search};
use ir_data::DocTemplate;
use ir_data::training::DocumentTexts;
use ir_dense::{Activation, CrossEncoder, CrossEncoderConfig};
use ir_experiment::{Cache, Experiment, Observer, Registry, Runner, Stage, StageStatus};
use ir_system::Record;

const TEACHER: &str = "loss = \"margin-mse\"\n\
                       teacher = { model = \"FOLDER/cross-encoders/electra\" }\n";

/// BM25, reranked by a tiny cross-encoder that learns the scores of a teacher.
fn distilled(keys: &str) -> String {
    trained_rerankers::experiment("cross-encoders/bert", 48, keys)
}

/// The experiment with a system that is the teacher.
fn with_system(system: &str, keys: &str) -> String {
    let teacher = format!("loss = \"margin-mse\"\nteacher = {{ system = {system:?} }}\n");
    format!("{}\n{keys}", distilled(&teacher))
}

const MODEL_OF_A_SYSTEM: &str = "[[systems]]\nname = \"cross-encoder\"\ntype = \"rerank\"\n\
                                 hidden = true\nfirst = \"BM25\"\n\
                                 model = \"FOLDER/cross-encoders/electra\"\n";

/// Cached scores of teachers: files of the entries.
fn entries(cache: &Cache) -> Vec<PathBuf> {
    let folder = fs::read_dir(cache.folder().join("teacher-scores")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    let mut entries: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|it| it == "ir"))
        .collect();
    entries.sort();
    entries
}

/// Scores of the only entry, and the number of texts without one.
fn entry(cache: &Cache) -> (Vec<f32>, usize) {
    let [path] = &entries(cache)[..] else {
        panic!("expected one entry");
    };
    let record = Record {
        stage: Stage::TeacherScores,
        format: IndexFormat {
            magic: *b"IREXPTCH",
            version: 1,
            name: "scores",
            large_sections: &[],
        },
    };
    let key = path.file_stem().unwrap().to_str().unwrap();
    let bytes = cache.entry(&record, key, |bytes| Some(bytes.to_vec()));
    let bytes = bytes.unwrap().unwrap();
    let (mut scores, mut without, mut bytes) = (Vec::new(), 0, &bytes[..]);
    while let [is_scored, rest @ ..] = bytes {
        bytes = rest;
        if *is_scored == 0 {
            without += 1;
            continue;
        }
        let (score, rest) = bytes.split_first_chunk::<4>().unwrap();
        scores.push(f32::from_le_bytes(*score));
        bytes = rest;
    }
    (scores, without)
}

fn scores(cache: &Cache) -> Vec<f32> {
    entry(cache).0
}

/// Texts of the documents, and the judgments of the training queries with their texts.
fn training_data() -> (DocumentTexts, Vec<ir_core::Query>, Qrels) {
    let collection = ir_data::catalog::open("bundled").unwrap();
    let texts = DocumentTexts::from_corpus(collection.corpus(), &DocTemplate::default()).unwrap();
    let queries = collection.queries("train").unwrap();
    (texts, queries, collection.qrels("train").unwrap())
}

fn counts(stages: &[(Stage, StageStatus)]) -> [usize; 2] {
    [Stage::TeacherScores, Stage::Model].map(|stage| computed(stages, stage))
}

#[test]
fn scores_are_a_cached_stage() {
    let experiment = parse(&distilled(TEACHER)).unwrap();
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    // Outputs do not replace the teacher.
    let inputs = experiment.inputs(&registry).unwrap();
    let key = "systems[1].training.teacher.model";
    assert!(inputs.iter().any(|it| it.key == key && it.is_model));
    let plan = Runner::new(&cache, &registry).plan(&experiment, &mut NoProgress);
    let plan = plan.unwrap();
    let planned: Vec<(Stage, &str)> = plan
        .stages
        .iter()
        .filter(|it| matches!(it.stage, Stage::Model | Stage::TeacherScores))
        .map(|it| (it.stage, it.description.as_str()))
        .collect();
    let model = "bert, trained as a cross-encoder on split train, epochs 1, learning rate 3e-3, \
                 teacher electra";
    let expected = [
        (Stage::TeacherScores, "electra on split train"),
        (Stage::Model, model),
    ];
    assert_eq!(planned, expected);

    let (_, stages) = run(&experiment, &cache);
    assert_eq!(counts(&stages), [1, 1]);
    assert_eq!(weights(&cache).len(), 1);
    let (_, stages) = run(&experiment, &cache);
    assert_cached(&stages);

    // Another loss and other hyperparameters: the same scores, other weights.
    let text = replaced(&distilled(TEACHER), "margin-mse", "kl-divergence");
    let warmer = replaced(&text, "epochs = 1", "epochs = 1\ntemperature = 2");
    for text in [text, warmer] {
        let (_, stages) = run(&parse(&text).unwrap(), &cache);
        assert_eq!(counts(&stages), [0, 1]);
    }
    let mut trained: Vec<Vec<u8>> = weights(&cache).into_iter().map(|(_, it)| it).collect();
    trained.sort();
    trained.dedup();
    assert_eq!(trained.len(), 3);
    // Other negatives or another teacher: other scores.
    for (from, to) in [
        ("hard = 4", "hard = 3"),
        ("cross-encoders/electra", "cross-encoders/roberta"),
    ] {
        let text = replaced(&distilled(TEACHER), from, to);
        let (_, stages) = run(&parse(&text).unwrap(), &cache);
        assert_eq!(counts(&stages), [1, 1], "{to}");
    }
}

/// The cached scores are scores of the teacher for training queries and documents.
#[test]
fn a_model_scores_every_text() {
    let cache = Cache::temporary().unwrap();
    run(&parse(&distilled(TEACHER)).unwrap(), &cache);
    let found = scores(&cache);
    let (texts, queries, qrels) = training_data();
    let logits = CrossEncoderConfig::default().with_activation(Activation::Identity);
    let folder = format!("{FOLDER}cross-encoders/electra");
    let teacher = CrossEncoder::open_with(folder, &logits).unwrap();
    let (mut all, mut of_positives) = (Vec::new(), 0);
    for query in &queries {
        let documents: Vec<(&str, &str)> =
            texts.ids().iter().filter_map(|id| texts.get(id)).collect();
        let pairs: Vec<(&str, &str)> = documents
            .iter()
            .map(|(_, text)| (query.text.as_str(), *text))
            .collect();
        let predicted = teacher.predict(&pairs).unwrap();
        for ((id, _), labels) in documents.iter().zip(predicted) {
            all.push(labels[0]);
            let mut judged = qrels.get(&query.id).into_iter().flat_map(|it| it.iter());
            if judged.any(|(doc, grade)| doc == *id && grade > 0) {
                let is_found = found.iter().any(|it| (it - labels[0]).abs() < 1e-5);
                of_positives += usize::from(is_found);
            }
        }
    }
    assert!(of_positives > 20, "{of_positives}");
    assert!(found.len() > of_positives);
    for score in &found {
        assert!(all.iter().any(|it| (it - score).abs() < 1e-5), "{score}");
    }
}

/// A system with a model scores all texts by the model.
#[test]
fn a_reranking_system_is_its_model() {
    let (of_a_model, of_a_system) = (Cache::temporary().unwrap(), Cache::temporary().unwrap());
    run(&parse(&distilled(TEACHER)).unwrap(), &of_a_model);
    let text = with_system("cross-encoder", MODEL_OF_A_SYSTEM);
    let (results, _) = run(&parse(&text).unwrap(), &of_a_system);
    assert_eq!(scores(&of_a_model), scores(&of_a_system));
    let trained = [&of_a_model, &of_a_system].map(|cache| weights(cache).remove(0).1);
    assert!(trained[0] == trained[1]);
    // The teacher is hidden.
    assert_eq!(results.tasks[0].runs.len(), 2);

    // A teacher with its own template reads other texts.
    let text = format!("{text}template = \"{{text}}\"\n");
    let cache = Cache::temporary().unwrap();
    run(&parse(&text).unwrap(), &cache);
    assert_ne!(scores(&of_a_model), scores(&cache));
}

/// A system without a model scores the documents that it finds.
#[test]
fn a_lexical_system_is_a_teacher() {
    let experiment = parse(&with_system("BM25", "")).unwrap();
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let runner = Runner::new(&cache, &registry);
    let mut recorder = Recorder::default();
    runner.run(&experiment, &mut recorder).unwrap();
    let bm25 = runner.open(&experiment, "BM25", &mut NoProgress).unwrap();
    let (_, queries, _) = training_data();
    let mut all = Vec::new();
    for query in &queries {
        let ranking = bm25.retriever.search(&query.text, &Search::top(1000));
        all.extend(ranking.unwrap().hits().iter().map(|hit| hit.score));
    }
    let (found, without) = entry(&cache);
    assert!(!found.is_empty());
    assert!(found.iter().all(|score| all.contains(score)));
    let notes = recorder.notes.join("\n");
    let left_out = format!("{without} texts of the training examples of split train are left out");
    assert_eq!(notes.contains(&left_out), without > 0, "{notes}");
}

#[test]
fn damaged_scores_are_computed_again() {
    let experiment = parse(&distilled(TEACHER)).unwrap();
    let cache = Cache::temporary().unwrap();
    let (first, _) = run(&experiment, &cache);
    let before = weights(&cache);
    let path = entries(&cache).remove(0);
    let intact = fs::read(&path).unwrap();
    fs::write(&path, &intact[..intact.len() - 1]).unwrap();
    // The scores are read again when the model and the run are missing.
    for stage in ["model", "run"] {
        fs::remove_dir_all(cache.folder().join(stage)).unwrap();
    }
    let (second, stages) = run(&experiment, &cache);
    let rebuilt = |(stage, status): &&(Stage, StageStatus)| {
        *stage == Stage::TeacherScores && matches!(status, StageStatus::Rebuilt { .. })
    };
    assert_eq!(stages.iter().filter(rebuilt).count(), 1, "{stages:?}");
    assert!(fs::read(&path).unwrap() == intact);
    assert!(weights(&cache) == before);
    assert_eq!(first.tasks[0].runs, second.tasks[0].runs);
}

/// Numbers of scored queries that a teacher reports; stops at a number of them.
struct TeacherProgress {
    reported: Vec<u64>,
    limit: u64,
}

impl Progress for TeacherProgress {
    fn report(&mut self, stage: &str, done: u64, _: Option<u64>) -> Flow {
        if stage != "teacher scores" {
            return Flow::Continue;
        }
        self.reported.push(done);
        if done < self.limit {
            Flow::Continue
        } else {
            Flow::Stop
        }
    }
}

impl Observer for TeacherProgress {}

/// Runs an experiment until a teacher has scored a number of queries, and returns the reports.
fn run_until(limit: u64, experiment: &Experiment, cache: &Cache) -> Vec<u64> {
    let registry = Registry::default();
    let mut progress = TeacherProgress {
        reported: Vec::new(),
        limit,
    };
    let result = Runner::new(cache, &registry).run(experiment, &mut progress);
    assert_eq!(result.is_ok(), limit == u64::MAX, "{result:?}");
    progress.reported
}

/// A job resumes after the scores that were saved last; damaged ones are computed again.
#[test]
fn an_interrupted_teacher_resumes() {
    let experiment = parse(&distilled(TEACHER)).unwrap();
    let [expected, cache] = [(); 2].map(|()| Cache::temporary().unwrap());
    let all = run_until(u64::MAX, &experiment, &expected);
    let steps = |from: u64, to: u64| (from..=to).step_by(8).collect::<Vec<u64>>();
    assert_eq!(all, steps(0, all[all.len() - 1]));
    assert!(all.contains(&80));

    assert_eq!(run_until(80, &experiment, &cache), steps(0, 80));
    let partial = entries(&cache).remove(0);
    let name = partial.file_name().unwrap().to_str().unwrap();
    assert!(name.ends_with("-partial.ir"), "{name}");
    let resumed = run_until(80, &experiment, &cache);
    assert!(resumed[0] > 0);
    assert_eq!(resumed, steps(resumed[0], 80));

    let intact = fs::read(&partial).unwrap();
    fs::write(&partial, &intact[..intact.len() - 1]).unwrap();
    assert_eq!(run_until(80, &experiment, &cache), steps(0, 80));
    assert!(fs::read(&partial).unwrap() == intact);

    assert_eq!(run_until(u64::MAX, &experiment, &cache)[0], resumed[0]);
    assert_eq!(scores(&cache), scores(&expected));
    assert!(weights(&cache) == weights(&expected));
}

/// The model is opened before the teacher scores anything.
#[test]
fn a_model_that_cannot_be_trained_has_no_scores() {
    let text = replaced(&distilled(TEACHER), "max_tokens = 48", "max_tokens = 4800");
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let runner = Runner::new(&cache, &registry);
    let error = runner.run(&parse(&text).unwrap(), &mut NoProgress);
    let error = error.unwrap_err().to_string();
    assert!(error.ends_with("systems[1]: training failed"), "{error}");
    assert!(!cache.folder().join("teacher-scores").exists());
}

#[test]
fn late_interaction_models_learn_from_a_teacher() {
    let keys = format!("late_interaction = true\ndim = 8\n{TEACHER}");
    let text = trained_rerankers::experiment("tiny/bert-pytorch", 16, &keys);
    assert_training_is_deterministic(&parse(&text).unwrap());
    let text = replaced(&text, "margin-mse", "kl-divergence");
    let text = replaced(&text, "dim = 8", "dim = 8\ntemperature = 0.5");
    let (_, stages) = run(&parse(&text).unwrap(), &Cache::temporary().unwrap());
    assert_eq!(counts(&stages), [1, 1]);
}

#[test]
fn errors_name_the_key() {
    let key = "systems[1].training";
    let model = "{ model = \"FOLDER/cross-encoders/electra\" }";
    for (from, to, expected) in [
        (
            "margin-mse",
            "rank-net",
            ".teacher: expected loss = \"margin-mse\" or \"kl-divergence\", which learns its scores",
        ),
        (
            "loss = \"margin-mse\"",
            "",
            ".teacher: expected loss = \"margin-mse\" or \"kl-divergence\"",
        ),
        (
            model,
            "{}",
            ".teacher: expected the key system or model, found neither",
        ),
        (
            model,
            "{ model = \"a\", system = \"BM25\" }",
            ".teacher.model: expected either training.teacher.system or training.teacher.model, found both",
        ),
        (
            model,
            "{ name = \"BM25\" }",
            ".teacher.name: unknown field `name`",
        ),
        (
            model,
            "{ system = \"BM52\" }",
            ".teacher.system: expected the name of a system (BM25, reranked), found \"BM52\"",
        ),
        (
            model,
            "{ system = \"reranked\" }",
            ".teacher.system: expected systems that do not contain themselves",
        ),
        (
            "epochs = 1",
            "temperature = 2",
            ".temperature: expected loss = \"softmax\" or \"kl-divergence\", which has it",
        ),
        (
            "epochs = 1",
            "in_batch_negatives = 1",
            ".in_batch_negatives: in_batch_negatives is 1, expected 0, as distillation needs",
        ),
        (
            "hard = 4, last_rank = 20",
            "hard = 0",
            ".mining: expected hard or random negatives",
        ),
    ] {
        let text = replaced(&distilled(TEACHER), from, to);
        let found = parse(&text).unwrap_err().to_string();
        let expected = format!("{key}{expected}");
        assert!(found.contains(&expected), "{expected}\n{found}");
        assert!(found.starts_with("line "), "{found}");
    }
    let text = distilled("loss = \"kl-divergence\"\n");
    let found = parse(&text).unwrap_err().to_string();
    let expected = format!("{key}.loss: expected the key ");
    assert!(found.contains(&expected), "{expected}\n{found}");

    // Errors of the data.
    for (to, expected) in [
        ("none", "systems[1].training.teacher.model: "),
        ("bert-3-labels", "systems[1]: opening the model failed"),
    ] {
        let text = replaced(&distilled(TEACHER), "electra", to);
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let experiment = parse(&text).unwrap();
        let found = Runner::new(&cache, &registry).run(&experiment, &mut NoProgress);
        let found = found.unwrap_err().to_string();
        assert!(found.contains(expected), "{expected}\n{found}");
    }
}
