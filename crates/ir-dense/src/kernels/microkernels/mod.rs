//! Microkernels of matrix products of 8-bit integers and of bf16 numbers.
//!
//! Both formats have the VNNI layout, words of 32 bits along the inner dimension: four 8-bit
//! integers or two bf16 numbers, the first in the lowest bits. Every function of this file
//! computes the same bits:
//!
//! - sums of 8-bit products are integers that do not overflow ([`MAX_DEPTH`]);
//! - a bf16 product is exact in f32. Those of a word are added to the sum one by one, the second
//!   first, rounded to the nearest f32. This is what `vdpbf16ps` computes if no product and no sum
//!   is subnormal, as [`round_to_bf16`] ensures. [`bf16_microkernel`] selects the instruction only
//!   where it gives the bits of the portable function for pseudorandom numbers.

#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use pulp::{Arch, Simd, WithSimd};

use super::matrix::TILE_ROWS;

/// Columns of a panel of the right matrix.
pub(crate) const PANEL_COLUMNS: usize = 32;
/// Maximum inner dimension of 8-bit products: 2³¹ / (255 · 127), rounded down to thousands.
pub(crate) const MAX_DEPTH: usize = 66_000;
/// 2⁻⁵⁰: magnitude below which a number is rounded to the bf16 number 0, so that products are
/// multiples of 2⁻¹¹⁴ and neither they nor their sums are subnormal.
const LEAST_BF16: f32 = f32::from_bits((127 - 50) << 23);

/// Sums of a tile of the product: i32 or f32, as bits.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(super) struct MicroTile(pub(super) [[u32; PANEL_COLUMNS]; TILE_ROWS]);

impl Default for MicroTile {
    fn default() -> Self {
        Self([[0; PANEL_COLUMNS]; TILE_ROWS])
    }
}

/// Operands of a microkernel: rows of the left matrix, a panel of the right one.
#[derive(Debug, Clone, Copy)]
pub(super) struct MicrokernelOperands<'a> {
    /// Rows of `depth` words: word k of row r is at `r * left_stride + k * k_stride`. 8-bit
    /// integers are unsigned.
    pub(super) left: &'a [u32],
    pub(super) left_stride: usize,
    /// 1 for 8-bit integers.
    pub(super) k_stride: usize,
    /// Number of rows, at most [`TILE_ROWS`].
    pub(super) rows: usize,
    /// `depth` rows of [`PANEL_COLUMNS`] words. 8-bit integers are signed.
    pub(super) panel: &'a [[u32; PANEL_COLUMNS]],
}

impl<'a> MicrokernelOperands<'a> {
    /// Words of a row, of which every `k_stride`-th one belongs to it.
    #[inline(always)]
    fn row(&self, row: usize) -> &'a [u32] {
        let count = match self.panel.len() {
            0 => 0,
            depth => (depth - 1) * self.k_stride + 1,
        };
        &self.left[row * self.left_stride..][..count]
    }
}

/// Function that computes a tile of a product.
pub(super) type Microkernel = fn(&MicrokernelOperands<'_>, &mut MicroTile);

/// Returns the fastest function for 8-bit integers on this CPU.
pub(super) fn int8_microkernel() -> Microkernel {
    #[cfg(target_arch = "x86_64")]
    {
        if x86::has_avx512_vnni() {
            return x86::int8_avx512_vnni;
        }
        if x86::has_avx_vnni() {
            return x86::int8_avx_vnni;
        }
        if x86::has_avx2() {
            return x86::int8_avx2;
        }
    }
    int8_portable
}

/// Returns the fastest function for bf16 numbers on this CPU.
pub(super) fn bf16_microkernel() -> Microkernel {
    #[cfg(target_arch = "x86_64")]
    {
        use std::sync::LazyLock;
        static SAME_BITS: LazyLock<bool> =
            LazyLock::new(|| x86::has_avx512_bf16() && same_bits_of_probes(x86::bf16_avx512));
        if *SAME_BITS {
            return x86::bf16_avx512;
        }
    }
    bf16_portable
}

/// Function that multiplies a row by a factor and rounds it to bf16 words.
pub(super) type RoundingFunction = fn(&[f32], f32, &mut [u32]);

/// Returns a function with instructions for rounding to bf16, if this CPU has them.
pub(super) fn bf16_rounding() -> Option<RoundingFunction> {
    #[cfg(target_arch = "x86_64")]
    if x86::has_avx512_bf16() {
        return Some(x86::round_bf16_avx512);
    }
    None
}

/// Returns `true` if a function has the bits of the portable function for pseudorandom numbers of
/// many magnitudes, which tell the orders of addition and of rounding apart.
#[cfg(any(test, target_arch = "x86_64"))]
fn same_bits_of_probes(function: Microkernel) -> bool {
    const DEPTH: usize = 64;
    let mut state = 1_u32;
    let mut bf16 = || {
        state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        // Sign, exponent from -8 to 7, fraction.
        (state >> 16 & 0x807f) | (119 + (state >> 8 & 15)) << 7
    };
    let mut word = || bf16() | bf16() << 16;
    let left: Vec<u32> = (0..TILE_ROWS * DEPTH).map(|_| word()).collect();
    let panel: Vec<[u32; PANEL_COLUMNS]> = (0..DEPTH)
        .map(|_| std::array::from_fn(|_| word()))
        .collect();
    let operands = MicrokernelOperands {
        left: &left,
        left_stride: DEPTH,
        k_stride: 1,
        rows: TILE_ROWS,
        panel: &panel,
    };
    let [mut found, mut expected] = [MicroTile::default(), MicroTile::default()];
    function(&operands, &mut found);
    bf16_portable(&operands, &mut expected);
    found.0 == expected.0
}

/// Rounds to the nearest bf16 number, to even if two are equally near. Magnitudes below
/// [`LEAST_BF16`] become 0, a NaN the quiet NaN of its upper bits.
#[inline(always)]
pub(super) fn round_to_bf16(x: f32) -> u32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if x.abs() >= LEAST_BF16 {
        rounded
    } else if x.is_nan() {
        bits >> 16 | 0x40
    } else {
        0
    }
}

fn int8_portable(operands: &MicrokernelOperands<'_>, sums: &mut MicroTile) {
    Arch::new().dispatch(PortableInt8 { operands, sums });
}

fn bf16_portable(operands: &MicrokernelOperands<'_>, sums: &mut MicroTile) {
    Arch::new().dispatch(PortableBf16 { operands, sums });
}

struct PortableInt8<'a> {
    operands: &'a MicrokernelOperands<'a>,
    sums: &'a mut MicroTile,
}

impl WithSimd for PortableInt8<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (row, out) in self.sums.0.iter_mut().enumerate().take(self.operands.rows) {
            let mut sums = [0_i32; PANEL_COLUMNS];
            for (&x, panel) in self.operands.row(row).iter().zip(self.operands.panel) {
                let x = [0, 8, 16, 24].map(|shift| (x >> shift & 255) as i32);
                for (sum, &y) in sums.iter_mut().zip(panel) {
                    let y = [24, 16, 8, 0].map(|shift| (y << shift) as i32 >> 24);
                    *sum += x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3];
                }
            }
            *out = sums.map(|sum| sum as u32);
        }
    }
}

struct PortableBf16<'a> {
    operands: &'a MicrokernelOperands<'a>,
    sums: &'a mut MicroTile,
}

impl WithSimd for PortableBf16<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let second = |word: u32| f32::from_bits(word & 0xffff_0000);
        let first = |word: u32| f32::from_bits(word << 16);
        for (row, out) in self.sums.0.iter_mut().enumerate().take(self.operands.rows) {
            let mut sums = [0_f32; PANEL_COLUMNS];
            let words = self
                .operands
                .row(row)
                .iter()
                .step_by(self.operands.k_stride);
            for (&x, panel) in words.zip(self.operands.panel) {
                for (sum, &y) in sums.iter_mut().zip(panel) {
                    *sum += second(x) * second(y);
                    *sum += first(x) * first(y);
                }
            }
            *out = sums.map(f32::to_bits);
        }
    }
}
