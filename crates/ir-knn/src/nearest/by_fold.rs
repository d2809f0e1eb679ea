//! Rows sorted by their folds, so that whole blocks need not meet.

use std::ops::Range;

use rayon::prelude::*;

use crate::SparseRows;

/// Rows in the order of their folds, and as they come where there are none. A place is a number in
/// this order.
pub(super) struct ByFold<'a> {
    rows: &'a SparseRows,
    /// The row at each place.
    order: Vec<u32>,
    /// The fold of each place; nothing where there are no folds.
    folds: Vec<u32>,
    /// The square of the row at each place.
    squares: Vec<f64>,
}

impl<'a> ByFold<'a> {
    pub(super) fn of(rows: &'a SparseRows, folds: Option<&[u32]>) -> Self {
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        let mut of_places = Vec::new();
        if let Some(folds) = folds {
            let fold = |&row: &u32| folds[row as usize];
            order.sort_by_key(fold);
            of_places = order.iter().map(fold).collect();
        }
        let square = |&row: &u32| {
            let values = rows.parts(row as usize).1;
            values.iter().map(|value| value * value).sum()
        };
        Self {
            squares: order.par_iter().map(square).collect(),
            rows,
            order,
            folds: of_places,
        }
    }

    pub(super) fn dim(&self) -> usize {
        self.rows.dim()
    }

    /// The rows by their places.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    /// The row at a place.
    pub(super) fn row(&self, place: usize) -> usize {
        self.order[place] as usize
    }

    pub(super) fn values(&self, place: usize) -> impl Iterator<Item = (u32, f64)> {
        self.rows.row(self.row(place))
    }

    pub(super) fn columns(&self, place: usize) -> &[u32] {
        self.rows.parts(self.row(place)).0
    }

    pub(super) fn square(&self, place: usize) -> f64 {
        self.squares[place]
    }

    pub(super) fn times(&self, place: usize, vector: &[f64]) -> f64 {
        self.rows.row_times(self.row(place), vector)
    }

    /// The fold of a place, where there are folds.
    pub(super) fn fold(&self, place: usize) -> Option<u32> {
        self.folds.get(place).copied()
    }

    /// The fold of all of these places, where they have one.
    pub(super) fn common_fold(&self, places: &Range<usize>) -> Option<u32> {
        let first = self.fold(places.start)?;
        (self.fold(places.end - 1) == Some(first)).then_some(first)
    }

    /// All places, in pieces of at most this size: small folds together, large ones apart.
    pub(super) fn pieces(&self, size: usize) -> Vec<Range<usize>> {
        let folds: Vec<usize> = match &self.folds[..] {
            [] => vec![self.order.len()],
            folds => folds.chunk_by(|a, b| a == b).map(<[u32]>::len).collect(),
        };
        let mut pieces: Vec<Range<usize>> = Vec::new();
        let mut start = 0;
        for fold in folds {
            let end = start + fold;
            match pieces.last_mut() {
                Some(last) if end - last.start <= size => last.end = end,
                _ => {
                    let count = fold.div_ceil(size);
                    let cut = |part: usize| start + fold * part / count;
                    pieces.extend((0..count).map(|part| cut(part)..cut(part + 1)));
                }
            }
            start = end;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize) -> SparseRows {
        let starts = (0..=count).collect();
        SparseRows::new(1, starts, vec![0; count], vec![2.0; count]).unwrap()
    }

    #[test]
    fn folds_lie_together() {
        let rows = rows(5);
        let sorted = ByFold::of(&rows, Some(&[1, 0, 1, 0, 0]));
        assert_eq!(sorted.order(), [1, 3, 4, 0, 2]);
        assert_eq!((sorted.fold(2), sorted.fold(3)), (Some(0), Some(1)));
        assert_eq!(sorted.common_fold(&(0..3)), Some(0));
        assert_eq!(sorted.common_fold(&(2..4)), None);
        assert_eq!(sorted.square(4), 4.0);
        let unsorted = ByFold::of(&rows, None);
        assert_eq!(unsorted.order(), [0, 1, 2, 3, 4]);
        assert_eq!(unsorted.common_fold(&(0..5)), None);
    }

    #[test]
    fn pieces_hold_every_place_once() {
        let pieces = |folds: Option<&[u32]>, count, size| {
            let rows = rows(count);
            ByFold::of(&rows, folds).pieces(size)
        };
        assert_eq!(pieces(None, 10, 4), [0..3, 3..6, 6..10]);
        assert_eq!(pieces(None, 8, 4), [0..4, 4..8]);
        assert_eq!(pieces(None, 0, 4), []);
        // Folds of 1, 2, 2, 6 and 1 rows.
        let folds = [0, 1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 4];
        assert_eq!(pieces(Some(&folds), 12, 4), [0..3, 3..5, 5..8, 8..12]);
        assert_eq!(pieces(Some(&folds), 12, 11), [0..11, 11..12]);
        assert_eq!(pieces(Some(&folds), 12, 1).len(), 12);
    }
}
