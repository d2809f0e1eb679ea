//! Tables of the scores of one term by length code and frequency.

use crate::small_float;

/// Number of length codes.
const CODES: usize = 256;
/// Frequencies from 1 to this have a score.
const FREQUENCIES: usize = 4;

/// `1 + tf / K` for frequencies from 1 to [`FREQUENCIES`], of every length code in use.
#[derive(Debug, Clone)]
pub(super) struct Denominators([Box<[f32]>; FREQUENCIES]);

impl Denominators {
    /// `longest` is the length of the longest document.
    pub(super) fn new(inverse_of_code: &[f32; CODES], longest: u32) -> Self {
        let codes = usize::from(small_float::encode(longest)) + 1;
        let inverses = || inverse_of_code.iter().take(codes);
        Self([1.0, 2.0, 3.0, 4.0].map(|tf| inverses().map(|inverse| 1.0 + tf * inverse).collect()))
    }
}

/// Scores of a term for frequencies from 1 to [`FREQUENCIES`], in documents of every length code in
/// use.
#[derive(Debug)]
pub(super) struct ScoreTable(Box<[[f32; CODES]; FREQUENCIES]>);

impl ScoreTable {
    /// No frequency minus one may take more bits.
    pub(super) const TF_BITS: u8 = FREQUENCIES.ilog2() as u8;

    pub(super) fn new(weight: f32, denominators: &Denominators) -> Self {
        let mut table = Box::new([[0.0; CODES]; FREQUENCIES]);
        for (row, denominators) in table.iter_mut().zip(&denominators.0) {
            for (score, denominator) in row.iter_mut().zip(denominators) {
                *score = weight - weight / denominator;
            }
        }
        Self(table)
    }

    /// The scores of one occurrence by length code.
    #[inline]
    pub(super) fn of_one_occurrence(&self) -> &[f32; CODES] {
        &self.0[0]
    }

    /// The score of `tf` occurrences, at most [`FREQUENCIES`], in a document.
    #[inline]
    pub(super) fn score(&self, code: u8, tf: u32) -> f32 {
        // The remainder spares a bounds check.
        self.0[tf.wrapping_sub(1) as usize % FREQUENCIES][usize::from(code)]
    }

    /// The score of `tf` occurrences in a document; [`None`] for frequencies without one.
    #[inline]
    pub(super) fn get(&self, code: u8, tf: u32) -> Option<f32> {
        let row = self.0.get(tf.wrapping_sub(1) as usize);
        row.map(|row| row[usize::from(code)])
    }
}
