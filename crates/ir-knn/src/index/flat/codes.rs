//! 8-bit codes of rows and queries, and an upper bound of the exact score.
//!
//! A row is x = s (c + r): scale s, integer codes |c| ≤ 127, rounding error r. Likewise, a query is
//! q = t (b + p). Then
//!
//! > ⟨q, x⟩ / t = s ⟨b, c⟩ + s ⟨b, r⟩ + ⟨p, x⟩ ≤ s ⟨b, c⟩ + ‖b‖ · s‖r‖ + ‖p‖ · ‖x‖.
//!
//! ⟨b, c⟩ is a sum of integers, and so exact. The norms are computed from this row and this query;
//! they are not worst cases. A row cannot enter the top k if its bound is at most the lowest score
//! there; every other row is scored exactly. So the ranking equals an exhaustive exact search.
//!
//! The bound itself is computed in f32, so the norms are enlarged by more than all rounding errors
//! of that computation ([`rounding_margin`]). Where f32 would overflow or underflow, the bound is
//! infinite or NaN, and the row is scored exactly.

use ir_core::VectorSimilarity;
use rayon::prelude::*;

use crate::simd::{AlignedBytes, Cpu, ScreenQuery, TILE_ROWS, TileStats, huge_pages, tile_size};

/// Scales in this range are far from overflow and underflow.
const SAFE_SCALES: std::ops::RangeInclusive<f64> = 1e-9..=1e9;
/// Number of f32 statistics of a tile: scale, error, norm and bias of every row.
pub(super) const STATS_PER_TILE: usize = 4 * TILE_ROWS;

/// Contiguous tiles of 8-bit rows and their statistics.
#[derive(Debug, Clone, Copy)]
pub(super) struct CodeTiles<'a> {
    codes: &'a [u8],
    stats: &'a [f32],
    size: usize,
}

impl<'a> CodeTiles<'a> {
    pub(super) fn new(dim: usize, codes: &'a [u8], stats: &'a [f32]) -> Self {
        let size = tile_size(dim);
        Self { codes, stats, size }
    }

    pub(super) fn get(self, tile: usize) -> (&'a [u8], TileStats<'a>) {
        let codes = &self.codes[tile * self.size..][..self.size];
        let (stats, _) = self.stats[tile * STATS_PER_TILE..][..STATS_PER_TILE].as_chunks();
        let stats = TileStats {
            scale: &stats[0],
            error: &stats[1],
            norm: &stats[2],
            bias: &stats[3],
        };
        (codes, stats)
    }
}

/// Quantizes rows into tiles.
#[derive(Debug)]
pub(super) struct TileEncoder {
    cpu: Cpu,
    similarity: VectorSimilarity,
    dim: usize,
    row_codes: Vec<u8>,
}

/// Upper bound of the relative rounding error of a bound: 16 partial sums, their sum, and a dozen
/// further operations, each within 2⁻²⁴.
fn rounding_margin(dim: usize) -> f64 {
    (dim as f64 / 16.0 + 24.0) * 2.0_f64.powi(-23) + 2.0_f64.powi(-18)
}

impl TileEncoder {
    pub(super) fn new(cpu: Cpu, similarity: VectorSimilarity, dim: usize) -> Self {
        Self {
            cpu,
            similarity,
            dim,
            row_codes: vec![128; dim.div_ceil(4) * 4],
        }
    }

    /// Quantizes up to [`TILE_ROWS`] rows into a tile.
    pub(super) fn encode(&mut self, rows: &[f32], codes: &mut [u8], stats: &mut [f32]) {
        for (at, row) in rows.chunks_exact(self.dim).enumerate() {
            let row_stats = self.encode_row(row);
            for (group, four) in codes
                .chunks_exact_mut(4 * TILE_ROWS)
                .zip(self.row_codes.as_chunks::<4>().0)
            {
                group[4 * at..][..4].copy_from_slice(four);
            }
            for (stat, value) in row_stats.into_iter().enumerate() {
                stats[stat * TILE_ROWS + at] = value;
            }
        }
    }

    /// Quantizes one row and returns its scale, error, norm and bias.
    fn encode_row(&mut self, row: &[f32]) -> [f32; 4] {
        let quantized = self.cpu.quantize(row, &mut self.row_codes[..self.dim]);
        let scale = f64::from(quantized.scale);
        if scale == 0.0 && row.iter().all(|&value| value == 0.0) {
            return [0.0; 4];
        }
        let norm = f64::from(quantized.squared_norm).sqrt();
        if !SAFE_SCALES.contains(&scale) || !norm.is_finite() {
            return [0.0, f32::INFINITY, 0.0, 0.0];
        }
        let margin = rounding_margin(self.dim);
        let max_norm = norm * (1.0 + margin);
        let error =
            f64::from(quantized.squared_error).sqrt() * (1.0 + margin) + margin * max_norm + 1e-6;
        let (scale, bias) = match self.similarity {
            VectorSimilarity::InnerProduct => (scale, 0.0),
            // Scale of the normalized row.
            VectorSimilarity::Cosine => (1.0 / norm, 0.0),
            VectorSimilarity::Euclidean => {
                let squared_norm = scale * scale * f64::from(quantized.squared_norm);
                (scale, squared_norm * -0.5 * (1.0 - margin))
            }
        };
        let error = (error + margin * max_norm) * scale * (1.0 + margin);
        [scale, error, max_norm * scale * (1.0 + margin), bias].map(|value| value as f32)
    }
}

/// Quantizes all rows; returns the codes and the statistics of all tiles.
pub(super) fn encode_tiles(
    cpu: Cpu,
    similarity: VectorSimilarity,
    dim: usize,
    rows: &[f32],
) -> (AlignedBytes, Vec<f32>) {
    let (tile, tiles) = (tile_size(dim), rows.len().div_ceil(dim * TILE_ROWS));
    let mut codes = AlignedBytes::zeros(tiles * tile);
    huge_pages::advise(codes.as_ref());
    let mut stats = vec![0.0; tiles * STATS_PER_TILE];
    codes
        .as_mut()
        .par_chunks_mut(tile)
        .zip(stats.par_chunks_mut(STATS_PER_TILE))
        .zip(rows.par_chunks(dim * TILE_ROWS))
        .for_each_init(
            || TileEncoder::new(cpu, similarity, dim),
            |encoder, ((codes, stats), rows)| encoder.encode(rows, codes, stats),
        );
    (codes, stats)
}

/// Query quantized to 8-bit codes.
#[derive(Debug)]
pub(super) struct QuantizedQuery {
    codes: Vec<i8>,
    /// The scale t, or NaN if it is out of range, so that no row is screened out.
    scale: f64,
    squared_norm: f64,
    /// Terms of the bound. The threshold is NaN: every row passes.
    pub(super) screen: ScreenQuery,
}

impl QuantizedQuery {
    pub(super) fn new(similarity: VectorSimilarity, query: &[f32], squared_norm: f64) -> Self {
        let largest = query
            .iter()
            .fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let scale = if largest == 0.0 {
            1.0
        } else {
            f64::from(largest) / 127.0
        };
        let mut codes = vec![0; query.len().div_ceil(4) * 4];
        let (mut sum, mut norm, mut error) = (0_i32, 0.0, 0.0);
        for (code, &value) in codes.iter_mut().zip(query) {
            let exact = f64::from(value) / scale;
            let rounded = exact.round_ties_even();
            *code = rounded as i8;
            sum += i32::from(*code);
            norm += rounded * rounded;
            error += (exact - rounded) * (exact - rounded);
        }
        let enlarged = |squared: f64| (squared.sqrt() * (1.0 + 1e-6) + 1e-9) as f32;
        let screen = ScreenQuery {
            initial_sum: -128 * sum,
            norm: enlarged(norm),
            error: enlarged(error),
            bias: match similarity {
                VectorSimilarity::Euclidean => (1.0 / scale) as f32,
                _ => 0.0,
            },
            threshold: f32::NAN,
        };
        let scale = if SAFE_SCALES.contains(&scale) {
            scale
        } else {
            f64::NAN
        };
        Self {
            codes,
            scale,
            squared_norm,
            screen,
        }
    }

    /// Threshold that the bound of a row must exceed for its score to exceed `score`.
    pub(super) fn threshold(&self, similarity: VectorSimilarity, score: f32) -> f32 {
        let score = f64::from(score);
        let (wanted, size) = match similarity {
            VectorSimilarity::InnerProduct => (score, score.abs()),
            VectorSimilarity::Cosine => {
                let wanted = score * self.squared_norm.sqrt();
                (wanted, wanted.abs())
            }
            VectorSimilarity::Euclidean => (
                (score + self.squared_norm) / 2.0,
                (score.abs() + self.squared_norm) / 2.0,
            ),
        };
        let threshold = (wanted - size * 2.0_f64.powi(-20)) / self.scale;
        // Rounded down, also where f32 would round it to zero.
        let threshold = (threshold as f32).next_down();
        if threshold.is_finite() {
            threshold
        } else {
            f32::NAN
        }
    }

    /// Lower bound of the score of a row, from its upper bound and its statistics: every summand
    /// but the product of the codes may have the other sign. Computed scores are not below it.
    ///
    /// Not for [`VectorSimilarity::Euclidean`].
    pub(super) fn lower_score(
        &self,
        similarity: VectorSimilarity,
        upper: f32,
        stats: TileStats<'_>,
        row: usize,
    ) -> f32 {
        let error = f64::from(self.screen.error) * f64::from(stats.norm[row])
            + f64::from(self.screen.norm) * f64::from(stats.error[row]);
        let lower = (f64::from(upper) - 2.0 * error * (1.0 + 1e-6)) * self.scale;
        let score = match similarity {
            VectorSimilarity::Cosine => lower / self.squared_norm.sqrt(),
            _ => lower,
        };
        let score = (score - score.abs() * 2.0_f64.powi(-20)) as f32;
        if score.is_finite() {
            score.next_down()
        } else {
            f32::NEG_INFINITY
        }
    }

    /// Interleaved codes of several queries, in the layout of [`Cpu::screen`]: four bytes per query
    /// and four dimensions.
    pub(super) fn interleave<'a>(queries: impl Iterator<Item = &'a Self> + Clone) -> Vec<i8> {
        let groups = queries
            .clone()
            .next()
            .map_or(0, |first| first.codes.len() / 4);
        let mut interleaved = Vec::new();
        for group in 0..groups {
            for query in queries.clone() {
                interleaved.extend_from_slice(&query.codes[4 * group..][..4]);
            }
        }
        interleaved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::similarity::WideQuery;
    use crate::simd::Screened;

    const ALL: [VectorSimilarity; 3] = [
        VectorSimilarity::InnerProduct,
        VectorSimilarity::Cosine,
        VectorSimilarity::Euclidean,
    ];

    /// Row of one of nine distributions.
    fn row(distribution: usize, seed: usize, dim: usize) -> Vec<f32> {
        let mut state = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / 8_388_608.0 - 1.0
        };
        (0..dim)
            .map(|at| match distribution {
                0 => next(),
                1 => 50.0 + next(),
                // All rounding errors of the codes have one sign.
                2 => (at % 5) as f32 + 0.499 + next() * 1e-4 + if at == 0 { 122.0 } else { 0.0 },
                3 => next() * if at == seed % dim { 1e6 } else { 1.0 },
                4 => next() * 1e-12,
                5 => next() * 3e-7,
                6 => next() * 1e20,
                7 if at % 7 != seed % 7 => 0.0,
                _ => next().powi(5),
            })
            .collect()
    }

    /// Exactness of the search: no row is screened out for a row with a lower score.
    #[test]
    fn bound_is_never_below_the_score() {
        for (dim, similarity) in [1, 3, 17, 64, 129, 384].into_iter().zip(ALL.repeat(2)) {
            for (of_rows, of_query) in (0..81).map(|n| (n / 9, n % 9)) {
                let rows: Vec<f32> = (0..TILE_ROWS).flat_map(|n| row(of_rows, n, dim)).collect();
                let query = row(of_query, 1000 + of_rows, dim);
                for cpu in Cpu::all() {
                    let (codes, stats) = encode_tiles(cpu, similarity, dim, &rows);
                    let (codes, stats) = CodeTiles::new(dim, codes.as_ref(), &stats).get(0);
                    let wide = WideQuery::new(cpu, &query);
                    let quantized = QuantizedQuery::new(similarity, &query, wide.squared_norm);
                    let query_codes = QuantizedQuery::interleave([&quantized].into_iter());
                    for (at, row) in rows.chunks_exact(dim).enumerate() {
                        let score = wide.score(similarity, cpu, row);
                        if !score.is_finite() {
                            continue;
                        }
                        let mut screen = quantized.screen;
                        screen.threshold = quantized.threshold(similarity, score.next_down());
                        let mut screened = Screened::default();
                        cpu.screen(codes, stats, &query_codes, &[screen], &mut screened);
                        if similarity != VectorSimilarity::Euclidean {
                            let upper = screened.bounds[0][at];
                            let lower = quantized.lower_score(similarity, upper, stats, at);
                            assert!(lower <= score, "{lower} {score} {dim} {of_rows} {of_query}");
                        }
                        assert!(
                            screened.passed[0] >> at & 1 == 1,
                            "{similarity} {dim} {of_rows} {of_query} row {at} {cpu:?}"
                        );
                    }
                }
            }
        }
    }

    /// Speed of the search: for ordinary vectors, few rows pass the screen.
    #[test]
    fn bound_is_tight() {
        let dim = 384;
        let rows: Vec<f32> = (0..TILE_ROWS * 20).flat_map(|n| row(0, n, dim)).collect();
        let query = row(0, 5000, dim);
        let cpu = Cpu::detect();
        for similarity in ALL {
            let (codes, stats) = encode_tiles(cpu, similarity, dim, &rows);
            let tiles = CodeTiles::new(dim, codes.as_ref(), &stats);
            let wide = WideQuery::new(cpu, &query);
            let quantized = QuantizedQuery::new(similarity, &query, wide.squared_norm);
            let query_codes = QuantizedQuery::interleave([&quantized].into_iter());
            let mut scores: Vec<f32> = rows
                .chunks_exact(dim)
                .map(|row| wide.score(similarity, cpu, row))
                .collect();
            scores.sort_by(f32::total_cmp);
            let mut screen = quantized.screen;
            screen.threshold = quantized.threshold(similarity, scores[scores.len() - 11]);
            let mut count = 0;
            for tile in 0..20 {
                let (codes, stats) = tiles.get(tile);
                let mut screened = Screened::default();
                cpu.screen(codes, stats, &query_codes, &[screen], &mut screened);
                count += screened.passed[0].count_ones();
            }
            assert!((10..40).contains(&count), "{similarity}: {count}");
        }
    }
}
