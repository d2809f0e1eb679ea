//! Reading.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use super::number::{c_integer, c_number};
use super::{Header, MAX_LINE, Oddities, Parsed, TrecError, columns, is_space};
use crate::{Grade, Qrels, Run};

/// Reads a run. `source` names the file in errors.
///
/// Blank lines and lines that begin with `#` are skipped. The tag is that of the last line. The
/// lines of a query need not stand together; each query's documents keep the order of the file.
///
/// # Errors
/// See [`TrecError`].
pub fn read_run(
    input: impl BufRead,
    source: &str,
    header: Header,
) -> Result<Parsed<Run>, TrecError> {
    let mut lines = Lines::new(input, source);
    let mut odd = Oddities::new(source);
    let mut run = Run::default();
    let mut places: HashMap<String, Vec<u64>> = HashMap::new();
    while lines.next()? {
        byte_order_mark(&mut odd, &lines);
        let (line, path) = (lines.number, source);
        let mut fields = columns(&lines.text);
        let (Some(query), Some(_), Some(doc), Some(_), Some(score), Some(tag)) = (
            fields.next(),
            fields.next(),
            fields.next(),
            fields.next(),
            fields.next(),
            fields.next(),
        ) else {
            let found = columns(&lines.text).count();
            return Err(TrecError::Columns {
                path: path.into(),
                line,
                expected: "at least 6",
                found,
            });
        };
        let value = c_number(score);
        if value.is_none() && header == Header::Skip && lines.first() {
            continue;
        }
        if value.is_some_and(|(number, _)| number.is_nan()) {
            return Err(TrecError::NanScore {
                path: path.into(),
                line,
            });
        }
        run.push(query, doc, value.map_or(0.0, |(number, _)| number));
        if run.tag != tag {
            run.tag = tag.to_owned();
        }
        match places.get_mut(query) {
            Some(places) => places.push(line),
            None => {
                places.insert(query.to_owned(), vec![line]);
            }
        }
        match value {
            None => {
                let what = format!(
                    "the score {score:?} is no number and was read as 0{}",
                    lines.perhaps()
                );
                odd.push(line, what);
            }
            Some((number, false)) => {
                odd.push(line, format!("the score {score:?} was read as {number}"));
            }
            Some(_) => {}
        }
    }
    check_repeats(&run, &places, source)?;
    Ok(Parsed {
        data: run,
        oddities: odd.finish(),
    })
}

fn check_repeats(
    run: &Run,
    places: &HashMap<String, Vec<u64>>,
    path: &str,
) -> Result<(), TrecError> {
    let mut earliest: Option<TrecError> = None;
    let mut at = u64::MAX;
    for (query, list) in run.iter() {
        let Some(lines) = places.get(query) else {
            continue;
        };
        let mut docs: Vec<(&str, u64)> = list
            .iter()
            .zip(lines)
            .map(|(scored, &line)| (scored.doc.as_str(), line))
            .collect();
        docs.sort_unstable();
        for pair in docs.windows(2) {
            let ((doc, first), (next, line)) = (pair[0], pair[1]);
            if doc == next && line < at {
                at = line;
                let (path, query, doc) = (path.into(), query.to_owned(), doc.to_owned());
                earliest = Some(TrecError::Repeated {
                    path,
                    line,
                    query,
                    doc,
                    first,
                });
            }
        }
    }
    earliest.map_or(Ok(()), Err)
}

/// Reads qrels. `source` names the file in errors.
///
/// Exactly four columns; blank lines and lines that begin with `#` are skipped. The grade is the
/// whole number at the head of the fourth column, 0 for a text.
///
/// # Errors
/// See [`TrecError`].
pub fn read_qrels(
    input: impl BufRead,
    source: &str,
    header: Header,
) -> Result<Parsed<Qrels>, TrecError> {
    let mut lines = Lines::new(input, source);
    let mut odd = Oddities::new(source);
    let mut qrels = Qrels::new();
    let mut places: HashMap<(String, String), u64> = HashMap::new();
    while lines.next()? {
        byte_order_mark(&mut odd, &lines);
        let (line, path) = (lines.number, source);
        let mut fields = columns(&lines.text);
        let (Some(query), Some(_), Some(doc), Some(text), None) = (
            fields.next(),
            fields.next(),
            fields.next(),
            fields.next(),
            fields.next(),
        ) else {
            let found = columns(&lines.text).count();
            return Err(TrecError::Columns {
                path: path.into(),
                line,
                expected: "4",
                found,
            });
        };
        let grade = c_integer(text).map(|(number, _)| number);
        if grade.is_none() && header == Header::Skip && lines.first() {
            continue;
        }
        if let Some(first) = places.insert((query.to_owned(), doc.to_owned()), line) {
            let (query, doc) = (query.to_owned(), doc.to_owned());
            return Err(TrecError::Repeated {
                path: path.into(),
                line,
                query,
                doc,
                first,
            });
        }
        qrels.insert(query, doc, grade.unwrap_or(0));
        if text.parse::<Grade>().is_err() {
            let what = format!(
                "the grade {text:?} is no whole number and was read as {}{}",
                grade.unwrap_or(0),
                lines.perhaps()
            );
            odd.push(line, what);
        }
    }
    Ok(Parsed {
        data: qrels,
        oddities: odd.finish(),
    })
}

struct Lines<'a, R> {
    input: R,
    source: &'a str,
    bytes: Vec<u8>,
    text: String,
    number: u64,
    data: u64,
}

impl<'a, R: BufRead> Lines<'a, R> {
    fn new(input: R, source: &'a str) -> Self {
        Self {
            input,
            source,
            bytes: Vec::new(),
            text: String::new(),
            number: 0,
            data: 0,
        }
    }

    /// Moves to the next line that holds data.
    fn next(&mut self) -> Result<bool, TrecError> {
        loop {
            self.number += 1;
            let (line, path) = (self.number, || self.source.to_owned());
            self.bytes.clear();
            let mut limited = (&mut self.input).take(MAX_LINE + 1);
            let read = limited
                .read_until(b'\n', &mut self.bytes)
                .map_err(|cause| TrecError::Io {
                    path: path(),
                    line,
                    cause,
                })?;
            if read == 0 {
                return Ok(false);
            }
            if read as u64 > MAX_LINE {
                return Err(TrecError::LongLine {
                    path: path(),
                    line,
                    limit: MAX_LINE,
                });
            }
            if self.bytes.starts_with(&[0xFF, 0xFE]) || self.bytes.starts_with(&[0xFE, 0xFF]) {
                return Err(TrecError::Encoding {
                    path: path(),
                    line,
                    found: "UTF-16",
                });
            }
            if self.bytes.contains(&0) {
                return Err(TrecError::Encoding {
                    path: path(),
                    line,
                    found: "a NUL byte",
                });
            }
            let text = std::str::from_utf8(&self.bytes).map_err(|_| TrecError::Encoding {
                path: path(),
                line,
                found: "other bytes",
            })?;
            if text.bytes().all(is_space) || text.starts_with('#') {
                continue;
            }
            self.data += 1;
            self.text.clear();
            self.text.push_str(text);
            return Ok(true);
        }
    }

    /// Whether this is the first line that holds data.
    fn first(&self) -> bool {
        self.data == 1
    }

    fn perhaps(&self) -> &'static str {
        if self.first() {
            " (a header line? it counts as data)"
        } else {
            ""
        }
    }
}

fn byte_order_mark<R: BufRead>(odd: &mut Oddities, lines: &Lines<'_, R>) {
    if lines.first() && lines.text.starts_with('\u{feff}') {
        odd.push(
            lines.number,
            "the byte-order mark became part of the first query id",
        );
    }
}
