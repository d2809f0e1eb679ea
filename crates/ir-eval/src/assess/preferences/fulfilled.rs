//! Counts of fulfilled preferences.

use super::PreferenceScope;
use super::preference_order::GroupOrder;

/// Number of preferences and of fulfilled ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FulfilledCount {
    pub(super) fulfilled: u64,
    pub(super) total: u64,
}

impl FulfilledCount {
    pub(super) fn add(&mut self, fulfilled: bool) {
        self.total += 1;
        self.fulfilled += u64::from(fulfilled);
    }

    /// Fraction of fulfilled preferences; `None` without preferences.
    pub(super) fn fraction(self) -> Option<f64> {
        (self.total > 0).then(|| self.fulfilled as f64 / self.total as f64)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            fulfilled: self.fulfilled + other.fulfilled,
            total: self.total + other.total,
        }
    }
}

/// Returns `true` if a document is relevant to a group: at levels above 0. Levels below 0 are
/// undefined (`None`) in groups with subgroups, and not relevant otherwise.
pub(super) fn relevant(order: &GroupOrder, level: f64) -> Option<bool> {
    match order {
        GroupOrder::Partial(_) if level < 0.0 => None,
        _ => Some(level > 0.0),
    }
}

/// Counts of preferences and documents of one judgment group.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GroupCounts {
    /// Preferences between two retrieved documents.
    retrieved: FulfilledCount,
    /// Preferences between a retrieved document and another one.
    implied: FulfilledCount,
    /// Number of preferences between two documents that are not retrieved.
    unretrieved: u64,
    pub(super) relevant: u64,
    pub(super) relevant_retrieved: u64,
    pub(super) nonrelevant: u64,
    pub(super) nonrelevant_retrieved: u64,
}

impl GroupCounts {
    /// Counts preferences, where documents at positions below `retrieved` are in the list.
    pub(super) fn new(order: &GroupOrder, retrieved: usize) -> Self {
        let mut counts = Self::default();
        order.each(
            |better, worse| match (better < retrieved, worse < retrieved) {
                (true, true) => counts.retrieved.add(better < worse),
                (true, false) => counts.implied.add(true),
                (false, true) => counts.implied.add(false),
                (false, false) => counts.unretrieved += 1,
            },
        );
        for (position, level) in order.members() {
            let found = u64::from(position < retrieved);
            match relevant(order, level) {
                Some(true) => {
                    counts.relevant += 1;
                    counts.relevant_retrieved += found;
                }
                Some(false) => {
                    counts.nonrelevant += 1;
                    counts.nonrelevant_retrieved += found;
                }
                None => {}
            }
        }
        counts
    }

    pub(super) fn fulfilled(&self, scope: PreferenceScope) -> FulfilledCount {
        match scope {
            PreferenceScope::Retrieved => self.retrieved,
            PreferenceScope::Implied => self.retrieved.plus(self.implied),
            PreferenceScope::All => self.retrieved.plus(self.implied).plus(FulfilledCount {
                fulfilled: 0,
                total: self.unretrieved,
            }),
        }
    }
}

/// Mean over document pairs of the fraction of fulfilled preferences.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PairFractions {
    sums: [f64; 2],
    pairs: [u64; 3],
}

impl PairFractions {
    /// Computes the fractions over `judged` documents, of which the first `retrieved` are in the
    /// list. Sums run in trec_eval's order: pairs of retrieved documents first.
    pub(super) fn new(orders: &[GroupOrder], judged: usize, retrieved: usize) -> Self {
        let mut row = vec![FulfilledCount::default(); judged];
        let mut found = Self::default();
        let mut sum = 0.0;
        let ranges = [
            (0..retrieved, 0..retrieved),
            (0..retrieved, retrieved..judged),
            (retrieved..judged, retrieved..judged),
        ];
        for (range, (firsts, others)) in ranges.into_iter().enumerate() {
            for first in firsts {
                for order in orders {
                    order.against(first, |other, better| row[other].add(better));
                }
                for other in others.clone() {
                    if let Some(ratio) = row[other].fraction() {
                        found.pairs[range] += 1;
                        sum += ratio;
                    }
                }
                row.fill(FulfilledCount::default());
            }
            if let Some(total) = found.sums.get_mut(range) {
                *total = sum;
            }
        }
        found
    }

    pub(super) fn mean(&self, scope: PreferenceScope) -> f64 {
        let [retrieved, implied, unretrieved] = self.pairs;
        let (sum, pairs) = match scope {
            PreferenceScope::Retrieved => (self.sums[0], retrieved),
            PreferenceScope::Implied => (self.sums[1], retrieved + implied),
            PreferenceScope::All => (self.sums[1], retrieved + implied + unretrieved),
        };
        if pairs == 0 { 0.0 } else { sum / pairs as f64 }
    }
}
