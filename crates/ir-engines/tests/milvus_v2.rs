//! Milvus over `/v2/vectordb`: contract, filters, loading and errors, over a double in the process
//! with the responses of Milvus 2.4 and of later versions.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
#[path = "common/milvus_double.rs"]
mod milvus_double;

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use common::{Fault, HttpDouble, quick};
use ir_core::{
    Attributes, DocIds, Document, Flow, NoProgress, Predicate, Ranking, Retriever, Search,
};
use ir_engines::{
    AttributeType, CollectionSchema, Credentials, EngineAddress, LoadOptions, LoadSource,
    MilvusCollection, RemoteError, RemoteVectorIndex, VectorTable,
};
use ir_knn::{FlatIndex, VectorSimilarity};
use ir_testkit::toy;
use milvus_double::MilvusState;

const BATCH: LoadOptions = LoadOptions { batch: 7 };
const GRAPH: RemoteVectorIndex = RemoteVectorIndex::Hnsw {
    m: 16,
    ef_construction: 100,
};

/// Double of Milvus 2.4, or of a later version.
fn start(is_v2_4: bool) -> (HttpDouble, Arc<Mutex<MilvusState>>) {
    let (server, state) = milvus_double::start();
    state.lock().unwrap().is_v2_4 = is_v2_4;
    (server, state)
}

fn collection(server: &HttpDouble, name: &str) -> MilvusCollection {
    let address = format!("milvus+v2://127.0.0.1:{}/{name}", server.port);
    let address: EngineAddress = address.parse().unwrap();
    MilvusCollection::new(&address, &Credentials::default(), &quick()).unwrap()
}

fn table(n: usize) -> VectorTable {
    let ids: DocIds = (0..n).map(|n| format!("v{n:03}")).collect();
    VectorTable::new(ids, 6, toy::vectors(n, 6).concat()).unwrap()
}

#[test]
fn contract() {
    for is_v2_4 in [false, true] {
        for (similarity, index) in [
            (VectorSimilarity::InnerProduct, RemoteVectorIndex::Exact),
            (VectorSimilarity::Euclidean, GRAPH),
        ] {
            let (server, _) = start(is_v2_4);
            let next = Cell::new(0);
            ir_testkit::check_vectors(|ids: DocIds, vectors: Vec<Vec<f32>>| {
                next.set(next.get() + 1);
                let dim = vectors.first().map_or(6, Vec::len);
                let table = VectorTable::new(ids.clone(), dim, vectors.concat()).unwrap();
                let opened = collection(&server, &format!("c{}", next.get()));
                let schema = CollectionSchema::default()
                    .with_similarity(similarity)
                    .with_vector_index(index);
                let source = LoadSource::from_vectors(&table);
                opened
                    .load(&schema, &source, &BATCH, &mut NoProgress)
                    .unwrap();
                let opened = opened.open().unwrap();
                let embedded =
                    FlatIndex::from_row_major(ids, dim, vectors.concat(), similarity).unwrap();
                let docs =
                    |ranking: &Ranking| -> Vec<_> { ranking.iter().map(|hit| hit.doc).collect() };
                for query in toy::vectors(3, dim) {
                    let one = opened.search(&query, &Search::top(5)).unwrap();
                    let other = embedded.search(&query, &Search::top(5)).unwrap();
                    assert_eq!(docs(&one), docs(&other), "{similarity}");
                }
                opened
            });
        }
    }
}

fn documents(n: usize) -> Vec<Document> {
    let document = |at: usize| {
        let mut document = Document::new(format!("v{at:03}"));
        if !at.is_multiple_of(4) {
            document = document.with("year", 2000 + at as i64 % 20);
        }
        if !at.is_multiple_of(3) {
            document = document.with("venue", ["ACL", "a\"b\\", ""][at % 7 % 3]);
        }
        if !at.is_multiple_of(5) {
            document = document.with("x", at as f64 / 3.0 - 5.0);
        }
        document.with("open", at.is_multiple_of(2))
    };
    (0..n).map(document).collect()
}

fn schema() -> CollectionSchema {
    CollectionSchema::default()
        .with_attribute("year", AttributeType::Integer)
        .with_attribute("venue", AttributeType::Text)
        .with_attribute("x", AttributeType::Number)
        .with_attribute("open", AttributeType::Boolean)
        .with_partition_key("venue")
}

#[test]
fn conditions_are_exact() {
    for is_v2_4 in [false, true] {
        let (server, _) = start(is_v2_4);
        let (table, corpus) = (table(60), documents(60));
        let source = LoadSource::from_vectors(&table).with_documents(&corpus);
        let remote = collection(&server, "c");
        remote
            .load(&schema(), &source, &BATCH, &mut NoProgress)
            .unwrap();
        let index = remote.open().unwrap();
        let queries = toy::vectors(4, 6);
        let all = Search::top(60);
        let unfiltered: Vec<Ranking> = queries
            .iter()
            .map(|query| index.search(query, &all).unwrap())
            .collect();
        assert!(unfiltered.iter().all(|ranking| ranking.len() == 60));
        for text in [
            "year<=2007.5",
            "year>=2008",
            "year=2003,2005",
            "year!=2003",
            "year",
            "venue=a\"b\\",
            "venue!=ACL",
            "x>=2.5",
            "open=true",
            "venue<=3",
        ] {
            let condition: Predicate = text.parse().unwrap();
            let passes = |attributes: &Attributes| condition.matches(attributes);
            for k in [3, 60] {
                let searches: Vec<_> = queries
                    .iter()
                    .map(|query| (&query[..], k, Some(&condition)))
                    .collect();
                let found = index.search_where(&searches).unwrap();
                for (found, all) in found.iter().zip(&unfiltered) {
                    let expected = all
                        .clone()
                        .retain(|hit| passes(&corpus[hit.doc.index()].attributes));
                    assert_eq!(*found, expected.top(k), "{text}");
                }
            }
        }
    }
}

#[test]
fn interrupted_loading_neither_loses_nor_doubles() {
    for is_v2_4 in [false, true] {
        for fault in [
            Fault::CloseBefore,
            Fault::HalfRequest,
            Fault::CloseAfter,
            Fault::Half,
            Fault::Status(503, "busy"),
            Fault::Text(r#"{"code":1807,"message":"rate limit exceeded"}"#),
        ] {
            let (server, state) = start(is_v2_4);
            let table = table(50);
            let source = LoadSource::from_vectors(&table);
            let schema = CollectionSchema::default();
            let remote = collection(&server, "c");
            let load = |progress: &mut dyn ir_core::Progress| {
                remote.load(&schema, &source, &BATCH, progress)
            };
            let numbers = || -> Vec<i64> {
                let state = state.lock().unwrap();
                let rows = state.collections["c"].rows.iter();
                let mut all: Vec<i64> = rows.map(|row| row["n"].as_i64().unwrap()).collect();
                all.sort_unstable();
                all
            };
            // A call stops in every step of the creation, and the next one resumes.
            for path in [
                "/collections/create",
                "/indexes/create",
                "/collections/load",
                "/entities/upsert",
            ] {
                for _ in 0..3 {
                    server.fail(path, fault.clone());
                }
                let stopped = load(&mut NoProgress);
                assert!(
                    stopped.is_err_and(|error| error.is_transient()),
                    "{path} {fault:?}"
                );
                while server.open_faults() > 0 {
                    // Not every fault is repeated by the client.
                    assert!(load(&mut NoProgress).is_err(), "{path} {fault:?}");
                }
            }
            let mut batches = 0;
            let mut third = |stage: &str, _: u64, _: Option<u64>| {
                batches += usize::from(stage == "loading");
                if stage == "loading" && batches == 3 {
                    server.fail("/entities/insert", fault.clone());
                    server.fail("/entities/insert", fault.clone());
                }
                Flow::Continue
            };
            load(&mut third).unwrap();
            assert_eq!(server.open_faults(), 0, "{fault:?}");
            assert_eq!(numbers(), (-1..50).collect::<Vec<_>>(), "{fault:?}");
            let report = load(&mut NoProgress).unwrap();
            assert_eq!((report.inserted, report.created), (0, false));
            // Lost and doubled documents are repaired, of two batches and of one.
            for lost in [30, 5] {
                {
                    let mut state = state.lock().unwrap();
                    let rows = &mut state.collections.get_mut("c").unwrap().rows;
                    let doubled = rows.iter().find(|row| row["n"] == 3).unwrap().clone();
                    rows.retain(|row| row["n"] != lost);
                    rows.push(doubled);
                }
                assert!(load(&mut NoProgress).unwrap().inserted > 0);
                assert_eq!(numbers(), (-1..50).collect::<Vec<_>>(), "{fault:?}");
            }
            let index = remote.open().unwrap();
            assert_eq!(index.search(&[1.0; 6], &Search::top(60)).unwrap().len(), 50);
        }
    }
}

#[test]
fn errors() {
    let (server, state) = start(false);
    let (first, longer) = (table(10), table(11));
    let schema = CollectionSchema::default();
    let remote = collection(&server, "c");
    let load = |schema: &CollectionSchema, table: &VectorTable| {
        let source = LoadSource::from_vectors(table);
        remote.load(schema, &source, &BATCH, &mut NoProgress)
    };
    assert!(matches!(
        remote.open(),
        Err(RemoteError::NoCollection { .. })
    ));
    load(&schema, &first).unwrap();
    let conflict = |result: Result<_, RemoteError>| match result {
        Err(RemoteError::Conflict { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(conflict(load(&schema, &longer)), "number of documents");
    let graph = schema.clone().with_vector_index(GRAPH);
    assert_eq!(conflict(load(&graph, &first)), "vector index");
    let euclidean = schema.clone().with_similarity(VectorSimilarity::Euclidean);
    assert_eq!(conflict(load(&euclidean, &first)), "similarity");
    let with_year = schema
        .clone()
        .with_attribute("year", AttributeType::Integer);
    assert_eq!(conflict(load(&with_year, &first)), "attributes");
    let ids = |prefix: &str| (0..10).map(|n| format!("{prefix}{n:03}")).collect();
    let wide = VectorTable::new(ids("v"), 8, toy::vectors(10, 8).concat()).unwrap();
    assert_eq!(conflict(load(&schema, &wide)), "dimension");
    let mut values = toy::vectors(10, 6).concat();
    values[50] += 0.25;
    let changed = VectorTable::new(ids("v"), 6, values).unwrap();
    assert_eq!(conflict(load(&schema, &changed)), "fingerprint");
    let renamed = VectorTable::new(ids("w"), 6, toy::vectors(10, 6).concat()).unwrap();
    assert_eq!(conflict(load(&schema, &renamed)), "fingerprint");
    let unknown = remote
        .open()
        .unwrap()
        .with_condition("year<=3".parse().unwrap());
    assert!(matches!(unknown, Err(RemoteError::Filter { .. })));
    let index = remote.open().unwrap();
    let search = |fault: Fault| {
        server.fail("/entities/search", fault);
        let error = index.search(&[1.0; 6], &Search::top(3)).unwrap_err();
        std::error::Error::source(&error).unwrap().to_string()
    };
    let code = |text| search(Fault::Text(text));
    assert!(code(r#"{"code":65535,"message":"no memory"}"#).contains("no memory (code 65535)"));
    assert!(code(r#"{"code":1800,"message":"x"}"#).contains("IR_REMOTE_TOKEN"));
    assert!(code("{}").contains("a code of Milvus 2.4 or later"));
    assert!(code(r#"{"code":0}"#).contains("hits of 1 queries"));
    let beyond = r#"{"code":0,"data":[{"n":99,"distance":1}],"topks":[1]}"#;
    assert!(code(beyond).contains("below 10, found 99"));
    // Other data without a record, or with other fields, stays as it is.
    {
        let mut state = state.lock().unwrap();
        let rows = &mut state.collections.get_mut("c").unwrap().rows;
        rows.retain(|row| row["n"].as_i64() != Some(-1));
    }
    for result in [
        load(&schema, &first).map(|_| ()),
        load(
            &schema.clone().with_attribute("a", AttributeType::Text),
            &first,
        )
        .map(|_| ()),
        remote.open().map(|_| ()),
    ] {
        assert!(
            matches!(result, Err(RemoteError::ForeignCollection { .. })),
            "{result:?}"
        );
    }
    assert_eq!(state.lock().unwrap().collections["c"].rows.len(), 10);
    // The document of the record belongs to the collection of the other API.
    let v1 = format!("milvus://127.0.0.1:{}/c", server.port);
    let v1: EngineAddress = v1.parse().unwrap();
    let v1 = MilvusCollection::new(&v1, &Credentials::default(), &quick()).unwrap();
    assert!(matches!(
        v1.open(),
        Err(RemoteError::ForeignCollection { .. })
    ));
    remote.remove().unwrap();
    remote.remove().unwrap();
    assert!(state.lock().unwrap().collections.is_empty());
    let website = HttpDouble::start(|_, _, _| (404, "<html>".to_owned()));
    let error = collection(&website, "c").open().unwrap_err().to_string();
    assert!(
        error.contains("the REST API /v2/vectordb of Milvus 2.4 or later (port 19530)"),
        "{error}"
    );
}

/// Hits of several queries are divided by the response, or else searched one by one.
#[test]
fn batches_of_queries() {
    for is_v2_4 in [false, true] {
        let (server, _) = start(is_v2_4);
        let (table, corpus) = (table(30), documents(30));
        let source = LoadSource::from_vectors(&table).with_documents(&corpus);
        let remote = collection(&server, "c");
        remote
            .load(&schema(), &source, &BATCH, &mut NoProgress)
            .unwrap();
        let index = remote.open().unwrap();
        let queries = toy::vectors(9, 6);
        let few: Predicate = "year=2003".parse().unwrap();
        let expected = corpus
            .iter()
            .filter(|document| few.matches(&document.attributes));
        let expected = expected.count();
        let before = server.count("/entities/search");
        let searches: Vec<_> = queries
            .iter()
            .map(|query| (&query[..], 20, Some(&few)))
            .collect();
        let found = index.search_where(&searches).unwrap();
        let lengths: Vec<usize> = found.iter().map(Ranking::len).collect();
        assert_eq!(lengths, vec![expected; 9]);
        let requests = server.count("/entities/search") - before;
        assert_eq!(requests, if is_v2_4 { 10 } else { 1 });
    }
}
