//! Jobs of concurrent callers in batches.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Queue of jobs that are run in batches on the threads of their callers. While fewer batches run
/// than may run at the same time, a job is run at once, alone; otherwise it waits, and the next
/// batch has all that wait, up to its largest size.
pub(crate) struct BatchQueue<J, R> {
    state: Mutex<State<J, R>>,
    /// Batches that may run at the same time.
    runners: usize,
    /// Largest number of jobs in a batch.
    size: usize,
}

struct State<J, R> {
    waiting: VecDeque<QueuedJob<J, R>>,
    running: usize,
}

/// Job with the place of its result.
struct QueuedJob<J, R> {
    job: J,
    slot: Arc<Slot<J, R>>,
}

/// What a caller waits for.
struct Slot<J, R> {
    event: Mutex<Option<Event<J, R>>>,
    changed: Condvar,
}

enum Event<J, R> {
    /// The caller runs a batch, which has its own job.
    Run(Vec<QueuedJob<J, R>>),
    /// Result; `None` if the batch panicked.
    End(Option<R>),
}

impl<J, R> Slot<J, R> {
    fn new() -> Self {
        Self {
            event: Mutex::new(None),
            changed: Condvar::new(),
        }
    }

    fn set(&self, event: Event<J, R>) {
        *self.event.lock().unwrap_or_else(PoisonError::into_inner) = Some(event);
        self.changed.notify_one();
    }

    fn wait(&self) -> Event<J, R> {
        let mut event = self.event.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match event.take() {
                Some(event) => return event,
                None => {
                    let waited = self.changed.wait(event);
                    event = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

impl<J, R> BatchQueue<J, R> {
    /// Creates a queue that runs at most `runners` batches at the same time, of at most `size`
    /// jobs. Both are at least 1.
    pub(crate) fn new(runners: usize, size: usize) -> Self {
        Self {
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                running: 0,
            }),
            runners: runners.max(1),
            size: size.max(1),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<J, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a job in a batch, and returns its result. `run` returns the results of a batch in the
    /// order of its jobs. `None` if it panicked on the thread of another caller, or returned too
    /// few.
    pub(crate) fn run(&self, job: J, run: impl FnOnce(&[J]) -> Vec<R>) -> Option<R> {
        let slot = Arc::new(Slot::new());
        let queued = QueuedJob {
            job,
            slot: Arc::clone(&slot),
        };
        let mut state = self.lock();
        let batch = match state.running < self.runners {
            true => {
                state.running += 1;
                drop(state);
                vec![queued]
            }
            false => {
                state.waiting.push_back(queued);
                drop(state);
                match slot.wait() {
                    Event::Run(batch) => batch,
                    Event::End(result) => return result,
                }
            }
        };
        let (jobs, slots) = batch
            .into_iter()
            .map(|queued| (queued.job, queued.slot))
            .unzip();
        let running = Running { queue: self, slots };
        let jobs: Vec<J> = jobs;
        for (slot, result) in running.slots.iter().zip(run(&jobs)) {
            slot.set(Event::End(Some(result)));
        }
        drop(running);
        match slot.wait() {
            Event::End(result) => result,
            Event::Run(_) => None,
        }
    }

    /// Ends a batch: the first of the waiting callers runs the next one.
    fn end_batch(&self) {
        let mut state = self.lock();
        let count = state.waiting.len().min(self.size);
        let batch: Vec<_> = state.waiting.drain(..count).collect();
        match batch.first() {
            None => state.running -= 1,
            Some(first) => {
                drop(state);
                let slot = Arc::clone(&first.slot);
                slot.set(Event::Run(batch));
            }
        }
    }
}

/// Ends a batch when dropped, by a panic too: no caller waits forever.
struct Running<'q, J, R> {
    queue: &'q BatchQueue<J, R>,
    slots: Vec<Arc<Slot<J, R>>>,
}

impl<J, R> Drop for Running<'_, J, R> {
    fn drop(&mut self) {
        for slot in mem::take(&mut self.slots) {
            // A caller that has taken its result waits no more.
            let mut event = slot.event.lock().unwrap_or_else(PoisonError::into_inner);
            if event.is_none() {
                *event = Some(Event::End(None));
                drop(event);
                slot.changed.notify_one();
            }
        }
        self.queue.end_batch();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn concurrent_jobs_share_batches() {
        for (runners, size) in [(1, 1), (1, 32), (3, 5), (2, 100)] {
            let queue = BatchQueue::new(runners, size);
            let (batches, running) = (AtomicUsize::new(0), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                for caller in 0..64_usize {
                    let (queue, batches, running) = (&queue, &batches, &running);
                    scope.spawn(move || {
                        for round in 0..3 {
                            let job = 1_000 * round + caller;
                            let result = queue.run(job, |jobs| {
                                assert!((1..=size).contains(&jobs.len()));
                                assert!(running.fetch_add(1, Ordering::SeqCst) < runners);
                                batches.fetch_add(1, Ordering::SeqCst);
                                std::thread::sleep(Duration::from_millis(2));
                                running.fetch_sub(1, Ordering::SeqCst);
                                jobs.iter().map(|job| job + 1).collect()
                            });
                            assert_eq!(result, Some(job + 1));
                        }
                    });
                }
            });
            let batches = batches.into_inner();
            match size {
                1 => assert_eq!(batches, 192),
                _ => assert!(batches < 150, "{batches}"),
            }
            assert_eq!(queue.lock().running, 0);
            assert_eq!(queue.run(7, |jobs| jobs.to_vec()), Some(7));
        }
    }

    #[test]
    fn a_panic_ends_no_other_caller() {
        let queue = BatchQueue::new(1, 4);
        let run = |jobs: &[usize]| {
            std::thread::sleep(Duration::from_millis(2));
            assert!(!jobs.contains(&0), "the job that panics");
            jobs.to_vec()
        };
        std::thread::scope(|scope| {
            let queue = &queue;
            let callers: Vec<_> = (0..16)
                .map(|n| scope.spawn(move || queue.run(n, run)))
                .collect();
            // Every caller ends: with its result, without one or, one of them, with the panic.
            let ends: Vec<_> = callers.into_iter().map(|caller| caller.join()).collect();
            assert_eq!(ends.iter().filter(|end| end.is_err()).count(), 1);
            let lost = ends.iter().filter(|end| matches!(end, Ok(None))).count();
            assert!(lost < 4, "{lost}");
            for (n, end) in ends.into_iter().enumerate() {
                if let Ok(Some(result)) = end {
                    assert_eq!(result, n);
                }
            }
        });
        assert_eq!(queue.run(3, run), Some(3));
        // Too few results.
        assert_eq!(queue.run(3, |_| Vec::new()), None);
    }
}
