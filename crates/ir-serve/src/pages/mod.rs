//! Pages: server-rendered HTML over the service.
//!
//! Every page works without JavaScript; the script adds auto-complete, selection of spans with the
//! mouse and keys. All state is in URLs and forms. maud escapes everything that is written.

mod access;
mod assets;
mod error;
mod excerpt;
mod guard;
mod layout;
mod parameters;
mod search;
mod sign_in;
mod urls;

use std::sync::Arc;

use axum::middleware::from_fn_with_state;
use axum::routing::get;
use axum::{Extension, Router};

use crate::app::App;
use crate::service::Service;

/// Routes of the pages, with the checks of hosts and origins, the headers, and the sessions.
pub(crate) fn router(app: &Arc<App>) -> Router<Arc<App>> {
    Router::new()
        .route("/", get(search::page))
        .route("/suggest", get(search::suggest))
        .route("/open", get(search::open))
        .route("/sign-in", get(sign_in::page).post(sign_in::sign_in))
        .route("/sign-out", axum::routing::post(sign_in::sign_out))
        .route("/assets/{name}", get(assets::file))
        .fallback(error::not_found)
        .layer(from_fn_with_state(Arc::clone(app), guard::check))
        .layer(Extension(Arc::new(access::Sessions::default())))
}

/// The pages of a service without REST, to be mounted in another axum application.
///
/// With `needs_session`, visitors sign in with a key; without, every visitor may do everything, as
/// on a loopback address. `hosts` are the names of the server besides `localhost` and IP addresses:
/// requests for other names are rejected, which prevents DNS rebinding.
///
/// ```
/// use std::sync::Arc;
/// use ir_serve::{Service, ServiceConfig, pages};
/// let folder = tempfile::tempdir()?;
/// let service = Arc::new(Service::open(ServiceConfig::new(folder.path()))?);
/// let router: axum::Router = pages(service, true, vec!["papers.example.org".to_owned()]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pages(service: Arc<Service>, needs_session: bool, hosts: Vec<String>) -> Router {
    let app = Arc::new(App::new(service, needs_session, hosts));
    router(&app).with_state(app)
}
