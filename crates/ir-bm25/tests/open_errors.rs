//! Files that are no index, or no longer one: beside `damage.rs`, every length and every bit of a small one, read and
//! mapped, and what the errors say.

#![allow(clippy::unwrap_used)]

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use ir_bm25::{Bm25, Index, IndexConfig, IndexedFields, Pruning, StoredFields};
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{DocNum, Document, NoProgress, Retriever, Search};
use tempfile::TempDir;

fn small() -> Vec<u8> {
    let documents = [
        Document::new("b")
            .with_title("Green")
            .with_text("tea leaf tea")
            .with("year", 1999_i64),
        Document::new("a").with_title("Black").with_text("tea milk"),
        Document::new("c")
            .with_text("milk")
            .with("tags", vec!["x", "y"]),
    ];
    let config = IndexConfig::default()
        .with_fields(IndexedFields::Separate)
        .with_store(StoredFields::Everything);
    let index = Index::build(&documents[..], &config, &mut NoProgress).unwrap();
    index.as_bytes().to_vec()
}

fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ir");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// The error and its causes, without the folder.
fn message(path: &std::path::Path, verify: Verify) -> String {
    let error = Index::open_with(path, verify).unwrap_err();
    let mut text = error
        .to_string()
        .replace(&path.display().to_string(), "FILE");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// Nothing panics; errors and wrong hits are allowed, hits of documents that there are not are not.
fn try_everything(index: &Index) {
    let searcher = index.searcher(Bm25::ANSERINI).unwrap();
    for pruning in [Pruning::BlockMax, Pruning::Exhaustive] {
        let searcher = searcher.clone().with_pruning(pruning);
        for query in ["tea", "green tea milk leaf black", "nowhere"] {
            let Ok(found) = searcher.search(query, &Search::top(10)) else {
                continue;
            };
            for hit in &found {
                assert!(hit.doc.index() < index.len() && !hit.score.is_nan());
            }
        }
    }
    for doc in (0..4).map(DocNum::new) {
        let _ = searcher.explain("green tea milk", doc);
        let _ = index.document(doc);
        let _ = index.attributes(doc);
    }
    let _ = index.term("text", "tea");
}

#[test]
fn cut_at_every_length() {
    let bytes = small();
    for n in 0..bytes.len() {
        for verify in [Verify::AllSections, Verify::SmallSections] {
            let error = Index::from_bytes(bytes[..n].to_vec(), verify).unwrap_err();
            assert_eq!(error.is_damage(), n > 0, "{n} bytes: {error}");
        }
        // And without its beginning.
        let rest = bytes[n + 1..].to_vec();
        assert!(Index::from_bytes(rest, Verify::SmallSections).is_err());
    }
    for n in (0..bytes.len()).step_by(97) {
        let (_folder, path) = file(&bytes[..n]);
        assert!(Index::open(&path).is_err());
        assert!(Index::open_with(&path, Verify::SmallSections).is_err());
    }
}

#[test]
fn every_bit_flipped() {
    let mut bytes = small();
    let mut opened = 0;
    for at in 0..bytes.len() {
        for pattern in (0..8).map(|bit| 1 << bit).chain([0x0f, 0xaa, 0xff]) {
            bytes[at] ^= pattern;
            let flipped = Index::from_bytes(bytes.clone(), Verify::AllSections);
            assert!(flipped.is_err(), "byte {at} ^ {pattern:#x} goes unnoticed");
            if let Ok(index) = Index::from_bytes(bytes.clone(), Verify::SmallSections) {
                assert!(index.verify().is_err());
                try_everything(&index);
                opened += 1;
            }
            bytes[at] ^= pattern;
        }
    }
    assert!(
        opened > 0,
        "postings and stored documents are not checked at once"
    );
    try_everything(&Index::from_bytes(bytes, Verify::AllSections).unwrap());
}

/// Two bytes exchanged, and a byte too many or too few in the middle.
#[test]
fn moved() {
    let bytes = small();
    for at in 0..bytes.len() - 1 {
        let mut longer = bytes.clone();
        longer.insert(at, 0x55);
        let mut shorter = bytes.clone();
        shorter.remove(at);
        let mut swapped = bytes.clone();
        swapped.swap(at, at + 1);
        for other in [longer, shorter, swapped] {
            if other == bytes {
                continue;
            }
            for verify in [Verify::AllSections, Verify::SmallSections] {
                if let Ok(index) = Index::from_bytes(other.clone(), verify) {
                    assert_eq!(verify, Verify::SmallSections, "unnoticed at {at}");
                    try_everything(&index);
                }
            }
        }
    }
}

#[test]
fn what_the_errors_say() {
    let bytes = small();
    let n = bytes.len();
    let with_version = |version: u32| {
        let mut bytes = bytes.clone();
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..12]);
        bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
        bytes
    };
    let flipped = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        bytes
    };
    let begins_otherwise = |found: &str| {
        format!(r#"FILE: not an index: expected it to begin with "ir-bm25\n", found {found:?}"#)
    };
    let cut = |n: usize| {
        format!(
            "FILE: cut short, or damaged at the end: no closing mark in the last of its {n} bytes"
        )
    };
    let cases = [
        (Vec::new(), begins_otherwise("")),
        (
            b"{\"_id\": \"1\"}\n".to_vec(),
            begins_otherwise("{\"_id\": "),
        ),
        (b"ir".to_vec(), cut(2)),
        (bytes[..16].to_vec(), cut(16)),
        (bytes[..n - 1].to_vec(), cut(n - 1)),
        (
            with_version(2),
            "FILE: index format 2 is newer than 1, the newest that this version reads".to_owned(),
        ),
        (
            with_version(0),
            "FILE: damaged: section head does not hold a format version from 1".to_owned(),
        ),
    ];
    for (bytes, expected) in cases {
        let (_folder, path) = file(&bytes);
        for verify in [Verify::AllSections, Verify::SmallSections] {
            assert_eq!(message(&path, verify), expected);
        }
    }
    // The first section holds the ids; the table lies before the tail.
    for (at, section) in [(9, "head"), (16, "ids"), (n - 30, "table")] {
        let (_folder, path) = file(&flipped(at));
        let text = message(&path, Verify::AllSections);
        let start = format!("FILE: damaged: section {section} has checksum ");
        assert!(text.starts_with(&start), "{text}");
        assert!(Index::open(&path).unwrap_err().is_damage());
    }
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        message(folder.path(), Verify::AllSections),
        "FILE: expected an index file, found a directory"
    );
    let missing = folder.path().join("none.ir");
    let text = message(&missing, Verify::AllSections);
    assert!(text.starts_with("FILE: could not be read: "), "{text}");
    let error = Index::open(&missing).unwrap_err();
    assert!(
        matches!(&error, OpenIndexError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    );
    assert!(!error.is_damage());
}
