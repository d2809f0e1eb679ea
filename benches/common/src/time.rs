//! Wall time and CPU time.

use std::fs;
use std::ops::Add;
use std::path::Path;
use std::time::Instant;

use serde::Deserialize;

/// Measured duration in seconds.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Seconds {
    /// Wall time in seconds.
    pub wall: f64,
    /// CPU time in seconds.
    pub cpu: f64,
}

impl Seconds {
    /// Medians of wall time and CPU time.
    #[must_use]
    pub fn median(all: impl IntoIterator<Item = Self>) -> Self {
        let (wall, cpu): (Vec<f64>, Vec<f64>) =
            all.into_iter().map(|time| (time.wall, time.cpu)).unzip();
        Self {
            wall: median(wall),
            cpu: median(cpu),
        }
    }
}

impl Add for Seconds {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            wall: self.wall + other.wall,
            cpu: self.cpu + other.cpu,
        }
    }
}

/// Running timer of wall time and CPU time.
#[derive(Debug)]
pub struct Clock {
    wall: Instant,
    cpu: f64,
    cpu_time: fn() -> f64,
}

impl Clock {
    /// Starts a timer of the calling thread's CPU time.
    #[must_use]
    pub fn thread() -> Self {
        Self::start(|| cpu_time(Path::new("/proc/thread-self")))
    }

    /// Starts a timer of the CPU time of all threads of the process. Threads that exit are not
    /// counted; those of a thread pool remain.
    #[must_use]
    pub fn process() -> Self {
        Self::start(|| {
            let threads = fs::read_dir("/proc/self/task").into_iter().flatten();
            let threads = threads.flatten();
            threads.map(|task| cpu_time(&task.path())).sum()
        })
    }

    fn start(cpu_time: fn() -> f64) -> Self {
        Self {
            cpu: cpu_time(),
            wall: Instant::now(),
            cpu_time,
        }
    }

    /// Time since the start.
    #[must_use]
    pub fn seconds(&self) -> Seconds {
        Seconds {
            wall: self.wall.elapsed().as_secs_f64(),
            cpu: (self.cpu_time)() - self.cpu,
        }
    }
}

/// CPU time of a thread in seconds; 0 if the system does not provide it.
fn cpu_time(thread: &Path) -> f64 {
    let text = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
    let nanoseconds = text.split_whitespace().next();
    nanoseconds.map_or(0.0, |n| n.parse().unwrap_or(0.0)) / 1e9
}

/// Median (the upper of two); NaN for an empty slice.
#[must_use]
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
