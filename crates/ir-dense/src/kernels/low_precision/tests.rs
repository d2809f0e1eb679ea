//! Products in bf16 and int8 against their formulas.

use proptest::prelude::*;

use super::rows::{RoundRows, RowRange};
use super::*;
use crate::kernels::elementwise::softmax;

const ALL: [LowPrecision; 3] = [LowPrecision::Bf16, LowPrecision::W8A8, LowPrecision::W8A12];

fn numbers(count: usize, seed: u64, spread: f32) -> Vec<f32> {
    let mut random = ir_core::SplitMix64::new(seed, 3);
    let number = |_| (random.below(4001) as f32 / 2000.0 - 1.0) * spread;
    (0..count).map(number).collect()
}

/// Product of a matrix in a precision.
fn product(
    precision: LowPrecision,
    left: StridedRows<'_>,
    right: &[f32],
    bias: &[f32],
    from: usize,
) -> Vec<f32> {
    let to = bias.len();
    let packed = LowPrecisionMatrix::new(precision, right, from, to).unwrap();
    let mut out = vec![f32::NAN; left.count * to];
    let scratch = &mut LowPrecisionRows::default();
    packed.product(left, bias, None, (&mut out, to), scratch);
    out
}

/// The formulas of the module in f64, from quantized values that are computed by definition.
fn int8_reference(left: &[f32], levels: f32, right: &[f32], bias: &[f32], from: usize) -> Vec<f64> {
    let to = bias.len();
    let column = |column: usize| right.iter().skip(column).step_by(to);
    let channels: Vec<(f32, Vec<f64>)> = (0..to)
        .map(|at| {
            let scale = column(at).fold(0.0_f32, |most, x| most.max(x.abs())) / 127.0;
            let inverse = 1.0 / scale;
            let round = |&x: &f32| f64::from((x * inverse).round_ties_even());
            let weights = column(at).map(round).collect();
            (scale, weights)
        })
        .collect();
    let row = |row: &[f32]| -> Vec<f64> {
        let least = row.iter().copied().fold(0.0, f32::min);
        let most = row.iter().copied().fold(0.0, f32::max);
        let scale = (most - least) / levels;
        let zero = (-least * (1.0 / scale)).round_ties_even();
        let quantized = row.iter().map(|x| {
            let p = (f64::from(x * (1.0 / scale)) + f64::from(zero)).round_ties_even();
            p.clamp(0.0, f64::from(levels)) - f64::from(zero)
        });
        let quantized: Vec<f64> = quantized.collect();
        let cell = |(at, (channel, weights)): (usize, &(f32, Vec<f64>))| {
            let products = quantized.iter().zip(weights).map(|(p, q)| p * q);
            products.sum::<f64>() * f64::from(scale) * f64::from(*channel) + f64::from(bias[at])
        };
        channels.iter().enumerate().map(cell).collect()
    };
    left.chunks(from).flat_map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn int8_product_equals_its_formula(
        rows in 1..30_usize,
        from in 2..300_usize,
        to in 1..100_usize,
        gap in 0..20_usize,
        shift in -1.5..1.5_f32,
        wide: bool,
        seed: u64,
    ) {
        let mut left = numbers(rows * (from + gap), seed, 2.0);
        left.iter_mut().for_each(|x| *x += shift);
        let (right, bias) = (numbers(from * to, seed ^ 1, 0.1), numbers(to, seed ^ 2, 1.0));
        let dense: Vec<f32> = left
            .chunks(from + gap)
            .flat_map(|row| &row[..from])
            .copied()
            .collect();
        let strided = StridedRows { values: &left, stride: from + gap, count: rows };
        let (precision, levels) = if wide {
(LowPrecision::W8A12, 4095.0)
} else {
(LowPrecision::W8A8, 255.0)
};
        let found = product(precision, strided, &right, &bias, from);
        let expected = int8_reference(&dense, levels, &right, &bias, from);
        for (found, expected) in found.iter().zip(expected) {
            let error = (f64::from(*found) - expected).abs();
            // Rounding of a tie by one unit in f32 would be an error of about 1e-3, or 1e-4 with 12
            // bits.
            prop_assert!(error < 1e-5 * (1.0 + expected.abs()), "{found} {expected}");
        }
    }

    #[test]
    fn bf16_product_is_near_f64(
        rows in 1..30_usize,
        from in 1..300_usize,
        to in 1..100_usize,
        seed: u64,
    ) {
        let (left, right) = (numbers(rows * from, seed, 2.0), numbers(from * to, seed ^ 1, 0.1));
        let bias = numbers(to, seed ^ 2, 1.0);
        let left = StridedRows::new(&left, from);
        let found = product(LowPrecision::Bf16, left, &right, &bias, from);
        let bf16 = |x: f32| f64::from(f32::from_bits(round_to_bf16(x) << 16));
        for (at, found) in found.iter().enumerate() {
            let row = &left.values[at / to * from..][..from];
            let column = right.iter().skip(at % to).step_by(to);
            let sum: f64 = row.iter().zip(column).map(|(&x, &y)| bf16(x) * bf16(y)).sum();
            let expected = sum + f64::from(bias[at % to]);
            let error = (f64::from(*found) - expected).abs();
            prop_assert!(error < 1e-5 * (1.0 + expected.abs()), "{found} {expected}");
        }
    }

    #[test]
    fn row_has_same_bits_in_any_batch(rows in 2..30_usize, precision in 0..3_usize, seed: u64) {
        let precision = ALL[precision];
        let (from, to) = (300, 45);
        let (left, mut right) = (numbers(rows * from, seed, 2.0), numbers(from * to, 1, 0.1));
        // An outlier: a single large weight.
        right[3..from * to].iter_mut().step_by(to).for_each(|x| *x *= 1e-3);
        right[3] = 9.0;
        let bias = numbers(to, 2, 1.0);
        let all = product(precision, StridedRows::new(&left, from), &right, &bias, from);
        for (row, expected) in left.chunks(from).zip(all.chunks(to)) {
            let alone = product(precision, StridedRows::new(row, from), &right, &bias, from);
            prop_assert_eq!(&alone[..], expected);
        }
    }

    #[test]
    fn quantized_numbers_are_nearest(
        seed: u64,
        least in -9.0..1.0_f32,
        width in 0.01..20.0_f32,
        wide: bool,
    ) {
        let levels = if wide { 4095.0 } else { 255.0 };
        let row = numbers(100, seed, width / 2.0);
        let row: Vec<f32> = row.iter().map(|x| x + least + width / 2.0).collect();
        let range = RowRange::new(pulp::Scalar, &row, levels);
        for &x in &row {
            let restored = (range.quantize(x) as f32 - range.zero) * range.scale;
            // Half a step, or a little more at the upper end of the range.
            prop_assert!((restored - x).abs() <= 0.5001 * range.scale + 1e-6, "{x} {restored}");
        }
        prop_assert_eq!(range.quantize(0.0) as f32, range.zero);
    }
}

/// Rows and products at every level of the CPU.
#[test]
fn all_instruction_sets_compute_the_same_bits() {
    let (count, to) = (13, 40);
    for (precision, from) in ALL
        .into_iter()
        .flat_map(|precision| (1..70).map(move |from| (precision, from)))
    {
        let (left, right) = (numbers(count * from, 1, 3.0), numbers(from * to, 2, 0.1));
        let bias = numbers(to, 3, 1.0);
        let right = LowPrecisionMatrix::new(precision, &right, from, to).unwrap();
        let mut all: Vec<Vec<u32>> = Vec::new();
        macro_rules! run {
            ($simd:expr) => {{
                let mut rows = LowPrecisionRows::default();
                rows.resize(precision, count, from);
                let round = RoundRows {
                    precision,
                    rows: StridedRows::new(&left, from),
                    width: from,
                    out: &mut rows,
                };
                Simd::vectorize($simd, round);
                let mut out = vec![0.0; count * to];
                let product = LowPrecisionProduct {
                    left: &rows,
                    count,
                    right: &right,
                    columns: 0..to,
                    microkernel: match precision {
                        LowPrecision::Bf16 => bf16_microkernel(),
                        LowPrecision::W8A8 | LowPrecision::W8A12 => int8_microkernel(),
                    },
                    bias: &bias,
                    activation: None,
                    accumulate: false,
                    out: ProductOutput::Rows(&mut out, to),
                };
                Simd::vectorize($simd, product);
                let rows = rows.quantization.iter();
                let rows = rows.flat_map(|row| [row.scale.to_bits(), row.zero as u32]);
                all.push(out.iter().map(|x| x.to_bits()).chain(rows).collect());
            }};
        }
        run!(pulp::Scalar);
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(simd) = pulp::x86::V3::try_new() {
                run!(simd);
            }
            if let Some(simd) = pulp::x86::V4::try_new() {
                run!(simd);
            }
        }
        for found in &all {
            assert_eq!(found, &all[0], "{precision:?}, {from}");
        }
    }
}

#[test]
fn columns_of_products_are_those_of_the_product() {
    for precision in [LowPrecision::Bf16, LowPrecision::W8A8, LowPrecision::W8A12] {
        let (count, from, to) = (5, 70, 100);
        let (left, right) = (numbers(count * from, 1, 3.0), numbers(from * to, 2, 0.1));
        let bias = numbers(to, 3, 1.0);
        let right = LowPrecisionMatrix::new(precision, &right, from, to).unwrap();
        let left = StridedRows::new(&left, from);
        let mut rows = LowPrecisionRows::default();
        let mut whole = vec![0.0; count * to];
        let gelu = Some(Activation::Gelu);
        right.product(left, &bias, gelu, (&mut whole, to), &mut rows);
        for columns in [0..32, 32..96, 64..100, 96..100, 32..32] {
            let width = columns.len() + 1;
            let mut found = vec![7.0; count * width];
            let range = columns.clone();
            right.columns_of_words(&rows, count, range, &bias, gelu, (&mut found, width));
            for (found, whole) in found.chunks(width).zip(whole.chunks(to)) {
                assert_eq!(found[..width - 1], whole[columns.clone()], "{precision:?}");
                assert_eq!(found[width - 1], 7.0);
            }
        }
    }
}

#[test]
fn outlier_channels_are_f32() {
    let (rows, from, to) = (5, 1000, 40);
    let left = numbers(rows * from, 1, 1.0);
    let mut right = numbers(from * to, 2, 0.1);
    for column in [7, 39] {
        right[500 * to + column] = 30.0;
    }
    let bias = numbers(to, 3, 1.0);
    let packed = LowPrecisionMatrix::new(LowPrecision::W8A8, &right, from, to).unwrap();
    assert_eq!(packed.outliers(), [7, 39]);
    let rows = StridedRows::new(&left, from);
    let exact = PackedMatrix::new(&right, from, to);
    for activation in [None, Some(Activation::Relu)] {
        let mut expected = vec![0.0; rows.count * to];
        let mut found = vec![7.0; rows.count * (to + 3)];
        let out = (&mut expected[..], to);
        exact.columns_of_product(rows, 0..to, Some(&bias), activation, out);
        let scratch = &mut LowPrecisionRows::default();
        packed.product(rows, &bias, activation, (&mut found, to + 3), scratch);
        for (found, expected) in found.chunks(to + 3).zip(expected.chunks(to)) {
            for column in [7, 39] {
                assert_eq!(found[column], expected[column]);
            }
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 0.05, "{found} {expected}");
            }
            assert_eq!(found[to..], [7.0; 3]);
        }
    }
    let even = numbers(from * to, 2, 0.1);
    let packed = LowPrecisionMatrix::new(LowPrecision::W8A8, &even, from, to).unwrap();
    assert!(packed.outliers().is_empty());
}

#[test]
fn zeros_infinities_and_subnormal_numbers() {
    let (from, to) = (6, 3);
    let right = numbers(from * to, 2, 0.1);
    let bias = [1.0, -2.0, 0.5];
    let run = |row: &[f32], right: &[f32]| {
        product(
            LowPrecision::W8A8,
            StridedRows::new(row, from),
            right,
            &bias,
            from,
        )
    };
    assert_eq!(run(&[0.0; 6], &right), bias);
    assert_eq!(run(&[1e-40; 6], &right), bias);
    assert_eq!(run(&[1.0; 6], &vec![0.0; from * to]), bias);
    // Subnormal weights have f32 products.
    assert_eq!(run(&[1.0; 6], &vec![1e-39; from * to]), bias);
    for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        let row = [1.0, bad, 1.0, 1.0, 1.0, 1.0];
        assert!(run(&row, &right).iter().all(|x| x.is_nan()), "{bad}");
    }
}

#[test]
fn columns_with_non_finite_weights_are_f32() {
    let (from, to) = (8, 3);
    let bias = [0.0; 3];
    for bad in [f32::NAN, f32::INFINITY] {
        let mut right = numbers(from * to, 2, 0.1);
        right[3 * to + 1] = bad;
        let packed = LowPrecisionMatrix::new(LowPrecision::W8A8, &right, from, to).unwrap();
        assert_eq!(packed.outliers(), [1]);
        let row = [1.0; 8];
        let rows = StridedRows::new(&row, from);
        let found = product(LowPrecision::W8A8, rows, &right, &bias, from);
        assert!(found[0].is_finite() && !found[1].is_finite() && found[2].is_finite());
    }
}

/// At the maximum depth, sums of the largest integers fit 32 bits.
#[test]
fn maximum_depths() {
    for precision in [LowPrecision::W8A8, LowPrecision::W8A12] {
        let depth = precision.max_depth();
        let too_deep = vec![0.0; depth + 1];
        assert!(LowPrecisionMatrix::new(precision, &too_deep, depth + 1, 1).is_none());
        assert!(LowPrecisionMatrix::new(LowPrecision::Bf16, &too_deep, depth + 1, 1).is_some());
        for x in [2.0, -2.0] {
            let left = vec![x; depth];
            let rows = StridedRows::new(&left, depth);
            for w in [0.5, -0.5] {
                let found = product(precision, rows, &vec![w; depth], &[0.0], depth);
                let expected = x * w * depth as f32;
                assert!((found[0] / expected - 1.0).abs() < 1e-6, "{precision:?}");
            }
        }
    }
}

/// Keys and values of attention: the words of the matrix that is packed once.
#[test]
fn matrices_of_one_product_have_the_words_of_others() {
    let mut matrix = LowPrecisionMatrix::default();
    let scratch = &mut LowPrecisionRows::default();
    // Growing and shrinking, with incomplete words and panels.
    for (from, to) in [(32, 190), (1, 1), (7, 33), (64, 64), (3, 40), (190, 32)] {
        let (rows, gap) = (numbers(from * (to + 5), 1, 2.0), to + 5);
        let row = |at: usize| &rows[at * gap..][..to];
        let dense: Vec<f32> = (0..from).flat_map(|at| row(at).to_vec()).collect();
        let expected = LowPrecisionMatrix::new(LowPrecision::Bf16, &dense, from, to).unwrap();
        let strided = StridedRows {
            values: &rows,
            stride: gap,
            count: from,
        };
        matrix.fill_rows(strided, to);
        assert_eq!(
            matrix.words.values(),
            expected.words.values(),
            "{from}, {to}"
        );
        let transposed: Vec<f32> = (0..to * from)
            .map(|at| dense[at % from * to + at / from])
            .collect();
        matrix.fill_columns(from, StridedRows::new(&transposed, from), scratch);
        assert_eq!(
            matrix.words.values(),
            expected.words.values(),
            "{from}, {to}"
        );
        let left = numbers(3 * from, 4, 1.0);
        let left = StridedRows::new(&left, from);
        let [mut found, mut with_bias] = [vec![0.0; 3 * to], vec![0.0; 3 * to]];
        matrix.product(left, &[], None, (&mut found, to), scratch);
        expected.product(left, &vec![0.0; to], None, (&mut with_bias, to), scratch);
        assert_eq!(found, with_bias);
    }
}

/// Rounding by instructions, for numbers of all classes.
#[test]
fn rows_are_rounded_to_the_same_bits() {
    let mut random = ir_core::SplitMix64::new(5, 5);
    let special = [
        0.0,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::from_bits(0xffff_ffff),
        f32::from_bits(0x7f80_0001),
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
        1e-40,
        2_f32.powi(-50),
        -2_f32.powi(-50),
        2_f32.powi(-50).next_down(),
        1.0 + 2_f32.powi(-8),
        1.0 + 3.0 * 2_f32.powi(-8),
    ];
    for width in 1..100 {
        let element = |at: usize| match random.below(3) {
            0 => special[at * 7 % special.len()],
            _ => f32::from_bits(random.below(1 << 32) as u32),
        };
        let values: Vec<f32> = (0..3 * (width + 2)).map(element).collect();
        let rows = StridedRows {
            values: &values,
            stride: width + 2,
            count: 3,
        };
        let mut found = LowPrecisionRows::default();
        found.round(LowPrecision::Bf16, rows, width);
        for (row, words) in values
            .chunks(width + 2)
            .zip(found.words.values().chunks(found.stride))
        {
            let mut row = row[..width].to_vec();
            row.resize(width.next_multiple_of(2), 0.0);
            for (pair, word) in row.chunks(2).zip(words) {
                let expected = round_to_bf16(pair[0]) | round_to_bf16(pair[1]) << 16;
                assert_eq!(*word, expected, "{pair:?}");
            }
        }
    }
}

#[test]
fn rounded_product_is_rounding_of_product() {
    for (count, from, to) in [(1, 3, 1), (13, 40, 33), (25, 64, 96), (12, 7, 31)] {
        let (left, right) = (numbers(count * from, 1, 3.0), numbers(from * to, 2, 0.1));
        let bias = numbers(to, 3, 1.0);
        let left = StridedRows::new(&left, from);
        let packed = LowPrecisionMatrix::new(LowPrecision::Bf16, &right, from, to).unwrap();
        let [mut scratch, mut found, mut expected] =
            std::array::from_fn(|_| LowPrecisionRows::default());
        let activation = Some(Activation::Gelu);
        packed.rounded_product(left, &bias, activation, &mut found, &mut scratch);
        let mut rows = vec![0.0; count * to];
        packed.product(left, &bias, activation, (&mut rows, to), &mut scratch);
        expected.round(LowPrecision::Bf16, StridedRows::new(&rows, to), to);
        let words = to.div_ceil(2);
        let rows = found
            .words
            .values()
            .chunks(found.stride)
            .zip(expected.words.values().chunks(expected.stride));
        for (found, expected) in rows {
            assert_eq!(found[..words], expected[..words], "{count}, {from}, {to}");
        }
    }
}

#[test]
fn rounded_softmax_is_rounding_of_softmax() {
    for width in (1..70).chain([391]) {
        let (count, stride) = (1 + width % 9, width + 5);
        let mut scores = numbers(count * stride, width as u64, 40.0);
        let mut found = LowPrecisionRows::default();
        found.round_softmax(&mut scores.clone(), stride, width, 0.3);
        softmax(&mut scores, stride, width, 0.3);
        for (row, words) in scores
            .chunks(stride)
            .zip(found.words.values().chunks(found.stride))
        {
            let mut row = row[..width].to_vec();
            row.resize(width.next_multiple_of(2), 0.0);
            for (pair, word) in row.chunks(2).zip(words) {
                let expected = round_to_bf16(pair[0]) | round_to_bf16(pair[1]) << 16;
                assert_eq!(*word, expected, "{width}: {pair:?}");
            }
        }
    }
}
