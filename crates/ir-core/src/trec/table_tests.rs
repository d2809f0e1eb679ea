//! Tests of runs as tables.

use super::{HeaderLine, Parsed, RunLine, TrecReadError, read_run, split_run};
use crate::run::Run;

fn run(text: &str) -> Result<Parsed<Run>, TrecReadError> {
    read_run(text.as_bytes(), "run", HeaderLine::AsData)
}

/// Runs of data frames, with the columns in any order and other columns beside them.
#[test]
fn runs_in_tables() {
    let expected = run("1 Q0 d,1 1 2.5 x\n2 Q0 e 1 -1e-3 x\n").unwrap().data;
    for (header, rows) in [
        (
            "qid,docno,score,rank,query",
            "1,\"d,1\",2.5,0,green tea\n\n2,e,-1e-3,0,\"say \"\"tea\"\"\"",
        ),
        (
            "\"query_id\";\"doc_id\";\"score\"",
            "\"1\"; \"d,1\" ;2.5\n2;e;-1e-3",
        ),
        ("q-id\tdocid\tscore", "1\td,1\t2.5\n2\te\t-1e-3"),
        ("query_id doc_id  Score", "1 d,1  2.5\n2 e -1e-3"),
        (
            "Query ID, Doc ID, Rank, Score",
            "1, \"d,1\", 7, 2.5\n2, e, 9, -1e-3",
        ),
        (
            "qid\tdocid\tdocno\trank\tscore\tquery",
            "1\t17\td,1\t0\t2.5\tgreen tea\n2\t18\te\t0\t-1e-3\tmilk",
        ),
        (",qid,docno,score", "0,1,\"d,1\",2.5\n1,2,e,-1e-3"),
        ("\tqid\tdocno\tscore", "0\t1\td,1\t2.5\n1\t2\te\t-1e-3"),
        ("sep=;\nqid;docno;score", "1;d,1;2.5\n2;e;-1e-3"),
    ] {
        for (header_line, end) in [(HeaderLine::AsData, "\n"), (HeaderLine::Skip, "\r\n")] {
            let text = format!("\u{feff}\n# comment\n{header}\n{rows}\n").replace('\n', end);
            let read = read_run(text.as_bytes(), "run.csv", header_line).unwrap();
            assert_eq!(read.warnings, [], "{text}");
            for query in ["1", "2"] {
                assert_eq!(read.data.get(query), expected.get(query), "{text}");
            }
            assert_eq!((read.data.len(), &*read.data.tag), (2, ""), "{text}");
        }
    }
    let tagged = run("run,qid,docno,score\nbm25,1,d,1\n").unwrap();
    assert_eq!(tagged.data.tag, "bm25");
    let ranked = run("qid,docno,rank\n1,d,1\n1,e,4.0\n").unwrap();
    let scores: Vec<f64> = ranked
        .data
        .get("1")
        .unwrap()
        .iter()
        .map(|hit| hit.score)
        .collect();
    assert_eq!(scores, [1.0, 0.25]);
    let warning = "run:1: read as a run with ranks and without scores; the score is 1 / rank";
    assert_eq!(ranked.warnings[0].to_string(), warning);
    let infinite = run("qid,docno,score\n1,d,inf\n").unwrap();
    let warning = "run:2: the score \"inf\" counts as infinite";
    assert_eq!(infinite.warnings[0].to_string(), warning);
}

#[test]
fn errors_of_tables() {
    for (text, expected) in [
        (
            "qid,docno,score\n1,d,2\n1,e,0.5x\n",
            "run:3: expected a number in the field \"score\", found \"0.5x\"",
        ),
        (
            "qid;docno;Score\n1;d;0,5\n",
            "run:2: expected a number in the field \"Score\", found \"0,5\"",
        ),
        (
            "qid,docno,score\n1,d,nan\n",
            "run:2: expected a score, found NaN",
        ),
        (
            "qid,docno,rank\n1,d,0\n",
            "run:2: expected a rank (an integer of at least 1) in the field \"rank\", found \"0\"",
        ),
        (
            "qid,docno,score\n1,,2\n",
            "run:2: expected an id in the field \"docno\", found an empty cell",
        ),
        (
            "qid,docno,score\n1,d\n",
            "run:2: expected 3 cells, as in the header line, found 2",
        ),
        (
            "qid,docno,score\n1,\"d,2\n",
            "run:2: expected a quote at the end of a cell with a quote at its start, found none",
        ),
        (
            "qid,query_id,docno,score\n1,1,d,2\n",
            "run:1: expected one field with a query id, such as \"qid\", found qid, query_id",
        ),
        (
            "qid,docno,score\n1,d,2\n1,d,1\n",
            "run:3: document \"d\" of query \"1\" is already in line 2",
        ),
        (
            "qid,docno,label\n1,d,2\n",
            "run:1: expected at least 6 columns, found 1 with commas (columns are between white \
             space; a table with commas has a header line, such as qid,docno,score)",
        ),
    ] {
        assert_eq!(run(text).unwrap_err().to_string(), expected, "{text}");
    }
}

/// A table is one chunk.
#[test]
fn chunks_of_tables() {
    let path = std::env::temp_dir().join(format!("ir-core-table-{}", std::process::id()));
    let rows = (0..40).map(|n| format!("q{},d{n},{n}\n", n / 4));
    let rows: String = rows.collect();
    for header in [
        "qid,docno,score\n",
        "sep=,\nqid,docno,score\n",
        "# a\n\nqid,docno,score\n",
    ] {
        std::fs::write(&path, format!("{header}{rows}")).unwrap();
        let chunks = split_run(&path, 30).unwrap();
        assert_eq!(chunks.len(), 1);
        let mut found = 0;
        let each = |line: RunLine<'_>| {
            assert_eq!(line.score, f64::from(found));
            found += 1;
            Ok::<(), TrecReadError>(())
        };
        chunks[0].scan(HeaderLine::AsData, each).unwrap();
        assert_eq!(found, 40);
    }
    std::fs::remove_file(&path).unwrap();
}
