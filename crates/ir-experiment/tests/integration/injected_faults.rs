//! Deliberate faults: another BM25 constant, reversed ties, another measure. Each moves a value of
//! the reproduction pages out of its tolerance, so that `ir reproduce --check` fails.
//!
//! Faults are injected from outside: another parameter, a type of systems that replaces a built-in
//! one, and a measure whose values are compared with those of another.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::Path;
use std::sync::Arc;

use ir_core::{DocIds, DocNum, Hit, NoProgress, Ranking, Retriever, Search, SearchError};
use ir_data::catalog::Catalog;
use ir_experiment::systems::{Bm25System, KnnSystem};
use ir_experiment::{
    Cache, Experiment, OpenSystem, Registry, Reproduction, Runner, SharedRetriever, System,
    SystemContext, SystemError,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Experiment of the repository without its encoders.
fn experiment(name: &str) -> Experiment {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut experiment = Experiment::open(folder.join(format!("{name}.toml"))).unwrap();
    experiment.encoders.clear();
    let uses_encoder = [
        "kNN (encoder)",
        "untrained encoder",
        "bi-encoder",
        "hybrid (RRF)",
    ];
    let has_encoder = |name: &str| uses_encoder.contains(&name);
    experiment
        .systems
        .retain(|system| !has_encoder(&system.name));
    experiment
        .expected
        .retain(|expected| !has_encoder(&expected.system));
    assert!(!experiment.expected.is_empty());
    experiment
}

/// Experiments without and, if they exist, with real data.
fn experiments(real: &[&str]) -> Vec<Experiment> {
    let mut experiments = vec![experiment("datafinder-bundled")];
    for name in real {
        let experiment = experiment(name);
        let collection = &experiment.tasks[0].collection;
        if Catalog::from_env().has(collection).unwrap() {
            experiments.push(experiment);
        } else {
            eprintln!("skipped: IR_DATA does not contain {collection}");
        }
    }
    experiments
}

/// Values out of tolerance.
fn failures(experiment: &Experiment, registry: &Registry) -> usize {
    let cache = Cache::temporary().unwrap();
    let results = Runner::new(&cache, registry).run(experiment, &mut NoProgress);
    let reproduction = Reproduction::new(experiment, &results.unwrap());
    assert!(reproduction.values.len() >= 2);
    reproduction.failures().count()
}

#[test]
fn other_bm25_constants_are_found() {
    let registry = Registry::default();
    for experiment in experiments(&["anserini-nfcorpus", "datafinder"]) {
        assert_eq!(failures(&experiment, &registry), 0);
        for (key, value) in [("k1", 1.0), ("b", 0.5)] {
            let mut wrong = experiment.clone();
            for system in wrong
                .systems
                .iter_mut()
                .filter(|system| system.kind == "bm25")
            {
                *system = system.clone().with(key, value);
            }
            assert!(failures(&wrong, &registry) > 0, "{key}: {}", wrong.title());
        }
    }
}

/// Retriever with the documents in the opposite order, so that ties are broken the other way round.
struct ReversedTies {
    inner: SharedRetriever,
    ids: DocIds,
}

impl ReversedTies {
    fn new(inner: SharedRetriever) -> Self {
        let mut ids: Vec<&str> = inner.ids().iter().collect();
        ids.reverse();
        let ids = ids.into_iter().collect();
        Self { inner, ids }
    }
}

impl Retriever for ReversedTies {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        let all = self.ids.len();
        let found = self.inner.search(query, &Search::top(all))?;
        let reversed = |hit: &Hit| {
            let last = all as u32 - 1;
            Hit::new(DocNum::new(last - hit.doc.index() as u32), hit.score)
        };
        let hits = found.iter().map(reversed);
        let hits = hits.filter(|hit| search.allows(hit.doc)).collect();
        Ok(Ranking::from_hits(hits)?.top(search.k()))
    }
}

/// Type of systems `S` with reversed ties.
#[derive(Debug)]
struct WithReversedTies<S>(S);

impl<S: System> System for WithReversedTies<S> {
    fn check(&self) -> Result<(), SystemError> {
        self.0.check()
    }

    fn uses_training(&self) -> bool {
        self.0.uses_training()
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let open = self.0.open(context)?;
        let reversed = |inner| -> SharedRetriever { Arc::new(ReversedTies::new(inner)) };
        let mut wrong = OpenSystem::new(reversed(open.retriever));
        wrong.with_duplicates = open.with_duplicates.map(reversed);
        Ok(wrong)
    }
}

impl<S: Serialize> Serialize for WithReversedTies<S> {
    fn serialize<T: Serializer>(&self, output: T) -> Result<T::Ok, T::Error> {
        self.0.serialize(output)
    }
}

impl<'de, S: Deserialize<'de>> Deserialize<'de> for WithReversedTies<S> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        S::deserialize(input).map(Self)
    }
}

impl<S: JsonSchema> JsonSchema for WithReversedTies<S> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        S::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        S::json_schema(generator)
    }
}

#[test]
fn reversed_ties_are_found() {
    let mut wrong = Registry::default();
    wrong.register::<WithReversedTies<Bm25System>>("bm25", "BM25 with reversed ties.");
    wrong.register::<WithReversedTies<KnnSystem>>("knn", "kNN with reversed ties.");
    for experiment in experiments(&["datafinder", "makg-knn"]) {
        assert!(failures(&experiment, &wrong) > 0, "{}", experiment.title());
    }
    // The tie rule of the evaluation.
    for mut experiment in experiments(&["anserini-arguana"]).split_off(1) {
        assert_eq!(failures(&experiment, &Registry::default()), 0);
        experiment.rules.ties = ir_eval::TieBreak::IdAscending;
        assert!(failures(&experiment, &Registry::default()) > 0);
    }
}

/// The values of a measure, expected of another one.
#[test]
fn other_measures_are_found() {
    let registry = Registry::default();
    let mut faults = 0;
    for experiment in experiments(&["anserini-nfcorpus"]) {
        for (right, wrong) in [
            ("P@5", "P@4"),
            ("R@5", "R@4"),
            ("AP", "AP@4"),
            ("RR", "RR@1"),
            // Gain 2^grade − 1 instead of the grade.
            ("nDCG@10", "nDCG(dcg='exp-log2')@10"),
            ("nDCG@10", "nDCG@9"),
            ("R@100", "R@99"),
        ] {
            let mut changed = experiment.clone();
            changed.measures = vec![wrong.parse().unwrap()];
            for expected in &mut changed.expected {
                let value = expected.values.remove(right);
                expected.values.clear();
                expected
                    .values
                    .extend(value.map(|value| (wrong.to_owned(), value)));
            }
            changed
                .expected
                .retain(|expected| !expected.values.is_empty());
            if changed.expected.is_empty() {
                continue;
            }
            let cache = Cache::temporary().unwrap();
            let results = Runner::new(&cache, &registry).run(&changed, &mut NoProgress);
            let reproduction = Reproduction::new(&changed, &results.unwrap());
            let values = reproduction.values.iter();
            assert!(values.clone().all(|value| value.obtained.is_finite()));
            assert!(reproduction.failures().count() > 0, "{wrong}");
            faults += 1;
        }
    }
    assert!(faults >= 4);
}
