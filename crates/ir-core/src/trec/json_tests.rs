//! Tests of runs and qrels in JSON.

use proptest::prelude::*;

use super::{
    ColumnReader, HeaderLine, Parsed, ScoreFormat, TrecReadError, read_qrels, read_run, scan_run,
    split_run, write_run,
};
use crate::qrels::Qrels;
use crate::run::Run;

fn run(text: &str) -> Result<Parsed<Run>, TrecReadError> {
    read_run(text.as_bytes(), "run", HeaderLine::AsData)
}

fn qrels(text: &str) -> Result<Parsed<Qrels>, TrecReadError> {
    read_qrels(text.as_bytes(), "q", HeaderLine::AsData)
}

/// Runs in JSON equal those in columns with the same lines, by hand.
#[test]
fn runs_in_json() {
    let columns = "q2 Q0 b 1 3 t\nq2 Q0 a 2 3 t\nq1 Q0 \u{e9}\u{1F33F}\"/ 1 -0.125 t\n";
    let expected = run(columns).unwrap().data;
    for json in [
        r#"{"q2": {"b": 3, "a": 3.0}, "q1": {"é🌿\"/": -1.25e-1}}"#,
        "{\n  \"q2\": {\n    \"b\": 3,\n    \"a\": 3\n  },\n  \"q1\": {\n    \"é🌿\\\"/\": -0.125\n  }\n}\n",
        "\u{feff}\r\n{ \"q2\" : {\"b\":3,\t\"a\":3E0} ,\r\n\"q1\":{\"\\u00e9\\ud83c\\udf3f\\\"\\/\":-0.125}}",
        "{\"\\u0071\\u0032\":{\"b\":3,\"a\":3},\"q1\":{\"\\u00E9\\uD83C\\uDF3F\\u0022/\":-0.125}}\n\n",
    ] {
        let read = run(json).unwrap();
        assert_eq!(read.warnings, []);
        for query in ["q1", "q2"] {
            assert_eq!(read.data.get(query), expected.get(query), "{json}");
        }
        assert_eq!(read.data.len(), 2);
        assert_eq!(read.data.tag, "");
    }
    assert_eq!(run("{}").unwrap().data.len(), 0);
}

/// pytrec_eval and ranx take integers as grades; pandas writes them as 1.0.
#[test]
fn qrels_in_json() {
    let expected = qrels("q1 0 d2 0\nq1 0 d1 2\nq2 0 d1 -1\n").unwrap().data;
    let json = "{\"q1\": {\"d2\": 0, \"d1\": 2.0},\n \"q2\": {\"d1\": -1}}";
    assert_eq!(qrels(json).unwrap().data, expected);
}

#[test]
fn warnings_of_json() {
    for (json, expected) in [
        (
            "{\"q1\": {},\n\"q2\": {\"d\": 1}}",
            "run:1: the query \"q1\" has no documents",
        ),
        (
            "{\"q1\": {\"a\": 1,\n\"b\": -Infinity}}",
            "run:2: the score \"-Infinity\" counts as infinite",
        ),
        (
            "{\"q1\": {\"a\":\n1e999}}",
            "run:2: the score \"1e999\" counts as infinite",
        ),
    ] {
        let read = run(json).unwrap();
        let warnings: Vec<_> = read.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, [expected]);
    }
}

#[test]
fn errors_of_json() {
    for (json, expected) in [
        (
            "{\"q1\": {\"d\": 1},\n\"q1\": {\"e\": 1}}",
            "run:2: query \"q1\" is already in line 1",
        ),
        (
            "{\"q1\": {\"d\": 1,\n\n\"\\u0064\": 2}}",
            "run:3: document \"d\" of query \"q1\" is already in line 1",
        ),
        (
            "{\"q1\": {\"d\": \"1\"}}",
            "run:1: expected a number in JSON, found \"1\"",
        ),
        (
            "{\"q1\": {\"d\": true}}",
            "run:1: expected a number in JSON, found true",
        ),
        (
            "{\"q1\": {\"d\": null}}",
            "run:1: expected a number in JSON, found null",
        ),
        (
            "{\"q1\": {\"d\":\n{\"score\": 1}}}",
            "run:2: expected a number in JSON, found {\"score\":",
        ),
        (
            "{\"q1\": {\"d\": 1x}}",
            "run:1: expected a number in JSON, found 1x",
        ),
        (
            "{\"q1\": {\"d\": NaN}}",
            "run:1: expected a score, found NaN",
        ),
        (
            "{\"q1\": {\"d\": Infinite}}",
            "run:1: expected a number in JSON, found Infinite",
        ),
        (
            "{\"q1\": {\"d\": -inf}}",
            "run:1: expected a number in JSON, found -inf",
        ),
        (
            "{\"q1\": {\"d\": 1}, \"q2\": 1}",
            "run:1: expected an object of document ids in JSON, found 1",
        ),
        (
            "{\"q1\": {\"d\": 1}, \"q2\": [\"d1\"]}",
            "run:1: expected an object of document ids in JSON, found [\"d1\"",
        ),
        (
            "{\"q1\": {\"d\": 1}}\n{\"q2\": {\"d\": 1}}",
            "run:2: expected the end of the file in JSON, found {\"q2\":",
        ),
        (
            "{\"q1\": {\"d\": 1,}}",
            "run:1: expected a document id in JSON, found }",
        ),
        (
            "{\"q1\": {\"d\": 1 \"e\": 1}}",
            "run:1: expected a comma or the end of the object in JSON, found \"e\":",
        ),
        (
            "{\"q1\" {\"d\": 1}}",
            "run:1: expected a colon in JSON, found {\"d\":",
        ),
        (
            "{\"q1\": {\"\": 1}}",
            "run:1: expected a document id in JSON, found an empty string",
        ),
        (
            "{'q1': {'d': 1}}",
            "run:1: expected a query id in JSON, found 'q1':",
        ),
        (
            "{\"q\n1\": {}}",
            "run:1: expected a string without control characters in JSON, found '\\n'",
        ),
        (
            "{\"q\\x\": {}}",
            "run:1: expected an escape sequence in JSON, found x\":",
        ),
        (
            "{\"q\\ud83c\": {}}",
            "run:1: expected an escape sequence in JSON, found a surrogate 0xd83c",
        ),
        (
            "{\"q\\u00g0\": {}}",
            "run:1: expected four hexadecimal digits in JSON, found g0\":",
        ),
        (
            "{\"q\\u0000\": {}}",
            "run:1: expected UTF-8 text, found a NUL byte",
        ),
        (
            "{\n",
            "run:2: expected a query id in JSON, found the end of the file",
        ),
        (
            "{",
            "run:1: expected a query id in JSON, found the end of the file",
        ),
        (
            "{\"q1\": {\"d\": 1},",
            "run:1: expected a query id in JSON, found the end of the file",
        ),
        (
            "{\"q1\": {\"d\": 1}",
            "run:1: expected a comma or the end of the object in JSON, found the end of the file",
        ),
        (
            "{\"q1",
            "run:1: expected the end of the string in JSON, found the end of the file",
        ),
        // JSON after a comment.
        (
            "# run\n{\"q1\": {\"b\": 3, \"a\": 2, \"c\": 1}}",
            "run: expected lines of at least 6 columns, found JSON",
        ),
    ] {
        let error = run(json).unwrap_err().to_string();
        assert_eq!(error, expected, "{json}");
    }
    let bytes = b"{\"q1\": {\"\xff\": 1}}";
    let error = read_run(&bytes[..], "run", HeaderLine::AsData).unwrap_err();
    assert_eq!(
        error.to_string(),
        "run:1: expected UTF-8 text, found other bytes"
    );
    let long = format!("{{\"q1\": {{\"{}\": 1}}}}", "x".repeat(1 << 20 | 1));
    let error = run(&long).unwrap_err().to_string();
    let expected = "expected a string of at most 1,048,576 bytes in JSON, found a longer one";
    assert_eq!(error, format!("run:1: {expected}"));
    for grade in ["0.5", "1e0", "NaN", "99999999999999999999"] {
        let error = qrels(&format!("{{\"q1\":\n {{\"d\": {grade}}}}}")).unwrap_err();
        let expected = format!("q:2: expected an integer as grade in JSON, found {grade}");
        assert_eq!(error.to_string(), expected);
    }
    // Ids with a brace in columns.
    for id in ["{1}", "{q", "[1]"] {
        assert!(qrels(&format!("{id} 0 d 1\n")).is_ok(), "{id}");
    }
    // Other formats of judgments have no JSON.
    let mut rows = ColumnReader::new("{\"q1\": {\"d1\": 1}}".as_bytes(), "strata");
    let error = rows.next_row::<5>("5").unwrap_err().to_string();
    assert_eq!(error, "strata: expected lines of 5 columns, found JSON");
}

/// JSON lines and arrays of records, as pandas writes them.
#[test]
fn runs_in_records() {
    let columns = "q2 Q0 b 1 3 t\nq2 Q0 a 2 2.5 t\n7 Q0 a 1 -0.125 t\n";
    let expected = run(columns).unwrap().data;
    let lines = [
        r#"{"qid": "q2", "docid": 4, "docno": "b", "score": 3, "query": "green \"tea\"", "tag": "x"}"#,
        r#"{"qid":"q2","docid":null,"docno":"\u0061","score":"2.5","more":[{"a":"]"}, true],"tag":"x"}"#,
        r#"{ "score" : -0.125, "docno" : "a", "more" : false, "qid" : 7.0, "tag": "t" }"#,
    ];
    for text in [
        lines.join("\n"),
        format!("\u{feff}\r\n{}\r\n", lines.join("\r\n")),
        format!("[{}]", lines.join(", ")),
        format!("[\n{}\n]\n", lines.join(",\n")),
    ] {
        let mut found = Vec::new();
        scan_run(Slow(text.as_bytes()), "run", HeaderLine::Skip, |line| {
            found.push(line.starts_query);
            Ok::<(), TrecReadError>(())
        })
        .unwrap();
        assert_eq!(found, [true, false, true], "{text}");
        let read = run(&text).unwrap();
        assert_eq!(read.data, expected, "{text}");
        assert_eq!(read.warnings, [], "{text}");
    }
    let ranked = run("{\"q_id\": 1, \"doc_id\": 2, \"rank\": 4}\n").unwrap();
    assert_eq!(ranked.data.get("1").unwrap()[0].score, 0.25);
    assert_eq!(ranked.warnings.len(), 1);
    let untagged = run("{\"qid\": 1, \"docno\": 2, \"score\": 3, \"tag\": null}\n").unwrap();
    assert_eq!(untagged.data.tag, "");
    assert!(run("[ ]").unwrap().data.is_empty());
}

#[test]
fn errors_of_records() {
    let first = r#"{"qid": "1", "docno": "d", "score": 1}"#;
    for (record, expected) in [
        (
            r#"{"qid": "1", "docno": "d"}"#,
            "expected a field with a score or a rank, such as \"score\", found none",
        ),
        (
            r#"{"q1": 1}"#,
            "expected a field with a query id, such as \"qid\", found none",
        ),
        (
            r#"{"qid": "1", "doc_id": "d", "docid": "d", "score": 1}"#,
            "expected one field with a document id, such as \"docno\", found doc_id, docid",
        ),
        (
            r#"{"qid": null, "docno": "d", "score": 1}"#,
            "expected an id in the field \"qid\", found null",
        ),
        (
            r#"{"qid": "1", "docno": ["d"], "score": 1}"#,
            "expected an id in the field \"docno\", found an array",
        ),
        (
            r#"{"qid": "1", "docno": "", "score": 1}"#,
            "expected an id in the field \"docno\", found an empty string",
        ),
        (
            r#"{"qid": 1.5, "docno": "e", "score": 1}"#,
            "expected an id in the field \"qid\", found 1.5",
        ),
        (
            r#"{"qid": "1", "docno": "e", "score": "high"}"#,
            "expected a number in the field \"score\", found \"high\"",
        ),
        (
            r#"{"qid": "1", "docno": "e", "score": NaN}"#,
            "expected a score, found NaN",
        ),
        (
            r#"{"qid": "1", "docno": "d", "score": 2}"#,
            "document \"d\" of query \"1\" is already in line 1",
        ),
        (
            r#"{"qid": "1", "docno": "e", "score": 2, "more": [1"#,
            "expected the end of the value in JSON, found the end of the file",
        ),
        (
            r#"{"qid": "1", "docno": "e", "score": nul}"#,
            "expected null in JSON, found }",
        ),
        ("3", "expected a record of a run in JSON, found 3"),
    ] {
        let error = run(&format!("{first}\n{record}")).unwrap_err().to_string();
        assert_eq!(error, format!("run:2: {expected}"), "{record}");
    }
    for (text, expected) in [
        (
            format!("[{first}"),
            "run:1: expected a comma or the end of the array in JSON, found the end of the file",
        ),
        (
            format!("[{first}]\n{first}"),
            "run:2: expected the end of the file in JSON, found {\"qid\":",
        ),
        (
            format!("[{first},\n]"),
            "run:2: expected a record of a run in JSON, found ]",
        ),
        (
            "[1]".to_owned(),
            "run:1: expected at least 6 columns, found 1",
        ),
    ] {
        assert_eq!(run(&text).unwrap_err().to_string(), expected, "{text}");
    }
}

/// A run in JSON is one chunk.
#[test]
fn chunks_of_json() {
    let path = std::env::temp_dir().join(format!("ir-core-json-{}", std::process::id()));
    let text = "{\"q1\": {\"a\": 2,\n\"b\": 1},\n\"q2\": {\"a\": 1}}";
    std::fs::write(&path, text).unwrap();
    let chunks = split_run(&path, 1).unwrap();
    assert_eq!(chunks.len(), 1);
    let mut found = Vec::new();
    let each = |line: super::RunLine<'_>| {
        found.push((line.line, line.query.to_owned(), line.starts_query));
        Ok::<(), TrecReadError>(())
    };
    assert_eq!(chunks[0].scan(HeaderLine::AsData, each).unwrap().lines, 3);
    let q = |n| format!("q{n}");
    assert_eq!(found, [(1, q(1), true), (2, q(1), false), (3, q(2), true)]);
    std::fs::remove_file(&path).unwrap();
}

/// Source of one byte per read.
struct Slow<'t>(&'t [u8]);

impl std::io::Read for Slow<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = out.len().min(1);
        std::io::Read::read(&mut self.0, &mut out[..count])
    }
}

proptest! {
    /// JSON of serde_json, in one line or many, has the rows that were written.
    #[test]
    fn json_is_read_back(
        run in prop::collection::btree_map(
            "[^\0]{1,6}",
            prop::collection::btree_map("[^\0]{1,6}", -1e300..1e300_f64, 1..5),
            0..5,
        ),
        is_pretty: bool,
        is_crlf: bool,
        has_mark: bool,
    ) {
        let json = if is_pretty {
            serde_json::to_string_pretty(&run).unwrap()
        } else {
            serde_json::to_string(&run).unwrap()
        };
        let json = if is_crlf { json.replace('\n', "\r\n") } else { json };
        let json = if has_mark { format!("\u{feff}{json}") } else { json };
        let mut rows = Vec::new();
        scan_run(Slow(json.as_bytes()), "run", HeaderLine::Skip, |line| {
            rows.push((line.query.to_owned(), line.doc.to_owned(), line.score));
            Ok::<(), TrecReadError>(())
        }).unwrap();
        let expected: Vec<_> = run
            .iter()
            .flat_map(|(query, docs)| docs.iter().map(|(doc, score)| (query.clone(), doc.clone(), *score)))
            .collect();
        prop_assert_eq!(rows, expected);
    }

    /// No prefix and no changed byte panics. A run that is read is the same when it is written and
    /// read again.
    #[test]
    fn damaged_json_is_an_error_or_read(at in 0..60_usize, byte: u8) {
        let text = br#"{"q1": {"b\u00e9": 3.5, "a": 2e-3}, "q2": {"d": -1}, "q3": {}}"#;
        prop_assert!(read_run(&text[..at], "run", HeaderLine::AsData).is_err() || at == 0);
        let mut changed = text.to_vec();
        changed[at] = byte;
        let mut columns = Vec::new();
        if let Ok(read) = read_run(&changed[..], "run", HeaderLine::AsData)
            && write_run(&read.data, ScoreFormat::Exact, &mut columns).is_ok()
            // Such a query id is read as JSON.
            && !matches!(columns.first(), Some(b'{' | b'['))
        {
            let again = read_run(&columns[..], "again", HeaderLine::AsData).unwrap();
            prop_assert!(again.data.iter().eq(read.data.iter()));
        }
        // Two of the scores are no grades.
        prop_assert!(read_qrels(&changed[..], "q", HeaderLine::AsData).is_err());
    }
}
