//! Progress on standard error.

use std::time::{Duration, Instant};

use ir_core::{Flow, Progress};

/// Prints a line per second: units done, and the remaining time.
pub struct ProgressLine {
    begun: Instant,
    printed: Instant,
}

impl ProgressLine {
    #[expect(clippy::new_without_default, reason = "the clock starts here")]
    pub fn new() -> Self {
        let now = Instant::now();
        Self {
            begun: now,
            printed: now,
        }
    }
}

impl Progress for ProgressLine {
    #[allow(clippy::print_stderr, reason = "a program for a terminal")]
    fn report(&mut self, stage: &str, done: u64, total: Option<u64>) -> Flow {
        let Some(total) = total.filter(|_| self.printed.elapsed() >= Duration::from_secs(1)) else {
            return Flow::Continue;
        };
        self.printed = Instant::now();
        let passed = self.begun.elapsed().as_secs_f64();
        let rest = passed / done.max(1) as f64 * total.saturating_sub(done) as f64;
        eprintln!("{stage}: {done} of {total}, {rest:.0} s left");
        Flow::Continue
    }
}
