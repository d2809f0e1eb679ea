//! Pages while the published papers are loaded, or cannot be.

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{StatusCode, header};
use ir_qa::Frame;
use ir_qa::questions::{QuestionError, QuestionGenerator};
use ir_serve::{AccessConfig, ServiceConfig, ServiceQuestions};

use crate::support::{Site, document, wait_until};

/// Generates nothing, and not before the lock is free.
struct Waiting(Arc<Mutex<()>>);

impl QuestionGenerator for Waiting {
    fn generate(&self, frames: &[&Frame]) -> Result<Vec<Vec<String>>, QuestionError> {
        let _free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(vec![Vec::new(); frames.len()])
    }

    fn name(&self) -> String {
        "waiting".to_owned()
    }
}

#[test]
fn pages_load_themselves_again_until_the_papers_are_loaded() {
    let lock = Arc::new(Mutex::new(()));
    let data = tempfile::tempdir().unwrap();
    let records = vec![document("a", "x", 2020)];
    drop(Site::in_folder(data.path(), records, |config| config));
    let free = lock.lock().unwrap();
    let generator = Arc::new(Waiting(Arc::clone(&lock)));
    let site = Site::open(data.path(), AccessConfig::default(), |config| {
        let file = None;
        ServiceConfig {
            questions: Some(ServiceQuestions { generator, file }),
            ..config
        }
    });
    let client = site.client();
    for url in ["/", "/?q=tea", "/document/a", "/open?frame=a%2F2%2F1"] {
        let answer = client.get(url);
        let page = answer.page(StatusCode::SERVICE_UNAVAILABLE);
        assert!(
            page.contains("<meta http-equiv=\"refresh\" content=\"2\">"),
            "{url} {page}"
        );
        assert!(page.contains("<h1>Loading</h1>"), "{url} {page}");
        assert!(page.contains("The papers are being loaded."), "{url}");
    }
    assert_eq!(
        client.get("/suggest?q=tea").status,
        StatusCode::SERVICE_UNAVAILABLE
    );
    // Pages about the store need no published papers.
    for url in ["/annotations", "/review", "/insight", "/files", "/datasets"] {
        let answer = client.get(url);
        assert!(!answer.ok().contains("http-equiv=\"refresh\""), "{url}");
    }
    drop(free);
    wait_until(|| client.get("/").status == StatusCode::OK);
    let page = client.get("/?q=black+tea");
    page.has("boiling");
    assert!(page.headers.get(header::RETRY_AFTER).is_none());
}
