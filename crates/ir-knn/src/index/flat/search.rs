//! The search: every row is met, few are scored.

use std::ops::Range;

use ir_core::{DocNum, Ranking, Search, SearchError, TopK};
use rayon::prelude::*;

use super::Similarity;
use super::align::Lines;
use super::half::widen;
use super::simd::{Cpu, QUERIES, ROWS};
use super::similarity::Wide;
use super::tile::{Coded, LONGEST, Packer, Probe, STATS, Tiles, tile_size};

/// Fewer queries than these are not worth coding the rows for.
const FEW: usize = 4;
/// The most queries that are searched together: their codes stay in the cache.
const MANY: usize = 1008;
/// Queries that are worth coding the rows once more, on another thread.
const SEVERAL: usize = 240;
/// Multiplications that are worth a thread.
const WORTH: usize = 1 << 19;

/// What is searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan<'a> {
    pub(super) cpu: Cpu,
    pub(super) similarity: Similarity,
    pub(super) dim: usize,
    pub(super) rows: Values<'a>,
    /// The rows in 8 bits, when they are there already.
    pub(super) tiles: Option<Tiles<'a>>,
}

/// The values of all rows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Values<'a> {
    Single(&'a [f32]),
    /// In 16 bits, little-endian.
    Half(&'a [u8]),
}

impl<'a> Values<'a> {
    fn len(self) -> usize {
        match self {
            Self::Single(values) => values.len(),
            Self::Half(bytes) => bytes.len() / 2,
        }
    }

    /// Some of them: as they are, or widened into `room`.
    #[inline]
    fn get<'r>(self, range: Range<usize>, room: &'r mut Vec<f32>) -> &'r [f32]
    where
        'a: 'r,
    {
        match self {
            Self::Single(values) => &values[range],
            Self::Half(bytes) => {
                room.resize(range.len(), 0.0);
                widen(&bytes[2 * range.start..2 * range.end], room);
                room
            }
        }
    }
}

/// A query that is searched for.
struct Wanted<'q, 's> {
    wide: Wide,
    coded: Option<Coded>,
    how: &'q Search<'s>,
}

impl Scan<'_> {
    fn len(&self) -> usize {
        self.rows.len() / self.dim
    }

    /// The rankings of all queries, which have the right length and are finite.
    pub(super) fn search(
        &self,
        queries: &[(&[f32], Search<'_>)],
    ) -> Result<Vec<Ranking>, SearchError> {
        let count = queries.len();
        if count == 0 || self.rows.len() == 0 {
            return Ok(vec![Ranking::default(); count]);
        }
        let coding = self.dim <= LONGEST && (self.tiles.is_some() || count >= FEW);
        let wanted: Vec<Wanted<'_, '_>> = queries
            .iter()
            .map(|(query, how)| {
                let wide = Wide::new(self.cpu, query);
                // When a good part of all rows is wanted, bounds leave none out.
                let coded = coding && how.k() < self.len() / 4;
                let coded = coded.then(|| Coded::new(self.similarity, query, wide.square));
                Wanted { wide, coded, how }
            })
            .collect();
        self.all(&wanted)
    }

    fn all(&self, wanted: &[Wanted<'_, '_>]) -> Result<Vec<Ranking>, SearchError> {
        let tiles = self.len().div_ceil(ROWS);
        let work = wanted.len().saturating_mul(self.rows.len());
        let threads = rayon::current_num_threads().min(work / WORTH).max(1);
        let many = wanted.len().div_ceil(threads).next_multiple_of(QUERIES);
        let many = many.clamp(SEVERAL, MANY);
        let groups = wanted.len().div_ceil(many);
        // Parts of the rows for the threads that are left over; more than one each, as they may not
        // be equally fast.
        let parts = if threads == 1 || groups >= threads {
            1
        } else {
            (4 * threads / groups).min(tiles)
        };
        let tile = |part: usize| part * tiles / parts;
        let tasks = groups * parts;
        let run = |task: usize| {
            let (group, part) = (task / parts, task % parts);
            let end = wanted.len().min((group + 1) * many);
            self.part(tile(part)..tile(part + 1), &wanted[group * many..end])
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
        let mut rankings = Vec::with_capacity(wanted.len());
        let mut found = found.into_iter();
        for group in 0..groups {
            let mut best = found.next().unwrap_or_default();
            for part in found.by_ref().take(parts - 1) {
                for (best, part) in best.iter_mut().zip(part) {
                    for hit in &part.finish()? {
                        best.push(hit.doc, hit.score);
                    }
                }
            }
            debug_assert!(best.len() <= many && group * many < wanted.len());
            for best in best {
                rankings.push(best.finish()?);
            }
        }
        Ok(rankings)
    }

    /// The best of some tiles.
    fn part(&self, tiles: Range<usize>, wanted: &[Wanted<'_, '_>]) -> Vec<TopK> {
        let mut best: Vec<TopK> = wanted.iter().map(|one| TopK::new(one.how.k())).collect();
        let (coded, plain): (Vec<usize>, Vec<usize>) = (0..wanted.len())
            .filter(|&at| wanted[at].how.k() > 0)
            .partition(|&at| wanted[at].coded.is_some());
        let mut screens: Vec<Screen> = coded
            .chunks(QUERIES)
            .map(|some| Screen::new(some, wanted))
            .collect();
        let mut own = (!screens.is_empty() && self.tiles.is_none()).then(|| Own::new(self));
        let mut room = Vec::new();
        for tile in tiles {
            let first = tile * ROWS;
            let count = ROWS.min(self.len() - first);
            let values = first * self.dim..(first + count) * self.dim;
            if !plain.is_empty() {
                let rows = self.rows.get(values.clone(), &mut room);
                for &at in &plain {
                    self.plain(first, rows, &wanted[at], &mut best[at]);
                }
            }
            if screens.is_empty() {
                continue;
            }
            let (codes, stats) = match (&mut own, self.tiles) {
                (Some(own), _) => own.pack(self.dim, self.rows.get(values, &mut room)),
                (None, Some(tiles)) => tiles.get(tile),
                (None, None) => continue,
            };
            let there = u64::MAX >> (ROWS - count);
            let mut bits = [0; QUERIES];
            for screen in &mut screens {
                self.cpu
                    .screen(codes, stats, &screen.codes, &screen.probes, &mut bits);
                for (at, bits) in bits.iter().enumerate().take(screen.at.len()) {
                    if bits & there != 0 {
                        let query = screen.at[at];
                        let (one, best) = (&wanted[query], &mut best[query]);
                        self.passed(first, bits & there, one, best, &mut room);
                        if let (Some(worst), Some(coded)) = (best.worst(), &one.coded) {
                            screen.probes[at].threshold =
                                coded.threshold(self.similarity, worst.score);
                        }
                    }
                }
            }
        }
        best
    }

    fn plain(&self, first: usize, rows: &[f32], one: &Wanted<'_, '_>, best: &mut TopK) {
        let mut worst = best.worst();
        for (doc, row) in (first as u32..).zip(rows.chunks_exact(self.dim)) {
            let doc = DocNum::new(doc);
            if !one.how.allows(doc) {
                continue;
            }
            let score = self.similarity.score(self.cpu, &one.wide, row);
            // Of equal scores, the one that is kept has the lower number.
            if worst.is_some_and(|worst| score <= worst.score) {
                continue;
            }
            best.push(doc, score);
            worst = best.worst();
        }
    }

    fn passed(
        &self,
        first: usize,
        mut bits: u64,
        one: &Wanted<'_, '_>,
        best: &mut TopK,
        room: &mut Vec<f32>,
    ) {
        while bits != 0 {
            let at = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let doc = DocNum::new((first + at) as u32);
            if one.how.allows(doc) {
                let start = (first + at) * self.dim;
                let row = self.rows.get(start..start + self.dim, room);
                best.push(doc, self.similarity.score(self.cpu, &one.wide, row));
            }
        }
    }
}

/// Queries that are screened together.
struct Screen {
    at: Vec<usize>,
    codes: Vec<i8>,
    probes: Vec<Probe>,
}

impl Screen {
    fn new(at: &[usize], wanted: &[Wanted<'_, '_>]) -> Self {
        let coded = at.iter().filter_map(|&at| wanted[at].coded.as_ref());
        Self {
            at: at.to_vec(),
            codes: Coded::together(coded.clone()),
            probes: coded.map(Coded::probe).collect(),
        }
    }
}

/// One tile, coded for this search.
struct Own {
    packer: Packer,
    codes: Lines,
    stats: Vec<f32>,
}

impl Own {
    fn new(scan: &Scan<'_>) -> Self {
        Self {
            packer: Packer::new(scan.cpu, scan.similarity, scan.dim),
            codes: Lines::zeros(tile_size(scan.dim)),
            stats: vec![0.0; STATS],
        }
    }

    fn pack(&mut self, dim: usize, rows: &[f32]) -> (&[u8], super::tile::Stats<'_>) {
        self.packer.pack(rows, self.codes.as_mut(), &mut self.stats);
        Tiles::new(dim, self.codes.as_ref(), &self.stats).get(0)
    }
}
