//! Document and query formats.

use std::io::Write;
use std::path::PathBuf;

use crate::common::{BEIR_QRELS, CORPUS, Folder, QUERIES, RUN, data, tiny};

/// The ids of the hits for "tea".
fn ids(here: &Folder, collection: &str) -> String {
    let out = here.ir(&["search", collection, "tea", "--json"]).ok().out;
    let ids: Vec<String> = out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|hit| hit["id"].as_str().unwrap().to_owned())
        .collect();
    ids.join(" ")
}

#[test]
fn long_first_line() {
    let here = Folder::new();
    tiny(&here);
    let long = "tea ".repeat(30_000);
    here.write(
        "beir.jsonl",
        format!("{{\"_id\": \"a\", \"text\": \"{long}\"}}\n"),
    );
    here.write(
        "id.jsonl",
        format!("{{\"id\": \"a\", \"text\": \"{long}\"}}\n"),
    );
    here.write(
        "lucene.jsonl",
        format!("{{\"id\": \"a\", \"contents\": \"{long}\"}}\n"),
    );
    here.write("docs.tsv", format!("a\t{long}\n"));
    for name in ["beir.jsonl", "id.jsonl", "lucene.jsonl", "docs.tsv"] {
        assert_eq!(ids(&here, name), "a", "{name}");
    }
    here.write(
        "finder.jsonl",
        format!("{{\"query\": \"{long}\", \"documents\": [\"d1\"]}}\n"),
    );
    let q = "finder.jsonl";
    for queries in [q, "id.jsonl", "beir.jsonl", "docs.tsv"] {
        let run = here.ir(&["search", "tiny", "--queries", queries]).ok().out;
        assert_eq!(run.lines().count(), 2, "{queries}: {run}");
    }
}

#[test]
fn leading_blank_lines() {
    let here = Folder::new();
    tiny(&here);
    here.write(
        "docs.jsonl",
        "\u{feff}\n \n{\"id\": \"a\", \"contents\": \"tea\"}\n",
    );
    here.write(
        "named.otherwise",
        "\n\n{\"id\": \"a\", \"contents\": \"tea\"}\n",
    );
    here.write("docs.tsv", "\n\na\ttea\n");
    for name in ["docs.jsonl", "named.otherwise", "docs.tsv"] {
        assert_eq!(ids(&here, name), "a", "{name}");
    }
    here.write("q.jsonl", format!("\n\n{QUERIES}"));
    assert_eq!(
        here.ir("search tiny --queries q.jsonl").ok().out,
        here.ir("search tiny --queries tiny/queries.jsonl").ok().out
    );
}

#[test]
fn json_values_that_are_not_objects() {
    let here = Folder::new();
    tiny(&here);
    here.write("array.jsonl", "[1]\n");
    here.write("array", "[{\"_id\": \"a\"}]\n");
    here.write("words.jsonl", "\njust words\n");
    here.write("words.json", "a\ttea\n");
    for (name, parts) in [
        ("array.jsonl", ["array.jsonl:1", "expected an object"]),
        ("array", ["array:1", "expected a field \"text\""]),
        ("words.jsonl", ["words.jsonl:2", "JSON"]),
        ("words.json", ["words.json:1", "JSON"]),
    ] {
        here.ir(&["index", name, "-o", "x.ir"]).fails(1, &parts);
    }
    here.ir("search tiny --queries words.jsonl")
        .fails(1, &["words.jsonl:2", "JSON"]);
}

#[test]
fn empty_files() {
    let here = Folder::new();
    tiny(&here);
    here.write("x.ir", "");
    here.write("blank.tsv", "\n  \n\n");
    here.write("blank.jsonl", "\u{feff}\n");
    for name in ["x.ir", "blank.tsv", "blank.jsonl"] {
        let expected = format!("{name}: expected an index or documents, found an empty file");
        here.ir(&["search", name, "boats"]).fails(1, &[&expected]);
        here.ir(&["index", name, "-o", "y.ir"])
            .fails(1, &[&expected]);
        here.ir(&["search", "tiny", "--queries", name])
            .fails(1, &[name, "expected queries, found none"]);
    }
}

/// One's own files in the formats of TREC and SMART.
#[test]
fn trec_and_smart_files() {
    let here = Folder::new();
    here.write(
        "docs.sgml",
        "<DOC>\n<DOCNO> FT-1 </DOCNO>\n<HEADLINE>Tea</HEADLINE>\n<TEXT>\nGreen tea &amp; leaves\n</TEXT>\n</DOC>\n\
         <DOC>\n<DOCNO> FT-2 </DOCNO>\n<TEXT>\nA river\n</TEXT>\n</DOC>\n",
    );
    here.write(
        "topics",
        "<top>\n<num> Number: 051\n<title> green tea\n<desc> Description:\nx\n</top>\n\
         <top>\n<num> Number: 52\n<title> river\n</top>\n",
    );
    here.write(
        "indri",
        "<parameters>\n<query><number>51</number><text>green tea</text></query>\n\
         <query><number>52</number><text>river</text></query>\n</parameters>\n",
    );
    here.write("smart", ".I 1\n.T\nTea\n.W\nGreen tea\n.I 2\n.W\nA river\n");
    here.write("smart.qry", ".I 51\n.W\ngreen tea\n.I 52\n.W\nriver\n");
    here.ir("index docs.sgml -o docs.ir").ok();
    for queries in ["topics", "indri", "smart.qry"] {
        let run = |collection: &str| {
            let args = format!("search {collection} --queries {queries} --scores exact");
            let out = here.ir(&args).ok().out;
            let columns = out.lines().map(|line| line.split(' ').take(3));
            columns
                .map(|line| line.collect::<Vec<_>>().join(" "))
                .collect::<Vec<_>>()
        };
        assert_eq!(run("docs.sgml"), ["51 Q0 FT-1", "52 Q0 FT-2"], "{queries}");
        assert_eq!(run("docs.ir"), run("docs.sgml"), "{queries}");
        assert_eq!(run("smart"), ["51 Q0 1", "52 Q0 2"], "{queries}");
    }
    let shown = here.ir("search docs.sgml leaves --json").ok().out;
    assert!(
        shown.contains("\"text\":\"Green tea & leaves\",\"title\":\"Tea\""),
        "{shown}"
    );
}

/// Grades of converters that write decimals.
#[test]
fn beir_grades_with_decimals() {
    let here = Folder::new();
    tiny(&here);
    here.write("run", RUN);
    let eval = || here.ir("eval -c -m ndcg tiny run");
    let expected = eval().ok().out;
    here.write(
        "tiny/qrels/test.tsv",
        BEIR_QRELS.replace("\t1\n", "\t1.0\n"),
    );
    assert_eq!(eval().ok().out, expected);
    here.write(
        "tiny/qrels/test.tsv",
        BEIR_QRELS.replace("\t1\n", "\t0.5\n"),
    );
    eval().fails(
        1,
        &["test.tsv:2: expected an integer as grade, found \"0.5\""],
    );
}

#[test]
fn latin_1_files() {
    let here = Folder::new();
    here.write(
        "docs.sgml",
        b"<DOC>\n<DOCNO> 1 </DOCNO>\n<TEXT>\ncaf\xe9\n</TEXT>\n</DOC>\n",
    );
    here.write("smart", b".I 1\n.W\ncaf\xe9\n");
    here.write("docs.tsv", b"1\tcaf\xe9\n");
    here.write("disk/1", std::fs::read(here.at("docs.sgml")).unwrap());
    here.write("notes/1.txt", b"caf\xe9");
    here.write("topics", b"<top>\n<num> 1\n<title> caf\xe9\n</top>\n");
    here.write("smart.qry", b".I 1\n.W\ncaf\xe9\n");
    let hint = "(for Windows-1252 or Latin-1: --encoding windows-1252)";
    for (name, at) in [
        ("docs.sgml", "docs.sgml:4: expected UTF-8 text, found"),
        ("disk", "1:4: expected UTF-8 text, found"),
        ("smart", "smart:3: expected UTF-8 text, found"),
        ("docs.tsv", "docs.tsv:1: expected UTF-8 text, found"),
        ("notes", "1.txt: expected UTF-8 text"),
    ] {
        here.ir(&["index", name, "-o", "x.ir"])
            .fails(1, &[at, hint]);
        for queries in ["topics", "smart.qry", "docs.tsv"] {
            let search = ["search", name, "--queries", queries, "--encoding"];
            for encoding in ["latin-1", "ISO-8859-1"].map(str::to_lowercase) {
                let run = here.ir(&[&search[..], &[&encoding]].concat()).ok().out;
                assert!(run.starts_with("1 Q0 1"), "{name} {queries}: {run:?}");
            }
        }
    }
    here.write("docs.tsv", b"1\t\x93caf\xe9\x94 \x96 tea\n");
    let search = "search docs.tsv café --encoding windows-1252 --json";
    let out = here.ir(search).ok().out;
    assert!(out.contains("“café” – tea"), "{out}");
    here.write("docs.tsv", b"1\tcaf\xe9\n");
    let error = "topics:3: expected UTF-8 text, found invalid bytes at column 12";
    here.ir("search bundled --queries topics")
        .fails(1, &[error, hint]);

    // The encoding is part of the cache key, and JSON is always UTF-8.
    here.write("docs.tsv", "1\tcafé\n");
    tiny(&here);
    here.write("tiny.jsonl", CORPUS.replace("leaves", "café"));
    let search = |name, encoding| {
        let args = ["search", name, "café", "--cache", "cache", "--json"];
        here.ir(&[&args[..], &["--encoding", encoding]].concat())
    };
    assert_ne!(search("docs.tsv", "utf-8").ok().out, "");
    assert_eq!(search("docs.tsv", "latin-1").ok().out, "");
    assert_ne!(search("docs.tsv", "utf-8").ok().out, "");
    search("tiny.jsonl", "latin-1").fails(2, &["--encoding", "found tiny.jsonl (JSON lines)"]);
    // Queries of another file may have the encoding.
    let queries = ["--queries", "topics", "--encoding", "latin-1"];
    let ran = here.ir(&[&["search", "tiny.jsonl"], &queries[..]].concat());
    assert!(ran.ok().out.starts_with("1 Q0 d1"));
    here.ir("index docs.tsv -o x.ir").ok();
    here.ir("search x.ir café --encoding latin-1")
        .fails(2, &["--encoding", "found x.ir, which is a saved index"]);
}

/// A folder as on TREC's disks: files in subfolders, some compressed, beside others.
#[test]
fn folder_of_trec_files() {
    let here = Folder::new();
    let doc = |id: &str| format!("\n<DOC>\n<DOCNO> {id} </DOCNO>\nGreen tea\n</DOC>\n");
    here.write("disk/ft/ft911", doc("FT-1") + &doc("FT-0"));
    here.write("disk/ft/ft911.txt", doc("FT-2"));
    std::fs::create_dir_all(here.at("disk/fr")).unwrap();
    let mut file = ir_data::create(here.at("disk/fr/fr94.gz")).unwrap();
    file.write_all(doc("FR-1").as_bytes()).unwrap();
    file.commit().unwrap();
    here.write("disk/readme.txt", "Green tea on disk 4");
    here.write("disk/.hidden", doc("X-1"));
    assert_eq!(ids(&here, "disk"), "FR-1 FT-0 FT-1 FT-2");
    let err = here.ir("index disk -o disk.ir").ok().err;
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines.len(), 2, "{err}");
    assert_eq!(
        lines[0],
        "warning: disk: 1 of 4 files do not start with <DOC> and are skipped, such as disk/readme.txt"
    );
    assert!(
        lines[1].starts_with("4 documents (TREC files) in disk.ir: "),
        "{err}"
    );
    here.ir("search disk tea -o disk/ft/ft911")
        .fails(2, &["<COLLECTION> reads disk/ft/ft911"]);
    here.write("disk/ft/ft912", format!("{}{}", doc("FT-3"), doc("FR-1")));
    here.ir("index disk -o x.ir").fails(
        1,
        &["disk/ft/ft912:7: expected an id that no earlier file has, found \"FR-1\""],
    );
    here.write("empty/readme", "Green tea");
    here.ir("index empty -o x.ir").fails(
        1,
        &["with TREC files (<DOC>), with Parquet or Arrow files, with JSON files only or with notes"],
    );
}

/// Judgments of Cranfield, CACM and CISI, in every command that reads qrels.
#[test]
fn smart_judgments() {
    let here = Folder::new();
    here.write("run", "1 Q0 7 1 2 me\n1 Q0 8 2 1 me\n2 Q0 7 1 1 me\n");
    here.write("qrels", "1 0 7 1\n1 0 8 4\n1 0 9 1\n2 0 7 2\n");
    here.write("cranqrel", "1 7 4 \n1 8 1 \n1 9 -1\n2 7 3 \n");
    here.write("binary", "1 0 8 1\n1 0 9 1\n2 0 7 1\n");
    here.write("cacm", "01 8  0 0\n01 9  0 0\n02 7  0 0\n");
    here.write(
        "cisi",
        " 1 8\t0\t0.000000\n 1 9\t0\t0.000000\n 2 7\t0\t0.000000\n",
    );
    for (judged, same) in [
        ("cranqrel", "qrels"),
        ("cacm", "binary"),
        ("cisi", "binary"),
    ] {
        let out = |qrels| here.ir(&["eval", "-m", "all_trec", qrels, "run"]).ok().out;
        assert_eq!(out(judged), out(same));
        let out = |qrels| {
            here.ir(&["compare", "-m", "nDCG@2", qrels, "run", "run"])
                .ok()
                .out
        };
        assert_eq!(out(judged).replace(judged, same), out(same));
    }
    here.write("grades", "1 7 1\n");
    here.ir("eval grades run")
        .fails(1, &["grades:1: expected 4 columns, found 3", "Cranfield"]);
}

/// Only Cranfield's query numbers are replaced by positions.
#[test]
fn smart_query_ids() {
    let here = Folder::new();
    here.write("docs", ".I 1\n.W\ngreen tea\n");
    for (first, second, expected) in [("0", "1", ["0", "1"]), ("001", "004", ["1", "2"])] {
        here.write(
            "queries",
            format!(".I {first}\n.W\ntea\n.I {second}\n.W\ngreen\n"),
        );
        let run = here.ir("search docs --queries queries -o -").ok().out;
        let ids: Vec<&str> = run
            .lines()
            .filter_map(|line| line.split(' ').next())
            .collect();
        assert_eq!(ids, expected);
    }
}

/// A file like a TREC file does not make a folder of notes a TREC collection.
#[test]
fn notes_beside_a_trec_file() {
    let here = Folder::new();
    here.write("notes/a.md", "<doc> green tea");
    here.write("notes/b.md", "black tea");
    here.write("notes/c.txt", "tea");
    here.write(
        "notes/sample.sgml",
        "<DOC>\n<DOCNO> X </DOCNO>\ntea\n</DOC>\n",
    );
    let run = here.ir("search notes --query tea -o -").ok().out;
    assert_eq!(run.lines().count(), 3, "{run}");
    // A pipe is not opened, neither for its format nor to compare it with the output.
    #[cfg(unix)]
    {
        let mkfifo = std::process::Command::new("mkfifo")
            .arg(here.at("notes/pipe"))
            .status();
        assert!(mkfifo.unwrap().success());
        here.write("old.trec", "");
        let args = ["search", "notes", "--query", "tea", "-o", "old.trec"];
        here.ir(&args).ok();
        assert_eq!(here.read("old.trec"), run);
    }
}

/// The files of Cranfield and CISI, given as one's own, have the scores of the collections.
#[test]
fn smart_collections_as_files() {
    let Some(data) = data("smart_collections_as_files") else {
        return;
    };
    let here = Folder::new();
    for (name, files) in [
        ("cranfield", ["cran.all.1400.zst", "cran.qry", "cranqrel"]),
        ("cisi", ["CISI.ALL.zst", "CISI.QRY", "CISI.REL"]),
    ] {
        let [docs, queries, judged] = files.map(|file| {
            let path = data.join("classic").join(name).join(file);
            path.to_str().unwrap().to_owned()
        });
        let search = ["search", &docs, "--queries", &queries, "-o", "own.trec"];
        here.ir(&search).ok();
        here.ir_data(&["search", name, "-o", "known.trec"]).ok();
        let eval = |judged, run| here.ir_data(&["eval", "-q", judged, run]).ok().out;
        assert_eq!(eval(&judged, "own.trec"), eval(name, "known.trec"));
    }
}

#[test]
fn unreadable_notes_are_skipped() {
    let here = Folder::new();
    here.write("notes/a.md", "# Tea\n\ngreen tea\n");
    here.write("notes/latin.md", b"th\xe9 vert, tea");
    here.write("notes/nul.txt", b"tea\0tea");
    let ran = here.ir("search notes tea").ok();
    assert!(ran.out.contains("a.md") && !ran.out.contains("latin.md"));
    let warnings: Vec<&str> = ran.err.lines().collect();
    assert_eq!(warnings.len(), 3, "{}", ran.err);
    let file = |name: &str| PathBuf::from("notes").join(name).display().to_string();
    for (warning, parts) in warnings.iter().zip([
        [&file("latin.md")[..], "UTF-8", "skipped"],
        [&file("nul.txt"), "NUL", "skipped"],
        ["notes: 2 of 3 notes", "cannot be read", "skipped"],
    ]) {
        assert!(warning.starts_with("warning: "), "{warning}");
        assert!(parts.iter().all(|part| warning.contains(part)), "{warning}");
    }
    // In every command, once, although some read the folder twice; the first three by name.
    for n in 0..5 {
        here.write(&format!("notes/more/{n}.md"), b"\xff");
    }
    here.write(
        "t.jsonl",
        "{\"query\": \"tea\", \"positives\": [{\"text\": \"green tea\"}]}\n",
    );
    for args in [
        "index notes -o notes.ir",
        "search notes tea --json",
        "mine notes --examples t.jsonl -n 1 -o mined.jsonl",
    ] {
        let ran = here.ir(args);
        let skipped = ran.err.matches("; skipped").count();
        assert_eq!(skipped, 3, "{args}: {}", ran.err);
        assert!(ran.err.contains("notes: 7 of 8 notes"), "{}", ran.err);
    }
    here.write("bad/latin.md", b"th\xe9");
    here.ir("search bad tea")
        .fails(1, &["bad: expected a readable note", "latin.md", "UTF-8"]);
}

/// The path of the innermost folders is too long to be opened, for every user.
#[cfg(target_os = "linux")]
#[test]
fn unreadable_folders_are_skipped() {
    let here = Folder::new();
    here.write("notes/a.md", "# Tea\n\ngreen tea\n");
    here.write("trec/a", "<DOC>\n<DOCNO>1</DOCNO>\ngreen tea\n</DOC>\n");
    let deep = vec!["d".repeat(250); 20].join("/");
    for folder in ["notes", "trec"] {
        let made = std::process::Command::new("mkdir")
            .args(["-p", &format!("{folder}/{deep}")])
            .current_dir(here.path())
            .status();
        assert!(made.unwrap().success());
        let ran = here.ir(&["search", folder, "tea"]).ok();
        assert!(ran.out.contains("green"), "{}", ran.out);
        let warnings: Vec<&str> = ran.err.lines().collect();
        assert_eq!(warnings.len(), 2, "{}", ran.err);
        assert!(warnings[0].contains("cannot be read") && warnings[0].ends_with("; skipped"));
        let count = format!("warning: {folder}: folders that cannot be read and are skipped: 1");
        assert_eq!(warnings[1], count);
    }
}

/// Several fields of queries are one text, as titles and descriptions of TREC.
#[test]
fn queries_of_several_fields() {
    let here = Folder::new();
    here.write(
        "d.jsonl",
        "{\"id\": \"a\", \"text\": \"tea\"}\n{\"id\": \"b\", \"text\": \"milk\"}\n",
    );
    here.write("text.tsv", "7\ttea milk\n");
    here.write(
        "topics",
        "<top>\n<num> Number: 7\n<title> tea\n<desc> Description:\nmilk\n</top>\n",
    );
    here.write(
        "q.jsonl",
        "{\"qid\": \"7\", \"title\": \"tea\", \"desc\": \"milk\"}\n",
    );
    here.write("q.csv", "qid,title,desc\n7,tea,milk\n");
    let search = |queries: &str| here.ir(&format!("search d.jsonl -o - --queries {queries}"));
    let expected = search("text.tsv").ok().out;
    assert_eq!(expected.lines().count(), 2);
    for queries in ["topics", "q.jsonl", "q.csv"] {
        let both = search(&format!("{queries} --query-field title,desc")).ok();
        assert_eq!(both.out, expected, "{queries}");
        let title = search(&format!("{queries} --query-field title")).ok();
        assert_eq!(title.out.lines().count(), 1, "{queries}");
    }
    // Attributes of the queries of a collection.
    std::fs::create_dir_all(here.at("beir/qrels")).unwrap();
    here.write("beir/corpus.jsonl", "{\"_id\": \"a\", \"text\": \"tea\"}\n");
    here.write(
        "beir/queries.jsonl",
        "{\"_id\": \"7\", \"text\": \"tea\", \"metadata\": {\"desc\": \"milk\"}}\n",
    );
    here.write(
        "beir/qrels/test.tsv",
        "query-id\tcorpus-id\tscore\n7\ta\t1\n",
    );
    let both = search("beir --query-field text,desc").ok();
    assert_eq!(both.out, expected);
    here.errors(
        "
        search d.jsonl --queries q.jsonl --query-field title,nar
          1: --query-field: q.jsonl:1: | a field \"nar\"
        search d.jsonl --queries - --query-field title,desc
          2: --query-field: expected a file, which is read once per field, found -
    ",
    );
}
