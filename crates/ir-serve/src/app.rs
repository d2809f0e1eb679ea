use std::sync::Arc;

use crate::error::ServiceError;
use crate::service::Service;

/// State of the web server, shared by all requests.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) service: Arc<Service>,
    /// Whether pages need a session: the server listens beyond the loopback.
    pub(crate) needs_session: bool,
    /// Host names of the server besides `localhost` and IP addresses.
    pub(crate) hosts: Vec<String>,
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
