//! Milvus over both REST APIs: contract, filters, loading and errors, over a double in the process
//! with the responses of Milvus 2.3, 2.4 and later versions.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::common::papers::{BATCH, GRAPH, conditions, documents, schema, table};
use crate::common::{Fault, HttpDouble, assert_contains};
use crate::milvus_double::MilvusState;
use crate::milvus_setup::{self, APIS, collection, conflict, load, opened, start};
use ir_core::{
    Attributes, Corpus, DocIds, Flow, NoProgress, Predicate, Progress, Ranking, Retriever, Search,
    SearchError, VectorSimilarity,
};
use ir_engines::{
    AttributeType, CollectionSchema, LoadSource, RemoteError, RemoteVectorIndex, VectorTable,
};
use ir_knn::FlatIndex;
use ir_testkit::toy;
use serde_json::Value;

#[test]
fn contract() {
    for (scheme, is_v2_4) in APIS {
        for (similarity, index) in [
            (VectorSimilarity::InnerProduct, RemoteVectorIndex::Exact),
            (VectorSimilarity::Euclidean, GRAPH),
            (VectorSimilarity::Euclidean, RemoteVectorIndex::Exact),
        ] {
            let (server, _) = start(is_v2_4);
            let schema = CollectionSchema::default()
                .with_similarity(similarity)
                .with_vector_index(index);
            let next = Cell::new(0);
            ir_testkit::check_vectors(|ids: DocIds, vectors: Vec<Vec<f32>>| {
                next.set(next.get() + 1);
                let dim = vectors.first().map_or(6, Vec::len);
                let table = VectorTable::new(ids.clone(), dim, vectors.concat()).unwrap();
                let remote = collection(scheme, &server, &format!("c{}", next.get()));
                load(&remote, &schema, &LoadSource::from_vectors(&table)).unwrap();
                let remote = remote.open().unwrap();
                // The scores of ir-knn, and so its order.
                let embedded =
                    FlatIndex::from_row_major(ids, dim, vectors.concat(), similarity).unwrap();
                let docs =
                    |ranking: &Ranking| -> Vec<_> { ranking.iter().map(|hit| hit.doc).collect() };
                for query in toy::vectors(3, dim) {
                    let one = remote.search(&query, &Search::top(5)).unwrap();
                    let other = embedded.search(&query, &Search::top(5)).unwrap();
                    assert_eq!(docs(&one), docs(&other), "{scheme} {similarity}");
                }
                remote
            });
        }
    }
}

/// Cosine similarity has no zero vectors, which the contract suite has.
#[test]
fn cosine() {
    let (server, _) = start(false);
    let mut random = ir_core::SplitMix64::new(1, 1);
    let mut values = |n: usize| -> Vec<f32> {
        let all = 0..n * 6;
        all.map(|_| random.below(1000) as f32 / 500.0 - 0.9)
            .collect()
    };
    let ids: DocIds = (0..40).map(|n| format!("v{n:03}")).collect();
    let documents = values(40);
    let table = VectorTable::new(ids.clone(), 6, documents.clone()).unwrap();
    let schema = CollectionSchema::default().with_similarity(VectorSimilarity::Cosine);
    let remote = opened(&collection("milvus", &server, "c"), &schema, &table);
    let embedded = FlatIndex::from_row_major(ids, 6, documents, VectorSimilarity::Cosine).unwrap();
    for query in values(5).chunks(6) {
        let one = remote.search(query, &Search::top(40)).unwrap();
        let other = embedded.search(query, &Search::top(40)).unwrap();
        for (a, b) in one.iter().zip(&other) {
            assert_eq!(a.doc, b.doc);
            assert!((a.score - b.score).abs() < 1e-6);
        }
    }
    let zero = remote.search(&[0.0; 6], &Search::top(3));
    assert_matches!(zero, Err(SearchError::ZeroVector));
    let zeros = VectorTable::new(["a"].into_iter().collect(), 6, vec![0.0; 6]).unwrap();
    let remote = collection("milvus", &server, "z");
    let loaded = load(&remote, &schema, &LoadSource::from_vectors(&zeros));
    assert_matches!(loaded, Err(RemoteError::Document { number: 1, .. }));
}

#[test]
fn conditions_are_exact() {
    for (scheme, is_v2_4) in APIS {
        let (server, _) = start(is_v2_4);
        let (table, corpus) = (table(60), documents(60));
        let source = LoadSource::from_vectors(&table).with_documents(&corpus);
        let remote = collection(scheme, &server, "c");
        load(&remote, &schema().with_partition_key("venue"), &source).unwrap();
        let index = remote.open().unwrap();
        let queries = toy::vectors(4, 6);
        let all = Search::top(60);
        let unfiltered: Vec<Ranking> = queries
            .iter()
            .map(|query| index.search(query, &all).unwrap())
            .collect();
        assert!(unfiltered.iter().all(|ranking| ranking.len() == 60));
        for condition in conditions(&[]) {
            let passes = |attributes: &Attributes| condition.matches(attributes);
            let expected = unfiltered.iter().map(|all| {
                all.clone()
                    .retain(|hit| passes(&corpus[hit.doc.index()].attributes))
            });
            let expected: Vec<Ranking> = expected.collect();
            for k in [3, 60] {
                let searches: Vec<_> = queries
                    .iter()
                    .map(|query| (&query[..], k, Some(&condition)))
                    .collect();
                let found = index.search_where(&searches).unwrap();
                for (found, expected) in found.iter().zip(&expected) {
                    assert_eq!(*found, expected.clone().top(k), "{scheme} {condition:?}");
                }
            }
            let fixed = index.clone().with_condition(condition.clone()).unwrap();
            let found = fixed.search(&queries[0], &all).unwrap();
            assert_eq!(found, expected[0], "{scheme} {condition:?}");
        }
        let undeclared: Predicate = "tags".parse().unwrap();
        assert_matches!(
            index.search_where(&[(&queries[0], 3, Some(&undeclared))]),
            Err(RemoteError::Filter { .. })
        );
        assert!(index.with_condition(undeclared).is_err());
    }
}

/// Numbers of the documents of a collection, and of its record in the newer API.
fn numbers(state: &MilvusState, collection: &str) -> Vec<i64> {
    let rows = state.collections[collection].rows.iter();
    let mut all: Vec<i64> = rows.map(|row| row["n"].as_i64().unwrap()).collect();
    all.sort_unstable();
    all
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
        let (server, state) = start(false);
        let table = table(50);
        let remote = collection("milvus", &server, "c");
        let source = LoadSource::from_vectors(&table);
        for path in ["/entities", "/collection", "/query", "/index", "/entities"] {
            server.fail(path, fault.clone());
        }
        let schema = CollectionSchema::default();
        load(&remote, &schema, &source).unwrap();
        assert_eq!(server.open_faults(), 0, "{fault:?}");
        let all: Vec<i64> = (0..50).collect();
        assert_eq!(numbers(&state.lock().unwrap(), "c"), all, "{fault:?}");

        // Too many failures stop the call; the next one continues.
        let remote = collection("milvus", &server, "d");
        let mut third = in_batch(3, || server.fail_times("/entities", &fault, 3));
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
        let report = load(&remote, &schema, &source).unwrap();
        assert!(!report.created && report.inserted <= 36, "{report:?}");
        assert_eq!(numbers(&state.lock().unwrap(), "d"), all, "{fault:?}");
        // Complete: nothing is sent.
        let report = load(&remote, &schema, &source).unwrap();
        assert_eq!((report.inserted, report.documents), (0, 50));
    }
}

/// Progress that calls a function before a batch is loaded.
fn in_batch(number: usize, mut run: impl FnMut()) -> impl Progress {
    let mut batches = 0;
    move |stage: &str, _: u64, _: Option<u64>| {
        batches += usize::from(stage == "loading");
        if stage == "loading" && batches == number {
            run();
        }
        Flow::Continue
    }
}

/// The newer API creates a collection in several steps.
#[test]
fn interrupted_creation_is_resumed() {
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
            let remote = collection("milvus+v2", &server, "c");
            // A call stops in every step of the creation, and the next one resumes.
            for path in [
                "/collections/create",
                "/indexes/create",
                "/collections/load",
                "/entities/upsert",
            ] {
                server.fail_times(path, &fault, 3);
                let stopped = load(&remote, &schema, &source);
                assert!(
                    stopped.is_err_and(|error| error.is_transient()),
                    "{path} {fault:?}"
                );
                while server.open_faults() > 0 {
                    // Not every fault is repeated by the client.
                    assert!(load(&remote, &schema, &source).is_err(), "{path} {fault:?}");
                }
            }
            let mut third = in_batch(3, || server.fail_times("/entities/insert", &fault, 2));
            remote.load(&schema, &source, &BATCH, &mut third).unwrap();
            assert_eq!(server.open_faults(), 0, "{fault:?}");
            let all: Vec<i64> = (-1..50).collect();
            assert_eq!(numbers(&state.lock().unwrap(), "c"), all, "{fault:?}");
            let report = load(&remote, &schema, &source).unwrap();
            assert_eq!((report.inserted, report.created), (0, false));
        }
    }
}

#[test]
fn interrupted_indexing_is_resumed() {
    let (server, _) = start(false);
    let table = table(20);
    let remote = collection("milvus", &server, "c");
    let source = LoadSource::from_vectors(&table);
    let schema = CollectionSchema::default().with_vector_index(GRAPH);
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
    assert_matches!(stopped, Err(RemoteError::Canceled));
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
    for (scheme, is_v2_4) in APIS {
        let (server, state) = start(is_v2_4);
        let table = table(50);
        let remote = collection(scheme, &server, "c");
        let source = LoadSource::from_vectors(&table);
        let schema = CollectionSchema::default();
        load(&remote, &schema, &source).unwrap();
        let complete = numbers(&state.lock().unwrap(), "c");
        assert!(complete.ends_with(&(0..50).collect::<Vec<_>>()), "{scheme}");
        // In different batches, and in one batch, which has as many documents as before.
        for (doubled, lost) in [(3, 30), (3, 5), (49, 49)] {
            {
                let mut state = state.lock().unwrap();
                let rows = &mut state.collections.get_mut("c").unwrap().rows;
                let at = |number: u64| move |row: &BTreeMap<String, Value>| row["n"] == number;
                let row = rows.iter().find(|row| at(doubled)(row)).unwrap().clone();
                rows.retain(|row| !at(lost)(row));
                rows.push(row);
            }
            let report = load(&remote, &schema, &source).unwrap();
            assert_eq!(report.inserted > 0, doubled != lost);
            let found = numbers(&state.lock().unwrap(), "c");
            assert_eq!(found, complete, "{scheme} {doubled} {lost}");
            let index = remote.open().unwrap();
            assert_eq!(index.search(&[1.0; 6], &Search::top(60)).unwrap().len(), 50);
        }
    }
}

fn is_missing<T>(result: Result<T, RemoteError>) -> bool {
    matches!(result, Err(RemoteError::NoCollection { .. }))
}

fn is_foreign<T>(result: Result<T, RemoteError>) -> bool {
    matches!(result, Err(RemoteError::ForeignCollection { .. }))
}

#[test]
fn other_configurations_and_data_are_errors() {
    for scheme in ["milvus", "milvus+v2"] {
        let (server, _) = start(false);
        let (first, longer) = (table(10), table(11));
        let remote = collection(scheme, &server, "c");
        let schema = CollectionSchema::default();
        assert!(is_missing(remote.open()));
        load(&remote, &schema, &LoadSource::from_vectors(&first)).unwrap();
        let loaded = |schema: &CollectionSchema, table: &VectorTable| {
            load(&remote, schema, &LoadSource::from_vectors(table))
        };
        let ids = |prefix: &str| (0..10).map(|n| format!("{prefix}{n:03}")).collect();
        let narrow = VectorTable::new(ids("v"), 2, vec![1.0; 20]).unwrap();
        let found = conflict(loaded(&schema, &narrow));
        assert_eq!(found, ("dimension", "2".to_owned(), "6".to_owned()));
        let mut values = toy::vectors(10, 6).concat();
        values[7] += 1e-6;
        let changed = VectorTable::new(ids("v"), 6, values).unwrap();
        let renamed = VectorTable::new(ids("w"), 6, toy::vectors(10, 6).concat()).unwrap();
        let euclidean = schema.clone().with_similarity(VectorSimilarity::Euclidean);
        let graph = schema.clone().with_vector_index(GRAPH);
        let year = schema
            .clone()
            .with_attribute("year", AttributeType::Integer);
        let other = "; load into a collection of another name, or delete this one first";
        for (schema, table, what, message) in [
            (&euclidean, &first, "similarity", "; repeat the options"),
            (
                &graph,
                &first,
                "vector index",
                "expected vector index HNSW with m 16 and ef_construction 100, found exact; repeat the options",
            ),
            (
                &year,
                &first,
                "attributes",
                "expected attributes year:integer, found none; repeat the options",
            ),
            (&schema, &longer, "number of documents", other),
            (
                &schema,
                &changed,
                "fingerprint",
                " (other documents, attributes or vectors); load into a collection of another name, or delete this one first",
            ),
            (&schema, &renamed, "fingerprint", other),
        ] {
            assert_eq!(conflict(loaded(schema, table)).0, what, "{scheme}");
            let found = loaded(schema, table).unwrap_err().to_string();
            assert!(found.contains(message), "{scheme}: {found}");
        }
        let unknown = remote
            .open()
            .unwrap()
            .with_condition("year<=3".parse().unwrap());
        assert_matches!(unknown, Err(RemoteError::Filter { .. }));
        remote.remove().unwrap();
        remote.remove().unwrap();
        assert!(is_missing(remote.open()));
    }
}

#[test]
fn collections_of_others_are_kept() {
    let (server, state) = start(false);
    let (table, schema) = (table(10), CollectionSchema::default());
    let source = LoadSource::from_vectors(&table);
    let remote = collection("milvus", &server, "c");
    load(&remote, &schema, &source).unwrap();
    let mut all = state.lock().unwrap();
    all.collections.get_mut("c").unwrap().describe("papers");
    drop(all);
    assert!(is_foreign(collection("milvus", &server, "c").open()));

    // Data without a record, or with other fields.
    let remote = collection("milvus+v2", &server, "d");
    load(&remote, &schema, &source).unwrap();
    let mut all = state.lock().unwrap();
    let rows = &mut all.collections.get_mut("d").unwrap().rows;
    rows.retain(|row| row["n"].as_i64() != Some(-1));
    drop(all);
    let with_a = schema.clone().with_attribute("a", AttributeType::Text);
    assert!(is_foreign(load(&remote, &schema, &source)));
    assert!(is_foreign(load(&remote, &with_a, &source)));
    assert!(is_foreign(remote.open()));
    assert_eq!(state.lock().unwrap().collections["d"].rows.len(), 10);
    // The document of the record belongs to the collection of the other API.
    assert!(is_foreign(collection("milvus", &server, "d").open()));
    remote.remove().unwrap();
    assert!(!state.lock().unwrap().collections.contains_key("d"));
}

/// Codes and damaged responses of the newer API.
#[test]
fn codes_of_responses() {
    let (server, _) = start(false);
    let remote = collection("milvus+v2", &server, "c");
    let index = opened(&remote, &CollectionSchema::default(), &table(10));
    for (text, expected) in [
        (
            r#"{"code":65535,"message":"no memory"}"#,
            "no memory (code 65535)",
        ),
        (r#"{"code":1800,"message":"x"}"#, "IR_REMOTE_TOKEN"),
        ("{}", "a code of Milvus 2.4 or later"),
        (r#"{"code":0}"#, "hits of 1 queries"),
        (
            r#"{"code":0,"data":[{"n":99,"distance":1}],"topks":[1]}"#,
            "below 10, found 99",
        ),
    ] {
        server.fail("/entities/search", Fault::Text(text));
        let error = index.search(&[1.0; 6], &Search::top(3)).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_contains(&cause, expected);
    }
    let website = HttpDouble::start(|_, _, _| (404, "<html>".to_owned()));
    let error = collection("milvus+v2", &website, "c").open().unwrap_err();
    let expected = "the REST API /v2/vectordb of Milvus 2.4 or later (port 19530)";
    assert_contains(&error, expected);
}

/// Hits of several queries are divided by the response, or else searched one by one.
#[test]
fn batches_of_queries() {
    for is_v2_4 in [false, true] {
        let (server, _) = start(is_v2_4);
        let (table, corpus) = (table(30), documents(30));
        let source = LoadSource::from_vectors(&table).with_documents(&corpus);
        let remote = collection("milvus+v2", &server, "c");
        load(&remote, &schema(), &source).unwrap();
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

#[test]
fn invalid_sources_are_errors() {
    let (server, state) = start(false);
    let remote = collection("milvus", &server, "c");
    let table = table(10);
    let load = |schema: &CollectionSchema, corpus: &dyn Corpus| {
        let source = LoadSource::from_vectors(&table).with_documents(corpus);
        milvus_setup::load(&remote, schema, &source)
            .unwrap_err()
            .to_string()
    };
    let mut corpus = documents(10);
    let year = CollectionSchema::default().with_attribute("year", AttributeType::Text);
    let message = load(&year, &corpus);
    assert_contains(
        &message,
        "document 2 (v001): attribute \"year\": expected text, found 2001",
    );
    let none = CollectionSchema::default();
    corpus.swap(4, 5);
    let message = load(&none, &corpus);
    assert_contains(&message, "document 5 (v005): id: expected \"v004\"");
    let message = load(&none, &documents(9));
    assert_contains(&message, "document 10 (v009): id: expected a document");
    let message = load(&none, &documents(11));
    assert_contains(&message, "document 11 (v010): id: expected a vector");
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
        assert_contains(&message, expected);
    }
    let corpus = documents(3);
    let source = LoadSource::from_documents(&corpus);
    let message = milvus_setup::load(&remote, &none, &source).unwrap_err();
    assert_contains(&message, "expected vectors");
    // Nothing was sent.
    assert!(state.lock().unwrap().collections.is_empty());
}
