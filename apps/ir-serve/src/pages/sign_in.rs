//! Sign in with a key, and out.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{AppendHeaders, Html, IntoResponse, Redirect, Response};
use maud::html;

use super::access::{SESSION_COOKIE, Sessions, cookie, cookie_value, session_cookie};
use super::error::PageError;
use super::layout::Page;
use super::parameters::{FormParameters, UrlParameters};
use crate::app::App;
use crate::urls::is_local;

/// Form for a key.
pub(super) async fn page(UrlParameters(parameters): UrlParameters) -> Html<String> {
    form(parameters.raw("next"), None)
}

/// Opens a session with a key.
pub(super) async fn sign_in(
    State(app): State<Arc<App>>,
    Extension(sessions): Extension<Arc<Sessions>>,
    FormParameters(parameters): FormParameters,
) -> Result<Response, PageError> {
    let next = parameters.raw("next");
    let key = parameters.text("key");
    let Some(role) = app.service.role(key) else {
        let message = "The server does not know this key.";
        return Ok((StatusCode::UNAUTHORIZED, form(next, Some(message))).into_response());
    };
    let token = sessions.open(role, key)?;
    let next = if is_local(next) { next } else { "/" };
    let headers = AppendHeaders([(SET_COOKIE, session_cookie(&token))]);
    Ok((headers, Redirect::to(next)).into_response())
}

/// Closes the session and removes its cookie.
pub(super) async fn sign_out(
    Extension(sessions): Extension<Arc<Sessions>>,
    headers: HeaderMap,
) -> Response {
    if let Some(token) = cookie_value(&headers, SESSION_COOKIE) {
        sessions.close(token);
    }
    let headers = AppendHeaders([(SET_COOKIE, cookie(SESSION_COOKIE, "", "Strict", 0))]);
    (headers, Redirect::to("/sign-in")).into_response()
}

fn form(next: &str, error: Option<&str>) -> Html<String> {
    let content = html! {
        h1 { "Sign in" }
        @if let Some(error) = error { p.error role="alert" { (error) } }
        form.stacked method="post" action="/sign-in" {
            input type="hidden" name="next" value=(next);
            label for="key" { "Key" }
            input #key type="password" name="key" required autocomplete="current-password";
            p.hint { "The first start of " code { "ir serve" } " prints an admin key and a query key. An admin key permits review and publication." }
            button { "Sign in" }
        }
    };
    Page::new("Sign in").html(&content)
}
