//! Team of threads that compute the loops of one short text together.
//!
//! A matrix product of a short text takes some 10 µs, less than a sleeping thread takes to wake up.
//! The threads of a team wake up once per text: between the loops of a parallel region they spin,
//! and claim iterations one by one. A thread that is late claims none, and nobody waits for it.

use std::any::Any;
use std::cell::RefCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Maximum number of threads of the team of the process, which share the bandwidth of the memory.
const MAX_THREADS: usize = 4;
/// Checks for iterations until a thread yields to others that are ready.
const SPINS_PER_YIELD: u32 = 1 << 10;
/// Checks for iterations after a parallel region, in case that another one follows.
const SPINS_BEFORE_PARK: u32 = 1 << 8;

/// Iterations per thread of a matrix that several threads compute: enough to balance their loads.
const ITERATIONS_PER_THREAD: usize = 6;

thread_local! {
    /// Columns of a matrix that this thread computes.
    static COLUMNS: RefCell<Vec<f32>> = RefCell::default();
}

/// Threads that run the loops of a [`ParallelRegion`] beside the thread that opened it.
#[derive(Debug)]
pub(crate) struct ThreadTeam {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    calls: &'static Calls,
}

/// Number of calls of encoders that are in progress. A region is parallel only if its
/// own thread makes the only call.
#[derive(Debug, Default)]
pub(crate) struct Calls(AtomicUsize);

/// Calls of all encoders of the process.
pub(crate) static CALLS: Calls = Calls(AtomicUsize::new(0));

/// State of a team, in cache lines by writer.
#[derive(Debug, Default)]
struct Shared {
    /// Number of the loop in the upper 32 bits, iterations that are not claimed in the lower ones.
    ticket: CacheLine<AtomicU64>,
    /// The loop; see [`Shared::claim`].
    current: AtomicPtr<Loop<'static>>,
    /// Iterations of the loop that other threads have completed.
    completed: CacheLine<AtomicUsize>,
    /// Panic of an iteration on another thread.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// If `true`, a region is open.
    is_open: AtomicBool,
    is_stopped: AtomicBool,
    #[cfg(test)]
    parks: AtomicUsize,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct CacheLine<T>(T);

struct Loop<'a> {
    count: usize,
    body: &'a (dyn Fn(usize) + Sync),
}

/// Call of an encoder, which [`Calls`] count while the value lives.
pub(crate) struct Call<'a>(&'a Calls);

/// Region of a program. Its loops run on all threads of a team.
pub(crate) struct ParallelRegion<'a> {
    /// `None` if loops run on this thread alone.
    team: Option<&'a ThreadTeam>,
}

impl ThreadTeam {
    /// Creates a team of `threads` threads, including the caller's thread. The team is smaller if
    /// the operating system has no more threads.
    pub(crate) fn new(threads: usize, calls: &'static Calls) -> Self {
        let shared = Arc::<Shared>::default();
        let threads = (1..threads).map_while(|number| {
            let shared = shared.clone();
            let thread = thread::Builder::new().name(format!("ir-dense team {number}"));
            thread.spawn(move || shared.work()).ok()
        });
        let threads = threads.collect();
        Self {
            shared,
            threads,
            calls,
        }
    }

    /// Team of the process: as many threads as rayon's pool has when it is used first, at most
    /// [`MAX_THREADS`] and one per core.
    pub(crate) fn global() -> &'static Self {
        static TEAM: LazyLock<ThreadTeam> = LazyLock::new(|| {
            let cores = thread::available_parallelism().map_or(1, usize::from);
            let threads = rayon::current_num_threads().min(cores).min(MAX_THREADS);
            ThreadTeam::new(threads, &CALLS)
        });
        &TEAM
    }

    /// Opens a region and wakes the threads. Its loops run on this thread alone if another region
    /// is open.
    pub(crate) fn region(&self) -> ParallelRegion<'_> {
        let is_parallel = !self.threads.is_empty()
            && !self.calls.are_several()
            && !self.shared.is_open.swap(true, Ordering::Acquire);
        if is_parallel {
            self.threads.iter().for_each(|it| it.thread().unpark());
        }
        ParallelRegion {
            team: is_parallel.then_some(self),
        }
    }
}

impl Drop for ThreadTeam {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // Panics of iterations are caught.
            let _ = thread.join();
        }
    }
}

impl Calls {
    /// Counts a call until the result is dropped.
    pub(crate) fn start(&self) -> Call<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Call(self)
    }

    fn are_several(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ParallelRegion<'_> {
    /// Region with loops that run on this thread alone.
    pub(crate) fn sequential() -> Self {
        Self { team: None }
    }

    /// Number of threads that run a loop.
    pub(crate) fn threads(&self) -> usize {
        self.team.map_or(1, |team| team.threads.len() + 1)
    }

    /// Calls `body` with every number below `count`, once, in any order, on any thread; with 0 on
    /// this one.
    pub(crate) fn parallel_for(&mut self, count: usize, body: &(dyn Fn(usize) + Sync)) {
        match self.team {
            Some(team) if count > 1 && !team.calls.are_several() => {
                team.shared.run(Loop { count, body });
            }
            _ => (0..count).for_each(body),
        }
    }

    /// Computes a matrix of `to` columns on all threads: calls `compute` with ranges of columns,
    /// which begin at multiples of `panel`, and with a matrix of these alone. On one thread, calls
    /// it once, with all columns and with `out`.
    ///
    /// # Shapes
    /// `out`: `count` rows of `to` elements, `stride` apart.
    pub(crate) fn compute_columns(
        &mut self,
        count: usize,
        (to, panel): (usize, usize),
        (out, stride): (&mut [f32], usize),
        compute: impl Fn(Range<usize>, (&mut [f32], usize)) + Sync,
    ) {
        if self.threads() == 1 {
            return compute(0..to, (out, stride));
        }
        let panels = to.div_ceil(panel);
        let width = panel * panels.div_ceil(ITERATIONS_PER_THREAD * self.threads());
        let out = Mutex::new(out);
        self.parallel_for(to.div_ceil(width.max(1)), &|range| {
            let columns = range * width..to.min((range + 1) * width);
            let width = columns.len();
            COLUMNS.with_borrow_mut(|cells| {
                cells.resize(count * width, 0.0);
                compute(columns.clone(), (&mut cells[..], width));
                let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
                for (row, cells) in cells.chunks_exact(width).enumerate() {
                    out[row * stride + columns.start..][..width].copy_from_slice(cells);
                }
            });
        });
    }
}

impl Drop for ParallelRegion<'_> {
    fn drop(&mut self) {
        if let Some(team) = self.team {
            team.shared.is_open.store(false, Ordering::Release);
        }
    }
}

impl Shared {
    /// Loop of a thread of the team.
    fn work(&self) {
        let mut spins = 0_u32;
        while !self.is_stopped.load(Ordering::Relaxed) {
            if let Some(claimed) = self.claim() {
                let run = AssertUnwindSafe(|| claimed.run());
                if let Err(payload) = catch_unwind(run) {
                    *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(payload);
                }
                self.completed.0.fetch_add(1, Ordering::Release);
                spins = 0;
                continue;
            }
            spins += 1;
            if spins >= SPINS_BEFORE_PARK && !self.is_open.load(Ordering::Relaxed) {
                #[cfg(test)]
                self.parks.fetch_add(1, Ordering::Relaxed);
                thread::park();
                spins = 0;
            }
            pause(spins);
        }
    }

    /// Runs a loop on this thread and on the threads of the team that are awake.
    fn run(&self, new: Loop<'_>) {
        /// Takes the iterations that are not claimed and waits for the others, also in a panic.
        struct Wait<'a> {
            shared: &'a Shared,
            /// Iterations that others complete, if this thread claims no more.
            others: usize,
        }
        impl Drop for Wait<'_> {
            fn drop(&mut self) {
                let ticket = &self.shared.ticket.0;
                let unclaimed = ticket.fetch_and(!u64::from(u32::MAX), Ordering::AcqRel) as u32;
                let expected = self.others - unclaimed as usize;
                let mut spins = 0;
                while self.shared.completed.0.load(Ordering::Acquire) < expected {
                    spins += 1;
                    pause(spins);
                }
                if thread::panicking() {
                    self.shared.take_panic();
                }
            }
        }
        // This thread runs the first iteration, so that it needs its buffers in every loop.
        let others = new.count.saturating_sub(1);
        let Ok(unclaimed) = u32::try_from(others) else {
            return (0..new.count).for_each(new.body);
        };
        self.completed.0.store(0, Ordering::Relaxed);
        let pointer = std::ptr::from_ref(&new).cast_mut();
        self.current.store(pointer.cast(), Ordering::Relaxed);
        let number = (self.ticket.0.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        let mut wait = Wait {
            shared: self,
            others,
        };
        let ticket = number << 32 | u64::from(unclaimed);
        self.ticket.0.store(ticket, Ordering::Release);
        (new.body)(0);
        while let Some(claimed) = self.claim() {
            wait.others -= 1;
            claimed.run();
        }
        drop(wait);
        if let Some(payload) = self.take_panic() {
            resume_unwind(payload);
        }
    }

    fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        let panic = self.panic.lock();
        panic.unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Claims an iteration of the loop, if there is one.
    fn claim(&self) -> Option<Claimed> {
        let mut ticket = self.ticket.0.load(Ordering::Acquire);
        while ticket as u32 > 0 {
            let current = self.current.load(Ordering::Relaxed);
            // Succeeds only if `current` is the loop of this ticket: it is replaced when all
            // iterations are claimed, and no ticket occurs again within 2^32 loops.
            let next = ticket - 1;
            let exchange = self.ticket.0.compare_exchange_weak(
                ticket,
                next,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            match exchange {
                Ok(_) => {
                    let unclaimed = ticket as u32 as usize;
                    return Some(Claimed { current, unclaimed });
                }
                Err(found) => ticket = found,
            }
        }
        None
    }
}

/// Iteration that a thread has claimed and not completed.
struct Claimed {
    current: *const Loop<'static>,
    /// Iterations that were not claimed before.
    unclaimed: usize,
}

impl Claimed {
    #[allow(unsafe_code, reason = "threads of the team run a borrowed closure")]
    fn run(self) {
        // SAFETY: the loop is on the stack of `Shared::run`, which returns or unwinds only after
        // every claimed iteration is completed. Its closure may be called on any thread (`Sync`).
        let current = unsafe { &*self.current };
        (current.body)(current.count - self.unclaimed);
    }
}

fn pause(spins: u32) {
    match spins % SPINS_PER_YIELD {
        0 => thread::yield_now(),
        _ => std::hint::spin_loop(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    fn team(threads: usize) -> ThreadTeam {
        ThreadTeam::new(threads, Box::leak(Box::default()))
    }

    #[test]
    fn every_iteration_runs_once() {
        for threads in [1, 2, 5] {
            let team = team(threads);
            for count in [0, 1, 2, 3, 17] {
                let mut region = team.region();
                assert_eq!(region.threads(), threads);
                for _ in 0..2000 {
                    let runs = [const { AtomicU32::new(0) }; 17];
                    region.parallel_for(count, &|at| {
                        runs[at].fetch_add(1, Ordering::Relaxed);
                    });
                    let runs = runs.map(AtomicU32::into_inner);
                    assert!(runs[..count].iter().all(|&runs| runs == 1), "{runs:?}");
                    assert!(runs[count..].iter().all(|&runs| runs == 0), "{runs:?}");
                }
            }
        }
    }

    /// Two iterations that wait for each other.
    fn meet(region: &mut ParallelRegion<'_>) -> bool {
        let (arrived, met) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let start = Instant::now();
        region.parallel_for(2, &|_| {
            arrived.fetch_add(1, Ordering::Relaxed);
            while arrived.load(Ordering::Relaxed) < 2 {
                if start.elapsed() > Duration::from_secs(10) {
                    return;
                }
                thread::yield_now();
            }
            met.fetch_add(1, Ordering::Relaxed);
        });
        met.into_inner() == 2
    }

    #[test]
    fn iterations_run_at_the_same_time() {
        let team = team(2);
        assert!(meet(&mut team.region()));
        // After the thread was parked.
        let parks = || team.shared.parks.load(Ordering::Relaxed);
        let (before, start) = (parks(), Instant::now());
        while parks() == before && start.elapsed() < Duration::from_secs(10) {
            thread::yield_now();
        }
        assert!(parks() > before);
        assert!(meet(&mut team.region()));
    }

    #[test]
    fn loops_run_on_one_thread_beside_other_regions_and_calls() {
        let team = team(2);
        let this = thread::current().id();
        let check = |region: &mut ParallelRegion<'_>| {
            region.parallel_for(100, &|_| assert_eq!(thread::current().id(), this));
        };
        let first = team.region();
        let mut second = team.region();
        assert_eq!([first.threads(), second.threads()], [2, 1]);
        check(&mut second);
        drop([first, second]);
        let own = team.calls.start();
        let mut region = team.region();
        assert!(meet(&mut region));
        let other = team.calls.start();
        check(&mut region);
        drop(region);
        assert_eq!(team.region().threads(), 1);
        drop(other);
        assert!(meet(&mut team.region()));
        drop(own);
        check(&mut ParallelRegion::sequential());
    }

    #[test]
    fn panics_are_those_of_the_caller() {
        let team = team(2);
        let this = thread::current().id();
        for on_this_thread in [false, true] {
            let mut region = team.region();
            let run = AssertUnwindSafe(|| {
                let (arrived, start) = (AtomicUsize::new(0), Instant::now());
                region.parallel_for(2, &|_| {
                    arrived.fetch_add(1, Ordering::Relaxed);
                    while arrived.load(Ordering::Relaxed) < 2 && start.elapsed().as_secs() < 10 {
                        thread::yield_now();
                    }
                    assert!(
                        (thread::current().id() == this) != on_this_thread,
                        "iteration"
                    );
                });
            });
            let payload = catch_unwind(run).unwrap_err();
            assert_eq!(payload.downcast_ref::<&str>(), Some(&"iteration"));
            assert!(meet(&mut region));
        }
    }
}
