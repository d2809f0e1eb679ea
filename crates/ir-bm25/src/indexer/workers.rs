//! Worker threads that invert chunks of documents.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ir_core::{Analyzer, Document};

use super::inverter::{InvertedChunk, invert};
use crate::{BuildError, IndexConfig};

/// A chunk of documents.
#[derive(Debug, Default)]
pub(super) struct DocChunk {
    pub(super) docs: Vec<Document>,
    /// The number of the first document.
    pub(super) first: u32,
}

type ChunkResult = (u64, Result<InvertedChunk, BuildError>);

/// Inverts chunks and returns the results in submission order.
#[derive(Debug)]
pub(super) struct Workers {
    /// [`None`] with one thread: `submit` inverts then.
    jobs: Option<Sender<(u64, DocChunk)>>,
    outcomes: Receiver<ChunkResult>,
    done: Sender<ChunkResult>,
    out_of_order: BTreeMap<u64, Result<InvertedChunk, BuildError>>,
    submitted: u64,
    returned: u64,
    threads: u64,
}

#[derive(Clone)]
pub(super) struct InversionConfig {
    pub(super) config: IndexConfig,
    pub(super) analyzer: Arc<dyn Analyzer>,
}

impl InversionConfig {
    fn run(&self, chunk: &DocChunk) -> Result<InvertedChunk, BuildError> {
        let work = || invert(&chunk.docs, chunk.first, &self.config, &*self.analyzer);
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
            Err(BuildError::Panicked {
                documents: chunk.docs.len(),
                first: chunk
                    .docs
                    .first()
                    .map_or(String::new(), |doc| doc.id.clone()),
            })
        })
    }
}

impl Workers {
    pub(super) fn start(threads: usize, config: &InversionConfig) -> Result<Self, BuildError> {
        let (done, outcomes) = channel();
        let mut workers = Self {
            jobs: None,
            outcomes,
            done,
            out_of_order: BTreeMap::new(),
            submitted: 0,
            returned: 0,
            threads: threads as u64,
        };
        if threads > 1 {
            let (jobs, queue) = channel::<(u64, DocChunk)>();
            let queue = Arc::new(Mutex::new(queue));
            for _ in 0..threads {
                let (config, queue, done) =
                    (config.clone(), Arc::clone(&queue), workers.done.clone());
                let work = move || {
                    loop {
                        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                        let Ok((number, chunk)) = next else { break };
                        if done.send((number, config.run(&chunk))).is_err() {
                            break;
                        }
                    }
                };
                let builder = thread::Builder::new().name("ir-bm25 inverter".into());
                builder.spawn(work).map_err(BuildError::Thread)?;
            }
            workers.jobs = Some(jobs);
        }
        Ok(workers)
    }

    /// Submits a chunk; with one thread, inverts it.
    pub(super) fn submit(&mut self, chunk: DocChunk, config: &InversionConfig) {
        let number = self.submitted;
        self.submitted += 1;
        match &self.jobs {
            // The workers outlive the sender, so sending cannot fail.
            Some(jobs) => drop(jobs.send((number, chunk))),
            None => drop(self.out_of_order.insert(number, config.run(&chunk))),
        }
    }

    /// Returns the next result in order. Blocks while more than `backlog` chunks are in progress;
    /// else returns [`None`] if the result is not ready.
    pub(super) fn next(&mut self, backlog: u64) -> Option<Result<InvertedChunk, BuildError>> {
        loop {
            if let Some(outcome) = self.out_of_order.remove(&self.returned) {
                self.returned += 1;
                return Some(outcome);
            }
            if self.submitted - self.returned <= backlog {
                return None;
            }
            let (number, outcome) = self.outcomes.recv().ok()?;
            self.out_of_order.insert(number, outcome);
        }
    }

    /// Maximum number of chunks in progress: one inverted and one queued per thread.
    pub(super) const fn backlog(&self) -> u64 {
        2 * self.threads
    }
}
