//! Folders and qrels in BEIR format.

use std::fs;

use ir_core::Corpus;
use ir_data::datafinder::HeaderLine;
use ir_data::{DataError, JudgedQueries, beir};

/// Expected header line in errors.
const HEADER: &str = "expected the tab-separated header line `query-id corpus-id score`, found ";

#[test]
fn beir_qrels() {
    let read = |text: &str| beir::read_qrels(text.as_bytes(), "f");
    let head = "query-id\tcorpus-id\tscore\n";
    let qrels = read("query-id\tcorpus-id\tscore\r\nq 1\td\t2\r\nq 1\te\t-1\r\n\r\n").unwrap();
    assert_eq!(
        ["d", "e"].map(|doc| qrels.grade("q 1", doc)),
        [Some(2), Some(-1)]
    );
    // Whole numbers as decimals, as pandas and some converters write them.
    let decimals = read(&format!("{head}q1\td1\t1.0\nq1\td2\t-2.00\n")).unwrap();
    let grades = ["d1", "d2"].map(|doc| decimals.grade("q1", doc));
    assert_eq!(grades, [Some(1), Some(-2)]);
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
        "q1\td1\t1",
    ] {
        let error = read(&format!("{first}\nq2\td2\t1\n")).unwrap_err();
        assert_eq!(error.to_string(), format!("f:1: {HEADER}{first:?}"));
    }
    for nothing in ["", "\n\r\n"] {
        let error = read(nothing).unwrap_err();
        assert!(error.is_corrupt());
        assert_eq!(error.to_string(), format!("f: {HEADER}none"));
    }
    assert!(read(head).unwrap().is_empty());
    let table = r#"q1 d1 1\n => f:2: expected 3 columns, found 1
q1\t0\td1\t1\n => f:2: expected 3 columns, found 4
q1\td1\tyes\n => f:2: expected an integer as grade, found "yes"
q1\td1\t1.5\n => f:2: expected an integer as grade, found "1.5"
q1\td1\t1.\n => f:2: expected an integer as grade, found "1."
\td1\t1\n => f:2: expected a query id and a document id, found "\td1\t1"
q1\td1\t1\nq1\td1\t1\n => f:3: expected one judgment per pair, found query "q1" and document "d1" of line 2 again"#;
    super::assert_cases(table, |text| {
        let error = read(&format!("{head}{text}")).unwrap_err();
        error.to_string()
    });
}

#[test]
fn beir_folders() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    assert!(beir::BeirFolder::open(root).unwrap_err().is_missing());
    let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
    write("corpus.jsonl", "{\"_id\": \"d\", \"text\": \"tea\"}\n");
    let alone = beir::BeirFolder::open(root).unwrap().into_collection();
    assert!(alone.splits().is_empty());
    assert!(alone.all_queries().unwrap_err().is_missing());
    let error = alone.qrels("test").unwrap_err();
    assert!(matches!(error, DataError::UnknownSplit { .. }));

    let queries =
        "{\"_id\": \"b\", \"text\": \"x\"}\n{\"_id\": \"a\", \"text\": \"y\", \"title\": \"t\"}\n";
    write("queries.jsonl", queries);
    fs::create_dir(root.join("qrels")).unwrap();
    let head = "query-id\tcorpus-id\tscore";
    write("qrels/test.tsv", &format!("{head}\na\td\t1\nb\td\t0\n"));
    write(
        "qrels/dev.tsv",
        &format!("{head}\na\td\t1\nc\td\t1\ne\td\t1\n"),
    );
    write("qrels/notes.txt", "");
    let collection = ir_data::open_path_or_name(&root.to_string_lossy()).unwrap();
    assert_eq!(collection.splits(), ["dev", "test"]);
    let queries = collection.queries("test").unwrap().into_iter();
    let ids: Vec<String> = queries.map(|query| query.id).collect();
    assert_eq!(ids, ["b", "a"], "in the order of the file");
    let second = &collection.all_queries().unwrap()[1];
    assert_eq!(second.attributes.text("title"), Some("t"));
    let error = collection.queries("dev").unwrap_err();
    assert!(
        matches!(error, DataError::JudgedQueryMissing { missing: 2, ref query, .. } if query == "c")
    );

    let error = ir_data::open_path_or_name("no such thing").unwrap_err();
    for name in ["bundled", "beir/nfcorpus"] {
        assert!(error.to_string().contains(name), "{error}");
    }
    let file = root.join("corpus.jsonl");
    let error = ir_data::open_path_or_name(&file.to_string_lossy()).unwrap_err();
    assert!(matches!(error, DataError::WrongType { .. }));
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
        let expected = format!("1: expected more {compression} data, found the end of the file");
        assert_eq!(error_message(), format!("{}:{expected}", corpus.display()));
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
    let error = read("q1 0 d1\n").unwrap_err().to_string();
    assert_eq!(error, "f:1: expected 4 columns, found 3");
    let header = "header line `query-id corpus-id score`, found \"query-id corpus-id score\"";
    let error = read("query-id corpus-id score\nq d 1\n").unwrap_err();
    assert!(error.to_string().ends_with(header), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("qrels.gz");
    ir_data::write_qrels(&path, &trec).unwrap();
    let again = ir_data::read_qrels_any(&path, HeaderLine::AsData).unwrap();
    assert_eq!(again.data, trec);
}

#[test]
fn qrels_in_json_lines() {
    let read = |text: &str| {
        let read = ir_data::parse_qrels_any(text.as_bytes(), "f", HeaderLine::AsData);
        read.map_err(|error| error.to_string())
    };
    let expected = beir::read_qrels(
        "query-id\tcorpus-id\tscore\n7\td\t2\nq\te\t-1\n".as_bytes(),
        "f",
    );
    let expected = expected.unwrap();
    for text in [
        "{\"query-id\": 7, \"corpus-id\": \"d\", \"score\": 2}\n{\"query-id\": \"q\", \"corpus-id\": \"e\", \"score\": -1}",
        "\u{feff}{\"score\": 2.0, \"query_id\": \"7\", \"Corpus-ID\": \"d\", \"split\": \"test\"}\r\n\r\n{\"query-id\": \"q\", \"corpus-id\": \"e\", \"score\": -1.0}\r\n",
    ] {
        let parsed = read(text).unwrap();
        assert_eq!(parsed.data, expected);
        assert!(parsed.warnings.is_empty());
    }
    let first = "{\"query-id\": \"q\", \"corpus-id\": \"d\", \"score\": 1}\n";
    // Records with other names, and the same names in another order.
    let mixed = "{\"query-id\": \"q\", \"corpus-id\": \"d\", \"score\": 1}\n\
                 {\"corpus-id\": \"e\", \"query-id\": \"q\", \"score\": 2}\n\
                 {\"more\": 7, \"rel\": 3, \"docno\": \"f\", \"qid\": \"q\"}\n";
    let mixed = beir::read_jsonl_qrels(mixed.as_bytes(), "f").unwrap();
    let grades = ["d", "e", "f"].map(|doc| mixed.grade("q", doc));
    assert_eq!(grades, [Some(1), Some(2), Some(3)]);
    let table = r#"{"query-id": "q", "score": 1} => f:2: expected a field "corpus-id", found none
{"query-id": "q", "corpus-id": "e"} => f:2: expected a field "score", found none
{} => f:2: expected a field "query-id", found none
{"query-id": "q", "corpus-id": "e", "score": 0.5} => f:2: expected an integer as grade, found "0.5"
{"query-id": "q", "corpus-id": "e", "score": "high"} => f:2: expected an integer as grade, found "high"
{"query-id": "q", "corpus-id": "e", "score": true} => f:2: expected an integer as grade in score, found a Boolean
{"query-id": [], "corpus-id": "e", "score": 1} => f:2: expected an id in query-id, found an array
{"query-id": "", "corpus-id": "e", "score": 1} => f:2: expected an id in query-id, found an empty string
q\te\t1 => f:2: expected JSON, found an error at column 1 (expected value)
{"query-id": "q", "corpus-id": "d", "score": 0} => f:2: expected one judgment per pair, found query "q" and document "d" of line 1 again"#;
    super::assert_cases(table, |text| read(&format!("{first}{text}")).unwrap_err());
    // An object of queries, one of which is named so.
    let object = "{\"query-id\": {\"d\": 1}}";
    assert_eq!(read(object).unwrap().data.grade("query-id", "d"), Some(1));
    let error = read("{\"q\": {\"d\": \"high\"}}").unwrap_err();
    assert_eq!(error, "f:1: expected a number in JSON, found \"high\"");
}

#[test]
fn qrels_of_two_columns() {
    let read = |text: &str| ir_data::parse_qrels_any(text.as_bytes(), "f", HeaderLine::AsData);
    for (text, line) in [("q\td\nq\te\n", 1), ("\u{feff}q d\r\n\r\nq  e", 1)] {
        let parsed = read(text).unwrap();
        let grades = ["d", "e"].map(|doc| parsed.data.grade("q", doc));
        assert_eq!(grades, [Some(1), Some(1)]);
        let expected = format!(
            "f:{line}: read as query and document, without a grade; every grade is 1 (the output \
             of `ir pool` has no grades before documents are judged)"
        );
        let warnings: Vec<_> = parsed.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, [expected]);
    }
    // The header says so.
    let parsed = read("query-id\tcorpus-id\nq\td\n").unwrap();
    assert_eq!(parsed.data.grade("q", "d"), Some(1));
    assert!(parsed.warnings.is_empty());
    let error = read("q d\nq d\n").unwrap_err().to_string();
    assert!(error.starts_with("f:2: expected one judgment per pair"));
    // A header line, after a comment or not, with columns in any order.
    for text in [
        "qid\tdocno\nq\td\n",
        "# pairs of two\nQuery_ID doc_id\nq d\n",
        "docno qid\nd q\n",
    ] {
        let parsed = read(text).unwrap();
        assert_eq!(parsed.data.grade("q", "d"), Some(1), "{text}");
        assert_eq!((parsed.data.judgments(), parsed.warnings.len()), (1, 0));
    }
}

/// The same names in every format.
#[test]
fn names_of_judgments() {
    let read = |text: &str| {
        let read = ir_data::parse_qrels_any(text.as_bytes(), "f", HeaderLine::AsData);
        read.unwrap_or_else(|error| panic!("{text}: {error}")).data
    };
    let pair = read("q 0 d 1\n");
    for query in ["qid", "Query-ID", "q_id", "topic", "topic-id", "query"] {
        for doc in [
            "docno",
            "doc_id",
            "docid",
            "corpus-id",
            "pid",
            "passage-id",
            "DocumentID",
            "doc",
            "Document",
        ] {
            for text in [
                format!("{query}\t{doc}\nq\td\n"),
                format!("{doc}\t{query}\trel\nd\tq\t1\n"),
                format!("label,{query},{doc}\n1,q,d\n"),
                format!("{{\"{query}\": \"q\", \"{doc}\": \"d\", \"score\": 1}}\n"),
            ] {
                assert_eq!(read(&text), pair, "{text}");
            }
        }
    }
}

/// Two columns, grades as texts, and the index of pandas in every format.
#[test]
fn the_same_judgments_in_every_format() {
    let read = |text: &str| {
        let read = ir_data::parse_qrels_any(text.as_bytes(), "f", HeaderLine::AsData);
        read.unwrap_or_else(|error| panic!("{text}: {error}"))
    };
    let pairs = read("q 0 d 1\nq 0 e 1\n").data;
    for text in [
        "query-id\tcorpus-id\nq\td\nq\te\n",
        "\tquery-id\tcorpus-id\n0\tq\td\n1\tq\te\n",
        "query-id,corpus-id\nq,d\nq,e\n",
        ",corpus-id,query-id\n0,d,q\n1,e,q\n",
        "Unnamed: 0;qid;docno\n0;q;d\n1;q;e\n",
        "sep=;\n\"qid\";\"pid\"\nq;d\nq;e\n",
        "{\"query-id\": \"q\", \"corpus-id\": \"d\"}\n{\"corpus-id\": \"e\", \"query-id\": \"q\"}\n",
        "[{\"qid\": \"q\", \"pid\": \"d\"}, {\"qid\": \"q\", \"pid\": \"e\"}]",
    ] {
        let parsed = read(text);
        assert_eq!(parsed.data, pairs, "{text}");
        assert_eq!(parsed.warnings, [], "{text}");
    }
    let graded = read("q 0 d 2\nq 0 e 0\n").data;
    for text in [
        "query-id\tcorpus-id\tscore\nq\td\t2\nq\te\t0.0\n",
        "\tquery-id\tcorpus-id\tscore\n0\tq\td\t2\n1\tq\te\t0\n",
        ",query-id,corpus-id,score\n0,q,d,\"2\"\n1,q,e, 0\n",
        "{\"query-id\": \"q\", \"corpus-id\": \"d\", \"score\": \"2\"}\n\
         {\"query-id\": \"q\", \"corpus-id\": \"e\", \"score\": \" 0.0 \"}\n",
    ] {
        assert_eq!(read(text).data, graded, "{text}");
    }
    // Names in a comment are none of a table.
    assert_eq!(read("# qid, docno\nq 0 d 2\nq 0 e 0\n").data, graded);
}

/// Tables as ir_datasets, PyTerrier and pandas save them.
#[test]
fn qrels_of_data_frames() {
    let read = |text: &str, header| {
        let read = ir_data::parse_qrels_any(text.as_bytes(), "f", header);
        read.map_err(|error| error.to_string())
    };
    let expected = read("q 0 d 2\nq 0 e 0\n", HeaderLine::AsData).unwrap().data;
    for text in [
        "query_id\tdoc_id\trelevance\titeration\nq\td\t2\t0\nq\te\t0\t0\n",
        "qid\tdocno\tlabel\titeration\nq\td\t2\tQ0\nq\te\t0\tQ0\n",
        "idx\tqid\tdocno\tlabel\n0\tq\td\t2\n1\tq\te\t0\n",
        "label\tdocno\tsource\tqid\n2\td\tx\tq\n0\te\tx\tq\n",
        "\n \nquery-id\tcorpus-id\tscore\textra\nq\td\t2\tx\nq\te\t0\tx\n",
        "sep=,\nqid,docno,label\nq,d,2\nq,e,0\n",
        "# saved by hand\nqid;docno;label\r\nq;d;2\r\n\r\nq;e;0\r\n",
        "# saved by hand\n\nquery-id\tcorpus-id\tscore\nq\td\t2\nq\te\t0\n",
        "#,qid,docno,label\n0,q,d,2\n1,q,e,0\n",
        "qid,query,docno,document,label\nq,green tea,d,leaf,2\nq,green tea,e,stem,0\n",
        "qid\tquery\tdocno\tlabel\nq\tgreen tea\td\t2\nq\tgreen tea\te\t0\n",
        "\u{feff}sep=;\n\"qid\";\"docno\";\"label\"\nq;d;2\nq;e;0\n",
    ] {
        let parsed = read(text, HeaderLine::AsData).unwrap();
        assert_eq!(parsed.data, expected, "{text}");
        assert!(parsed.warnings.is_empty(), "{text}");
    }
    // In the order of TREC the header is an option.
    let trec = "qid\titeration\tdocno\tlabel\nq\t0\td\t2\nq\t0\te\t0\n";
    let parsed = read(trec, HeaderLine::Skip).unwrap();
    assert_eq!((parsed.data, parsed.warnings.len()), (expected, 0));
    let parsed = read(trec, HeaderLine::AsData).unwrap();
    assert_eq!((parsed.data.judgments(), parsed.warnings.len()), (3, 1));
    super::assert_cases(
        r#"qid,docno,label,label\nq,d,1,2\n => f:1: expected one field with a grade, found "label", "label"
qid,query_id,docno,label\nq,p,d,1\n => f:1: expected one field with a query id, found "qid", "query_id"
sep=,\n\ndocno,qid,doc_id,rel\nd,q,e,1\n => f:3: expected one field with a document id, found "docno", "doc_id"
qid\tdocno\tdoc_id\tlabel\nq\td\te\t1\n => f:1: expected one field with a document id, found "docno", "doc_id"
query-id\tcorpus-id\tscore\tlabel\nq\td\t1\t2\n => f:1: expected one field with a grade, found "score", "label"
{"qid": "q", "docno": "d", "label": 1, "rel": 2}\n => f:1: expected one field with a grade, found "label", "rel"
sep=,\nqid,docno,label\nq,d\n => f:3: expected 3 columns, found 2
qid,docno,rating\nq,d,1\n => f:1: expected a field with a grade, such as "score", found "qid", "docno", "rating"
q;docno;rel\nq;d;1\n => f:1: expected a field with a query id, such as "query-id", found "q", "docno", "rel"
query\tparagraph\trel\nq\td\t1\n => f:1: expected a field with a document id, such as "corpus-id", found "query", "paragraph", "rel"
qid,query,docno,doc,document,label\nq,tea,d,e,f,0.5\n => f:2: expected an integer as grade, found "0.5"
query,doc,document,label\nq,d,e,1\n => f:1: expected one field with a document id, found "doc", "document"
qid docno label\nq d 1\n => f:1: expected the names of a query, a document and a grade between tabs, commas or semicolons, found "qid docno label"
qid,docno,label\nq,d,high\n => f:2: expected an integer as grade, found "high""#,
        |text| read(text, HeaderLine::AsData).unwrap_err(),
    );
}

#[test]
fn qrels_in_json_arrays() {
    let read = |text: &str| {
        let read = ir_data::parse_qrels_any(text.as_bytes(), "f", HeaderLine::AsData);
        read.map_err(|error| error.to_string())
    };
    let expected = read("q 0 d 2\nr 0 d 0\n").unwrap().data;
    for text in [
        "[{\"qid\": \"q\", \"docno\": \"d\", \"label\": 2}, {\"qid\": \"r\", \"docno\": \"d\", \"label\": 0}]",
        "\n[\n  {\n    \"query-id\": \"q\",\n    \"corpus-id\": \"d\",\n    \"score\": 2.0\n  },\n  \
         {\"query-id\": \"r\", \"corpus-id\": \"d\", \"score\": 0}\n]\n",
    ] {
        assert_eq!(read(text).unwrap().data, expected, "{text}");
    }
    super::assert_cases(
        r#"[{"qid": "q", "docno": "d", "rating": 2}] => f:1: expected a field "score", found none
{"qid": "q", "docno": "d", "score": null}\n => f:1: expected a field "score", found none
{"qid": "q", "docno": "d"}\n{"qid": "q", "docno": "e", "score": 0} => f:2: expected no grade, as in the first record, found "score"
[\n{"qid": "q",\n"docno": "d", "label": 1}\n{ => f:4: expected `,` or `]` after an element of the array, found "{"
[] => f: expected records with `query-id`, `corpus-id` and `score`, found none"#,
        |text| read(text).unwrap_err(),
    );
    // A query id of TREC.
    let trec = read("[1] 0 d 2\n").unwrap();
    assert_eq!(trec.data.grade("[1]", "d"), Some(2));
}

/// A folder has the files that are read alone.
#[test]
fn beir_folders_in_other_formats() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
    fs::create_dir(root.join("qrels")).unwrap();
    write("corpus.jsonl", "{\"id\": \"d\", \"contents\": \"tea\"}\n");
    write("queries.jsonl", "{\"qid\": \"q\", \"query\": \"green\"}\n");
    write("qrels/test.tsv", "qid\tdocno\tlabel\nq\td\t1\n");
    write("qrels/dev.tsv", "q 0 d 2\n");
    let array = "[{\"qid\": \"q\", \"docno\": \"d\", \"relevance\": 3}]";
    write("qrels/train.jsonl", array);
    write("qrels/table.csv", "query-id,corpus-id,score\nq,d,4\n");
    write("qrels/ranx.json", "{\"q\": {\"d\": 5}}\n");
    write("qrels/pairs.tsv", "q\td\n");
    write("qrels/empty.tsv", "");
    write("qrels/none.jsonl", "\n");
    let collection = beir::BeirFolder::open(root).unwrap().into_collection();
    let docs: Result<Vec<_>, _> = collection.corpus().docs().unwrap().collect();
    let docs = docs.unwrap();
    assert_eq!((docs[0].id.as_str(), docs[0].text.as_str()), ("d", "tea"));
    for (split, grade) in [
        ("test", 1),
        ("dev", 2),
        ("train", 3),
        ("table", 4),
        ("ranx", 5),
    ] {
        let queries = collection.queries(split).unwrap();
        assert_eq!((queries.len(), queries[0].text.as_str()), (1, "green"));
        let qrels = collection.qrels(split).unwrap();
        assert_eq!(qrels.grade("q", "d"), Some(grade), "{split}");
        let alone = ir_data::read_split_qrels(root, split, HeaderLine::AsData);
        assert_eq!(alone.unwrap().unwrap().data, qrels);
    }
    // Collections do not print warnings.
    for (split, file, expected) in [
        (
            "pairs",
            "pairs.tsv",
            ":1: expected judgments that are read without a warning, found \"read as query and \
             document, without a grade; every grade is 1 (the output of `ir pool` has no grades \
             before documents are judged)\""
                .to_owned(),
        ),
        ("empty", "empty.tsv", format!(": {HEADER}none")),
        (
            "none",
            "none.jsonl",
            ": expected records with `query-id`, `corpus-id` and `score`, found none".to_owned(),
        ),
    ] {
        let path = root.join("qrels").join(file).display().to_string();
        let error = collection.qrels(split).unwrap_err().to_string();
        assert_eq!(error, format!("{path}{expected}"));
    }
}

#[test]
fn splits_in_two_files() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
    fs::create_dir(root.join("qrels")).unwrap();
    let json = "{\"query-id\": \"q\", \"corpus-id\": \"d\", \"score\": 1}\n";
    write("qrels/test.jsonl", json);
    let split = |split: &str| ir_data::read_split_qrels(root, split, HeaderLine::AsData);
    assert_eq!(split("test").unwrap().unwrap().data.judgments(), 1);
    assert!(split("dev").unwrap().is_none());
    write("corpus.jsonl", "{\"_id\": \"d\", \"text\": \"tea\"}\n");
    let qrels = || {
        beir::BeirFolder::open(root)
            .unwrap()
            .into_collection()
            .qrels("test")
    };
    assert_eq!(qrels().unwrap().judgments(), 1);
    let table = "query-id\tcorpus-id\tscore\nq\td\t1\n";
    write("qrels/test.tsv", table);
    assert_eq!(qrels().unwrap().judgments(), 1);
    write("qrels/test.tsv", &format!("{table}r\td\t0\n"));
    let file = |name: &str| root.join("qrels").join(name).display().to_string();
    let expected = format!(
        "{}: expected the judgments of {}, found others of query \"r\" (remove one of the files)",
        file("test.jsonl"),
        file("test.tsv")
    );
    assert_eq!(qrels().unwrap_err().to_string(), expected);
    assert_eq!(split("test").unwrap_err().to_string(), expected);
}

/// Endings in upper case are read, files in other compressions are errors, and other files in
/// `qrels` are listed.
#[test]
fn files_with_other_endings() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir(root.join("qrels")).unwrap();
    let write = |name: &str, text: &[u8]| fs::write(root.join(name), text).unwrap();
    let text = |text: &str| text.as_bytes().to_vec();
    write(
        "corpus.JSONL",
        &text("{\"_id\": \"d\", \"text\": \"tea\"}\n"),
    );
    write(
        "queries.Jsonl",
        &text("{\"_id\": \"q\", \"text\": \"tea\"}\n"),
    );
    write(
        "qrels/test.TSV",
        &text("query-id\tcorpus-id\tscore\nq\td\t1\n"),
    );
    write("qrels/dev.tsv.bz2", b"BZh91AY&SY\x5e\xe5");
    for name in ["qrels/.hidden", "qrels/README.md", "qrels/LICENSE"] {
        write(name, b"");
    }
    write("qrels/train.trec", b"q 0 d 1\n");
    write("qrels.parquet", b"");
    let opened = beir::BeirFolder::open(root).unwrap();
    assert_eq!(opened.splits(), ["dev", "test"]);
    assert_eq!(opened.qrels("test").unwrap().grade("q", "d"), Some(1));
    assert_eq!(opened.all_queries().unwrap()[0].id, "q");
    assert_eq!(opened.corpus().docs().unwrap().count(), 1);
    let message = |error: DataError, name: &str| {
        let expected = format!(
            "{}: expected uncompressed, gzip or zstd data, found bzip2 data (decompress the file first)",
            root.join(name).display()
        );
        assert_eq!(error.to_string(), expected);
    };
    message(opened.qrels("dev").unwrap_err(), "qrels/dev.tsv.bz2");
    let unread = ["qrels/train.trec", "qrels.parquet"].map(|name| root.join(name));
    assert_eq!(beir::unread_qrels(root).unwrap(), unread);
    // A readable copy takes precedence.
    write(
        "qrels/dev.tsv",
        &text("query-id\tcorpus-id\tscore\nq\td\t2\n"),
    );
    let opened = beir::BeirFolder::open(root).unwrap();
    assert_eq!(opened.qrels("dev").unwrap().grade("q", "d"), Some(2));

    fs::rename(root.join("queries.Jsonl"), root.join("queries.jsonl.bz2")).unwrap();
    write("queries.jsonl.bz2", b"BZh91AY&SY\x5e\xe5");
    let opened = beir::BeirFolder::open(root).unwrap();
    message(opened.all_queries().unwrap_err(), "queries.jsonl.bz2");
    fs::remove_file(root.join("corpus.JSONL")).unwrap();
    write("corpus.jsonl.bz2", b"BZh91AY&SY\x5e\xe5");
    let corpus = beir::BeirFolder::open(root).unwrap().corpus();
    let error = match corpus.docs() {
        Ok(mut docs) => docs.next().unwrap().unwrap_err(),
        Err(error) => error,
    };
    assert!(
        error
            .reason()
            .to_string()
            .contains("corpus.jsonl.bz2: expected uncompressed")
    );
    // A file in another format that can be read takes precedence.
    write("corpus.parquet", b"");
    let files = beir::BeirFolder::corpus_files(root).unwrap();
    assert_eq!(files, [root.join("corpus.parquet")]);
    fs::remove_file(root.join("corpus.parquet")).unwrap();
    // A part of a folder of documents.
    fs::remove_file(root.join("corpus.jsonl.bz2")).unwrap();
    fs::create_dir(root.join("corpus")).unwrap();
    write(
        "corpus/a.jsonl",
        &text("{\"_id\": \"d\", \"text\": \"tea\"}\n"),
    );
    write("corpus/b.jsonl.bz2", b"BZh91AY&SY\x5e\xe5");
    message(
        beir::BeirFolder::open(root).unwrap_err(),
        "corpus/b.jsonl.bz2",
    );
}
