//! Files of papers, as they are in the folder of papers.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use ir_qa::documents::DocumentReader;

use super::access::Visitor;
use super::error::PageError;
use super::parameters::UrlParameters;
use crate::app::App;
use crate::error::ServiceError;
use crate::published::PublishedDocument;
use crate::urls::url;

/// URL of the file of a paper, with the page of a PDF. `None` if it is in no folder of papers.
pub(super) fn original_url(paper: &PublishedDocument, page: Option<u32>) -> Option<String> {
    if !paper.is_in_folder {
        return None;
    }
    let mut target = url("/original", &[("doc", &paper.id)]);
    if let Some(page) = page.filter(|_| is_pdf(&paper.id)) {
        target += &format!("#page={page}");
    }
    Some(target)
}

/// Sends the file of the paper that the parameter `doc` names. Browsers display PDF and save files
/// of other formats, which may have scripts.
pub(super) async fn original(
    State(app): State<Arc<App>>,
    _: Visitor,
    UrlParameters(parameters): UrlParameters,
) -> Result<Response, PageError> {
    let id = parameters.raw("doc").to_owned();
    let file = app.run(move |service| {
        let path = service.file_of(&id)?;
        // A file that was deleted, or has grown, since the last publication.
        let size = std::fs::metadata(&path).map_or(u64::MAX, |file| file.len());
        if size > DocumentReader::MAX_BYTES {
            return Err(ServiceError::NoFile { id });
        }
        let bytes = std::fs::read(&path).map_err(|_| ServiceError::NoFile { id })?;
        Ok((path, bytes))
    });
    let (path, bytes) = file.await?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (kind, disposition) = if is_pdf(&name) {
        ("application/pdf", "inline")
    } else {
        ("application/octet-stream", "attachment")
    };
    // RFC 8187: names with any characters.
    let name: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
    let name = name.replace('+', "%20").replace('*', "%2A");
    let headers = [
        (CONTENT_TYPE, kind.to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("{disposition}; filename*=UTF-8''{name}"),
        ),
    ];
    Ok((headers, bytes).into_response())
}

fn is_pdf(name: &str) -> bool {
    let extension = name.rsplit('.').next().unwrap_or_default();
    extension.eq_ignore_ascii_case("pdf")
}
