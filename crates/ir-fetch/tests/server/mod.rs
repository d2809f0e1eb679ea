//! HTTP server on the loopback interface for tests of downloads.
#![allow(dead_code, reason = "each test file uses a part")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Response of the server to one request.
#[derive(Clone, Copy, Debug)]
pub enum Reply {
    /// The requested range or complete file.
    Serve,
    /// The requested range, interrupted after this number of bytes of the body.
    Cut(usize),
    /// The complete file whatever the range, interrupted after this number of bytes of the body.
    NoRanges(usize),
    /// Another range than the requested one.
    WrongRange,
    /// A status and no body.
    Status(u16),
    /// No response: the connection is closed at once.
    Silence,
}

#[derive(Debug)]
pub struct Server {
    pub address: String,
    /// Header `Range` of every request so far; empty if absent.
    pub ranges: Arc<Mutex<Vec<String>>>,
}

/// Serves `content` on the loopback interface. Request `n` gets reply `n`, later ones the last
/// reply.
pub fn server(content: Vec<u8>, replies: &[Reply]) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/file", listener.local_addr().unwrap());
    let ranges = Arc::new(Mutex::new(Vec::new()));
    let (seen, replies) = (Arc::clone(&ranges), replies.to_vec());
    std::thread::spawn(move || {
        for (n, stream) in listener.incoming().enumerate() {
            let reply = replies[n.min(replies.len() - 1)];
            answer(stream.unwrap(), &content, reply, &seen);
        }
    });
    Server { address, ranges }
}

fn answer(mut stream: TcpStream, content: &[u8], reply: Reply, ranges: &Mutex<Vec<String>>) {
    let mut range = String::new();
    for line in BufReader::new(stream.try_clone().unwrap()).lines() {
        let line = line.unwrap_or_default();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("range: ") {
            value.clone_into(&mut range);
        }
    }
    ranges.lock().unwrap().push(range.clone());
    let start = range
        .strip_prefix("bytes=")
        .and_then(|range| range.strip_suffix('-'))
        .map(|start| start.parse::<usize>().unwrap());
    let (status, extra, body, cut) = match (reply, start) {
        (Reply::Silence, _) => return,
        (Reply::Status(status), _) => (status, String::new(), &b""[..], usize::MAX),
        (Reply::NoRanges(cut), _) => (200, String::new(), content, cut),
        (Reply::WrongRange, _) => (
            206,
            "Content-Range: bytes 0-9/100\r\n".into(),
            &content[..10],
            usize::MAX,
        ),
        (Reply::Serve | Reply::Cut(_), Some(start)) if start >= content.len() => (
            416,
            format!("Content-Range: bytes */{}\r\n", content.len()),
            &b""[..],
            usize::MAX,
        ),
        (Reply::Serve | Reply::Cut(_), start) => {
            let from = start.unwrap_or(0);
            let extra = match start {
                Some(_) => format!(
                    "Content-Range: bytes {from}-{}/{}\r\n",
                    content.len() - 1,
                    content.len()
                ),
                None => "ETag: \"v1\"\r\n".to_owned(),
            };
            let cut = if let Reply::Cut(cut) = reply {
                cut
            } else {
                usize::MAX
            };
            (
                if start.is_some() { 206 } else { 200 },
                extra,
                &content[from..],
                cut,
            )
        }
    };
    let head = format!(
        "HTTP/1.1 {status} Whatever\r\nContent-Length: {}\r\n{extra}Connection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(&body[..cut.min(body.len())]);
    let _ = stream.flush();
}
