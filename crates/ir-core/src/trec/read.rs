//! Readers of runs and qrels.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;

use super::json::{Head, is_json_column, scan_json};
use super::json_records::scan_records;
use super::number::{c_number, parse_integer, parse_whole, short_decimal};
use super::query_numbers::{QueryNumbers, same, starts};
use super::run_columns::NAMED_RANKS;
use super::scan::{Position, TrecLine, scan};
use super::table::{FirstLine, RUN, RunTable, first_line};
use super::{HeaderLine, Parsed, TrecReadError, TrecWarnings};
use crate::characters::excerpt;
use crate::qrels::{Grade, JudgedDocs, Qrels};
use crate::run::{Run, ScoredDoc};

/// Line of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunLine<'t> {
    /// Line number, from 1.
    pub line: u64,
    /// Query id, first column.
    pub query: &'t str,
    /// `true` if the previous line is absent or belongs to another query.
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
    scan_from(input, source, header, Position::default(), None, each)
}

/// Columns of qrels, for errors.
const QRELS: &str = "judgments of four columns (query, 0, document, grade)";

/// Warning about a run of MS MARCO.
const RANKS: &str =
    "read as a run of MS MARCO, with query, document and rank; the score is 1 / rank";

/// Rank of a run of MS MARCO, from 1.
pub(super) fn parse_rank(text: &str) -> Option<u32> {
    text.parse().ok().filter(|rank| *rank > 0)
}

/// [`scan_run`], starting at `position`. If `has_ranks`, the lines have the three columns of MS
/// MARCO; `None` lets the first line decide.
pub(super) fn scan_from<E: From<TrecReadError>>(
    input: impl Read,
    source: &str,
    header: HeaderLine,
    mut position: Position,
    mut has_ranks: Option<bool>,
    mut each: impl FnMut(RunLine<'_>) -> Result<(), E>,
) -> Result<RunSummary, E> {
    if position.started {
        return scan_lines(input, source, header, &mut position, &mut has_ranks, each);
    }
    let head = Head::read(input, source, RUN)?;
    if !head.is_json {
        return scan_lines(
            head.input,
            source,
            header,
            &mut position,
            &mut has_ranks,
            each,
        );
    }
    let mut warnings = TrecWarnings::new(source);
    if head.has_records {
        let (mut tag, mut last) = (String::new(), None);
        let lines = scan_records(head.input, source, &mut warnings, |record| {
            tag.replace_range(.., record.tag);
            each(RunLine {
                line: record.line,
                query: record.query,
                starts_query: starts(&mut last, record.query),
                doc: record.doc,
                score: record.score,
            })
        })?;
        return Ok(RunSummary {
            tag,
            lines,
            warnings,
        });
    }
    let lines = scan_json(head.input, source, &mut warnings, |entry, warnings| {
        let (text, line) = (entry.number, entry.line);
        let score = match c_number(text) {
            Some((score, true)) => score,
            value => unusual_score(text, value, source, line, "", warnings)?,
        };
        each(RunLine {
            line,
            query: entry.query,
            starts_query: entry.starts_query,
            doc: entry.doc,
            score,
        })
    })?;
    Ok(RunSummary {
        tag: String::new(),
        lines,
        warnings,
    })
}

/// Reads the lines of a run in columns.
fn scan_lines<E: From<TrecReadError>>(
    input: impl Read,
    source: &str,
    header: HeaderLine,
    position: &mut Position,
    has_ranks: &mut Option<bool>,
    mut each: impl FnMut(RunLine<'_>) -> Result<(), E>,
) -> Result<RunSummary, E> {
    let mut warnings = TrecWarnings::new(source);
    let mut tag = String::new();
    let mut last: Option<String> = None;
    let mut table: Option<RunTable> = None;
    let mut is_after_separator = false;
    scan(input, source, position, |line: TrecLine<'_, 6>| {
        let number = line.number;
        if line.first || std::mem::take(&mut is_after_separator) {
            match first_line(&line, source, header)? {
                FirstLine::Data => {}
                FirstLine::Skipped => return Ok(()),
                FirstLine::Separator => {
                    is_after_separator = true;
                    return Ok(());
                }
                FirstLine::Table(found) => {
                    if found.has_ranks() {
                        warnings.push(number, NAMED_RANKS);
                    }
                    table = Some(found);
                    return Ok(());
                }
            }
        }
        if let Some(table) = &table {
            let row = table.row(&line, source, &mut warnings)?;
            if tag != row.tag {
                tag.replace_range(.., &row.tag);
            }
            let starts_query = starts(&mut last, &row.query);
            return each(RunLine {
                line: number,
                query: &row.query,
                starts_query,
                doc: &row.doc,
                score: row.score,
            });
        }
        let ranks = *has_ranks.get_or_insert_with(|| {
            // Another number may be a score.
            let has_ranks = line.columns == 3 && parse_rank(line.field(2)) == Some(1);
            if has_ranks {
                warnings.push(number, RANKS);
            }
            has_ranks
        });
        if ranks {
            if line.columns != 3 {
                return Err(columns(source, &line, "3").into());
            }
            let (query, rank) = (line.field(0), line.field(2));
            let Some(rank) = parse_rank(rank) else {
                return Err(TrecReadError::Rank {
                    path: source.to_owned(),
                    line: number,
                    found: excerpt(rank),
                }
                .into());
            };
            let starts_query = starts(&mut last, query);
            return each(RunLine {
                line: number,
                query,
                starts_query,
                doc: line.field(1),
                score: 1.0 / f64::from(rank),
            });
        }
        if line.columns < 6 || (line.first && is_json_column(line.field(0))) {
            return Err(columns(source, &line, "at least 6").into());
        }
        if line.columns > 6 {
            line.check_end(source)?;
        }
        let score = match short_decimal(line.bytes(4)) {
            Some(score) => score,
            None => match c_number(line.field(4)) {
                Some((score, true)) => score,
                None if header == HeaderLine::Skip && line.first => return Ok(()),
                value => {
                    let (text, hint) = (line.field(4), header_hint(line.first));
                    unusual_score(text, value, source, number, hint, &mut warnings)?
                }
            },
        };
        if !same(tag.as_bytes(), line.bytes(5)) {
            tag.replace_range(.., line.field(5));
        }
        let is_same = |last: &String| same(last.as_bytes(), line.bytes(0));
        let starts_query = !last.as_ref().is_some_and(is_same) && starts(&mut last, line.field(0));
        each(RunLine {
            line: number,
            query: last.as_deref().unwrap_or_default(),
            starts_query,
            doc: line.field(2),
            score,
        })
    })?;
    Ok(RunSummary {
        tag,
        lines: position.lines,
        warnings,
    })
}

/// Score that is not a finite decimal number, with a warning. `value` is the result of
/// [`c_number`].
fn unusual_score(
    text: &str,
    value: Option<(f64, bool)>,
    source: &str,
    line: u64,
    hint: &str,
    warnings: &mut TrecWarnings,
) -> Result<f64, TrecReadError> {
    let score = value.map_or(0.0, |(value, _)| value);
    if score.is_nan() {
        let path = source.to_owned();
        return Err(TrecReadError::NanScore { path, line });
    }
    let text = excerpt(text);
    warnings.push(
        line,
        match value {
            None => format!("the score {text:?} is not a number and was read as 0{hint}"),
            Some(_) if score.is_infinite() => format!("the score {text:?} counts as infinite"),
            Some(_) => format!("the score {text:?} was read as {score}"),
        },
    );
    Ok(score)
}

/// Reads a run. `source` names the file in errors.
///
/// Skips blank lines and lines that start with `#`. The last line determines the tag. The lines of
/// a query need not be contiguous; the documents of each query keep the order of the file. A run of
/// objects in JSON has no tag.
///
/// # Errors
/// [`TrecReadError`] for the first invalid line.
pub fn read_run(
    input: impl Read,
    source: &str,
    header: HeaderLine,
) -> Result<Parsed<Run>, TrecReadError> {
    let mut run = RunBuilder::default();
    let scanned = scan_run(input, source, header, |line| {
        run.push(line);
        Ok(())
    });
    // A repeated document takes precedence over later errors.
    let lists = run.finish(source)?;
    let scanned = scanned?;
    Ok(Parsed {
        data: Run::from_lists(scanned.tag, lists),
        warnings: scanned.warnings.finish(),
    })
}

/// Reads qrels. `source` names the file in errors.
///
/// Expects exactly four columns; skips blank lines and lines that start with `#`. The grade is the
/// leading integer of the fourth column, 0 for text. A grade in JSON is an integer, also written as
/// `1.0`.
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
    let head = Head::read(input, source, QRELS)?;
    let scanned = if head.is_json {
        let scanned = scan_json(head.input, source, &mut warnings, |entry, _| {
            let (line, found) = (entry.line, entry.number);
            let Some(grade) = parse_whole(found) else {
                return Err(TrecReadError::JsonValue {
                    path: source.to_owned(),
                    line,
                    expected: "an integer as grade",
                    found: excerpt(found),
                });
            };
            judgments.push(entry.query, entry.doc, grade, line);
            Ok(())
        });
        scanned.map(drop)
    } else {
        let mut position = Position::default();
        scan(
            head.input,
            source,
            &mut position,
            |line: TrecLine<'_, 4>| {
                if line.first || line.columns != 4 {
                    line.check_end(source)?;
                }
                if line.columns != 4 || (line.first && is_json_column(line.field(0))) {
                    return Err(columns(source, &line, "4"));
                }
                let (number, grade) = (line.number, line.field(3));
                if let Some(grade) = parse_grade(grade, number, line.first, header, &mut warnings) {
                    judgments.push(line.field(0), line.field(2), grade, number);
                }
                Ok(())
            },
        )
    };
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
    line: &TrecLine<'_, N>,
    expected: &'static str,
) -> TrecReadError {
    let (path, number, found) = (source.to_owned(), line.number, line.columns);
    let first = line.field(0);
    if line.first && is_json_column(first) {
        return TrecReadError::Json { path, expected };
    }
    if line.first && (first.starts_with("[[") || first.starts_with("[\"")) {
        return TrecReadError::JsonValue {
            path,
            line: number,
            expected: "objects",
            found: excerpt(first),
        };
    }
    if first.ends_with(',') || (found == 1 && first.contains(',')) {
        return TrecReadError::Commas {
            path,
            line: number,
            expected,
            found,
        };
    }
    TrecReadError::Columns {
        path,
        line: number,
        expected,
        found,
    }
}

/// Hint for text in a numeric column.
fn header_hint(first: bool) -> &'static str {
    if first {
        " (a header line? it counts as data)"
    } else {
        ""
    }
}

/// Parses a grade, with a warning unless it is an integer. `None` for a skipped header line.
#[inline]
pub(super) fn parse_grade(
    text: &str,
    line: u64,
    first: bool,
    header: HeaderLine,
    warnings: &mut TrecWarnings,
) -> Option<Grade> {
    if let Ok(grade) = text.parse() {
        return Some(grade);
    }
    let grade = parse_integer(text);
    if grade.is_none() && header == HeaderLine::Skip && first {
        return None;
    }
    let grade = grade.unwrap_or(0);
    let (text, hint) = (excerpt(text), header_hint(first));
    let message = format!("the grade {text:?} is not an integer and was read as {grade}{hint}");
    warnings.push(line, message);
    Some(grade)
}

/// Run under construction, filled line by line.
#[derive(Default)]
struct RunBuilder {
    queries: QueryNumbers,
    /// Documents of each query, with their line numbers.
    lists: Vec<Vec<(ScoredDoc, u64)>>,
}

impl RunBuilder {
    fn push(&mut self, line: RunLine<'_>) {
        let number = self.queries.number(line.query);
        if number == self.lists.len() {
            self.lists.push(Vec::new());
        }
        let doc = line.doc.to_owned();
        let score = line.score;
        self.lists[number].push((ScoredDoc { doc, score }, line.line));
    }

    /// Returns the lists, or an error for the first document that repeats within a query.
    fn finish(self, source: &str) -> Result<BTreeMap<String, Vec<ScoredDoc>>, TrecReadError> {
        let mut earliest: Option<RepeatedDocument<'_>> = None;
        let mut docs: Vec<(&str, u64)> = Vec::new();
        for (query, list) in self.queries.ids.iter().zip(&self.lists) {
            docs.clear();
            docs.extend(
                list.iter()
                    .map(|(scored, line)| (scored.doc.as_str(), *line)),
            );
            docs.sort_unstable();
            for pair in docs.windows(2) {
                let ((doc, first), (next, line)) = (pair[0], pair[1]);
                if doc == next && earliest.is_none_or(|known| line < known.line) {
                    earliest = Some(RepeatedDocument {
                        line,
                        query,
                        doc,
                        first,
                    });
                }
            }
        }
        if let Some(repeated) = earliest {
            return Err(repeated.error(source));
        }
        let scored = |list: Vec<(ScoredDoc, u64)>| list.into_iter().map(|row| row.0).collect();
        let lists = self.lists.into_iter().map(scored);
        Ok(self.queries.ids.into_iter().zip(lists).collect())
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
    queries: QueryNumbers,
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
        let from = self.ids.len();
        self.ids.push_str(doc);
        self.rows.push(QrelsRow {
            query: self.queries.number(query),
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
        } = self;
        let queries = queries.ids;
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
