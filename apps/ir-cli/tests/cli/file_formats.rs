//! Tables, arrays, Parquet and Arrow as inputs of commands; names of fields.

use crate::common::{Folder, Ran};

pub(crate) const PARQUET: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/ir-data/testdata/parquet/"
);

#[cfg(feature = "arrow")]
const ARROW: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/ir-data/testdata/arrow/"
);

fn ids(ran: Ran) -> Vec<String> {
    let lines = ran.ok().out;
    let ids = lines.lines().filter_map(|line| line.split(' ').nth(2));
    ids.map(str::to_owned).collect()
}

/// The same documents in every format have the same ranking.
#[test]
fn documents_and_queries_of_every_format() {
    let here = Folder::new();
    here.write("lines.jsonl", "{\"id\": \"a\", \"text\": \"green tea\", \"year\": 2017}\n{\"id\": \"b\", \"text\": \"tea, tea\", \"year\": 2020}\n");
    here.write("array.json", "[{\"id\": \"a\", \"text\": \"green tea\", \"year\": 2017},\n\n{\"id\": \"b\",\n \"text\": \"tea, tea\", \"year\": 2020}]");
    here.write(
        "comma.csv",
        "year,text,id\n2017,green tea,a\n2020,\"tea, tea\",b\n",
    );
    here.write(
        "semicolon.csv",
        "\u{feff}ID;Text;year\r\na;green tea;2017\r\nb;tea, tea;2020\r\n",
    );
    here.write(
        "header.tsv",
        "id\ttext\tyear\na\tgreen tea\t2017\nb\ttea, tea\t2020\n",
    );
    here.write("plain.tsv", "a\tgreen tea\nb\ttea, tea\n");
    for queries in [
        "qid,query\n1,tea\n",
        "query\tqid\ntea\t1\n",
        "[{\"qid\": 1, \"query\": \"tea\"}]",
        "1\ttea\n",
    ] {
        here.write("queries", queries);
        for docs in [
            "lines.jsonl",
            "array.json",
            "comma.csv",
            "semicolon.csv",
            "header.tsv",
            "plain.tsv",
        ] {
            let args = ["search", docs, "--queries", "queries"];
            assert_eq!(ids(here.ir(&args)), ["b", "a"], "{docs} {queries}");
            if docs != "plain.tsv" {
                let filtered = here.ir(&[&args[..], &["--filter", "year<=2018"]].concat());
                assert_eq!(ids(filtered), ["a"], "{docs}");
            }
        }
    }
    let folder = format!("{PARQUET}hub");
    assert_eq!(
        ids(here.ir(&["search", &folder, "--split", "test"])),
        ["d1", "d2", "d3"]
    );
    let parquet = format!("{PARQUET}corpus-snappy.parquet");
    let queries = format!("{PARQUET}polars.parquet");
    assert_eq!(
        ids(here.ir(&["search", &parquet, "--queries", &queries])),
        ["d1", "d2", "d3"]
    );
    let qrels = format!("{PARQUET}hub/data/test-00000-of-00002.parquet");
    here.write("run", "q1 Q0 d2 1 1 x\n");
    for qrels in [&qrels, &folder] {
        let ran = here.ir(&["eval", "-m", "recip_rank", qrels, "run"]).ok();
        assert!(ran.out.contains("1.0000"), "{}", ran.out);
    }
}

#[test]
fn given_names_of_fields() {
    let here = Folder::new();
    here.write("docs.csv", "key,summary,text\na,tea,milk\nb,water,tea\n");
    here.write(
        "docs.jsonl",
        "{\"key\": 1, \"summary\": \"tea\", \"text\": \"milk\"}\n",
    );
    let names = ["--id-field", "key", "--text-field", "summary"];
    let search = |docs: &str| here.ir(&[&["search", docs, "--queries", "q"], &names[..]].concat());
    here.write("q", "1\ttea\n");
    assert_eq!(ids(search("docs.csv")), ["a"]);
    assert_eq!(ids(search("docs.jsonl")), ["1"]);
    let options = "(--id-field NAME and --text-field NAME name them)";
    for (name, expected) in [
        (
            "docs.csv",
            "docs.csv:1: expected 2 to 3 columns, found 1 (read as TSV",
        ),
        ("docs.jsonl", "docs.jsonl:1: expected a field \"_id\""),
    ] {
        here.ir(&["search", name, "tea"])
            .fails(1, &[expected, options]);
    }
    here.write("topics.csv", "number,words\n1,tea\n");
    let topics = ["search", "docs.csv", "--queries", "topics.csv"];
    here.ir(&[&topics[..], &names[..]].concat()).fails(
        1,
        &[
            "topics.csv:1: expected 2 columns, found 1 (read as TSV",
            "(--query-id-field NAME and --query-field NAME name them)",
        ],
    );
    let ran = here.ir(&["search", "docs.csv", "tea", "--id-field", "name"]);
    ran.fails(
        1,
        &["docs.csv:1: expected a field \"name\", found \"key\", \"summary\", \"text\""],
    );
    for (option, value) in [("--title-field", "headin"), ("--text-field", "txt")] {
        let ran = here.ir(&[
            "search",
            "docs.csv",
            "tea",
            "--id-field",
            "key",
            option,
            value,
        ]);
        let expected = format!(
            "error: {option}: docs.csv:1: expected a field \"{value}\", found \"key\", \"summary\", \"text\"\n"
        );
        assert_eq!(ran.fails(1, &[]).err, expected);
    }
    here.write("docs.tsv", "a\ttea\n");
    let ran = here.ir(&["index", "docs.tsv", "-o", "x.ir", "--text-field", "b"]);
    ran.fails(1, &["docs.tsv:1: expected a field \"b\""]);
    let ran = here.ir(&["search", "bundled", "tea", "--title-field", "name"]);
    ran.fails(
        2,
        &[
            "--title-field: expected a file with names of fields",
            "found bundled",
        ],
    );
}

/// Columns of pandas are no judgments in the JSON of ranx. An unpaired quote is a warning.
#[test]
fn tables_that_are_misread() {
    let here = Folder::new();
    here.write(
        "x.json",
        r#"{"id":{"0":1,"1":2},"text":{"0":"tea","1":"ship"}}"#,
    );
    let expected = "x.json:1: expected an id in \"id\", found columns of pandas";
    for command in ["search x.json tea", "inspect x.json"] {
        here.ir(command).fails(1, &[expected, "lines=True"]);
    }
    here.write(
        "quote.tsv",
        "id\ttext\n1\t\"hello ship\n2\tB tea\"\n3\tship\n",
    );
    let ran = here.ir("index quote.tsv -o x.ir").ok();
    let expected = "quote.tsv: 1 row with the text of other rows, as after an unpaired `\"`";
    assert!(ran.err.contains(expected), "{}", ran.err);
}

#[test]
fn nul_bytes_of_trec_files_are_counted() {
    let here = Folder::new();
    here.write(
        "docs",
        "<DOC>\n<DOCNO> a\0 </DOCNO>\n<TEXT>gr\0een tea\0</TEXT>\n</DOC>\n",
    );
    let ran = here.ir(&["index", "docs", "-o", "x.ir"]).ok();
    assert!(ran.err.contains("docs: 3 NUL bytes skipped"), "{}", ran.err);
    here.write("q", "1\tgreen\n");
    assert_eq!(ids(here.ir(&["search", "x.ir", "--queries", "q"])), ["a"]);
    let ran = here.ir(&["inspect", "docs"]).ok();
    assert!(ran.out.contains("3 NUL bytes skipped"), "{}", ran.out);
}

#[test]
fn help_lists_all_formats() {
    let here = Folder::new();
    let help = here.ir(&["help", "formats"]).ok().out;
    for format in [
        "Parquet, Arrow",
        "CSV or TSV with a header line",
        "TREC qrels",
        "NumPy, fvecs",
        "CIFF",
    ] {
        assert!(help.contains(&format!("{format} (")), "{help}");
    }
    assert!(
        help.lines().all(|line| line.chars().count() <= 80),
        "{help}"
    );
}

/// Vectors of other encoders in Parquet rank as those in JSON lines.
#[cfg(feature = "dense")]
#[test]
fn vectors_in_parquet() {
    let here = Folder::new();
    let parquet = format!("{PARQUET}corpus-snappy.parquet");
    here.write("vectors.jsonl", "{\"id\": \"d1\", \"vector\": [0.5, 1.5]}\n{\"id\": \"d2\", \"vector\": [1, 2]}\n{\"id\": \"d3\", \"vector\": [0, 0.25]}\n");
    here.write("q.jsonl", "{\"id\": \"q\", \"vector\": [1, 1]}\n");
    here.write("queries.tsv", "q\ttea\n");
    let search = |vectors: &str| {
        here.ir(&[
            "search",
            "docs.jsonl",
            "--queries",
            "queries.tsv",
            "--vectors",
            vectors,
            "--query-vectors",
            "q.jsonl",
        ])
    };
    here.write("docs.jsonl", "{\"id\": \"d1\", \"text\": \"a\"}\n{\"id\": \"d2\", \"text\": \"b\"}\n{\"id\": \"d3\", \"text\": \"c\"}\n");
    let expected = ["d2", "d1", "d3"];
    assert_eq!(ids(search("vectors.jsonl")), expected);
    assert_eq!(ids(search(&parquet)), expected);
}

/// Arrow files as every input; folders of them, with the other files of a saved dataset.
#[cfg(feature = "arrow")]
#[test]
fn arrow_files() {
    let here = Folder::new();
    let [docs, stream, queries, qrels, saved] = [
        "corpus-lz4.arrow",
        "corpus-stream.arrow",
        "queries.arrow",
        "qrels.arrow",
        "saved",
    ]
    .map(|name| format!("{ARROW}{name}"));
    for docs in [&docs, &stream, &saved] {
        let found = ids(here.ir(&["search", docs, "--queries", &queries]));
        assert_eq!(found.first().map(String::as_str), Some("d1"), "{docs}");
    }
    let ran = here.ir(&["search", &docs, "tea", "--filter", "language=en"]);
    assert!(ran.ok().out.contains("d1"));
    here.write("run", "q1 Q0 d2 1 1 x\n");
    let ran = here.ir(&["eval", "-m", "recip_rank", &qrels, "run"]).ok();
    assert!(ran.out.contains("1.0000"), "{}", ran.out);
    let ran = here.ir(&["index", &saved, "-o", "saved.ir"]).ok();
    assert!(
        ran.err.starts_with("3 documents (Parquet or Arrow files)"),
        "{}",
        ran.err
    );
    let ran = here.ir(&["inspect", &stream]).ok();
    assert!(ran.out.contains("Arrow"), "{}", ran.out);
    let folder = format!("{PARQUET}hub/corpus");
    let args = ["search", &folder, "tea", "--id-field", "_id"];
    assert!(here.ir(&args).ok().out.contains("d1"));
    let ran = here.ir(&["search", &folder, "tea", "--text-field", "body"]);
    ran.fails(1, &["expected a field \"body\""]);
}

/// Only the files that `state.json` lists are read from a saved dataset, in this order.
#[cfg(feature = "arrow")]
#[test]
fn saved_datasets() {
    let here = Folder::new();
    let [first, second] = ["data-00000-of-00002.arrow", "data-00001-of-00002.arrow"];
    let save = |folder: &str, files: &str| {
        for name in [first, second] {
            let content = std::fs::read(format!("{ARROW}saved/{name}")).unwrap();
            here.write(&format!("{folder}/{name}"), &content);
            here.write(&format!("{folder}/cache-{name}"), &content);
        }
        here.write(&format!("{folder}/dataset_info.json"), "{}");
        let state = format!("{{\"_split\": null, \"_data_files\": [{files}]}}");
        here.write(&format!("{folder}/state.json"), state);
    };
    let name_of = |name: &str| format!("{{\"filename\": \"{name}\"}}");
    let both = format!("{}, {}", name_of(second), name_of(first));
    let inspect = |folder: &str| -> serde_json::Value {
        let ran = here.ir(&["inspect", folder, "--json"]).ok();
        assert_eq!(ran.err, "", "{folder}");
        serde_json::from_str(&ran.out).unwrap()
    };
    save("one", &both);
    let found = inspect("one");
    assert_eq!(found["counts"]["documents"], 3);
    assert_eq!(found["fields"][0]["read_as"], "id");
    save("part", &name_of(second));
    let part = inspect("part");
    assert_eq!(part["first"][0], found["first"][0]);
    assert!(part["counts"]["documents"].as_u64() < Some(3), "{part}");

    for (files, expected) in [
        (String::new(), "found none: the dataset is empty"),
        (name_of("../one/x"), "found \"../one/x\""),
        (
            name_of("x.arrow"),
            "bad/x.arrow: expected a file, which bad/state.json lists, found none",
        ),
        ("1".to_owned(), "bad/state.json:1: expected "),
    ] {
        save("bad", &files);
        here.ir("index bad -o x.ir").fails(1, &["bad/", expected]);
    }
    save("dict/train", &both);
    save("dict/test", &both);
    let ran = here.ir("index dict -o x.ir");
    ran.fails(
        1,
        &["dict: expected a dataset, found folders with datasets of save_to_disk"],
    );
    here.write(
        "dict/dataset_dict.json",
        "{\"splits\": [\"train\", \"test\"]}",
    );
    let expected = "dict: expected a dataset, found a DatasetDict with the splits train, test; \
                    give dict/train";
    here.ir("index dict -o x.ir").fails(1, &[expected]);
    assert_eq!(inspect("dict/train")["counts"]["documents"], 3);
}

#[cfg(all(feature = "arrow", feature = "dense"))]
#[test]
fn vectors_in_arrow() {
    let here = Folder::new();
    here.write("q.jsonl", "{\"id\": \"q\", \"vector\": [1, 1]}\n");
    here.write("queries.tsv", "q\ttea\n");
    let arrow = format!("{ARROW}corpus-stream.arrow");
    let args = ["search", &arrow, "--queries", "queries.tsv"];
    let vectors = ["--vectors", &arrow, "--query-vectors", "q.jsonl"];
    let ran = here.ir(&[&args[..], &vectors].concat());
    assert_eq!(ids(ran), ["d2", "d1", "d3"]);
}
