//! Helpers that run experiments.

#![allow(clippy::unwrap_used)]

use ir_core::{Flow, Progress};
use ir_experiment::{
    Cache, Experiment, ExperimentResults, Observer, Registry, Runner, Stage, StageReport,
    StageStatus,
};

/// Records finished stages, and stops after a number of computed ones.
#[derive(Default)]
pub(crate) struct Recorder {
    pub stages: Vec<(Stage, StageStatus)>,
    pub notes: Vec<String>,
    pub warnings: Vec<String>,
    limit: Option<usize>,
}

impl Recorder {
    pub(crate) fn stopping_after(limit: usize) -> Self {
        Self {
            limit: Some(limit),
            ..Self::default()
        }
    }
}

impl Progress for Recorder {
    fn report(&mut self, _: &str, _: u64, _: Option<u64>) -> Flow {
        let computed = self
            .stages
            .iter()
            .filter(|it| it.1 == StageStatus::Computed);
        match self.limit {
            Some(limit) if computed.count() >= limit => Flow::Stop,
            _ => Flow::Continue,
        }
    }
}

impl Observer for Recorder {
    fn stage(&mut self, report: &StageReport) {
        self.stages.push((report.stage, report.status.clone()));
    }

    fn note(&mut self, note: &str) {
        self.notes.push(note.to_owned());
    }

    fn warning(&mut self, warning: &str) {
        self.warnings.push(warning.to_owned());
    }
}

/// The experiment `experiments/bundled.toml`.
pub(crate) fn bundled() -> Experiment {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    Experiment::open(folder.join("bundled.toml")).unwrap()
}

/// Runs an experiment and returns its stages.
pub(crate) fn run(
    experiment: &Experiment,
    cache: &Cache,
) -> (ExperimentResults, Vec<(Stage, StageStatus)>) {
    let registry = Registry::default();
    let mut recorder = Recorder::default();
    let results = Runner::new(cache, &registry).run(experiment, &mut recorder);
    (results.unwrap(), recorder.stages)
}

/// Number of computed stages of a kind.
pub(crate) fn computed(stages: &[(Stage, StageStatus)], stage: Stage) -> usize {
    let is_computed = |found: &&(Stage, StageStatus)| **found == (stage, StageStatus::Computed);
    stages.iter().filter(is_computed).count()
}

/// Fails unless all stages come from the cache.
#[track_caller]
pub(crate) fn assert_cached(stages: &[(Stage, StageStatus)]) {
    let mut all = stages.iter();
    assert!(
        all.all(|(_, status)| *status == StageStatus::Cached),
        "{stages:?}"
    );
}

/// Weights of the cached models, by folder.
#[cfg(feature = "dense")]
pub(crate) fn weights(cache: &Cache) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(cache.folder().join("model")).unwrap() {
        let path = entry.unwrap().path();
        let file = path.join("model.safetensors");
        if file.exists() {
            found.push((
                path.file_name().unwrap().into(),
                std::fs::read(file).unwrap(),
            ));
        }
    }
    found.sort();
    found
}

/// Stops after some steps of a training.
#[cfg(feature = "dense")]
pub(crate) struct StopsTraining(pub u64);

#[cfg(feature = "dense")]
impl Progress for StopsTraining {
    fn report(&mut self, stage: &str, done: u64, _: Option<u64>) -> Flow {
        if stage == "training" && done >= self.0 {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }
}

#[cfg(feature = "dense")]
impl Observer for StopsTraining {}
