//! Server that repeats the responses of a recording, and compares requests with those of the
//! recording.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::common::HttpDouble;

pub struct ReplayDouble {
    pub server: HttpDouble,
    state: Arc<Mutex<State>>,
}

struct State {
    lines: Vec<Value>,
    next: usize,
    /// First request that differs.
    difference: Option<String>,
}

impl ReplayDouble {
    /// Starts a server for the lines of a recording. `base`: path that precedes those of the
    /// recording.
    pub fn start(recording: &str, base: &'static str) -> Self {
        let lines = recording
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let state = Arc::new(Mutex::new(State {
            lines: lines.collect(),
            next: 0,
            difference: None,
        }));
        let shared = Arc::clone(&state);
        let server = HttpDouble::start(move |method, path, body| {
            let request =
                json!({"method": method, "path": path.strip_prefix(base), "request": parse(body)});
            let (status, response) = state.lock().unwrap().answer(&request);
            (status, response.to_string())
        });
        Self {
            server,
            state: shared,
        }
    }

    /// Number of requests that the recording has after those that were sent.
    pub fn remaining(&self) -> usize {
        let state = self.state.lock().unwrap();
        state.lines.len() - state.next
    }

    /// First request that differs from the recording.
    pub fn difference(&self) -> Option<String> {
        self.state.lock().unwrap().difference.clone()
    }

    /// Asserts that all requests of the recording were sent, and no others.
    #[track_caller]
    pub fn finish(self) {
        assert_eq!(self.difference(), None);
        assert_eq!(
            self.remaining(),
            0,
            "requests of the recording that were not sent"
        );
    }
}

impl State {
    fn answer(&mut self, request: &Value) -> (u16, Value) {
        let line = self.lines.get(self.next).unwrap_or(&Value::Null);
        let different = ["method", "path", "request"]
            .into_iter()
            .find(|&name| line[name] != request[name]);
        if let Some(name) = different {
            let number = self.next + 1;
            let found = format!(
                "line {number} of the recording: expected {name} {}, found {}",
                line[name], request[name]
            );
            self.difference.get_or_insert(found.clone());
            return (400, json!({ "error": found }));
        }
        self.next += 1;
        match (line.get("response"), &line["error"]) {
            (Some(response), _) => (200, response.clone()),
            (None, error) => {
                let status = error["status"].as_u64().unwrap_or(500) as u16;
                (status, error.get("body").cloned().unwrap_or(Value::Null))
            }
        }
    }
}

/// Body as a recorder writes it: JSON, lines of JSON, or text.
fn parse(body: &str) -> Value {
    let lines: Result<Vec<Value>, _> = body.lines().map(serde_json::from_str).collect();
    match (serde_json::from_str(body), lines) {
        (Ok(value), _) => value,
        (Err(_), Ok(lines)) if !lines.is_empty() => Value::Array(lines),
        _ => json!(body),
    }
}
