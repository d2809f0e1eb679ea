//! Folders and qrels in BEIR format.

use std::fs;

use ir_data::datafinder::HeaderLine;
use ir_data::{DataError, beir};

#[test]
fn beir_qrels() {
    let read = |text: &str| beir::read_qrels(text.as_bytes(), "f");
    let head = "query-id\tcorpus-id\tscore\n";
    let qrels = read("query-id\tcorpus-id\tscore\r\nq 1\td\t2\r\nq 1\te\t-1\r\n\r\n").unwrap();
    assert_eq!(
        (qrels.grade("q 1", "d"), qrels.grade("q 1", "e")),
        (Some(2), Some(-1))
    );
    // Whole numbers as decimals, as pandas and some converters write them.
    let decimals = read(&format!("{head}q1\td1\t1.0\nq1\td2\t-2.00\n")).unwrap();
    let grades = (decimals.grade("q1", "d1"), decimals.grade("q1", "d2"));
    assert_eq!(grades, (Some(1), Some(-2)));
    // Other spellings of the column names.
    for head in [
        "Query_ID\tCorpus_ID\tScore\n",
        "QUERY-ID\tcorpus-id\tscore\r\n",
    ] {
        assert_eq!(read(&format!("{head}q\td\t1\n")).unwrap().judgments(), 1);
    }
    // The first judgment never counts as a header, whatever its grade.
    for first in [
        "q1\td1\t1.0",
        "q1\td1\tyes",
        "q1\td1\t",
        "query-id\tcorpus-id\t2",
        "q1\td1",
    ] {
        let error = read(&format!("{first}\nq2\td2\t1\n")).unwrap_err();
        let expected =
            "f:1: expected the tab-separated header line `query-id corpus-id score`, found ";
        assert_eq!(error.to_string(), format!("{expected}{first:?}"));
    }
    for nothing in ["", "\n\r\n"] {
        let error = read(nothing).unwrap_err();
        assert!(error.is_corrupt());
        assert_eq!(
            error.to_string(),
            "f: expected the tab-separated header line `query-id corpus-id score`, found none"
        );
    }
    assert!(read(head).unwrap().is_empty());
    for (text, expected) in [
        (
            "q1\td1\t1\n".to_owned(),
            "f:1: expected the tab-separated header line `query-id corpus-id score`, found \"q1\\td1\\t1\"",
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
            "f:2: expected an integer as grade, found \"yes\"",
        ),
        (
            format!("{head}q1\td1\t1.5\n"),
            "f:2: expected an integer as grade, found \"1.5\"",
        ),
        (
            format!("{head}q1\td1\t1.\n"),
            "f:2: expected an integer as grade, found \"1.\"",
        ),
        (
            format!("{head}\td1\t1\n"),
            "f:2: expected a query id and a document id, found \"\\td1\\t1\"",
        ),
        (
            format!("{head}q1\td1\t1\nq1\td1\t1\n"),
            "f:3: expected one judgment per pair, found query \"q1\" and document \"d1\" of line 2 again",
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
        Err(DataError::WrongType { .. })
    ));
}

#[test]
fn empty_beir_folders() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let error_message = || {
        let collection = beir::BeirFolder::open(root).unwrap().into_collection();
        let error = match collection.corpus().docs() {
            Ok(mut docs) => docs.next().unwrap().unwrap_err(),
            Err(error) => error,
        };
        error.reason().to_string()
    };
    let corpus = root.join("corpus.jsonl");
    for nothing in ["", "\n \n"] {
        fs::write(&corpus, nothing).unwrap();
        let expected = format!("{}: expected documents, found none", corpus.display());
        assert_eq!(error_message(), expected);
    }
    fs::remove_file(&corpus).unwrap();
    for (suffix, compression) in [("gz", "gzip"), ("zst", "zstd")] {
        let corpus = root.join(format!("corpus.jsonl.{suffix}"));
        fs::write(&corpus, "").unwrap();
        let expected = format!(
            "{}:1: expected more {compression} data, found the end of the file",
            corpus.display()
        );
        assert_eq!(error_message(), expected);
        // An empty compressed file.
        ir_data::create(&corpus).unwrap().commit().unwrap();
        let expected = format!("{}: expected documents, found none", corpus.display());
        assert_eq!(error_message(), expected);
        fs::remove_file(&corpus).unwrap();
    }
}

#[test]
fn qrels_in_trec_or_beir_format() {
    let read = |text: &str| {
        ir_data::parse_qrels_any(text.as_bytes(), "f", HeaderLine::AsData).map(|p| p.data)
    };
    let beir = read("query-id\tcorpus-id\tscore\nq\td\t1\n").unwrap();
    let trec = read("q 0 d 1\n").unwrap();
    assert_eq!(beir, trec);
    // Columns after the score are ignored.
    let counted = "\u{feff}query-id\tcorpus-id\tscore\tcount\nq\td\t1\t7\n";
    assert_eq!(read(counted).unwrap(), trec);
    let error = read("query-id\tcorpus-id\tscore\tcount\nq\td\t1\n").unwrap_err();
    assert_eq!(error.to_string(), "f:2: expected 4 columns, found 3");
    // Grades of -1 without a header are not Cranfield's codes, in which -1 marks one document of
    // each query and 1 is the best.
    for headless in ["1\t7\t1\n1\t8\t-1\n", "1 7 1\n1 8 -1\n1 9 -1\n2 7 -1\n"] {
        assert!(read(headless).is_err(), "{headless}");
    }
    assert!(read("").unwrap().is_empty());
    assert!(matches!(read("q\td\t1\n"), Err(DataError::Syntax { .. })));
    assert!(matches!(read("q 0 d 1 x\n"), Err(DataError::Trec(_))));
    // A TREC line with a missing column is not BEIR format.
    assert_eq!(
        read("q1 0 d1\n").unwrap_err().to_string(),
        "f:1: expected 4 columns, found 3"
    );
    let header = "header line `query-id corpus-id score`, found \"query-id corpus-id score\"";
    let error = read("query-id corpus-id score\nq d 1\n").unwrap_err();
    assert!(error.to_string().ends_with(header), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("qrels.gz");
    ir_data::write_qrels(&path, &trec).unwrap();
    assert_eq!(
        ir_data::read_qrels_any(&path, HeaderLine::AsData)
            .unwrap()
            .data,
        trec
    );
}
