//! bioCADDIE: topics and judgments without documents, forms of the topics, records by path.

use crate::common::{Folder, data, value, words};

/// Attribute, file and text of the forms of a topic.
const FORMS: [(&str, &str, &str); 5] = [
    (
        "text",
        "queries.combined.orig",
        "Find data on green tea leaves",
    ),
    ("short", "queries.combined.short", "green tea"),
    (
        "stopped",
        "queries.combined.stopped",
        "find data green tea leaves",
    ),
    (
        "weighted",
        "queries.combined.idf",
        "#weight( 0 data 2.5 green 1 tea )",
    ),
    (
        "structured",
        "boolqueries.combined.short",
        "#band( #1( green tea ) )",
    ),
];

/// Topics and judgments below `folder`, as `biocaddie` has them.
fn topics(here: &Folder, folder: &str) {
    for (_, file, text) in FORMS {
        let topic = |id: &str| format!("<query><number>{id}</number><text>{text}</text></query>");
        let topics = [topic("EA1"), topic("T1"), topic("T2")].concat();
        here.write(
            &format!("{folder}/queries/{file}"),
            format!("<parameters>{topics}</parameters>"),
        );
    }
    let judged = |split: &str, qrels: &str| {
        here.write(&format!("{folder}/qrels/biocaddie.qrels.{split}"), qrels);
    };
    judged("test", "T1\t0\t7\t2\nT1\t0\t8\t0\nT2\t0\t8\t1\n");
    judged("train", "EA1\t0\t9\t1\n");
}

const RECORDS: [&str; 3] = [
    r#"{"DOCNO": 7, "TITLE": "Green tea", "REPOSITORY": "ctn_02", "METADATA": {"dataset": {"description": "leaves"}}}"#,
    r#"{"DOCNO": "8", "TITLE": "Tea, green", "REPOSITORY": "geo_1", "METADATA": {"dataItem": {"title": "a table of data"}}}"#,
    r#"{"METADATA": null, "DOCNO": "9", "TITLE": "Milk", "REPOSITORY": "pdb_1"}"#,
];

/// Ids of documents per query of a run, such as `T1 7`.
fn pairs(run: &str) -> Vec<String> {
    let pair = |line: &str| {
        let columns: Vec<&str> = line.split(' ').collect();
        format!("{} {}", columns[0], columns[2])
    };
    let mut pairs: Vec<String> = run.lines().map(pair).collect();
    pairs.sort();
    pairs
}

#[test]
fn topics_and_judgments_without_documents() {
    let here = Folder::new();
    topics(&here, "biocaddie");
    here.write("a.trec", "T1 Q0 7 1 2 a\nT2 Q0 7 1 2 a\nT2 Q0 8 2 1 a\n");
    here.write("b.trec", "T1 Q0 8 1 2 b\nT1 Q0 7 2 1 b\nT2 Q0 8 1 2 b\n");
    here.write(
        "corpus.jsonl",
        "{\"_id\": \"7\", \"text\": \"green tea\"}\n{\"_id\": \"9\", \"text\": \"tea leaves\"}\n",
    );
    let eval = ["eval", "-m", "map", "biocaddie", "a.trec"];
    assert_eq!(value(&here.ir_inside(&eval).ok().out, "map"), 0.75);
    let compare = ["compare", "-m", "AP", "biocaddie", "a.trec", "b.trec"];
    assert!(here.ir_inside(&compare).ok().out.contains("0.75"));
    let search = |queries: &str| {
        let search = ["search", "corpus.jsonl", "-o", "-", "--queries", queries];
        pairs(&here.ir_inside(&search).ok().out)
    };
    assert_eq!(search("biocaddie"), ["T1 7", "T1 9", "T2 7", "T2 9"]);
    assert_eq!(search("biocaddie:train"), ["EA1 7", "EA1 9"]);
    // What reads documents names the files that are missing.
    for command in [
        &["search", "biocaddie", "tea"][..],
        &["search", "biocaddie/fields"],
        &["index", "biocaddie", "-o", "x.ir"],
        &["stats", "biocaddie"],
    ] {
        let expected = [
            "biocaddie: expected the documents of biocaddie",
            "(records.jsonl, records.jsonl.gz, records.jsonl.zst, update_json_folder, update_xml_folder), found none",
        ];
        here.ir_inside(command).fails(1, &expected);
    }
    assert!(!here.at("x.ir").exists());
    // With records, variants have their names.
    here.write("biocaddie/records.jsonl", RECORDS.join("\n"));
    for name in ["biocaddie", "biocaddie/fields", "biocaddie/whole-record"] {
        let run = here
            .ir_inside(&["search", name, "--split", "train"])
            .ok()
            .out;
        assert_eq!(&pairs(&run)[..2], ["EA1 7", "EA1 8"], "{name}");
    }
    let cached = "search biocaddie cocoa -o - --cache cache";
    assert_eq!(here.ir_inside(cached).ok().out, "");
    here.write(
        "biocaddie/records.jsonl",
        r#"{"DOCNO": "1", "TITLE": "cocoa", "REPOSITORY": "ctn_02"}"#,
    );
    assert_eq!(pairs(&here.ir_inside(cached).ok().out), ["1 1"]);
    // Records are inputs, which no output replaces.
    let replaced = ["search", "biocaddie", "-o", "biocaddie/records.jsonl"];
    here.ir_inside(&replaced)
        .fails(2, &["biocaddie/records.jsonl"]);
}

#[test]
fn forms_of_topics() {
    let here = Folder::new();
    topics(&here, "biocaddie");
    here.write("biocaddie/records.jsonl", RECORDS.join("\n"));
    let search = |options: &[&str]| {
        let search = ["search", "biocaddie", "-o", "-", "--split", "train"];
        here.ir_inside(&[&search[..], options].concat())
    };
    let indri = ["--syntax", "indri"];
    for (form, _, text) in FORMS {
        let options = match form {
            "weighted" | "structured" => &indri[..],
            _ => &[],
        };
        let run = search(&[&["--query-form", form], options].concat()).ok();
        let typed = ["search", "biocaddie", "--query", text, "-o", "-"];
        let typed = here.ir_inside(&[&typed[..], options].concat()).ok().out;
        assert!(!typed.is_empty(), "{form}");
        assert_eq!(run.out.replace("EA1 Q0", "1 Q0"), typed, "{form}");
        assert!(!run.err.contains("operators"), "{form}: {}", run.err);
    }
    assert_eq!(
        search(&[]).ok().out,
        search(&["--query-form", "text"]).ok().out
    );
    // Only the phrase of the structured form: not "Tea, green".
    let structured = ["--query-form", "structured", "--syntax", "indri"];
    assert_eq!(pairs(&search(&structured).ok().out), ["EA1 7"]);
    let as_text = search(&structured[..2]).ok();
    assert!(
        as_text.err.contains(
            "query \"EA1\": operators of Indri are searched as text (--syntax indri reads them)"
        ),
        "{}",
        as_text.err
    );
    // As in most of the published topics.
    here.write("operators.tsv", "T1\tweight(2 tea)\n");
    let as_text = "search biocaddie --queries operators.tsv -o -";
    let as_text = here.ir_inside(as_text).ok();
    assert!(as_text.err.contains("query \"T1\": operators of Indri"));
    search(&["--query-form", "shot"]).fails(
        2,
        &[
            "--query-form: expected a form of the queries (short, stopped, structured, text, weighted), found \"shot\" (did you mean short?)",
        ],
    );
    search(&["--query-form", "keyphrases"]).fails(2, &["text, weighted), found \"keyphrases\""]);
    here.write(
        "queries.jsonl",
        "{\"_id\": \"1\", \"text\": \"a\", \"short\": \"tea\"}\n{\"_id\": \"2\", \"text\": \"b\", \"year\": 5}\n",
    );
    let some = ["search", "biocaddie", "--queries", "queries.jsonl"];
    here.ir_inside(&[&some[..], &["--query-form", "short"]].concat())
        .fails(1, &["--query-form short: expected a text in each query, found none in query \"2\" (forms: short, text)"]);
    here.ir_inside("search biocaddie tea --query-form short")
        .fails(2, &["--query-form short: expected queries of a collection"]);
}

#[test]
fn forms_and_syntax_in_sweeps() {
    let here = Folder::new();
    topics(&here, "biocaddie");
    here.write("biocaddie/records.jsonl", RECORDS.join("\n"));
    let sweep = |options: &[&str]| {
        let sweep = ["sweep", "biocaddie", "biocaddie", "--grid", "b=0.2,0.8"];
        here.ir_inside(&[&sweep[..], options].concat())
    };
    // The judged document of T2 has the words, and not the phrase.
    let ap = |options: &[&str]| {
        let out = sweep(options).ok().out;
        let line = out.lines().find(|line| line.starts_with("oracle")).unwrap();
        line.split_whitespace().nth(2).unwrap().to_owned()
    };
    let structured = ["--query-form", "structured", "--syntax", "indri"];
    assert_eq!(ap(&structured), "0.5000");
    assert_ne!(ap(&["--query-form", "short"]), "0.5000");
    sweep(&["--query-form", "shot"]).fails(2, &["found \"shot\" (did you mean short?)"]);
    sweep(&["--syntax", "indri", "--feedback", "rm3"]).fails(
        2,
        &["--feedback: expected no --syntax, found both: it needs queries of words"],
    );
    here.ir_inside("sweep biocaddie a b --syntax indri")
        .fails(2, &["--grid"]);
}

/// Records in the XML form.
fn xml(id: &str, title: &str) -> String {
    format!(
        "<DOC>\n<DOCNO>{id}</DOCNO>\n<TITLE>{title}</TITLE>\n<REPOSITORY>ctn_02</REPOSITORY>\n\
         <METADATA>{{&quot;dataset&quot;: {{&quot;description&quot;: &quot;leaves&quot;}}}}</METADATA>\n</DOC>\n"
    )
}

#[test]
fn records_by_path() {
    let here = Folder::new();
    here.write("records.jsonl", RECORDS.join("\n"));
    for (id, record) in [7, 8, 9].iter().zip(RECORDS) {
        here.write(&format!("json/{id}.json"), record);
    }
    let declared = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}",
        xml("7", "Green tea")
    );
    here.write("xml/7.xml", xml("7", "Green tea"));
    here.write("declared/7.xml", &declared);
    here.write("declared/README.md", "One record.\n");
    here.write("below/xml/7.xml", xml("7", "Green tea"));
    let search = |path: &str, query: &str| {
        let search = ["search", path, query, "-o", "-"];
        pairs(&here.ir(&search).ok().out)
    };
    for path in [
        "records.jsonl",
        "json",
        "xml",
        "declared",
        "json/7.json",
        "xml/7.xml",
        "declared/7.xml",
    ] {
        assert_eq!(search(path, "leaves"), ["1 7"], "{path}");
        // Neither names of members nor markup are text.
        assert_eq!(search(path, "dataset description"), [""; 0], "{path}");
        let list = ["search", path, "leaves", "--json"];
        let hit: serde_json::Value = serde_json::from_str(&here.ir(&list).ok().out).unwrap();
        assert_eq!(hit["attributes"]["repository"], "ctn", "{path}");
    }
    here.ir("search below leaves").fails(
        1,
        &["below: expected TREC files, found records of bioCADDIE in below/xml; give that folder"],
    );
    here.write("json/6.json", "{\"DOCNO\": 6}");
    here.ir("search json leaves").fails(1, &["json"]);
    let replaced = ["search", "xml", "leaves", "-o", "xml/7.xml"];
    here.ir(&replaced).fails(2, &["xml/7.xml"]);
    let encoding = ["search", "json/7.json", "tea", "--encoding", "latin-1"];
    here.ir(&encoding).fails(2, &["--encoding"]);
    // Topics, judgments and records as a folder.
    topics(&here, "topics");
    here.write("a.trec", "T1 Q0 7 1 2 a\nT2 Q0 7 1 2 a\nT2 Q0 8 2 1 a\n");
    let eval = ["eval", "-m", "map", "topics", "a.trec"];
    assert_eq!(value(&here.ir(&eval).ok().out, "map"), 0.75);
    let search = words("search records.jsonl --queries topics:train -o -");
    assert!(here.ir(&search).ok().out.starts_with("EA1 Q0 7"));
    here.ir("search topics tea").fails(
        1,
        &["topics: expected the documents of topics beside its topics (records.jsonl"],
    );
    here.write("topics/records.jsonl", RECORDS.join("\n"));
    let run = here.ir("search topics -o -").ok().out;
    assert!(run.starts_with("T1 Q0 7"), "{run}");
    here.ir("search topics -o topics/queries/queries.combined.short")
        .fails(2, &["queries.combined.short"]);
}

#[test]
fn text_rules_of_records() {
    let here = Folder::new();
    topics(&here, "biocaddie");
    here.write("biocaddie/records.jsonl", RECORDS.join("\n"));
    here.write("records.jsonl", RECORDS.join("\n"));
    here.write("xml/7.xml", xml("7", "Green tea"));
    for (id, record) in [7, 8, 9].iter().zip(RECORDS) {
        here.write(&format!("json/{id}.json"), record);
    }
    let search = |path: &str, options: &[&str]| {
        let search = ["search", path, "-o", "-"];
        here.ir_inside(&[&search[..], options].concat())
    };
    let found = |path: &str, options: &[&str]| pairs(&search(path, options).ok().out);
    for path in ["records.jsonl", "json", "xml", "xml/7.xml", "biocaddie"] {
        // The name of the repository, and names of members.
        for (query, rule) in [
            ("clinical trials network", "organizers"),
            ("description", "whole-record"),
        ] {
            assert_eq!(found(path, &[query]), [""; 0], "{path}");
            assert_eq!(found(path, &[query, "--text-rule", "paths"]), [""; 0]);
            let options = [query, "--text-rule", rule];
            assert_eq!(found(path, &options), ["1 7"], "{path}");
            let cached = [&options[..], &["--cache", "cache"]].concat();
            assert_eq!(found(path, &cached), ["1 7"], "{path}");
            assert_eq!(found(path, &[query, "--cache", "cache"]), [""; 0]);
        }
        let index = ["index", path, "-o", "x.ir", "--text-rule", "fields"];
        let fields = ["--fields", "title,text,meta"];
        here.ir_inside(&[&index[..], &fields].concat()).ok();
        let fields = ["leaves", "--weights", "title=0,text=0,meta=1"];
        assert_eq!(found("x.ir", &fields), ["1 7"], "{path}");
        let add = ["index", path, "-o", "x.index", "--add"];
        here.ir_inside(&[&add[..], &["--text-rule", "organizers"]].concat())
            .ok();
        assert_eq!(found("x.index", &["trials"]), ["1 7"], "{path}");
    }
    // The same as the variant of the collection.
    let weighted = ["--split", "train", "--query-form", "short"];
    let rule = ["--text-rule", "organizers"];
    let run = search("biocaddie", &[&weighted[..], &rule].concat()).ok();
    let variant = search("biocaddie/organizers", &weighted).ok();
    assert_eq!(run.out, variant.out);
    let both = search("biocaddie/organizers", &[&weighted[..], &rule].concat()).ok();
    assert_eq!(both.out, variant.out);
    search("biocaddie/fields", &rule).fails(
        2,
        &["--text-rule organizers: expected biocaddie or biocaddie/organizers, found biocaddie/fields"],
    );
    here.write("corpus.jsonl", "{\"_id\": \"7\", \"text\": \"tea\"}\n");
    for (path, format) in [
        ("corpus.jsonl", "JSON lines"),
        ("bundled", "collection of `ir datasets`"),
        ("x.ir", "an index"),
    ] {
        let expected = format!(
            "--text-rule organizers: expected records of bioCADDIE, found {path} ({format})"
        );
        search(path, &[&["tea"], &rule[..]].concat()).fails(2, &[&expected]);
    }
    let index = ["index", "corpus.jsonl", "-o", "y.ir"];
    here.ir_inside(&[&index[..], &rule].concat()).fails(
        2,
        &["--text-rule organizers: expected records of bioCADDIE"],
    );
    let compact = ["index", "-o", "x.index", "--compact"];
    here.ir_inside(&[&compact[..], &rule].concat())
        .fails(2, &["--text-rule: expected --add with documents"]);
    search("records.jsonl", &["tea", "--text-rule", "pathes"]).fails(2, &["paths", "pathes"]);
}

#[test]
fn unknown_collections_name_the_text_rules() {
    let here = Folder::new();
    here.ir("index biocaddie/feilds -o x.ir").fails(
        1,
        &[
            "biocaddie, biocaddie/paths, biocaddie/organizers, biocaddie/whole-record, biocaddie/fields",
            "(did you mean biocaddie/fields?)",
        ],
    );
}

#[test]
fn xml_records_with_a_prolog() {
    let here = Folder::new();
    let record = xml("7", "Green tea").replace("<DOC>", "<DOC id=\"7\">");
    for (n, prolog) in [
        "",
        "<!-- bioCADDIE -->\n",
        "<?xml version='1.0'?>\n<!DOCTYPE DOC SYSTEM 'x.dtd'>\n",
    ]
    .iter()
    .enumerate()
    {
        here.write(&format!("{n}/7.xml"), format!("{prolog}{record}"));
        for path in [format!("{n}"), format!("{n}/7.xml")] {
            let search = ["search", &path, "leaves", "-o", "-"];
            assert_eq!(pairs(&here.ir(&search).ok().out), ["1 7"], "{prolog}");
        }
    }
    let anonymous = record.replace("<DOCNO>7</DOCNO>\n", "");
    here.write("no-id.xml", &anonymous);
    here.write("no-id.json", RECORDS[0].replace("\"DOCNO\": 7, ", ""));
    for path in ["no-id.xml", "no-id.json"] {
        let expected = format!("{path}:1: expected a field \"DOCNO\", found none");
        here.ir(&["search", path, "leaves"]).fails(1, &[&expected]);
    }
}

#[test]
fn encodings_of_records() {
    let here = Folder::new();
    let latin_1 = |declaration: &str| {
        let text = format!("{declaration}{}", xml("7", "na#ve"));
        let bytes = text.into_bytes().into_iter();
        let bytes: Vec<u8> = bytes
            .map(|byte| if byte == b'#' { 0xef } else { byte })
            .collect();
        bytes
    };
    let declaration = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n";
    topics(&here, "biocaddie");
    here.write("biocaddie/update_xml_folder/7.xml", latin_1(declaration));
    here.write("plain/7.xml", latin_1(""));
    let search = |path: &str, options: &[&str]| {
        let search = ["search", path, "naïve", "-o", "-"];
        here.ir_inside(&[&search[..], options].concat())
    };
    for path in ["biocaddie", "biocaddie/update_xml_folder"] {
        assert_eq!(pairs(&search(path, &[]).ok().out), ["1 7"], "{path}");
    }
    let hint = "expected UTF-8 text, found invalid bytes at column 10 \
                (for Windows-1252 or Latin-1: --encoding windows-1252)";
    let option = ["--encoding", "latin-1"];
    search("plain", &[]).fails(1, &["plain/7.xml:3: ", hint]);
    assert_eq!(pairs(&search("plain", &option).ok().out), ["1 7"]);
    here.write("biocaddie/update_xml_folder/7.xml", latin_1(""));
    search("biocaddie", &[]).fails(1, &["update_xml_folder/7.xml:3: ", hint]);
    assert_eq!(pairs(&search("biocaddie", &option).ok().out), ["1 7"]);
    let index = ["index", "biocaddie", "-o", "x.ir"];
    here.ir_inside(&[&index[..], &option].concat()).ok();
    let unknown = latin_1("<?xml version='1.0' encoding='KOI8-R'?>\n");
    here.write("plain/7.xml", unknown);
    search("plain", &[]).fails(
        1,
        &["plain/7.xml:1: expected the encoding UTF-8, ISO-8859-1 or Windows-1252, found \"KOI8-R\""],
    );
}

#[test]
fn published_topics_and_judgments() {
    let Some(data) = data("published_topics_and_judgments") else {
        return;
    };
    if !data.join("biocaddie/queries").is_dir() {
        eprintln!("published_topics_and_judgments: skipped, no biocaddie");
        return;
    }
    let here = Folder::new();
    // The judgments as a run: an ideal ranking.
    let qrels = std::fs::read_to_string(data.join("biocaddie/qrels/biocaddie.qrels.test")).unwrap();
    let run = qrels.lines().map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        format!("{} Q0 {} 1 {} ideal\n", columns[0], columns[2], columns[3])
    });
    here.write("ideal.trec", run.collect::<String>());
    let eval = "eval -m num_rel -m num_q -m map biocaddie ideal.trec";
    let out = here.ir_data(eval).ok().out;
    assert_eq!(value(&out, "num_rel"), 3881.0);
    assert_eq!(value(&out, "num_q"), 15.0);
    assert_eq!(value(&out, "map"), 1.0);
    // Every topic in Indri's forms is a query.
    here.write(
        "corpus.jsonl",
        "{\"_id\": \"1\", \"text\": \"gene protein cancer mice\"}\n",
    );
    for (form, split) in [
        ("weighted", "test"),
        ("structured", "train"),
        ("structured", "test"),
    ] {
        let queries = format!("biocaddie:{split}");
        let search = ["search", "corpus.jsonl", "-o", "-", "--queries", &queries];
        let syntax = ["--query-form", form, "--syntax", "indri"];
        here.ir_data(&[&search[..], &syntax].concat()).ok();
    }
}
