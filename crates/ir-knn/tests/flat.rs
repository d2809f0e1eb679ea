//! The exact index beside scoring every vector in 64 bits, and the contract of retrievers.

#![allow(clippy::unwrap_used)]

mod cases;

use cases::{ALL, check, numbered, random_vectors};
use ir_core::{DocIds, DocNum, Retriever, Search, SearchError, SplitMix};
use ir_knn::{DenseRows, FlatIndex, HalfIndex, Similarity, VectorError};
use ir_testkit::{Contract, check_vectors, check_vectors_saved, toy};

#[test]
fn ten_thousand_cases_equal_the_oracle() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = SplitMix::new(1, 0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build()?;
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
        let asked: Vec<(&[f32], Search<'_>)> = queries
            .iter()
            .enumerate()
            .map(|(n, query)| {
                let k = match n % 8 {
                    0 => random.below(12),
                    1 => count + 3,
                    _ => 1 + random.below(10),
                };
                let how = Search::top(k);
                let filtered = n % 3 == 1;
                (&query[..], if filtered { how.within(&filter) } else { how })
            })
            .collect();
        let index = FlatIndex::of(numbered(count), &rows, similarity)?;
        let together = index.search_batch(&asked)?;
        let coded = index.clone().with_codes();
        assert_eq!(coded.has_codes(), count > 0);
        assert_eq!(coded.search_batch(&asked)?, together);
        assert_eq!(pool.install(|| index.search_batch(&asked))?, together);
        for ((query, how), found) in asked.iter().zip(&together) {
            assert_eq!(&index.search(query, how)?, found);
            assert_eq!(&coded.search(query, how)?, found);
            let allowed = |n: usize| how.allows(DocNum::new(n as u32));
            check(similarity, query, &rows, how.k(), &allowed, found);
            cases += 1;
        }
        round += 1;
    }
    Ok(())
}

/// Enough vectors that the rows are split among threads and queries come in several groups.
#[test]
fn larger_batches_on_any_number_of_threads() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = SplitMix::new(2, 0);
    let (count, dim) = (5000, 48);
    let rows = random_vectors(&mut random, 7, count, dim);
    let queries = random_vectors(&mut random, 7, 500, dim);
    for similarity in ALL {
        let index = FlatIndex::of(numbered(count), &rows, similarity)?;
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
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()?;
            for index in [&index, &coded] {
                assert_eq!(pool.install(|| index.search_batch(&asked))?, expected);
                let some = pool.install(|| index.search_batch(&asked[..5]))?;
                assert_eq!(some, expected[..5]);
                let one = pool.install(|| index.search(&queries[0], &Search::top(10)))?;
                assert_eq!(one, expected[0]);
            }
        }
    }
    Ok(())
}

/// Enough vectors that the rows are split among threads for a single query.
#[test]
fn single_queries_on_any_number_of_threads() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = SplitMix::new(3, 0);
    let (count, dim, how) = (50_000, 48, Search::top(100));
    let rows = random_vectors(&mut random, 7, count, dim);
    let pools = [1, 2, 5].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap()
    });
    // The best of each is the vector itself: in the first part, in the middle and the very last.
    let queries = [0, 23_456, count - 1];
    for similarity in [Similarity::Cosine, Similarity::Euclidean] {
        let index = FlatIndex::of(numbered(count), &rows, similarity)?;
        let (half, _) = HalfIndex::of(&index)?;
        let coded = index.clone().with_codes();
        let near: Vec<Vec<f32>> = (0..count as u32)
            .map(|n| half.row(DocNum::new(n)))
            .collect();
        for query in queries {
            let (query, own) = (&rows[query], DocNum::new(query as u32));
            let [expected, rounded] = [&index as &dyn Retriever<Query = [f32]>, &half]
                .map(|index| pools[0].install(|| index.search(query, &how)).unwrap());
            assert_eq!([expected.hits()[0].doc, rounded.hits()[0].doc], [own; 2]);
            check(similarity, query, &rows, 100, &|_| true, &expected);
            check(similarity, query, &near, 100, &|_| true, &rounded);
            for pool in &pools {
                let found = pool.install(|| index.search(query, &how))?;
                assert_eq!(found, expected);
                let found = pool.install(|| coded.search(query, &how))?;
                assert_eq!(found, expected);
                let found = pool.install(|| half.search(query, &how))?;
                assert_eq!(found, rounded);
            }
        }
    }
    Ok(())
}

fn build(similarity: Similarity, coded: bool) -> impl Fn(DocIds, Vec<Vec<f32>>) -> FlatIndex {
    move |ids, rows| {
        let index = FlatIndex::of(ids, &rows, similarity).unwrap();
        if coded { index.with_codes() } else { index }
    }
}

#[test]
fn it_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let reload = |index: &FlatIndex| {
        let path = folder.path().join("vectors.ir");
        index.save(&path).unwrap();
        FlatIndex::open(&path).unwrap()
    };
    for coded in [false, true] {
        check_vectors_saved(build(Similarity::InnerProduct, coded), reload);
        check_vectors(build(Similarity::Euclidean, coded));
        // Cosine refuses the zeros among the toys.
        let directed = |count| -> Vec<Vec<f32>> {
            let mut vectors = toy::vectors(count, 6);
            vectors.iter_mut().for_each(|vector| vector[0] += 0.125);
            vectors
        };
        let index = build(Similarity::Cosine, coded)(numbered(70), directed(70));
        let (queries, zeros) = (directed(9), [0.0; 6]);
        let contract = Contract {
            good: queries.iter().map(Vec::as_slice).collect(),
            bad: vec![&zeros, &zeros[1..], &[f32::NAN; 6]],
        };
        contract.check(&index);
        contract.check_equal(&index, &reload(&index));
    }
}

#[test]
fn vectors_that_cannot_be_searched() {
    let error = |rows: &[&[f32]], similarity| {
        FlatIndex::of(numbered(rows.len()), rows, similarity).unwrap_err()
    };
    let text = |rows: &[&[f32]], similarity| error(rows, similarity).to_string();
    use Similarity::{Cosine, InnerProduct};
    assert_eq!(
        text(&[&[1.0, 2.0], &[3.0]], InnerProduct),
        "row 1: expected 2 dimensions, found 1"
    );
    assert_eq!(
        text(&[&[1.0, 2.0], &[3.0, f32::NAN]], InnerProduct),
        "row 1, column 1: expected a finite number, found NaN"
    );
    assert_eq!(
        text(&[&[f32::NEG_INFINITY, 2.0]], Cosine),
        "row 0, column 0: expected a finite number, found -inf"
    );
    assert_eq!(
        text(&[&[1.0], &[1.0], &[-0.0]], Cosine),
        "row 2: expected a vector with a direction for cosine, found zeros"
    );
    assert_eq!(error(&[&[], &[]], InnerProduct), VectorError::NoDimensions);
    let rows = DenseRows::of(&[[1.0, 0.1], [1.0, -1e39]]).unwrap();
    let from_rows = |count, rows: &DenseRows| {
        FlatIndex::from_rows(numbered(count), rows, InnerProduct).map(|index| index.rows().to_vec())
    };
    assert_eq!(from_rows(1, &rows.select(&[0])), Ok(vec![1.0, 0.1]));
    let wrong = from_rows(2, &rows).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "row 1, column 1: expected a finite number, found -inf"
    );
    let (documents, found) = (3, 2);
    let wrong = from_rows(3, &rows).unwrap_err();
    assert_eq!(wrong, VectorError::Documents { documents, found });
    let wrong = FlatIndex::new(numbered(2), 3, vec![0.0; 5], InnerProduct).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "expected 2 vectors of 3 values, found 5 values"
    );
    let wrong = FlatIndex::of(numbered(2), &[[1.0]], InnerProduct).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "expected a vector for each of 2 ids, found 1"
    );
    let index = FlatIndex::of(numbered(1), &[[1.0]], Cosine).unwrap();
    assert!(matches!(
        index.search(&[0.0], &Search::top(1)),
        Err(SearchError::ZeroVector)
    ));
    // A length that was said is kept without vectors.
    let empty = FlatIndex::new(DocIds::new(), 3, Vec::new(), Cosine).unwrap();
    assert!(empty.search(&[1.0; 2], &Search::top(1)).is_err());
    assert!(empty.search(&[1.0; 3], &Search::top(1)).unwrap().is_empty());
}

/// Scores beyond 32 bits are infinite, and equal.
#[test]
fn scores_that_overflow() {
    let rows = [[f32::MAX, 1.0], [f32::MAX, 2.0], [1.0, f32::MIN]];
    for coded in [false, true] {
        let rows = rows.map(Vec::from).to_vec();
        let index = build(Similarity::InnerProduct, coded)(numbered(3), rows);
        let found = index.search(&[f32::MAX, 0.0], &Search::top(2)).unwrap();
        assert!(found.iter().all(|hit| hit.score == f32::INFINITY));
        assert_eq!(found.hits()[0].doc, DocNum::new(0));
    }
}
