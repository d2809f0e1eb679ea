//! Prepared judgments and judged result lists, the input of every measure.

mod documents;
mod gain;
mod query;
mod ranking;
mod retrieved;
mod strata;
mod subtopics;

pub use gain::{Gain, GainTable};
pub use query::JudgmentStatus;

pub(crate) use documents::DocOrdinal;
pub(crate) use query::{IdealRanking, PreparedQuery, Requirements};
pub(crate) use ranking::{CumulativeGain, JudgedRanking, RelevantRanks};
pub(crate) use retrieved::RetrievedList;
pub(crate) use strata::Strata;
pub(crate) use subtopics::{NoveltySettings, PreparedSubtopics, Subtopics};

use ir_core::Grade;

/// State of a retrieved document that is not in the qrels.
pub(crate) const UNPOOLED: Grade = -1;
/// State of a retrieved document with a negative grade in the qrels.
pub(crate) const UNJUDGED: Grade = -2;

/// Rank discount of DCG: log₂(rank + 1).
pub(crate) fn discount(rank: usize) -> f64 {
    ((rank + 1) as f64).log2()
}

/// Sum that starts at +0, so that an empty sum is 0 and not −0.
pub(crate) fn sum(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |sum, value| sum + value)
}
