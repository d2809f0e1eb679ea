//! Milvus: contract, filters and loading, over a double in the process.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;
#[path = "common/milvus_double.rs"]
mod milvus_double;

use std::collections::BTreeMap;

use common::{Fault, HttpDouble, quick};
use ir_core::{
    Attributes, Corpus, DocIds, Document, Flow, NoProgress, Predicate, Retriever, Search,
    SearchError,
};
use ir_engines::{
    AttributeType, CollectionSchema, Credentials, EngineAddress, LoadOptions, LoadSource,
    MilvusCollection, RemoteError, RemoteVectorIndex, VectorTable,
};
use ir_knn::{FlatIndex, VectorSimilarity};
use ir_testkit::toy;
use serde_json::Value;

fn collection(port: u16, name: &str) -> MilvusCollection {
    let address: EngineAddress = format!("milvus://127.0.0.1:{port}/{name}").parse().unwrap();
    MilvusCollection::new(&address, &Credentials::default(), &quick()).unwrap()
}

fn table(n: usize) -> VectorTable {
    let ids: DocIds = (0..n).map(|n| format!("v{n:03}")).collect();
    VectorTable::new(ids, 6, toy::vectors(n, 6).concat()).unwrap()
}

const BATCH: LoadOptions = LoadOptions { batch: 7 };

#[test]
fn contract() {
    for similarity in [VectorSimilarity::InnerProduct, VectorSimilarity::Euclidean] {
        let (server, _) = milvus_double::start();
        let next = std::cell::Cell::new(0);
        let build = |ids: DocIds, vectors: Vec<Vec<f32>>| {
            next.set(next.get() + 1);
            let dim = vectors.first().map_or(6, Vec::len);
            let embedded =
                FlatIndex::from_row_major(ids.clone(), dim, vectors.concat(), similarity).unwrap();
            let table = VectorTable::new(ids, dim, vectors.concat()).unwrap();
            let remote_index = load(&server, &format!("c{}", next.get()), similarity, &table);
            // The scores of ir-knn, and so its order.
            for query in toy::vectors(3, dim) {
                let top = Search::top(5);
                let (one, other) = (
                    remote_index.search(&query, &top).unwrap(),
                    embedded.search(&query, &top).unwrap(),
                );
                let docs = |ranking: &ir_core::Ranking| -> Vec<_> {
                    ranking.iter().map(|hit| hit.doc).collect()
                };
                assert_eq!(docs(&one), docs(&other), "{similarity}");
            }
            remote_index
        };
        ir_testkit::check_vectors(build);
    }
}

fn load(
    server: &HttpDouble,
    name: &str,
    similarity: VectorSimilarity,
    table: &VectorTable,
) -> ir_engines::MilvusIndex {
    let collection = collection(server.port, name);
    let schema = CollectionSchema::default().with_similarity(similarity);
    let source = LoadSource::from_vectors(table);
    collection
        .load(&schema, &source, &BATCH, &mut NoProgress)
        .unwrap();
    collection.open().unwrap()
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
        document
            .with("open", at.is_multiple_of(2))
            .with("ignored", vec!["list"])
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

/// Cosine similarity has no zero vectors, which the contract suite has.
#[test]
fn cosine() {
    let (server, _) = milvus_double::start();
    let mut random = ir_core::SplitMix64::new(1, 1);
    let mut values = |n: usize| -> Vec<f32> {
        let all = 0..n * 6;
        all.map(|_| random.below(1000) as f32 / 500.0 - 0.9)
            .collect()
    };
    let ids: DocIds = (0..40).map(|n| format!("v{n:03}")).collect();
    let documents = values(40);
    let table = VectorTable::new(ids.clone(), 6, documents.clone()).unwrap();
    let remote = load(&server, "c", VectorSimilarity::Cosine, &table);
    let embedded = FlatIndex::from_row_major(ids, 6, documents, VectorSimilarity::Cosine).unwrap();
    for query in values(5).chunks(6) {
        let (one, other) = (
            remote.search(query, &Search::top(40)).unwrap(),
            embedded.search(query, &Search::top(40)).unwrap(),
        );
        for (a, b) in one.iter().zip(&other) {
            assert_eq!(a.doc, b.doc);
            assert!((a.score - b.score).abs() < 1e-6);
        }
    }
    let zero = remote.search(&[0.0; 6], &Search::top(3));
    assert!(matches!(zero, Err(SearchError::ZeroVector)));
    let zeros = VectorTable::new(["a"].into_iter().collect(), 6, vec![0.0; 6]).unwrap();
    let schema = CollectionSchema::default().with_similarity(VectorSimilarity::Cosine);
    let loaded = collection(server.port, "z").load(
        &schema,
        &LoadSource::from_vectors(&zeros),
        &BATCH,
        &mut NoProgress,
    );
    assert!(matches!(
        loaded,
        Err(RemoteError::Document { number: 1, .. })
    ));
}

#[test]
fn conditions_are_exact() {
    let (server, _) = milvus_double::start();
    let (table, corpus) = (table(60), documents(60));
    let source = LoadSource::from_vectors(&table).with_documents(&corpus);
    let remote = collection(server.port, "c");
    remote
        .load(&schema(), &source, &BATCH, &mut NoProgress)
        .unwrap();
    let index = remote.open().unwrap();
    let query = &toy::vectors(1, 6)[0];
    let all = index.search(query, &Search::top(60)).unwrap();
    let conditions = [
        "year<=2007.5",
        "year>=2008",
        "year=2003,2005",
        "year!=2003",
        "year",
        "venue=ACL",
        "venue=a\"b\\",
        "venue!=ACL",
        "x<=-1",
        "x>=2.5",
        "open=true",
        "open!=true",
        "venue<=3",
    ];
    let mut predicates: Vec<Predicate> = conditions
        .iter()
        .map(|text| text.parse().unwrap())
        .collect();
    predicates.push(Predicate::All(predicates[..2].to_vec()));
    predicates.push(Predicate::Any(vec![
        predicates[0].clone(),
        predicates[5].clone(),
    ]));
    predicates.push(Predicate::Not(Box::new(predicates[14].clone())));
    predicates.push(Predicate::Any(Vec::new()));
    for predicate in &predicates {
        let passes = |attributes: &Attributes| predicate.matches(attributes);
        let expected = all
            .clone()
            .retain(|hit| passes(&corpus[hit.doc.index()].attributes));
        for k in [3, 60] {
            let found = index.search_where(&[(query, k, Some(predicate))]).unwrap();
            assert_eq!(found[0], expected.clone().top(k), "{predicate:?}");
        }
        let fixed = index.clone().with_condition(predicate.clone()).unwrap();
        assert_eq!(
            fixed.search(query, &Search::top(60)).unwrap(),
            expected,
            "{predicate:?}"
        );
    }
    let unknown: Predicate = "ignored".parse().unwrap();
    assert!(matches!(
        index.search_where(&[(query, 3, Some(&unknown))]),
        Err(RemoteError::Filter { .. })
    ));
    assert!(index.with_condition(unknown).is_err());
}

#[test]
fn interrupted_loading_neither_loses_nor_doubles() {
    for fault in [
        Fault::CloseBefore,
        Fault::HalfRequest,
        Fault::CloseAfter,
        Fault::Half,
        Fault::Status(503, "busy"),
        Fault::Garbage,
    ] {
        let (server, state) = milvus_double::start();
        let table = table(50);
        let remote = collection(server.port, "c");
        let source = LoadSource::from_vectors(&table);
        for path in ["/entities", "/collection", "/query", "/index", "/entities"] {
            server.fail(path, fault.clone());
        }
        let schema = CollectionSchema::default();
        remote
            .load(&schema, &source, &BATCH, &mut NoProgress)
            .unwrap();
        assert_eq!(server.open_faults(), 0, "{fault:?}");
        let numbers = |collection: &str| -> Vec<u64> {
            let state = state.lock().unwrap();
            let rows = state.collections[collection].rows.iter();
            let mut all: Vec<u64> = rows.map(|row| row["n"].as_u64().unwrap()).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(numbers("c"), (0..50).collect::<Vec<_>>(), "{fault:?}");

        // Too many failures stop the call; the next one continues.
        let remote = collection(server.port, "d");
        let mut batches = 0;
        let mut third = |stage: &str, _: u64, _: Option<u64>| {
            if stage == "loading" {
                batches += 1;
                if batches == 3 {
                    for _ in 0..3 {
                        server.fail("/entities", fault.clone());
                    }
                }
            }
            Flow::Continue
        };
        let stopped = remote.load(&schema, &source, &BATCH, &mut third);
        if matches!(fault, Fault::CloseAfter | Fault::Half) {
            // The documents arrived, which the next attempt finds.
            assert!(
                stopped.is_ok_and(|report| report.inserted <= 50),
                "{fault:?}"
            );
        } else {
            assert!(
                stopped.is_err_and(|error| error.is_transient()),
                "{fault:?}"
            );
            assert!(matches!(remote.open(), Err(RemoteError::Incomplete { .. })));
        }
        let report = remote
            .load(&schema, &source, &BATCH, &mut NoProgress)
            .unwrap();
        assert!(!report.created && report.inserted <= 36, "{report:?}");
        assert_eq!(numbers("d"), (0..50).collect::<Vec<_>>(), "{fault:?}");
        // Complete: nothing is sent.
        let report = remote
            .load(&schema, &source, &BATCH, &mut NoProgress)
            .unwrap();
        assert_eq!((report.inserted, report.documents), (0, 50));
    }
}

#[test]
fn interrupted_indexing_is_resumed() {
    let (server, _) = milvus_double::start();
    let table = table(20);
    let remote = collection(server.port, "c");
    let source = LoadSource::from_vectors(&table);
    let schema = CollectionSchema {
        vector_index: RemoteVectorIndex::Hnsw {
            m: 16,
            ef_construction: 200,
        },
        ..CollectionSchema::default()
    };
    let without = r#"{"status":{},"index_descriptions":[{"indexed_rows":0,"total_rows":20}]}"#;
    let load = |flow: Flow| {
        let mut stages = Vec::new();
        let mut progress = |stage: &str, _: u64, _: Option<u64>| {
            // After the request that creates the index.
            if stage == "verifying" && !stages.contains(&stage.to_owned()) {
                server.fail("/index", Fault::Text(without));
                server.fail("/index", Fault::Text(without));
            }
            stages.push(stage.to_owned());
            match stage {
                "indexing" => flow,
                _ => Flow::Continue,
            }
        };
        let loaded = remote.load(&schema, &source, &BATCH, &mut progress);
        (loaded, stages)
    };
    let (stopped, _) = load(Flow::Stop);
    assert!(matches!(stopped, Err(RemoteError::Canceled)), "{stopped:?}");
    assert_eq!(server.count("/persist"), 1);
    // All documents are there, but not the index: the next call waits for it.
    let (loaded, stages) = load(Flow::Continue);
    assert_eq!(loaded.unwrap().inserted, 0);
    assert!(stages.contains(&"indexing".to_owned()), "{stages:?}");
    assert_eq!((server.count("/persist"), server.open_faults()), (2, 0));
    // Complete: the server writes no segments again.
    let report = remote.load(&schema, &source, &BATCH, &mut NoProgress);
    assert_eq!(report.unwrap().inserted, 0);
    assert_eq!(server.count("/persist"), 2);
}

#[test]
fn lost_and_doubled_documents_are_repaired() {
    let (server, state) = milvus_double::start();
    let table = table(50);
    let remote = collection(server.port, "c");
    let source = LoadSource::from_vectors(&table);
    let schema = CollectionSchema::default();
    remote
        .load(&schema, &source, &BATCH, &mut NoProgress)
        .unwrap();
    // In different batches, and in one batch, whose number of documents does not change.
    for (doubled, lost) in [(3, 30), (3, 5), (49, 49)] {
        {
            let mut state = state.lock().unwrap();
            let rows = &mut state.collections.get_mut("c").unwrap().rows;
            let at = |number: u64| move |row: &BTreeMap<String, Value>| row["n"] == number;
            let row = rows.iter().find(|row| at(doubled)(row)).unwrap().clone();
            rows.retain(|row| !at(lost)(row));
            rows.push(row);
        }
        let report = remote
            .load(&schema, &source, &BATCH, &mut NoProgress)
            .unwrap();
        assert_eq!(report.inserted > 0, doubled != lost);
        let rows = state.lock().unwrap().collections["c"].rows.clone();
        let mut numbers: Vec<_> = rows.iter().map(|row| row["n"].as_u64().unwrap()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..50).collect::<Vec<_>>(), "{doubled} {lost}");
        let index = remote.open().unwrap();
        assert_eq!(index.search(&[1.0; 6], &Search::top(60)).unwrap().len(), 50);
    }
}

#[test]
fn other_configurations_and_data_are_errors() {
    let (server, state) = milvus_double::start();
    let loaded = table(10);
    let remote = collection(server.port, "c");
    let schema = CollectionSchema::default();
    let options = LoadOptions::default();
    let load = |schema: &CollectionSchema, source: &LoadSource<'_>| {
        remote.load(schema, source, &options, &mut NoProgress)
    };
    assert!(matches!(
        remote.open(),
        Err(RemoteError::NoCollection { .. })
    ));
    load(&schema, &LoadSource::from_vectors(&loaded)).unwrap();
    let conflict = |result: Result<_, RemoteError>| match result {
        Err(RemoteError::Conflict {
            what,
            expected,
            found,
            ..
        }) => (what, expected, found),
        other => panic!("{other:?}"),
    };
    let ids: DocIds = (0..10).map(|n| format!("v{n:03}")).collect();
    let narrow = VectorTable::new(ids.clone(), 2, vec![1.0; 20]).unwrap();
    let (what, expected, found) = conflict(load(&schema, &LoadSource::from_vectors(&narrow)));
    assert_eq!(
        (what, expected.as_str(), found.as_str()),
        ("dimension", "2", "6")
    );
    let euclidean = schema.clone().with_similarity(VectorSimilarity::Euclidean);
    assert_eq!(
        conflict(load(&euclidean, &LoadSource::from_vectors(&loaded))).0,
        "similarity"
    );
    let graph = RemoteVectorIndex::Hnsw {
        m: 16,
        ef_construction: 100,
    };
    let graph = schema.clone().with_vector_index(graph);
    assert_eq!(
        conflict(load(&graph, &LoadSource::from_vectors(&loaded))).0,
        "vector index"
    );
    let year = schema
        .clone()
        .with_attribute("year", AttributeType::Integer);
    assert_eq!(
        conflict(load(&year, &LoadSource::from_vectors(&loaded))).0,
        "attributes"
    );
    let longer = table(11);
    let (what, ..) = conflict(load(&schema, &LoadSource::from_vectors(&longer)));
    assert_eq!(what, "number of documents");
    let mut values = toy::vectors(10, 6).concat();
    values[7] += 1e-6;
    let changed = VectorTable::new(ids, 6, values).unwrap();
    let (what, ..) = conflict(load(&schema, &LoadSource::from_vectors(&changed)));
    assert_eq!(what, "fingerprint");
    let message = |result: Result<_, RemoteError>| result.map(|_| ()).unwrap_err().to_string();
    let others = message(load(&schema, &LoadSource::from_vectors(&changed)));
    let expected = " (other documents, attributes or vectors); load into a collection of another name, or delete this one first";
    assert!(others.ends_with(expected), "{others}");
    let graphs = message(load(&graph, &LoadSource::from_vectors(&loaded)));
    let expected = "expected vector index HNSW with m 16 and ef_construction 100, found exact; repeat the options";
    assert!(graphs.contains(expected), "{graphs}");
    let years = message(load(&year, &LoadSource::from_vectors(&loaded)));
    let expected = "expected attributes year:integer, found none; repeat the options";
    assert!(years.contains(expected), "{years}");
    // A collection of somebody else.
    let mut other = collection(server.port, "d");
    other
        .load(
            &schema,
            &LoadSource::from_vectors(&loaded),
            &options,
            &mut NoProgress,
        )
        .unwrap();
    state
        .lock()
        .unwrap()
        .collections
        .get_mut("d")
        .unwrap()
        .describe("papers");
    other = collection(server.port, "d");
    assert!(matches!(
        other.open(),
        Err(RemoteError::ForeignCollection { .. })
    ));
    remote.remove().unwrap();
    remote.remove().unwrap();
    assert!(matches!(
        remote.open(),
        Err(RemoteError::NoCollection { .. })
    ));
}

#[test]
fn invalid_sources_are_errors() {
    let (server, state) = milvus_double::start();
    let remote = collection(server.port, "c");
    let table = table(10);
    let load = |schema: &CollectionSchema, corpus: &dyn Corpus| {
        let source = LoadSource::from_vectors(&table).with_documents(corpus);
        let loaded = remote.load(schema, &source, &BATCH, &mut NoProgress);
        loaded.unwrap_err().to_string()
    };
    let mut corpus = documents(10);
    let year = CollectionSchema::default().with_attribute("year", AttributeType::Text);
    let message = load(&year, &corpus);
    assert!(
        message.contains("document 2 (v001): attribute \"year\": expected text, found 2001"),
        "{message}"
    );
    let none = CollectionSchema::default();
    corpus.swap(4, 5);
    let message = load(&none, &corpus);
    assert!(
        message.contains("document 5 (v005): id: expected \"v004\""),
        "{message}"
    );
    let message = load(&none, &documents(9));
    assert!(
        message.contains("document 10 (v009): id: expected a document"),
        "{message}"
    );
    let message = load(&none, &documents(11));
    assert!(
        message.contains("document 11 (v010): id: expected a vector"),
        "{message}"
    );
    for (schema, expected) in [
        (
            none.clone().with_attribute("a b", AttributeType::Text),
            "letters, digits and _",
        ),
        (
            none.clone().with_attribute("a", AttributeType::Texts),
            "or text, found texts, which is not loaded into Milvus",
        ),
        (
            none.clone()
                .with_attribute("a", AttributeType::Text)
                .with_attribute("a", AttributeType::Text),
            "declared twice",
        ),
        (
            none.clone().with_partition_key("year"),
            "partition key \"year\"",
        ),
        (
            none.clone().with_vector_index(RemoteVectorIndex::Hnsw {
                m: 1,
                ef_construction: 100,
            }),
            "expected m from 2 to 100",
        ),
    ] {
        let message = load(&schema, &documents(10));
        assert!(message.contains(expected), "{message}");
    }
    let corpus = documents(3);
    let source = LoadSource::from_documents(&corpus);
    let message = remote
        .load(&none, &source, &BATCH, &mut NoProgress)
        .unwrap_err();
    assert!(
        message.to_string().contains("expected vectors"),
        "{message}"
    );
    // Nothing was sent.
    assert!(state.lock().unwrap().collections.is_empty());
}
