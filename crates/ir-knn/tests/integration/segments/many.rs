//! Many vectors in several segments, on several threads.

use std::fs;
use std::path::Path;

use ir_core::{DocNum, DocSet, Retriever, Search, SplitMix64};
use ir_knn::{
    FlatIndex, HnswConfig, PutOutcome, SegmentedVectorIndex, VectorIndexConfig, VectorIndexWriter,
    VectorSimilarity,
};
use ir_testkit::segments::{SegmentedIndexTest, segment_files};
use tempfile::TempDir;

use super::{VectorTest, Vectors};
use crate::cases::{ALL, on_threads, random_vectors};

/// Writes of many vectors over several commits, with deletions and replacements.
fn write_many(
    test: &VectorTest,
    folder: &Path,
    rows: &[Vec<f32>],
    commits: usize,
) -> (VectorIndexWriter, Vectors) {
    let mut writer = test.create(folder).unwrap();
    let (mut random, mut model) = (SplitMix64::new(5, 0), Vectors::default());
    for some in rows.chunks(rows.len().div_ceil(commits)) {
        for row in some {
            let id = format!("d{}", random.below(rows.len()));
            let outcome = writer.put(&id, row).unwrap();
            assert_ne!(outcome, PutOutcome::Dropped);
            model.put(id, row.clone());
        }
        for _ in 0..some.len() / 10 {
            let id = format!("d{}", random.below(rows.len()));
            assert_eq!(writer.delete(&id).unwrap(), model.delete(&id));
        }
        writer.commit().unwrap();
    }
    (writer, model)
}

#[test]
fn many_vectors_in_several_segments() {
    for (n, similarity) in ALL.into_iter().enumerate() {
        for codes in [true, false] {
            let mut random = SplitMix64::new(n as u64, 0);
            let rows = random_vectors(&mut random, 7, 6000, 24);
            let queries = random_vectors(&mut random, 7, 40, 24);
            let folder = TempDir::new().unwrap();
            let config = VectorIndexConfig::new(24, similarity).with_codes(codes);
            let test = VectorTest::new(config, &queries);
            let (mut writer, model) = write_many(&test, folder.path(), &rows, 7);
            test.check(&test.read(folder.path()), &model.0);
            let index = SegmentedVectorIndex::open(folder.path()).unwrap();
            let segments: Vec<_> = index.segments().collect();
            assert!(segments.len() > 2, "{segments:?}");
            assert!(segments.iter().any(|segment| segment.deleted > 0));
            assert!(segments.iter().all(|one| one.deleted * 4 <= one.documents));
            let search = Search::top(10);
            let asked: Vec<(&[f32], _)> =
                queries.iter().map(|query| (&query[..], search)).collect();
            let expected = index.search_batch(&asked).unwrap();
            for threads in [1, 2, 5] {
                on_threads(threads, || {
                    assert_eq!(index.search_batch(&asked).unwrap(), expected);
                    for ((query, search), ranking) in asked.iter().zip(&expected) {
                        assert_eq!(&index.search(query, search).unwrap(), ranking);
                    }
                });
            }
            // A filter that lists its members is that of a predicate.
            let members = (0..index.len() as u32).step_by(97).map(DocNum::new);
            let members: DocSet = members.collect();
            let predicate = |doc: DocNum| doc.get().is_multiple_of(97);
            for (query, search) in &asked {
                assert_eq!(
                    index.search(query, &search.within(&members)).unwrap(),
                    index.search(query, &search.within(&predicate)).unwrap()
                );
            }
            writer.compact().unwrap();
            test.check(&test.read(folder.path()), &model.0);
            let [file] = &*segment_files(folder.path()) else {
                panic!("expected one segment");
            };
            assert!(fs::read(file).unwrap() == test.saved(&model.0));
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
            // The segment is a flat index by itself, and a flat index is a single segment.
            let flat = FlatIndex::open(file).unwrap();
            let single = SegmentedVectorIndex::from(flat);
            assert_eq!(single.search_batch(&asked).unwrap(), expected);
            assert!(single.single().is_some());
            let compacted = SegmentedVectorIndex::open(folder.path()).unwrap();
            assert!(compacted.single().is_some() && index.single().is_none());
        }
    }
}

#[test]
fn compacted_graphs_have_the_bytes_of_one_built_once() {
    let rows = random_vectors(&mut SplitMix64::new(8, 0), 7, 3000, 16);
    let folder = TempDir::new().unwrap();
    let hnsw = HnswConfig::default().with_m(6).with_ef_construction(30);
    let config = VectorIndexConfig::new(16, VectorSimilarity::Cosine).with_hnsw(hnsw);
    let test = VectorTest::new(config, &rows[..20]);
    let (mut writer, model) = write_many(&test, folder.path(), &rows, 4);
    writer.compact().unwrap();
    let [file] = &*segment_files(folder.path()) else {
        panic!("expected one segment");
    };
    assert!(fs::read(file).unwrap() == test.saved(&model.0));
    // The exact search of a graph index.
    let (index, expected) = (test.read(folder.path()), test.build(&model.0));
    for query in &test.queries {
        let search = Search::top(10);
        assert_eq!(
            index.search(query, &search).unwrap(),
            expected.search(query, &search).unwrap()
        );
    }
}
