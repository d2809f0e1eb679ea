use std::borrow::Cow;
use std::io::BufRead;

pub use ir_core::trec::HeaderLine;
use ir_core::trec::{Parsed, TrecWarnings};
use ir_core::{Qrels, Run};

use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, excerpt};
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
    let mut rows = TabbedLines::new(reader, source, quoting);
    let mut qrels = Qrels::new();
    let mut seen = DuplicateFinder::default();
    let mut warnings = TrecWarnings::new(source);
    while let Some((line, [query, _, doc, grade])) = rows.read::<4>()? {
        let grade = match grade.trim_ascii().parse::<i64>() {
            Ok(grade) => grade,
            Err(_) if rows.count == 1 => {
                if header == HeaderLine::Skip {
                    continue;
                }
                warnings.push(line, "header line counts as a judgment");
                0
            }
            Err(_) => return Err(syntax(source, line, "an integer as grade", &grade)),
        };
        if let Some(first) = seen.add(&[&query, &doc], line) {
            if qrels.grade(&query, &doc) != Some(grade) {
                return Err(DataError::RepeatedJudgment {
                    path: source.to_owned(),
                    line,
                    query,
                    doc,
                    first,
                });
            }
            warnings.push(
                line,
                format!("the judgment of line {first} again: query {query:?}, document {doc:?}"),
            );
            continue;
        }
        qrels.insert(&query, &doc, grade);
    }
    Ok(Parsed {
        data: qrels,
        warnings: warnings.finish(),
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
    let mut rows = TabbedLines::new(reader, source, quoting);
    let mut run = Run::new("");
    let mut seen = DuplicateFinder::default();
    let mut warnings = TrecWarnings::new(source);
    while let Some((line, [query, _, doc, _, score, tag])) = rows.read::<6>()? {
        let score = match score.trim_ascii().parse::<f64>() {
            Ok(score) if score.is_finite() => score,
            Err(_) if rows.count == 1 => {
                if header == HeaderLine::Skip {
                    continue;
                }
                warnings.push(line, "header line counts as a document with score 0");
                0.0
            }
            _ => return Err(syntax(source, line, "a finite number as score", &score)),
        };
        if let Some(first) = seen.add(&[&query, &doc], line) {
            let earlier = run.get(&query).into_iter().flatten();
            if earlier
                .filter(|scored| scored.doc == doc)
                .any(|scored| scored.score != score)
            {
                return Err(syntax(source, line, "each document of a query once", &doc));
            }
            warnings.push(
                line,
                format!("line {first} again: query {query:?}, document {doc:?}"),
            );
            continue;
        }
        run.push(&query, doc, score);
        run.tag = tag;
    }
    Ok(Parsed {
        data: run,
        warnings: warnings.finish(),
    })
}

fn syntax(source: &str, line: u64, expected: &'static str, found: &str) -> DataError {
    DataError::Syntax {
        path: source.to_owned(),
        line,
        expected,
        found: excerpt(found),
    }
}

/// Reader of tab-separated lines.
struct TabbedLines<'a, R> {
    lines: LineReader<R>,
    source: &'a str,
    quoting: Quoting,
    /// Number of lines read.
    count: u64,
}

impl<'a, R: BufRead> TabbedLines<'a, R> {
    fn new(reader: R, source: &'a str, quoting: Quoting) -> Self {
        Self {
            lines: LineReader::new(reader, source),
            source,
            quoting,
            count: 0,
        }
    }

    fn read<const N: usize>(&mut self) -> Result<Option<(u64, [String; N])>, DataError> {
        while let Some(line) = self.lines.read()? {
            let text = line.text.strip_suffix('\r').unwrap_or(line.text);
            if text.trim_ascii().is_empty() {
                continue;
            }
            let mut columns = Vec::with_capacity(N);
            for column in text.split('\t') {
                let column = match self.quoting {
                    Quoting::Raw => Cow::Borrowed(column),
                    Quoting::Csv => unquote(column).ok_or_else(|| {
                        syntax(
                            self.source,
                            line.number,
                            "a quoted column with inner quotes doubled",
                            column,
                        )
                    })?,
                };
                columns.push(column.into_owned());
            }
            let columns: [String; N] =
                columns
                    .try_into()
                    .map_err(|columns: Vec<String>| DataError::Columns {
                        path: self.source.to_owned(),
                        line: line.number,
                        expected: N as u64,
                        found: columns.len() as u64,
                    })?;
            if columns[0].is_empty() || columns[2].is_empty() {
                return Err(syntax(
                    self.source,
                    line.number,
                    "a query id and a document id",
                    text,
                ));
            }
            self.count += 1;
            return Ok(Some((line.number, columns)));
        }
        Ok(None)
    }
}

/// Unquotes a CSV column; `None` if its quotes do not match.
fn unquote(column: &str) -> Option<Cow<'_, str>> {
    let Some(rest) = column.strip_prefix('"') else {
        return Some(Cow::Borrowed(column));
    };
    let mut inner = rest.strip_suffix('"')?;
    let mut text = String::with_capacity(inner.len());
    while let Some(quote) = inner.find('"') {
        text.push_str(&inner[..=quote]);
        inner = inner[quote + 1..].strip_prefix('"')?;
    }
    text.push_str(inner);
    Some(Cow::Owned(text))
}
