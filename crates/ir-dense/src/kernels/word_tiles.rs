//! Tiles of matrix products of 8-bit integers and of bf16 numbers.
//!
//! Both formats are packed in words of 32 bits along the inner dimension: four 8-bit integers or
//! two bf16 numbers, the first in the lowest bits. Every function of this file computes the same
//! bits:
//!
//! - sums of 8-bit products are integers that do not overflow ([`MAX_DEPTH`]);
//! - a bf16 product is exact in f32. Those of a word are added to the sum one by one, the second
//!   first, rounded to the nearest f32. This is what `vdpbf16ps` computes if no product and no sum
//!   is subnormal, as [`round_to_bf16`] ensures. [`TileFunction::bf16`] selects the instruction
//!   only where it gives the bits of the portable function for [`bf16_probes`].

use std::sync::LazyLock;

use pulp::{Arch, Simd, WithSimd};

use super::matrix::TILE_ROWS;

/// Columns of a panel of the right matrix.
pub(super) const PANEL_COLUMNS: usize = 32;
/// Maximum inner dimension of 8-bit products: 2³¹ / (255 · 127), rounded down to thousands.
pub(crate) const MAX_DEPTH: usize = 66_000;
/// 2⁻⁵⁰: magnitude below which a number is rounded to the bf16 number 0, so that products are
/// multiples of 2⁻¹¹⁴ and neither they nor their sums are subnormal.
const LEAST_BF16: f32 = f32::from_bits((127 - 50) << 23);

/// Sums of a tile: i32 or f32, as bits.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(super) struct TileSums(pub(super) [[u32; PANEL_COLUMNS]; TILE_ROWS]);

impl Default for TileSums {
    fn default() -> Self {
        Self([[0; PANEL_COLUMNS]; TILE_ROWS])
    }
}

/// Operands of a tile.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordTile<'a> {
    /// Rows of `depth` words, `left_stride` apart. 8-bit integers are unsigned.
    pub(super) left: &'a [u32],
    pub(super) left_stride: usize,
    /// Number of rows, at most [`TILE_ROWS`].
    pub(super) rows: usize,
    /// `depth` rows of [`PANEL_COLUMNS`] words. 8-bit integers are signed.
    pub(super) panel: &'a [[u32; PANEL_COLUMNS]],
}

impl<'a> WordTile<'a> {
    fn row(&self, row: usize) -> &'a [u32] {
        &self.left[row * self.left_stride..][..self.panel.len()]
    }
}

/// Function that computes the sums of a tile.
pub(super) type TileFunction = fn(&WordTile<'_>, &mut TileSums);

/// Returns the fastest function for 8-bit integers on this CPU.
pub(super) fn int8_tile() -> TileFunction {
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
pub(super) fn bf16_tile() -> TileFunction {
    #[cfg(target_arch = "x86_64")]
    {
        static SAME_BITS: LazyLock<bool> =
            LazyLock::new(|| x86::has_avx512_bf16() && same_bits_of_probes(x86::bf16_avx512));
        if *SAME_BITS {
            return x86::bf16_avx512;
        }
    }
    bf16_portable
}

/// Whether a function has the bits of the portable one for pseudorandom numbers of many
/// magnitudes, which tell the orders of addition and of rounding apart.
fn same_bits_of_probes(function: TileFunction) -> bool {
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
    let tile = WordTile {
        left: &left,
        left_stride: DEPTH,
        rows: TILE_ROWS,
        panel: &panel,
    };
    let [mut found, mut expected] = [TileSums::default(), TileSums::default()];
    function(&tile, &mut found);
    bf16_portable(&tile, &mut expected);
    found.0 == expected.0
}

/// Rounds to the nearest bf16 number, to even if two are equally near. Magnitudes below
/// [`LEAST_BF16`] become 0.
#[inline(always)]
pub(super) fn round_to_bf16(x: f32) -> u32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if x.abs() >= LEAST_BF16 {
        rounded
    } else if x.is_nan() {
        0x7fc0
    } else {
        0
    }
}

fn int8_portable(tile: &WordTile<'_>, sums: &mut TileSums) {
    Arch::new().dispatch(PortableInt8 { tile, sums });
}

fn bf16_portable(tile: &WordTile<'_>, sums: &mut TileSums) {
    Arch::new().dispatch(PortableBf16 { tile, sums });
}

struct PortableInt8<'a> {
    tile: &'a WordTile<'a>,
    sums: &'a mut TileSums,
}

impl WithSimd for PortableInt8<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (row, out) in self.sums.0.iter_mut().enumerate().take(self.tile.rows) {
            let mut sums = [0_i32; PANEL_COLUMNS];
            for (&x, panel) in self.tile.row(row).iter().zip(self.tile.panel) {
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
    tile: &'a WordTile<'a>,
    sums: &'a mut TileSums,
}

impl WithSimd for PortableBf16<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let second = |word: u32| f32::from_bits(word & 0xffff_0000);
        let first = |word: u32| f32::from_bits(word << 16);
        for (row, out) in self.sums.0.iter_mut().enumerate().take(self.tile.rows) {
            let mut sums = [0_f32; PANEL_COLUMNS];
            for (&x, panel) in self.tile.row(row).iter().zip(self.tile.panel) {
                for (sum, &y) in sums.iter_mut().zip(panel) {
                    *sum += second(x) * second(y);
                    *sum += first(x) * first(y);
                }
            }
            *out = sums.map(f32::to_bits);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    #![allow(
        unsafe_code,
        reason = "instructions of AVX-512 and AVX2, which the CPU was checked for"
    )]

    use std::arch::x86_64::*;

    use pulp::bytemuck::cast;

    use super::{PANEL_COLUMNS, TileSums, WordTile};
    use crate::kernels::aligned::prefetch;

    /// Rows of a panel between a row and the one that is prefetched.
    const PREFETCH_ROWS: usize = 24;

    pub(super) fn has_avx512_vnni() -> bool {
        is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni")
    }

    pub(super) fn has_avx512_bf16() -> bool {
        is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bf16")
    }

    pub(super) fn has_avx_vnni() -> bool {
        has_avx2() && is_x86_feature_detected!("avxvnni")
    }

    pub(super) fn has_avx2() -> bool {
        is_x86_feature_detected!("avx2")
    }

    /// Calls a function with the number of rows as constant.
    macro_rules! with_rows {
        ($tile:ident, $sums:ident, $function:ident: $($rows:literal)*) => {
            match $tile.rows {
                $($rows => $function::<$rows>($tile, $sums),)*
                _ => $function::<12>($tile, $sums),
            }
        };
    }

    pub(super) fn int8_avx512_vnni(tile: &WordTile<'_>, sums: &mut TileSums) {
        assert!(has_avx512_vnni());
        // SAFETY: the CPU has the features of the function.
        unsafe { with_rows!(tile, sums, int8_avx512: 1 2 3 4 5 6 7 8 9 10 11) }
    }

    #[target_feature(enable = "avx512f,avx512vnni")]
    fn int8_avx512<const N: usize>(tile: &WordTile<'_>, sums: &mut TileSums) {
        let rows: [&[u32]; N] = std::array::from_fn(|row| tile.row(row));
        let mut totals = [[_mm512_setzero_si512(); 2]; N];
        for (k, panel) in tile.panel.iter().enumerate() {
            prefetch(
                tile.panel.as_flattened(),
                (k + PREFETCH_ROWS) * PANEL_COLUMNS,
                PANEL_COLUMNS,
            );
            let panel: [__m512i; 2] = cast(*panel);
            for (totals, row) in totals.iter_mut().zip(rows) {
                let x = _mm512_set1_epi32(row[k] as i32);
                for (total, &y) in totals.iter_mut().zip(&panel) {
                    *total = _mm512_dpbusd_epi32(*total, x, y);
                }
            }
        }
        for (sums, totals) in sums.0.iter_mut().zip(totals) {
            *sums = cast(totals);
        }
    }

    pub(super) fn bf16_avx512(tile: &WordTile<'_>, sums: &mut TileSums) {
        assert!(has_avx512_bf16());
        // SAFETY: the CPU has the features of the function.
        unsafe { with_rows!(tile, sums, bf16_avx512_rows: 1 2 3 4 5 6 7 8 9 10 11) }
    }

    #[target_feature(enable = "avx512f,avx512bf16")]
    fn bf16_avx512_rows<const N: usize>(tile: &WordTile<'_>, sums: &mut TileSums) {
        // SAFETY: both types are 64 bytes of which all values are valid.
        let bf16 = |x: __m512i| unsafe { std::mem::transmute::<__m512i, __m512bh>(x) };
        let rows: [&[u32]; N] = std::array::from_fn(|row| tile.row(row));
        let mut totals = [[_mm512_setzero_ps(); 2]; N];
        for (k, panel) in tile.panel.iter().enumerate() {
            prefetch(
                tile.panel.as_flattened(),
                (k + PREFETCH_ROWS) * PANEL_COLUMNS,
                PANEL_COLUMNS,
            );
            let panel: [__m512i; 2] = cast(*panel);
            for (totals, row) in totals.iter_mut().zip(rows) {
                let x = bf16(_mm512_set1_epi32(row[k] as i32));
                for (total, &y) in totals.iter_mut().zip(&panel) {
                    *total = _mm512_dpbf16_ps(*total, x, bf16(y));
                }
            }
        }
        for (sums, totals) in sums.0.iter_mut().zip(totals) {
            *sums = cast(totals);
        }
    }

    pub(super) fn int8_avx_vnni(tile: &WordTile<'_>, sums: &mut TileSums) {
        assert!(has_avx_vnni());
        // SAFETY: the CPU has the features of the function.
        unsafe { int8_avx_vnni_rows(tile, sums) }
    }

    pub(super) fn int8_avx2(tile: &WordTile<'_>, sums: &mut TileSums) {
        assert!(has_avx2());
        // SAFETY: the CPU has the feature of the function.
        unsafe { int8_avx2_rows(tile, sums) }
    }

    /// Rows and columns of the part of a tile whose sums fit 16 vector registers.
    const PART_ROWS: usize = 4;
    const PART_COLUMNS: usize = 16;

    #[target_feature(enable = "avx2,avxvnni")]
    fn int8_avx_vnni_rows(tile: &WordTile<'_>, sums: &mut TileSums) {
        let (panel, _) = tile.panel.as_flattened().as_chunks::<PART_COLUMNS>();
        for first in (0..tile.rows).step_by(PART_ROWS) {
            // A missing row repeats the last one.
            let rows: [&[u32]; PART_ROWS] =
                std::array::from_fn(|row| tile.row((first + row).min(tile.rows - 1)));
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
                for (sums, totals) in sums.0[first..tile.rows].iter_mut().zip(totals) {
                    let totals: [u32; PART_COLUMNS] = cast(totals);
                    sums[half * PART_COLUMNS..][..PART_COLUMNS].copy_from_slice(&totals);
                }
            }
        }
    }

    /// Products of 16-bit integers: those of 8-bit integers (`vpmaddubsw`) saturate.
    #[target_feature(enable = "avx2")]
    fn int8_avx2_rows(tile: &WordTile<'_>, sums: &mut TileSums) {
        const COLUMNS: usize = PART_COLUMNS / 2;
        let (panel, _) = tile.panel.as_flattened().as_chunks::<COLUMNS>();
        for first in (0..tile.rows).step_by(PART_ROWS) {
            // A missing row repeats the last one.
            let rows: [&[u32]; PART_ROWS] =
                std::array::from_fn(|row| tile.row((first + row).min(tile.rows - 1)));
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
                for (sums, totals) in sums.0[first..tile.rows].iter_mut().zip(totals) {
                    let totals: [[u32; 2]; COLUMNS] = cast(totals);
                    let totals = totals.map(|[lower, upper]| lower.wrapping_add(upper));
                    sums[quarter * COLUMNS..][..COLUMNS].copy_from_slice(&totals);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Names and functions for 8-bit integers that this CPU has, without [`int8_portable`].
    fn int8_functions() -> Vec<(&'static str, TileFunction)> {
        let mut all: Vec<(&str, TileFunction)> = vec![("selected", int8_tile())];
        #[cfg(target_arch = "x86_64")]
        {
            let x86: [(&str, bool, TileFunction); 3] = [
                ("avx512-vnni", x86::has_avx512_vnni(), x86::int8_avx512_vnni),
                ("avx-vnni", x86::has_avx_vnni(), x86::int8_avx_vnni),
                ("avx2", x86::has_avx2(), x86::int8_avx2),
            ];
            let found = x86.into_iter().filter(|(_, is_found, _)| *is_found);
            all.extend(found.map(|(name, _, function)| (name, function)));
        }
        all
    }

    /// Sums of a portable function at every level of the CPU.
    macro_rules! at_every_level {
        ($function:ident, $tile:expr) => {{
            let tile = &$tile;
            let [mut scalar, mut best] = [TileSums::default(), TileSums::default()];
            let sums = &mut scalar;
            $function { tile, sums }.with_simd(pulp::Scalar);
            let sums = &mut best;
            Arch::new().dispatch($function { tile, sums });
            #[allow(unused_mut, reason = "other architectures have fewer levels")]
            let mut all = vec![scalar, best];
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = pulp::x86::V3::try_new() {
                let mut found = TileSums::default();
                let sums = &mut found;
                Simd::vectorize(simd, $function { tile, sums });
                all.push(found);
            }
            all
        }};
    }

    struct Operands {
        left: Vec<u32>,
        left_stride: usize,
        rows: usize,
        panel: Vec<[u32; PANEL_COLUMNS]>,
    }

    impl Operands {
        fn new(rows: usize, depth: usize, gap: usize, mut word: impl FnMut() -> u32) -> Self {
            let left_stride = depth + gap;
            Self {
                left: (0..rows * left_stride).map(|_| word()).collect(),
                left_stride,
                rows,
                panel: (0..depth)
                    .map(|_| std::array::from_fn(|_| word()))
                    .collect(),
            }
        }

        fn tile(&self) -> WordTile<'_> {
            WordTile {
                left: &self.left,
                left_stride: self.left_stride,
                rows: self.rows,
                panel: &self.panel,
            }
        }

        /// Folds the pairs of words of every row and column, in order.
        fn fold<T>(&self, start: impl Fn() -> T, f: impl Fn(T, u32, u32) -> T) -> Vec<Vec<T>> {
            let rows = self.left.chunks(self.left_stride);
            let cell = |row: &[u32], column: usize| {
                let pairs = row.iter().zip(&self.panel);
                pairs.fold(start(), |sum, (&x, panel)| f(sum, x, panel[column]))
            };
            let row = |row| (0..PANEL_COLUMNS).map(|column| cell(row, column)).collect();
            rows.map(row).collect()
        }
    }

    fn int8_products(operands: &Operands) {
        let expected = operands.fold(
            || 0_i64,
            |sum, x, y| {
                let bytes = x.to_le_bytes().into_iter().zip(y.to_le_bytes());
                sum + bytes
                    .map(|(x, y)| i64::from(x) * i64::from(y as i8))
                    .sum::<i64>()
            },
        );
        let check = |name: &str, sums: &TileSums| {
            for (row, (sums, expected)) in sums.0.iter().zip(&expected).enumerate() {
                let found: Vec<i64> = sums.iter().map(|&sum| i64::from(sum as i32)).collect();
                assert_eq!(&found, expected, "{name}, row {row}");
            }
        };
        for (level, sums) in at_every_level!(PortableInt8, operands.tile())
            .iter()
            .enumerate()
        {
            check(&format!("portable {level}"), sums);
        }
        for (name, function) in int8_functions() {
            let mut sums = TileSums::default();
            function(&operands.tile(), &mut sums);
            check(name, &sums);
        }
    }

    #[test]
    fn largest_8_bit_products_do_not_overflow() {
        for y in [0x7f7f_7f7f, 0x8181_8181] {
            let words = std::cell::Cell::new(0);
            let depth = MAX_DEPTH / 4;
            let operands = Operands::new(1, depth, 0, || {
                words.set(words.get() + 1);
                if words.get() <= depth { u32::MAX } else { y }
            });
            int8_products(&operands);
        }
    }

    /// Word of two bf16 numbers with exponents from -8 to 7.
    fn bf16_word(bits: u64) -> u32 {
        let number = |bits: u32| (bits & 0x807f) | (119 + (bits >> 8 & 15)) << 7;
        number(bits as u32) | number((bits >> 32) as u32) << 16
    }

    fn bf16_products(operands: &Operands) {
        let halves = |word: u32| {
            let second = f32::from_bits(word >> 16 << 16);
            [f32::from_bits(word << 16), second]
        };
        let expected = operands.fold(
            || 0_f32,
            |sum, x, y| {
                let ([x, x2], [y, y2]) = (halves(x), halves(y));
                (sum + x2 * y2) + x * y
            },
        );
        let exact = operands.fold(
            || [0_f64; 2],
            |[sum, magnitude], x, y| {
                let products = halves(x).into_iter().zip(halves(y));
                let products = products.map(|(x, y)| f64::from(x) * f64::from(y));
                let product: f64 = products.clone().sum();
                [
                    sum + product,
                    magnitude + products.map(f64::abs).sum::<f64>(),
                ]
            },
        );
        let mut all = at_every_level!(PortableBf16, operands.tile());
        #[allow(unused_mut, reason = "other architectures have one function")]
        let mut functions = vec![bf16_tile()];
        #[cfg(target_arch = "x86_64")]
        if x86::has_avx512_bf16() && same_bits_of_probes(x86::bf16_avx512) {
            functions.push(x86::bf16_avx512);
        }
        for function in functions {
            let mut sums = TileSums::default();
            function(&operands.tile(), &mut sums);
            all.push(sums);
        }
        for sums in &all {
            for ((sums, expected), exact) in sums.0.iter().zip(&expected).zip(&exact) {
                for ((&bits, expected), [exact, magnitude]) in sums.iter().zip(expected).zip(exact)
                {
                    assert_eq!(bits, expected.to_bits());
                    let error = (f64::from(f32::from_bits(bits)) - exact).abs();
                    assert!(error <= 1e-5 * magnitude, "{error} of {magnitude}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn tiles_of_all_instruction_sets_equal_scalar_sums(
            rows in 1..=TILE_ROWS,
            depth in 1..80_usize,
            gap in 0..20_usize,
            seed: u64,
        ) {
            let mut random = ir_core::SplitMix64::new(seed, 1);
            int8_products(&Operands::new(rows, depth, gap, || {
                // -128 is not a quantized weight, but a valid 8-bit integer.
                random.next_u64() as u32
            }));
            bf16_products(&Operands::new(rows, depth, gap, || {
                bf16_word(random.next_u64())
            }));
        }
    }

    #[test]
    fn probes_tell_other_orders_apart() {
        let reversed: TileFunction = |tile, sums| {
            let swap = |words: &[u32]| words.iter().map(|word| word.rotate_left(16)).collect();
            let left: Vec<u32> = swap(tile.left);
            let panel: Vec<u32> = swap(tile.panel.as_flattened());
            let (panel, _) = panel.as_chunks();
            let left = &left;
            bf16_portable(
                &WordTile {
                    left,
                    panel,
                    ..*tile
                },
                sums,
            );
        };
        assert!(!same_bits_of_probes(reversed));
        let pairs_first: TileFunction = |tile, sums| {
            for (row, out) in sums.0.iter_mut().enumerate() {
                for (column, out) in out.iter_mut().enumerate() {
                    let mut sum = 0_f32;
                    for (&x, panel) in tile.row(row).iter().zip(tile.panel) {
                        let y = panel[column];
                        let product = |shift: u32| {
                            let half = |word: u32| f32::from_bits(word << shift >> 16 << 16);
                            half(x) * half(y)
                        };
                        sum += product(0) + product(16);
                    }
                    *out = sum.to_bits();
                }
            }
        };
        assert!(!same_bits_of_probes(pairs_first));
        assert!(same_bits_of_probes(bf16_portable));
    }

    #[test]
    fn bf16_is_nearest_even() {
        let value = |x: f32| f32::from_bits(round_to_bf16(x) << 16);
        let cases = [
            (1.0, 1.0),
            (-0.0, 0.0),
            // Between 1 and 1 + 2⁻⁷, and its neighbor with an odd last bit.
            (1.0 + 1.0 / 256.0, 1.0),
            (1.0 + 3.0 / 256.0, 1.0 + 4.0 / 256.0),
            (1.0 + 1.01 / 256.0, 1.0 + 2.0 / 256.0),
            (-1.0 - 3.0 / 256.0, -1.0 - 4.0 / 256.0),
            (LEAST_BF16, LEAST_BF16),
            (8e-16, 0.0),
            (f32::MIN_POSITIVE, 0.0),
            (f32::MAX, f32::INFINITY),
            (f32::NEG_INFINITY, f32::NEG_INFINITY),
        ];
        for (x, expected) in cases {
            assert_eq!(value(x), expected, "{x}");
        }
        assert!(value(f32::NAN).is_nan());
        assert!(value(f32::from_bits(0x7fff_ffff)).is_nan());
        // All bf16 numbers of normal magnitude are their own nearest.
        for bits in 0..=u32::from(u16::MAX) {
            let x = f32::from_bits(bits << 16);
            if x.abs() >= LEAST_BF16 {
                assert_eq!(round_to_bf16(x), bits);
            }
        }
    }
}
