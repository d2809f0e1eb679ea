//! `ir encode --add`, `--delete` and `--compact`, and `ir search --vectors FOLDER`.

use std::fs;

use ir_core::DocNum;
use ir_knn::{FlatIndex, SegmentedVectorIndex, VectorIndexWriter};

use crate::common::{Folder, Ran, words};
use crate::many_texts::many_texts;

const TINY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/ir-dense/testdata/tiny/"
);

fn documents(texts: &[(&str, &str)]) -> String {
    let line = |(id, text): &(&str, &str)| format!("{{\"id\": {id:?}, \"contents\": {text:?}}}\n");
    texts.iter().map(line).collect()
}

const LEFT: [(&str, &str); 3] = [
    ("b", "white tea, hot"),
    ("c", "coffee"),
    ("d", "tea at sea"),
];

/// Runs `ir encode` with the tiny model.
fn encode(here: &Folder, args: &[&str]) -> Ran {
    let model = format!("{TINY}bert");
    here.ir_inside(&[&["encode", &model], args].concat())
}

/// Vectors in the folder `vectors`, after updates. `left.jsonl` has the documents that are left.
fn updated() -> Folder {
    let here = Folder::new();
    here.write(
        "one.jsonl",
        documents(&[("a", "green tea"), ("b", "black tea")]),
    );
    here.write("left.jsonl", documents(&LEFT));
    here.write("gone", "a\n\nunknown\n");
    let add = |collection| {
        encode(&here, &[collection, "-o", "vectors", "--add"])
            .ok()
            .err
    };
    let log = add("one.jsonl");
    let expected = "vectors: 2 texts encoded, 0 unchanged, 0 deleted; now 2 vectors of ";
    assert!(log.contains(expected), "{log}");
    let log = add("one.jsonl");
    assert!(
        log.contains("0 texts encoded, 2 unchanged, 0 deleted; now 2 "),
        "{log}"
    );
    // One document is replaced.
    let log = add("left.jsonl");
    assert!(
        log.contains("3 texts encoded, 0 unchanged, 0 deleted; now 4 "),
        "{log}"
    );
    let delete = ["encode", "-o", "vectors", "--delete", "gone"];
    let log = here.ir_inside(&delete).ok().err;
    let warning = "warning: --delete: 1 of 2 ids are not in the index, such as \"unknown\"";
    assert!(log.contains(warning), "{log}");
    assert!(
        log.contains("0 texts encoded, 0 unchanged, 1 deleted; now 3 "),
        "{log}"
    );
    here
}

#[test]
fn rankings_are_those_of_vectors_encoded_once() {
    let here = updated();
    encode(&here, &["left.jsonl", "-o", "left.ir"]).ok();
    here.write("queries.tsv", "1\ttea\n2\thot coffee\n3\tgreen sea\n");
    let bert = format!("{TINY}bert");
    let search = |vectors: &str, more: &[&str]| {
        let args = words("search left.jsonl --queries queries.tsv -o -");
        let vectors = [
            "--scores",
            "exact",
            "--encoder",
            &bert,
            "--vectors",
            vectors,
        ];
        let ran = here.ir_inside(&[&args[..], &vectors, more].concat()).ok();
        assert_eq!(ran.err, "");
        ran.out
    };
    let check = || {
        for more in [&[][..], &["--alpha", "0.3"], &["-k", "2"]] {
            let expected = search("left.ir", more);
            assert!(expected.lines().count() >= 6);
            assert_eq!(search("vectors", more), expected);
        }
    };
    check();
    // Deleted and added by one command.
    here.write("gone", "c\n");
    let args = ["left.jsonl", "-o", "vectors", "--add", "--delete", "gone"];
    let log = encode(&here, &args).ok().err;
    assert!(
        log.contains("1 texts encoded, 2 unchanged, 1 deleted; now 3 "),
        "{log}"
    );
    check();
    here.ir_inside("encode -o vectors --compact").ok();
    check();
    let names = fs::read_dir(here.at("vectors")).unwrap();
    assert_eq!(names.count(), 3, "manifest, lock and one segment");
    let index = SegmentedVectorIndex::open(here.at("vectors")).unwrap();
    let once = FlatIndex::open(here.at("left.ir")).unwrap();
    for id in ["b", "c", "d"] {
        let number = |ids: &ir_core::DocIds| -> DocNum { ids.get(id).unwrap() };
        let (one, other) = (
            number(ir_core::Retriever::ids(&index)),
            number(ir_core::Retriever::ids(&once)),
        );
        assert_eq!(index.vector(one), once.vector(other));
    }
}

/// The encoder, the template and the texts are those of the index.
#[test]
fn other_encoders_and_texts() {
    let here = updated();
    let before = here.files();
    let keeps = "an index keeps its encoder and template; encode into another folder";
    for (more, difference) in [
        (
            &["--pooling", "cls"][..],
            "expected pooling mean, found cls",
        ),
        (
            &["--normalize", "true"],
            "expected normalize false, found true",
        ),
        (&["--prefix", "a "], "expected prefix \"\", found \"a \""),
        (&["--max-tokens", "9"], "found 9"),
        (&["--template", "{text}"], "found {text}"),
    ] {
        let args = [&["left.jsonl", "-o", "vectors", "--add"], more].concat();
        encode(&here, &args).fails(1, &["vectors: ", difference, keeps]);
    }
    let other = format!("{TINY}distilbert");
    let args = ["encode", &other, "left.jsonl", "-o", "vectors", "--add"];
    here.ir_inside(&args).fails(
        1,
        &[
            "vectors: expected model bert (",
            "found distilbert (",
            keeps,
        ],
    );
    let search = |model: &str, more: &[&str]| {
        let args = ["search", "left.jsonl", "tea", "--vectors", "vectors"];
        here.ir_inside(&[&args[..], &["--encoder", model], more].concat())
    };
    let parts = ["vectors: expected model distilbert (", "found bert ("];
    search(&other, &[]).fails(1, &parts);
    search(&other, &["--any-encoder"]).ok();
    assert_eq!(here.files(), before);
    // A changed text is an error until it is encoded.
    let bert = format!("{TINY}bert");
    search(&bert, &[]).ok();
    let mut changed = LEFT;
    changed[1].1 = "cocoa";
    here.write("left.jsonl", documents(&changed));
    search(&bert, &[]).fails(
        1,
        &["found other texts for 1 of its documents, such as \"c\""],
    );
    let log = encode(&here, &["left.jsonl", "-o", "vectors", "--add"])
        .ok()
        .err;
    assert!(
        log.contains("1 texts encoded, 2 unchanged, 0 deleted; now 3 "),
        "{log}"
    );
    search(&bert, &[]).ok();
}

#[test]
fn misuse_is_an_error_and_changes_nothing() {
    let here = updated();
    encode(&here, &["one.jsonl", "-o", "one.ir"]).ok();
    here.ir_inside("index one.jsonl -o words --add").ok();
    here.write("other/file", "x");
    here.write("twice.jsonl", documents(&[("a", "tea"), ("a", "milk")]));
    here.write(
        "bad.jsonl",
        documents(&[("a", "tea")]) + "{\"id\": \"b\"}\n",
    );
    let errors = r#"
        encode MODEL
          2: required arguments
        encode MODEL -o new --add
          2: required arguments
        encode MODEL one.jsonl -o vectors/x.ir
          2: outside of the index
        encode MODEL one.jsonl -o vectors/new --add
          2: outside of the index
        encode MODEL twice.jsonl -o new --add
          1: expected a unique id, found "a"
        encode MODEL bad.jsonl -o new --add
          1: bad.jsonl:2:
        encode MODEL one.jsonl -o vectors
          1: --add updates the vectors in a folder
        encode MODEL one.jsonl -o x.npy --add
          2: found the .npy file x.npy
        encode MODEL one.jsonl -o one.ir --add
          1: found a file, which is not updated
        encode MODEL one.jsonl -o other --add
          1: expected a vector index or an empty folder
        encode MODEL one.jsonl -o words --add
          1: not the manifest of a segmented vector index
        index one.jsonl -o vectors --add
          1: not the manifest of a segmented index
        encode MODEL one.jsonl -o new --add --queries
          2: --queries
        encode MODEL one.jsonl -o new --add --ids x
          2: --ids
        encode MODEL one.jsonl -o new --add --restart
          2: --restart
        encode MODEL one.jsonl -o vectors --compact
          2: one.jsonl: expected --add
        encode MODEL -o vectors --compact
          2: expected --add and a collection
        encode -o vectors --compact --pooling cls
          2: --pooling: expected --add
        encode -o vectors --compact --template {id}
          2: --template: expected --add
        encode -o none --compact
          1: expected the folder of a vector index
        encode -o vectors --delete none
          1: a file with one id per line
        search one.jsonl tea --encoder MODEL --vectors words
          1: found a BM25 index
        search one.jsonl tea --encoder MODEL --vectors other
          1: found a folder
        search vectors tea
          1: found a vector index: pass it to --vectors
    "#;
    here.errors(&errors.replace("MODEL", &format!("{TINY}bert")));
}

/// An interrupted command keeps the vectors that it has encoded.
#[cfg(target_os = "linux")]
#[test]
fn interrupted_updates_resume() {
    use crate::signals::{bytes_read, send, wait};
    use std::process::Stdio;

    const TEXTS: usize = 12_000;
    let here = Folder::new();
    here.write("many.tsv", many_texts(TEXTS));
    let model = format!("{TINY}bert");
    let add = [
        "encode",
        &model,
        "many.tsv",
        "-o",
        "vectors",
        "--add",
        "--threads",
        "1",
    ];
    let mut child = here.command(&add).stderr(Stdio::piped()).spawn().unwrap();
    // All documents are read before the index is locked, and again in blocks of at most 32 KiB that
    // are encoded: several blocks are encoded when 150 of 410 KB are read.
    wait(|| {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "finished before the interrupt: {ended:?}");
        here.at("vectors").exists() && bytes_read(&child, "many.tsv") > 150_000
    });
    send(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("interrupted after "), "{err}");
    let part = SegmentedVectorIndex::open(here.at("vectors"))
        .unwrap()
        .len();
    assert!(part > 0 && part < TEXTS, "{part}");
    let log = here.ir(&add).ok().err;
    assert!(!log.contains(" 0 unchanged"), "{log}");
    let index = SegmentedVectorIndex::open(here.at("vectors")).unwrap();
    let expected: Vec<String> = (0..TEXTS).map(|n| format!("d{n}")).collect();
    assert!(ir_core::Retriever::ids(&index).iter().eq(&expected));
}

/// A process that writes is an error while another writer, here the one of the test, has the lock.
#[test]
fn two_writers() {
    let here = updated();
    let writer = VectorIndexWriter::open(here.at("vectors")).unwrap();
    let before = here.files();
    let locked = "vectors: the index is locked by another writer";
    encode(&here, &["one.jsonl", "-o", "vectors", "--add"]).fails(1, &[locked]);
    for option in [&["--compact"][..], &["--delete", "gone"]] {
        let args = [&["encode", "-o", "vectors"], option].concat();
        here.ir_inside(&args).fails(1, &[locked]);
    }
    assert_eq!(here.files(), before);
    // Readers do not wait.
    let bert = format!("{TINY}bert");
    let search = ["search", "left.jsonl", "tea", "--encoder", &bert];
    here.ir_inside(&[&search[..], &["--vectors", "vectors"]].concat())
        .ok();
    // A new index is locked before its first commit.
    let config = writer.config().clone();
    let new = VectorIndexWriter::create(here.at("new"), &config).unwrap();
    let locked = "new: the index is locked by another writer";
    encode(&here, &["one.jsonl", "-o", "new", "--add"]).fails(1, &[locked]);
    drop((writer, new));
    for folder in ["vectors", "new"] {
        encode(&here, &["one.jsonl", "-o", folder, "--add"]).ok();
    }
}

/// Without space left, commits, deletions and merges fail at each file they write; the index keeps
/// its last commit, and no file of the failed one.
#[test]
#[cfg(unix)]
fn no_space_left() {
    for options in [&[][..], &["--hnsw", "--m", "4"]] {
        let here = Folder::new();
        let many = |name: &str, ids: std::ops::Range<u32>| {
            let rows = ids.map(|id| format!("d{id}\ttea number {id} of {}\n", id % 7));
            here.write(name, rows.collect::<String>());
        };
        many("base.tsv", 0..60);
        many("more.tsv", 40..400);
        many("left.tsv", 0..400);
        let gone: String = (0..30).map(|id| format!("d{id}\n")).collect();
        here.write("gone", gone);
        let base = ["base.tsv", "-o", "tea", "--add"];
        encode(&here, &[&base, options].concat()).ok();
        let bert = format!("{TINY}bert");
        let (mut failures, mut failed_merges) = (0, 0);
        for update in [
            &["encode", &bert, "more.tsv", "-o", "tea", "--add"][..],
            &["encode", "-o", "tea", "--delete", "gone"],
            &["encode", &bert, "base.tsv", "-o", "tea", "--add"],
            &["encode", "-o", "tea", "--compact"],
        ] {
            let failed = here.update_without_space("tea", update);
            failures += failed.without_commit;
            failed_merges += failed.after_commit;
            SegmentedVectorIndex::open(here.at("tea")).unwrap();
        }
        assert!(failures >= 8, "{failures}");
        assert!(failed_merges >= 1);
        // The same vectors as without interruptions.
        let left = ["left.tsv", "-o", "once", "--add"];
        encode(&here, &[&left, options].concat()).ok();
        let [found, once] =
            ["tea", "once"].map(|name| SegmentedVectorIndex::open(here.at(name)).unwrap());
        found.verify().unwrap();
        let vector = |index: &SegmentedVectorIndex, id: &str| {
            let doc = ir_core::Retriever::ids(index).get(id).unwrap();
            index.vector(doc).to_vec()
        };
        assert_eq!((found.len(), once.len()), (400, 400));
        for id in (0..400).map(|id| format!("d{id}")) {
            assert_eq!(vector(&found, &id), vector(&once, &id), "{id}");
        }
    }
}

/// Graphs of an updated index: with a beam as wide as the collection the ranking is the exact one.
#[test]
fn graphs() {
    let here = Folder::new();
    let half = many_texts(400);
    let lines: Vec<&str> = half.lines().collect();
    here.write("one.tsv", lines[..250].join("\n"));
    here.write("all.tsv", &half);
    let add = |collection: &str, folder: &str, more: &[&str]| {
        let args = [collection, "-o", folder, "--add"];
        encode(&here, &[&args, more].concat())
    };
    add("one.tsv", "graphs", &["--hnsw", "--m", "8"]).ok();
    // An index keeps its graphs.
    add("all.tsv", "graphs", &[]).ok();
    encode(&here, &["all.tsv", "-o", "flat.ir"]).ok();
    let bert = format!("{TINY}bert");
    here.write("queries.tsv", "1\tships at sea\n2\thot coffee\n3\tgreen\n");
    let search = |vectors: &str, more: &[&str]| {
        let args = ["search", "all.tsv", "--queries", "queries.tsv", "-k", "10"];
        let vectors = ["--encoder", &bert, "--vectors", vectors, "-o", "-"];
        here.ir_inside(&[&args[..], &vectors, more].concat())
    };
    let expected = search("flat.ir", &[]).ok().out;
    assert_eq!(expected.lines().count(), 30);
    assert_eq!(search("graphs", &["--exact"]).ok().out, expected);
    let wide = ["--ef-search", "400"];
    assert_eq!(search("graphs", &wide).ok().out, expected);
    let note = "note: graphs: approximate search of graphs, beam width 64 (--ef-search);";
    assert!(search("graphs", &[]).ok().err.contains(note));
    assert_eq!(search("graphs", &["--exact"]).ok().err, "");
    let hybrid = [&wide[..], &["--alpha", "0.1"]].concat();
    let of_flat = search("flat.ir", &["--alpha", "0.1"]).ok().out;
    assert_eq!(search("graphs", &hybrid).ok().out, of_flat);

    for option in [&["--exact"][..], &wide] {
        let parts = [option[0], "flat.ir: expected vectors with graphs"];
        search("flat.ir", option).fails(1, &parts);
    }
    let kept = "an index keeps its graphs; encode into another folder";
    let found = "(M 8, beam 200), found --hnsw with M 16, beam 200";
    add("all.tsv", "graphs", &["--hnsw"]).fails(1, &[found, kept]);
    add("one.tsv", "plain", &[]).ok();
    let found = "(no graphs), found --hnsw";
    add("all.tsv", "plain", &["--hnsw"]).fails(1, &[found, kept]);
    let found = "m: expected 2 to 1024, found 1";
    add("one.tsv", "other", &["--hnsw", "--m", "1"]).fails(1, &[found]);
}
