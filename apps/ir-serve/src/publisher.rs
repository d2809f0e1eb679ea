//! Publication in the background.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ir_core::Flow;

use crate::published::{BuildReason, PublishConfig, PublishEncoder, PublishError, PublishedState};
use crate::store::{DocumentState, Job, JobStatus, Publication, Store, StoreError, random_hex};

/// Thread that builds published states and makes them visible.
///
/// A state becomes visible with one assignment, after the transaction that stores it: queries see
/// the old or the new state. Jobs that waited or ran when the process ended run again, unless they
/// ended the process several times.
///
/// With an encoder, a job publishes the vectors that are stored, and ends. When no job waits, the
/// thread encodes the published texts that have no vector, and makes the same documents visible
/// again with all vectors. A job that arrives interrupts the encoding between two batches.
pub(crate) struct Publisher {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    store: Arc<Store>,
    config: PublishConfig,
    state: RwLock<Option<Arc<PublishedState>>>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<String>,
    /// Jobs that run together: the state that is built has the documents of all of them.
    running: Vec<String>,
    stage: String,
    done: u64,
    total: u64,
    is_aborted: bool,
    is_closed: bool,
    encoding: EncodingState,
    /// Error of the state that was visible when the process started.
    load_error: Option<String>,
    /// Ends of jobs that the store, such as on a full disk, has not taken yet.
    unstored: Vec<JobEnd>,
}

/// State of the encoding of published texts in the background.
#[derive(Debug, Clone, Default)]
pub(crate) struct EncodingState {
    /// Numbers of texts with a vector and of all texts, of the side that is encoded.
    pub(crate) progress: Option<(u64, u64)>,
    /// If `true`, texts are not encoded until the next publication or start: all are, or the
    /// encoding was aborted or failed.
    pub(crate) is_stopped: bool,
    /// Why the encoding failed.
    pub(crate) error: Option<String>,
}

/// End of jobs that ran together.
#[derive(Debug)]
struct JobEnd {
    jobs: Vec<String>,
    status: JobStatus,
    stage: String,
    done: u64,
    total: u64,
    error: Option<String>,
}

/// Time between two attempts to store the end of jobs.
const RETRY: Duration = Duration::from_secs(1);

impl Publisher {
    /// Starts the thread, which first loads the published state.
    pub(crate) fn start(store: Arc<Store>, config: PublishConfig) -> Result<Self, StoreError> {
        let waiting = store.unfinished_jobs()?.into();
        let shared = Arc::new(Shared {
            store,
            config,
            state: RwLock::new(None),
            queue: Mutex::new(Queue {
                waiting,
                ..Queue::default()
            }),
            changed: Condvar::new(),
        });
        let worker = Arc::clone(&shared);
        let thread = thread::spawn(move || worker.run());
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// The published state; `None` until it is loaded.
    pub(crate) fn state(&self) -> Option<Arc<PublishedState>> {
        self.shared.visible()
    }

    /// Returns `true` if answers and questions are encoded.
    pub(crate) fn has_encoder(&self) -> bool {
        self.shared.config.encoder.is_some()
    }

    /// Number of texts that were encoded since the start, without questions of users.
    pub(crate) fn encoded_texts(&self) -> u64 {
        let encoder = self.shared.config.encoder.as_ref();
        encoder.map_or(0, PublishEncoder::encoded_texts)
    }

    /// State of the encoding in the background.
    pub(crate) fn encoding(&self) -> EncodingState {
        self.shared.queue().encoding.clone()
    }

    /// Why the published state could not be loaded.
    pub(crate) fn load_error(&self) -> Option<String> {
        self.shared.queue().load_error.clone()
    }

    /// Stores a job, which is durable when this returns, and wakes the thread.
    pub(crate) fn publish(&self) -> Result<Job, StoreError> {
        // Held until the job is stored: jobs run in the order of their numbers.
        let mut queue = self.shared.queue();
        let job = self.shared.store.create_job(&random_hex(16)?)?;
        queue.waiting.push_back(job.id.clone());
        self.shared.changed.notify_all();
        Ok(job)
    }

    /// Aborts all jobs that wait or run, and returns their ids. A job finishes if its state is
    /// being stored. Stops the encoding in the background until the next publication or start.
    pub(crate) fn abort(&self) -> Result<Vec<String>, StoreError> {
        let mut queue = self.shared.queue();
        let waiting: Vec<String> = queue.waiting.iter().cloned().collect();
        let store = &self.shared.store;
        // All or none: those that are not stored as aborted still wait.
        store.end_jobs(&waiting, JobStatus::Aborted, ("", 0, 0), None)?;
        queue.waiting.clear();
        queue.is_aborted = !queue.running.is_empty();
        queue.encoding.is_stopped = true;
        Ok(queue.running.iter().cloned().chain(waiting).collect())
    }

    /// Number of jobs that wait or run.
    pub(crate) fn unfinished(&self) -> usize {
        let queue = self.shared.queue();
        queue.waiting.len() + queue.running.len()
    }

    /// A job with its progress.
    pub(crate) fn job(&self, id: &str) -> Result<Option<Job>, StoreError> {
        // The lock keeps a job from ending between the two reads.
        let queue = self.shared.queue();
        let mut job = self.shared.store.job(id)?;
        if let Some(job) = &mut job
            && job.status == JobStatus::Started
            && queue.running.iter().any(|running| running == id)
        {
            job.stage.clone_from(&queue.stage);
            (job.done, job.total) = (queue.done, queue.total);
        }
        if let Some(job) = &mut job
            && let Some(end) = queue.unstored.iter().find(|end| end.jobs.contains(&job.id))
        {
            (job.status, job.done, job.total) = (end.status, end.done, end.total);
            job.stage.clone_from(&end.stage);
            job.error.clone_from(&end.error);
        }
        Ok(job)
    }
}

impl Drop for Publisher {
    /// Stops the thread. What runs is interrupted, and runs again when the store is next opened.
    fn drop(&mut self) {
        self.shared.queue().is_closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        if let Err(error) = caught(|| self.load()) {
            if self.queue().is_closed {
                return;
            }
            tracing::error!(%error, "the published state cannot be loaded");
            self.queue().load_error = Some(error.to_string());
        }
        loop {
            let mut queue = self.queue();
            let encodes = self.lacks_vectors();
            loop {
                self.store_ends(&mut queue);
                let encodes = encodes && !queue.encoding.is_stopped;
                if !queue.waiting.is_empty() || queue.is_closed || encodes {
                    break;
                }
                queue = if queue.unstored.is_empty() {
                    let woken = self.changed.wait(queue);
                    woken.unwrap_or_else(PoisonError::into_inner)
                } else {
                    let woken = self.changed.wait_timeout(queue, RETRY);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                };
            }
            if queue.is_closed {
                return;
            }
            if queue.waiting.is_empty() {
                drop(queue);
                self.add_vectors();
                continue;
            }
            queue.running = queue.waiting.drain(..).collect();
            queue.is_aborted = false;
            (queue.done, queue.total) = (0, 0);
            let jobs = queue.running.clone();
            drop(queue);
            self.run_jobs(&jobs);
        }
    }

    /// The published state; `None` until it is loaded.
    fn visible(&self) -> Option<Arc<PublishedState>> {
        let state = self.state.read();
        state.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns `true` if published answers wait for vectors.
    fn lacks_vectors(&self) -> bool {
        let state = self.visible();
        state.is_some_and(|state| state.waiting_for_vectors() > 0)
    }

    /// Encodes the published texts without a vector, and makes the state with all vectors visible.
    fn add_vectors(&self) {
        let result = caught(|| {
            if self.store.start_encoding()? {
                self.encode_and_show()
            } else {
                Err(PublishError::GivenUp)
            }
        });
        let mut queue = self.queue();
        queue.encoding.progress = None;
        match result {
            Err(PublishError::Aborted) => {}
            Ok(()) => queue.encoding.is_stopped = true,
            Err(error) => {
                tracing::error!(%error, "answers wait for their vectors");
                queue.encoding.error = Some(error.to_string());
                queue.encoding.is_stopped = true;
                if matches!(error, PublishError::GivenUp) {
                    return;
                }
            }
        }
        drop(queue);
        if let Err(error) = self.store.forget_encoding_attempts() {
            tracing::error!(%error, "an attempt to encode texts is not forgotten");
        }
    }

    fn encode_and_show(&self) -> Result<(), PublishError> {
        let (Some(state), Some(encoder)) = (self.visible(), &self.config.encoder) else {
            return Ok(());
        };
        let mut progress = |_: &str, done: u64, total: Option<u64>| {
            let mut queue = self.queue();
            if let Some(total) = total {
                queue.encoding.progress = Some((done, total));
            }
            if queue.encoding.is_stopped || queue.is_closed || !queue.waiting.is_empty() {
                Flow::Stop
            } else {
                Flow::Continue
            }
        };
        let (store, config) = (&self.store, &self.config);
        let frames = state.index().frames();
        encoder.encode_missing(store, frames, &config.answers, &mut progress)?;
        drop(state);
        let published = store.publication(DocumentState::Published)?;
        let mut is_stopped = |stage: &str, _: u64, _: Option<u64>| progress(stage, 0, None);
        let reason = BuildReason::Load;
        let state = PublishedState::build(store, &published, config, reason, &mut is_stopped)?;
        self.show(state);
        Ok(())
    }

    /// Loads the published state.
    fn load(&self) -> Result<(), PublishError> {
        let publication = self.store.publication(DocumentState::Published)?;
        self.build_and_show(publication, BuildReason::Load, |_| Ok(()))
    }

    /// Deletes vectors of texts that the published state does not have.
    fn delete_vectors(&self) {
        let (Some(state), true) = (self.visible(), self.config.encoder.is_some()) else {
            return;
        };
        let used = state.encoded_texts(&self.config.answers);
        match self.store.retain_vectors(&used) {
            Ok(0) => {}
            Ok(deleted) => tracing::info!(deleted, "vectors of texts that are gone were deleted"),
            Err(error) => tracing::error!(%error, "vectors of texts that are gone are kept"),
        }
    }

    fn run_jobs(&self, jobs: &[String]) {
        let result = caught(|| self.publish(jobs));
        let mut queue = self.queue();
        if queue.is_closed && matches!(result, Err(PublishError::Aborted)) && !queue.is_aborted {
            if let Err(error) = self.store.requeue_jobs(jobs) {
                tracing::error!(%error, "interrupted jobs were not stored");
            }
            return;
        }
        let (status, error) = match &result {
            Ok(()) => (JobStatus::Finished, None),
            Err(PublishError::Aborted) => (JobStatus::Aborted, None),
            Err(error) => (JobStatus::Failed, Some(error.to_string())),
        };
        if let Some(error) = &error {
            tracing::error!(error, "publication failed");
        }
        queue.running.clear();
        let end = JobEnd {
            jobs: jobs.to_vec(),
            status,
            stage: queue.stage.clone(),
            done: queue.done,
            total: queue.total,
            error,
        };
        queue.unstored.push(end);
        self.store_ends(&mut queue);
    }

    /// Stores the ends of jobs. Those that the store does not take are kept.
    fn store_ends(&self, queue: &mut Queue) {
        queue.unstored.retain(|end| {
            let progress = (end.stage.as_str(), end.done, end.total);
            let error = end.error.as_deref();
            let stored = self.store.end_jobs(&end.jobs, end.status, progress, error);
            if let Err(error) = &stored {
                tracing::error!(%error, jobs = ?end.jobs, "the end of jobs was not stored");
            }
            stored.is_err()
        });
    }

    fn publish(&self, jobs: &[String]) -> Result<(), PublishError> {
        let mut publication = self.store.publication(DocumentState::Added)?;
        self.store.start_jobs(jobs, &publication.hash())?;
        publication.locate_annotations(&self.store)?;
        self.build_and_show(publication, BuildReason::Publication, |publication| {
            self.store.set_published(publication)
        })?;
        self.delete_vectors();
        let mut queue = self.queue();
        queue.encoding.error = None;
        queue.encoding.is_stopped = false;
        Ok(())
    }

    /// Makes a state visible.
    fn show(&self, state: PublishedState) {
        let mut visible = self.state.write().unwrap_or_else(PoisonError::into_inner);
        *visible = Some(Arc::new(state));
    }

    fn build_and_show(
        &self,
        publication: Publication,
        reason: BuildReason,
        store: impl FnOnce(&Publication) -> Result<(), StoreError>,
    ) -> Result<(), PublishError> {
        let mut progress = |stage: &str, done: u64, total: Option<u64>| {
            let mut queue = self.queue();
            stage.clone_into(&mut queue.stage);
            (queue.done, queue.total) = (done, total.unwrap_or(0));
            if queue.is_aborted || queue.is_closed {
                Flow::Stop
            } else {
                Flow::Continue
            }
        };
        let config = &self.config;
        let state =
            PublishedState::build(&self.store, &publication, config, reason, &mut progress)?;
        store(&publication)?;
        self.show(state);
        self.queue().load_error = None;
        Ok(())
    }
}

/// Runs a function; a panic of it, such as of an encoder, is an error.
fn caught(run: impl FnOnce() -> Result<(), PublishError>) -> Result<(), PublishError> {
    // The state is replaced as a whole, and the locks of the queue are usable when poisoned.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err(PublishError::Panic))
}
