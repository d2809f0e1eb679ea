//! Kernels in plain Rust. The other levels compile some of them for their processors.

use super::super::tile::{Probe, Stats};
use super::{QUERIES, Quantised, ROWS};

/// Sums run side by side in so many places, whatever the processor.
pub(crate) const LANES: usize = 32;

/// The sum over all places, to which `add` adds one: lane by lane, then the lanes by halves.
#[inline(always)]
pub(super) fn sum(query: &[f64], row: &[f32], add: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let (queries, query_rest) = query.as_chunks::<LANES>();
    let (rows, row_rest) = row.as_chunks::<LANES>();
    for (query, row) in queries.iter().zip(rows) {
        for lane in 0..LANES {
            lanes[lane] = add(lanes[lane], query[lane], f64::from(row[lane]));
        }
    }
    for ((lane, &query), &row) in lanes.iter_mut().zip(query_rest).zip(row_rest) {
        *lane = add(*lane, query, f64::from(row));
    }
    fold(lanes)
}

/// The sum of all lanes.
#[inline(always)]
pub(crate) fn fold(mut lanes: [f64; LANES]) -> f64 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

#[inline(always)]
pub(super) fn dot(query: &[f64], row: &[f32]) -> f64 {
    sum(query, row, |sum, query, row| sum + query * row)
}

#[inline(always)]
pub(super) fn dot_and_square(query: &[f64], row: &[f32]) -> (f64, f64) {
    let square = sum(query, row, |sum, _, row| sum + row * row);
    (dot(query, row), square)
}

#[inline(always)]
pub(super) fn distance(query: &[f64], row: &[f32]) -> f64 {
    sum(query, row, |sum, query, row| {
        sum + (query - row) * (query - row)
    })
}

/// Added to a number below 2²², it leaves the nearest whole number in the low bits.
const ROUND: f32 = 12_582_912.0;

/// Codes of one row: its components in steps of the largest over 127, to the nearest, plus 128.
/// Sums of squares run in 16 places, so that their rounding is known.
#[inline(always)]
pub(super) fn quantise(row: &[f32], codes: &mut [u8]) -> Quantised {
    const LANES: usize = 16;
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut tail = [0.0; LANES];
    tail[..rest.len()].copy_from_slice(rest);
    let mut most = [0.0_f32; LANES];
    for chunk in chunks.iter().chain([&tail]) {
        for lane in 0..LANES {
            let size = chunk[lane].abs();
            most[lane] = if size > most[lane] { size } else { most[lane] };
        }
    }
    let most = most.iter().fold(0.0_f32, |a, &b| a.max(b));
    let scale = most / 127.0;
    let steps = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    let (mut errors, mut squares) = ([0.0; LANES], [0.0; LANES]);
    let mut step = |chunk: &[f32; LANES]| {
        let mut bytes = [0; LANES];
        for lane in 0..LANES {
            let exact = chunk[lane] * steps;
            let rounded = exact + ROUND;
            let error = exact - (rounded - ROUND);
            errors[lane] += error * error;
            squares[lane] += exact * exact;
            bytes[lane] = (rounded.to_bits() as u8).wrapping_add(128);
        }
        bytes
    };
    let (whole, last) = codes.split_at_mut(chunks.len() * LANES);
    for (chunk, codes) in chunks.iter().zip(whole.as_chunks_mut::<LANES>().0) {
        *codes = step(chunk);
    }
    last.copy_from_slice(&step(&tail)[..last.len()]);
    Quantised {
        scale,
        error: errors.iter().sum(),
        square: squares.iter().sum(),
    }
}

#[inline(always)]
pub(super) fn products(records: &[u8], which: &[u32], query: &[i8], sums: &mut [i32]) {
    for (&which, sum) in which.iter().zip(sums) {
        let record = &records[which as usize * query.len()..][..query.len()];
        let products = record.iter().zip(query);
        *sum = products
            .map(|(&a, &b)| i32::from(a) * i32::from(b))
            .fold(0, i32::wrapping_add);
    }
}

#[inline(always)]
pub(super) fn screen(
    codes: &[u8],
    stats: Stats<'_>,
    queries: &[i8],
    probes: &[Probe],
    bits: &mut [u64; QUERIES],
) {
    let count = probes.len();
    for (at, (probe, bits)) in probes.iter().zip(bits).enumerate() {
        let sums = tile(codes, queries, count, at, probe.start);
        *bits = 0;
        for (row, &sum) in sums.iter().enumerate() {
            let mut bound = probe.error * stats.norm[row];
            bound += probe.lift * stats.lift[row];
            bound += probe.norm * stats.error[row];
            bound += sum as f32 * stats.scale[row];
            // NaN is not below.
            let below = bound <= probe.threshold;
            *bits |= u64::from(!below) << row;
        }
    }
}

/// The products of one of `count` queries with the rows of a tile.
fn tile(codes: &[u8], queries: &[i8], count: usize, at: usize, start: i32) -> [i32; ROWS] {
    let mut sums = [start; ROWS];
    for (rows, queries) in codes
        .chunks_exact(4 * ROWS)
        .zip(queries.chunks_exact(4 * count))
    {
        let query = &queries[4 * at..][..4];
        for (sum, row) in sums.iter_mut().zip(rows.as_chunks::<4>().0) {
            for place in 0..4 {
                let product = i32::from(row[place]) * i32::from(query[place]);
                *sum = sum.wrapping_add(product);
            }
        }
    }
    sums
}

pub(super) fn dots(
    codes: &[u8],
    queries: &[i8],
    starts: &[i32],
    sums: &mut [[i32; ROWS]; QUERIES],
) {
    for (at, (sums, &start)) in sums.iter_mut().zip(starts).enumerate() {
        *sums = tile(codes, queries, starts.len(), at, start);
    }
}

/// Does a job whose loops the compiler may then turn into instructions of this level.
#[inline]
pub(super) fn wide<R>(job: impl FnOnce() -> R) -> R {
    job()
}
