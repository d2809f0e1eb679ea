//! Requests of clients that go away: their work counts until it ends.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::{Bytes, HttpBody};
use hyper::body::Frame;
use ir_core::{DocIds, EncodeError, Encoder, Ranking, Retriever, Search, SearchError, Side};
use tokio::task::JoinHandle;

use super::*;
use crate::app::tests::Gate;
use crate::config::{Collection, ServiceEncoder};

/// Collection without documents, and encoder, that wait for the gate.
struct Gated {
    gate: Arc<Gate>,
    ids: DocIds,
}

impl Retriever for Gated {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, _: &str, _: &Search<'_>) -> Result<Ranking, SearchError> {
        self.gate.pass();
        Ok(Ranking::default())
    }
}

impl Encoder for Gated {
    fn dim(&self) -> usize {
        1
    }

    fn encode_into(&self, side: Side, _: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        if side == Side::Query {
            self.gate.pass();
        }
        out.fill(1.0);
        Ok(())
    }
}

impl Gated {
    fn new() -> (Arc<Gate>, Arc<Self>) {
        let (gate, ids) = (Arc::default(), DocIds::new());
        let gated = Self {
            gate: Arc::clone(&gate),
            ids,
        };
        (gate, Arc::new(gated))
    }
}

/// A request that runs until it is aborted, as by a client that closes its connection.
fn start(server: &TestServer, path: &str, key: &str, body: Body) -> JoinHandle<u16> {
    let request = Request::post(path).header(header::AUTHORIZATION, key);
    let request = request.body(body).unwrap();
    let router = server.router.clone();
    server
        .runtime
        .spawn(async move { router.oneshot(request).await.unwrap().status().as_u16() })
}

fn abandon(server: &TestServer, request: JoinHandle<u16>) {
    request.abort();
    assert!(server.runtime.block_on(request).is_err());
}

/// Sends a request, abandons it while it works, and expects that no further one is permitted until
/// the work has ended.
#[track_caller]
fn check_abandoned(server: &TestServer, gate: &Gate, path: &str, body: &Value) {
    let first = start(server, path, &server.query, Body::from(body.to_string()));
    gate.wait_for(1);
    abandon(server, first);
    let status = || server.post(path, &server.query, body).0;
    assert_eq!(status(), 429);
    gate.open();
    wait_until(|| status() == 200);
}

/// Server that permits one request at a time, and searches a collection that waits for the gate.
fn with_gated_collection(time: Duration) -> (Arc<Gate>, TestServer) {
    let (gate, gated) = Gated::new();
    let collection = Collection {
        name: "gated".to_owned(),
        retriever: gated,
        attributes: Vec::new(),
    };
    let server = TestServer::with_config(|config| {
        config.limits.concurrency = 1;
        config.limits.time = time;
        config.collections.push(collection);
    });
    (gate, server)
}

const GATED: &str = "/v1/collections/gated/search";

#[test]
fn abandoned_searches_count_until_they_end() {
    let (gate, server) = with_gated_collection(Duration::from_secs(60));
    check_abandoned(&server, &gate, GATED, &json!({"query": "tea"}));
}

/// With an encoder, searches run in batches, without a thread per request.
#[test]
fn abandoned_batches_count_until_they_end() {
    let (gate, gated) = Gated::new();
    let server = TestServer::with_config(|config| {
        config.limits.concurrency = 1;
        config.encoder = Some(ServiceEncoder {
            name: "gated".to_owned(),
            encoder: gated,
        });
    });
    let body = json!({"data": [document("p", "Tea is hot.")], "auto_index": true});
    let (_, added) = server.post("/v1/index/add", &server.admin, &body);
    server.wait_for(&added);
    let body = json!({"query": {"query": "tea"}});
    check_abandoned(&server, &gate, "/v1/search/query", &body);
}

#[test]
fn searches_beyond_the_time_limit_count_until_they_end() {
    let (gate, server) = with_gated_collection(Duration::from_secs(2));
    let status = || {
        server
            .post(GATED, &server.query, &json!({"query": "tea"}))
            .0
    };
    assert_eq!(status(), 504);
    assert_eq!(status(), 429);
    gate.open();
    wait_until(|| status() == 200);
}

/// Body of an upload without an end.
struct Unfinished {
    /// Number of such bodies that are read. They are read after their permits are taken.
    read: Arc<AtomicUsize>,
    is_read: bool,
}

impl HttpBody for Unfinished {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if !std::mem::replace(&mut self.is_read, true) {
            self.read.fetch_add(1, Ordering::Relaxed);
        }
        Poll::Pending
    }
}

#[test]
fn uploads_at_the_same_time_are_bounded() {
    let server = TestServer::with_limits(|limits| limits.body_bytes = 8 << 10);
    let add = "/v1/index/add";
    let read = Arc::new(AtomicUsize::new(0));
    let unfinished = || {
        let body = Unfinished {
            read: Arc::clone(&read),
            is_read: false,
        };
        start(&server, add, &server.admin, Body::new(body))
    };
    let mut uploads: Vec<_> = (0..4).map(|_| unfinished()).collect();
    let upload = || {
        let body = json!({"data": [document("p", "Tea is hot.")]});
        server.post(add, &server.admin, &body)
    };
    wait_until(|| read.load(Ordering::Relaxed) == 4);
    let (status, rejected) = upload();
    assert_eq!(status, 429);
    let message = rejected["error"]["message"].as_str().unwrap();
    assert_eq!(message, "too many bytes of uploads at the same time");
    let (status, _) = server.post("/v1/index/delete", &server.admin, &json!({"doc_ids": []}));
    assert_eq!(status, 429);
    // Other requests, and uploads after the end of one of the four.
    assert_eq!(server.answers(json!({"query": "tea"})), [""; 0]);
    abandon(&server, uploads.remove(0));
    assert_eq!(upload().0, 200);
    for upload in uploads {
        abandon(&server, upload);
    }
    assert_eq!(upload().0, 200);
}
