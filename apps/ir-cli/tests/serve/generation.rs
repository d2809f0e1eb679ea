//! Answers that a language model writes from the quoted sentences.

use std::io::Read;

#[cfg(feature = "fetch")]
use serde_json::json;
use tempfile::TempDir;

use crate::server::serve_command;
#[cfg(feature = "fetch")]
use crate::{ANSWER, QUESTION, server::RunningServer};

/// Language model on the loopback that answers one request; the result is that request.
#[cfg(feature = "fetch")]
fn model(
    status: u16,
    content: &str,
) -> (String, std::thread::JoinHandle<(String, serde_json::Value)>) {
    use std::io::{BufRead, BufReader, Write};

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let body = json!({"choices": [{"message": {"content": content}}]}).to_string();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0);
        }
        let head = head.to_ascii_lowercase();
        let (_, length) = head.split_once("content-length: ").unwrap();
        let length: usize = length.lines().next().unwrap().parse().unwrap();
        let mut request = vec![0; length];
        reader.read_exact(&mut request).unwrap();
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status} S\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .unwrap();
        (head, serde_json::from_slice(&request).unwrap())
    });
    (url, answering)
}

#[cfg(feature = "fetch")]
#[test]
fn answers_are_generated_on_demand() {
    for (status, text) in [(200, "Volunteers wrote them [1]."), (500, "broken")] {
        let folder = TempDir::new().unwrap();
        let (url, answering) = model(status, text);
        let options = ["--generate", &url, "--generate-model", "tiny-model"];
        let options = [
            &["bundled"][..],
            &options,
            &["--generate-key", "IR_TEST_KEY"],
        ]
        .concat();
        let mut command = serve_command(folder.path(), &options);
        command.env("IR_TEST_KEY", "secret-key");
        let server = RunningServer::start_command(command, (String::new(), String::new()));
        let ask = |generate: bool| {
            let query = json!({"query": QUESTION, "n_best": 2, "generate": generate});
            let query = json!({"query": query});
            let (status, body) = server.client.post("/v1/search/query", &query);
            assert_eq!(status, 200, "{body}");
            assert_eq!(body["results"][0]["a"]["value"], ANSWER);
            body["generated"].clone()
        };
        // The model answers one request.
        assert!(ask(false).is_null());
        let generated = ask(true);
        assert_eq!(generated["model"], "tiny-model");
        match status {
            200 => assert_eq!(generated["text"], text),
            _ => assert!(generated["error"].as_str().unwrap().contains("failed")),
        }
        assert_eq!(generated["sentences"][0]["value"], ANSWER);
        assert_eq!(generated["sentences"][0]["cited"], status == 200);
        let (head, request) = answering.join().unwrap();
        assert!(head.contains("authorization: bearer secret-key"), "{head}");
        assert_eq!(request["model"], "tiny-model");
        let prompt = request["messages"][0]["content"].as_str().unwrap();
        assert!(
            prompt.contains(QUESTION) && prompt.contains(ANSWER),
            "{prompt}"
        );
        let (log, _) = server.stop();
        assert_eq!(log.contains("generation failed"), status != 200, "{log}");
        assert!(!log.contains("secret-key"), "{log}");
    }
}

#[test]
fn options_of_generation_are_checked() {
    for (options, expected) in [
        (
            &["--generate-model", "m"][..],
            "--generate-model: without effect, expected --generate URL",
        ),
        (
            &["--generate", "http://127.0.0.1:1/v1"],
            "--generate: expected --generate-model NAME, found none",
        ),
        (
            &["--generate-timeout", "31"],
            "expected an integer from 1 to 30, found \"31\"",
        ),
        #[cfg(feature = "fetch")]
        (
            &["--generate", "ftp://x", "--generate-model", "m"],
            "expected http:// or https://",
        ),
    ] {
        let folder = TempDir::new().unwrap();
        let arguments = [&["bundled"][..], options].concat();
        let mut child = serve_command(folder.path(), &arguments).spawn().unwrap();
        assert!(!child.wait().unwrap().success());
        let mut error = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut error)
            .unwrap();
        assert!(error.contains(expected), "{error}");
    }
}
