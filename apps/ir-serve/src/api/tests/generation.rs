use std::sync::{Arc, Mutex};
use std::time::Duration;

use ir_qa::generation::{AnswerGenerator, GeneratedText, GenerationError, Quote};
use serde_json::{Value, json};

use super::{ANSWER, QUESTION, TestServer};
use crate::app::tests::{Gate, wait_until};
use crate::config::ServiceGenerator;

/// What the language model does next.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Text,
    Nothing,
    Error,
    Panic,
    Slow,
}

/// Language model in the process. Keeps what it gets.
#[derive(Debug)]
struct TestModel {
    mode: Mutex<Mode>,
    quotes: Mutex<Vec<String>>,
    /// Ends [`Mode::Slow`].
    gate: Gate,
}

impl AnswerGenerator for TestModel {
    fn generate(
        &self,
        question: &str,
        quotes: &[Quote<'_>],
    ) -> Result<Option<GeneratedText>, GenerationError> {
        let quotes = quotes.iter();
        let quotes = quotes.map(|quote| format!("{}|{}", quote.title, quote.answer));
        *self.quotes.lock().unwrap() = quotes.collect();
        let mode = *self.mode.lock().unwrap();
        match mode {
            Mode::Text => Ok(Some(GeneratedText {
                text: format!("{question} <b>Volunteers</b> [1]."),
                cited: vec![0],
            })),
            Mode::Nothing => Ok(None),
            Mode::Error => Err(GenerationError {
                model: self.name().to_owned(),
                source: "http://10.0.0.7/v1: status 500".into(),
            }),
            Mode::Panic => panic!("the model panics"),
            Mode::Slow => {
                self.gate.pass();
                Ok(None)
            }
        }
    }

    fn name(&self) -> &str {
        "test-model"
    }
}

impl TestModel {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            mode: Mutex::new(Mode::Text),
            quotes: Mutex::default(),
            gate: Gate::default(),
        })
    }
}

/// Server that permits one generation at a time.
fn server(model: &Arc<TestModel>, time: Duration) -> TestServer {
    let server = TestServer::with_config(|config| {
        config.limits.time = time;
        config.generator = Some(ServiceGenerator {
            generator: Arc::clone(model) as Arc<dyn AnswerGenerator>,
            sentences: 3,
            concurrency: 1,
        });
    });
    server.add_bundled_papers();
    server
}

const FAILED: &str = "the language model did not answer in time, or failed";

fn ask(server: &TestServer, limit: usize) -> Value {
    let query = json!({"query": QUESTION, "n_best": limit, "generate": true});
    server.success("/v1/search/query", &server.query, &json!({"query": query}))
}

#[test]
fn generated_answers_have_their_sentences() {
    let model = TestModel::new();
    let server = server(&model, Duration::from_secs(60));
    let body = ask(&server, 5);
    let generated = &body["generated"];
    assert_eq!(generated["model"], "test-model");
    assert_eq!(
        generated["text"],
        format!("{QUESTION} <b>Volunteers</b> [1].")
    );
    assert_eq!(generated.get("error"), None);
    let sentences = generated["sentences"].as_array().unwrap();
    assert_eq!(sentences.len(), 3);
    for (n, sentence) in sentences.iter().enumerate() {
        let result = &body["results"][n]["a"];
        let expected = json!({"id": result["id"], "value": result["value"], "cited": n == 0});
        assert_eq!(sentence, &expected);
    }
    assert_eq!(body["results"].as_array().unwrap().len(), 5);
    // The model gets the sentences of the results, with titles, and nothing else.
    let quotes = model.quotes.lock().unwrap().clone();
    assert_eq!(quotes.len(), 3);
    assert!(quotes[0].ends_with(&format!("|{ANSWER}")), "{quotes:?}");
    assert!(!quotes[0].starts_with('|'), "{quotes:?}");

    // Only on demand.
    model.quotes.lock().unwrap().clear();
    let query = json!({"query": {"query": QUESTION}});
    let (_, body) = server.post("/v1/search/query", &server.query, &query);
    assert_eq!(body.get("generated"), None);
    // Without results there is nothing to ask the model.
    assert_eq!(
        ask(&server, 0)["generated"],
        json!({"model": "test-model", "error": "the sentences do not answer the question", "sentences": []})
    );
    assert!(model.quotes.lock().unwrap().is_empty());
}

/// Asks, and checks that the answers are there in spite of an error of the generation.
#[track_caller]
fn check_failure(server: &TestServer, error: &str) {
    let body = ask(server, 4);
    assert_eq!(body["results"][0]["a"]["value"], ANSWER);
    let generated = &body["generated"];
    assert_eq!(generated["error"], error);
    assert_eq!(generated.get("text"), None);
    assert_eq!(generated["sentences"].as_array().unwrap().len(), 3);
}

/// A generation that failed or panicked returns its permit before the response is sent: the next
/// request generates, although one generation at a time is permitted.
#[test]
fn failures_leave_the_answers() {
    let model = TestModel::new();
    let server = server(&model, Duration::from_secs(60));
    for _ in 0..5 {
        for (mode, error) in [
            (Mode::Nothing, "the sentences do not answer the question"),
            (Mode::Error, FAILED),
            (Mode::Panic, FAILED),
        ] {
            *model.mode.lock().unwrap() = mode;
            check_failure(&server, error);
        }
    }
    *model.mode.lock().unwrap() = Mode::Text;
    assert!(ask(&server, 1)["generated"]["text"].is_string());
}

/// A generation beyond its time limit keeps its permit until the model returns.
#[test]
fn slow_generations_leave_the_answers() {
    let model = TestModel::new();
    let server = server(&model, Duration::from_secs(6));
    *model.mode.lock().unwrap() = Mode::Slow;
    check_failure(&server, FAILED);
    check_failure(
        &server,
        "too many answers are being generated; try again later",
    );
    *model.mode.lock().unwrap() = Mode::Text;
    model.gate.open();
    wait_until(|| ask(&server, 1)["generated"]["text"].is_string());
}

#[test]
fn servers_without_a_model_reject_the_field() {
    let server = TestServer::with_bundled_papers();
    let query = json!({"query": {"query": QUESTION, "generate": true}});
    let (status, body) = server.post("/v1/search/query", &server.query, &query);
    assert_eq!(
        (status, &body["error"]["code"]),
        (400, &json!("invalid_request"))
    );
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("--generate"), "{message}");
}
