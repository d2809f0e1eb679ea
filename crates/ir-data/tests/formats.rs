//! Small inputs for every trap of every format: what is read, or the one error that is given.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;

use ir_core::{Document, Value, name};
use ir_data::classic::{self, Codes, SourceDocument};
use ir_data::datafinder::{self, Header, IdForm, Quoting};
use ir_data::squad::Squad;
use ir_data::{DataError, JsonFields, Repeats, beir, catalogue, indri, jsonl, trec, tsv};

fn json(text: &str) -> Result<Vec<Document>, DataError> {
    let mut docs = jsonl::Docs::new(text.as_bytes(), "f", JsonFields::beir(), Repeats::Refuse);
    let mut all = Vec::new();
    let mut doc = Document::default();
    while docs.next_into(&mut doc)? {
        all.push(doc.clone());
    }
    Ok(all)
}

#[test]
fn json_lines_that_are_wrong() {
    for (text, expected) in [
        (
            "{\"_id\": \"a\"",
            "f:1: expected JSON, found a fault at column 11 (EOF while parsing an object)",
        ),
        (
            "{\"_id\": \"a\", \"text\": \"b}",
            "f:1: expected JSON, found a fault at column 24 (EOF while parsing a string)",
        ),
        (
            "\n\n{]",
            "f:3: expected JSON, found a fault at column 2 (key must be a string)",
        ),
        (
            "{\"_id\": \"a\", \"text\": \"\"} x",
            "f:1: expected JSON, found a fault at column 26 (trailing characters)",
        ),
        (
            "[1, 2]",
            "f:1: expected an object in the line, found a list",
        ),
        (
            "\"text\"",
            "f:1: expected an object in the line, found a text",
        ),
        ("17", "f:1: expected an object in the line, found a number"),
        ("null", "f:1: expected an object in the line, found null"),
        (
            "{\"text\": \"b\"}",
            "f:1: expected a field \"_id\", found none",
        ),
        (
            "{\"_id\": null, \"text\": \"b\"}",
            "f:1: expected a field \"_id\", found none",
        ),
        (
            "{\"_id\": \"a\", \"title\": \"b\"}",
            "f:1: expected a field \"text\", found none",
        ),
        (
            "{\"_id\": \"\", \"text\": \"b\"}",
            "f:1: expected an id in \"_id\", found an empty text",
        ),
        (
            "{\"_id\": 1.5, \"text\": \"b\"}",
            "f:1: expected an id in \"_id\", found a number with a fraction",
        ),
        (
            "{\"_id\": 123456789012345678901234567890, \"text\": \"b\"}",
            "f:1: expected an id in \"_id\", found a number beyond 64 bits",
        ),
        (
            "{\"_id\": [\"a\"], \"text\": \"b\"}",
            "f:1: expected an id in \"_id\", found a list",
        ),
        (
            "{\"_id\": \"a\", \"text\": {\"b\": 1}}",
            "f:1: expected a text in \"text\", found an object",
        ),
        (
            "{\"_id\": \"a\", \"text\": 7}",
            "f:1: expected a text in \"text\", found a number",
        ),
        (
            "{\"_id\": \"a\", \"text\": \"b\", \"title\": true}",
            "f:1: expected a text in \"title\", found a truth value",
        ),
        (
            "{\"_id\": \"a\", \"text\": \"b\", \"metadata\": 3}",
            "f:1: expected an object in \"metadata\", found a number",
        ),
        (
            "{\"_id\": \"a\", \"_id\": \"b\", \"text\": \"b\"}",
            "f:1: expected one field \"_id\", found two",
        ),
        (
            "{\"_id\": \"a\", \"text\": \"b\", \"year\": 1, \"metadata\": {\"year\": 2}}",
            "f:1: expected one field \"year\", found two",
        ),
        (
            "{\"_id\": \"a\", \"text\": \"b\"}\n\n{\"_id\": \"a\", \"text\": \"c\"}",
            "f:3: expected a new id, found \"a\", which is that of line 1",
        ),
        (
            "{\"_id\": 7, \"text\": \"b\"}\n{\"_id\": \"7\", \"text\": \"c\"}",
            "f:2: expected a new id, found \"7\", which is that of line 1",
        ),
        (
            "{\"_id\": \"a\", \"text\": \"\\ud800\"}",
            "f:1: expected JSON, found a fault at column 29 (unexpected end of hex escape)",
        ),
    ] {
        assert_eq!(json(text).unwrap_err().to_string(), expected, "{text}");
    }
    let deep = format!(
        "{{\"_id\": \"a\", \"text\": \"b\", \"x\": {}",
        "[".repeat(100_000)
    );
    assert!(matches!(json(&deep), Err(DataError::Json { .. })));
}

#[test]
fn json_lines_that_are_right() {
    let text = "\u{feff}{\"_id\": 7, \"text\": null, \"a\": null, \"year\": 2017, \"big\": 18446744073709551615}\r\n\
                \n  \n{\"text\": \"u\u{2028}v \\u0041\\n\", \"title\": null, \"_id\": \"x y\", \"metadata\": {\"l\": [1, null, {\"m\": null}]}}";
    let docs = json(text).unwrap();
    assert_eq!(docs.len(), 2);
    assert_eq!((docs[0].id.as_str(), docs[0].text.as_str()), ("7", ""));
    assert_eq!(docs[0].attributes.year(), Some(2017));
    assert!(docs[0].attributes.get("a").is_none());
    assert!(matches!(
        docs[0].attributes.get("big"),
        Some(Value::Float(_))
    ));
    assert_eq!(docs[1].text, "u\u{2028}v A\n");
    let Some(Value::List(list)) = docs[1].attributes.get("l") else {
        panic!("the member of the metadata is an attribute")
    };
    assert_eq!(list.len(), 2);
    assert!(json("").unwrap().is_empty());
}

#[test]
fn beir_qrels() {
    let read = |text: &str| beir::read_qrels(text.as_bytes(), "f");
    let head = "query-id\tcorpus-id\tscore\n";
    let qrels = read("query-id\tcorpus-id\tscore\r\nq 1\td\t2\r\nq 1\te\t-1\r\n\r\n").unwrap();
    assert_eq!(
        (qrels.grade("q 1", "d"), qrels.grade("q 1", "e")),
        (Some(2), Some(-1))
    );
    // The names of the columns in the other spellings that are about.
    for head in [
        "Query_ID\tCorpus_ID\tScore\n",
        "QUERY-ID\tcorpus-id\tscore\r\n",
    ] {
        assert_eq!(read(&format!("{head}q\td\t1\n")).unwrap().judgments(), 1);
    }
    // Without a header, the first judgment is not taken for one, whatever its grade.
    for first in [
        "q1\td1\t1.0",
        "q1\td1\tyes",
        "q1\td1\t",
        "query-id\tcorpus-id\t2",
        "q1\td1",
    ] {
        let error = read(&format!("{first}\nq2\td2\t1\n")).unwrap_err();
        let expected =
            "f:1: expected the header line `query-id corpus-id score` between tabs, found ";
        assert_eq!(error.to_string(), format!("{expected}{first:?}"));
    }
    for nothing in ["", "\n\r\n"] {
        let error = read(nothing).unwrap_err();
        assert!(error.is_corrupt());
        assert_eq!(
            error.to_string(),
            "f: expected the header line `query-id corpus-id score` between tabs, found none"
        );
    }
    assert!(read(head).unwrap().is_empty());
    for (text, expected) in [
        (
            "q1\td1\t1\n".to_owned(),
            "f:1: expected the header line `query-id corpus-id score` between tabs, found \"q1\\td1\\t1\"",
        ),
        (
            format!("{head}q1 d1 1\n"),
            "f:2: expected 3 columns, found 1",
        ),
        (
            format!("{head}q1\t0\td1\t1\n"),
            "f:2: expected 3 columns, found 4",
        ),
        (
            format!("{head}q1\td1\tyes\n"),
            "f:2: expected a whole number as grade, found \"yes\"",
        ),
        (
            format!("{head}q1\td1\t1.0\n"),
            "f:2: expected a whole number as grade, found \"1.0\"",
        ),
        (
            format!("{head}\td1\t1\n"),
            "f:2: expected a query id and a document id, found \"\\td1\\t1\"",
        ),
        (
            format!("{head}q1\td1\t1\nq1\td1\t1\n"),
            "f:3: expected a new pair, found query \"q1\" and document \"d1\" of line 2",
        ),
    ] {
        assert_eq!(read(&text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn beir_folders() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    assert!(beir::BeirFolder::open(root).unwrap_err().is_missing());
    fs::write(
        root.join("corpus.jsonl"),
        "{\"_id\": \"d\", \"text\": \"tea\"}\n",
    )
    .unwrap();
    let alone = beir::BeirFolder::open(root).unwrap().into_collection();
    assert!(alone.splits().is_empty());
    assert!(alone.all_queries().unwrap_err().is_missing());
    assert!(matches!(
        alone.qrels("test"),
        Err(DataError::UnknownSplit { .. })
    ));

    let queries =
        "{\"_id\": \"b\", \"text\": \"x\"}\n{\"_id\": \"a\", \"text\": \"y\", \"title\": \"t\"}\n";
    fs::write(root.join("queries.jsonl"), queries).unwrap();
    fs::create_dir(root.join("qrels")).unwrap();
    fs::write(
        root.join("qrels/test.tsv"),
        "query-id\tcorpus-id\tscore\na\td\t1\nb\td\t0\n",
    )
    .unwrap();
    fs::write(
        root.join("qrels/dev.tsv"),
        "query-id\tcorpus-id\tscore\na\td\t1\nc\td\t1\ne\td\t1\n",
    )
    .unwrap();
    fs::write(root.join("qrels/notes.txt"), "").unwrap();
    let collection = ir_data::open_path_or_name(&root.to_string_lossy()).unwrap();
    assert_eq!(collection.splits(), ["dev", "test"]);
    let ids: Vec<String> = collection
        .queries("test")
        .unwrap()
        .into_iter()
        .map(|query| query.id)
        .collect();
    assert_eq!(ids, ["b", "a"], "in the order of the file");
    assert_eq!(
        collection.all_queries().unwrap()[1]
            .attributes
            .text("title"),
        Some("t")
    );
    let error = collection.queries("dev").unwrap_err();
    assert!(
        matches!(error, DataError::JudgedQueryMissing { missing: 2, ref query, .. } if query == "c")
    );

    let error = ir_data::open_path_or_name("no such thing")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("bundled") && error.contains("beir/nfcorpus"),
        "{error}"
    );
    let file = root.join("corpus.jsonl");
    assert!(matches!(
        ir_data::open_path_or_name(&file.to_string_lossy()),
        Err(DataError::Kind { .. })
    ));
}

#[test]
fn beir_folders_of_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let fault = || {
        let collection = beir::BeirFolder::open(root).unwrap().into_collection();
        let fault = match collection.corpus().docs() {
            Ok(mut docs) => docs.next().unwrap().unwrap_err(),
            Err(error) => error,
        };
        fault.reason().to_string()
    };
    let corpus = root.join("corpus.jsonl");
    for nothing in ["", "\n \n"] {
        fs::write(&corpus, nothing).unwrap();
        let expected = format!("{}: expected documents, found none", corpus.display());
        assert_eq!(fault(), expected);
    }
    fs::remove_file(&corpus).unwrap();
    for (suffix, form) in [("gz", "gzip"), ("zst", "zstd")] {
        let corpus = root.join(format!("corpus.jsonl.{suffix}"));
        fs::write(&corpus, "").unwrap();
        let expected = format!(
            "{}:1: expected more {form} data, found the end of the file",
            corpus.display()
        );
        assert_eq!(fault(), expected);
        // Compressed, and nothing in it.
        ir_data::create(&corpus).unwrap().commit().unwrap();
        let expected = format!("{}: expected documents, found none", corpus.display());
        assert_eq!(fault(), expected);
        fs::remove_file(&corpus).unwrap();
    }
}

#[test]
fn qrels_of_either_form() {
    let read = |text: &str| trec::qrels_any(text.as_bytes(), "f", Header::AsData).map(|p| p.data);
    let beir = read("query-id\tcorpus-id\tscore\nq\td\t1\n").unwrap();
    let trec = read("q 0 d 1\n").unwrap();
    assert_eq!(beir, trec);
    assert!(read("").unwrap().is_empty());
    assert!(matches!(read("q\td\t1\n"), Err(DataError::Syntax { .. })));
    assert!(matches!(read("q 0 d 1 x\n"), Err(DataError::Trec(_))));
    // A TREC line that lacks a column is none of BEIR's.
    assert_eq!(
        read("q1 0 d1\n").unwrap_err().to_string(),
        "f:1: expected 4 columns, found 3"
    );
    let header = "`query-id corpus-id score` between tabs, found \"query-id corpus-id score\"";
    let error = read("query-id corpus-id score\nq d 1\n").unwrap_err();
    assert!(error.to_string().ends_with(header), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("qrels.gz");
    ir_data::write_qrels(&path, &trec).unwrap();
    assert_eq!(
        ir_data::read_qrels_any(&path, Header::AsData).unwrap().data,
        trec
    );
}

#[test]
fn datafinder_rows() {
    let qrels =
        |text: &str, quoting, header| datafinder::read_qrels(text.as_bytes(), "f", quoting, header);
    let header = "QueryID\t0\tDocID\tRelevance\r\n";
    let quoted = format!("{header}\"a_\"\"b\"\"\"\tQ0\tX\t1\r\n\"a_\"\"b\"\"\"\tQ0\tX\t1\r\n");
    let raw = qrels(&quoted, Quoting::Raw, Header::Skip).unwrap();
    assert_eq!(raw.data.grade("\"a_\"\"b\"\"\"", "X"), Some(1));
    let odd = raw
        .oddities
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>();
    assert_eq!(odd.len(), 1);
    assert!(
        odd[0].starts_with("f:3: the judgment of line 2 again"),
        "{}",
        odd[0]
    );
    let csv = qrels(&quoted, Quoting::Csv, Header::Skip).unwrap();
    assert_eq!(csv.data.grade("a_\"b\"", "X"), Some(1));
    // Without a header line, nothing is dropped.
    let plain = qrels("q\tQ0\td\t1\n", Quoting::Raw, Header::Skip).unwrap();
    assert_eq!(plain.data.judgments(), 1);
    for (text, expected) in [
        (
            "q\tQ0\td\t1\nq\tQ0\td\t2\n",
            "f:2: expected a new pair, found query \"q\" and document \"d\" of line 1",
        ),
        ("q\tQ0\td\t1\t5\n", "f:1: expected 4 columns, found 5"),
        ("q Q0 d 1\n", "f:1: expected 4 columns, found 1"),
        (
            "q\tQ0\td\t1\nr\tQ0\td\tone\n",
            "f:2: expected a whole number as grade, found \"one\"",
        ),
        (
            "\"q\tQ0\td\t1\n",
            "f:1: expected a quoted column with inner quotes doubled, found \"\\\"q\"",
        ),
        (
            "\"a\"b\"\tQ0\td\t1\n",
            "f:1: expected a quoted column with inner quotes doubled, found \"\\\"a\\\"b\\\"\"",
        ),
        (
            "\"\tQ0\td\t1\n",
            "f:1: expected a quoted column with inner quotes doubled, found \"\\\"\"",
        ),
        (
            "\tQ0\td\t1\n",
            "f:1: expected a query id and a document id, found \"\\tQ0\\td\\t1\"",
        ),
    ] {
        assert_eq!(
            qrels(text, Quoting::Csv, Header::Skip)
                .unwrap_err()
                .to_string(),
            expected
        );
    }

    let run = |text: &str| datafinder::read_run(text.as_bytes(), "f", Quoting::Raw, Header::Skip);
    let text = "QueryID\tQ0\tDocID\tRank\tScore\tRunID\r\nq\tQ0\tb\t1\t2.5\tmine\r\nq\tQ0\ta\t2\t3\tmine\r\n";
    let read = run(text).unwrap().data;
    assert_eq!(
        (read.tag.as_str(), read.get("q").unwrap()[0].doc.as_str()),
        ("mine", "b")
    );
    for (text, expected) in [
        (
            "q\tQ0\td\t1\tNaN\tt\n",
            "f:1: expected a finite number as score, found \"NaN\"",
        ),
        ("q\tQ0\td\t1\t1\n", "f:1: expected 6 columns, found 5"),
        (
            "q\tQ0\td\t1\t1\tt\nq\tQ0\td\t2\t0\tt\n",
            "f:2: expected each document of a query once, found \"d\"",
        ),
    ] {
        assert_eq!(run(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn datafinder_queries() {
    let read = |text: &str| datafinder::read_test_queries(text.as_bytes(), "f", "t");
    let array = " [\n{\"query\": \"a  b\", \"documents\": [\"X Y\"], \"year\": 0, \"task\": \"\"},\n {\"query\": \"c\",\n \"documents\": []}\n]\n";
    let rows = read(array).unwrap();
    assert_eq!(
        (rows[1].query.id.as_str(), rows[1].positives.len()),
        ("t001", 0)
    );
    assert_eq!(
        rows[0].query.attributes.text(datafinder::PUBLISHED_ID),
        Some("a_b")
    );
    assert!(rows[0].query.attributes.year().is_none(), "0 is no year");
    assert!(
        rows[0].query.attributes.get(name::TASK).is_none(),
        "an empty field is absent"
    );
    let qrels = datafinder::TestQuery::qrels(&rows);
    assert_eq!((qrels.len(), qrels.grade("t000", "X_Y")), (1, Some(1)));
    for (text, expected) in [
        (
            "{\"documents\": []}",
            "f:1: expected a field \"query\", found none",
        ),
        (
            "{\"query\": \"a\"}",
            "f:1: expected a field \"documents\", found none",
        ),
        (
            "{\"query\": 1, \"documents\": []}",
            "f:1: expected a text in query, found a number",
        ),
        (
            "{\"query\": \"a\", \"documents\": [1]}",
            "f:1: expected a list of texts in documents, found a number",
        ),
        (
            "[{\"query\": \"a\", \"documents\": []},\n{\"query\": \"a\"}]",
            "f:2: expected a field \"documents\", found none",
        ),
        (
            "[\n{\"query\": \"a\", \"documents\": []},\n3]",
            "f:3: expected an object in the line, found a number",
        ),
        (
            "[{\"query\": \"a\", \"documents\": []}",
            "f:1: expected JSON, found a fault at column 32 (EOF while parsing a list)",
        ),
        (
            "{\"id\": \"x\", \"query\": \"a\", \"documents\": []}\n{\"id\": \"x\", \"query\": \"a\", \"documents\": []}",
            "f:2: expected a new id, found \"x\", which is that of line 1",
        ),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), expected, "{text}");
    }
    let train = datafinder::read_training_queries(
        &b"{\"query\": \"a\", \"n\": 12, \"positives\": [\"B C\"]}\n{\"query\": \"a\"}"[..],
        "f",
        "train-",
    );
    let train = train.unwrap();
    assert_eq!(
        (train[0].query.id.as_str(), train[1].query.id.as_str()),
        ("train-12", "train-1")
    );
}

#[test]
fn datafinder_corpus() {
    let text = "{\"id\": \"Penn \\t Treebank\", \"contents\": \"a\\r\\nb\", \"year\": null, \"title\": \"\"}\n\
                {\"id\": \"Penn \\t Treebank\", \"contents\": \"again\", \"year\": 0}\n";
    let read = |ids| {
        let mut reader = datafinder::DatasetCorpus::read(text.as_bytes(), "f", ids);
        let mut docs = Vec::new();
        let mut doc = Document::default();
        while reader.read(&mut doc).unwrap() {
            docs.push(doc.clone());
        }
        docs
    };
    let docs = read(IdForm::Underscored);
    assert_eq!(docs.len(), 2, "repeated ids are kept");
    assert_eq!(docs[0].id, "Penn_Treebank");
    assert_eq!(
        docs[0].attributes.text(datafinder::NAME),
        Some("Penn \t Treebank")
    );
    assert!(docs.iter().all(|doc| doc.attributes.year().is_none()));
    assert_eq!(docs[0].text, "a\r\nb");
    assert_eq!(read(IdForm::Name)[0].id, "Penn \t Treebank");
}

#[test]
fn keyphrases() {
    let query = |fields: &[&str]| datafinder::keyphrase_query(fields.iter().copied());
    assert_eq!(query(&["Images", "image age"]), "images");
    assert_eq!(
        query(&["question answering, text", "text", "N/A", " None ", ""]),
        "question answering, text"
    );
    assert_eq!(query(&["the Analysis of an image"]), "analysis image");
    assert_eq!(query(&[]), "");
}

#[test]
fn classic_records() {
    let docs = |text: &str| classic::read_documents(text.as_bytes(), "f");
    let text = "\n.I 12\r\n.T \r\na\r\nb .\r\n.A\r\n.B\r\n.W\r\n  one\r\n\r\n.5 two\r\n.A\r\nthree\r\n.I 3\n.W\n.X\n1\t2\t3\n";
    let read = docs(text).unwrap();
    assert_eq!(
        (read[0].id.as_str(), read[0].title.as_str()),
        ("12", "a b .")
    );
    assert_eq!(
        read[0].text, "  one\n\n.5 two\nthree",
        "a repeated mark does not end the text"
    );
    assert!(read[0].attributes.get("author").is_none());
    assert_eq!((read[1].id.as_str(), read[1].text.as_str()), ("3", ""));
    assert_eq!(
        read[1].attributes.get("citations"),
        Some(&Value::List(vec![Value::from(vec![1_i64, 2, 3])]))
    );
    assert!(docs("").unwrap().is_empty());
    for (text, expected) in [
        (
            "a\n.I 1\n",
            "f:1: expected a record that begins with .I and a mark, found \"a\"",
        ),
        (
            ".I 1\na\n.W\n",
            "f:2: expected a record that begins with .I and a mark, found \"a\"",
        ),
        (".I\n.W\n", "f:1: expected a number after .I, found \".I\""),
        (
            ".I one\n.W\n",
            "f:1: expected a number after .I, found \".I one\"",
        ),
        (
            ".I 1\n.Q\n",
            "f:2: expected one of .I .T .A .B .W .X .K .C .N, found \".Q\"",
        ),
        (
            ".I 1\n.T\na\n.I 2\n.W\n",
            "f:1: expected a field \".W\", found none",
        ),
        (
            ".I 1\n.W\n.I 1\n.W\n",
            "f:3: expected a new id, found \"1\", which is that of line 1",
        ),
        (
            ".I 1\n.W\n.X\n1 2\n",
            "f:1: expected three whole numbers in each line of the record's .X, found \"1 2\"",
        ),
    ] {
        assert_eq!(docs(text).unwrap_err().to_string(), expected);
    }
    let queries = classic::read_queries(&b".I 002\n.T\nt\n.A\nx\n.A\ny\n.W\nw\n"[..], "f").unwrap();
    assert_eq!(
        (queries[0].id.as_str(), queries[0].text.as_str()),
        ("002", "w")
    );
    assert_eq!(queries[0].attributes.text("author"), Some("x; y"));
    assert_eq!(queries[0].attributes.text("title"), Some("t"));
}

#[test]
fn classic_judgments() {
    let read = |text: &str, codes, source| {
        classic::read_cranfield_judgments(text.as_bytes(), "f", codes, source)
    };
    let text = "1 184 2 \r\n1 12 4\r\n1 5 -1";
    let grades = |codes, source| {
        let qrels = read(text, codes, source).unwrap();
        ["184", "12", "5"].map(|doc| qrels.grade("1", doc))
    };
    let some = Some;
    assert_eq!(
        grades(Codes::Graded, SourceDocument::Relevant),
        [some(3), some(1), some(1)]
    );
    assert_eq!(
        grades(Codes::Binary, SourceDocument::Drop),
        [some(1), some(1), None]
    );
    assert_eq!(
        grades(Codes::AsWritten, SourceDocument::Relevant),
        [some(2), some(4), some(-1)]
    );
    for (text, expected) in [
        ("1 184\n", "f:1: expected 3 columns, found 2"),
        ("1 184 2 3\n", "f:1: expected 3 columns, found 4"),
        (
            "1 184 5\n",
            "f:1: expected a code: -1, 1, 2, 3 or 4, found \"5\"",
        ),
        ("q 184 1\n", "f:1: expected a whole number, found \"q\""),
        (
            "1 184 1\n1 184 2\n",
            "f:2: expected a new pair, found query \"1\" and document \"184\" of line 1",
        ),
    ] {
        let error = read(text, Codes::Graded, SourceDocument::Relevant).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let cisi = |text: &str| classic::read_cisi_judgments(text.as_bytes(), "f");
    assert_eq!(
        cisi("     1     28\t0\t0.000000\n")
            .unwrap()
            .grade("1", "28"),
        Some(1)
    );
    assert!(matches!(
        cisi("1 28 0\n"),
        Err(DataError::Columns {
            expected: 4,
            found: 3,
            ..
        })
    ));
}

#[test]
fn tab_separated() {
    let read = |text: &str| tsv::read_documents(text.as_bytes(), "f", &tsv::USUAL);
    let docs = read("a\tgreen tea\r\n\nb\t\ttitle\n").unwrap();
    assert_eq!(
        (docs[0].text.as_str(), docs[1].title.as_str()),
        ("green tea", "title")
    );
    for (text, expected) in [
        ("a\n", "f:1: expected 2 to 3 columns, found 1"),
        ("a\tb\tc\td\n", "f:1: expected 2 to 3 columns, found 4"),
        ("\tb\n", "f:1: expected an id, found \"\\tb\""),
        (
            "a\tb\na\tc\n",
            "f:2: expected a new id, found \"a\", which is that of line 1",
        ),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), expected);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docs.tsv");
    let refused = |doc: Document| {
        let mut writer = tsv::TsvWriter::create(&path, &tsv::USUAL[..2]).unwrap();
        writer.document(&doc).unwrap_err().to_string()
    };
    let doc = || Document::new("a");
    assert!(refused(doc().with_text("b\tc")).ends_with("found \"b\\tc\""));
    assert!(refused(doc().with_title("t")).contains("no title"));
    assert!(refused(doc().with("year", 2017_i64)).contains("attributes that have a column"));
    assert!(refused(Document::new("")).contains("expected an id"));
    assert!(!path.exists());
}

#[test]
fn unwritable_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docs.jsonl");
    let refused = |fields: JsonFields, doc: Document| {
        let mut writer = ir_data::JsonlWriter::create(&path)
            .unwrap()
            .with_fields(fields);
        writer.document(&doc).unwrap_err().to_string()
    };
    let doc = Document::new("a").with("x", f64::NAN);
    assert!(refused(JsonFields::beir(), doc).contains("that JSON can hold"));
    let doc = Document::new("a").with("contents", "b");
    assert!(refused(JsonFields::anserini(), doc).contains("called otherwise"));
    assert!(refused(JsonFields::beir(), Document::new("")).contains("an id"));
    assert!(!path.exists());
}

#[test]
fn a_damaged_copy_of_a_collection() {
    let folder = tempfile::tempdir().unwrap();
    let here = catalogue::Catalogue::at(folder.path());
    let entry = here.entry("cranfield").unwrap();
    let error = here.open("cranfield").unwrap_err();
    assert!(
        error.is_missing() && error.to_string().contains("place it there"),
        "{error}"
    );
    fs::create_dir_all(folder.path().join("classic/cranfield")).unwrap();
    for file in &entry.files {
        fs::write(folder.path().join(&file.path), b"cut").unwrap();
    }
    let error = here.open("cranfield").unwrap_err();
    assert!(matches!(error, DataError::Size { found: 3, .. }) && error.is_corrupt());
    for file in &entry.files {
        fs::write(
            folder.path().join(&file.path),
            vec![b'x'; file.bytes as usize],
        )
        .unwrap();
    }
    let error = here
        .verify("cranfield", &mut ir_core::NoProgress)
        .unwrap_err();
    assert!(matches!(error, DataError::Sha256 { .. }), "{error}");
    let stop = &mut |_: &str, _: u64, _: Option<u64>| ir_core::Flow::Stop;
    assert!(matches!(
        here.verify("cranfield", stop),
        Err(DataError::Cancelled)
    ));
    assert!(matches!(
        here.open("none"),
        Err(DataError::UnknownCollection { .. })
    ));
    assert!(here.open("bundled").is_ok());
}

#[test]
fn counts_are_compared() {
    use ir_core::Corpus;
    let docs = vec![Document::new("a"), Document::new("b")];
    let all = |expected| {
        let corpus = ir_data::Counted::new(docs.clone(), "c", expected);
        corpus.docs().unwrap().collect::<Result<Vec<_>, _>>()
    };
    assert_eq!(all(2).unwrap().len(), 2);
    for wrong in [1, 3] {
        let error = all(wrong).unwrap_err();
        let error = error.reason().to_string();
        assert_eq!(error, format!("c: expected {wrong} documents, found 2"));
    }
}

#[test]
fn indri_topics() {
    let read = |text: &str| indri::read_queries(text.as_bytes(), "f");
    let text = "\n<parameters>\n<query><text>\n#or( a\nb )\n</text>\n<number>7</number></query>\n\
                <query>\n<number>8</number><text>x &lt; y &unknown; &</text></query>\n</parameters>\n";
    let queries = read(text).unwrap();
    assert_eq!(
        (queries[0].id.as_str(), queries[0].text.as_str()),
        ("7", "#or( a\nb )")
    );
    assert_eq!(queries[1].text, "x < y &unknown; &");
    assert!(read("<parameters></parameters>").unwrap().is_empty());
    for (text, expected) in [
        (
            "",
            "f:1: expected <parameters>, found \"the end of the file\"",
        ),
        (
            "<parameters>\n<query>\n<title>",
            "f:3: expected <number>, <text> or </query>, found \"<title>\"",
        ),
        (
            "<parameters>\n<query><text>a</text></query>",
            "f:2: expected a field \"number\", found none",
        ),
        (
            "<parameters>\n<query><number>1</number></query>",
            "f:2: expected a field \"text\", found none",
        ),
        (
            "<parameters>\n<query><number>1</query>",
            "f:2: expected </number>, found \"1</query>\"",
        ),
        (
            "<parameters></parameters>\nmore",
            "f:2: expected the end after </parameters>, found \"more\"",
        ),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), expected);
    }
    let one = "<query><number>1</number><text>a</text></query>";
    let error = read(&format!("<parameters>{one}\n{one}</parameters>")).unwrap_err();
    assert!(matches!(
        error,
        DataError::RepeatedId {
            line: 2,
            first: 1,
            ..
        }
    ));
}

#[test]
fn squad_files() {
    let file = |answer: &str, start: usize, second: &str| {
        let question = |id: &str| {
            format!(
                "{{\"id\": \"{id}\", \"question\": \"?\", \"answers\": [{{\"text\": \"{answer}\", \"answer_start\": {start}}}]}}"
            )
        };
        let paragraphs = format!(
            "[{{\"context\": \"grün ist Tee\", \"qas\": [{}, {}]}}]",
            question("a"),
            question(second)
        );
        let text = format!("{{\"data\": [{{\"title\": \"T_x\", \"paragraphs\": {paragraphs}}}]}}");
        Squad::read(text.as_bytes(), "f")
    };
    let squad = file("Tee", 9, "b").unwrap();
    assert_eq!(
        (squad.documents()[0].title.as_str(), squad.queries().len()),
        ("T x", 2)
    );
    assert_eq!(squad.qrels().grade("b", "T_x/0"), Some(1));
    assert!(matches!(
        file("Tee", 10, "b"),
        Err(DataError::Syntax { .. })
    ));
    assert!(matches!(
        file("Tee", 999, "b"),
        Err(DataError::Syntax { .. })
    ));
    assert!(matches!(
        file("Tee", 9, "a"),
        Err(DataError::RepeatedId { .. })
    ));
    // Places are lines, also of questions that look alike.
    let question = |answers: &str| {
        format!("\n\n{{\"id\": \"a\", \"question\": \"?\",\n\"answers\": [{answers}]}}")
    };
    let lines = |answers: &str| {
        let (one, two) = (question(""), question(answers));
        let text = format!(
            "{{\"data\": [{{\"title\": \"T\", \"paragraphs\": [{{\"context\": \"tea\", \"qas\": [{one},{two}]}}]}}]}}"
        );
        Squad::read(text.as_bytes(), "f").unwrap_err().to_string()
    };
    assert_eq!(
        lines(""),
        "f:6: expected a new id, found \"a\", which is that of line 3"
    );
    assert!(matches!(
        Squad::read(&b"{}"[..], "f"),
        Err(DataError::Json { .. })
    ));
}

#[test]
fn a_run_that_cannot_be_read_back_is_not_written() {
    use ir_core::Run;
    use ir_data::trec::{RunScores, WriteError};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.trec");
    let mut run = Run::new("t");
    run.push("q", "two words", 1.0);
    let error = ir_data::write_run(&path, &run, RunScores::Strict).unwrap_err();
    let DataError::WriteTrec { source, .. } = &error else {
        panic!("{error:?}")
    };
    assert!(matches!(source, WriteError::Id { found, .. } if found == "two words"));
    assert!(!path.exists());
}

#[test]
fn a_json_array_of_queries() {
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
        assert!(
            error.starts_with(&format!("f:{lines}: expected JSON")),
            "{error}"
        );
    }
}
