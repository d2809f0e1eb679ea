//! `ir index --add`, `--delete` and `--compact`.

use std::fs;

use crate::common::Folder;

fn documents(texts: &[(&str, &str, i32)]) -> String {
    let lines = texts.iter().map(|(id, text, year)| {
        format!("{{\"id\": {id:?}, \"contents\": {text:?}, \"year\": {year}}}\n")
    });
    lines.collect()
}

/// An index in the folder `notes`, after updates, and the documents that are left.
fn updated() -> Folder {
    let here = Folder::new();
    here.write(
        "one.jsonl",
        documents(&[("a", "green tea", 2001), ("b", "black tea with milk", 2002)]),
    );
    here.write(
        "two.jsonl",
        documents(&[
            ("b", "white tea, hot", 2003),
            ("c", "coffee", 2004),
            ("d", "tea", 2005),
        ]),
    );
    here.write("gone", "a\n\nunknown\n");
    let one = here
        .ir_inside(&["index", "one.jsonl", "-o", "notes", "--add"])
        .ok();
    assert!(
        one.err
            .contains("notes: 2 documents read, 0 deleted by id; 0 documents before, 2 now")
    );
    here.ir_inside(&["index", "two.jsonl", "-o", "notes", "--add"])
        .ok();
    let gone = here
        .ir_inside(&["index", "-o", "notes", "--delete", "gone"])
        .ok();
    assert!(
        gone.err
            .contains("warning: --delete: 1 of 2 ids are not in the index")
    );
    assert!(gone.err.contains("4 documents before, 3 now"));
    here
}

#[test]
fn rankings_are_those_of_an_index_built_once() {
    let here = updated();
    here.write(
        "left.jsonl",
        documents(&[
            ("b", "white tea, hot", 2003),
            ("c", "coffee", 2004),
            ("d", "tea", 2005),
        ]),
    );
    here.ir_inside(&["index", "left.jsonl", "-o", "left.ir"])
        .ok();
    here.write("queries.tsv", "1\ttea\n2\thot coffee\n3\tgreen milk\n");
    let search = |index: &str, more: &[&str]| {
        let args = ["search", index, "--queries", "queries.tsv", "-o", "-"];
        here.ir_inside(&[&args[..], more].concat()).ok().out
    };
    for more in [
        &[][..],
        &["--filter", "year>=2004"],
        &["--k1", "1.5", "--lengths", "exact"],
    ] {
        let expected = search("left.ir", more);
        assert!(expected.lines().count() > 1);
        assert_eq!(search("notes", more), expected);
    }
    let list = here
        .ir_inside(&["search", "notes", "tea", "--explain"])
        .ok()
        .out;
    assert_eq!(
        list,
        here.ir_inside(&["search", "left.ir", "tea", "--explain"])
            .ok()
            .out
    );
    here.ir_inside(&["index", "-o", "notes", "--compact"]).ok();
    assert_eq!(search("notes", &[]), search("left.ir", &[]));
    here.ir_inside(&["search", "notes", "tea", "--verify"]).ok();
    let names = fs::read_dir(here.at("notes")).unwrap();
    assert_eq!(names.count(), 3, "manifest, lock and one segment");
}

#[test]
fn misuse_is_an_error_and_changes_nothing() {
    let here = updated();
    here.ir_inside(&["index", "one.jsonl", "-o", "one.ir"]).ok();
    here.write("other/file", "x");
    fs::copy(here.at("one.jsonl"), here.at("notes/inside.jsonl")).unwrap();
    let before = here.files();
    for (args, code, message) in [
        ("index", 2, "required arguments"),
        (
            "index one.jsonl -o notes",
            2,
            "--add updates the index in a folder",
        ),
        (
            "index one.jsonl -o notes --compact",
            2,
            "expected --add with documents",
        ),
        (
            "index one.jsonl -o notes --add --analysis english",
            2,
            "--analysis applies only",
        ),
        (
            "index one.jsonl -o notes --add --store all",
            2,
            "--store applies only",
        ),
        (
            "index one.jsonl -o one.jsonl --add",
            2,
            "expected a path that is not an input",
        ),
        (
            "index notes/inside.jsonl -o notes --add",
            2,
            "expected a folder without inputs",
        ),
        (
            "index one.jsonl -o one.ir --add",
            1,
            "an index in a file is immutable",
        ),
        (
            "index one.jsonl -o other --add",
            1,
            "expected an index or an empty folder",
        ),
        (
            "index -o none --compact",
            1,
            "expected the folder of an index",
        ),
        ("index -o notes --delete none", 1, "none: "),
        (
            "index notes -o copy --add",
            1,
            "expected documents, found an index",
        ),
        ("index --add -o -", 2, "required arguments"),
        ("index one.jsonl --add -o -", 2, "found standard output"),
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        here.ir_inside(&args).fails(code, &[message]);
        assert_eq!(here.files(), before, "{args:?}");
    }
}

#[test]
fn a_damaged_segment_is_an_error() {
    let here = updated();
    let segment = fs::read_dir(here.at("notes"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("segment-")
        })
        .unwrap();
    let bytes = fs::read(&segment).unwrap();
    fs::write(&segment, &bytes[..bytes.len() / 2]).unwrap();
    here.ir_inside(&["search", "notes", "tea"])
        .fails(1, &["segment-", "truncated"]);
    here.ir_inside(&["index", "one.jsonl", "-o", "notes", "--add"])
        .fails(1, &["segment-", "truncated"]);
    fs::remove_file(&segment).unwrap();
    here.ir_inside(&["search", "notes", "tea"])
        .fails(1, &["segment-"]);
}
