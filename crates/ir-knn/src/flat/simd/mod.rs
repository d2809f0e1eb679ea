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

use super::tile::{Probe, Stats};
pub(crate) use portable::{LANES, fold};

/// Rows of a tile.
pub(super) const ROWS: usize = 64;
/// The most queries that one call of [`Cpu::screen`] takes.
pub(super) const QUERIES: usize = 6;

/// What the processor can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cpu(Level);

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
    pub(super) fn detect() -> Self {
        Self::all().last().copied().unwrap_or(Self(Level::Portable))
    }

    /// All that run here, the best last.
    pub(super) fn all() -> Vec<Self> {
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

    /// The inner product. The slices are of one length.
    #[inline]
    pub(super) fn dot(self, query: &[f64], row: &[f32]) -> f64 {
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
    pub(super) fn quantise(self, row: &[f32], codes: &mut [u8]) -> Quantised {
        on!(self, quantise(row, codes))
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
}

/// What [`Cpu::quantise`] tells of a row, all but `scale` in units of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quantised {
    /// What one step is worth.
    pub(super) scale: f32,
    /// The sum of the squares of the codes' errors.
    pub(super) error: f32,
    /// The sum of the squares of the components.
    pub(super) square: f32,
}

#[cfg(test)]
mod tests;
