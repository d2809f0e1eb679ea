//! Readers of runs and qrels compared with naive reference readers.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::HashMap;
use std::io::{self, Read};

use ir_core::trec::{self, HeaderLine, parse_number};
use ir_core::{Qrels, Run};
use proptest::prelude::*;

/// Columns of a line by the documented rules, or an error.
fn columns(line: &[u8]) -> Result<Option<Vec<&str>>, &'static str> {
    if line.starts_with(&[0xFF, 0xFE]) || line.starts_with(&[0xFE, 0xFF]) {
        return Err("expected UTF-8 text, found UTF-16");
    }
    if line.contains(&0) {
        return Err("expected UTF-8 text, found a NUL byte");
    }
    let text = std::str::from_utf8(line).map_err(|_| "expected UTF-8 text, found other bytes")?;
    let blank = [' ', '\t', '\n', '\x0b', '\x0c', '\r'];
    let columns: Vec<&str> = text
        .split(blank)
        .filter(|column| !column.is_empty())
        .collect();
    Ok((!columns.is_empty() && !text.starts_with('#')).then_some(columns))
}

/// Calls `each` with number and columns of the non-blank lines; returns the first error.
fn for_each_line<'t>(
    bytes: &'t [u8],
    mut each: impl FnMut(usize, &[&'t str]) -> Result<(), String>,
) -> Result<(), String> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    for (number, line) in (1..).zip(bytes.split_inclusive(|&b| b == b'\n')) {
        match columns(line) {
            Ok(None) => {}
            Ok(Some(columns)) => each(number, &columns)?,
            Err(message) => return Err(format!("x:{number}: {message}")),
        }
    }
    Ok(())
}

fn check_repeated<'t>(
    seen: &mut HashMap<(&'t str, &'t str), usize>,
    line: usize,
    query: &'t str,
    doc: &'t str,
) -> Result<(), String> {
    match seen.insert((query, doc), line) {
        None => Ok(()),
        Some(first) => Err(format!(
            "x:{line}: document {doc:?} of query {query:?} is already in line {first}"
        )),
    }
}

fn read_run_naively(bytes: &[u8]) -> Result<Run, String> {
    let mut run = Run::default();
    let mut seen = HashMap::new();
    let mut has_ranks = None;
    for_each_line(bytes, |line, columns| {
        let rank = |columns: &[&str]| columns.get(2).and_then(|rank| rank.parse::<u32>().ok());
        if *has_ranks.get_or_insert(columns.len() == 3 && rank(columns) == Some(1)) {
            let [query, doc, text] = columns else {
                let found = columns.len();
                return Err(format!("x:{line}: expected 3 columns, found {found}"));
            };
            let Some(rank) = rank(columns).filter(|rank| *rank > 0) else {
                let expected = "a rank (an integer of at least 1)";
                return Err(format!("x:{line}: expected {expected}, found {text:?}"));
            };
            run.push(query, *doc, 1.0 / f64::from(rank));
            return check_repeated(&mut seen, line, query, doc);
        }
        let [query, _, doc, _, score, tag, ..] = columns else {
            let found = columns.len();
            return Err(format!(
                "x:{line}: expected at least 6 columns, found {found}"
            ));
        };
        let score = parse_number(score).unwrap_or(0.0);
        if score.is_nan() {
            return Err(format!("x:{line}: expected a score, found NaN"));
        }
        run.push(query, *doc, score);
        (*tag).clone_into(&mut run.tag);
        check_repeated(&mut seen, line, query, doc)
    })?;
    Ok(run)
}

fn read_qrels_naively(bytes: &[u8]) -> Result<Qrels, String> {
    let mut qrels = Qrels::new();
    let mut seen = HashMap::new();
    for_each_line(bytes, |line, columns| {
        let [query, _, doc, grade] = columns else {
            let found = columns.len();
            return Err(format!("x:{line}: expected 4 columns, found {found}"));
        };
        let sign = if grade.starts_with('-') { -1 } else { 1 };
        let digits = grade.trim_start_matches('-');
        let digits = digits.split(|c: char| !c.is_ascii_digit()).next().unwrap();
        qrels.insert(query, doc, sign * digits.parse::<i64>().unwrap_or(0));
        check_repeated(&mut seen, line, query, doc)
    })?;
    Ok(qrels)
}

/// Reader that returns a few bytes at a time.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(self.0.len()).min(to.len());
        to[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        self.1 = self.1 % 70 + 1;
        Ok(count)
    }
}

fn noise() -> impl Strategy<Value = Vec<u8>> {
    let mut pieces: Vec<&[u8]> = vec![&b" "[..]; 4];
    pieces.extend(
        "q1 q2 d1 d2 é 1 -2 0.25 7x Q0 t #"
            .split(' ')
            .map(str::as_bytes),
    );
    pieces.extend(
        "  |\t|\x0b|\x0c|\r\n|\n|\n|\x01"
            .split('|')
            .map(str::as_bytes),
    );
    pieces.extend([
        &b"q1 Q0 d1 1 2.5 t\n"[..],
        b"q1 Q0 d2 2 1.5 t\n",
        b"q2 Q0 d1 1 3e2 u\r\n",
        b"\tq3  Q0\td1 1 .5 t more\n",
        b"q1 0 d1 1\n",
        b"q1 0 d2 -1\n",
        b"q2\t0\td1 2\r\n",
    ]);
    let piece = prop::sample::select(pieces);
    let rare = vec![&b"\0"[..], b"\xFF\xFE", b"\xE9", b"nan", b"\xEF\xBB\xBF"];
    let rare = prop::sample::select(rare);
    let any = prop_oneof![60 => piece, 1 => rare].prop_map(<[u8]>::to_vec);
    prop::collection::vec(any, 0..60).prop_map(|pieces| pieces.concat())
}

/// Valid lines of the given number of columns.
fn valid_lines(columns: usize) -> impl Strategy<Value = Vec<u8>> {
    let words = "a bb 1 2.5 -3 日本 long-id-0123456789".split(' ');
    let word = prop::sample::select(words.collect::<Vec<_>>());
    let space = prop::sample::select(vec![" ", "\t", "   ", " \t"]);
    let end = prop::sample::select(vec!["\n", "\r\n", " \n", "\n\n", "\n# comment \n"]);
    let line = (
        prop::collection::vec(word, columns),
        space,
        end,
        any::<u32>(),
    );
    let line = line.prop_map(|(mut words, space, end, n)| {
        let doc = format!("d{n}");
        words[2] = &doc;
        format!("{}{end}", words.join(space)).into_bytes()
    });
    prop::collection::vec(line, 0..60).prop_map(|lines| lines.concat())
}

fn files(columns: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![noise(), valid_lines(columns)]
}

/// Query, document and line number.
type Line = (String, String, u64);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn runs_equal_the_naive_reader(bytes in files(6), step in 1..70_usize) {
        let found = trec::read_run(Trickle(&bytes, step), "x", HeaderLine::AsData);
        let found = found.map(|parsed| parsed.data).map_err(|error| error.to_string());
        prop_assert_eq!(found, read_run_naively(&bytes));
    }

    #[test]
    fn qrels_equal_the_naive_reader(bytes in files(4), step in 1..70_usize) {
        let found = trec::read_qrels(Trickle(&bytes, step), "x", HeaderLine::AsData);
        let found = found.map(|parsed| parsed.data).map_err(|error| error.to_string());
        prop_assert_eq!(found, read_qrels_naively(&bytes));
    }

    #[test]
    fn decimal_numbers_are_correctly_rounded(text in r"[-+]?[0-9]{0,19}(\.[0-9]{0,19})?") {
        // The standard library rounds correctly, as C's strtod does.
        if let Ok(expected) = text.parse::<f64>() {
            prop_assert_eq!(parse_number(&text).map(f64::to_bits), Some(expected.to_bits()));
        } else {
            prop_assert_eq!(parse_number(&text), None);
        }
    }

    #[test]
    fn chunks_add_up_to_the_file(bytes in files(6), size in 1..200_u64) {
        let folder = std::env::temp_dir();
        let path = folder.join(format!("ir-core-chunks-{}-{size}", std::process::id()));
        std::fs::write(&path, &bytes).unwrap();
        let lines = |scan: &dyn Fn(&mut Vec<Line>) -> Result<u64, trec::TrecReadError>| {
            let mut found = Vec::new();
            scan(&mut found).map(|lines| (found, lines))
        };
        let scan = |chunk: &trec::RunChunk, found: &mut Vec<_>, base: u64| {
            chunk.scan(HeaderLine::AsData, |line| {
                found.push((line.query.to_owned(), line.doc.to_owned(), base + line.line));
                Ok::<_, trec::TrecReadError>(())
            })
        };
        let whole = lines(&|found| {
            Ok(scan(&trec::split_run(&path, u64::MAX).unwrap()[0], found, 0)?.lines)
        });
        let together = lines(&|found| {
            let mut all: Option<trec::RunSummary> = None;
            for chunk in trec::split_run(&path, size).unwrap() {
                let before = all.as_ref().map_or(0, |all| all.lines);
                let scanned = scan(&chunk, found, before)?;
                match &mut all {
                    None => all = Some(scanned),
                    Some(all) => all.append(scanned),
                }
            }
            Ok(all.unwrap().lines)
        });
        std::fs::remove_file(&path).unwrap();
        match (whole, together) {
            (Ok(whole), Ok(together)) => prop_assert_eq!(whole, together),
            (whole, together) => prop_assert_eq!(whole.is_err(), together.is_err()),
        }
    }
}

#[test]
fn lines_of_any_length_up_to_the_limit_are_read() {
    let limit = trec::MAX_LINE as usize;
    for (length, fits) in [
        (300_000, true),
        (limit, true),
        (limit + 1, false),
        (3 * limit, false),
    ] {
        let head = "q Q0 ";
        let tail = " 1 2 t\n";
        let doc = "d".repeat(length - head.len() - tail.len());
        let text = format!("q Q0 first 1 3 t\n{head}{doc}{tail}q Q0 last 3 1 t\n");
        let read = trec::read_run(
            Trickle(text.as_bytes(), 60).take(u64::MAX),
            "x",
            HeaderLine::AsData,
        );
        match read {
            Ok(run) => assert!(fits && run.data.get("q").unwrap()[1].doc == doc, "{length}"),
            Err(error) => {
                let expected = "x:2: expected a line of at most 1048576 bytes, found a longer one";
                assert!(!fits && error.to_string() == expected, "{length}: {error}");
            }
        }
    }
}
