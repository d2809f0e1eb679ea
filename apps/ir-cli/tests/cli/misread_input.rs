//! Inputs of another kind or format than the command reads: the error says what was found.

use std::collections::BTreeSet;
use std::io::Write;

use crate::common::{BEIR_QRELS, CORPUS, Folder, RUN, tiny};

#[test]
fn folder_of_collections() {
    let here = Folder::new();
    tiny(&here);
    here.write("all/README.md", "Collections of tea");
    here.write("all/b/deep/corpus.jsonl.gz", "");
    here.write("all/a/corpus.jsonl", CORPUS);
    let expected =
        "all: expected a collection, found folders that are collections: all/a, all/b/deep";
    here.ir("index all -o x.ir").fails(1, &[expected]);
    here.ir("search all tea").fails(1, &[expected]);
    std::fs::remove_file(here.at("all/README.md")).unwrap();
    here.ir("search all tea").fails(1, &[expected]);
    // Many notes beside a collection are a folder of notes.
    for n in 0..10 {
        here.write(&format!("all/{n}.md"), "green tea");
    }
    let expected = "note: all: read as a folder of 10 notes, without the collections below it: \
                    all/a, all/b/deep (`ir search all/a` searches one)\n";
    assert_eq!(here.ir("search all tea").ok().err, expected);
    for name in ["a/corpus.jsonl", "b/deep/corpus.jsonl.gz"] {
        std::fs::remove_file(here.at(&format!("all/{name}"))).unwrap();
    }
    assert_eq!(here.ir("search all tea").ok().err, "");
}

#[test]
fn index_reports_the_number_of_documents_and_the_format() {
    let here = Folder::new();
    tiny(&here);
    here.write("docs.jsonl", CORPUS);
    here.write("docs.tsv", "a\ttea\n");
    here.write("notes/a.md", "tea");
    for (name, expected) in [
        ("tiny", "3 documents (BEIR folder) in x.ir: "),
        ("docs.jsonl", "3 documents (JSON lines) in x.ir: "),
        ("docs.tsv", "1 document (TSV) in x.ir: "),
        ("notes", "1 document (notes) in x.ir: "),
    ] {
        let err = here.ir(&["index", name, "-o", "x.ir"]).ok().err;
        assert!(err.starts_with(expected), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
        let quiet = here.ir(&["--quiet", "index", name, "-o", "x.ir"]);
        assert_eq!(quiet.ok().err, "");
    }
}

#[test]
fn queries_of_a_collection() {
    let here = Folder::new();
    tiny(&here);
    here.write(
        "tiny/qrels/dev.tsv",
        "query-id\tcorpus-id\tscore\nq2\td3\t1\n",
    );
    here.ir("index tiny -o tiny.ir").ok();
    for split in [&[][..], &["--split", "dev"]] {
        let run = |args: &[&str]| here.ir(&[args, split].concat()).ok().out;
        let saved = run(&["search", "tiny.ir", "--queries", "tiny"]);
        assert!(!saved.is_empty());
        assert_eq!(saved, run(&["search", "tiny"]));
    }
    here.ir("search tiny.ir --queries bundled").ok();
    here.ir("search tiny.ir")
        .fails(2, &["tiny.ir", "--queries with a file or collection"]);
    here.ir("search tiny.ir --queries tiny --split none")
        .fails(1, &["expected a split of", "dev, test"]);
    let file = ["search", "tiny.ir", "--queries", "tiny/queries.jsonl"];
    here.ir(&[&file[..], &["--split", "dev"]].concat())
        .fails(2, &["--split: expected a collection, found a query file"]);
    here.write("notes/a.md", "tea");
    here.ir("search tiny.ir --queries notes").fails(
        1,
        &["notes: expected a collection with queries, found none"],
    );
}

#[test]
fn files_read_as_tsv() {
    let here = Folder::new();
    tiny(&here);
    here.write("run.trec", RUN);
    here.write("qrels.tsv", BEIR_QRELS);
    here.write("qrels.txt", "q1 0 d1 1\n");
    here.write("a.md", "\n# Tea\n");
    let tsv = "(read as TSV: id, tab, text";
    for (name, at, hint) in [
        (
            "run.trec",
            "run.trec:1: expected 2 to 3 columns, found 1",
            "; a run?)",
        ),
        ("qrels.txt", "qrels.txt:1: ", "; judgments?)"),
        (
            "a.md",
            "a.md:2: ",
            "; notes are read from a folder: give the folder)",
        ),
    ] {
        here.ir(&["index", name, "-o", "x.ir"])
            .fails(1, &[at, tsv, hint]);
    }
    for (name, hint) in [("run.trec", "; a run?)"), ("qrels.tsv", "; judgments?)")] {
        here.ir(&["search", "tiny", "--queries", name])
            .fails(1, &["expected 2 columns, found ", tsv, hint]);
    }
}

/// Queries are read from files only, so that no hint names a folder.
#[test]
fn queries_without_tabs() {
    let here = Folder::new();
    tiny(&here);
    here.write("queries.txt", "1 green tea\n2 rivers\n");
    let ran = here.ir("search tiny --queries queries.txt");
    let ran = ran.fails(1, &["queries.txt:1: ", "(read as TSV: id, tab, text)"]);
    assert!(!ran.err.contains("folder"), "{}", ran.err);
}

/// Indexes and runs in other formats in place of TREC runs and judgments.
#[test]
fn indexes_and_other_runs() {
    let here = Folder::new();
    tiny(&here);
    here.write("run", RUN);
    here.ir("index tiny -o tiny.ir").ok();
    here.ir("index tiny -o folder.ir --add").ok();
    for index in ["tiny.ir", "folder.ir"] {
        let expected = format!("{index}: expected a run, found an index (`ir search` writes runs");
        for args in [
            &["eval", "tiny", index][..],
            &["compare", "tiny", "run", index],
            &["fuse", "run", index],
            &["diff", "run", index],
            &["pool", "run", index],
        ] {
            let code = if args[0] == "diff" { 2 } else { 1 };
            here.ir(args).fails(code, &[&expected]);
        }
        here.ir(&["eval", index, "run"]).fails(
            1,
            &[&format!("{index}: expected judgments, found an index")],
        );
    }
    let hint = "expected at least 6 columns, found 3 (a TREC run has query, Q0, document, rank, \
                score, tag)";
    here.write("ranks.tsv", "q1\td1\t1\nq1\td2\t2\n");
    let ranks = here.ir("eval tiny ranks.tsv").ok();
    let note = "ranks.tsv:1: read as a run of MS MARCO";
    assert!(ranks.err.contains(note), "{}", ranks.err);
    // Another first number than 1 may be a score.
    here.write("ms.tsv", "q1\td1\t12\nq1\td2\t2\n");
    for args in [["eval", "tiny", "ms.tsv"], ["diff", "run", "ms.tsv"]] {
        let code = if args[0] == "diff" { 2 } else { 1 };
        here.ir(&args).fails(code, &["ms.tsv:1: ", hint]);
    }
    let stdin = here.ir_with("eval tiny -", "q1\td1\t12\n");
    stdin.fails(1, &["standard input:1: ", hint]);
}

/// A folder of JSON files, as Pyserini's JsonCollection, is read in the order of the names.
#[test]
fn folder_of_json_files() {
    let here = Folder::new();
    here.write(
        "jsons/b.jsonl",
        "{\"id\": \"2\", \"contents\": \"green tea\"}\n{\"id\": \"3\", \"contents\": \"tea\"}\n",
    );
    here.write(
        "jsons/a/c.json",
        "[{\"docid\": 1, \"text\": \"black tea\", \"year\": 2010}]",
    );
    let mut file = ir_data::create(here.at("jsons/d.jsonl.gz")).unwrap();
    file.write_all(b"{\"id\": \"4\", \"contents\": \"white tea\"}\n")
        .unwrap();
    file.commit().unwrap();
    let ran = here.ir("index jsons -o jsons.ir --order insertion").ok();
    let start = "4 documents (JSON files) in jsons.ir: ";
    assert!(ran.err.starts_with(start), "{}", ran.err);
    let search = ["search", "jsons.ir", "--query", "tea", "-o", "-"];
    let run = here.ir(&search).ok().out;
    let ids: BTreeSet<&str> = run.lines().filter_map(|it| it.split(' ').nth(2)).collect();
    assert_eq!(ids, BTreeSet::from(["1", "2", "3", "4"]));
    let found = here.ir("inspect jsons --json").ok().out;
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["format"], "JSON files");
    assert_eq!(found["counts"]["documents"], 4);
    let first = found["first"].as_array().unwrap();
    let first: Vec<_> = first.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(first, ["1", "2", "3"]);

    here.ir("search jsons tea -o jsons/b.jsonl")
        .fails(2, &["<COLLECTION> reads jsons/b.jsonl"]);
    here.write("jsons/e.jsonl", "{\"id\": \"2\", \"contents\": \"tea\"}\n");
    here.ir("index jsons -o x.ir").fails(
        1,
        &[
            "jsons/e.jsonl",
            "expected ids that no earlier file has, found \"2\" again",
        ],
    );
    here.write("jsons/e.jsonl", "{\"key\": \"5\", \"contents\": \"tea\"}\n");
    here.ir("index jsons -o x.ir")
        .fails(1, &["jsons/e.jsonl:1: expected a field"]);
    here.write("jsons/e.csv", "id,text\n5,tea\n");
    here.ir("index jsons -o x.ir").fails(
        1,
        &[
            "jsons: expected a folder in BEIR's layout",
            "found CSV files such as jsons/e.csv; give one file, or add each to an index with `ir index FILE -o FOLDER --add`",
        ],
    );
    here.write("tables/a.csv", "id,text\na,tea\n");
    here.write("tables/b.csv", "id,text\nb,tea\n");
    here.ir("index tables -o y").fails(
        1,
        &["found CSV files such as tables/a.csv; give one file, or add each to an index"],
    );
}

/// JSON is always UTF-8: `--encoding` does not read it.
#[test]
fn json_in_other_encodings() {
    let here = Folder::new();
    for name in ["cp1252.jsonl", "cp1252"] {
        here.write(name, b"{\"_id\": \"1\", \"text\": \"caf\xe9\"}\n");
        let expected = format!("{name}:1: expected UTF-8 text, found ");
        let hint = "(JSON is UTF-8: convert the file to UTF-8)";
        here.ir(&["index", name, "-o", "x.ir"])
            .fails(1, &[&expected, hint]);
    }
}

/// `--encoding` beside inputs that are UTF-8 by their format.
#[test]
fn encoding_of_formats_that_are_utf8() {
    let here = Folder::new();
    tiny(&here);
    here.write("docs.tsv", "1\tcafé\n");
    here.write("q.jsonl", "{\"_id\": \"1\", \"text\": \"café\"}\n");
    here.write("run", "1 Q0 1 1 2.5 t\n");
    here.write(
        "sy.toml",
        "version = 1\n[[systems]]\nname = \"s\"\ntype = \"bm25\"\n",
    );
    here.ir("index docs.tsv -o x.ir").ok();
    for (args, found) in [
        ("search x.ir --queries q.jsonl", "found x.ir, which is"),
        ("search q.jsonl --queries q.jsonl", "found q.jsonl (JSON"),
        ("search tiny --system sy.toml", "found tiny (BEIR folder)"),
        (
            "search x.ir --system sy.toml --queries q.jsonl",
            "found x.ir",
        ),
        ("mine tiny --split test", "found tiny (BEIR folder)"),
        ("index q.jsonl -o folder --add", "found q.jsonl (JSON"),
        ("inspect tiny", "found tiny (BEIR folder)"),
        ("inspect q.jsonl", "found q.jsonl (UTF-8 by its format)"),
        ("inspect run", "found run (a run)"),
        ("inspect x.ir", "found x.ir (an index)"),
    ] {
        let before = here.files();
        let ran = here.ir(&format!("{args} --encoding windows-1252"));
        ran.fails(2, &["--encoding: expected ", found]);
        assert_eq!(here.files(), before, "{args}");
    }
    // One of the inputs has the encoding.
    here.ir("search docs.tsv --queries q.jsonl --encoding latin-1")
        .ok();
    here.ir("inspect docs.tsv --encoding latin-1").ok();
}

/// A byte order mark is no part of the first id, whatever `--encoding` says.
#[test]
fn byte_order_marks_decide_on_the_encoding() {
    let here = Folder::new();
    let utf16 = |text: &str| -> Vec<u8> {
        let units = text.encode_utf16();
        units.flat_map(u16::to_le_bytes).collect()
    };
    for (docs, queries) in [
        ("\u{feff}1\tcafé\n2\ttea\n", "\u{feff}7\tcafé\n"),
        (
            "\u{feff}id,text\n1,café\n2,tea\n",
            "\u{feff}qid,query\n7,café\n",
        ),
        (
            "\u{feff}<DOC>\n<DOCNO>1</DOCNO>\ncafé\n</DOC>\n",
            "\u{feff}<top>\n<num>7\n<title>café\n</top>\n",
        ),
        ("\u{feff}.I 1\n.W\ncafé\n", "\u{feff}.I 7\n.W\ncafé\n"),
    ] {
        for (docs, queries, found) in [
            (
                docs.as_bytes().to_vec(),
                queries.as_bytes().to_vec(),
                "UTF-8",
            ),
            (utf16(docs), utf16(queries), "UTF-16"),
        ] {
            here.write("docs", docs);
            here.write("q", queries);
            for encoding in ["latin-1", "windows-1252"] {
                let search = format!("search docs --queries q --encoding {encoding}");
                let ran = here.ir(&search).ok();
                assert!(ran.out.starts_with("7 Q0 1 1 "), "{}", ran.out);
                for name in ["docs", "q"] {
                    let note = format!("note: {name}: read as {found}, by its byte order mark\n");
                    assert!(ran.err.contains(&note), "{}", ran.err);
                }
            }
        }
    }
}

/// Files of other formats beside notes are skipped with a warning, which `ir inspect` repeats.
#[test]
fn tables_beside_notes() {
    let here = Folder::new();
    here.write("mydata/README.md", "Articles on tea");
    here.write("mydata/articles.csv", "id,text\na,tea\n");
    here.write("mydata/part/a.JSONL", CORPUS);
    here.write("mydata/part/b.json.gz", "");
    here.write("mydata/part/picture.png", "");
    here.write("mydata/part/scan.PDF", "");
    here.write("mydata/paper.pdf", "");
    here.write("mydata/Makefile", "");
    let hint = "; give one file, or add each to an index with `ir index FILE -o FOLDER --add`\n";
    let expected = format!(
        "warning: mydata: 1 CSV file is skipped: mydata/articles.csv{hint}\
         warning: mydata: 2 JSON files are skipped, such as mydata/part/a.JSONL{hint}\
         warning: mydata: 4 files of other formats are skipped: \
         2 .pdf, 1 .png, 1 without extension\n"
    );
    assert_eq!(here.ir("search mydata tea").ok().err, expected);
    let found = here.ir("inspect mydata --json").ok().out;
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let notes: Vec<&str> = expected
        .lines()
        .filter_map(|line| line.strip_prefix("warning: "))
        .collect();
    assert_eq!(found["notes"], serde_json::json!(notes));
    here.write("one/a.md", "tea");
    here.write("one/b.org", "tea");
    let one = "warning: one: 1 file of another format is skipped: 1 .org\n";
    let ran = here.ir("index one -o one.ir").ok();
    assert!(ran.err.starts_with(one), "{}", ran.err);
}

/// Names of collections in place of a file, and the files of collections.
#[test]
fn files_of_collections() {
    let here = Folder::new();
    let file = "iclr/abstracts_2017_2018_2021.jsonl";
    let knn = ["knn-accuracy", "--texts", "iclr"];
    let expected = "iclr: expected a file of texts, found a collection; give its file ";
    here.ir(&knn)
        .fails(1, &[&format!("{expected}$IR_DATA/{file}.zst")]);
    here.write(file, "");
    let found = here.at(file).display().to_string();
    let ran = here.ir_inside(&knn).fails(1, &[expected, &found]);
    assert!(!ran.err.contains(".zst"), "{}", ran.err);
    here.ir("search biocaddie tea")
        .fails(1, &["expected IR_DATA to name the folder with biocaddie"]);
    here.ir_inside("search biocaddie tea").fails(
        1,
        &["biocaddie/qrels/biocaddie.qrels.combined: expected a file of the collection"],
    );

    // A file that is stored compressed or not.
    let search = ["search", "beir/nfcorpus", "tea"];
    here.ir_inside(&search).fails(
        1,
        &[
            "corpus.jsonl.zst: expected a file",
            "place it there, as corpus.jsonl or corpus.jsonl.zst",
        ],
    );
    here.write("beir/nfcorpus/corpus.jsonl", "");
    let listed = here.ir_inside("datasets where beir/nfcorpus").ok().out;
    let mut lines = listed.lines().skip(1);
    assert!(
        lines
            .next()
            .unwrap()
            .contains("beir/nfcorpus/corpus.jsonl  "),
        "{listed}"
    );
    assert!(
        lines
            .next()
            .unwrap()
            .ends_with("/queries.jsonl  441,466 bytes (missing)")
    );
    let train = lines.nth(2).unwrap();
    assert!(
        train.contains("/qrels/train.tsv.zst  167,305 bytes, or "),
        "{train}"
    );
    assert!(train.ends_with(" bytes (missing)"), "{train}");
}

#[test]
fn fields_of_json_lines() {
    let here = Folder::new();
    tiny(&here);
    here.write("none.jsonl", "\n{\"name\": 1, \"text\": \"tea\"}\n");
    here.write(
        "two.jsonl",
        "{\"docid\": 1, \"docno\": 2, \"text\": \"tea\"}\n",
    );
    here.write("abstract.jsonl", "{\"id\": 1, \"notes\": \"tea\"}\n");
    here.write("array.json", "[\n\n  {\"name\": 1, \"text\": \"tea\"}\n]\n");
    here.write("numbers.json", "[1, 2]\n");
    let ids = "none.jsonl:2: expected a field \"_id\", \"id\", \"pid\", \"docid\", \"docno\", \"doc_id\" or \"cord_uid\", found \"name\", \"text\"";
    let two = "two.jsonl:1: expected one field of \"docid\", \"docno\" or \"doc_id\", found \"docid\", \"docno\"";
    let texts = "abstract.jsonl:1: expected a field \"text\", \"contents\", \"passage\", \"body\", \"segment\", \"content\" or \"abstract\", found \"id\", \"notes\"";
    for (name, expected) in [("none", ids), ("two", two), ("abstract", texts)] {
        let name = format!("{name}.jsonl");
        here.ir(&["index", &name, "-o", "x.ir"])
            .fails(1, &[expected]);
    }
    let ids = "expected a field \"_id\", \"id\", \"qid\", \"query_id\", \"query-id\" or \"queryid\", found";
    let texts =
        "expected a field \"text\", \"contents\", \"query\", \"question\" or \"title\", found";
    for (name, at, expected) in [
        ("none.jsonl", "none.jsonl:2:", ids),
        ("two.jsonl", "two.jsonl:1:", ids),
        ("array.json", "array.json:3:", ids),
        ("abstract.jsonl", "abstract.jsonl:1:", texts),
        ("numbers.json", "numbers.json:1:", "expected an object"),
    ] {
        here.ir(&["search", "tiny", "--queries", name])
            .fails(1, &[at, expected]);
    }
    let help = here.ir("index --help").ok().out;
    assert!(help.contains("`_id`, `id`, `pid`, `docid`"), "{help}");
}

/// Topics of a root element, by their titles and by a field.
#[test]
fn fields_of_topics() {
    let here = Folder::new();
    here.write(
        "d.jsonl",
        "{\"id\": \"a\", \"text\": \"tea\"}\n{\"id\": \"b\", \"text\": \"milk\"}\n",
    );
    here.write(
        "topics.xml",
        "<topics>\n<topic number=\"7\">\n<query>tea</query>\n<narrative>milk</narrative>\n<drink>milk</drink>\n<conc>milk\n</topic>\n</topics>\n",
    );
    let search = ["search", "d.jsonl", "--queries", "topics.xml", "-o", "-"];
    let found = |options: &[&str]| here.ir(&[&search[..], options].concat()).ok().out;
    assert!(found(&[]).starts_with("7 Q0 a 1 "));
    for field in ["query", "text"] {
        assert!(found(&["--query-field", field]).starts_with("7 Q0 a 1 "));
    }
    for field in ["narrative", "NARR", "drink", "conc"] {
        assert!(found(&["--query-field", field]).starts_with("7 Q0 b 1 "));
    }
    let unknown = [&search[..], &["--query-field", "title"]].concat();
    let expected = "--query-field: topics.xml:2: expected a field \"title\", found \"query\", \"narrative\", \"drink\"";
    here.ir(&unknown).fails(1, &[expected]);
}

/// Names of the fields of queries in JSON and CSV.
#[test]
fn fields_of_queries() {
    let here = Folder::new();
    here.write(
        "d.jsonl",
        "{\"id\": \"a\", \"text\": \"tea\"}\n{\"id\": \"b\", \"text\": \"milk\"}\n",
    );
    here.write(
        "q.jsonl",
        "{\"topic_id\": \"7\", \"utterance\": \"tea\", \"rewrite\": \"milk\"}\n",
    );
    here.write("q.csv", "topic,words\n7,milk\n");
    here.write("q.tsv", "7\ttea\n");
    here.write(
        "topics.xml",
        "<topics>\n<topic number=\"7\">\n<query>tea</query>\n</topic>\n</topics>\n",
    );
    for (options, doc) in [
        (
            "q.jsonl --query-field utterance --query-id-field topic_id",
            "a",
        ),
        (
            "q.jsonl --query-field rewrite --query-id-field topic_id",
            "b",
        ),
        ("q.csv --query-field words --query-id-field topic", "b"),
    ] {
        let found = here
            .ir(&format!("search d.jsonl --queries {options} -o -"))
            .ok();
        assert!(
            found.out.starts_with(&format!("7 Q0 {doc} 1 ")),
            "{}",
            found.out
        );
    }
    here.errors(
        "
        search d.jsonl --queries q.jsonl --query-field title --query-id-field topic_id
          1: q.jsonl:1: | a field \"title\"
        search d.jsonl --queries q.tsv --query-field words
          1: q.tsv:1: | a field \"words\"
        search d.jsonl --queries topics.xml --query-id-field number
          2: --query-id-field: expected a file with names of fields (JSON, CSV, Parquet or Arrow), found topics.xml (topics)
    ",
    );
}

/// Records as PyTerrier, Mr. TyDi, MS MARCO 1 and 2 and question files have them.
#[test]
fn names_of_fields_in_published_collections() {
    let here = Folder::new();
    for (file, document) in [
        (
            "pyterrier.jsonl",
            "{\"docno\": \"d\", \"text\": \"green tea\"}",
        ),
        (
            "tydi.jsonl",
            "\u{feff}{\"docid\": \"d\", \"title\": \"Tea\", \"text\": \"green\"}\r\n",
        ),
        (
            "v2.jsonl",
            "{\"pid\": \"d\", \"passage\": \"green tea\", \"docid\": \"other\"}",
        ),
        (
            "v2-documents.jsonl",
            "{\"docid\": \"d\", \"title\": \"Tea\", \"body\": \"green\"}",
        ),
        ("v1.tsv", "d\thttps://example.org/tea\tTea\tgreen\r\n"),
    ] {
        here.write(file, document);
        let run = here.ir(&["search", file, "tea", "-o", "-"]).ok().out;
        assert!(run.starts_with("1 Q0 d 1 "), "{file}: {run}");
    }
    here.write("four.tsv", "d\tTea\tgreen\tblack\n");
    here.ir(&["search", "four.tsv", "tea"])
        .fails(1, &["four.tsv:1: expected 2 to 3 columns, found 4"]);
    for (file, queries) in [
        (
            "qid.jsonl",
            "{\"qid\": 7, \"query\": \"tea\", \"answer_pids\": [1]}\n",
        ),
        (
            "question.jsonl",
            "{\"query_id\": \"7\", \"question\": \"tea\"}\n",
        ),
        (
            "title.jsonl",
            "{\"id\": \"7\", \"title\": \"tea\", \"description\": \"black\"}\n",
        ),
        ("array.json", "[\n{\"_id\": \"7\", \"text\": \"tea\"}\n]\n"),
        (
            "bom.json",
            "\u{feff}\r\n[{\"qid\": \"7\", \"query\": \"tea\"}]\r\n",
        ),
    ] {
        here.write(file, queries);
        let run = here
            .ir(&["search", "pyterrier.jsonl", "--queries", file, "-o", "-"])
            .ok()
            .out;
        assert!(run.starts_with("7 Q0 d 1 "), "{file}: {run}");
    }
}

#[test]
fn splits_are_checked_before_the_index_is_built() {
    let here = Folder::new();
    tiny(&here);
    let error = ["expected a split of", "test"];
    here.ir("search tiny --split dev --cache kept")
        .fails(1, &error);
    assert!(!here.at("kept").exists());
    here.ir("mine tiny -o x")
        .fails(1, &["found \"train\"", "(for example --split test)"]);
}

#[test]
fn only_accepted_inputs_are_named() {
    let here = Folder::new();
    here.write("run", RUN);
    let index = here.ir("index nfcorpus -o x.ir");
    let index = index.fails(1, &["nfcorpus: expected a file or folder of documents, or"]);
    assert!(!index.err.contains("an index"), "{}", index.err);
    here.ir("search nfcorpus tea")
        .fails(1, &["nfcorpus: expected an index, a file or folder"]);
    here.ir("eval bundled beir/nfcorpus")
        .fails(1, &["beir/nfcorpus: expected a run, found a collection"]);
    let judged = here.ir("eval nosuch run");
    let judged = judged.fails(1, &["beir/nfcorpus"]);
    assert!(!judged.err.contains("packages"), "{}", judged.err);
    here.ir("fuse beir/nfcorpus run").fails(
        1,
        &["beir/nfcorpus: expected a run, found a collection (this command takes runs only)"],
    );
}
