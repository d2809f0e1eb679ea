//! Gain of a relevance grade.

use std::fmt;

use ir_core::Grade;

use crate::decimal::Decimal;

/// Gain of a judged document in the measures of the nDCG family, as a function of its grade.
/// Documents without a judgment, or with a negative grade, have gain 0. Default: `Linear`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Gain {
    /// The grade itself: g. Used by trec_eval.
    ///
    /// Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 2002.
    #[default]
    Linear,
    /// 2^g − 1. Used by gdeval and most of the learning-to-rank literature.
    ///
    /// Burges et al., "Learning to rank using gradient descent", ICML 2005.
    Exponential,
    /// Gains from a table; grades without an entry have linear gain.
    Table(GainTable),
}

impl Gain {
    /// Highest grade with a finite exponential gain.
    pub(crate) const MAX_EXPONENTIAL_GRADE: Grade = 512;

    /// Returns the gain of a grade; 0 for a negative one.
    #[must_use]
    pub fn of_grade(&self, grade: Grade) -> f64 {
        if grade < 0 {
            return 0.0;
        }
        match self {
            Self::Linear => grade as f64,
            Self::Exponential => 2.0_f64.powi(grade.min(Self::MAX_EXPONENTIAL_GRADE) as i32) - 1.0,
            Self::Table(table) => table.get(grade).map_or(grade as f64, Decimal::to_f64),
        }
    }
}

/// Gains of up to eight grades, such as trec_eval's `ndcg.1=3.5,2=9`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GainTable {
    len: u8,
    pairs: [(Grade, Decimal); Self::CAPACITY],
}

impl GainTable {
    /// Maximum number of entries.
    pub const CAPACITY: usize = 8;

    /// Creates a table without entries, in which every gain equals the grade.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the gain of a grade. Returns `None` if the grade is negative or already has an entry,
    /// or if the table is full.
    #[must_use]
    pub fn with(mut self, grade: Grade, gain: Decimal) -> Option<Self> {
        let len = usize::from(self.len);
        if grade < 0 || len == Self::CAPACITY || self.get(grade).is_some() {
            return None;
        }
        self.pairs[len] = (grade, gain);
        self.len += 1;
        self.pairs[..=len].sort_unstable();
        Some(self)
    }

    /// Returns the entry of a grade.
    #[must_use]
    pub fn get(&self, grade: Grade) -> Option<Decimal> {
        let found = self.iter().find(|pair| pair.0 == grade);
        found.map(|pair| pair.1)
    }

    /// Iterates over the entries by ascending grade.
    pub fn iter(&self) -> impl Iterator<Item = (Grade, Decimal)> + '_ {
        self.pairs[..usize::from(self.len)].iter().copied()
    }
}

impl fmt::Display for GainTable {
    /// Writes the entries by ascending grade: `1:3.5,2:9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries: Vec<String> = self.iter().map(|(g, gain)| format!("{g}:{gain}")).collect();
        f.write_str(&entries.join(","))
    }
}

impl fmt::Debug for GainTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
