//! Answers that a language model writes from the quoted sentences.

use std::sync::Arc;

use axum::http::StatusCode;
use ir_qa::generation::{AnswerGenerator, GeneratedText, GenerationError, Quote};
use ir_serve::{AccessConfig, ServiceConfig, ServiceGenerator};

use crate::support::{Site, assert_contains, document};

/// Writes a hostile text, or fails for questions with the word "broken".
struct TestModel;

impl AnswerGenerator for TestModel {
    fn generate(
        &self,
        question: &str,
        _: &[Quote<'_>],
    ) -> Result<Option<GeneratedText>, GenerationError> {
        if question.contains("broken") {
            return Err(GenerationError {
                model: "tea-model".to_owned(),
                source: "http://10.0.0.7/v1: status 500".into(),
            });
        }
        Ok(Some(GeneratedText {
            text: "Two minutes [1].\n<script>alert(1)</script>".to_owned(),
            cited: vec![0],
        }))
    }

    fn name(&self) -> &str {
        "tea-model"
    }
}

fn site() -> Site {
    Site::with_config(
        vec![document("p", "x", 2020)],
        AccessConfig::default(),
        |config| ServiceConfig {
            generator: Some(ServiceGenerator::new(Arc::new(TestModel))),
            ..config
        },
    )
}

const BUTTON: &str = "Write an answer from these sentences";

#[test]
fn generated_answers_are_marked_and_have_their_sentences() {
    let site = site();
    let client = site.client();
    let question = "How long is green tea steeped?";
    let page = client.get("/?q=How+long+is+green+tea+steeped%3F");
    let page = page.ok();
    assert!(
        page.contains(BUTTON) && page.contains("by the language model tea-model"),
        "{page}"
    );
    assert!(page.contains(&format!(
        "<input type=\"hidden\" name=\"q\" value=\"{question}\">"
    )));
    assert!(!page.contains("Generated answer"));
    let written = client.post("/", &[("q", question), ("query", "1")]);
    let written = written.ok();
    assert_contains(written, "<h3 id=\"generated\">Generated answer</h3>");
    assert!(written.contains("Written by the language model tea-model from the sentences below."));
    assert!(
        written.contains("<p>Two minutes [1].</p><p>&lt;script&gt;alert(1)&lt;/script&gt;</p>")
    );
    assert!(written.contains("Sentences that the model got"));
    let sentence = "<li>Green tea is steeped for two minutes x. <a href=\"/document/p?frame=";
    assert_contains(written, sentence);
    assert!(written.contains("<span class=\"hint\">(cited)</span>"));
    // The quoted answers are there too.
    assert!(written.contains("<ol class=\"answers\" start=\"1\">"));
    assert!(!written.contains(BUTTON));
}

#[test]
fn a_failure_leaves_the_quoted_answers() {
    let site = site();
    let page = site.client().post("/", &[("q", "broken green tea")]);
    let page = page.ok();
    assert!(page.contains(
        "No answer was generated: the language model did not answer in time, or failed."
    ));
    assert!(page.contains("<ol class=\"answers\" start=\"1\">"));
    assert!(!page.contains("10.0.0.7"), "addresses stay in the log");
}

#[test]
fn only_forms_of_this_site_ask_the_model() {
    let site = site();
    let request = axum::http::Request::post("/")
        .header("origin", "http://evil.test")
        .header("host", "localhost:8080")
        .body(axum::body::Body::from("q=green+tea"));
    let answer = site.send(request.unwrap());
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    // Without a model there is no form, and a request for one is a search.
    let site = Site::bundled();
    let page = site.client().post("/", &[("q", "farm")]);
    assert!(!page.ok().contains("enerated answer") && !page.ok().contains(BUTTON));
}
