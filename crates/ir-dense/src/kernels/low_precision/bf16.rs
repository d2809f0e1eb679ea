//! bf16 matrices that are packed for one product: keys and values of attention.

use pulp::{Arch, Simd, WithSimd};

use super::rows::pack_pairs;
use super::{LowPrecision, LowPrecisionMatrix, LowPrecisionRows};
use crate::kernels::matrix::StridedRows;
use crate::kernels::microkernels::PANEL_COLUMNS;

impl LowPrecisionMatrix {
    /// Replaces the matrix by one in bf16. Its columns are the rows of `columns`, of `from`
    /// elements.
    pub(crate) fn fill_columns(
        &mut self,
        from: usize,
        columns: StridedRows<'_>,
        scratch: &mut LowPrecisionRows,
    ) {
        self.resize(from, columns.count);
        scratch.round(LowPrecision::Bf16, columns, from);
        let depth = self.depth;
        let panels = self
            .words
            .values_mut()
            .chunks_exact_mut((depth * PANEL_COLUMNS).max(1));
        let columns = scratch
            .words
            .values()
            .chunks(scratch.stride * PANEL_COLUMNS);
        for (panel, columns) in panels.zip(columns) {
            for (lane, column) in columns.chunks_exact(scratch.stride).enumerate() {
                let cells = panel[lane..].iter_mut().step_by(PANEL_COLUMNS);
                for (cell, &word) in cells.zip(&column[..depth]) {
                    *cell = word;
                }
            }
        }
    }

    /// Replaces the matrix by one in bf16 with the rows of `rows`, of `to` elements.
    pub(crate) fn fill_rows(&mut self, rows: StridedRows<'_>, to: usize) {
        self.resize(rows.count, to);
        Arch::new().dispatch(PackRows {
            rows,
            to,
            out: self,
        });
    }

    /// Sets the shape and zeros all words, so that incomplete panels and words are padded.
    fn resize(&mut self, from: usize, to: usize) {
        (self.from, self.to) = (from, to);
        self.depth = from.div_ceil(LowPrecision::Bf16.per_word());
        let words = self.depth * to.next_multiple_of(PANEL_COLUMNS);
        self.words.fill_with_zeros(words);
    }
}

struct PackRows<'a> {
    rows: StridedRows<'a>,
    to: usize,
    out: &'a mut LowPrecisionMatrix,
}

impl WithSimd for PackRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (depth, stride) = (self.out.depth, self.rows.stride);
        let (words, _) = self.out.words.values_mut().as_chunks_mut::<PANEL_COLUMNS>();
        let row = |row: usize, first: usize, columns: usize| {
            &self.rows.values[row * stride + first..][..columns]
        };
        for (panel, words) in words.chunks_exact_mut(depth.max(1)).enumerate() {
            let first = panel * PANEL_COLUMNS;
            let columns = PANEL_COLUMNS.min(self.to - first);
            for (at, words) in words.iter_mut().enumerate() {
                let lower = row(2 * at, first, columns);
                let upper = match 2 * at + 1 {
                    next if next < self.rows.count => row(next, first, columns),
                    _ => &[0.0; PANEL_COLUMNS][..columns],
                };
                match (
                    <&[f32; PANEL_COLUMNS]>::try_from(lower),
                    <&[f32; PANEL_COLUMNS]>::try_from(upper),
                ) {
                    // A constant number of columns is vectorized without a remainder.
                    (Ok(lower), Ok(upper)) => pack_pairs(lower, upper, words),
                    _ => pack_pairs(lower, upper, words),
                }
            }
        }
    }
}
