//! Indexes of named fields: `--fields title,keywords` and `--weights`.

use crate::common::Folder;

const CORPUS: &str = concat!(
    "{\"_id\": \"a\", \"title\": \"tea\", \"text\": \"x\", \"keywords\": [\"ship\", \"sea\"]}\n",
    "{\"_id\": \"b\", \"title\": \"ship\", \"text\": \"x\", \"keywords\": [\"tea\", \"milk\"]}\n",
    "{\"_id\": \"c\", \"title\": \"milk\", \"text\": \"tea\"}\n",
);

fn here() -> Folder {
    let here = Folder::new();
    here.write("corpus.jsonl", CORPUS);
    here
}

/// Ids of the hits, in order.
fn hits(here: &Folder, arguments: &[&str]) -> Vec<String> {
    let out = here.ir(&[arguments, &["--json"]].concat()).ok().out;
    let id = |line: &str| {
        let hit: serde_json::Value = serde_json::from_str(line).unwrap();
        hit["id"].as_str().unwrap().to_owned()
    };
    out.lines().map(id).collect()
}

#[test]
fn attributes_are_searched_with_their_weights() {
    let here = here();
    let fields = ["--fields", "title,keywords"];
    here.ir(&[&["index", "corpus.jsonl", "-o", "named.ir"][..], &fields].concat())
        .ok();
    let search = |weights: &str| hits(&here, &["search", "named.ir", "tea", "--weights", weights]);
    assert_eq!(search("keywords=3"), ["b", "a"]);
    assert_eq!(search("keywords=0.1"), ["a", "b"]);
    assert_eq!(search("title=0"), ["b"]);
    // Without an index file.
    let direct = ["search", "corpus.jsonl", "tea", "--weights", "keywords=3"];
    assert_eq!(hits(&here, &[&direct[..], &fields].concat()), ["b", "a"]);
    here.ir(&["search", "named.ir", "tea", "--weights", "keyword=3"])
        .fails(1, &["--weights", "did you mean keywords?"]);
    here.ir(&["search", "named.ir", "tea", "--explain"]).ok();
}

#[test]
fn errors() {
    let here = here();
    let index =
        |fields: &str| here.ir(&["index", "corpus.jsonl", "-o", "x.ir", "--fields", fields]);
    index("title,keyword").fails(
        1,
        &[
            "--fields: expected fields of the documents (",
            "did you mean keywords?",
        ],
    );
    index("seperate").fails(2, &["--fields", "did you mean separate?"]);
    index("title,title").fails(2, &["--fields", "found \"title\" twice"]);
    index("title,").fails(2, &["--fields", "expected a name"]);
    let folder = [
        "index",
        "corpus.jsonl",
        "--add",
        "-o",
        "x.ir",
        "--fields",
        "keyword",
    ];
    here.ir(&folder).fails(1, &["did you mean keywords?"]);
    assert!(!here.at("x.ir").exists());
}
