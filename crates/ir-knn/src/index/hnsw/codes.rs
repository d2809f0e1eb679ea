//! The vectors in 8 bits, one after another, as the graph is walked by them.
//!
//! The middle of the vectors, dimension by dimension, is taken off first (of their directions, under cosine), so that the
//! 8 bits tell apart what is far from the origin and close together. A vector is then y = s c: s a
//! step of its own, c whole numbers of at most 127. What is compared is, for a query z = t b,
//!
//! | similarity | key of a vector y for a query z |
//! |---|---|
//! | Euclidean, cosine (of directions) | ⟨z, y⟩ − ‖y‖²/2 = t (s ⟨b, c⟩ + lift / t), lift = −‖y‖²/2 |
//! | inner product, middle m | ⟨z, y⟩ + ⟨m, y⟩ for a vector as query, from which m was taken; ⟨z, y⟩ for another |
//!
//! The order of keys is that of the similarities, but for rounding to 8 bits. All steps are relative to the largest,
//! so nothing overflows.
//!
//! A record is the codes, 128 added, then zeros, and in its last eight bytes s and the lift: as
//! many lines of the cache as that takes.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::Similarity;
use crate::flat::align::{LINE, Lines};
use crate::flat::pages::enlarge;
use crate::flat::simd::Cpu;
use crate::flat::similarity::Wide;

/// Bytes at the end of a record: step and lift.
const END: usize = 8;

/// The bytes of a record.
pub(super) const fn record_size(dim: usize) -> usize {
    (dim + END).next_multiple_of(LINE)
}

/// A query as records are compared with.
#[derive(Debug, Default)]
pub(super) struct Probe {
    /// As long as a record, zeros after the codes.
    codes: Vec<i8>,
    /// Minus 128 times the sum of the codes.
    start: i32,
    /// The factor of the lift.
    lift: f32,
    /// The query itself, where there are no codes.
    pub(super) wide: Wide,
}

/// What all records are relative to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) cpu: Cpu,
    pub(super) similarity: Similarity,
    /// The middle.
    pub(super) middle: &'a [f32],
    /// The largest step, in which the others are.
    pub(super) step: f64,
}

/// All records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Records<'a> {
    pub(super) frame: Frame<'a>,
    pub(super) bytes: &'a [u8],
}

/// Vectors that the middle is taken from.
const SAMPLE: usize = 1023;

/// The middle of the first of `count` rows, which are in random order (of their directions, under
/// cosine): of each dimension the median, which a few vectors far off do not move.
pub(super) fn middle<'r>(
    similarity: Similarity,
    dim: usize,
    count: usize,
    row: impl Fn(usize) -> &'r [f32],
) -> Vec<f32> {
    let rows: Vec<(&[f32], f64)> = (0..count.min(SAMPLE))
        .map(row)
        .map(|row| (row, direction(similarity, row)))
        .collect();
    if rows.is_empty() {
        return vec![0.0; dim];
    }
    let mut values = Vec::with_capacity(rows.len());
    (0..dim)
        .map(|column| {
            values.clear();
            values.extend(
                rows.iter()
                    .map(|(row, factor)| f64::from(row[column]) * factor),
            );
            let half = values.len() / 2;
            let (_, &mut median, _) = values.select_nth_unstable_by(half, f64::total_cmp);
            median as f32
        })
        .collect()
}

/// What makes a vector a direction, under cosine; 1 otherwise.
fn direction(similarity: Similarity, row: &[f32]) -> f64 {
    match similarity {
        Similarity::Cosine => {
            let square: f64 = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            1.0 / square.sqrt()
        }
        _ => 1.0,
    }
}

/// A vector in 8 bits.
struct Coded {
    /// What one step is worth.
    step: f64,
    /// −‖y‖²/2 or ⟨m, y⟩.
    lift: f64,
}

/// Makes records.
pub(super) struct Coder<'a> {
    cpu: Cpu,
    similarity: Similarity,
    middle: &'a [f32],
    wide: Vec<f64>,
    narrow: Vec<f32>,
}

impl<'a> Coder<'a> {
    pub(super) fn new(cpu: Cpu, similarity: Similarity, middle: &'a [f32]) -> Self {
        Self {
            cpu,
            similarity,
            middle,
            wide: vec![0.0; middle.len()],
            narrow: vec![0.0; middle.len()],
        }
    }

    /// Codes a vector, 128 added; `off` is whether the middle is taken off.
    fn code(&mut self, row: &[f32], off: bool, codes: &mut [u8]) -> Coded {
        let factor = direction(self.similarity, row);
        let mut most = 0.0_f64;
        for ((wide, &value), &middle) in self.wide.iter_mut().zip(row).zip(self.middle) {
            *wide = f64::from(value) * factor;
            if off {
                *wide -= f64::from(middle);
            }
            most = most.max(wide.abs());
        }
        let inverse = if most > 0.0 { 1.0 / most } else { 0.0 };
        for (narrow, &wide) in self.narrow.iter_mut().zip(&self.wide) {
            *narrow = (wide * inverse) as f32;
        }
        let quantised = self.cpu.quantise(&self.narrow, codes);
        let lift = match self.similarity {
            Similarity::InnerProduct => self.cpu.dot(&self.wide, self.middle),
            _ => -self.wide.iter().map(|y| y * y).sum::<f64>() / 2.0,
        };
        Coded {
            step: most * f64::from(quantised.scale),
            lift,
        }
    }
}

/// Codes rows into records, in the order of `rows`; gives them and the largest step.
pub(super) fn code_all<'r>(
    cpu: Cpu,
    similarity: Similarity,
    middle: &[f32],
    count: usize,
    row: impl Fn(usize) -> &'r [f32] + Sync,
) -> (Lines, f64) {
    let dim = middle.len();
    let size = record_size(dim);
    let mut records = Lines::zeros(count * size);
    enlarge(records.as_ref());
    let known: Vec<Coded> = records
        .as_mut()
        .par_chunks_mut(size)
        .enumerate()
        .map_init(
            || Coder::new(cpu, similarity, middle),
            |coder, (at, record)| coder.code(row(at), true, &mut record[..dim]),
        )
        .collect();
    let largest = known.iter().fold(0.0, |most, coded| coded.step.max(most));
    let largest = if largest > 0.0 { largest } else { 1.0 };
    for (record, coded) in records.as_mut().chunks_exact_mut(size).zip(known) {
        let step = (coded.step / largest) as f32;
        let lift = (coded.lift / largest / largest) as f32;
        let lift = lift.clamp(f32::MIN, f32::MAX);
        record[size - END..size - 4].copy_from_slice(&step.to_le_bytes());
        record[size - 4..].copy_from_slice(&lift.to_le_bytes());
    }
    (records, largest)
}

impl Probe {
    fn finish(&mut self, size: usize, lift: f32) {
        let sum: i32 = self.codes.iter().map(|&code| i32::from(code)).sum();
        self.codes.resize(size, 0);
        self.start = -128 * sum;
        self.lift = lift;
    }
}

/// The factor of the lift for a query of a step: far from zero, so that nothing is infinite.
fn lift_factor(step: f64) -> f32 {
    (1.0 / step.clamp(1e-18, 1e18)) as f32
}

impl<'a> Records<'a> {
    fn size(self) -> usize {
        record_size(self.frame.middle.len())
    }

    pub(super) fn record(self, node: u32) -> &'a [u8] {
        &self.bytes[node as usize * self.size()..][..self.size()]
    }

    fn end(self, node: u32) -> (f32, f32) {
        let record = self.record(node);
        let (_, &[a, b, c, d, e, f, g, h]) = record.split_last_chunk().unwrap_or((&[], &[0; END]));
        (
            f32::from_le_bytes([a, b, c, d]),
            f32::from_le_bytes([e, f, g, h]),
        )
    }

    /// A query of the same length, finite, not zero under cosine.
    pub(super) fn probe(self, query: &[f32]) -> Probe {
        let Frame {
            cpu,
            similarity,
            middle,
            step,
        } = self.frame;
        let off = similarity != Similarity::InnerProduct;
        let mut codes = vec![0; middle.len()];
        let coded = Coder::new(cpu, similarity, middle).code(query, off, &mut codes);
        let mut probe = Probe {
            codes: codes.iter().map(|&code| (code ^ 0x80) as i8).collect(),
            ..Probe::default()
        };
        let lift = if off {
            lift_factor(coded.step / step)
        } else {
            0.0
        };
        probe.finish(self.size(), lift);
        probe
    }

    /// One of the vectors as a query.
    pub(super) fn probe_of(self, node: u32, probe: &mut Probe) {
        let codes = &self.record(node)[..self.frame.middle.len()];
        probe.codes.clear();
        probe
            .codes
            .extend(codes.iter().map(|&code| (code ^ 0x80) as i8));
        let (step, _) = self.end(node);
        probe.finish(self.size(), lift_factor(f64::from(step)));
    }

    /// The keys of some vectors. `sums` and `keys` are as long as `nodes`.
    pub(super) fn keys(self, probe: &Probe, nodes: &[u32], sums: &mut [i32], keys: &mut [Key]) {
        self.frame
            .cpu
            .products(self.bytes, nodes, &probe.codes, sums);
        for ((key, &node), &sum) in keys.iter_mut().zip(nodes).zip(&*sums) {
            let (step, lift) = self.end(node);
            let value = sum.wrapping_add(probe.start) as f32 * step + probe.lift * lift;
            *key = Key::new(value);
        }
    }
}

/// How near a vector is to a query: a 32-bit float, none of them NaN, as a number of the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Key(pub(super) u32);

impl Key {
    #[inline]
    pub(super) fn new(value: f32) -> Self {
        // NaN, which only a damaged file has, is as far as can be.
        let bits = match value.partial_cmp(&0.0) {
            None => return Self(0),
            Some(Ordering::Equal) => 0,
            Some(_) => value.to_bits(),
        };
        Self(if bits >> 31 == 0 {
            bits | 1 << 31
        } else {
            !bits
        })
    }
}
