//! Truncated decompositions beside nalgebra's whole ones.
#![allow(clippy::unwrap_used, reason = "tests")]

use ir_knn::{DenseRows, SparseRows, Svd, SvdConfig, SvdError};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Against the dense decomposition of nalgebra, with rows that repeat.
    #[test]
    fn singular_values_and_what_they_rebuild(
        values in prop::collection::vec(prop::option::weighted(0.4, -5_i8..6), 12 * 30),
        repeated in 0_usize..12,
        turned in any::<bool>(),
        k in 1_usize..13,
        seed in any::<u64>(),
    ) {
        let mut dense: Vec<Vec<f64>> = values
            .chunks(30)
            .map(|row| row.iter().map(|v| f64::from(v.unwrap_or(0)) / 4.0).collect())
            .collect();
        dense[repeated] = dense[0].clone();
        let mut rows = DenseRows::of(&dense).unwrap().to_sparse();
        let mut matrix = nalgebra::DMatrix::from_fn(12, 30, |row, column| dense[row][column]);
        if turned {
            (rows, matrix) = (rows.transposed(), matrix.transpose());
        }
        let mut expected: Vec<f64> = matrix.clone().svd(false, false).singular_values.iter().copied().collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        prop_assume!(expected[0] > 0.0);
        let config = SvdConfig::components(k).seeded(seed);
        let svd = Svd::fit(&rows, &config).unwrap();
        for (found, expected) in svd.singular_values().iter().zip(&expected) {
            // Below, all is rounding and becomes 0.
            let limit = if *expected < 1e-5 { 1e-5 } else { 1e-9 };
            prop_assert!((found - expected).abs() < limit, "{} for {}", found, expected);
        }
        // Directions are at right angles, and of length 1 or 0.
        let directions = svd.directions();
        for (i, one) in directions.iter().enumerate() {
            for (j, other) in directions.iter().enumerate() {
                let product: f64 = one.iter().zip(other).map(|(a, b)| a * b).sum();
                let expected = if i == j && svd.singular_values()[i] > 0.0 { 1.0 } else { 0.0 };
                prop_assert!((product - expected).abs() < 1e-8, "{} and {}: {}", i, j, product);
            }
        }
        // Columns of the coordinates are as long as the singular values say.
        let coordinates = svd.transform(&rows).unwrap();
        for (i, value) in svd.singular_values().iter().enumerate() {
            let length: f64 = coordinates.iter().map(|row| row[i] * row[i]).sum();
            prop_assert!((length.sqrt() - value).abs() < 1e-8);
        }
    }
}

/// Eigenvalues that repeat are found as often as they repeat.
#[test]
fn repeated_singular_values() {
    // 300 columns, one row each: values 9 nine times, 5 five times, and 1 to 2 in the rest.
    let values: Vec<f64> = (0..300)
        .map(|i| match i % 300 {
            0..9 => 9.0,
            9..14 => 5.0,
            _ => 1.0 + f64::from(i) / 300.0,
        })
        .collect();
    let rows = SparseRows::new(300, (0..=300).collect(), (0..300).collect(), values).unwrap();
    for seed in 0..5 {
        let svd = Svd::fit(&rows, &SvdConfig::components(14).seeded(seed)).unwrap();
        let rounded: Vec<i64> = svd
            .singular_values()
            .iter()
            .map(|value| (value * 1e9).round() as i64)
            .collect();
        assert_eq!(rounded[..9], [9_000_000_000; 9], "seed {seed}");
        assert_eq!(rounded[9..], [5_000_000_000; 5], "seed {seed}");
    }
}

#[test]
fn decompositions_that_cannot_be() {
    let rows = SparseRows::new(3, vec![0, 1, 2], vec![0, 1], vec![1.0, 2.0]).unwrap();
    let error = |components| Svd::fit(&rows, &SvdConfig::components(components)).unwrap_err();
    for wrong in [0, 3] {
        let text = format!("expected 1 to 2 components for 2 rows of 3 columns, found {wrong}");
        assert_eq!(error(wrong).to_string(), text);
    }
    let zero = SparseRows::new(3, vec![0, 0, 0], vec![], vec![]).unwrap();
    assert_eq!(
        Svd::fit(&zero, &SvdConfig::components(1)),
        Err(SvdError::Zero)
    );
    let svd = Svd::fit(&rows, &SvdConfig::components(2)).unwrap();
    let other = SparseRows::new(4, vec![0], vec![], vec![]).unwrap();
    assert!(svd.transform(&other).is_err());
}
