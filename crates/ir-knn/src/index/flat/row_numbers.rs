//! Document numbers of the rows of a flat index that is a segment.

use ir_core::{DocFilter, DocNum, DocSet};

use crate::simd::TILE_ROWS;

/// Numbers, in the whole index, of the rows of a segment that are not deleted: consecutive, in the
/// order of the rows.
#[derive(Debug, Clone, Default)]
pub(in crate::index) struct RowNumbers {
    /// Number of the first row that is not deleted.
    first: u32,
    /// [`None`] if no row is deleted.
    live: Option<LiveRows>,
}

/// Rows that are not deleted, by tile.
#[derive(Debug, Clone)]
struct LiveRows {
    /// A bit per row.
    tiles: Vec<u64>,
    /// Number of rows before each tile that are not deleted.
    ranks: Vec<u32>,
}

/// Numbers of an index without deleted rows that is not a segment.
pub(in crate::index) static ALL_ROWS: RowNumbers = RowNumbers {
    first: 0,
    live: None,
};

impl RowNumbers {
    /// Numbers the rows of a segment with `count` rows, from `first` on.
    pub(in crate::index) fn new(first: u32, count: usize, deleted: &DocSet) -> Self {
        const { assert!(TILE_ROWS == 64) };
        if deleted.count() == Some(0) {
            return Self { first, live: None };
        }
        let (mut tiles, mut ranks, mut rank) = (Vec::new(), Vec::new(), 0);
        for start in (0..count).step_by(TILE_ROWS) {
            let rows = TILE_ROWS.min(count - start);
            let is_live = |row: &usize| !deleted.contains(DocNum::new((start + row) as u32));
            let tile = (0..rows)
                .filter(is_live)
                .fold(0, |tile, row| tile | 1 << row);
            tiles.push(tile);
            ranks.push(rank);
            rank += u64::count_ones(tile);
        }
        let live = Some(LiveRows { tiles, ranks });
        Self { first, live }
    }

    /// Returns `true` if the number of every vector is its row.
    pub(in crate::index) fn is_identity(&self) -> bool {
        self.first == 0 && self.live.is_none()
    }

    /// Rows of a tile that are not deleted, as a bit mask. Bits beyond the last row are undefined.
    #[inline]
    pub(in crate::index) fn live_in_tile(&self, tile: usize) -> u64 {
        self.live.as_ref().map_or(u64::MAX, |live| live.tiles[tile])
    }

    /// Number of a row that is not deleted.
    #[inline]
    pub(in crate::index) fn number(&self, row: usize) -> DocNum {
        let rank = match &self.live {
            None => row as u32,
            Some(live) => {
                let before = live.tiles[row / TILE_ROWS] & ((1 << (row % TILE_ROWS)) - 1);
                live.ranks[row / TILE_ROWS] + before.count_ones()
            }
        };
        DocNum::new(self.first + rank)
    }

    /// Number of the last of `count` rows that is not deleted, plus 1.
    pub(in crate::index) fn end(&self, count: usize) -> u32 {
        let live = match &self.live {
            None => count as u32,
            Some(live) => {
                let last = live.ranks.last().zip(live.tiles.last());
                last.map_or(0, |(before, tile)| before + tile.count_ones())
            }
        };
        self.first + live
    }

    /// Row of a document, which is one of the segment.
    pub(in crate::index) fn row(&self, doc: DocNum) -> usize {
        let rank = doc.get() - self.first;
        let Some(live) = &self.live else {
            return rank as usize;
        };
        let tile = live.ranks.partition_point(|&before| before <= rank) - 1;
        let mut rest = live.tiles[tile];
        for _ in live.ranks[tile]..rank {
            rest &= rest - 1;
        }
        tile * TILE_ROWS + rest.trailing_zeros() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_rows_in_both_directions() {
        for count in [1, 63, 64, 65, 200, 500] {
            for every in [1, 2, 3, 70, 1000] {
                let deleted = DocSet::select(count, |doc| (doc.index() + 1).is_multiple_of(every));
                let numbers = RowNumbers::new(7, count, &deleted);
                let docs = (0..count as u32).map(DocNum::new);
                let live: Vec<DocNum> = docs.filter(|&doc| !deleted.contains(doc)).collect();
                assert_eq!(numbers.end(count), 7 + live.len() as u32);
                for (number, &row) in (7..).map(DocNum::new).zip(&live) {
                    let (tile, bit) = (row.index() / TILE_ROWS, row.index() % TILE_ROWS);
                    assert!(numbers.live_in_tile(tile) >> bit & 1 == 1);
                    assert_eq!(numbers.number(row.index()), number);
                    assert_eq!(numbers.row(number), row.index());
                }
                for row in deleted.iter().map(DocNum::index) {
                    assert!(numbers.live_in_tile(row / TILE_ROWS) >> (row % TILE_ROWS) & 1 == 0);
                }
            }
        }
    }
}
