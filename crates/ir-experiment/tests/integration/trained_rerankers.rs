//! Experiment with a reranker that is trained, and checks of its training.
#![cfg(feature = "dense")]
#![allow(clippy::unwrap_used)]

use crate::common::{StopsTraining, computed, run, weights};
use ir_experiment::{Cache, Experiment, Registry, Runner, SpecError, Stage};

/// Folders of tiny models.
pub(crate) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../ir-dense/testdata/");

/// BM25, reranked by a tiny model that is trained for an epoch.
const EXPERIMENT: &str = r#"
measures = ["AP"]

[[tasks]]
collection = "bundled"

[search]
hits = 20

[[systems]]
name = "BM25"
type = "bm25"

[[systems]]
name = "reranked"
type = "rerank"
first = "BM25"
model = "FOLDER/MODEL"
max_tokens = LENGTH
depth = 10

[systems.training]
KEYS
epochs = 1
batch_size = 16
hard_negatives = 2
learning_rate = 3e-3
mining = { hard = 4, last_rank = 20 }
"#;

/// Text of an experiment that trains a model in [`FOLDER`]. `keys` are lines of the training.
pub(crate) fn experiment(model: &str, max_tokens: usize, keys: &str) -> String {
    EXPERIMENT
        .replace("MODEL", model)
        .replace("LENGTH", &max_tokens.to_string())
        .replace("KEYS", keys)
}

pub(crate) fn parse(text: &str) -> Result<Experiment, SpecError> {
    Experiment::from_toml(&text.replace("FOLDER/", FOLDER))
}

/// Text with another text in place of the first occurrence of one that it contains.
pub(crate) fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

/// Fails unless the number of threads and an interruption leave the model and the results
/// unchanged.
pub(crate) fn assert_training_is_deterministic(experiment: &Experiment) {
    let trained = [1, 2].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let cache = Cache::temporary().unwrap();
        let results = pool.build().unwrap().install(|| run(experiment, &cache).0);
        (weights(&cache), results.to_json().unwrap())
    });
    assert_eq!(trained[0].0.len(), 1);
    assert!(trained[0] == trained[1]);

    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let stopped = Runner::new(&cache, &registry).run(experiment, &mut StopsTraining(3));
    assert!(matches!(stopped, Err(SpecError::Canceled)));
    assert!(weights(&cache).is_empty());
    let (resumed, stages) = run(experiment, &cache);
    assert_eq!(computed(&stages, Stage::Model), 1);
    assert!((weights(&cache), resumed.to_json().unwrap()) == trained[0]);
}
