//! Documents and queries as JSON lines.

use ir_core::{AttributeValue, Document};
use ir_data::datafinder;
use ir_data::{DataError, DuplicateIds, FieldNames, jsonl};

fn json(text: &str) -> Result<Vec<Document>, DataError> {
    let mut docs = jsonl::JsonlReader::new(
        text.as_bytes(),
        "f",
        FieldNames::beir(),
        DuplicateIds::Reject,
    );
    let mut all = Vec::new();
    let mut doc = Document::default();
    while docs.read_into(&mut doc)? {
        all.push(doc.clone());
    }
    Ok(all)
}

#[test]
fn invalid_json_lines() {
    let table = r#"{"_id": "a" => f:1: expected JSON, found an error at column 11 (EOF while parsing an object)
{"_id": "a", "text": "b} => f:1: expected JSON, found an error at column 24 (EOF while parsing a string)
\n\n{] => f:3: expected JSON, found an error at column 2 (key must be a string)
{"_id": "a", "text": ""} x => f:1: expected JSON, found an error at column 26 (trailing characters)
[1, 2] => f:1: expected an object in the line, found a number
"text" => f:1: expected an object in the line, found a string
17 => f:1: expected an object in the line, found a number
null => f:1: expected an object in the line, found null
{"text": "b"} => f:1: expected a field "_id", found none
{"_id": null, "text": "b"} => f:1: expected a field "_id", found none
{"_id": "a", "title": "b"} => f:1: expected a field "text", found none
{"_id": "", "text": "b"} => f:1: expected an id in "_id", found an empty string
{"_id": 1.5, "text": "b"} => f:1: expected an id in "_id", found the number 1.5
{"_id": 123456789012345678901234567890, "text": "b"} => f:1: expected an id in "_id", found a number beyond 64 bits
{"_id": ["a"], "text": "b"} => f:1: expected an id in "_id", found an array
{"_id": "a", "text": {"b": 1}} => f:1: expected a string in "text", found an object
{"_id": "a", "text": 7} => f:1: expected a string in "text", found a number
{"_id": "a", "text": "b", "title": true} => f:1: expected a string in "title", found a Boolean
{"_id": 9007199254740992.0, "text": "b"} => f:1: expected an id in "_id", found the number 9007199254740992.0
{"_id": "a", "text": "b", "x": NaN} => f:1: expected JSON, found an error at column 32 (NaN is no JSON; write null)
{"_id": "a", "text": "é", "x": [1, -Infinity]} => f:1: expected JSON, found an error at column 38 (Infinity is no JSON; write null)
{"_id": "a", "text": "NaN", "x": } => f:1: expected JSON, found an error at column 34 (expected value)
{\n"_id": "a",\n"text": "b"\n} => f:1: expected JSON, found an error at column 1 (EOF while parsing an object; JSON lines have one object per line)
{"_id": "a",\n"text": "b"} => f:1: expected JSON, found an error at column 12 (EOF while parsing a value; JSON lines have one object per line)
{"_id": {"0": "a", "1": "b"}, "text": {"0": "b", "1": "c"}} => f:1: expected an id in "_id", found columns of pandas (orient="records", lines=True writes one object per line)
{"text": {"0": "b", "7": "c"}} => f:1: expected a string in "text", found columns of pandas (orient="records", lines=True writes one object per line)
{"_id": {"$oid": "a"}, "text": "b"} => f:1: expected an id in "_id", found an object
{"_id": "a", "text": {}} => f:1: expected a string in "text", found an object
{"_id": "a", "_id": "b", "text": "b"} => f:1: expected one field "_id", found two
{"_id": "a", "text": "b", "year": 1, "metadata": {"year": 2}} => f:1: expected one field "year", found two, one of them in "metadata"
{"_id": "a", "text": "b", "metadata": {"year": 2}, "year": 1} => f:1: expected one field "year", found two, one of them in "metadata"
{"_id": "a", "text": "b", "year": 1, "year": 1, "metadata": {"month": 2}} => f:1: expected one field "year", found two
{"_id": "a", "text": "b"}\n\n{"_id": "a", "text": "c"} => f:3: expected a unique id, found "a", which is also on line 1
{"_id": 7, "text": "b"}\n{"_id": "7", "text": "c"} => f:2: expected a unique id, found "7", which is also on line 1
{"_id": "a", "text": "\ud800"} => f:1: expected JSON, found an error at column 29 (unexpected end of hex escape)"#;
    super::assert_cases(table, |text| json(text).unwrap_err().to_string());
    let deep = format!(
        "{{\"_id\": \"a\", \"text\": \"b\", \"x\": {}",
        "[".repeat(100_000)
    );
    assert!(matches!(json(&deep), Err(DataError::Json { .. })));
}

#[test]
fn valid_json_lines() {
    let text = "\u{feff}{\"_id\": 7, \"text\": null, \"a\": null, \"year\": 2017, \"big\": 18446744073709551615}\r\n\
                \n  \n{\"text\": \"u\u{2028}v \\u0041\\n\", \"title\": null, \"_id\": \"x y\", \"metadata\": {\"l\": [1, null, {\"m\": null}]}}";
    let docs = json(text).unwrap();
    assert_eq!(docs.len(), 2);
    assert_eq!((docs[0].id.as_str(), docs[0].text.as_str()), ("7", ""));
    assert_eq!(docs[0].attributes.year(), Some(2017));
    assert!(docs[0].attributes.get("a").is_none());
    assert!(matches!(
        docs[0].attributes.get("big"),
        Some(AttributeValue::Float(_))
    ));
    assert_eq!(docs[1].text, "u\u{2028}v A\n");
    let Some(AttributeValue::List(list)) = docs[1].attributes.get("l") else {
        panic!("the member of the metadata is an attribute")
    };
    assert_eq!(list.len(), 2);
    assert!(json("").unwrap().is_empty());
}

/// pandas writes integers with gaps as floating-point numbers.
#[test]
fn ids_are_integers_in_any_notation() {
    let docs = json(
        "{\"_id\": 1008.0, \"text\": \"tea\"}\n{\"_id\": -2e3, \"text\": \"milk\", \"year\": 2012.0}",
    );
    let docs = docs.unwrap();
    assert_eq!([&*docs[0].id, &*docs[1].id], ["1008", "-2000"]);
    // Attributes are as written.
    assert_eq!(
        docs[1].attributes.get("year"),
        Some(&AttributeValue::Float(2012.0))
    );
}

/// Members of an object `metadata` are attributes with the names of BEIR and of Anserini. Other
/// values are attributes.
#[test]
fn metadata_of_any_names() {
    for record in [
        r#"{"_id": 1, "text": "ship", "metadata": {"year": 2012}}"#,
        r#"{"id": 1, "text": "ship", "metadata": {"year": 2012}}"#,
        r#"{"id": 1, "contents": "ship", "metadata": {"year": 2012}}"#,
        r#"{"docno": 1, "body": "ship", "metadata": {"year": 2012}, "x": null}"#,
    ] {
        let fields = FieldNames::detect(record, ir_data::RecordKind::Document, "f", 1).unwrap();
        let read = |text: &str| {
            let duplicates = DuplicateIds::Reject;
            let mut docs =
                jsonl::JsonlReader::new(text.as_bytes(), "f", fields.clone(), duplicates);
            let mut doc = Document::default();
            assert!(docs.read_into(&mut doc).unwrap());
            doc
        };
        let expected = Document::new("1").with_text("ship");
        assert_eq!(read(record), expected.clone().with("year", 2012));
        let other = record.replace("{\"year\": 2012}", "\"2012\"");
        assert_eq!(read(&other), expected.with("metadata", "2012"));
    }
    let given = ir_data::GivenNames {
        text: Some("metadata".to_owned()),
        ..Default::default()
    };
    let record = r#"{"id": 1, "contents": "", "metadata": "ship"}"#;
    let kind = ir_data::RecordKind::Document;
    let fields = FieldNames::detect_with(record, kind, &given, "f", 1).unwrap();
    assert_eq!(fields.text, "metadata");
}

#[test]
fn unwritable_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docs.jsonl");
    let rejected = |fields: FieldNames, doc: Document| {
        let mut writer = ir_data::JsonlWriter::create(&path)
            .unwrap()
            .with_fields(fields);
        writer.document(&doc).unwrap_err().to_string()
    };
    let doc = Document::new("a").with("x", f64::NAN);
    assert!(rejected(FieldNames::beir(), doc).contains("finite numbers in attributes"));
    let doc = Document::new("a").with("contents", "b");
    assert!(rejected(FieldNames::anserini(), doc).contains("without the name of a field"));
    assert!(rejected(FieldNames::beir(), Document::new("")).contains("an id"));
    assert!(!path.exists());
}

/// Arrays as pandas and jq write them have the documents of the lines.
#[test]
fn json_array_of_documents() {
    let [one, other] = [
        r#"{"_id": "a", "text": "x ] } \" , [ {", "tags": ["}", {"y": [1]}]}"#,
        r#"{"_id": "b", "title": "\\", "text": "é\n"}"#,
    ];
    let lines = json(&format!("{one}\n{other}\n")).unwrap();
    assert_eq!(lines.len(), 2);
    let pretty = |text: &str| text.replace(", \"", ",\n  \"");
    for array in [
        format!("[{one},{other}]"),
        format!("\u{feff}\r\n [\r\n{one}\r\n,\r\n{other}\r\n]\r\n\n"),
        format!("[ {}, {} ]", pretty(one), pretty(other)),
    ] {
        assert_eq!(json(&array).unwrap(), lines, "{array}");
        // Readers may get single bytes.
        let bytes = std::io::BufReader::with_capacity(1, array.as_bytes());
        let (fields, duplicates) = (FieldNames::beir(), DuplicateIds::Reject);
        let mut docs = jsonl::JsonlReader::new(bytes, "f", fields, duplicates);
        for expected in &lines {
            let mut doc = Document::default();
            assert!(docs.read_into(&mut doc).unwrap());
            assert_eq!(doc, *expected);
        }
        assert!(!docs.read_into(&mut Document::default()).unwrap());
    }
    assert!(json("[]").unwrap().is_empty());
    for (text, expected) in [
        (
            format!("[{one}\n{other}]"),
            "f:2: expected `,` or `]` after an element of the array, found \"{\"",
        ),
        (
            format!("[{one},,{other}]"),
            "f:1: expected a value after `,`, found \",\"",
        ),
        (
            format!("[{one}]\n{other}"),
            "f:2: expected the end of the file after the array, found \"more text\"",
        ),
        (
            format!("[{one},"),
            "f:1: expected `]` at the end of the array, found \"the end of the file\"",
        ),
        (
            "[".to_owned(),
            "f:1: expected `]` at the end of the array, found \"the end of the file\"",
        ),
        (
            "[\n{\"_id\": \"a\",\n \"text\": 1}]".to_owned(),
            "f:2: expected a string in \"text\", found a number",
        ),
        (
            "[\n{\"_id\": \"a\",\n \"text\"]".to_owned(),
            "f:3: expected JSON, found an error at column 8 (expected `:`)",
        ),
        (
            format!("[{one},\n{one}]"),
            "f:2: expected a unique id, found \"a\", which is also on line 1",
        ),
    ] {
        assert_eq!(json(&text).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn json_array_of_queries() {
    let read = |text: &str| datafinder::read_test_queries(text.as_bytes(), "f", "t");
    let row = "{\"query\": \"tea\", \"documents\": []}";
    for before in ["", "\u{feff}", "\u{feff} \n\n  ", "\n\n\n\n\n\n"] {
        let queries = read(&format!("{before}[{row},\n{row}]")).unwrap();
        assert_eq!(queries.len(), 2, "{before:?}");
        assert_eq!(queries[1].query.id, "t001");
        let lines = before.matches('\n').count() + 2;
        let error = read(&format!("{before}[{row},\n{{}}]")).unwrap_err();
        let expected = format!("f:{lines}: expected a field \"query\", found none");
        assert_eq!(error.to_string(), expected);
        let error = read(&format!("{before}[{row},\n]"))
            .unwrap_err()
            .to_string();
        let expected = format!("f:{lines}: expected a value after `,`, found \"]\"");
        assert_eq!(error, expected);
    }
}

#[test]
fn json_array_of_queries_with_any_field_names() {
    let fields = FieldNames {
        id: "qid".into(),
        text: "query".into(),
        ..FieldNames::beir()
    };
    let read = |text: &str| jsonl::read_queries(text.as_bytes(), "f", &fields);
    let row = "{\"qid\": 1, \"query\": \"tea\", \"title\": \"Tea\"}";
    let other = row.replace('1', "2");
    let lines = read(&format!("{row}\r\n\r\n{other}\r\n")).unwrap();
    assert_eq!((lines.len(), lines[1].id.as_str()), (2, "2"));
    assert_eq!(lines[0].attributes.text("title"), Some("Tea"));
    for before in ["", "\u{feff}", "\u{feff} \r\n\r\n  "] {
        let array = read(&format!("{before}[{row},\r\n{other}]\r\n")).unwrap();
        assert_eq!(array, lines);
    }
    assert!(read("[]").unwrap().is_empty());
    for (text, expected) in [
        (
            format!("[{row},\n\n{row}]"),
            "f:3: expected a unique id, found \"1\", which is also on line 1",
        ),
        (
            format!("[\n{row},\n{{\"qid\": 2}}]"),
            "f:3: expected a field \"query\", found none",
        ),
        (
            format!("[\n{row}, 7]"),
            "f:2: expected an object in the line, found a number",
        ),
        (
            format!("{row}\n[{other}]"),
            "f:2: expected an object in the line, found an array",
        ),
    ] {
        assert_eq!(read(&text).unwrap_err().to_string(), expected);
    }
}
