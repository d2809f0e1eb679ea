//! Reading.

use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;

use super::number::{c_integer, c_number};
use super::scan::{Line, Position, scan};
use super::{HeaderLine, TrecWarnings, Parsed, TrecReadError};
use crate::{Grade, JudgedDocs, Qrels, Run, ScoredDoc};

/// A line of a run that is being read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunLine<'t> {
    /// Where it stands, from 1.
    pub line: u64,
    /// The query's id.
    pub query: &'t str,
    /// Whether the line before, if any, belongs to another query.
    pub starts_query: bool,
    /// The document's id.
    pub doc: &'t str,
    /// The score; never NaN.
    pub score: f64,
}

/// What is known of a run once its lines were read.
#[derive(Debug, Clone)]
pub struct RunSummary {
    /// The system's name, by the last line.
    pub tag: String,
    /// How many lines there are, with blank ones and comments.
    pub lines: u64,
    /// What trec_eval passes over in silence.
    pub warnings: TrecWarnings,
}

impl RunSummary {
    /// Adds what is known of the [`Part`](super::RunChunk) behind this one.
    pub fn append(&mut self, next: Self) {
        self.warnings.append(next.warnings, self.lines);
        self.lines += next.lines;
        if !next.tag.is_empty() {
            self.tag = next.tag;
        }
    }
}

/// Reads a run line by line and keeps nothing: 10 million lines or 10 take the same memory.
/// `source` names the file in errors. The lines are those that [`read_run`] reads; it refuses a
/// document that repeats within a query, which here is up to `each`.
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
/// See [`TrecReadError`]; and the first error that `each` gives.
pub fn scan_run<E: From<TrecReadError>>(
    input: impl Read,
    source: &str,
    header: HeaderLine,
    each: impl FnMut(RunLine<'_>) -> Result<(), E>,
) -> Result<RunSummary, E> {
    scan_from(input, source, header, Position::default(), each)
}

/// [`scan_run`] from a position on.
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
                    let perhaps = line.perhaps();
                    let what =
                        format!("the score {score:?} is no number and was read as 0{perhaps}");
                    warnings.push(number, what);
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

/// Whether two short texts are equal, which they mostly are: without a call.
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
/// Blank lines and lines that begin with `#` are skipped. The tag is that of the last line. The
/// lines of a query need not stand together; each query's documents keep the order of the file.
///
/// # Errors
/// The first fault of the file: see [`TrecReadError`].
pub fn read_run(input: impl Read, source: &str, header: HeaderLine) -> Result<Parsed<Run>, TrecReadError> {
    let mut queries: RowsByQuery<ScoredDoc> = RowsByQuery::default();
    let scanned = scan_run(input, source, header, |line| {
        let scored = ScoredDoc {
            doc: line.doc.to_owned(),
            score: line.score,
        };
        queries.push(line.query, scored, line.line);
        Ok(())
    });
    // What repeats stands before any other fault.
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
/// Exactly four columns; blank lines and lines that begin with `#` are skipped. The grade is the
/// whole number at the head of the fourth column, 0 for a text.
///
/// # Errors
/// The first fault of the file: see [`TrecReadError`].
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
            let what = format!(
                "the grade {text:?} is no whole number and was read as {value}{}",
                line.perhaps()
            );
            warnings.push(line.number, what);
        }
        Ok(())
    });
    // What repeats stands before any other fault.
    let data = judgments.finish(source)?;
    scanned?;
    Ok(Parsed {
        data,
        warnings: warnings.finish(),
    })
}

fn columns<const N: usize>(source: &str, line: &Line<'_, N>, expected: &'static str) -> TrecReadError {
    TrecReadError::Columns {
        path: source.to_owned(),
        line: line.number,
        expected,
        found: line.columns,
    }
}

fn byte_order_mark<const N: usize>(warnings: &mut TrecWarnings, line: &Line<'_, N>) {
    if line.first && line.field(0).starts_with('\u{feff}') {
        let what = "the byte-order mark became part of the first query id";
        warnings.push(line.number, what);
    }
}

/// ColumnReader by query, with their lines.
struct RowsByQuery<T> {
    numbers: HashMap<String, usize>,
    groups: Vec<QueryRows<T>>,
    /// Where the last row went: the next one mostly goes there too.
    last: usize,
}

struct QueryRows<T> {
    query: String,
    /// With their lines.
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

    /// An error when a document repeats within a query: the first that does.
    fn check(&self, source: &str, doc: impl Fn(&T) -> &String) -> Result<(), TrecReadError> {
        let mut earliest: Option<Repeated<'_>> = None;
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
                    earliest = Some(Repeated {
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

/// A document that stands twice in a query.
#[derive(Clone, Copy)]
struct Repeated<'t> {
    line: u64,
    query: &'t str,
    doc: &'t str,
    /// The line before that has it.
    first: u64,
}

impl Repeated<'_> {
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

/// QrelsBuilder that are being read.
#[derive(Default)]
struct QrelsBuilder {
    numbers: HashMap<String, usize>,
    queries: Vec<String>,
    /// The documents' ids, one behind the other.
    ids: String,
    rows: Vec<QrelsRow>,
}

struct QrelsRow {
    /// By number.
    query: usize,
    /// The first bytes of the document's id: in order as the ids are, where they differ.
    head: u64,
    /// Where the id is.
    doc: Range<usize>,
    grade: Grade,
    line: u64,
}

impl QrelsBuilder {
    fn push(&mut self, query: &str, doc: &str, grade: Grade, line: u64) {
        // Mostly that of the line before.
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

    /// An error when a document repeats within a query: the first that does.
    fn finish(self, source: &str) -> Result<Qrels, TrecReadError> {
        let Self {
            queries,
            ids,
            mut rows,
            ..
        } = self;
        let id = |row: &QrelsRow| &ids[row.doc.clone()];
        let mut earliest: Option<Repeated<'_>> = None;
        // These sorts keep the order of the lines.
        rows.sort_by_key(|row| row.query);
        for judged in rows.chunk_by_mut(|a, b| a.query == b.query) {
            judged.sort_by(|a, b| a.head.cmp(&b.head).then_with(|| id(a).cmp(id(b))));
            for pair in judged.windows(2) {
                let (row, next) = (&pair[0], &pair[1]);
                if row.head == next.head
                    && id(row) == id(next)
                    && earliest.is_none_or(|known| next.line < known.line)
                {
                    earliest = Some(Repeated {
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
        // They are in the order of the queries' numbers, and none is empty.
        let judged: Vec<_> = lists.map(judged).collect();
        Ok(Qrels::from_lists(queries.into_iter().zip(judged).collect()))
    }
}

/// The first eight bytes of a text, zeros behind one that is shorter: no text has a NUL byte.
fn head(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let first = bytes.first_chunk().copied().unwrap_or_else(|| {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        padded
    });
    u64::from_be_bytes(first)
}
