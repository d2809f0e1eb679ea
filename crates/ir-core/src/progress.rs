//! How long jobs tell what they are at, and are asked to stop.

/// Whether a long job shall go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Stop soon; the job returns its "cancelled" error and leaves nothing half-written.
    Stop,
}

/// Receives the progress of a long job. Libraries never print; programs draw a bar from this.
///
/// Any `FnMut(&str, u64, Option<u64>) -> Flow` is one:
/// ```
/// use ir_core::{Flow, Progress};
/// let mut last = 0;
/// let mut watch = |_stage: &str, done: u64, _total: Option<u64>| { last = done; Flow::Continue };
/// assert_eq!(watch.report("indexing", 10, Some(20)), Flow::Continue);
/// assert_eq!(last, 10);
/// ```
pub trait Progress {
    /// `done` of `total` units of `stage` are finished. Called at most a few hundred times a second.
    fn report(&mut self, stage: &str, done: u64, total: Option<u64>) -> Flow;
}

impl<F: FnMut(&str, u64, Option<u64>) -> Flow> Progress for F {
    fn report(&mut self, stage: &str, done: u64, total: Option<u64>) -> Flow {
        self(stage, done, total)
    }
}

/// Ignores all reports and never stops.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn report(&mut self, _: &str, _: u64, _: Option<u64>) -> Flow {
        Flow::Continue
    }
}
