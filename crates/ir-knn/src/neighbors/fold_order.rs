//! Rows in the order of their folds, so that blocks of one fold need not be compared.

use std::ops::Range;

use rayon::prelude::*;

use crate::matrix::CsrMatrix;

/// Rows of a sparse matrix sorted by fold; in their own order without folds. A position is an index
/// into this order.
pub(super) struct FoldOrder<'a> {
    pub(super) rows: &'a CsrMatrix,
    /// Row at each position.
    pub(super) order: Vec<u32>,
    /// Fold at each position; empty without folds.
    folds: Vec<u32>,
    /// Squared length of the row at each position.
    pub(super) squares: Vec<f64>,
}

impl<'a> FoldOrder<'a> {
    pub(super) fn new(rows: &'a CsrMatrix, folds: Option<&[u32]>) -> Self {
        let mut order: Vec<u32> = (0..rows.nrows() as u32).collect();
        let mut folds_in_order = Vec::new();
        if let Some(folds) = folds {
            let fold = |&row: &u32| folds[row as usize];
            order.sort_by_key(fold);
            folds_in_order = order.iter().map(fold).collect();
        }
        let square = |&row: &u32| {
            let values = rows.row_slices(row as usize).1;
            values.iter().map(|value| value * value).sum()
        };
        Self {
            squares: order.par_iter().map(square).collect(),
            rows,
            order,
            folds: folds_in_order,
        }
    }

    /// Row at a position.
    pub(super) fn row(&self, position: usize) -> usize {
        self.order[position] as usize
    }

    pub(super) fn values(&self, position: usize) -> impl Iterator<Item = (u32, f64)> {
        self.rows.row(self.row(position))
    }

    pub(super) fn columns(&self, position: usize) -> &[u32] {
        self.rows.row_slices(self.row(position)).0
    }

    pub(super) fn dot(&self, position: usize, vector: &[f64]) -> f64 {
        self.rows.row_dot(self.row(position), vector)
    }

    /// Fold at a position; `None` without folds.
    pub(super) fn fold(&self, position: usize) -> Option<u32> {
        self.folds.get(position).copied()
    }

    /// Fold of all of these positions, if they have the same.
    pub(super) fn common_fold(&self, positions: &Range<usize>) -> Option<u32> {
        let first = self.fold(positions.start)?;
        (self.fold(positions.end - 1) == Some(first)).then_some(first)
    }

    /// Partitions all positions into ranges of at most `size`: small folds share one, large folds
    /// are split.
    pub(super) fn blocks(&self, size: usize) -> Vec<Range<usize>> {
        let folds: Vec<usize> = match &self.folds[..] {
            [] => vec![self.order.len()],
            folds => folds.chunk_by(|a, b| a == b).map(<[u32]>::len).collect(),
        };
        let mut blocks: Vec<Range<usize>> = Vec::new();
        let mut start = 0;
        for fold in folds {
            let end = start + fold;
            match blocks.last_mut() {
                Some(last) if end - last.start <= size => last.end = end,
                _ => {
                    let count = fold.div_ceil(size);
                    let split = |block: usize| start + fold * block / count;
                    blocks.extend((0..count).map(|block| split(block)..split(block + 1)));
                }
            }
            start = end;
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize) -> CsrMatrix {
        let starts = (0..=count).collect();
        CsrMatrix::new(1, starts, vec![0; count], vec![2.0; count]).unwrap()
    }

    #[test]
    fn rows_are_sorted_by_fold() {
        let rows = rows(5);
        let sorted = FoldOrder::new(&rows, Some(&[1, 0, 1, 0, 0]));
        assert_eq!(sorted.order, [1, 3, 4, 0, 2]);
        assert_eq!((sorted.fold(2), sorted.fold(3)), (Some(0), Some(1)));
        assert_eq!(sorted.common_fold(&(0..3)), Some(0));
        assert_eq!(sorted.common_fold(&(2..4)), None);
        assert_eq!(sorted.squares[4], 4.0);
        let unsorted = FoldOrder::new(&rows, None);
        assert_eq!(unsorted.order, [0, 1, 2, 3, 4]);
        assert_eq!(unsorted.common_fold(&(0..5)), None);
    }

    #[test]
    fn blocks_contain_every_position_once() {
        let blocks = |folds: Option<&[u32]>, count, size| {
            let rows = rows(count);
            FoldOrder::new(&rows, folds).blocks(size)
        };
        assert_eq!(blocks(None, 10, 4), [0..3, 3..6, 6..10]);
        assert_eq!(blocks(None, 8, 4), [0..4, 4..8]);
        assert_eq!(blocks(None, 0, 4), []);
        // Folds of 1, 2, 2, 6 and 1 rows.
        let folds = [0, 1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 4];
        assert_eq!(blocks(Some(&folds), 12, 4), [0..3, 3..5, 5..8, 8..12]);
        assert_eq!(blocks(Some(&folds), 12, 11), [0..11, 11..12]);
        assert_eq!(blocks(Some(&folds), 12, 1).len(), 12);
    }
}
