//! Files of flat indexes: round trips, damage, errors.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cases::{ALL, check_every_cut, check_every_flip};
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{DocIds, DocNum, Ranking, Retriever, Search};
use ir_knn::{FlatIndex, VectorSimilarity};
use ndarray::Array2;

fn index(count: usize, similarity: VectorSimilarity) -> FlatIndex {
    let row = |n: usize| [n as f32 + 0.5, (n * 7 % 11) as f32, -1.0];
    let vectors = Array2::from_shape_fn((count, 3), |(n, column)| row(n)[column]);
    let ids = (0..count).map(|n| format!("ü{n}")).collect();
    FlatIndex::new(ids, vectors, similarity).unwrap()
}

/// Opens an index and searches it once.
fn search(path: &Path) -> Result<Ranking, Box<dyn Error>> {
    let index = FlatIndex::open(path)?;
    Ok(index.search(&vec![1.0; index.dim()], &Search::top(3))?)
}

fn saved(folder: &Path, index: &FlatIndex) -> PathBuf {
    let path = folder.join("vectors.ir");
    index.save(&path).unwrap();
    path
}

#[test]
fn save_and_open() {
    let folder = tempfile::tempdir().unwrap();
    for similarity in ALL {
        for index in [index(70, similarity), index(70, similarity).with_codes()] {
            let path = saved(folder.path(), &index);
            let opened = FlatIndex::open(&path).unwrap();
            assert_eq!((opened.similarity(), opened.dim()), (similarity, 3));
            assert_eq!(opened.vectors(), index.vectors());
            assert_eq!(opened.vector(DocNum::new(1)), index.vector(DocNum::new(1)));
            assert_eq!(opened.ids(), index.ids());
            assert_eq!(opened.has_codes(), index.has_codes());
            let (query, search) = ([1.0, 2.0, 3.0], Search::top(7));
            assert_eq!(
                opened.search(&query, &search).unwrap(),
                index.search(&query, &search).unwrap()
            );
            // Saving again, over the open file, writes the same bytes.
            let bytes = fs::read(&path).unwrap();
            opened.save(&path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
            assert_eq!(opened.ids().len(), 70, "the old file remains mapped");
            if !index.has_codes() {
                let max = 70 * (4 * 3 + 4 + 4) + 64 * 4 + 400;
                assert!(bytes.len() < max, "{} of {max}", bytes.len());
            }
        }
    }
    let empty = FlatIndex::new(
        DocIds::new(),
        Array2::zeros((0, 4)),
        VectorSimilarity::Cosine,
    );
    let empty = empty.unwrap().with_codes();
    let opened = FlatIndex::open(saved(folder.path(), &empty)).unwrap();
    assert!(opened.is_empty());
    assert_eq!(opened.dim(), 4);
}

/// The text is kept with codes, and by saving an opened index again. A file without one has none.
#[test]
fn user_metadata() {
    let folder = tempfile::tempdir().unwrap();
    let plain = index(9, VectorSimilarity::Cosine);
    let opened = FlatIndex::open(saved(folder.path(), &plain)).unwrap();
    assert_eq!(opened.user_metadata(), None);
    for text in ["", "{\"prefix\": \"größe: \"}"] {
        let index = plain.clone().with_user_metadata(text).with_codes();
        let path = saved(folder.path(), &index);
        let opened = FlatIndex::open(&path).unwrap();
        assert_eq!(opened.user_metadata(), Some(text));
        assert_eq!(opened.vectors(), plain.vectors());
        let bytes = fs::read(&path).unwrap();
        opened.save(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes);
        check_every_flip(&path, search);
    }
}

/// A file is at most 5 % larger than its vectors.
#[test]
fn file_size() {
    let folder = tempfile::tempdir().unwrap();
    let vectors = Array2::from_shape_fn((1000, 384), |(n, m)| ((n * 384 + m) % 997) as f32);
    let ids = (0..1000).map(|n| format!("document-{n}")).collect();
    let index = FlatIndex::new(ids, vectors, VectorSimilarity::InnerProduct).unwrap();
    let size = fs::metadata(saved(folder.path(), &index)).unwrap().len();
    let raw = 1000 * 384 * 4;
    assert!(size > raw && size * 100 <= raw * 105, "{size} of {raw}");
}

#[test]
fn every_flipped_byte_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let index = index(9, VectorSimilarity::Cosine).with_codes();
    let path = saved(folder.path(), &index);
    check_every_flip(&path, search);
    check_every_flip(&path, |path| {
        FlatIndex::open_with(path, Verify::AllSections)
    });
}

#[test]
fn every_truncation_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let index = index(9, VectorSimilarity::Cosine);
    for index in [index.clone(), index.with_codes()] {
        check_every_cut(&saved(folder.path(), &index), FlatIndex::open);
    }
}

#[test]
fn error_messages() {
    let folder = tempfile::tempdir().unwrap();
    let path = saved(folder.path(), &index(70, VectorSimilarity::Cosine));
    let name = path.display().to_string();
    let text = |result: Result<FlatIndex, OpenIndexError>| {
        let error = result.unwrap_err().to_string();
        error.replace(&name, "FILE")
    };
    let bytes = fs::read(&path).unwrap();
    let mut other = bytes.clone();
    other[8] = 1;
    let checksum = crc32fast::hash(&other[..12]);
    other[12..16].copy_from_slice(&checksum.to_le_bytes());
    fs::write(&path, &other).unwrap();
    assert_eq!(
        text(FlatIndex::open(&path)),
        "FILE: expected version 3 of the file format, found 1, written by another version of this program; write the file again (an index with `ir index`, vectors with `ir encode`)"
    );
    let mut damaged = bytes.clone();
    damaged[100] ^= 1;
    fs::write(&path, &damaged).unwrap();
    let message = text(FlatIndex::open_with(&path, Verify::AllSections));
    assert!(message.starts_with("FILE: damaged: expected checksum "));
    assert!(message.contains(" in section vectors, found "));
    // The first search finds the damage, and so does every later one.
    let opened = FlatIndex::open(&path).unwrap();
    for _ in 0..2 {
        let error = opened
            .search(&[1.0, 2.0, 3.0], &Search::top(1))
            .unwrap_err();
        let source = error.source().unwrap().to_string();
        assert_eq!(source.replace(&name, "FILE"), message);
        let error = opened.explain(&[1.0, 2.0, 3.0], DocNum::new(0), &Search::top(1));
        assert!(error.is_err());
    }
    // Damage does not get a new checksum.
    let copy = folder.path().join("copy.ir");
    assert!(opened.save(&copy).is_err() && !copy.exists());
    // Searches without the checksums of the vectors succeed; `verify` detects the damage.
    let opened = FlatIndex::open_with(&path, Verify::SmallSections).unwrap();
    assert!(opened.search(&[1.0, 2.0, 3.0], &Search::top(1)).is_ok());
    assert!(matches!(
        opened.verify(),
        Err(OpenIndexError::Checksum { section, .. }) if section == "vectors"
    ));
    fs::write(&path, "PK\u{3}\u{4}").unwrap();
    assert_eq!(
        text(FlatIndex::open(&path)),
        r#"FILE: not a flat index: expected it to start with "ir-flat\n", found "PK\u{3}\u{4}""#
    );
    assert!(matches!(
        FlatIndex::open(folder.path()),
        Err(OpenIndexError::Directory { .. })
    ));
    assert!(matches!(
        FlatIndex::open(folder.path().join("none")),
        Err(OpenIndexError::Io { .. })
    ));
}

/// Resident memory of the mapped pages of a file, in kB.
#[cfg(target_os = "linux")]
fn resident(path: &Path) -> u64 {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let mut is_of_file = false;
    let mut sum = 0;
    for line in maps.lines() {
        if let Some(size) = line.strip_prefix("Rss:") {
            let size: u64 = size.trim().trim_end_matches(" kB").parse().unwrap();
            sum += if is_of_file { size } else { 0 };
        } else if !line.split_whitespace().next().unwrap().ends_with(':') {
            is_of_file = line.ends_with(path.to_str().unwrap());
        }
    }
    sum
}

#[cfg(target_os = "linux")]
#[test]
fn released_vectors_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("released.ir");
    let ids = (0..20_000).map(|n| n.to_string()).collect();
    let values: Vec<f32> = (0..20_000 * 64).map(|n| (n % 997) as f32).collect();
    let index = FlatIndex::from_row_major(ids, 64, values, VectorSimilarity::InnerProduct);
    index.unwrap().with_codes().save(&path).unwrap();
    let opened = FlatIndex::open_with(&path, Verify::AllSections).unwrap();
    let opened = ir_knn::SegmentedVectorIndex::from(opened);
    let sums = || {
        let vectors = (0..20_000).map(|n| opened.vector(DocNum::new(n)));
        vectors
            .map(|vector| vector.iter().sum::<f32>())
            .collect::<Vec<f32>>()
    };
    let before = sums();
    // 5,000 kB of vectors and at least 1,250 kB of codes.
    let read = resident(&path);
    assert!(read > 6_000, "{read} kB");
    opened.release();
    let released = resident(&path);
    assert!(released + 6_000 < read, "{released} of {read} kB");
    assert_eq!(sums(), before);
}
