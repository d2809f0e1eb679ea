//! Work of requests of clients that went away.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use super::*;
use crate::config::ServiceConfig;

/// Longest wait of a test for a condition.
const LIMIT: Duration = Duration::from_secs(60);

/// Work that waits until a test opens the gate, for a minute at most.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// Number of calls of [`Self::pass`], and whether the gate is open.
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Gate {
    /// Waits until the gate is open.
    pub(crate) fn pass(&self) {
        self.state.lock().unwrap().0 += 1;
        self.changed.notify_all();
        self.wait(|(_, is_open)| is_open);
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }

    /// Waits until a number of calls of [`Self::pass`] has begun.
    #[track_caller]
    pub(crate) fn wait_for(&self, entered: usize) {
        assert!(self.wait(|(found, _)| found >= entered));
    }

    fn wait(&self, condition: impl Fn((usize, bool)) -> bool) -> bool {
        let state = self.state.lock().unwrap();
        let waited = self
            .changed
            .wait_timeout_while(state, LIMIT, |state| !condition(*state));
        !waited.unwrap().1.timed_out()
    }
}

/// Waits for a condition, for a minute at most.
#[track_caller]
pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    let end = Instant::now() + LIMIT;
    while !condition() {
        assert!(Instant::now() < end, "the condition does not become true");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Service that has loaded its published documents.
#[track_caller]
pub(crate) fn opened(config: ServiceConfig) -> Service {
    let service = Service::open(config).unwrap();
    wait_until(|| service.published().is_ok());
    service
}

/// Application over a new data folder, and a runtime with a number of threads for blocking
/// functions.
fn application(threads: usize) -> (TempDir, Arc<App>, Runtime) {
    let data = TempDir::new().unwrap();
    let service = Service::open(ServiceConfig::new(data.path())).unwrap();
    let app = App::new(Arc::new(service), AccessConfig::default());
    let runtime = Builder::new_multi_thread()
        .max_blocking_threads(threads)
        .enable_all()
        .build();
    (data, Arc::new(app), runtime.unwrap())
}

#[test]
fn functions_that_wait_for_a_thread_are_canceled() {
    let (_data, app, runtime) = application(1);
    let (gate, ran) = (Arc::<Gate>::default(), Arc::<AtomicBool>::default());
    let (first_app, first_gate) = (Arc::clone(&app), Arc::clone(&gate));
    let first = runtime.spawn(async move {
        let pass = move |_: &Service| {
            first_gate.pass();
            Ok(())
        };
        first_app.run(pass).await
    });
    gate.wait_for(1);
    let has_run = Arc::clone(&ran);
    let second = app.run(move |_| {
        has_run.store(true, Ordering::SeqCst);
        Ok(())
    });
    runtime.block_on(async {
        let ended = tokio::time::timeout(Duration::from_millis(20), second).await;
        assert!(ended.is_err());
    });
    gate.open();
    runtime.block_on(first).unwrap().unwrap();
    // The functions run in their order.
    runtime.block_on(app.run(|_| Ok(()))).unwrap();
    assert!(!ran.load(Ordering::SeqCst));
}

#[test]
fn searches_count_until_they_end() {
    let (_data, app, runtime) = application(64);
    let searches = app.searches.available_permits();
    let gate = Arc::<Gate>::default();
    let tasks = (0..searches).map(|_| {
        let (app, gate) = (Arc::clone(&app), Arc::clone(&gate));
        runtime.spawn(async move {
            let pass = move |_: &Service| {
                gate.pass();
                Ok(())
            };
            app.run_search(pass).await
        })
    });
    let tasks: Vec<_> = tasks.collect();
    gate.wait_for(searches);
    for task in tasks {
        task.abort();
        assert!(runtime.block_on(task).is_err());
    }
    assert_eq!(app.searches.available_permits(), 0);
    gate.open();
    wait_until(|| app.searches.available_permits() == searches);
}

#[test]
fn bytes_of_uploads_are_bounded() {
    let (_data, app, _runtime) = application(1);
    let limit = app.service.limits().body_bytes as u64;
    let held = |bytes| app.upload_permit(bytes).unwrap();
    // A length that is unknown, or that the body does not have, counts as the largest.
    let mut permits = vec![held(None), held(Some(u64::MAX)), held(Some(limit))];
    permits.extend([
        held(Some(limit / 2)),
        held(Some(limit / 2 - 4096)),
        held(Some(1)),
    ]);
    let error = app.upload_permit(Some(4096)).unwrap_err();
    assert_eq!(error.status.as_u16(), 429);
    permits.push(held(Some(0)));
    permits.push(held(Some(3 << 10)));
    assert!(app.upload_permit(Some(1)).is_err());
    permits.pop();
    drop(held(Some(2 << 10)));
}
