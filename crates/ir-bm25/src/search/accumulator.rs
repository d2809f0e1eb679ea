//! Numbers in which the term scores of a document are added up.

use super::score_table::{ScoreTable, ScoreTables};

/// Sum of term scores: an [`f64`], or a [`u32`] if all scores times a scale are integers
/// ([`ListScorer::scale`](super::list_scorer::ListScorer::scale)). Both are exact. Integers take
/// half the memory, and are added and compared without conversion.
pub(crate) trait Accumulator: Copy + Default + PartialOrd + 'static {
    /// A score in the table of a term.
    type Entry: Copy + Default;

    /// A sum from this on may overflow at the next addition.
    const LIMIT: Self;

    /// The sum, which wraps around if it overflows.
    fn plus(self, other: Self) -> Self;

    /// The number of a score.
    fn from_score(score: f64, scale: f64) -> Self;

    /// The number of an entry of a table.
    fn from_entry(entry: Self::Entry) -> Self;

    /// The table of the scores of a term.
    fn table(tables: &ScoreTables) -> Option<&ScoreTable<Self::Entry>>;

    /// Inverse of [`Accumulator::from_score`].
    fn to_score(self, scale: f64) -> f64;

    /// A number not above the number of any score of at least `score`, and not above the limit.
    fn cutoff(score: f64, scale: f64) -> Self;
}

impl Accumulator for f64 {
    type Entry = f32;

    const LIMIT: Self = Self::INFINITY;

    #[inline]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline]
    fn from_score(score: f64, _: f64) -> Self {
        score
    }

    #[inline]
    fn from_entry(entry: f32) -> Self {
        Self::from(entry)
    }

    #[inline]
    fn table(tables: &ScoreTables) -> Option<&ScoreTable<f32>> {
        tables.scores.as_ref()
    }

    #[inline]
    fn to_score(self, _: f64) -> f64 {
        self
    }

    fn cutoff(score: f64, _: f64) -> Self {
        score
    }
}

impl Accumulator for u32 {
    type Entry = Self;

    /// The sum of a number below this and a score, which is below it too, does not overflow.
    const LIMIT: Self = 1 << 31;

    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline]
    fn from_score(score: f64, scale: f64) -> Self {
        (score * scale) as Self
    }

    #[inline]
    fn from_entry(entry: Self) -> Self {
        entry
    }

    #[inline]
    fn table(tables: &ScoreTables) -> Option<&ScoreTable<Self>> {
        tables.scaled.as_ref()
    }

    #[inline]
    fn to_score(self, scale: f64) -> f64 {
        f64::from(self) / scale
    }

    fn cutoff(score: f64, scale: f64) -> Self {
        ((score * scale) as Self).min(Self::LIMIT)
    }
}
