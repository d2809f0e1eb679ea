//! Evaluation of run files while they are read.
//!
//! Blocks stay in the CPU cache; white space is found 64 bytes at a time; a decimal of few digits
//! is one exact division; ids are hashed once; sorted rankings are not sorted again. Threads
//! process parts of the file that start and end between queries. Anything unusual causes a second,
//! sequential pass that produces the error. Memory maps would need `unsafe` and gain little.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Read;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use ir_core::trec;
use ir_core::trec::{HeaderLine, Parsed, RunChunk, RunLine, RunSummary, TrecReadError};

use super::error::RunFileError;
use super::evaluator::{Evaluator, QueryBuffers, QueryEvaluation};
use super::report::Report;
use crate::judged::{PreparedQuery, RetrievedList};

/// Options for evaluating a run file. They do not affect the report, except for the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunFileOptions {
    /// Treatment of a first line with text in place of the score.
    pub header: HeaderLine,
    /// Number of threads that read the file; `None` for one per core. Small files are read by one
    /// thread. Default: `None`.
    pub threads: Option<NonZeroUsize>,
}

/// Minimum size in bytes of the part of a file that one thread reads.
const MIN_PART_SIZE: u64 = 1 << 20;

impl Evaluator<'_> {
    /// Evaluates an uncompressed run file without holding it in memory: each query is evaluated,
    /// and dropped, where its lines end. The values are equal to
    /// [`Evaluator::evaluate`].
    ///
    /// Queries may come in any order. If the lines of a query are not contiguous, the file is read
    /// again and the ids and scores of all lines are held in memory.
    ///
    /// ```
    /// use ir_eval::{Evaluator, Measure, Qrels, RunFileOptions};
    /// # let path = std::env::temp_dir().join(format!("ir-eval-file-{}.txt", std::process::id()));
    /// # std::fs::write(&path, "q1 Q0 d2 1 9.5 mine\nq1 Q0 d1 2 8.5 mine\n")?;
    /// let mut qrels = Qrels::new();
    /// qrels.insert("q1", "d1", 1);
    /// let evaluator = Evaluator::new(&qrels, &[Measure::RR])?;
    /// let read = evaluator.evaluate_file(&path, RunFileOptions::default())?;
    /// assert_eq!(read.data.summary(Measure::RR), Some(0.5));
    /// assert!(read.warnings.is_empty());
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be opened, at the first malformed line, and if [`Evaluator::evaluate`]
    /// returns an error.
    pub fn evaluate_file(
        &self,
        path: impl AsRef<Path>,
        options: RunFileOptions,
    ) -> Result<Parsed<Report>, RunFileError> {
        self.evaluate_parts(path.as_ref(), options, MIN_PART_SIZE)
    }

    /// [`Evaluator::evaluate_file`] with parts of at least `min_size` bytes.
    fn evaluate_parts(
        &self,
        path: &Path,
        options: RunFileOptions,
        min_size: u64,
    ) -> Result<Parsed<Report>, RunFileError> {
        let open_error = |cause| RunFileError::Open {
            path: path.display().to_string(),
            cause,
        };
        let size = fs::metadata(path).map_err(open_error)?.len();
        let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = options.threads.map_or_else(cores, NonZeroUsize::get);
        if threads > 1 && size > min_size {
            // Several parts per thread, so that the threads finish at about the same time.
            let parts = trec::split_run(path, min_size.max(size / (8 * threads as u64)));
            let parts = parts.map_err(open_error)?;
            // After an error the file is read again in order, to report the first error.
            if let Some((queries, scanned)) = self.read_parts(&parts, options.header, threads) {
                return self.finish_file(queries, scanned);
            }
        }
        let source = path.display().to_string();
        let open = || File::open(path).map_err(open_error);
        self.evaluate_stream(&source, options.header, open)
    }

    /// Evaluates a stream that can be opened twice, such as a compressed file, with one thread and
    /// without holding it in memory, as [`Evaluator::evaluate_file`] does. `source` names the
    /// stream in errors.
    ///
    /// # Errors
    /// If `open` fails, at the first malformed line, and if [`Evaluator::evaluate`] returns an
    /// error.
    pub fn evaluate_stream<R: Read, E: From<RunFileError>>(
        &self,
        source: &str,
        header: HeaderLine,
        mut open: impl FnMut() -> Result<R, E>,
    ) -> Result<Parsed<Report>, E> {
        let seen = SeenQueries::new(self);
        let mut reader = QueryReader::new(self, &seen);
        let scanned = trec::scan_run(open()?, source, header, |line| reader.line(source, line));
        let parsed = match scanned {
            Ok(scanned) => {
                reader.finish_query();
                let queries = EvaluatedQueries {
                    evaluated: reader.evaluated,
                    unjudged: seen.into_unjudged(),
                };
                self.finish_file(queries, scanned)
            }
            Err(ScanStop::Error(error)) => Err(error.into()),
            Err(ScanStop::NotContiguous) => self.evaluate_reader(open()?, source, header),
        };
        Ok(parsed?)
    }

    /// Evaluates a stream that can only be read once, such as standard input. The ids and scores of
    /// all lines are held in memory, because the lines of a query need not be contiguous. `source`
    /// names the stream in errors.
    ///
    /// # Errors
    /// At the first malformed line, and if [`Evaluator::evaluate`] returns an error.
    pub fn evaluate_reader(
        &self,
        input: impl Read,
        source: &str,
        header: HeaderLine,
    ) -> Result<Parsed<Report>, RunFileError> {
        let mut indices: HashMap<String, usize> = HashMap::new();
        let mut lists: Vec<(RunQuery, RetrievedList)> = Vec::new();
        let mut last = 0;
        let scanned = trec::scan_run(input, source, header, |line| {
            if line.starts_query {
                last = *indices.entry(line.query.to_owned()).or_insert(lists.len());
                if last == lists.len() {
                    let query = RunQuery::new(self, line.query);
                    let mut list = RetrievedList::default();
                    list.start(query.prepared(self));
                    lists.push((query, list));
                }
            }
            let (query, list) = &mut lists[last];
            push(list, query.prepared(self), source, line)
        })?;
        let mut queries = EvaluatedQueries::default();
        let mut buffers = QueryBuffers::default();
        for (query, list) in lists {
            buffers.list = list;
            match query.number {
                None => queries.unjudged.push(query.id),
                Some(n) => queries
                    .evaluated
                    .push((n, self.evaluate_list(n, &mut buffers))),
            }
        }
        self.finish_file(queries, scanned)
    }

    /// Reads the parts of a file in parallel. `None` if a line is malformed or the lines of a query
    /// are not contiguous.
    fn read_parts(
        &self,
        parts: &[RunChunk],
        header: HeaderLine,
        threads: usize,
    ) -> Option<(EvaluatedQueries, RunSummary)> {
        let seen = SeenQueries::new(self);
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let read = || {
            let mut reader = QueryReader::new(self, &seen);
            let mut scanned = Vec::new();
            while !failed.load(Ordering::Relaxed) {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let Some(part) = parts.get(n) else { break };
                match part.scan(header, |line| reader.line("", line)) {
                    Ok(part) => scanned.push((n, part)),
                    Err(_) => failed.store(true, Ordering::Relaxed),
                }
                reader.finish_query();
            }
            (reader.evaluated, scanned)
        };
        let mut evaluated = Vec::new();
        let mut scanned = Vec::new();
        let mut add = |done: (Vec<QueryEvaluation>, Vec<(usize, RunSummary)>)| {
            evaluated.extend(done.0);
            scanned.extend(done.1);
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads.min(parts.len()))
                .map(|_| scope.spawn(read))
                .collect();
            add(read());
            for other in others {
                add(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
        });
        if failed.into_inner() {
            return None;
        }
        scanned.sort_unstable_by_key(|(n, _)| *n);
        let mut scanned = scanned.into_iter().map(|(_, part)| part);
        let mut whole = scanned.next()?;
        scanned.for_each(|part| whole.append(part));
        let unjudged = seen.into_unjudged();
        let queries = EvaluatedQueries {
            evaluated,
            unjudged,
        };
        Some((queries, whole))
    }

    fn finish_file(
        &self,
        queries: EvaluatedQueries,
        scanned: RunSummary,
    ) -> Result<Parsed<Report>, RunFileError> {
        let warnings = scanned.warnings.finish();
        match self.report(scanned.tag, queries.evaluated, queries.unjudged) {
            Ok(data) => Ok(Parsed { data, warnings }),
            Err(error) => Err(RunFileError::Eval { error, warnings }),
        }
    }
}

/// The queries of a run: those with judgments, evaluated, and the ids of the others.
#[derive(Debug, Default)]
struct EvaluatedQueries {
    evaluated: Vec<QueryEvaluation>,
    unjudged: Vec<String>,
}

/// Reason to stop scanning.
enum ScanStop {
    Error(TrecReadError),
    /// The lines of a query are not contiguous.
    NotContiguous,
}

impl From<TrecReadError> for ScanStop {
    fn from(error: TrecReadError) -> Self {
        Self::Error(error)
    }
}

/// A query of a run, and its number among the judged ones.
#[derive(Debug, Default)]
struct RunQuery {
    id: String,
    number: Option<usize>,
}

impl RunQuery {
    fn new(evaluator: &Evaluator<'_>, id: &str) -> Self {
        Self {
            id: id.to_owned(),
            number: evaluator.query_number(id),
        }
    }

    fn prepared<'e, 'q>(&self, evaluator: &'e Evaluator<'q>) -> Option<&'e PreparedQuery<'q>> {
        self.number.map(|n| &evaluator.queries[n])
    }
}

/// Queries that any thread has started.
struct SeenQueries {
    /// By number of the judged query.
    judged: Vec<AtomicBool>,
    unjudged: Mutex<HashSet<String>>,
}

impl SeenQueries {
    fn new(evaluator: &Evaluator<'_>) -> Self {
        let judged = evaluator.queries.iter().map(|_| AtomicBool::new(false));
        Self {
            judged: judged.collect(),
            unjudged: Mutex::default(),
        }
    }

    /// Adds a query. Returns whether it is new.
    fn insert(&self, query: &RunQuery) -> bool {
        match query.number {
            Some(n) => !self.judged[n].swap(true, Ordering::Relaxed),
            None => {
                let mut seen = self.unjudged.lock().unwrap_or_else(PoisonError::into_inner);
                seen.insert(query.id.clone())
            }
        }
    }

    fn into_unjudged(self) -> Vec<String> {
        let seen = self
            .unjudged
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        seen.into_iter().collect()
    }
}

/// Evaluates one query after the other, line by line.
struct QueryReader<'e, 'q> {
    evaluator: &'e Evaluator<'q>,
    seen: &'e SeenQueries,
    /// Query of the current lines.
    query: Option<RunQuery>,
    prepared: Option<&'e PreparedQuery<'q>>,
    buffers: QueryBuffers,
    evaluated: Vec<QueryEvaluation>,
}

impl<'e, 'q> QueryReader<'e, 'q> {
    fn new(evaluator: &'e Evaluator<'q>, seen: &'e SeenQueries) -> Self {
        Self {
            evaluator,
            seen,
            query: None,
            prepared: None,
            buffers: QueryBuffers::default(),
            evaluated: Vec::new(),
        }
    }

    #[inline]
    fn line(&mut self, source: &str, line: RunLine<'_>) -> Result<(), ScanStop> {
        if line.starts_query {
            self.start_query(line.query)?;
        }
        Ok(push(&mut self.buffers.list, self.prepared, source, line)?)
    }

    fn start_query(&mut self, id: &str) -> Result<(), ScanStop> {
        self.finish_query();
        let query = RunQuery::new(self.evaluator, id);
        if !self.seen.insert(&query) {
            return Err(ScanStop::NotContiguous);
        }
        self.prepared = query.prepared(self.evaluator);
        self.buffers.list.start(self.prepared);
        self.query = Some(query);
        Ok(())
    }

    fn finish_query(&mut self) {
        if let Some(n) = self.query.take().and_then(|query| query.number) {
            let values = self.evaluator.evaluate_list(n, &mut self.buffers);
            self.evaluated.push((n, values));
        }
    }
}

#[inline]
fn push(
    list: &mut RetrievedList,
    query: Option<&PreparedQuery<'_>>,
    source: &str,
    line: RunLine<'_>,
) -> Result<(), TrecReadError> {
    list.push(line.doc, line.score, line.line, query)
        .map_err(|first| TrecReadError::Repeated {
            path: source.to_owned(),
            line: line.line,
            query: line.query.to_owned(),
            doc: line.doc.to_owned(),
            first,
        })
}

#[cfg(test)]
mod tests;
