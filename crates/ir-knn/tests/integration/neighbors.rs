//! kNN search and classification compared with sorting all distances.

use std::collections::BTreeMap;

use crate::cases::on_threads;
use ir_knn::{
    Classes, CsrMatrix, KnnClassifier, KnnError, MatrixError, MatrixView, Neighbor,
    VectorSimilarity,
};
use ndarray::{Array2, Axis, array};
use proptest::prelude::*;

/// Returns the nearest rows by distance; ties by row number.
fn nearest(train: &[Vec<f64>], test: &[f64], k: usize, metric: VectorSimilarity) -> Vec<u32> {
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(x, y)| x * y).sum() };
    let distance = |row: &[f64]| match metric {
        VectorSimilarity::Euclidean => row.iter().zip(test).map(|(x, y)| (x - y).powi(2)).sum(),
        _ => 1.0 - dot(row, test) / (dot(row, row).sqrt() * dot(test, test).sqrt()),
    };
    let mut all: Vec<(f64, u32)> = train.iter().map(|row| distance(row)).zip(0..).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all.into_iter().take(k).map(|pair| pair.1).collect()
}

/// Array of rows of equal length.
fn dense(rows: &[Vec<f64>]) -> Array2<f64> {
    let dim = rows.first().map_or(0, Vec::len);
    Array2::from_shape_vec((rows.len(), dim), rows.concat()).unwrap()
}

/// Returns the row numbers of neighbors of dense matrices, each stored densely or sparsely.
fn neighbor_rows(
    knn: &KnnClassifier,
    train: &Array2<f64>,
    test: &Array2<f64>,
    (sparse_train, sparse_test): (bool, bool),
) -> Vec<Vec<u32>> {
    let csr = [train, test].map(|rows| CsrMatrix::from_dense(rows.view()));
    let view = |dense, csr, sparse| {
        if sparse {
            MatrixView::from(csr)
        } else {
            MatrixView::from(dense)
        }
    };
    let train = view(train, &csr[0], sparse_train);
    let found = knn.neighbors(train, view(test, &csr[1], sparse_test));
    found
        .unwrap()
        .iter()
        .map(|near| row_numbers(near))
        .collect()
}

fn row_numbers(neighbors: &[Neighbor]) -> Vec<u32> {
    neighbors.iter().map(|neighbor| neighbor.row).collect()
}

const KINDS: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

/// Returns the nearest sparse rows by sorting all distances, computed column by column.
fn nearest_sparse(
    train: &CsrMatrix,
    test: &CsrMatrix,
    k: usize,
    metric: VectorSimilarity,
) -> Vec<Vec<(f64, u32)>> {
    let (mut train, mut test) = (train.clone(), test.clone());
    if metric == VectorSimilarity::Cosine {
        train.normalize_rows();
        test.normalize_rows();
    }
    let square = |rows: &CsrMatrix, row| rows.row(row).map(|(_, v)| v * v).sum::<f64>();
    let squares: Vec<f64> = (0..train.nrows()).map(|row| square(&train, row)).collect();
    let nearest = |row| {
        let own: BTreeMap<u32, f64> = test.row(row).collect();
        let square = square(&test, row);
        let distance = |other: usize| {
            let shared = train.row(other);
            let products = shared.map(|(c, v)| v * own.get(&c).copied().unwrap_or(0.0));
            let product: f64 = products.sum();
            match metric {
                VectorSimilarity::Euclidean => (square - 2.0 * product + squares[other]).max(0.0),
                _ => (1.0 - product).clamp(0.0, 2.0),
            }
        };
        let mut all: Vec<(f64, u32)> = (0..train.nrows()).map(distance).zip(0..).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all.truncate(k);
        all
    };
    (0..test.nrows()).map(nearest).collect()
}

/// Generator of rows with up to twelve of 400 columns, low columns being frequent.
fn random_rows() -> impl FnMut(usize, &[f64]) -> CsrMatrix {
    let mut state = 7_u64;
    let mut random = move |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    move |count: usize, lengths: &[f64]| {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for _ in 0..count {
            let length = lengths[random(lengths.len() as u64) as usize];
            let mut row = BTreeMap::new();
            for _ in 0..1 + random(12) {
                let column = (0..3).fold(399, |most, _| random(1 + most)) as u32;
                let value = (random(9) as f64 - 3.3) * length;
                row.insert(column, value);
            }
            columns.extend(row.keys());
            values.extend(row.values());
            starts.push(columns.len());
        }
        CsrMatrix::new(400, starts, columns, values).unwrap()
    }
}

/// Several blocks of rows with frequent and rare columns, repeated rows, negative values, and
/// lengths from 1e-6 to 1e6. Distances are bit-equal on any number of threads.
#[test]
fn many_sparse_rows() {
    let mut rows = random_rows();
    for lengths in [&[1.0][..], &[1.0, 1e-6, 1e6, 0.3], &[1e-90]] {
        let (train, test) = (rows(17_000, lengths), rows(11, lengths));
        for (k, metric) in [
            (1, VectorSimilarity::Euclidean),
            (10, VectorSimilarity::Cosine),
            (10, VectorSimilarity::Euclidean),
            (2_500, VectorSimilarity::Euclidean),
        ] {
            let expected = nearest_sparse(&train, &test, k, metric);
            for threads in [1, 3] {
                let knn = KnnClassifier::new(k).with_metric(metric);
                let found = on_threads(threads, || knn.neighbors(&train, &test)).unwrap();
                let pairs =
                    |near: Vec<Neighbor>| near.iter().map(|n| (n.distance, n.row)).collect();
                let found: Vec<Vec<(f64, u32)>> = found.into_iter().map(pairs).collect();
                assert!(found == expected, "{k}, {metric:?}, {lengths:?}");
            }
        }
    }
}

/// Folds of several blocks, several folds per block, and small folds: the accuracy of each fold is
/// that of classifying it by the others.
#[test]
fn many_sparse_rows_by_folds() {
    let rows = random_rows()(4_500, &[1.0, 0.3]);
    let names: Vec<String> = (0..rows.nrows())
        .map(|row| (row * row % 7).to_string())
        .collect();
    for (folds, threads) in [(2, 3), (5, 1), (30, 3)] {
        let classes = Classes::new(&names);
        let knn = KnnClassifier::new(4);
        let assignment = classes.stratified_folds(folds).unwrap().assignment;
        let mut expected = Vec::new();
        for fold in 0..folds as u32 {
            let (test, train): (Vec<usize>, Vec<usize>) =
                (0..rows.nrows()).partition(|&row| assignment[row] == fold);
            let known = Classes::new(train.iter().map(|&row| &names[row]));
            let found = knn.classify(&rows.select_rows(&train), &known, &rows.select_rows(&test));
            let found = found.unwrap();
            let pairs = found.iter().zip(&test);
            let correct = pairs.filter(|&(&code, &row)| known.name(code) == names[row]);
            expected.push(correct.count() as f64 / test.len() as f64);
        }
        let found = on_threads(threads, || knn.cross_validate(&rows, &classes, folds));
        assert_eq!(found.unwrap().folds, expected, "{folds} folds");
    }
}

/// A matrix of several blocks searched for its own rows, in which each pair is bounded once.
#[test]
fn many_sparse_rows_of_one_matrix() {
    let mut rows = random_rows();
    for lengths in [&[1.0][..], &[1.0, 1e-6, 1e6, 0.3]] {
        let rows = rows(4_500, lengths);
        let some: Vec<usize> = (0..rows.nrows()).step_by(97).collect();
        for (k, metric) in [
            (10, VectorSimilarity::Cosine),
            (10, VectorSimilarity::Euclidean),
        ] {
            let expected = nearest_sparse(&rows, &rows.select_rows(&some), k, metric);
            for threads in [1, 3] {
                let knn = KnnClassifier::new(k).with_metric(metric);
                let found = on_threads(threads, || knn.neighbors(&rows, &rows)).unwrap();
                for (&row, expected) in some.iter().zip(&expected) {
                    let near = found[row].iter().map(|n| (n.distance, n.row));
                    assert!(
                        near.eq(expected.iter().copied()),
                        "{row}, {metric:?}, {lengths:?}"
                    );
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Small integers: many distances are equal, and all are exact.
    #[test]
    fn euclidean_neighbors_with_many_ties(
        train in prop::collection::vec(prop::collection::vec(-2_i8..3, 3), 1..600),
        test in prop::collection::vec(prop::collection::vec(-2_i8..3, 3), 1..90),
        k in 1_usize..12,
    ) {
        let wide = |rows: &[Vec<i8>]| -> Vec<Vec<f64>> {
            rows.iter().map(|row| row.iter().map(|&v| v.into()).collect()).collect()
        };
        let (train, test) = (wide(&train), wide(&test));
        let k = k.min(train.len());
        let knn = KnnClassifier::new(k);
        let expected: Vec<Vec<u32>> =
            test.iter().map(|row| nearest(&train, row, k, VectorSimilarity::Euclidean)).collect();
        let (train, test) = (dense(&train), dense(&test));
        for kind in KINDS {
            prop_assert_eq!(&neighbor_rows(&knn, &train, &test, kind), &expected);
        }
    }

    /// Rare columns, multiplied by posting lists, and frequent ones, multiplied as 8-bit codes.
    #[test]
    fn wide_sparse_rows(
        rows in prop::collection::vec(prop::collection::vec((0_u32..300, 1_i8..4), 0..9), 20..200),
        common in 0_usize..8,
        k in 1_usize..9,
    ) {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for (number, row) in rows.iter().enumerate() {
            let mut row: BTreeMap<u32, f64> = row.iter().map(|&(c, v)| (c, v.into())).collect();
            row.extend((0..common).map(|c| (300 + c as u32, ((number * 7 + c) % 5) as f64)));
            columns.extend(row.keys());
            values.extend(row.values());
            starts.push(columns.len());
        }
        let rows = CsrMatrix::new(308, starts, columns, values).unwrap();
        let knn = KnnClassifier::new(k);
        let expected = knn.neighbors(&rows.to_dense(), &rows.to_dense()).unwrap();
        prop_assert_eq!(&knn.neighbors(&rows, &rows).unwrap(), &expected);
    }

    #[test]
    fn cosine_neighbors(
        train in prop::collection::vec(prop::collection::vec(0.1_f64..9.0, 7), 10..300),
        test in prop::collection::vec(prop::collection::vec(-9.0_f64..9.0, 7), 1..70),
    ) {
        let knn = KnnClassifier::new(10).with_metric(VectorSimilarity::Cosine);
        let expected: Vec<Vec<u32>> =
            test.iter().map(|row| nearest(&train, row, 10, VectorSimilarity::Cosine)).collect();
        let (train, test) = (dense(&train), dense(&test));
        for kind in KINDS {
            prop_assert_eq!(&neighbor_rows(&knn, &train, &test, kind), &expected);
        }
    }

    /// The accuracy of a fold is that of classifying it by all other rows.
    #[test]
    fn accuracy_matches_exhaustive_voting(
        rows in prop::collection::vec((prop::collection::vec(-3_i8..4, 2), 0_u8..3), 30..80),
        k in 1_usize..6,
    ) {
        let classes = Classes::new(rows.iter().map(|row| format!("class {}", row.1)));
        let x: Vec<Vec<f64>> =
            rows.iter().map(|row| row.0.iter().map(|&v| v.into()).collect()).collect();
        let folds = classes.stratified_folds(3).unwrap();
        let mut expected = Vec::new();
        for fold in 0..3 {
            let (mut correct, mut all) = (0, 0);
            let inside = |&item: &usize| folds.assignment[item] == fold;
            let train: Vec<usize> = (0..x.len()).filter(|item| !inside(item)).collect();
            let vectors: Vec<Vec<f64>> = train.iter().map(|&item| x[item].clone()).collect();
            for item in (0..x.len()).filter(inside) {
                let mut votes = BTreeMap::new();
                for near in nearest(&vectors, &x[item], k, VectorSimilarity::Euclidean) {
                    *votes.entry(classes.codes()[train[near as usize]]).or_insert(0) += 1;
                }
                let most = votes.values().max().unwrap();
                let winner = votes.iter().find(|vote| vote.1 == most).unwrap().0;
                all += 1;
                correct += usize::from(*winner == classes.codes()[item]);
            }
            expected.push(correct as f64 / all as f64);
        }
        let x = dense(&x);
        let found = KnnClassifier::new(k).cross_validate(&x, &classes, 3).unwrap();
        prop_assert_eq!(&found.folds, &expected);
        let x = CsrMatrix::from_dense(x.view());
        prop_assert_eq!(&KnnClassifier::new(k).cross_validate(&x, &classes, 3).unwrap(), &found);
    }
}

#[test]
fn invalid_searches_are_rejected() {
    let rows = array![[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]];
    let classes = Classes::new(["a", "a", "b"]);
    let validate =
        |knn: KnnClassifier, folds| knn.cross_validate(&rows, &classes, folds).unwrap_err();
    assert_eq!(validate(KnnClassifier::new(0), 2), KnnError::ZeroK);
    assert_eq!(
        validate(KnnClassifier::new(2), 2),
        KnnError::TooFewRows { k: 2, rows: 1 }
    );
    let zero = validate(
        KnnClassifier::new(1).with_metric(VectorSimilarity::Cosine),
        2,
    );
    let text = "row 2: expected a non-zero vector for the cosine, found zeros";
    assert_eq!(zero.to_string(), text);
    assert!(matches!(
        validate(KnnClassifier::new(1), 3),
        KnnError::Folds(_)
    ));
    let mut nan = rows.clone();
    nan[[1, 0]] = f64::NAN;
    let error = KnnClassifier::new(1).neighbors(&nan, &rows).unwrap_err();
    assert_eq!(
        error.to_string(),
        "row 1, column 0: expected a finite number, found NaN"
    );
    let empty = Array2::zeros((3, 0));
    let error = KnnClassifier::new(1).neighbors(&empty, &empty).unwrap_err();
    assert_eq!(error, KnnError::Matrix(MatrixError::NoDimensions));
    let few = Classes::new(["a", "b"]);
    let error = KnnClassifier::new(1)
        .cross_validate(&rows, &few, 2)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected one class per row, found 3 rows and 2 classes"
    );
    let other = array![[1.0]];
    let error = KnnClassifier::new(1).neighbors(&rows, &other).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected vectors of 2 dimensions, found 1"
    );
    let none = rows.select(Axis(0), &[]);
    assert_eq!(
        KnnClassifier::new(1).neighbors(&rows, &none).unwrap().len(),
        0
    );
    assert!(matches!(
        KnnClassifier::new(1).neighbors(&none, &rows),
        Err(KnnError::TooFewRows { .. })
    ));
}

/// Scaled rows have the same neighbors within the supported range of lengths and are rejected
/// beyond it. Cosine distance supports any length.
#[test]
fn rows_of_any_length() {
    let rows = |size: f64| {
        let row = |n: usize| {
            let mut row = [0.0; 12];
            (row[n % 5], row[11]) = ((1 + n % 9) as f64 * size, (n % 7) as f64 / 10.0 * size);
            row
        };
        Array2::from((0..60).map(row).collect::<Vec<_>>())
    };
    let knn = |metric, rows: &Array2<f64>| {
        let knn = KnnClassifier::new(4).with_metric(metric);
        let sparse = CsrMatrix::from_dense(rows.view());
        [knn.neighbors(rows, rows), knn.neighbors(&sparse, &sparse)]
    };
    let numbers = |found: Result<Vec<Vec<Neighbor>>, KnnError>| -> Vec<Vec<u32>> {
        found
            .unwrap()
            .iter()
            .map(|near| row_numbers(near))
            .collect()
    };
    for metric in [VectorSimilarity::Euclidean, VectorSimilarity::Cosine] {
        let expected = knn(metric, &rows(1.0)).map(numbers);
        assert_eq!(expected[0], expected[1]);
        // Powers of two scale all distances exactly.
        for power in [390, -390, 600, -600] {
            let found = knn(metric, &rows(2.0_f64.powi(power)));
            if power.abs() < 400 || metric == VectorSimilarity::Cosine {
                assert_eq!(found.map(numbers), expected, "{power}");
            } else {
                let rejected = |found: Result<_, KnnError>| {
                    matches!(found.unwrap_err(), KnnError::Length { row: 0, .. })
                };
                assert!(found.map(rejected).iter().all(|&rejected| rejected));
            }
        }
    }
    // The error names the first row that is out of range. Zero rows are not.
    let rows = array![[0.0, 0.0], [5e200, 0.0], [1e-200, 0.0]];
    let classes = Classes::new(["a", "a", "b"]);
    let found = |rows: &Array2<f64>| {
        KnnClassifier::new(1)
            .cross_validate(rows, &classes, 2)
            .unwrap_err()
    };
    let text = "row 1: expected a length of 0 or from 1e-120 to 1e120, found 5e200";
    assert_eq!(found(&rows).to_string(), text);
    let text = "row 0: expected a length of 0 or from 1e-120 to 1e120, found 1e-200";
    assert_eq!(found(&rows.select(Axis(0), &[2, 0, 0])).to_string(), text);
}
