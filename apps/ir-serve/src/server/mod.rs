//! Web server: routes, limits, logs, health.

use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state, map_request_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;
use tower::Layer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;

use crate::api;
use crate::api_error::ApiError;
use crate::app::{App, BLOCKING_THREADS};
use crate::base_path::{self, BasePath, RequestBase, with_base};
use crate::config::AccessConfig;
use crate::host::host_conflict;
use crate::pages;
use crate::service::Service;
use crate::timed_writes::TimedWrites;
use crate::watched_body::WatchedBody;

/// Web server of a service, bound to an address.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    service: Arc<Service>,
    access: AccessConfig,
}

/// Error of a [`Server`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum ServerError {
    #[error("address {address}: cannot be bound")]
    Bind {
        address: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    #[error("the server failed")]
    Serve(#[source] std::io::Error),
    /// [`Service::damage`].
    #[error("{damage}")]
    DamagedStore { damage: String },
}

/// Time between two questions whether to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

/// Time for the head of a request, and between the requests of a connection.
const HEAD_TIME: Duration = Duration::from_secs(30);

/// Time in which a client reads some of its response.
const WRITE_TIME: Duration = Duration::from_secs(30);

/// Time for the requests that run when the server is shut down.
const GRACE: Duration = Duration::from_secs(30);

impl Server {
    /// Binds to an address; port 0 chooses a free port. Beyond the loopback, pages need a sign-in
    /// with a key.
    ///
    /// # Errors
    /// The address is in use or not of this machine.
    pub fn bind(service: Arc<Service>, address: SocketAddr) -> Result<Self, ServerError> {
        let fail = |source| ServerError::Bind { address, source };
        let listener = TcpListener::bind(address).map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        Ok(Self {
            listener,
            address,
            service,
            access: AccessConfig {
                needs_session: !address.ip().is_loopback(),
                ..AccessConfig::default()
            },
        })
    }

    /// Sets [`AccessConfig::hosts`].
    #[must_use]
    pub fn with_hosts(mut self, hosts: Vec<String>) -> Self {
        self.access.hosts = hosts;
        self
    }

    /// If `true`, a proxy in front of the server speaks TLS, so that other machines reach the
    /// server: pages need a sign-in on the loopback too, and cookies are sent over HTTPS only.
    /// Default: false.
    #[must_use]
    pub fn with_tls_proxy(mut self, is_behind: bool) -> Self {
        self.access.needs_session |= is_behind;
        self.access.secure_cookies = is_behind;
        self
    }

    /// Sets [`AccessConfig::public_metrics`].
    #[must_use]
    pub fn with_public_metrics(mut self, public_metrics: bool) -> Self {
        self.access.public_metrics = public_metrics;
        self
    }

    /// Sets [`AccessConfig::base_path`].
    #[must_use]
    pub fn with_base_path(mut self, base_path: Option<BasePath>) -> Self {
        self.access.base_path = base_path;
        self
    }

    /// Sets [`AccessConfig::forwarded_prefix`].
    #[must_use]
    pub fn with_forwarded_prefix(mut self, forwarded_prefix: bool) -> Self {
        self.access.forwarded_prefix = forwarded_prefix;
        self
    }

    /// The address, with the port that was chosen.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves requests until `is_stopped` returns true, which is asked ten times a second, then
    /// finishes the requests that run, for at most 30 s.
    ///
    /// # Errors
    /// The threads cannot be started, or the listener fails; the store is damaged.
    pub fn run(self, is_stopped: impl Fn() -> bool + Send + 'static) -> Result<(), ServerError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .max_blocking_threads(BLOCKING_THREADS)
            .enable_all()
            .build()
            .map_err(ServerError::Serve)?;
        let app = Arc::new(App::new(self.service, self.access));
        let connections = app.service.limits().connections;
        let service = Arc::clone(&app.service);
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let stop = async {
                while !is_stopped() && service.damage().is_none() {
                    tokio::time::sleep(STOP_INTERVAL).await;
                }
            };
            let router = router(Arc::clone(&app));
            accept(listener, router, connections, HEAD_TIME, stop).await;
            Ok(())
        });
        runtime.shutdown_timeout(Duration::from_secs(5));
        served.map_err(ServerError::Serve)?;
        match app.service.damage() {
            None => Ok(()),
            Some(damage) => Err(ServerError::DamagedStore {
                damage: damage.to_owned(),
            }),
        }
    }
}

/// Serves connections until `stop` completes, at most `connections` at a time; further ones are
/// closed. Closes a connection if the head of a request is incomplete for `head_time`, or the
/// client reads nothing of a response for [`WRITE_TIME`].
async fn accept(
    listener: tokio::net::TcpListener,
    router: Router,
    connections: usize,
    head_time: Duration,
    stop: impl Future<Output = ()>,
) {
    let mut protocol = hyper::server::conn::http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(head_time);
    let permits = Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS)));
    let graceful = GracefulShutdown::new();
    let mut stop = pin!(stop);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Such as too many open files.
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(STOP_INTERVAL).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
            tracing::warn!(connections, "a connection was closed: too many");
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        let stream = TimedWrites::new(stream, WRITE_TIME);
        let connection = protocol.serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // An error of the client: it went away, or sent no HTTP.
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
}

/// All routes: pages, REST, health and metrics.
pub(crate) fn router(app: Arc<App>) -> Router {
    let limits = app.service.limits();
    let limited = pages::router(&app)
        .merge(api::router(limits.body_bytes))
        .layer(from_fn_with_state(Arc::clone(&app), limit_time))
        .layer(from_fn_with_state(Arc::clone(&app), limit_concurrency));
    let has_base = app.access.base_path.is_some() || app.access.forwarded_prefix;
    let router = limited
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .layer(CatchPanicLayer::custom(|_| {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            ApiError::new(status, "internal", "internal error").into_response()
        }))
        .layer(from_fn(check_host))
        .layer(from_fn(add_base_path))
        .layer(CompressionLayer::new())
        .layer(from_fn_with_state(Arc::clone(&app), observe))
        .with_state(Arc::clone(&app));
    if has_base {
        // Routes are matched after the base path is removed.
        let stripped = map_request_with_state(app, strip_base_path).layer(router);
        Router::new().fallback_service(stripped)
    } else {
        router
    }
}

/// Removes the base path from a request.
async fn strip_base_path(State(app): State<Arc<App>>, request: Request) -> Request {
    base_path::strip(request, app.access.base_path.as_ref())
}

/// Adds the base path to the URLs of the response; rejects a request that is not below it.
async fn add_base_path(request: Request, next: Next) -> Response {
    let Some(base) = request.extensions().get::<RequestBase>().cloned() else {
        return next.run(request).await;
    };
    let (method, target) = (request.method().clone(), request.uri().path().to_owned());
    let fail = |error| failure(&method, &target, error);
    let (path, response) = match base {
        RequestBase::Below(path) => (path, next.run(request).await),
        RequestBase::Missing(path) => {
            let query = request.uri().query().map(|query| format!("/?{query}"));
            let target = query.as_deref().unwrap_or("/");
            (path, Redirect::permanent(target).into_response())
        }
        RequestBase::Outside(path) => {
            let error = ApiError::missing(format!("no such path; the server is at {path}/"));
            (path, fail(error))
        }
        RequestBase::Invalid(message) => return fail(ApiError::invalid(message)),
    };
    with_base(response, &path).await
}

/// Rejects a request if the maximum number of requests is processed. A request counts until its
/// work ends, even if its client went away.
async fn limit_concurrency(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    match app.request_permit() {
        Some(permit) => permit.scope(next.run(request)).await,
        None => {
            let error = ApiError::busy("too many requests at the same time");
            failure(request.method(), request.uri().path(), error)
        }
    }
}

/// Rejects a request with two hosts.
async fn check_host(request: Request, next: Next) -> Response {
    match host_conflict(&request) {
        None => next.run(request).await,
        Some(message) => {
            let error = ApiError::invalid(message);
            failure(request.method(), request.uri().path(), error)
        }
    }
}

/// Ends a request that takes too long: with status 408 if its body has not arrived, or else 504.
pub(crate) async fn limit_time(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let time = app.service.limits().time;
    let is_awaited = Arc::<AtomicBool>::default();
    let watched = Arc::clone(&is_awaited);
    let request = request.map(|body| Body::new(WatchedBody::new(body, watched)));
    match tokio::time::timeout(time, next.run(request)).await {
        Ok(response) => response,
        Err(_) if is_awaited.load(Ordering::Relaxed) => {
            let message = format!("body: incomplete after {} s", time.as_secs_f64());
            let error = ApiError::new(StatusCode::REQUEST_TIMEOUT, "timeout", message);
            let mut response = failure(&method, &path, error);
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
            response
        }
        Err(_) => {
            let message = format!("no answer in {} s, the time limit", time.as_secs_f64());
            let error = ApiError::new(StatusCode::GATEWAY_TIMEOUT, "timeout", message);
            failure(&method, &path, error)
        }
    }
}

/// Error of a request: JSON of REST, or a page.
fn failure(method: &Method, path: &str, error: ApiError) -> Response {
    let is_api = path.starts_with("/v1/") || ["/mcp", "/openapi.json", "/suggest"].contains(&path);
    if is_api {
        error.into_response()
    } else {
        pages::failure(method, error.status, &error.message)
    }
}

/// Logs and counts a request.
async fn observe(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or_else(|| "(none)".to_owned(), |route| route.as_str().to_owned());
    let method = request.method().clone();
    let response = next.run(request).await;
    let (status, time) = (response.status().as_u16(), start.elapsed());
    app.metrics.request(&route, status, time);
    let ms = (time.as_secs_f64() * 1e6).round() / 1e3;
    match status {
        // Supervisors ask until the published documents are loaded.
        503 if route == "/ready" => tracing::info!(%method, route, status, ms, "request"),
        500.. => tracing::error!(%method, route, status, ms, "request"),
        _ => tracing::info!(%method, route, status, ms, "request"),
    }
    response
}

/// Liveness: status 200 while the process responds.
async fn health() -> &'static str {
    "ok\n"
}

/// Readiness: status 200 once the published state is loaded.
async fn ready(State(app): State<Arc<App>>) -> Response {
    match app.service.published() {
        Ok(_) => "ready\n".into_response(),
        Err(error) => {
            let body = format!("{error}\n");
            (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
        }
    }
}

/// Returns [`Metrics`](crate::metrics::Metrics) as text. Beyond the loopback it needs a key, unless
/// the configuration permits all.
async fn metrics(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let needs_key = app.access.needs_session && !app.access.public_metrics;
    if needs_key && let Err(error) = api::role_of_request(&headers, &app) {
        return error.into_response();
    }
    let mut response = app.metrics.text(&app.service).into_response();
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8"),
    );
    response
}

#[cfg(test)]
mod tests;
