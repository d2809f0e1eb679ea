//! Left matrices of products.

use std::ops::Range;

use super::{AlignedBuffer, TILE_ROWS};

/// Rows at a fixed stride in a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StridedRows<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) count: usize,
}

impl<'a> StridedRows<'a> {
    /// Rows of `width` elements without gaps.
    pub(crate) fn new(values: &'a [f32], width: usize) -> Self {
        let count = values.len() / width.max(1);
        Self {
            values,
            stride: width,
            count,
        }
    }
}

/// Left matrix that is stored by columns at a fixed stride: element k of row r is
/// `values[k * stride + r]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StridedColumns<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stride: usize,
    /// Number of rows of the left matrix.
    pub(crate) count: usize,
}

/// Left matrix packed by columns in panels of [`TILE_ROWS`] rows, so that a product reads it
/// sequentially. The last panel is padded with zeros.
#[derive(Debug, Default)]
pub(crate) struct LeftPanels {
    depth: usize,
    count: usize,
    values: AlignedBuffer,
}

impl LeftPanels {
    /// Replaces the matrix by the transpose of columns of `rows`.
    pub(crate) fn fill(&mut self, rows: StridedRows<'_>, columns: Range<usize>) {
        (self.depth, self.count) = (rows.count, columns.len());
        let panel = self.depth * TILE_ROWS;
        self.values
            .resize_stale(panel * self.count.div_ceil(TILE_ROWS));
        let out = self.values.values_mut();
        for k in 0..self.depth {
            let row = &rows.values[k * rows.stride..][columns.clone()];
            let (whole, rest) = row.as_chunks::<TILE_ROWS>();
            let mut cells = out[k * TILE_ROWS..].chunks_mut(panel);
            for (values, cells) in whole.iter().zip(&mut cells) {
                cells[..TILE_ROWS].copy_from_slice(values);
            }
            if let (false, Some(cells)) = (rest.is_empty(), cells.next()) {
                cells[..rest.len()].copy_from_slice(rest);
                cells[rest.len()..TILE_ROWS].fill(0.0);
            }
        }
    }
}

/// Left matrix of a product.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeftMatrix<'a> {
    values: &'a [f32],
    /// Distance of rows or, by columns, of columns.
    pub(super) stride: usize,
    pub(super) count: usize,
    pub(super) by_columns: bool,
    /// Distance of panels of [`TILE_ROWS`] rows; `None` if all rows have one stride.
    panel: Option<usize>,
}

impl<'a> LeftMatrix<'a> {
    /// Elements from one row and one element of the inner dimension on.
    #[inline(always)]
    pub(super) fn tile(&self, row: usize, first: usize) -> &'a [f32] {
        let start = match (self.by_columns, self.panel) {
            (false, _) => row * self.stride + first,
            (true, None) => first * self.stride + row,
            (true, Some(panel)) => row / TILE_ROWS * panel + first * self.stride + row % TILE_ROWS,
        };
        &self.values[start..]
    }
}

impl<'a> From<StridedRows<'a>> for LeftMatrix<'a> {
    fn from(rows: StridedRows<'a>) -> Self {
        Self {
            values: rows.values,
            stride: rows.stride,
            count: rows.count,
            by_columns: false,
            panel: None,
        }
    }
}

impl<'a> From<StridedColumns<'a>> for LeftMatrix<'a> {
    fn from(columns: StridedColumns<'a>) -> Self {
        Self {
            values: columns.values,
            stride: columns.stride,
            count: columns.count,
            by_columns: true,
            panel: None,
        }
    }
}

impl<'a> From<&'a LeftPanels> for LeftMatrix<'a> {
    fn from(panels: &'a LeftPanels) -> Self {
        Self {
            values: panels.values.values(),
            stride: TILE_ROWS,
            count: panels.count,
            by_columns: true,
            panel: Some(panels.depth * TILE_ROWS),
        }
    }
}
