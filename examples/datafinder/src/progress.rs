//! Progress on standard error.

use std::time::{Duration, Instant};

use ir_core::{Flow, Progress};

/// Prints units done and remaining time: a line per second, and after ten seconds a line per ten
/// seconds.
pub struct ProgressLine {
    stage: String,
    begun: Instant,
    /// Units done when the stage began; more than 0 in a resumed run.
    resumed: u64,
    printed: Instant,
}

impl ProgressLine {
    #[expect(clippy::new_without_default, reason = "the clock starts here")]
    pub fn new() -> Self {
        let now = Instant::now();
        Self {
            stage: String::new(),
            begun: now,
            resumed: 0,
            printed: now,
        }
    }
}

impl Progress for ProgressLine {
    #[allow(clippy::print_stderr, reason = "a program for a terminal")]
    fn report(&mut self, stage: &str, done: u64, total: Option<u64>) -> Flow {
        if self.stage != stage {
            *self = Self::new();
            (self.stage, self.resumed) = (stage.to_owned(), done);
        }
        let passed = self.begun.elapsed();
        let pause = Duration::from_secs(if passed.as_secs() < 10 { 1 } else { 10 });
        let Some(total) = total.filter(|_| self.printed.elapsed() >= pause) else {
            return Flow::Continue;
        };
        self.printed = Instant::now();
        let units = done.saturating_sub(self.resumed).max(1);
        let rest = passed.as_secs_f64() / units as f64 * total.saturating_sub(done) as f64;
        eprintln!("{stage}: {done} of {total}, {} left", duration(rest));
        Flow::Continue
    }
}

/// Seconds, or minutes from two minutes on.
pub fn duration(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        _ => format!("{:.0} min", seconds / 60.0),
    }
}
