//! TREC runs and qrels, read exactly as trec_eval reads them.
//!
//! | file | columns, separated by any ASCII white space |
//! |---|---|
//! | run | query id, iteration (ignored), document id, rank (ignored), score, tag, anything else (ignored) |
//! | qrels | query id, iteration (ignored), document id, grade |
//!
//! trec_eval is lenient: text in the score column is 0, so a header line becomes a document
//! called `DocID` of the query `QueryID`. Reading does the same ([`Header::AsData`]) and says so in
//! [`Parsed::oddities`]; [`Header::Skip`] drops a header line instead. What would make an
//! evaluation meaningless is an error: a missing column, a NaN score, a document that repeats
//! within a query, a fifth column in qrels.
//!
//! ```
//! use ir_core::trec::{self, Header};
//! let qrels = trec::read_qrels("q1 0 d1 2\nq1 0 d2 0\n".as_bytes(), "qrels.txt", Header::AsData)?;
//! assert_eq!(qrels.data.grade("q1", "d1"), Some(2));
//!
//! let error = trec::read_run("q1 Q0 d1 1\n".as_bytes(), "run.txt", Header::AsData).unwrap_err();
//! assert_eq!(error.to_string(), "run.txt:1: expected at least 6 columns, found 4");
//! # Ok::<(), trec::TrecError>(())
//! ```

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead, Read, Write};

use crate::{Grade, Qrels, Run};

/// The longest line that is read, in bytes. No real run comes near it; a file without line ends
/// is not read into memory whole.
pub const MAX_LINE: u64 = 1 << 20;

/// What a first line with a text where a number belongs is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Header {
    /// For data, as trec_eval does: a document with score or grade 0.
    #[default]
    AsData,
    /// For a header, which is dropped.
    Skip,
}

/// What was read, and what was odd about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed<T> {
    /// The run or qrels.
    pub data: T,
    /// What trec_eval passes over in silence, in the order of the lines. At most
    /// [`Parsed::MAX_ODDITIES`] of them; the last one says when there were more.
    pub oddities: Vec<Oddity>,
}

impl<T> Parsed<T> {
    /// How many oddities are listed.
    pub const MAX_ODDITIES: usize = 20;
}

/// Something in a file that is legal and probably not meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oddity {
    /// The file.
    pub source: String,
    /// The line, from 1.
    pub line: u64,
    /// What is odd.
    pub what: String,
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.source, self.line, self.what)
    }
}

/// Why a run or qrels could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrecError {
    /// The file could not be read: truncated compression, a failing disk.
    #[error("{path}:{line}: could not be read")]
    Io {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u64,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// Too few columns, or too many.
    #[error("{path}:{line}: expected {expected} columns, found {found}")]
    Columns {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u64,
        /// How many there should be.
        expected: &'static str,
        /// How many there are.
        found: usize,
    },
    /// A score that is not a number.
    #[error("{path}:{line}: expected a score, found NaN")]
    NanScore {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u64,
    },
    /// A document that repeats within a query.
    #[error("{path}:{line}: document {doc:?} of query {query:?} stands in line {first} already")]
    Repeated {
        /// The file.
        path: String,
        /// The line of the second occurrence, from 1.
        line: u64,
        /// The query.
        query: String,
        /// The document.
        doc: String,
        /// The line of the first occurrence.
        first: u64,
    },
    /// A line that is no text: NUL bytes, or not UTF-8.
    #[error("{path}:{line}: expected UTF-8 text, found {found}")]
    Encoding {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u64,
        /// What there is instead.
        found: &'static str,
    },
    /// A line beyond [`MAX_LINE`].
    #[error("{path}:{line}: expected a line of at most {limit} bytes, found a longer one")]
    LongLine {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u64,
        /// The limit.
        limit: u64,
    },
}

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
        odd.byte_order_mark(&lines);
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
        if value.is_some_and(f64::is_nan) {
            return Err(TrecError::NanScore {
                path: path.into(),
                line,
            });
        }
        run.push(query, doc, value.unwrap_or(0.0));
        if run.tag != tag {
            run.tag = tag.to_owned();
        }
        match places.get_mut(query) {
            Some(places) => places.push(line),
            None => {
                places.insert(query.to_owned(), vec![line]);
            }
        }
        if value.is_none() {
            let what = format!(
                "the score {score:?} is no number and was read as 0{}",
                lines.perhaps()
            );
            odd.push(line, what);
        }
    }
    check_repeats(&run, &places, source)?;
    Ok(Parsed {
        data: run,
        oddities: odd.list,
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
        odd.byte_order_mark(&lines);
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
        let (grade, whole) = c_integer(text);
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
        if !whole {
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
        oddities: odd.list,
    })
}

/// How scores are written, and with them the fate of equal ones: whoever evaluates the file sorts
/// it again by score, and trec_eval puts the larger document id first among equals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunScores {
    /// As Anserini writes them: rounded to 4 decimals; within a group of equals the i-th further
    /// one loses i · 1e-6, in 32-bit floats; printed with 6 decimals. The order of a list survives
    /// while its scores are small. From 16 on a 32-bit float merges neighbouring steps, and at a
    /// few hundred it holds none: the ties come back and the evaluator turns them round. Figures
    /// published for Anserini contain that.
    #[default]
    Anserini,
    /// So that every evaluator keeps the order of the list: a score that is not below the one
    /// before it is written as the next smaller 64-bit number.
    Strict,
    /// The scores as they are, in the shortest form that reads back to the same 64 bits. Equal
    /// scores are left to the evaluator.
    Exact,
}

/// Writes a run, queries in ascending byte order, six columns separated by blanks, rank from 1.
///
/// # Errors
/// When `out` cannot be written, or an id is empty or has white space in it and so would be read
/// back as something else.
pub fn write_run(run: &Run, scores: RunScores, out: &mut dyn Write) -> io::Result<()> {
    let tag = if run.tag.is_empty() { "ir" } else { &run.tag };
    writable(tag)?;
    for (query, list) in run.iter() {
        begins_line(query)?;
        let mut styled = Styled::default();
        for (rank, scored) in (1..).zip(list) {
            writable(&scored.doc)?;
            write!(out, "{query} Q0 {} {rank} ", scored.doc)?;
            styled.write(scores, scored.score, out)?;
            writeln!(out, " {tag}")?;
        }
    }
    Ok(())
}

/// Writes qrels in four columns separated by blanks, by query and document id.
///
/// # Errors
/// As [`write_run`].
pub fn write_qrels(qrels: &Qrels, out: &mut dyn Write) -> io::Result<()> {
    for (query, judged) in qrels.iter() {
        begins_line(query)?;
        for (doc, grade) in judged {
            writable(doc)?;
            writeln!(out, "{query} 0 {doc} {grade}")?;
        }
    }
    Ok(())
}

/// A query's id stands at the beginning of a line, where `#` would make it a comment.
fn begins_line(id: &str) -> io::Result<()> {
    if id.starts_with('#') {
        let what = format!("expected a query id that does not begin with #, found {id:?}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    writable(id)
}

fn writable(id: &str) -> io::Result<()> {
    if id.is_empty() || id.bytes().any(is_space) {
        let what = format!("expected an id without white space, found {id:?}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(())
}

/// What has been written of one query's list so far.
#[derive(Default)]
struct Styled {
    last: Option<f64>,
    ties: u32,
}

impl Styled {
    fn write(&mut self, scores: RunScores, score: f64, out: &mut dyn Write) -> io::Result<()> {
        match scores {
            RunScores::Exact => write!(out, "{score:?}"),
            RunScores::Strict => {
                let below = self.last.map_or(score, |last| {
                    if score < last {
                        score
                    } else {
                        last.next_down()
                    }
                });
                self.last = Some(below);
                write!(out, "{below:?}")
            }
            RunScores::Anserini => {
                let mut written = anserini_round(score as f32);
                match self.last {
                    Some(last) if last as f32 - written <= 1e-4 => {
                        self.ties += 1;
                        written -= 1e-6 * self.ties as f32;
                    }
                    _ => self.ties = 0,
                }
                self.last = Some(f64::from(written));
                write!(out, "{written:.6}")
            }
        }
    }
}

/// Four decimals as Java rounds them: in 32-bit floats by way of a 32-bit whole number, halves up.
fn anserini_round(score: f32) -> f32 {
    let whole = (f64::from(score * 1e4) + 0.5).floor() as i32;
    whole as f32 / 1e4
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

/// Collects what is odd, up to [`Parsed::MAX_ODDITIES`].
struct Oddities<'a> {
    source: &'a str,
    list: Vec<Oddity>,
}

impl<'a> Oddities<'a> {
    const fn new(source: &'a str) -> Self {
        Self {
            source,
            list: Vec::new(),
        }
    }

    fn push(&mut self, line: u64, what: String) {
        let most = Parsed::<()>::MAX_ODDITIES;
        let what = match self.list.len() + 1 {
            n if n < most => what,
            n if n == most => "more of the like from here on, not listed".to_owned(),
            _ => return,
        };
        self.list.push(Oddity {
            source: self.source.to_owned(),
            line,
            what,
        });
    }

    fn byte_order_mark<R>(&mut self, lines: &Lines<'_, R>) {
        if lines.data == 1 && lines.text.starts_with('\u{feff}') {
            let what = "the byte-order mark became part of the first query id".to_owned();
            self.push(lines.number, what);
        }
    }
}

/// White space as C's `isspace` has it.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn columns(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_ascii() && is_space(c as u8))
        .filter(|field| !field.is_empty())
}

/// The number at the head of a text as C's `atof` finds it: decimal, hexadecimal, `inf`, `nan`.
/// `None` when there is none (where `atof` gives 0).
fn c_number(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse::<f64>() {
        return Some(number);
    }
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let signed = |magnitude: f64| Some(if negative { -magnitude } else { magnitude });
    let lower = rest.to_ascii_lowercase();
    if lower.starts_with("inf") {
        return signed(f64::INFINITY);
    }
    if lower.starts_with("nan") {
        return Some(f64::NAN);
    }
    if let Some(hex) = lower.strip_prefix("0x") {
        return signed(hexadecimal(hex).unwrap_or(0.0));
    }
    // The longest head that is a decimal number.
    let decimal = |head: &&str| {
        head.bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'-' | b'+'))
            && head
                .bytes()
                .next()
                .is_some_and(|b| b.is_ascii_digit() || b == b'.')
    };
    let heads = (1..=lower.len().min(400))
        .rev()
        .filter_map(|n| lower.get(..n));
    heads
        .filter(decimal)
        .find_map(|head| head.parse().ok())
        .and_then(signed)
}

/// The digits of a C hexadecimal float after `0x`: `1.8p3` is 12.
fn hexadecimal(text: &str) -> Option<f64> {
    let (mut value, mut scale, mut point, mut digits) = (0.0_f64, 0_i32, false, 0);
    let mut rest = text.char_indices().peekable();
    while let Some(&(_, c)) = rest.peek() {
        match (c.to_digit(16), c) {
            (Some(digit), _) => {
                value = value * 16.0 + f64::from(digit);
                scale -= i32::from(point) * 4;
                digits += 1;
            }
            (None, '.') if !point => point = true,
            _ => break,
        }
        rest.next();
    }
    if digits == 0 {
        return None;
    }
    let exponent = match rest.next() {
        Some((at, 'p')) => c_integer(&text[at + 1..]).0.unwrap_or(0),
        _ => 0,
    };
    let exponent = exponent.clamp(-5000, 5000) as i32 + scale;
    Some(value * 2.0_f64.powi(exponent.clamp(-2000, 2000)))
}

/// The whole number at the head of a text as C's `atol` finds it, and whether it is all of it.
fn c_integer(text: &str) -> (Option<Grade>, bool) {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return (None, false);
    }
    let end = text.len() - unsigned.len() + digits;
    let number = text[..end].parse().unwrap_or(if text.starts_with('-') {
        Grade::MIN
    } else {
        Grade::MAX
    });
    (Some(number), end == text.len())
}

#[cfg(test)]
#[path = "trec_tests.rs"]
mod tests;
