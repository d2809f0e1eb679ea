//! `ir inspect`: the content and format of a file and the reason, fields, and what is skipped.

use crate::common::Folder;
use crate::file_formats::PARQUET;
use serde_json::Value;

/// JSON of `ir inspect`.
fn inspect(here: &Folder, name: &str) -> Value {
    let ran = here.ir(&["inspect", name, "--json"]).ok();
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn reasons_and_skipped_elements() {
    let here = Folder::new();
    let inspect = |name: &str| inspect(&here, name);
    here.write("qrels", "q 0 a 1\nq 0 b -1\n");
    let reason = "the lines have four columns, the last an integer";
    assert_eq!(inspect("qrels")["reason"], reason);
    here.write("qrels.json", "{\"q\": {\"a\": 1}}");
    let found = inspect("qrels.json");
    assert_eq!(
        (&found["kind"], &found["format"]),
        (&"judgments".into(), &"JSON".into())
    );
    assert!(found["reason"].to_string().contains("objects have grades"));
    here.write("run.json", "{\"q\": {\"a\": 1.5}}");
    let found = inspect("run.json");
    assert_eq!(
        (&found["kind"], &found["format"]),
        (&"run".into(), &"JSON".into())
    );
    assert!(found["reason"].to_string().contains("object of scores"));
    here.write(
        "docs.sgml",
        "<DOC>\n<DOCNO>1</DOCNO>\n<DOCHDR>url</DOCHDR>\n<!-- a -->\n<GRAPHIC>map</GRAPHIC>\n\
         <TEXT>tea <i>x</i><script>f()</script></TEXT>\n</DOC>\n\
         <DOC>\n<DOCNO>2</DOCNO>\n<BODY>tea</BODY>\n<GRAPHIC/>\n</DOC>\n",
    );
    let one = "1 document";
    let note = format!(
        "skipped: <DOCHDR> ({one}), <GRAPHIC> ({one}), comments ({one}), scripts and style sheets ({one})"
    );
    assert_eq!(inspect("docs.sgml")["notes"], serde_json::json!([note]));
    here.write(
        "topics.sgml",
        "<TOPIC>\n<NUM>1</NUM>\n<SLANG>EN</SLANG>\n<TITLE>tea</TITLE>\n<CONC>milk</CONC>\n</TOPIC>\n\
         <TOPIC>\n<NUM>2</NUM>\n<TITLE>tea <b>x</b></TITLE>\n<CONC>milk</CONC>\n</TOPIC>\n",
    );
    let note = "skipped: <CONC> (2 topics), <SLANG> (1 topic)";
    assert_eq!(inspect("topics.sgml")["notes"], serde_json::json!([note]));
}

#[test]
fn inspection() {
    let here = Folder::new();
    let inspect = |name: &str| inspect(&here, name);
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
    let inspect = |name: &str| inspect(&here, name);
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
    let unnamed = "may be judgments without the header line query-id, corpus-id, score (between tabs or commas): query, document, grade";
    assert_eq!(found["notes"][1], unnamed);
    for text in ["301 a 3\n", "301,FT-1,1\n301,FT-2,0\n"] {
        here.write("judged", text);
        let found = inspect("judged");
        assert_eq!(found["kind"], "unclear", "{text}");
        assert_eq!(found["notes"][0], unnamed, "{text}");
    }
    here.write("judged", "query,docno,rel\n301,FT-1,1\n");
    assert_eq!(inspect("judged")["counts"]["judgments"], 1);
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
    let inspect = |name: &str| inspect(&here, name);
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

/// Files of question-answering datasets are collections of answer sentences.
#[test]
fn questions_with_answers() {
    let here = Folder::new();
    let passages = r#"[{"is_selected": 0, "passage_text": "Milk is white.", "url": "u"}, {"is_selected": 1, "passage_text": "Tea is old. It is from Asia.", "url": "v"}]"#;
    let line = |id: u32, answer: &str| {
        format!(
            "{{\"query_id\": {id}, \"query\": \"where in asia is it from\", \"answers\": [\"{answer}\"], \"passages\": {passages}}}\n"
        )
    };
    here.write(
        "dev.json",
        [line(1, "asia"), line(2, "No Answer Present.")].concat(),
    );
    let found = inspect(&here, "dev.json");
    assert_eq!(
        (&found["kind"], &found["format"]),
        (&"collection".into(), &"MS MARCO QA".into())
    );
    assert_eq!(found["counts"]["documents"], 3);
    assert_eq!(found["counts"]["paragraphs"], 2);
    let notes = found["notes"].to_string();
    assert!(
        notes.contains("1 question without an answer in the texts left out"),
        "{notes}"
    );
    here.ir("search dev.json --split pairs -o run.trec").ok();
    let run = here.read("run.trec");
    assert!(run.starts_with("1 Q0 v/0/1 1 "), "{run}");
    let out = here
        .ir("eval -c -m recip_rank dev.json:pairs run.trec")
        .ok()
        .out;
    assert!(out.contains("1.0000"), "{out}");
    // Names of fields are given for documents.
    here.ir("inspect dev.json --id-field query_id --text-field query")
        .ok();
}
