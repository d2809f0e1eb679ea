//! Pages: server-rendered HTML over the service.
//!
//! Every page works without JavaScript; the script adds auto-complete, selection of spans with the
//! mouse and keys. All state is in URLs and forms. maud escapes everything that is written.

mod access;
mod annotations;
mod assets;
mod datasets;
mod document;
mod error;
mod error_page;
mod excerpt;
mod export;
mod files;
mod generated;
mod guard;
mod insight;
mod layout;
mod open;
mod original;
mod papers;
mod parameters;
mod review;
mod search;
mod sign_in;
mod table;
mod upload;

use std::sync::Arc;

pub(crate) use error_page::failure;

use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use axum::{Extension, Router};

use crate::app::App;
use crate::config::AccessConfig;
use crate::service::Service;

/// Maximum number of bytes of a form. The body of a sign-in is read before a key is known.
const FORM_BYTES: usize = 256 << 10;

/// Maximum number of bytes of a form with the abstract of a paper.
const ABSTRACT_BYTES: usize = 512 << 10;

/// Routes of the pages, with the checks of hosts and origins, the headers, and the sessions.
pub(crate) fn router(app: &Arc<App>) -> Router<Arc<App>> {
    let limit = |bytes: usize| DefaultBodyLimit::max(bytes.min(app.service.limits().body_bytes));
    Router::new()
        .route("/", get(search::page).post(search::generate))
        .route("/suggest", get(search::suggest))
        .route("/open", get(open::open))
        .route("/original", get(original::original))
        .route("/sign-in", get(sign_in::page).post(sign_in::sign_in))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/document", get(document::by_parameter))
        .route("/document/{*id}", get(document::by_path))
        .route("/annotate", get(annotations::create_page))
        .route(
            "/annotations",
            get(annotations::list).post(annotations::create),
        )
        .route(
            "/annotations/{id}",
            get(annotations::edit_page).post(annotations::edit),
        )
        .route("/annotations/{id}/delete", post(annotations::delete))
        .route("/annotations/export/{name}", get(export::export))
        .route("/datasets", get(datasets::list))
        .route(
            "/datasets/annotate",
            get(datasets::create_page)
                .post(datasets::create)
                .layer(limit(ABSTRACT_BYTES)),
        )
        .route(
            "/datasets/{id}",
            get(datasets::edit_page)
                .post(datasets::edit)
                .layer(limit(ABSTRACT_BYTES)),
        )
        .route("/datasets/{id}/delete", post(datasets::delete))
        .route("/datasets/export/queries.jsonl", get(datasets::export))
        .route("/insight", get(insight::page))
        .route("/insight/export/{name}", get(insight::export))
        .route("/papers", get(papers::page))
        .route("/papers/tags", post(papers::tag))
        .route("/papers/export/{name}", get(papers::export))
        .route(
            "/papers/add",
            post(upload::add).layer(limit(app.service.limits().body_bytes)),
        )
        .route("/table", get(table::page))
        .route("/table/answers.csv", get(table::csv))
        .route("/cite/{name}", get(papers::cite))
        .route("/files", get(files::page).post(files::rescan))
        .route("/review", get(review::page))
        .route("/review/{id}", post(review::review))
        .route("/publish", post(review::publish))
        .route("/abort", post(review::abort))
        .route("/jobs/{id}", get(review::job))
        .route("/assets/{name}", get(assets::file))
        .fallback(error::not_found)
        .layer(limit(FORM_BYTES))
        .layer(from_fn_with_state(Arc::clone(app), guard::check))
        .layer(Extension(Arc::new(access::Sessions::default())))
}

/// The pages of a service without REST, to be mounted in another axum application.
///
/// With [`AccessConfig::needs_session`], visitors sign in with a key; without, every visitor may do
/// everything, as on a loopback address.
///
/// ```
/// use std::sync::Arc;
/// use ir_serve::{AccessConfig, Service, ServiceConfig, pages};
/// let folder = tempfile::tempdir()?;
/// let service = Arc::new(Service::open(ServiceConfig::new(folder.path()))?);
/// let access = AccessConfig {
///     needs_session: true,
///     hosts: vec!["papers.example.org".to_owned()],
///     ..AccessConfig::default()
/// };
/// let router: axum::Router = pages(service, access);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pages(service: Arc<Service>, access: AccessConfig) -> Router {
    let app = Arc::new(App::new(service, access));
    router(&app).with_state(app)
}
