//! The rows that are searched in, by column: lists of the rows that have a column, in 32 bits, and
//! the few columns that many rows have beside them.

use std::ops::Range;

use rayon::prelude::*;

use crate::SparseRows;

/// A column that more than this part of all rows have is a frequent one.
const FREQUENT: usize = 5;
/// The rows of a block: their sums stay in the nearest cache.
const ROWS: usize = 16384;
/// What a place in a list of a block can tell apart.
pub(super) const MOST: usize = 1 << 16;
/// Bounds that are looked at together.
pub(super) const TOGETHER: usize = 16;
/// The values of frequent columns are multiplied so many at once.
const LANES: usize = 8;

/// Rows by column.
pub(super) struct Inverted {
    /// What every value was multiplied with: a power of two, so that the largest lies about 1.
    pub(super) scale: f64,
    /// The place of each column among the frequent ones.
    places: Vec<Option<u32>>,
    /// How many frequent columns there are, with some empty ones.
    width: usize,
    pub(super) blocks: Vec<Block>,
    /// The largest length of a row.
    pub(super) longest: f64,
}

/// Some rows that follow each other.
pub(super) struct Block {
    pub(super) rows: Range<usize>,
    /// Where the list of each column begins, and the end of the last.
    starts: Vec<u32>,
    /// The rows of the lists, from the first of the block.
    places: Vec<u16>,
    values: Vec<f32>,
    /// Of each row: the frequent columns; the length of these; half the square of all. Lengths and
    /// squares are filled up to a multiple of [`TOGETHER`].
    frequent: Vec<f32>,
    lengths: Vec<f32>,
    halves: Vec<f32>,
}

/// A row that is searched for.
pub(super) struct Probe {
    /// Columns that are not frequent.
    rare: Vec<(u32, f32)>,
    frequent: Vec<f32>,
    /// The length of the frequent columns.
    pub(super) length: f32,
}

impl Inverted {
    /// `largest` is the greatest magnitude of all values on both sides.
    pub(super) fn of(rows: &SparseRows, largest: f64) -> Self {
        let mut counts = vec![0_usize; rows.dim()];
        for &column in rows.columns() {
            counts[column as usize] += 1;
        }
        let mut width = 0;
        let place = |&count: &usize| {
            (count * FREQUENT > rows.len()).then(|| {
                width += 1;
                width - 1
            })
        };
        let places: Vec<Option<u32>> = counts.iter().map(place).collect();
        // Within these bounds the square of a value has all its digits.
        let scale = (-largest.log2().ceil().clamp(-400.0, 400.0)).exp2();
        let mut inverted = Self {
            scale: if largest > 0.0 { scale } else { 1.0 },
            places,
            width: (width as usize).next_multiple_of(LANES),
            blocks: Vec::new(),
            longest: 0.0,
        };
        // Many columns ask for large blocks, since each block has a list of each.
        let mut size = ROWS;
        while size < MOST && rows.dim().saturating_mul(rows.len()) > 4 * size * rows.stored() {
            size *= 2;
        }
        inverted.blocks = (0..rows.len().div_ceil(size))
            .into_par_iter()
            .map(|block| {
                let block = block * size..rows.len().min((block + 1) * size);
                inverted.block(rows, block)
            })
            .collect();
        let halves = inverted.blocks.iter().flat_map(Block::halves);
        let largest = halves.fold(0.0_f32, |a, &b| a.max(b));
        inverted.longest = (2.0 * f64::from(largest)).sqrt();
        inverted
    }

    fn block(&self, all: &SparseRows, rows: Range<usize>) -> Block {
        let mut starts = vec![0_u32; all.dim() + 1];
        let rare = |column: u32| self.places[column as usize].is_none();
        for row in rows.clone() {
            for &column in all.parts(row).0.iter().filter(|&&column| rare(column)) {
                starts[column as usize + 1] += 1;
            }
        }
        for column in 0..all.dim() {
            starts[column + 1] += starts[column];
        }
        let stored = starts.last().copied().unwrap_or(0) as usize;
        let mut block = Block {
            rows: rows.clone(),
            places: vec![0; stored],
            values: vec![0.0; stored],
            frequent: vec![0.0; rows.len() * self.width],
            lengths: Vec::with_capacity(rows.len()),
            halves: Vec::with_capacity(rows.len()),
            starts,
        };
        let mut next = block.starts.clone();
        for row in rows.clone() {
            let at = row - rows.start;
            let (mut frequent, mut square) = (0.0, 0.0);
            for (column, value) in all.row(row) {
                let value = value * self.scale;
                square += value * value;
                if let Some(place) = self.places[column as usize] {
                    frequent += value * value;
                    block.frequent[at * self.width + place as usize] = value as f32;
                } else {
                    let next = &mut next[column as usize];
                    block.places[*next as usize] = at as u16;
                    block.values[*next as usize] = value as f32;
                    *next += 1;
                }
            }
            block.lengths.push(frequent.sqrt() as f32);
            block.halves.push((square / 2.0) as f32);
        }
        // Up to whole groups, with rows that are infinitely far.
        let whole = rows.len().next_multiple_of(TOGETHER);
        block.lengths.resize(whole, 0.0);
        block.halves.resize(whole, f32::INFINITY);
        block
    }

    pub(super) fn probe(&self, row: impl Iterator<Item = (u32, f64)>) -> Probe {
        let mut probe = Probe {
            rare: Vec::new(),
            frequent: vec![0.0; self.width],
            length: 0.0,
        };
        let mut square = 0.0;
        for (column, value) in row {
            let value = value * self.scale;
            if let Some(place) = self.places[column as usize] {
                square += value * value;
                probe.frequent[place as usize] = value as f32;
            } else {
                probe.rare.push((column, value as f32));
            }
        }
        probe.length = square.sqrt() as f32;
        probe
    }
}

impl Block {
    fn halves(&self) -> &[f32] {
        &self.halves[..self.rows.len()]
    }

    /// Appends, for each row of the block, a bound of its product less half its square (filled up
    /// with what no row is as bad as), and the greatest of each [`TOGETHER`] of them. `sums` holds zeros before and after.
    pub(super) fn bounds(
        &self,
        probe: &Probe,
        sums: &mut [f32; MOST],
        bounds: &mut Vec<f32>,
        greatest: &mut Vec<f32>,
    ) {
        for &(column, value) in &probe.rare {
            let column = column as usize;
            let list = self.starts[column] as usize..self.starts[column + 1] as usize;
            for (&place, &weight) in self.places[list.clone()].iter().zip(&self.values[list]) {
                sums[usize::from(place)] += value * weight;
            }
        }
        let length = probe.length;
        let (sums, _) = sums.as_chunks_mut::<TOGETHER>();
        let (lengths, _) = self.lengths.as_chunks::<TOGETHER>();
        let (halves, _) = self.halves.as_chunks::<TOGETHER>();
        for ((sums, lengths), halves) in sums.iter_mut().zip(lengths).zip(halves) {
            let mut few = [0.0; TOGETHER];
            for (at, bound) in few.iter_mut().enumerate() {
                *bound = sums[at] + length * lengths[at] - halves[at];
            }
            bounds.extend_from_slice(&few);
            *sums = [0.0; TOGETHER];
            let mut count = TOGETHER;
            while count > 1 {
                count /= 2;
                for at in 0..count {
                    let other = few[at + count];
                    few[at] = if other > few[at] { other } else { few[at] };
                }
            }
            greatest.push(few[0]);
        }
    }

    /// By how much the bound of a row is too large.
    pub(super) fn slack(&self, probe: &Probe, row: usize) -> f32 {
        probe.length * self.lengths[row] - self.frequent(probe, row)
    }

    /// The product of a row of the block over the frequent columns.
    fn frequent(&self, probe: &Probe, row: usize) -> f32 {
        let width = probe.frequent.len();
        let (own, _) = probe.frequent.as_chunks::<LANES>();
        let (other, _) = self.frequent[row * width..][..width].as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for (own, other) in own.iter().zip(other) {
            for ((sum, own), other) in sums.iter_mut().zip(own).zip(other) {
                *sum += own * other;
            }
        }
        sums.iter().sum()
    }
}
