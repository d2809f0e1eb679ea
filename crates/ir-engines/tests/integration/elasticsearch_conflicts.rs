//! Elasticsearch and OpenSearch: indexes of other configurations and data, foreign and incomplete
//! ones, and filters that cannot be expressed, over a double in the process.

use crate::common::papers::{GRAPH, table};
use crate::common::{Fault, assert_contains};
use crate::elastic_corpus::{documents, load, remote_error, schema};
use crate::elastic_double;
use crate::elastic_setup::{ENGINES, collection};
use ir_core::{
    AttributeValue, DocNum, Document, NoProgress, Predicate, Retriever, Search, SearchError,
    VectorSimilarity,
};
use ir_engines::{
    AttributeType, CollectionSchema, LoadOptions, LoadSource, RemoteError, TextIndexing,
    VectorTable,
};
use ir_testkit::toy;
use serde_json::json;

#[test]
fn other_configurations_and_data_are_errors() {
    for engine in ENGINES {
        let (server, state) = elastic_double::start();
        let remote = collection(&server, engine, "c");
        let (corpus, vectors) = (documents(20), table(20));
        load(&remote, &schema(), &corpus, &vectors).unwrap();
        let before = state.lock().unwrap().indexes["c"].visible.clone();
        let ids = |prefix: &str| (0..20).map(|n| format!("{prefix}{n:03}")).collect();
        let wide = VectorTable::new(ids("v"), 8, toy::vectors(20, 8).concat()).unwrap();
        let mut values = toy::vectors(20, 6).concat();
        values[100] += 0.25;
        let changed = VectorTable::new(ids("v"), 6, values).unwrap();
        let mut other_texts = corpus.clone();
        other_texts[19] = other_texts[19].clone().with_text("coffee");
        let mut other_years = corpus.clone();
        other_years[3] = other_years[3].clone().with("year", 1999_i64);
        let renamed: Vec<Document> = corpus
            .iter()
            .map(|document| {
                let mut document = document.clone();
                document.id = document.id.replace('v', "w");
                document
            })
            .collect();
        let renamed_table = VectorTable::new(ids("w"), 6, toy::vectors(20, 6).concat()).unwrap();
        let euclidean = schema().with_similarity(VectorSimilarity::Euclidean);
        let exact = CollectionSchema::default().with_attribute("year", AttributeType::Integer);
        let number = CollectionSchema::default()
            .with_attribute("year", AttributeType::Number)
            .with_vector_index(GRAPH);
        for (what, result) in [
            ("dimension", load(&remote, &schema(), &corpus, &wide)),
            ("similarity", load(&remote, &euclidean, &corpus, &vectors)),
            ("vector index", load(&remote, &exact, &corpus, &vectors)),
            ("attributes", load(&remote, &number, &corpus, &vectors)),
            (
                "number of documents",
                load(&remote, &schema(), &documents(21), &table(21)),
            ),
            (
                "number of documents",
                load(&remote, &schema(), &documents(19), &table(19)),
            ),
            (
                "fingerprint",
                load(&remote, &schema(), &other_texts, &vectors),
            ),
            (
                "fingerprint",
                load(&remote, &schema(), &other_years, &vectors),
            ),
            ("fingerprint", load(&remote, &schema(), &corpus, &changed)),
            (
                "fingerprint",
                load(&remote, &schema(), &renamed, &renamed_table),
            ),
        ] {
            let error = result.unwrap_err();
            let is_named =
                matches!(error, RemoteError::Conflict { what: found, .. } if found == what);
            assert!(is_named, "{engine} {what}: {error:?}");
            let expected = format!("collection \"c\": expected {what} ");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
        // Nothing was changed, and the same data is nothing new.
        assert_eq!(state.lock().unwrap().indexes["c"].visible, before);
        load(&remote, &schema(), &corpus, &vectors).unwrap();
        // A query of another dimension, or that is not finite.
        let index = remote.open_vectors().unwrap();
        let requests = server.count("/_msearch");
        for query in [
            &[1.0_f32; 8][..],
            &[1.0; 5],
            &[],
            &[f32::NAN, 0.0, 0.0, 0.0, 0.0, 0.0],
        ] {
            let error = index.search(query, &Search::top(3)).unwrap_err();
            assert!(!matches!(error, SearchError::Engine { .. }), "{error:?}");
        }
        assert_eq!(server.count("/_msearch"), requests);
    }
}

#[test]
fn foreign_indexes() {
    for engine in ENGINES {
        let (server, state) = elastic_double::start();
        let remote = collection(&server, engine, "c");
        let (corpus, vectors) = (documents(20), table(20));
        load(&remote, &schema(), &corpus, &vectors).unwrap();
        let (ours, documents) = {
            let state = state.lock().unwrap();
            let index = &state.indexes["c"];
            (index.body["mappings"].clone(), index.visible.clone())
        };
        let mut older = ours["_meta"].clone();
        older["ir_remote"]["format"] = json!("ir-remote 0");
        let mut damaged = ours["_meta"].clone();
        damaged["ir_remote"]["documents"] = json!("20");
        for (meta, properties) in [
            (json!(null), ours["properties"].clone()),
            (
                json!({"created_by": "a colleague"}),
                ours["properties"].clone(),
            ),
            (json!({"ir_remote": 7}), ours["properties"].clone()),
            (older, ours["properties"].clone()),
            (damaged, ours["properties"].clone()),
            (json!(null), json!({"title": {"type": "text"}})),
        ] {
            {
                let mut state = state.lock().unwrap();
                let mappings = &mut state.indexes.get_mut("c").unwrap().body["mappings"];
                mappings["_meta"] = meta.clone();
                mappings["properties"] = properties;
            }
            for result in [
                remote.open_texts().map(|_| ()),
                remote.open_vectors().map(|_| ()),
                remote.record().map(|_| ()),
                load(&remote, &schema(), &corpus, &vectors),
            ] {
                let error = result.unwrap_err();
                let is_named = matches!(error, RemoteError::ForeignCollection { .. });
                assert!(is_named, "{engine} {meta}: {error:?}");
                assert_contains(&error, "expected a collection created by ir");
            }
            let state = state.lock().unwrap();
            assert_eq!(state.indexes["c"].visible, documents, "{engine} {meta}");
        }
    }
}

/// Documents that were lost or added since loading, and damaged pages of ids.
#[test]
fn incomplete_indexes() {
    for engine in ENGINES {
        let (server, state) = elastic_double::start();
        let remote = collection(&server, engine, "c");
        load(&remote, &schema(), &documents(20), &table(20)).unwrap();
        for (body, expected) in [
            (r#"{"hits":{"hits":[]}}"#, "ids"),
            (r#"{"hits":{"hits":[{"_source":{"n":0}}]}}"#, "ids"),
        ] {
            server.fail("/_search", Fault::Text(body));
            let error = remote.open_texts().unwrap_err();
            assert_matches!(error, RemoteError::Response { .. });
            assert_contains(&error, expected);
        }
        let source = state.lock().unwrap().indexes["c"].visible["3"].clone();
        let change = |id: &str, source: Option<serde_json::Value>| {
            let mut state = state.lock().unwrap();
            let index = state.indexes.get_mut("c").unwrap();
            for documents in [&mut index.visible, &mut index.written] {
                match &source {
                    Some(source) => documents.insert(id.to_owned(), source.clone()),
                    None => documents.remove(id),
                };
            }
        };
        change("3", None);
        let error = remote.open_texts().unwrap_err();
        let is_named = matches!(
            error,
            RemoteError::Incomplete {
                expected: 20,
                found: 19,
                ..
            }
        );
        assert!(is_named, "{error:?}");
        change("3", Some(source.clone()));
        change("of-somebody-else", Some(source));
        let error = remote.open_texts().unwrap_err();
        let is_named = matches!(
            error,
            RemoteError::Incomplete {
                expected: 20,
                found: 21,
                ..
            }
        );
        assert!(is_named, "{error:?}");
    }
}

#[test]
fn filters_that_cannot_be_expressed() {
    for engine in ENGINES {
        let (server, _) = elastic_double::start();
        let remote = collection(&server, engine, "c");
        let schema = schema().with_attribute("x", AttributeType::Number);
        load(&remote, &schema, &documents(20), &table(20)).unwrap();
        let (texts, vectors) = (remote.open_texts().unwrap(), remote.open_vectors().unwrap());
        let requests = server.count("/_msearch");
        let unknown: Predicate = "month<=3".parse().unwrap();
        let years = (0..65_537_i64).map(AttributeValue::Int).collect();
        let long = Predicate::OneOf {
            name: "year".into(),
            values: years,
        };
        let within = Predicate::All(vec!["year>=2003".parse().unwrap(), unknown.clone()]);
        let negated = Predicate::Not(Box::new(Predicate::Any(vec![unknown.clone()])));
        for (condition, part) in [
            (
                unknown,
                "expected an attribute of the collection (year, x), found \"month\"",
            ),
            (within, "found \"month\""),
            (negated, "found \"month\""),
            (
                "x=9007199254740993".parse().unwrap(),
                "attribute \"x\": expected a number of double precision",
            ),
            (long, "expected lists of at most 65536 values, found 65537"),
        ] {
            let by_text = texts.clone().with_condition(condition.clone()).map(|_| ());
            let by_vector = vectors.clone().with_condition(condition).map(|_| ());
            for error in [by_text.unwrap_err(), by_vector.unwrap_err()] {
                assert_matches!(error, RemoteError::Filter { .. });
                assert_contains(&error, part);
            }
        }
        assert_eq!(server.count("/_msearch"), requests);
    }
}

/// A filter of single documents, beyond the lists of the engine.
#[test]
fn filters_of_too_many_documents() {
    let (server, _) = elastic_double::start();
    let remote = collection(&server, "elasticsearch", "c");
    let corpus: Vec<Document> = (0..131_080)
        .map(|n| Document::new(format!("v{n:06}")).with_text("tea"))
        .collect();
    let (source, texts) = (LoadSource::from_documents(&corpus), TextIndexing::default());
    let options = LoadOptions { batch: 10_000 };
    let schema = CollectionSchema::default();
    let loaded = remote.load(&schema, Some(&texts), &source, &options, &mut NoProgress);
    loaded.unwrap();
    let index = remote.open_texts().unwrap();
    let requests = server.count("/_msearch");
    let even = |doc: DocNum| doc.get().is_multiple_of(2);
    let found = index.search("tea", &Search::top(3).within(&even));
    let error = remote_error(found.unwrap_err());
    assert_matches!(error, RemoteError::Filter { .. });
    let expected = "expected lists of at most 65536 values, found 65540";
    assert_contains(&error, expected);
    assert_eq!(server.count("/_msearch"), requests);
}
