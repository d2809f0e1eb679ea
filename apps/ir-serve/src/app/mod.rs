use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use axum::http::header::HOST;
use governor::clock::DefaultClock;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use crate::api_error::ApiError;
use crate::base_path::RequestBase;
use crate::config::AccessConfig;
use crate::error::ServiceError;
use crate::host::is_known_host;
use crate::metrics::Metrics;
use crate::request_permit::RequestPermit;
use crate::service::{
    AnswerList, GeneratedAnswer, GenerationOutcome, Question, Rescan, ScoredAnswer, Service,
};
use crate::store::{Store, StoreError};

/// Threads of blocking requests; further requests wait. Few, so that searches do not compete for
/// the CPU, and enough for filtered questions, which take a thread each, to form batches.
pub(crate) const BLOCKING_THREADS: usize = 64;

/// Maximum number of uploads of the largest size that are held at the same time.
const UPLOADS: usize = 4;

/// Bytes of an upload per permit.
const UPLOAD_UNIT: usize = 1 << 10;

/// State of the web server, shared by all requests.
pub(crate) struct App {
    pub(crate) service: Arc<Service>,
    pub(crate) access: AccessConfig,
    pub(crate) metrics: Metrics,
    /// Permits of the requests that are processed at the same time ([`RequestPermit`]).
    permits: Arc<Semaphore>,
    /// Permits of the searches that run at the same time; the others wait in their order.
    searches: Arc<Semaphore>,
    /// Permits of the bodies of uploads that are held at the same time, one per [`UPLOAD_UNIT`].
    uploads: Arc<Semaphore>,
    rate: Option<RateLimiter<[u8; 32], DashMapStateStore<[u8; 32]>, DefaultClock>>,
}

impl App {
    pub(crate) fn new(service: Arc<Service>, access: AccessConfig) -> Self {
        let limits = service.limits();
        let quota = limits.rate.map(Quota::per_second);
        let semaphore =
            |permits: usize| Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)));
        let permits = semaphore(limits.concurrency);
        let uploads = UPLOADS.saturating_mul(limits.body_bytes.div_ceil(UPLOAD_UNIT));
        // Without an encoder a search computes all the time. Searches with one wait for each other,
        // and form batches.
        let searches = if service.has_encoder() {
            BLOCKING_THREADS
        } else {
            thread::available_parallelism().map_or(2, NonZeroUsize::get)
        };
        Self {
            searches: semaphore(searches),
            uploads: semaphore(uploads),
            access,
            metrics: Metrics::new(),
            permits,
            rate: quota.map(RateLimiter::dashmap),
            service,
        }
    }

    /// Counts a request of a key that exists, by its hash: over REST, or of a session that was
    /// opened with it.
    pub(crate) fn check_rate(&self, key: &[u8; 32]) -> Result<(), ApiError> {
        let Some(rate) = &self.rate else {
            return Ok(());
        };
        rate.check_key(key)
            .map_err(|_| ApiError::busy("too many requests with this key"))
    }

    /// URL of the pages, without a slash at the end: the host of a request and its base path. Empty
    /// without both, so that links are paths.
    pub(crate) fn site_url(&self, headers: &HeaderMap, base: Option<&RequestBase>) -> String {
        let base = base.and_then(RequestBase::url).unwrap_or_default();
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = host.filter(|host| is_known_host(host, &self.access.hosts));
        let scheme = if self.access.secure_cookies {
            "https"
        } else {
            "http"
        };
        match host {
            Some(host) => format!("{scheme}://{host}{base}"),
            None => base.to_owned(),
        }
    }

    /// Permit of a further request; `None` if as many as permitted are processed.
    pub(crate) fn request_permit(&self) -> Option<RequestPermit> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        permit.ok().map(RequestPermit::new)
    }

    /// Permit to hold the body of an upload with a number of bytes, or with the largest permitted
    /// number if it is unknown.
    ///
    /// # Errors
    /// Bodies of [`UPLOADS`] times the largest size are held.
    pub(crate) fn upload_permit(
        &self,
        bytes: Option<u64>,
    ) -> Result<OwnedSemaphorePermit, ApiError> {
        let limit = self.service.limits().body_bytes;
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        let units = bytes
            .map_or(limit, |bytes| bytes.min(limit))
            .div_ceil(UPLOAD_UNIT);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.uploads).try_acquire_many_owned(units);
        permit.map_err(|_| ApiError::busy("too many bytes of uploads at the same time"))
    }

    /// Runs a blocking function of the service on a thread for blocking functions. A function that
    /// has not started is canceled when the future is dropped. A function that runs continues, and
    /// holds the permit of its request until it ends. The permit is returned before this future
    /// completes, also after a panic.
    ///
    /// # Errors
    /// Returns the error of `run`, or [`ServiceError::Panic`] if it panics.
    pub(crate) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        run: impl FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let (app, permit) = (Arc::clone(self), RequestPermit::current());
        // Dropping the set aborts its task.
        let mut tasks = JoinSet::new();
        tasks.spawn_blocking(move || {
            let _permit = permit;
            run(&app.service)
        });
        match tasks.join_next().await {
            Some(Ok(result)) => result,
            Some(Err(error)) => {
                tracing::error!(%error, "a request panicked");
                Err(ServiceError::Panic)
            }
            None => Err(ServiceError::Panic),
        }
    }

    /// [`Self::run`] for reads and writes of the store.
    pub(crate) async fn store<T: Send + 'static>(
        self: &Arc<Self>,
        run: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        self.run(move |service| Ok(run(service.store())?)).await
    }

    /// [`Self::run`] for a search: waits for its turn among the searches.
    pub(crate) async fn run_search<T: Send + 'static>(
        self: &Arc<Self>,
        run: impl FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.searches).acquire_owned().await;
        self.run(move |service| {
            let _permit = permit;
            run(service)
        })
        .await
    }

    /// Answers a question like [`Service::ask`], without a thread of its own if it waits for a
    /// batch.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        question: Question,
    ) -> Result<AnswerList, ServiceError> {
        if self.service.blocks(&question) {
            self.run_search(move |service| service.ask(&question)).await
        } else {
            self.service.ask_async(&question).await
        }
    }

    /// Generates an answer from the best answers of a question; `None` without a generator. Ends
    /// when half of the time of the request, which began at `start`, has passed: the answers are
    /// returned in any case. A generation that waits for a thread then is canceled.
    pub(crate) async fn generate(
        self: &Arc<Self>,
        start: Instant,
        question: &str,
        answers: &[ScoredAnswer],
    ) -> Option<GeneratedAnswer> {
        let generation = self.service.generation()?;
        let answers = answers[..answers.len().min(generation.sentences())].to_vec();
        let count = answers.len();
        let Some(permit) = generation.permit() else {
            return Some(generation.answer(count, GenerationOutcome::Busy));
        };
        let question = question.to_owned();
        let running =
            self.run(move |service| Ok(service.generate_with(&permit, &question, &answers)));
        let end = start + self.service.limits().time / 2;
        match tokio::time::timeout_at(end.into(), running).await {
            Ok(Ok(generated)) => generated,
            Ok(Err(_)) | Err(_) => {
                tracing::warn!("generation failed, or exceeded half of the time of a request");
                Some(generation.answer(count, GenerationOutcome::Failed))
            }
        }
    }

    /// Reads the folder of papers again like [`Service::rescan`]. After `wait` the reading
    /// continues, and the result is `None`.
    pub(crate) async fn rescan(
        self: &Arc<Self>,
        wait: Duration,
    ) -> Result<Option<Rescan>, ServiceError> {
        let app = Arc::clone(self);
        let reading = async move { app.run(Service::rescan).await };
        let task = tokio::spawn(RequestPermit::current().scope(reading));
        match tokio::time::timeout(wait, task).await {
            Err(_) => Ok(None),
            Ok(ended) => ended.unwrap_or(Err(ServiceError::Panic)).map(Some),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
