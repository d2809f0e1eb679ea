//! Rows by blocks, in the form that bounds of their products come from: of the columns that few rows
//! have, lists of these rows, in 32 bits; of the frequent columns, codes of 8 bits.

use std::ops::Range;

use rayon::prelude::*;

use super::by_fold::ByFold;
use crate::SparseRows;
use crate::flat::align::Lines;
use crate::flat::simd::{QUERIES, ROWS as TILE, prefetch};
use crate::flat::tile::{LONGEST, tile_size};

/// A column that more than one of so many rows has is a frequent one: its codes are multiplied
/// sooner than its list is added up.
const FREQUENT: usize = 10;
/// The rows of a block: their sums and lists stay in the cache.
const ROWS: usize = 2048;
/// What a place in a list of a block can tell apart.
pub(super) const MOST: usize = 1 << 16;

/// What is made of the columns, and of every value.
pub(super) struct Plan {
    /// What every value is multiplied with: a power of two, so that the largest lies about 1.
    pub(super) scale: f64,
    /// The place of each column by how many rows have it, those of the most first: what is looked
    /// up often lies together.
    places: Vec<u32>,
    /// How many frequent columns there are: the first.
    width: usize,
    /// Rows of a block.
    size: usize,
}

/// Some rows that follow each other.
pub(super) struct Block {
    pub(super) rows: Range<usize>,
    /// Where the list of each rare column begins, and the end of the last.
    starts: Vec<u32>,
    /// The rows of the lists, from the first of the block.
    places: Vec<u16>,
    values: Vec<f32>,
    /// The rare columns of each row, and where they end.
    rare: Vec<(u32, f32)>,
    ends: Vec<usize>,
    /// The frequent columns: for [`TILE`] rows after the other, four bytes a row for four columns.
    codes: Lines,
    /// The same as they meet a tile: of [`QUERIES`] rows after the other, for four columns, four bytes a
    /// row; and for each row minus 128 times the sum of its codes, as those of a tile have 128 added.
    queries: Vec<i8>,
    offsets: Vec<i32>,
    width: usize,
    pub(super) known: Vec<Known>,
}

/// What is known of the rows of a tile. A row's frequent columns are x = s c + r: s the step, c the
/// codes, r what rounding left.
#[derive(Clone)]
pub(super) struct Known {
    /// s.
    pub(super) step: [f32; TILE],
    /// The length of r, enlarged.
    pub(super) error: [f32; TILE],
    /// The length of x, enlarged.
    pub(super) length: [f32; TILE],
    /// Half the square of the whole row, less its margin; infinite where there is no row.
    pub(super) half: [f32; TILE],
    /// Twice this margin.
    pub(super) slack: [f32; TILE],
}

impl Known {
    const NONE: Self = Self {
        step: [0.0; TILE],
        error: [0.0; TILE],
        length: [0.0; TILE],
        half: [f32::INFINITY; TILE],
        slack: [0.0; TILE],
    };
}

/// How far rounding may lead a bound astray, generously: the part of one of two rows, of so many
/// values and this square.
pub(super) fn margin(values: usize, square: f64) -> f64 {
    2.0 * (values + 32) as f64 * f64::from(f32::EPSILON) * square + 1e-30
}

impl Plan {
    /// For searching in these rows. `largest` is the greatest magnitude of all values on both sides.
    pub(super) fn of(rows: &SparseRows, largest: f64) -> Self {
        let mut counts = vec![0_usize; rows.dim()];
        for &column in rows.columns() {
            counts[column as usize] += 1;
        }
        let mut order: Vec<u32> = (0..rows.dim() as u32).collect();
        order.par_sort_by_key(|&column| std::cmp::Reverse(counts[column as usize]));
        let mut places = vec![0; rows.dim()];
        for (place, column) in (0..).zip(&order) {
            places[*column as usize] = place;
        }
        let frequent = |&column: &u32| counts[column as usize] * FREQUENT > rows.len();
        let width = order.partition_point(frequent).min(LONGEST);
        // Within these bounds the square of a value has all its digits.
        let scale = (-largest.log2().ceil().clamp(-500.0, 500.0)).exp2();
        // Many columns ask for large blocks, since each block has a list of each.
        let mut size = ROWS;
        while size < MOST && rows.dim().saturating_mul(rows.len()) > 4 * size * rows.stored() {
            size *= 2;
        }
        Self {
            scale: if largest > 0.0 { scale } else { 1.0 },
            places,
            width,
            size,
        }
    }

    pub(super) fn blocks(&self, rows: &ByFold<'_>) -> Vec<Block> {
        let pieces = rows.pieces(self.size).into_par_iter();
        pieces.map(|piece| self.block(rows, piece)).collect()
    }

    /// The place of a rare column among these.
    fn rare(&self, column: u32) -> Option<u32> {
        self.places[column as usize].checked_sub(self.width as u32)
    }

    fn block(&self, all: &ByFold<'_>, rows: Range<usize>) -> Block {
        let rare = all.dim() - self.width;
        let mut starts = vec![0_u32; rare + 1];
        for row in rows.clone() {
            for &column in all.columns(row) {
                if let Some(place) = self.rare(column) {
                    starts[place as usize + 1] += 1;
                }
            }
        }
        for place in 0..rare {
            starts[place + 1] += starts[place];
        }
        let stored = starts.last().copied().unwrap_or(0) as usize;
        let tiles = rows.len().div_ceil(TILE);
        let mut block = Block {
            rows: rows.clone(),
            places: vec![0; stored],
            values: vec![0.0; stored],
            rare: Vec::with_capacity(stored),
            ends: Vec::with_capacity(rows.len()),
            codes: Lines::zeros(tiles * tile_size(self.width)),
            queries: Vec::with_capacity(rows.len() * self.width.next_multiple_of(4)),
            offsets: vec![0; rows.len()],
            width: self.width,
            known: vec![Known::NONE; tiles],
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
                if let Some(place) = self.rare(column) {
                    let next = &mut next[place as usize];
                    block.places[*next as usize] = at as u16;
                    block.values[*next as usize] = value as f32;
                    *next += 1;
                    block.rare.push((place, value as f32));
                } else {
                    frequent.push((self.places[column as usize] as usize, value));
                }
            }
            block.ends.push(block.rare.len());
            block.code(at, &frequent);
            let margin = margin(all.columns(row).len(), square);
            let known = &mut block.known[at / TILE];
            known.half[at % TILE] = (square / 2.0 - margin) as f32;
            known.slack[at % TILE] = (2.0 * margin) as f32;
        }
        block.turn();
        block
    }
}

impl Block {
    /// Takes the frequent columns of a row.
    fn code(&mut self, at: usize, frequent: &[(usize, f64)]) {
        let most = frequent.iter().fold(0.0, |a: f64, (_, b)| a.max(b.abs()));
        let mut step = (most / 127.0) as f32;
        if step < 1e-30 {
            step = 0.0;
        }
        let tile = &mut self.codes.as_mut()[at / TILE * tile_size(self.width)..];
        let (mut error, mut square) = (0.0, 0.0);
        for &(place, value) in frequent {
            let code = if step > 0.0 {
                (value / f64::from(step)).round().clamp(-127.0, 127.0)
            } else {
                0.0
            };
            tile[place / 4 * 4 * TILE + at % TILE * 4 + place % 4] = (code as i8 as u8) ^ 128;
            error += (value - code * f64::from(step)).powi(2);
            square += value * value;
        }
        let enlarged = |square: f64| (square.sqrt() * (1.0 + 1e-5)) as f32;
        let known = &mut self.known[at / TILE];
        known.step[at % TILE] = step;
        known.error[at % TILE] = enlarged(error);
        known.length[at % TILE] = enlarged(square);
    }

    /// The codes of a tile.
    pub(super) fn tile(&self, tile: usize) -> &[u8] {
        let size = tile_size(self.width);
        &self.codes.as_ref()[tile * size..][..size]
    }

    /// Fills in the codes as they meet a tile.
    fn turn(&mut self) {
        for first in (0..self.rows.len()).step_by(QUERIES) {
            for four in 0..self.width.div_ceil(4) {
                for at in first..self.rows.len().min(first + QUERIES) {
                    let tile = &self.codes.as_ref()[at / TILE * tile_size(self.width)..];
                    for code in &tile[four * 4 * TILE + at % TILE * 4..][..4] {
                        let code = (code ^ 128) as i8;
                        self.offsets[at] -= 128 * i32::from(code);
                        self.queries.push(code);
                    }
                }
            }
        }
    }

    /// The codes of up to [`QUERIES`] rows, from this one on, as they meet a tile, and where their sums
    /// start.
    pub(super) fn group(&self, first: usize) -> (&[i8], &[i32]) {
        let rows = first..self.rows.len().min(first + QUERIES);
        let row = self.width.next_multiple_of(4);
        (
            &self.queries[row * rows.start..row * rows.end],
            &self.offsets[rows],
        )
    }

    /// The rare columns of a row.
    pub(super) fn rare(&self, at: usize) -> &[(u32, f32)] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.rare[start..self.ends[at]]
    }

    /// Adds the products of some rare columns with those of every row of the block.
    pub(super) fn add(&self, rare: &[(u32, f32)], sums: &mut [f32; MOST]) {
        for (at, &(place, value)) in rare.iter().enumerate() {
            // Where lists begin is known long before they are read, and nothing lies together.
            if let Some(&(soon, _)) = rare.get(at + 12) {
                prefetch(bytemuck::bytes_of(&self.starts[soon as usize]));
            }
            if let Some(&(soon, _)) = rare.get(at + 4) {
                let start = self.starts[soon as usize] as usize;
                if let (Some(place), Some(value)) = (self.places.get(start), self.values.get(start))
                {
                    prefetch(bytemuck::bytes_of(place));
                    prefetch(bytemuck::bytes_of(value));
                }
            }
            let place = place as usize;
            let list = self.starts[place] as usize..self.starts[place + 1] as usize;
            for (&place, &weight) in self.places[list.clone()].iter().zip(&self.values[list]) {
                sums[usize::from(place)] += value * weight;
            }
        }
    }
}
