//! As many documents that are not relevant as there are relevant ones.

use super::PreferenceScope;
use super::count::{Counts, Share};
use super::order::{Levels, Order, Partial};

/// The share of kept preferences of one group for
/// [`Balanced`](super::PreferenceMeasure::Balanced), or between retrieved documents alone. NaN
/// where nothing can be kept.
pub(super) fn share(order: &Order, counts: &Counts, retrieved: usize, only_retrieved: bool) -> f64 {
    let (relevant, other, scope) = if only_retrieved {
        let (relevant, other) = (counts.relevant_retrieved, counts.other_retrieved);
        (relevant, other, PreferenceScope::Retrieved)
    } else {
        (counts.relevant, counts.other, PreferenceScope::All)
    };
    let share = if relevant >= other {
        // The missing ones are made up; what is relevant and retrieved stands above them.
        let made_up = relevant - other;
        counts.share(scope).plus(Share {
            kept: counts.relevant_retrieved * made_up,
            all: counts.relevant * made_up,
        })
    } else {
        let limit = if only_retrieved {
            retrieved
        } else {
            usize::MAX
        };
        match order {
            Order::Levels(levels) => by_level(levels, relevant as usize, retrieved, limit),
            Order::Partial(partial) => partly(partial, counts.relevant as usize, retrieved, limit),
        }
    };
    share.kept as f64 / share.all as f64
}

/// Of the lowest level the first `keep` documents count. trec_eval compares them with all others,
/// those of their own level included.
fn by_level(levels: &Levels, keep: usize, retrieved: usize, limit: usize) -> Share {
    let members = levels.members.iter().filter(|member| member.0 < limit);
    let lowest = levels
        .members
        .iter()
        .fold(f64::INFINITY, |lowest, member| lowest.min(member.1));
    let last: Vec<usize> = members
        .clone()
        .filter(|member| member.1 == lowest)
        .map(|member| member.0)
        .take(keep)
        .collect();
    let mut share = Share::default();
    for &(place, level) in members.clone() {
        let kept = |other: usize| place < other && place < retrieved;
        for &(other, lower) in members.clone().filter(|member| member.1 > lowest) {
            if level > lower {
                share.add(kept(other));
            }
        }
        last.iter().for_each(|&other| share.add(kept(other)));
    }
    share
}

/// After the first `keep` documents of level 0 the others of that level do not count.
fn partly(partial: &Partial, keep: usize, retrieved: usize, limit: usize) -> Share {
    let mut seen = 0;
    let counted: Vec<bool> = partial
        .places
        .iter()
        .zip(&partial.levels)
        .map(|(&place, &level)| {
            seen += usize::from(level == 0.0);
            place < limit && (level != 0.0 || seen <= keep)
        })
        .collect();
    let mut share = Share::default();
    for (at, &place) in partial.places.iter().enumerate() {
        for (other, &below) in partial.places.iter().enumerate() {
            if counted[at] && counted[other] && partial.is_above(at, other) {
                share.add(place < below && place < retrieved);
            }
        }
    }
    share
}
