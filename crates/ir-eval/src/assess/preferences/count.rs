//! How many preferences of a group are kept.

use super::PreferenceScope;
use super::order::Order;

/// Preferences: all of them, and those that are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) kept: u64,
    pub(super) all: u64,
}

impl Share {
    pub(super) fn add(&mut self, kept: bool) {
        self.all += 1;
        self.kept += u64::from(kept);
    }

    /// As a number; nothing where there is no preference.
    pub(super) fn ratio(self) -> Option<f64> {
        (self.all > 0).then(|| self.kept as f64 / self.all as f64)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            kept: self.kept + other.kept,
            all: self.all + other.all,
        }
    }
}

/// Whether a document is relevant to a group: its level is above 0, or 0. Below 0 it is neither
/// where there are subgroups, and not relevant elsewhere.
pub(super) fn relevant(order: &Order, level: f64) -> Option<bool> {
    match order {
        Order::Partial(_) if level < 0.0 => None,
        _ => Some(level > 0.0),
    }
}

/// What one group's preferences and documents come to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// Between two retrieved documents.
    retrieved: Share,
    /// Between a retrieved one and another.
    implied: Share,
    /// Between two that were not retrieved.
    unseen: u64,
    /// Relevant documents, and those of them that were retrieved.
    pub(super) relevant: u64,
    pub(super) relevant_retrieved: u64,
    /// The same of documents that are not relevant.
    pub(super) other: u64,
    pub(super) other_retrieved: u64,
}

impl Counts {
    /// `retrieved` documents stand in the list: the places below that number.
    pub(super) fn of(order: &Order, retrieved: usize) -> Self {
        let mut counts = Self::default();
        order.each(
            |better, worse| match (better < retrieved, worse < retrieved) {
                (true, true) => counts.retrieved.add(better < worse),
                (true, false) => counts.implied.add(true),
                (false, true) => counts.implied.add(false),
                (false, false) => counts.unseen += 1,
            },
        );
        for (place, level) in order.members() {
            let found = u64::from(place < retrieved);
            match relevant(order, level) {
                Some(true) => {
                    counts.relevant += 1;
                    counts.relevant_retrieved += found;
                }
                Some(false) => {
                    counts.other += 1;
                    counts.other_retrieved += found;
                }
                None => {}
            }
        }
        counts
    }

    pub(super) fn share(&self, scope: PreferenceScope) -> Share {
        match scope {
            PreferenceScope::Retrieved => self.retrieved,
            PreferenceScope::Implied => self.retrieved.plus(self.implied),
            PreferenceScope::All => self.retrieved.plus(self.implied).plus(Share {
                kept: 0,
                all: self.unseen,
            }),
        }
    }
}

/// The mean over pairs of documents of the share of kept preferences.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pairs {
    sums: [f64; 2],
    pairs: [u64; 3],
}

impl Pairs {
    /// Over `judged` documents, the first `retrieved` of which stand in the list. The sums run in
    /// trec_eval's order: pairs of retrieved documents first.
    pub(super) fn of(orders: &[Order], judged: usize, retrieved: usize) -> Self {
        let mut row = vec![Share::default(); judged];
        let mut found = Self::default();
        let mut sum = 0.0;
        let parts = [
            (0..retrieved, 0..retrieved),
            (0..retrieved, retrieved..judged),
            (retrieved..judged, retrieved..judged),
        ];
        for (part, (firsts, others)) in parts.into_iter().enumerate() {
            for first in firsts {
                for order in orders {
                    order.against(first, |other, better| row[other].add(better));
                }
                for other in others.clone() {
                    if let Some(ratio) = row[other].ratio() {
                        found.pairs[part] += 1;
                        sum += ratio;
                    }
                }
                row.fill(Share::default());
            }
            if let Some(place) = found.sums.get_mut(part) {
                *place = sum;
            }
        }
        found
    }

    pub(super) fn mean(&self, scope: PreferenceScope) -> f64 {
        let [retrieved, implied, unseen] = self.pairs;
        let (sum, pairs) = match scope {
            PreferenceScope::Retrieved => (self.sums[0], retrieved),
            PreferenceScope::Implied => (self.sums[1], retrieved + implied),
            PreferenceScope::All => (self.sums[1], retrieved + implied + unseen),
        };
        if pairs == 0 { 0.0 } else { sum / pairs as f64 }
    }
}
