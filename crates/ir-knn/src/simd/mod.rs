//! SIMD kernels, selected at run time by the features of the CPU, and the aligned buffers that they
//! read.
//!
//! - Exact scores of one row ([`Cpu::dot`], [`Cpu::squared_distance`]): the order of summation is
//!   fixed, so that every CPU returns the same bits. (The product of two f32 is exact in f64, so a
//!   fused multiply-add rounds like a separate product and sum.)
//! - Inner products of many rows with 16 vectors ([`Cpu::products`]): one vector per SIMD lane, one
//!   fused multiply-add per dimension, so that every CPU returns the bits of the naive loop.
//! - Products of 8-bit codes ([`Cpu::screen`], [`Cpu::dot_tile`], [`Cpu::dot_records`]): sums of
//!   integers are exact in any order.

/// Calls a kernel that is generic over the number of queries, 1 to [`MAX_QUERIES`].
#[cfg(target_arch = "x86_64")]
macro_rules! by_query_count {
    ($count:expr, $function:ident($($argument:expr),*)) => {
        match $count {
            1 => $function::<1>($($argument),*),
            2 => $function::<2>($($argument),*),
            3 => $function::<3>($($argument),*),
            4 => $function::<4>($($argument),*),
            5 => $function::<5>($($argument),*),
            _ => $function::<MAX_QUERIES>($($argument),*),
        }
    };
}

/// Calls a kernel of inner products that is generic over the number of rows, eight rows at a time.
/// Eight sums hide the latency of the additions.
#[cfg(target_arch = "x86_64")]
macro_rules! by_row_blocks {
    ($lanes:expr, $rows:expr, $products:expr, $function:ident) => {{
        let dim = $lanes.len();
        let row = |at: usize| &$rows[at * dim..][..dim];
        let (blocks, rest) = $products.as_chunks_mut::<8>();
        let first_of_rest = 8 * blocks.len();
        for (at, products) in blocks.iter_mut().enumerate() {
            $function::<8>($lanes, std::array::from_fn(|n| row(8 * at + n)), products);
        }
        for (at, products) in rest.iter_mut().enumerate() {
            let products = std::array::from_mut(products);
            $function::<1>($lanes, [row(first_of_rest + at)], products);
        }
    }};
}

mod aligned;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod huge_pages;
mod portable;
mod tile;

pub(crate) use aligned::{AlignedBytes, CACHE_LINE};
pub(crate) use portable::{LANES, PRODUCT_LANES, fold};
pub(crate) use tile::{
    MAX_DIM, MAX_QUERIES, QuantizedRow, ScreenQuery, Screened, TILE_ROWS, TileStats, prefetch,
    tile_size,
};

/// Instruction set of the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cpu(SimdLevel);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SimdLevel {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Calls a function of the level's module. [`Cpu::detect`] has verified the level's CPU features.
macro_rules! dispatch {
    ($cpu:expr, $function:ident($($argument:expr),*)) => {
        match $cpu.0 {
            SimdLevel::Portable => portable::$function($($argument),*),
            // SAFETY: `Cpu::detect` and `Cpu::all` return this level only on CPUs with avx2 and
            // fma.
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx2 => unsafe { avx2::$function($($argument),*) },
            // SAFETY: they return this level only on CPUs with avx512f, bw, vl and vnni.
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx512 => unsafe { avx512::$function($($argument),*) },
        }
    };
}

impl Cpu {
    /// The best level that this CPU supports.
    pub(crate) fn detect() -> Self {
        Self::all()
            .last()
            .copied()
            .unwrap_or(Self(SimdLevel::Portable))
    }

    /// All levels that this CPU supports, the best last.
    pub(crate) fn all() -> Vec<Self> {
        #[allow(unused_mut, reason = "other architectures have one level")]
        let mut all = vec![Self(SimdLevel::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                all.push(Self(SimdLevel::Avx2));
            }
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vnni")
            {
                all.push(Self(SimdLevel::Avx512));
            }
        }
        all
    }

    /// Runs a closure compiled for this level: its inlined loops are vectorized with the level's
    /// instructions. Results are the same at every level.
    #[inline]
    pub(crate) fn vectorized<R>(self, closure: impl FnOnce() -> R) -> R {
        dispatch!(self, vectorized(closure))
    }

    /// Inner product of two slices of equal length.
    #[inline]
    pub(crate) fn dot(self, query: &[f64], row: &[f32]) -> f64 {
        dispatch!(self, dot(query, row))
    }

    /// Inner product, and the squared norm of the row.
    #[inline]
    pub(crate) fn dot_and_squared_norm(self, query: &[f64], row: &[f32]) -> (f64, f64) {
        dispatch!(self, dot_and_squared_norm(query, row))
    }

    /// Squared Euclidean distance of two slices of equal length.
    #[inline]
    pub(crate) fn squared_distance(self, query: &[f64], row: &[f32]) -> f64 {
        dispatch!(self, squared_distance(query, row))
    }

    /// Inner products of each row with the vectors of a lane block, `lanes`: component d of vector
    /// n is `lanes[d][n]`. Each is the sum, in f32, of one fused multiply-add per dimension, in
    /// order.
    ///
    /// # Panics
    /// If `rows` does not have as many rows of `lanes.len()` values as `products`.
    #[inline]
    pub(crate) fn products(
        self,
        lanes: &[[f32; PRODUCT_LANES]],
        rows: &[f32],
        products: &mut [[f32; PRODUCT_LANES]],
    ) {
        let expected = products.len() * lanes.len();
        assert_eq!(rows.len(), expected, "values of {} rows", products.len());
        dispatch!(self, products(lanes, rows, products))
    }

    /// Quantizes one row to 8 bits: see [`portable::quantize`].
    #[inline]
    pub(crate) fn quantize(self, row: &[f32], codes: &mut [u8]) -> QuantizedRow {
        dispatch!(self, quantize(row, codes))
    }

    /// Inner products of a query with the records of `indices`. Records are contiguous, each as
    /// long as the query and a multiple of [`CACHE_LINE`]. Stops at the shorter of `indices` and
    /// `sums`.
    #[inline]
    pub(crate) fn dot_records(
        self,
        records: &[u8],
        indices: &[u32],
        query: &[i8],
        sums: &mut [i32],
    ) {
        assert!(
            query.len().is_multiple_of(CACHE_LINE),
            "a query as long as a record"
        );
        dispatch!(self, dot_records(records, indices, query, sums))
    }

    /// Upper bounds of the tile's rows for each of up to [`MAX_QUERIES`] queries, and a bit mask of
    /// the rows with an upper bound above the query's threshold. The bound is
    ///
    /// > query.error × row.norm + query.bias × row.bias + query.norm × row.error + sum × row.scale
    ///
    /// `codes` contains a tile ([`TILE_ROWS`] × 4 bytes per four dimensions), `query_codes` the
    /// queries (four bytes per query and four dimensions).
    #[inline]
    pub(crate) fn screen(
        self,
        codes: &[u8],
        stats: TileStats<'_>,
        query_codes: &[i8],
        queries: &[ScreenQuery],
        screened: &mut Screened,
    ) {
        check_tile(codes, query_codes, queries.len());
        dispatch!(self, screen(codes, stats, query_codes, queries, screened))
    }

    /// Inner products of up to [`MAX_QUERIES`] queries with the rows of a tile, laid out as in
    /// [`Cpu::screen`], each added to the query's initial sum.
    #[inline]
    pub(crate) fn dot_tile(
        self,
        codes: &[u8],
        query_codes: &[i8],
        initial_sums: &[i32],
        sums: &mut [[i32; TILE_ROWS]; MAX_QUERIES],
    ) {
        check_tile(codes, query_codes, initial_sums.len());
        dispatch!(self, dot_tile(codes, query_codes, initial_sums, sums))
    }
}

/// # Panics
/// Unless the codes are one tile and 1 to [`MAX_QUERIES`] queries of the same dimension.
#[inline]
fn check_tile(codes: &[u8], query_codes: &[i8], queries: usize) {
    let groups = codes.len() / (4 * TILE_ROWS);
    assert!(
        codes.len() == groups * 4 * TILE_ROWS
            && query_codes.len() == groups * 4 * queries
            && (1..=MAX_QUERIES).contains(&queries),
        "a tile and queries of one dimension"
    );
}

#[cfg(test)]
mod tests;
