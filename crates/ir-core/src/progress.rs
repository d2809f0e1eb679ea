//! Progress reporting and cancellation of long-running jobs.

/// Decision of a progress callback: the job continues or stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Continue with the job.
    Continue,
    /// Stop soon: the job returns its cancellation error and leaves no partial output.
    Stop,
}

/// Receiver of progress reports. Libraries never print; programs draw a progress bar from the
/// reports.
///
/// Implemented by every `FnMut(&str, u64, Option<u64>) -> Flow`:
///
/// ```
/// use ir_core::{Flow, Progress};
/// let mut last = 0;
/// let mut watch = |_stage: &str, done: u64, _total: Option<u64>| { last = done; Flow::Continue };
/// assert_eq!(watch.report("indexing", 10, Some(20)), Flow::Continue);
/// assert_eq!(last, 10);
/// ```
pub trait Progress {
    /// Reports that `done` of `total` units of `stage` are finished. Called at most a few hundred
    /// times a second.
    fn report(&mut self, stage: &str, done: u64, total: Option<u64>) -> Flow;
}

impl<F: FnMut(&str, u64, Option<u64>) -> Flow> Progress for F {
    fn report(&mut self, stage: &str, done: u64, total: Option<u64>) -> Flow {
        self(stage, done, total)
    }
}

/// Receiver that ignores all reports.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn report(&mut self, _: &str, _: u64, _: Option<u64>) -> Flow {
        Flow::Continue
    }
}
