//! `ir export` and `ir index --from-ciff`.

use crate::common::{Folder, tiny};

/// An exported index is searched to the same run, with the recorded analyzer.
#[test]
fn exported_indexes_have_the_same_run() {
    let here = Folder::new();
    tiny(&here);
    let index = ["index", "tiny", "-o", "tiny.ir", "--analysis", "english"];
    here.ir(&index).ok();
    let run = |index: &str| {
        let search = [
            "search",
            index,
            "--queries",
            "tiny/queries.jsonl",
            "-o",
            "run",
        ];
        here.ir(&search).ok();
        here.read("run")
    };
    let expected = run("tiny.ir");
    assert!(expected.lines().count() > 1, "{expected}");
    for file in ["tiny.ciff", "tiny.ciff.gz"] {
        here.ir(&["export", "tiny.ir", "-o", file]).ok();
        here.ir(&["index", "--from-ciff", file, "-o", "copy.ir"])
            .ok();
        assert_eq!(run("copy.ir"), expected);
        let inspected = here.ir(&["inspect", file]).ok().out;
        for part in [
            "index: CIFF",
            "documents",
            "analyzer english",
            "--from-ciff",
        ] {
            assert!(inspected.contains(part), "{inspected}");
        }
    }
    let stats = here.ir("stats copy.ir").ok().out;
    assert!(stats.contains("english"), "{stats}");
    // Another analyzer is accepted, with a warning.
    let other = "index --from-ciff tiny.ciff -o other.ir --analysis whitespace";
    let ran = here.ir(other).ok();
    let warning = "tiny.ciff: the index was made with the analyzer english, not with whitespace";
    assert!(ran.err.contains(warning), "{}", ran.err);
}

#[test]
fn unusable_files_and_options_are_errors() {
    let here = Folder::new();
    tiny(&here);
    here.ir("index tiny -o tiny.ir --fields separate").ok();
    here.ir("export tiny.ir -o x.ciff").fails(
        2,
        &["--field: expected one of the fields of tiny.ir (title, text), found none"],
    );
    here.ir("export tiny.ir -o x.ciff --field body").fails(
        1,
        &["--field: expected a field of the index (title, text), found \"body\""],
    );
    here.ir("export tiny -o x.ciff").fails(1, &["tiny"]);
    here.ir("export tiny.ir -o x.ciff --field text").ok();
    let bytes = std::fs::read(here.at("x.ciff")).unwrap();
    std::fs::write(here.at("cut.ciff"), &bytes[..bytes.len() - 1]).unwrap();
    here.ir("index --from-ciff cut.ciff -o y.ir").fails(
        1,
        &["cut.ciff: document 3 of 3 at byte ", "the end of the file"],
    );
    assert!(!here.at("y.ir").exists());
    for option in [
        "tiny",
        "--positions",
        "--add",
        "--text-field text",
        "--shard 1/2",
    ] {
        here.ir(&format!("index {option} --from-ciff x.ciff -o y.ir"))
            .fails(2, &["--from-ciff"]);
    }
    // A file of another program: a header and one document without postings.
    here.write(
        "other.ciff",
        b"\x07\x08\x01\x18\x01\x28\x01\x31\x03\x12\x01a",
    );
    here.ir("index --from-ciff other.ciff -o y.ir")
        .fails(1, &["other.ciff: header"]);
}
