//! Blocks of sparse rows in the form from which inner products are bounded: posting lists of `f32`
//! values for rare columns, 8-bit codes for frequent ones.

use std::ops::Range;

use rayon::prelude::*;

use super::fold_order::FoldOrder;
use crate::matrix::CsrMatrix;
use crate::simd::{AlignedBytes, MAX_DIM, MAX_QUERIES, TILE_ROWS, prefetch, tile_size};

/// A column is frequent if more than 1/10 of the rows have it: multiplying codes is then faster
/// than adding up its posting list.
const FREQUENT_FRACTION: usize = 10;
/// Default number of rows per block. Sums and posting lists of a block fit into the L2 cache.
const BLOCK_ROWS: usize = 2048;
/// Maximum number of rows per block, limited by the 16-bit row numbers of posting lists.
pub(super) const MAX_BLOCK_ROWS: usize = 1 << 16;

/// Layout of the columns and scaling of the values, shared by all blocks.
pub(super) struct BlockLayout {
    /// Factor of all values: the power of two that brings the largest close to 1.
    pub(super) scale: f64,
    /// Rank of each column by descending frequency, so that frequent lookups are adjacent.
    ranks: Vec<u32>,
    /// Number of frequent columns. They have the first ranks.
    width: usize,
    /// Maximum number of rows per block.
    size: usize,
}

/// Block of consecutive rows.
pub(super) struct RowBlock {
    pub(super) rows: Range<usize>,
    /// Offsets of the posting lists of rare columns, and the end of the last.
    starts: Vec<u32>,
    /// Row numbers of the posting lists, relative to the first row of the block.
    list_rows: Vec<u16>,
    /// Values of the posting lists.
    values: Vec<f32>,
    /// Rare columns and values of each row.
    rare: Vec<(u32, f32)>,
    /// End of each row in `rare`.
    ends: Vec<usize>,
    /// Codes of frequent columns as training rows: in tiles of [`TILE_ROWS`] rows, four columns at
    /// a time.
    codes: AlignedBytes,
    /// Codes of frequent columns as test rows: in groups of [`MAX_QUERIES`] rows, four columns at a
    /// time.
    queries: Vec<i8>,
    /// −128 times the sum of each row's codes: the codes of tiles have 128 added.
    offsets: Vec<i32>,
    width: usize,
    pub(super) bounds: Vec<TileBounds>,
}

/// Terms of the bounds of the rows of a tile. The frequent columns of a row are x = s c + r with
/// step s, codes c and quantization error r.
#[derive(Clone)]
pub(super) struct TileBounds {
    /// Step s of the quantization.
    pub(super) step: [f32; TILE_ROWS],
    /// Length of the quantization error, ‖r‖, rounded up.
    pub(super) error: [f32; TILE_ROWS],
    /// Length of the frequent columns, ‖x‖, rounded up.
    pub(super) length: [f32; TILE_ROWS],
    /// Half the squared length of the whole row minus its margin; infinite where there is no row.
    pub(super) half: [f32; TILE_ROWS],
    /// Twice the margin of the row.
    pub(super) slack: [f32; TILE_ROWS],
}

impl TileBounds {
    const EMPTY: Self = Self {
        step: [0.0; TILE_ROWS],
        error: [0.0; TILE_ROWS],
        length: [0.0; TILE_ROWS],
        half: [f32::INFINITY; TILE_ROWS],
        slack: [0.0; TILE_ROWS],
    };
}

/// Bound on the rounding error of a bound that is due to one of two rows, with `values` values and
/// this squared length.
pub(super) fn margin(values: usize, square: f64) -> f64 {
    2.0 * (values + 32) as f64 * f64::from(f32::EPSILON) * square + 1e-30
}

impl BlockLayout {
    /// Creates the layout for training rows. `largest` is the maximum magnitude of the values of
    /// training and test rows.
    pub(super) fn new(rows: &CsrMatrix, largest: f64) -> Self {
        let mut counts = vec![0_usize; rows.ncols()];
        for &column in rows.columns() {
            counts[column as usize] += 1;
        }
        let mut order: Vec<u32> = (0..rows.ncols() as u32).collect();
        order.par_sort_by_key(|&column| std::cmp::Reverse(counts[column as usize]));
        let mut ranks = vec![0; rows.ncols()];
        for (rank, column) in (0..).zip(&order) {
            ranks[*column as usize] = rank;
        }
        let frequent = |&column: &u32| counts[column as usize] * FREQUENT_FRACTION > rows.nrows();
        let width = order.partition_point(frequent).min(MAX_DIM);
        // Within these limits, squares of scaled values have full precision.
        let scale = (-largest.log2().ceil().clamp(-500.0, 500.0)).exp2();
        // Every block has a list of each column, so many columns need large blocks.
        let mut size = BLOCK_ROWS;
        while size < MAX_BLOCK_ROWS
            && rows.ncols().saturating_mul(rows.nrows()) > 4 * size * rows.nnz()
        {
            size *= 2;
        }
        Self {
            scale: if largest > 0.0 { scale } else { 1.0 },
            ranks,
            width,
            size,
        }
    }

    pub(super) fn blocks(&self, rows: &FoldOrder<'_>) -> Vec<RowBlock> {
        let blocks = rows.blocks(self.size).into_par_iter();
        blocks.map(|range| self.block(rows, range)).collect()
    }

    /// Rank of a column among the rare ones; `None` for a frequent column.
    fn rare_rank(&self, column: u32) -> Option<u32> {
        self.ranks[column as usize].checked_sub(self.width as u32)
    }

    fn block(&self, all: &FoldOrder<'_>, rows: Range<usize>) -> RowBlock {
        let rare = all.rows.ncols() - self.width;
        let mut starts = vec![0_u32; rare + 1];
        for row in rows.clone() {
            for &column in all.columns(row) {
                if let Some(rank) = self.rare_rank(column) {
                    starts[rank as usize + 1] += 1;
                }
            }
        }
        for rank in 0..rare {
            starts[rank + 1] += starts[rank];
        }
        let stored = starts.last().copied().unwrap_or(0) as usize;
        let tiles = rows.len().div_ceil(TILE_ROWS);
        let mut block = RowBlock {
            rows: rows.clone(),
            list_rows: vec![0; stored],
            values: vec![0.0; stored],
            rare: Vec::with_capacity(stored),
            ends: Vec::with_capacity(rows.len()),
            codes: AlignedBytes::zeros(tiles * tile_size(self.width)),
            queries: Vec::with_capacity(rows.len() * self.width.next_multiple_of(4)),
            offsets: vec![0; rows.len()],
            width: self.width,
            bounds: vec![TileBounds::EMPTY; tiles],
            starts,
        };
        block.codes.as_mut().fill(128);
        let mut next = block.starts.clone();
        let mut frequent = Vec::new();
        for (at, row) in rows.enumerate() {
            frequent.clear();
            let mut square = 0.0;
            for (column, value) in all.values(row) {
                let value = value * self.scale;
                square += value * value;
                if let Some(rank) = self.rare_rank(column) {
                    let next = &mut next[rank as usize];
                    block.list_rows[*next as usize] = at as u16;
                    block.values[*next as usize] = value as f32;
                    *next += 1;
                    block.rare.push((rank, value as f32));
                } else {
                    frequent.push((self.ranks[column as usize] as usize, value));
                }
            }
            block.ends.push(block.rare.len());
            block.quantize(at, &frequent);
            let margin = margin(all.columns(row).len(), square);
            let bounds = &mut block.bounds[at / TILE_ROWS];
            bounds.half[at % TILE_ROWS] = (square / 2.0 - margin) as f32;
            bounds.slack[at % TILE_ROWS] = (2.0 * margin) as f32;
        }
        block.transpose_codes();
        block
    }
}

impl RowBlock {
    /// Quantizes the frequent columns of a row to 8 bits.
    fn quantize(&mut self, at: usize, frequent: &[(usize, f64)]) {
        let max_abs = frequent.iter().fold(0.0, |a: f64, (_, b)| a.max(b.abs()));
        let mut step = (max_abs / 127.0) as f32;
        if step < 1e-30 {
            step = 0.0;
        }
        let tile = &mut self.codes.as_mut()[at / TILE_ROWS * tile_size(self.width)..];
        let (mut error, mut square) = (0.0, 0.0);
        for &(rank, value) in frequent {
            let code = if step > 0.0 {
                (value / f64::from(step)).round().clamp(-127.0, 127.0)
            } else {
                0.0
            };
            tile[rank / 4 * 4 * TILE_ROWS + at % TILE_ROWS * 4 + rank % 4] =
                (code as i8 as u8) ^ 128;
            error += (value - code * f64::from(step)).powi(2);
            square += value * value;
        }
        let length = |square: f64| (square.sqrt() * (1.0 + 1e-5)) as f32;
        let bounds = &mut self.bounds[at / TILE_ROWS];
        bounds.step[at % TILE_ROWS] = step;
        bounds.error[at % TILE_ROWS] = length(error);
        bounds.length[at % TILE_ROWS] = length(square);
    }

    /// Codes of a tile of training rows.
    pub(super) fn tile(&self, tile: usize) -> &[u8] {
        let size = tile_size(self.width);
        &self.codes.as_ref()[tile * size..][..size]
    }

    /// Computes the codes of the rows as test rows from their tiles.
    fn transpose_codes(&mut self) {
        for first in (0..self.rows.len()).step_by(MAX_QUERIES) {
            for four in 0..self.width.div_ceil(4) {
                for at in first..self.rows.len().min(first + MAX_QUERIES) {
                    let tile = &self.codes.as_ref()[at / TILE_ROWS * tile_size(self.width)..];
                    for code in &tile[four * 4 * TILE_ROWS + at % TILE_ROWS * 4..][..4] {
                        let code = (code ^ 128) as i8;
                        self.offsets[at] -= 128 * i32::from(code);
                        self.queries.push(code);
                    }
                }
            }
        }
    }

    /// Codes and offsets of up to [`MAX_QUERIES`] test rows, from `first` on.
    pub(super) fn query_group(&self, first: usize) -> (&[i8], &[i32]) {
        let rows = first..self.rows.len().min(first + MAX_QUERIES);
        let row = self.width.next_multiple_of(4);
        (
            &self.queries[row * rows.start..row * rows.end],
            &self.offsets[rows],
        )
    }

    /// Rare columns and values of a row.
    pub(super) fn rare(&self, at: usize) -> &[(u32, f32)] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.rare[start..self.ends[at]]
    }

    /// Adds the products of rare columns with every row of the block to `sums`.
    pub(super) fn add_rare(&self, rare: &[(u32, f32)], sums: &mut [f32; MAX_BLOCK_ROWS]) {
        for (at, &(rank, value)) in rare.iter().enumerate() {
            // Offsets and lists are scattered in memory, but known in advance.
            if let Some(&(soon, _)) = rare.get(at + 12) {
                prefetch(bytemuck::bytes_of(&self.starts[soon as usize]));
            }
            if let Some(&(soon, _)) = rare.get(at + 4) {
                let start = self.starts[soon as usize] as usize;
                if let (Some(row), Some(value)) =
                    (self.list_rows.get(start), self.values.get(start))
                {
                    prefetch(bytemuck::bytes_of(row));
                    prefetch(bytemuck::bytes_of(value));
                }
            }
            let rank = rank as usize;
            let list = self.starts[rank] as usize..self.starts[rank + 1] as usize;
            for (&row, &weight) in self.list_rows[list.clone()].iter().zip(&self.values[list]) {
                sums[usize::from(row)] += value * weight;
            }
        }
    }
}
