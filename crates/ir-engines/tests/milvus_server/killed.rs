//! A server that is killed (SIGKILL) while it handles a request.

use std::error::Error;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ir_core::{Flow, Ranking, Retriever, Search, SplitMix64};
use ir_engines::{
    ClientConfig, CollectionSchema, Consistency, LoadOptions, LoadSource, RemoteError,
};

use crate::{collection, compare, patient, server};

/// Number of kills. One that falls between two requests does not count.
const ATTEMPTS: u64 = 5;

/// A client that reports an interrupted request.
fn once() -> ClientConfig {
    ClientConfig {
        attempts: 1,
        ..ClientConfig::default()
    }
}

/// Kills the server at a random moment of the next `period`.
fn kill_within(period: Duration, attempt: u64) -> JoinHandle<()> {
    let mut random = SplitMix64::new(17, attempt);
    let delay = period.mul_f64(random.below(1000) as f64 / 1000.0);
    thread::spawn(move || {
        thread::sleep(delay);
        server("kill");
    })
}

/// Messages of an error and its causes.
fn messages(error: &dyn Error) -> String {
    let mut causes = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    causes.join(": ")
}

/// Whether a connection broke. Otherwise no server accepted it.
fn is_interrupted(error: &RemoteError) -> bool {
    let messages = messages(error);
    assert!(
        matches!(error, RemoteError::Unreachable { .. }) && messages.contains("127.0.0.1"),
        "{error:?}"
    );
    // ECONNREFUSED.
    !messages.contains("os error 111")
}

/// Loads documents until the server is killed within a request, after three fifths of them. Leaves
/// it running, and the collection incomplete.
pub(crate) fn while_loading(schema: &CollectionSchema, source: &LoadSource<'_>, n: usize) {
    let options = LoadOptions::default();
    for attempt in 0..ATTEMPTS {
        let from = n as u64 * (12 + attempt) / 20;
        // A server that has just started may need several attempts.
        let mut batch = Duration::ZERO;
        let mut last = Instant::now();
        let mut stop = |stage: &str, done: u64, _: Option<u64>| {
            batch = last.elapsed();
            last = Instant::now();
            if stage == "loading" && done >= from {
                Flow::Stop
            } else {
                Flow::Continue
            }
        };
        let stopped = collection("exact", &patient()).load(schema, source, &options, &mut stop);
        assert!(matches!(stopped, Err(RemoteError::Canceled)), "{stopped:?}");
        let mut killer = None;
        let mut kill = |stage: &str, done: u64, _: Option<u64>| {
            if killer.is_none() && stage == "loading" && done >= from {
                killer = Some(kill_within(batch, attempt));
            }
            Flow::Continue
        };
        let loaded = collection("exact", &once()).load(schema, source, &options, &mut kill);
        let error = loaded.unwrap_err();
        let killer = killer.unwrap_or_else(|| panic!("before the kill: {}", messages(&error)));
        killer.join().unwrap();
        server("start");
        if is_interrupted(&error) {
            eprintln!("killed within a request that loads: {}", messages(&error));
            return;
        }
    }
    panic!("all kills were between two requests");
}

/// Searches until the server is killed within a request. It has the same rankings after a restart.
pub(crate) fn while_searching(queries: &[&[f32]]) {
    const K: usize = 10;
    let queries = &queries[..100.min(queries.len())];
    let batch = |k: usize| -> Vec<(&[f32], Search<'_>)> {
        queries
            .iter()
            .map(|&query| (query, Search::top(k)))
            .collect()
    };
    let open = |config: &ClientConfig| {
        let index = collection("exact", config).open().unwrap();
        index.with_consistency(Consistency::Eventual)
    };
    let expected = open(&patient()).search_batch(&batch(K + 10)).unwrap();
    let check = |found: &[Ranking]| {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            compare(found, expected, K);
        }
    };
    for attempt in 0..ATTEMPTS {
        let index = open(&once());
        let start = Instant::now();
        check(&index.search_batch(&batch(K)).unwrap());
        let killer = kill_within(3 * start.elapsed(), attempt);
        let error = loop {
            match index.search_batch(&batch(K)) {
                Ok(found) => check(&found),
                Err(error) => break error,
            }
        };
        killer.join().unwrap();
        server("start");
        let reopened = open(&patient());
        assert_eq!(reopened.ids(), index.ids());
        check(&reopened.search_batch(&batch(K)).unwrap());
        assert!(error.to_string().contains("Milvus"), "{error}");
        let cause = error.source().unwrap().downcast_ref().unwrap();
        if is_interrupted(cause) {
            eprintln!(
                "killed within a search: {}; restarted: the same rankings",
                messages(&error)
            );
            return;
        }
    }
    panic!("all kills were between two requests");
}
