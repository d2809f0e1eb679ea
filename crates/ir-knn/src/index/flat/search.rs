//! Exact top-k search: every row is screened, few are scored.

use std::ops::Range;

use ir_core::{Ranking, Search, SearchError, TopK};
use rayon::prelude::*;

use super::codes::{CodeTiles, QuantizedQuery, STATS_PER_TILE, TileEncoder};
use super::row_numbers::RowNumbers;
use crate::index::similarity::{VectorSimilarity, WideQuery};
use crate::index::validate::check_query;
use crate::simd::{
    AlignedBytes, Cpu, MAX_DIM, MAX_QUERIES, ScreenQuery, TILE_ROWS, TileStats, tile_size,
};

/// Minimum batch size at which rows are quantized during the search.
const MIN_BATCH_TO_QUANTIZE: usize = 4;
/// Maximum size of a query group, so that the codes of its queries stay in the L2 cache.
const MAX_GROUP: usize = 1008;
/// Minimum size of a query group. Every group quantizes all rows again, on its own thread.
const MIN_GROUP: usize = 240;
/// Minimum number of multiplications per thread.
const MIN_WORK_PER_THREAD: usize = 1 << 19;

/// Borrowed vectors and codes of a flat index, or of the segments of one.
#[derive(Debug, Clone, Copy)]
pub(in crate::index) struct FlatScan<'a> {
    pub(in crate::index) cpu: Cpu,
    pub(in crate::index) similarity: VectorSimilarity,
    pub(in crate::index) dim: usize,
    /// In ascending order of document numbers.
    pub(in crate::index) segments: &'a [ScanSegment<'a>],
}

/// Borrowed vectors and codes of a segment.
#[derive(Debug, Clone, Copy)]
pub(in crate::index) struct ScanSegment<'a> {
    pub(super) rows: &'a [f32],
    /// 8-bit codes of the rows, if the segment has them.
    pub(super) tiles: Option<CodeTiles<'a>>,
    pub(super) numbers: &'a RowNumbers,
}

/// Rows of a tile and their document numbers.
#[derive(Clone, Copy)]
struct ScanTile<'a> {
    first_row: usize,
    rows: &'a [f32],
    /// Rows that exist and are not deleted, as a bit mask.
    live: u64,
    numbers: &'a RowNumbers,
}

/// Iterates over the bits that are 1.
fn ones(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        at
    })
}

/// Query in the precisions of scoring and screening.
struct FlatQuery<'q, 's> {
    wide: WideQuery,
    /// [`None`] if every row is scored.
    quantized: Option<QuantizedQuery>,
    search: &'q Search<'s>,
}

impl<'a> FlatScan<'a> {
    /// Number of values of all rows.
    fn values(&self) -> usize {
        self.segments.iter().map(|segment| segment.rows.len()).sum()
    }

    /// Number of rows, with deleted ones.
    fn len(&self) -> usize {
        self.values() / self.dim
    }

    /// Number of tiles of a segment.
    fn tiles_of(&self, segment: &ScanSegment<'_>) -> usize {
        segment.rows.len().div_ceil(self.dim * TILE_ROWS)
    }

    /// The tiles of all segments in a range, each with its segment and its number there.
    fn tiles(&self, range: Range<usize>) -> impl Iterator<Item = (&'a ScanSegment<'a>, usize)> {
        let mut end = 0;
        let segments = self.segments.iter().map(move |segment| {
            let start = end;
            end += self.tiles_of(segment);
            (segment, start, range.start.max(start)..range.end.min(end))
        });
        let segments: Vec<_> = segments.collect();
        segments
            .into_iter()
            .flat_map(|(segment, start, tiles)| tiles.map(move |tile| (segment, tile - start)))
    }

    /// Rankings of all queries.
    ///
    /// # Errors
    /// If a query has another dimension or is not valid for the similarity.
    pub(in crate::index) fn search(
        &self,
        queries: &[(&[f32], Search<'_>)],
    ) -> Result<Vec<Ranking>, SearchError> {
        for (query, _) in queries {
            check_query(self.dim, self.similarity, query)?;
        }
        let count = queries.len();
        if count == 0 || self.values() == 0 {
            return Ok(vec![Ranking::default(); count]);
        }
        let has_codes = self.segments.iter().all(|segment| segment.tiles.is_some());
        let screens = self.dim <= MAX_DIM && (has_codes || count >= MIN_BATCH_TO_QUANTIZE);
        let prepared: Vec<FlatQuery<'_, '_>> = queries
            .iter()
            .map(|(query, search)| {
                let wide = WideQuery::new(self.cpu, query);
                // If k is a large fraction of all rows, bounds screen out none.
                let screens = screens && search.k() < self.len() / 4;
                let quantized =
                    screens.then(|| QuantizedQuery::new(self.similarity, query, wide.squared_norm));
                FlatQuery {
                    wide,
                    quantized,
                    search,
                }
            })
            .collect();
        self.search_prepared(&prepared)
    }

    /// Divides queries and tiles among threads and merges the rankings.
    fn search_prepared(&self, queries: &[FlatQuery<'_, '_>]) -> Result<Vec<Ranking>, SearchError> {
        let tiles = self.segments.iter().map(|segment| self.tiles_of(segment));
        let tiles: usize = tiles.sum();
        let work = queries.len().saturating_mul(self.values());
        let threads = rayon::current_num_threads()
            .min(work / MIN_WORK_PER_THREAD)
            .max(1);
        let group_size = queries
            .len()
            .div_ceil(threads)
            .next_multiple_of(MAX_QUERIES)
            .clamp(MIN_GROUP, MAX_GROUP);
        let groups = queries.len().div_ceil(group_size);
        // Remaining threads divide the rows: several ranges per thread, as threads may not be
        // equally fast.
        let ranges = if threads == 1 || groups >= threads {
            1
        } else {
            (4 * threads / groups).min(tiles)
        };
        let first_tile = |range: usize| range * tiles / ranges;
        let tasks = groups * ranges;
        let run = |task: usize| {
            let (group, range) = (task / ranges, task % ranges);
            let end = queries.len().min((group + 1) * group_size);
            self.search_tiles(
                first_tile(range)..first_tile(range + 1),
                &queries[group * group_size..end],
            )
        };
        let found: Vec<Vec<TopK>> = if threads == 1 {
            (0..tasks).map(run).collect()
        } else {
            (0..tasks)
                .into_par_iter()
                .with_max_len(1)
                .map(run)
                .collect()
        };
        let mut rankings = Vec::with_capacity(queries.len());
        let mut found = found.into_iter();
        for group in 0..groups {
            let mut best = found.next().unwrap_or_default();
            for range in found.by_ref().take(ranges - 1) {
                for (best, range) in best.iter_mut().zip(range) {
                    for hit in &range.finish()? {
                        best.push(hit.doc, hit.score);
                    }
                }
            }
            debug_assert!(best.len() <= group_size && group * group_size < queries.len());
            for best in best {
                rankings.push(best.finish()?);
            }
        }
        Ok(rankings)
    }

    /// Top k of each query among the rows of some tiles.
    fn search_tiles(&self, tiles: Range<usize>, queries: &[FlatQuery<'_, '_>]) -> Vec<TopK> {
        let mut best: Vec<TopK> = queries
            .iter()
            .map(|query| TopK::new(query.search.k()))
            .collect();
        let (screened, unscreened): (Vec<usize>, Vec<usize>) = (0..queries.len())
            .filter(|&at| queries[at].search.k() > 0)
            .partition(|&at| queries[at].quantized.is_some());
        let mut batches: Vec<ScreenBatch> = screened
            .chunks(MAX_QUERIES)
            .map(|some| ScreenBatch::new(some, queries))
            .collect();
        let mut buffer: Option<TileBuffer> = None;
        for (segment, number) in self.tiles(tiles) {
            let first_row = number * TILE_ROWS;
            let count = TILE_ROWS.min(segment.rows.len() / self.dim - first_row);
            let tile = ScanTile {
                first_row,
                rows: &segment.rows[first_row * self.dim..(first_row + count) * self.dim],
                live: u64::MAX >> (TILE_ROWS - count) & segment.numbers.live_in_tile(number),
                numbers: segment.numbers,
            };
            for &at in &unscreened {
                self.score_all(tile, &queries[at], &mut best[at]);
            }
            if batches.is_empty() || tile.live == 0 {
                continue;
            }
            let (codes, stats) = match segment.tiles {
                Some(tiles) => tiles.get(number),
                None => {
                    let buffer = buffer.get_or_insert_with(|| TileBuffer::new(self));
                    buffer.encode(self.dim, tile.rows)
                }
            };
            let mut passed = [0; MAX_QUERIES];
            for batch in &mut batches {
                self.cpu
                    .screen(codes, stats, &batch.codes, &batch.screens, &mut passed);
                for (at, passed) in passed.iter().enumerate().take(batch.queries.len()) {
                    if passed & tile.live != 0 {
                        let number = batch.queries[at];
                        let (query, best) = (&queries[number], &mut best[number]);
                        self.score_passed(tile, passed & tile.live, query, best);
                        if let (Some(worst), Some(quantized)) = (best.worst(), &query.quantized) {
                            batch.screens[at].threshold =
                                quantized.threshold(self.similarity, worst.score);
                        }
                    }
                }
            }
        }
        best
    }

    fn score_all(&self, tile: ScanTile<'_>, query: &FlatQuery<'_, '_>, best: &mut TopK) {
        let mut worst = best.worst();
        for (at, row) in tile.rows.chunks_exact(self.dim).enumerate() {
            if tile.live >> at & 1 == 0 {
                continue;
            }
            let doc = tile.numbers.number(tile.first_row + at);
            if !query.search.allows(doc) {
                continue;
            }
            let score = self.similarity.score(self.cpu, &query.wide, row);
            // Among equal scores, the earlier document has the lower number and stays.
            if worst.is_some_and(|worst| score <= worst.score) {
                continue;
            }
            best.push(doc, score);
            worst = best.worst();
        }
    }

    /// Scores the rows of a tile that passed the screen, given as a bit mask.
    fn score_passed(
        &self,
        tile: ScanTile<'_>,
        passed: u64,
        query: &FlatQuery<'_, '_>,
        best: &mut TopK,
    ) {
        for at in ones(passed) {
            let doc = tile.numbers.number(tile.first_row + at);
            if query.search.allows(doc) {
                let row = &tile.rows[at * self.dim..(at + 1) * self.dim];
                best.push(doc, self.similarity.score(self.cpu, &query.wide, row));
            }
        }
    }
}

/// Queries that are screened in one call.
struct ScreenBatch {
    /// Indices of the queries.
    queries: Vec<usize>,
    codes: Vec<i8>,
    screens: Vec<ScreenQuery>,
}

impl ScreenBatch {
    fn new(at: &[usize], queries: &[FlatQuery<'_, '_>]) -> Self {
        let quantized = at.iter().filter_map(|&at| queries[at].quantized.as_ref());
        Self {
            queries: at.to_vec(),
            codes: QuantizedQuery::interleave(quantized.clone()),
            screens: quantized.map(|query| query.screen).collect(),
        }
    }
}

/// Tile quantized during the search.
struct TileBuffer {
    encoder: TileEncoder,
    codes: AlignedBytes,
    stats: Vec<f32>,
}

impl TileBuffer {
    fn new(scan: &FlatScan<'_>) -> Self {
        Self {
            encoder: TileEncoder::new(scan.cpu, scan.similarity, scan.dim),
            codes: AlignedBytes::zeros(tile_size(scan.dim)),
            stats: vec![0.0; STATS_PER_TILE],
        }
    }

    fn encode(&mut self, dim: usize, rows: &[f32]) -> (&[u8], TileStats<'_>) {
        self.encoder
            .encode(rows, self.codes.as_mut(), &mut self.stats);
        CodeTiles::new(dim, self.codes.as_ref(), &self.stats).get(0)
    }
}
