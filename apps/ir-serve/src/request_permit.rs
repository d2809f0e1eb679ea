//! Permits of requests, which their work on other threads holds, too.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

tokio::task_local! {
    static CURRENT: RequestPermit;
}

/// Permit of a request. The request and its work on other threads hold clones: the permit is
/// returned when all of them have ended, even if the client went away before.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestPermit {
    _permit: Option<Arc<OwnedSemaphorePermit>>,
}

impl RequestPermit {
    pub(crate) fn new(permit: OwnedSemaphorePermit) -> Self {
        Self {
            _permit: Some(Arc::new(permit)),
        }
    }

    /// Permit of the request that the current task processes. The default, without a permit, on
    /// other threads and for routers without a limit.
    pub(crate) fn current() -> Self {
        CURRENT.try_with(Self::clone).unwrap_or_default()
    }

    /// Runs a future of the request of this permit: [`Self::current`] returns clones of it.
    pub(crate) async fn scope<F: Future>(self, future: F) -> F::Output {
        CURRENT.scope(self, future).await
    }
}
