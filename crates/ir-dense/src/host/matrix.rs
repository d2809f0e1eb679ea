//! Products of matrices, the right one laid out beforehand.
//!
//! Every element of a product is summed over the inner dimension in its order, one fused
//! multiplication and addition after another, `DEEP` of them at a time. So its bits depend on its
//! row and its column alone: not on how many rows there are, on threads, or on the width of the
//! processor's vectors. A processor without fused operations rounds twice.

use pulp::{Arch, Simd, WithSimd};

/// Rows of the left matrix that are computed together.
const ROWS: usize = 6;
/// Vectors of the right matrix that are computed together. With [`ROWS`], the sums take 12 of the
/// 16 registers that processors with AVX2 have.
const ACROSS: usize = 2;
/// Rows of the right matrix that are computed together: of [`ACROSS`] vectors they fit the nearest
/// cache.
const DEEP: usize = 384;

/// A right matrix, in panels as wide as the processor takes at once, so that it is read from the
/// first number to the last. The last panel is filled up with zeros.
#[derive(Debug, Clone, Default)]
pub(crate) struct Panels {
    from: usize,
    to: usize,
    width: usize,
    values: Vec<f32>,
}

impl Panels {
    /// Of a matrix `[from, to]`, row by row.
    pub(crate) fn new(matrix: &[f32], from: usize, to: usize) -> Self {
        let mut panels = Self::default();
        panels.fill(from, to, |row, columns, out| {
            out.copy_from_slice(&matrix[row * to..][columns]);
        });
        panels
    }

    /// Takes another matrix `[from, to]`. `row` writes some columns of one of its rows.
    pub(crate) fn fill(
        &mut self,
        from: usize,
        to: usize,
        row: impl Fn(usize, std::ops::Range<usize>, &mut [f32]),
    ) {
        self.shape(from, to, width());
        for (panel, first) in (0..to).step_by(self.width).enumerate() {
            let columns = first..(first + self.width).min(to);
            for k in 0..from {
                let at = self.at(panel, k);
                row(k, columns.clone(), &mut self.values[at..][..columns.len()]);
            }
        }
    }

    /// Takes another matrix `[from, to]`. `column` gives one of its first `count` columns; what
    /// is behind them is zero.
    pub(crate) fn fill_by_columns<'a>(
        &mut self,
        from: usize,
        to: usize,
        count: usize,
        column: impl Fn(usize) -> &'a [f32],
    ) {
        self.shape(from, to, width());
        for first in (0..from).step_by(DEEP) {
            for at in 0..count {
                let values = &column(at)[first..from.min(first + DEEP)];
                let at = self.at(at / self.width, first) + at % self.width;
                let places = self.values[at..].iter_mut().step_by(self.width);
                for (place, &value) in places.zip(values) {
                    *place = value;
                }
            }
        }
    }

    /// The width rounded up to whole panels.
    pub(crate) fn padded(to: usize) -> usize {
        to.next_multiple_of(width())
    }

    fn shape(&mut self, from: usize, to: usize, width: usize) {
        self.values.clear();
        self.values.resize(from * to.next_multiple_of(width), 0.0);
        (self.from, self.to, self.width) = (from, to, width);
    }

    /// Where row `k` of a panel begins.
    fn at(&self, panel: usize, k: usize) -> usize {
        let panels = self.to.div_ceil(self.width);
        let first = k - k % DEEP;
        let deep = DEEP.min(self.from - first);
        (first * panels + panel * deep + k % DEEP) * self.width
    }

    /// The product with a left matrix, plus `bias`, where there is one.
    ///
    /// # Shapes
    /// `left`: rows of `from` numbers, `left.stride` apart; `bias`: `[to]`; `out`: as many
    /// rows of `to` numbers, `out_stride` apart.
    pub(crate) fn product(
        &self,
        left: Rows<'_>,
        bias: Option<&[f32]>,
        out: &mut [f32],
        out_stride: usize,
    ) {
        Arch::new().dispatch(Product {
            left,
            right: self,
            bias,
            out,
            out_stride,
        });
    }
}

/// Numbers that one [`Panels`] has side by side.
fn width() -> usize {
    struct Width;
    impl WithSimd for Width {
        type Output = usize;
        fn with_simd<S: Simd>(self, _: S) -> usize {
            S::F32_LANES * ACROSS
        }
    }
    Arch::new().dispatch(Width)
}

/// A left matrix: rows within a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) count: usize,
}

impl<'a> Rows<'a> {
    /// Rows one after another.
    pub(crate) fn of(values: &'a [f32], width: usize) -> Self {
        let count = values.len() / width.max(1);
        Self {
            values,
            stride: width,
            count,
        }
    }
}

struct Product<'a> {
    left: Rows<'a>,
    right: &'a Panels,
    bias: Option<&'a [f32]>,
    out: &'a mut [f32],
    out_stride: usize,
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Panels {
            from, to, width, ..
        } = *self.right;
        let mut panels = &self.right.values[..];
        // A panel stays in the nearest cache while all rows pass by.
        for first in (0..from).step_by(DEEP) {
            let deep = DEEP.min(from - first);
            for column in (0..to).step_by(width) {
                let (panel, rest) = panels.split_at(deep * width);
                panels = rest;
                let columns = width.min(to - column);
                let bias = match self.bias {
                    Some(bias) if first == 0 => &bias[column..column + columns],
                    _ => &[],
                };
                for row in (0..self.left.count).step_by(ROWS) {
                    let tile = Tile {
                        simd,
                        left: &self.left.values[row * self.left.stride + first..],
                        left_stride: self.left.stride,
                        deep,
                        panel,
                        bias,
                        add: first > 0,
                        columns,
                    };
                    let out = &mut self.out[row * self.out_stride + column..];
                    match self.left.count - row {
                        1 => tile.compute::<1>(out, self.out_stride),
                        2 => tile.compute::<2>(out, self.out_stride),
                        3 => tile.compute::<3>(out, self.out_stride),
                        4 => tile.compute::<4>(out, self.out_stride),
                        5 => tile.compute::<5>(out, self.out_stride),
                        _ => tile.compute::<ROWS>(out, self.out_stride),
                    }
                }
            }
        }
    }
}

/// Some rows times a panel.
struct Tile<'a, S> {
    simd: S,
    left: &'a [f32],
    left_stride: usize,
    deep: usize,
    panel: &'a [f32],
    bias: &'a [f32],
    /// Whether the sums are added to what is there.
    add: bool,
    columns: usize,
}

impl<S: Simd> Tile<'_, S> {
    #[inline(always)]
    fn compute<const N: usize>(self, out: &mut [f32], out_stride: usize) {
        let simd = self.simd;
        let rows: [&[f32]; N] =
            std::array::from_fn(|row| &self.left[row * self.left_stride..][..self.deep]);
        let (panel, _) = S::as_simd_f32s(self.panel).0.as_chunks::<ACROSS>();
        let panel = &panel[..self.deep];
        let mut sums = [[simd.splat_f32s(0.0); ACROSS]; N];
        for k in 0..self.deep {
            for (sums, row) in sums.iter_mut().zip(rows) {
                let x = simd.splat_f32s(row[k]);
                for (sum, &right) in sums.iter_mut().zip(&panel[k]) {
                    *sum = simd.mul_add_e_f32s(x, right, *sum);
                }
            }
        }
        for (row, sums) in sums.into_iter().enumerate() {
            let out = &mut out[row * out_stride..][..self.columns];
            let (whole, rest) = S::as_mut_simd_f32s(out);
            if whole.len() < ACROSS || !rest.is_empty() {
                ragged::<S>(sums, self.bias, self.add, out);
                continue;
            }
            let bias = S::as_simd_f32s(self.bias).0;
            for (at, (place, sum)) in whole.iter_mut().zip(sums).enumerate() {
                *place = match (self.add, bias.get(at)) {
                    (true, _) => simd.add_f32s(*place, sum),
                    (false, Some(&bias)) => simd.add_f32s(bias, sum),
                    (false, None) => sum,
                };
            }
        }
    }
}

/// Writes part of the sums, one at a time.
#[inline(never)]
fn ragged<S: Simd>(sums: [S::f32s; ACROSS], bias: &[f32], add: bool, out: &mut [f32]) {
    let sums: &[f32] = pulp::bytemuck::cast_slice(&sums);
    for (at, (place, &sum)) in out.iter_mut().zip(sums).enumerate() {
        *place = match (add, bias.get(at)) {
            (true, _) => *place + sum,
            (false, Some(bias)) => bias + sum,
            (false, None) => sum,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        let number = |n: usize| ((n * 7919 + seed * 104_729) % 2003) as f32 / 1001.5 - 1.0;
        (0..count).map(number).collect()
    }

    /// In 64 bits, element by element.
    fn slow(left: &[f32], right: &[f32], bias: &[f32], from: usize, to: usize) -> Vec<f64> {
        let rows = left.chunks(from);
        let row = |row: &[f32]| -> Vec<f64> {
            let of = |column: usize| {
                let terms = row.iter().zip(right.iter().skip(column).step_by(to));
                let sum: f64 = terms.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                sum + bias.get(column).map_or(0.0, |&bias| f64::from(bias))
            };
            (0..to).map(of).collect()
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
    fn products_are_those_of_the_definition() {
        for [rows, from, to] in SHAPES {
            let (left, right) = (numbers(rows * from, 1), numbers(from * to, 2));
            let bias = numbers(to, 3);
            let panels = Panels::new(&right, from, to);
            for bias in [None, Some(&bias[..])] {
                let expected = slow(&left, &right, bias.unwrap_or_default(), from, to);
                let mut out = vec![f32::NAN; rows * to];
                panels.product(Rows::of(&left, from), bias, &mut out, to);
                for (found, expected) in out.iter().zip(&expected) {
                    let error = (f64::from(*found) - expected).abs();
                    assert!(error < 3e-5, "{rows}x{from}x{to}: {found}, {expected}");
                }
                // Into rows that are apart: nothing between them is touched.
                let mut wide = vec![7.0; rows * (to + 5)];
                panels.product(Rows::of(&left, from), bias, &mut wide, to + 5);
                for (wide, narrow) in wide.chunks(to + 5).zip(out.chunks(to)) {
                    assert_eq!(&wide[..to], narrow, "{rows}x{from}x{to}");
                    assert_eq!(wide[to..], [7.0; 5]);
                }
            }
        }
    }

    #[test]
    fn without_vectors_too() {
        for [rows, from, to] in SHAPES {
            let (left, right) = (numbers(rows * from, 1), numbers(from * to, 2));
            let bias = numbers(to, 3);
            let mut panels = Panels::default();
            panels.shape(from, to, ACROSS);
            for k in 0..from {
                for column in 0..to {
                    let at = panels.at(column / ACROSS, k) + column % ACROSS;
                    panels.values[at] = right[k * to + column];
                }
            }
            let mut out = vec![f32::NAN; rows * to];
            let product = Product {
                left: Rows::of(&left, from),
                right: &panels,
                bias: Some(&bias),
                out: &mut out,
                out_stride: to,
            };
            product.with_simd(pulp::Scalar);
            let expected = slow(&left, &right, &bias, from, to);
            for (found, expected) in out.iter().zip(&expected) {
                let error = (f64::from(*found) - expected).abs();
                assert!(error < 3e-5, "{rows}x{from}x{to}: {found}, {expected}");
            }
        }
    }

    #[test]
    fn a_row_has_the_same_bits_alone_and_among_others() {
        let (rows, from, to) = (23, 700, 50);
        let (left, right) = (numbers(rows * from, 1), numbers(from * to, 2));
        let panels = Panels::new(&right, from, to);
        let mut all = vec![0.0; rows * to];
        panels.product(Rows::of(&left, from), None, &mut all, to);
        for (row, expected) in left.chunks(from).zip(all.chunks(to)) {
            let mut alone = vec![0.0; to];
            panels.product(Rows::of(row, from), None, &mut alone, to);
            assert_eq!(alone, expected);
        }
    }

    #[test]
    fn by_columns_as_by_rows() {
        for [_, from, to] in SHAPES {
            let right = numbers(from * to, 2);
            let by_rows = Panels::new(&right, from, to);
            let mut transposed = vec![0.0; from * to];
            for k in 0..from {
                for column in 0..to {
                    transposed[column * from + k] = right[k * to + column];
                }
            }
            let mut by_columns = Panels::default();
            let column = |at: usize| &transposed[at * from..][..from];
            by_columns.fill_by_columns(from, to, to, column);
            assert_eq!(by_columns.values, by_rows.values);
            // A narrower matrix after a wider one, filled up with zeros.
            by_columns.fill_by_columns(from, to + 9, to - 1, column);
            let mut out = vec![f32::NAN; to + 9];
            let row = Rows::of(&right[..from], from);
            by_columns.product(row, None, &mut out, to + 9);
            assert_eq!(out[to - 1..], [0.0; 10]);
        }
    }
}
