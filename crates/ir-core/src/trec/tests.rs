use proptest::prelude::*;

use super::number::{c_number, parse_integer};
use super::*;
use crate::qrels::{Grade, Qrels, StratifiedQrels};
use crate::run::Run;

fn run(text: &str) -> Result<Parsed<Run>, TrecReadError> {
    read_run(text.as_bytes(), "run", HeaderLine::AsData)
}

fn qrels(text: &str) -> Result<Parsed<Qrels>, TrecReadError> {
    read_qrels(text.as_bytes(), "qrels", HeaderLine::AsData)
}

/// Scores of a run as they are written.
fn write(scores: &[f64], style: ScoreFormat) -> Result<Vec<String>, TrecWriteError> {
    let mut run = Run::new("t");
    for (n, &score) in scores.iter().enumerate() {
        run.push("q", format!("d{n}"), score);
    }
    let mut out = Vec::new();
    write_run(&run, style, &mut out)?;
    let text = String::from_utf8(out).unwrap();
    let scores = text.lines().map(|line| line.split(' ').nth(4));
    Ok(scores.map(|score| score.unwrap().to_owned()).collect())
}

fn written(scores: &[f64], style: ScoreFormat) -> Vec<String> {
    write(scores, style).unwrap()
}

#[test]
fn numbers_parse_as_in_c() {
    let table: &[(&str, Option<f64>)] = &[
        ("1.5", Some(1.5)),
        ("-.5e1x", Some(-5.0)),
        ("1e", Some(1.0)),
        ("1e+", Some(1.0)),
        ("7abc", Some(7.0)),
        ("+3", Some(3.0)),
        ("0x1.8p3", Some(12.0)),
        ("-0x10", Some(-16.0)),
        ("0x", Some(0.0)),
        ("inf", Some(f64::INFINITY)),
        ("-Infinity", Some(f64::NEG_INFINITY)),
        ("Score", None),
        ("", None),
        ("-", None),
        (".", None),
        ("é", None),
    ];
    for (text, expected) in table {
        let found = c_number(text).map(|(number, _)| number);
        assert_eq!(found, *expected, "{text:?}");
    }
    assert!(c_number("nan").unwrap().0.is_nan() && c_number("NaN(1)").unwrap().0.is_nan());
    assert_eq!(parse_integer("1.9"), Some(1));
    assert_eq!(parse_integer("-2"), Some(-2));
    assert_eq!(parse_integer("Relevance"), None);
    assert_eq!(parse_integer("99999999999999999999"), Some(Grade::MAX));
}

#[test]
fn unusual_scores_are_warnings() {
    let warning = |score: &str| {
        let parsed = run(&format!("q Q0 d 1 {score} t\n")).unwrap();
        parsed.warnings.first().map(|odd| odd.message.clone())
    };
    let table = [
        ("3,5", "was read as 3"),
        ("5abc", "was read as 5"),
        ("inf", "counts as infinite"),
        ("+inf", "counts as infinite"),
        ("-INFINITY", "counts as infinite"),
        ("infection", "counts as infinite"),
        ("-infinite", "counts as infinite"),
        ("1e400", "counts as infinite"),
        ("-1e400x", "counts as infinite"),
        ("0x", "was read as 0"),
        ("-0x10", "was read as -16"),
        ("0x1.8p3", "was read as 12"),
        ("0x1g", "was read as 1"),
        ("0x1p", "was read as 1"),
        ("0x1p9999", "counts as infinite"),
    ];
    for (score, message) in table {
        let expected = format!("the score {score:?} {message}");
        assert_eq!(warning(score), Some(expected));
    }
    for plain in ["1", "+1.5e3", "-.5", "1e-400", "-0.0"] {
        assert_eq!(warning(plain), None, "{plain}");
    }
    let grade = qrels("q 0 d 99999999999999999999\n").unwrap();
    assert_eq!(grade.warnings.len(), 1);
}

#[test]
fn warnings_beyond_the_maximum_are_counted() {
    let text: String = (0..50).map(|n| format!("q Q0 d{n} 1 3,5 t\n")).collect();
    let warnings = run(&text).unwrap().warnings;
    assert_eq!(warnings.len(), TrecWarnings::MAX);
    let last = warnings[19].to_string();
    assert_eq!(last, "run:50: and 31 more of these lines");
}

#[test]
fn any_white_space_separates_and_surplus_columns_are_ignored() {
    let text = "# comment\r\n\r\nq1\tQ0 d1 \x0b1\x0c2.5 tag more columns\r\nq1 Q0 d2 2 1 last\r\n";
    let parsed = run(text).unwrap();
    let first = &parsed.data.get("q1").unwrap()[0];
    assert_eq!((&*first.doc, first.score), ("d1", 2.5));
    assert_eq!(parsed.data.tag, "last");
    assert!(parsed.warnings.is_empty());
}

/// CR is white space between columns, so that a file with CR would be one line.
#[test]
fn lines_that_end_with_cr_are_errors() {
    let message = |name: &str, line: u64| {
        format!("{name}:{line}: expected lines ended by LF or CRLF, found CR")
    };
    for (text, line) in [
        ("q Q0 d 1 2.5 t\rq Q0 e 2 1.5 t\r", 1),
        ("q d 1\rq e 2\r", 1),
        ("qid,docno,score\rq,d,1\r", 1),
        ("# run\rq Q0 d 1 2.5 t\r", 1),
        ("q Q0 d 1 3 t\nq Q0 e 2 2 t\rq Q0 f 3 1 t\n", 2),
    ] {
        assert_eq!(
            run(text).unwrap_err().to_string(),
            message("run", line),
            "{text}"
        );
    }
    for (text, line) in [
        ("q 0 d 1\rq 0 e 1", 1),
        ("q d\rq e\r", 1),
        ("q 0 d 1\nq 0 e 1\rq 0 f 1\n", 2),
    ] {
        let error = read_qrels(text.as_bytes(), "q", HeaderLine::AsData).unwrap_err();
        assert_eq!(error.to_string(), message("q", line), "{text}");
    }
    let mut pairs = ColumnReader::new("a b\rc d\r".as_bytes(), "p");
    assert_eq!(
        pairs.next_row::<2>("2").unwrap_err().to_string(),
        message("p", 1)
    );
    // White space before a line end.
    assert_eq!(run("q Q0 d 1 2.5 t \r \r\n").unwrap().data.len(), 1);
    assert_eq!(run("q Q0 d 1 2.5 t\r").unwrap().data.len(), 1);
}

#[test]
fn columnar_files_are_no_runs() {
    let advice = "write each row as a line of these columns, with white space between them";
    let expected = "expected a run of six columns (query, Q0, document, rank, score, tag)";
    let other = run("1;d;0.5\n").unwrap_err().to_string();
    assert_eq!(other, "run:1: expected at least 6 columns, found 1");
    // A query of this name.
    assert_eq!(run("query Q0 doc,score 1 2.5 t\n").unwrap().data.len(), 1);
    for (bytes, found) in [
        (&b"PAR1\x15\x04\x15\n\x15\x0a"[..], "a Parquet file"),
        (&b"ARROW1\0\0\xff\xff\n"[..], "an Arrow file"),
    ] {
        let error = read_run(bytes, "run", HeaderLine::AsData).unwrap_err();
        let message = format!("run: {expected}, found {found}; {advice}");
        assert_eq!(error.to_string(), message);
        let error = read_qrels(bytes, "q", HeaderLine::AsData).unwrap_err();
        let expected = "expected judgments of four columns (query, 0, document, grade)";
        let message = format!("q: {expected}, found {found}; {advice}");
        assert_eq!(error.to_string(), message);
    }
    for query in ["P", "PAR1", "ARROW1", "PAR12"] {
        let text = format!("{query} Q0 d 1 2.5 t\n");
        assert!(run(&text).unwrap().data.get(query).is_some(), "{query}");
    }
}

/// Tables without a header line, and arrays of arrays.
#[test]
fn errors_name_commas_and_json() {
    let commas = "with commas (columns are between white space; a table with commas has a header \
                  line, such as qid,docno,score)";
    for (text, line, found) in [
        ("q1,d1,1\n", 1, 1),
        ("q1, d1, 2\n", 1, 3),
        ("\nq1,Q0,d1,1,0.5,t\n", 2, 1),
    ] {
        let error = qrels(text).unwrap_err().to_string();
        let expected = format!("qrels:{line}: expected 4 columns, found {found} {commas}");
        assert_eq!(error, expected);
        let error = run(text).unwrap_err().to_string();
        let expected = format!("run:{line}: expected at least 6 columns, found {found} {commas}");
        assert_eq!(error, expected);
    }
    // The header line that the message names.
    assert_eq!(run("qid,docno,score\nq1,d1,1\n").unwrap().data.len(), 1);
    // A comma within an id.
    let error = qrels("q,1 0 d\n").unwrap_err().to_string();
    assert_eq!(error, "qrels:1: expected 4 columns, found 3");
    for (text, found) in [
        ("[[\"1\",\"a\",1]]", "[[\"1\",\"a\",1]]"),
        ("[[\"1\", \"a\", 1]]\n", "[[\"1\","),
        ("[\"1\"]", "[\"1\"]"),
    ] {
        let expected = format!("1: expected objects in JSON, found {found}");
        let error = qrels(text).unwrap_err().to_string();
        assert_eq!(error, format!("qrels:{expected}"));
        let error = run(text).unwrap_err().to_string();
        assert_eq!(error, format!("run:{expected}"));
    }
}

#[test]
fn a_header_is_data_unless_skipped() {
    let text = "QueryID\tQ0\tDocID\tRank\tScore\tRunID\r\nq\tQ0\td\t1\t3.0\trun-1\r\n";
    let as_data = run(text).unwrap();
    assert_eq!(as_data.data.len(), 2);
    let expected = "run:1: the score \"Score\" is not a number and was read as 0 (a header line? it counts as data)";
    assert_eq!(as_data.warnings[0].to_string(), expected);
    let skipped = read_run(text.as_bytes(), "run", HeaderLine::Skip).unwrap();
    assert_eq!(skipped.data.len(), 1);
    assert!(skipped.warnings.is_empty());
    let qrels = "QueryID\t0\tDocID\tRelevance\r\nq\tQ0\td\t1\r\n";
    for (header, queries) in [(HeaderLine::AsData, 2), (HeaderLine::Skip, 1)] {
        let read = read_qrels(qrels.as_bytes(), "q", header).unwrap();
        assert_eq!(read.data.len(), queries);
    }
}

#[test]
fn invalid_lines_are_errors() {
    for (text, expected) in [
        (
            &b"q Q0 d 1 2 t\nq Q0 d 1\n"[..],
            "2: expected at least 6 columns, found 4",
        ),
        (b"q Q0 d 1 nan t\n", "1: expected a score, found NaN"),
        (
            b"q Q0 d 1 2 t\np Q0 d 1 2 t\nq Q0 d 2 1 t\n",
            "3: document \"d\" of query \"q\" is already in line 1",
        ),
        (
            b"q Q0 d 1 2 t\nq\0 Q0 d 1 2 t\n",
            "2: expected UTF-8 text, found a NUL byte",
        ),
        (b"\xFF\xFEq\0", "1: expected UTF-8 text, found UTF-16"),
        (
            b"q Q0 d\xE9 1 2 t\n",
            "1: expected UTF-8 text, found other bytes",
        ),
    ] {
        let error = read_run(text, "run", HeaderLine::AsData).unwrap_err();
        assert_eq!(error.to_string(), format!("run:{expected}"));
    }
    for (text, expected) in [
        ("q 0 d 1 5\n", "1: expected 4 columns, found 5"),
        (
            "q 0 d 1\nq 0 d 0\n",
            "2: document \"d\" of query \"q\" is already in line 1",
        ),
    ] {
        let error = qrels(text).unwrap_err();
        assert_eq!(error.to_string(), format!("qrels:{expected}"));
    }
    let endless = io::BufReader::new(io::repeat(b'x'));
    let error = read_run(endless, "run", HeaderLine::AsData).unwrap_err();
    assert!(matches!(error, TrecReadError::LongLine { line: 1, .. }));
}

#[test]
fn anserini_scores() {
    // Example of a comment in Anserini's source, with one more tie. Near 22, neighboring f32 are
    // 1.9e-6 apart, so that two steps of 1e-6 round to one value.
    let scores = [23.439_316, 22.087_432, 22.087_432, 22.087_43, 21.602_508];
    let expected = "23.439301 22.087400 22.087399 22.087399 21.602501";
    assert_eq!(written(&scores, ScoreFormat::Anserini).join(" "), expected);
    let small = written(&[1.5, 1.5, 1.5], ScoreFormat::Anserini);
    assert_eq!(small, ["1.500000", "1.499999", "1.499998"]);
    // From a few hundred on, the steps are lost: scores are tied again.
    let large = written(&[512.0, 512.0, 512.0], ScoreFormat::Anserini);
    assert_eq!(large, ["512.000000", "512.000000", "512.000000"]);
}

#[test]
fn strict_scores_keep_the_order() {
    let scores = written(&[2.0, 2.0, 2.0, 1.0], ScoreFormat::Strict);
    let numbers: Vec<f64> = scores.iter().map(|s| s.parse().unwrap()).collect();
    let descending = numbers.windows(2).all(|pair| pair[0] > pair[1]);
    assert!(descending, "{scores:?}");
}

#[test]
fn strata_are_written_and_read_back() {
    let mut qrels = StratifiedQrels::new();
    qrels.insert("q1", "d2", "top", 2);
    qrels.insert("q1", "d1", "rest", -1);
    qrels.insert("q0", "#d", "0", 0);
    let mut out = Vec::new();
    write_stratified_qrels(&qrels, &mut out).unwrap();
    let again = read_stratified_qrels(&out[..], "qrels", HeaderLine::AsData).unwrap();
    assert_eq!((again.data, again.warnings.len()), (qrels.clone(), 0));
    qrels.insert("q1", "d3", "", 1);
    let error = write_stratified_qrels(&qrels, &mut out).unwrap_err();
    let expected = "expected a stratum that is not empty, found \"\"";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn ids_that_cannot_be_read_back_are_errors() {
    for (tag, query, doc, expected) in [
        (
            "t",
            "a b",
            "d",
            "query id without white space, found \"a b\"",
        ),
        (
            "t",
            "#q",
            "d",
            "query id that does not begin with #, found \"#q\"",
        ),
        ("a b", "q", "d", "tag without white space, found \"a b\""),
        (
            "t",
            "q",
            "d\0",
            "document id without NUL bytes, found \"d\\0\"",
        ),
    ] {
        let mut run = Run::new(tag);
        run.push(query, doc, 1.0);
        let error = write_run(&run, ScoreFormat::Exact, &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), format!("expected a {expected}"));
    }
    let mut qrels = Qrels::new();
    qrels.insert("q", "", 1);
    let error = write_qrels(&qrels, &mut Vec::new()).unwrap_err();
    let TrecWriteError::Id {
        field,
        expected,
        query,
        ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!((field, expected), ("document id", "that is not empty"));
    assert_eq!(query.as_deref(), Some("q"));
}

#[test]
fn scores_that_cannot_be_written_are_named() {
    use ScoreFormat::{Anserini, Exact, Strict};
    for style in [Anserini, Strict, Exact] {
        let error = write(&[1.0, f64::NAN], style).unwrap_err();
        let expected = "query \"q\", document \"d1\": expected a number as score, found NaN";
        assert_eq!(error.to_string(), expected);
    }
    for score in [
        f64::INFINITY,
        f64::NEG_INFINITY,
        214_749.0,
        -214_749.0,
        1e300,
    ] {
        let error = write(&[score], Anserini).unwrap_err();
        assert!(matches!(error, TrecWriteError::Score { found, .. } if found == score));
        assert!(error.to_string().contains("use strict or exact"));
        for style in [Strict, Exact] {
            assert_eq!(written(&[score], style)[0].parse(), Ok(score));
        }
    }
    let largest = [214_748.0, -214_748.0];
    for (written, score) in written(&largest, Anserini).iter().zip(largest) {
        assert_eq!(written.parse(), Ok(score));
    }
    let infinite = [f64::INFINITY, f64::INFINITY, 1.0, f64::NEG_INFINITY];
    assert!(write(&infinite, Strict).is_ok());
    assert!(write(&[f64::NEG_INFINITY; 2], Strict).is_err());
}

proptest! {
    #[test]
    fn runs_survive_writing_and_reading(
        lists in prop::collection::btree_map("[a-zé]{1,3}", prop::collection::vec(any::<f64>(), 1..8), 1..5)
    ) {
        let mut run = Run::new("tag");
        for (query, scores) in &lists {
            for (n, score) in scores.iter().enumerate().filter(|(_, s)| !s.is_nan()) {
                run.push(query, format!("d{n}"), *score);
            }
        }
        let mut out = Vec::new();
        write_run(&run, ScoreFormat::Exact, &mut out).unwrap();
        let read = read_run(&out[..], "x", HeaderLine::AsData).unwrap();
        if !run.is_empty() {
            prop_assert_eq!(read.data, run);
        }
    }

    #[test]
    fn qrels_survive_writing_and_reading(judged in prop::collection::btree_map(("[a-z]{1,2}", "[a-z]{1,2}"), any::<Grade>(), 0..20)) {
        let mut qrels = Qrels::new();
        for ((query, doc), grade) in &judged {
            qrels.insert(query, doc, *grade);
        }
        let mut out = Vec::new();
        write_qrels(&qrels, &mut out).unwrap();
        prop_assert_eq!(read_qrels(&out[..], "x", HeaderLine::AsData).unwrap().data, qrels);
    }
}

#[test]
fn only_a_leading_hash_starts_a_comment() {
    let mut out = Vec::new();
    let mut run = Run::new("t");
    run.push("q1", "#tag", 1.0);
    write_run(&run, ScoreFormat::Exact, &mut out).unwrap();
    let back = read_run(&*out, "run", HeaderLine::AsData).unwrap();
    assert_eq!(back.data, run);
    run.push("#q2", "d1", 1.0);
    assert!(write_run(&run, ScoreFormat::Exact, &mut out).is_err());
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_id() {
    let run = "\u{feff}q1 Q0 d1 1 9.5 x\nq1 Q0 \u{feff} 2 8.5 x\n";
    let read = read_run(run.as_bytes(), "run", HeaderLine::AsData).unwrap();
    assert!(read.warnings.is_empty());
    // Inside of a file it is a character of an id.
    let docs: Vec<&str> = read
        .data
        .get("q1")
        .unwrap()
        .iter()
        .map(|hit| &*hit.doc)
        .collect();
    assert_eq!(docs, ["d1", "\u{feff}"]);
    let qrels = read_qrels(
        "\u{feff}q1 0 d1 1\n".as_bytes(),
        "qrels",
        HeaderLine::AsData,
    );
    assert_eq!(qrels.unwrap().data.grade("q1", "d1"), Some(1));
    let strata = "\u{feff}q1 0 d1 2 1\n";
    let strata = read_stratified_qrels(strata.as_bytes(), "strata", HeaderLine::AsData);
    assert_eq!(strata.unwrap().data.get("q1").count(), 1);
}

#[test]
fn runs_of_ms_marco() {
    let run = "q1\ta\t1\nq1\tb\t2\n\nq2 c 1\n";
    let read = read_run(run.as_bytes(), "run", HeaderLine::AsData).unwrap();
    assert_eq!(read.warnings.len(), 1);
    assert!(
        read.warnings[0]
            .to_string()
            .starts_with("run:1: read as a run of MS MARCO")
    );
    let scores = |query: &str| {
        let list = read.data.get(query).unwrap();
        list.iter()
            .map(|hit| (hit.doc.clone(), hit.score))
            .collect::<Vec<_>>()
    };
    assert_eq!(scores("q1"), [("a".to_owned(), 1.0), ("b".to_owned(), 0.5)]);
    assert_eq!(scores("q2"), [("c".to_owned(), 1.0)]);
    for (run, expected) in [
        (
            "q1 a 1\nq1 b 0\n",
            "run:2: expected a rank (an integer of at least 1), found \"0\"",
        ),
        (
            "q1 a 1\nq1 Q0 b 2 1 x\n",
            "run:2: expected 3 columns, found 6",
        ),
        (
            "q1 Q0 b 2 1 x\nq1 a 1\n",
            "run:2: expected at least 6 columns, found 3",
        ),
        ("q1 a one\n", "run:1: expected at least 6 columns, found 3"),
        ("q1 a 12\n", "run:1: expected at least 6 columns, found 3"),
    ] {
        let error = read_run(run.as_bytes(), "run", HeaderLine::AsData).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

/// A header line of a run of MS MARCO is skipped if the option is given, and an error otherwise.
#[test]
fn headed_runs_of_ms_marco() {
    let lines = "q1\ta\t1\nq1\tb\t2\n";
    let expected = read_run(lines.as_bytes(), "run", HeaderLine::AsData).unwrap();
    for header in [
        "qid\tpid\trank",
        "# a comment\n\nquery_id doc_id Rank",
        "a b c",
    ] {
        let run = format!("\u{feff}{header}\n{lines}");
        let read = read_run(run.as_bytes(), "run", HeaderLine::Skip).unwrap();
        assert_eq!(read.data, expected.data, "{header}");
        assert_eq!(read.warnings.len(), 1, "{header}");
    }
    for (header, expected) in [
        (
            "one\ttwo\trank",
            "run:1: expected a query, a document and a rank, found the header line \
             \"one two rank\" (--skip-header skips it; in an experiment file, header = true)",
        ),
        ("a b c", "run:1: expected at least 6 columns, found 3"),
    ] {
        let run = format!("{header}\n{lines}");
        let error = read_run(run.as_bytes(), "run", HeaderLine::AsData).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    // Names of a query, a document and a rank are no data.
    let named = read_run(
        format!("qid pid rank\n{lines}").as_bytes(),
        "run",
        HeaderLine::AsData,
    );
    assert_eq!(named.unwrap().data, expected.data);
    // Only the first line may be a header.
    let twice = format!("a b c\na b c\n{lines}");
    let error = read_run(twice.as_bytes(), "run", HeaderLine::Skip).unwrap_err();
    assert_eq!(
        error.to_string(),
        "run:2: expected at least 6 columns, found 3"
    );
}

/// Chunks of a run of MS MARCO have the lines of the whole, without its header line.
#[test]
fn chunks_of_a_run_of_ms_marco() {
    let path = std::env::temp_dir().join(format!("ir-core-ms-marco-{}", std::process::id()));
    let lines = (0..40).map(|n| format!("q{}\td{n}\t{}\n", n / 4, n % 4 + 1));
    let text: String = lines.collect();
    let whole = read_run(text.as_bytes(), "run", HeaderLine::AsData)
        .unwrap()
        .data;
    let headers = [
        ("", HeaderLine::AsData),
        ("", HeaderLine::Skip),
        ("# a run\nqid\tpid\trank\n", HeaderLine::Skip),
    ];
    let sizes = [1, 30, 1000];
    for ((first, header), size) in headers
        .into_iter()
        .flat_map(|it| sizes.map(|size| (it, size)))
    {
        std::fs::write(&path, format!("\u{feff}{first}{text}")).unwrap();
        let (mut found, mut warnings) = (0, 0);
        for chunk in super::split_run(&path, size).unwrap() {
            let scanned = chunk.scan(header, |line| {
                let list = whole.get(line.query).unwrap();
                let hit = list.iter().find(|hit| hit.doc == line.doc).unwrap();
                assert_eq!(hit.score, line.score);
                found += 1;
                Ok::<(), super::TrecReadError>(())
            });
            warnings += scanned.unwrap().warnings.finish().len();
        }
        assert_eq!((found, warnings), (40, 1));
    }
    std::fs::remove_file(&path).unwrap();
}
