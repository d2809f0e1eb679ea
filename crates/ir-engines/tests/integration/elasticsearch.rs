//! Elasticsearch and OpenSearch: contract, filters, loading and errors, over a double in the
//! process. Not tried against a real cluster.

use std::cell::Cell;

use crate::common::papers::{self, BATCH, GRAPH, conditions, documents, table};
use crate::common::{Fault, HttpDouble, assert_contains, quick};
use crate::elastic_double;
use crate::elastic_setup::{ENGINES, collection, load};
use ir_core::{
    Attributes, DocIds, DocNum, Document, EncodeError, Encoder, Flow, Predicate, Ranking,
    Retriever, Search, Side,
};
use ir_engines::{
    AttributeType, CollectionSchema, Credentials, ElasticCollection, ElasticHybrid, EngineAddress,
    LoadSource, RemoteError, RemoteVectorIndex, TextAnalysis, TextIndexing, VectorTable,
};
use ir_knn::{FlatIndex, VectorSimilarity};
use ir_testkit::toy;
use serde_json::{Value, json};

#[test]
fn contract_of_texts() {
    for engine in ENGINES {
        let (server, _) = elastic_double::start();
        let next = Cell::new(0);
        ir_testkit::check_text(|documents| {
            next.set(next.get() + 1);
            let remote = collection(&server, engine, &format!("c{}", next.get()));
            let corpus = documents.to_vec();
            let source = LoadSource::from_documents(&corpus);
            let texts = TextIndexing::default();
            let schema = CollectionSchema::default();
            load(&remote, &schema, Some(&texts), &source).unwrap();
            remote.open_texts().unwrap()
        });
    }
}

#[test]
fn contract_of_vectors() {
    for engine in ENGINES {
        for similarity in [VectorSimilarity::InnerProduct, VectorSimilarity::Euclidean] {
            for index in [RemoteVectorIndex::Exact, GRAPH] {
                let (server, _) = elastic_double::start();
                let next = Cell::new(0);
                ir_testkit::check_vectors(|ids: DocIds, vectors: Vec<Vec<f32>>| {
                    next.set(next.get() + 1);
                    let dim = vectors.first().map_or(6, Vec::len);
                    let table = VectorTable::new(ids.clone(), dim, vectors.concat()).unwrap();
                    let name = format!("c{}", next.get());
                    let opened = collection(&server, engine, &name);
                    let schema = CollectionSchema::default()
                        .with_similarity(similarity)
                        .with_vector_index(index);
                    let source = LoadSource::from_vectors(&table);
                    load(&opened, &schema, None, &source).unwrap();
                    let opened = opened.open_vectors().unwrap();
                    // The scores of ir-knn, up to the rounding of the engine's formula.
                    let embedded =
                        FlatIndex::from_row_major(ids, dim, vectors.concat(), similarity).unwrap();
                    for query in toy::vectors(3, dim) {
                        let top = Search::top(5);
                        let one = opened.search(&query, &top).unwrap();
                        let other = embedded.search(&query, &top).unwrap();
                        for (a, b) in one.iter().zip(&other) {
                            let scale = 1.0 + b.score.abs().powi(2);
                            assert!((a.score - b.score).abs() < 1e-5 * scale, "{a:?} {b:?}");
                        }
                    }
                    opened
                });
            }
        }
    }
}

/// Records of earlier versions have neither the encoder nor the hash of the attributes.
#[test]
fn earlier_records() {
    let (server, state) = elastic_double::start();
    let remote = collection(&server, ENGINES[0], "papers");
    let corpus = documents(9);
    let source = LoadSource::from_documents(&corpus).with_encoder("e5");
    let schema = CollectionSchema::default().with_attribute("year", AttributeType::Integer);
    let load = || {
        let texts = TextIndexing::default();
        load(&remote, &schema, Some(&texts), &source)
    };
    assert_eq!(load().unwrap().inserted, 9);
    let record = remote.record().unwrap();
    assert_eq!(record.encoder.as_deref(), Some("e5"));
    assert_eq!(record.has_attributes_of(&corpus).unwrap(), Some(true));
    let others = documents(8);
    assert_eq!(record.has_attributes_of(&others).unwrap(), Some(false));
    {
        let mut state = state.lock().unwrap();
        let index = state.indexes.get_mut("papers").unwrap();
        let record = index.body.pointer_mut("/mappings/_meta/ir_remote").unwrap();
        let record = record.as_object_mut().unwrap();
        assert!(record.remove("encoder").is_some());
        assert!(record.remove("attributes_fingerprint").is_some());
    }
    assert_eq!(load().unwrap().inserted, 0);
    let record = remote.record().unwrap();
    assert_eq!(record.has_attributes_of(&corpus).unwrap(), None);
    let index = remote.open_texts().unwrap();
    let found = index.search("tea", &Search::top(20)).unwrap();
    assert_eq!(found.len(), 9);
}

/// Lucene orders −0 before 0; `Predicate` does not.
#[test]
fn zeros_are_equal() {
    let (server, _) = elastic_double::start();
    let remote = collection(&server, ENGINES[0], "papers");
    let document = |id: &str, x: f64| Document::new(id).with_text("tea").with("x", x);
    let corpus = vec![
        document("negative", -0.0),
        document("positive", 0.0),
        document("below", -1.0),
    ];
    let source = LoadSource::from_documents(&corpus);
    let schema = CollectionSchema::default().with_attribute("x", AttributeType::Number);
    let texts = TextIndexing::default();
    let loaded = load(&remote, &schema, Some(&texts), &source);
    loaded.unwrap();
    for (condition, expected) in [
        ("x<=-0", 3),
        ("x<=0", 3),
        ("x>=-0", 2),
        ("x>=0", 2),
        ("x<0", 1),
        ("x<-0", 1),
        ("x>-0", 0),
        ("x>-1", 2),
    ] {
        let predicate: Predicate = condition.parse().unwrap();
        let matching = corpus
            .iter()
            .filter(|doc| predicate.matches(&doc.attributes));
        assert_eq!(matching.count(), expected, "{condition}");
        let index = remote.open_texts().unwrap();
        let index = index.with_condition(predicate).unwrap();
        let found = index.search("tea", &Search::top(5)).unwrap();
        assert_eq!(found.len(), expected, "{condition}");
    }
}

#[test]
fn shards() {
    for engine in ENGINES {
        let (server, state) = elastic_double::start();
        let remote = collection(&server, engine, "papers");
        let corpus = documents(5);
        let source = LoadSource::from_documents(&corpus);
        let texts = TextIndexing::default();
        let load = |shards| {
            let schema = CollectionSchema::default().with_shards(shards);
            let loaded = load(&remote, &schema, Some(&texts), &source);
            loaded.map(|report| report.documents)
        };
        for invalid in [0, 1025] {
            let message = load(invalid).unwrap_err().to_string();
            assert_contains(&message, "1 to 1024 shards");
        }
        assert_eq!(load(3).unwrap(), 5);
        let settings = state.lock().unwrap().indexes["papers"].body["settings"].clone();
        assert_eq!(settings["number_of_shards"], 3);
        let message = load(1).unwrap_err().to_string();
        assert_contains(&message, "number of shards 1, found 3");
        assert_eq!(remote.record().unwrap().schema.shards, 3);
    }
}

fn schema() -> CollectionSchema {
    papers::schema().with_attribute("tags", AttributeType::Texts)
}

#[test]
fn conditions_are_exact() {
    let (server, _) = elastic_double::start();
    let corpus = documents(60);
    let source = LoadSource::from_documents(&corpus);
    let remote = collection(&server, "elasticsearch", "c");
    let texts = TextIndexing::LUCENE;
    load(&remote, &schema(), Some(&texts), &source).unwrap();
    let index = remote.open_texts().unwrap();
    let all = index.search("tea", &Search::top(60)).unwrap();
    for predicate in conditions(&["tags", "tags=a", "tags!=b"]) {
        let passes = |attributes: &Attributes| predicate.matches(attributes);
        let expected = all
            .clone()
            .retain(|hit| passes(&corpus[hit.doc.index()].attributes));
        let fixed = index.clone().with_condition(predicate.clone()).unwrap();
        assert_eq!(
            fixed.search("tea", &Search::top(60)).unwrap(),
            expected,
            "{predicate:?}"
        );
    }
    let unknown: Predicate = "month".parse().unwrap();
    assert_matches!(
        index.with_condition(unknown),
        Err(RemoteError::Filter { .. })
    );
}

/// Counts of two letters.
struct Letters;

impl Encoder for Letters {
    fn dim(&self) -> usize {
        6
    }

    fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        for (text, row) in texts.iter().zip(out.chunks_exact_mut(6)) {
            row.fill(0.5);
            row[0] = text.len() as f32;
        }
        Ok(())
    }
}

#[test]
fn hybrid_scores_are_sums() {
    let (server, _) = elastic_double::start();
    let (corpus, table) = (documents(30), table(30));
    let source = LoadSource::from_vectors(&table).with_documents(&corpus);
    let remote = collection(&server, "elasticsearch", "c");
    let schema = CollectionSchema::default().with_vector_index(GRAPH);
    let texts = TextIndexing::default();
    load(&remote, &schema, Some(&texts), &source).unwrap();
    let (by_text, by_vector) = (remote.open_texts().unwrap(), remote.open_vectors().unwrap());
    let hybrid = ElasticHybrid::new(by_vector.clone(), Letters, 0.5).unwrap();
    let query = "number 7";
    let vector = Letters.encode(Side::Query, &[query]).unwrap();
    let all = Search::top(30);
    let scores = |ranking: Ranking| -> Vec<f64> {
        let mut scores = vec![0.0; 30];
        for hit in ranking {
            scores[hit.doc.index()] = f64::from(hit.score);
        }
        scores
    };
    let text = scores(by_text.search(query, &all).unwrap());
    let inner = scores(by_vector.search(&vector, &all).unwrap());
    let found = hybrid.search(query, &all).unwrap();
    assert_eq!(found.len(), 30);
    for hit in found {
        let inner = inner[hit.doc.index()];
        let score = if inner < 0.0 {
            1.0 / (1.0 - inner)
        } else {
            inner + 1.0
        };
        let expected = text[hit.doc.index()] + 0.5 * score;
        assert!(
            (f64::from(hit.score) - expected).abs() < 1e-5,
            "{hit:?} {expected}"
        );
    }
    assert!(ElasticHybrid::new(by_vector, Letters, 0.0).is_err());
}

#[test]
fn interrupted_loading_neither_loses_nor_doubles() {
    for fault in [
        Fault::CloseBefore,
        Fault::HalfRequest,
        Fault::CloseAfter,
        Fault::Half,
        Fault::Status(429, "es_rejected_execution_exception"),
        Fault::Garbage,
    ] {
        let (server, _) = elastic_double::start();
        let corpus = documents(50);
        let source = LoadSource::from_documents(&corpus);
        let remote = collection(&server, "opensearch", "c");
        let texts = TextIndexing::default();
        let schema = CollectionSchema::default();
        let mut batches = 0;
        let mut third = |stage: &str, _: u64, _: Option<u64>| {
            batches += usize::from(stage == "loading");
            if stage == "loading" && batches == 3 {
                server.fail_times("/_bulk", &fault, 9);
            }
            Flow::Continue
        };
        let stopped = remote.load(&schema, Some(&texts), &source, &BATCH, &mut third);
        assert!(
            stopped.is_err_and(|error| error.is_transient()),
            "{fault:?}"
        );
        assert_eq!(server.open_faults(), 0);
        server.fail("/_bulk", fault.clone());
        server.fail("/_count", fault.clone());
        let report = load(&remote, &schema, Some(&texts), &source).unwrap();
        assert!(!report.created && report.inserted <= 36, "{report:?}");
        let index = remote.open_texts().unwrap();
        assert_eq!(index.search("tea", &Search::top(99)).unwrap().len(), 50);
        let report = load(&remote, &schema, Some(&texts), &source).unwrap();
        assert_eq!(report.inserted, 0);
    }
}

#[test]
fn errors() {
    let (server, state) = elastic_double::start();
    let corpus = documents(20);
    let source = LoadSource::from_documents(&corpus);
    let remote = collection(&server, "elasticsearch", "c");
    let texts = TextIndexing::default();
    let none = CollectionSchema::default();
    assert_matches!(remote.open_texts(), Err(RemoteError::NoCollection { .. }));
    load(&remote, &none, Some(&texts), &source).unwrap();
    let other = TextIndexing {
        analysis: TextAnalysis::Whitespace,
        ..texts
    };
    let error = load(&remote, &none, Some(&other), &source).unwrap_err();
    assert_contains(
        &error,
        "expected engine settings analysis whitespace, k1 0.9, b 0.4, found analysis anserini",
    );
    assert_matches!(
        remote.open_vectors(),
        Err(RemoteError::Conflict {
            what: "vectors",
            ..
        })
    );
    let index = remote.open_texts().unwrap();
    let fail = |fault: Fault, count: usize| {
        server.fail_times("/_msearch", &fault, count);
        let error = index.search("tea", &Search::top(3)).unwrap_err();
        assert_eq!(server.open_faults(), 0);
        std::error::Error::source(&error).unwrap().to_string()
    };
    for fault in [Fault::HalfRequest, Fault::CloseAfter, Fault::Half] {
        let message = fail(fault, 3);
        let address = format!("127.0.0.1:{}/", server.port);
        assert!(
            message.contains(&address) && message.contains("interrupted"),
            "{message}"
        );
    }
    assert!(fail(Fault::Status(401, "expired"), 1).contains("IR_REMOTE_API_KEY"));
    assert!(fail(Fault::Status(503, "x"), 3).contains("503"));
    assert!(fail(Fault::Text("{}"), 1).contains("the responses to 1 queries"));
    let shards = r#"{"responses":[{"_shards":{"failed":1},"hits":{"hits":[]}}]}"#;
    assert!(fail(Fault::Text(shards), 1).contains("the hits of all shards"));
    let rejected = r#"{"responses":[{"error":{"type":"query_shard_exception"},"status":400}]}"#;
    assert!(fail(Fault::Text(rejected), 1).contains("query_shard_exception"));
    // An index of somebody else.
    state.lock().unwrap().indexes.get_mut("c").unwrap().body["mappings"]["_meta"] = Value::Null;
    assert_matches!(
        remote.open_texts(),
        Err(RemoteError::ForeignCollection { .. })
    );
    let loaded = load(&remote, &none, Some(&texts), &source);
    assert_matches!(loaded, Err(RemoteError::ForeignCollection { .. }));
    let website = HttpDouble::start(|_, _, _| (404, "<html>".to_owned()));
    let error = collection(&website, "opensearch", "c")
        .open_texts()
        .unwrap_err();
    assert_contains(&error, "expected the REST API of OpenSearch");
    for name in ["Upper", "_x"] {
        let address: EngineAddress = format!("opensearch://h/{name}").parse().unwrap();
        assert!(ElasticCollection::new(&address, &Credentials::default(), &quick()).is_err());
    }
}

/// An administrator creates the index with the template; loading gives it the record.
#[test]
fn indexes_of_templates_are_adopted() {
    for engine in ENGINES {
        let (server, state) = elastic_double::start();
        let (corpus, table) = (documents(10), table(10));
        let source = LoadSource::from_vectors(&table).with_documents(&corpus);
        let remote = collection(&server, engine, "c");
        let (schema, texts) = (schema().with_vector_index(GRAPH), TextIndexing::default());
        let template = remote
            .index_template(&schema, Some(&texts), Some(6))
            .unwrap();
        let template: Value = serde_json::from_str(&template).unwrap();
        assert_eq!(template["index_patterns"], json!(["c"]));
        let body = template["template"].clone();
        assert_eq!(
            body["settings"]["similarity"]["bm25"],
            json!({"type": "BM25", "k1": 0.9, "b": 0.4, "discount_overlaps": true})
        );
        // Filters that the analyzer does not use are left out.
        let filters = |analysis| {
            let texts = TextIndexing { analysis, ..texts };
            let template = remote.index_template(&schema, Some(&texts), None).unwrap();
            let template: Value = serde_json::from_str(&template).unwrap();
            let filters = &template["template"]["settings"]["analysis"]["filter"];
            let filters = filters.as_object().into_iter().flatten();
            let mut names: Vec<String> = filters.map(|(name, _)| name.clone()).collect();
            names.sort();
            names.join(" ")
        };
        assert_eq!(filters(TextAnalysis::Anserini), "ir_possessive ir_stop");
        let english = "ir_porter2 ir_possessive ir_stop";
        assert_eq!(filters(TextAnalysis::English), english);
        assert_eq!(filters(TextAnalysis::LuceneStandard), "");
        let vector = match engine {
            "elasticsearch" => {
                json!({"type": "dense_vector", "dims": 6, "index": true, "similarity": "max_inner_product",
                "index_options": {"type": "hnsw", "m": 16, "ef_construction": 100}})
            }
            _ => {
                json!({"type": "knn_vector", "dimension": 6, "method": {"name": "hnsw", "engine": "lucene",
                "space_type": "innerproduct", "parameters": {"m": 16, "ef_construction": 100}}})
            }
        };
        assert_eq!(body["mappings"]["properties"]["vector"], vector);
        state.lock().unwrap().create("c", body);
        let report = load(&remote, &schema, Some(&texts), &source).unwrap();
        assert_eq!((report.created, report.inserted), (false, 10));
        let index = remote.open_texts().unwrap();
        let hits = index.search("7", &Search::top(3)).unwrap();
        assert_eq!(hits.hits()[0].doc, DocNum::new(7));
        let bulk = server.requests.lock().unwrap();
        let bulk = bulk.iter().find(|it| it.path.contains("_bulk")).unwrap();
        let lines: Vec<Value> = bulk
            .body
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[2], json!({"index": {"_id": "1"}}));
        assert_eq!(lines[3]["contents"], "tea number 1");
        assert_eq!(lines[3]["attributes"]["year"], 2001);
        assert_eq!(
            lines[3]["known"],
            json!(["year", "venue", "x", "open", "tags"])
        );
    }
}
