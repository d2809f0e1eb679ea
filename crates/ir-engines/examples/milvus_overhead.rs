//! Measures CPU time and wall time that the client adds to a request of Milvus. `.ci/milvus` starts
//! the server. Fails from 10 % of the time of a raw request on.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use ir_core::{DocIds, NoProgress, Retriever, Search};
use ir_engines::{
    CollectionSchema, Consistency, LoadOptions, LoadSource, MilvusCollection, Recorder,
    RemoteVectorIndex, VectorTable,
};

#[path = "../tests/milvus_server/setup.rs"]
mod setup;

use setup::{DIM, collection, count_of, data, patient};

fn main() {
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

/// CPU time of the threads of this process in milliseconds. The time in the queue of a busy
/// machine does not count.
fn cpu_time() -> f64 {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    // A thread may end between the two calls.
    let tasks =
        tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("schedstat")).ok());
    let times = tasks.map(|text| text.split(' ').next().unwrap().parse::<f64>().unwrap());
    times.sum::<f64>() / 1e6
}

/// Wall times and CPU times of requests, in milliseconds.
#[derive(Default)]
struct Times {
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

impl Times {
    fn measure(&mut self, run: impl FnOnce()) {
        let (start, cpu) = (Instant::now(), cpu_time());
        run();
        self.cpu.push(cpu_time() - cpu);
        self.wall.push(start.elapsed().as_secs_f64() * 1e3);
    }

    /// First quartile and median of the wall times, and median of the CPU times.
    fn quantiles(&mut self) -> [f64; 3] {
        let wall = [1, 2].map(|quarters| quantile(&mut self.wall, quarters));
        [wall[0], wall[1], quantile(&mut self.cpu, 2)]
    }
}

/// Quartile of times, which are sorted.
fn quantile(times: &mut [f64], quarters: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    let at = times.len() * quarters / 4;
    times.get(at).copied().unwrap_or(f64::NAN)
}

/// Batches of 100 searches by the client beside the same requests, built before, over a connection
/// that is kept, whose responses are read and not parsed. Alternating. Also over gRPC.
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
        open(
            MilvusCollection::new(&address, &ir_engines::Credentials::default(), &patient())
                .unwrap(),
        )
    };
    for batch in &batches {
        recorded.search_batch(batch).unwrap();
    }
    let exchange = fs::read_to_string(&path).unwrap();
    let requests = exchange.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        (line["path"] == "/search").then(|| line["request"].to_string())
    });
    let bodies: Vec<String> = requests.flatten().collect();
    assert_eq!(bodies.len(), batches.len(), "a request per batch");
    let mut connection = TcpStream::connect("127.0.0.1:9091").unwrap();
    connection.set_nodelay(true).unwrap();
    let [mut raw, mut client, mut by_grpc] = [(); 3].map(|()| Times::default());
    for _ in 0..5 {
        for (batch, body) in batches.iter().zip(&bodies) {
            raw.measure(|| {
                let length = raw_request(&mut connection, body);
                assert!(length > BATCH * 10);
            });
            client.measure(|| {
                let found = index.search_batch(batch).unwrap();
                assert!(found.iter().all(|ranking| ranking.len() == 10));
            });
            #[cfg(feature = "milvus-grpc")]
            by_grpc.measure(|| {
                let found = grpc.search_batch(batch).unwrap();
                assert!(found.iter().all(|ranking| ranking.len() == 10));
            });
        }
    }
    eprintln!("{name}, {n} documents, batches of {BATCH}, top 10, ms per batch:");
    // Differences of neighbors, which the same work of other processes delays.
    let differences = client.wall.iter().zip(&raw.wall);
    let mut differences: Vec<f64> = differences.map(|(client, raw)| client - raw).collect();
    let mut medians = Vec::new();
    for (label, times) in [
        ("raw request", &mut raw),
        ("client", &mut client),
        ("client, gRPC", &mut by_grpc),
    ] {
        let [quartile, median, cpu] = times.quantiles();
        eprintln!(
            "{label}: wall time, median {median:.1}, first quartile {quartile:.1}; CPU time, median {cpu:.2}"
        );
        medians.push((median, cpu));
    }
    let (engine, own) = medians[0];
    let added = [quantile(&mut differences, 2), medians[1].1 - own];
    let [wall, cpu] = added.map(|time| 100.0 * time / engine);
    eprintln!(
        "the client adds {:.2} ms of wall time ({wall:.1} % of the raw request), {:.2} ms of CPU time ({cpu:.1} %)",
        added[0], added[1]
    );
    assert!(wall < 10.0 && cpu < 10.0, "{wall} {cpu}");
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
