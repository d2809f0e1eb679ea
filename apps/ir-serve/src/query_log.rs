//! Query log in the background: neither a search nor an opened answer waits for the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::store::{LoggedClick, LoggedQuery, Store, StoreError, now};

/// Longest time between a query and its record.
const DELAY: Duration = Duration::from_millis(200);

/// Maximum number of records that wait for the disk; further ones are dropped and counted.
const QUEUE: usize = 10_000;

/// Maximum number of old queries that are deleted in a transaction.
const DELETED: u32 = 10_000;

/// Writer of the query log. Dropping it writes what waits.
#[derive(Debug)]
pub(crate) struct QueryLog {
    next: AtomicI64,
    dropped: Arc<AtomicU64>,
    queue: Option<SyncSender<LogEntry>>,
    thread: Option<JoinHandle<()>>,
}

/// Record that waits for the disk.
#[derive(Debug)]
enum LogEntry {
    /// Number, Unix time in milliseconds, and query.
    Query(i64, i64, LoggedQuery),
    Click(LoggedClick),
}

impl QueryLog {
    /// Starts the writer, which keeps the last `keep` queries, at least 1.
    pub(crate) fn start(store: Arc<Store>, keep: usize) -> Result<Self, StoreError> {
        let next = AtomicI64::new(store.last_query()? + 1);
        let dropped = Arc::new(AtomicU64::new(0));
        let (queue, waiting) = sync_channel(QUEUE);
        let lost = Arc::clone(&dropped);
        let thread = thread::spawn(move || write(&store, &waiting, &lost, keep.max(1)));
        Ok(Self {
            next,
            dropped,
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Logs a query and returns its number. The record is durable within [`DELAY`].
    pub(crate) fn log(&self, query: LoggedQuery) -> i64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.send(LogEntry::Query(id, now(), query));
        id
    }

    /// Logs that a user opened the answer of a query, after the query itself.
    pub(crate) fn log_click(&self, click: LoggedClick) {
        self.send(LogEntry::Click(click));
    }

    fn send(&self, entry: LogEntry) {
        if let Some(queue) = &self.queue
            && let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
                queue.try_send(entry)
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Number of queries and opened answers that were not logged.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for QueryLog {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Writes queries in batches until the queue is closed, and keeps the last `keep`.
fn write(store: &Store, waiting: &Receiver<LogEntry>, dropped: &AtomicU64, keep: usize) {
    delete_old(store, keep);
    while let Ok(first) = waiting.recv() {
        let mut batch = vec![first];
        let end = Instant::now() + DELAY;
        while batch.len() < QUEUE {
            match waiting.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(query) => batch.push(query),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        let (mut queries, mut clicks) = (Vec::new(), Vec::new());
        for entry in batch {
            match entry {
                LogEntry::Query(id, asked_at, query) => queries.push((id, asked_at, query)),
                LogEntry::Click(click) => clicks.push(click),
            }
        }
        if let Err(error) = store.log_queries(&queries, &clicks) {
            let lost = queries.len() + clicks.len();
            dropped.fetch_add(lost as u64, Ordering::Relaxed);
            tracing::error!(%error, lost, "queries and opened answers were not logged");
        }
        delete_old(store, keep);
    }
}

/// Deletes queries beyond the last `keep`, in transactions between which others write.
fn delete_old(store: &Store, keep: usize) {
    loop {
        match store.delete_old_queries(keep, DELETED) {
            Ok(deleted) if deleted == DELETED as usize => {}
            Ok(_) => return,
            Err(error) => {
                tracing::error!(%error, "old queries were not deleted");
                return;
            }
        }
    }
}
