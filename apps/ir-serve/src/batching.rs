//! Jobs of concurrent callers in batches.
//!
//! Vectors are searched exactly: the questions that wait while others are encoded form a batch, and
//! the 8-bit codes of all vectors are read once per six questions, which takes less CPU time than
//! the encoding (`.ci/load --model`). A graph would have to be built again by every publication,
//! and answers would depend on its parameters.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

/// Queue of jobs that are run in batches, on a thread per runner. A runner without work runs a job
/// at once, alone; jobs that arrive while all of them work wait, and the next batch has all that
/// wait, up to its largest size. Dropping the queue runs what waits.
pub(crate) struct BatchQueue<J, R> {
    shared: Arc<Shared<J, R>>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared<J, R> {
    state: Mutex<State<J, R>>,
    changed: Condvar,
    /// Maximum number of jobs in a batch.
    size: usize,
}

struct State<J, R> {
    waiting: VecDeque<(J, Reply<R>)>,
    is_closed: bool,
}

/// Channel that returns a result to its caller, dropped without one if the batch panicked.
enum Reply<R> {
    Thread(mpsc::Sender<R>),
    Task(oneshot::Sender<R>),
}

impl<R> Reply<R> {
    fn send(self, result: R) {
        // A caller that went away needs no result.
        match self {
            Self::Thread(sender) => drop(sender.send(result)),
            Self::Task(sender) => drop(sender.send(result)),
        }
    }

    /// Returns `true` if the caller waits no more.
    fn is_canceled(&self) -> bool {
        match self {
            Self::Thread(_) => false,
            Self::Task(sender) => sender.is_closed(),
        }
    }
}

impl<J, R> Shared<J, R> {
    fn lock(&self) -> MutexGuard<'_, State<J, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for jobs and returns a batch; `None` when the queue is closed.
    fn next_batch(&self) -> Option<(Vec<J>, Vec<Reply<R>>)> {
        let mut state = self.lock();
        loop {
            let count = state.waiting.len().min(self.size);
            let batch = state.waiting.drain(..count);
            let batch: (Vec<J>, Vec<Reply<R>>) =
                batch.filter(|(_, reply)| !reply.is_canceled()).unzip();
            match (batch.0.is_empty(), state.is_closed) {
                (false, _) => return Some(batch),
                (true, true) if state.waiting.is_empty() => return None,
                (true, _) if !state.waiting.is_empty() => {}
                _ => {
                    let waited = self.changed.wait(state);
                    state = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

impl<J: Send + 'static, R: Send + 'static> BatchQueue<J, R> {
    /// Starts a thread per function of `runners`, which returns the results of a batch in the order
    /// of its jobs. A batch has at most `size` jobs, at least 1.
    pub(crate) fn start<F>(runners: impl IntoIterator<Item = F>, size: usize) -> Self
    where
        F: FnMut(&[J]) -> Vec<R> + Send + 'static,
    {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                is_closed: false,
            }),
            changed: Condvar::new(),
            size: size.max(1),
        });
        let threads = runners.into_iter().map(|mut run| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                while let Some((jobs, replies)) = shared.next_batch() {
                    // The callers of a batch that panics get no result.
                    let results = catch_unwind(AssertUnwindSafe(|| run(&jobs)));
                    // What the jobs hold is free before their callers go on.
                    drop(jobs);
                    for (reply, result) in replies.into_iter().zip(results.unwrap_or_default()) {
                        reply.send(result);
                    }
                }
            })
        });
        let threads = threads.collect();
        Self { shared, threads }
    }

    /// Number of jobs that wait for a batch.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.shared.lock().waiting.len()
    }

    fn push(&self, job: J, reply: Reply<R>) {
        self.shared.lock().waiting.push_back((job, reply));
        self.shared.changed.notify_one();
    }

    /// Runs a job in a batch, and returns its result; blocks. `None` if the batch panicked or
    /// returned too few results.
    pub(crate) fn run(&self, job: J) -> Option<R> {
        let (sender, receiver) = mpsc::channel();
        self.push(job, Reply::Thread(sender));
        receiver.recv().ok()
    }

    /// [`Self::run`] without blocking. A job is not run if its future is dropped before its batch
    /// starts.
    pub(crate) async fn run_async(&self, job: J) -> Option<R> {
        let (sender, receiver) = oneshot::channel();
        self.push(job, Reply::Task(sender));
        receiver.await.ok()
    }
}

impl<J, R> Drop for BatchQueue<J, R> {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::app::tests::{Gate, wait_until};

    const CALLERS: usize = 64;

    #[derive(Default)]
    struct Counts {
        batches: AtomicUsize,
        jobs: AtomicUsize,
        running: AtomicUsize,
        gate: Gate,
    }

    #[test]
    fn concurrent_jobs_share_batches() {
        for (runners, size) in [(1, 1), (1, 32), (3, 5), (2, 100)] {
            let counts: Arc<Counts> = Arc::default();
            let run = |_| {
                let counts = Arc::clone(&counts);
                move |jobs: &[usize]| {
                    assert!((1..=size).contains(&jobs.len()));
                    assert!(counts.running.fetch_add(1, Ordering::SeqCst) < runners);
                    counts.batches.fetch_add(1, Ordering::SeqCst);
                    counts.jobs.fetch_add(jobs.len(), Ordering::SeqCst);
                    counts.gate.pass();
                    counts.running.fetch_sub(1, Ordering::SeqCst);
                    jobs.iter().map(|job| job + 1).collect()
                }
            };
            let queue = BatchQueue::start((0..runners).map(run), size);
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            let runtime = runtime.unwrap();
            thread::scope(|scope| {
                for caller in 0..CALLERS {
                    let (queue, runtime) = (&queue, runtime.handle());
                    scope.spawn(move || {
                        for round in 0..3 {
                            let job = 1_000 * round + caller;
                            let result = match caller % 2 {
                                0 => queue.run(job),
                                _ => runtime.block_on(queue.run_async(job)),
                            };
                            assert_eq!(result, Some(job + 1));
                        }
                    });
                }
                // The first batches run until all callers wait.
                wait_until(|| queue.waiting() + counts.jobs.load(Ordering::SeqCst) == CALLERS);
                counts.gate.open();
            });
            let batches = counts.batches.load(Ordering::SeqCst);
            match size {
                1 => assert_eq!(batches, 3 * CALLERS),
                _ => assert!(batches < 3 * CALLERS, "{batches}"),
            }
            assert_eq!(queue.run(7), Some(8));
        }
    }

    #[test]
    fn a_panic_ends_no_other_caller() {
        let gate = Arc::<Gate>::default();
        let of_runner = Arc::clone(&gate);
        let run = move |jobs: &[usize]| {
            of_runner.pass();
            assert!(!jobs.contains(&0), "the job that panics");
            jobs.to_vec()
        };
        let queue = BatchQueue::start([run], 4);
        thread::scope(|scope| {
            let queue = &queue;
            let callers: Vec<_> = (0..16).map(|n| scope.spawn(move || queue.run(n))).collect();
            // The first batch has at most 4 of the jobs.
            wait_until(|| queue.waiting() >= 12);
            gate.open();
            // Every caller ends: with its result, or without one if its batch had the job.
            let ends = callers.into_iter().map(|caller| caller.join().unwrap());
            let ends: Vec<_> = ends.collect();
            assert_eq!(ends[0], None);
            let lost = ends.iter().filter(|end| end.is_none()).count();
            assert!(lost <= 4, "{lost}");
            for (n, end) in ends.into_iter().enumerate() {
                assert!(end.is_none_or(|result| result == n));
            }
        });
        assert_eq!(queue.run(3), Some(3));
        // Too few results.
        let queue = BatchQueue::start([|_: &[usize]| Vec::<usize>::new()], 4);
        assert_eq!(queue.run(3), None);
    }

    #[test]
    fn canceled_jobs_are_not_run_and_waiting_ones_are() {
        let ran: Arc<Mutex<Vec<usize>>> = Arc::default();
        let (start, wait) = mpsc::channel::<()>();
        let (is_running, running) = mpsc::channel();
        let of_runner = Arc::clone(&ran);
        let run = move |jobs: &[usize]| {
            let _ = is_running.send(());
            let _ = wait.recv();
            of_runner.lock().unwrap().extend(jobs);
            jobs.to_vec()
        };
        let queue = BatchQueue::start([run], 2);
        thread::scope(|scope| {
            let first = scope.spawn(|| queue.run(0));
            running.recv().unwrap();
            for job in [1, 2, 3] {
                let (sender, receiver) = oneshot::channel();
                queue.push(job, Reply::Task(sender));
                drop(receiver);
            }
            let last = scope.spawn(|| queue.run(4));
            wait_until(|| queue.waiting() == 4);
            drop(start);
            assert_eq!(first.join().unwrap(), Some(0));
            assert_eq!(last.join().unwrap(), Some(4));
        });
        drop(queue);
        assert_eq!(*ran.lock().unwrap(), [0, 4]);
    }
}
