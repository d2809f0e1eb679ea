//! Errors of the service as pages.

use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;

use super::error::{PageError, PageErrorKind};
use super::guard;
use super::layout::Page;

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let (status, message, is_loading) = match *self.0 {
            PageErrorKind::Redirect(url) => return Redirect::to(&url).into_response(),
            PageErrorKind::Message {
                status,
                message,
                is_loading,
            } => (status, message, is_loading),
        };
        let title = match status {
            StatusCode::NOT_FOUND => "Not found",
            StatusCode::FORBIDDEN => "Not permitted",
            StatusCode::UNAUTHORIZED => "Not signed in",
            StatusCode::SERVICE_UNAVAILABLE if is_loading => "Loading",
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => "Invalid request",
            _ => "Error",
        };
        let mut page = Page::new(title);
        if is_loading {
            page = page.refresh(2);
        }
        let body = html! {
            h1 { (title) }
            p role="status" { (message) }
            p { a href="/" { "Search" } }
        };
        let mut response = (status, page.html(&body)).into_response();
        if status == StatusCode::TOO_MANY_REQUESTS {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Page of a request that did not reach a page, or did not end in time.
pub(crate) fn failure(method: &Method, status: StatusCode, message: &str) -> Response {
    let mut response = PageError::failed(method, status, message).into_response();
    guard::set_headers(response.headers_mut());
    response
}
