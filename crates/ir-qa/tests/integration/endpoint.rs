//! Question generator of a language model, beside a server on the loopback interface.

use std::error::Error as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ir_core::NoProgress;
use ir_fetch::chat::EndpointConfig;
use ir_qa::generation::{AnswerGenerator, AnswerPrompt, EndpointAnswers, Quote};
use ir_qa::questions::{
    EndpointQuestions, QuestionError, QuestionFile, QuestionGenerator, QuestionPrompt,
    add_questions,
};
use ir_qa::{ChunkKind, Frame};
use serde_json::{Value, json};

/// Server that answers the requests in order, with a status and a body, and keeps their bodies.
struct Server {
    url: String,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Server {
    fn new(replies: Vec<(u16, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for (status, body) in replies {
                let (mut stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    let line = line.trim().to_ascii_lowercase();
                    if let Some(value) = line.strip_prefix("content-length: ") {
                        length = value.parse().unwrap();
                    }
                    if line.is_empty() {
                        break;
                    }
                }
                let mut request = vec![0; length];
                reader.read_exact(&mut request).unwrap();
                seen.lock()
                    .unwrap()
                    .push(serde_json::from_slice(&request).unwrap());
                let length = body.len();
                let head = format!("HTTP/1.1 {status} Status\r\nContent-Length: {length}\r\n");
                let text = format!("{head}Connection: close\r\n\r\n{body}");
                stream.write_all(text.as_bytes()).unwrap();
            }
        });
        Self { url, requests }
    }

    fn generator(&self) -> EndpointQuestions {
        let config = EndpointConfig {
            backoff: Duration::from_millis(1),
            attempts: 3,
            ..EndpointConfig::new(&self.url, "tiny-model")
        };
        EndpointQuestions::new(config, None).unwrap()
    }

    fn requests(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

fn says(content: &str) -> (u16, String) {
    let choices = json!([{"message": {"role": "assistant", "content": content}}]);
    (200, json!({"choices": choices}).to_string())
}

fn status(status: u16) -> (u16, String) {
    (status, "busy".to_owned())
}

fn frames(texts: &[&str]) -> Vec<Frame> {
    let frame = |(n, text): (usize, &&str)| {
        Frame::new(format!("f{n}"), "p", ChunkKind::Content, *text, 0, *text).unwrap()
    };
    texts.iter().enumerate().map(frame).collect()
}

#[test]
fn request_and_questions() {
    let server = Server::new(vec![says(
        "1. What is tea?\n2) \"Who drinks tea?\"\nSure!\n",
    )]);
    let mut frames = frames(&["Tea is a drink.", "Tea"]);
    frames[1].kind = ChunkKind::Title;
    let added = add_questions(&mut frames, &server.generator(), &mut NoProgress).unwrap();
    assert_eq!(added.questions, 2);
    let texts: Vec<&str> = frames[0]
        .questions
        .iter()
        .map(|it| it.text.as_str())
        .collect();
    assert_eq!(texts, ["What is tea?", "Who drinks tea?"]);
    assert!(
        frames[0]
            .questions
            .iter()
            .all(|question| question.generated && !question.displayable)
    );
    assert!(frames[1].questions.is_empty(), "a title has no questions");
    let request = server.requests.lock().unwrap().remove(0);
    let prompt = QuestionPrompt::default().render("Tea is a drink.", "Tea is a drink.");
    assert!(prompt.contains("at most 3 questions"));
    assert_eq!(request["model"], "tiny-model");
    assert_eq!(
        request["messages"],
        json!([{"role": "user", "content": prompt}])
    );
}

#[test]
fn interrupted_jobs_resume_and_busy_servers_are_asked_again() {
    let replies = vec![
        says("What?"),
        status(429),
        status(503),
        says("NONE"),
        status(401),
        says("Who?"),
    ];
    let server = Server::new(replies);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("questions.jsonl");
    let mut all = frames(&["One.", "Two.", "Three."]);
    let mut file = QuestionFile::open(&path).unwrap();
    let error = file
        .add_questions(&mut all, &server.generator(), &mut NoProgress)
        .unwrap_err();
    assert!(matches!(&error, QuestionError::Generator { frame, .. } if frame == "f2"));
    let cause = error.source().unwrap().to_string();
    assert!(cause.contains("401"), "{cause}");
    drop(file);
    let mut all = frames(&["One.", "Two.", "Three."]);
    let mut file = QuestionFile::open(&path).unwrap();
    let added = file
        .add_questions(&mut all, &server.generator(), &mut NoProgress)
        .unwrap();
    assert_eq!((added.questions, added.generated), (2, 1));
    assert_eq!(all[0].questions[0].text, "What?");
    assert_eq!(all[2].questions[0].text, "Who?");
    assert_eq!(server.requests(), 6);
}

#[test]
fn rejected_frames_are_left_out() {
    let server = Server::new(vec![status(413), says("What?")]);
    let mut all = frames(&["Long.", "Short."]);
    let added = add_questions(&mut all, &server.generator(), &mut NoProgress).unwrap();
    assert_eq!((added.questions, added.rejected.len()), (1, 1));
    let message = added.rejected[0].to_string();
    assert!(
        message.starts_with("questions of frame \"f0\": http://127.0.0.1"),
        "{message}"
    );
    assert!(message.contains("413"), "{message}");
}

#[test]
fn completions_are_parsed() {
    let prompt = QuestionPrompt::default();
    for (completion, expected) in [
        ("NONE", &[][..]),
        ("", &[]),
        ("?", &[]),
        (
            "- What is it?\n* Who?\n• Where?\n4. When?",
            &["What is it?", "Who?", "Where?"],
        ),
        (
            "**What is it?**\nWhat is it?\n10) Who?",
            &["What is it?", "Who?"],
        ),
        ("1990 was what?", &["1990 was what?"]),
        ("I cannot answer. What?! No.", &[]),
    ] {
        assert_eq!(prompt.parse(completion), expected, "{completion:?}");
    }
    let long = format!("{}?", "a".repeat(1000));
    assert!(prompt.parse(&long).is_empty());
}

#[test]
fn names_change_with_model_and_prompt() {
    let config = EndpointConfig::new("http://a/v1", "m");
    let name = |config: &EndpointConfig, prompt: QuestionPrompt| {
        let generator = EndpointQuestions::new(config.clone(), None).unwrap();
        generator.with_prompt(prompt).name()
    };
    let default = name(&config, QuestionPrompt::default());
    let mut prompt = QuestionPrompt::default();
    prompt.max_questions = 1;
    assert_ne!(default, name(&config, prompt));
    let mut prompt = QuestionPrompt::default();
    prompt.instruction.push('.');
    assert_ne!(default, name(&config, prompt));
    let moved = EndpointConfig::new("http://b/v1", "m");
    assert_eq!(default, name(&moved, QuestionPrompt::default()));
    let other = EndpointConfig::new("http://a/v1", "n");
    assert_ne!(default, name(&other, QuestionPrompt::default()));
}

#[test]
fn answers_from_quotes() {
    let server = Server::new(vec![
        says("Tea grows in Asia [2]. "),
        says("NONE"),
        status(500),
        (200, "{}".to_owned()),
    ]);
    let config = EndpointConfig {
        attempts: 1,
        ..EndpointConfig::new(&server.url, "tiny-model")
    };
    let generator = EndpointAnswers::new(config, None).unwrap();
    assert_eq!(generator.name(), "tiny-model");
    let quotes = ["Tea is a drink.", "It grows in Asia."].map(|answer| Quote {
        title: "On tea",
        answer,
    });
    let generate = || generator.generate("Where does tea grow?", &quotes);
    let generated = generate().unwrap().unwrap();
    assert_eq!(generated.text, "Tea grows in Asia [2].");
    assert_eq!(generated.cited, [1]);
    let prompt = AnswerPrompt::default().render("Where does tea grow?", &quotes);
    assert!(prompt.contains("\n[1] Tea is a drink. (On tea)\n[2] It grows in Asia. (On tea)\n"));
    let request = server.requests.lock().unwrap().remove(0);
    assert_eq!(request["model"], "tiny-model");
    assert_eq!(
        request["messages"],
        json!([{"role": "user", "content": prompt}])
    );
    assert_eq!(generate().unwrap(), None);
    for expected in ["500", "expected a chat completion"] {
        let error = generate().unwrap_err();
        assert_eq!(error.to_string(), "tiny-model: no answer was generated");
        let source = error.source().unwrap().to_string();
        assert!(source.contains(expected), "{source}");
    }
}

#[test]
fn slow_answers_are_errors() {
    // Accepts no connection.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let config = EndpointConfig {
        attempts: 1,
        timeout: Duration::from_millis(200),
        ..EndpointConfig::new(url, "tiny-model")
    };
    let generator = EndpointAnswers::new(config, None).unwrap();
    let start = std::time::Instant::now();
    generator.generate("Where?", &[]).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(10));
}
