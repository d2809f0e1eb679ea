//! FAISS indexes against the flat index:
//! `cargo test -p ir-knn --features faiss --test integration faiss::`.

use std::error::Error as _;
use std::fs;

use crate::cases::{ALL, flat_index, matrix, random_vectors};
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{DocIds, DocNum, Retriever, Search, SplitMix64};
use ir_knn::{FaissError, FaissIndex, FlatIndex, VectorSimilarity};
use ir_testkit::check_vectors_saved;

const DIM: usize = 32;

/// Normally distributed vectors of [`DIM`] dimensions.
fn random(seed: u64, count: usize) -> Vec<Vec<f32>> {
    random_vectors(&mut SplitMix64::new(seed, 0), 7, count, DIM)
}

/// Vectors in twenty clusters.
fn clustered(count: usize, similarity: VectorSimilarity) -> FlatIndex {
    let centers = random(1, 20);
    let mut rows = random(2, count);
    for (n, row) in rows.iter_mut().enumerate() {
        for (value, center) in row.iter_mut().zip(&centers[n % 20]) {
            *value = *value * 0.5 + center;
        }
    }
    flat_index(&rows, similarity)
}

fn queries() -> Vec<Vec<f32>> {
    random(3, 30)
}

fn ranked_docs(
    retriever: &dyn Retriever<Query = [f32]>,
    query: &[f32],
    search: &Search<'_>,
) -> Vec<DocNum> {
    let ranking = retriever.search(query, search).unwrap();
    ranking.iter().map(|hit| hit.doc).collect()
}

/// Recall of the exact top ten.
fn recall(exact: &FlatIndex, other: &dyn Retriever<Query = [f32]>) -> f64 {
    let search = Search::top(10);
    let of = |query: &Vec<f32>| {
        let expected = ranked_docs(exact, query, &search);
        let found = ranked_docs(other, query, &search);
        assert_eq!(found.len(), 10);
        found.iter().filter(|doc| expected.contains(doc)).count()
    };
    let queries = queries();
    queries.iter().map(of).sum::<usize>() as f64 / (10 * queries.len()) as f64
}

/// The contract of exact retrievers, before and after saving. Cosine similarity rejects the zero
/// vectors of the toy collection.
#[test]
fn contract_of_flat() {
    let folder = tempfile::tempdir().unwrap();
    for similarity in [VectorSimilarity::InnerProduct, VectorSimilarity::Euclidean] {
        let build = |ids: DocIds, rows: Vec<Vec<f32>>| {
            let flat = FlatIndex::new(ids, matrix(&rows), similarity).unwrap();
            FaissIndex::new(&flat, "Flat").unwrap()
        };
        check_vectors_saved(build, |index| {
            let path = folder.path().join("index.faiss");
            index.save(&path).unwrap();
            FaissIndex::open(&path).unwrap()
        });
    }
}

#[test]
fn scores_equal_those_of_the_flat_index() {
    for similarity in ALL {
        let exact = clustered(500, similarity);
        let index = FaissIndex::new(&exact, "Flat").unwrap();
        assert_eq!(recall(&exact, &index), 1.0);
        for query in queries() {
            let search = Search::top(20);
            let (ours, theirs) = (exact.search(&query, &search), index.search(&query, &search));
            for (one, other) in ours.unwrap().iter().zip(theirs.unwrap().iter()) {
                let largest = one.score.abs().max(1.0);
                assert!(
                    (one.score - other.score).abs() < 1e-5 * largest,
                    "{one:?} {other:?}"
                );
            }
        }
    }
}

#[test]
fn recall_grows_with_the_search_parameter() {
    for similarity in ALL {
        let exact = clustered(2_000, similarity);
        let graph = FaissIndex::new(&exact, "HNSW16").unwrap();
        // HNSW is designed for metrics.
        let least = match similarity {
            VectorSimilarity::InnerProduct => 0.8,
            _ => 0.97,
        };
        let (low, high) = (
            recall(&exact, &graph.searcher(2)),
            recall(&exact, &graph.searcher(200)),
        );
        assert!(low <= high && high > least, "{similarity}: {low} {high}");
        let cells = FaissIndex::new(&exact, "IVF32,Flat").unwrap();
        let recalls = [1, 4, 32].map(|nprobe| recall(&exact, &cells.searcher(nprobe)));
        assert!(
            recalls[0] < recalls[1] && recalls[1] <= recalls[2],
            "{similarity}: {recalls:?}"
        );
        assert_eq!(recalls[2], 1.0, "{similarity}: reads every cell");
        // The search parameter belongs to the searcher.
        assert_eq!(recall(&exact, &cells.searcher(1)), recalls[0]);
        let coded = FaissIndex::new(&exact, "IVF32,PQ16x4").unwrap();
        let found = recall(&exact, &coded.searcher(32));
        assert!(found > 0.3, "{similarity}: {found}");
    }
}

/// A search finds k documents that pass the filter, and no other, with any search parameter.
#[test]
fn filters() {
    let exact = clustered(2_000, VectorSimilarity::Euclidean);
    let is_rare = |doc: DocNum| doc.get().is_multiple_of(47);
    let search = Search::top(30).within(&is_rare);
    for description in ["Flat", "HNSW16", "IVF32,Flat", "IVF32,PQ16x4"] {
        let index = FaissIndex::new(&exact, description).unwrap();
        for query in queries() {
            let expected = ranked_docs(&exact, &query, &search);
            let found = ranked_docs(&index, &query, &search);
            assert_eq!(found.len(), 30, "{description}");
            assert!(found.iter().all(|&doc| is_rare(doc)), "{description}");
            if description == "Flat" {
                assert_eq!(found, expected);
            }
        }
        let all = ranked_docs(&index, &queries()[0], &Search::top(10_000));
        assert!(all.len() > 1_990, "{description}: {} of 2000", all.len());
        let nothing = |_: DocNum| false;
        let passing = Search::top(5).within(&nothing);
        assert!(ranked_docs(&index, &queries()[0], &passing).is_empty());
    }
}

/// Searchers with different search parameters on several threads.
#[test]
fn concurrent_searchers() {
    let exact = clustered(2_000, VectorSimilarity::InnerProduct);
    let index = FaissIndex::new(&exact, "IVF16,Flat").unwrap();
    let alone = [1, 2, 16].map(|nprobe| recall(&exact, &index.searcher(nprobe)));
    std::thread::scope(|scope| {
        for round in 0..6 {
            let (exact, index) = (&exact, &index);
            scope.spawn(move || {
                let nprobe = [1, 2, 16][round % 3];
                assert_eq!(recall(exact, &index.searcher(nprobe)), alone[round % 3]);
            });
        }
    });
}

#[test]
fn invalid_descriptions() {
    let exact = clustered(50, VectorSimilarity::Cosine);
    for description in ["", "LSH", "PCA8,Flat", "IVF4,PQ8,RFlat"] {
        let error = FaissIndex::new(&exact, description).unwrap_err();
        assert!(matches!(error, FaissError::Description { .. }), "{error}");
    }
    for description in ["HNSWx", "IVF64,Flat", "IVF4,PQ7"] {
        let error = FaissIndex::new(&exact, description).unwrap_err();
        let said =
            format!("{description}: FAISS cannot build the index from 50 vectors of 32 dimensions");
        assert_eq!(error.to_string(), said);
        assert!(!error.source().unwrap().to_string().is_empty());
    }
}

/// Damaged vectors do not get a new checksum.
#[test]
fn damaged_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.ir");
    clustered(50, VectorSimilarity::Cosine).save(&path).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    // The first section, after a header of 64 bytes, has the vectors.
    bytes[100] ^= 1;
    fs::write(&path, &bytes).unwrap();
    for verify in [Verify::FirstUse, Verify::SmallSections] {
        let flat = FlatIndex::open_with(&path, verify).unwrap();
        let error = FaissIndex::new(&flat, "Flat").unwrap_err();
        assert!(
            matches!(
                &error,
                FaissError::Vectors(OpenIndexError::Checksum { section, .. }) if section == "vectors"
            ),
            "{error}"
        );
    }
    bytes[100] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let flat = FlatIndex::open(&path).unwrap();
    assert_eq!(FaissIndex::new(&flat, "Flat").unwrap().ids().len(), 50);
}

#[test]
fn damaged_files_and_other_formats() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.faiss");
    let ids = folder.path().join("index.faiss.ids");
    let error = || FaissIndex::open(&path).unwrap_err();
    assert!(matches!(error(), FaissError::Read { .. }));
    let index = FaissIndex::new(&clustered(50, VectorSimilarity::Cosine), "HNSW8").unwrap();
    index.save(&path).unwrap();
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let opened = FaissIndex::open(&path).unwrap();
    assert_eq!((opened.description(), opened.dim()), ("HNSW8", DIM));
    assert_eq!(opened.similarity(), VectorSimilarity::Cosine);

    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(&path, &damaged).unwrap();
    assert!(matches!(
        error(),
        FaissError::Mismatch {
            property: "checksum",
            ..
        }
    ));
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert!(matches!(
        error(),
        FaissError::Mismatch {
            property: "size",
            ..
        }
    ));
    fs::remove_file(&path).unwrap();
    assert!(matches!(error(), FaissError::Read { .. }));
    fs::write(&path, &whole).unwrap();
    fs::write(&ids, "{}").unwrap();
    assert!(matches!(error(), FaissError::Ids { .. }));
}
