//! Kernels, chosen when the program runs by what the processor can do, and the only unsafe code of
//! the search.
//!
//! Two kinds: exact scores of one row ([`Cpu::dot`] and its like), whose order of summation is fixed,
//! so that every processor gives the same bits (a product of two 32-bit numbers is exact in 64, so that it
//! does not matter whether it is rounded before it is added); and the screen of a tile of 8-bit rows
//! ([`Cpu::screen`]), whose sums are of whole numbers and so exact in any order.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use super::align::LINE;
use super::tile::{Probe, Stats};
pub(crate) use portable::{LANES, fold};

/// Rows of a tile.
pub(crate) const ROWS: usize = 64;
/// The most queries that one call of [`Cpu::screen`] takes.
pub(crate) const QUERIES: usize = 6;

/// What the processor can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cpu(Level);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Calls a function of the level's module. Its features were found when the level was made.
macro_rules! on {
    ($cpu:expr, $function:ident($($argument:expr),*)) => {
        match $cpu.0 {
            Level::Portable => portable::$function($($argument),*),
            // SAFETY: `Cpu::detect` and `Cpu::all` make this level only where avx2 and fma are there.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { avx2::$function($($argument),*) },
            // SAFETY: they make this level only where avx512f, bw, vl and vnni are there.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { avx512::$function($($argument),*) },
        }
    };
}

impl Cpu {
    /// The best that runs here.
    pub(crate) fn detect() -> Self {
        Self::all().last().copied().unwrap_or(Self(Level::Portable))
    }

    /// All that run here, the best last.
    pub(crate) fn all() -> Vec<Self> {
        #[allow(unused_mut, reason = "other processors have one level")]
        let mut all = vec![Self(Level::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                all.push(Self(Level::Avx2));
            }
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vnni")
            {
                all.push(Self(Level::Avx512));
            }
        }
        all
    }

    /// Does a job whose loops, where they are inlined, become instructions of this processor. Its
    /// results are the same on every one.
    #[inline]
    pub(crate) fn wide<R>(self, job: impl FnOnce() -> R) -> R {
        on!(self, wide(job))
    }

    /// The inner product. The slices are of one length.
    #[inline]
    pub(crate) fn dot(self, query: &[f64], row: &[f32]) -> f64 {
        on!(self, dot(query, row))
    }

    /// The inner product, and that of the row with itself.
    #[inline]
    pub(super) fn dot_and_square(self, query: &[f64], row: &[f32]) -> (f64, f64) {
        on!(self, dot_and_square(query, row))
    }

    /// The square of the Euclidean distance.
    #[inline]
    pub(super) fn distance(self, query: &[f64], row: &[f32]) -> f64 {
        on!(self, distance(query, row))
    }

    /// One row in 8 bits: see [`portable::quantise`].
    #[inline]
    pub(crate) fn quantise(self, row: &[f32], codes: &mut [u8]) -> Quantised {
        on!(self, quantise(row, codes))
    }

    /// The inner products of a query with some of the records that lie one after another, each as
    /// long as the query and a multiple of [`LINE`]: sums of whole numbers, exact in any order. Stops
    /// at the shorter of `which` and `sums`.
    #[inline]
    pub(crate) fn products(self, records: &[u8], which: &[u32], query: &[i8], sums: &mut [i32]) {
        assert!(
            query.len().is_multiple_of(LINE),
            "a query as long as a record"
        );
        on!(self, products(records, which, query, sums))
    }

    /// For each of up to [`QUERIES`] queries, the rows of a tile whose bound is above the query's
    /// threshold, as bits. `codes` is the tile's ([`ROWS`] × 4 bytes for four dimensions), `queries`
    /// the queries' (four bytes each for four dimensions).
    #[inline]
    pub(super) fn screen(
        self,
        codes: &[u8],
        stats: Stats<'_>,
        queries: &[i8],
        probes: &[Probe],
        bits: &mut [u64; QUERIES],
    ) {
        let groups = codes.len() / (4 * ROWS);
        assert!(
            codes.len() == groups * 4 * ROWS
                && queries.len() == groups * 4 * probes.len()
                && (1..=QUERIES).contains(&probes.len()),
            "a tile and queries of one dimension"
        );
        on!(self, screen(codes, stats, queries, probes, bits))
    }

    /// The inner products of up to [`QUERIES`] queries with the rows of a tile, as in
    /// [`Cpu::screen`], each query's added to its start.
    #[inline]
    pub(crate) fn dots(
        self,
        codes: &[u8],
        queries: &[i8],
        starts: &[i32],
        sums: &mut [[i32; ROWS]; QUERIES],
    ) {
        let groups = codes.len() / (4 * ROWS);
        assert!(
            codes.len() == groups * 4 * ROWS
                && queries.len() == groups * 4 * starts.len()
                && (1..=QUERIES).contains(&starts.len()),
            "a tile and queries of one dimension"
        );
        on!(self, dots(codes, queries, starts, sums))
    }
}

/// Tells the processor that these bytes will be read soon.
#[inline]
pub(crate) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; the address is one of a slice, and nothing is read.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// What [`Cpu::quantise`] tells of a row, all but `scale` in units of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quantised {
    /// What one step is worth.
    pub(crate) scale: f32,
    /// The sum of the squares of the codes' errors.
    pub(crate) error: f32,
    /// The sum of the squares of the components.
    pub(crate) square: f32,
}

#[cfg(test)]
mod tests;
