//! Microkernels with the dot products of AVX-512, AVX-VNNI and AVX2.

#![allow(
    unsafe_code,
    reason = "instructions of AVX-512 and AVX2, which the CPU was checked for"
)]

use std::arch::x86_64::*;

use pulp::bytemuck::cast;

use super::{LEAST_BF16, MicroTile, MicrokernelOperands, PANEL_COLUMNS};
use crate::kernels::aligned::prefetch;

/// Rows of a panel between a row and the one that is prefetched.
const PREFETCH_ROWS: usize = 24;

pub(super) fn has_avx512_vnni() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni")
}

pub(super) fn has_avx512_bf16() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512bf16")
}

pub(super) fn has_avx_vnni() -> bool {
    has_avx2() && is_x86_feature_detected!("avxvnni")
}

pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
}

/// Calls a function with the number of rows as constant.
macro_rules! with_rows {
    ($operands:ident, $sums:ident, $function:ident: $($rows:literal)*) => {
        match $operands.rows {
            $($rows => $function::<$rows>($operands, $sums),)*
            _ => $function::<12>($operands, $sums),
        }
    };
}

/// Pointers to the first `N` rows of a tile, each of which has as many words, `k_stride` apart, as
/// the panel has rows. Reads through them have no bounds checks.
#[inline(always)]
fn row_pointers<const N: usize>(operands: &MicrokernelOperands<'_>) -> [*const u32; N] {
    let mut rows = [operands.left.as_ptr(); N];
    for (at, row) in rows.iter_mut().enumerate() {
        *row = operands.row(at).as_ptr();
    }
    rows
}

pub(super) fn int8_avx512_vnni(operands: &MicrokernelOperands<'_>, sums: &mut MicroTile) {
    assert!(has_avx512_vnni());
    // SAFETY: the CPU has the features of the function.
    unsafe { with_rows!(operands, sums, int8_avx512: 1 2 3 4 5 6 7 8 9 10 11) }
}

#[target_feature(enable = "avx512f,avx512vnni")]
fn int8_avx512<const N: usize>(operands: &MicrokernelOperands<'_>, sums: &mut MicroTile) {
    assert_eq!(operands.k_stride, 1);
    let rows = row_pointers::<N>(operands);
    let mut totals = [[_mm512_setzero_si512(); 2]; N];
    for (k, panel) in operands.panel.iter().enumerate() {
        prefetch(
            operands.panel.as_flattened(),
            (k + PREFETCH_ROWS) * PANEL_COLUMNS,
            PANEL_COLUMNS,
        );
        let panel: [__m512i; 2] = cast(*panel);
        for (totals, row) in totals.iter_mut().zip(rows) {
            // SAFETY: the row has as many words as the panel has rows.
            let x = _mm512_set1_epi32(unsafe { row.add(k).read() } as i32);
            for (total, &y) in totals.iter_mut().zip(&panel) {
                *total = _mm512_dpbusd_epi32(*total, x, y);
            }
        }
    }
    for (sums, totals) in sums.0.iter_mut().zip(totals) {
        *sums = cast(totals);
    }
}

pub(super) fn bf16_avx512(operands: &MicrokernelOperands<'_>, sums: &mut MicroTile) {
    assert!(has_avx512_bf16());
    // SAFETY: the CPU has the features of the function.
    unsafe { with_rows!(operands, sums, bf16_avx512_rows: 1 2 3 4 5 6 7 8 9 10 11) }
}

#[target_feature(enable = "avx512f,avx512bf16")]
fn bf16_avx512_rows<const N: usize>(operands: &MicrokernelOperands<'_>, sums: &mut MicroTile) {
    // SAFETY: both types are 64 bytes of which all values are valid.
    let bf16 = |x: __m512i| unsafe { std::mem::transmute::<__m512i, __m512bh>(x) };
    let rows = row_pointers::<N>(operands);
    let mut totals = [[_mm512_setzero_ps(); 2]; N];
    for (k, panel) in operands.panel.iter().enumerate() {
        prefetch(
            operands.panel.as_flattened(),
            (k + PREFETCH_ROWS) * PANEL_COLUMNS,
            PANEL_COLUMNS,
        );
        let panel: [__m512i; 2] = cast(*panel);
        for (totals, row) in totals.iter_mut().zip(rows) {
            // SAFETY: the row has as many words, `k_stride` apart, as the panel has rows.
            let x = unsafe { row.add(k * operands.k_stride).read() };
            let x = bf16(_mm512_set1_epi32(x as i32));
            for (total, &y) in totals.iter_mut().zip(&panel) {
                *total = _mm512_dpbf16_ps(*total, x, bf16(y));
            }
        }
    }
    for (sums, totals) in sums.0.iter_mut().zip(totals) {
        *sums = cast(totals);
    }
}

/// Multiplies a row by a factor and rounds it to bf16 words with the bits of
/// [`round_to_bf16`](super::round_to_bf16).
pub(super) fn round_bf16_avx512(row: &[f32], factor: f32, words: &mut [u32]) {
    assert!(has_avx512_bf16());
    // SAFETY: the CPU has the features of the function.
    unsafe { round_bf16_row(row, factor, words) }
}

#[target_feature(enable = "avx512f,avx512bf16")]
fn round_bf16_row(row: &[f32], factor: f32, words: &mut [u32]) {
    /// Elements of a vector register of words.
    const ELEMENTS: usize = 32;
    let (least, factor) = (_mm512_set1_ps(LEAST_BF16), _mm512_set1_ps(factor));
    let round = |elements: [f32; ELEMENTS]| -> [u32; ELEMENTS / 2] {
        let [lower, upper]: [__m512; 2] = cast(elements);
        let (lower, upper) = (_mm512_mul_ps(lower, factor), _mm512_mul_ps(upper, factor));
        // Also of NaN.
        let is_kept = |x| u32::from(_mm512_cmp_ps_mask::<_CMP_NLT_UQ>(_mm512_abs_ps(x), least));
        let mask = is_kept(lower) | is_kept(upper) << 16;
        let rounded = _mm512_maskz_cvtne2ps_pbh(mask, upper, lower);
        // SAFETY: both types are 64 bytes of which all values are valid.
        unsafe { std::mem::transmute::<__m512bh, [u32; ELEMENTS / 2]>(rounded) }
    };
    let (whole, rest) = row.as_chunks::<ELEMENTS>();
    let (words, rest_words) = words.split_at_mut(whole.len() * ELEMENTS / 2);
    let (words, _) = words.as_chunks_mut::<{ ELEMENTS / 2 }>();
    for (elements, words) in whole.iter().zip(words) {
        *words = round(*elements);
    }
    if !rest.is_empty() {
        let mut elements = [0.0; ELEMENTS];
        elements[..rest.len()].copy_from_slice(rest);
        let count = rest.len().div_ceil(2);
        rest_words[..count].copy_from_slice(&round(elements)[..count]);
    }
}

pub(super) fn int8_avx_vnni(operands: &MicrokernelOperands<'_>, sums: &mut MicroTile) {
    assert!(has_avx_vnni());
    // SAFETY: the CPU has the features of the function.
    unsafe { int8_avx_vnni_rows(operands, sums) }
}

pub(super) fn int8_avx2(operands: &MicrokernelOperands<'_>, sums: &mut MicroTile) {
    assert!(has_avx2());
    // SAFETY: the CPU has the feature of the function.
    unsafe { int8_avx2_rows(operands, sums) }
}

/// Rows and columns of a part of a tile. Its sums fit 16 vector registers.
const PART_ROWS: usize = 4;
const PART_COLUMNS: usize = 16;

#[target_feature(enable = "avx2,avxvnni")]
fn int8_avx_vnni_rows(operands: &MicrokernelOperands<'_>, sums: &mut MicroTile) {
    let (panel, _) = operands.panel.as_flattened().as_chunks::<PART_COLUMNS>();
    for first in (0..operands.rows).step_by(PART_ROWS) {
        // A missing row repeats the last one.
        let rows: [&[u32]; PART_ROWS] =
            std::array::from_fn(|row| operands.row((first + row).min(operands.rows - 1)));
        for half in 0..2 {
            let mut totals = [[_mm256_setzero_si256(); 2]; PART_ROWS];
            for (k, panel) in panel.iter().skip(half).step_by(2).enumerate() {
                let panel: [__m256i; 2] = cast(*panel);
                for (totals, row) in totals.iter_mut().zip(rows) {
                    let x = _mm256_set1_epi32(row[k] as i32);
                    for (total, &y) in totals.iter_mut().zip(&panel) {
                        *total = _mm256_dpbusd_avx_epi32(*total, x, y);
                    }
                }
            }
            for (sums, totals) in sums.0[first..operands.rows].iter_mut().zip(totals) {
                let totals: [u32; PART_COLUMNS] = cast(totals);
                sums[half * PART_COLUMNS..][..PART_COLUMNS].copy_from_slice(&totals);
            }
        }
    }
}

/// Products of 16-bit integers, because products of 8-bit integers (`vpmaddubsw`) saturate.
#[target_feature(enable = "avx2")]
fn int8_avx2_rows(operands: &MicrokernelOperands<'_>, sums: &mut MicroTile) {
    const COLUMNS: usize = PART_COLUMNS / 2;
    let (panel, _) = operands.panel.as_flattened().as_chunks::<COLUMNS>();
    for first in (0..operands.rows).step_by(PART_ROWS) {
        // A missing row repeats the last one.
        let rows: [&[u32]; PART_ROWS] =
            std::array::from_fn(|row| operands.row((first + row).min(operands.rows - 1)));
        for quarter in 0..4 {
            // Two sums per column, of the lower and the upper half of a word.
            let mut totals = [[_mm256_setzero_si256(); 2]; PART_ROWS];
            for (k, panel) in panel.iter().skip(quarter).step_by(4).enumerate() {
                let panel: [__m128i; 2] = cast(*panel);
                let panel = panel.map(|words| _mm256_cvtepi8_epi16(words));
                for (totals, row) in totals.iter_mut().zip(rows) {
                    let x = _mm256_cvtepu8_epi16(_mm_set1_epi32(row[k] as i32));
                    for (total, &y) in totals.iter_mut().zip(&panel) {
                        *total = _mm256_add_epi32(*total, _mm256_madd_epi16(x, y));
                    }
                }
            }
            for (sums, totals) in sums.0[first..operands.rows].iter_mut().zip(totals) {
                let totals: [[u32; 2]; COLUMNS] = cast(totals);
                let totals = totals.map(|[lower, upper]| lower.wrapping_add(upper));
                sums[quarter * COLUMNS..][..COLUMNS].copy_from_slice(&totals);
            }
        }
    }
}
