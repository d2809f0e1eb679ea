//! A real Milvus server, which `.ci/milvus` starts: contract, exact search beside ir-knn, recall of
//! HNSW, and a server that is killed between two requests and within one. `.ci/milvus-lite` runs it
//! on milvus-lite.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod killed;
mod setup;

use std::cell::Cell;
use std::process::Command;
use std::time::{Duration, Instant};

use ir_core::{DocIds, DocNum, Document, Flow, NoProgress, Predicate, Ranking, Retriever, Search};
use ir_engines::{
    AttributeType, ClientConfig, CollectionSchema, Consistency, LoadOptions, LoadSource,
    MilvusIndex, RemoteError, RemoteVectorIndex, VectorTable,
};
use ir_knn::{EfSearch, FlatIndex, HnswConfig, HnswIndex, VectorSimilarity};
use setup::{DIM, collection, count_of, data, patient};

/// A client that reports a lost server at once.
fn hasty() -> ClientConfig {
    ClientConfig {
        attempts: 2,
        backoff: Duration::from_millis(100),
        ..ClientConfig::default()
    }
}

/// Starts or kills the server.
fn server(action: &str) {
    let script = std::env::var("IR_MILVUS_SERVER").unwrap();
    let status = Command::new(script).arg(action).status().unwrap();
    assert!(status.success(), "{action}");
}

/// Year of a document; every tenth has none.
fn year(doc: usize) -> Option<i64> {
    (!doc.is_multiple_of(10)).then_some(1990 + (doc as i64 * 7919) % 35)
}

/// Compares rankings, ties aside: documents may change places only where their scores differ by
/// less than the rounding of sums. Returns whether the ids are in the same order.
fn compare(found: &Ranking, expected: &Ranking, k: usize) -> bool {
    const ROUNDING: f32 = 2e-6;
    // `expected` is longer, for ties at the end.
    assert_eq!(found.len(), k.min(expected.len()));
    let mut same = true;
    for (one, other) in found.iter().zip(expected) {
        assert!(
            (one.score - other.score).abs() < ROUNDING,
            "{one:?} {other:?}"
        );
        if one.doc != other.doc {
            same = false;
            let own = expected.iter().find(|hit| hit.doc == one.doc);
            let own = own.expect("a document of the exact ranking").score;
            assert!((own - one.score).abs() < ROUNDING, "{one:?} {own}");
        }
    }
    same
}

fn recall(found: &[Ranking], exact: &[Ranking], k: usize) -> f64 {
    let mut shared = 0;
    for (found, exact) in found.iter().zip(exact) {
        let docs: Vec<DocNum> = exact.iter().take(k).map(|hit| hit.doc).collect();
        shared += found
            .iter()
            .take(k)
            .filter(|hit| docs.contains(&hit.doc))
            .count();
    }
    shared as f64 / (k * exact.len()) as f64
}

#[test]
#[ignore = "needs a Milvus server: .ci/milvus"]
fn contract() {
    for similarity in [VectorSimilarity::InnerProduct, VectorSimilarity::Euclidean] {
        let next = Cell::new(0);
        ir_testkit::check_vectors(|ids, vectors| {
            next.set(next.get() + 1);
            let dim = vectors.first().map_or(6, Vec::len);
            let table = VectorTable::new(ids, dim, vectors.concat()).unwrap();
            let remote = collection(&format!("contract_{}", next.get()), &patient());
            remote.remove().unwrap();
            let schema = CollectionSchema::default().with_similarity(similarity);
            let source = LoadSource::from_vectors(&table);
            let options = LoadOptions { batch: 20 };
            remote
                .load(&schema, &source, &options, &mut NoProgress)
                .unwrap();
            remote
                .open()
                .unwrap()
                .with_consistency(Consistency::Eventual)
        });
    }
}

#[test]
#[ignore = "needs a Milvus server: .ci/milvus"]
fn conditions() {
    let n = 200;
    let texts = ["ACL", "a\"b\\", "", "ünï 😀\n'"];
    let corpus: Vec<Document> = (0..n)
        .map(|at| {
            let mut document = Document::new(format!("d{at}"));
            if let Some(year) = year(at) {
                document = document.with("year", year);
            }
            if !at.is_multiple_of(3) {
                document = document.with("venue", texts[at % 4]);
            }
            if !at.is_multiple_of(7) {
                document = document.with("x", at as f64 / 7.0 - 5.0);
            }
            document.with("open", at.is_multiple_of(2))
        })
        .collect();
    let ids: DocIds = corpus.iter().map(|document| document.id.as_str()).collect();
    let table = VectorTable::new(ids, DIM, data(n, 5)).unwrap();
    let schema = CollectionSchema::default()
        .with_attribute("year", AttributeType::Integer)
        .with_attribute("venue", AttributeType::Text)
        .with_attribute("x", AttributeType::Number)
        .with_attribute("open", AttributeType::Boolean)
        .with_partition_key("venue");
    let remote = collection("conditions", &patient());
    remote.remove().unwrap();
    let source = LoadSource::from_vectors(&table).with_documents(&corpus);
    remote
        .load(&schema, &source, &LoadOptions::default(), &mut NoProgress)
        .unwrap();
    let index = remote
        .open()
        .unwrap()
        .with_consistency(Consistency::Eventual);
    let query = &data(1, 6)[..];
    let all = index.search(query, &Search::top(n)).unwrap();
    assert_eq!(all.len(), n);
    let mut conditions: Vec<Predicate> = [
        "year<=2007.5",
        "year>=2008",
        "year=2003,2005",
        "year!=2003",
        "year",
        "venue=ACL",
        "venue=a\"b\\",
        "venue!=ACL",
        "x<=-1.5",
        "x>=1e-3",
        "open=true",
        "open!=true",
        "year>2008",
        "year<2008",
        "x<-1.5",
        "x>1e-3",
    ]
    .iter()
    .map(|text| text.parse().unwrap())
    .collect();
    for text in texts {
        let values = vec![text.into()];
        conditions.push(Predicate::OneOf {
            name: "venue".into(),
            values,
        });
    }
    conditions.push(Predicate::All(conditions[..2].to_vec()));
    conditions.push(Predicate::Not(Box::new(Predicate::Any(
        conditions[4..8].to_vec(),
    ))));
    conditions.push(Predicate::Any(vec![
        Predicate::Not(Box::new(conditions[0].clone())),
        conditions[8].clone(),
    ]));
    for condition in &conditions {
        let passes = |doc: DocNum| condition.matches(&corpus[doc.index()].attributes);
        let expected = all.clone().retain(|hit| passes(hit.doc));
        let found = index.search_where(&[(query, n, Some(condition))]).unwrap();
        // The sums of milvus-lite depend on the documents that pass.
        match std::env::var("IR_MILVUS_LITE") {
            Ok(_) => {
                assert_eq!(found[0].len(), expected.len(), "{condition:?}");
                compare(&found[0], &expected, n);
            }
            Err(_) => assert_eq!(found[0], expected, "{condition:?}"),
        }
    }
    // The engine would compare the texts as they are written.
    let condition: Predicate = "venue<=3".parse().unwrap();
    let error = index.search_where(&[(query, n, Some(&condition))]);
    let error = error.unwrap_err();
    assert!(matches!(error, RemoteError::Filter { .. }), "{error:?}");
    eprintln!("{} conditions: exact", conditions.len());
}

#[test]
#[ignore = "needs a Milvus server: .ci/milvus"]
fn exact_search_hnsw_and_a_killed_server() {
    let n = count_of("IR_MILVUS_DOCUMENTS", 100_000);
    let values = data(n, 1);
    let corpus: Vec<Document> = (0..n)
        .map(|at| {
            let document = Document::new(format!("d{at}"));
            match year(at) {
                Some(year) => document.with("year", year),
                None => document,
            }
        })
        .collect();
    let ids: DocIds = corpus.iter().map(|document| document.id.as_str()).collect();
    let table = VectorTable::new(ids.clone(), DIM, values.clone()).unwrap();
    let source = LoadSource::from_vectors(&table).with_documents(&corpus);
    let schema = CollectionSchema::default().with_attribute("year", AttributeType::Integer);
    let options = LoadOptions::default();

    // Loading; the server is killed after 40 %, between two requests, and after 60 %, within one.
    let remote = collection("exact", &patient());
    remote.remove().unwrap();
    let start = Instant::now();
    let mut killed = false;
    let mut kill = |stage: &str, done: u64, _: Option<u64>| {
        if !killed && stage == "loading" && done >= n as u64 * 2 / 5 {
            killed = true;
            server("kill");
        }
        Flow::Continue
    };
    let error = collection("exact", &hasty()).load(&schema, &source, &options, &mut kill);
    let error = error.unwrap_err();
    assert!(
        matches!(error, RemoteError::Unreachable { .. }),
        "{error:?}"
    );
    eprintln!(
        "killed while loading, after {:.1} s: {error}",
        start.elapsed().as_secs_f64()
    );
    server("start");
    killed::while_loading(&schema, &source, n);
    let start = Instant::now();
    let report = remote
        .load(&schema, &source, &options, &mut NoProgress)
        .unwrap();
    assert!(report.inserted <= n / 2 && !report.created, "{report:?}");
    eprintln!(
        "resumed in {:.1} s: {report:?}",
        start.elapsed().as_secs_f64()
    );
    let report = remote
        .load(&schema, &source, &options, &mut NoProgress)
        .unwrap();
    assert_eq!(report.inserted, 0);
    let index = remote
        .open()
        .unwrap()
        .with_consistency(Consistency::Eventual);
    assert_eq!(index.ids(), &ids);

    // Exact search, with and without filters on the year.
    let queries = data(1000, 2);
    let queries: Vec<&[f32]> = queries.chunks(DIM).collect();
    let embedded =
        FlatIndex::from_row_major(ids.clone(), DIM, values, VectorSimilarity::InnerProduct)
            .unwrap();
    check_exact(&index, &embedded, &queries);

    // The server is killed between searches, and within one.
    let searching = collection("exact", &hasty()).open().unwrap();
    let first = searching.search(queries[0], &Search::top(10)).unwrap();
    server("kill");
    let error = searching.search(queries[0], &Search::top(10)).unwrap_err();
    let source_error = std::error::Error::source(&error).unwrap().to_string();
    assert!(source_error.contains("no server"), "{source_error}");
    eprintln!("killed while searching: {error}: {source_error}");
    server("start");
    let reopened = remote.open().unwrap();
    assert_eq!(
        reopened.search(queries[0], &Search::top(10)).unwrap(),
        first
    );
    eprintln!("restarted: the same ranking");
    killed::while_searching(&queries);

    // HNSW, with the parameters of ours.
    let g = count_of("IR_MILVUS_GRAPH", n).min(n);
    let (m, ef_construction) = (16, 200);
    let ids: DocIds = ids.iter().take(g).collect();
    let values = data(n, 1)[..g * DIM].to_vec();
    let table = VectorTable::new(ids.clone(), DIM, values.clone()).unwrap();
    let source = LoadSource::from_vectors(&table);
    let embedded =
        FlatIndex::from_row_major(ids, DIM, values, VectorSimilarity::InnerProduct).unwrap();
    let exact: Vec<Ranking> = queries
        .iter()
        .map(|query| embedded.search(query, &Search::top(10)).unwrap())
        .collect();
    let graph = collection("graph", &patient());
    graph.remove().unwrap();
    let start = Instant::now();
    let schema = CollectionSchema::default()
        .with_vector_index(RemoteVectorIndex::Hnsw { m, ef_construction });
    graph
        .load(&schema, &source, &options, &mut NoProgress)
        .unwrap();
    let loaded = start.elapsed().as_secs_f64();
    let graph = graph
        .open()
        .unwrap()
        .with_consistency(Consistency::Eventual);
    let start = Instant::now();
    let config = HnswConfig::default()
        .with_m(m as usize)
        .with_ef_construction(ef_construction as usize);
    let ours = HnswIndex::build(embedded, &config, &mut NoProgress).unwrap();
    eprintln!(
        "HNSW of {g} documents, m {m}, ef_construction {ef_construction}: Milvus loaded and indexed in {loaded:.1} s, ours built in {:.1} s",
        start.elapsed().as_secs_f64()
    );
    for ef in [50, 100, 200] {
        let graph = graph.clone().with_ef(ef);
        let batch: Vec<(&[f32], Search<'_>)> = queries
            .iter()
            .map(|&query| (query, Search::top(10)))
            .collect();
        let theirs = graph.search_batch(&batch).unwrap();
        let ours = ours.searcher(EfSearch(ef));
        let ours: Vec<Ranking> = batch
            .iter()
            .map(|(query, search)| ours.search(query, search).unwrap())
            .collect();
        eprintln!(
            "ef {ef}: recall@10 Milvus {:.4}, ours {:.4}",
            recall(&theirs, &exact, 10),
            recall(&ours, &exact, 10)
        );
    }
}

/// Compares exact searches of both, without and with filters on the year.
fn check_exact(index: &MilvusIndex, embedded: &FlatIndex, queries: &[&[f32]]) {
    let n = embedded.ids().len();
    let k = 100;
    let start = Instant::now();
    let plain: Vec<_> = queries.iter().map(|&query| (query, k, None)).collect();
    let found = index.search_where(&plain).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let expected: Vec<Ranking> = queries
        .iter()
        .map(|query| embedded.search(query, &Search::top(k + 20)).unwrap())
        .collect();
    let pairs = found.iter().zip(&expected);
    let same = pairs
        .filter(|(found, expected)| compare(found, expected, k))
        .count();
    eprintln!(
        "exact, {n} documents, {} queries, top {k}: equal ties aside; {same} with the same order; {seconds:.1} s",
        queries.len()
    );

    let years: Vec<i64> = (0..queries.len() as i64).map(|at| 1992 + at % 30).collect();
    let conditions: Vec<Predicate> = years
        .iter()
        .map(|&year| Predicate::AtMost {
            name: "year".into(),
            limit: year.into(),
            strict: false,
        })
        .collect();
    let filtered: Vec<_> = queries
        .iter()
        .zip(&conditions)
        .map(|(&query, condition)| (query, k, Some(condition)))
        .collect();
    let start = Instant::now();
    let found = index.search_where(&filtered).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let mut same = 0;
    for ((found, query), &limit) in found.iter().zip(queries).zip(&years) {
        let passes = |doc: DocNum| year(doc.index()).is_none_or(|year| year <= limit);
        let expected = embedded
            .search(query, &Search::top(k + 20).within(&passes))
            .unwrap();
        assert!(found.iter().all(|hit| passes(hit.doc)));
        same += usize::from(compare(found, &expected, k));
    }
    eprintln!(
        "the same with filters year <= Y or unknown: equal ties aside; {same} with the same order; {seconds:.1} s"
    );
}
