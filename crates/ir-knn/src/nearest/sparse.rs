//! Sparse rows: bounds for all products first, in 32 bits, and the products of the few rows whose
//! bound may beat what is kept.
//!
//! Of a product, the part over the columns that few rows have is added up list by list; the part
//! over the frequent columns is at most the product of two lengths (Cauchy and Schwarz), and is only
//! multiplied out where that leaves a row in doubt. What is still in doubt then, beside the k nearest
//! few, is computed in 64 bits, column by column.

use rayon::prelude::*;

use super::inverted::{Block, Inverted, MOST, Probe, TOGETHER};
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
        unit: f64,
        distance: impl Fn(f64, f64, f64) -> f64 + Sync,
    ) -> Vec<Vec<Neighbour>> {
        let largest = |rows: &Self| rows.values().iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let search = Search {
            train,
            test,
            k,
            folds,
            unit,
            distance,
            squares: (0..train.len()).map(|row| square(train, row)).collect(),
            inverted: Inverted::of(train, largest(train).max(largest(test))),
        };
        (0..test.len().div_ceil(ROWS))
            .into_par_iter()
            .map_init(
                || Scratch::new(train.dim()),
                |scratch, group| {
                    let rows = group * ROWS..test.len().min((group + 1) * ROWS);
                    search.group(rows, scratch)
                },
            )
            .flatten_iter()
            .collect()
    }
}

/// Rows that are searched for at once: the lists of a block stay in the cache meanwhile.
const ROWS: usize = 8;
/// The most blocks whose bounds are held at once.
const BLOCKS: usize = 16;

struct Search<'a, D> {
    train: &'a SparseRows,
    test: &'a SparseRows,
    k: usize,
    folds: Option<Folds<'a>>,
    /// What a distance of 1 is as a square of the Euclidean distance.
    unit: f64,
    distance: D,
    squares: Vec<f64>,
    inverted: Inverted,
}

/// What a thread writes to.
struct Scratch {
    sums: Box<[f32; MOST]>,
    /// The row that is searched for, with its zeros.
    dense: Vec<f64>,
}

impl Scratch {
    fn new(dim: usize) -> Self {
        Self {
            sums: Box::new([0.0; MOST]),
            dense: vec![0.0; dim],
        }
    }
}

/// A row that is searched for, and what is found so far.
struct Sought {
    row: usize,
    probe: Probe,
    square: f64,
    /// How far rounding may lead the bounds astray, generously.
    margin: f64,
    best: Best,
    bounds: Vec<f32>,
    /// The greatest of each [`TOGETHER`].
    greatest: Vec<f32>,
}

impl<D: Fn(f64, f64, f64) -> f64 + Sync> Search<'_, D> {
    fn group(&self, rows: std::ops::Range<usize>, scratch: &mut Scratch) -> Vec<Vec<Neighbour>> {
        let mut sought: Vec<Sought> = rows.map(|row| self.sought(row)).collect();
        for blocks in self.inverted.blocks.chunks(BLOCKS) {
            for sought in &mut sought {
                sought.bounds.clear();
                sought.greatest.clear();
            }
            for block in blocks {
                for sought in &mut sought {
                    block.bounds(
                        &sought.probe,
                        &mut scratch.sums,
                        &mut sought.bounds,
                        &mut sought.greatest,
                    );
                }
            }
            for sought in &mut sought {
                for (column, value) in self.test.row(sought.row) {
                    scratch.dense[column as usize] = value;
                }
                self.finish(blocks, sought, &scratch.dense);
                for &column in self.test.parts(sought.row).0 {
                    scratch.dense[column as usize] = 0.0;
                }
            }
        }
        sought.into_iter().map(|sought| sought.best.kept).collect()
    }

    fn sought(&self, row: usize) -> Sought {
        let square = square(self.test, row);
        let longest = self.inverted.longest;
        let scale = self.inverted.scale;
        let length = square.sqrt() * scale;
        let terms = (self.test.parts(row).0.len() + 16) as f64;
        let narrow = f64::from(f32::EPSILON) * (length * longest + longest * longest);
        let wide = f64::EPSILON * length * length;
        Sought {
            row,
            probe: self.inverted.probe(self.test.row(row)),
            square,
            margin: terms * (narrow + wide) + 1e-30,
            best: Best::new(self.k),
            bounds: Vec::new(),
            greatest: Vec::new(),
        }
    }

    /// The product less half the square of the other row has to be greater than this.
    fn threshold(&self, sought: &Sought) -> f32 {
        let scale = self.inverted.scale;
        let half = (sought.square - self.unit * sought.best.worst) / 2.0;
        (half * scale * scale - sought.margin) as f32
    }

    /// Offers the rows of some blocks that may be among the best, by their bounds.
    fn finish(&self, blocks: &[Block], sought: &mut Sought, dense: &[f64]) {
        let Some(start) = blocks.first().map(|block| block.rows.start) else {
            return;
        };
        if sought.best.worst == f64::INFINITY {
            self.begin(start, sought, dense);
        }
        let mut least = self.threshold(sought);
        for group in 0..sought.greatest.len() {
            if sought.greatest[group] <= least {
                continue;
            }
            let block = &blocks[group * TOGETHER / blocks[0].rows.len()];
            for place in group * TOGETHER..sought.bounds.len().min((group + 1) * TOGETHER) {
                if sought.bounds[place] > least {
                    let at = start + place - block.rows.start;
                    if sought.bounds[place] - block.slack(&sought.probe, at) > least {
                        self.offer(start + place, sought, dense);
                        least = self.threshold(sought);
                    }
                }
            }
        }
    }

    /// Offers rows by their bounds, the greatest first, until there are k.
    fn begin(&self, start: usize, sought: &mut Sought, dense: &[f64]) {
        let greatest = &sought.greatest;
        let mut groups: Vec<usize> = (0..greatest.len()).collect();
        let order = |&a: &usize, &b: &usize| greatest[b].total_cmp(&greatest[a]).then(a.cmp(&b));
        // Some may be of the same fold.
        let first = groups.len().min(2 * self.k);
        if first < groups.len() {
            groups.select_nth_unstable_by(first, order);
        }
        groups[..first].sort_unstable_by(order);
        for group in groups {
            if sought.best.worst < f64::INFINITY {
                break;
            }
            let greatest = sought.greatest[group];
            let bounds = &sought.bounds[group * TOGETHER..];
            if let Some(place) = bounds.iter().position(|&bound| bound == greatest) {
                let place = group * TOGETHER + place;
                self.offer(start + place, sought, dense);
                // Not to be offered again.
                sought.bounds[place] = f32::NEG_INFINITY;
            }
        }
    }

    fn offer(&self, other: usize, sought: &mut Sought, dense: &[f64]) {
        if let Some(folds) = self.folds
            && folds.train[other] == folds.test[sought.row]
        {
            return;
        }
        let product = self.train.row_times(other, dense);
        let distance = (self.distance)(product, sought.square, self.squares[other]);
        sought.best.offer(other, distance);
    }
}

fn square(rows: &SparseRows, row: usize) -> f64 {
    rows.parts(row).1.iter().map(|value| value * value).sum()
}
