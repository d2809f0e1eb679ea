//! Milvus: failures of the server, other servers and the cache, over a double in the process.

use std::time::Duration;

use crate::common::papers::{GRAPH, table};
use crate::common::{Fault, HttpDouble, assert_contains, quick};
use crate::milvus_double;
use crate::milvus_setup::{opened, remote_error, with_config};
use ir_core::{DocNum, DocSet, Flow, Retriever, Search};
use ir_engines::{
    ClientConfig, CollectionSchema, Credentials, EngineAddress, LoadOptions, LoadSource,
    MilvusCollection, MilvusIndex, RemoteError, RemoteVectorIndex, ResultCache, VectorTable,
};
use ir_testkit::toy;

fn collection(port: u16, name: &str) -> MilvusCollection {
    with_config("milvus", port, name, &quick())
}

fn load(server: &HttpDouble, scheme: &str, name: &str, table: &VectorTable) -> MilvusIndex {
    let remote = with_config(scheme, server.port, name, &quick());
    opened(&remote, &CollectionSchema::default(), table)
}

/// Responses of one API: a rejection, a document beyond the collection, and numbers of hits that
/// overflow.
const RESPONSES: [(&str, [&str; 3]); 2] = [
    (
        "milvus",
        [
            r#"{"status":{"error_code":1,"reason":"no memory"}}"#,
            r#"{"status":{},"results":{"topks":[1],"scores":[1],"ids":{"IdField":{"IntId":{"data":[99]}}}}}"#,
            r#"{"status":{},"results":{"topks":[18446744073709551615,2],"scores":[1],"ids":{"IdField":{"IntId":{"data":[9]}}}}}"#,
        ],
    ),
    (
        "milvus+v2",
        [
            r#"{"code":65535,"message":"no memory"}"#,
            r#"{"code":0,"data":[{"n":99,"distance":1}],"topks":[1]}"#,
            r#"{"code":0,"data":[{"n":9,"distance":1}],"topks":[18446744073709551615,2]}"#,
        ],
    ),
];

#[test]
fn failures_of_the_server_are_typed() {
    for (scheme, [rejected, beyond, overflow]) in RESPONSES {
        let (server, _) = milvus_double::start();
        let index = load(&server, scheme, "c", &table(30));
        let query = [1.0; 6];
        let search = || index.search(&query, &Search::top(3));
        let expected = search().unwrap();
        // One failure is repeated.
        for fault in [
            Fault::CloseBefore,
            Fault::HalfRequest,
            Fault::CloseAfter,
            Fault::Half,
            Fault::Garbage,
            Fault::Status(500, "panic"),
            Fault::Status(429, "slow down"),
        ] {
            server.fail("/search", fault);
            assert_eq!(search().unwrap(), expected);
        }
        let fail = |fault: Fault, count: usize| {
            server.fail_times("/search", &fault, count);
            let error = remote_error(search().unwrap_err());
            assert_eq!(server.open_faults(), 0, "{error}");
            error
        };
        let interrupted = [
            Fault::CloseBefore,
            Fault::HalfRequest,
            Fault::CloseAfter,
            Fault::Half,
        ];
        for fault in interrupted {
            let error = fail(fault, 3);
            assert_matches!(error, RemoteError::Unreachable { .. });
            let address = format!("127.0.0.1:{}/", server.port);
            assert_contains(&error, &address);
        }
        assert_matches!(fail(Fault::Garbage, 3), RemoteError::NotHttp { .. });
        for status in [429, 500, 503] {
            let error = fail(Fault::Status(status, "x"), 3);
            let is_named =
                matches!(error, RemoteError::Status { status: found, .. } if found == status);
            assert!(is_named && error.is_transient(), "{error:?}");
        }
        // No attempt can succeed: one request.
        for status in [401, 403] {
            let error = fail(Fault::Status(status, "expired"), 1);
            let is_named =
                matches!(error, RemoteError::Unauthorized { status: found, .. } if found == status);
            assert!(is_named, "{error:?}");
            assert_contains(&error, "IR_REMOTE_TOKEN");
        }
        for text in [
            "{\"half\":",
            "{}",
            "[]",
            "\"hello\"",
            "<html>",
            "",
            overflow,
        ] {
            let error = fail(Fault::Text(text), 1);
            let is_named = matches!(error, RemoteError::Response { .. });
            assert!(is_named, "{scheme} {text}: {error:?}");
        }
        let error = fail(Fault::Text(rejected), 1);
        assert_matches!(error, RemoteError::Rejected { .. });
        assert_contains(&error, "no memory");
        let error = fail(Fault::Text(beyond), 1);
        assert_contains(&error, "below 30, found 99");
        // A server that does not respond in time.
        let hasty = ClientConfig {
            timeout: Duration::from_secs(2),
            attempts: 1,
            ..quick()
        };
        let slow = with_config(scheme, server.port, "c", &hasty);
        let slow = slow.open().unwrap();
        server.fail("/search", Fault::Silence);
        let error = remote_error(slow.search(&query, &Search::top(3)).unwrap_err());
        assert_matches!(error, RemoteError::Timeout { .. });
        // More hits than the engine returns.
        assert!(index.search(&query, &Search::top(usize::MAX)).is_ok());
    }
}

/// Codes of responses with the status 200 that another attempt may resolve: limits of rates, a
/// service or collection that is not ready, the time limit of the server.
#[test]
fn transient_codes() {
    let v1 = [
        (
            r#"{"status":{"error_code":49,"code":8,"reason":"busy"}}"#,
            429,
        ),
        (r#"{"error_code":49,"reason":"busy"}"#, 429),
        (
            r#"{"status":{"error_code":1,"code":1,"reason":"busy"}}"#,
            503,
        ),
        (
            r#"{"error_code":56,"code":1,"reason":"busy","retriable":true}"#,
            503,
        ),
        (
            r#"{"status":{"error_code":1,"code":103,"reason":"busy"}}"#,
            503,
        ),
        (
            r#"{"status":{"error_code":1,"code":777,"reason":"busy","retriable":true}}"#,
            503,
        ),
        (
            r#"{"status":{"error_code":1,"code":10001,"reason":"busy"}}"#,
            504,
        ),
    ];
    let v2 = [
        (r#"{"code":8,"message":"busy"}"#, 429),
        (r#"{"code":1807,"message":"busy"}"#, 429),
        (r#"{"code":4,"message":"busy"}"#, 429),
        (r#"{"code":1,"message":"busy"}"#, 503),
        (r#"{"code":2,"message":"busy"}"#, 503),
        (r#"{"code":103,"message":"busy"}"#, 503),
        (r#"{"code":10001,"message":"busy"}"#, 504),
    ];
    for (scheme, codes) in [("milvus", v1), ("milvus+v2", v2)] {
        let (server, state) = milvus_double::start();
        let table = table(30);
        let index = load(&server, scheme, "c", &table);
        let remote = with_config(scheme, server.port, "c", &quick());
        let query = [1.0; 6];
        let expected = index.search(&query, &Search::top(3)).unwrap();
        let (schema, options) = (CollectionSchema::default(), LoadOptions { batch: 10 });
        let source = LoadSource::from_vectors(&table);
        let describe = if scheme == "milvus" {
            "/collection"
        } else {
            "/describe"
        };
        for (text, status) in codes {
            let fault = Fault::Text(text);
            for count in [2, 3] {
                let before = server.count("/search");
                server.fail_times("/search", &fault, count);
                server.fail_times(describe, &fault, count);
                let searched = index.search(&query, &Search::top(3));
                assert_eq!(server.count("/search") - before, 3, "{text}");
                let described = remote.record();
                assert_eq!(server.open_faults(), 0, "{text}");
                if count == 2 {
                    assert_eq!(searched.unwrap(), expected, "{text}");
                    assert!(described.unwrap().is_some(), "{text}");
                    continue;
                }
                for error in [remote_error(searched.unwrap_err()), described.unwrap_err()] {
                    assert!(error.is_transient(), "{error:?}");
                    let expected = format!("found HTTP status {status}: \"busy (code ");
                    assert_contains(&error, &expected);
                }
            }
            // An insertion is repeated after asking what arrived.
            let other = with_config(scheme, server.port, "d", &quick());
            other.remove().unwrap();
            let path = if scheme == "milvus" {
                "/entities"
            } else {
                "/entities/insert"
            };
            let mut busy = |stage: &str, done: u64, _: Option<u64>| {
                if stage == "loading" && done == 10 {
                    server.fail(path, fault.clone());
                    server.fail(path, fault.clone());
                }
                Flow::Continue
            };
            let report = other.load(&schema, &source, &options, &mut busy).unwrap();
            assert_eq!(report.inserted, 30, "{text}");
            assert_eq!(server.open_faults(), 0, "{text}");
            let rows = state.lock().unwrap().collections["d"].rows.len();
            assert_eq!(rows, if scheme == "milvus" { 30 } else { 31 }, "{text}");
        }
        // Other codes are not repeated.
        for code in [3, 9, 65_535] {
            let text = match scheme {
                "milvus" => {
                    format!(r#"{{"status":{{"error_code":1,"code":{code},"reason":"full"}}}}"#)
                }
                _ => format!(r#"{{"code":{code},"message":"full"}}"#),
            };
            let before = server.count("/search");
            server.fail("/search", Fault::Text(text.leak()));
            let error = remote_error(index.search(&query, &Search::top(3)).unwrap_err());
            assert_matches!(error, RemoteError::Rejected { .. });
            assert_eq!(server.count("/search") - before, 1, "{code}");
        }
    }
}

#[test]
fn other_servers() {
    let none = collection(1, "c").open().unwrap_err();
    assert_matches!(none, RemoteError::Unreachable { .. });
    let website = HttpDouble::start(|_, _, _| (404, "<html>".to_owned()));
    let error = collection(website.port, "c").open().unwrap_err();
    assert_contains(&error, "REST API /api/v1 of Milvus");
    let other = HttpDouble::start(|_, _, _| (200, "\"hello\"".to_owned()));
    assert_matches!(
        collection(other.port, "c").open(),
        Err(RemoteError::Response { .. })
    );
    let address: EngineAddress = format!("milvus+tls://127.0.0.1:{}/c", other.port)
        .parse()
        .unwrap();
    let tls = MilvusCollection::new(&address, &Credentials::default(), &quick()).unwrap();
    let error = tls.open().unwrap_err();
    assert_matches!(error, RemoteError::Tls { .. });
    let credentials = Credentials {
        authorization: Some("Bearer secret".to_owned()),
        ..Credentials::default()
    };
    let address: EngineAddress = format!("milvus://127.0.0.1:{}/c", other.port)
        .parse()
        .unwrap();
    let authorized = MilvusCollection::new(&address, &credentials, &quick()).unwrap();
    assert!(authorized.open().is_err());
    let sent = other.requests.lock().unwrap();
    let sent = sent.last().unwrap();
    assert_eq!(sent.authorization.as_deref(), Some("Bearer secret"));
}

#[test]
fn cached_results_need_no_server() {
    let (server, _) = milvus_double::start();
    let folder = tempfile::tempdir().unwrap();
    let cache = ResultCache::open(folder.path()).unwrap();
    let index = load(&server, "milvus", "c", &table(30)).with_cache(cache.clone());
    let queries = toy::vectors(4, 6);
    let search = |index: &MilvusIndex| {
        let batch: Vec<(&[f32], Search<'_>)> = queries
            .iter()
            .map(|query| (query.as_slice(), Search::top(5)))
            .collect();
        index.search_batch(&batch).unwrap()
    };
    let first = search(&index);
    let requests = server.count("/search");
    assert_eq!(search(&index), first);
    assert_eq!(server.count("/search"), requests);
    // Other documents have other entries.
    let other = load(&server, "milvus", "d", &table(31)).with_cache(cache);
    search(&other);
    assert!(server.count("/search") > requests);
}

/// A response that cannot be read is an error of one search, and no entry of the cache.
#[test]
fn damaged_responses_are_not_cached() {
    let damaged = [
        "{}",
        r#"{"code":0}"#,
        r#"{"status":{},"results":{"topks":[1],"scores":[1],"ids":{"IdField":{"IntId":{"data":[99]}}}}}"#,
        r#"{"code":0,"data":[{"n":99,"distance":1}],"topks":[1]}"#,
        r#"{"status":{},"results":{"topks":[1],"scores":[1e300],"ids":{"IdField":{"IntId":{"data":[9]}}}}}"#,
        r#"{"code":0,"data":[{"n":9,"distance":1e300}],"topks":[1]}"#,
    ];
    for scheme in ["milvus", "milvus+v2"] {
        let (server, _) = milvus_double::start();
        let index = load(&server, scheme, "c", &table(30));
        let expected = index.search(&[1.0; 6], &Search::top(3)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let index = index.with_cache(ResultCache::open(folder.path()).unwrap());
        for text in damaged {
            server.fail("/search", Fault::Text(text));
            let error = index.search(&[1.0; 6], &Search::top(3)).unwrap_err();
            let error = remote_error(error);
            let is_named = matches!(error, RemoteError::Response { .. });
            assert!(is_named, "{scheme} {text}: {error:?}");
            assert_eq!(server.open_faults(), 0);
            let entries = std::fs::read_dir(folder.path()).unwrap();
            assert_eq!(entries.count(), 0, "{scheme} {text}");
        }
        let search = || index.search(&[1.0; 6], &Search::top(3)).unwrap();
        assert_eq!(search(), expected);
        let requests = server.count("/search");
        assert_eq!(search(), expected);
        assert_eq!(server.count("/search"), requests);
    }
}

/// After a lost request, the numbers of documents that arrived are asked for.
#[test]
fn malformed_numbers_of_documents() {
    let v1 = [
        r#"{"status":{},"fields_data":[{"field_name":"count(*)","Field":{"Scalars":{"Data":{"LongData":{"data":[0]}}}}}]}"#,
        "{}",
        r#"{"status":{},"fields_data":[{"field_name":"n","Field":{"Scalars":{"Data":{"LongData":{"data":[4294967296]}}}}}]}"#,
    ];
    let v2 = [
        r#"{"code":0,"data":[{"count(*)":0}]}"#,
        r#"{"code":0,"data":{}}"#,
        r#"{"code":0,"data":[{"n":4294967296,"id":"v000"}]}"#,
    ];
    for (scheme, [count, malformed, beyond]) in [("milvus", v1), ("milvus+v2", v2)] {
        for (answer, expected) in [
            (malformed, "numbers"),
            (beyond, "document numbers from 0 to 29, found 4294967296"),
        ] {
            let (server, _) = milvus_double::start();
            let table = table(30);
            let remote = with_config(scheme, server.port, "c", &quick());
            let (schema, options) = (CollectionSchema::default(), LoadOptions::default());
            let source = LoadSource::from_vectors(&table);
            let mut lost = |stage: &str, _: u64, _: Option<u64>| {
                if stage == "loading" {
                    server.fail("/entities", Fault::CloseBefore);
                    server.fail("/query", Fault::Text(count));
                    server.fail("/query", Fault::Text(answer));
                }
                Flow::Continue
            };
            let error = remote
                .load(&schema, &source, &options, &mut lost)
                .unwrap_err();
            assert!(
                matches!(error, RemoteError::Response { .. }),
                "{scheme}: {error:?}"
            );
            assert!(error.to_string().contains(expected), "{scheme}: {error}");
            assert_eq!(server.open_faults(), 0);
        }
    }
}

/// An exact search without a filter has as many hits as requested; others may have fewer.
#[test]
fn missing_hits_of_exact_searches() {
    let responses = [
        (
            "milvus",
            r#"{"status":{},"results":{"topks":[1],"scores":[1],"ids":{"IdField":{"IntId":{"data":[9]}}}}}"#,
            r#"{"status":{},"results":{"topks":[0]}}"#,
        ),
        (
            "milvus+v2",
            r#"{"code":0,"data":[{"n":9,"distance":1}],"topks":[1]}"#,
            r#"{"code":0,"data":[]}"#,
        ),
    ];
    for (scheme, one, none) in responses {
        let (server, _) = milvus_double::start();
        let table = table(30);
        let open = |name: &str, vector_index: RemoteVectorIndex| {
            let remote = with_config(scheme, server.port, name, &quick());
            let schema = CollectionSchema::default().with_vector_index(vector_index);
            opened(&remote, &schema, &table)
        };
        let exact = open("c", RemoteVectorIndex::Exact);
        let graph = open("d", GRAPH);
        for (response, hits) in [(one, 1), (none, 0)] {
            server.fail("/search", Fault::Text(response));
            let error = exact.search(&[1.0; 6], &Search::top(3)).unwrap_err();
            let message = std::error::Error::source(&error).unwrap().to_string();
            let expected =
                format!("expected 11 hits of an exact search without a filter, found {hits}");
            assert!(message.contains(&expected), "{scheme}: {message}");
            server.fail("/search", Fault::Text(response));
            let found = graph.search(&[1.0; 6], &Search::top(3)).unwrap();
            assert_eq!(found.len(), hits, "{scheme}");
            let chosen: DocSet = [9, 11].into_iter().map(DocNum::new).collect();
            server.fail("/search", Fault::Text(response));
            let found = exact.search(&[1.0; 6], &Search::top(3).within(&chosen));
            assert_eq!(found.unwrap().len(), hits, "{scheme}");
        }
        assert_eq!(server.open_faults(), 0);
        assert_eq!(
            exact.search(&[1.0; 6], &Search::top(99)).unwrap().len(),
            30,
            "{scheme}"
        );
    }
}
