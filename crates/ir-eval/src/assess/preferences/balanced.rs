//! Preferences with equal numbers of relevant and nonrelevant documents.

use super::PreferenceScope;
use super::fulfilled::{FulfilledCount, GroupCounts};
use super::preference_order::{GroupOrder, LevelOrder, PartialOrder};

/// Fraction of fulfilled preferences of one group for
/// [`Balanced`](super::PreferenceMeasure::Balanced), or between retrieved documents only. NaN
/// without preferences.
pub(super) fn fraction(
    order: &GroupOrder,
    counts: &GroupCounts,
    retrieved: usize,
    only_retrieved: bool,
) -> f64 {
    let (relevant, nonrelevant, scope) = if only_retrieved {
        let (relevant, nonrelevant) = (counts.relevant_retrieved, counts.nonrelevant_retrieved);
        (relevant, nonrelevant, PreferenceScope::Retrieved)
    } else {
        (counts.relevant, counts.nonrelevant, PreferenceScope::All)
    };
    let count = if relevant >= nonrelevant {
        // Nonrelevant documents are added, which all relevant retrieved documents outrank.
        let added = relevant - nonrelevant;
        counts.fulfilled(scope).plus(FulfilledCount {
            fulfilled: counts.relevant_retrieved * added,
            total: counts.relevant * added,
        })
    } else {
        let limit = if only_retrieved {
            retrieved
        } else {
            usize::MAX
        };
        match order {
            GroupOrder::Levels(levels) => by_level(levels, relevant as usize, retrieved, limit),
            GroupOrder::Partial(partial) => {
                by_partial_order(partial, counts.relevant as usize, retrieved, limit)
            }
        }
    };
    count.fulfilled as f64 / count.total as f64
}

/// Counts the first `keep` documents of the lowest level. trec_eval compares them with all
/// documents, including documents of the same level.
fn by_level(levels: &LevelOrder, keep: usize, retrieved: usize, limit: usize) -> FulfilledCount {
    let members = levels.members.iter().filter(|member| member.0 < limit);
    let all_levels = levels.members.iter().map(|member| member.1);
    let lowest = all_levels.fold(f64::INFINITY, f64::min);
    let last = members.clone().filter(|member| member.1 == lowest);
    let last: Vec<usize> = last.map(|member| member.0).take(keep).collect();
    let mut count = FulfilledCount::default();
    for &(position, level) in members.clone() {
        let fulfilled = |other: usize| position < other && position < retrieved;
        for &(other, lower) in members.clone().filter(|member| member.1 > lowest) {
            if level > lower {
                count.add(fulfilled(other));
            }
        }
        last.iter().for_each(|&other| count.add(fulfilled(other)));
    }
    count
}

/// Counts the first `keep` documents of level 0.
fn by_partial_order(
    partial: &PartialOrder,
    keep: usize,
    retrieved: usize,
    limit: usize,
) -> FulfilledCount {
    let mut seen = 0;
    let counted: Vec<bool> = partial
        .positions
        .iter()
        .zip(&partial.levels)
        .map(|(&position, &level)| {
            seen += usize::from(level == 0.0);
            position < limit && (level != 0.0 || seen <= keep)
        })
        .collect();
    let mut count = FulfilledCount::default();
    for (at, &position) in partial.positions.iter().enumerate() {
        for (other, &below) in partial.positions.iter().enumerate() {
            if counted[at] && counted[other] && partial.is_above(at, other) {
                count.add(position < below && position < retrieved);
            }
        }
    }
    count
}
