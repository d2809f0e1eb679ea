//! Structured queries: `ir search --syntax` and `ir index --positions`.

use crate::common::Folder;

const CORPUS: &str = concat!(
    "{\"_id\": \"a\", \"title\": \"Hot drinks\", \"text\": \"green tea with milk\"}\n",
    "{\"_id\": \"b\", \"title\": \"Green leaves\", \"text\": \"tea and green leaves\"}\n",
    "{\"_id\": \"c\", \"title\": \"Water\", \"text\": \"cold water\"}\n",
);

fn here() -> Folder {
    let here = Folder::new();
    here.write("corpus.jsonl", CORPUS);
    here
}

/// Ids of the hits, ascending, of a search without warnings other than that of no hits.
#[track_caller]
fn hits(here: &Folder, arguments: &[&str]) -> Vec<String> {
    let ran = here.ir(&[arguments, &["--json"]].concat()).ok();
    let id = |line: &str| {
        let hit: serde_json::Value = serde_json::from_str(line).unwrap();
        hit["id"].as_str().unwrap().to_owned()
    };
    let mut ids: Vec<String> = ran.out.lines().map(id).collect();
    let expected = if ids.is_empty() {
        "warning: no hits: no document matches the query\n"
    } else {
        ""
    };
    assert_eq!(ran.err, expected);
    ids.sort();
    ids
}

#[test]
fn phrases_and_operators() {
    let here = here();
    here.ir(&["index", "corpus.jsonl", "-o", "saved.ir", "--positions"])
        .ok();
    here.ir(&[
        "index",
        "corpus.jsonl",
        "-o",
        "folder",
        "--add",
        "--positions",
    ])
    .ok();
    for index in ["corpus.jsonl", "saved.ir", "folder"] {
        for (syntax, query, expected) in [
            ("lucene", "\"green tea\"", &["a"][..]),
            ("lucene", "\"tea green\"~3", &["a", "b"]),
            ("lucene", "+green -milk", &["b"]),
            ("lucene", "contents:(water OR \"tea milk\")", &["c"]),
            ("lucene", "\"milk tea\"", &[]),
            ("indri", "#1(green tea)", &["a"]),
            ("indri", "#uw4(milk tea)", &["a"]),
            ("indri", "#band(green #not(milk))", &["b"]),
            (
                "indri",
                "#weight(2 #syn(water milk) 1 tea)",
                &["a", "b", "c"],
            ),
        ] {
            let search = ["search", index, "--query", query, "--syntax", syntax];
            assert_eq!(hits(&here, &search), expected, "{index} {query}");
        }
    }
    let fields = ["--fields", "separate", "--syntax", "lucene"];
    let search = |query| {
        hits(
            &here,
            &[&["search", "corpus.jsonl", query][..], &fields].concat(),
        )
    };
    assert_eq!(search("title:green"), ["b"]);
    let indri = |query: &str| {
        let search = ["search", "corpus.jsonl", query, "--fields", "separate"];
        hits(&here, &[&search[..], &["--syntax", "indri"]].concat())
    };
    assert_eq!(indri("green.title"), ["b"]);
    assert_eq!(indri("#1(green tea).text"), ["a"]);
    assert_eq!(indri("#weight(0 milk 1 water.title)"), ["c"]);
    assert_eq!(search("+title:water +text:\"cold water\""), ["c"]);
    // Words are those of a search without a syntax.
    let run = |options: &[&str]| {
        let search = ["search", "saved.ir", "green tea milk", "-o", "-"];
        here.ir(&[&search, options].concat()).ok().out
    };
    assert_eq!(run(&["--syntax", "lucene"]), run(&[]));
}

#[test]
fn errors() {
    let here = here();
    let index = ["index", "corpus.jsonl", "-o"];
    here.ir(&[&index[..], &["plain.ir"]].concat()).ok();
    here.ir(&[&index[..], &["folder", "--add"]].concat()).ok();
    here.ir(&[&index[..], &["folder", "--add", "--positions"]].concat())
        .fails(
            2,
            &["--positions: expected no positions, with which folder was created"],
        );
    let search = |index: &str, query: &str, options: &str| {
        let options: Vec<&str> = options.split(' ').collect();
        let search = ["search", index, "--query", query, "--syntax"];
        here.ir(&[&search[..], &options].concat())
    };
    search("plain.ir", "\"green tea\"", "lucene").fails(
        1,
        &["expected an index with positions", "`ir index --positions`"],
    );
    assert!(
        search("plain.ir", "+green -milk", "lucene")
            .ok()
            .out
            .contains("leaves")
    );
    search("plain.ir", "green (tea", "lucene").fails(
        1,
        &["query \"green (tea\", character 11: expected a closing parenthesis, found the end"],
    );
    search("plain.ir", "#near(a b)", "indri").fails(1, &["character 1: expected #combine"]);
    search("plain.ir", "title:tea", "lucene").fails(
        1,
        &["fields contents, found \"title\"", "`--fields title,text`"],
    );
    let fields = search("corpus.jsonl", "titel:tea", "lucene --fields title,text");
    let fields = fields.fails(
        1,
        &["expected one of the fields title, text, found \"titel\""],
    );
    assert!(!fields.err.contains("--fields"), "{}", fields.err);
    search("plain.ir", "tea.title", "indri").fails(1, &["fields contents, found \"title\""]);
    search("plain.ir", "\"a b\"~99999999999", "lucene").fails(
        1,
        &["character 7: expected a number of positions after ~, 0 to 4294967295, found \"99999999999\""],
    );
    search("plain.ir", "tea", "lucen").fails(2, &["--syntax", "'lucene' (see --help)"]);
    search("plain.ir", "tea", "lucene --clean punctuation").fails(2, &["--syntax", "--clean"]);
    search("plain.ir", "tea", "lucene --feedback rm3").fails(2, &["--syntax", "--feedback"]);
}
