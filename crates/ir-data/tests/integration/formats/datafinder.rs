//! DataFinder: corpus, queries, qrels and runs.

use ir_core::Document;
use ir_data::attribute;
use ir_data::datafinder::{self, HeaderLine, Quoting};

#[test]
fn datafinder_qrels_and_runs() {
    let qrels =
        |text: &str, quoting, header| datafinder::read_qrels(text.as_bytes(), "f", quoting, header);
    let header = "QueryID\t0\tDocID\tRelevance\r\n";
    let quoted = format!("{header}\"a_\"\"b\"\"\"\tQ0\tX\t1\r\n\"a_\"\"b\"\"\"\tQ0\tX\t1\r\n");
    let raw = qrels(&quoted, Quoting::Raw, HeaderLine::Skip).unwrap();
    assert_eq!(raw.data.grade("\"a_\"\"b\"\"\"", "X"), Some(1));
    assert_eq!(raw.warnings.len(), 1);
    let odd = raw.warnings[0].to_string();
    assert!(
        odd.starts_with("f:3: the judgment of line 2 again"),
        "{odd}"
    );
    let csv = qrels(&quoted, Quoting::Csv, HeaderLine::Skip).unwrap();
    assert_eq!(csv.data.grade("a_\"b\"", "X"), Some(1));
    // Without a header line, no line is skipped.
    let plain = qrels("q\tQ0\td\t1\n", Quoting::Raw, HeaderLine::Skip).unwrap();
    assert_eq!(plain.data.judgments(), 1);
    let table = r#"q\tQ0\td\t1\nq\tQ0\td\t2\n => f:2: expected one judgment per pair, found query "q" and document "d" of line 1 again
q\tQ0\td\t1\t5\n => f:1: expected 4 columns, found 5
q Q0 d 1\n => f:1: expected 4 columns, found 1
q\tQ0\td\t1\nr\tQ0\td\tone\n => f:2: expected an integer as grade, found "one"
"q\tQ0\td\t1\n => f:1: expected a quoted column with inner quotes doubled, found "\"q"
"a"b"\tQ0\td\t1\n => f:1: expected a quoted column with inner quotes doubled, found "\"a\"b\""
"\tQ0\td\t1\n => f:1: expected a quoted column with inner quotes doubled, found "\""
\tQ0\td\t1\n => f:1: expected a query id and a document id, found "\tQ0\td\t1""#;
    super::assert_cases(table, |text| {
        let error = qrels(text, Quoting::Csv, HeaderLine::Skip).unwrap_err();
        error.to_string()
    });

    let run =
        |text: &str| datafinder::read_run(text.as_bytes(), "f", Quoting::Raw, HeaderLine::Skip);
    let text = "QueryID\tQ0\tDocID\tRank\tScore\tRunID\r\nq\tQ0\tb\t1\t2.5\tmine\r\nq\tQ0\ta\t2\t3\tmine\r\n";
    let read = run(text).unwrap().data;
    assert_eq!((&*read.tag, &*read.get("q").unwrap()[0].doc), ("mine", "b"));
    let table = r#"q\tQ0\td\t1\tNaN\tt\n => f:1: expected a finite number as score, found "NaN"
q\tQ0\td\t1\t1\n => f:1: expected 6 columns, found 5
q\tQ0\td\t1\t1\tt\nq\tQ0\td\t2\t0\tt\n => f:2: expected each document of a query once, found "d""#;
    super::assert_cases(table, |text| run(text).unwrap_err().to_string());
}

#[test]
fn datafinder_queries() {
    let read = |text: &str| datafinder::read_test_queries(text.as_bytes(), "f", "t");
    let array = " [\n{\"query\": \"a  b\", \"documents\": [\"X Y\"], \"year\": 0, \"task\": \"\"},\n {\"query\": \"c\",\n \"documents\": []}\n]\n";
    let rows = read(array).unwrap();
    assert_eq!((&*rows[1].query.id, rows[1].positives.len()), ("t001", 0));
    let attributes = &rows[0].query.attributes;
    assert_eq!(attributes.text(datafinder::PUBLISHED_ID), Some("a_b"));
    assert!(attributes.year().is_none(), "0 is no year");
    // An empty field is absent.
    assert!(attributes.get(attribute::TASK).is_none());
    let qrels = datafinder::DatasetQuery::qrels(&rows);
    assert_eq!((qrels.len(), qrels.grade("t000", "X_Y")), (1, Some(1)));
    let table = r#"{"documents": []} => f:1: expected a field "query", found none
{"query": "a"} => f:1: expected a field "documents", found none
{"query": 1, "documents": []} => f:1: expected a string in query, found a number
{"query": "a", "documents": [1]} => f:1: expected an array of strings in documents, found a number
[{"query": "a", "documents": []},\n{"query": "a"}] => f:2: expected a field "documents", found none
[\n{"query": "a", "documents": []},\n3] => f:3: expected an object in the line, found a number
[{"query": "a", "documents": []} => f:1: expected `,` or `]` after an element of the array, found "the end of the file"
{"id": "x", "query": "a", "documents": []}\n{"id": "x", "query": "a", "documents": []} => f:2: expected a unique id, found "x", which is also on line 1"#;
    super::assert_cases(table, |text| read(text).unwrap_err().to_string());
    let train = "{\"query\": \"a\", \"n\": 12, \"positives\": [\"B C\"]}\n{\"query\": \"a\"}";
    let train = datafinder::read_training_queries(train.as_bytes(), "f", "train-").unwrap();
    assert_eq!(
        [0, 1].map(|n: usize| &*train[n].query.id),
        ["train-12", "train-1"]
    );
}

#[test]
fn datafinder_corpus() {
    let text = "{\"id\": \"Penn \\t Treebank\", \"contents\": \"a\\r\\nb\", \"year\": null, \"title\": \"\"}\n\
                {\"id\": \"Penn \\t Treebank\", \"contents\": \"again\", \"year\": 0}\n";
    let mut reader = datafinder::DatasetCorpus::read(text.as_bytes(), "f");
    let mut docs = Vec::new();
    let mut doc = Document::default();
    while reader.read(&mut doc).unwrap() {
        docs.push(doc.clone());
    }
    assert_eq!(docs.len(), 2, "repeated ids are kept");
    assert_eq!(docs[0].id, "Penn_Treebank");
    let name = docs[0].attributes.text(datafinder::NAME);
    assert_eq!(name, Some("Penn \t Treebank"));
    assert!(docs.iter().all(|doc| doc.attributes.year().is_none()));
    assert_eq!(docs[0].text, "a\r\nb");
}
