//! Elasticsearch and OpenSearch: indexes that exist before they are loaded, and that lose
//! documents, over a double in the process. Not tried against a real cluster.

use crate::common::papers::{GRAPH, table};
use crate::common::{Fault, assert_contains};
use crate::elastic_double;
use crate::elastic_setup::{ENGINES, collection, load};
use ir_core::{DocNum, DocSet, Document, Retriever, Search, VectorSimilarity};
use ir_engines::{
    AttributeType, CollectionSchema, LoadSource, RemoteError, RemoteVectorIndex, TextAnalysis,
    TextIndexing,
};
use serde_json::{Value, json};

fn documents(n: usize) -> Vec<Document> {
    let document = |at: usize| {
        Document::new(format!("v{at:03}"))
            .with_text(format!("tea number {at}"))
            .with("year", 2000 + at as i64)
            .with("venue", "ACL")
    };
    (0..n).map(document).collect()
}

fn schema() -> CollectionSchema {
    CollectionSchema::default()
        .with_attribute("year", AttributeType::Integer)
        .with_attribute("venue", AttributeType::Text)
}

/// A template of another configuration is not adopted: the record would not describe the index.
#[test]
fn templates_of_another_configuration_are_rejected() {
    let (corpus, table) = (documents(10), table(10));
    let source = LoadSource::from_vectors(&table).with_documents(&corpus);
    let (ours, texts) = (schema().with_vector_index(GRAPH), TextIndexing::default());
    let smaller = RemoteVectorIndex::Hnsw {
        m: 8,
        ef_construction: 100,
    };
    let whitespace = TextIndexing {
        analysis: TextAnalysis::Whitespace,
        ..texts
    };
    let euclidean = ours.clone().with_similarity(VectorSimilarity::Euclidean);
    let open = AttributeType::Boolean;
    type Template = (CollectionSchema, Option<TextIndexing>, Option<usize>);
    // Template, name of what differs, and a part of the error for both engines.
    let templates: [(Template, &str, [&str; 2]); 11] = [
        (
            (ours.clone(), Some(TextIndexing::LUCENE), Some(6)),
            "setting",
            ["similarity.bm25.b = 0.4, found 0.75"; 2],
        ),
        (
            (ours.clone(), Some(whitespace), Some(6)),
            "setting",
            ["analysis.analyzer.ir_text."; 2],
        ),
        (
            (ours.clone(), Some(texts), Some(8)),
            "mapping",
            [
                "properties.vector.dims = 6, found 8",
                "properties.vector.dimension = 6, found 8",
            ],
        ),
        (
            (
                ours.clone().with_vector_index(smaller),
                Some(texts),
                Some(6),
            ),
            "mapping",
            [
                "properties.vector.index_options.m = 16, found 8",
                "properties.vector.method.parameters.m = 16, found 8",
            ],
        ),
        (
            (
                ours.clone().with_vector_index(RemoteVectorIndex::Exact),
                Some(texts),
                Some(6),
            ),
            "mapping",
            [
                "properties.vector.index = true, found false",
                "properties.vector.method = {",
            ],
        ),
        (
            (euclidean, Some(texts), Some(6)),
            "mapping",
            [
                "properties.vector.similarity = max_inner_product, found l2_norm",
                "properties.vector.method.space_type = innerproduct, found l2",
            ],
        ),
        (
            (ours.clone(), None, Some(6)),
            "mapping",
            ["properties.contents = {"; 2],
        ),
        (
            (ours.clone(), Some(texts), None),
            "mapping",
            ["properties.vector = {"; 2],
        ),
        (
            (
                ours.clone().with_attribute("more", open),
                Some(texts),
                Some(6),
            ),
            "mapping",
            ["properties.attributes.properties.more = none, found {"; 2],
        ),
        (
            (
                CollectionSchema::default().with_vector_index(GRAPH),
                Some(texts),
                Some(6),
            ),
            "mapping",
            ["properties.attributes = {"; 2],
        ),
        (
            (
                CollectionSchema::default()
                    .with_vector_index(GRAPH)
                    .with_attribute("year", AttributeType::Text),
                Some(texts),
                Some(6),
            ),
            "mapping",
            ["properties.attributes.properties."; 2],
        ),
    ];
    for (at, engine) in ENGINES.into_iter().enumerate() {
        let (server, state) = elastic_double::start();
        let remote = collection(&server, engine, "c");
        let adopt = |(schema, kind, dim): &Template| {
            let template = remote.index_template(schema, kind.as_ref(), *dim).unwrap();
            let template: Value = serde_json::from_str(&template).unwrap();
            let mut body = template["template"].clone();
            // The administrator's choice.
            body["settings"]["number_of_shards"] = json!(3);
            state.lock().unwrap().create("c", body);
            load(&remote, &ours, Some(&texts), &source)
        };
        for (template, kind, part) in &templates {
            let error = adopt(template).unwrap_err();
            assert!(
                matches!(&error, RemoteError::Conflict { what, .. } if what == kind),
                "{engine}: {error}"
            );
            assert!(error.to_string().contains(part[at]), "{engine}: {error}");
            let indexes = &state.lock().unwrap().indexes;
            assert!(indexes["c"].body["mappings"].get("_meta").is_none());
        }
        // A graph where none is expected, as its absence is one of the configuration.
        let exact = ours.clone().with_vector_index(RemoteVectorIndex::Exact);
        adopt(&(exact.clone(), Some(texts), Some(6))).unwrap_err();
        load(&remote, &exact, Some(&texts), &source).unwrap();
        adopt(&(ours.clone(), Some(texts), Some(6))).unwrap();
        let graph = remote.index_template(&ours, Some(&texts), Some(6)).unwrap();
        let graph: Value = serde_json::from_str(&graph).unwrap();
        state.lock().unwrap().create("c", graph["template"].clone());
        let error = load(&remote, &exact, Some(&texts), &source).unwrap_err();
        let expected = [
            "properties.vector.index = false, found true",
            "properties.vector.method = none, found {",
        ];
        assert!(
            error.to_string().contains(expected[at]),
            "{engine}: {error}"
        );
        server.fail("/_settings", Fault::Text("{}"));
        let error = adopt(&(ours.clone(), Some(texts), Some(6))).unwrap_err();
        assert_contains(&error, "the settings of an index");
    }
}

/// The index is created, and the response is lost: the next attempt finds it.
#[test]
fn lost_responses_to_the_creation() {
    for engine in ENGINES {
        let (corpus, table) = (documents(20), table(20));
        let source = LoadSource::from_vectors(&table).with_documents(&corpus);
        let (schema, texts) = (schema().with_vector_index(GRAPH), TextIndexing::default());
        let (server, state) = elastic_double::start();
        let remote = collection(&server, engine, "c");
        let again = || load(&remote, &schema, Some(&texts), &source);
        for fault in [Fault::CloseAfter, Fault::Half] {
            remote.remove().unwrap();
            // The mapping is read first: there is no index.
            server.fail("/c", Fault::Status(404, "index_not_found_exception"));
            server.fail("/c", fault.clone());
            let report = again().unwrap();
            assert_eq!(server.open_faults(), 0);
            assert_eq!((report.created, report.inserted), (true, 20), "{fault:?}");
            let index = remote.open_texts().unwrap();
            assert_eq!(index.search("tea", &Search::top(99)).unwrap().len(), 20);
        }
        // Another client has created an index meanwhile.
        let other = CollectionSchema::default();
        let foreign = collection(&server, engine, "d");
        load(&foreign, &other, Some(&texts), &source).unwrap();
        let record = state.lock().unwrap().indexes["d"].body["mappings"]["_meta"].clone();
        let race = |meta: Value, vector: Value| {
            let mut state = state.lock().unwrap();
            let mut body = state.indexes["c"].body.clone();
            body["mappings"]["_meta"] = meta;
            body["mappings"]["properties"]["vector"] = vector;
            state.create("c", body);
            server.fail("/c", Fault::Status(404, "index_not_found_exception"));
        };
        let properties = state.lock().unwrap().indexes["c"].body["mappings"].clone();
        let vector = properties["properties"]["vector"].clone();
        race(record, vector.clone());
        let error = again().unwrap_err();
        assert_matches!(error, RemoteError::Conflict { .. });
        race(Value::Null, vector.clone());
        let error = again().unwrap_err();
        assert_matches!(error, RemoteError::ForeignCollection { .. });
        race(properties["_meta"].clone(), json!({"type": "long"}));
        let error = again().unwrap_err();
        assert_contains(&error, "expected mapping properties.vector.");
        // Other rejections are errors.
        race(properties["_meta"].clone(), vector);
        server.fail("/c", Fault::Status(400, "validation_exception"));
        let error = again().unwrap_err();
        assert_matches!(error, RemoteError::Rejected { .. });
    }
}

/// An exact search without a filter has as many hits as requested; others may have fewer.
#[test]
fn missing_hits_of_exact_searches() {
    for engine in ENGINES {
        let table = table(20);
        let source = LoadSource::from_vectors(&table);
        let (server, state) = elastic_double::start();
        let open = |name: &str, index: RemoteVectorIndex| {
            let remote = collection(&server, engine, name);
            let schema = CollectionSchema::default().with_vector_index(index);
            load(&remote, &schema, None, &source).unwrap();
            remote.open_vectors().unwrap()
        };
        let (exact, graph) = (open("c", RemoteVectorIndex::Exact), open("d", GRAPH));
        assert_eq!(exact.search(&[1.0; 6], &Search::top(99)).unwrap().len(), 20);
        for index in state.lock().unwrap().indexes.values_mut() {
            index.visible.remove("3");
        }
        let error = exact.search(&[1.0; 6], &Search::top(99)).unwrap_err();
        let message = std::error::Error::source(&error).unwrap().to_string();
        let expected = "expected 20 hits of an exact search without a filter, found 19";
        assert!(message.contains(expected), "{engine}: {message}");
        assert_eq!(graph.search(&[1.0; 6], &Search::top(99)).unwrap().len(), 19);
        let chosen: DocSet = [3, 4].into_iter().map(DocNum::new).collect();
        let chosen = Search::top(99).within(&chosen);
        assert_eq!(exact.search(&[1.0; 6], &chosen).unwrap().len(), 1);
    }
}
