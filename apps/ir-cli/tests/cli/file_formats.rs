//! Tables, arrays, Parquet and Arrow as inputs of commands; names of fields; `ir inspect`.

use serde_json::Value;

use crate::common::{Folder, Ran};

const PARQUET: &str = concat!(
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
fn inspection() {
    let here = Folder::new();
    let inspect = |name: &str| -> Value {
        let ran = here.ir(&["inspect", name, "--json"]).ok();
        serde_json::from_str(&ran.out).unwrap()
    };
    here.write("docs.csv", "id,text,year,\na,tea,2017,x\nb,,soon,\n");
    let found = inspect("docs.csv");
    assert_eq!(found["kind"], "documents");
    assert_eq!(found["format"], "CSV with a header line");
    assert_eq!(
        found["reason"],
        "the first line has the names \"id\" and \"text\""
    );
    assert_eq!(found["counts"]["documents"], 2);
    assert_eq!(found["fields"][0]["name"], "id");
    let notes = found["notes"].to_string();
    for note in [
        "1 document without title and text",
        "1 document with an attribute",
        "a column without a name",
    ] {
        assert!(notes.contains(note), "{notes}");
    }
    assert_eq!(found["first"][0]["attributes"]["year"], "2017");
    here.write("q.jsonl", "{\"qid\": 1, \"query\": \"tea\"}\n");
    assert_eq!(
        (
            &inspect("q.jsonl")["kind"],
            &inspect("q.jsonl")["counts"]["queries"]
        ),
        (&"queries".into(), &1.into())
    );
    here.write("qrels", "q 0 a 1\nq 0 b -1\n");
    let found = inspect("qrels");
    assert_eq!(
        (&found["kind"], &found["counts"]["judgments"]),
        (&"judgments".into(), &2.into())
    );
    assert_eq!(found["fields"][0]["read_as"], "-1: 1, 1: 1");
    assert_eq!(found["format"], "TREC qrels");
    here.write("run.json", "{\"q\": {\"a\": 1.5}}");
    let run = inspect("run.json");
    assert_eq!(
        (&run["kind"], &run["format"]),
        (&"run".into(), &"JSON".into())
    );
    here.write("run.trec", crate::common::RUN);
    assert_eq!(inspect("run.trec")["format"], "TREC run");
    let note = "option --queries reads the file as queries, too: id, text";
    here.write("q.tsv", "1\ttea cups\n2\tgreen leaves\n");
    assert_eq!(inspect("q.tsv")["notes"], serde_json::json!([note]));
    here.write("titled.tsv", "1\ttea cups\tTea\n2\tgreen leaves\n");
    assert_eq!(inspect("titled.tsv")["notes"], serde_json::json!([]));
    let parquet = format!("{PARQUET}corpus-gzip.parquet");
    let found = inspect(&parquet);
    let fields = found["fields"].to_string();
    assert!(
        fields
            .contains("{\"name\":\"embedding\",\"read_as\":\"not read: binary data, vectors or times of day\"}"),
        "{fields}"
    );
    assert_eq!(inspect(&format!("{PARQUET}hub"))["counts"]["queries"], 2);
    here.ir(&["index", "docs.csv", "-o", "x.ir"]).ok();
    assert_eq!(inspect("x.ir")["kind"], "index");
    here.ir(&["inspect", "missing"]).fails(1, &["missing"]);
    here.write("nocols.csv", "name,body2\na,b\n");
    here.ir("inspect nocols.csv")
        .fails(1, &["(--id-field NAME and --text-field NAME name them)"]);
    here.write("bad.csv", "id,text\na\n");
    here.ir(&["inspect", "bad.csv"])
        .fails(1, &["bad.csv:2: expected 2 columns, found 1"]);
    let ran = here.ir(&["inspect", "docs.csv", "qrels", "-n", "1"]).ok();
    assert!(
        ran.out.contains("taken for") && ran.out.contains("\n\nqrels\n"),
        "{}",
        ran.out
    );
}

/// Files with markup before the first record, and files with the shape of several formats.
#[test]
fn inspection_of_unclear_starts() {
    let here = Folder::new();
    let inspect = |name: &str| -> Value {
        let ran = here.ir(&["inspect", name, "--json"]).ok();
        serde_json::from_str(&ran.out).unwrap()
    };
    let document = "<DOC>\n<DOCNO>a</DOCNO>\ntea\n</DOC>\n";
    for (prolog, end) in [
        ("<?xml version=\"1.0\"?>\n", ""),
        ("<!-- tea -->\n", ""),
        ("<root>\n", "</root>\n"),
    ] {
        here.write("docs.xml", format!("{prolog}{document}{end}"));
        let found = inspect("docs.xml");
        assert_eq!(found["format"], "TREC", "{prolog}");
        assert_eq!(found["counts"]["documents"], 1, "{prolog}");
    }
    let indri = "<?xml version=\"1.0\"?>\n<parameters>\n<query><number>1</number>\
                 <text>tea</text></query>\n</parameters>\n";
    here.write("indri", indri);
    assert_eq!(inspect("indri")["format"], "Indri topics");
    here.write("other.xml", "<a>\n<b>tea</b>\n</a>\n");
    here.ir(&["index", "other.xml", "-o", "x.ir"])
        .fails(1, &["topics are elements <top> or <topic>"]);
    here.write("marco", "q1\td1\t1\nq1\td2\t2\n");
    let found = inspect("marco");
    assert_eq!(found["kind"], "unclear");
    assert_eq!(
        found["notes"][0],
        "may be a run of MS MARCO: query, document, rank"
    );
    here.write("ranx.json", "{\"q1\": {\"d1\": 10, \"d2\": 9}}");
    let found = inspect("ranx.json");
    assert_eq!(found["kind"], "unclear");
    let note = "may be a run of ranx or pytrec_eval: scores by document";
    assert_eq!(found["notes"][1], note);
    here.write("pairs", "q1\td1\nq1\td2\n");
    assert_eq!(inspect("pairs")["kind"], "unclear");
    here.write("pairs", "q1 d1\nq1 d2\n");
    assert_eq!(inspect("pairs")["format"], "pairs");
    here.write("v.jsonl", "{\"id\": \"a\", \"vector\": [0.5, 1]}\n");
    let found = inspect("v.jsonl");
    assert_eq!(found["kind"], "vectors");
    assert_eq!(found["counts"]["vectors"], 1);
    assert_eq!(found["counts"]["dimensions"], 2);
    let row = [
        2_i32.to_le_bytes(),
        1_f32.to_le_bytes(),
        0.5_f32.to_le_bytes(),
    ]
    .concat();
    here.write("v.fvecs", row);
    here.write("v.ids", "a\n");
    let found = inspect("v.fvecs");
    assert_eq!(
        (&found["format"], &found["counts"]["dimensions"]),
        (&"fvecs".into(), &2.into())
    );
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
    let inspect = |folder: &str| -> Value {
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

/// Columns that are read as id, title and text.
#[test]
fn inspection_of_fields() {
    let here = Folder::new();
    let names = |path: &str| -> Vec<String> {
        let ran = here.ir(&["inspect", path, "--json"]).ok();
        let found: Value = serde_json::from_str(&ran.out).unwrap();
        let fields = found["fields"].as_array().unwrap().iter();
        let fields = fields.map(|field| {
            let text = |key| field[key].as_str().unwrap();
            format!("{}: {}", text("name"), text("read_as"))
        });
        fields.take(3).collect()
    };
    here.write("queries.csv", "qid,query\n1,tea\n");
    assert_eq!(names("queries.csv"), ["qid: id", "query: text"]);
    here.write("docs.csv", "id,text\n1,tea\n");
    assert_eq!(names("docs.csv"), ["id: id", "text: text"]);
    here.write("docs.csv", "id,text,Title\n1,tea,\n");
    assert_eq!(names("docs.csv"), ["id: id", "Title: title", "text: text"]);
    here.write("docs.jsonl", "{\"id\": 1, \"text\": \"tea\"}\n");
    assert_eq!(names("docs.jsonl"), ["id: id", "text: text"]);
    here.write(
        "docs.jsonl",
        "{\"id\": 1, \"text\": \"tea\", \"title\": \"a\"}\n",
    );
    assert_eq!(
        names("docs.jsonl"),
        ["id: id", "title: title", "text: text"]
    );
    let beir = ["_id: id", "title: title", "text: text"];
    for folder in ["hub", "hub/corpus"] {
        assert_eq!(names(&format!("{PARQUET}{folder}")), beir, "{folder}");
    }
}

/// A folder with documents only, files of `ir run` and `ir search --system`, runs as tables.
#[test]
fn inspection_of_other_files() {
    let here = Folder::new();
    let inspect = |name: &str| -> Value {
        let ran = here.ir(&["inspect", name, "--json"]).ok();
        serde_json::from_str(&ran.out).unwrap()
    };
    here.write("bm/corpus.jsonl", "{\"_id\": \"a\", \"text\": \"tea\"}\n");
    let found = inspect("bm");
    assert_eq!(found["counts"], serde_json::json!({"documents": 1}));
    assert_eq!(found["notes"], serde_json::json!([]));
    here.write("bm/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\n");
    let note = "no queries: expected bm/queries.jsonl";
    assert_eq!(inspect("bm")["notes"], serde_json::json!([note]));

    let system = "version = 1\n\n[[systems]]\nname = \"a\"\ntype = \"bm25\"\n";
    here.write("system.toml", system);
    assert_eq!(inspect("system.toml")["kind"], "system file");
    here.write("marked.toml", format!("\u{feff}{system}"));
    assert_eq!(inspect("marked.toml")["kind"], "system file");
    here.write(
        "experiment.toml",
        format!("{system}\n[[tasks]]\nname = \"b\"\n"),
    );
    assert_eq!(inspect("experiment.toml")["kind"], "experiment file");
    here.write("other.toml", "name = \"a\"\n");
    here.ir("inspect other.toml")
        .fails(1, &["other.toml:1: expected 2 to 3 columns, found 1"]);

    for (table, first) in [
        ("qid,docno,score,rank,query\nq,a,1.5,1,tea\n", "query"),
        ("qid,docno,rank\nq,a,1\n", "query"),
        ("query_id,doc_id,score\nq,a,1.5\n", "query"),
        ("doc_id\tscore\tq_id\na\t12\tq\nb\t1.5\tq\n", "document"),
    ] {
        here.write("run", table);
        let found = inspect("run");
        assert_eq!(found["kind"], "run", "{table}");
        assert_eq!(found["format"], "table with names of columns", "{table}");
        assert_eq!(found["fields"][0]["read_as"], first, "{table}");
    }
    here.write("qrels", "query_id,doc_id,score\nq,a,2\n");
    assert_eq!(inspect("qrels")["kind"], "judgments");
    here.write("qrels", "query_id,doc_id,score\nq,a,two\n");
    here.ir("inspect qrels")
        .fails(1, &["qrels:2: expected an integer as grade, found \"two\""]);
}

/// Files that the readers of judgments, runs and records of bioCADDIE read.
#[test]
fn inspection_names_what_readers_read() {
    let here = Folder::new();
    let record = "{\"query-id\": \"q\", \"corpus-id\": \"a\", \"score\": 1}";
    let biocaddie = "{\"DOCNO\": \"8\", \"TITLE\": \"Tea\", \"REPOSITORY\": \"geo_1\", \
                     \"METADATA\": {\"dataItem\": {\"title\": \"leaves\"}}}\n";
    for (text, kind, format) in [
        (format!("[{record}]"), "judgments", "JSON"),
        (
            "QueryID\t0\tDocID\tGrade\nq\t0\ta\t1\n".to_owned(),
            "judgments",
            "TREC qrels",
        ),
        (
            "QueryID Q0 DocID Rank Score RunID\nq Q0 a 1 2.5 t\n".to_owned(),
            "run",
            "TREC run",
        ),
        (record.replace("score\": 1", "score\": 0.5"), "run", "JSON"),
        (
            biocaddie.to_owned(),
            "documents",
            "JSON records of bioCADDIE",
        ),
    ] {
        here.write("file", &text);
        let ran = here.ir("inspect file --json").ok();
        let found: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(
            (&found["kind"], &found["format"]),
            (&kind.into(), &format.into()),
            "{text}"
        );
    }
}

/// Every file is reported, also after one with an error.
#[test]
fn inspection_after_errors() {
    let here = Folder::new();
    here.write("bad.csv", "id,text\na\n");
    here.write("latin-1.csv", b"id,text\na,caf\xe9\n");
    here.write("docs.csv", "id,text\na,tea\n");
    let ran = here.ir("inspect bad.csv docs.csv latin-1.csv docs.csv");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert_eq!(ran.out.matches("taken for").count(), 2, "{}", ran.out);
    assert!(ran.out.starts_with("docs.csv\n"), "{}", ran.out);
    let errors: Vec<&str> = ran.err.lines().collect();
    for (found, expected) in errors.iter().zip([
        "warning: bad.csv:2: expected 2 columns, found 1",
        "--encoding windows-1252)",
        "error: 2 of 4 files cannot be read",
    ]) {
        assert!(found.contains(expected), "{}", ran.err);
    }
    assert_eq!(errors.len(), 3, "{}", ran.err);
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
