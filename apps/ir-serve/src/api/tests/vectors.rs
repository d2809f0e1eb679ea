//! Answers that wait for their vectors.

use std::sync::Arc;

use ir_core::{EncodeError, Encoder, Side};
use serde_json::{Value, json};

use super::TestServer;
use crate::app::tests::{Gate, wait_until};
use crate::service::record_of;

/// Encoder of answers that waits for the gate, and fails for texts with "fail".
struct Gated(Arc<Gate>);

impl Encoder for Gated {
    fn dim(&self) -> usize {
        1
    }

    fn encode_into(&self, side: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        if side == Side::Document {
            self.0.pass();
        }
        let fails = texts.iter().any(|text| text.contains("fail"));
        out.fill(if fails { f32::NAN } else { 1.0 });
        Ok(())
    }
}

/// Adds a document of one sentence, and returns the state of its publication.
fn publish(server: &TestServer, sentence: &str) -> Value {
    let mut paper = ir_qa::documents::Paper::new(sentence);
    paper.push_paragraph(sentence, None);
    server.service.add(vec![record_of(&paper)]).unwrap();
    server.publish()
}

#[test]
fn rest_and_pages_tell_how_many_answers_wait_for_vectors() {
    let gate = Arc::<Gate>::default();
    let server = TestServer::with_config(|config| {
        let encoder = Arc::new(Gated(Arc::clone(&gate)));
        *config = config.clone().with_encoder("gated", encoder);
    });
    let state = publish(&server, "Tea grows in Asia.");
    gate.wait_for(1);
    let job = state["progress"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap();
    let vectors = || server.wait(job)["vectors"].clone();
    assert_eq!(state["status"], "finished");
    let expected = json!({"waiting": 1, "done": 0, "total": 1});
    assert_eq!(vectors(), expected);
    let body = json!({"query": {"query": "tea"}});
    let found = || server.success("/v1/search/query", &server.query, &body);
    let warning = "1 of 1 answers wait for their vectors and are ranked by BM25 alone";
    assert_eq!(found()["warnings"], json!([warning]));
    assert_eq!(found()["results"].as_array().unwrap().len(), 1);
    assert!(server.page("/?q=tea").contains(warning));
    let page = server.page("/review");
    assert!(page.contains("1 answer without its vector"), "{page}");
    assert!(page.contains("Encoded: 0 of 1 texts."), "{page}");
    assert!(page.contains("Stop encoding"), "{page}");
    let page = server.page(&format!("/jobs/{job}"));
    assert!(page.contains("1 answer without its vector"), "{page}");
    assert!(metrics(&server).contains("ir_answers_without_vectors 1"));
    gate.open();
    wait_until(|| server.service.waiting_for_vectors().unwrap() == 0);
    assert_eq!(found().get("warnings"), None);
    wait_until(|| vectors() == json!({"waiting": 0}));
    assert!(metrics(&server).contains("ir_answers_without_vectors 0"));
    assert!(!server.page("/review").contains("vector"));
    // An encoder that fails.
    publish(&server, "All cups of clay fail.");
    wait_until(|| vectors().get("error").is_some());
    let expected = "vector of \"All cups of clay fail.\": expected finite values";
    assert_eq!(vectors()["waiting"], 1);
    assert!(vectors()["error"].as_str().unwrap().starts_with(expected));
    let page = server.page("/review");
    assert!(
        page.contains("The next publication or start tries again."),
        "{page}"
    );
}

fn metrics(server: &TestServer) -> String {
    server.request("GET", "/metrics", None, "").1
}
