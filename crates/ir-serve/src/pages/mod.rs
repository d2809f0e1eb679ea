//! Pages: server-rendered HTML over the service.

use std::sync::Arc;

use axum::Router;

use crate::app::App;

/// Routes of the pages.
pub(crate) fn router() -> Router<Arc<App>> {
    Router::new()
}
