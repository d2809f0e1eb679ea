//! Vectorized loops over columns. The results are the same for every instruction set.

use pulp::{Simd, WithSimd};

use crate::search::bm25_scorer::score_of;

/// Documents per maximum of sums.
pub(super) const TILE: usize = 64;
/// Documents per window. Their sums stay in the L1 cache while columns are added.
const WINDOW: usize = 8192;
/// Columns that are added at once.
const GROUP: usize = 4;

/// Adds columns of bounds, each with a factor of at most 255, to sums that saturate.
pub(super) struct AddColumns<'a> {
    pub(super) sums: &'a mut [u16],
    pub(super) columns: &'a [(&'a [u8], u16)],
}

impl WithSimd for AddColumns<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let mut start = 0;
        for window in self.sums.chunks_mut(WINDOW) {
            for group in self.columns.chunks(GROUP) {
                add_group(window, start, group);
            }
            start += window.len();
        }
    }
}

/// Adds up to [`GROUP`] columns to the sums of the documents from `start` on.
#[inline(always)]
fn add_group(sums: &mut [u16], start: usize, columns: &[(&[u8], u16)]) {
    let size = sums.len();
    match *columns {
        [(a, 1), (b, 1), (c, 1), (d, 1)] => {
            let [a, b, c, d] = [a, b, c, d].map(|column| part(column, start, size));
            let of_columns = a.iter().zip(b).zip(c.iter().zip(d));
            for (sum, ((&a, &b), (&c, &d))) in sums.iter_mut().zip(of_columns) {
                // Four bounds do not overflow.
                let ab = u16::from(a).wrapping_add(u16::from(b));
                let cd = u16::from(c).wrapping_add(u16::from(d));
                *sum = sum.saturating_add(ab.wrapping_add(cd));
            }
        }
        _ => {
            for &(column, factor) in columns {
                for (sum, &bound) in sums.iter_mut().zip(part(column, start, size)) {
                    *sum = sum.saturating_add(u16::from(bound).wrapping_mul(factor));
                }
            }
        }
    }
}

/// The elements of a column from `start` on.
#[inline(always)]
fn part(column: &[u8], start: usize, size: usize) -> &[u8] {
    column.get(start..start + size).unwrap_or_default()
}

/// Appends the maximum of every [`TILE`] sums.
pub(super) struct FindMaxima<'a> {
    pub(super) sums: &'a [u16],
    pub(super) maxima: &'a mut Vec<u16>,
}

impl WithSimd for FindMaxima<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for tile in self.sums.chunks(TILE) {
            self.maxima.push(tile.iter().copied().fold(0, u16::max));
        }
    }
}

/// Adds the scores of a term with these frequencies, 0 where it does not occur.
pub(super) struct AddScores<'a> {
    pub(super) sums: &'a mut [f64],
    pub(super) tfs: &'a [u8],
    /// `1 / K` of the documents.
    pub(super) inverses: &'a [f32],
    pub(super) weight: f32,
}

impl WithSimd for AddScores<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let postings = self.tfs.iter().zip(self.inverses);
        for (sum, (&tf, &inverse)) in self.sums.iter_mut().zip(postings) {
            let score = score_of(self.weight, f32::from(tf), inverse);
            *sum += f64::from(if tf > 0 { score } else { 0.0 });
        }
    }
}
