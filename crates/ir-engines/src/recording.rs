//! Recording of the exchange with a server, as a test fixture.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::{Credentials, RemoteError};

/// Recorder of requests and responses: lines of JSON with `method`, `path`, `request` and
/// `response` or `error`. A retried request is one line, with its last response.
///
/// - Headers and the address of the server are not recorded.
/// - Values of keys that name secrets (`password`, `token`, `api_key`, `authorization`, `secret`)
///   are `"…"`, except arrays `tokens`, which analyzers return.
/// - [`Credentials`] of the client are `…` in every text: the header, the token, key or password in
///   it, also in base64.
/// - Responses with an error status are recorded as JSON, or else as text, which is `"…"` if it has
///   the name of a secret; with the statuses 401 and 403, only the status is recorded.
/// - **Other secrets are recorded**, such as keys in the texts of documents.
///
/// Requests and responses contain the data: record with data that may be published, and read a
/// recording before it is. Exchanges over gRPC are not recorded.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use ir_engines::{ClientConfig, Credentials, MilvusCollection, Recorder};
///
/// let address = "milvus://localhost/papers".parse()?;
/// let (credentials, config) = (Credentials::from_environment()?, ClientConfig::default());
/// let collection = MilvusCollection::new(&address, &credentials, &config)?
///     .with_recorder(Arc::new(Recorder::create("exchange.jsonl")?));
/// let index = collection.open()?;
/// # Ok::<(), ir_engines::RemoteError>(())
/// ```
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    out: Mutex<BufWriter<File>>,
    secrets: Mutex<Vec<String>>,
}

impl Recorder {
    /// Creates the file.
    ///
    /// # Errors
    /// [`RemoteError::File`], also if the file exists: a recording is not replaced.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, RemoteError> {
        let path = path.as_ref().to_owned();
        let file = File::create_new(&path).map_err(RemoteError::file(&path))?;
        Ok(Self::new(path, file))
    }

    /// Opens a recording, which need not exist, and appends to it: for commands that are repeated
    /// after a failure. A line that was not finished is ended.
    ///
    /// # Errors
    /// [`RemoteError::File`], also if the file is no recording.
    pub fn append(path: impl AsRef<Path>) -> Result<Self, RemoteError> {
        let path = path.as_ref().to_owned();
        let file = open_recording(&path).map_err(RemoteError::file(&path))?;
        Ok(Self::new(path, file))
    }

    fn new(path: PathBuf, file: File) -> Self {
        Self {
            path,
            out: Mutex::new(BufWriter::new(file)),
            secrets: Mutex::default(),
        }
    }

    /// Replaces secrets of a client in all further lines.
    pub(crate) fn redact(&self, secrets: &Secrets) {
        let mut known = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(secrets.0.iter().cloned());
        // A password before a part of it.
        known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        known.dedup();
    }

    pub(crate) fn record(
        &self,
        method: &str,
        path: &str,
        body: &str,
        result: &Result<Value, RemoteError>,
    ) -> Result<(), RemoteError> {
        let lines: Result<Vec<Value>, _> = body.lines().map(serde_json::from_str).collect();
        let request = match (serde_json::from_str(body), lines) {
            (Ok(value), _) => value,
            (Err(_), Ok(lines)) if !lines.is_empty() => Value::Array(lines),
            _ => json!(body),
        };
        let mut line = json!({"method": method, "path": path, "request": request});
        match result {
            Ok(response) => line["response"] = response.clone(),
            // Messages have the address of the server.
            Err(RemoteError::Status { status, body, .. }) => {
                let body = match serde_json::from_str(body) {
                    Ok(body) => body,
                    // Half of a body has no keys that could be found for certain.
                    Err(_) if names_secret(body) => json!(REDACTED),
                    Err(_) => json!(body),
                };
                line["error"] = json!({"status": status, "body": body});
            }
            Err(RemoteError::Unauthorized { status, .. }) => {
                line["error"] = json!({"status": status});
            }
            Err(_) => line["error"] = json!("no response"),
        }
        {
            let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
            scrub(&mut line, &secrets);
        }
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let written = writeln!(out, "{line}").and_then(|()| out.flush());
        written.map_err(RemoteError::file(&self.path))
    }
}

/// Opens a file at its end. Its start must be the start of a recording.
fn open_recording(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let mut file = options.create(true).read(true).append(true).open(path)?;
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(file);
    }
    let mut start = Vec::new();
    (&mut file).take(10).read_to_end(&mut start)?;
    if !LINE_STARTS.iter().any(|known| start.starts_with(known)) {
        let message =
            "expected a recording (lines of JSON with the member method), found another file";
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    let mut last = [0];
    file.seek(SeekFrom::Start(length - 1))?;
    file.read_exact(&mut last)?;
    if last != *b"\n" {
        file.write_all(b"\n")?;
    }
    Ok(file)
}

/// Starts of the lines of recordings.
const LINE_STARTS: [&[u8]; 2] = [b"{\"method\":", b"{\"error\":"];

const REDACTED: &str = "…";

/// Texts that a recording must not have.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// Secrets of credentials: value of the header, and its token, key or password, as it is and
    /// in base64.
    pub(crate) fn new(credentials: &Credentials) -> Self {
        let mut all = Vec::new();
        if let Some(header) = &credentials.authorization {
            all.push(header.clone());
            let value = header.split_once(' ').map_or(&**header, |(_, value)| value);
            let decoded = BASE64_STANDARD.decode(value).ok();
            let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
            for text in [Some(value.to_owned()), decoded].into_iter().flatten() {
                if let Some((_, password)) = text.split_once(':') {
                    all.push(BASE64_STANDARD.encode(password));
                    all.push(password.to_owned());
                }
                all.push(BASE64_STANDARD.encode(&text));
                all.push(text);
            }
        }
        // As in bodies that repeat them and are not parsed.
        let escaped = all.iter().map(|secret| Value::from(&**secret).to_string());
        let escaped: Vec<String> = escaped
            .map(|text| text[1..text.len() - 1].to_owned())
            .collect();
        all.extend(escaped);
        all.retain(|secret| !secret.is_empty());
        Self(all)
    }
}

/// Returns `true` if a key or text contains the name of a secret.
fn names_secret(text: &str) -> bool {
    let text = text.to_lowercase().replace('-', "_");
    let names = [
        "password",
        "token",
        "api_key",
        "apikey",
        "authorization",
        "secret",
    ];
    names.iter().any(|name| text.contains(name))
}

/// Replaces the values of keys that name secrets, and secrets in all texts.
fn scrub(value: &mut Value, secrets: &[String]) {
    match value {
        Value::Object(all) => {
            for (key, value) in &mut *all {
                let lower = key.to_lowercase();
                // Not the tokenizers of analyzers, and not the tokens that they return.
                let is_analysis =
                    lower.contains("tokeniz") || (lower == "tokens" && value.is_array());
                if names_secret(key) && !is_analysis {
                    *value = json!(REDACTED);
                } else {
                    scrub(value, secrets);
                }
            }
            let has_secret = |key: &String| secrets.iter().any(|it| key.contains(it.as_str()));
            if all.keys().any(has_secret) {
                let entries = std::mem::take(all).into_iter();
                *all = entries
                    .map(|(key, value)| (redacted(key, secrets), value))
                    .collect();
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|value| scrub(value, secrets)),
        Value::String(text) => *text = redacted(std::mem::take(text), secrets),
        _ => {}
    }
}

fn redacted(text: String, secrets: &[String]) -> String {
    let replace = |text: String, secret: &String| {
        if text.contains(secret) {
            text.replace(secret, REDACTED)
        } else {
            text
        }
    };
    secrets.iter().fold(text, replace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_have_no_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exchange.jsonl");
        let recorder = Recorder::create(&path).unwrap();
        let response = Ok(json!({"users": [{"Password": "hunter2", "name": "u"}]}));
        let body = r#"{"user":"u","api-key":"hunter2"}"#;
        recorder
            .record("POST", "/credential", body, &response)
            .unwrap();
        let lines = "{\"token\":\"hunter2\"}\n{\"tokenizer\":\"standard\"}\n\
            {\"passwords\":[\"hunter2\",[\"hunter2\"]]}\n\
            {\"tokens\":[{\"token\":\"hunter2\",\"position\":3}]}\n{\"tokens\":[\"tea\"]}\n";
        recorder
            .record("POST", "/_bulk", lines, &Ok(json!({})))
            .unwrap();
        let error = Err(RemoteError::Unauthorized {
            url: "https://internal.example.org".to_owned(),
            status: 401,
        });
        recorder.record("GET", "/x", "", &error).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            !text.contains("hunter2") && !text.contains("internal"),
            "{text}"
        );
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[0]["response"]["users"][0]["name"], "u");
        assert_eq!(lines[1]["request"][1]["tokenizer"], "standard");
        assert_eq!(lines[1]["request"][2]["passwords"], "…");
        assert_eq!(lines[1]["request"][3]["tokens"][0]["position"], 3);
        assert_eq!(lines[1]["request"][4]["tokens"][0], "tea");
        assert_eq!(lines[2]["error"]["status"], 401);
    }
    fn lines(path: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    }

    #[test]
    fn recordings_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exchange.jsonl");
        let recorder = Recorder::create(&path).unwrap();
        recorder.record("GET", "/x", "", &Ok(json!({}))).unwrap();
        let error = Recorder::create(&path).unwrap_err();
        assert!(matches!(error, RemoteError::File { .. }), "{error:?}");
        assert_eq!(lines(&path).len(), 1);
    }

    #[test]
    fn responses_with_error_statuses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exchange.jsonl");
        let recorder = Recorder::create(&path).unwrap();
        let record = |body: &str| {
            let error = Err(RemoteError::Status {
                url: "https://internal.example.org".to_owned(),
                status: 400,
                body: body.to_owned(),
            });
            recorder.record("GET", "/x", "", &error).unwrap();
        };
        record(r#"{"error": {"type": "missing", "api_key": "hunter2"}}"#);
        record(r#"{"error": {"reason": "[hunter2] is no token of", "Authorization": "Bea…"#);
        record(r#"{"error":{"root_cause":[{"type":"index_not_found_exception","reas…"#);
        record("404 page not found");
        let lines = lines(&path);
        let body = |at: usize| &lines[at]["error"]["body"];
        assert_eq!(
            body(0),
            &json!({"error": {"type": "missing", "api_key": "…"}})
        );
        assert_eq!(body(1), "…");
        let half = body(2).as_str().unwrap();
        assert!(half.contains("index_not_found_exception"), "{half}");
        assert_eq!(body(3), "404 page not found");
        assert_eq!(lines[0]["error"]["status"], 400);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            !text.contains("hunter2") && !text.contains("internal"),
            "{text}"
        );
    }

    #[test]
    fn recordings_are_continued() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exchange.jsonl");
        let record = |recorder: &Recorder| {
            recorder.record("GET", "/x", "", &Ok(json!({}))).unwrap();
        };
        record(&Recorder::append(&path).unwrap());
        record(&Recorder::append(&path).unwrap());
        assert_eq!(lines(&path).len(), 2);
        // A line that was not finished.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 3]).unwrap();
        record(&Recorder::append(&path).unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert_eq!(text.lines().last(), text.lines().next());
        std::fs::write(&path, "{\"_id\":\"a\"}\n").unwrap();
        let message = Recorder::append(&path).unwrap_err();
        let message = std::error::Error::source(&message).unwrap().to_string();
        assert!(message.contains("expected a recording"), "{message}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"_id\":\"a\"}\n");
    }

    /// A server may repeat a part of a body of JSON.
    #[test]
    fn escaped_credentials() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("exchange.jsonl");
        let recorder = Recorder::create(&path).unwrap();
        recorder.redact(&Secrets::new(&Credentials {
            authorization: Some("Bearer root:a\"b".to_owned()),
            ..Credentials::default()
        }));
        let error = Err(RemoteError::Status {
            url: String::new(),
            status: 400,
            body: r#"{"user":"root","reason":"a\"b is wro"#.to_owned(),
        });
        recorder.record("GET", "/x", "", &error).unwrap();
        let body = lines(&path)[0]["error"]["body"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(body.contains("… is wro"), "{body}");
    }

    /// The values of the credentials occur nowhere, whatever the server repeats.
    #[test]
    fn credentials_of_the_client() {
        // base64 of `root:hunter2`, of `hunter2`, and of the id and key `id:hunter2`.
        let (pair, password, key) = ("cm9vdDpodW50ZXIy", "aHVudGVyMg==", "aWQ6aHVudGVyMg==");
        for authorization in [
            "Bearer root:hunter2".to_owned(),
            "Bearer hunter2".to_owned(),
            format!("Basic {pair}"),
            format!("ApiKey {key}"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("exchange.jsonl");
            let recorder = Recorder::create(&path).unwrap();
            let credentials = Credentials {
                authorization: Some(authorization.clone()),
                ..Credentials::default()
            };
            let secrets = Secrets::new(&credentials);
            assert_eq!(format!("{secrets:?}"), "Secrets");
            recorder.redact(&secrets);
            let header = authorization.split_once(' ').unwrap().1;
            let own = if authorization.starts_with("Bearer") {
                password
            } else {
                header
            };
            let response = json!({
                "reason": format!("invalid: {authorization}, {own}"),
                "list": [header, {format!("user {header}"): 1, "x": "a hunter2 b"}],
                "n": 7,
            });
            let path_of_user = format!("/users/{header}");
            recorder
                .record("GET", &path_of_user, "text hunter2", &Ok(response.clone()))
                .unwrap();
            let error = Err(RemoteError::Status {
                url: String::new(),
                status: 400,
                body: response.to_string()[..60].to_owned(),
            });
            recorder
                .record("GET", "/x", "{\"a\":\"hunter2\"}", &error)
                .unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            for secret in ["hunter2", own, header] {
                assert!(!text.contains(secret), "{authorization}: {text}");
            }
            assert_eq!(lines(&path)[0]["response"]["n"], 7);
            assert_eq!(lines(&path)[0]["response"]["list"][1]["x"], "a … b");
        }
        assert!(Secrets::new(&Credentials::default()).0.is_empty());
    }
}
