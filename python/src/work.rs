//! Long computations without the GIL: threads, progress, Ctrl-C, processes after a fork.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ir_core::{Flow, Progress};
use ir_experiment::{Observer, StageReport};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::raise;

/// Interval at which signals are checked and progress is reported.
const INTERVAL: Duration = Duration::from_millis(50);

/// Process that imported the module. Threads of rayon's global pool are in no other process.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Pool of a size, of a process.
type PoolOfProcess = (u32, usize, Arc<ThreadPool>);

static POOLS: Mutex<Vec<PoolOfProcess>> = Mutex::new(Vec::new());

/// Number of threads that [`set_threads`] set; 0 for one per core.
static THREADS: AtomicU32 = AtomicU32::new(0);

/// Remembers the process of the global pool.
pub(crate) fn remember_process() {
    let _ = PROCESS.compare_exchange(0, std::process::id(), Ordering::Relaxed, Ordering::Relaxed);
}

/// Sets the number of threads of all following computations.
///
/// Parameters
/// ----------
/// threads : int, optional
///     Number of threads. None uses one per core, which is the default.
///
/// Examples
/// --------
/// >>> irrs.set_threads(2)
/// >>> irrs.set_threads(None)
#[pyfunction]
#[pyo3(signature = (threads))]
pub(crate) fn set_threads(threads: Option<u32>) -> PyResult<()> {
    if threads == Some(0) {
        return Err(crate::error::invalid(
            "threads: expected at least 1, found 0",
        ));
    }
    THREADS.store(threads.unwrap_or(0), Ordering::Relaxed);
    Ok(())
}

/// Pool for a computation; `None` for rayon's global one. After a fork, the child process has pools
/// of its own.
fn pool(threads: Option<usize>) -> PyResult<Option<Arc<ThreadPool>>> {
    let process = std::process::id();
    let threads = threads.unwrap_or(THREADS.load(Ordering::Relaxed) as usize);
    if threads == 0 && process == PROCESS.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let found = pools.iter().find(|it| (it.0, it.1) == (process, threads));
    if let Some((_, _, pool)) = found {
        return Ok(Some(pool.clone()));
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = Arc::new(pool.map_err(raise)?);
    // Pools of the parent process have no threads here, and must not be joined.
    let is_own = |it: &PoolOfProcess| it.0 == process;
    let others: Vec<PoolOfProcess> = pools.extract_if(.., |it| !is_own(it)).collect();
    std::mem::forget(others);
    pools.push((process, threads, pool.clone()));
    Ok(Some(pool))
}

/// Runs a short computation without the GIL. Signals are not checked.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let pool = pool(None)?;
    Ok(py.detach(|| match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }))
}

/// Progress of a computation that Ctrl-C stops.
pub(crate) struct Task<'a> {
    stop: &'a AtomicBool,
    callback: Option<Py<PyAny>>,
    /// Time of the last call of `callback`.
    reported: Option<Instant>,
    error: Option<PyErr>,
}

impl std::fmt::Debug for Task<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task")
            .field("stop", &self.stop)
            .finish_non_exhaustive()
    }
}

impl Task<'_> {
    /// Returns `true` after Ctrl-C, or after an exception of the progress function.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Calls the progress function of the user.
    fn call(&mut self, stage: &str, done: u64, total: Option<u64>) {
        let Some(callback) = &self.callback else {
            return;
        };
        let called = Python::attach(|py| callback.call1(py, (stage, done, total)).map(drop));
        if let Err(error) = called {
            self.error = Some(error);
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Sends warnings to the logger `irrs`.
    pub(crate) fn warn_all<W: ToString>(&mut self, warnings: &[W]) {
        for warning in warnings {
            self.log("warning", &warning.to_string());
        }
    }

    /// Sends a message to the logger `irrs`.
    fn log(&mut self, level: &str, message: &str) {
        let logged = Python::attach(|py| {
            let logging = py.import("logging")?;
            let logger = logging.call_method1("getLogger", ("irrs",))?;
            logger.call_method1(level, ("%s", message)).map(drop)
        });
        if let Err(error) = logged {
            self.error = Some(error);
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Progress for Task<'_> {
    fn report(&mut self, stage: &str, done: u64, total: Option<u64>) -> Flow {
        let is_due = self.reported.is_none_or(|last| last.elapsed() >= INTERVAL);
        if is_due || total == Some(done) {
            self.reported = Some(Instant::now());
            self.call(stage, done, total);
        }
        if self.is_stopped() {
            return Flow::Stop;
        }
        Flow::Continue
    }
}

impl Observer for Task<'_> {
    fn stage(&mut self, report: &StageReport) {
        let text = format!("{}: {}", report.stage.name(), report.description);
        self.log("info", &text);
    }

    fn note(&mut self, note: &str) {
        self.log("info", note);
    }

    fn warning(&mut self, warning: &str) {
        self.log("warning", warning);
    }
}

/// Function of the argument `progress`: `True` stands for a bar of tqdm, `False` for none.
fn progress_function(py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Option<Py<PyAny>>> {
    let is_on = match &progress {
        None => None,
        Some(progress) => progress
            .bind(py)
            .cast::<PyBool>()
            .ok()
            .map(|it| it.is_true()),
    };
    match is_on {
        None => Ok(progress),
        Some(false) => Ok(None),
        Some(true) => Ok(Some(
            py.import("irrs._progress")?.call_method0("bar")?.unbind(),
        )),
    }
}

/// Runs a long computation in a thread without the GIL, while this thread checks signals: Ctrl-C
/// stops the computation at its next report of progress, and raises `KeyboardInterrupt`.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut Task<'_>) -> PyResult<T> + Send,
) -> PyResult<T> {
    let pool = pool(threads)?;
    let progress = progress_function(py, progress)?;
    let stop = AtomicBool::new(false);
    let mut interrupt = None;
    let result = py.detach(|| {
        thread::scope(|scope| {
            let (sender, ended) = mpsc::channel::<()>();
            let stop = &stop;
            let worker = scope.spawn(move || {
                // The channel closes when the computation ends, also by a panic.
                let _ended = sender;
                let mut task = Task {
                    stop,
                    callback: progress,
                    reported: None,
                    error: None,
                };
                let result = match pool {
                    Some(pool) => pool.install(|| work(&mut task)),
                    None => work(&mut task),
                };
                task.error.take().map_or(result, Err)
            });
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if interrupt.is_none() {
                    interrupt = Python::attach(|py| py.check_signals()).err();
                }
                if interrupt.is_some() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            worker.join()
        })
    });
    match (interrupt, result) {
        (Some(interrupt), _) => Err(interrupt),
        (None, Ok(result)) => result,
        (None, Err(panic)) => resume_unwind(panic),
    }
}
