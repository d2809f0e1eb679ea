//! Processors with 512-bit registers and the sums of products of bytes (VNNI).

use std::arch::x86_64::*;

use super::super::align::LINE;
use super::super::tile::{Probe, Stats};
use super::portable::{self, LANES};
use super::{QUERIES, Quantised, ROWS, prefetch};

/// [`portable::sum`] with its 32 lanes in four registers: the compiler keeps them in memory between
/// the loop and the rest, which costs a third of the time of a row of 384 that is in the cache.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
#[inline]
fn sum(query: &[f64], row: &[f32], add: impl Fn(__m512d, __m512d, __m512d) -> __m512d) -> f64 {
    let mut lanes = [_mm512_setzero_pd(); 4];
    let mut step = |query: &[f64; LANES], row: &[f32; LANES]| {
        let parts = query.as_chunks::<8>().0.iter().zip(row.as_chunks::<8>().0);
        for (lanes, (query, row)) in lanes.iter_mut().zip(parts) {
            // SAFETY: 8 doubles and 8 floats are read from arrays of 8, at any alignment.
            let (query, row) = unsafe {
                let row = _mm256_loadu_ps(row.as_ptr());
                (_mm512_loadu_pd(query.as_ptr()), _mm512_cvtps_pd(row))
            };
            *lanes = add(*lanes, query, row);
        }
    };
    let (queries, query_rest) = query.as_chunks::<LANES>();
    let (rows, row_rest) = row.as_chunks::<LANES>();
    for (query, row) in queries.iter().zip(rows) {
        step(query, row);
    }
    if !row_rest.is_empty() {
        // Zeros add nothing.
        let (mut query, mut row) = ([0.0; LANES], [0.0; LANES]);
        query[..query_rest.len()].copy_from_slice(query_rest);
        row[..row_rest.len()].copy_from_slice(row_rest);
        step(&query, &row);
    }
    let [a, b, c, d] = lanes;
    let eight = _mm512_add_pd(_mm512_add_pd(a, c), _mm512_add_pd(b, d));
    let upper = _mm512_extractf64x4_pd::<1>(eight);
    let four = _mm256_add_pd(_mm512_castpd512_pd256(eight), upper);
    let upper = _mm256_extractf128_pd::<1>(four);
    let two = _mm_add_pd(_mm256_castpd256_pd128(four), upper);
    _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) fn dot(query: &[f64], row: &[f32]) -> f64 {
    sum(query, row, |sum, query, row| {
        _mm512_fmadd_pd(query, row, sum)
    })
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) fn dot_and_square(query: &[f64], row: &[f32]) -> (f64, f64) {
    let square = sum(query, row, |sum, _, row| _mm512_fmadd_pd(row, row, sum));
    (dot(query, row), square)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) fn distance(query: &[f64], row: &[f32]) -> f64 {
    sum(query, row, |sum, query, row| {
        let apart = _mm512_sub_pd(query, row);
        // Squares of differences are not exact: rounded first, as everywhere.
        _mm512_add_pd(sum, _mm512_mul_pd(apart, apart))
    })
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) fn quantise(row: &[f32], codes: &mut [u8]) -> Quantised {
    portable::quantise(row, codes)
}

/// Four records at a time, while the next four are on their way from the memory.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub(super) fn products(records: &[u8], which: &[u32], query: &[i8], sums: &mut [i32]) {
    let record = |which: u32| &records[which as usize * query.len()..][..query.len()];
    let (queries, _) = query.as_chunks::<LINE>();
    let (fours, rest) = which.as_chunks::<4>();
    let (four_sums, rest_sums) = sums.split_at_mut(sums.len().min(4 * fours.len()));
    let mut ahead = which.iter();
    let mut prefetch_some = |count: usize| {
        for &next in ahead.by_ref().take(count) {
            prefetch(record(next));
        }
    };
    prefetch_some(8);
    for (four, sums) in fours.iter().zip(four_sums.as_chunks_mut::<4>().0) {
        let rows = four.map(|which| record(which).as_chunks::<LINE>().0);
        let mut lanes = [_mm512_setzero_si512(); 4];
        for (at, query) in queries.iter().enumerate() {
            let query = load(query);
            for (lanes, row) in lanes.iter_mut().zip(rows) {
                *lanes = _mm512_dpbusd_epi32(*lanes, load(&row[at]), query);
            }
        }
        prefetch_some(4);
        *sums = lanes.map(|lanes| _mm512_reduce_add_epi32(lanes));
    }
    for (&which, sum) in rest.iter().zip(rest_sums) {
        let mut lanes = _mm512_setzero_si512();
        for (row, query) in record(which).as_chunks::<LINE>().0.iter().zip(queries) {
            lanes = _mm512_dpbusd_epi32(lanes, load(row), load(query));
        }
        *sum = _mm512_reduce_add_epi32(lanes);
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load<T: bytemuck::Pod>(bytes: &[T; LINE]) -> __m512i {
    const { assert!(size_of::<T>() == 1) };
    // SAFETY: 64 bytes are read from an array of 64 bytes, at any alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub(super) fn screen(
    codes: &[u8],
    stats: Stats<'_>,
    queries: &[i8],
    probes: &[Probe],
    bits: &mut [u64; QUERIES],
) {
    match probes.len() {
        1 => some::<1>(codes, stats, queries, probes, bits),
        2 => some::<2>(codes, stats, queries, probes, bits),
        3 => some::<3>(codes, stats, queries, probes, bits),
        4 => some::<4>(codes, stats, queries, probes, bits),
        5 => some::<5>(codes, stats, queries, probes, bits),
        _ => some::<QUERIES>(codes, stats, queries, probes, bits),
    }
}

/// Four registers hold the rows, and four a query their sums: 24 for six queries.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
#[inline]
fn tile<const N: usize>(codes: &[u8], queries: &[i8], starts: &[i32; N]) -> [[__m512i; 4]; N] {
    let mut sums = [[_mm512_setzero_si512(); 4]; N];
    for (sums, &start) in sums.iter_mut().zip(starts) {
        *sums = [_mm512_set1_epi32(start); 4];
    }
    let (rows, _) = codes.as_chunks::<{ 4 * ROWS }>();
    let (queries, _) = queries.as_chunks::<4>();
    for (rows, queries) in rows.iter().zip(queries.as_chunks::<N>().0) {
        let (parts, _) = rows.as_chunks::<64>();
        let mut loaded = [_mm512_setzero_si512(); 4];
        for (loaded, part) in loaded.iter_mut().zip(parts) {
            // SAFETY: 64 bytes are read from an array of 64 bytes, at any alignment.
            *loaded = unsafe { _mm512_loadu_si512(part.as_ptr().cast()) };
        }
        for (sums, query) in sums.iter_mut().zip(queries) {
            let query = _mm512_set1_epi32(i32::from_ne_bytes(query.map(|code| code as u8)));
            for (sum, &rows) in sums.iter_mut().zip(&loaded) {
                *sum = _mm512_dpbusd_epi32(*sum, rows, query);
            }
        }
    }
    sums
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
#[inline]
fn some<const N: usize>(
    codes: &[u8],
    stats: Stats<'_>,
    queries: &[i8],
    probes: &[Probe],
    bits: &mut [u64; QUERIES],
) {
    let Some(probes) = probes.first_chunk::<N>() else {
        return;
    };
    let sums = tile(codes, queries, &probes.each_ref().map(|probe| probe.start));
    for ((sums, probe), bits) in sums.iter().zip(probes).zip(bits) {
        *bits = 0;
        for (part, &sum) in sums.iter().enumerate() {
            let of = |values: &[f32; ROWS]| {
                let (parts, _) = values.as_chunks::<16>();
                // SAFETY: 16 floats are read from an array of 16 floats, at any alignment.
                unsafe { _mm512_loadu_ps(parts[part].as_ptr()) }
            };
            let bound = _mm512_mul_ps(_mm512_set1_ps(probe.error), of(stats.norm));
            let bound = _mm512_fmadd_ps(_mm512_set1_ps(probe.lift), of(stats.lift), bound);
            let bound = _mm512_fmadd_ps(_mm512_set1_ps(probe.norm), of(stats.error), bound);
            let bound = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), of(stats.scale), bound);
            let threshold = _mm512_set1_ps(probe.threshold);
            let mask = _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(bound, threshold);
            *bits |= u64::from(mask) << (16 * part);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub(super) fn dots(
    codes: &[u8],
    queries: &[i8],
    starts: &[i32],
    sums: &mut [[i32; ROWS]; QUERIES],
) {
    match starts.len() {
        1 => some_dots::<1>(codes, queries, starts, sums),
        2 => some_dots::<2>(codes, queries, starts, sums),
        3 => some_dots::<3>(codes, queries, starts, sums),
        4 => some_dots::<4>(codes, queries, starts, sums),
        5 => some_dots::<5>(codes, queries, starts, sums),
        _ => some_dots::<QUERIES>(codes, queries, starts, sums),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
#[inline]
fn some_dots<const N: usize>(
    codes: &[u8],
    queries: &[i8],
    starts: &[i32],
    sums: &mut [[i32; ROWS]; QUERIES],
) {
    let Some(starts) = starts.first_chunk::<N>() else {
        return;
    };
    for (own, out) in tile(codes, queries, starts).iter().zip(sums) {
        for (&own, out) in own.iter().zip(out.as_chunks_mut::<16>().0) {
            // SAFETY: 16 numbers are written to an array of 16, at any alignment.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), own) };
        }
    }
}

/// Does a job whose loops the compiler may then turn into instructions of this level.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
#[inline]
pub(super) fn wide<R>(job: impl FnOnce() -> R) -> R {
    job()
}
