//! Streaming writer of flat indexes: complete and interrupted files.

use std::fs;
use std::path::Path;

use crate::cases::{ALL, matrix, random_vectors};
use ir_core::{DocIds, SplitMix64};
use ir_knn::{
    FlatIndex, FlatIndexWriteError, FlatIndexWriter, MatrixError, VectorError, VectorSimilarity,
};

const DIM: usize = 40_000;

/// Vectors, of which 26 fill a block.
fn vectors(count: usize) -> Vec<Vec<f32>> {
    random_vectors(&mut SplitMix64::new(5, 0), 7, count, DIM)
}

fn id(n: usize) -> String {
    format!("ü{n}")
}

fn saved(folder: &Path, vectors: &[Vec<f32>]) -> Vec<u8> {
    let ids: DocIds = (0..vectors.len()).map(id).collect();
    let path = folder.join("saved.ir");
    let index = FlatIndex::new(ids, matrix(vectors), VectorSimilarity::Euclidean).unwrap();
    index.save(&path).unwrap();
    fs::read(path).unwrap()
}

fn push(writer: &mut FlatIndexWriter, vectors: &[Vec<f32>]) {
    for (n, vector) in vectors.iter().enumerate().skip(writer.len()) {
        writer.push(&id(n), vector).unwrap();
    }
}

#[test]
fn written_and_saved_files_are_equal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.ir");
    for similarity in ALL {
        for count in [0, 1, 70] {
            let rows = random_vectors(&mut SplitMix64::new(6, 0), 7, count, 3);
            let ids = (0..count).map(id).collect();
            let index = FlatIndex::from_row_major(ids, 3, rows.concat(), similarity).unwrap();
            index.save(&path).unwrap();
            let expected = fs::read(&path).unwrap();
            let mut writer = FlatIndexWriter::create(&path, 3, similarity).unwrap();
            for (n, row) in rows.iter().enumerate() {
                writer.push(&id(n), row).unwrap();
            }
            assert_eq!(writer.len(), count);
            writer.finish().unwrap();
            assert_eq!(fs::read(&path).unwrap(), expected);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

            index.with_user_metadata("{}").save(&path).unwrap();
            let expected = fs::read(&path).unwrap();
            let mut writer = FlatIndexWriter::create(&path, 3, similarity).unwrap();
            push(&mut writer, &rows);
            writer.with_user_metadata("{}").finish().unwrap();
            assert_eq!(fs::read(&path).unwrap(), expected);
        }
    }
}

/// Wherever the process ended, the resumed writer completes the same index.
#[test]
fn interrupted_at_any_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.ir");
    let (partial, journal) = (
        folder.path().join("vectors.ir.partial"),
        folder.path().join("vectors.ir.partial-ids"),
    );
    let rows = vectors(60);
    let expected = saved(folder.path(), &rows);
    let similarity = VectorSimilarity::Euclidean;
    let mut writer = FlatIndexWriter::create(&path, DIM, similarity).unwrap();
    push(&mut writer, &rows[..58]);
    drop(writer);
    assert!(!path.exists());
    let (whole, entries) = (fs::read(&partial).unwrap(), fs::read(&journal).unwrap());
    let block = 26 * DIM * 4;
    let cases = [
        // Lengths of both files, and the number of vectors recovered.
        (whole.len(), entries.len(), 58),
        (whole.len() - 1, entries.len(), 52),
        (whole.len(), entries.len() - 1, 52),
        (64 + 2 * block, entries.len(), 52),
        (64 + 2 * block - 1, entries.len(), 26),
        (64 + block, entries.len(), 26),
        (64 + block - 1, entries.len(), 0),
        (64, entries.len(), 0),
        (63, entries.len(), 0),
        (0, entries.len(), 0),
        (whole.len(), 20, 0),
        (whole.len(), 0, 0),
    ];
    for (partial_len, journal_len, expected_len) in cases {
        fs::write(&partial, &whole[..partial_len]).unwrap();
        fs::write(&journal, &entries[..journal_len]).unwrap();
        let mut writer = FlatIndexWriter::resume(&path, DIM, similarity).unwrap();
        assert_eq!(writer.len(), expected_len, "{partial_len} {journal_len}");
        assert!(writer.ids().iter().eq((0..expected_len).map(id)));
        push(&mut writer, &rows);
        writer.finish().unwrap();
        assert!(
            fs::read(&path).unwrap() == expected,
            "{partial_len} {journal_len}"
        );
        fs::remove_file(&path).unwrap();
    }
    // Vectors before the first damaged vector or journal block are recovered.
    for (at, file, expect) in [(64 + block + 9, &partial, 26), (250, &journal, 26)] {
        fs::write(&partial, &whole).unwrap();
        fs::write(&journal, &entries).unwrap();
        let mut damaged = fs::read(file).unwrap();
        damaged[at] ^= 1;
        fs::write(file, damaged).unwrap();
        let mut writer = FlatIndexWriter::resume(&path, DIM, similarity).unwrap();
        assert_eq!(writer.len(), expect);
        push(&mut writer, &rows);
        writer.finish().unwrap();
        assert!(fs::read(&path).unwrap() == expected);
    }
}

#[test]
fn resumed_repeatedly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.ir");
    let rows = vectors(9);
    let similarity = VectorSimilarity::Euclidean;
    for count in 0..=rows.len() {
        let mut writer = FlatIndexWriter::resume(&path, DIM, similarity).unwrap();
        assert_eq!(writer.len(), count.saturating_sub(1));
        push(&mut writer, &rows[..count]);
    }
    FlatIndexWriter::resume(&path, DIM, similarity)
        .unwrap()
        .finish()
        .unwrap();
    assert!(fs::read(&path).unwrap() == saved(folder.path(), &rows));
    // Creating a writer discards the partial files.
    let writer = FlatIndexWriter::create(&path, DIM, similarity).unwrap();
    assert!(writer.is_empty());
    writer.discard().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn error_messages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.ir");
    let name = path.display().to_string();
    let create = || FlatIndexWriter::create(&path, 2, VectorSimilarity::Cosine);
    let mut writer = create().unwrap();
    writer.push("a", &[1.0, 2.0]).unwrap();
    let mut text = |vector: &[f32]| writer.push("b", vector).unwrap_err().to_string();
    assert_eq!(text(&[1.0]), "row 1: expected 2 dimensions, found 1");
    assert_eq!(
        text(&[1.0, f32::NAN]),
        "row 1, column 1: expected a finite number, found NaN"
    );
    assert_eq!(
        text(&[0.0, 0.0]),
        "row 1: expected a nonzero vector for cosine similarity, found a zero vector"
    );
    assert_eq!(writer.len(), 1);
    let error = create().unwrap_err().to_string().replace(&name, "FILE");
    assert_eq!(error, "FILE.partial-ids: locked by another writer");
    drop(writer);
    let error = FlatIndexWriter::resume(&path, 3, VectorSimilarity::Euclidean).unwrap_err();
    assert_eq!(
        error.to_string().replace(&name, "FILE"),
        "FILE.partial-ids: expected Euclidean similarity and dimension 3 to resume, found cosine and 2"
    );
    let mut writer = FlatIndexWriter::resume(&path, 2, VectorSimilarity::Cosine).unwrap();
    assert_eq!(writer.len(), 1, "the rejected writer changed the files");
    writer.push("b", &[3.0, 4.0]).unwrap();
    writer.finish().unwrap();
    let ids = FlatIndex::open(&path).unwrap();
    assert_eq!(ids.len(), 2);
    assert!(matches!(
        FlatIndexWriter::create(&path, 0, VectorSimilarity::Cosine),
        Err(FlatIndexWriteError::Vector(VectorError::Matrix(
            MatrixError::NoDimensions
        )))
    ));
    for path in [
        folder.path(),
        &folder.path().join("none/vectors.ir"),
        Path::new(""),
    ] {
        let error = FlatIndexWriter::create(path, 2, VectorSimilarity::Cosine).unwrap_err();
        assert!(
            matches!(error, FlatIndexWriteError::Io { .. }),
            "{}",
            path.display()
        );
    }
}

/// The target of a link is written, also if it does not exist yet.
#[cfg(unix)]
#[test]
fn symbolic_links_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("vectors")).unwrap();
    let link = folder.path().join("link.ir");
    std::os::unix::fs::symlink("vectors/target.ir", &link).unwrap();
    for _ in 0..2 {
        let writer = FlatIndexWriter::create(&link, 2, VectorSimilarity::InnerProduct).unwrap();
        writer.finish().unwrap();
        assert!(link.is_symlink());
        let index = FlatIndex::open(folder.path().join("vectors/target.ir")).unwrap();
        assert_eq!(index.vectors().dim(), (0, 2));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}
