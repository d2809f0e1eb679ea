//! Tests of the kinds of files.

use super::*;

#[test]
fn kinds() {
    use FileKind::{Documents, Judgments, Queries, Run, Unclear, Vectors};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    for (text, expected) in [
        ("q1 Q0 d1 1 2.5 bm25\n", Run),
        ("q1\t0\td1\t1\n", Judgments),
        ("query-id\tcorpus-id\tscore\nq\td\t1\n", Judgments),
        ("\u{feff}Query_ID\tcorpus_id\tscore\n", Judgments),
        (
            r#"{"query-id": "q", "corpus-id": "d", "score": 1}"#,
            Judgments,
        ),
        (r#"{"q\"1": {"d1": 1}}"#, Judgments),
        (r#"{ "q1" : { "d1" : 1.5, "d2": 1}}"#, Run),
        (
            r#"{"q1": {"d1": 10, "d2": 9}, "q2": {"d1": 3}}"#,
            Unclear(DESCENDING),
        ),
        (
            "{\n  \"q1\": {\n    \"d}\": 2,\n    \"d2\": -1\n  }, \"q3",
            Unclear(DESCENDING),
        ),
        (
            r#"{"q1": {"d1": 10, "d2": 9}, "q2": {"d1": 1, "d2": 1}}"#,
            Judgments,
        ),
        (r#"{"q1": {"d1": 1}, "q2": {"d1": 0}}"#, Judgments),
        (
            r#"{"_id": "d", "metadata": {"year": 2}, "text": ""}"#,
            Documents,
        ),
        (
            r#"{"metadata": {"title": "x"}, "_id": "d", "text": ""}"#,
            Documents,
        ),
        (r#"[{"id": "d", "contents": ""}]"#, Documents),
        (
            r#"[{"query-id": "q", "corpus-id": "d", "score": 1}, {"query-id": "q"}]"#,
            Judgments,
        ),
        (
            "[\n  {\n    \"qid\": 1,\n    \"docno\": 2,\n    \"label\": 0\n  }\n]",
            Judgments,
        ),
        (r#"{"qid": "q", "docno": "d", "rank": 1}"#, Run),
        (
            r#"[{"query-id": 1, "doc_id": 2, "score": 0.5}, {"query-id": 1}]"#,
            Run,
        ),
        ("qid,docno,score,rank,query\nq,a,2,1,tea\n", Run),
        ("query-id\tcorpus-id\tscore\nq\td\t1\nq\te\t0.5\n", Run),
        ("qid docno score\nq d 0.5\n", Run),
        ("qid docno  score\nq   d      0.5\nr   ee 0.25\n", Run),
        (
            "QueryID\tQ0\tDocID\tRank\tScore\tRunID\nq\tQ0\td\t1\t2.5\tt\n",
            Run,
        ),
        ("one Q0 two three four five\nq Q0 d 1 2.5 t\n", Run),
        ("query_id 0 doc_id rel\nq 0 d 1\nq 0 e 0\n", Judgments),
        ("d1\tgreen tea leaf\nd2\t0 degrees 5\n", Documents),
        (r#"{"qid": 1, "query": ""}"#, Queries),
        (r#"{"query": "", "documents": []}"#, Queries),
        (
            r#"{"id": 1, "vector": [0.5]}"#,
            Vectors("JSON lines of vectors"),
        ),
        (
            r#"[{"docno": "d", "Embeddings": [0.5]}]"#,
            Vectors("JSON array of vectors"),
        ),
        (
            r#"{"id": "d", "vector": {"tea": 0.5}}"#,
            Vectors("JSON lines of sparse vectors"),
        ),
        (
            r#"{"vector": {"tea": 0.5}, "_id": 1}"#,
            Vectors("JSON lines of sparse vectors"),
        ),
        (
            r#"{"id": "d", "contents": "", "vector": {"tea": 0.5}}"#,
            Documents,
        ),
        ("\n<DOC>\n<DOCNO>", Documents),
        (
            "<?xml version='1.0'?>\n<topics>\n<topic number='1'>",
            Queries,
        ),
        ("<top>\n<num>", Queries),
        ("<parameters>", Queries),
        ("<?xml version='1.0'?>\n<!-- tea -->\n<DOC>", Documents),
        ("<root>\n<DOC>", Documents),
        ("<queries>\n<query>", Queries),
        ("1 184 2\n1 29 -1\n", Judgments),
        ("01 1410  0 0\n01 1572  0 0\n", Judgments),
        ("q1 d1\nq1 d2\n", Judgments),
        ("q1 d1 1\nq1 d2 2\n", Run),
        ("q1 d1 1\nq1 d2 2\nq2 d1 1\n", Run),
        ("q1 d1 1\nq1 d2 1\n", Unclear(THREE_WORDS)),
        ("301 a 3\n", Unclear(THREE_WORDS)),
        ("301,FT-1,1\n301,FT-2,0\n", Unclear(THREE_CELLS)),
        ("\"301\"; \"FT-1\"; 1\n", Unclear(THREE_CELLS)),
        ("301,green tea,1\n", Documents),
        ("301,FT-1,1\n301,FT-2,high\n", Documents),
        ("q1\td1\t1\nq1\td2\t2\n", Unclear(THREE_COLUMNS)),
        ("q1\td1\nq1\td2\n", Unclear(TWO_COLUMNS)),
        ("qid\tpid\nq1\td1\n", Judgments),
        ("query-id,corpus-id\nq1,d1\n", Judgments),
        ("query,docno,rel\nq1,d1,1\n", Judgments),
        // Beside an id or a text, a query and a document are texts.
        ("docno,text,query,label\nd1,green tea,tea,1\n", Documents),
        (
            r#"{"id": 1, "query": "tea", "document": "leaf", "label": 1}"#,
            Queries,
        ),
        ("\tquery-id\tcorpus-id\tscore\n0\tq1\td1\t1\n", Judgments),
        (r#"{"qid": "q", "pid": "d"}"#, Judgments),
        ("d1\ttea\nd2\tgreen tea\n", Documents),
        ("d1\ttea\t1\nd2\tmilk\tWhite\n", Documents),
        ("d1\ttea 1\nd2\ttea 2\n", Documents),
        ("id\ttext\nd1\ttea\n", Documents),
        ("no,body text\nd1,green tea\n", Documents),
        ("qid,query\n1,tea\n", Queries),
        ("id\ttext\ttitle\n", Documents),
        ("d1\tgreen tea\n", Documents),
        ("", Documents),
    ] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(FileKind::detect(&path).unwrap(), expected, "{text}");
    }
}
#[test]
fn judgment_formats() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    for (text, expected) in [
        ("q1 0 d1 1\n", "TREC qrels"),
        ("query-id\tcorpus-id\tscore\nq\td\t1\n", "BEIR qrels"),
        (
            "qid,docno,label\nq,d,1\n",
            "BEIR qrels: table with a header line",
        ),
        ("{\"q1\": {\"d1\": 1}}", "JSON"),
        ("1 184 2\n1 29 -1\n", "Cranfield, CISI and CACM"),
        (
            "1 28 0 0.000000\n1 35 0 0.000000\n",
            "Cranfield, CISI and CACM",
        ),
        ("q1 d1\nq1 d2\n", "pairs"),
    ] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(
            FileKind::judgment_format(&path).unwrap(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn fvecs_are_known_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docs.FVECS");
    std::fs::write(&path, [1, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    assert_eq!(FileKind::detect(&path).unwrap(), FileKind::Vectors("fvecs"));
}
