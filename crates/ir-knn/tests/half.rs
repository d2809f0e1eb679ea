//! Vectors in 16 bits: the answers are those of the rounded vectors.

#![allow(clippy::unwrap_used)]

mod cases;

use std::fs;

use cases::{ALL, check, numbered, random_vectors, refuses_every_cut, refuses_every_flip};
use ir_core::{DocIds, DocNum, Retriever, Search, SplitMix};
use ir_knn::{FlatIndex, HalfIndex, OpenError, Similarity, VectorError, Verify};
use ir_testkit::check_vectors_saved;

/// The nearest number of 11 binary digits, ties to the even one, by the definition: numbers below
/// 2⁻¹⁴ are multiples of 2⁻²⁴.
fn rounded(value: f32) -> f32 {
    let value = f64::from(value);
    let exponent = value.abs().log2().floor().max(-14.0);
    let step = (exponent - 10.0).exp2();
    ((value / step).round_ties_even() * step) as f32
}

fn half(rows: &[Vec<f32>], similarity: Similarity) -> HalfIndex {
    let index = FlatIndex::of(numbered(rows.len()), rows, similarity).unwrap();
    HalfIndex::of(&index).unwrap().0
}

#[test]
fn thousands_of_cases_equal_the_rounded_vectors() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = SplitMix::new(4, 0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build()?;
    let mut cases = 0;
    while cases < 3000 {
        let similarity = ALL[cases % 3];
        let kind = [0, 1, 2, 4, 5, 7][random.below(6)];
        let (dim, count) = (1 + random.below(70), 1 + random.below(300));
        let mut rows = random_vectors(&mut random, kind, count, dim);
        // Some below what 16 bits have all digits of, some below what they have at all.
        for row in rows.iter_mut().step_by(3) {
            row.iter_mut().skip(1).for_each(|value| *value *= 1e-6);
        }
        let near: Vec<Vec<f32>> = rows
            .iter()
            .map(|row| row.iter().map(|&value| rounded(value)).collect())
            .collect();
        if near.iter().any(|row| row.iter().all(|&value| value == 0.0)) {
            continue;
        }
        let index = half(&rows, similarity);
        for (n, row) in near.iter().enumerate() {
            assert_eq!(&index.row(DocNum::new(n as u32)), row);
        }
        let exact = FlatIndex::of(numbered(count), &near, similarity)?;
        let queries = random_vectors(&mut random, kind, 12, dim);
        let filter = |doc: DocNum| !doc.index().is_multiple_of(3);
        let asked: Vec<(&[f32], Search<'_>)> = queries
            .iter()
            .enumerate()
            .map(|(n, query)| {
                let how = Search::top([1, 5, count, 0, 10][n % 5]);
                (
                    &query[..],
                    if n % 2 == 1 { how.within(&filter) } else { how },
                )
            })
            .collect();
        let found = index.search_batch(&asked)?;
        assert_eq!(exact.search_batch(&asked)?, found);
        assert_eq!(pool.install(|| index.search_batch(&asked))?, found);
        for ((query, how), found) in asked.iter().zip(&found) {
            assert_eq!(&index.search(query, how)?, found);
            let allowed = |n: usize| how.allows(DocNum::new(n as u32));
            check(similarity, query, &near, how.k(), &allowed, found);
            cases += 1;
        }
    }
    Ok(())
}

#[test]
fn it_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    for similarity in [Similarity::InnerProduct, Similarity::Euclidean] {
        check_vectors_saved(
            |ids: DocIds, rows: Vec<Vec<f32>>| {
                let index = FlatIndex::of(ids, &rows, similarity).unwrap();
                HalfIndex::of(&index).unwrap().0
            },
            |index: &HalfIndex| {
                let path = folder.path().join("half.ir");
                index.save(&path).unwrap();
                HalfIndex::open(&path).unwrap()
            },
        );
    }
}

#[test]
fn what_rounding_did() {
    let of = |rows: &[Vec<f32>], similarity| {
        let index = FlatIndex::of(numbered(rows.len()), rows, similarity).unwrap();
        HalfIndex::of(&index).map(|(_, rounding)| rounding)
    };
    // 2049 lies between 2048 and 2050; 1e-8 is below half of the smallest number.
    let rows = [vec![2049.0, 0.0], vec![1.0, 1e-8]];
    let found = of(&rows, Similarity::InnerProduct).unwrap();
    assert_eq!((found.largest, found.zeros), (1.0, 1));
    assert!((found.relative - 1.0 / 2049.0).abs() < 1e-12);
    let exact = of(&[vec![0.5, -1024.0]], Similarity::Cosine).unwrap();
    assert_eq!((exact.largest, exact.relative, exact.zeros), (0.0, 0.0, 0));
    let error = of(&[vec![1.0, 65_504.0], vec![1.0, -7e4]], Similarity::Cosine).unwrap_err();
    assert_eq!(
        error.to_string(),
        "row 1, column 1: expected a number of size 65504 at most for 16 bits, found -70000"
    );
    assert_eq!(
        of(&[vec![1e-9, 0.0]], Similarity::Cosine),
        Err(VectorError::Zero { row: 0 })
    );
}

#[test]
fn half_the_file_and_every_damage_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("half.ir");
    let index = half(
        &random_vectors(&mut SplitMix::new(8, 0), 7, 90, 33),
        Similarity::Cosine,
    );
    index.save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.len() < 90 * (2 * 33 + 6) + 600);
    HalfIndex::open(&path).unwrap().save(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), bytes);
    half(
        &random_vectors(&mut SplitMix::new(8, 0), 7, 12, 9),
        Similarity::Cosine,
    )
    .save(&path)
    .unwrap();
    let bytes = fs::read(&path).unwrap();
    let wrong = |similarity, dim| {
        let error = HalfIndex::open_as(&path, similarity, dim).unwrap_err();
        error
            .to_string()
            .replace(&path.display().to_string(), "FILE")
    };
    assert!(HalfIndex::open_as(&path, Similarity::Cosine, 9).is_ok());
    assert_eq!(
        wrong(Similarity::InnerProduct, 9),
        "FILE: expected an index of inner product similarity, found cosine"
    );
    assert_eq!(
        wrong(Similarity::Cosine, 8),
        "FILE: expected an index of 8 dimensions, found 9"
    );
    // Opening without the vectors does not see damage in them; checking afterwards does.
    assert!(HalfIndex::open(&path).unwrap().verify().is_ok());
    let mut damaged = bytes.clone();
    damaged[100] ^= 1;
    fs::write(&path, &damaged).unwrap();
    let opened = HalfIndex::open_with(&path, Verify::Tables).unwrap();
    assert!(matches!(
        opened.verify(),
        Err(OpenError::Checksum { section, .. }) if section == "halves"
    ));
    fs::write(&path, &bytes).unwrap();
    refuses_every_flip(&path, HalfIndex::open);
    refuses_every_cut(&path, HalfIndex::open);
    assert!(matches!(
        FlatIndex::open(&path),
        Err(OpenError::NotAnIndex { .. })
    ));
}
