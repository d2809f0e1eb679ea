//! Flat index: rankings against an f64 oracle, and the contract of retrievers.

use std::sync::Arc;

use crate::cases::{ALL, check, flat_index, matrix, numbered, on_threads, random_vectors};
use ir_core::{DocIds, DocNum, DocSet, Retriever, Search, SearchError, SplitMix64};
use ir_knn::{FlatIndex, MatrixError, VectorError, VectorSimilarity};
use ir_testkit::{Contract, check_vectors, check_vectors_saved, toy};
use ndarray::{Array2, arr2};

#[test]
fn ten_thousand_searches_equal_the_oracle() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = SplitMix64::new(1, 0);
    let mut cases = 0;
    let mut round = 0;
    while cases < 10_000 {
        let similarity = ALL[round % 3];
        let kind = random.below(8);
        let dim = 1 + random.below(if round % 10 == 0 { 200 } else { 40 });
        let count = random.below(if round % 5 == 0 { 700 } else { 150 });
        let rows = random_vectors(&mut random, kind, count, dim);
        let batch = 1 + random.below(25);
        let mut queries = random_vectors(&mut random, kind, batch, dim);
        if let Some(row) = rows.get(count / 2) {
            queries[0].clone_from(row);
        }
        let every = 1 + random.below(4);
        let filter = move |doc: DocNum| doc.index().is_multiple_of(every);
        // Lists its members, some of which are not documents.
        let few: DocSet = (0..random.below(12))
            .map(|_| DocNum::new(random.below(count + 2) as u32))
            .collect();
        let asked: Vec<(&[f32], Search<'_>)> = queries
            .iter()
            .enumerate()
            .map(|(n, query)| {
                let k = match n % 8 {
                    0 => random.below(12),
                    1 => count + 3,
                    _ => 1 + random.below(10),
                };
                let search = Search::top(k);
                let search = match n % 3 {
                    0 => search,
                    1 => search.within(&filter),
                    _ => search.within(&few),
                };
                (&query[..], search)
            })
            .collect();
        let index = flat_index(&rows, similarity);
        let together = index.search_batch(&asked)?;
        let coded = index.clone().with_codes();
        assert_eq!(coded.has_codes(), count > 0);
        assert_eq!(coded.search_batch(&asked)?, together);
        assert_eq!(on_threads(3, || index.search_batch(&asked))?, together);
        for ((query, search), found) in asked.iter().zip(&together) {
            assert_eq!(&index.search(query, search)?, found);
            assert_eq!(&coded.search(query, search)?, found);
            let allowed = |n: usize| search.allows(DocNum::new(n as u32));
            check(similarity, query, &rows, search.k(), &allowed, found);
            cases += 1;
        }
        round += 1;
    }
    Ok(())
}

/// Threads divide the rows, and the batch has several query groups.
#[test]
fn large_batches_on_any_number_of_threads() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = SplitMix64::new(2, 0);
    let (count, dim) = (5000, 48);
    let rows = random_vectors(&mut random, 7, count, dim);
    let queries = random_vectors(&mut random, 7, 500, dim);
    for similarity in ALL {
        let index = flat_index(&rows, similarity);
        let coded = index.clone().with_codes();
        let asked: Vec<(&[f32], Search<'_>)> = queries
            .iter()
            .map(|query| (&query[..], Search::top(10)))
            .collect();
        let expected = index.search_batch(&asked)?;
        for (found, query) in expected.iter().zip(&queries).take(5) {
            check(similarity, query, &rows, 10, &|_| true, found);
        }
        for threads in [1, 2, 5] {
            on_threads(threads, || {
                for index in [&index, &coded] {
                    assert_eq!(index.search_batch(&asked)?, expected);
                    assert_eq!(index.search_batch(&asked[..5])?, expected[..5]);
                    let one = index.search(&queries[0], &Search::top(10))?;
                    assert_eq!(one, expected[0]);
                }
                Ok::<(), SearchError>(())
            })?;
        }
    }
    Ok(())
}

/// Threads divide the rows for a single query.
#[test]
fn single_queries_on_any_number_of_threads() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = SplitMix64::new(3, 0);
    let (count, dim, search) = (50_000, 48, Search::top(100));
    let rows = random_vectors(&mut random, 7, count, dim);
    // The nearest vector is the query itself: the first, one in the middle, and the last.
    let queries = [0, 23_456, count - 1];
    for similarity in [VectorSimilarity::Cosine, VectorSimilarity::Euclidean] {
        let index = flat_index(&rows, similarity);
        let coded = index.clone().with_codes();
        for query in queries {
            let (query, own) = (&rows[query], DocNum::new(query as u32));
            let expected = on_threads(1, || index.search(query, &search))?;
            assert_eq!(expected.hits()[0].doc, own);
            check(similarity, query, &rows, 100, &|_| true, &expected);
            for (threads, index) in [
                (2, &index),
                (5, &index),
                (1, &coded),
                (2, &coded),
                (5, &coded),
            ] {
                assert_eq!(
                    on_threads(threads, || index.search(query, &search))?,
                    expected
                );
            }
        }
    }
    Ok(())
}

fn build(similarity: VectorSimilarity, coded: bool) -> impl Fn(DocIds, Vec<Vec<f32>>) -> FlatIndex {
    move |ids, rows| {
        let index = FlatIndex::new(ids, matrix(&rows), similarity).unwrap();
        if coded { index.with_codes() } else { index }
    }
}

#[test]
fn contract() {
    let folder = tempfile::tempdir().unwrap();
    let reload = |index: &FlatIndex| {
        let path = folder.path().join("vectors.ir");
        index.save(&path).unwrap();
        FlatIndex::open(&path).unwrap()
    };
    for coded in [false, true] {
        check_vectors_saved(build(VectorSimilarity::InnerProduct, coded), reload);
        check_vectors(build(VectorSimilarity::Euclidean, coded));
        // Cosine similarity rejects the zero vectors of the toy collection.
        let nonzero = |count| -> Vec<Vec<f32>> {
            let mut vectors = toy::vectors(count, 6);
            vectors.iter_mut().for_each(|vector| vector[0] += 0.125);
            vectors
        };
        let index = build(VectorSimilarity::Cosine, coded)(numbered(70), nonzero(70));
        let (queries, zeros) = (nonzero(9), [0.0; 6]);
        let contract = Contract {
            valid_queries: queries.iter().map(Vec::as_slice).collect(),
            invalid_queries: vec![&zeros, &zeros[1..], &[f32::NAN; 6]],
        };
        contract.check(&index);
        contract.check_equal(&index, &reload(&index));
    }
}

#[test]
fn invalid_vectors_and_queries() {
    use VectorSimilarity::{Cosine, InnerProduct};
    let build = |count, values: Vec<f32>, dim, similarity| {
        let vectors = Array2::from_shape_vec((values.len() / dim, dim), values).unwrap();
        FlatIndex::new(numbered(count), vectors, similarity)
    };
    for (values, dim, similarity, message) in [
        (
            vec![1.0, 2.0, 3.0, f32::NAN],
            2,
            InnerProduct,
            "row 1, column 1: expected a finite number, found NaN",
        ),
        (
            vec![f32::NEG_INFINITY, 2.0],
            2,
            Cosine,
            "row 0, column 0: expected a finite number, found -inf",
        ),
        (
            vec![1.0, 1.0, -0.0],
            1,
            Cosine,
            "row 2: expected a nonzero vector for cosine similarity, found a zero vector",
        ),
    ] {
        let error = build(values.len() / dim, values, dim, similarity).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let error = FlatIndex::new(numbered(2), Array2::zeros((2, 0)), InnerProduct).unwrap_err();
    assert_eq!(error, VectorError::Matrix(MatrixError::NoDimensions));
    let error = build(3, vec![0.5; 4], 2, InnerProduct).unwrap_err();
    let (documents, found) = (3, 2);
    assert_eq!(error, VectorError::Documents { documents, found });
    let error = FlatIndex::from_row_major(numbered(2), 3, vec![0.0; 5], InnerProduct).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected 2 vectors of 3 values, found 5 values"
    );
    let error = build(2, vec![1.0], 1, InnerProduct).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected a vector for each of 2 ids, found 1"
    );
    let index = build(1, vec![1.0], 1, Cosine).unwrap();
    assert!(matches!(
        index.search(&[0.0], &Search::top(1)),
        Err(SearchError::ZeroVector)
    ));
    // An index without vectors keeps its dimension.
    let empty = FlatIndex::new(DocIds::new(), Array2::zeros((0, 3)), Cosine).unwrap();
    assert!(empty.search(&[1.0; 2], &Search::top(1)).is_err());
    assert!(empty.search(&[1.0; 3], &Search::top(1)).unwrap().is_empty());
}

/// A view, a transposed matrix and f64 values give the same index as an owned matrix.
#[test]
fn matrices_of_any_layout() {
    let vectors = arr2(&[[1.0_f32, 0.1], [1.0, -3.0], [0.5, 7.0]]);
    let columns = arr2(&[[1.0_f32, 1.0, 0.5], [0.1, -3.0, 7.0]]);
    let similarity = VectorSimilarity::InnerProduct;
    let wide = vectors.mapv(f64::from);
    for index in [
        FlatIndex::new(numbered(3), &vectors, similarity),
        FlatIndex::new(numbered(3), columns.t(), similarity),
        FlatIndex::new(numbered(3), wide.mapv(|value| value as f32), similarity),
        FlatIndex::from_row_major(
            numbered(3),
            2,
            vectors.iter().copied().collect(),
            similarity,
        ),
    ] {
        let index = index.unwrap();
        assert_eq!(index.vectors(), vectors);
        assert_eq!(index.vector(DocNum::new(2)), [0.5, 7.0]);
    }
}

#[test]
fn codes_share_the_vectors() {
    let flat = flat_index(&[vec![1.0, 2.0], vec![3.0, 4.0]], VectorSimilarity::Cosine);
    let coded = flat.clone().with_codes();
    assert!(coded.has_codes() && !flat.has_codes());
    assert_eq!(coded.vectors().as_ptr(), flat.vectors().as_ptr());
}

/// Scores beyond the range of f32 are infinite and tie.
#[test]
fn overflowing_scores() {
    let rows = [[f32::MAX, 1.0], [f32::MAX, 2.0], [1.0, f32::MIN]];
    for coded in [false, true] {
        let rows = rows.map(Vec::from).to_vec();
        let index = build(VectorSimilarity::InnerProduct, coded)(numbered(3), rows);
        let found = index.search(&[f32::MAX, 0.0], &Search::top(2)).unwrap();
        assert!(found.iter().all(|hit| hit.score == f32::INFINITY));
        assert_eq!(found.hits()[0].doc, DocNum::new(0));
    }
}

#[test]
fn shared_memory_is_not_copied() {
    let values: Arc<Vec<f32>> = Arc::new((0..40).map(|n| (n % 7) as f32).collect());
    let ids = || (0..10).map(|n| n.to_string()).collect();
    let similarity = VectorSimilarity::Euclidean;
    let shared = FlatIndex::from_shared(ids(), 4, values.clone(), similarity).unwrap();
    assert_eq!(shared.vectors().as_ptr(), values.as_ptr());
    let owned = FlatIndex::from_row_major(ids(), 4, values.to_vec(), similarity).unwrap();
    for (shared, owned) in [
        (shared.clone(), owned.clone()),
        (shared.clone().with_codes(), owned.clone().with_codes()),
    ] {
        let search = Search::top(10);
        let found = shared.search(&[1.0, 2.0, 3.0, 4.0], &search).unwrap();
        assert_eq!(found, owned.search(&[1.0, 2.0, 3.0, 4.0], &search).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let paths = [folder.path().join("shared"), folder.path().join("owned")];
        shared.save(&paths[0]).unwrap();
        owned.save(&paths[1]).unwrap();
        let [shared, owned] = paths.map(|path| std::fs::read(path).unwrap());
        assert_eq!(shared, owned);
    }
    drop(shared);
    assert_eq!(Arc::strong_count(&values), 1);
    assert!(FlatIndex::from_shared(ids(), 3, values.clone(), similarity).is_err());
    let nan = Arc::new(vec![f32::NAN; 40]);
    assert!(FlatIndex::from_shared(ids(), 4, nan, similarity).is_err());
}
