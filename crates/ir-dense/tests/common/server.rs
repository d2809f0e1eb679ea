//! A hub on the loopback with one tiny model, `org/tiny`.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::json;

/// Commit of the branch `main`.
pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
/// SHA-256 of the weights.
pub const WEIGHTS: &str = "f4cc643cebc14eb9e9ccfbe96c445027fde91e32418e081bbf4c1d0469cc48e6";
/// Size of the weights in bytes.
pub const BYTES: usize = 87_656;
/// Git hash of `config.json`.
pub const CONFIG: &str = "9da6ff785f553071e0ce5d777eb409f9e1e55476";
pub const MODULES: &str = r#"[{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},{"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]"#;
pub const POOLING: &str = r#"{"word_embedding_dimension":12,"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false}"#;

/// File of the repository.
#[derive(Clone, Debug)]
pub struct Stored {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    /// SHA-256 of a large file, git hash of another.
    pub hash: &'static str,
    pub large: bool,
}

/// Repository with the files of `testdata/tiny/bert`, and files that no encoder needs.
pub fn repository() -> Vec<Stored> {
    // From this crate and from the tests of the command.
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/ir-dense/testdata/tiny/bert");
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let stored = |name, bytes, hash| Stored {
        name,
        bytes,
        hash,
        large: false,
    };
    let small = "0000000000000000000000000000000000000000";
    vec![
        stored("README.md", b"text".into(), small),
        stored("config.json", read("config.json"), CONFIG),
        stored(
            "modules.json",
            MODULES.into(),
            "4480354d21b48249fd3bc0bc827d2822bcf68836",
        ),
        Stored {
            large: true,
            ..stored("model.safetensors", read("model.safetensors"), WEIGHTS)
        },
        stored("onnx/model.onnx", b"not needed".into(), small),
        stored("pytorch_model.bin", b"not needed".into(), small),
        stored(
            "vocab.txt",
            read("vocab.txt"),
            "05cffcb79291588f7490a27ba57a8ec86d88d1cb",
        ),
        stored(
            "1_Pooling/config.json",
            POOLING.into(),
            "c1bb9fbe61d43cd290fdb182c21472cd43863f0c",
        ),
    ]
}

/// Response of the hub that differs from the default.
#[derive(Clone, Debug)]
pub enum Reply {
    /// This number of bytes of the body, then the connection is closed.
    Cut(usize),
    /// Status 200 with these bytes.
    Bytes(Vec<u8>),
    /// HTTP status and the hub's error code.
    Status(u16, &'static str),
    /// Redirect to the same file on another host.
    Elsewhere,
}

/// Request to the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Name of the file, or the path.
    pub what: String,
    pub host: String,
    pub range: String,
    pub token: String,
}

#[derive(Debug)]
pub struct Server {
    pub endpoint: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Starts a hub with these files. `odd` returns a different response for a file and the number
    /// of earlier requests for it.
    pub fn start(
        files: Vec<Stored>,
        odd: impl Fn(&str, usize) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), port, &files, &odd, &noted);
            }
        });
        Self {
            endpoint: format!("http://127.0.0.1:{port}"),
            requests,
        }
    }

    /// Requests so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Names of the requested files, in order.
    pub fn asked(&self) -> Vec<String> {
        self.requests().into_iter().map(|r| r.what).collect()
    }

    /// Requested ranges of a file.
    pub fn ranges(&self, what: &str) -> Vec<String> {
        let of = self.requests().into_iter().filter(|r| r.what == what);
        of.map(|request| request.range).collect()
    }
}

/// Listing, the response to `GET /api/models/NAME/revision/REVISION?blobs=true`.
fn description(files: &[Stored]) -> String {
    let siblings: Vec<_> = files
        .iter()
        .map(|file| {
            let (name, size) = (file.name, file.bytes.len());
            if file.large {
                let pointer = "5555555555555555555555555555555555555555";
                let lfs = json!({"sha256": file.hash, "size": size, "pointerSize": 134});
                json!({"rfilename": name, "size": size, "blobId": pointer, "lfs": lfs})
            } else {
                json!({"rfilename": name, "size": size, "blobId": file.hash})
            }
        })
        .collect();
    json!({"id": "org/tiny", "private": false, "sha": COMMIT, "siblings": siblings}).to_string()
}

fn answer(
    mut stream: TcpStream,
    port: u16,
    files: &[Stored],
    odd: &(impl Fn(&str, usize) -> Option<Reply> + Send + Sync),
    noted: &Mutex<Vec<Request>>,
) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let path = first.split(' ').nth(1).unwrap().to_owned();
    let mut request = Request {
        what: path.clone(),
        host: String::new(),
        range: String::new(),
        token: String::new(),
    };
    for line in lines {
        let line = line.unwrap_or_default();
        let Some((name, value)) = line.split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "host" => value.clone_into(&mut request.host),
            "range" => value.clone_into(&mut request.range),
            "authorization" => value.clone_into(&mut request.token),
            _ => {}
        }
    }
    let listing = "/api/models/org/tiny/revision/";
    let file = path
        .strip_prefix(&format!("/org/tiny/resolve/{COMMIT}/"))
        .and_then(|name| files.iter().find(|file| file.name == name));
    let (what, body) = match file {
        Some(file) => (file.name.to_owned(), Some(file.bytes.clone())),
        None if path.starts_with(listing) => (path.clone(), Some(description(files).into())),
        None => (path.clone(), None),
    };
    request.what.clone_from(&what);
    let before = {
        let mut noted = noted.lock().unwrap();
        noted.push(request.clone());
        noted.iter().filter(|r| r.what == what).count() - 1
    };
    let start: Option<usize> = request
        .range
        .strip_prefix("bytes=")
        .and_then(|range| range.strip_suffix('-'))
        .map(|start| start.parse().unwrap());
    let mut send = |status: u16, extra: String, body: &[u8], cut: usize| {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} Whatever\r\nContent-Length: {length}\r\n{extra}Connection: close\r\n\r\n"
        );
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&body[..cut.min(length)]);
        let _ = stream.flush();
    };
    let body = body.unwrap_or_default();
    let part = |cut: usize| match start {
        Some(start) => (
            206,
            format!(
                "Content-Range: bytes {start}-{}/{}\r\n",
                body.len() - 1,
                body.len()
            ),
            body[start..].to_vec(),
            cut,
        ),
        None => (200, String::new(), body.clone(), cut),
    };
    let (status, extra, body, cut) = match odd(&what, before) {
        Some(Reply::Status(status, code)) => {
            (status, format!("X-Error-Code: {code}\r\n"), Vec::new(), 0)
        }
        Some(Reply::Elsewhere) if request.host.starts_with("127.") => {
            let to = format!("Location: http://localhost:{port}{path}\r\n");
            (302, to, Vec::new(), 0)
        }
        Some(Reply::Bytes(bytes)) => (200, String::new(), bytes, usize::MAX),
        Some(Reply::Cut(cut)) => part(cut),
        _ if body.is_empty() => (404, "X-Error-Code: RepoNotFound\r\n".into(), Vec::new(), 0),
        Some(Reply::Elsewhere) | None => part(usize::MAX),
    };
    send(status, extra, &body, cut);
}
