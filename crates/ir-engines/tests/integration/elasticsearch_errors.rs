//! Elasticsearch and OpenSearch: bad input and failures of the server in every operation, over a
//! double in the process. Not tried against a real cluster.

use std::net::TcpListener;
use std::time::Duration;

use crate::common::papers::table;
use crate::common::{Fault, HttpDouble, assert_contains, quick};
use crate::elastic_corpus::{documents, load, remote_error, schema};
use crate::elastic_double;
use crate::elastic_setup::{ENGINES, collection};
use ir_core::{DocNum, Retriever, Search};
use ir_engines::{ClientConfig, Credentials, ElasticCollection, EngineAddress, RemoteError};
use serde_json::json;

fn with_config(
    engine: &str,
    port: u16,
    credentials: &Credentials,
    config: &ClientConfig,
) -> ElasticCollection {
    let address = format!("{engine}://127.0.0.1:{port}/c");
    let address: EngineAddress = address.parse().unwrap();
    ElasticCollection::new(&address, credentials, config).unwrap()
}

/// Operation over a loaded index, and the path of a request that it sends.
type Operation<'a> = (&'static str, Box<dyn Fn() -> Result<(), RemoteError> + 'a>);

/// All operations that read the index. `remote` is opened with `opened`, whose requests succeed.
fn operations<'a>(
    remote: &'a ElasticCollection,
    opened: &'a ElasticCollection,
) -> Vec<Operation<'a>> {
    let (texts, vectors) = (opened.open_texts().unwrap(), opened.open_vectors().unwrap());
    let again = texts.clone();
    let (corpus, table) = (documents(20), table(20));
    let top = || Search::top(3);
    vec![
        ("/_mapping", Box::new(|| remote.open_texts().map(|_| ()))),
        ("/_count", Box::new(|| remote.open_texts().map(|_| ()))),
        ("/_search", Box::new(|| remote.open_vectors().map(|_| ()))),
        (
            "/_refresh",
            Box::new(move || load(remote, &schema(), &corpus, &table)),
        ),
        (
            "/_msearch",
            Box::new(move || {
                let found = texts.search("tea", &top()).map_err(remote_error)?;
                assert_eq!(found.len(), 3);
                Ok(())
            }),
        ),
        (
            "/_msearch",
            Box::new(move || {
                let found = vectors.search(&[1.0; 6], &top()).map_err(remote_error)?;
                assert_eq!(found.len(), 3);
                Ok(())
            }),
        ),
        (
            "/_explain",
            Box::new(move || {
                let explained = again
                    .explain("tea", DocNum::new(7), &top())
                    .map_err(remote_error)?;
                assert!(explained.is_some());
                Ok(())
            }),
        ),
    ]
}

/// Name of the variant of an error.
fn variant(error: &RemoteError) -> String {
    let text = format!("{error:?}");
    text.chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect()
}

#[test]
fn failures_of_the_server_are_typed() {
    for engine in ENGINES {
        let (server, _) = elastic_double::start();
        let remote = collection(&server, engine, "c");
        load(&remote, &schema(), &documents(20), &table(20)).unwrap();
        for (path, operation) in operations(&remote, &remote) {
            let fail = |fault: &Fault, count: usize| {
                let before = server.count(path);
                server.fail_times(path, fault, count);
                let result = operation();
                assert_eq!(server.open_faults(), 0, "{engine} {path} {fault:?}");
                (result, server.count(path) - before)
            };
            // One failure is repeated; an attempt more is an error.
            for (fault, expected, part) in [
                (Fault::CloseBefore, "Unreachable", "interrupted"),
                (Fault::HalfRequest, "Unreachable", "interrupted"),
                (Fault::CloseAfter, "Unreachable", "interrupted"),
                (Fault::Half, "Unreachable", "interrupted"),
                (
                    Fault::Garbage,
                    "NotHttp",
                    "expected HTTP, found another protocol (Milvus over gRPC has the scheme `milvus+grpc`",
                ),
                (
                    Fault::Status(429, "slow down"),
                    "Status",
                    "429: \"slow down\"",
                ),
                (Fault::Status(500, "panic"), "Status", "500: \"panic\""),
                (
                    Fault::Status(503, "no master"),
                    "Status",
                    "503: \"no master\"",
                ),
            ] {
                let (result, _) = fail(&fault, 2);
                assert!(result.is_ok(), "{engine} {path} {fault:?}: {result:?}");
                let error = fail(&fault, 3).0.unwrap_err();
                assert_eq!(
                    variant(&error),
                    expected,
                    "{engine} {path} {fault:?}: {error:?}"
                );
                assert!(error.is_transient(), "{error:?}");
                let text = error.to_string();
                let address = format!("127.0.0.1:{}/c/", server.port);
                assert!(
                    text.contains(&address) && text.contains(part),
                    "{path}: {text}"
                );
            }
            // No further attempt can succeed.
            for (fault, expected, part) in [
                (
                    Fault::Status(401, "expired"),
                    "Unauthorized",
                    "expected valid credentials in IR_REMOTE_TOKEN",
                ),
                (
                    Fault::Status(403, "no role"),
                    "Unauthorized",
                    "found HTTP status 403",
                ),
                (
                    Fault::Status(400, "parsing_exception"),
                    "Rejected",
                    "parsing_exception",
                ),
                (
                    Fault::Status(404, "<html>"),
                    "Response",
                    "expected the REST API of",
                ),
                (
                    Fault::Status(405, "no"),
                    "Response",
                    "expected the REST API of",
                ),
                (
                    Fault::Status(404, "index_not_found_exception"),
                    "NoCollection",
                    "load it first",
                ),
                (
                    Fault::Text("{\"half\":"),
                    "Response",
                    "expected JSON, found 8 bytes that begin \"{\\\"half\\\":\"",
                ),
                (Fault::Text("<html>"), "Response", "expected JSON"),
                (
                    Fault::Text("\"hello\""),
                    "Response",
                    "expected a JSON object",
                ),
                (Fault::Text("[]"), "Response", "expected a JSON object"),
                (Fault::Text("{}"), "Response", "found {}"),
                (
                    Fault::Text(
                        "{\"hits\":{\"hits\":[{}]},\"count\":\"4\",\"responses\":[{\"hits\":{\"hits\":[{\"_score\":1,\"_source\":{\"n\":\"4\"}}]}}],\"c\":[],\"matched\":true,\"explanation\":{\"value\":\"1\"}}",
                    ),
                    "Response",
                    "expected",
                ),
            ] {
                // Nothing of the response to a refresh is read.
                if path == "/_refresh"
                    && matches!(fault, Fault::Text(text) if text.starts_with('{') && text.ends_with('}'))
                {
                    continue;
                }
                // Loading creates an index that is missing.
                let (result, requests) = fail(&fault, 1);
                let error = result.unwrap_err();
                assert_eq!(
                    variant(&error),
                    expected,
                    "{engine} {path} {fault:?}: {error:?}"
                );
                assert!(!error.is_transient(), "{error:?}");
                assert!(
                    error.to_string().contains(part),
                    "{path} {fault:?}: {error}"
                );
                assert!(requests <= 2, "{path} {fault:?}: {requests} requests");
            }
            operation().unwrap();
        }
    }
}

/// A search is repeated when the cluster rejects one of a request because it is busy.
#[test]
fn searches_that_are_rejected_one_by_one() {
    for engine in ENGINES {
        let (server, _) = elastic_double::start();
        let remote = collection(&server, engine, "c");
        load(&remote, &schema(), &documents(20), &table(20)).unwrap();
        let index = remote.open_texts().unwrap();
        let search = || index.search("7", &Search::top(3)).map_err(remote_error);
        let expected = search().unwrap();
        let busy = Fault::Text(
            r#"{"responses":[{"error":{"type":"es_rejected_execution_exception"},"status":429}]}"#,
        );
        for count in 1..=3 {
            server.fail_times("/_msearch", &busy, count);
            let before = server.count("/_msearch");
            match search() {
                Ok(found) => assert!(found == expected && count < 3),
                Err(error) => {
                    assert!(count == 3 && error.is_transient(), "{error:?}");
                    let text = error.to_string();
                    let parts = ["HTTP status 429", "es_rejected_execution_exception"];
                    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
                }
            }
            assert_eq!(server.open_faults(), 0);
            assert_eq!(server.count("/_msearch") - before, 3.min(count + 1));
        }
        let invalid = r#"{"responses":[{"error":{"type":"parsing_exception"},"status":400}]}"#;
        let before = server.count("/_msearch");
        server.fail("/_msearch", Fault::Text(invalid));
        let error = search().unwrap_err();
        assert_matches!(error, RemoteError::Rejected { .. });
        assert_eq!(server.count("/_msearch") - before, 1);
    }
}

#[test]
fn slow_servers() {
    let hasty = ClientConfig {
        timeout: Duration::from_secs(2),
        attempts: 1,
        ..quick()
    };
    for engine in ENGINES {
        let (server, _) = elastic_double::start();
        let remote = collection(&server, engine, "c");
        load(&remote, &schema(), &documents(20), &table(20)).unwrap();
        let hasty = with_config(engine, server.port, &Credentials::default(), &hasty);
        for (path, operation) in operations(&hasty, &hasty) {
            server.fail(path, Fault::Silence);
            let error = operation().unwrap_err();
            assert!(
                matches!(error, RemoteError::Timeout { .. }),
                "{path}: {error:?}"
            );
            let text = error.to_string();
            let expected = "no complete response within the time limit";
            assert!(text.contains(expected) && text.contains(path), "{text}");
            // The connection without a response is not used again.
            operation().unwrap();
        }
    }
}

#[test]
fn loading_fails_at_every_request() {
    for engine in ENGINES {
        for (path, fault, is_retried) in [
            ("/_bulk", Fault::Status(401, "expired"), false),
            ("/_bulk", Fault::Status(403, "no role"), false),
            ("/_bulk", Fault::Text("{"), false),
            ("/_bulk", Fault::Text("{}"), false),
            (
                "/_bulk",
                Fault::Text(r#"{"items":[{"index":{"status":201}}]}"#),
                false,
            ),
            ("/_bulk", Fault::Status(500, "panic"), true),
            ("/_bulk", Fault::Status(503, "busy"), true),
            ("/_refresh", Fault::Status(403, "no role"), false),
            ("/_refresh", Fault::Status(500, "panic"), true),
            ("/_count", Fault::Text(r#"{"count":-1}"#), false),
            ("/_count", Fault::Status(500, "panic"), true),
        ] {
            let (server, state) = elastic_double::start();
            let remote = collection(&server, engine, "c");
            let (corpus, table) = (documents(20), table(20));
            let run = || load(&remote, &schema(), &corpus, &table);
            // The client and the loop of batches repeat.
            let count = if is_retried { 9 } else { 1 };
            server.fail_times(path, &fault, count);
            let error = run().unwrap_err();
            assert_eq!(
                error.is_transient(),
                is_retried,
                "{path} {fault:?}: {error:?}"
            );
            assert!(server.count(path) > 0);
            // The next call completes the index.
            while server.open_faults() > 0 {
                assert!(run().is_err());
            }
            run().unwrap();
            let state = state.lock().unwrap();
            assert_eq!(state.indexes["c"].visible.len(), 20, "{path} {fault:?}");
        }
    }
}

/// Results of single documents: rejected ones are errors that name the document.
#[test]
fn rejected_documents() {
    let (server, _) = elastic_double::start();
    let remote = collection(&server, "elasticsearch", "c");
    let (corpus, table) = (documents(2), table(2));
    let results = |second: &str| {
        format!(r#"{{"items":[{{"index":{{"status":201}}}},{{"index":{second}}}]}}"#)
    };
    let full = results(r#"{"status":429,"error":{"type":"es_rejected_execution_exception"}}"#);
    let full: &'static str = full.leak();
    server.fail_times("/_bulk", &Fault::Text(full), 3);
    let error = load(&remote, &schema(), &corpus, &table).unwrap_err();
    assert_matches!(error, RemoteError::Status { status: 429, .. });
    assert_eq!(server.open_faults(), 0);
    let invalid = results(r#"{"status":400,"error":{"type":"document_parsing_exception"}}"#);
    server.fail("/_bulk", Fault::Text(invalid.leak()));
    let error = load(&remote, &schema(), &corpus, &table).unwrap_err();
    let text = error.to_string();
    assert_matches!(error, RemoteError::Document { number: 2, .. });
    assert_contains(&text, "document 2 (v001)");
    assert_contains(&text, "document_parsing_exception");
    load(&remote, &schema(), &corpus, &table).unwrap();
}

#[test]
fn other_servers() {
    for engine in ENGINES {
        // A port that was free a moment ago.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let none = with_config(engine, port, &Credentials::default(), &quick());
        for result in [
            none.open_texts().map(|_| ()),
            none.remove(),
            load(&none, &schema(), &documents(2), &table(2)),
        ] {
            let error = result.unwrap_err();
            assert_matches!(error, RemoteError::Unreachable { .. });
            let expected = format!("http://127.0.0.1:{port}/c");
            let text = error.to_string();
            assert!(
                text.starts_with(&expected) && text.contains("no server"),
                "{text}"
            );
        }
        // Another service: a website, the REST API of Milvus, and one of another engine.
        for (status, body) in [
            (404, "<html>"),
            (405, "404 page not found"),
            (200, "<html>"),
            (200, "\"hello\""),
            (200, r#"{"status":{},"schema":{}}"#),
            (200, r#"{"code":0,"data":{}}"#),
        ] {
            let other = HttpDouble::start(move |_, _, _| (status, body.to_owned()));
            let remote = collection(&other, engine, "c");
            for result in [
                remote.open_texts().map(|_| ()),
                remote.open_vectors().map(|_| ()),
                load(&remote, &schema(), &documents(2), &table(2)),
            ] {
                let error = result.unwrap_err();
                let is_named = matches!(error, RemoteError::Response { .. });
                assert!(is_named, "{engine} {status} {body}: {error:?}");
            }
            // Nothing is created on it.
            let requests = other.requests.lock().unwrap();
            assert!(requests.iter().all(|it| it.method == "GET"), "{requests:?}");
        }
    }
}

/// Credentials are sent, and occur in no message, even if the server repeats them.
#[test]
fn credentials() {
    let server = HttpDouble::start(|_, _, _| {
        let body = json!({"error": "unable to authenticate hunter2 ApiKey hunter2"});
        (401, body.to_string())
    });
    let remote = |authorization: Option<&str>| {
        let credentials = Credentials {
            authorization: authorization.map(str::to_owned),
            ..Credentials::default()
        };
        with_config("elasticsearch", server.port, &credentials, &quick())
    };
    for (authorization, status) in [(None, 401), (Some("ApiKey hunter2"), 401)] {
        let collection = remote(authorization);
        for error in [
            collection.open_texts().map(|_| ()).unwrap_err(),
            load(&collection, &schema(), &documents(2), &table(2)).unwrap_err(),
            collection.remove().unwrap_err(),
        ] {
            let text = format!("{error} {error:?}");
            let is_named =
                matches!(error, RemoteError::Unauthorized { status: found, .. } if found == status);
            assert!(is_named, "{error:?}");
            assert!(
                text.contains("IR_REMOTE_API_KEY") && !text.contains("hunter2"),
                "{text}"
            );
        }
        let sent = server.requests.lock().unwrap();
        let sent = sent.last().unwrap();
        assert_eq!(sent.authorization.as_deref(), authorization);
    }
    // One request per operation.
    assert_eq!(server.requests.lock().unwrap().len(), 6);
}
