//! FAISS's indexes beside the exact one: `cargo test -p ir-knn --features faiss --test faiss`.

#![allow(clippy::unwrap_used)]

use std::error::Error as _;
use std::fs;

use ir_core::{DocIds, DocNum, Retriever, Search};
use ir_knn::{EfSearch, FaissError, FaissIndex, FlatIndex, VectorSimilarity};
use ir_testkit::check_vectors_saved;
use ndarray::Array2;

const ALL: [VectorSimilarity; 3] = [
    VectorSimilarity::InnerProduct,
    VectorSimilarity::Cosine,
    VectorSimilarity::Euclidean,
];

const DIM: usize = 32;

/// Vectors of about normal values.
fn random(seed: u64, count: usize) -> Vec<Vec<f32>> {
    let mut state = seed;
    let mut value = || {
        let sum: f64 = (0..12)
            .map(|_| {
                // SplitMix64.
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut bits = state;
                bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
            })
            .sum();
        (sum - 6.0) as f32
    };
    (0..count)
        .map(|_| (0..DIM).map(|_| value()).collect())
        .collect()
}

/// Vectors around twenty centres, as those of texts are.
fn heaps(count: usize, similarity: VectorSimilarity) -> FlatIndex {
    let centres = random(1, 20);
    let mut rows = random(2, count);
    for (n, row) in rows.iter_mut().enumerate() {
        for (value, centre) in row.iter_mut().zip(&centres[n % 20]) {
            *value = *value * 0.5 + centre;
        }
    }
    let ids = (0..count).map(|n| n.to_string()).collect();
    FlatIndex::from_row_major(ids, DIM, rows.concat(), similarity).unwrap()
}

fn queries() -> Vec<Vec<f32>> {
    random(3, 30)
}

fn found(retriever: &dyn Retriever<Query = [f32]>, query: &[f32], how: &Search<'_>) -> Vec<DocNum> {
    let ranking = retriever.search(query, how).unwrap();
    ranking.iter().map(|hit| hit.doc).collect()
}

/// The share of the exact top ten that is found.
fn recall(exact: &FlatIndex, other: &dyn Retriever<Query = [f32]>) -> f64 {
    let how = Search::top(10);
    let of = |query: &Vec<f32>| {
        let expected = found(exact, query, &how);
        let found = found(other, query, &how);
        assert_eq!(found.len(), 10);
        found.iter().filter(|doc| expected.contains(doc)).count()
    };
    let queries = queries();
    queries.iter().map(of).sum::<usize>() as f64 / (10 * queries.len()) as f64
}

/// The contract of exact retrievers, before and after saving. Cosine has none for zeros.
#[test]
fn flat_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    for similarity in [VectorSimilarity::InnerProduct, VectorSimilarity::Euclidean] {
        let build = |ids: DocIds, rows: Vec<Vec<f32>>| {
            let dim = rows.first().map_or(0, Vec::len);
            let vectors = Array2::from_shape_vec((rows.len(), dim), rows.concat()).unwrap();
            let flat = FlatIndex::new(ids, vectors, similarity).unwrap();
            FaissIndex::new(&flat, "Flat").unwrap()
        };
        check_vectors_saved(build, |index| {
            let path = folder.path().join("index.faiss");
            index.save(&path).unwrap();
            FaissIndex::open_as(&path, similarity).unwrap()
        });
    }
}

#[test]
fn scores_are_those_of_the_exact_index() {
    for similarity in ALL {
        let exact = heaps(500, similarity);
        let index = FaissIndex::new(&exact, "Flat").unwrap();
        assert_eq!(recall(&exact, &index), 1.0);
        for query in queries() {
            let how = Search::top(20);
            let (ours, theirs) = (exact.search(&query, &how), index.search(&query, &how));
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
fn recall_grows_with_effort() {
    for similarity in ALL {
        let exact = heaps(2_000, similarity);
        let graph = FaissIndex::new(&exact, "HNSW16").unwrap();
        // Graphs are made for distances.
        let least = match similarity {
            VectorSimilarity::InnerProduct => 0.8,
            _ => 0.97,
        };
        let (low, high) = (
            recall(&exact, &graph.searcher(EfSearch(2))),
            recall(&exact, &graph.searcher(EfSearch(200))),
        );
        assert!(low <= high && high > least, "{similarity}: {low} {high}");
        let cells = FaissIndex::new(&exact, "IVF32,Flat").unwrap();
        let shares = [1, 4, 32].map(|effort| recall(&exact, &cells.searcher(EfSearch(effort))));
        assert!(
            shares[0] < shares[1] && shares[1] <= shares[2],
            "{similarity}: {shares:?}"
        );
        assert_eq!(shares[2], 1.0, "{similarity}: every cell is read");
        // And back again: the effort belongs to the searcher.
        assert_eq!(recall(&exact, &cells.searcher(EfSearch(1))), shares[0]);
        let coded = FaissIndex::new(&exact, "IVF32,PQ16x4").unwrap();
        let share = recall(&exact, &coded.searcher(EfSearch(32)));
        assert!(share > 0.3, "{similarity}: {share}");
    }
}

/// Whatever the effort, a search finds k that pass the filter, and no other.
#[test]
fn filters_are_part_of_the_search() {
    let exact = heaps(2_000, VectorSimilarity::Euclidean);
    let seldom = |doc: DocNum| doc.get().is_multiple_of(47);
    let how = Search::top(30).within(&seldom);
    for description in ["Flat", "HNSW16", "IVF32,Flat", "IVF32,PQ16x4"] {
        let index = FaissIndex::new(&exact, description).unwrap();
        for query in queries() {
            let expected = found(&exact, &query, &how);
            let found = found(&index, &query, &how);
            assert_eq!(found.len(), 30, "{description}");
            assert!(found.iter().all(|&doc| seldom(doc)), "{description}");
            if description == "Flat" {
                assert_eq!(found, expected);
            }
        }
        let all = found(&index, &queries()[0], &Search::top(10_000));
        assert!(all.len() > 1_990, "{description}: {} of 2000", all.len());
        let nothing = |_: DocNum| false;
        assert!(found(&index, &queries()[0], &Search::top(5).within(&nothing)).is_empty());
    }
}

/// Searchers of several efforts, on several threads.
#[test]
fn threads_do_not_disturb_one_another() {
    let exact = heaps(2_000, VectorSimilarity::InnerProduct);
    let index = FaissIndex::new(&exact, "IVF16,Flat").unwrap();
    let alone = [1, 2, 16].map(|effort| recall(&exact, &index.searcher(EfSearch(effort))));
    std::thread::scope(|scope| {
        for round in 0..6 {
            let (exact, index) = (&exact, &index);
            scope.spawn(move || {
                let effort = [1, 2, 16][round % 3];
                assert_eq!(
                    recall(exact, &index.searcher(EfSearch(effort))),
                    alone[round % 3]
                );
            });
        }
    });
}

#[test]
fn what_is_wrong_is_named() {
    let exact = heaps(50, VectorSimilarity::Cosine);
    for description in ["", "LSH", "PCA8,Flat", "IVF4,PQ8,RFlat"] {
        let error = FaissIndex::new(&exact, description).unwrap_err();
        assert!(matches!(error, FaissError::Description { .. }), "{error}");
    }
    for description in ["HNSWx", "IVF64,Flat", "IVF4,PQ7"] {
        let error = FaissIndex::new(&exact, description).unwrap_err();
        let said =
            format!("{description}: FAISS could not build it from 50 vectors of 32 dimensions");
        assert_eq!(error.to_string(), said);
        assert!(!error.source().unwrap().to_string().is_empty());
    }
}

#[test]
fn damaged_and_foreign_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.faiss");
    let ids = folder.path().join("index.faiss.ids");
    let error = || FaissIndex::open(&path).unwrap_err();
    assert!(matches!(error(), FaissError::Io { .. }));
    let index = FaissIndex::new(&heaps(50, VectorSimilarity::Cosine), "HNSW8").unwrap();
    index.save(&path).unwrap();
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let opened = FaissIndex::open(&path).unwrap();
    assert_eq!((opened.description(), opened.dim()), ("HNSW8", DIM));
    let error_as = FaissIndex::open_as(&path, VectorSimilarity::Euclidean).unwrap_err();
    assert!(
        error_as
            .to_string()
            .ends_with("expected an index of Euclidean similarity, found cosine")
    );

    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(&path, &damaged).unwrap();
    assert!(matches!(
        error(),
        FaissError::Mismatch {
            what: "as checksum",
            ..
        }
    ));
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert!(matches!(
        error(),
        FaissError::Mismatch { what: "bytes", .. }
    ));
    fs::remove_file(&path).unwrap();
    assert!(matches!(error(), FaissError::Io { .. }));
    fs::write(&path, &whole).unwrap();
    fs::write(&ids, "{}").unwrap();
    assert!(matches!(error(), FaissError::Ids { .. }));
}
