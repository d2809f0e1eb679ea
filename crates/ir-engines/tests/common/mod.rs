//! HTTP server in the process, with faults.
#![allow(dead_code, unreachable_pub, unused_macros)]

/// Asserts that a value matches a pattern.
macro_rules! assert_matches {
    ($value:expr, $($pattern:tt)+) => {
        let value = &$value;
        assert!(matches!(*value, $($pattern)+), "{value:?}");
    };
}

pub mod papers;

use std::collections::VecDeque;
use std::fmt::Display;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ir_engines::ClientConfig;

/// Fault of one response.
#[derive(Debug, Clone)]
pub enum Fault {
    Status(u16, &'static str),
    /// Half of the response; the request is handled.
    Half,
    /// Bytes that are not HTTP.
    Garbage,
    /// HTTP that is not JSON.
    Text(&'static str),
    /// No response until the client closes the connection; the request is handled.
    Silence,
    /// The connection closes when half of the body of the request has been read.
    HalfRequest,
    /// The connection closes before the request is handled.
    CloseBefore,
    /// The connection closes after the request is handled.
    CloseAfter,
}

type Handler = dyn Fn(&str, &str, &str) -> (u16, String) + Send + Sync;

/// Server that calls a function for each request.
pub struct HttpDouble {
    pub port: u16,
    stop: Arc<AtomicBool>,
    /// Faults of the next requests whose path has the text.
    faults: Faults,
    pub requests: Arc<Mutex<Vec<Request>>>,
}

type Faults = Arc<Mutex<VecDeque<(&'static str, Fault)>>>;

/// Request of a client.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub method: String,
    /// Path, followed by the query if it has parameters.
    pub path: String,
    pub authorization: Option<String>,
    pub content_type: Option<String>,
    pub body: String,
}

impl HttpDouble {
    pub fn start(
        handler: impl Fn(&str, &str, &str) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let double = Self {
            port: listener.local_addr().unwrap().port(),
            stop: Arc::default(),
            faults: Arc::default(),
            requests: Arc::default(),
        };
        let handler: Arc<Handler> = Arc::new(handler);
        let stop = Arc::clone(&double.stop);
        let (faults, requests) = (Arc::clone(&double.faults), Arc::clone(&double.requests));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (handler, faults) = (Arc::clone(&handler), Arc::clone(&faults));
                let requests = Arc::clone(&requests);
                thread::spawn(move || serve(stream, &*handler, &faults, &requests));
            }
        });
        double
    }

    pub fn fail(&self, path: &'static str, fault: Fault) {
        self.faults.lock().unwrap().push_back((path, fault));
    }

    /// Adds a fault several times.
    pub fn fail_times(&self, path: &'static str, fault: &Fault, count: usize) {
        (0..count).for_each(|_| self.fail(path, fault.clone()));
    }

    pub fn open_faults(&self) -> usize {
        self.faults.lock().unwrap().len()
    }

    /// Number of requests whose path has the text.
    pub fn count(&self, path: &str) -> usize {
        let requests = self.requests.lock().unwrap();
        let found = requests.iter().filter(|it| it.path.contains(path));
        found.count()
    }
}

impl Drop for HttpDouble {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(
    stream: TcpStream,
    handler: &Handler,
    faults: &Mutex<VecDeque<(&'static str, Fault)>>,
    requests: &Mutex<Vec<Request>>,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut out = stream;
    loop {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(_) => {
                // The start of a TLS connection.
                out.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").ok()?;
                return None;
            }
        }
        let mut parts = line.split_whitespace();
        let (method, path) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        let (mut length, mut authorization, mut content_type) = (0, None, None);
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            let Some((name, value)) = header.trim_end().split_once(": ") else {
                break;
            };
            match name.to_lowercase().as_str() {
                "content-length" => length = value.parse().ok()?,
                "authorization" => authorization = Some(value.to_owned()),
                "content-type" => content_type = Some(value.to_owned()),
                "expect" => out.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?,
                _ => {}
            }
        }
        let fault = {
            let mut faults = faults.lock().unwrap();
            let at = faults.iter().position(|(text, _)| path.contains(text));
            at.and_then(|at| faults.remove(at)).map(|(_, fault)| fault)
        };
        let mut body = vec![0; length];
        if matches!(fault, Some(Fault::HalfRequest)) {
            reader.read_exact(&mut body[..length / 2]).ok()?;
            return None;
        }
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).ok()?;
        requests.lock().unwrap().push(Request {
            method: method.clone(),
            path: path.clone(),
            authorization,
            content_type,
            body: body.clone(),
        });
        let respond = |status: u16, text: &str| {
            format!(
                "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
                text.len()
            )
        };
        let (status, text) = match fault {
            None => handler(&method, &path, &body),
            Some(Fault::Status(status, text)) => (status, text.to_owned()),
            Some(Fault::Text(text)) => (200, text.to_owned()),
            Some(Fault::Garbage) => {
                out.write_all(b"\x15\x03\x01\x00\x02\x02\x50\r\n\r\n")
                    .ok()?;
                out.shutdown(Shutdown::Both).ok()?;
                return None;
            }
            Some(Fault::HalfRequest | Fault::CloseBefore) => {
                out.shutdown(Shutdown::Both).ok()?;
                return None;
            }
            Some(Fault::CloseAfter) => {
                handler(&method, &path, &body);
                out.shutdown(Shutdown::Both).ok()?;
                return None;
            }
            Some(Fault::Silence) => {
                handler(&method, &path, &body);
                let _ = reader.read(&mut [0]);
                return None;
            }
            Some(Fault::Half) => {
                let (status, text) = handler(&method, &path, &body);
                let all = respond(status, &text);
                out.write_all(&all.as_bytes()[..all.len() - text.len() / 2 - 1])
                    .ok()?;
                out.shutdown(Shutdown::Both).ok()?;
                return None;
            }
        };
        out.write_all(respond(status, &text).as_bytes()).ok()?;
    }
}

/// Asserts that a message has a part.
#[track_caller]
pub fn assert_contains(message: &dyn Display, part: &str) {
    let message = message.to_string();
    assert!(message.contains(part), "expected {part}, found {message}");
}

/// Limits for tests: three attempts in quick succession.
pub fn quick() -> ClientConfig {
    ClientConfig {
        timeout: Duration::from_secs(20),
        attempts: 3,
        backoff: Duration::from_millis(1),
    }
}
