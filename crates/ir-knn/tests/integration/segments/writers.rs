//! Fingerprints and errors of writers.

use std::fs;

use ir_core::{DocIds, DocNum, Flow, Retriever, Search, SearchError};
use ir_knn::{
    EfSearch, FlatIndex, HnswConfig, HnswError, PutOutcome, SegmentedVectorIndex,
    VectorIndexConfig, VectorIndexWriter, VectorIndexWriterError, VectorSimilarity,
};
use ir_testkit::segments::segment_files;
use tempfile::TempDir;

use crate::cases::matrix;

#[test]
fn fingerprints_of_the_last_commit() {
    let folder = TempDir::new().unwrap();
    let config = VectorIndexConfig::new(1, VectorSimilarity::InnerProduct).with_fingerprints(true);
    let mut writer = VectorIndexWriter::create(folder.path(), &config).unwrap();
    writer.put("a", &[1.0]).unwrap();
    writer.put_with_fingerprint("b", &[2.0], 5).unwrap();
    assert_eq!(writer.committed_fingerprint("b"), None);
    writer.commit().unwrap();
    writer.put_with_fingerprint("b", &[2.0], 6).unwrap();
    assert_eq!(writer.committed_fingerprint("b"), Some(5));
    writer.commit().unwrap();
    let found = ["a", "b", "c"].map(|id| writer.committed_fingerprint(id));
    assert_eq!(found, [Some(0), Some(6), None]);
    writer.delete("b").unwrap();
    writer.commit().unwrap();
    assert_eq!(writer.committed_fingerprint("b"), None);
    let flat = FlatIndex::new(DocIds::new(), matrix(&[]), VectorSimilarity::Cosine).unwrap();
    let error = flat.with_fingerprints(&[7]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected a fingerprint for each of 0 vectors, found 1"
    );
}

#[test]
fn invalid_configurations_vectors_and_ids() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index");
    let new = |dim| VectorIndexConfig::new(dim, VectorSimilarity::Cosine);
    let error = |config| VectorIndexWriter::create(&path, &config).unwrap_err();
    assert_eq!(
        error(new(0)).to_string(),
        "expected vectors of at least one dimension, found none"
    );
    let m = error(new(2).with_hnsw(HnswConfig::default().with_m(1)));
    assert!(matches!(
        m,
        VectorIndexWriterError::Hnsw(HnswError::M { found: 1 })
    ));
    let wide = error(new(70_000).with_hnsw(HnswConfig::default()));
    assert!(matches!(
        wide,
        VectorIndexWriterError::Hnsw(HnswError::Dimensions { .. })
    ));
    assert!(!path.exists());
    let mut writer = VectorIndexWriter::create(&path, &new(2)).unwrap();
    assert_eq!(writer.put("a", &[1.0, 0.0]).unwrap(), PutOutcome::Written);
    assert_eq!(writer.put("a", &[1.0, 2.0]).unwrap(), PutOutcome::Rewritten);
    for (vector, message) in [
        (&[1.0][..], "row 2: expected 2 dimensions, found 1"),
        (
            &[1.0, f32::NAN],
            "row 2, column 1: expected a finite number, found NaN",
        ),
        (
            &[0.0, 0.0],
            "row 2: expected a nonzero vector for cosine similarity, found a zero vector",
        ),
    ] {
        let error = writer.put("bad", vector).unwrap_err();
        assert_eq!(error.to_string(), "vector of \"bad\"");
        let source = std::error::Error::source(&error).unwrap();
        assert_eq!(source.to_string(), message);
    }
    let long = "x".repeat(DocIds::MAX_LEN + 1);
    let error = writer.put(&long, &[1.0, 1.0]).unwrap_err();
    assert!(matches!(error, VectorIndexWriterError::Ids(_)), "{error}");
    writer.put(&long[1..], &[1.0, 1.0]).unwrap();
    let error = writer
        .put_with_fingerprint("a", &[1.0, 2.0], 7)
        .unwrap_err();
    assert!(matches!(error, VectorIndexWriterError::NoFingerprints));
    writer.commit().unwrap();
    let index = SegmentedVectorIndex::open(&path).unwrap();
    assert_eq!(index.fingerprint(DocNum::new(0)), None);
    assert_eq!(index.len(), 2);
    assert_eq!(index.vector(DocNum::new(0)), [1.0, 2.0]);
    let error = index.search(&[1.0], &Search::top(1)).unwrap_err();
    assert!(matches!(error, SearchError::Dimensions { .. }), "{error}");
    assert!(index.hnsw_searcher(EfSearch::default()).is_none());
}

#[test]
fn commits_report_graphs_and_cannot_be_canceled() {
    let folder = TempDir::new().unwrap();
    let config = VectorIndexConfig::new(2, VectorSimilarity::InnerProduct);
    let config = config.with_hnsw(HnswConfig::default());
    let mut writer = VectorIndexWriter::create(folder.path(), &config).unwrap();
    for n in 0..300 {
        writer.put(&format!("d{n}"), &[n as f32, 1.0]).unwrap();
    }
    let mut stages = Vec::new();
    let mut stop = |stage: &str, _: u64, _: Option<u64>| {
        stages.push(stage.to_owned());
        Flow::Stop
    };
    writer.commit_with(&mut stop).unwrap();
    assert!(stages.len() > 5 && stages.iter().all(|stage| stage == "linking vectors"));
    assert_eq!(
        SegmentedVectorIndex::open(folder.path()).unwrap().len(),
        300
    );
}

#[test]
fn a_failed_or_canceled_merge_leaves_the_last_commit() {
    let folder = TempDir::new().unwrap();
    let config = VectorIndexConfig::new(2, VectorSimilarity::InnerProduct);
    let mut writer = VectorIndexWriter::create(folder.path(), &config).unwrap();
    for n in 0..3 {
        writer.put(&format!("d{n}"), &[n as f32, 1.0]).unwrap();
        writer.commit().unwrap();
    }
    let mut stop = |_: &str, _: u64, _: Option<u64>| Flow::Stop;
    let error = writer.compact_with(&mut stop).unwrap_err();
    assert!(matches!(error, VectorIndexWriterError::Canceled));
    let error = writer.put("d9", &[1.0, 1.0]).unwrap_err();
    assert!(matches!(error, VectorIndexWriterError::Abandoned));
    drop(writer);
    let names = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, 5, "manifest, lock and three segments");
    // A merge does not give damaged vectors a new checksum.
    let file = &segment_files(folder.path())[1];
    let mut bytes = fs::read(file).unwrap();
    bytes[64] ^= 1;
    fs::write(file, bytes).unwrap();
    let mut writer = VectorIndexWriter::open(folder.path()).unwrap();
    let error = writer.compact().unwrap_err();
    assert!(error.to_string().contains("section vectors"), "{error}");
    drop(writer);
    let index =
        SegmentedVectorIndex::open_with(folder.path(), ir_core::store::Verify::SmallSections);
    let index = index.unwrap();
    assert_eq!(index.segments().len(), 3);
    assert!(index.verify().is_err());
}
