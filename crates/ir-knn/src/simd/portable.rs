//! Kernels in portable Rust. The other levels compile some of them with their target features.

use super::tile::{MAX_QUERIES, QuantizedRow, ScreenQuery, Screened, TILE_ROWS, TileStats};

/// Number of partial sums of an exact score, at every level.
pub(crate) const LANES: usize = 32;

/// Sum over all dimensions, in [`LANES`] partial sums; `add` accumulates one dimension.
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

/// Number of vectors in a lane block: each SIMD lane holds a component of one of them.
pub(crate) const PRODUCT_LANES: usize = 16;

/// Inner products of rows with the vectors of a lane block: one fused multiply-add per dimension,
/// in order.
#[inline(always)]
pub(super) fn products(
    lanes: &[[f32; PRODUCT_LANES]],
    rows: &[f32],
    products: &mut [[f32; PRODUCT_LANES]],
) {
    for (row, sums) in rows.chunks_exact(lanes.len().max(1)).zip(products) {
        *sums = [0.0; PRODUCT_LANES];
        for (&value, lanes) in row.iter().zip(lanes) {
            for (sum, &lane) in sums.iter_mut().zip(lanes) {
                *sum = value.mul_add(lane, *sum);
            }
        }
    }
}

/// Pairwise sum of the lanes.
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
pub(super) fn dot_and_squared_norm(query: &[f64], row: &[f32]) -> (f64, f64) {
    let squared_norm = sum(query, row, |sum, _, row| sum + row * row);
    (dot(query, row), squared_norm)
}

#[inline(always)]
pub(super) fn squared_distance(query: &[f64], row: &[f32]) -> f64 {
    sum(query, row, |sum, query, row| {
        sum + (query - row) * (query - row)
    })
}

/// Adding this to a number below 2²² leaves the nearest integer in the low bits.
const ROUND: f32 = 12_582_912.0;

/// Codes of one row: its components divided by max |x| / 127, rounded to nearest, plus 128. Sums of
/// squares run in 16 lanes at every level, which bounds their rounding error.
#[inline(always)]
pub(super) fn quantize(row: &[f32], codes: &mut [u8]) -> QuantizedRow {
    const LANES: usize = 16;
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut tail = [0.0; LANES];
    tail[..rest.len()].copy_from_slice(rest);
    let mut max_abs = [0.0_f32; LANES];
    for chunk in chunks.iter().chain([&tail]) {
        for lane in 0..LANES {
            let size = chunk[lane].abs();
            max_abs[lane] = if size > max_abs[lane] {
                size
            } else {
                max_abs[lane]
            };
        }
    }
    let max_abs = max_abs.iter().fold(0.0_f32, |a, &b| a.max(b));
    let scale = max_abs / 127.0;
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
    QuantizedRow {
        scale,
        squared_error: errors.iter().sum(),
        squared_norm: squares.iter().sum(),
    }
}

#[inline(always)]
pub(super) fn dot_records(records: &[u8], indices: &[u32], query: &[i8], sums: &mut [i32]) {
    for (&index, sum) in indices.iter().zip(sums) {
        let record = &records[index as usize * query.len()..][..query.len()];
        let products = record.iter().zip(query);
        *sum = products
            .map(|(&a, &b)| i32::from(a) * i32::from(b))
            .fold(0, i32::wrapping_add);
    }
}

#[inline(always)]
pub(super) fn screen(
    codes: &[u8],
    stats: TileStats<'_>,
    query_codes: &[i8],
    queries: &[ScreenQuery],
    screened: &mut Screened,
) {
    let count = queries.len();
    let results = screened.passed.iter_mut().zip(&mut screened.bounds);
    for (at, (query, (passed, bounds))) in queries.iter().zip(results).enumerate() {
        let sums = tile_sums(codes, query_codes, count, at, query.initial_sum);
        *passed = 0;
        for (row, &sum) in sums.iter().enumerate() {
            let mut bound = query.error * stats.norm[row];
            bound += query.bias * stats.bias[row];
            bound += query.norm * stats.error[row];
            bound += sum as f32 * stats.scale[row];
            // A NaN passes.
            let below = bound <= query.threshold;
            *passed |= u64::from(!below) << row;
            bounds[row] = bound;
        }
    }
}

/// Inner products of query `at` of `count` with the rows of a tile.
fn tile_sums(
    codes: &[u8],
    query_codes: &[i8],
    count: usize,
    at: usize,
    initial_sum: i32,
) -> [i32; TILE_ROWS] {
    let mut sums = [initial_sum; TILE_ROWS];
    for (rows, queries) in codes
        .chunks_exact(4 * TILE_ROWS)
        .zip(query_codes.chunks_exact(4 * count))
    {
        let query = &queries[4 * at..][..4];
        for (sum, row) in sums.iter_mut().zip(rows.as_chunks::<4>().0) {
            for dim in 0..4 {
                let product = i32::from(row[dim]) * i32::from(query[dim]);
                *sum = sum.wrapping_add(product);
            }
        }
    }
    sums
}

pub(super) fn dot_tile(
    codes: &[u8],
    query_codes: &[i8],
    initial_sums: &[i32],
    sums: &mut [[i32; TILE_ROWS]; MAX_QUERIES],
) {
    for (at, (sums, &initial_sum)) in sums.iter_mut().zip(initial_sums).enumerate() {
        *sums = tile_sums(codes, query_codes, initial_sums.len(), at, initial_sum);
    }
}

#[inline]
pub(super) fn vectorized<R>(closure: impl FnOnce() -> R) -> R {
    closure()
}
