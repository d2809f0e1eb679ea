//! Runs that are evaluated while they are read.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use ir_core::trec::{self, Header, Parsed, Part, RunLine, Scanned, TrecError};

use crate::evaluator::Outcome;
use crate::list::{List, Scratch};
use crate::topic::Topic;
use crate::{Evaluator, FileError, Report};

/// How a run is read while it is evaluated. The report is the same whatever the threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// What a first line is taken for that has a text in place of the score.
    pub header: Header,
    /// How many threads read; `None` for one per core. Small files are read by one.
    pub threads: Option<NonZeroUsize>,
}

/// A part of a file is worth a thread from this size on, in bytes.
const PART: u64 = 1 << 20;

impl Evaluator<'_> {
    /// Evaluates a run file of plain text without holding it in memory: the figures are those of
    /// [`Evaluator::evaluate`]. Each query is judged, and forgotten, where its lines end.
    ///
    /// Queries may stand in any order. Where the lines of one do not stand together, the file is
    /// read again, and the ids and scores of all lines are held in memory.
    ///
    /// ```
    /// use ir_eval::{Evaluator, Measure, Qrels, Reading};
    /// # let path = std::env::temp_dir().join(format!("ir-eval-file-{}.txt", std::process::id()));
    /// # std::fs::write(&path, "q1 Q0 d2 1 9.5 mine\nq1 Q0 d1 2 8.5 mine\n")?;
    /// let mut qrels = Qrels::new();
    /// qrels.insert("q1", "d1", 1);
    /// let evaluator = Evaluator::new(&qrels, &[Measure::RR])?;
    /// let read = evaluator.evaluate_file(&path, Reading::default())?;
    /// assert_eq!(read.data.summary(Measure::RR), Some(0.5));
    /// assert!(read.oddities.is_empty());
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be opened; its first fault; as [`Evaluator::evaluate`].
    pub fn evaluate_file(
        &self,
        path: impl AsRef<Path>,
        how: Reading,
    ) -> Result<Parsed<Report>, FileError> {
        self.evaluate_parts(path.as_ref(), how, PART)
    }

    /// [`Evaluator::evaluate_file`] with parts of at least `least` bytes.
    fn evaluate_parts(
        &self,
        path: &Path,
        how: Reading,
        least: u64,
    ) -> Result<Parsed<Report>, FileError> {
        let unopened = |cause| FileError::Open {
            path: path.display().to_string(),
            cause,
        };
        let size = fs::metadata(path).map_err(unopened)?.len();
        let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = how.threads.map_or_else(cores, NonZeroUsize::get);
        if threads > 1 && size > least {
            // Several for each thread, so that none has to wait long for the last one.
            let parts = trec::parts(path, least.max(size / (8 * threads as u64)));
            let parts = parts.map_err(unopened)?;
            // Whatever is wrong, its first occurrence is found by reading in order.
            if let Some((judged, scanned)) = self.read_parts(&parts, how.header, threads) {
                return self.conclude(judged, scanned);
            }
        }
        let source = path.display().to_string();
        let open = || File::open(path).map_err(unopened);
        self.evaluate_stream(&source, how.header, open)
    }

    /// Evaluates what can be opened twice, such as a compressed file, without holding it in memory:
    /// as [`Evaluator::evaluate_file`] does, with one thread. `source` names it in errors.
    ///
    /// # Errors
    /// When `open` fails; otherwise as [`Evaluator::evaluate_file`].
    pub fn evaluate_stream<R: Read, E: From<FileError>>(
        &self,
        source: &str,
        header: Header,
        mut open: impl FnMut() -> Result<R, E>,
    ) -> Result<Parsed<Report>, E> {
        let seen = Seen::of(self);
        let mut reader = Reader::new(self, &seen);
        let scanned = trec::scan_run(open()?, source, header, |line| reader.line(source, line));
        let parsed = match scanned {
            Ok(scanned) => {
                reader.close();
                let judged = Found {
                    outcomes: reader.outcomes,
                    unjudged: seen.into_unjudged(),
                };
                self.conclude(judged, scanned)
            }
            Err(Stop::Fault(fault)) => Err(fault.into()),
            Err(Stop::Scattered) => self.evaluate_reader(open()?, source, header),
        };
        Ok(parsed?)
    }

    /// Evaluates what can be read but once, such as standard input. The ids and scores of all lines
    /// are held in memory, since the lines of a query need not stand together. `source` names it in
    /// errors.
    ///
    /// # Errors
    /// Its first fault; as [`Evaluator::evaluate`].
    pub fn evaluate_reader(
        &self,
        input: impl Read,
        source: &str,
        header: Header,
    ) -> Result<Parsed<Report>, FileError> {
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut lists: Vec<(Query, List)> = Vec::new();
        let mut last = 0;
        let scanned = trec::scan_run(input, source, header, |line| {
            if line.begins {
                last = *numbers.entry(line.query.to_owned()).or_insert(lists.len());
                if last == lists.len() {
                    let query = Query::of(self, line.query);
                    let mut list = List::default();
                    list.begin(query.topic(self));
                    lists.push((query, list));
                }
            }
            let (query, list) = &mut lists[last];
            push(list, query.topic(self), source, line)
        })?;
        let mut judged = Found::default();
        let mut scratch = Scratch::default();
        for (query, list) in lists {
            scratch.list = list;
            match query.number {
                None => judged.unjudged.push(query.id),
                Some(n) => judged.outcomes.push((n, self.judge(n, &mut scratch))),
            }
        }
        self.conclude(judged, scanned)
    }

    /// Reads the parts of a file. `None` when there is anything wrong, or a query stands in two
    /// places.
    fn read_parts(
        &self,
        parts: &[Part],
        header: Header,
        threads: usize,
    ) -> Option<(Found, Scanned)> {
        let seen = Seen::of(self);
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let work = || {
            let mut reader = Reader::new(self, &seen);
            let mut scanned = Vec::new();
            while !failed.load(Ordering::Relaxed) {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let Some(part) = parts.get(n) else { break };
                match part.scan(header, |line| reader.line("", line)) {
                    Ok(found) => scanned.push((n, found)),
                    Err(_) => failed.store(true, Ordering::Relaxed),
                }
                reader.close();
            }
            (reader.outcomes, scanned)
        };
        let mut outcomes = Vec::new();
        let mut scanned = Vec::new();
        let mut add = |done: (Vec<Outcome>, Vec<(usize, Scanned)>)| {
            outcomes.extend(done.0);
            scanned.extend(done.1);
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads.min(parts.len()))
                .map(|_| scope.spawn(work))
                .collect();
            add(work());
            for other in others {
                match other.join() {
                    Ok(done) => add(done),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        if failed.into_inner() {
            return None;
        }
        scanned.sort_unstable_by_key(|part| part.0);
        let mut scanned = scanned.into_iter().map(|part| part.1);
        let mut whole = scanned.next()?;
        scanned.for_each(|part| whole.append(part));
        let unjudged = seen.into_unjudged();
        Some((Found { outcomes, unjudged }, whole))
    }

    fn conclude(&self, judged: Found, scanned: Scanned) -> Result<Parsed<Report>, FileError> {
        let oddities = scanned.oddities.finish();
        match self.report(scanned.tag, judged.outcomes, judged.unjudged) {
            Ok(data) => Ok(Parsed { data, oddities }),
            Err(error) => Err(FileError::Eval { error, oddities }),
        }
    }
}

/// What was found about the queries of a run.
#[derive(Debug, Default)]
struct Found {
    outcomes: Vec<Outcome>,
    unjudged: Vec<String>,
}

/// Why reading stopped.
enum Stop {
    Fault(TrecError),
    /// A query stands in two places.
    Scattered,
}

impl From<TrecError> for Stop {
    fn from(fault: TrecError) -> Self {
        Self::Fault(fault)
    }
}

/// A query of a run, and its number among the judged ones.
#[derive(Debug, Default)]
struct Query {
    id: String,
    number: Option<usize>,
}

impl Query {
    fn of(evaluator: &Evaluator<'_>, id: &str) -> Self {
        Self {
            id: id.to_owned(),
            number: evaluator
                .topics()
                .binary_search_by(|topic| topic.id.cmp(id))
                .ok(),
        }
    }

    fn topic<'e, 'q>(&self, evaluator: &'e Evaluator<'q>) -> Option<&'e Topic<'q>> {
        self.number.map(|n| &evaluator.topics()[n])
    }
}

/// The queries that were met, by all threads.
struct Seen(Mutex<Met>);

struct Met {
    judged: Vec<bool>,
    unjudged: HashSet<String>,
}

impl Seen {
    fn of(evaluator: &Evaluator<'_>) -> Self {
        Self(Mutex::new(Met {
            judged: vec![false; evaluator.topics().len()],
            unjudged: HashSet::new(),
        }))
    }

    /// Notes a query; whether it is new.
    fn insert(&self, query: &Query) -> bool {
        let mut met = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match query.number {
            Some(n) => !std::mem::replace(&mut met.judged[n], true),
            None => met.unjudged.insert(query.id.clone()),
        }
    }

    fn into_unjudged(self) -> Vec<String> {
        let met = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        met.unjudged.into_iter().collect()
    }
}

/// Judges one query after the other.
struct Reader<'e, 'q> {
    evaluator: &'e Evaluator<'q>,
    seen: &'e Seen,
    /// The one whose lines are being read.
    query: Option<Query>,
    topic: Option<&'e Topic<'q>>,
    scratch: Scratch,
    outcomes: Vec<Outcome>,
}

impl<'e, 'q> Reader<'e, 'q> {
    fn new(evaluator: &'e Evaluator<'q>, seen: &'e Seen) -> Self {
        Self {
            evaluator,
            seen,
            query: None,
            topic: None,
            scratch: Scratch::default(),
            outcomes: Vec::new(),
        }
    }

    #[inline]
    fn line(&mut self, source: &str, line: RunLine<'_>) -> Result<(), Stop> {
        if line.begins {
            self.begin(line.query)?;
        }
        Ok(push(&mut self.scratch.list, self.topic, source, line)?)
    }

    /// Begins with the next query.
    fn begin(&mut self, query: &str) -> Result<(), Stop> {
        self.close();
        let query = Query::of(self.evaluator, query);
        if !self.seen.insert(&query) {
            return Err(Stop::Scattered);
        }
        self.topic = query.topic(self.evaluator);
        self.scratch.list.begin(self.topic);
        self.query = Some(query);
        Ok(())
    }

    /// The lines of a query are at their end.
    fn close(&mut self) {
        if let Some(n) = self.query.take().and_then(|query| query.number) {
            let outcome = self.evaluator.judge(n, &mut self.scratch);
            self.outcomes.push((n, outcome));
        }
    }
}

#[inline]
fn push(
    list: &mut List,
    topic: Option<&Topic<'_>>,
    source: &str,
    line: RunLine<'_>,
) -> Result<(), TrecError> {
    list.push(line.doc, line.score, line.number, topic)
        .map_err(|first| TrecError::Repeated {
            path: source.to_owned(),
            line: line.number,
            query: line.query.to_owned(),
            doc: line.doc.to_owned(),
            first,
        })
}

#[cfg(test)]
mod tests;
