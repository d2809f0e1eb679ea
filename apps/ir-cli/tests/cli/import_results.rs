//! `ir import-results`.

use crate::common::{Folder, tiny, words};

const DATASETS: &str = r#"{"id": "Penn_Treebank", "contents": "Parsed news.", "title": "A large corpus", "year": 1993, "variants": ["Penn Treebank", "PTB"], "homepage": "https://www.example.org/ptb/"}
{"id": "SQuAD", "contents": "Questions.", "title": "100,000+ questions", "year": 2016, "variants": ["SQuAD"]}
{"id": "CoQA", "contents": "Conversations.", "title": "", "year": 2018, "variants": ["CoQA"]}
{"id": "MS_COCO", "contents": "Images.", "title": "", "variants": ["COCO"]}
"#;

const QUERIES: &str = r#"{"id": "t1", "query": "answer questions", "documents": ["SQuAD"], "year": 2017}
{"id": "t2", "query": "parse news", "documents": ["Penn Treebank"], "year": 2019}
"#;

/// A folder with datasets and queries in DataFinder's format.
fn datasets() -> Folder {
    let here = Folder::new();
    here.write("datasets.jsonl", DATASETS);
    here.write("queries.jsonl", QUERIES);
    here
}

const IMPORT: [&str; 4] = [
    "import-results",
    "datasets.jsonl",
    "--queries",
    "queries.jsonl",
];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&IMPORT[..], more].concat()
}

#[test]
fn lists_of_two_searches() {
    let here = datasets();
    here.write(
        "engine.tsv",
        "t1\tqa\tsquad\nt1\tqa\tCoQA\nt1\tqa\tSomething else\nt1\tqa\tcoco\n\
         t1\ttext\tSQuAD\nt1\ttext\thttp://example.org/ptb?x=1\n\
         parse news\t-\thttps://hub.example.com/dataset/ms-coco\n",
    );
    let columns = ["engine.tsv", "--columns", "query,search,result", "-k", "5"];
    let ran = here.ir(&with(&columns)).ok();
    // SQuAD of the second list uses up its turn.
    let expected = "t1 Q0 SQuAD 1 5.0 ir-import\n\
                    t1 Q0 CoQA 2 4.0 ir-import\n\
                    t1 Q0 Penn_Treebank 3 3.0 ir-import\n\
                    t1 Q0 MS_COCO 4 2.0 ir-import\n\
                    t2 Q0 MS_COCO 1 5.0 ir-import\n";
    assert_eq!(ran.out, expected);
    assert!(
        ran.err
            .contains("1 results name no document, such as \"Something else\""),
        "{}",
        ran.err
    );

    let more = words("--not-later-than-query --tag engine -o run.trec --unmatched un.tsv");
    here.ir(&with(&[&columns[..], &more].concat())).ok();
    // CoQA is newer than the query.
    assert_eq!(here.read("un.tsv"), "Something else\tt1\n");
    let run = here.read("run.trec");
    let docs: Vec<&str> = run
        .lines()
        .map(|line| line.split(' ').nth(2).unwrap())
        .collect();
    assert_eq!(docs, ["SQuAD", "MS_COCO", "Penn_Treebank", "MS_COCO"]);

    // The unmatched results, completed by ids, are a map.
    here.write("map.tsv", "something else\tPenn Treebank\n");
    let more = [&columns[..], &["--map", "map.tsv", "--depth", "3"]].concat();
    let ran = here.ir(&with(&more)).ok();
    let docs: Vec<&str> = ran
        .out
        .lines()
        .map(|line| line.split(' ').nth(2).unwrap())
        .collect();
    assert_eq!(docs, ["SQuAD", "CoQA", "Penn_Treebank", "MS_COCO"]);
    assert!(!ran.err.contains("name no document"), "{}", ran.err);
}

#[test]
fn json_files_and_standard_input() {
    let here = datasets();
    let lists = r#"[{"query": "t1", "search": "a", "results": ["SQuAD", {"name": "CoQA"}]},
        {"query": "t1", "search": "b", "results": [{"url": "https://example.org/ptb", "name": "unknown"}]}]"#;
    here.write("a.json", lists);
    let expected = here.ir(&with(&["a.json"])).ok().out;
    let first = "t1 Q0 SQuAD 1 1000.0 ir-import\nt1 Q0 Penn_Treebank 2 999.0 ir-import\n";
    assert!(expected.starts_with(first), "{expected}");
    assert_eq!(here.ir_with(&with(&["-"]), lists).ok().out, expected);
    // Two files are two lists, whatever their format; ranks order a list.
    here.write("b.tsv", "\nt1\t2\tSQuAD\nt1\t1\tMS COCO\n");
    let files = words("b.tsv a.json --columns query,rank,result -k 2");
    let out = here.ir(&with(&files)).ok().out;
    assert_eq!(
        out,
        "t1 Q0 MS_COCO 1 2.0 ir-import\nt1 Q0 SQuAD 2 1.0 ir-import\n"
    );
}

/// The queries of a collection, and evaluation of the run.
#[test]
fn queries_of_a_collection() {
    let here = Folder::new();
    tiny(&here);
    here.write("lists.tsv", "q1\ttea\nq2\tcoffee\nq2\td3\n");
    here.ir("import-results tiny lists.tsv -o run").ok();
    let out = here.ir("eval -m recip_rank tiny run").ok().out;
    assert!(out.contains("0.7500"), "{out}");
    here.write("other.tsv", "q9\ttea\n");
    here.ir("import-results tiny other.tsv").fails(
        1,
        &["other.tsv:1: expected the id or the text of a query, found \"q9\""],
    );
    let ran = here
        .ir("import-results tiny lists.tsv --not-later-than-query")
        .ok();
    assert!(ran.err.contains("no query has a year"), "{}", ran.err);
}

#[test]
fn invalid_input() {
    let here = datasets();
    here.write("short.tsv", "t1\n");
    here.write("long.tsv", "t1\tSQuAD\nt1\tSQuAD\t3\n");
    here.write("bad.json", "{\"query\": \"t1\"}\n");
    here.write("empty.tsv", "");
    here.write("map.tsv", "a\tnone\n");
    here.write("good.tsv", "t1\tSQuAD\n");
    for (more, parts) in [
        (
            &["short.tsv"][..],
            &["short.tsv:1: expected 2 columns, found 1"][..],
        ),
        (&["long.tsv"], &["long.tsv:2: expected 2 columns, found 3"]),
        (&["bad.json"], &["bad.json:1: expected a field \"results\""]),
        (&["none.tsv"], &["none.tsv"]),
        (
            &["good.tsv", "--map", "map.tsv"],
            &["map.tsv:1: expected the id of a document"],
        ),
    ] {
        here.ir(&with(more)).fails(1, parts);
    }
    for (more, parts) in [
        (
            &["good.tsv", "--columns", "query"][..],
            &["--columns: expected a column result"][..],
        ),
        (
            &["good.tsv", "--columns", "query,query,result"],
            &["found one twice"],
        ),
        (
            &["good.tsv", "--columns", "query,url"],
            &["--columns", "found \"url\""],
        ),
        (&["good.tsv", "-k", "0"], &["--hits"]),
        (&["-", "-"], &["-"]),
        (&["good.tsv", "-o", "good.tsv"], &["good.tsv"]),
        (
            &["good.tsv", "--unmatched", "datasets.jsonl"],
            &["datasets.jsonl"],
        ),
    ] {
        here.ir(&with(more)).fails(2, parts);
    }
    assert_eq!(here.read("good.tsv"), "t1\tSQuAD\n");
    let ran = here.ir(&with(&["empty.tsv"])).ok();
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("empty.tsv: no results"), "{}", ran.err);
}

/// Combinations of the values of the attributes, as in Section 4.3 of the DataFinder paper.
#[test]
fn queries_for_an_engine() {
    let here = datasets();
    here.write(
        "fields.jsonl",
        r#"{"id": "t1", "query": "answer", "documents": ["SQuAD"], "task": "Question Answering, parsing", "modality": "Text", "text_length": "paragraph-level"}
{"id": "t2", "query": "parse  news", "documents": ["SQuAD"]}
"#,
    );
    let write = "import-results datasets.jsonl --queries fields.jsonl --write-queries searches.tsv";
    let ran = here.ir(write).ok();
    let expected = "t1\tquestion answering text paragraph\nt1\tparsing text paragraph\n\
                    t2\tparse news\n";
    assert_eq!(here.read("searches.tsv"), expected);
    assert!(ran.err.contains("3 searches of 2 queries"), "{}", ran.err);
    assert!(ran.err.contains("text_length: 1;"), "{}", ran.err);
    here.write("engine.tsv", "t1\tSQuAD\n");
    here.ir(&format!("{write} -k 5"))
        .fails(2, &["--write-queries", "--hits"]);
    let both = "import-results datasets.jsonl engine.tsv --write-queries searches.tsv";
    here.ir(both).fails(2, &["--write-queries"]);
    here.ir("import-results datasets.jsonl")
        .fails(2, &["<RESULTS>"]);
}
