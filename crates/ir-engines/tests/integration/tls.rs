//! TLS of all engines: trusted, untrusted, expired and foreign certificates, and servers without
//! TLS, over doubles in the process.

use std::error::Error;

use crate::common::{HttpDouble, assert_contains, quick};
use crate::elastic_double;
use crate::milvus_double;
use crate::tls_double::Authority;
use ir_core::{DocIds, Document, NoProgress, Retriever, Search};
use ir_engines::{
    CollectionSchema, Credentials, ElasticCollection, EngineAddress, LoadOptions, LoadSource,
    MilvusCollection, RemoteError, TextIndexing, VectorTable,
};
use ir_testkit::toy;

fn trusting(pem: &str) -> Credentials {
    Credentials {
        root_certificates: Some(pem.as_bytes().to_vec()),
        ..Credentials::default()
    }
}

fn address(scheme: &str, host: &str, port: u16) -> EngineAddress {
    format!("{scheme}://{host}:{port}/papers").parse().unwrap()
}

/// Reads the record of the collection over any engine.
fn record(address: &EngineAddress, credentials: &Credentials) -> Result<(), RemoteError> {
    let engine = address.to_string();
    if engine.starts_with("milvus") {
        let collection = MilvusCollection::new(address, credentials, &quick())?;
        return collection.record().map(|_| ());
    }
    let collection = ElasticCollection::new(address, credentials, &quick())?;
    collection.record().map(|_| ())
}

fn chain(error: &RemoteError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// Loads and searches documents.
fn round_trip(address: &EngineAddress, credentials: &Credentials) {
    let ids: DocIds = (0..20).map(|n| format!("v{n:02}")).collect();
    let table = VectorTable::new(ids, 6, toy::vectors(20, 6).concat()).unwrap();
    let corpus: Vec<Document> = (0..20)
        .map(|n| Document::new(format!("v{n:02}")).with_text(format!("tea number {n}")))
        .collect();
    let (schema, options) = (CollectionSchema::default(), LoadOptions { batch: 7 });
    let source = LoadSource::from_vectors(&table).with_documents(&corpus);
    let all = Search::top(99);
    let vectors = |index: &dyn Retriever<Query = [f32]>| {
        assert_eq!(
            index.search(&[1.0; 6], &all).unwrap().len(),
            20,
            "{address}"
        );
    };
    if address.to_string().starts_with("milvus") {
        let collection = MilvusCollection::new(address, credentials, &quick()).unwrap();
        let loaded = collection.load(&schema, &source, &options, &mut NoProgress);
        assert_eq!(loaded.unwrap().inserted, 20, "{address}");
        vectors(&collection.open().unwrap());
        return;
    }
    let collection = ElasticCollection::new(address, credentials, &quick()).unwrap();
    let texts = TextIndexing::default();
    let loaded = collection.load(&schema, Some(&texts), &source, &options, &mut NoProgress);
    assert_eq!(loaded.unwrap().inserted, 20, "{address}");
    vectors(&collection.open_vectors().unwrap());
    let texts = collection.open_texts().unwrap();
    assert_eq!(texts.search("tea", &all).unwrap().len(), 20, "{address}");
}

/// Double of the engine of a scheme.
fn double(scheme: &str) -> HttpDouble {
    if scheme.starts_with("milvus") {
        milvus_double::start().0
    } else {
        elastic_double::start().0
    }
}

const SCHEMES: [&str; 4] = ["milvus", "milvus+v2", "elasticsearch", "opensearch"];

#[test]
fn collections_over_tls() {
    let authority = Authority::new("The authority of a test");
    for scheme in SCHEMES {
        let server = double(scheme);
        let tls = authority.start(server.port, &["127.0.0.1", "localhost"]);
        let credentials = Credentials {
            authorization: Some("Bearer of-the-test".to_owned()),
            ..trusting(&authority.pem)
        };
        for host in ["127.0.0.1", "localhost"] {
            let address = address(&format!("{scheme}+tls"), host, tls.port);
            match host {
                "127.0.0.1" => round_trip(&address, &credentials),
                _ => record(&address, &credentials).unwrap(),
            }
        }
        // One connection per client.
        assert_eq!(*tls.handshakes.lock().unwrap(), 2, "{scheme}");
        assert!(server.requests.lock().unwrap().len() > 6, "{scheme}");
        let sent = server.requests.lock().unwrap();
        let mut sent = sent.iter().map(|it| it.authorization.as_deref());
        assert!(sent.all(|it| it == Some("Bearer of-the-test")), "{scheme}");
    }
}

/// No request, and so no credential, reaches a server whose certificate is not trusted.
#[test]
fn certificates_that_are_not_trusted() {
    let authority = Authority::new("The authority of a test");
    let other = Authority::new("Another authority");
    let schemes = [&SCHEMES[..], GRPC].concat();
    for scheme in schemes {
        let server = double(scheme);
        let credentials = trusting(&authority.pem);
        let ours = &["127.0.0.1"][..];
        for (tls, credentials, cause) in [
            // By the bundled authorities, and by the one of the credentials.
            (
                authority.start(server.port, ours),
                &Credentials::default(),
                "UnknownIssuer",
            ),
            (
                other.start(server.port, ours),
                &credentials,
                "UnknownIssuer",
            ),
            (
                authority.start(server.port, &["search.example.org"]),
                &credentials,
                "certificate not valid for name \"127.0.0.1\"",
            ),
            (
                authority.start_until(server.port, ours, 2001),
                &credentials,
                "certificate expired",
            ),
        ] {
            let address = address(&format!("{scheme}+tls"), "127.0.0.1", tls.port);
            let error = record(&address, credentials).unwrap_err();
            assert!(
                matches!(error, RemoteError::Tls { .. }),
                "{scheme} {cause}: {error:?}"
            );
            assert!(!error.is_transient());
            let (text, url) = (chain(&error), format!("https://127.0.0.1:{}/", tls.port));
            assert!(text.contains(cause), "{scheme}: expected {cause} in {text}");
            assert!(text.starts_with(&url), "{text}");
            assert_contains(&text, "IR_REMOTE_CA");
            assert_eq!(*tls.handshakes.lock().unwrap(), 0, "{scheme} {cause}");
            // Another attempt is pointless.
            assert_eq!(*tls.connections.lock().unwrap(), 1, "{scheme} {cause}");
        }
        assert!(server.requests.lock().unwrap().is_empty(), "{scheme}");
    }
}

#[cfg(feature = "milvus-grpc")]
#[test]
fn grpc_over_tls() {
    let authority = Authority::new("The authority of a test");
    let server = crate::grpc_double::GrpcDouble::start();
    let tls = authority.start(server.port, &["127.0.0.1"]);
    let address = address("milvus+grpc+tls", "127.0.0.1", tls.port);
    let collection = MilvusCollection::new(&address, &trusting(&authority.pem), &quick()).unwrap();
    assert_eq!(collection.record().unwrap(), None);
    assert_eq!(*tls.handshakes.lock().unwrap(), 1);
}

#[cfg(feature = "milvus-grpc")]
const GRPC: &[&str] = &["milvus+grpc"];
#[cfg(not(feature = "milvus-grpc"))]
const GRPC: &[&str] = &[];

#[test]
fn tls_and_a_server_without() {
    let authority = Authority::new("The authority of a test");
    for scheme in [&SCHEMES[..], GRPC].concat() {
        let server = double(scheme);
        let credentials = trusting(&authority.pem);
        let with = address(&format!("{scheme}+tls"), "127.0.0.1", server.port);
        let error = record(&with, &credentials).unwrap_err();
        assert!(
            matches!(error, RemoteError::Tls { .. }),
            "{scheme}: {error:?}"
        );
        assert_contains(&error, "the scheme has no `+tls`");
        let tls = authority.start(server.port, &["127.0.0.1"]);
        let without = address(scheme, "127.0.0.1", tls.port);
        let error = record(&without, &Credentials::default()).unwrap_err();
        let is_named = match scheme {
            "milvus+grpc" => matches!(error, RemoteError::Response { .. }),
            _ => matches!(error, RemoteError::NotHttp { .. }),
        };
        assert!(is_named, "{scheme}: {error:?}");
        assert_contains(&error, "the scheme ends in `+tls`");
        assert!(server.requests.lock().unwrap().is_empty(), "{scheme}");
    }
}

#[test]
fn certificates_that_cannot_be_read() {
    for scheme in [&SCHEMES[..], GRPC].concat() {
        let address = address(&format!("{scheme}+tls"), "127.0.0.1", 1);
        for pem in [
            "",
            "no certificate",
            "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
        ] {
            let error = record(&address, &trusting(pem)).unwrap_err();
            let is_named = matches!(
                error,
                RemoteError::Credentials {
                    variable: "IR_REMOTE_CA",
                    ..
                }
            );
            assert!(is_named, "{scheme} {pem:?}: {error:?}");
        }
    }
}
