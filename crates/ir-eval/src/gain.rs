//! How much a document of a grade is worth.

use std::fmt;

use ir_core::Grade;

use crate::Decimal;

/// The worth of a judged document for the measures of the nDCG family, by its grade.
/// A document without a judgment, or with a negative one, is worth nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Gain {
    /// The grade itself: g. What trec_eval does.
    ///
    /// Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 2002.
    #[default]
    Linear,
    /// 2^g − 1. What gdeval and most of the learning-to-rank literature do.
    ///
    /// Burges et al., "Learning to rank using gradient descent", ICML 2005.
    Exponential,
    /// The grade itself, with some grades worth something else.
    Table(GainTable),
}

impl Gain {
    /// The highest grade for which an exponential gain can be computed.
    pub(crate) const MOST_EXPONENTIAL: Grade = 512;

    /// The gain of a grade; 0 for a negative one.
    #[must_use]
    pub fn of(&self, grade: Grade) -> f64 {
        if grade < 0 {
            return 0.0;
        }
        match self {
            Self::Linear => grade as f64,
            Self::Exponential => 2.0_f64.powi(grade.min(Self::MOST_EXPONENTIAL) as i32) - 1.0,
            Self::Table(table) => table.get(grade).map_or(grade as f64, Decimal::to_f64),
        }
    }
}

/// Up to eight grades with gains of their own: trec_eval's `ndcg.1=3.5,2=9`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GainTable {
    len: u8,
    pairs: [(Grade, Decimal); Self::MOST],
}

impl GainTable {
    /// How many grades fit.
    pub const MOST: usize = 8;

    /// A table without entries: every gain is the grade.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the gain of a grade, which must not be negative. `None` when the grade is, when it has
    /// a gain already, or when the table is full.
    #[must_use]
    pub fn with(mut self, grade: Grade, gain: Decimal) -> Option<Self> {
        let len = usize::from(self.len);
        if grade < 0 || len == Self::MOST || self.get(grade).is_some() {
            return None;
        }
        self.pairs[len] = (grade, gain);
        self.len += 1;
        self.pairs[..=len].sort_unstable();
        Some(self)
    }

    /// The gain set for a grade.
    #[must_use]
    pub fn get(&self, grade: Grade) -> Option<Decimal> {
        let found = self.iter().find(|pair| pair.0 == grade);
        found.map(|pair| pair.1)
    }

    /// The grades and their gains, by ascending grade.
    pub fn iter(&self) -> impl Iterator<Item = (Grade, Decimal)> + '_ {
        self.pairs[..usize::from(self.len)].iter().copied()
    }
}

impl fmt::Debug for GainTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Up to eleven recall points, for the average of interpolated precision over them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Points {
    len: u8,
    values: [Decimal; Self::MOST],
}

impl Points {
    /// How many points fit.
    pub const MOST: usize = 11;

    /// 0, 0.1, 0.2 and so on up to 1.
    pub const ELEVEN: Self = {
        let mut values = [Decimal::ZERO; Self::MOST];
        let mut at = 0;
        while at < Self::MOST {
            values[at] = Decimal::new(at as i64, 1);
            at += 1;
        }
        Self {
            len: Self::MOST as u8,
            values,
        }
    };

    /// Points between 0 and 1. `None` when there are none, too many, or one outside.
    #[must_use]
    pub fn new(points: &[Decimal]) -> Option<Self> {
        let inside = |p: &Decimal| (Decimal::ZERO..=Decimal::ONE).contains(p);
        if points.is_empty() || points.len() > Self::MOST || !points.iter().all(inside) {
            return None;
        }
        let mut values = [Decimal::ZERO; Self::MOST];
        values[..points.len()].copy_from_slice(points);
        values[..points.len()].sort_unstable();
        Some(Self {
            len: points.len() as u8,
            values,
        })
    }

    /// The points, ascending.
    #[must_use]
    pub fn as_slice(&self) -> &[Decimal] {
        &self.values[..usize::from(self.len)]
    }
}

impl Default for Points {
    fn default() -> Self {
        Self::ELEVEN
    }
}

impl fmt::Debug for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}
