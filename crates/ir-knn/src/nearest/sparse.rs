//! Sparse rows: bounds for all products first, in 32 bits, and the products of the few rows whose
//! bound may beat what is kept.
//!
//! Of a product, the part over the columns that few rows have is added up list by list. The part
//! over the frequent columns is bounded as in [`crate::flat`]'s tiles: for rows x = s c + r and
//! y = t d + q, of steps s and t and codes c and d of 8 bits,
//!
//! ⟨x, y⟩ = s t ⟨c, d⟩ + ⟨s c, q⟩ + ⟨r, y⟩ ≤ s t ⟨c, d⟩ + (‖x‖ + ‖r‖) ‖q‖ + ‖r‖ ‖y‖.
//!
//! Rows that are compared among themselves meet once, and the bound serves both. A row waits while
//! its bound reaches what k others have at least; the few that are left in the end are computed in 64
//! bits, column by column, those with the greatest bounds first, until none left can get in.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::block::{Block, Known, MOST, Plan, margin};
use super::{Best, Folds, Neighbour, Side};
use crate::SparseRows;
use crate::flat::simd::{Cpu, QUERIES, ROWS as TILE};

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
        let plan = Plan::of(train, largest(train).max(largest(test)));
        let squares = |rows: &Self| (0..rows.len()).map(|row| square(rows, row)).collect();
        let same = std::ptr::eq(train, test);
        let search = Search {
            cpu: Cpu::detect(),
            train,
            test,
            folds,
            unit,
            distance,
            scale: plan.scale,
            train_squares: squares(train),
            test_squares: squares(test),
            waiting: k.saturating_mul(2).saturating_add(64),
            found: (0..test.len()).map(|_| Mutex::new(Found::new(k))).collect(),
            thresholds: (0..test.len()).map(|_| f32::MIN.to_bits().into()).collect(),
        };
        let blocks = plan.blocks(train);
        if same {
            search.all(&blocks, &blocks, true);
        } else {
            search.all(&blocks, &plan.blocks(test), false);
        }
        search.finish()
    }
}

/// The bounds of a tile are looked at in so many lanes.
const LANES: usize = 16;

struct Search<'a, D> {
    cpu: Cpu,
    train: &'a SparseRows,
    test: &'a SparseRows,
    folds: Option<Folds<'a>>,
    /// What a distance of 1 is as a square of the Euclidean distance.
    unit: f64,
    distance: D,
    /// What every value is multiplied with before it is bounded.
    scale: f64,
    train_squares: Vec<f64>,
    test_squares: Vec<f64>,
    /// How many rows wait before they are computed.
    waiting: usize,
    found: Vec<Mutex<Found>>,
    /// For each row that is searched for: what the product less half the square of the other row
    /// has to reach, as bits of an `f32`. They only rise, so that an old one does no harm.
    thresholds: Vec<AtomicU32>,
}

/// A row that may be among the nearest of another: bounds of the product less half its square, but
/// for the margin of the other.
struct Near {
    row: u32,
    least: f32,
    most: f32,
}

/// What is found so far of a row that is searched for.
struct Found {
    /// Rows that are still to be computed.
    waiting: Vec<Near>,
    best: Best,
}

impl Found {
    fn new(k: usize) -> Self {
        Self {
            waiting: Vec::new(),
            best: Best::new(k),
        }
    }
}

/// What a thread writes to.
struct Scratch {
    /// The sums of rare columns, of some rows that are searched for; zeros before and after.
    sums: Vec<[f32; MOST]>,
    codes: Vec<i8>,
    products: [[i32; TILE]; QUERIES],
    /// A row that is searched for, with its zeros.
    dense: Vec<f64>,
}

impl Scratch {
    fn new(dim: usize) -> Self {
        Self {
            sums: vec![[0.0; MOST]; QUERIES],
            codes: Vec::new(),
            products: [[0; TILE]; QUERIES],
            dense: vec![0.0; dim],
        }
    }
}

impl<D: Fn(f64, f64, f64) -> f64 + Sync> Search<'_, D> {
    /// Compares all blocks; of the same rows, each two blocks once.
    fn all(&self, train: &[Block], test: &[Block], same: bool) {
        let pairs = (0..test.len()).flat_map(|own| (0..train.len()).map(move |other| (own, other)));
        let mut pairs: Vec<_> = pairs.filter(|(own, other)| !same || own <= other).collect();
        // What is near in order is often near.
        pairs.sort_by_key(|&(own, other)| own.abs_diff(other));
        pairs.into_par_iter().with_max_len(1).for_each_init(
            || Scratch::new(self.test.dim()),
            |scratch, (own, other)| {
                self.pair(&test[own], &train[other], same && own < other, scratch);
            },
        );
    }

    /// Compares the rows of a block with those of another one, and these with them too if `both`.
    fn pair(&self, test: &Block, train: &Block, both: bool, scratch: &mut Scratch) {
        for first in (0..test.rows.len()).step_by(QUERIES) {
            let group = first..test.rows.len().min(first + QUERIES);
            for (at, sums) in group.clone().zip(&mut scratch.sums) {
                train.add(test.rare(at), sums);
            }
            let starts = test.codes(group.clone(), &mut scratch.codes);
            let starts = &starts[..group.len()];
            for (tile, known) in train.known.iter().enumerate() {
                let Scratch {
                    codes, products, ..
                } = scratch;
                self.cpu.dots(train.tile(tile), codes, starts, products);
                let start = train.rows.start + tile * TILE;
                let mut others = [f32::INFINITY; TILE];
                if both {
                    let rows = start..self.test.len().min(start + TILE);
                    for (other, threshold) in others.iter_mut().zip(&self.thresholds[rows]) {
                        *other = f32::from_bits(threshold.load(Ordering::Relaxed));
                    }
                }
                for (query, at) in group.clone().enumerate() {
                    let row = test.rows.start + at;
                    let own = Own::of(&test.known[at / TILE], at % TILE, self.threshold(row));
                    let (sums, _) = scratch.sums[query].as_chunks_mut::<TILE>();
                    let bounds = &mut sums[tile];
                    let over = own.bound(known, &scratch.products[query], &others, bounds);
                    for lane in (0..LANES).filter(|&lane| over[lane] >= 0.0) {
                        for at in (lane..TILE).step_by(LANES) {
                            let bound = bounds[at];
                            let near = |row: usize, half: f32, slack: f32| Near {
                                row: row as u32,
                                most: bound - half,
                                least: bound - half - slack - 2.0 * own.doubt(known, at),
                            };
                            let one = near(start + at, known.half[at], known.slack[at]);
                            if one.most >= own.threshold {
                                self.offer(row, one, &mut scratch.dense);
                            }
                            let other = near(row, own.half, own.slack);
                            if other.most >= others[at] {
                                self.offer(start + at, other, &mut scratch.dense);
                            }
                        }
                    }
                    *bounds = [0.0; TILE];
                }
            }
        }
    }

    fn threshold(&self, row: usize) -> f32 {
        f32::from_bits(self.thresholds[row].load(Ordering::Relaxed))
    }

    /// Lets a row wait that may be among the nearest of another.
    #[cold]
    fn offer(&self, row: usize, near: Near, dense: &mut [f64]) {
        if let Some(folds) = self.folds
            && folds.train[near.row as usize] == folds.test[row]
        {
            return;
        }
        let found = self.found[row].lock();
        let mut found = found.unwrap_or_else(PoisonError::into_inner);
        found.waiting.push(near);
        if found.waiting.len() >= self.waiting {
            self.sift(row, &mut found, dense);
        }
    }

    /// Leaves the rows out that cannot be among the nearest, as others that wait are nearer; computes
    /// what is left where that is still much.
    fn sift(&self, row: usize, found: &mut Found, dense: &mut [f64]) {
        let waiting = &mut found.waiting;
        if let Some(last) = found.best.k.checked_sub(1)
            && last < waiting.len()
        {
            waiting.select_nth_unstable_by(last, |a, b| b.least.total_cmp(&a.least));
            let least = f64::from(waiting[last].least) - 2.0 * self.margin(row);
            let threshold = self.threshold(row).max((least as f32).next_down());
            waiting.retain(|near| near.most >= threshold);
            self.thresholds[row].store(threshold.to_bits(), Ordering::Relaxed);
        }
        if found.waiting.len() > self.waiting / 2 {
            self.settle(row, found, dense);
        }
    }

    /// Computes the rows that wait.
    fn settle(&self, row: usize, found: &mut Found, dense: &mut [f64]) {
        let mut threshold = self.threshold(row);
        found
            .waiting
            .sort_unstable_by(|a, b| b.most.total_cmp(&a.most));
        for (column, value) in self.test.row(row) {
            dense[column as usize] = value;
        }
        let square = self.test_squares[row];
        let margin = self.margin(row);
        for near in found.waiting.drain(..) {
            if near.most < threshold {
                break;
            }
            let other = near.row as usize;
            let product = self.train.row_times(other, dense);
            let distance = (self.distance)(product, square, self.train_squares[other]);
            found.best.offer(other, distance);
            if found.best.worst < f64::INFINITY {
                let half = (square - self.unit * found.best.worst) / 2.0;
                let enough = (half * self.scale * self.scale - margin) as f32;
                threshold = threshold.max(enough.next_down());
            }
        }
        for &column in self.test.parts(row).0 {
            dense[column as usize] = 0.0;
        }
        self.thresholds[row].store(threshold.to_bits(), Ordering::Relaxed);
    }

    /// The part of a row that is searched for in the margin of its bounds.
    fn margin(&self, row: usize) -> f64 {
        let square = self.test_squares[row] * self.scale * self.scale;
        margin(self.test.parts(row).0.len(), square)
    }

    fn finish(mut self) -> Vec<Vec<Neighbour>> {
        let found = std::mem::take(&mut self.found).into_par_iter().enumerate();
        found
            .map_init(
                || vec![0.0; self.test.dim()],
                |dense, (row, found)| {
                    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
                    self.settle(row, &mut found, dense);
                    found.best.kept
                },
            )
            .collect()
    }
}

/// A row that is searched for.
struct Own {
    step: f32,
    error: f32,
    /// The length of its frequent columns and that of its error.
    reach: f32,
    half: f32,
    slack: f32,
    threshold: f32,
}

impl Own {
    fn of(known: &Known, at: usize, threshold: f32) -> Self {
        Self {
            step: known.step[at],
            error: known.error[at],
            reach: known.length[at] + known.error[at],
            half: known.half[at],
            slack: known.slack[at],
            threshold,
        }
    }

    /// By how much the product with a row may be off, of what the codes give.
    #[inline]
    fn doubt(&self, known: &Known, at: usize) -> f32 {
        self.reach * known.error[at] + self.error * known.length[at]
    }

    /// From the products of codes and the sums of rare columns to bounds of products, in the place
    /// of the sums; and by how much, at most, those of a lane are enough for one row or the other.
    #[inline]
    fn bound(
        &self,
        known: &Known,
        products: &[i32; TILE],
        others: &[f32; TILE],
        sums: &mut [f32; TILE],
    ) -> [f32; LANES] {
        let mut most = [f32::NEG_INFINITY; LANES];
        for part in 0..TILE / LANES {
            for (lane, most) in most.iter_mut().enumerate() {
                let at = LANES * part + lane;
                let bound = sums[at]
                    + products[at] as f32 * (self.step * known.step[at])
                    + self.doubt(known, at);
                sums[at] = bound;
                let one = bound - known.half[at] - self.threshold;
                let other = bound - self.half - others[at];
                let over = if one > other { one } else { other };
                *most = if over > *most { over } else { *most };
            }
        }
        most
    }
}

fn square(rows: &SparseRows, row: usize) -> f64 {
    rows.parts(row).1.iter().map(|value| value * value).sum()
}
