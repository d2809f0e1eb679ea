//! Query writer of a language model, beside a server on the loopback interface.

use std::collections::VecDeque;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ir_core::NoProgress;
use ir_data::s2orc::{Paper, PaperKeys};
use ir_fetch::chat::{EndpointConfig, EndpointError, KeyHeader};
use ir_studies::papers::{
    AnswerError, AnswerFile, EndpointWriter, QueryPrompt, QueryWriter, QueryWriterError,
};
use serde_json::{Value, json};

const ANSWER: &str = " Parsing\nModality: Text\nDomain: N/A\nTraining Style: Supervised\nText Length: \
                      Sentence-level\nLanguage Required: English\nSingle-Sentence Summary: A parser.";

/// Response of the server to one request.
enum Reply {
    /// Status, further header lines and body.
    Http(u16, &'static str, String),
    /// The connection is closed at once.
    Silence,
    /// No response for this time.
    Delay(Duration),
}

fn status(status: u16) -> Reply {
    Reply::Http(status, "", r#"{"error": {"message": "busy"}}"#.to_owned())
}

fn says(content: &str) -> Reply {
    let choices = json!([{"index": 0, "message": {"role": "assistant", "content": content}}]);
    Reply::Http(200, "", json!({"choices": choices}).to_string())
}

#[derive(Debug, Clone)]
struct Request {
    head: String,
    body: Value,
}

struct Server {
    url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers the requests in order; the last reply is an error if there are more.
    fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let reply = replies.pop_front().unwrap_or_else(|| status(404));
                answer(stream.unwrap(), reply, &seen);
            }
        });
        Self { url, requests }
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    fn config(&self) -> EndpointConfig {
        EndpointConfig {
            backoff: Duration::from_millis(1),
            attempts: 3,
            ..EndpointConfig::new(&self.url, "tiny-model")
        }
    }

    fn writer(&self) -> EndpointWriter {
        EndpointWriter::new(self.config(), None).unwrap()
    }

    /// Error of writing the query of a paper.
    fn error(&self) -> QueryWriterError {
        error(&mut self.writer())
    }
}

fn error(writer: &mut EndpointWriter) -> QueryWriterError {
    writer.write(&we_parse()).unwrap_err()
}

fn answer(mut stream: TcpStream, reply: Reply, requests: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or_default() == 0 || line == "\r\n" {
            break;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = serde_json::from_slice(&body).unwrap();
    requests.lock().unwrap().push(Request { head, body });
    match reply {
        Reply::Silence => {}
        Reply::Delay(time) => std::thread::sleep(time),
        Reply::Http(status, headers, body) => {
            let length = body.len();
            let text = format!(
                "HTTP/1.1 {status} Whatever\r\nContent-Length: {length}\r\n{headers}\
                 Connection: close\r\n\r\n{body}"
            );
            let _ = stream.write_all(text.as_bytes());
        }
    }
}

fn paper(id: &str, text: &str) -> Paper {
    Paper {
        id: id.to_owned(),
        keys: PaperKeys::default(),
        abstract_text: text.to_owned(),
        ..Paper::default()
    }
}

fn we_parse() -> Paper {
    paper("p1", "We parse.")
}

/// Message with all sources.
fn message(error: &QueryWriterError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text += &format!(": {error}");
        source = error.source();
    }
    text
}

#[test]
fn request_and_answer() {
    let server = Server::new([says(ANSWER), says(ANSWER)]);
    let config = EndpointConfig {
        top_p: Some(0.8),
        seed: Some(3),
        ..server.config()
    };
    // Set by cargo.
    let mut writer = EndpointWriter::from_env(config, "CARGO_PKG_NAME").unwrap();
    let answer = writer.write(&we_parse()).unwrap();
    assert_eq!(answer.task, "Parsing");
    assert_eq!(answer.summary, "A parser.");
    let request = server.requests().remove(0);
    let head = request.head;
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"));
    let head = head.to_ascii_lowercase();
    for part in [
        "authorization: bearer ir-studies",
        "content-type: application/json",
    ] {
        assert!(head.contains(&format!("{part}\r\n")), "{head}");
    }
    let prompt = QueryPrompt::default().render("We parse.");
    let expected = json!({
        "model": "tiny-model", "max_tokens": 250, "temperature": 0.0, "top_p": 0.8, "seed": 3,
        "messages": [{"role": "user", "content": prompt}],
    });
    assert_eq!(request.body, expected);
    // The key is a secret.
    assert!(!format!("{writer:?}").contains("\"ir-studies\""));

    let config = EndpointConfig::new(format!("{}/chat/completions", server.url), "m");
    let mut writer = EndpointWriter::new(config, None).unwrap();
    writer.write(&we_parse()).unwrap();
    let head = server.requests().remove(1).head.to_ascii_lowercase();
    assert!(head.starts_with("post /v1/chat/completions "), "{head}");
    assert!(!head.contains("authorization"));
}

/// The key in the header `api-key`: of a deployment's URL, without a bearer token, and to no other
/// host.
#[test]
fn key_in_the_header_api_key() {
    let elsewhere = Server::new([says(ANSWER)]);
    let location = format!("Location: {}/chat/completions\r\n", elsewhere.url);
    let moved = |status| Reply::Http(status, location.clone().leak(), "secret-key".to_owned());
    let server = Server::new([
        says(ANSWER),
        status(401),
        moved(302),
        moved(307),
        moved(308),
    ]);
    let config = EndpointConfig {
        key_header: "API-Key".parse().unwrap(),
        ..server.config()
    };
    assert_eq!(config.key_header, KeyHeader::ApiKey);
    let url = format!("{}?api-version=2024-10-21", server.url);
    let config = EndpointConfig { url, ..config };
    let mut writer = EndpointWriter::new(config, Some("secret-key")).unwrap();
    assert_eq!(writer.write(&we_parse()).unwrap().task, "Parsing");
    let head = server.requests().remove(0).head.to_ascii_lowercase();
    let first = "post /v1/chat/completions?api-version=2024-10-21 http/1.1\r\n";
    assert!(head.starts_with(first), "{head}");
    assert!(head.contains("\r\napi-key: secret-key\r\n"), "{head}");
    assert!(!head.contains("authorization"), "{head}");
    for found in [401, 302, 307, 308] {
        let error = message(&error(&mut writer));
        assert!(error.contains(&found.to_string()), "{found}: {error}");
        assert!(!error.contains("secret-key"), "{error}");
    }
    assert!(elsewhere.requests().is_empty());
    assert!(!format!("{writer:?}").contains("secret-key"));
    let error = "x-api-key".parse::<KeyHeader>().unwrap_err();
    let expected = "header of the key: expected authorization or api-key, found \"x-api-key\"";
    assert_eq!(error.to_string(), expected);
}

/// The query string stays behind the path.
#[test]
fn urls_with_a_query_string() {
    let urls = [
        ("?api-version=1", "?api-version=1"),
        ("/?api-version=1&b=/c/", "?api-version=1&b=/c/"),
        ("/chat/completions?api-version=1", "?api-version=1"),
        (
            "/chat/completions/?a=/chat/completions",
            "?a=/chat/completions",
        ),
        ("/chat/completions#part", ""),
        ("//", ""),
    ];
    let server = Server::new(urls.map(|_| says(ANSWER)));
    for (n, (suffix, query)) in urls.into_iter().enumerate() {
        let config = EndpointConfig::new(format!("{}{suffix}", server.url), "m");
        let mut writer = EndpointWriter::new(config, None).unwrap();
        writer.write(&we_parse()).unwrap();
        let head = server.requests().remove(n).head;
        let expected = format!("POST /v1/chat/completions{query} HTTP/1.1\r\n");
        assert!(head.starts_with(&expected), "{suffix}: {head}");
    }
}

#[test]
fn transient_statuses_are_retried() {
    for first in [429, 500, 503, 408] {
        let server = Server::new([status(first), Reply::Silence, says(ANSWER)]);
        server.writer().write(&we_parse()).unwrap();
        assert_eq!(server.requests().len(), 3, "{first}");
    }
    let server = Server::new([status(429), status(500), status(503), says(ANSWER)]);
    let error = server.error();
    let text = message(&error);
    assert!(text.starts_with("paper \"p1\": http://127.0.0.1"), "{text}");
    for part in ["found HTTP status 503 after 3 attempts", "busy"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!error.is_of_paper());
    // Other statuses are final.
    for first in [400, 401, 404, 413, 422] {
        let server = Server::new([status(first), says(ANSWER)]);
        let error = server.error();
        assert!(message(&error).contains("after 1 attempt:"), "{error}");
        assert_eq!(server.requests().len(), 1);
        // The request was read, and others may be accepted.
        assert_eq!(error.is_of_paper(), matches!(first, 400 | 413 | 422));
    }
}

/// Servers repeat invalid keys in their messages.
#[test]
fn the_key_is_not_in_errors() {
    let reply = Reply::Http(401, "", "invalid key sk-secret-1".to_owned());
    let server = Server::new([reply]);
    let mut writer = EndpointWriter::new(server.config(), Some("sk-secret-1")).unwrap();
    let error = error(&mut writer);
    let text = message(&error);
    assert!(text.contains("\"invalid key …\""), "{text}");
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}

/// A redirect that would drop the body is final.
#[test]
fn redirects() {
    let reply = Reply::Http(307, "Location: /elsewhere\r\n", String::new());
    let server = Server::new([reply, says(ANSWER)]);
    let text = message(&server.error());
    assert!(text.contains("after 1 attempt"), "{text}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn retry_after() {
    let limited = |value| Reply::Http(429, value, String::new());
    let server = Server::new([limited("Retry-After: 1\r\n"), says(ANSWER)]);
    let begun = Instant::now();
    server.writer().write(&we_parse()).unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1));
    // A date in the past: at once.
    let past = "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    let server = Server::new([limited(past), says(ANSWER)]);
    let config = EndpointConfig {
        backoff: Duration::from_secs(60),
        ..server.config()
    };
    let mut writer = EndpointWriter::new(config, None).unwrap();
    let begun = Instant::now();
    writer.write(&we_parse()).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20));
    let server = Server::new([limited("Retry-After: 3600\r\n"), says(ANSWER)]);
    let text = message(&server.error());
    assert!(text.contains("found 3600 s in Retry-After"), "{text}");
}

#[test]
fn no_response() {
    let server = Server::new([Reply::Silence, Reply::Silence, Reply::Silence]);
    let text = message(&server.error());
    assert!(text.contains("no response after 3 attempts"), "{text}");
    // A slow server: the time limit of an attempt.
    let slow = || Reply::Delay(Duration::from_secs(2));
    let server = Server::new([slow(), says(ANSWER)]);
    let config = EndpointConfig {
        timeout: Duration::from_millis(200),
        attempts: 1,
        ..server.config()
    };
    let begun = Instant::now();
    let mut writer = EndpointWriter::new(config, None).unwrap();
    let text = message(&error(&mut writer));
    assert!(text.contains("no response after 1 attempt: "), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(2));
    // Nothing listens.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap();
    drop(listener);
    let config = EndpointConfig {
        attempts: 1,
        ..EndpointConfig::new(format!("http://{port}"), "m")
    };
    let mut writer = EndpointWriter::new(config, None).unwrap();
    let text = message(&error(&mut writer));
    assert!(text.contains("no response"), "{text}");
}

#[test]
fn garbage() {
    let http = |body: &str| Reply::Http(200, "", body.to_owned());
    for body in [
        "<html>login</html>",
        "",
        "{}",
        "{\"choices\": 3}",
        "\u{0}\u{1}",
    ] {
        let server = Server::new([http(body)]);
        let error = server.error();
        let text = message(&error);
        assert!(text.contains("expected a chat completion, found"), "{text}");
        assert!(!error.is_of_paper());
    }
    for body in [
        r#"{"choices": []}"#,
        r#"{"choices": [{"message": {"content": null}}]}"#,
        r#"{"choices": [{"message": {}}]}"#,
        r#"{"choices": [{"message": {"content": " \n"}}]}"#,
    ] {
        let server = Server::new([http(body)]);
        let error = server.error();
        let is_empty = matches!(
            &error,
            QueryWriterError::Answer { paper, source: AnswerError::Empty } if paper == "p1"
        );
        assert!(is_empty, "{body}: {error}");
    }
    let server = Server::new([says("As a language model, I cannot.")]);
    let error = server.error();
    assert!(error.is_of_paper());
    let text = error.to_string();
    assert!(text.contains("found \"Task:As a language model"), "{text}");
    let error = server.writer().write(&paper("p1", " ")).unwrap_err();
    assert!(matches!(error, QueryWriterError::NoAbstract { .. }));
    assert_eq!(server.requests().len(), 1);
}

/// A job of four papers that fails at the third one: answers are not asked for again.
#[test]
fn resumed_job() {
    let replies = || [says(ANSWER), says("nothing"), status(401)];
    let later = [says(ANSWER), says(ANSWER), says(ANSWER)];
    let server = Server::new(replies().into_iter().chain(later));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answers.jsonl");
    let papers = ["a", "b", "c", "d"].map(|id| paper(id, &format!("Abstract {id}.")));
    let papers: Vec<&Paper> = papers.iter().collect();
    let mut file = AnswerFile::open(&path).unwrap();
    let error = file.write_queries(&papers, &mut server.writer(), &mut NoProgress);
    assert!(matches!(error, Err(QueryWriterError::Writer { paper, .. }) if paper == "c"));
    drop(file);
    let mut file = AnswerFile::open(&path).unwrap();
    let queries = file
        .write_queries(&papers, &mut server.writer(), &mut NoProgress)
        .unwrap();
    assert_eq!(queries.written, 3);
    assert!(queries.answers.iter().all(Option::is_some));
    let queries = file
        .write_queries(&papers, &mut server.writer(), &mut NoProgress)
        .unwrap();
    assert_eq!(queries.written, 0);
    let asked = server.requests();
    let asked = asked.iter().map(|request| {
        let prompt = request.body["messages"][0]["content"].as_str();
        let (_, end) = prompt.unwrap().rsplit_once("Abstract: Abstract ").unwrap();
        end.chars().next().unwrap()
    });
    assert_eq!(asked.collect::<String>(), "abcbcd");
    // Another model or prompt is another writer, another address is not.
    let name = |config| EndpointWriter::new(config, None).unwrap().name();
    let config = EndpointConfig::new("http://a/v1", "m");
    let moved = EndpointConfig::new("https://b/v1/", "m");
    assert_eq!(name(config.clone()), name(moved));
    assert_ne!(
        name(config.clone()),
        name(EndpointConfig::new("http://a/v1", "n"))
    );
    let mut prompt = QueryPrompt::default();
    prompt.examples.pop();
    let other = EndpointWriter::new(config.clone(), None).unwrap();
    assert_ne!(name(config), other.with_prompt(prompt).name());
}

#[test]
fn invalid_configurations() {
    let error = |config: EndpointConfig, key| EndpointWriter::new(config, key).unwrap_err();
    let good = EndpointConfig::new("http://127.0.0.1:1", "m");
    let url = error(EndpointConfig::new("ftp://x", "m"), None);
    assert!(url.to_string().contains("found \"ftp://x\""));
    for url in ["http://", "https://?api-version=1", "localhost:8080/v1", ""] {
        let found = error(EndpointConfig::new(url, "m"), None);
        assert_eq!(found, EndpointError::Url { url: url.into() });
    }
    let no_model = EndpointConfig::new("http://x", " ");
    assert_eq!(error(no_model, None), EndpointError::Model);
    for (temperature, top_p) in [(-1.0, None), (f64::NAN, None), (0.0, Some(1.5))] {
        let config = EndpointConfig {
            temperature,
            top_p,
            ..good.clone()
        };
        let error = error(config, None);
        assert!(matches!(error, EndpointError::Parameter { .. }));
    }
    assert_eq!(error(good.clone(), Some("a\nb")), EndpointError::InvalidKey);
    let missing = EndpointWriter::from_env(good, "IR_NO_SUCH_VARIABLE").unwrap_err();
    let expected = "environment variable IR_NO_SUCH_VARIABLE";
    assert!(missing.to_string().contains(expected));
}
