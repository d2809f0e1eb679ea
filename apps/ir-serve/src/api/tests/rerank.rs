use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ir_core::{Candidate, Explanation, Reranker, SearchError};
use serde_json::{Value, json};

use super::{ANSWER, QUESTION, TestServer};
use crate::config::ServiceReranker;

/// Prefers short texts. A text with "nan" has no number as its score.
#[derive(Debug, Default)]
struct Brevity {
    fails: AtomicBool,
    /// Duration of a call.
    time: Duration,
}

impl Reranker for Brevity {
    type Query = str;

    fn scores(
        &self,
        _: &str,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<Option<f32>>, SearchError> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(SearchError::ZeroVector);
        }
        thread::sleep(self.time);
        let score = |it: &Candidate<'_>| match it.text {
            "nan" => f32::NAN,
            text => -(text.len() as f32),
        };
        Ok(candidates.iter().map(|it| Some(score(it))).collect())
    }

    fn explain(
        &self,
        _: &str,
        candidates: &[Candidate<'_>],
        n: usize,
    ) -> Result<Option<Explanation>, SearchError> {
        let score = -(candidates[n].text.len() as f32);
        Ok(Some(Explanation::new(score, "brevity")))
    }

    /// Matches the first word of a text.
    fn matched_words(
        &self,
        _: &str,
        candidate: &Candidate<'_>,
    ) -> Result<Option<Vec<Range<usize>>>, SearchError> {
        let word = Some(0..first_word(candidate.text).len());
        Ok(Some(
            word.filter(|word| !word.is_empty()).into_iter().collect(),
        ))
    }
}

/// Letters and digits at the start of a text.
fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric()).next().unwrap()
}

fn server(reranker: &Arc<Brevity>, time: Duration) -> TestServer {
    let server = TestServer::with_config(|config| {
        let mut reranker = ServiceReranker::new(Arc::clone(reranker) as _);
        reranker.time = time;
        reranker.answers.depth = 4;
        config.reranker = Some(reranker);
    });
    server.add_bundled_papers();
    server
}

fn rerank(server: &TestServer, body: &Value) -> (u16, Value) {
    server.post("/v1/rerank", &server.query, body)
}

#[test]
fn texts_are_ranked() {
    let server = server(&Arc::default(), Duration::from_secs(60));
    let documents = json!(["four", {"id": "d7", "text": "a"}, {"text": "two"}, "six"]);
    let (status, body) = rerank(&server, &json!({"query": "q", "documents": documents}));
    assert_eq!(status, 200, "{body}");
    // Ties are in the order of the request.
    let expected = json!({"results": [
        {"index": 1, "id": "d7", "relevance_score": -1.0},
        {"index": 2, "relevance_score": -3.0},
        {"index": 3, "relevance_score": -3.0},
        {"index": 0, "relevance_score": -4.0},
    ]});
    assert_eq!(body, expected);
    let (_, body) = rerank(
        &server,
        &json!({"query": "", "documents": documents, "top_n": 1}),
    );
    assert_eq!(body["results"].as_array().unwrap().len(), 1, "{body}");
    let (_, body) = rerank(&server, &json!({"query": "q", "documents": []}));
    assert_eq!(body, json!({"results": []}));
    let (_, body) = rerank(
        &server,
        &json!({
            "model": "rerank-v3.5", "query": "q", "documents": documents, "top_n": 2,
            "return_documents": true,
        }),
    );
    let expected = json!({"results": [
        {"index": 1, "id": "d7", "relevance_score": -1.0, "document": {"text": "a"}},
        {"index": 2, "relevance_score": -3.0, "document": {"text": "two"}},
    ]});
    assert_eq!(body, expected);
    // A key is needed.
    assert_eq!(server.status("POST", "/v1/rerank", None), 401);
}

#[test]
fn wrong_requests_are_rejected() {
    let reranker = Arc::<Brevity>::default();
    let reranking = server(&reranker, Duration::from_secs(60));
    let many = vec!["t"; 1001];
    for (body, expected) in [
        (json!({"documents": []}), "missing field `query`"),
        (json!({"query": "q"}), "missing field `documents`"),
        (
            json!({"query": "q", "documents": [7]}),
            "expected a text, or an object with the field text",
        ),
        (
            json!({"query": "q", "documents": [], "top_k": 3}),
            "unknown field",
        ),
        (
            json!({"query": "q", "documents": many}),
            "documents: expected at most 1000, found 1001",
        ),
        (
            json!({"query": "q".repeat(10_001), "documents": []}),
            "characters of a query: expected at most 10000, found 10001",
        ),
    ] {
        let (status, found) = rerank(&reranking, &body);
        assert_eq!(status, 400, "{found}");
        let message = found["error"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
    }
    let body = json!({"query": "q", "documents": ["t", "nan"]});
    assert_eq!(rerank(&reranking, &body).0, 500);
    reranker.fails.store(true, Ordering::Relaxed);
    let body = json!({"query": "q", "documents": ["t"]});
    assert_eq!(rerank(&reranking, &body).0, 500);
    let (status, found) = rerank(&TestServer::new(), &body);
    assert_eq!(status, 400, "{found}");
    let message = found["error"]["message"].as_str().unwrap();
    assert!(message.contains("ir serve --rerank MODEL"), "{message}");
}

/// Answers and their scores.
fn ask(server: &TestServer, n_best: usize) -> Value {
    let query = json!({"query": QUESTION, "n_best": n_best, "explain": true});
    server.success("/v1/search/query", &server.query, &json!({"query": query}))
}

fn values(body: &Value) -> Vec<&str> {
    let results = body["results"].as_array().unwrap().iter();
    let values = results.map(|result| result["a"]["value"].as_str().unwrap());
    values.collect()
}

#[test]
fn the_first_answers_are_ranked() {
    let plain = TestServer::with_bundled_papers();
    let before = ask(&plain, 4);
    let mut expected = values(&before);
    expected.sort_by_key(|text| text.len());
    let server = server(&Arc::default(), Duration::from_secs(60));
    let after = ask(&server, 4);
    assert_eq!(values(&after), expected);
    assert_eq!(values(&ask(&server, 2)), expected[..2]);
    for result in after["results"].as_array().unwrap() {
        let length = result["a"]["value"].as_str().unwrap().len();
        assert_eq!(result["score"], json!(-(length as f32)));
        let tree = &result["explanation"];
        assert_eq!(tree["what"], "score of the reranker");
        assert_eq!(tree["value"], result["score"]);
        assert_eq!(tree["parts"][0]["what"], "brevity");
    }
    assert_eq!(after["warnings"], Value::Null);
}

/// The answers after the candidates keep the order of the search, so that pages agree.
#[test]
fn pages_are_of_one_ranking() {
    let before = ask(&TestServer::with_bundled_papers(), 30);
    let server = server(&Arc::default(), Duration::from_secs(60));
    let all = ask(&server, 30);
    let mut expected = values(&before);
    assert!(expected.len() > 8, "{expected:?}");
    expected[..4].sort_by_key(|text| text.len());
    assert_eq!(values(&all), expected);
    for n_best in [1, 3, 4, 5, 8] {
        let body = ask(&server, n_best);
        assert_eq!(values(&body), expected[..n_best], "{n_best}");
        assert_eq!(body["results"][0], all["results"][0], "{n_best}");
    }
    // Counts of 1,000 answers do not change the order.
    let body = json!({
        "query": {"query": QUESTION, "n_best": 8},
        "aggs": {"years": {"field": "year"}},
    });
    let counted = server.success("/v1/search/query", &server.query, &body);
    assert_eq!(values(&counted), expected[..8]);
    let mut ranks = Vec::new();
    for (n, result) in all["results"].as_array().unwrap().iter().enumerate() {
        let tree = &result["explanation"];
        let of = |value: &Value| value.as_f64().unwrap();
        let difference = of(&tree["value"]) - of(&result["score"]);
        assert!(difference.abs() < 1e-5, "{result}");
        let what = tree["what"].as_str().unwrap();
        if n < 4 {
            assert_eq!(what, "score of the reranker");
            let candidate = tree["parts"][1]["what"].as_str().unwrap();
            assert!(candidate.contains(" of 4 by the first"), "{candidate}");
            ranks.push(candidate.split(' ').nth(6).unwrap().to_owned());
        } else {
            assert_eq!(result["score"], before["results"][n]["score"]);
            assert_eq!(
                what,
                "score of the first retriever: after its 4 candidates for the reranker"
            );
        }
    }
    ranks.sort_unstable();
    assert_eq!(ranks, ["1", "2", "3", "4"]);
}

/// The search page marks the words of a reranker in the answers that it ranks.
#[test]
fn matched_words_are_marked_on_the_page() {
    let url = format!("/?q={}", QUESTION.replace(' ', "+"));
    let server = server(&Arc::default(), Duration::from_secs(60));
    let body = ask(&server, 4);
    let marks = values(&body)
        .into_iter()
        .map(|answer| format!("<mark><b>{}</b>", first_word(answer)));
    let marks: Vec<String> = marks.collect();
    let page = server.page(&url);
    for mark in &marks {
        assert!(page.contains(mark), "{mark}: {page}");
    }
    let plain = TestServer::with_bundled_papers().page(&url);
    assert!(!marks.iter().all(|mark| plain.contains(mark)), "{plain}");
}

/// The model explains no score after the time limit.
#[test]
fn explanations_are_within_the_time_limit() {
    for (time, expected) in [(0, "brevity"), (1100, "score (without details)")] {
        let reranker = Brevity {
            time: Duration::from_millis(time),
            ..Brevity::default()
        };
        let server = server(&Arc::new(reranker), Duration::from_secs(1));
        let body = ask(&server, 4);
        for result in body["results"].as_array().unwrap() {
            let tree = &result["explanation"];
            assert_eq!(tree["value"], result["score"], "{tree}");
            assert_eq!(tree["parts"][0]["what"], expected, "{tree}");
        }
        assert_eq!(body["warnings"], Value::Null);
    }
}

#[test]
fn an_exceeded_time_limit_is_a_warning() {
    let plain = TestServer::with_bundled_papers();
    let server = server(&Arc::default(), Duration::ZERO);
    let (before, after) = (ask(&plain, 3), ask(&server, 3));
    assert_eq!(values(&after), values(&before));
    assert_eq!(values(&after)[0], ANSWER);
    assert_eq!(after["results"], before["results"]);
    let warning = after["warnings"][0].as_str().unwrap();
    assert!(
        warning.starts_with("reranking exceeded its time limit, 0ns: "),
        "{warning}"
    );
    let page = server.page("/?q=questions+about+farming+leaflets");
    assert!(page.contains(&format!("Warning: {warning}.")), "{page}");
}

/// The metrics have the texts that the model cut, and the questions and requests of REST and pages
/// beyond the time limit.
#[test]
fn metrics_count_long_texts_and_timeouts() {
    let reranker = Arc::new(Brevity {
        time: Duration::from_millis(30),
        ..Brevity::default()
    });
    let server = TestServer::with_config(|config| {
        let mut reranker = ServiceReranker::new(Arc::clone(&reranker) as _);
        reranker.time = Duration::ZERO;
        reranker.long_texts = Arc::new(|| 7);
        config.reranker = Some(reranker);
    });
    server.add_bundled_papers();
    let metric = |name: &str| {
        let (_, text) = server.request("GET", "/metrics", None, "");
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(metric("ir_long_reranked_texts_total"), 7);
    assert_eq!(metric("ir_reranking_timeouts_total"), 0);
    ask(&server, 3);
    ask(&server, 2);
    assert_eq!(metric("ir_reranking_timeouts_total"), 2);
    server.page("/?q=questions+about+farming+leaflets");
    assert_eq!(metric("ir_reranking_timeouts_total"), 3);
    // Texts of a request have the time limit of the request.
    rerank(&server, &json!({"query": "q", "documents": ["a"]}));
    assert_eq!(metric("ir_reranking_timeouts_total"), 3);
}

/// Scores of this reranker are negative, and a paper has more sentences than there are candidates.
#[test]
fn answers_that_a_paper_marks_are_those_of_the_search() {
    let marks = |server: &TestServer| {
        let page = server.page("/document/harvestqa.xml?q=questions+about+farming+leaflets");
        page.matches(" id=\"answer-").count()
    };
    let expected = marks(&TestServer::with_bundled_papers());
    assert!(expected > 2, "{expected}");
    assert_eq!(
        marks(&server(&Arc::default(), Duration::from_secs(60))),
        expected
    );
}
