//! Tables of the scores of one term by length code and frequency.

use crate::small_float;

/// Number of length codes.
const CODES: usize = 256;
/// Frequencies from 1 to this have a score.
const FREQUENCIES: usize = 4;

/// `1 + tf / K` of every length code in use, for frequencies from 1 to [`FREQUENCIES`].
#[derive(Debug, Clone)]
pub(super) struct Denominators(Box<[[f32; FREQUENCIES]]>);

impl Denominators {
    /// `longest` is the length of the longest document.
    pub(super) fn new(inverse_of_code: &[f32; CODES], longest: u32) -> Self {
        let codes = usize::from(small_float::encode(longest)) + 1;
        let inverses = inverse_of_code.iter().take(codes);
        let rows = inverses.map(|inverse| [1.0, 2.0, 3.0, 4.0].map(|tf| 1.0 + tf * inverse));
        Self(rows.collect())
    }
}

/// Scores of a term in documents of every length code in use, for frequencies from 1 to
/// [`FREQUENCIES`].
#[derive(Debug)]
pub(super) struct ScoreTable(Box<[[f32; FREQUENCIES]; CODES]>);

impl ScoreTable {
    /// No frequency minus one may take more bits.
    pub(super) const TF_BITS: u8 = FREQUENCIES.ilog2() as u8;

    pub(super) fn new(weight: f32, denominators: &Denominators) -> Self {
        let mut table = Box::new([[0.0; FREQUENCIES]; CODES]);
        for (row, denominators) in table.iter_mut().zip(&denominators.0) {
            *row = denominators.map(|denominator| weight - weight / denominator);
        }
        Self(table)
    }

    /// The score of `tf` occurrences, at most [`FREQUENCIES`], in a document.
    #[inline]
    pub(super) fn score(&self, code: u8, tf: u32) -> f32 {
        // The remainder spares a bounds check.
        self.0[usize::from(code)][tf.wrapping_sub(1) as usize % FREQUENCIES]
    }

    /// The score of `tf` occurrences in a document; [`None`] for frequencies without one.
    #[inline]
    pub(super) fn get(&self, code: u8, tf: u32) -> Option<f32> {
        let row = &self.0[usize::from(code)];
        row.get(tf.wrapping_sub(1) as usize).copied()
    }
}
