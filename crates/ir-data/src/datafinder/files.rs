use std::borrow::Cow;
use std::io::BufRead;
use std::str::FromStr;

pub use ir_core::trec::HeaderLine;
use ir_core::trec::{Parsed, TrecWarnings};
use ir_core::{Qrels, Run};

use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location};
use crate::lines::LineReader;

/// Interpretation of quoted ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quoting {
    /// Quotes are part of the id, as in trec_eval.
    #[default]
    Raw,
    /// CSV: outer quotes are removed, doubled inner quotes become one.
    Csv,
}

/// Reads qrels: query, `Q0`, document and grade, tab-separated. Lines end with `\r\n` or `\n`.
///
/// With [`HeaderLine::Skip`] a first line without a numeric grade is skipped; with
/// [`HeaderLine::AsData`] it is a judgment of grade 0, as in trec_eval. A repeated judgment of the
/// same grade counts once and is reported as a warning.
///
/// ```
/// use ir_data::datafinder::{HeaderLine, Quoting, read_qrels};
/// let text = "QueryID\t0\tDocID\tRelevance\r\n\"a_\"\"neural\"\"_tree\"\tQ0\tSST\t1\r\n";
/// let qrels = read_qrels(text.as_bytes(), "test.qrels", Quoting::Csv, HeaderLine::Skip)?;
/// assert_eq!(qrels.data.grade("a_\"neural\"_tree", "SST"), Some(1));
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// The source cannot be read; a line does not have four columns, has an unmatched quote or a
/// grade that is not an integer; a pair is judged twice with different grades.
pub fn read_qrels(
    reader: impl BufRead,
    source: &str,
    quoting: Quoting,
    header: HeaderLine,
) -> Result<Parsed<Qrels>, DataError> {
    let mut rows = TabbedLines::new(reader, source, quoting, header);
    let mut qrels = Qrels::new();
    let mut seen = DuplicateFinder::default();
    while let Some((at, [query, _, doc, grade])) = rows.read::<4>()? {
        let as_data = "header line counts as a judgment";
        let Some(grade) = rows.number(&grade, at, "an integer as grade", as_data)? else {
            continue;
        };
        if let Some(first) = seen.add(&[&query, &doc], at.line) {
            if qrels.grade(&query, &doc) != Some(grade) {
                return Err(at.repeated_judgment(&query, &doc, first));
            }
            rows.warnings.push(
                at.line,
                format!("the judgment of line {first} again: query {query:?}, document {doc:?}"),
            );
            continue;
        }
        qrels.insert(&query, &doc, grade);
    }
    Ok(Parsed {
        data: qrels,
        warnings: rows.warnings.finish(),
    })
}

/// Reads a run: query, `Q0`, document, rank, score and tag, tab-separated. Lines end with `\r\n` or
/// `\n`. The order of the file is kept. For header and repeated lines see [`read_qrels`].
///
/// # Errors
/// The source cannot be read; a line does not have six columns, has an unmatched quote or a score
/// that is not a finite number; a document is repeated with another score.
pub fn read_run(
    reader: impl BufRead,
    source: &str,
    quoting: Quoting,
    header: HeaderLine,
) -> Result<Parsed<Run>, DataError> {
    let mut rows = TabbedLines::new(reader, source, quoting, header);
    let mut run = Run::new("");
    let mut seen = DuplicateFinder::default();
    while let Some((at, [query, _, doc, _, column, tag])) = rows.read::<6>()? {
        let expected = "a finite number as score";
        let as_data = "header line counts as a document with score 0";
        let Some(score) = rows.number::<f64>(&column, at, expected, as_data)? else {
            continue;
        };
        if !score.is_finite() {
            return Err(at.syntax(expected, &column));
        }
        if let Some(first) = seen.add(&[&query, &doc], at.line) {
            let earlier = run.get(&query).into_iter().flatten();
            if earlier
                .filter(|scored| scored.doc == doc)
                .any(|scored| scored.score != score)
            {
                return Err(at.syntax("each document of a query once", &doc));
            }
            rows.warnings.push(
                at.line,
                format!("line {first} again: query {query:?}, document {doc:?}"),
            );
            continue;
        }
        run.push(&query, doc, score);
        run.tag = tag;
    }
    Ok(Parsed {
        data: run,
        warnings: rows.warnings.finish(),
    })
}

/// Reader of tab-separated lines.
struct TabbedLines<'a, R> {
    lines: LineReader<R>,
    source: &'a str,
    quoting: Quoting,
    header: HeaderLine,
    /// Number of lines read.
    count: u64,
    warnings: TrecWarnings,
}

impl<'a, R: BufRead> TabbedLines<'a, R> {
    fn new(reader: R, source: &'a str, quoting: Quoting, header: HeaderLine) -> Self {
        Self {
            lines: LineReader::new(reader, source),
            source,
            quoting,
            header,
            count: 0,
            warnings: TrecWarnings::new(source),
        }
    }

    /// Parses a column of the last line. A first line without a number is a header line: `None` if
    /// it is skipped, otherwise 0 with the warning `as_data`.
    fn number<T: FromStr + Default>(
        &mut self,
        column: &str,
        at: Location<'_>,
        expected: &'static str,
        as_data: &str,
    ) -> Result<Option<T>, DataError> {
        match column.trim_ascii().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) if self.count > 1 => Err(at.syntax(expected, column)),
            Err(_) if self.header == HeaderLine::Skip => Ok(None),
            Err(_) => {
                self.warnings.push(at.line, as_data);
                Ok(Some(T::default()))
            }
        }
    }

    fn read<const N: usize>(&mut self) -> Result<Option<(Location<'a>, [String; N])>, DataError> {
        while let Some(line) = self.lines.read()? {
            let text = line.text.strip_suffix('\r').unwrap_or(line.text);
            if text.trim_ascii().is_empty() {
                continue;
            }
            let at = Location::new(self.source, line.number);
            let mut columns = Vec::with_capacity(N);
            for column in text.split('\t') {
                let column = match self.quoting {
                    Quoting::Raw => Cow::Borrowed(column),
                    Quoting::Csv => unquote(column).ok_or_else(|| {
                        at.syntax("a quoted column with inner quotes doubled", column)
                    })?,
                };
                columns.push(column.into_owned());
            }
            let columns: [String; N] = columns
                .try_into()
                .map_err(|columns: Vec<String>| at.columns(N..=N, columns.len()))?;
            if columns[0].is_empty() || columns[2].is_empty() {
                return Err(at.syntax("a query id and a document id", text));
            }
            self.count += 1;
            return Ok(Some((at, columns)));
        }
        Ok(None)
    }
}

/// Unquotes a CSV column; `None` if its quotes do not match.
fn unquote(column: &str) -> Option<Cow<'_, str>> {
    let Some(rest) = column.strip_prefix('"') else {
        return Some(Cow::Borrowed(column));
    };
    let inner = rest.strip_suffix('"')?;
    let is_doubled = inner.split("\"\"").all(|part| !part.contains('"'));
    is_doubled.then(|| Cow::Owned(inner.replace("\"\"", "\"")))
}
