//! Sparse rows: products column by column, through lists of the rows that have a column; those of
//! the few columns that most rows have, all at once.

use std::ops::Range;

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::{Best, Folds, Neighbour, Side};
use crate::SparseRows;

impl Side for SparseRows {
    fn normalize(&mut self) {
        SparseRows::normalize(self);
    }

    fn search(
        train: &Self,
        test: &Self,
        k: usize,
        folds: Option<Folds<'_>>,
        distance: impl Fn(f64, f64, f64) -> f64 + Sync,
    ) -> Vec<Vec<Neighbour>> {
        rows(train, test, k, folds, distance)
    }
}

/// A column that this part of all rows has is multiplied like a dense one: reading its zeros is
/// cheaper than jumping over them.
const FREQUENT: usize = 4;
/// Most rows that are searched for at once, and most products that are held for them.
const ROWS: usize = 32;
const PRODUCTS: usize = 1 << 20;

fn rows(
    train: &SparseRows,
    test: &SparseRows,
    k: usize,
    folds: Option<Folds<'_>>,
    distance: impl Fn(f64, f64, f64) -> f64 + Sync,
) -> Vec<Vec<Neighbour>> {
    let lists = train.transposed();
    let squares: Vec<f64> = (0..train.len()).map(|row| square(train, row)).collect();
    let frequent = Frequent::of(&lists);
    let rows = (PRODUCTS / train.len().max(1)).clamp(1, ROWS);
    let search = |block: usize| {
        let tested = block * rows..test.len().min((block + 1) * rows);
        let first = tested.start;
        let mut products = frequent.products(test, tested.clone());
        let found = tested.map(|row| {
            let mut products = products.column_mut(row - first);
            let products = products.as_mut_slice();
            for (column, value) in test.row(row) {
                if frequent.place(column).is_some() {
                    continue;
                }
                let (others, values) = lists.parts(column as usize);
                for (&other, &weight) in others.iter().zip(values) {
                    products[other as usize] += value * weight;
                }
            }
            let own = square(test, row);
            let fold = folds.map(|folds| folds.test[row]);
            let mut best = Best::new(k);
            for (other, (&product, &square)) in products.iter().zip(&squares).enumerate() {
                let distance = distance(product, own, square);
                if distance < best.worst
                    && folds.is_none_or(|folds| Some(folds.train[other]) != fold)
                {
                    best.offer(other, distance);
                }
            }
            best.kept
        });
        found.collect::<Vec<_>>()
    };
    (0..test.len().div_ceil(rows))
        .into_par_iter()
        .flat_map_iter(search)
        .collect()
}

/// The columns that many rows have.
struct Frequent {
    /// The place of each column among them.
    places: Vec<Option<u32>>,
    /// `[rows, columns]`
    values: DMatrix<f64>,
}

impl Frequent {
    fn of(lists: &SparseRows) -> Self {
        let mut places = vec![None; lists.len()];
        let mut values = Vec::new();
        let mut count = 0;
        for (column, place) in places.iter_mut().enumerate() {
            let (rows, weights) = lists.parts(column);
            if rows.is_empty() || rows.len() * FREQUENT < lists.dim() {
                continue;
            }
            *place = Some(count);
            count += 1;
            let start = values.len();
            values.resize(start + lists.dim(), 0.0);
            for (&row, &weight) in rows.iter().zip(weights) {
                values[start + row as usize] = weight;
            }
        }
        let values = DMatrix::from_vec(lists.dim(), count as usize, values);
        Self { places, values }
    }

    fn place(&self, column: u32) -> Option<u32> {
        self.places[column as usize]
    }

    /// The products over these columns of every row with some rows of `test`, one column each.
    fn products(&self, test: &SparseRows, rows: Range<usize>) -> DMatrix<f64> {
        let mut tested = DMatrix::zeros(self.values.ncols(), rows.len());
        for (row, mut values) in rows.zip(tested.column_iter_mut()) {
            for (column, value) in test.row(row) {
                if let Some(place) = self.place(column) {
                    values[place as usize] = value;
                }
            }
        }
        &self.values * &tested
    }
}

fn square(rows: &SparseRows, row: usize) -> f64 {
    rows.parts(row).1.iter().map(|value| value * value).sum()
}
