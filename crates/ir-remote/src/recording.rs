//! Recording of the exchange with a server, as a test fixture.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::RemoteError;

/// Recorder of requests and responses: lines of JSON with `method`, `path`, `request` and
/// `response` or `error`.
///
/// Headers, and so credentials, and the address of the server are not recorded, and values of keys
/// that name secrets (`password`, `token`, `api_key`, `authorization`, `secret`) are replaced by
/// `"…"`, except arrays `tokens`, which analyzers return. Requests and responses contain the data:
/// record with data that may be published. Exchanges over gRPC are not recorded.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use ir_remote::{ClientConfig, Credentials, MilvusCollection, Recorder};
///
/// let address = "milvus://localhost/papers".parse()?;
/// let (credentials, config) = (Credentials::from_environment()?, ClientConfig::default());
/// let collection = MilvusCollection::new(&address, &credentials, &config)?
///     .with_recorder(Arc::new(Recorder::create("exchange.jsonl")?));
/// let index = collection.open()?;
/// # Ok::<(), ir_remote::RemoteError>(())
/// ```
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    out: Mutex<BufWriter<File>>,
}

impl Recorder {
    /// Creates the file, or replaces it.
    ///
    /// # Errors
    /// [`RemoteError::File`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self, RemoteError> {
        let path = path.as_ref().to_owned();
        let file = File::create(&path).map_err(|source| RemoteError::File {
            path: path.display().to_string(),
            source,
        })?;
        Ok(Self {
            path,
            out: Mutex::new(BufWriter::new(file)),
        })
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
                line["error"] = json!({"status": status, "body": body});
            }
            Err(RemoteError::Unauthorized { status, .. }) => {
                line["error"] = json!({"status": status});
            }
            Err(_) => line["error"] = json!("no response"),
        }
        scrub(&mut line);
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let written = writeln!(out, "{line}").and_then(|()| out.flush());
        written.map_err(|source| RemoteError::File {
            path: self.path.display().to_string(),
            source,
        })
    }
}

/// Replaces the values of keys that name secrets.
fn scrub(value: &mut Value) {
    const SECRETS: [&str; 6] = [
        "password",
        "token",
        "api_key",
        "apikey",
        "authorization",
        "secret",
    ];
    match value {
        Value::Object(all) => {
            for (key, value) in all {
                let key = key.to_lowercase().replace('-', "_");
                let is_secret = SECRETS.iter().any(|secret| key.contains(secret));
                // Not the tokenizers of analyzers, and not the tokens that they return.
                let is_analysis = key.contains("tokeniz") || (key == "tokens" && value.is_array());
                if is_secret && !is_analysis {
                    *value = json!("…");
                } else {
                    scrub(value);
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(scrub),
        _ => {}
    }
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
}
