//! Rows and queries in 8 bits, and a bound of what the exact score can be.
//!
//! A row is x = s (c + r): s the step, c whole numbers of at most 127, r what rounding left. So is a
//! query, q = t (b + p). Then
//!
//! ⟨q, x⟩ / t = s ⟨b, c⟩ + s ⟨b, r⟩ + ⟨p, x⟩ ≤ s ⟨b, c⟩ + ‖b‖ · s‖r‖ + ‖p‖ · ‖x‖.
//!
//! ⟨b, c⟩ is a sum of whole numbers, exact. The lengths are those of this row and this query, not
//! what they are at worst. A row whose bound is not above the worst score kept cannot get in;
//! every other is scored exactly. So the answer is that of scoring all rows exactly.
//!
//! The bound itself is computed in 32 bits, so the lengths are enlarged by more than all rounding
//! on the way, [`slack`]. Where 32 bits would overflow or underflow, the bound is infinite or not a
//! number, and the row is scored exactly.

use super::Similarity;
use super::align::Lines;
use super::pages;
use super::simd::{Cpu, ROWS};

/// The longest rows whose sums fit 32 bits.
pub(crate) const LONGEST: usize = 65_536;
/// Steps between these are far from overflow and underflow.
const SAFE: std::ops::RangeInclusive<f64> = 1e-9..=1e9;
/// Numbers that are kept of a tile besides its codes.
pub(super) const STATS: usize = 4 * ROWS;

/// What is known of the rows of a tile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stats<'a> {
    /// Their steps: s.
    pub(super) scale: &'a [f32; ROWS],
    /// The lengths of their errors, enlarged: s‖r‖.
    pub(super) error: &'a [f32; ROWS],
    /// Their lengths, enlarged: ‖x‖.
    pub(super) norm: &'a [f32; ROWS],
    /// What is added whatever the direction: −‖x‖²/2, reduced, for Euclidean; else 0.
    pub(super) lift: &'a [f32; ROWS],
}

/// What is known of a query.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    /// Minus 128 times the sum of its codes: the codes of rows are stored with 128 added.
    pub(super) start: i32,
    /// The length of its codes, enlarged: ‖b‖.
    pub(super) norm: f32,
    /// The length of its error, enlarged: ‖p‖.
    pub(super) error: f32,
    /// The factor of the rows' lift: 1/t for Euclidean.
    pub(super) lift: f32,
    /// What a bound must be above. NaN: every row passes.
    pub(super) threshold: f32,
}

/// Tiles of 8-bit rows, one after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tiles<'a> {
    codes: &'a [u8],
    stats: &'a [f32],
    size: usize,
}

/// The bytes of a tile's codes.
pub(crate) const fn tile_size(dim: usize) -> usize {
    dim.div_ceil(4) * 4 * ROWS
}

impl<'a> Tiles<'a> {
    pub(super) fn new(dim: usize, codes: &'a [u8], stats: &'a [f32]) -> Self {
        let size = tile_size(dim);
        Self { codes, stats, size }
    }

    /// One tile.
    pub(super) fn get(self, tile: usize) -> (&'a [u8], Stats<'a>) {
        let codes = &self.codes[tile * self.size..][..self.size];
        let (parts, _) = self.stats[tile * STATS..][..STATS].as_chunks::<ROWS>();
        let stats = Stats {
            scale: &parts[0],
            error: &parts[1],
            norm: &parts[2],
            lift: &parts[3],
        };
        (codes, stats)
    }
}

/// Makes tiles.
#[derive(Debug)]
pub(super) struct Packer {
    cpu: Cpu,
    similarity: Similarity,
    dim: usize,
    row: Vec<u8>,
}

/// More than what rounding can do, relative to the lengths: 16 sums side by side, then their sum,
/// and a dozen steps, each within 2⁻²⁴.
fn slack(dim: usize) -> f64 {
    (dim as f64 / 16.0 + 24.0) * 2.0_f64.powi(-23) + 2.0_f64.powi(-18)
}

impl Packer {
    pub(super) fn new(cpu: Cpu, similarity: Similarity, dim: usize) -> Self {
        Self {
            cpu,
            similarity,
            dim,
            row: vec![128; dim.div_ceil(4) * 4],
        }
    }

    /// Packs up to [`ROWS`] rows into a tile.
    pub(super) fn pack(&mut self, rows: &[f32], codes: &mut [u8], stats: &mut [f32]) {
        for (at, row) in rows.chunks_exact(self.dim).enumerate() {
            let known = self.row(row);
            for (group, four) in codes
                .chunks_exact_mut(4 * ROWS)
                .zip(self.row.as_chunks::<4>().0)
            {
                group[4 * at..][..4].copy_from_slice(four);
            }
            for (kind, value) in known.into_iter().enumerate() {
                stats[kind * ROWS + at] = value;
            }
        }
    }

    /// Codes one row; gives its scale, error, norm and lift.
    fn row(&mut self, row: &[f32]) -> [f32; 4] {
        let found = self.cpu.quantise(row, &mut self.row[..self.dim]);
        let scale = f64::from(found.scale);
        if scale == 0.0 && row.iter().all(|&value| value == 0.0) {
            return [0.0; 4];
        }
        let length = f64::from(found.square).sqrt();
        if !SAFE.contains(&scale) || !length.is_finite() {
            return [0.0, f32::INFINITY, 0.0, 0.0];
        }
        let slack = slack(self.dim);
        let most = length * (1.0 + slack);
        let error = f64::from(found.error).sqrt() * (1.0 + slack) + slack * most + 1e-6;
        let (scale, lift) = match self.similarity {
            Similarity::InnerProduct => (scale, 0.0),
            // Of the row's direction: its length is one.
            Similarity::Cosine => (1.0 / length, 0.0),
            Similarity::Euclidean => {
                let square = scale * scale * f64::from(found.square);
                (scale, square * -0.5 * (1.0 - slack))
            }
        };
        let error = (error + slack * most) * scale * (1.0 + slack);
        [scale, error, most * scale * (1.0 + slack), lift].map(|value| value as f32)
    }
}

/// All rows as tiles: codes and what is known of them.
pub(super) fn pack_all(
    cpu: Cpu,
    similarity: Similarity,
    dim: usize,
    rows: &[f32],
) -> (Lines, Vec<f32>) {
    use rayon::prelude::*;
    let (tile, tiles) = (tile_size(dim), rows.len().div_ceil(dim * ROWS));
    let mut codes = Lines::zeros(tiles * tile);
    pages::enlarge(codes.as_ref());
    let mut stats = vec![0.0; tiles * STATS];
    codes
        .as_mut()
        .par_chunks_mut(tile)
        .zip(stats.par_chunks_mut(STATS))
        .zip(rows.par_chunks(dim * ROWS))
        .for_each_init(
            || Packer::new(cpu, similarity, dim),
            |packer, ((codes, stats), rows)| packer.pack(rows, codes, stats),
        );
    (codes, stats)
}

/// A query in 8 bits.
#[derive(Debug)]
pub(super) struct Coded {
    codes: Vec<i8>,
    /// t, or NaN when the query is out of range and no row may be left out.
    scale: f64,
    /// The square of its length.
    square: f64,
    probe: Probe,
}

impl Coded {
    pub(super) fn new(similarity: Similarity, query: &[f32], square: f64) -> Self {
        let most = query
            .iter()
            .fold(0.0_f32, |most, value| most.max(value.abs()));
        let scale = if most == 0.0 {
            1.0
        } else {
            f64::from(most) / 127.0
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
        let enlarged = |square: f64| (square.sqrt() * (1.0 + 1e-6) + 1e-9) as f32;
        let probe = Probe {
            start: -128 * sum,
            norm: enlarged(norm),
            error: enlarged(error),
            lift: match similarity {
                Similarity::Euclidean => (1.0 / scale) as f32,
                _ => 0.0,
            },
            threshold: f32::NAN,
        };
        let scale = if SAFE.contains(&scale) {
            scale
        } else {
            f64::NAN
        };
        Self {
            codes,
            scale,
            square,
            probe,
        }
    }

    pub(super) const fn probe(&self) -> Probe {
        self.probe
    }

    /// What a bound must be above, so that the score can be above `score`.
    pub(super) fn threshold(&self, similarity: Similarity, score: f32) -> f32 {
        let score = f64::from(score);
        let (wanted, size) = match similarity {
            Similarity::InnerProduct => (score, score.abs()),
            Similarity::Cosine => {
                let wanted = score * self.square.sqrt();
                (wanted, wanted.abs())
            }
            Similarity::Euclidean => (
                (score + self.square) / 2.0,
                (score.abs() + self.square) / 2.0,
            ),
        };
        let threshold = (wanted - size * 2.0_f64.powi(-20)) / self.scale;
        // Also where 32 bits would round it to zero.
        let threshold = (threshold as f32).next_down();
        if threshold.is_finite() {
            threshold
        } else {
            f32::NAN
        }
    }

    /// The codes of some queries as [`Cpu::screen`] takes them: for four dimensions, four bytes a
    /// query.
    pub(super) fn together<'a>(queries: impl Iterator<Item = &'a Self> + Clone) -> Vec<i8> {
        let groups = queries
            .clone()
            .next()
            .map_or(0, |first| first.codes.len() / 4);
        let mut together = Vec::new();
        for group in 0..groups {
            for query in queries.clone() {
                together.extend_from_slice(&query.codes[4 * group..][..4]);
            }
        }
        together
    }
}

#[cfg(test)]
mod tests {
    use super::super::simd::QUERIES;
    use super::super::similarity::Wide;
    use super::*;

    const ALL: [Similarity; 3] = [
        Similarity::InnerProduct,
        Similarity::Cosine,
        Similarity::Euclidean,
    ];

    /// A row of one of several kinds.
    fn row(kind: usize, seed: usize, dim: usize) -> Vec<f32> {
        let mut state = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / 8_388_608.0 - 1.0
        };
        (0..dim)
            .map(|at| match kind {
                0 => next(),
                1 => 50.0 + next(),
                // Codes whose rounding errors all have one sign.
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

    /// What makes the search exact: a row whose score is above another is never left out for it.
    #[test]
    fn the_bound_is_one() {
        for (dim, similarity) in [1, 3, 17, 64, 129, 384].into_iter().zip(ALL.repeat(2)) {
            for (kind, query_kind) in (0..81).map(|n| (n / 9, n % 9)) {
                let rows: Vec<f32> = (0..ROWS).flat_map(|n| row(kind, n, dim)).collect();
                let query = row(query_kind, 1000 + kind, dim);
                for cpu in Cpu::all() {
                    let (codes, stats) = pack_all(cpu, similarity, dim, &rows);
                    let (codes, stats) = Tiles::new(dim, codes.as_ref(), &stats).get(0);
                    let wide = Wide::new(cpu, &query);
                    let coded = Coded::new(similarity, &query, wide.square);
                    let together = Coded::together([&coded].into_iter());
                    for (at, row) in rows.chunks_exact(dim).enumerate() {
                        let score = similarity.score(cpu, &wide, row);
                        if !score.is_finite() {
                            continue;
                        }
                        let mut probe = coded.probe();
                        probe.threshold = coded.threshold(similarity, score.next_down());
                        let mut bits = [0; QUERIES];
                        cpu.screen(codes, stats, &together, &[probe], &mut bits);
                        assert!(
                            bits[0] >> at & 1 == 1,
                            "{similarity} {dim} {kind} {query_kind} row {at} {cpu:?}"
                        );
                    }
                }
            }
        }
    }

    /// And what makes it fast: for ordinary vectors, few rows are in doubt.
    #[test]
    fn the_bound_is_close() {
        let dim = 384;
        let rows: Vec<f32> = (0..ROWS * 20).flat_map(|n| row(0, n, dim)).collect();
        let query = row(0, 5000, dim);
        let cpu = Cpu::detect();
        for similarity in ALL {
            let (codes, stats) = pack_all(cpu, similarity, dim, &rows);
            let tiles = Tiles::new(dim, codes.as_ref(), &stats);
            let wide = Wide::new(cpu, &query);
            let coded = Coded::new(similarity, &query, wide.square);
            let together = Coded::together([&coded].into_iter());
            let mut scores: Vec<f32> = rows
                .chunks_exact(dim)
                .map(|row| similarity.score(cpu, &wide, row))
                .collect();
            scores.sort_by(f32::total_cmp);
            let mut probe = coded.probe();
            probe.threshold = coded.threshold(similarity, scores[scores.len() - 11]);
            let mut passed = 0;
            for tile in 0..20 {
                let (codes, stats) = tiles.get(tile);
                let mut bits = [0; QUERIES];
                cpu.screen(codes, stats, &together, &[probe], &mut bits);
                passed += bits[0].count_ones();
            }
            assert!((10..40).contains(&passed), "{similarity}: {passed}");
        }
    }
}
