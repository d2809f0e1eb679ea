//! Records and judgments in SMART format.

use ir_core::AttributeValue;
use ir_data::smart::{self, CranfieldGrades, CranfieldSourceDocument, SmartFolder};
use ir_data::trec::HeaderLine;

#[test]
fn records_have_a_maximum_length() {
    let mut text = ".I 1\n.W\n".to_owned();
    let line = format!("{}\n", "tea ".repeat(255));
    text.push_str(&line.repeat(66_000));
    let error = smart::read_documents(text.as_bytes(), "cran").unwrap_err();
    let error = error.to_string();
    assert!(error.contains("a record of at most 64 MiB"), "{error}");
}

#[test]
fn smart_records() {
    let docs = |text: &str| smart::read_documents(text.as_bytes(), "f");
    let text = "\n.I 12\r\n.T \r\na\r\nb .\r\n.A\r\n.B\r\n.W\r\n  one\r\n\r\n.5 two\r\n.A\r\nthree\r\n.I 3\n.W\n.X\n1\t2\t3\n";
    let read = docs(text).unwrap();
    assert_eq!((&*read[0].id, &*read[0].title), ("12", "a b ."));
    // A repeated marker does not end the text.
    assert_eq!(read[0].text, "  one\n\n.5 two\nthree");
    assert!(read[0].attributes.get("author").is_none());
    assert_eq!((read[1].id.as_str(), read[1].text.as_str()), ("3", ""));
    let citations = AttributeValue::List(vec![AttributeValue::from(vec![1_i64, 2, 3])]);
    assert_eq!(read[1].attributes.get("citations"), Some(&citations));
    assert!(docs("").unwrap().is_empty());
    let table = r#"a\n.I 1\n => f:1: expected a record that starts with .I and a marker, found "a"
.I 1\na\n.W\n => f:2: expected a record that starts with .I and a marker, found "a"
.I\n.W\n => f:1: expected a number after .I, found ".I"
.I one\n.W\n => f:1: expected a number after .I, found ".I one"
.I 1\n.Q\n => f:2: expected one of .I .T .A .B .W .X .K .C .N, found ".Q"
.I 1\n.A\na\n.I 2\n.W\n => f:1: expected a field ".W", found none
.I 1\n.W\n.I 1\n.W\n => f:3: expected a unique id, found "1", which is also on line 1
.I 1\n.W\n.X\n1 2\n => f:1: expected three integers in each line of .X, found "1 2""#;
    super::assert_cases(table, |text| docs(text).unwrap_err().to_string());
    // Many documents of CACM are titles. Queries are texts.
    let title = ".I 1\n.T\na b\n.B\nCACM\n.I 2\n.W\nc\n";
    let titles = docs(title).unwrap();
    assert_eq!((&*titles[0].title, &*titles[0].text), ("a b", ""));
    let error = smart::read_queries(title.as_bytes(), "f").unwrap_err();
    assert_eq!(
        error.to_string(),
        "f:1: expected a field \".W\", found none"
    );
    let queries = smart::read_queries(&b".I 002\n.T\nt\n.A\nx\n.A\ny\n.W\nw\n"[..], "f").unwrap();
    assert_eq!((&*queries[0].id, &*queries[0].text), ("002", "w"));
    assert_eq!(queries[0].attributes.text("author"), Some("x; y"));
    assert_eq!(queries[0].attributes.text("title"), Some("t"));
}

#[test]
fn smart_judgments() {
    let read = |text: &str, codes, source| {
        smart::read_cranfield_judgments(text.as_bytes(), "f", codes, source)
    };
    let text = "1 184 2 \r\n1 12 4\r\n1 5 -1";
    let grades = |codes, source| {
        let qrels = read(text, codes, source).unwrap();
        ["184", "12", "5"].map(|doc| qrels.grade("1", doc))
    };
    use CranfieldGrades::{Binary, Graded, Raw};
    use CranfieldSourceDocument::{Drop, Relevant};
    for (codes, source, expected) in [
        (Graded, Relevant, [Some(3), Some(1), Some(1)]),
        (Binary, Drop, [Some(1), Some(1), None]),
        (Raw, Relevant, [Some(2), Some(4), Some(-1)]),
    ] {
        assert_eq!(grades(codes, source), expected);
    }
    let table = r#"1 184\n => f:1: expected 3 columns, found 2
1 184 2 3\n => f:1: expected 3 columns, found 4
1 184 5\n => f:1: expected a code: -1, 1, 2, 3 or 4, found "5"
q 184 1\n => f:1: expected an integer, found "q"
1 184 1\n1 184 2\n => f:2: expected one judgment per pair, found query "1" and document "184" of line 1 again"#;
    super::assert_cases(table, |text| {
        read(text, Graded, Relevant).unwrap_err().to_string()
    });
    let cisi = |text: &str| smart::read_cisi_judgments(text.as_bytes(), "f");
    let qrels = cisi("     1     28\t0\t0.000000\n").unwrap();
    assert_eq!(qrels.grade("1", "28"), Some(1));
    let error = cisi("1 28 0\n").unwrap_err().to_string();
    assert_eq!(error, "f:1: expected 4 columns, found 3");
}

#[test]
fn detected_judgments() {
    let read_as = |text: &str, source: &str| {
        let read = ir_data::parse_qrels_any(text.as_bytes(), source, HeaderLine::AsData);
        read.map(|parsed| parsed.data)
            .map_err(|error| error.to_string())
    };
    let read = |text: &str| read_as(text, "f");
    let grades_of = |qrels: ir_core::Qrels| {
        let docs = qrels.iter().flat_map(|(query, docs)| {
            let docs = docs.iter();
            docs.map(move |(doc, grade)| format!("{query} {doc} {grade}"))
        });
        docs.collect::<Vec<_>>()
    };
    let grades = |text: &str| grades_of(read(text).unwrap());
    let warnings = |text: &str, source: &str| {
        let read = ir_data::parse_qrels_any(text.as_bytes(), source, HeaderLine::AsData);
        let warnings = read.unwrap().warnings.into_iter();
        warnings.map(|it| it.to_string()).collect::<Vec<_>>()
    };
    // Cranfield.
    let text = "\u{feff}\n1 184 2 \n\n1 12 4\r\n1 13 3\n1\t5\t-1";
    for source in ["cranqrel", "data/CRANQREL.gz"] {
        let found = grades_of(read_as(text, source).unwrap());
        assert_eq!(found, ["1 12 1", "1 13 2", "1 184 3", "1 5 1"]);
        let expected = format!(
            "{source}:2: read as codes of Cranfield: 1, 2, 3 and 4 are the grades 4, 3, 2 and 1, \
             and -1 is the grade 1"
        );
        assert_eq!(warnings(text, source), [expected]);
    }
    // In a file of another name, the numbers may be grades.
    for text in [
        "1 184 -1\n1 11 3\n1 12 4\n",
        "1 184 -1\n",
        "1 184 -1\n1 11 1\n2 10 -1\n2 12 2\n",
        "1 184 -1\n1 11 3\n",
    ] {
        assert_eq!(
            read(text).unwrap_err(),
            "f:1: expected the columns `query 0 document grade`, or codes of Cranfield (1 to 4 are \
             the grades 4 to 1) in a file named cranqrel, found \"1 184 -1\""
        );
    }
    // The code -1 is what tells it from grades.
    let error = read("1 184 2\n1 12 4\n").unwrap_err();
    assert_eq!(error, "f:1: expected 4 columns, found 3");
    // CISI and CACM.
    let expected = ["1 1410 1", "1 28 1"];
    let cisi = "    1     28\t0\t0.000000\n 1 1410 0 0.000000\n";
    assert_eq!(grades(cisi), expected);
    assert_eq!(grades("01 1410  0 0\n01 28  0 0\n"), expected);
    let warning = "f:1: read as judgments of CISI or CACM, without a grade; every grade is 1";
    assert_eq!(warnings(cisi, "f"), [warning]);
    let many: String = (1..2000).map(|doc| format!("01 {doc}  0 0\n")).collect();
    assert_eq!(grades(&many).len(), 1999);
    // TREC: the second column is ignored.
    assert_eq!(grades("1 0 0 0\n"), ["1 0 0"]);
    assert_eq!(grades("1 28 0 0\n1 28 7 1\n"), ["1 0 0", "1 7 1"]);
    assert_eq!(grades("1 0 28 0\n"), ["1 28 0"]);
    assert!(grades("").is_empty());
    assert_eq!(
        read("1\t28\t1\n").unwrap_err(),
        "f:1: expected the tab-separated header line `query-id corpus-id score`, found \"1\\t28\\t1\""
    );
}

/// The archives of MEDLINE, CACM and Cranfield.
#[test]
fn folders() {
    for (files, query, grades) in [
        (
            [
                ("MED.ALL", ".I 1\n.W\nlens\n.I 2\n.W\nacids\n"),
                ("MED.QRY", ".I 1\n.W\nthe lens\n"),
                ("MED.REL", "1 0 1 1\n1 0 2 1\n"),
                ("MED.REL.OLD", "1 1 1\n"),
            ],
            ("1", "the lens"),
            [1, 1],
        ),
        (
            [
                ("cacm.all", ".I 1\n.T\nlists\n.I 2\n.T\na\n.W\nb\n"),
                ("query.text", ".I  1\n.W\n lists\n.N\nan author\n"),
                ("qrels.text", "01 1  0 0\n01 2  0 0\n"),
                ("common_words", "a\nthe\n"),
            ],
            ("1", " lists"),
            [1, 1],
        ),
        (
            [
                ("cran.all.1400", ".I 1\n.T\nwings\n.W\nw\n.I 2\n.W\n"),
                ("cran.qry", ".I 001\n.W\nwings\n.I 004\n.W\nheat\n"),
                ("cranqrel", "1 1 2 \n1 3 3\n1 4 4\n1 2 -1"),
                ("cranqrel.readme", "codes"),
            ],
            ("1", "wings"),
            [3, 1],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        // A folder of an archive beside the files.
        std::fs::create_dir(folder.path().join("other.all")).unwrap();
        let path = folder.path().to_string_lossy();
        let collection = ir_data::open_path_or_name(&path).unwrap();
        assert_eq!(collection.corpus().docs().unwrap().count(), 2);
        assert_eq!(collection.splits(), ["test"]);
        let queries = collection.queries("test").unwrap();
        assert_eq!((&*queries[0].id, &*queries[0].text), query);
        let qrels = collection.qrels("test").unwrap();
        let found = ["1", "2"].map(|doc| qrels.grade("1", doc).unwrap());
        assert_eq!(found, grades);
        assert!(collection.qrels("train").is_err());
    }
}

#[test]
fn incomplete_and_ambiguous_folders() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    // Another file whose name ends so.
    write("notes.all", "a note\n");
    assert!(SmartFolder::find(folder.path()).unwrap().is_none());
    let error = SmartFolder::open(folder.path()).unwrap_err();
    assert!(error.is_missing(), "{error}");
    write("a.all", ".I 1\n.W\ntea\n");
    let collection = SmartFolder::open(folder.path()).unwrap().into_collection();
    assert!(collection.splits().is_empty());
    assert!(collection.all_queries().unwrap().is_empty());
    write("a.rel", "1 0 1 1\n");
    let collection = SmartFolder::open(folder.path()).unwrap().into_collection();
    assert!(collection.queries("test").is_err());
    write("b.all", ".I 1\n.W\nmilk\n");
    let error = SmartFolder::open(folder.path()).unwrap_err();
    let expected = format!(
        "{}: expected one file of documents (*.ALL) in the folder, found also {}",
        path("b.all"),
        path("a.all")
    );
    assert_eq!(error.to_string(), expected);
    let missing = SmartFolder::find(folder.path().join("nowhere"));
    assert!(missing.is_err());
}
