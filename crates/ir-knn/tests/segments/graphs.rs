//! Recall of the graphs of segments.

use std::path::Path;

use ir_core::{DocNum, DocSet, Retriever, Search, SplitMix64};
use ir_knn::{
    EfSearch, HnswConfig, SegmentedVectorIndex, VectorIndexConfig, VectorIndexWriter,
    VectorSimilarity,
};
use tempfile::TempDir;

use crate::cases::normal;

/// Thirty clusters of intrinsic dimension 12, in 32 dimensions.
fn clustered(seed: u64, count: usize) -> Vec<Vec<f32>> {
    let (random, shared) = (&mut SplitMix64::new(seed, 1), &mut SplitMix64::new(1, 2));
    let mut normals = |dim: usize| -> Vec<f32> { (0..dim).map(|_| normal(shared)).collect() };
    let basis: Vec<Vec<f32>> = (0..12).map(|_| normals(32)).collect();
    let centers: Vec<Vec<f32>> = (0..30).map(|_| normals(12)).collect();
    let mut row = || {
        let center = &centers[random.below(30)];
        let mut row: Vec<f32> = (0..32).map(|_| normal(random) * 0.1).collect();
        for (center, axis) in center.iter().zip(&basis) {
            let coordinate = center + normal(random);
            let components = row.iter_mut().zip(axis);
            components.for_each(|(x, axis)| *x += coordinate * axis);
        }
        row
    };
    (0..count).map(|_| row()).collect()
}

/// Recall@10 of the graphs. Asserts that hits have the exact scores and pass the filter.
fn recall(folder: &Path, ef_search: usize, queries: &[Vec<f32>], how: &Search<'_>) -> f64 {
    let index = SegmentedVectorIndex::open(folder).unwrap();
    let searcher = index.hnsw_searcher(EfSearch(ef_search)).unwrap();
    let asked: Vec<(&[f32], Search<'_>)> = queries.iter().map(|query| (&query[..], *how)).collect();
    let together = searcher.search_batch(&asked).unwrap();
    let (mut found, mut all) = (0, 0);
    for ((query, how), ranking) in asked.iter().zip(together) {
        assert_eq!(ranking, searcher.search(query, how).unwrap());
        let exact = index.search(query, how).unwrap();
        assert_eq!(ranking.len(), exact.len());
        for hit in &ranking {
            let only = |doc: DocNum| doc == hit.doc;
            let score = index.search(query, &Search::top(1).within(&only)).unwrap();
            assert_eq!(score.hits(), [*hit]);
            assert!(how.allows(hit.doc));
        }
        let is_exact = |hit: &&ir_core::Hit| exact.iter().any(|other| other.doc == hit.doc);
        found += ranking.iter().filter(is_exact).count();
        all += exact.len();
    }
    found as f64 / all as f64
}

/// Deletions do not reduce the recall of the vectors that are left.
#[test]
fn recall_with_deletions() {
    let (rows, queries) = (clustered(1, 9000), clustered(2, 80));
    let config = VectorIndexConfig::new(32, VectorSimilarity::Cosine);
    let config = config.with_hnsw(HnswConfig::default());
    let folder = TempDir::new().unwrap();
    let mut writer = VectorIndexWriter::create(folder.path(), config).unwrap();
    for (n, row) in rows.iter().enumerate() {
        writer.put(&format!("d{n}"), row).unwrap();
    }
    writer.commit().unwrap();
    let top = Search::top(10);
    let even = |doc: DocNum| doc.get().is_multiple_of(2);
    let filtered = Search::top(10).within(&even);
    let before = recall(folder.path(), 64, &queries, &top);
    // A quarter of the vectors: random ones, then the nearest of each query as well.
    let index = SegmentedVectorIndex::open(folder.path()).unwrap();
    let mut nearest = DocSet::new();
    for query in &queries {
        let ranking = index.search(query, &Search::top(20)).unwrap();
        ranking.iter().for_each(|hit| _ = nearest.insert(hit.doc));
    }
    let (mut random, mut deleted) = (SplitMix64::new(3, 0), 0);
    let nearest: Vec<DocNum> = nearest.iter().collect();
    for doc in &nearest {
        deleted += usize::from(writer.delete(index.ids().id(*doc)).unwrap());
    }
    while deleted < 2200 {
        let id = format!("d{}", random.below(rows.len()));
        deleted += usize::from(writer.delete(&id).unwrap());
    }
    writer.commit().unwrap();
    let stats: Vec<_> = writer.segments().collect();
    assert!(
        matches!(&*stats, [one] if one.deleted == deleted),
        "{stats:?}"
    );
    let with_deletions = recall(folder.path(), 64, &queries, &top);
    let with_filter = recall(folder.path(), 64, &queries, &filtered);
    // Vectors in a second segment.
    for (n, row) in clustered(4, 3000).iter().enumerate() {
        writer.put(&format!("new{n}"), row).unwrap();
    }
    writer.commit().unwrap();
    assert_eq!(writer.segments().len(), 2);
    let in_segments = recall(folder.path(), 64, &queries, &top);
    // More deletions: the graph is built again.
    for n in 0..1500 {
        writer.delete(&format!("d{n}")).unwrap();
    }
    writer.commit().unwrap();
    assert!(writer.segments().all(|segment| segment.deleted == 0));
    let rebuilt = recall(folder.path(), 64, &queries, &top);
    writer.compact().unwrap();
    let compacted = recall(folder.path(), 64, &queries, &top);
    let all = [
        before,
        with_deletions,
        with_filter,
        in_segments,
        rebuilt,
        compacted,
    ];
    println!("recall: {all:?}");
    assert!(all.iter().all(|&recall| recall >= 0.97), "{all:?}");
    // As in the README.
    for (found, shown) in [
        (before, 1.0),
        (with_deletions, 0.996),
        (in_segments, 0.999),
        (rebuilt, 0.999),
    ] {
        assert!((found - shown).abs() <= 0.0015, "{found}, expected {shown}");
    }
}
