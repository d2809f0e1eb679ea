//! Truncated SVD compared with the full SVD of nalgebra.

use ir_core::Flow;
use ir_knn::{CsrMatrix, TruncatedSvd, TruncatedSvdConfig, TruncatedSvdError};
use ndarray::Array2;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Compared with the full SVD of nalgebra, with repeated rows.
    #[test]
    fn singular_values_and_vectors(
        values in prop::collection::vec(prop::option::weighted(0.4, -5_i8..6), 12 * 30),
        repeated in 0_usize..12,
        transposed in any::<bool>(),
        k in 1_usize..13,
        seed in any::<u64>(),
    ) {
        let mut dense: Vec<Vec<f64>> = values
            .chunks(30)
            .map(|row| row.iter().map(|v| f64::from(v.unwrap_or(0)) / 4.0).collect())
            .collect();
        dense[repeated] = dense[0].clone();
        let rows = Array2::from_shape_vec((12, 30), dense.concat()).unwrap();
        let mut rows = CsrMatrix::from_dense(rows.view());
        let mut matrix = nalgebra::DMatrix::from_fn(12, 30, |row, column| dense[row][column]);
        if transposed {
            (rows, matrix) = (rows.transpose(), matrix.transpose());
        }
        let mut expected: Vec<f64> = matrix.clone().svd(false, false).singular_values.iter().copied().collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        prop_assume!(expected[0] > 0.0);
        let config = TruncatedSvdConfig::new(k).with_seed(seed);
        let svd = TruncatedSvd::fit(&rows, &config).unwrap();
        for (found, expected) in svd.singular_values().iter().zip(&expected) {
            // Values below are rounding errors and become 0.
            let limit = if *expected < 1e-5 { 1e-5 } else { 1e-9 };
            prop_assert!((found - expected).abs() < limit, "{} for {}", found, expected);
        }
        // Components are orthogonal, of length 1 or 0.
        let components = svd.components();
        for (i, one) in components.rows().into_iter().enumerate() {
            for (j, other) in components.rows().into_iter().enumerate() {
                let product: f64 = one.iter().zip(other).map(|(a, b)| a * b).sum();
                let expected = if i == j && svd.singular_values()[i] > 0.0 { 1.0 } else { 0.0 };
                prop_assert!((product - expected).abs() < 1e-8, "{} and {}: {}", i, j, product);
            }
        }
        // The lengths of the columns of UΣ are the singular values.
        let projected = svd.transform(&rows).unwrap();
        for (i, value) in svd.singular_values().iter().enumerate() {
            let length: f64 = projected.column(i).iter().map(|value| value * value).sum();
            prop_assert!((length.sqrt() - value).abs() < 1e-8);
        }
    }
}

/// Repeated eigenvalues are found with their multiplicity.
#[test]
fn repeated_singular_values() {
    // Diagonal matrix with the values 9 (nine times), 5 (five times) and 1 to 2.
    let values: Vec<f64> = (0..300)
        .map(|i| match i % 300 {
            0..9 => 9.0,
            9..14 => 5.0,
            _ => 1.0 + f64::from(i) / 300.0,
        })
        .collect();
    let rows = CsrMatrix::new(300, (0..=300).collect(), (0..300).collect(), values).unwrap();
    for seed in 0..5 {
        let svd = TruncatedSvd::fit(&rows, &TruncatedSvdConfig::new(14).with_seed(seed)).unwrap();
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
fn invalid_parameters_and_zero_matrices_are_rejected() {
    let rows = CsrMatrix::new(3, vec![0, 1, 2], vec![0, 1], vec![1.0, 2.0]).unwrap();
    let error =
        |components| TruncatedSvd::fit(&rows, &TruncatedSvdConfig::new(components)).unwrap_err();
    for wrong in [0, 3] {
        let text = format!("expected 1 to 2 components for 2 rows of 3 columns, found {wrong}");
        assert_eq!(error(wrong).to_string(), text);
    }
    let zero = CsrMatrix::new(3, vec![0, 0, 0], vec![], vec![]).unwrap();
    assert_eq!(
        TruncatedSvd::fit(&zero, &TruncatedSvdConfig::new(1)),
        Err(TruncatedSvdError::Zero)
    );
    let svd = TruncatedSvd::fit(&rows, &TruncatedSvdConfig::new(2)).unwrap();
    let other = CsrMatrix::new(4, vec![0], vec![], vec![]).unwrap();
    assert!(svd.transform(&other).is_err());
}

#[test]
fn progress_and_cancellation() {
    let values: Vec<f64> = (0..300).map(|i| 1.0 + f64::from(i) / 300.0).collect();
    let rows = CsrMatrix::new(300, (0..=300).collect(), (0..300).collect(), values).unwrap();
    let config = TruncatedSvdConfig::new(14);
    let mut steps = Vec::new();
    let mut watch = |stage: &str, done: u64, total: Option<u64>| {
        assert_eq!((stage, total), ("decomposing", None));
        steps.push(done);
        Flow::Continue
    };
    let watched = TruncatedSvd::fit_with_progress(&rows, &config, &mut watch);
    assert_eq!(watched, TruncatedSvd::fit(&rows, &config));
    assert!(
        steps.len() > 2 && steps.is_sorted_by(|a, b| a < b),
        "{steps:?}"
    );
    let mut stop = |_: &str, done: u64, _: Option<u64>| match done {
        0 => Flow::Continue,
        _ => Flow::Stop,
    };
    let stopped = TruncatedSvd::fit_with_progress(&rows, &config, &mut stop);
    assert_eq!(stopped, Err(TruncatedSvdError::Canceled));
}
