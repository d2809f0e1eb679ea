//! Sparse matrices: upper bounds of all inner products in `f32`, then exact products of the few
//! candidates that may be among the k nearest by their bounds.
//!
//! The part of a product over rare columns is summed by posting lists. The part over frequent
//! columns is bounded as in the tiles of the flat index: for rows x = s c + r and y = t d + q with
//! steps s and t and 8-bit codes c and d,
//!
//! ⟨x, y⟩ = s t ⟨c, d⟩ + ⟨s c, q⟩ + ⟨r, y⟩ ≤ s t ⟨c, d⟩ + (‖x‖ + ‖r‖) ‖q‖ + ‖r‖ ‖y‖.
//!
//! When a matrix is searched for its own rows, each pair of rows is bounded once, for both. Rows
//! are sorted by fold and identified by their position in this order, so pairs of blocks within one
//! fold are skipped. A row is a candidate while its upper bound reaches the lower bounds of k
//! others. Remaining candidates are computed in `f64`, column by column, by descending bound, until
//! no bound reaches the k-th neighbor.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use ir_core::{Progress, VectorSimilarity};
use rayon::prelude::*;

use super::block::{BlockLayout, MAX_BLOCK_ROWS, RowBlock, TileBounds, margin};
use super::fold_order::FoldOrder;
use super::{NearestK, Neighbor, SearchParams, distance, in_groups, unit};
use crate::matrix::CsrMatrix;
use crate::simd::{Cpu, MAX_QUERIES, TILE_ROWS};

/// Returns the nearest rows. Without `test`, the training rows are the test rows.
pub(super) fn nearest(
    train: &CsrMatrix,
    test: Option<&CsrMatrix>,
    SearchParams { k, metric, folds }: SearchParams<'_>,
    progress: &mut dyn Progress,
) -> Option<Vec<Vec<Neighbor>>> {
    let largest = |rows: &CsrMatrix| {
        let values = rows.values().par_iter().with_min_len(1 << 16);
        values.map(|value| value.abs()).reduce(|| 0.0, f64::max)
    };
    let same = test.is_none();
    let test = test.unwrap_or(train);
    let layout = BlockLayout::new(train, largest(train).max(largest(test)));
    let count = test.nrows();
    let train = FoldOrder::new(train, folds.map(|folds| folds.train));
    let test = FoldOrder::new(test, folds.map(|folds| folds.test));
    let train_blocks = layout.blocks(&train);
    let test_blocks = (!same).then(|| layout.blocks(&test));
    let state = || RowState {
        candidates: Vec::new(),
        best: NearestK::new(k),
    };
    let search = SparseSearch {
        cpu: Cpu::detect(),
        train,
        test,
        metric,
        scale: layout.scale,
        capacity: k.saturating_mul(2).saturating_add(16),
        states: (0..count).map(|_| Mutex::new(state())).collect(),
        thresholds: (0..count).map(|_| f32::MIN.to_bits().into()).collect(),
    };
    let test_blocks = test_blocks.as_deref().unwrap_or(&train_blocks);
    search.compare_all(&train_blocks, test_blocks, same, progress)?;
    Some(search.finish())
}

/// Pairs of blocks between two reports of progress.
const REPORTED_PAIRS: usize = 64;

/// Vector lanes in which the bounds of a tile are compared.
const LANES: usize = 16;

struct SparseSearch<'a> {
    cpu: Cpu,
    train: FoldOrder<'a>,
    test: FoldOrder<'a>,
    metric: VectorSimilarity,
    /// Factor of all values in bounds.
    scale: f64,
    /// Number of candidates of a row at which they are pruned.
    capacity: usize,
    /// State of each test row.
    states: Vec<Mutex<RowState>>,
    /// Minimum of ⟨x, y⟩ − ‖y‖²/2 of a candidate y, per test row, as bits of an `f32`.
    /// Thresholds only rise, so a stale one is valid.
    thresholds: Vec<AtomicU32>,
}

/// Training row that may be among the nearest: bounds of ⟨x, y⟩ − ‖y‖²/2, without the margin of the
/// test row.
struct Candidate {
    row: u32,
    lower: f32,
    upper: f32,
}

/// Candidates and neighbors of a test row.
struct RowState {
    candidates: Vec<Candidate>,
    best: NearestK,
}

/// Buffers of a thread.
struct SearchBuffers {
    /// Sums over rare columns of a group of test rows; zero before and after use.
    sums: Vec<[f32; MAX_BLOCK_ROWS]>,
    products: [[i32; TILE_ROWS]; MAX_QUERIES],
    /// Dense test row; zero before and after use.
    dense: Vec<f64>,
}

impl SearchBuffers {
    fn new(ncols: usize) -> Self {
        Self {
            sums: vec![[0.0; MAX_BLOCK_ROWS]; MAX_QUERIES],
            products: [[0; TILE_ROWS]; MAX_QUERIES],
            dense: vec![0.0; ncols],
        }
    }
}

impl SparseSearch<'_> {
    /// Compares all pairs of blocks; of the same matrix, each pair once. Returns `None` if
    /// `progress` cancels.
    fn compare_all(
        &self,
        train: &[RowBlock],
        test: &[RowBlock],
        same: bool,
        progress: &mut dyn Progress,
    ) -> Option<()> {
        let pairs = (0..test.len()).flat_map(|one| (0..train.len()).map(move |other| (one, other)));
        let once = |&(one, other): &(usize, usize)| !same || one <= other;
        let across_folds = |&(one, other): &(usize, usize)| {
            let fold = self.test.common_fold(&test[one].rows);
            fold.is_none() || fold != self.train.common_fold(&train[other].rows)
        };
        let mut pairs: Vec<_> = pairs.filter(once).filter(across_folds).collect();
        // Rows close in order are often similar; comparing them first raises thresholds early.
        pairs.sort_by_key(|&(one, other)| one.abs_diff(other));
        in_groups(&pairs, REPORTED_PAIRS, progress, |pairs| {
            pairs.par_iter().with_max_len(1).for_each_init(
                || SearchBuffers::new(self.test.rows.ncols()),
                |buffers, &(one, other)| {
                    self.compare(&test[one], &train[other], same && one < other, buffers);
                },
            );
        })
    }

    /// Searches a training block for the rows of a test block and, if `both`, the reverse.
    fn compare(&self, test: &RowBlock, train: &RowBlock, both: bool, buffers: &mut SearchBuffers) {
        for first in (0..test.rows.len()).step_by(MAX_QUERIES) {
            let group = first..test.rows.len().min(first + MAX_QUERIES);
            for (at, sums) in group.clone().zip(&mut buffers.sums) {
                train.add_rare(test.rare(at), sums);
            }
            let (codes, starts) = test.query_group(first);
            for (tile, tile_bounds) in train.bounds.iter().enumerate() {
                let products = &mut buffers.products;
                self.cpu.dot_tile(train.tile(tile), codes, starts, products);
                let start = train.rows.start + tile * TILE_ROWS;
                let mut thresholds = [f32::INFINITY; TILE_ROWS];
                if both {
                    let rows = start..train.rows.end.min(start + TILE_ROWS);
                    for (bits, threshold) in thresholds.iter_mut().zip(&self.thresholds[rows]) {
                        *bits = f32::from_bits(threshold.load(Ordering::Relaxed));
                    }
                }
                for (query, at) in group.clone().enumerate() {
                    let row = test.rows.start + at;
                    let bounds = &test.bounds[at / TILE_ROWS];
                    let test_row = TestRow::new(bounds, at % TILE_ROWS, self.threshold(row));
                    let (sums, _) = buffers.sums[query].as_chunks_mut::<TILE_ROWS>();
                    let uppers = &mut sums[tile];
                    let products = &buffers.products[query];
                    let mut lanes = self.cpu.vectorized(
                        #[inline(always)]
                        || test_row.bound(tile_bounds, products, &thresholds, uppers),
                    );
                    while lanes > 0 {
                        let lane = lanes.trailing_zeros() as usize;
                        lanes &= lanes - 1;
                        for at in (lane..TILE_ROWS).step_by(LANES) {
                            let bound = uppers[at];
                            let candidate = |row: usize, upper: f32, slack: f32| Candidate {
                                row: row as u32,
                                upper,
                                lower: upper - slack - 2.0 * test_row.error_bound(tile_bounds, at),
                            };
                            let upper = bound - tile_bounds.half[at];
                            if upper >= test_row.threshold {
                                let near = candidate(start + at, upper, tile_bounds.slack[at]);
                                self.offer(row, near, &mut buffers.dense);
                            }
                            let upper = bound - test_row.half;
                            if upper >= thresholds[at] {
                                let near = candidate(row, upper, test_row.slack);
                                self.offer(start + at, near, &mut buffers.dense);
                            }
                        }
                    }
                    *uppers = [0.0; TILE_ROWS];
                }
            }
        }
    }

    fn threshold(&self, row: usize) -> f32 {
        f32::from_bits(self.thresholds[row].load(Ordering::Relaxed))
    }

    /// Adds a candidate of a test row.
    #[cold]
    fn offer(&self, row: usize, candidate: Candidate, dense: &mut [f64]) {
        let fold = self.test.fold(row);
        if fold.is_some() && fold == self.train.fold(candidate.row as usize) {
            return;
        }
        let state = self.states[row].lock();
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.candidates.push(candidate);
        if state.candidates.len() >= self.capacity {
            self.prune(row, &mut state, dense);
        }
    }

    /// Drops a candidate if the lower bounds of k others exceed its upper bound. Computes the
    /// remaining candidates if they are still many.
    fn prune(&self, row: usize, state: &mut RowState, dense: &mut [f64]) {
        let candidates = &mut state.candidates;
        if let Some(last) = state.best.k.checked_sub(1)
            && last < candidates.len()
        {
            candidates.select_nth_unstable_by(last, |a, b| b.lower.total_cmp(&a.lower));
            let lower = f64::from(candidates[last].lower) - 2.0 * self.margin(row);
            let threshold = self.threshold(row).max((lower as f32).next_down());
            candidates.retain(|candidate| candidate.upper >= threshold);
            self.thresholds[row].store(threshold.to_bits(), Ordering::Relaxed);
        }
        if state.candidates.len() > self.capacity / 2 {
            self.compute(row, state, dense);
        }
    }

    /// Computes the distances of candidates exactly.
    fn compute(&self, row: usize, state: &mut RowState, dense: &mut [f64]) {
        let mut threshold = self.threshold(row);
        state
            .candidates
            .retain(|candidate| candidate.upper >= threshold);
        state
            .candidates
            .sort_unstable_by(|a, b| b.upper.total_cmp(&a.upper));
        for (column, value) in self.test.values(row) {
            dense[column as usize] = value;
        }
        let square = self.test.squares[row];
        let margin = self.margin(row);
        for candidate in state.candidates.drain(..) {
            if candidate.upper < threshold {
                break;
            }
            let other = candidate.row as usize;
            let product = self.train.dot(other, dense);
            let other_square = self.train.squares[other];
            let distance = distance(self.metric, product, square, other_square);
            state.best.offer(self.train.row(other), distance);
            if state.best.worst < f64::INFINITY {
                let half = (square - unit(self.metric) * state.best.worst) / 2.0;
                let enough = (half * self.scale * self.scale - margin) as f32;
                threshold = threshold.max(enough.next_down());
            }
        }
        for &column in self.test.columns(row) {
            dense[column as usize] = 0.0;
        }
        self.thresholds[row].store(threshold.to_bits(), Ordering::Relaxed);
    }

    /// Contribution of a test row to the margin of its bounds.
    fn margin(&self, row: usize) -> f64 {
        let square = self.test.squares[row] * self.scale * self.scale;
        margin(self.test.columns(row).len(), square)
    }

    fn finish(mut self) -> Vec<Vec<Neighbor>> {
        let states = std::mem::take(&mut self.states).into_par_iter().enumerate();
        let neighbors: Vec<_> = states
            .map_init(
                || vec![0.0; self.test.rows.ncols()],
                |dense, (row, state)| {
                    let mut state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
                    self.compute(row, &mut state, dense);
                    state.best.neighbors
                },
            )
            .collect();
        let mut by_row = vec![Vec::new(); neighbors.len()];
        for (&row, neighbors) in self.test.order.iter().zip(neighbors) {
            by_row[row as usize] = neighbors;
        }
        by_row
    }
}

/// Terms of the bounds of a test row.
struct TestRow {
    step: f32,
    error: f32,
    /// ‖x‖ + ‖r‖ of its frequent columns.
    reach: f32,
    half: f32,
    slack: f32,
    threshold: f32,
}

impl TestRow {
    fn new(bounds: &TileBounds, at: usize, threshold: f32) -> Self {
        Self {
            step: bounds.step[at],
            error: bounds.error[at],
            reach: bounds.length[at] + bounds.error[at],
            half: bounds.half[at],
            slack: bounds.slack[at],
            threshold,
        }
    }

    /// Bound on the quantization error of the product with a training row.
    #[inline]
    fn error_bound(&self, tile: &TileBounds, at: usize) -> f32 {
        self.reach * tile.error[at] + self.error * tile.length[at]
    }

    /// Replaces the sums over rare columns by upper bounds of products. Returns the lanes, as bits,
    /// in which a bound reaches the threshold of either row.
    #[inline(always)]
    fn bound(
        &self,
        tile: &TileBounds,
        products: &[i32; TILE_ROWS],
        thresholds: &[f32; TILE_ROWS],
        sums: &mut [f32; TILE_ROWS],
    ) -> u32 {
        let mut excess = [f32::NEG_INFINITY; LANES];
        for group in 0..TILE_ROWS / LANES {
            for (lane, excess) in excess.iter_mut().enumerate() {
                let at = LANES * group + lane;
                let bound = sums[at]
                    + products[at] as f32 * (self.step * tile.step[at])
                    + self.error_bound(tile, at);
                sums[at] = bound;
                let one = bound - tile.half[at] - self.threshold;
                let other = bound - self.half - thresholds[at];
                let larger = if one > other { one } else { other };
                *excess = if larger > *excess { larger } else { *excess };
            }
        }
        // The sign bit of negative numbers is 1; adding 0 turns -0 into 0.
        let signs = excess.map(|excess| (excess + 0.0).to_bits() >> 31);
        if signs.iter().fold(1, |all, sign| all & sign) == 1 {
            return 0;
        }
        (0..)
            .zip(signs)
            .fold(0, |lanes, (lane, sign)| lanes | (sign ^ 1) << lane)
    }
}
