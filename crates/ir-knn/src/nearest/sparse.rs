//! Sparse rows: bounds for all products first, in 32 bits, and the products of the few rows whose
//! bound may beat what is kept.
//!
//! Of a product, the part over the columns that few rows have is added up list by list. The part
//! over the frequent columns is bounded as in [`crate::flat`]'s tiles: for rows x = s c + r and
//! y = t d + q, of steps s and t and codes c and d of 8 bits,
//!
//! ⟨x, y⟩ = s t ⟨c, d⟩ + ⟨s c, q⟩ + ⟨r, y⟩ ≤ s t ⟨c, d⟩ + (‖x‖ + ‖r‖) ‖q‖ + ‖r‖ ‖y‖.
//!
//! Rows that are compared among themselves meet once, and the bound serves both. Those of a fold that
//! fills blocks never meet: rows are sorted by fold, and called by their places in this order. A row
//! waits while its bound reaches what k others have at least; the few that are left in the end are
//! computed in 64 bits, column by column, those with the greatest bounds first, until none left can
//! get in.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::block::{Block, Known, MOST, Plan, margin};
use super::by_fold::ByFold;
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
        let largest = |rows: &Self| {
            let values = rows.values().par_iter().with_min_len(1 << 16);
            values.map(|value| value.abs()).reduce(|| 0.0, f64::max)
        };
        let plan = Plan::of(train, largest(train).max(largest(test)));
        let same = std::ptr::eq(train, test);
        let count = test.len();
        let train = ByFold::of(train, folds.map(|folds| folds.train));
        let test = ByFold::of(test, folds.map(|folds| folds.test));
        let blocks = plan.blocks(&train);
        let own = (!same).then(|| plan.blocks(&test));
        let search = Search {
            cpu: Cpu::detect(),
            train,
            test,
            unit,
            distance,
            scale: plan.scale,
            waiting: k.saturating_mul(2).saturating_add(16),
            found: (0..count).map(|_| Mutex::new(Found::new(k))).collect(),
            thresholds: (0..count).map(|_| f32::MIN.to_bits().into()).collect(),
        };
        search.all(&blocks, own.as_deref().unwrap_or(&blocks), same);
        search.finish()
    }
}

/// The bounds of a tile are looked at in so many lanes.
const LANES: usize = 16;

struct Search<'a, D> {
    cpu: Cpu,
    train: ByFold<'a>,
    test: ByFold<'a>,
    /// What a distance of 1 is as a square of the Euclidean distance.
    unit: f64,
    distance: D,
    /// What every value is multiplied with before it is bounded.
    scale: f64,
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
    products: [[i32; TILE]; QUERIES],
    /// A row that is searched for, with its zeros.
    dense: Vec<f64>,
}

impl Scratch {
    fn new(dim: usize) -> Self {
        Self {
            sums: vec![[0.0; MOST]; QUERIES],
            products: [[0; TILE]; QUERIES],
            dense: vec![0.0; dim],
        }
    }
}

impl<D: Fn(f64, f64, f64) -> f64 + Sync> Search<'_, D> {
    /// Compares all blocks; of the same rows, each two blocks once.
    fn all(&self, train: &[Block], test: &[Block], same: bool) {
        let pairs = (0..test.len()).flat_map(|own| (0..train.len()).map(move |other| (own, other)));
        let once = |&(own, other): &(usize, usize)| !same || own <= other;
        let apart = |&(own, other): &(usize, usize)| {
            let fold = self.test.common_fold(&test[own].rows);
            fold.is_none() || fold != self.train.common_fold(&train[other].rows)
        };
        let mut pairs: Vec<_> = pairs.filter(once).filter(apart).collect();
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
            let (codes, starts) = test.group(first);
            for (tile, known) in train.known.iter().enumerate() {
                let products = &mut scratch.products;
                self.cpu.dots(train.tile(tile), codes, starts, products);
                let start = train.rows.start + tile * TILE;
                let mut others = [f32::INFINITY; TILE];
                if both {
                    let rows = start..train.rows.end.min(start + TILE);
                    for (other, threshold) in others.iter_mut().zip(&self.thresholds[rows]) {
                        *other = f32::from_bits(threshold.load(Ordering::Relaxed));
                    }
                }
                for (query, at) in group.clone().enumerate() {
                    let row = test.rows.start + at;
                    let own = Own::of(&test.known[at / TILE], at % TILE, self.threshold(row));
                    let (sums, _) = scratch.sums[query].as_chunks_mut::<TILE>();
                    let bounds = &mut sums[tile];
                    let products = &scratch.products[query];
                    let mut lanes = self.cpu.wide(
                        #[inline(always)]
                        || own.bound(known, products, &others, bounds),
                    );
                    while lanes > 0 {
                        let lane = lanes.trailing_zeros() as usize;
                        lanes &= lanes - 1;
                        for at in (lane..TILE).step_by(LANES) {
                            let bound = bounds[at];
                            let near = |row: usize, most: f32, slack: f32| Near {
                                row: row as u32,
                                most,
                                least: most - slack - 2.0 * own.doubt(known, at),
                            };
                            let most = bound - known.half[at];
                            if most >= own.threshold {
                                let near = near(start + at, most, known.slack[at]);
                                self.offer(row, near, &mut scratch.dense);
                            }
                            let most = bound - own.half;
                            if most >= others[at] {
                                let near = near(row, most, own.slack);
                                self.offer(start + at, near, &mut scratch.dense);
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
        let fold = self.test.fold(row);
        if fold.is_some() && fold == self.train.fold(near.row as usize) {
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
        found.waiting.retain(|near| near.most >= threshold);
        found
            .waiting
            .sort_unstable_by(|a, b| b.most.total_cmp(&a.most));
        for (column, value) in self.test.values(row) {
            dense[column as usize] = value;
        }
        let square = self.test.square(row);
        let margin = self.margin(row);
        for near in found.waiting.drain(..) {
            if near.most < threshold {
                break;
            }
            let other = near.row as usize;
            let product = self.train.times(other, dense);
            let distance = (self.distance)(product, square, self.train.square(other));
            found.best.offer(self.train.row(other), distance);
            if found.best.worst < f64::INFINITY {
                let half = (square - self.unit * found.best.worst) / 2.0;
                let enough = (half * self.scale * self.scale - margin) as f32;
                threshold = threshold.max(enough.next_down());
            }
        }
        for &column in self.test.columns(row) {
            dense[column as usize] = 0.0;
        }
        self.thresholds[row].store(threshold.to_bits(), Ordering::Relaxed);
    }

    /// The part of a row that is searched for in the margin of its bounds.
    fn margin(&self, row: usize) -> f64 {
        let square = self.test.square(row) * self.scale * self.scale;
        margin(self.test.columns(row).len(), square)
    }

    fn finish(mut self) -> Vec<Vec<Neighbour>> {
        let found = std::mem::take(&mut self.found).into_par_iter().enumerate();
        let found: Vec<_> = found
            .map_init(
                || vec![0.0; self.test.dim()],
                |dense, (row, found)| {
                    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
                    self.settle(row, &mut found, dense);
                    found.best.kept
                },
            )
            .collect();
        let mut sorted = vec![Vec::new(); found.len()];
        for (&row, found) in self.test.order().iter().zip(found) {
            sorted[row as usize] = found;
        }
        sorted
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
    /// of the sums; and the lanes, as bits, in which one is enough for one row or the other.
    #[inline(always)]
    fn bound(
        &self,
        known: &Known,
        products: &[i32; TILE],
        others: &[f32; TILE],
        sums: &mut [f32; TILE],
    ) -> u32 {
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
        // The sign tells what is below 0; adding 0 makes -0 of no sign.
        let signs = most.map(|most| (most + 0.0).to_bits() >> 31);
        if signs.iter().fold(1, |all, sign| all & sign) == 1 {
            return 0;
        }
        (0..)
            .zip(signs)
            .fold(0, |lanes, (lane, sign)| lanes | (sign ^ 1) << lane)
    }
}
