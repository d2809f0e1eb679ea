//! Messages of a running experiment.

use ir_core::{NoProgress, Progress};
use serde::Serialize;

use crate::cache::Stage;

/// Receiver of progress, finished stages and notes. Libraries never print.
pub trait Observer: Progress {
    /// Reports a finished stage.
    fn stage(&mut self, _report: &StageReport) {}

    /// Reports a note for users, such as training queries that are left out.
    fn note(&mut self, _note: &str) {}

    /// Reports a fact about the search that users should know although nothing is wrong, such as an
    /// approximate search. Default: a note.
    fn info(&mut self, info: &str) {
        self.note(info);
    }

    /// Reports a part of the experiment that has no effect, such as a condition on an attribute
    /// that no document has, or a stage that waits for another process. Default: a note.
    fn warning(&mut self, warning: &str) {
        self.note(warning);
    }
}

impl Observer for NoProgress {}

/// Stage of an experiment and where its result comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StageReport {
    /// Name of the task.
    pub task: String,
    /// Kind of the stage.
    pub stage: Stage,
    /// What the stage computes: a system with its parameters, or an analyzer.
    pub description: String,
    /// Name of the cache entry.
    pub key: String,
    /// Where the result comes from.
    pub status: StageStatus,
}

/// Where the result of a stage comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StageStatus {
    /// The cache has it.
    Cached,
    /// Computed, because the cache did not have it.
    Computed,
    /// Computed again, because the cache entry is damaged or of another version.
    Rebuilt {
        /// Error of the cache entry.
        reason: String,
    },
    /// To be computed; only in a plan.
    ToDo,
}
