//! Saved indexes: what comes back, and what is refused.

#![allow(clippy::unwrap_used)]

mod cases;

use std::fs;
use std::path::{Path, PathBuf};

use cases::{ALL, refuses_every_cut, refuses_every_flip};
use ir_core::{DocNum, Retriever, Search};
use ir_knn::{FlatIndex, OpenError, Similarity, Verify};

/// Small enough that every byte of the file can be tried.
fn small() -> FlatIndex {
    let rows: Vec<[f32; 3]> = (0..9).map(|n| [n as f32 + 0.5, 1.0, -1.0]).collect();
    let ids = (0..9).map(|n| format!("ü{n}")).collect();
    FlatIndex::of(ids, &rows, Similarity::Cosine).unwrap()
}

fn index(similarity: Similarity) -> FlatIndex {
    let row = |n: u32| [n as f32 + 0.5, (n * 7 % 11) as f32, -1.0];
    let rows: Vec<[f32; 3]> = (0..70).map(row).collect();
    let ids = (0..70).map(|n| format!("ü{n}")).collect();
    FlatIndex::of(ids, &rows, similarity).unwrap()
}

fn saved(folder: &Path, index: &FlatIndex) -> PathBuf {
    let path = folder.join("vectors.ir");
    index.save(&path).unwrap();
    path
}

#[test]
fn what_was_saved_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    for similarity in ALL {
        for index in [index(similarity), index(similarity).with_codes()] {
            let path = saved(folder.path(), &index);
            let opened = FlatIndex::open_as(&path, similarity, 3).unwrap();
            assert_eq!(opened.rows(), index.rows());
            assert_eq!(opened.row(DocNum::new(1)), index.row(DocNum::new(1)));
            assert_eq!(opened.ids(), index.ids());
            assert_eq!(opened.has_codes(), index.has_codes());
            let (query, how) = ([1.0, 2.0, 3.0], Search::top(7));
            assert_eq!(
                opened.search(&query, &how).unwrap(),
                index.search(&query, &how).unwrap()
            );
            // The same bytes again, also from a file that is open.
            let bytes = fs::read(&path).unwrap();
            opened.save(&path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
            assert_eq!(opened.ids().len(), 70, "the old file is still there");
            // Little more than the vectors.
            if !index.has_codes() {
                let room = 70 * (4 * 3 + 4 + 4) + 64 * 4 + 400;
                assert!(bytes.len() < room, "{} of {room}", bytes.len());
            }
        }
    }
    let none = FlatIndex::new([""; 0].into_iter().collect(), 4, vec![], Similarity::Cosine);
    let none = none.unwrap().with_codes();
    let opened = FlatIndex::open(saved(folder.path(), &none)).unwrap();
    assert!(opened.is_empty());
    assert_eq!(opened.dim(), 4);
}

/// The promise to those who know the size of their vectors: at most a twentieth more.
#[test]
fn a_file_is_hardly_larger_than_its_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let values = (0..1000 * 384).map(|n| (n % 997) as f32).collect();
    let ids = (0..1000).map(|n| format!("document-{n}")).collect();
    let index = FlatIndex::new(ids, 384, values, Similarity::InnerProduct).unwrap();
    let size = fs::metadata(saved(folder.path(), &index)).unwrap().len();
    let raw = 1000 * 384 * 4;
    assert!(size > raw && size * 100 <= raw * 105, "{size} of {raw}");
}

#[test]
fn every_flipped_byte_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = saved(folder.path(), &small().with_codes());
    refuses_every_flip(&path, FlatIndex::open);
}

#[test]
fn every_cut_is_found() {
    let folder = tempfile::tempdir().unwrap();
    for index in [small(), small().with_codes()] {
        let path = saved(folder.path(), &index);
        refuses_every_cut(&path, FlatIndex::open);
    }
}

#[test]
fn errors_say_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = saved(folder.path(), &index(Similarity::Cosine));
    let name = path.display().to_string();
    let text = |result: Result<FlatIndex, OpenError>| {
        let error = result.unwrap_err().to_string();
        error.replace(&name, "FILE")
    };
    assert_eq!(
        text(FlatIndex::open_as(&path, Similarity::Euclidean, 3)),
        "FILE: expected an index of Euclidean similarity, found cosine"
    );
    assert_eq!(
        text(FlatIndex::open_as(&path, Similarity::Cosine, 4)),
        "FILE: expected an index of 4 dimensions, found 3"
    );
    let bytes = fs::read(&path).unwrap();
    let mut other = bytes.clone();
    other[8] = 9;
    let checksum = crc32fast::hash(&other[..12]);
    other[12..16].copy_from_slice(&checksum.to_le_bytes());
    fs::write(&path, &other).unwrap();
    assert_eq!(
        text(FlatIndex::open(&path)),
        "FILE: expected version 1 of the format, found 9"
    );
    let mut damaged = bytes.clone();
    damaged[100] ^= 1;
    fs::write(&path, &damaged).unwrap();
    assert!(text(FlatIndex::open(&path)).starts_with("FILE: damaged: section rows has checksum"));
    // Opening without the vectors does not see it; checking afterwards does.
    let opened = FlatIndex::open_with(&path, Verify::Tables).unwrap();
    assert!(matches!(
        opened.verify(),
        Err(OpenError::Checksum { section, .. }) if section == "rows"
    ));
    fs::write(&path, "PK\u{3}\u{4}").unwrap();
    assert_eq!(
        text(FlatIndex::open(&path)),
        r#"FILE: not a flat index: expected it to begin with "ir-flat\n", found "PK\u{3}\u{4}""#
    );
    assert!(matches!(
        FlatIndex::open(folder.path()),
        Err(OpenError::Directory { .. })
    ));
    assert!(matches!(
        FlatIndex::open(folder.path().join("none")),
        Err(OpenError::Io { .. })
    ));
}
