//! Tables of the scores of one term by frequency and length code.

use crate::small_float;

/// Number of length codes.
const CODES: usize = 256;
/// Frequencies from 1 to this have a table.
const FREQUENCIES: usize = 4;

/// `1 + tf / K` of every length code, for frequencies from 1 to [`FREQUENCIES`].
#[derive(Debug, Clone)]
pub(super) struct Denominators {
    rows: Box<[[f32; CODES]; FREQUENCIES]>,
    /// Number of length codes in use: one more than the code of the longest document.
    codes: usize,
}

impl Denominators {
    pub(super) fn new(inverse_of_code: &[f32; CODES], longest: u32) -> Self {
        let mut rows = Box::new([[1.0; CODES]; FREQUENCIES]);
        for (row, tf) in rows.iter_mut().zip(1_u8..) {
            for (denominator, inverse) in row.iter_mut().zip(inverse_of_code) {
                *denominator += f32::from(tf) * inverse;
            }
        }
        let codes = usize::from(small_float::encode(longest)) + 1;
        Self { rows, codes }
    }
}

/// Scores of a term in documents of every length code, for frequencies from 1 to a power of two.
#[derive(Debug)]
pub(super) struct ScoreTable {
    scores: Box<[f32; CODES * FREQUENCIES]>,
    /// Frequencies minus one of at most this many bits have scores.
    bits: Option<u8>,
}

impl Default for ScoreTable {
    fn default() -> Self {
        Self {
            scores: Box::new([0.0; CODES * FREQUENCIES]),
            bits: None,
        }
    }
}

impl ScoreTable {
    /// Computes the scores of all frequencies that take at most `tf_bits` when reduced by one.
    /// Returns false if these are too many.
    #[inline]
    pub(super) fn fill(&mut self, weight: f32, denominators: &Denominators, tf_bits: u8) -> bool {
        if self.bits.is_some_and(|bits| tf_bits <= bits) {
            return true;
        }
        self.compute(weight, denominators, tf_bits)
    }

    fn compute(&mut self, weight: f32, denominators: &Denominators, tf_bits: u8) -> bool {
        if tf_bits > FREQUENCIES.ilog2() as u8 {
            return false;
        }
        let rows = denominators
            .rows
            .iter()
            .zip(self.scores.chunks_exact_mut(CODES));
        for (row, scores) in rows.take(1 << tf_bits) {
            let codes = denominators.codes;
            for (score, denominator) in scores.iter_mut().zip(row).take(codes) {
                *score = weight - weight / denominator;
            }
        }
        self.bits = Some(tf_bits);
        true
    }

    /// The score of one occurrence in a document.
    #[inline]
    pub(super) fn score_of_one(&self, code: u8) -> f32 {
        self.scores[usize::from(code)]
    }

    /// The score of `tf` occurrences in a document. The frequency has scores.
    #[inline]
    pub(super) fn score(&self, code: u8, tf: u32) -> f32 {
        // The remainder spares a bounds check.
        let row = tf.wrapping_sub(1) as usize % FREQUENCIES;
        self.scores[row * CODES + usize::from(code)]
    }
}
