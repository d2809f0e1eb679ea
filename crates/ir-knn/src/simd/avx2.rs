//! Processors with 256-bit registers.

use std::arch::x86_64::*;

use super::super::tile::{Probe, Stats};
use super::{QUERIES, Quantised, ROWS, portable, prefetch};

#[target_feature(enable = "avx2,fma")]
pub(super) fn dot(query: &[f64], row: &[f32]) -> f64 {
    portable::sum(query, row, |sum, query, row| query.mul_add(row, sum))
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn dot_and_square(query: &[f64], row: &[f32]) -> (f64, f64) {
    let square = portable::sum(query, row, |sum, _, row| row.mul_add(row, sum));
    (dot(query, row), square)
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn distance(query: &[f64], row: &[f32]) -> f64 {
    portable::distance(query, row)
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn quantise(row: &[f32], codes: &mut [u8]) -> Quantised {
    portable::quantise(row, codes)
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn products(records: &[u8], which: &[u32], query: &[i8], sums: &mut [i32]) {
    let record = |which: u32| &records[which as usize * query.len()..][..query.len()];
    let (parts, _) = query.as_chunks::<16>();
    for (at, (&this, sum)) in which.iter().zip(sums).enumerate() {
        if let Some(&next) = which.get(at + 2) {
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

/// Rows that one pass takes: two registers.
const PART: usize = 16;

#[target_feature(enable = "avx2,fma")]
pub(super) fn screen(
    codes: &[u8],
    stats: Stats<'_>,
    queries: &[i8],
    probes: &[Probe],
    bits: &mut [u64; QUERIES],
) {
    *bits = [0; QUERIES];
    for part in 0..ROWS / PART {
        match probes.len() {
            1 => some::<1>(part, codes, stats, queries, probes, bits),
            2 => some::<2>(part, codes, stats, queries, probes, bits),
            3 => some::<3>(part, codes, stats, queries, probes, bits),
            4 => some::<4>(part, codes, stats, queries, probes, bits),
            5 => some::<5>(part, codes, stats, queries, probes, bits),
            _ => some::<QUERIES>(part, codes, stats, queries, probes, bits),
        }
    }
}

/// The product of bytes of this level adds pairs in 16 bits, which overflow; so bytes are widened
/// to 16 bits first, even and odd places apart.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn tile<const N: usize>(
    part: usize,
    codes: &[u8],
    queries: &[i8],
    starts: &[i32; N],
) -> [[__m256i; 2]; N] {
    let mut sums = [[_mm256_setzero_si256(); 2]; N];
    for (sums, &start) in sums.iter_mut().zip(starts) {
        *sums = [_mm256_set1_epi32(start); 2];
    }
    let low = _mm256_set1_epi16(0xff);
    let (rows, _) = codes.as_chunks::<{ 4 * ROWS }>();
    let (queries, _) = queries.as_chunks::<4>();
    for (rows, queries) in rows.iter().zip(queries.as_chunks::<N>().0) {
        let (halves, _) = rows[4 * PART * part..][..4 * PART].as_chunks::<32>();
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
fn some<const N: usize>(
    part: usize,
    codes: &[u8],
    stats: Stats<'_>,
    queries: &[i8],
    probes: &[Probe],
    bits: &mut [u64; QUERIES],
) {
    let Some(probes) = probes.first_chunk::<N>() else {
        return;
    };
    let sums = tile(
        part,
        codes,
        queries,
        &probes.each_ref().map(|probe| probe.start),
    );
    for ((sums, probe), bits) in sums.iter().zip(probes).zip(bits) {
        for (half, &sum) in sums.iter().enumerate() {
            let of = |values: &[f32; ROWS]| {
                let (eights, _) = values.as_chunks::<8>();
                // SAFETY: 8 floats are read from an array of 8 floats, at any alignment.
                unsafe { _mm256_loadu_ps(eights[2 * part + half].as_ptr()) }
            };
            let bound = _mm256_mul_ps(_mm256_set1_ps(probe.error), of(stats.norm));
            let bound = _mm256_fmadd_ps(_mm256_set1_ps(probe.lift), of(stats.lift), bound);
            let bound = _mm256_fmadd_ps(_mm256_set1_ps(probe.norm), of(stats.error), bound);
            let bound = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), of(stats.scale), bound);
            let threshold = _mm256_set1_ps(probe.threshold);
            let above = _mm256_cmp_ps::<_CMP_NLE_UQ>(bound, threshold);
            let mask = u64::from(_mm256_movemask_ps(above) as u8);
            *bits |= mask << (PART * part + 8 * half);
        }
    }
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn dots(
    codes: &[u8],
    queries: &[i8],
    starts: &[i32],
    sums: &mut [[i32; ROWS]; QUERIES],
) {
    for part in 0..ROWS / PART {
        match starts.len() {
            1 => some_dots::<1>(part, codes, queries, starts, sums),
            2 => some_dots::<2>(part, codes, queries, starts, sums),
            3 => some_dots::<3>(part, codes, queries, starts, sums),
            4 => some_dots::<4>(part, codes, queries, starts, sums),
            5 => some_dots::<5>(part, codes, queries, starts, sums),
            _ => some_dots::<QUERIES>(part, codes, queries, starts, sums),
        }
    }
}

#[target_feature(enable = "avx2,fma")]
#[inline]
fn some_dots<const N: usize>(
    part: usize,
    codes: &[u8],
    queries: &[i8],
    starts: &[i32],
    sums: &mut [[i32; ROWS]; QUERIES],
) {
    let Some(starts) = starts.first_chunk::<N>() else {
        return;
    };
    for (own, out) in tile(part, codes, queries, starts).iter().zip(sums) {
        let (eights, _) = out.as_chunks_mut::<8>();
        for (half, &own) in own.iter().enumerate() {
            // SAFETY: 8 numbers are written to an array of 8, at any alignment.
            unsafe { _mm256_storeu_si256(eights[2 * part + half].as_mut_ptr().cast(), own) };
        }
    }
}

/// Does a job whose loops the compiler may then turn into instructions of this level.
#[target_feature(enable = "avx2,fma")]
#[inline]
pub(super) fn wide<R>(job: impl FnOnce() -> R) -> R {
    job()
}
