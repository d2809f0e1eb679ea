//! A server in a process of its own, and a client.

use std::io::{self, BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Admin key and query key.
pub(crate) type Keys = (String, String);

pub(crate) struct RunningServer {
    child: Child,
    pub(crate) client: Client,
    pub(crate) keys: Keys,
    output: Lines<BufReader<ChildStdout>>,
    log: Option<JoinHandle<String>>,
}

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) address: String,
    keys: Keys,
    /// Cookie of the visitor, once a page has set it.
    visitor: Arc<OnceLock<String>>,
}

/// Waits for a condition, for two minutes at most.
#[track_caller]
pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !condition() {
        assert!(Instant::now() < end, "the condition does not become true");
        thread::sleep(Duration::from_millis(2));
    }
}

/// `ir serve` with arguments, on a free port unless they name one.
pub(crate) fn serve_command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ir"));
    command.arg("serve").args(args).current_dir(folder);
    if !args.contains(&"--listen") && !args.contains(&"--check") {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl RunningServer {
    /// Starts a server and waits until it answers queries about its papers.
    pub(crate) fn start(folder: &Path, args: &[&str]) -> Self {
        Self::start_with_keys(folder, args, (String::new(), String::new()))
    }

    pub(crate) fn start_with_keys(folder: &Path, args: &[&str], keys: Keys) -> Self {
        Self::start_command(serve_command(folder, args), keys)
    }

    /// Starts the server of a command.
    pub(crate) fn start_command(command: Command, keys: Keys) -> Self {
        Self::start_during(command, keys, |_| ())
    }

    /// Starts the server of a command, and calls a function while it reads its papers.
    pub(crate) fn start_during(
        mut command: Command,
        mut keys: Keys,
        during: impl FnOnce(&Client),
    ) -> Self {
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (send, serving) = std::sync::mpsc::channel();
        let log = thread::spawn(move || {
            let mut log = String::new();
            let mut line = String::new();
            while stderr.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                if line.contains("until Ctrl-C") {
                    let _ = send.send(());
                }
                log += &line;
                line.clear();
            }
            log
        });
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let Some(Ok(address)) = lines.next() else {
            let _ = child.wait();
            panic!("not started: {}", log.join().unwrap());
        };
        let address = address
            .strip_prefix("http://")
            .unwrap()
            .trim_end_matches('/')
            .to_owned();
        // Keys are printed before papers are read.
        if keys.0.is_empty() {
            for key in [&mut keys.0, &mut keys.1] {
                let line = lines.next().unwrap().unwrap();
                *key = line.rsplit_once(": ").unwrap().1.to_owned();
            }
        }
        let client = Client::new(address, keys.clone());
        during(&client);
        if serving.recv_timeout(Duration::from_secs(120)).is_err() {
            let _ = child.kill();
            let _ = child.wait();
            panic!("not ready: {}", log.join().unwrap());
        }
        wait_until(|| client.request("GET", "/ready", "").unwrap().0 == 200);
        Self {
            child,
            client,
            keys,
            output: lines,
            log: Some(log),
        }
    }

    /// Ends the server in order and returns its log, and what it printed after its address and the
    /// keys that were read.
    pub(crate) fn stop(mut self) -> (String, Vec<String>) {
        self.signal("-TERM");
        assert!(self.child.wait().unwrap().success());
        let printed = self.output.by_ref().map(Result::unwrap).collect();
        (self.log.take().unwrap().join().unwrap(), printed)
    }

    /// Id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends the server with SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Client {
    pub(crate) fn new(address: String, keys: Keys) -> Self {
        Self {
            address,
            keys,
            visitor: Arc::default(),
        }
    }

    /// Sends a request on a connection of its own.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        body: &str,
    ) -> io::Result<(u16, String)> {
        self.request_as(method, path, "application/json", body)
    }

    /// Sends a form as a page of the server would, and returns the status of the response.
    pub(crate) fn try_post_form(&self, path: &str, fields: &[(&str, &str)]) -> io::Result<u16> {
        let encoded = |text: &str| -> String {
            let bytes = text.bytes().map(|byte| format!("%{byte:02X}"));
            bytes.collect()
        };
        let pairs = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)));
        let body = pairs.collect::<Vec<_>>().join("&");
        let kind = "application/x-www-form-urlencoded";
        Ok(self.request_as("POST", path, kind, &body)?.0)
    }

    fn request_as(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: &str,
    ) -> io::Result<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address)?;
        let (address, key) = (&self.address, &self.keys.0);
        let length = body.len();
        let cookie = self
            .visitor
            .get()
            .map(|cookie| format!("Cookie: {cookie}\r\n"));
        let cookie = cookie.unwrap_or_default();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: {key}\r\n{cookie}\
             Sec-Fetch-Site: same-origin\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        )?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        let broken = || io::Error::other("incomplete response");
        let (head, body) = response.split_once("\r\n\r\n").ok_or_else(broken)?;
        let length = head.lines().find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length: ")?
                .parse()
                .ok()
        });
        if length.is_some_and(|length: usize| length != body.len()) {
            return Err(broken());
        }
        let cookie = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            let is_set =
                name.eq_ignore_ascii_case("set-cookie") && value.starts_with("ir_visitor=");
            is_set.then(|| value.split(';').next())?
        });
        if let Some(cookie) = cookie {
            self.visitor.get_or_init(|| cookie.to_owned());
        }
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Ok((status.ok_or_else(broken)?, body.to_owned()))
    }

    pub(crate) fn try_post(&self, path: &str, body: &Value) -> io::Result<(u16, Value)> {
        let (status, body) = self.request("POST", path, &body.to_string())?;
        Ok((status, serde_json::from_str(&body)?))
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.try_post(path, body).unwrap()
    }

    pub(crate) fn answers(&self, question: &str, n_best: usize) -> Vec<String> {
        let body = json!({"query": {"query": question, "n_best": n_best}});
        let (status, body) = self.post("/v1/search/query", &body);
        assert_eq!(status, 200, "{body}");
        let value = |result: &Value| result["a"]["value"].as_str().unwrap().to_owned();
        body["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(value)
            .collect()
    }

    /// Waits until a publication has finished.
    pub(crate) fn wait(&self, op_id: &str) {
        let ended = self.end_of(op_id);
        assert_eq!(ended["status"], "finished", "{ended}");
    }

    /// Waits for the end of a publication and returns its state.
    pub(crate) fn end_of(&self, op_id: &str) -> Value {
        let path = format!("/v1/op/status/{op_id}");
        let state = || -> Value {
            let (status, body) = self.request("GET", &path, "").unwrap();
            assert_eq!(status, 200, "{body}");
            serde_json::from_str(&body).unwrap()
        };
        wait_until(|| !["queued", "started"].contains(&state()["status"].as_str().unwrap()));
        state()
    }
}
