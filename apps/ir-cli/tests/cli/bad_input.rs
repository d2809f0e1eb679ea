//! Invalid input and options: a one-line error, and no file left behind.

use std::path::Path;

use crate::common::{BEIR_QRELS, CORPUS, Folder, QRELS, QUERIES, RUN, tiny};

#[test]
fn usage_errors() {
    let here = Folder::new();
    tiny(&here);
    here.write("qrels", QRELS);
    here.write("run", RUN);
    here.errors(
        "
        search tiny --k1 -1
          2: --k1: expected a finite number >= 0, found -1
        search tiny --k1 NaN
          2: NaN | --k1
        search tiny --b 1.5
          2: 1.5 | --b | from 0 to 1
        search tiny --hits 0
          2: '0' | --hits | expected an integer of at least 1
        search tiny --model tfidff
          2: tfidff | --model | did you mean tfidf?
        search tiny --filter year=<2
          2: year=<2 | --filter | NAME<=LIMIT
        search tiny --hits -1
          2: '-1' | --hits | expected an integer of at least 1
        search tiny --threads -2
          2: '-2' | --threads | expected an integer of at least 1
        index tiny -o x.ir --threads -2
          2: '-2' | --threads | expected an integer of at least 1
        eval qrels run -M -1
          2: '-1' | --max-retrieved | expected an integer of at least 1
        eval qrels run -N -1
          2: '-1' | --collection-size
        search tiny --tag 'a b'
          2: a b | --tag
        search tiny --analysis french
          2: french | anserini
        search tiny tea --tag t
          2: --tag: expected a TREC run, found a list of hits (--output FILE
        search tiny --json --scores exact
          2: --scores: expected a TREC run, found --json
        search tiny tea --remove-self
          2: --remove-self: expected queries with ids, found query words
        search tiny tea --verify
          2: --verify: expected a saved index or --cache, found tiny
        search tiny tea --encoding latin-1
          2: --encoding: expected | found tiny (BEIR folder)
        index tiny -o x.ir --encoding latin-1
          2: --encoding: expected | found tiny (BEIR folder)
        search tiny tea --queries q
          2: --queries
        index tiny -o x.ir --memory lots
          2: lots | --memory | 512MB
        index tiny
          2: --output
        eval qrels
          2: <RUN>
        eval qrels run -m bogus
          2: bogus | measure
        eval qrels run -m P.0
          2: P.0 | cutoff
        eval qrels run -l -1
          2: '-1' | --level
        eval - -
          2: expected `-` at most once, found it more than once
        bogus
          2: bogus
    ",
    );
}

#[test]
fn missing_inputs() {
    let here = Folder::new();
    tiny(&here);
    here.write("qrels", QRELS);
    here.write("run", RUN);
    here.write("empty/x", "");
    here.errors(
        "
        search nowhere tea
          1: nowhere | bundled
        search beir/nope
          1: beir/nope | beir/nfcorpus
        search beir/nfcorpus
          1: beir/nfcorpus | IR_DATA
        search empty tea
          1: empty | corpus.jsonl | *.md
        search tiny --split dev
          1: dev | test
        search tiny --queries nothing.tsv
          1: nothing.tsv | No such file
        search tiny --queries empty
          1: empty: expected a folder in BEIR's layout
        index nowhere -o x.ir
          1: nowhere
        index tiny -o none/x.ir
          1: none/x.ir | No such file
        index tiny -o tiny
          1: tiny | directory
        search tiny -o none/run
          1: none/run | No such file
        search tiny -o tiny
          1: tiny | directory
        eval nothing run
          1: nothing | beir/nfcorpus
        eval qrels nothing
          1: nothing | No such file
        eval tiny:dev run
          1: expected a split of | tiny | (test) | dev
        eval qrels tiny
          1: tiny: expected a run, found a collection
        eval bundled:nope run
          1: nope | test
        datasets verify nope
          1: nope | bundled
        datasets verify beir/nfcorpus
          1: IR_DATA
    ",
    );
    if cfg!(not(feature = "fetch")) {
        here.errors(
            "
            datasets fetch beir/arguana
              1: feature | fetch | arguana.zip
        ",
        );
    }
}

#[test]
fn invalid_file_formats() {
    let here = Folder::new();
    tiny(&here);
    here.write("qrels", QRELS);
    here.write("run", RUN);
    here.write("nan.run", RUN.replace("1.5", "nan"));
    here.write("short.run", "q1 Q0 d1 1\n");
    here.write("twice.run", format!("{RUN}q1 Q0 d1 9 0.1 me\n"));
    here.write("utf16.run", b"\xff\xfeq\0\0\xd8x\0");
    here.write("nul.run", b"q1 Q0 d\x001 1 2 me\n");
    here.write("five.qrels", "q1 0 d1 1 x\n");
    here.write("other.qrels", "z1 0 d1 1\n");
    here.write(
        "broken.jsonl",
        "{\"_id\": \"d1\", \"text\": \"tea\"}\n{\"_id\": \"d2\", \n",
    );
    here.write("list.jsonl", "{\"_id\": \"d1\", \"text\": \"tea\"}\n[1]\n");
    here.write("noid.jsonl", "{\"text\": \"tea\"}\n");
    here.write(
        "twice.jsonl",
        "{\"_id\": \"d1\", \"text\": \"tea\"}\n{\"_id\": \"d1\", \"text\": \"tea\"}\n",
    );
    here.write("twice.tsv", "a\ttea\na\ttea\n");
    here.write("words.tsv", "just words\n");
    here.write("blank.ids", "a b\ttea\n");
    here.write("notes/a.md", [0xff, 0x00, 0x80]);
    write_truncated_gzip(&here, "cut.run.gz", RUN);
    write_truncated_gzip(&here, "cut.jsonl.gz", CORPUS);
    here.errors(
        "
        eval qrels nan.run
          1: nan.run:2 | NaN
        eval qrels short.run
          1: short.run:1 | 6 columns | found 4
        eval qrels twice.run
          1: twice.run:4 | d1 | q1 | line 2
        eval qrels utf16.run
          1: utf16.run:1 | UTF-16 | unpaired surrogate 0xd800 at byte 4
        eval qrels nul.run
          1: nul.run:1 | NUL
        eval qrels cut.run.gz
          1: cut.run.gz | gzip | end of the file
        eval five.qrels run
          1: five.qrels:1 | 4 columns | found 5
        eval other.qrels run
          1: other.qrels | z1 | q1
        index broken.jsonl -o x.ir
          1: broken.jsonl:2 | JSON
        index list.jsonl -o x.ir
          1: list.jsonl:2
        index noid.jsonl -o x.ir
          1: noid.jsonl:1 | _id
        index twice.jsonl -o x.ir
          1: twice.jsonl:2 | d1 | line 1
        index twice.tsv -o x.ir
          1: twice.tsv:2 | line 1
        index words.tsv -o x.ir
          1: words.tsv:1 | columns, found 1
        index cut.jsonl.gz -o x.ir
          1: cut.jsonl.gz | gzip | end of the file
        index notes -o x.ir
          1: a.md | UTF-8
        search blank.ids --queries twice.tsv
          1: twice.tsv:2
        search tiny --queries words.tsv
          1: words.tsv:1: expected 2 columns, found 1
    ",
    );
    // A run cannot hold an id with white space.
    here.write("one.tsv", "q\ttea\n");
    here.errors(
        "
        search blank.ids --queries one.tsv -o out
          1: out | a b | white space
    ",
    );
    // Judged queries whose text is missing.
    here.write("tiny/queries.jsonl", QUERIES.replace("\"q2\"", "\"q7\""));
    here.errors(
        "
        search tiny
          1: tiny | q2
    ",
    );
    // A relevant document twice in BEIR format.
    here.write("twice.tsv", format!("{BEIR_QRELS}q1\td1\t1\n"));
    here.errors(
        "
        eval twice.tsv run
          1: twice.tsv:4 | line 2
    ",
    );
}

/// A truncated copy of a catalog entry is reported as damaged, neither as absent nor as a plain
/// folder.
#[test]
fn damaged_collection() {
    let here = Folder::new();
    here.write("beir/nfcorpus/corpus.jsonl", CORPUS);
    here.write("beir/nfcorpus/queries.jsonl", QUERIES);
    let parts = &["beir/nfcorpus/corpus.jsonl", "bytes", "incomplete"];
    here.ir_inside("search beir/nfcorpus tea").fails(1, parts);
    here.ir_inside("index beir/nfcorpus -o index")
        .fails(1, parts);
    let list = here.ir_inside("datasets").ok().out;
    let row = list.lines().find(|row| row.starts_with("beir/nfcorpus"));
    let row = row.unwrap();
    assert!(row.contains("damaged: "), "{row}");
    assert!(parts.iter().all(|part| row.contains(part)), "{row}");
    let json = here.ir_inside("datasets --json").ok().out;
    for line in json.lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        let damaged = object["name"] == "beir/nfcorpus";
        assert_eq!(object["damaged"].is_string(), damaged, "{line}");
        assert_eq!(object["present"] == true, object["name"] == "bundled");
    }
    // As a folder, not as a catalog entry.
    here.ir_inside("search ./beir/nfcorpus tea").ok();
}

/// Writes a truncated gzip file.
fn write_truncated_gzip(here: &Folder, name: &str, content: &str) {
    use std::io::Write;
    let mut file = ir_data::create(here.at(name)).unwrap();
    file.write_all(content.as_bytes()).unwrap();
    file.commit().unwrap();
    let bytes = std::fs::read(here.at(name)).unwrap();
    here.write(name, &bytes[..bytes.len() - 9]);
}

/// Every byte and length of the file: the tests of ir-bm25 (`index_file.rs`).
#[test]
fn damaged_indexes() {
    let here = Folder::new();
    tiny(&here);
    here.ir("index tiny -o good.ir").ok();
    let good = std::fs::read(here.at("good.ir")).unwrap();
    here.write("cut.ir", &good[..good.len() / 2]);
    let undamaged = here.ir("search good.ir tea --explain").ok();
    for at in (16..good.len()).step_by(good.len() / 16 + 1) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x40;
        here.write("flipped.ir", bytes);
        here.ir("search flipped.ir tea --verify")
            .fails(1, &["flipped.ir", "damaged"]);
        // Without --verify, damage in postings and texts is an error when read.
        let ran = here.ir("search flipped.ir tea --explain");
        match ran.code {
            0 => assert_eq!(ran.out, undamaged.out, "byte {at}"),
            _ => {
                ran.fails(1, &["flipped.ir", "damaged"]);
            }
        }
    }
    // The header and the section tables are always verified.
    for at in [8, 20, good.len() - 4, good.len() - 20, good.len() - 60] {
        let mut bytes = good.clone();
        bytes[at] ^= 0x40;
        here.write("flipped.ir", bytes);
        here.ir("search flipped.ir tea")
            .fails(1, &["flipped.ir", "damaged"]);
    }
    let starts = [1, 4, 8, 12, 16, 20, 39].into_iter();
    for at in starts.chain((97..good.len()).step_by(good.len() / 8)) {
        here.write("flipped.ir", &good[..at]);
        here.ir("search flipped.ir tea")
            .fails(1, &["flipped.ir: truncated, or damaged at the end"]);
    }
    here.errors(
        "
        search cut.ir tea
          1: cut.ir: truncated, or damaged at the end
        search good.ir tea --analysis whitespace
          2: --analysis applies only when an index is built | good.ir is a saved index
        search good.ir tea --fields separate
          2: --fields applies only when an index is built
        search good.ir tea --order insertion
          2: --order applies only when an index is built
        search good.ir tea --memory 1GB
          2: --memory applies only when an index is built
        search good.ir tea --cache kept
          2: --cache applies only when an index is built | good.ir is a saved index
        search tiny tea --cache good.ir
          1: good.ir: expected a folder for --cache, found a file
        search good.ir
          2: good.ir | --queries
        index good.ir -o x.ir
          1: good.ir | index
    ",
    );
}

#[test]
fn unwritable_outputs() {
    if !Path::new("/dev/full").exists() || !Path::new("/proc/self").exists() {
        eprintln!("unwritable_outputs: skipped, no /dev/full or no /proc");
        return;
    }
    let here = Folder::new();
    tiny(&here);
    here.errors(
        "
        search bundled -o /dev/full
          1: /dev/full | No space left
        index tiny -o /dev/full
          1: /dev/full
        search bundled -o /proc/run.trec
          1: /proc/run.trec
        index tiny -o /proc/x.ir
          1: /proc/x.ir
        search tiny --cache /proc/cache
          1: /proc/cache
    ",
    );
    assert!(Path::new("/dev/full").exists());
    for help in ["--help", "--version"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let ran = std::process::Command::new(env!("CARGO_BIN_EXE_ir"))
            .arg(help)
            .stdout(full.unwrap())
            .output()
            .unwrap();
        let err = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{err}");
        assert!(err.starts_with("error: standard output: cannot be written: "));
        assert_eq!(err.lines().count(), 1, "{err}");
    }
}

/// Conditions that are not read say what to write.
#[test]
fn conditions_that_are_not_read() {
    let here = Folder::new();
    tiny(&here);
    let expected = "expected NAME<=LIMIT, NAME>=LIMIT, NAME<LIMIT, NAME>LIMIT";
    for (filter, hint) in [
        ("year>=2018-06-32", "(dates are YYYY-MM-DD)"),
        ("year>=2015,kind=drink", "repeat --filter"),
        ("year>=2015 and year<=2018", "repeat --filter"),
        ("kind=drink and year=2012", "repeat --filter"),
        ("year:2018", "NAME=VALUE for equality"),
        ("year between 2015 and 2018", "NAME=VALUE for equality"),
    ] {
        here.ir(&["search", "tiny", "tea", "--filter", filter])
            .fails(2, &[expected, filter, hint]);
    }
}
