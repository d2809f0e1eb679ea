//! Responses of the Hugging Face hub (feature `dense`): an invalid listing or file is rejected and
//! nothing is written outside the cache.
//!
//! A server on the loopback interface sends the input as the response to every request.
#![no_main]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use ir_core::NoProgress;
use ir_dense::{Hub, ModelCache};
use libfuzzer_sys::fuzz_target;

static RESPONSE: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn endpoint() -> &'static str {
    static ENDPOINT: OnceLock<String> = OnceLock::new();
    ENDPOINT.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut lines = BufReader::new(&stream).lines();
                while lines
                    .next()
                    .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
                {}
                let body = RESPONSE.lock().expect("no panic").clone();
                let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length:";
                let mut stream = &stream;
                let _ = write!(stream, "{head} {}\r\n\r\n", body.len());
                let _ = stream.write_all(&body);
            }
        });
        endpoint
    })
}

fuzz_target!(|bytes: &[u8]| {
    let hub = Hub::new(endpoint()).with_attempts(1, Duration::ZERO);
    *RESPONSE.lock().expect("no panic") = bytes.to_vec();
    let root = std::env::temp_dir().join(format!("ir-fuzz-hub-{}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    let cache = ModelCache::new(root.join("cache"));
    // The same bytes cannot be both a listing and the files that it lists.
    assert!(
        cache
            .fetch_from(&hub, "org/model", &mut NoProgress)
            .is_err()
    );
    assert_eq!(cache.find("org/model"), None);
    let outside = fs::read_dir(&root).into_iter().flatten().flatten();
    assert!(
        outside
            .map(|entry| entry.file_name())
            .all(|name| name == "cache")
    );
});
