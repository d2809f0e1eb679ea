//! Qrels and runs as DataFinder's CSV writer made them.

use std::borrow::Cow;
use std::io::BufRead;

pub use ir_core::trec::Header;
use ir_core::trec::{Oddities, Parsed};
use ir_core::{Qrels, Run};

use crate::error::excerpt;
use crate::seen::Seen;
use crate::{DataError, Lines};

/// How an id is read that stands between quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quoting {
    /// As it stands, quotes and all, as trec_eval reads it.
    #[default]
    Raw,
    /// As CSV: the outer quotes fall away, inner ones are doubled.
    Csv,
}

/// Reads qrels: query, `Q0`, document and grade between tabs; line ends are `\r\n` or `\n`.
///
/// With [`Header::Skip`] a first line whose grade is no number is dropped; with
/// [`Header::AsData`] it is a judgment with grade 0, as trec_eval takes it. A pair that occurs
/// again with the same grade counts once, and is reported.
///
/// ```
/// use ir_data::datafinder::{Header, Quoting, read_qrels};
/// let text = "QueryID\t0\tDocID\tRelevance\r\n\"a_\"\"neural\"\"_tree\"\tQ0\tSST\t1\r\n";
/// let qrels = read_qrels(text.as_bytes(), "test.qrels", Quoting::Csv, Header::Skip)?;
/// assert_eq!(qrels.data.grade("a_\"neural\"_tree", "SST"), Some(1));
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// When the source cannot be read, or a line has not four columns, a quote that does not end, or a
/// grade that is no whole number, or judges a pair again and otherwise.
pub fn read_qrels(
    reader: impl BufRead,
    source: &str,
    quoting: Quoting,
    header: Header,
) -> Result<Parsed<Qrels>, DataError> {
    let mut rows = Rows::new(reader, source, quoting);
    let mut qrels = Qrels::new();
    let mut seen = Seen::default();
    let mut oddities = Oddities::new(source);
    while let Some((line, [query, _, doc, grade])) = rows.read::<4>()? {
        let grade = match grade.trim_ascii().parse::<i64>() {
            Ok(grade) => grade,
            Err(_) if rows.count == 1 => {
                if header == Header::Skip {
                    continue;
                }
                oddities.push(line, "a header line that is taken for a judgment");
                0
            }
            Err(_) => return Err(syntax(source, line, "a whole number as grade", &grade)),
        };
        if let Some(first) = seen.note(&[&query, &doc], line) {
            if qrels.grade(&query, &doc) != Some(grade) {
                return Err(DataError::RepeatedJudgment {
                    path: source.to_owned(),
                    line,
                    query,
                    doc,
                    first,
                });
            }
            oddities.push(
                line,
                format!("the judgment of line {first} again: query {query:?}, document {doc:?}"),
            );
            continue;
        }
        qrels.insert(&query, &doc, grade);
    }
    Ok(Parsed {
        data: qrels,
        oddities: oddities.finish(),
    })
}

/// Reads a run: query, `Q0`, document, rank, score and tag between tabs; line ends are `\r\n` or
/// `\n`. The order of the file is kept. Header and repeated lines as in [`read_qrels`].
///
/// # Errors
/// When the source cannot be read, or a line has not six columns, a quote that does not end, or a
/// score that is no finite number, or lists a document again with another score.
pub fn read_run(
    reader: impl BufRead,
    source: &str,
    quoting: Quoting,
    header: Header,
) -> Result<Parsed<Run>, DataError> {
    let mut rows = Rows::new(reader, source, quoting);
    let mut run = Run::new("");
    let mut seen = Seen::default();
    let mut oddities = Oddities::new(source);
    while let Some((line, [query, _, doc, _, score, tag])) = rows.read::<6>()? {
        let score = match score.trim_ascii().parse::<f64>() {
            Ok(score) if score.is_finite() => score,
            Err(_) if rows.count == 1 => {
                if header == Header::Skip {
                    continue;
                }
                oddities.push(
                    line,
                    "a header line that is taken for a document with score 0",
                );
                0.0
            }
            _ => return Err(syntax(source, line, "a finite number as score", &score)),
        };
        if let Some(first) = seen.note(&[&query, &doc], line) {
            let earlier = run.get(&query).into_iter().flatten();
            if earlier
                .filter(|scored| scored.doc == doc)
                .any(|scored| scored.score != score)
            {
                return Err(syntax(source, line, "each document of a query once", &doc));
            }
            oddities.push(
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
        oddities: oddities.finish(),
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

/// Lines cut at tabs.
struct Rows<'a, R> {
    lines: Lines<R>,
    source: &'a str,
    quoting: Quoting,
    /// How many rows have been read.
    count: u64,
}

impl<'a, R: BufRead> Rows<'a, R> {
    fn new(reader: R, source: &'a str, quoting: Quoting) -> Self {
        Self {
            lines: Lines::new(reader, source),
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
                    Quoting::Csv => unquoted(column).ok_or_else(|| {
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

/// A column of CSV; `None` when its quotes do not match.
fn unquoted(column: &str) -> Option<Cow<'_, str>> {
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
