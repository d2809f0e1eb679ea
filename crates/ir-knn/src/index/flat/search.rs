//! Exact top-k search: every row is screened, few are scored.

use std::iter;
use std::ops::Range;

use ir_core::{DocNum, Ranking, Search, SearchError, TopK, VectorSimilarity};
use rayon::prelude::*;

use super::codes::{CodeTiles, QuantizedQuery, STATS_PER_TILE, TileEncoder};
use super::row_numbers::RowNumbers;
use super::shared_floor::SharedFloor;
use crate::index::similarity::WideQuery;
use crate::index::validate::check_query;
use crate::simd::{
    AlignedBytes, Cpu, MAX_DIM, MAX_QUERIES, ScreenQuery, Screened, TILE_ROWS, TileStats, prefetch,
    tile_size,
};

/// Minimum batch size at which rows are quantized during the search.
const MIN_BATCH_TO_QUANTIZE: usize = 4;
/// Maximum size of a query group, so that the codes of its queries stay in the L2 cache.
const MAX_GROUP: usize = 1008;
/// Minimum size of a query group. Every group quantizes all rows again, on its own thread.
const MIN_GROUP: usize = 240;
/// A filter that lists its members is scored row by row if at most 1/32 of the rows pass.
const ROWS_PER_MEMBER: usize = 32;
/// Number of candidates with prefetched rows: the rows fit the L1 cache.
const PREFETCHED: usize = 4;
/// Number of candidates of a query and a range at which those below the floor are removed, for `k`
/// hits.
const fn max_candidates(k: usize) -> usize {
    match k {
        ..64 => 512,
        64..512 => 8 * k,
        _ => 4096,
    }
}

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
    iter::from_fn(move || {
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
    /// If `true`, the members of the filter are scored, otherwise all rows.
    lists_members: bool,
    /// Lower scores are no hits.
    floor: f32,
    search: &'q Search<'s>,
}

impl FlatQuery<'_, '_> {
    /// The hits at or above the floor.
    fn finish(&self, best: TopK) -> Result<Ranking, SearchError> {
        let ranking = best.finish()?;
        Ok(if self.floor > f32::NEG_INFINITY {
            ranking.retain(|hit| hit.score >= self.floor)
        } else {
            ranking
        })
    }
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

    /// Rankings of all queries, without the hits below the floor of the query. Queries beyond the
    /// end of `floors` have no floor.
    ///
    /// # Errors
    /// If a query has another dimension or is not valid for the similarity.
    pub(in crate::index) fn search_above(
        &self,
        queries: &[(&[f32], Search<'_>)],
        floors: &[f32],
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
        let floors = floors.iter().copied();
        let floors = floors.chain(iter::repeat(f32::NEG_INFINITY));
        let prepared = queries.iter().zip(floors).map(|((query, search), floor)| {
            let wide = WideQuery::new(self.cpu, query);
            // If k is a large fraction of all rows, bounds screen out none.
            let screens = screens && search.k() < self.len() / 4;
            let lists_members = self.lists_members(search);
            let quantized = (screens && !lists_members)
                .then(|| QuantizedQuery::new(self.similarity, query, wide.squared_norm));
            FlatQuery {
                wide,
                quantized,
                lists_members,
                floor,
                search,
            }
        });
        let (listed, scanned): (Vec<_>, Vec<_>) = (0..)
            .zip(prepared)
            .partition(|(_, query)| query.lists_members);
        let mut rankings = vec![Ranking::default(); count];
        let members = listed
            .par_iter()
            .map(|(at, query)| Ok((*at, self.score_members(query)?)));
        for (at, ranking) in members.collect::<Result<Vec<(usize, Ranking)>, SearchError>>()? {
            rankings[at] = ranking;
        }
        if !scanned.is_empty() {
            let (places, queries): (Vec<usize>, Vec<_>) = scanned.into_iter().unzip();
            for (at, ranking) in places.into_iter().zip(self.search_prepared(&queries)?) {
                rankings[at] = ranking;
            }
        }
        Ok(rankings)
    }

    /// Returns `true` if few rows pass the filter of a search, and the filter lists them.
    fn lists_members(&self, search: &Search<'_>) -> bool {
        let count = search.filter().and_then(|filter| filter.count());
        count.is_some_and(|count| count.saturating_mul(ROWS_PER_MEMBER) <= self.len())
            && search
                .filter()
                .is_some_and(|filter| filter.members().is_some())
    }

    /// Top k of a query among the members of its filter.
    fn score_members(&self, query: &FlatQuery<'_, '_>) -> Result<Ranking, SearchError> {
        let mut best = TopK::new(query.search.k());
        let mut segments = self.segments.iter();
        let mut segment = segments.next();
        let members = query.search.filter().and_then(|filter| filter.members());
        for doc in members.into_iter().flatten() {
            let end =
                |segment: &ScanSegment<'_>| segment.numbers.end(segment.rows.len() / self.dim);
            while segment.is_some_and(|segment| doc.get() >= end(segment)) {
                segment = segments.next();
            }
            let Some(segment) = segment else { break };
            let row = segment.numbers.row(doc);
            let row = &segment.rows[row * self.dim..][..self.dim];
            best.push(doc, query.wide.score(self.similarity, self.cpu, row));
        }
        query.finish(best)
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
        let floors = queries.iter().map(|query| SharedFloor::new(query.floor));
        let floors: Vec<SharedFloor> = floors.collect();
        let run = |task: usize| {
            let (group, range) = (task / ranges, task % ranges);
            let end = queries.len().min((group + 1) * group_size);
            self.search_tiles(
                first_tile(range)..first_tile(range + 1),
                &queries[group * group_size..end],
                &floors[group * group_size..end],
            )
        };
        let found: Vec<Vec<RangeHits<'_>>> = if threads == 1 {
            (0..tasks).map(run).collect()
        } else {
            (0..tasks)
                .into_par_iter()
                .with_max_len(1)
                .map(run)
                .collect()
        };
        // The hits of each query in all ranges.
        let mut by_query: Vec<Vec<RangeHits<'_>>> = queries.iter().map(|_| Vec::new()).collect();
        for (task, hits) in found.into_iter().enumerate() {
            let first = task / ranges * group_size;
            for (all, hits) in by_query[first..].iter_mut().zip(hits) {
                all.push(hits);
            }
        }
        let finish = |(ranges, (query, floor))| self.finish(query, ranges, floor);
        if threads == 1 {
            let queries = queries.iter().zip(&floors);
            return by_query.into_iter().zip(queries).map(finish).collect();
        }
        let queries = queries.par_iter().zip(&floors);
        by_query.into_par_iter().zip(queries).map(finish).collect()
    }

    /// Merges the hits of a query in all ranges: candidates are scored that may exceed the floor.
    fn finish(
        &self,
        query: &FlatQuery<'_, '_>,
        ranges: Vec<RangeHits<'_>>,
        floor: &SharedFloor,
    ) -> Result<Ranking, SearchError> {
        let mut best = TopK::new(query.search.k());
        let mut candidates = Vec::new();
        for range in ranges {
            for hit in &range.best.finish()? {
                best.push(hit.doc, hit.score);
            }
            candidates.extend(range.candidates);
        }
        if let Some(quantized) = &query.quantized {
            let threshold = quantized.threshold(self.similarity, floor.get().next_down());
            candidates.retain(|candidate| candidate.exceeds(threshold));
        }
        self.score_candidates(query, &candidates, &mut best);
        query.finish(best)
    }

    /// Scores the rows of candidates and adds them to the hits.
    fn score_candidates(
        &self,
        query: &FlatQuery<'_, '_>,
        candidates: &[Candidate<'_>],
        best: &mut TopK,
    ) {
        // Their rows are far from each other.
        let ahead = candidates.iter().skip(PREFETCHED).map(Some);
        let ahead = ahead.chain(iter::repeat(None));
        for candidate in candidates.iter().take(PREFETCHED) {
            prefetch(bytemuck::cast_slice(candidate.row));
        }
        for (candidate, ahead) in candidates.iter().zip(ahead) {
            if let Some(ahead) = ahead {
                prefetch(bytemuck::cast_slice(ahead.row));
            }
            let score = query.wide.score(self.similarity, self.cpu, candidate.row);
            best.push(candidate.doc, score);
        }
    }

    /// Hits of each query among the rows of some tiles. Hits below the floor of the query may be
    /// missing.
    fn search_tiles(
        &self,
        tiles: Range<usize>,
        queries: &[FlatQuery<'_, '_>],
        floors: &[SharedFloor],
    ) -> Vec<RangeHits<'a>> {
        let mut found: Vec<RangeHits<'a>> = queries
            .iter()
            .map(|query| RangeHits::new(query.search.k()))
            .collect();
        let (screened, unscreened): (Vec<usize>, Vec<usize>) = (0..queries.len())
            .filter(|&at| queries[at].search.k() > 0)
            .partition(|&at| queries[at].quantized.is_some());
        let mut batches: Vec<ScreenBatch> = screened
            .chunks(MAX_QUERIES)
            .map(|some| ScreenBatch::new(some, queries))
            .collect();
        let mut buffer: Option<TileBuffer> = None;
        let mut screened = Screened::default();
        let mut tiles = self.tiles(tiles).peekable();
        while let Some((segment, number)) = tiles.next() {
            let first_row = number * TILE_ROWS;
            let count = TILE_ROWS.min(segment.rows.len() / self.dim - first_row);
            let tile = ScanTile {
                first_row,
                rows: &segment.rows[first_row * self.dim..(first_row + count) * self.dim],
                live: u64::MAX >> (TILE_ROWS - count) & segment.numbers.live_in_tile(number),
                numbers: segment.numbers,
            };
            for &at in &unscreened {
                self.score_all(tile, &queries[at], &mut found[at].best);
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
            // The codes of the next tile are read while this one is screened. For few queries, the
            // CPU's own prefetching is faster.
            let next = tiles.peek().filter(|_| batches.len() > 1);
            let ahead = next.and_then(|(segment, number)| {
                let (codes, _) = segment.tiles?.get(*number);
                Some(codes)
            });
            let mut ahead = ahead.map(|codes| codes.chunks(codes.len().div_ceil(batches.len())));
            for batch in &mut batches {
                if let Some(part) = ahead.as_mut().and_then(Iterator::next) {
                    prefetch(part);
                }
                for at in 0..batch.queries.len() {
                    let number = batch.queries[at];
                    // Rows of other ranges with a score equal to the floor may precede.
                    let floor = floors[number].get().next_down();
                    batch.raise(at, floor, &queries[number], self.similarity);
                }
                self.cpu
                    .screen(codes, stats, &batch.codes, &batch.screens, &mut screened);
                for at in 0..batch.queries.len() {
                    let passed = screened.passed[at] & tile.live;
                    if passed == 0 {
                        continue;
                    }
                    let number = batch.queries[at];
                    let (query, found) = (&queries[number], &mut found[number]);
                    if self.similarity == VectorSimilarity::Euclidean {
                        self.score_passed(tile, passed, query, &mut found.best);
                        if let Some(worst) = found.best.worst() {
                            floors[number].raise(worst.score);
                            batch.raise(at, worst.score, query, self.similarity);
                        }
                        continue;
                    }
                    self.add_candidates(tile, passed, query, (stats, &screened.bounds[at]), found);
                    if let Some(worst) = found.lower.worst() {
                        floors[number].raise(worst.score);
                        batch.raise(at, worst.score.next_down(), query, self.similarity);
                    }
                    let max = max_candidates(query.search.k());
                    if found.candidates.len() >= max {
                        let threshold = batch.screens[at].threshold;
                        let candidates = &mut found.candidates;
                        candidates.retain(|candidate| candidate.exceeds(threshold));
                        if candidates.len() >= max / 2 {
                            self.score_candidates(query, candidates, &mut found.best);
                            candidates.clear();
                        }
                    }
                }
            }
        }
        found
    }

    /// Adds the rows of a tile that passed the screen, given as a bit mask, as candidates. The last
    /// but one argument has the statistics and the upper bounds of the rows.
    fn add_candidates(
        &self,
        tile: ScanTile<'a>,
        passed: u64,
        query: &FlatQuery<'_, '_>,
        (stats, bounds): (TileStats<'_>, &[f32; TILE_ROWS]),
        found: &mut RangeHits<'a>,
    ) {
        let Some(quantized) = &query.quantized else {
            return;
        };
        for at in ones(passed) {
            let doc = tile.numbers.number(tile.first_row + at);
            if query.search.allows(doc) {
                let upper = bounds[at];
                let lower = quantized.lower_score(self.similarity, upper, stats, at);
                found.lower.push(doc, lower);
                found.candidates.push(Candidate {
                    upper,
                    doc,
                    row: &tile.rows[at * self.dim..(at + 1) * self.dim],
                });
            }
        }
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
            let score = query.wide.score(self.similarity, self.cpu, row);
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
                best.push(doc, query.wide.score(self.similarity, self.cpu, row));
            }
        }
    }
}

/// Row that may be one of the best, with the upper bound of its score in units of the screen.
struct Candidate<'a> {
    upper: f32,
    doc: DocNum,
    row: &'a [f32],
}

impl Candidate<'_> {
    /// Returns `true` if the row passes a screen with a threshold. A NaN passes.
    fn exceeds(&self, threshold: f32) -> bool {
        let below = self.upper <= threshold;
        !below
    }
}

/// Hits of a query in a range of tiles.
struct RangeHits<'a> {
    /// Hits that are scored.
    best: TopK,
    /// The largest lower bounds of scores. The k-th is a floor of the k-th best score, found
    /// without reading the rows.
    lower: TopK,
    /// Rows that are scored at the end, when the floor is high.
    candidates: Vec<Candidate<'a>>,
}

impl RangeHits<'_> {
    fn new(k: usize) -> Self {
        Self {
            best: TopK::new(k),
            lower: TopK::new(k),
            candidates: Vec::new(),
        }
    }
}

/// Queries that are screened in one call.
struct ScreenBatch {
    /// Indices of the queries.
    queries: Vec<usize>,
    codes: Vec<i8>,
    screens: Vec<ScreenQuery>,
    /// Scores that rows must exceed, from which the thresholds of `screens` are computed.
    floors: Vec<f32>,
}

impl ScreenBatch {
    fn new(at: &[usize], queries: &[FlatQuery<'_, '_>]) -> Self {
        let quantized = at.iter().filter_map(|&at| queries[at].quantized.as_ref());
        Self {
            queries: at.to_vec(),
            codes: QuantizedQuery::interleave(quantized.clone()),
            screens: quantized.map(|query| query.screen).collect(),
            floors: vec![f32::NEG_INFINITY; at.len()],
        }
    }

    /// Raises the score that rows must exceed for a query.
    fn raise(
        &mut self,
        at: usize,
        floor: f32,
        query: &FlatQuery<'_, '_>,
        similarity: VectorSimilarity,
    ) {
        if floor > self.floors[at]
            && let Some(quantized) = &query.quantized
        {
            self.floors[at] = floor;
            self.screens[at].threshold = quantized.threshold(similarity, floor);
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
