//! Files of `--vectors`: arrays, vectors of queries or of an unknown encoder, damage, other files.

use std::fs;

use crate::common::Folder;
use crate::dense_search::TINY;

/// The error of a file that has no vectors says what it is, before an index is built.
#[test]
fn other_files_as_vectors() {
    let here = Folder::new();
    here.write("docs.jsonl", crate::common::CORPUS);
    let bert = &format!("{TINY}bert");
    here.ir(&["encode", bert, "docs.jsonl", "-o", "x.npy"]).ok();
    here.ir(&["index", "docs.jsonl", "-o", "bm25.ir"]).ok();
    here.write("empty.ir", "");
    here.write("folder/x", "");
    for (name, found) in [
        ("bm25.ir", "a BM25 index (written by `ir index`)"),
        ("empty.ir", "an empty file"),
        ("folder", "a folder"),
    ] {
        let expected = format!(
            "--vectors: {name}: expected vectors written by `ir encode MODEL COLLECTION -o FILE.ir`, found {found}"
        );
        let args = ["search", "docs.jsonl", "tea", "--vectors", name];
        let ran = here.ir(&[&args[..], &["--encoder", bert]].concat());
        ran.fails(1, &[&expected]);
    }
    for (name, expected) in [
        (
            "x.npy",
            "x.npy: expected the ids of its rows in x.ids, one per line, found no such file",
        ),
        (
            "docs.jsonl",
            "docs.jsonl: expected vectors written by `ir encode MODEL COLLECTION -o FILE.ir`",
        ),
    ] {
        let args = ["search", "docs.jsonl", "tea", "--vectors", name];
        let ran = here.ir(&[&args[..], &["--encoder", bert]].concat());
        ran.fails(1, &[&format!("--vectors: {expected}")]);
    }
}

/// An array with its ids has the ranking of the index of the same vectors.
#[test]
fn vectors_of_arrays() {
    let here = Folder::new();
    here.write("docs.jsonl", crate::common::CORPUS);
    let bert = &format!("{TINY}bert");
    let encode = ["encode", bert, "docs.jsonl", "-o"];
    here.ir(&[&encode[..], &["x.ir"]].concat()).ok();
    here.ir(&[&encode[..], &["x.npy", "--ids", "x.ids"]].concat())
        .ok();
    let search = |vectors: &str| {
        let args = ["search", "docs.jsonl", "tea", "--vectors", vectors];
        here.ir(&[&args[..], &["--encoder", bert]].concat()).ok()
    };
    let expected = search("x.ir").out;
    let found = search("x.npy");
    assert_eq!(found.out, expected);
}

/// Vectors of queries are not documents, also if the ids are the same.
#[test]
fn vectors_of_queries() {
    let here = Folder::new();
    here.write("same.jsonl", crate::common::CORPUS);
    let bert = &format!("{TINY}bert");
    here.ir(&["encode", bert, "same.jsonl", "--queries", "-o", "q.ir"])
        .ok();
    let args = [
        "search",
        "same.jsonl",
        "tea",
        "--vectors",
        "q.ir",
        "--encoder",
        bert,
    ];
    let expected = "q.ir: expected vectors of documents, found vectors of queries";
    for more in [&[][..], &["--any-encoder"]] {
        let ran = here.ir(&[&args[..], more].concat()).fails(1, &[expected]);
        assert_eq!(ran.out, "");
    }
}

/// Damaged vectors are an error of the first search, with `--verify` of opening the file, also
/// where the documents are no saved index.
#[test]
fn damaged_vectors() {
    let here = Folder::new();
    crate::common::tiny(&here);
    let bert = &format!("{TINY}bert");
    here.ir(&["encode", bert, "tiny", "-o", "docs.ir"]).ok();
    here.ir(&["index", "tiny", "-o", "x.ir"]).ok();
    let good = fs::read(here.at("docs.ir")).unwrap();
    let mut damaged = good.clone();
    // The first section, after a header of 64 bytes, has the vectors.
    damaged[100] ^= 1;
    for name in ["tiny", "x.ir"] {
        let vectors = ["--vectors", "docs.ir", "--encoder", bert];
        let search = [&["search", name, "tea"], &vectors[..]].concat();
        let verified = [&search[..], &["--verify"]].concat();
        here.write("docs.ir", &good);
        assert_eq!(here.ir(&search).ok().out, here.ir(&verified).ok().out);
        here.write("docs.ir", &damaged);
        let found = "docs.ir: damaged: expected checksum ";
        let first = here
            .ir(&search)
            .fails(1, &["the vector index failed", found]);
        assert_eq!(first.out, "");
        let opened = here.ir(&verified).fails(1, &[found]);
        assert!(
            !opened.err.contains("the vector index failed"),
            "{}",
            opened.err
        );
    }
}

/// A vector file without a record of its encoder is searched with a warning.
#[test]
fn vectors_of_unknown_encoder() {
    let here = Folder::new();
    crate::common::tiny(&here);
    let ids = ["d1", "d2", "d3"].into_iter().collect();
    let rows = (0..36).map(|n| (n % 7) as f32).collect();
    let similarity = ir_knn::VectorSimilarity::InnerProduct;
    let index = ir_knn::FlatIndex::from_row_major(ids, 12, rows, similarity).unwrap();
    let bert = &format!("{TINY}bert");
    let args = ["search", "tiny", "--vectors", "docs.ir", "--encoder", bert];
    // Records of other versions, and of another number of texts.
    here.write("one.jsonl", "{\"_id\": \"d1\", \"text\": \"tea\"}\n");
    here.ir(&["encode", bert, "one.jsonl", "-o", "one.ir"]).ok();
    let one = ir_knn::FlatIndex::open(here.at("one.ir")).unwrap();
    let of_one = one.user_metadata().unwrap();
    let mut without_hashes: serde_json::Value = serde_json::from_str(of_one).unwrap();
    without_hashes["texts"] = serde_json::json!({"count": 3, "hash": 7});
    let without_hashes = without_hashes.to_string();
    let records = ["{\"encoder\": 1}", of_one, &without_hashes];
    let records = records.map(|record| index.clone().with_user_metadata(record));
    for index in std::iter::once(index).chain(records) {
        index.save(here.at("docs.ir")).unwrap();
        let ran = here.ir(&args).ok();
        assert_eq!(ran.out.lines().count(), 6);
        let warning = "warning: docs.ir: has no record of its encoder and texts";
        assert!(ran.err.starts_with(warning), "{}", ran.err);
    }
}
