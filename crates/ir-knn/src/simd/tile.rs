//! Memory layout of a tile of 8-bit rows, and the values that the kernels read beside it.

use super::aligned::CACHE_LINE;

/// Rows of a tile.
pub(crate) const TILE_ROWS: usize = 64;
/// Maximum number of queries per call of [`Cpu::screen`](super::Cpu::screen).
pub(crate) const MAX_QUERIES: usize = 6;
/// Maximum dimension: sums of 8-bit products of longer rows could overflow 32 bits.
pub(crate) const MAX_DIM: usize = 65_536;

/// Bytes of a tile's codes: four dimensions of every row, then the next four.
pub(crate) const fn tile_size(dim: usize) -> usize {
    dim.div_ceil(4) * 4 * TILE_ROWS
}

/// Per-row terms of the upper bound of a score. See [`Cpu::screen`](super::Cpu::screen).
#[derive(Debug, Clone, Copy)]
pub(crate) struct TileStats<'a> {
    /// Scale of the codes.
    pub(crate) scale: &'a [f32; TILE_ROWS],
    /// Upper bound of the norm of the quantization error.
    pub(crate) error: &'a [f32; TILE_ROWS],
    /// Upper bound of the norm.
    pub(crate) norm: &'a [f32; TILE_ROWS],
    /// Query-independent summand: −‖x‖²/2, rounded down, for Euclidean similarity; else 0.
    pub(crate) bias: &'a [f32; TILE_ROWS],
}

/// Per-query terms of the upper bound of a score. See [`Cpu::screen`](super::Cpu::screen).
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScreenQuery {
    /// −128 × the sum of the query's codes: row codes are stored with 128 added.
    pub(crate) initial_sum: i32,
    /// Upper bound of the norm of the query's codes.
    pub(crate) norm: f32,
    /// Upper bound of the norm of the query's quantization error.
    pub(crate) error: f32,
    /// Factor of [`TileStats::bias`].
    pub(crate) bias: f32,
    /// Rows with a bound at or below the threshold are screened out. NaN lets every row pass.
    pub(crate) threshold: f32,
}

/// Result of [`Cpu::screen`](super::Cpu::screen) for each query.
#[derive(Debug, Clone)]
pub(crate) struct Screened {
    /// Bit mask of the rows with an upper bound above the threshold or NaN.
    pub(crate) passed: [u64; MAX_QUERIES],
    /// Upper bounds of the rows.
    pub(crate) bounds: [[f32; TILE_ROWS]; MAX_QUERIES],
}

impl Default for Screened {
    fn default() -> Self {
        Self {
            passed: [0; MAX_QUERIES],
            bounds: [[0.0; TILE_ROWS]; MAX_QUERIES],
        }
    }
}

/// Result of [`Cpu::quantize`](super::Cpu::quantize); all but `scale` in units of `scale`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct QuantizedRow {
    /// Difference of components that differ by one code.
    pub(crate) scale: f32,
    /// Squared norm of the quantization error.
    pub(crate) squared_error: f32,
    /// Squared norm of the row.
    pub(crate) squared_norm: f32,
}

/// Prefetches bytes into the L1 cache.
#[inline]
pub(crate) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(CACHE_LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint that reads nothing; the address is one of a slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}
