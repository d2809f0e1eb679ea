//! Unpacking of the documents of a full block, in the layout of the crate `bitpacking`: with
//! AVX-512 where the CPU has it and gaps have 1 to 24 bits, otherwise by `bitpacking`.
//!
//! # Layout
//! A block of 128 gaps takes `bits` words of four 32-bit lanes. Gap `n` is the `n / 4`-th number of
//! lane `n % 4`; the numbers of a lane follow each other, from the lowest bits of its first word.
//!
//! Only documents are unpacked with AVX-512, because unpacking gaps and summing them was a large
//! part of long queries. A property test compares both implementations.

use bitpacking::{BitPacker, BitPacker4x};

use super::BLOCK;

/// Unpacks ascending documents from the packed gaps minus one between them; the first one follows
/// `previous`. `packed` has 16 bytes per bit. Sums wrap.
pub(super) fn unpack_ascending(
    previous: Option<u32>,
    packed: &[u8],
    bits: u8,
    docs: &mut [u32; BLOCK],
) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = avx512::available()
        && avx512::unpack_ascending(simd, previous, packed, bits, docs)
    {
        return;
    }
    BitPacker4x::new().decompress_strictly_sorted(previous, packed, docs, bits);
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::__m512i;
    use std::sync::LazyLock;

    use pulp::x86::V4;
    use pulp::{NullaryFnOnce, cast};

    use super::BLOCK;

    /// Documents per vector register.
    const LANES: usize = 16;
    /// Bytes per vector register.
    const BYTES: usize = 64;
    /// Bits per number of which four successive ones lie in four words.
    const MAX_BITS: u8 = 24;

    #[inline]
    pub(super) fn available() -> Option<V4> {
        static AVAILABLE: LazyLock<Option<V4>> = LazyLock::new(V4::try_new);
        *AVAILABLE
    }

    /// Does the same as [`super::unpack_ascending`]. Returns `false` without effect for numbers of
    /// too many bits or none.
    #[inline]
    pub(super) fn unpack_ascending(
        simd: V4,
        previous: Option<u32>,
        packed: &[u8],
        bits: u8,
        docs: &mut [u32; BLOCK],
    ) -> bool {
        let mut padded = [0; BYTES];
        let packed = match packed.len() {
            BYTES.. => packed,
            len => {
                padded[..len].copy_from_slice(packed);
                &padded
            }
        };
        if !(1..=MAX_BITS).contains(&bits) || packed.len() < 16 * usize::from(bits) {
            return false;
        }
        simd.vectorize(Unpack {
            simd,
            previous: previous.unwrap_or(u32::MAX),
            packed,
            bits: usize::from(bits),
            docs,
        });
        true
    }

    struct Unpack<'a> {
        simd: V4,
        previous: u32,
        packed: &'a [u8],
        bits: usize,
        docs: &'a mut [u32; BLOCK],
    }

    impl NullaryFnOnce for Unpack<'_> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            let Self {
                simd,
                previous,
                packed,
                bits,
                docs,
            } = self;
            let f = simd.avx512f;
            let splat = |number: usize| f._mm512_set1_epi32(number as i32);
            let lane: __m512i = cast([[0_u32, 1, 2, 3]; 4]);
            // Offset in bits of the number of every lane from the number of the first lane.
            let offsets: __m512i = cast([0, 1, 2, 3].map(|n| [n * bits as u32; 4]));
            let mask = splat((1 << bits) - 1);
            let last_load = packed.len() - BYTES;
            let mut before = f._mm512_set1_epi32(previous as i32);
            let (registers, _) = docs.as_chunks_mut::<LANES>();
            for (n, register) in registers.iter_mut().enumerate() {
                let first_bit = 4 * n * bits;
                // The four words from the first number on, or the last four.
                let start = (first_bit / 32 * 16).min(last_load);
                let words: [u8; BYTES] = match packed.get(start..).and_then(<[u8]>::first_chunk) {
                    Some(words) => *words,
                    None => return,
                };
                let words: __m512i = cast(words);
                let bit = f._mm512_add_epi32(offsets, splat(first_bit - start / 16 * 32));
                let shift = f._mm512_and_si512(bit, splat(31));
                let word = f._mm512_srli_epi32::<5>(bit);
                let low = f._mm512_add_epi32(f._mm512_slli_epi32::<2>(word), lane);
                let high = f._mm512_add_epi32(low, splat(4));
                // Past the last word, the index wraps around: no bit of the number is there.
                let low = f._mm512_permutexvar_epi32(low, words);
                let high = f._mm512_permutexvar_epi32(high, words);
                let low = f._mm512_srlv_epi32(low, shift);
                let high = f._mm512_sllv_epi32(high, f._mm512_sub_epi32(splat(32), shift));
                let number = f._mm512_and_si512(f._mm512_or_si512(low, high), mask);
                // Prefix sums of the gaps.
                let mut sum = f._mm512_add_epi32(number, splat(1));
                let zero = splat(0);
                sum = f._mm512_add_epi32(sum, f._mm512_alignr_epi32::<15>(sum, zero));
                sum = f._mm512_add_epi32(sum, f._mm512_alignr_epi32::<14>(sum, zero));
                sum = f._mm512_add_epi32(sum, f._mm512_alignr_epi32::<12>(sum, zero));
                sum = f._mm512_add_epi32(sum, f._mm512_alignr_epi32::<8>(sum, zero));
                *register = cast(f._mm512_add_epi32(sum, before));
                let total = f._mm512_permutexvar_epi32(splat(LANES - 1), sum);
                before = f._mm512_add_epi32(before, total);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Every number of bits, any bytes: by the function of this CPU and, where it has AVX-512,
        /// by that directly.
        #[test]
        fn equals_bitpacking(
            bits in 0_u8..=32,
            bytes in prop::collection::vec(any::<u8>(), 16 * 32),
            previous in prop::option::of(any::<u32>()),
        ) {
            let size = 16 * usize::from(bits);
            let mut expected = [0; BLOCK];
            BitPacker4x::new().decompress_strictly_sorted(previous, &bytes[..size], &mut expected, bits);
            let mut found = [0; BLOCK];
            unpack_ascending(previous, &bytes[..size], bits, &mut found);
            prop_assert_eq!(found, expected);
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = avx512::available() {
                let mut found = [0; BLOCK];
                let packed = &bytes[..size];
                let unpacks = avx512::unpack_ascending(simd, previous, packed, bits, &mut found);
                prop_assert_eq!(unpacks, (1..=24).contains(&bits));
                prop_assert!(!unpacks || found == expected);
            }
        }
    }
}
