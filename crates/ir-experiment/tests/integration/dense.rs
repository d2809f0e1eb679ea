//! Systems with vectors: a randomly initialized encoder, saved vectors, hybrids.
#![cfg(feature = "dense")]
#![allow(clippy::unwrap_used)]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::common::{Recorder, computed, run};
use ir_core::{Distinct, Encoded, Encoder, Flow, NoProgress, Progress, Run, Search, Side};
use ir_data::catalog;
use ir_dense::{BiEncoder, CrossEncoder, CrossEncoderConfig, RandomModel};
use ir_experiment::{Cache, Experiment, Observer, Registry, Runner, SpecError, Stage, StageStatus};
use ir_knn::FlatIndex;

fn texts() -> Vec<(String, String)> {
    let collection = catalog::open("bundled").unwrap();
    let docs = collection.corpus().docs().unwrap();
    docs.map(|doc| {
        doc.map(|doc| (doc.id, format!("{} {}", doc.title, doc.text)))
            .unwrap()
    })
    .collect()
}

/// A run that reranks documents that are longer than the model has a note; a cached run has none.
#[test]
fn long_candidates_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let texts = texts();
    let bodies: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    let body = RandomModel::default().with_shape(8, 1, 2);
    body.create(at("model"), &bodies).unwrap();
    let model = CrossEncoder::with_random_head(at("model"), &CrossEncoderConfig::default(), 7);
    model.unwrap().save(at("reranker")).unwrap();
    let text = r#"
        measures = ["AP"]
        [[tasks]]
        collection = "bundled"
        query = "keyphrase_query"
        [[systems]]
        name = "BM25"
        type = "bm25"
        [[systems]]
        name = "reranked"
        type = "rerank"
        first = "BM25"
        model = "reranker"
        max_tokens = 48
        depth = 3
        [[systems]]
        name = "fused"
        type = "hybrid"
        of = ["BM25", "reranked"]
    "#;
    std::fs::write(at("e.toml"), text).unwrap();
    let experiment = Experiment::open(at("e.toml")).unwrap();
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let notes = || {
        let mut recorder = Recorder::default();
        let results = Runner::new(&cache, &registry).run(&experiment, &mut recorder);
        assert_eq!(results.unwrap().tasks[0].runs.len(), 3);
        let notes = recorder.notes.into_iter();
        let notes = notes.filter(|note| note.contains("candidates longer than the model, "));
        notes.collect::<Vec<_>>()
    };
    let found = notes();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains(": reranked: "), "{found:?}");
    assert!(found[1].contains(": fused: "), "{found:?}");
    assert!(notes().is_empty());
}

#[test]
fn dense_systems() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let texts = texts();
    let bodies: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    RandomModel::default()
        .with_shape(32, 1, 2)
        .create(at("model"), &bodies)
        .unwrap();
    let text = r#"
        measures = ["AP"]
        [[tasks]]
        collection = "bundled"
        training = { split = "train" }
        [search]
        hits = 20
        [[systems]]
        name = "dense"
        type = "dense"
        encoder = { model = "model", max_tokens = 64 }
        [[systems]]
        name = "saved"
        type = "dense"
        vectors = "docs.ir"
        queries = "queries.ir"
        [[systems]]
        name = "BM25"
        type = "bm25"
        [[systems]]
        name = "hybrid"
        type = "hybrid"
        of = ["BM25", "dense"]
        weights = [0.05, 1]
        [[systems]]
        name = "kNN"
        type = "knn"
        encoder = { model = "model", max_tokens = 64 }
    "#;
    std::fs::write(at("e.toml"), text).unwrap();

    // The same by hand.
    let config = ir_dense::EncoderConfig::default().with_max_tokens(64);
    let encoder = BiEncoder::open_with(at("model"), &config).unwrap();
    let rows = encoder.encode(Side::Document, &bodies).unwrap();
    let similarity = encoder.similarity().unwrap_or_default();
    let ids = texts.iter().map(|(id, _)| id.as_str()).collect();
    let index = FlatIndex::from_row_major(ids, 32, rows, similarity).unwrap();
    index.save(at("docs.ir")).unwrap();
    let queries = catalog::open("bundled").unwrap().queries("test").unwrap();
    let query_texts: Vec<&str> = queries.iter().map(|query| query.text.as_str()).collect();
    let query_rows = encoder.encode(Side::Query, &query_texts).unwrap();
    let ids = queries.iter().map(|query| query.id.as_str()).collect();
    let saved = FlatIndex::from_row_major(ids, 32, query_rows, similarity).unwrap();
    saved.save(at("queries.ir")).unwrap();
    let dense = Distinct(Encoded::new(&encoder, &index));
    let expected = Run::from_retriever_with("dense", &dense, &queries, |_, _| Search::top(20));
    let expected = expected.unwrap();

    let experiment = Experiment::open(at("e.toml")).unwrap();
    let cache = Cache::temporary().unwrap();
    let (results, stages) = run(&experiment, &cache);
    let runs = &results.tasks[0].runs;
    assert_eq!(runs[0], expected);
    assert!(runs[1].iter().eq(expected.iter()));
    assert_eq!(runs.len(), 5);
    assert!(runs[4].iter().count() > 20);
    // The hybrid uses the vectors of the dense system.
    assert_eq!(computed(&stages, Stage::Vectors), 1);
    let (_, stages) = run(&experiment, &cache);
    assert!(
        stages
            .iter()
            .all(|(stage, status)| { (*stage, status) == (Stage::Run, &StageStatus::Cached) })
    );

    // Another model: the dense systems are computed again, BM25 and the saved vectors are not.
    std::fs::remove_dir_all(at("model")).unwrap();
    let fewer = &bodies[..40];
    RandomModel::default()
        .with_shape(32, 1, 2)
        .create(at("model"), fewer)
        .unwrap();
    let registry = Registry::default();
    let runner = Runner::new(&cache, &registry);
    let plan = runner.plan(&experiment, &mut NoProgress).unwrap();
    let to_do = plan
        .stages
        .iter()
        .filter(|stage| stage.status == StageStatus::ToDo);
    let to_do: Vec<String> = to_do.map(|stage| stage.description.clone()).collect();
    assert_eq!(to_do.len(), 4, "{to_do:?}");
    assert!(
        to_do
            .iter()
            .all(|what| !what.contains("BM25") && what != "saved"),
        "{to_do:?}"
    );

    // A file that is no model, and one that does not exist.
    std::fs::remove_dir_all(at("model")).unwrap();
    let mut recorder = Recorder::default();
    let error = runner.run(&experiment, &mut recorder).unwrap_err();
    assert!(error.is_missing_data(), "{error}");
    let found = error.to_string();
    assert!(
        found.contains("e.toml:11: systems[0].encoder.model: "),
        "{found}"
    );
}

/// Stops once documents have been encoded.
struct StopsEncoding;

impl Progress for StopsEncoding {
    fn report(&mut self, stage: &str, done: u64, _: Option<u64>) -> Flow {
        if stage == "encoding" && done > 0 {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }
}

impl Observer for StopsEncoding {}

#[test]
fn interrupted_encoding_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    RandomModel::default()
        .with_shape(32, 1, 2)
        .create(at("model"), &["tea"])
        .unwrap();
    let text = r#"
        measures = ["AP"]
        [[tasks]]
        collection = "bundled"
        [[systems]]
        name = "dense"
        type = "dense"
        encoder = { model = "model", max_tokens = 16 }
    "#;
    std::fs::write(at("e.toml"), text).unwrap();
    let experiment = Experiment::open(at("e.toml")).unwrap();
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let stopped = Runner::new(&cache, &registry).run(&experiment, &mut StopsEncoding);
    assert!(matches!(stopped, Err(SpecError::Canceled)));
    let vectors = || std::fs::read_dir(cache.folder().join("vectors")).unwrap();
    let size = |ending: &str| {
        let found = vectors().map(|entry| entry.unwrap().path());
        let mut found = found.filter(|path| path.to_str().unwrap().ends_with(ending));
        found.next().map(|path| path.metadata().unwrap().len())
    };
    // At least one vector has been written.
    assert!(size(".partial").unwrap() > 32 * 4, "{:?}", size(".partial"));
    assert!(size(".ir").is_none());
    let (resumed, _) = run(&experiment, &cache);
    assert!(size(".partial").is_none() && size(".ir").is_some());
    let (whole, _) = run(&experiment, &Cache::temporary().unwrap());
    assert_eq!(resumed.tasks[0].runs, whole.tasks[0].runs);
}

/// The template of a named encoder is part of the key of the run.
#[test]
fn another_template_of_a_named_encoder_is_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let texts = texts();
    let bodies: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    let random = RandomModel::default().with_shape(32, 1, 2);
    random.create(folder.path().join("model"), &bodies).unwrap();
    let with_template = |template: &str| {
        let text = format!(
            r#"
            measures = ["AP"]
            [[tasks]]
            collection = "bundled"
            [encoders.m]
            model = "model"
            template = "{template}"
            max_tokens = 64
            [[systems]]
            name = "dense"
            type = "dense"
            encoder = "m"
            "#
        );
        std::fs::write(folder.path().join("e.toml"), text).unwrap();
        Experiment::open(folder.path().join("e.toml")).unwrap()
    };
    let cache = Cache::temporary().unwrap();
    let (titles, _) = run(&with_template("{title}"), &cache);
    let (found, stages) = run(&with_template("{text}"), &cache);
    assert_eq!(computed(&stages, Stage::Run), 1);
    assert_ne!(found.tasks[0].runs, titles.tasks[0].runs);
    let (expected, _) = run(&with_template("{text}"), &Cache::temporary().unwrap());
    assert_eq!(found.tasks[0].runs, expected.tasks[0].runs);
    let (_, stages) = run(&with_template("{title}"), &cache);
    assert_eq!(computed(&stages, Stage::Run), 0);
}

/// A field that no document has is the error of the template, with the closest field.
#[test]
fn templates_with_an_unknown_field() {
    let folder = tempfile::tempdir().unwrap();
    let random = RandomModel::default().with_shape(32, 1, 2);
    random
        .create(folder.path().join("model"), &["tea"])
        .unwrap();
    let weights = "{ vocab_size = 200, hidden_size = 32, layers = 1, heads = 2 }";
    let template = "template = \"{titel} {text}\"";
    let trained = "[encoders.m.training]\nsplit = \"train\"\nepochs = 1";
    for (encoder, system, line, key) in [
        (
            format!("model = \"model\"\n{template}"),
            "type = \"dense\"\nencoder = \"m\"".to_owned(),
            7,
            "encoders.m.template",
        ),
        (
            format!("random = {weights}\n{template}"),
            "type = \"dense\"\nencoder = \"m\"".to_owned(),
            7,
            "encoders.m.template",
        ),
        (
            format!("model = \"model\"\n{template}\n{trained}"),
            "type = \"knn\"\nencoder = \"m\"".to_owned(),
            7,
            "encoders.m.template",
        ),
        (
            "model = \"model\"".to_owned(),
            format!("type = \"dense\"\nencoder = {{ model = \"model\", {template} }}"),
            10,
            "systems[0].encoder.template",
        ),
        (
            "model = \"model\"".to_owned(),
            format!("type = \"dense\"\nencoder = \"m\"\n{template}"),
            11,
            "systems[0].template",
        ),
        (
            "model = \"model\"".to_owned(),
            format!("type = \"bm25\"\n{template}"),
            10,
            "systems[0].template",
        ),
    ] {
        let text = format!(
            "measures = [\"AP\"]\n[[tasks]]\ncollection = \"bundled\"\n\
             training = {{ split = \"train\" }}\n[encoders.m]\n{encoder}\n\
             [[systems]]\nname = \"a\"\n{system}\n"
        );
        std::fs::write(folder.path().join("e.toml"), text).unwrap();
        let experiment = Experiment::open(folder.path().join("e.toml")).unwrap();
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let error = Runner::new(&cache, &registry).run(&experiment, &mut NoProgress);
        let error = error.unwrap_err().to_string();
        let (start, message) = error.split_once(": expected fields").unwrap();
        assert!(start.ends_with(&format!("e.toml:{line}: {key}")), "{error}");
        assert!(
            message.ends_with("found \"titel\" (did you mean title?)"),
            "{error}"
        );
    }
}

/// Pauses at its first report of a phase until another start waits.
struct Pauses {
    phase: &'static str,
    reached: Sender<()>,
    resume: Receiver<()>,
    paused: bool,
}

impl Progress for Pauses {
    fn report(&mut self, phase: &str, _: u64, _: Option<u64>) -> Flow {
        if phase == self.phase && !self.paused {
            self.paused = true;
            self.reached.send(()).unwrap();
            let waited = self.resume.recv_timeout(Duration::from_secs(60));
            assert!(
                waited.is_ok(),
                "the other start does not wait for the entry"
            );
        }
        Flow::Continue
    }
}

impl Observer for Pauses {}

/// Reports that it waits for another start.
struct Waits {
    waits: Sender<()>,
    notes: Vec<String>,
    computed: Vec<Stage>,
}

impl Progress for Waits {
    fn report(&mut self, _: &str, _: u64, _: Option<u64>) -> Flow {
        Flow::Continue
    }
}

impl Observer for Waits {
    fn stage(&mut self, report: &ir_experiment::StageReport) {
        if report.status == StageStatus::Computed {
            self.computed.push(report.stage);
        }
    }

    fn note(&mut self, note: &str) {
        if note.contains("another process") {
            self.notes.push(note.to_owned());
            let _ = self.waits.send(());
        }
    }
}

/// A start that needs an entry which another start computes waits for it.
#[test]
fn two_starts_at_the_same_time() {
    let text = r#"
        measures = ["AP"]
        [[tasks]]
        collection = "bundled"
        training = { split = "train" }
        [encoders.m]
        random = { vocab_size = 300, hidden_size = 32, layers = 1, heads = 2 }
        max_tokens = 32
        [encoders.m.training]
        epochs = 1
        batch_size = 32
        query_tokens = 16
        document_tokens = 32
        [[systems]]
        name = "dense"
        type = "dense"
        encoder = "m"
    "#;
    let same = Experiment::from_toml(text).unwrap();
    // Another run of the same model, with equal lists.
    let mut other = same.clone();
    other.tasks[0].remove_self = true;
    let registry = Registry::default();
    for (phase, second, waits_for, cached) in [
        ("training", &same, "dense", Stage::Run),
        ("training", &other, "random model, fine-tuned", Stage::Model),
        ("encoding", &other, "document vectors", Stage::Vectors),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (reached, is_reached) = channel();
        let (waits, resume) = channel();
        let start = |experiment: &Experiment, observer: &mut dyn Observer| {
            let cache = Cache::new(folder.path());
            let results = Runner::new(&cache, &registry).run(experiment, observer);
            results.map_err(|error| format!("{error:?}"))
        };
        let [first, second] = std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                let mut observer = Pauses {
                    phase,
                    reached,
                    resume,
                    paused: false,
                };
                start(&same, &mut observer)
            });
            is_reached.recv_timeout(Duration::from_secs(60)).unwrap();
            let second = scope.spawn(|| {
                let mut observer = Waits {
                    waits,
                    notes: Vec::new(),
                    computed: Vec::new(),
                };
                let results = start(second, &mut observer)?;
                // Stages after the one that it waits for may be computed by either.
                assert!(
                    !observer.computed.contains(&cached),
                    "{:?}",
                    observer.computed
                );
                let note = &observer.notes[0];
                assert!(note.starts_with(&format!("bundled: {waits_for}")), "{note}");
                assert!(note.ends_with("another process computes this entry; waiting for it"));
                Ok::<_, String>(results)
            });
            [first, second].map(|thread| thread.join().unwrap().unwrap())
        });
        assert_eq!(first.tasks[0].runs, second.tasks[0].runs);
        // Finished starts leave no lock.
        for stage in ["model", "vectors", "run"] {
            let entries = std::fs::read_dir(folder.path().join(stage)).unwrap();
            let mut names = entries.map(|entry| entry.unwrap().path());
            assert!(!names.any(|path| path.extension().is_some_and(|it| it == "lock")));
        }
    }
}
