//! Neighbours beside slow versions that can be checked by eye: every distance, all of them sorted.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use ir_knn::{DenseRows, Knn, KnnError, Labels, Metric, Neighbour, SparseRows};
use proptest::prelude::*;

/// Sorts all rows by distance, then by number.
fn nearest(train: &[Vec<f64>], test: &[f64], k: usize, metric: Metric) -> Vec<u32> {
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(x, y)| x * y).sum() };
    let distance = |row: &[f64]| match metric {
        Metric::Euclidean => row.iter().zip(test).map(|(x, y)| (x - y).powi(2)).sum(),
        _ => 1.0 - dot(row, test) / (dot(row, row).sqrt() * dot(test, test).sqrt()),
    };
    let mut all: Vec<(f64, u32)> = train.iter().map(|row| distance(row)).zip(0..).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all.into_iter().take(k).map(|pair| pair.1).collect()
}

fn found(knn: &Knn, train: &DenseRows, test: &DenseRows, sparse: (bool, bool)) -> Vec<Vec<u32>> {
    let (strain, stest) = (train.to_sparse(), test.to_sparse());
    let found = match sparse {
        (false, false) => knn.nearest(train, test),
        (true, false) => knn.nearest(&strain, test),
        (false, true) => knn.nearest(train, &stest),
        (true, true) => knn.nearest(&strain, &stest),
    };
    let numbers = |near: Vec<ir_knn::Neighbour>| near.iter().map(|n| n.row).collect();
    found.unwrap().into_iter().map(numbers).collect()
}

const KINDS: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

/// Every distance, column by column, and all of them sorted.
fn nearest_sparse(
    train: &SparseRows,
    test: &SparseRows,
    k: usize,
    metric: Metric,
) -> Vec<Vec<(f64, u32)>> {
    let (mut train, mut test) = (train.clone(), test.clone());
    if metric == Metric::Cosine {
        train.normalize();
        test.normalize();
    }
    let square = |rows: &SparseRows, row| rows.row(row).map(|(_, v)| v * v).sum::<f64>();
    let squares: Vec<f64> = (0..train.len()).map(|row| square(&train, row)).collect();
    let of_row = |row| {
        let own: BTreeMap<u32, f64> = test.row(row).collect();
        let square = square(&test, row);
        let distance = |other: usize| {
            let shared = train.row(other);
            let products = shared.map(|(c, v)| v * own.get(&c).copied().unwrap_or(0.0));
            let product: f64 = products.sum();
            match metric {
                Metric::Euclidean => (square - 2.0 * product + squares[other]).max(0.0),
                _ => (1.0 - product).clamp(0.0, 2.0),
            }
        };
        let mut all: Vec<(f64, u32)> = (0..train.len()).map(distance).zip(0..).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all.truncate(k);
        all
    };
    (0..test.len()).map(of_row).collect()
}

/// Makes rows of up to twelve of 400 columns, of which low ones come often.
fn random_rows() -> impl FnMut(usize, &[f64]) -> SparseRows {
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
                // Low numbers come often.
                let column = (0..3).fold(399, |most, _| random(1 + most)) as u32;
                let value = (random(9) as f64 - 3.3) * length;
                row.insert(column, value);
            }
            columns.extend(row.keys());
            values.extend(row.values());
            starts.push(columns.len());
        }
        SparseRows::new(400, starts, columns, values).unwrap()
    }
}

/// Several blocks of rows; frequent columns and rare ones; rows that repeat, negative values, lengths
/// from 1e-6 to 1e6. Equal to the last digit, however many threads there are.
#[test]
fn many_sparse_rows() {
    let mut rows = random_rows();
    for lengths in [&[1.0][..], &[1.0, 1e-6, 1e6, 0.3], &[1e-90]] {
        let (train, test) = (rows(17_000, lengths), rows(11, lengths));
        for (k, metric) in [
            (1, Metric::Euclidean),
            (10, Metric::Cosine),
            (10, Metric::Euclidean),
            (2_500, Metric::Euclidean),
        ] {
            let expected = nearest_sparse(&train, &test, k, metric);
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                let knn = Knn::new(k).by(metric);
                let found = pool
                    .unwrap()
                    .install(|| knn.nearest(&train, &test))
                    .unwrap();
                let pairs =
                    |near: Vec<Neighbour>| near.iter().map(|n| (n.distance, n.row)).collect();
                let found: Vec<Vec<(f64, u32)>> = found.into_iter().map(pairs).collect();
                assert!(found == expected, "{k}, {metric:?}, {lengths:?}");
            }
        }
    }
}

/// Folds that fill several blocks, lie together in one, or are small: as when each is searched for
/// in the rows of the others.
#[test]
fn many_sparse_rows_by_folds() {
    let rows = random_rows()(4_500, &[1.0, 0.3]);
    let names: Vec<String> = (0..rows.len())
        .map(|row| (row * row % 7).to_string())
        .collect();
    for (folds, threads) in [(2, 3), (5, 1), (30, 3)] {
        let labels = Labels::new(&names);
        let knn = Knn::new(4);
        let of_rows = labels.stratified_folds(folds).unwrap().of_items().to_vec();
        let mut expected = Vec::new();
        for fold in 0..folds as u32 {
            let (own, others): (Vec<usize>, Vec<usize>) =
                (0..rows.len()).partition(|&row| of_rows[row] == fold);
            let known = Labels::new(others.iter().map(|&row| &names[row]));
            let found = knn.classify(&rows.select(&others), &known, &rows.select(&own));
            let found = found.unwrap();
            let pairs = found.iter().zip(&own);
            let right = pairs.filter(|&(&code, &row)| known.class(code) == names[row]);
            expected.push(right.count() as f64 / own.len() as f64);
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let found = pool
            .unwrap()
            .install(|| knn.cross_validate(&rows, &labels, folds));
        assert_eq!(found.unwrap().folds, expected, "{folds} folds");
    }
}

/// Rows of several blocks, compared among themselves: each two meet once.
#[test]
fn many_sparse_rows_among_themselves() {
    let mut rows = random_rows();
    for lengths in [&[1.0][..], &[1.0, 1e-6, 1e6, 0.3]] {
        let rows = rows(4_500, lengths);
        let some: Vec<usize> = (0..rows.len()).step_by(97).collect();
        for (k, metric) in [(10, Metric::Cosine), (10, Metric::Euclidean)] {
            let expected = nearest_sparse(&rows, &rows.select(&some), k, metric);
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                let knn = Knn::new(k).by(metric);
                let found = pool.unwrap().install(|| knn.nearest(&rows, &rows)).unwrap();
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

    /// Small whole numbers: many distances are equal, and all are exact.
    #[test]
    fn euclidean_neighbours_with_many_ties(
        train in prop::collection::vec(prop::collection::vec(-2_i8..3, 3), 1..600),
        test in prop::collection::vec(prop::collection::vec(-2_i8..3, 3), 1..90),
        k in 1_usize..12,
    ) {
        let wide = |rows: &[Vec<i8>]| -> Vec<Vec<f64>> {
            rows.iter().map(|row| row.iter().map(|&v| v.into()).collect()).collect()
        };
        let (train, test) = (wide(&train), wide(&test));
        let k = k.min(train.len());
        let knn = Knn::new(k);
        let expected: Vec<Vec<u32>> =
            test.iter().map(|row| nearest(&train, row, k, Metric::Euclidean)).collect();
        let (train, test) = (DenseRows::of(&train).unwrap(), DenseRows::of(&test).unwrap());
        for kind in KINDS {
            prop_assert_eq!(&found(&knn, &train, &test, kind), &expected);
        }
    }

    /// Columns that few rows have, and some that all have: both ways of multiplying.
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
        let rows = SparseRows::new(308, starts, columns, values).unwrap();
        let knn = Knn::new(k);
        let expected = knn.nearest(&rows.to_dense(), &rows.to_dense()).unwrap();
        prop_assert_eq!(&knn.nearest(&rows, &rows).unwrap(), &expected);
    }

    #[test]
    fn cosine_neighbours(
        train in prop::collection::vec(prop::collection::vec(0.1_f64..9.0, 7), 10..300),
        test in prop::collection::vec(prop::collection::vec(-9.0_f64..9.0, 7), 1..70),
    ) {
        let knn = Knn::new(10).by(Metric::Cosine);
        let expected: Vec<Vec<u32>> =
            test.iter().map(|row| nearest(&train, row, 10, Metric::Cosine)).collect();
        let (train, test) = (DenseRows::of(&train).unwrap(), DenseRows::of(&test).unwrap());
        for kind in KINDS {
            prop_assert_eq!(&found(&knn, &train, &test, kind), &expected);
        }
    }

    /// A fold is what is left when its rows are searched for among all others.
    #[test]
    fn accuracy_by_hand(
        rows in prop::collection::vec((prop::collection::vec(-3_i8..4, 2), 0_u8..3), 30..80),
        k in 1_usize..6,
    ) {
        let labels = Labels::new(rows.iter().map(|row| format!("class {}", row.1)));
        let x: Vec<Vec<f64>> =
            rows.iter().map(|row| row.0.iter().map(|&v| v.into()).collect()).collect();
        let folds = labels.stratified_folds(3).unwrap();
        let mut expected = Vec::new();
        for fold in 0..3 {
            let (mut right, mut all) = (0, 0);
            let inside = |&item: &usize| folds.of_items()[item] == fold;
            let train: Vec<usize> = (0..x.len()).filter(|item| !inside(item)).collect();
            let vectors: Vec<Vec<f64>> = train.iter().map(|&item| x[item].clone()).collect();
            for item in (0..x.len()).filter(inside) {
                let mut votes = BTreeMap::new();
                for near in nearest(&vectors, &x[item], k, Metric::Euclidean) {
                    *votes.entry(labels.codes()[train[near as usize]]).or_insert(0) += 1;
                }
                let most = votes.values().max().unwrap();
                let winner = votes.iter().find(|vote| vote.1 == most).unwrap().0;
                all += 1;
                right += usize::from(*winner == labels.codes()[item]);
            }
            expected.push(right as f64 / all as f64);
        }
        let x = DenseRows::of(&x).unwrap();
        let found = Knn::new(k).cross_validate(&x, &labels, 3).unwrap();
        prop_assert_eq!(&found.folds, &expected);
        prop_assert_eq!(&Knn::new(k).cross_validate(&x.to_sparse(), &labels, 3).unwrap(), &found);
    }
}

#[test]
fn searches_that_cannot_be() {
    let rows = DenseRows::of(&[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]).unwrap();
    let labels = Labels::new(["a", "a", "b"]);
    let validate = |knn: Knn, folds| knn.cross_validate(&rows, &labels, folds).unwrap_err();
    assert_eq!(validate(Knn::new(0), 2), KnnError::Nobody);
    assert_eq!(validate(Knn::new(2), 2), KnnError::TooFew { k: 2, rows: 1 });
    let zero = validate(Knn::new(1).by(Metric::Cosine), 2);
    let text = "row 2: expected a vector with a direction for the cosine, found zeros";
    assert_eq!(zero.to_string(), text);
    assert!(matches!(validate(Knn::new(1), 3), KnnError::Folds(_)));
    let few = Labels::new(["a", "b"]);
    let error = Knn::new(1).cross_validate(&rows, &few, 2).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected one label a row, found 3 rows and 2 labels"
    );
    let other = DenseRows::of(&[[1.0]]).unwrap();
    let error = Knn::new(1).nearest(&rows, &other).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected vectors of 2 dimensions, found 1"
    );
    let none = rows.select(&[]);
    assert_eq!(Knn::new(1).nearest(&rows, &none).unwrap().len(), 0);
    assert!(matches!(
        Knn::new(1).nearest(&none, &rows),
        Err(KnnError::TooFew { .. })
    ));
}

/// Rows as long and as short as are taken have the neighbours of the same rows near 1, dense and
/// sparse; beyond, they are refused and not answered wrongly. The cosine takes any.
#[test]
fn rows_of_any_length() {
    let rows = |size: f64| {
        let row = |n: usize| {
            let mut row = [0.0; 12];
            (row[n % 5], row[11]) = ((1 + n % 9) as f64 * size, (n % 7) as f64 / 10.0 * size);
            row
        };
        DenseRows::of(&(0..60).map(row).collect::<Vec<_>>()).unwrap()
    };
    let knn = |metric, rows: &DenseRows| {
        let knn = Knn::new(4).by(metric);
        let sparse = rows.to_sparse();
        [knn.nearest(rows, rows), knn.nearest(&sparse, &sparse)]
    };
    let numbers = |found: Result<Vec<Vec<Neighbour>>, KnnError>| -> Vec<Vec<u32>> {
        let found = found.unwrap();
        found
            .iter()
            .map(|near| near.iter().map(|one| one.row).collect())
            .collect()
    };
    for metric in [Metric::Euclidean, Metric::Cosine] {
        let expected = knn(metric, &rows(1.0)).map(numbers);
        assert_eq!(expected[0], expected[1]);
        // Powers of two, so that all distances are the same but for their size.
        for power in [390, -390, 600, -600] {
            let found = knn(metric, &rows(2.0_f64.powi(power)));
            if power.abs() < 400 || metric == Metric::Cosine {
                assert_eq!(found.map(numbers), expected, "{power}");
            } else {
                let refused = |found: Result<_, KnnError>| {
                    matches!(found.unwrap_err(), KnnError::Length { row: 0, .. })
                };
                assert!(found.map(refused).iter().all(|&refused| refused));
            }
        }
    }
    // Zeros are measured; the first that is not is named, with its length.
    let odd = DenseRows::of(&[[0.0, 0.0], [5e200, 0.0], [1e-200, 0.0]]).unwrap();
    let labels = Labels::new(["a", "a", "b"]);
    let found = |rows: &DenseRows| Knn::new(1).cross_validate(rows, &labels, 2).unwrap_err();
    let text = "row 1: expected a length of 0 or from 1e-120 to 1e120, found 5e200";
    assert_eq!(found(&odd).to_string(), text);
    let text = "row 0: expected a length of 0 or from 1e-120 to 1e120, found 1e-200";
    assert_eq!(found(&odd.select(&[2, 0, 0])).to_string(), text);
}
