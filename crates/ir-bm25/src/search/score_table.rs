//! Tables of the scores of one term by length code and frequency.

use crate::small_float;

/// Number of length codes.
const CODES: usize = 256;
/// Frequencies from 1 to this have a score.
const FREQUENCIES: usize = 4;

/// A number for every frequency: at `tf % FREQUENCIES`, which takes one instruction.
type ByFrequency<T> = [T; FREQUENCIES];

/// `1 + tf / K` for frequencies from 1 to [`FREQUENCIES`], of every length code in use.
#[derive(Debug, Clone)]
pub(super) struct Denominators(Box<[ByFrequency<f32>]>);

impl Denominators {
    /// `longest` is the length of the longest document.
    pub(super) fn new(inverse_of_code: &[f32; CODES], longest: u32) -> Self {
        let codes = usize::from(small_float::encode(longest)) + 1;
        let inverses = inverse_of_code.iter().take(codes);
        let of_code = |inverse: &f32| [4.0, 1.0, 2.0, 3.0].map(|tf: f32| 1.0 + tf * inverse);
        Self(inverses.map(of_code).collect())
    }
}

/// Scores of a term for frequencies from 1 to [`FREQUENCIES`], in documents of every length code; 0
/// for codes that are not in use.
#[derive(Debug)]
pub(crate) struct ScoreTable<T>(Box<[ByFrequency<T>; CODES]>);

/// The table of the scores of a term, if there is one: of the scores themselves, or times the scale
/// of integer sums.
#[derive(Debug, Default)]
pub(crate) struct ScoreTables {
    pub(super) scores: Option<ScoreTable<f32>>,
    pub(super) scaled: Option<ScoreTable<u32>>,
}

impl ScoreTables {
    /// No frequency minus one may take more bits.
    pub(super) const TF_BITS: u8 = FREQUENCIES.ilog2() as u8;

    pub(super) fn new(weight: f32, denominators: &Denominators, scale: Option<f64>) -> Self {
        let score = |denominator| weight - weight / denominator;
        match scale {
            None => Self {
                scores: Some(ScoreTable::new(denominators, score)),
                scaled: None,
            },
            Some(scale) => Self {
                scores: None,
                // Exact: the product is an integer. It is below 2^31, so that it may be converted
                // by way of `i32`, which vectorizes.
                scaled: Some(ScoreTable::new(denominators, |denominator| {
                    (score(denominator) * scale as f32) as i32 as u32
                })),
            },
        }
    }
}

impl<T: Copy + Default> ScoreTable<T> {
    fn new(denominators: &Denominators, entry: impl Fn(f32) -> T) -> Self {
        let mut table = Box::new([[T::default(); FREQUENCIES]; CODES]);
        for (to, row) in table.iter_mut().zip(&denominators.0) {
            *to = row.map(&entry);
        }
        Self(table)
    }

    /// The score of `tf` occurrences, at most [`FREQUENCIES`], in a document; 0 for a length code
    /// that is not in use. No bounds check: the table has a row for every code.
    #[inline(always)]
    pub(super) fn score(&self, code: u8, tf: u32) -> T {
        self.0[usize::from(code)][tf as usize % FREQUENCIES]
    }

    /// The score of `tf` occurrences in a document; [`None`] for frequencies without one.
    #[inline(always)]
    pub(super) fn get(&self, code: u8, tf: u32) -> Option<T> {
        (1..=FREQUENCIES as u32)
            .contains(&tf)
            .then(|| self.score(code, tf))
    }
}
