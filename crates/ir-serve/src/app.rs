use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use governor::clock::DefaultClock;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use tokio::sync::Semaphore;

use crate::api::ApiError;
use crate::config::AccessConfig;
use crate::error::ServiceError;
use crate::metrics::Metrics;
use crate::service::{
    AnswerList, GeneratedAnswer, GenerationOutcome, Question, ScoredAnswer, Service,
};

/// State of the web server, shared by all requests.
pub(crate) struct App {
    pub(crate) service: Arc<Service>,
    pub(crate) access: AccessConfig,
    pub(crate) metrics: Metrics,
    /// Permits of the requests that are processed at the same time.
    pub(crate) permits: Semaphore,
    /// Permits of the searches that run at the same time; the others wait in their order.
    searches: Semaphore,
    rate: Option<RateLimiter<[u8; 32], DashMapStateStore<[u8; 32]>, DefaultClock>>,
}

impl App {
    pub(crate) fn new(service: Arc<Service>, access: AccessConfig) -> Self {
        let limits = service.limits();
        let quota = limits.rate.map(Quota::per_second);
        let permits = Semaphore::new(limits.concurrency.min(Semaphore::MAX_PERMITS));
        // Without an encoder a search computes all the time. Searches with one wait for each other,
        // and form batches.
        let searches = match service.has_encoder() {
            true => crate::server::BLOCKING_THREADS,
            false => thread::available_parallelism().map_or(2, NonZeroUsize::get),
        };
        Self {
            searches: Semaphore::new(searches),
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
}

/// Runs a search as [`blocking`] does, after the searches that wait.
///
/// # Errors
/// As [`blocking`].
pub(crate) async fn searching<T: Send + 'static>(
    app: &Arc<App>,
    run: impl FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
) -> Result<T, ServiceError> {
    // The semaphore is never closed.
    let _permit = app.searches.acquire().await;
    blocking(app, run).await
}

/// Answers a question: without a thread of its own if it waits for a batch.
///
/// # Errors
/// As [`Service::ask`].
pub(crate) async fn asking(app: &Arc<App>, question: Question) -> Result<AnswerList, ServiceError> {
    match app.service.blocks(&question) {
        true => searching(app, move |service| service.ask(&question)).await,
        false => app.service.ask_async(&question).await,
    }
}

/// Generates an answer from the best answers of a question; `None` without a generator. Ends when
/// half of the time of the request, which began at `start`, has passed: the answers are returned in
/// any case. A generation that waits for a thread then is canceled.
pub(crate) async fn generating(
    app: &Arc<App>,
    start: Instant,
    question: &str,
    answers: &[ScoredAnswer],
) -> Option<GeneratedAnswer> {
    let generation = app.service.generation()?;
    let answers: Vec<ScoredAnswer> = answers
        .iter()
        .take(generation.sentences())
        .cloned()
        .collect();
    let count = answers.len();
    let Some(permit) = generation.permit() else {
        return Some(generation.answer(count, GenerationOutcome::Busy));
    };
    let (task_app, question) = (Arc::clone(app), question.to_owned());
    let mut running = tokio::task::spawn_blocking(move || {
        let service = &task_app.service;
        service.generate_with(&permit, &question, &answers)
    });
    let end = start + app.service.limits().time / 2;
    match tokio::time::timeout_at(end.into(), &mut running).await {
        Ok(Ok(generated)) => generated,
        Ok(Err(_)) | Err(_) => {
            running.abort();
            tracing::warn!("generation failed, or exceeded half of the time of a request");
            Some(generation.answer(count, GenerationOutcome::Failed))
        }
    }
}

/// Runs a blocking function of the service on a thread for such functions.
///
/// # Errors
/// Those of the function; a panic of it is [`ServiceError::Panic`].
pub(crate) async fn blocking<T: Send + 'static>(
    app: &Arc<App>,
    run: impl FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
) -> Result<T, ServiceError> {
    let app = Arc::clone(app);
    let result = tokio::task::spawn_blocking(move || run(&app.service)).await;
    result.unwrap_or_else(|error| {
        tracing::error!(%error, "a request panicked");
        Err(ServiceError::Panic)
    })
}
