//! Readers of runs and qrels.

use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;

use super::number::{c_integer, c_number};
use super::scan::{Line, Position, scan};
use super::{HeaderLine, Parsed, TrecReadError, TrecWarnings};
use crate::{Grade, JudgedDocs, Qrels, Run, ScoredDoc};

/// Line of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunLine<'t> {
    /// Line number, from 1.
    pub line: u64,
    /// Query id, first column.
    pub query: &'t str,
    /// Whether the previous line is absent or belongs to another query.
    pub starts_query: bool,
    /// Document id, third column.
    pub doc: &'t str,
    /// Score, fifth column; never NaN.
    pub score: f64,
}

/// Summary of a run that was read line by line.
#[derive(Debug, Clone)]
pub struct RunSummary {
    /// Run tag of the last line.
    pub tag: String,
    /// Number of lines, including blank lines and comments.
    pub lines: u64,
    /// Warnings about accepted lines.
    pub warnings: TrecWarnings,
}

impl RunSummary {
    /// Appends the summary of the following [`RunChunk`](super::RunChunk).
    pub fn append(&mut self, next: Self) {
        self.warnings.append(next.warnings, self.lines);
        self.lines += next.lines;
        if !next.tag.is_empty() {
            self.tag = next.tag;
        }
    }
}

/// Reads a run line by line in constant memory. `source` names the file in errors.
///
/// Yields the lines that [`read_run`] reads. [`read_run`] also rejects a document that repeats
/// within a query; here `each` has to.
///
/// ```
/// use ir_core::trec::{self, HeaderLine, TrecReadError};
/// let run = "q1 Q0 d1 1 9.5 mine\nq1 Q0 d2 2 8.5 mine\n\nq2 Q0 d1 1 7.5 mine\n";
/// let mut best: f64 = 0.0;
/// let scanned = trec::scan_run(run.as_bytes(), "run.txt", HeaderLine::AsData, |line| {
///     best = best.max(line.score);
///     Ok::<(), TrecReadError>(())
/// })?;
/// assert_eq!((best, scanned.lines), (9.5, 4));
/// # Ok::<(), TrecReadError>(())
/// ```
///
/// # Errors
/// [`TrecReadError`], or the first error of `each`.
pub fn scan_run<E: From<TrecReadError>>(
    input: impl Read,
    source: &str,
    header: HeaderLine,
    each: impl FnMut(RunLine<'_>) -> Result<(), E>,
) -> Result<RunSummary, E> {
    scan_from(input, source, header, Position::default(), each)
}

/// [`scan_run`], starting at `position`.
pub(super) fn scan_from<E: From<TrecReadError>>(
    input: impl Read,
    source: &str,
    header: HeaderLine,
    mut position: Position,
    mut each: impl FnMut(RunLine<'_>) -> Result<(), E>,
) -> Result<RunSummary, E> {
    let mut warnings = TrecWarnings::new(source);
    let mut tag = String::new();
    let mut last: Option<String> = None;
    scan(input, source, &mut position, |line: Line<'_, 6>| {
        byte_order_mark(&mut warnings, &line);
        if line.columns < 6 {
            return Err(columns(source, &line, "at least 6").into());
        }
        let (query, doc) = (line.field(0), line.field(2));
        let (score, name) = (line.field(4), line.field(5));
        let number = line.number;
        let value = c_number(score);
        if !matches!(value, Some((_, true))) {
            match value {
                None if header == HeaderLine::Skip && line.first => return Ok(()),
                None => {
                    let hint = line.header_hint();
                    let message =
                        format!("the score {score:?} is not a number and was read as 0{hint}");
                    warnings.push(number, message);
                }
                Some((value, _)) if value.is_nan() => {}
                Some((value, _)) if value.is_infinite() => {
                    warnings.push(number, format!("the score {score:?} counts as infinite"));
                }
                Some((value, _)) => {
                    warnings.push(number, format!("the score {score:?} was read as {value}"));
                }
            }
        }
        let score = value.map_or(0.0, |(value, _)| value);
        if score.is_nan() {
            let (path, line) = (source.to_owned(), number);
            return Err(TrecReadError::NanScore { path, line }.into());
        }
        if !same(&tag, name) {
            tag.replace_range(.., name);
        }
        let starts_query = !last.as_ref().is_some_and(|last| same(last, query));
        if starts_query {
            last.get_or_insert_default().replace_range(.., query);
        }
        each(RunLine {
            line: number,
            query,
            starts_query,
            doc,
            score,
        })
    })?;
    Ok(RunSummary {
        tag,
        lines: position.lines,
        warnings,
    })
}

/// Compares two short strings that are mostly equal, without a call to `memcmp`.
#[inline]
fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    match (
        a.first_chunk(),
        b.first_chunk(),
        a.last_chunk(),
        b.last_chunk(),
    ) {
        (Some(x), Some(y), Some(z), Some(w)) if a.len() <= 16 => {
            let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
            word(x) == word(y) && word(z) == word(w)
        }
        (None, ..) => a.iter().zip(b).all(|(a, b)| a == b),
        _ => a == b,
    }
}

/// Reads a run. `source` names the file in errors.
///
/// Skips blank lines and lines that start with `#`. The tag is that of the last line. The lines of
/// a query need not be contiguous; the documents of each query keep the order of the file.
///
/// # Errors
/// [`TrecReadError`] for the first invalid line.
pub fn read_run(
    input: impl Read,
    source: &str,
    header: HeaderLine,
) -> Result<Parsed<Run>, TrecReadError> {
    let mut queries: RowsByQuery<ScoredDoc> = RowsByQuery::default();
    let scanned = scan_run(input, source, header, |line| {
        let scored = ScoredDoc {
            doc: line.doc.to_owned(),
            score: line.score,
        };
        queries.push(line.query, scored, line.line);
        Ok(())
    });
    // A repeated document takes precedence over later errors.
    queries.check(source, |scored| &scored.doc)?;
    let scanned = scanned?;
    let lists = queries
        .into_rows()
        .map(|(query, rows)| (query, rows.collect()));
    Ok(Parsed {
        data: Run::from_lists(scanned.tag, lists.collect()),
        warnings: scanned.warnings.finish(),
    })
}

/// Reads qrels. `source` names the file in errors.
///
/// Expects exactly four columns; skips blank lines and lines that start with `#`. The grade is the
/// leading integer of the fourth column, 0 for text.
///
/// # Errors
/// [`TrecReadError`] for the first invalid line.
pub fn read_qrels(
    input: impl Read,
    source: &str,
    header: HeaderLine,
) -> Result<Parsed<Qrels>, TrecReadError> {
    let mut warnings = TrecWarnings::new(source);
    let mut judgments = QrelsBuilder::default();
    let mut position = Position::default();
    let scanned = scan(input, source, &mut position, |line: Line<'_, 4>| {
        byte_order_mark(&mut warnings, &line);
        if line.columns != 4 {
            return Err(columns(source, &line, "4"));
        }
        let (query, doc, text) = (line.field(0), line.field(2), line.field(3));
        let whole = text.parse::<Grade>().ok();
        let grade = whole.or_else(|| c_integer(text));
        if grade.is_none() && header == HeaderLine::Skip && line.first {
            return Ok(());
        }
        let value = grade.unwrap_or(0);
        judgments.push(query, doc, value, line.number);
        if whole.is_none() {
            let message = format!(
                "the grade {text:?} is not an integer and was read as {value}{}",
                line.header_hint()
            );
            warnings.push(line.number, message);
        }
        Ok(())
    });
    // A repeated document takes precedence over later errors.
    let data = judgments.finish(source)?;
    scanned?;
    Ok(Parsed {
        data,
        warnings: warnings.finish(),
    })
}

fn columns<const N: usize>(
    source: &str,
    line: &Line<'_, N>,
    expected: &'static str,
) -> TrecReadError {
    TrecReadError::Columns {
        path: source.to_owned(),
        line: line.number,
        expected,
        found: line.columns,
    }
}

fn byte_order_mark<const N: usize>(warnings: &mut TrecWarnings, line: &Line<'_, N>) {
    if line.first && line.field(0).starts_with('\u{feff}') {
        let message = "the byte-order mark became part of the first query id";
        warnings.push(line.number, message);
    }
}

/// Rows grouped by query, with their line numbers.
struct RowsByQuery<T> {
    numbers: HashMap<String, usize>,
    groups: Vec<QueryRows<T>>,
    /// Group of the previous row, usually that of the next one.
    last: usize,
}

struct QueryRows<T> {
    query: String,
    /// Rows and their line numbers.
    rows: Vec<(T, u64)>,
}

impl<T> Default for RowsByQuery<T> {
    fn default() -> Self {
        Self {
            numbers: HashMap::new(),
            groups: Vec::new(),
            last: 0,
        }
    }
}

impl<T> RowsByQuery<T> {
    fn push(&mut self, query: &str, row: T, line: u64) {
        let last = self.groups.get(self.last);
        if last.is_none_or(|group| group.query != query) {
            self.last = self.numbers.get(query).copied().unwrap_or_else(|| {
                let number = self.groups.len();
                self.numbers.insert(query.to_owned(), number);
                self.groups.push(QueryRows {
                    query: query.to_owned(),
                    rows: Vec::new(),
                });
                number
            });
        }
        self.groups[self.last].rows.push((row, line));
    }

    /// Returns an error for the first document that repeats within a query.
    fn check(&self, source: &str, doc: impl Fn(&T) -> &String) -> Result<(), TrecReadError> {
        let mut earliest: Option<RepeatedDocument<'_>> = None;
        let mut docs: Vec<(&str, u64)> = Vec::new();
        for group in &self.groups {
            docs.clear();
            docs.extend(
                group
                    .rows
                    .iter()
                    .map(|(row, line)| (doc(row).as_str(), *line)),
            );
            docs.sort_unstable();
            for pair in docs.windows(2) {
                let ((doc, first), (next, line)) = (pair[0], pair[1]);
                if doc == next && earliest.is_none_or(|known| line < known.line) {
                    let query = &group.query;
                    earliest = Some(RepeatedDocument {
                        line,
                        query,
                        doc,
                        first,
                    });
                }
            }
        }
        earliest.map_or(Ok(()), |repeated| Err(repeated.error(source)))
    }

    fn into_rows(self) -> impl Iterator<Item = (String, impl Iterator<Item = T>)> {
        let groups = self.groups.into_iter();
        groups.map(|group| (group.query, group.rows.into_iter().map(|row| row.0)))
    }
}

/// Document that repeats within a query.
#[derive(Clone, Copy)]
struct RepeatedDocument<'t> {
    line: u64,
    query: &'t str,
    doc: &'t str,
    /// Line of the first occurrence.
    first: u64,
}

impl RepeatedDocument<'_> {
    fn error(self, source: &str) -> TrecReadError {
        TrecReadError::Repeated {
            path: source.to_owned(),
            line: self.line,
            query: self.query.to_owned(),
            doc: self.doc.to_owned(),
            first: self.first,
        }
    }
}

/// Qrels under construction, filled line by line.
#[derive(Default)]
struct QrelsBuilder {
    numbers: HashMap<String, usize>,
    queries: Vec<String>,
    /// Concatenated document ids, without separators.
    ids: String,
    rows: Vec<QrelsRow>,
}

struct QrelsRow {
    /// Number of the query.
    query: usize,
    /// First bytes of the document id, in the order of the ids.
    head: u64,
    /// Byte range of the id.
    doc: Range<usize>,
    grade: Grade,
    line: u64,
}

impl QrelsBuilder {
    fn push(&mut self, query: &str, doc: &str, grade: Grade, line: u64) {
        // Usually the query of the previous line.
        let last = self.rows.last().map(|row| row.query);
        let last = last.filter(|&number| same(&self.queries[number], query));
        let number = last.unwrap_or_else(|| match self.numbers.get(query) {
            Some(&number) => number,
            None => {
                self.numbers.insert(query.to_owned(), self.queries.len());
                self.queries.push(query.to_owned());
                self.queries.len() - 1
            }
        });
        let from = self.ids.len();
        self.ids.push_str(doc);
        self.rows.push(QrelsRow {
            query: number,
            head: head(doc),
            doc: from..self.ids.len(),
            grade,
            line,
        });
    }

    /// Builds the qrels, or returns an error for the first document that repeats within a query.
    fn finish(self, source: &str) -> Result<Qrels, TrecReadError> {
        let Self {
            queries,
            ids,
            mut rows,
            ..
        } = self;
        let id = |row: &QrelsRow| &ids[row.doc.clone()];
        let mut earliest: Option<RepeatedDocument<'_>> = None;
        // Stable sorts keep the order of the lines.
        rows.sort_by_key(|row| row.query);
        for judged in rows.chunk_by_mut(|a, b| a.query == b.query) {
            judged.sort_by(|a, b| a.head.cmp(&b.head).then_with(|| id(a).cmp(id(b))));
            for pair in judged.windows(2) {
                let (row, next) = (&pair[0], &pair[1]);
                if row.head == next.head
                    && id(row) == id(next)
                    && earliest.is_none_or(|known| next.line < known.line)
                {
                    earliest = Some(RepeatedDocument {
                        line: next.line,
                        query: &queries[row.query],
                        doc: id(row),
                        first: row.line,
                    });
                }
            }
        }
        if let Some(repeated) = earliest {
            return Err(repeated.error(source));
        }
        let judged = |rows: &[QrelsRow]| {
            let bytes = rows.iter().map(|row| row.doc.len()).sum();
            let docs = rows.iter().map(|row| (id(row), row.grade));
            JudgedDocs::ascending(docs, bytes)
        };
        let lists = rows.chunk_by(|a, b| a.query == b.query);
        // In the order of query numbers; no query is empty.
        let judged: Vec<_> = lists.map(judged).collect();
        Ok(Qrels::from_lists(queries.into_iter().zip(judged).collect()))
    }
}

/// The first eight bytes of a string, padded with zeros; strings contain no NUL byte.
fn head(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let first = bytes.first_chunk().copied().unwrap_or_else(|| {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        padded
    });
    u64::from_be_bytes(first)
}
