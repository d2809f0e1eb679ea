//! Recordings of the exchange with real servers, replayed: the client sends the requests of the
//! recording, and its results are those of the embedded index.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::common::{HttpDouble, quick};
use crate::elastic_double;
use crate::exchange;
use crate::replay_double::ReplayDouble;
use ir_core::{Document, NoProgress, Retriever, Search};
use ir_engines::{
    CollectionSchema, Credentials, ElasticCollection, EngineAddress, LoadOptions, LoadSource,
    MilvusCollection, Recorder, RemoteError, TextIndexing,
};

const MILVUS: &str = include_str!("../recordings/milvus-2.3.5.jsonl");

fn run(replay: &ReplayDouble) {
    exchange::run(&|name| {
        let address = format!("milvus://127.0.0.1:{}/{name}", replay.server.port);
        let address: EngineAddress = address.parse().unwrap();
        MilvusCollection::new(&address, &Credentials::default(), &quick()).unwrap()
    });
}

#[test]
fn milvus_over_rest() {
    let replay = ReplayDouble::start(MILVUS, "/api/v1");
    run(&replay);
    replay.finish();
}

/// A request that differs from the recording is found: method, path and body.
#[test]
fn differences_are_found() {
    let lines: Vec<&str> = MILVUS.lines().collect();
    let replaced = |name: &str, change: &dyn Fn(&mut serde_json::Value)| {
        let at = lines
            .iter()
            .position(|line| line.contains("\"path\":\"/search\""));
        let at = at.unwrap();
        let mut line: serde_json::Value = serde_json::from_str(lines[at]).unwrap();
        change(&mut line);
        let line = line.to_string();
        let mut all = lines.clone();
        all[at] = &line;
        let replay = ReplayDouble::start(&all.join("\n"), "/api/v1");
        let ran = catch_unwind(AssertUnwindSafe(|| run(&replay)));
        assert!(ran.is_err(), "{name}");
        let difference = replay.difference().unwrap();
        let expected = format!("line {} of the recording: expected {name} ", at + 1);
        assert!(difference.starts_with(&expected), "{difference}");
    };
    replaced("method", &|line| line["method"] = "GET".into());
    replaced("path", &|line| line["path"] = "/query".into());
    replaced("request", &|line| line["request"]["nq"] = 3.into());
    // A request more than the recording has, and one less.
    let shorter = lines[..lines.len() - 1].join("\n");
    let replay = ReplayDouble::start(&shorter, "/api/v1");
    assert!(catch_unwind(AssertUnwindSafe(|| run(&replay))).is_err());
    assert!(
        replay
            .difference()
            .unwrap()
            .contains("expected method null")
    );
    let last = lines[lines.len() - 1];
    let longer = format!("{MILVUS}{last}\n");
    let replay = ReplayDouble::start(&longer, "/api/v1");
    run(&replay);
    assert_eq!((replay.remaining(), replay.difference()), (1, None));
}

/// A recording of any exchange over REST is replayed: here with the double of Elasticsearch, lines
/// of JSON and errors included.
#[test]
fn recordings_of_elasticsearch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exchange.jsonl");
    let corpus: Vec<Document> = (0..12)
        .map(|n| Document::new(format!("p{n:02}")).with_text(format!("tea number {n}")))
        .collect();
    let run = |port: u16, recorder: Option<Arc<Recorder>>| {
        let address = format!("elasticsearch://127.0.0.1:{port}/papers");
        let address: EngineAddress = address.parse().unwrap();
        let index = ElasticCollection::new(&address, &Credentials::default(), &quick()).unwrap();
        let index = match recorder {
            Some(recorder) => index.with_recorder(recorder),
            None => index,
        };
        let error = index.open_texts().unwrap_err();
        assert_matches!(error, RemoteError::NoCollection { .. });
        let (schema, texts) = (CollectionSchema::default(), TextIndexing::default());
        let (source, options) = (
            LoadSource::from_documents(&corpus),
            LoadOptions { batch: 5 },
        );
        let loaded = index.load(&schema, Some(&texts), &source, &options, &mut NoProgress);
        assert_eq!(loaded.unwrap().inserted, 12);
        let opened = index.open_texts().unwrap();
        opened.search("7 tea", &Search::top(3)).unwrap()
    };
    let (server, _) = elastic_double::start();
    let recorder = Arc::new(Recorder::create(&path).unwrap());
    let expected = run(server.port, Some(recorder));
    assert_eq!(expected.len(), 3);
    let replay = ReplayDouble::start(&std::fs::read_to_string(&path).unwrap(), "");
    assert_eq!(run(replay.server.port, None), expected);
    replay.finish();
}

/// Clients give their credentials to the recorder, which then removes what servers repeat of them.
#[test]
fn credentials_are_not_recorded() {
    let folder = tempfile::tempdir().unwrap();
    for engine in ["milvus", "milvus+v2", "elasticsearch", "opensearch"] {
        let path = folder.path().join(format!("{engine}.jsonl"));
        let recorder = Arc::new(Recorder::create(&path).unwrap());
        let server = HttpDouble::start(|_, _, _| {
            let reason = "no right for hunter2, aHVudGVyMg==";
            let body = serde_json::json!({"reason": reason, "user": "hunter2", "data": [reason]});
            (200, body.to_string())
        });
        let credentials = Credentials {
            authorization: Some("Bearer root:hunter2".to_owned()),
            ..Credentials::default()
        };
        let address = format!("{engine}://127.0.0.1:{}/papers", server.port);
        let address: EngineAddress = address.parse().unwrap();
        let failed = if engine.starts_with("milvus") {
            let collection = MilvusCollection::new(&address, &credentials, &quick()).unwrap();
            collection.with_recorder(recorder).open().map(|_| ())
        } else {
            let index = ElasticCollection::new(&address, &credentials, &quick()).unwrap();
            index.with_recorder(recorder).open_texts().map(|_| ())
        };
        assert!(failed.is_err(), "{engine}");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.contains("no right for …, …") && text.contains("\"user\":\"…\""),
            "{text}"
        );
        assert!(
            !text.contains("hunter2") && !text.contains("aHVudGVyMg"),
            "{text}"
        );
    }
}
