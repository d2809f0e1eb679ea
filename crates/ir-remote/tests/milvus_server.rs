//! A real Milvus server, which `.ci/milvus` starts: contract, exact search beside ir-knn, recall of
//! HNSW, and a server that is killed. `.ci/milvus-lite` runs it on milvus-lite.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ir_core::{
    DocIds, DocNum, Document, Flow, NoProgress, Predicate, Ranking, Retriever, Search, SplitMix64,
};
use ir_knn::{EfSearch, FlatIndex, HnswConfig, HnswIndex, VectorSimilarity};
use ir_remote::{
    AttributeType, ClientConfig, CollectionSchema, Consistency, Credentials, EngineAddress,
    LoadOptions, LoadSource, MilvusCollection, MilvusIndex, Recorder, RemoteError,
    RemoteSimilarity, RemoteVectorIndex, VectorTable,
};

const DIM: usize = 384;

fn patient() -> ClientConfig {
    ClientConfig {
        attempts: 8,
        backoff: Duration::from_millis(500),
        ..ClientConfig::default()
    }
}

/// A client that reports a lost server at once.
fn hasty() -> ClientConfig {
    ClientConfig {
        attempts: 2,
        backoff: Duration::from_millis(100),
        ..ClientConfig::default()
    }
}

fn collection(name: &str, config: &ClientConfig) -> MilvusCollection {
    let base = std::env::var("IR_MILVUS_ADDRESS");
    let base = base.unwrap_or_else(|_| "milvus://127.0.0.1".to_owned());
    let address: EngineAddress = format!("{base}/{name}").parse().unwrap();
    MilvusCollection::new(&address, &Credentials::default(), config).unwrap()
}

/// Starts or kills the server.
fn server(action: &str) {
    let script = std::env::var("IR_MILVUS_SERVER").unwrap();
    let status = Command::new(script).arg(action).status().unwrap();
    assert!(status.success(), "{action}");
}

fn count_of(variable: &str, default: usize) -> usize {
    let count = std::env::var(variable);
    count.map_or(default, |count| count.parse().unwrap())
}

/// Unit vectors around 1000 centers, and years; every tenth is unknown.
fn data(n: usize, seed: u64) -> Vec<f32> {
    let mut random = SplitMix64::new(seed, 0);
    let mut centers = SplitMix64::new(17, 1);
    let uniform = |random: &mut SplitMix64| random.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0;
    let centers: Vec<f32> = (0..1000 * DIM).map(|_| uniform(&mut centers)).collect();
    let mut values = Vec::with_capacity(n * DIM);
    for _ in 0..n {
        let center = &centers[random.below(1000) * DIM..][..DIM];
        let row: Vec<f32> = center.iter().map(|x| x + uniform(&mut random)).collect();
        let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        values.extend(row.iter().map(|x| x / norm));
    }
    values
}

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
    for similarity in [RemoteSimilarity::InnerProduct, RemoteSimilarity::Euclidean] {
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
        "venue<=3",
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

    // Loading; the server is killed after 40 %.
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
    let start = Instant::now();
    let report = remote
        .load(&schema, &source, &options, &mut NoProgress)
        .unwrap();
    assert!(report.inserted < n && !report.created, "{report:?}");
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

    // The server is killed between searches.
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
    let ours = HnswIndex::new(embedded, &config).unwrap();
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

#[test]
#[ignore = "needs a Milvus server: .ci/milvus"]
fn overhead_of_the_client() {
    if std::env::var("IR_MILVUS_ADDRESS").is_ok() {
        return;
    }
    let n = count_of("IR_MILVUS_GRAPH", 100_000);
    let ids: DocIds = (0..n).map(|at| format!("d{at}")).collect();
    let table = VectorTable::new(ids, DIM, data(n, 1)).unwrap();
    let queries = data(1000, 2);
    let queries: Vec<&[f32]> = queries.chunks(DIM).collect();
    let graph = RemoteVectorIndex::Hnsw {
        m: 16,
        ef_construction: 200,
    };
    for (name, index) in [("exact", RemoteVectorIndex::Exact), ("hnsw", graph)] {
        let name = format!("overhead_{name}");
        let remote = collection(&name, &patient());
        remote.remove().unwrap();
        let schema = CollectionSchema::default().with_vector_index(index);
        let (source, options) = (LoadSource::from_vectors(&table), LoadOptions::default());
        let loaded = remote.load(&schema, &source, &options, &mut NoProgress);
        loaded.unwrap();
        overhead(&name, n, &queries);
    }
}

/// Batches of 100 searches by the client beside the same requests, built before, over a connection
/// that is kept, whose responses are read and not parsed. Alternating; medians. Also over gRPC.
fn overhead(name: &str, n: usize, queries: &[&[f32]]) {
    const BATCH: usize = 100;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exchange.jsonl");
    let remote = collection(name, &patient());
    let open = |remote: MilvusCollection| {
        let index = remote.open().unwrap();
        index.with_consistency(Consistency::Eventual)
    };
    let batches: Vec<Vec<(&[f32], Search<'_>)>> = queries
        .chunks(BATCH)
        .map(|batch| {
            batch
                .iter()
                .map(|&query| (query, Search::top(10)))
                .collect()
        })
        .collect();
    let index = open(remote.clone());
    let recorded = open(remote.with_recorder(Arc::new(Recorder::create(&path).unwrap())));
    #[cfg(feature = "milvus-grpc")]
    let grpc = {
        let address = format!("milvus+grpc://127.0.0.1/{name}").parse().unwrap();
        open(MilvusCollection::new(&address, &Credentials::default(), &patient()).unwrap())
    };
    for batch in &batches {
        recorded.search_batch(batch).unwrap();
    }
    let exchange = std::fs::read_to_string(&path).unwrap();
    let requests = exchange.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        (line["path"] == "/search").then(|| line["request"].to_string())
    });
    let bodies: Vec<String> = requests.flatten().collect();
    assert_eq!(bodies.len(), batches.len(), "a request per batch");
    let mut connection = TcpStream::connect("127.0.0.1:9091").unwrap();
    connection.set_nodelay(true).unwrap();
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    let timed = |times: &mut Vec<f64>, run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        times.push(start.elapsed().as_secs_f64() * 1e3);
    };
    for _ in 0..5 {
        for (batch, body) in batches.iter().zip(&bodies) {
            timed(&mut times[0], &mut || {
                let length = raw_request(&mut connection, body);
                assert!(length > BATCH * 10);
            });
            timed(&mut times[1], &mut || {
                let found = index.search_batch(batch).unwrap();
                assert!(found.iter().all(|ranking| ranking.len() == 10));
            });
            #[cfg(feature = "milvus-grpc")]
            timed(&mut times[2], &mut || {
                let found = grpc.search_batch(batch).unwrap();
                assert!(found.iter().all(|ranking| ranking.len() == 10));
            });
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let [raw, client, grpc] = times.each_mut().map(median);
    eprintln!(
        "{name}, {n} documents, batches of {BATCH}, top 10: raw request {raw:.1} ms, client {client:.1} ms ({:+.1} %), over gRPC {grpc:.1} ms",
        (client / raw - 1.0) * 100.0
    );
}

/// Sends a request over a connection that is kept; returns the length of the response.
fn raw_request(connection: &mut TcpStream, body: &str) -> usize {
    let head = format!(
        "POST /api/v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    connection.write_all(head.as_bytes()).unwrap();
    connection.write_all(body.as_bytes()).unwrap();
    let mut response = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = connection.read(&mut buffer).unwrap();
        assert!(read > 0, "the connection was closed");
        response.extend_from_slice(&buffer[..read]);
        let Some(end) = response.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&response[..end]).to_lowercase();
        assert!(head.starts_with("http/1.1 200"), "{head}");
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let is_complete = match length {
            Some(length) => response.len() >= end + 4 + length.parse::<usize>().unwrap(),
            // Chunks: the last one is empty.
            None => response.ends_with(b"\r\n0\r\n\r\n"),
        };
        if is_complete {
            return response.len();
        }
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
            limit: year as f64,
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
