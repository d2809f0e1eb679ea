//! Errors of the gRPC client without a Milvus server. `milvus_lite_server` has the others.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use crate::common::{assert_contains, quick};
use crate::grpc_double::{GrpcDouble, GrpcFault, Part};
use ir_core::{Document, NoProgress};
use ir_engines::{
    ClientConfig, CollectionSchema, Credentials, LoadOptions, LoadSource, MilvusCollection,
    RemoteError, TextAnalysis, TextIndexing, VectorTable,
};

fn collection(address: &str) -> MilvusCollection {
    let address = address.parse().unwrap();
    MilvusCollection::new(&address, &Credentials::default(), &quick()).unwrap()
}

#[test]
fn no_server() {
    // A port that was free a moment ago.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let remote = collection(&format!("milvus+grpc://127.0.0.1:{port}/papers"));
    let error = remote.open().unwrap_err();
    assert_matches!(error, RemoteError::Unreachable { .. });
    let message = error.to_string();
    assert!(
        message.contains(&format!("127.0.0.1:{port}")) && message.contains("no server"),
        "{message}"
    );
    // On a thread of another runtime, where blocking on a future panics.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let error = remote.record().unwrap_err();
        assert_matches!(error, RemoteError::Unreachable { .. });
        drop(remote);
    });
}

/// Port of a server that answers every connection in HTTP/1.1. It reads until the client closes: a
/// server that closes first may reset the connection before the client has read the response.
fn http_1_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || {
                let mut stream = stream.unwrap();
                let mut bytes = [0; 4096];
                let mut has_responded = false;
                while matches!(stream.read(&mut bytes), Ok(1..)) {
                    if !has_responded {
                        let response = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
                        let _ = stream.write_all(response);
                        has_responded = true;
                    }
                }
            });
        }
    });
    port
}

#[test]
fn another_service() {
    let port = http_1_server();
    let remote = collection(&format!("milvus+grpc://127.0.0.1:{port}/papers"));
    let error = remote.open().unwrap_err();
    let message = error.to_string();
    assert!(message.contains("gRPC"), "{error:?}");
    // TLS with a server that has none.
    let remote = collection(&format!("milvus+grpc+tls://127.0.0.1:{port}/papers"));
    let error = remote.open().unwrap_err();
    assert_matches!(error, RemoteError::Tls { .. });
}

#[test]
fn interrupted_within_a_request() {
    let server = GrpcDouble::start();
    let address = format!("127.0.0.1:{}", server.port);
    let remote = collection(&format!("milvus+grpc://{address}/papers"));
    assert_eq!(remote.record().unwrap(), None);
    for part in [
        Part::Nothing,
        Part::HalfOfTheHeaders,
        Part::Headers,
        Part::HalfOfTheMessage,
        Part::Message,
    ] {
        // One failure is repeated.
        server.fail(GrpcFault::Interruption(part), 1);
        assert_eq!(remote.record().unwrap(), None, "{part:?}");
        server.fail(GrpcFault::Interruption(part), 3);
        let error = remote.record().unwrap_err();
        assert!(
            matches!(error, RemoteError::Unreachable { .. }),
            "{part:?}: {error:?}"
        );
        let message = error.to_string();
        assert!(
            message.contains(&address) && message.contains("interrupted"),
            "{message}"
        );
        assert_eq!(server.open_faults(), 0);
        assert_eq!(remote.record().unwrap(), None, "{part:?}");
    }
}

#[test]
fn statuses_of_calls() {
    let server = GrpcDouble::start();
    let remote = collection(&format!("milvus+grpc://127.0.0.1:{}/papers", server.port));
    let fail = |fault: GrpcFault, count: usize| {
        let before = server.calls();
        server.fail(fault, count);
        let result = remote.record();
        assert_eq!(server.open_faults(), 0, "{fault:?}: {result:?}");
        (result, server.calls() - before)
    };
    let busy = GrpcFault::Message(b"\x0a\x0a\x08\x01\x12\x04busy\x18\x08");
    let loading = GrpcFault::Message(b"\x0a\x0c\x08\x01\x12\x04busy\x18\x67\x20\x01");
    // Resource exhausted, aborted, unavailable, the limit of rates, and a retriable status.
    for (fault, part) in [
        (GrpcFault::Status(8), "of-the-test"),
        (GrpcFault::Status(10), "of-the-test"),
        (GrpcFault::Status(14), "no server"),
        (busy, "HTTP status 429: \"busy (code 8)\""),
        (loading, "HTTP status 503: \"busy (code 103)\""),
    ] {
        let (result, calls) = fail(fault, 2);
        assert_eq!((result.unwrap(), calls), (None, 3), "{fault:?}");
        let (result, calls) = fail(fault, 3);
        let error = result.unwrap_err();
        assert!(error.is_transient() && calls == 3, "{fault:?}: {error:?}");
        assert_contains(&error, part);
    }
    // Unauthenticated, permission denied, unimplemented, invalid argument; damaged messages, and
    // errors of Milvus that stay.
    let invalid = GrpcFault::Message(b"\x0a\x0b\x08\x01\x12\x04busy\x18\xcc\x08");
    for (fault, part) in [
        (
            GrpcFault::Status(16),
            "expected valid credentials in IR_REMOTE_TOKEN",
        ),
        (GrpcFault::Status(7), "found HTTP status 403"),
        (
            GrpcFault::Status(12),
            "expected the gRPC API of Milvus (port 19530)",
        ),
        (GrpcFault::Status(3), "expected a response of Milvus"),
        (GrpcFault::Message(b"\xff\xff\xff"), "expected"),
        (GrpcFault::Message(b"\x0a\x7f"), "expected"),
        (
            invalid,
            "Milvus rejects the request to describe the collection: busy",
        ),
    ] {
        let (result, calls) = fail(fault, 1);
        let error = result.unwrap_err();
        assert!(!error.is_transient() && calls == 1, "{fault:?}: {error:?}");
        assert!(error.to_string().contains(part), "{fault:?}: {error}");
    }
    assert_eq!(remote.record().unwrap(), None);
}

#[test]
fn slow_servers() {
    let server = GrpcDouble::start();
    let address = format!("milvus+grpc://127.0.0.1:{}/papers", server.port);
    let config = ClientConfig {
        timeout: Duration::from_millis(700),
        attempts: 2,
        ..quick()
    };
    let address = address.parse().unwrap();
    let remote = MilvusCollection::new(&address, &Credentials::default(), &config).unwrap();
    assert_eq!(remote.record().unwrap(), None);
    server.fail(GrpcFault::Late, 2);
    let error = remote.record().unwrap_err();
    assert_matches!(error, RemoteError::Timeout { .. });
    let text = error.to_string();
    assert_contains(&text, "no complete response within the time limit");
    // The late responses come first.
    assert_eq!(remote.record().unwrap(), None);
}

#[test]
fn invalid_schemas() {
    let remote = collection("milvus+grpc://127.0.0.1:1/papers");
    let table = VectorTable::new(["a"].into_iter().collect(), 2, vec![1.0, 2.0]).unwrap();
    let papers = vec![Document::new("a").with_text("tea")];
    let load = |remote: &MilvusCollection, texts: &TextIndexing| {
        let source = LoadSource::from_vectors(&table).with_documents(&papers);
        let (schema, options) = (CollectionSchema::default(), LoadOptions::default());
        let loaded =
            remote.load_with_texts(&schema, Some(texts), &source, &options, &mut NoProgress);
        loaded.unwrap_err().to_string()
    };
    let message = load(&remote, &TextIndexing::default());
    assert_contains(&message, "found anserini");
    let standard = TextIndexing {
        analysis: TextAnalysis::LuceneStandard,
        ..TextIndexing::default()
    };
    let message = load(
        &remote,
        &TextIndexing {
            k1: 0.0,
            ..standard
        },
    );
    assert_contains(&message, "k1 above 0");
    let message = load(&remote, &TextIndexing { b: 2.0, ..standard });
    assert_contains(&message, "b from 0 to 1");
    let rest = collection("milvus://127.0.0.1:1/papers");
    let message = load(&rest, &standard);
    assert_contains(&message, "expected milvus+grpc://");
    let message = rest.open_texts().unwrap_err().to_string();
    assert_contains(&message, "expected milvus+grpc://");
}
