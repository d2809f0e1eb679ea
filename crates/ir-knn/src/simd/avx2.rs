//! Kernels with AVX2 and FMA instructions.

use std::arch::x86_64::*;

use super::portable::{self, PRODUCT_LANES};
use super::tile::{
    MAX_QUERIES, QuantizedRow, ScreenQuery, Screened, TILE_ROWS, TileStats, prefetch,
};

#[target_feature(enable = "avx2,fma")]
pub(super) fn dot(query: &[f64], row: &[f32]) -> f64 {
    portable::sum(query, row, |sum, query, row| query.mul_add(row, sum))
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn dot_and_squared_norm(query: &[f64], row: &[f32]) -> (f64, f64) {
    let squared_norm = portable::sum(query, row, |sum, _, row| row.mul_add(row, sum));
    (dot(query, row), squared_norm)
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn squared_distance(query: &[f64], row: &[f32]) -> f64 {
    portable::squared_distance(query, row)
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn products(
    lanes: &[[f32; PRODUCT_LANES]],
    rows: &[f32],
    products: &mut [[f32; PRODUCT_LANES]],
) {
    by_row_blocks!(lanes, rows, products, products_n);
}

#[target_feature(enable = "avx2,fma")]
#[inline]
fn products_n<const N: usize>(
    lanes: &[[f32; PRODUCT_LANES]],
    rows: [&[f32]; N],
    products: &mut [[f32; PRODUCT_LANES]; N],
) {
    let mut sums = [[_mm256_setzero_ps(); 2]; N];
    for (at, lanes) in lanes.iter().enumerate() {
        // SAFETY: 16 floats are read from an array of 16, at any alignment.
        let lanes = unsafe {
            [
                _mm256_loadu_ps(lanes.as_ptr()),
                _mm256_loadu_ps(lanes.as_ptr().add(8)),
            ]
        };
        for (sums, row) in sums.iter_mut().zip(rows) {
            let value = _mm256_set1_ps(row[at]);
            *sums = [0, 1].map(|half| _mm256_fmadd_ps(value, lanes[half], sums[half]));
        }
    }
    for (sums, products) in sums.into_iter().zip(products) {
        // SAFETY: 16 floats are written to an array of 16, at any alignment.
        unsafe {
            _mm256_storeu_ps(products.as_mut_ptr(), sums[0]);
            _mm256_storeu_ps(products.as_mut_ptr().add(8), sums[1]);
        }
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn quantize(row: &[f32], codes: &mut [u8]) -> QuantizedRow {
    portable::quantize(row, codes)
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn dot_records(records: &[u8], indices: &[u32], query: &[i8], sums: &mut [i32]) {
    let record = |index: u32| &records[index as usize * query.len()..][..query.len()];
    let (parts, _) = query.as_chunks::<16>();
    for (at, (&this, sum)) in indices.iter().zip(sums).enumerate() {
        if let Some(&next) = indices.get(at + 2) {
            prefetch(record(next));
        }
        let mut four = [_mm256_setzero_si256(); 2];
        let (codes, _) = record(this).as_chunks::<16>();
        for (at, (codes, query)) in codes.iter().zip(parts).enumerate() {
            // SAFETY: 16 bytes are read from arrays of 16 bytes, at any alignment.
            let (codes, query) = unsafe {
                (
                    _mm_loadu_si128(codes.as_ptr().cast()),
                    _mm_loadu_si128(query.as_ptr().cast()),
                )
            };
            let (codes, query) = (_mm256_cvtepu8_epi16(codes), _mm256_cvtepi8_epi16(query));
            let lane = &mut four[at % 2];
            *lane = _mm256_add_epi32(*lane, _mm256_madd_epi16(codes, query));
        }
        let eight = _mm256_add_epi32(four[0], four[1]);
        let upper = _mm256_extracti128_si256::<1>(eight);
        let four = _mm_add_epi32(_mm256_castsi256_si128(eight), upper);
        let two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
        *sum = _mm_cvtsi128_si32(two).wrapping_add(_mm_extract_epi32::<1>(two));
    }
}

/// Rows per pass: two registers.
const PASS_ROWS: usize = 16;

#[target_feature(enable = "avx2,fma")]
pub(super) fn screen(
    codes: &[u8],
    stats: TileStats<'_>,
    query_codes: &[i8],
    queries: &[ScreenQuery],
    screened: &mut Screened,
) {
    screened.passed = [0; MAX_QUERIES];
    for pass in 0..TILE_ROWS / PASS_ROWS {
        by_query_count!(
            queries.len(),
            screen_n(pass, codes, stats, query_codes, queries, screened)
        )
    }
}

/// AVX2's product of bytes adds pairs of products as i16, which overflows, so bytes are widened to
/// i16 first, even and odd dimensions apart.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn tile_sums<const N: usize>(
    pass: usize,
    codes: &[u8],
    query_codes: &[i8],
    initial_sums: &[i32; N],
) -> [[__m256i; 2]; N] {
    let mut sums = [[_mm256_setzero_si256(); 2]; N];
    for (sums, &initial) in sums.iter_mut().zip(initial_sums) {
        *sums = [_mm256_set1_epi32(initial); 2];
    }
    let low = _mm256_set1_epi16(0xff);
    let (rows, _) = codes.as_chunks::<{ 4 * TILE_ROWS }>();
    let (queries, _) = query_codes.as_chunks::<4>();
    for (rows, queries) in rows.iter().zip(queries.as_chunks::<N>().0) {
        let (halves, _) = rows[4 * PASS_ROWS * pass..][..4 * PASS_ROWS].as_chunks::<32>();
        let mut even = [_mm256_setzero_si256(); 2];
        let mut odd = even;
        for (half, bytes) in halves.iter().enumerate() {
            // SAFETY: 32 bytes are read from an array of 32 bytes, at any alignment.
            let loaded = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
            even[half] = _mm256_and_si256(loaded, low);
            odd[half] = _mm256_srli_epi16::<8>(loaded);
        }
        for (sums, &[a, b, c, d]) in sums.iter_mut().zip(queries) {
            let pair = |first: i8, second: i8| {
                let bits =
                    u32::from(i16::from(first) as u16) | u32::from(i16::from(second) as u16) << 16;
                _mm256_set1_epi32(bits as i32)
            };
            let (query_even, query_odd) = (pair(a, c), pair(b, d));
            for half in 0..2 {
                let products = _mm256_add_epi32(
                    _mm256_madd_epi16(even[half], query_even),
                    _mm256_madd_epi16(odd[half], query_odd),
                );
                sums[half] = _mm256_add_epi32(sums[half], products);
            }
        }
    }
    sums
}

#[target_feature(enable = "avx2,fma")]
#[inline]
fn screen_n<const N: usize>(
    pass: usize,
    codes: &[u8],
    stats: TileStats<'_>,
    query_codes: &[i8],
    queries: &[ScreenQuery],
    screened: &mut Screened,
) {
    let Some(queries) = queries.first_chunk::<N>() else {
        return;
    };
    let sums = tile_sums(
        pass,
        codes,
        query_codes,
        &queries.each_ref().map(|query| query.initial_sum),
    );
    let results = screened.passed.iter_mut().zip(&mut screened.bounds);
    for ((sums, query), (passed, bounds)) in sums.iter().zip(queries).zip(results) {
        for (half, &sum) in sums.iter().enumerate() {
            let load_stat = |values: &[f32; TILE_ROWS]| {
                let (eights, _) = values.as_chunks::<8>();
                // SAFETY: 8 floats are read from an array of 8 floats, at any alignment.
                unsafe { _mm256_loadu_ps(eights[2 * pass + half].as_ptr()) }
            };
            let bound = _mm256_mul_ps(_mm256_set1_ps(query.error), load_stat(stats.norm));
            let bound = _mm256_fmadd_ps(_mm256_set1_ps(query.bias), load_stat(stats.bias), bound);
            let bound = _mm256_fmadd_ps(_mm256_set1_ps(query.norm), load_stat(stats.error), bound);
            let bound = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), load_stat(stats.scale), bound);
            let threshold = _mm256_set1_ps(query.threshold);
            let above = _mm256_cmp_ps::<_CMP_NLE_UQ>(bound, threshold);
            let mask = u64::from(_mm256_movemask_ps(above) as u8);
            *passed |= mask << (PASS_ROWS * pass + 8 * half);
            let (eights, _) = bounds.as_chunks_mut::<8>();
            // SAFETY: 8 floats are written to an array of 8 floats, at any alignment.
            unsafe { _mm256_storeu_ps(eights[2 * pass + half].as_mut_ptr(), bound) };
        }
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn dot_tile(
    codes: &[u8],
    query_codes: &[i8],
    initial_sums: &[i32],
    sums: &mut [[i32; TILE_ROWS]; MAX_QUERIES],
) {
    for pass in 0..TILE_ROWS / PASS_ROWS {
        by_query_count!(
            initial_sums.len(),
            dot_tile_n(pass, codes, query_codes, initial_sums, sums)
        )
    }
}

#[target_feature(enable = "avx2,fma")]
#[inline]
fn dot_tile_n<const N: usize>(
    pass: usize,
    codes: &[u8],
    query_codes: &[i8],
    initial_sums: &[i32],
    sums: &mut [[i32; TILE_ROWS]; MAX_QUERIES],
) {
    let Some(initial_sums) = initial_sums.first_chunk::<N>() else {
        return;
    };
    for (found, out) in tile_sums(pass, codes, query_codes, initial_sums)
        .iter()
        .zip(sums)
    {
        let (eights, _) = out.as_chunks_mut::<8>();
        for (half, &found) in found.iter().enumerate() {
            // SAFETY: 8 numbers are written to an array of 8, at any alignment.
            unsafe { _mm256_storeu_si256(eights[2 * pass + half].as_mut_ptr().cast(), found) };
        }
    }
}

#[target_feature(enable = "avx2,fma")]
#[inline]
pub(super) fn vectorized<R>(closure: impl FnOnce() -> R) -> R {
    closure()
}
