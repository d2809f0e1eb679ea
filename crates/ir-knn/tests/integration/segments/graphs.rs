//! Searches that traverse the graphs of segments: recall, and the contract of the searcher.

use std::collections::HashSet;
use std::path::Path;
use std::thread;

use ir_core::{DocNum, DocSet, Ranking, Retriever, Search, SplitMix64};
use ir_knn::{
    EfSearch, FlatIndex, HnswConfig, SegmentedHnswSearcher, SegmentedVectorIndex,
    VectorIndexConfig, VectorIndexWriter, VectorSimilarity,
};
use ir_testkit::segments::SegmentedIndexTest;
use tempfile::TempDir;

use super::{VectorTest, Vectors};
use crate::cases::{self, ALL, on_threads, random_vectors};

/// Thirty clusters in 32 dimensions.
fn clustered(seed: u64, count: usize) -> Vec<Vec<f32>> {
    cases::clustered(seed, count, 32)
}

/// Recall@10 of the graphs.
fn recall(folder: &Path, queries: &[Vec<f32>], search: &Search<'_>) -> f64 {
    let index = SegmentedVectorIndex::open(folder).unwrap();
    let searcher = index.hnsw_searcher(EfSearch(64)).unwrap();
    cases::recall(&index, &searcher, queries, search).unwrap()
}

/// Deletions do not reduce the recall of the vectors that are left.
#[test]
fn recall_with_deletions() {
    let (rows, queries) = (clustered(1, 9000), clustered(2, 80));
    let config = VectorIndexConfig::new(32, VectorSimilarity::Cosine);
    let config = config.with_hnsw(HnswConfig::default());
    let folder = TempDir::new().unwrap();
    let mut writer = VectorIndexWriter::create(folder.path(), &config).unwrap();
    for (n, row) in rows.iter().enumerate() {
        writer.put(&format!("d{n}"), row).unwrap();
    }
    writer.commit().unwrap();
    let top = Search::top(10);
    let even = |doc: DocNum| doc.get().is_multiple_of(2);
    let filtered = Search::top(10).within(&even);
    let before = recall(folder.path(), &queries, &top);
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
    let with_deletions = recall(folder.path(), &queries, &top);
    let with_filter = recall(folder.path(), &queries, &filtered);
    // Vectors in a second segment.
    for (n, row) in clustered(4, 3000).iter().enumerate() {
        writer.put(&format!("new{n}"), row).unwrap();
    }
    writer.commit().unwrap();
    assert_eq!(writer.segments().len(), 2);
    let in_segments = recall(folder.path(), &queries, &top);
    // More deletions: the graph is built again.
    for n in 0..1500 {
        writer.delete(&format!("d{n}")).unwrap();
    }
    writer.commit().unwrap();
    assert!(writer.segments().all(|segment| segment.deleted == 0));
    let rebuilt = recall(folder.path(), &queries, &top);
    writer.compact().unwrap();
    let compacted = recall(folder.path(), &queries, &top);
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

/// A folder of three segments of 2,000 vectors with graphs, some of which are deleted in each: the
/// nearest of every query, one of twelve, and those that a later segment replaces. Returns the
/// deleted ids, and the index built once from the vectors that are left.
fn build_with_deletions(
    folder: &Path,
    similarity: VectorSimilarity,
    queries: &[Vec<f32>],
) -> (HashSet<String>, FlatIndex) {
    let hnsw = HnswConfig::default().with_m(3).with_ef_construction(10);
    let config = VectorIndexConfig::new(8, similarity).with_hnsw(hnsw);
    let test = VectorTest::new(config, queries).with_memory(1 << 20);
    let (mut writer, mut model) = (test.create(folder).unwrap(), Vectors::default());
    for (segment, rows) in random_vectors(&mut SplitMix64::new(1, 0), 7, 6000, 8)
        .chunks(2000)
        .enumerate()
    {
        for (n, row) in rows.iter().enumerate() {
            // The first hundred of a segment replace the last ones of the segment before.
            let id = format!("d{}", segment * 1900 + n);
            writer.put(&id, row).unwrap();
            model.put(id, row.clone());
        }
        writer.commit().unwrap();
    }
    let before = test.build(&model.0);
    let mut deleted: HashSet<String> = (0..5800).step_by(12).map(|n| format!("d{n}")).collect();
    for query in queries {
        let nearest = before.search(query, &Search::top(5)).unwrap();
        deleted.extend(
            nearest
                .iter()
                .map(|hit| before.ids().id(hit.doc).to_owned()),
        );
    }
    for id in &deleted {
        assert!(writer.delete(id).unwrap() && model.delete(id));
    }
    writer.commit().unwrap();
    let stats: Vec<_> = writer.segments().collect();
    assert!(
        stats.len() == 3 && stats.iter().all(|segment| segment.deleted > 0),
        "{stats:?}"
    );
    (deleted, test.build(&model.0))
}

/// The contract of retrievers where searches traverse the graphs.
#[test]
fn contract_of_traversed_graphs() {
    for similarity in ALL {
        let queries = random_vectors(&mut SplitMix64::new(2, 0), 7, 20, 8);
        let folder = TempDir::new().unwrap();
        let (deleted, exact) = build_with_deletions(folder.path(), similarity, &queries);
        let index = SegmentedVectorIndex::open(folder.path()).unwrap();
        // The numbers and ids are those of the vectors that are left.
        assert_eq!(index.ids(), exact.ids());
        assert!(index.ids().iter().all(|id| !deleted.contains(id)));
        let searcher = index.hnsw_searcher(EfSearch(10)).unwrap();

        let even = |doc: DocNum| doc.get().is_multiple_of(2);
        let third = DocSet::select(index.len(), |doc| doc.get().is_multiple_of(3));
        let few = DocSet::select(index.len(), |doc| doc.get().is_multiple_of(500));
        let tops = || [0, 1, 10, 50].map(Search::top);
        let traversed = tops()
            .into_iter()
            .chain(tops().map(|search| search.within(&even)))
            .chain(tops().map(|search| search.within(&third)));
        for search in traversed {
            let found = check_contract(&searcher, &exact, &queries, &search);
            // A search that scans is exact. A beam in these sparse graphs misses some of the
            // nearest vectors.
            let is_exact = queries
                .iter()
                .zip(&found)
                .all(|(query, ranking)| &exact.search(query, &search).unwrap() == ranking);
            assert_eq!(
                is_exact,
                search.k() == 0,
                "{similarity}, k = {}",
                search.k()
            );
        }
        for search in tops().map(|search| search.within(&few)) {
            let found = check_contract(&searcher, &exact, &queries, &search);
            for (query, ranking) in queries.iter().zip(&found) {
                assert_eq!(&exact.search(query, &search).unwrap(), ranking);
            }
        }
        for invalid in [&[1.0; 7][..], &[f32::NAN; 8]] {
            let top = Search::top(3);
            assert!(searcher.search(invalid, &top).is_err());
            let batch = [(&queries[0][..], top), (invalid, top)];
            assert!(searcher.search_batch(&batch).is_err());
        }
    }
}

/// Asserts that rankings have k hits that pass the filter, with the scores of `exact`, which their
/// explanations repeat, in a batch and alone, on any number of threads. Returns the rankings.
fn check_contract(
    searcher: &SegmentedHnswSearcher,
    exact: &FlatIndex,
    queries: &[Vec<f32>],
    search: &Search<'_>,
) -> Vec<Ranking> {
    let asked: Vec<(&[f32], Search<'_>)> =
        queries.iter().map(|query| (&query[..], *search)).collect();
    let alone = || -> Vec<Ranking> {
        let rankings = asked
            .iter()
            .map(|(query, search)| searcher.search(query, search));
        rankings.collect::<Result<_, _>>().unwrap()
    };
    let found = alone();
    for threads in [1, 2, 5] {
        let batch = on_threads(threads, || searcher.search_batch(&asked));
        assert_eq!(batch.unwrap(), found);
    }
    thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(alone)).collect();
        for worker in workers {
            assert_eq!(worker.join().unwrap(), found);
        }
    });
    let docs = (0..exact.len() as u32).map(DocNum::new);
    let passing = docs.filter(|&doc| search.allows(doc)).count();
    for (query, ranking) in queries.iter().zip(&found) {
        assert_eq!(ranking.len(), search.k().min(passing));
        let hits = ranking.hits();
        assert!(hits.is_sorted_by(|one, other| one.order(other).is_lt()));
        for hit in hits {
            assert!(search.allows(hit.doc));
            for explained in [
                searcher.explain(query, hit.doc, search),
                exact.explain(query, hit.doc, search),
            ] {
                let explained = explained.unwrap().unwrap();
                assert_eq!(explained.score().to_bits(), hit.score.to_bits());
            }
        }
    }
    found
}
