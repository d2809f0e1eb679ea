//! `ir index --add`, `--delete` and `--compact`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ir_bm25::{IndexConfig, IndexWriter, SegmentedIndex};

use crate::common::Folder;
#[cfg(target_os = "linux")]
use crate::common::{UpdateFailures, contents, words};

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
    let one = here.ir_inside("index one.jsonl -o notes --add").ok();
    assert!(
        one.err
            .contains("notes: 2 documents written, 2 of them new, 0 deleted; now 2 documents")
    );
    here.ir_inside("index two.jsonl -o notes --add").ok();
    let gone = here.ir_inside("index -o notes --delete gone").ok();
    assert!(
        gone.err
            .contains("warning: --delete: 1 of 2 ids are not in the index, such as \"unknown\"")
    );
    assert!(
        gone.err
            .contains("0 documents written, 0 of them new, 1 deleted; now 3 documents")
    );
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
    here.ir_inside("index left.jsonl -o left.ir").ok();
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
    let list = here.ir_inside("search notes tea --explain").ok().out;
    assert_eq!(
        list,
        here.ir_inside("search left.ir tea --explain").ok().out
    );
    let settings = words("--analysis porter --fields one --store all");
    here.write("none.jsonl", documents(&[("e", "", 2006)]));
    let add = ["index", "none.jsonl", "-o", "notes", "--add"];
    let blank = here.ir_inside(&[&add[..], &settings].concat()).ok();
    assert!(blank.err.contains("0 documents written"), "{}", blank.err);
    here.ir_inside("index -o notes --compact").ok();
    assert_eq!(search("notes", &[]), search("left.ir", &[]));
    here.ir_inside("search notes tea --verify").ok();
    let names = fs::read_dir(here.at("notes")).unwrap();
    assert_eq!(names.count(), 3, "manifest, lock and one segment");
}

#[test]
fn invalid_years_are_reported() {
    let here = Folder::new();
    here.write(
        "one.jsonl",
        "{\"id\": \"a\", \"text\": \"tea\", \"year\": \"spring\"}\n",
    );
    for add in [&[][..], &["--add"]] {
        let args = ["index", "one.jsonl", "-o", ["one.ir", "folder"][add.len()]];
        let ran = here.ir(&[&args[..], add].concat()).ok();
        let expected = "1 document with an attribute \"year\" that is neither a year nor a date";
        assert!(ran.err.contains(expected), "{}", ran.err);
    }
}

/// What is said of the documents is said once, also for a new index.
#[test]
fn notes_are_printed_once() {
    let here = Folder::new();
    here.write("docs.csv", "id,text\na,tea\n");
    for _ in 0..2 {
        let ran = here.ir("index docs.csv -o docs --add").ok();
        let notes = ran.err.matches("note: docs.csv: read as CSV").count();
        assert_eq!(notes, 1, "{}", ran.err);
    }
}

/// Documents that the collection no longer has are counted, and deleted by --prune.
#[test]
fn documents_beside_the_collection() {
    let here = Folder::new();
    for name in ["a", "b", "c", "d"] {
        here.write(&format!("notes/{name}.md"), format!("tea {name}\n"));
    }
    let add = "index notes -o index --add";
    let new = here.ir(&format!("{add} --prune")).ok().err;
    assert!(
        new.contains("4 of them new, 0 deleted; now 4 documents"),
        "{new}"
    );
    for name in ["a", "b"] {
        fs::remove_file(here.at(&format!("notes/{name}.md"))).unwrap();
    }
    here.write("notes/e.md", "tea e\n");
    here.write("gone", "a.md\n");
    let note = "note: documents of the index that are not in notes: 1 (kept; --prune deletes them)";
    let kept = here.ir(&format!("{add} --delete gone")).ok().err;
    assert!(kept.contains(note), "{kept}");
    let counts = "1 of them new, 1 deleted; now 4 documents";
    assert!(kept.contains(counts), "{kept}");
    let pruned = here.ir(&format!("{add} --prune")).ok().err;
    assert!(!pruned.contains("note: "), "{pruned}");
    let counts = "0 of them new, 1 deleted; now 3 documents";
    assert!(pruned.contains(counts), "{pruned}");
    let index = SegmentedIndex::open(here.at("index")).unwrap();
    let mut ids: Vec<&str> = index.ids().iter().collect();
    ids.sort_unstable();
    assert_eq!(ids, ["c.md", "d.md", "e.md"]);
    here.ir("index notes -o x.ir --prune").fails(2, &["--add"]);
}

#[test]
fn a_blank_document_deletes_the_one_with_its_id() {
    let here = updated();
    here.write(
        "blank.jsonl",
        documents(&[("b", "", 2006), ("e", "oolong", 2007), ("f", "", 2008)]),
    );
    let add = ["index", "blank.jsonl", "-o", "notes", "--add"];
    let added = here.ir_inside(&add).ok().err;
    let counts = "1 document written, 1 of them new, 1 deleted; now 3 documents";
    assert!(added.contains(counts), "{added}");
}

#[test]
fn misuse_is_an_error_and_changes_nothing() {
    let here = updated();
    here.ir_inside("index one.jsonl -o one.ir").ok();
    here.write("other/file", "x");
    here.write(
        "twice.jsonl",
        documents(&[("a", "tea", 1), ("a", "milk", 2)]),
    );
    here.write(
        "bad.jsonl",
        documents(&[("a", "tea", 1)]) + "{\"id\": \"b\"}\n",
    );
    fs::copy(here.at("one.jsonl"), here.at("notes/inside.jsonl")).unwrap();
    let errors = r#"
        index
          2: required arguments
        search notes tea -o notes/manifest.ir
          2: outside of the index
        index one.jsonl -o notes/segment-0.ir
          2: outside of the index
        index two.jsonl -o notes/new --add
          2: outside of the index
        index twice.jsonl -o new --add
          1: expected a unique id, found "a"
        index bad.jsonl -o new --add
          1: bad.jsonl:2:
        index -o notes --compact --encoding latin-1
          2: --encoding: expected --add
        search notes/manifest.ir tea
          1: give its folder notes
        search notes/SEGMENT tea
          1: give its folder notes
        stats notes/manifest.ir
          1: give its folder notes
        stats notes/SEGMENT
          1: give its folder notes
        index notes --compact
          2: with -o, as in `ir index -o notes --compact`
        index one.jsonl two.jsonl -o two.ir
          2: `ir index COLLECTION -o FOLDER --add` adds another
        index one.jsonl -o notes
          1: --add updates the index in a folder
        index one.jsonl -o notes --compact
          2: one.jsonl: expected --add to add documents
        index one.jsonl -o notes --add --analysis english
          2: --analysis: expected porter, with which notes was created, found english
        index one.jsonl -o notes --add --store nothing
          2: --store: expected all, with which notes was created, found nothing
        index one.jsonl -o one.jsonl --add
          2: expected a path that is not an input
        index notes/inside.jsonl -o notes --add
          2: expected a folder without inputs
        index one.jsonl -o one.ir --add
          1: found a file, which is not updated
        index one.jsonl -o other --add
          1: expected an index or an empty folder
        index -o none --compact
          1: expected the folder of an index
        index -o notes --delete none
          1: a file with one id per line
        index notes -o copy --add
          1: expected documents, found an index
        index --add -o -
          2: required arguments
        index one.jsonl --add -o -
          2: found standard output
    "#;
    here.errors(&errors.replace("SEGMENT", &segment(&here)));
}

/// Name of a segment of the index in the folder `notes`.
fn segment(here: &Folder) -> String {
    let files = fs::read_dir(here.at("notes")).unwrap();
    let mut names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.find(|name| name.starts_with("segment-")).unwrap()
}

#[test]
fn a_damaged_segment_is_an_error() {
    let here = updated();
    let segment = here.at("notes").join(segment(&here));
    let bytes = fs::read(&segment).unwrap();
    fs::write(&segment, &bytes[..bytes.len() / 2]).unwrap();
    here.ir_inside("search notes tea")
        .fails(1, &["segment-", "truncated"]);
    here.ir_inside("index one.jsonl -o notes --add")
        .fails(1, &["segment-", "truncated"]);
    fs::remove_file(&segment).unwrap();
    here.ir_inside("search notes tea").fails(1, &["segment-"]);
}

#[test]
fn a_lost_manifest_is_named() {
    let here = updated();
    fs::remove_file(here.at("notes/manifest.ir")).unwrap();
    let lost = "notes/manifest.ir: missing, but the folder contains the segments of an index";
    here.ir_inside("search notes tea").fails(1, &[lost]);
    here.ir_inside("stats notes").fails(1, &[lost]);
    let compact = ["index", "-o", "notes", "--compact"];
    here.ir_inside(&compact).fails(1, &[lost]);
    // No update removes the segments.
    let before = here.files();
    let add = ["index", "two.jsonl", "-o", "notes", "--add"];
    here.ir_inside(&add).fails(1, &[lost]);
    assert_eq!(here.files(), before);
}

/// A second process that writes is an error while the first one has the lock.
#[test]
#[cfg(unix)]
fn two_writers() {
    let here = updated();
    here.write("other.jsonl", documents(&[("e", "hot milk", 2006)]));
    fs::create_dir(here.at("piped")).unwrap();
    let pipe = here.at("piped/corpus.jsonl");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let first = here
        .command(&["index", "piped", "-o", "notes", "--add"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Waits until the first process reads documents, which is after it locked the index.
    let mut pipe = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    let before = here.files();
    for second in [
        "index other.jsonl -o notes --add",
        "index -o notes --delete gone",
        "index -o notes --compact",
    ] {
        let args: Vec<&str> = second.split(' ').collect();
        let locked = "notes: the index is locked by another writer";
        here.ir_inside(&args).fails(1, &[locked]);
        assert_eq!(here.files(), before, "{second}");
    }
    // Readers do not wait.
    let found = here.ir_inside("search notes tea").ok().out;
    assert!(!found.contains("cocoa"), "{found}");
    pipe.write_all(b"{\"_id\": \"f\", \"text\": \"cocoa\"}\n")
        .unwrap();
    drop(pipe);
    let ended = first.wait_with_output().unwrap();
    let log = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success(), "{log}");
    assert!(log.contains("now 4 documents"), "{log}");
    here.ir_inside("index other.jsonl -o notes --add").ok();
    let index = SegmentedIndex::open(here.at("notes")).unwrap();
    let mut ids: Vec<&str> = index.ids().iter().collect();
    ids.sort_unstable();
    assert_eq!(ids, ["b", "c", "d", "e", "f"]);
    // A new index is locked before its first commit.
    let writer = IndexWriter::create(here.at("new"), IndexConfig::default()).unwrap();
    here.ir_inside("index one.jsonl -o new --add")
        .fails(1, &["new: the index is locked by another writer"]);
    drop(writer);
    here.ir_inside("index one.jsonl -o new --add").ok();
}

/// A second writer waits for the first one, for at most the time of --wait.
#[test]
fn writers_wait() {
    let here = updated();
    here.write("other.jsonl", documents(&[("e", "hot milk", 2006)]));
    let locked = "the index is locked by another writer";
    for (folder, exists) in [("notes", true), ("new", false)] {
        let writer = if exists {
            IndexWriter::open(here.at(folder))
        } else {
            IndexWriter::create(here.at(folder), IndexConfig::default())
        };
        let mut writer = writer.unwrap();
        let add = format!("index other.jsonl -o {folder} --add --wait");
        let began = Instant::now();
        let ran = here.ir(&format!("{add} 0.3"));
        assert_eq!(ran.code, 1);
        let waiting = format!("{locked}; waiting up to 0.3 s for it\nerror: {folder}: {locked}");
        assert!(ran.err.starts_with(&waiting), "{}", ran.err);
        assert!(began.elapsed() > Duration::from_millis(300));
        here.ir(&format!("{add} 0")).fails(1, &[locked]);
        let args: Vec<String> = format!("{add} 60").split(' ').map(str::to_owned).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut second = here.command(&args).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(second.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        assert!(line.contains("waiting up to 60 s for it"), "{line}");
        // The first writer creates the index for which the second one waits.
        writer.commit().unwrap();
        drop(writer);
        log.read_to_string(&mut line).unwrap();
        assert!(second.wait().unwrap().success(), "{line}");
        let index = SegmentedIndex::open(here.at(folder)).unwrap();
        assert!(index.ids().iter().any(|id| id == "e"));
    }
    here.errors(
        "
        index other.jsonl -o notes --add --wait -1
          2: --wait | expected a number of seconds >= 0, found \"-1\"
        index other.jsonl -o x.ir --wait 1
          2: --wait: expected --add, --delete or --compact
        ",
    );
}

/// Without space left, commits, deletions and merges fail at each file they write; the index keeps
/// its last commit, and no file of the failed one.
#[test]
#[cfg(unix)]
fn no_space_left() {
    let here = Folder::new();
    let many = |name: &str, ids: std::ops::Range<u32>| {
        let rows = ids.map(|id| format!("d{id}\ttea number {id} of {}\n", id % 7));
        here.write(name, rows.collect::<String>());
    };
    many("base.tsv", 0..300);
    many("more.tsv", 200..3000);
    let gone: String = (0..150).map(|id| format!("d{id}\n")).collect();
    here.write("gone", gone);
    here.ir("index base.tsv -o tea --add").ok();
    let (mut failures, mut failed_merges) = (0, 0);
    for update in [
        "index more.tsv -o tea --add",
        "index -o tea --delete gone",
        "index base.tsv -o tea --add",
        "index -o tea --compact",
    ] {
        let args: Vec<&str> = update.split(' ').collect();
        let failed = here.update_without_space("tea", &args);
        failures += failed.without_commit;
        failed_merges += failed.after_commit;
        here.ir("search tea tea").ok();
    }
    assert!(failures >= 8, "{failures}");
    assert!(failed_merges >= 1);
    // The same index as without interruptions.
    let mut left = String::new();
    for id in 0..3000 {
        left.push_str(&format!("d{id}\ttea number {id} of {}\n", id % 7));
    }
    here.write("left.tsv", left);
    here.ir("index left.tsv -o once --add").ok();
    let run = |index: &str| {
        here.ir(&["search", index, "tea number 77", "--json"])
            .ok()
            .out
    };
    assert_eq!(run("tea"), run("once"));
}

/// An update of an index on a full disk, of growing size, leaves the index at its last commit, and
/// no file of the failed one.
#[test]
#[cfg(target_os = "linux")]
fn full_disk() {
    let here = Folder::new();
    let rows = |ids: std::ops::Range<u32>| -> String {
        ids.map(|id| format!("d{id}\ttea number {id} of {}\n", id % 7))
            .collect()
    };
    here.write("base.tsv", rows(0..300));
    here.write("more.tsv", rows(150..2000));
    here.ir("index base.tsv -o tea --add").ok();
    fs::create_dir(here.at("disk")).unwrap();
    let before = contents(&here.at("tea"));
    // Pages of the files, and one of the folder.
    let used: u64 = 1 + before
        .values()
        .map(|bytes| bytes.len().div_ceil(4096) as u64)
        .sum::<u64>();
    let mut failures = UpdateFailures::default();
    for pages in 0_u64.. {
        let size = 4 * (used + pages);
        let mount = format!("mount -t tmpfs -o size={size}k tmpfs disk && cp -r tea disk");
        let update = ["index", "more.tsv", "-o", "disk/tea", "--add"];
        let copy = "rm -rf after && cp -r disk/tea after";
        let Some(ran) = here.ir_with_mount(&mount, &update, copy) else {
            eprintln!("full_disk: skipped, no permission to mount a file system");
            return;
        };
        let after = contents(&here.at("after"));
        if ran.code == 0 {
            assert!(after != before);
            break;
        }
        assert!(ran.err.contains("No space left on device"), "{}", ran.err);
        failures.count(ran, "disk/tea", &before, &after);
    }
    assert!(failures.without_commit >= 3, "{failures:?}");
    // A merge needs space for both segments.
    assert!(failures.after_commit >= 1, "{failures:?}");
}

/// Lists of stop words of one length have the same name.
#[test]
fn settings_of_the_same_name_are_told_apart() {
    let here = updated();
    here.write("tea.json", r#"{"stop_words": {"custom": ["tea"]}}"#);
    here.write("sea.json", r#"{"stop_words": {"custom": ["sea"]}}"#);
    let add = |analysis| {
        let args = ["index", "one.jsonl", "-o", "other", "--add"];
        here.ir_inside(&[&args[..], &["--analysis", analysis]].concat())
    };
    add("tea.json").ok();
    add("tea.json").ok();
    add("sea.json").fails(2, &[r#"["tea"]"#, "found", r#"["sea"]"#]);
}
