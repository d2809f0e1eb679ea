//! Style sheet, script and icon: embedded, and cached by browsers under a name with their hash.
//!
//! The script is written without htmx, which replaces parts of a page by fragments from the server.
//! The combobox of auto-complete with its keys and ARIA states, the selection of a span and keys
//! from answer to answer would still be needed, and the content security policy would need
//! exceptions.

use std::sync::LazyLock;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use super::error::PageError;
use super::parameters::PathParameter;
use crate::store::sha256;

/// Names, types and contents.
const FILES: [(&str, &str, &str); 3] = [
    (
        "style.css",
        "text/css; charset=utf-8",
        include_str!("../../assets/style.css"),
    ),
    (
        "pages.js",
        "text/javascript; charset=utf-8",
        include_str!("../../assets/pages.js"),
    ),
    (
        "icon.svg",
        "image/svg+xml",
        include_str!("../../assets/icon.svg"),
    ),
];

/// First digits of the SHA-256 of all files.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let all: String = FILES.iter().map(|(.., content)| *content).collect();
    let hash = sha256(all.as_bytes());
    hash[..6].iter().map(|byte| format!("{byte:02x}")).collect()
});

/// URL of a file, which changes with its content.
pub(super) fn url(name: &str) -> String {
    format!("/assets/{name}?{}", *VERSION)
}

/// Returns an embedded file by name.
pub(super) async fn file(
    PathParameter(name): PathParameter<String>,
) -> Result<Response, PageError> {
    let found = FILES.iter().find(|(other, ..)| *other == name);
    let (_, kind, content) =
        found.ok_or_else(|| PageError::not_found("This file does not exist."))?;
    let headers = [
        (CONTENT_TYPE, *kind),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((headers, *content).into_response())
}
