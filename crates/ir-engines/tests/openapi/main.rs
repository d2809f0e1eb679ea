//! Requests to Elasticsearch and OpenSearch against the members, types, parameters and paths of
//! their OpenAPI specifications (`facts.txt`). `.ci/openapi` validates the same requests against
//! the specifications themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/elastic_double.rs"]
mod elastic_double;
mod facts;

use std::collections::BTreeSet;
use std::io::Write as _;

use common::{Request, quick};
use facts::Facts;
use ir_core::{
    DocIds, DocNum, DocSet, Document, EncodeError, Encoder, NoProgress, Retriever, Search, Side,
    VectorSimilarity,
};
use ir_engines::{
    AttributeType, CollectionSchema, Credentials, ElasticCollection, ElasticHybrid, LoadOptions,
    LoadSource, RemoteVectorIndex, TextAnalysis, TextIndexing, VectorTable,
};
use serde_json::{Value, json};

const DOCUMENTS: usize = 12;
const GRAPH: RemoteVectorIndex = RemoteVectorIndex::Hnsw {
    m: 16,
    ef_construction: 100,
};

struct Lengths;

impl Encoder for Lengths {
    fn dim(&self) -> usize {
        6
    }

    fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        for (text, row) in texts.iter().zip(out.chunks_exact_mut(6)) {
            row.fill(text.len() as f32);
        }
        Ok(())
    }
}

fn documents() -> Vec<Document> {
    let document = |at: usize| {
        Document::new(format!("v{at:02}"))
            .with_title("On tea")
            .with_text(format!("tea number {at}"))
            .with("year", 2000 + at as i64)
            .with("venue", ["ACL", "SIGIR"][at % 2])
            .with("x", at as f64 / 3.0)
            .with("open", at.is_multiple_of(2))
            .with("tags", vec!["a", "b"])
    };
    (0..DOCUMENTS).map(document).collect()
}

fn attributes() -> CollectionSchema {
    CollectionSchema::default()
        .with_attribute("year", AttributeType::Integer)
        .with_attribute("venue", AttributeType::Text)
        .with_attribute("x", AttributeType::Number)
        .with_attribute("open", AttributeType::Boolean)
        .with_attribute("tags", AttributeType::Texts)
}

/// All requests of loading, searching, explaining and removing, and the index template.
fn exchange(engine: &str) -> Vec<Request> {
    let (server, state) = elastic_double::start();
    let mut templates = Vec::new();
    let open = |name: &str| {
        let address = format!("{engine}://127.0.0.1:{}/{name}", server.port);
        let address = address.parse().unwrap();
        ElasticCollection::new(&address, &Credentials::default(), &quick()).unwrap()
    };
    let options = LoadOptions { batch: 5 };
    let corpus = documents();
    let ids: DocIds = corpus.iter().map(|document| document.id.clone()).collect();
    let vectors = (0..DOCUMENTS * 6).map(|at| (at % 7) as f32 - 2.5);
    let table = VectorTable::new(ids, 6, vectors.collect()).unwrap();
    let both = LoadSource::from_vectors(&table).with_documents(&corpus);
    let all = [
        TextAnalysis::Anserini,
        TextAnalysis::AnseriniUnstemmed,
        TextAnalysis::English,
        TextAnalysis::LuceneStandard,
        TextAnalysis::Whitespace,
    ];
    for (at, analysis) in all.into_iter().enumerate() {
        let texts = TextIndexing {
            analysis,
            ..TextIndexing::LUCENE
        };
        let texts_only = LoadSource::from_documents(&corpus);
        let schema = CollectionSchema::default();
        open(&format!("t{at}"))
            .load(
                &schema,
                Some(&texts),
                &texts_only,
                &options,
                &mut NoProgress,
            )
            .unwrap();
    }
    let similarities = [
        VectorSimilarity::InnerProduct,
        VectorSimilarity::Cosine,
        VectorSimilarity::Euclidean,
    ];
    for (at, similarity) in similarities.into_iter().enumerate() {
        for index in [RemoteVectorIndex::Exact, GRAPH] {
            let schema = attributes()
                .with_similarity(similarity)
                .with_vector_index(index);
            let texts = TextIndexing::default();
            let is_graph = index == GRAPH;
            let remote = open(&format!("v{at}{is_graph}").to_lowercase());
            let template = remote
                .index_template(&schema, Some(&texts), Some(6))
                .unwrap();
            templates.push(template);
            let load = || {
                remote
                    .load(&schema, Some(&texts), &both, &options, &mut NoProgress)
                    .unwrap()
            };
            load();
            search(&remote, is_graph && engine == "elasticsearch");
            // A document with the number of another one is removed.
            {
                let mut state = state.lock().unwrap();
                let index = state.indexes.values_mut().last().unwrap();
                let double = index.written["3"].clone();
                index.written.insert("double".to_owned(), double);
            }
            assert_eq!(load().inserted, 5);
            remote.remove().unwrap();
        }
    }
    // The administrator sends the template, and creates the index.
    let template: Value = serde_json::from_str(&templates[1]).unwrap();
    let body = template["template"].clone();
    state.lock().unwrap().create("a", body);
    let schema = attributes().with_vector_index(GRAPH);
    let texts = TextIndexing::default();
    open("a")
        .load(&schema, Some(&texts), &both, &options, &mut NoProgress)
        .unwrap();
    let mut all = server.requests.lock().unwrap().clone();
    all.extend(templates.into_iter().map(|body| Request {
        method: "PUT".to_owned(),
        path: "/_index_template/papers".to_owned(),
        content_type: Some("application/json".to_owned()),
        body,
        ..Request::default()
    }));
    all
}

/// Searches of texts, vectors and both, with every kind of condition.
fn search(remote: &ElasticCollection, has_hybrid: bool) {
    let (texts, vectors) = (remote.open_texts().unwrap(), remote.open_vectors().unwrap());
    let query = [0.5, -1.0, 0.25, 2.0, 0.0, 1.0];
    let chosen: DocSet = [0, 2, 3, 7].into_iter().map(DocNum::new).collect();
    let searches = [Search::top(3), Search::top(3).within(&chosen)];
    for conditions in [
        &[][..],
        &["year<=2007"],
        &["year>=2008"],
        &["year=2003,2005"],
        &["year!=2003"],
        &["venue"],
        &["venue=ACL"],
        &["x<=1.5"],
        &["open=true"],
        &["tags!=b"],
        &["year<=2007", "venue=ACL,SIGIR", "tags"],
    ] {
        let (mut texts, mut vectors) = (texts.clone(), vectors.clone());
        for condition in conditions {
            texts = texts.with_condition(condition.parse().unwrap()).unwrap();
            vectors = vectors.with_condition(condition.parse().unwrap()).unwrap();
        }
        for search in &searches {
            assert!(texts.search("tea number 3", search).is_ok());
            assert!(vectors.search(&query, search).is_ok());
            assert!(texts.explain("tea", DocNum::new(3), search).is_ok());
            if has_hybrid {
                let hybrid = ElasticHybrid::new(vectors.clone(), Lengths, 0.5).unwrap();
                assert!(hybrid.search("tea", search).is_ok());
            }
        }
    }
}

#[test]
fn requests_are_those_of_the_specifications() {
    let mut out = Vec::new();
    for engine in ["elasticsearch", "opensearch"] {
        let facts = Facts::of_engine(engine);
        let mut used = BTreeSet::new();
        let requests = exchange(engine);
        for request in &requests {
            match facts.check(request) {
                Ok(operation) => drop(used.insert(operation)),
                Err(errors) => panic!("{engine}: {errors:#?}\n{request:?}"),
            }
            let record = json!({
                "engine": engine,
                "method": request.method,
                "path": request.path,
                "content_type": request.content_type,
                "body": request.body,
            });
            writeln!(out, "{record}").unwrap();
        }
        let all: BTreeSet<String> = facts.operations().into_iter().collect();
        assert_eq!(used, all, "{engine}");
    }
    if let Some(path) = std::env::var_os("IR_OPENAPI_REQUESTS") {
        std::fs::write(path, out).unwrap();
    }
}

/// Each damaged request is found, with the place of the damage.
#[test]
fn violations_are_found() {
    for engine in ["elasticsearch", "opensearch"] {
        let facts = Facts::of_engine(engine);
        let requests = exchange(engine);
        let damaged = |path: &str, of: &str, from: &str, to: &str| {
            let suits = |it: &&Request| it.path.contains(path) && it.body.contains(of);
            let mut request = requests.iter().find(suits).unwrap().clone();
            assert!(request.body.contains(from), "{request:?}");
            request.body = request.body.replace(from, to);
            facts.check(&request).unwrap_err().join("\n")
        };
        let (dims, dims_error) = match engine {
            "elasticsearch" => (
                "\"dims\":6",
                "body.mappings.properties.vector.dims: expected",
            ),
            _ => (
                "\"dimension\":6",
                "body.mappings.properties.vector.dimension: expected",
            ),
        };
        let quoted = dims.replace('6', "\"6\"");
        assert!(damaged("/v0", dims, dims, &quoted).contains(dims_error));
        let missing = damaged("/v0", dims, dims, "\"store\":true");
        match engine {
            // Only OpenSearch requires the dimension.
            "elasticsearch" => assert!(missing.contains("vector.store: not declared"), "{missing}"),
            _ => assert!(missing.contains("dimension: missing"), "{missing}"),
        }
        // Path, part of the body, text in it, its replacement, and the error.
        for violation in [
            r#"/v0 | ir_text | "long" | "int64" | properties.n"#,
            r#"/t0 | ir_text | "BM25" | "BM26" | settings.similarity"#,
            r#"_bulk | index | "index" | "insert" | BulkAction.insert: not declared"#,
            r#"_bulk | index | "_id" | "id" | BulkAction.index.id: not declared"#,
            r#"_count | range | "range" | "between" | body.query.between: not declared"#,
            r#"_count | match_all | {"match_all":{}} | {} | body.query: expected one member"#,
            r#"_msearch | "sort" | "_score" | {"_score":"desc"} | SearchBody.sort"#,
            "_msearch | \"sort\" | {}\n |  | expected complete lines",
            r#"_msearch | script_score | "script" | "code" | script_score.script: missing"#,
            r#"_msearch | {"term" | "value":" | "values":" | values: not declared"#,
            r#"_explain | match | "contents":{"query" | "contents":{"text" | text: not declared"#,
            r#"_index_template | index_patterns | index_patterns | patterns | patterns: not declared"#,
        ] {
            let parts: Vec<&str> = violation.split(" | ").collect();
            let [path, of, from, to, expected] = parts[..] else {
                panic!("{violation}");
            };
            let found = damaged(path, of, from, to);
            assert!(found.contains(expected), "{engine} {from}: {found}");
        }
        let first = |path: &str| {
            let mut all = requests.iter();
            all.find(|it| it.path.contains(path)).unwrap().clone()
        };
        let errors = |request: Request| facts.check(&request).unwrap_err().join("\n");
        let renamed = Request {
            path: first("_delete_by_query").path.replace("refresh", "flush"),
            ..first("_delete_by_query")
        };
        assert_eq!(errors(renamed), "parameter flush: not declared");
        let method = Request {
            method: "PUT".to_owned(),
            ..first("_bulk")
        };
        assert!(errors(method).contains("no operation PUT"));
        let media = Request {
            content_type: Some("application/json".to_owned()),
            ..first("_bulk")
        };
        assert!(errors(media).contains("content type: expected Some(\"application/x-ndjson\")"));
        let body = Request {
            body: "{}".to_owned(),
            ..first("_refresh")
        };
        assert!(errors(body).contains("expected -"));
    }
}
