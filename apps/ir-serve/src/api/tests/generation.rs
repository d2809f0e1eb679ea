use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ir_qa::generation::{AnswerGenerator, GeneratedText, GenerationError, Quote};
use serde_json::{Value, json};

use super::{ANSWER, QUESTION, TestServer};
use crate::config::{AccessConfig, Limits, ServiceGenerator};

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
                thread::sleep(Duration::from_secs(5));
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
        })
    }
}

fn server(model: &Arc<TestModel>) -> TestServer {
    let limits = Limits::default().with_time(Duration::from_secs(4));
    let generator = ServiceGenerator::new(Arc::clone(model) as Arc<dyn AnswerGenerator>)
        .with_sentences(3)
        .with_concurrency(1);
    let server = TestServer::with_config(AccessConfig::default(), |config| {
        config.with_limits(limits).with_generator(generator)
    });
    server.add_bundled_papers();
    server
}

fn ask(server: &TestServer, limit: usize) -> Value {
    let query = json!({"query": QUESTION, "n_best": limit, "generate": true});
    let (status, body) = server.post("/v1/search/query", &server.query, &json!({"query": query}));
    assert_eq!(status, 200, "{body}");
    body
}

#[test]
fn generated_answers_have_their_sentences() {
    let model = TestModel::new();
    let server = server(&model);
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

#[test]
fn failures_leave_the_answers() {
    let model = TestModel::new();
    let server = server(&model);
    let failed = "the language model did not answer in time, or failed";
    for (mode, error) in [
        (Mode::Nothing, "the sentences do not answer the question"),
        (Mode::Error, failed),
        (Mode::Panic, failed),
        (Mode::Slow, failed),
    ] {
        *model.mode.lock().unwrap() = mode;
        let start = Instant::now();
        let body = ask(&server, 4);
        assert!(start.elapsed() < Duration::from_millis(4_500), "{mode:?}");
        assert_eq!(body["results"][0]["a"]["value"], ANSWER);
        let generated = &body["generated"];
        assert_eq!(generated["error"], error, "{mode:?}");
        assert_eq!(generated.get("text"), None);
        assert_eq!(generated["sentences"].as_array().unwrap().len(), 3);
    }
    // The slow request still runs, and one is permitted.
    let busy = ask(&server, 4);
    let message = "too many answers are being generated; try again later";
    assert_eq!(busy["generated"]["error"], message);
    *model.mode.lock().unwrap() = Mode::Text;
    let end = Instant::now() + Duration::from_secs(20);
    while ask(&server, 1)["generated"].get("text").is_none() {
        assert!(Instant::now() < end);
        thread::sleep(Duration::from_millis(20));
    }
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
