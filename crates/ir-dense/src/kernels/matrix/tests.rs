//! Products against an f64 reference, at every level of the CPU.

use proptest::prelude::*;

use super::*;

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    let number = |n: usize| ((n * 7919 + seed * 104_729) % 2003) as f32 / 1001.5 - 1.0;
    (0..count).map(number).collect()
}

/// Product in f64 by the definition.
fn reference(left: &[f32], right: &[f32], bias: &[f32], from: usize, to: usize) -> Vec<f64> {
    let rows = left.chunks(from);
    let row = |row: &[f32]| -> Vec<f64> {
        let element = |column: usize| {
            let terms = row.iter().zip(right.iter().skip(column).step_by(to));
            let sum: f64 = terms.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
            sum + bias.get(column).map_or(0.0, |&bias| f64::from(bias))
        };
        (0..to).map(element).collect()
    };
    rows.flat_map(row).collect()
}

const SHAPES: [[usize; 3]; 8] = [
    [1, 1, 1],
    [7, 12, 36],
    [13, 24, 12],
    [6, 384, 32],
    [11, 385, 33],
    [5, 1000, 48],
    [64, 32, 17],
    [3, 768, 769],
];

#[test]
fn product_equals_f64_reference() {
    for [rows, from, to] in SHAPES {
        let (left, right) = (numbers(rows * from, 1), numbers(from * to, 2));
        let bias = numbers(to, 3);
        let panels = PackedMatrix::new(&right, from, to);
        for bias in [None, Some(&bias[..])] {
            let expected = reference(&left, &right, bias.unwrap_or_default(), from, to);
            let mut out = vec![f32::NAN; rows * to];
            panels.product(StridedRows::new(&left, from), bias, &mut out, to);
            for (found, expected) in out.iter().zip(&expected) {
                let error = (f64::from(*found) - expected).abs();
                assert!(error < 3e-5, "{rows}x{from}x{to}: {found}, {expected}");
            }
            // With a larger stride, elements between rows are not written.
            let mut wide = vec![7.0; rows * (to + 5)];
            panels.product(StridedRows::new(&left, from), bias, &mut wide, to + 5);
            for (wide, narrow) in wide.chunks(to + 5).zip(out.chunks(to)) {
                assert_eq!(&wide[..to], narrow, "{rows}x{from}x{to}");
                assert_eq!(wide[to..], [7.0; 5]);
            }
        }
    }
}

/// [`PackedMatrix::product`] with an activation function at one level.
struct ProductAt<'a> {
    left: StridedRows<'a>,
    right: &'a [f32],
    bias: &'a [f32],
    activation: Option<Activation>,
    from: usize,
}

impl WithSimd for ProductAt<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        let (from, to) = (self.from, self.bias.len());
        let mut packed = PackedMatrix::default();
        (packed.from, packed.to) = (from, to);
        packed.width = S::F32_LANES * TILE_VECTORS;
        packed
            .values
            .fill_with_zeros(from * to.next_multiple_of(packed.width));
        for k in 0..from {
            for column in 0..to {
                let at = packed.index(column / packed.width, k) + column % packed.width;
                packed.values.values_mut()[at] = self.right[k * to + column];
            }
        }
        let mut out = vec![f32::NAN; self.left.count * to];
        let product = MatrixProduct {
            left: LeftMatrix::from(self.left),
            right: &packed,
            columns: 0..to,
            bias: Some(self.bias),
            activation: self.activation,
            accumulate: false,
            out: &mut out,
            out_stride: to,
        };
        product.with_simd(simd);
        out
    }
}

/// Products at every level of the CPU, the portable one first.
fn at_every_level<'a>(product: impl Fn() -> ProductAt<'a>) -> Vec<Vec<f32>> {
    #[allow(unused_mut, reason = "other architectures have one level more")]
    let mut all = vec![product().with_simd(pulp::Scalar)];
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = pulp::x86::V3::try_new();
        all.extend(avx2.map(|simd| Simd::vectorize(simd, product())));
        let avx512 = pulp::x86::V4::try_new();
        all.extend(avx512.map(|simd| Simd::vectorize(simd, product())));
    }
    all.push(Arch::new().dispatch(product()));
    all
}

fn check_levels([rows, from, to]: [usize; 3], gap: usize, activation: Option<Activation>) {
    let (left, right) = (numbers(rows * (from + gap), 1), numbers(from * to, 2));
    let bias = numbers(to, 3);
    let dense: Vec<f32> = left
        .chunks(from + gap)
        .flat_map(|row| &row[..from])
        .copied()
        .collect();
    let levels = at_every_level(|| ProductAt {
        left: StridedRows {
            values: &left,
            stride: from + gap,
            count: rows,
        },
        right: &right,
        bias: &bias,
        activation,
        from,
    });
    let expected = reference(&dense, &right, &bias, from, to);
    for found in &levels {
        for (&found, &sum) in found.iter().zip(&expected) {
            let expected = match activation {
                None => sum,
                Some(_) => sum.max(0.0),
            };
            let error = (f64::from(found) - expected).abs();
            assert!(
                error < 3e-5 * expected.abs().max(1.0),
                "{rows}x{from}x{to}: {found}, {expected}"
            );
        }
    }
    // All levels with fused multiply-add have the same bits.
    for found in &levels[1..] {
        assert_eq!(found, &levels[levels.len() - 1], "{rows}x{from}x{to}");
    }
}

#[test]
fn levels_equal_f64_reference_and_each_other() {
    for shape in SHAPES {
        check_levels(shape, 0, None);
        check_levels(shape, 16, Some(Activation::Relu));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn products_of_random_shapes_equal_f64_reference(
        rows in 1..40_usize,
        from in 1..800_usize,
        to in 1..100_usize,
        gap in 0..20_usize,
        relu: bool,
    ) {
        check_levels([rows, from, to], gap, relu.then_some(Activation::Relu));
    }
}

#[test]
fn columns_of_products_are_those_of_the_product() {
    let [rows, from, to] = [13, 800, 170];
    let (left, right) = (numbers(rows * from, 1), numbers(from * to, 2));
    let bias = numbers(to, 3);
    let packed = PackedMatrix::new(&right, from, to);
    let left = StridedRows::new(&left, from);
    let mut whole = vec![0.0; rows * to];
    packed.product(left, Some(&bias), &mut whole, to);
    let panel = PackedMatrix::padded(1);
    for columns in [0..panel, panel..3 * panel, 4 * panel..to, panel..panel] {
        let width = columns.len() + 1;
        let mut found = vec![7.0; rows * width];
        let out = (&mut found[..], width);
        packed.columns_of_product(left, columns.clone(), Some(&bias), None, out);
        for (found, whole) in found.chunks(width).zip(whole.chunks(to)) {
            assert_eq!(found[..width - 1], whole[columns.clone()], "{columns:?}");
            assert_eq!(found[width - 1], 7.0);
        }
    }
}

#[test]
fn activated_product_is_activation_of_product() {
    let [rows, from, to] = [25, 800, 75];
    let (left, right) = (numbers(rows * from, 1), numbers(from * to, 2));
    let bias = numbers(to, 3);
    let packed = PackedMatrix::new(&right, from, to);
    let stride = PackedMatrix::row_stride(to);
    let left = StridedRows::new(&left, from);
    let mut sums = vec![0.0; rows * to];
    packed.product(left, Some(&bias), &mut sums, to);
    for activation in Activation::ALL {
        let mut found = vec![7.0; rows * stride];
        let out = (&mut found[..], stride);
        packed.columns_of_product(left, 0..to, Some(&bias), Some(activation), out);
        for (found, sums) in found.chunks(stride).zip(sums.chunks(to)) {
            for (&found, &sum) in found.iter().zip(sums) {
                let sum = f64::from(sum);
                let root = (2.0 / std::f64::consts::PI).sqrt();
                let tanh = (root * (sum + 0.044_715 * sum.powi(3))).tanh();
                // GELU and its tanh approximation differ by less than 5e-4.
                let (expected, tolerance) = match activation {
                    Activation::Relu => (sum.max(0.0), 0.0),
                    Activation::Silu => (sum / (1.0 + (-sum).exp()), 1e-6),
                    Activation::QuickGelu => (sum / (1.0 + (-1.702 * sum).exp()), 1e-6),
                    Activation::GeluTanh => (0.5 * sum * (1.0 + tanh), 1e-6),
                    Activation::Gelu => (0.5 * sum * (1.0 + tanh), 5e-4),
                    // Its values are compared with burn's elsewhere.
                    other => (f64::from(other.value(sum as f32)), 0.0),
                };
                let error = (f64::from(found) - expected).abs();
                assert!(
                    error <= tolerance * sum.abs().max(1.0),
                    "{found} {expected}"
                );
            }
            assert_eq!(found[to..], vec![7.0; stride - to]);
        }
    }
}

#[test]
fn row_has_same_bits_in_any_batch() {
    let (rows, from, to) = (23, 700, 50);
    let (left, right) = (numbers(rows * from, 1), numbers(from * to, 2));
    let panels = PackedMatrix::new(&right, from, to);
    let mut all = vec![0.0; rows * to];
    panels.product(StridedRows::new(&left, from), None, &mut all, to);
    for (row, expected) in left.chunks(from).zip(all.chunks(to)) {
        let mut alone = vec![0.0; to];
        panels.product(StridedRows::new(row, from), None, &mut alone, to);
        assert_eq!(alone, expected);
    }
}

#[test]
fn packing_by_columns_equals_packing_by_rows() {
    for [_, from, to] in SHAPES {
        let right = numbers(from * to, 2);
        let by_rows = PackedMatrix::new(&right, from, to);
        let mut transposed = vec![0.0; from * to];
        for k in 0..from {
            for column in 0..to {
                transposed[column * from + k] = right[k * to + column];
            }
        }
        let mut by_columns = PackedMatrix::default();
        let column = |at: usize| &transposed[at * from..][..from];
        by_columns.fill_by_columns(from, to, to, column);
        assert_eq!(by_columns.values.values(), by_rows.values.values());
        // A narrower matrix in the buffer of a wider one is padded with zeros.
        by_columns.fill_by_columns(from, to + 9, to - 1, column);
        let mut out = vec![f32::NAN; to + 9];
        let row = StridedRows::new(&right[..from], from);
        by_columns.product(row, None, &mut out, to + 9);
        assert_eq!(out[to - 1..], [0.0; 10]);
    }
}

#[test]
fn products_of_columns_have_the_bits_of_products_of_rows() {
    for [rows, from, to] in SHAPES {
        let (left, right) = (numbers(rows * from, 1), numbers(from * to, 2));
        let packed = PackedMatrix::new(&right, from, to);
        let mut expected = vec![0.0; rows * to];
        packed.product(StridedRows::new(&left, from), None, &mut expected, to);
        // Transposed, with a gap between columns.
        let stride = rows + 5;
        let mut transposed = vec![f32::NAN; from * stride];
        for (row, values) in left.chunks(from).enumerate() {
            for (k, &x) in values.iter().enumerate() {
                transposed[k * stride + row] = x;
            }
        }
        let columns = StridedColumns {
            values: &transposed,
            stride,
            count: rows,
        };
        let mut panels = LeftPanels::default();
        // A larger matrix leaves values in the buffer.
        panels.fill(StridedRows::new(&right, to), 0..to);
        let strided = StridedRows {
            values: &transposed,
            stride,
            count: from,
        };
        panels.fill(strided, 0..rows);
        for left in [LeftMatrix::from(columns), LeftMatrix::from(&panels)] {
            let mut found = vec![f32::NAN; rows * to];
            packed.product_of_columns(left, false, &mut found, to);
            assert_eq!(found, expected, "{rows}x{from}x{to}");
            packed.product_of_columns(left, true, &mut found, to);
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - 2.0 * expected).abs() < 3e-5);
            }
        }
    }
}
