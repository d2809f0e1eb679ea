//! Agreement on sets, such as the datasets that two annotators find in a paper.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Ratings;

/// Distance of two sets A and B. Equal sets, also empty ones, have distance 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SetDistance {
    /// 1 − |A ∩ B| / |A ∪ B|.
    Jaccard,
    /// 1 − m · |A ∩ B| / |A ∪ B|, where m is .67 if one set contains the other, and .33 if they
    /// overlap.
    ///
    /// # Source
    /// Passonneau, "Measuring agreement on set-valued items (MASI) for semantic and pragmatic
    /// annotation", LREC 2006; weights as in NLTK.
    Masi,
}

impl SetDistance {
    /// Returns the distance of two sets, from 0 to 1.
    #[must_use]
    pub fn distance(self, a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
        if a == b {
            return 0.0;
        }
        let (common, all) = (a.intersection(b).count(), a.union(b).count());
        let weight = match self {
            Self::Jaccard => 1.0,
            Self::Masi if a.is_subset(b) || b.is_subset(a) => 0.67,
            Self::Masi => 0.33,
        };
        1.0 - weight * common as f64 / all as f64
    }
}

/// Sets of names that coders assigned to items.
///
/// ```
/// use ir_eval::assess::{SetDistance, SetRatings};
/// let mut ratings = SetRatings::new(["Ann", "Ben"]);
/// ratings.push("paper 1", [Some(vec!["SQuAD"]), Some(vec!["SQuAD"])]);
/// ratings.push("paper 2", [Some(vec!["SQuAD", "CoQA"]), Some(vec!["SQuAD"])]);
/// assert_eq!(ratings.as_labels().observed_agreement(), Some(0.5));
/// assert_eq!(ratings.mean_similarity(SetDistance::Jaccard), Some(0.75));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetRatings {
    coders: Vec<String>,
    items: Vec<(String, Vec<Option<BTreeSet<String>>>)>,
}

impl SetRatings {
    /// Creates ratings without items.
    #[must_use]
    pub fn new(coders: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            coders: coders.into_iter().map(Into::into).collect(),
            items: Vec::new(),
        }
    }

    /// Adds an item with the set of each coder, in coder order; `None` is a missing rating. Surplus
    /// sets are dropped, absent ones are missing.
    pub fn push<N: Into<String>>(
        &mut self,
        item: impl Into<String>,
        sets: impl IntoIterator<Item = Option<impl IntoIterator<Item = N>>>,
    ) {
        let sets = sets.into_iter();
        let mut sets: Vec<_> = sets
            .map(|set| Some(set?.into_iter().map(Into::into).collect()))
            .collect();
        sets.resize(self.coders.len(), None);
        self.items.push((item.into(), sets));
    }

    /// Returns ratings with a category for each distinct set: its names in byte order, joined by
    /// `; `, or `{}`. Their agreement is agreement on exactly equal sets.
    #[must_use]
    pub fn as_labels(&self) -> Ratings {
        let mut ratings = Ratings::new(&self.coders);
        for (item, sets) in &self.items {
            let label = |set: &Option<BTreeSet<String>>| Some(set_label(set.as_ref()?));
            let labels: Vec<Option<String>> = sets.iter().map(label).collect();
            ratings.push(item, labels.iter().map(Option::as_deref));
        }
        ratings
    }

    /// Returns the mean of 1 − distance over the pairs of sets of an item. `None` without pairs.
    #[must_use]
    pub fn mean_similarity(&self, distance: SetDistance) -> Option<f64> {
        let (mut sum, mut pairs) = (0.0, 0_u64);
        for sets in self.rated() {
            for (at, a) in sets.iter().enumerate() {
                for b in &sets[at + 1..] {
                    sum += 1.0 - distance.distance(a, b);
                    pairs += 1;
                }
            }
        }
        (pairs > 0).then(|| sum / pairs as f64)
    }

    /// Returns Krippendorff's alpha, 1 − D_o / D_e: the mean distance of two sets of an item by the
    /// mean distance of two sets of any items. Items with one rating are left out. `None` without
    /// pairs, or if all sets are equal.
    #[must_use]
    pub fn krippendorff_alpha(&self, distance: SetDistance) -> Option<f64> {
        let mut counts: BTreeMap<&BTreeSet<String>, u64> = BTreeMap::new();
        let mut observed = 0.0;
        for sets in self.rated().filter(|sets| sets.len() > 1) {
            let mut within = 0.0;
            for (at, a) in sets.iter().enumerate() {
                *counts.entry(*a).or_default() += 1;
                within += sets[at + 1..]
                    .iter()
                    .map(|b| distance.distance(a, b))
                    .sum::<f64>();
            }
            // Ordered pairs.
            observed += 2.0 * within / (sets.len() - 1) as f64;
        }
        let ratings = counts.values().sum::<u64>() as f64;
        let mut expected = 0.0;
        for (at, (a, count)) in counts.iter().enumerate() {
            let others = counts.iter().skip(at + 1);
            let others = others.map(|(b, other)| *other as f64 * distance.distance(a, b));
            expected += 2.0 * *count as f64 * others.sum::<f64>();
        }
        (expected > 0.0)
            .then(|| 1.0 - (observed / ratings) / (expected / (ratings * (ratings - 1.0))))
    }

    /// Sets of each item.
    fn rated(&self) -> impl Iterator<Item = Vec<&BTreeSet<String>>> {
        self.items
            .iter()
            .map(|(_, sets)| sets.iter().flatten().collect())
    }
}

fn set_label(set: &BTreeSet<String>) -> String {
    if set.is_empty() {
        return "{}".to_owned();
    }
    set.iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratings(rows: &[[Option<&str>; 2]]) -> SetRatings {
        let mut ratings = SetRatings::new(["Ann", "Ben"]);
        for (n, row) in rows.iter().enumerate() {
            let sets = row.map(|names| Some(names?.split_whitespace()));
            ratings.push(n.to_string(), sets);
        }
        ratings
    }

    fn close(found: Option<f64>, expected: f64) {
        assert!(
            (found.unwrap() - expected).abs() < 1e-12,
            "{found:?} {expected}"
        );
    }

    /// Ten papers of which eight have equal sets, as in the DataFinder paper.
    #[test]
    fn eight_of_ten_sets() {
        let mut rows = [[Some("a"), Some("a")]; 10];
        rows[8] = [Some("a b"), Some("a")];
        rows[9] = [Some("b"), Some("c")];
        let ratings = ratings(&rows);
        assert_eq!(ratings.as_labels().observed_agreement(), Some(0.8));
        close(ratings.mean_similarity(SetDistance::Jaccard), 0.85);
    }

    /// Six ratings: {a} three times, {a, b} once, {c} twice.
    #[test]
    fn alpha_by_hand() {
        let ratings = ratings(&[
            [Some("a"), Some("a")],
            [Some("b a"), Some("a")],
            [Some("c"), Some("c")],
            [Some("d"), None],
        ]);
        // Observed 2 · .5 / 6, expected (2 · 3 · .5 + 2 · 3 · 2 + 2 · 2) / 30.
        let jaccard = 1.0 - (1.0 / 6.0) / (19.0 / 30.0);
        close(ratings.krippendorff_alpha(SetDistance::Jaccard), jaccard);
        // The distance of {a} and {a, b} is 1 - .67 / 2.
        let masi = 1.0 - (1.33 / 6.0) / (19.99 / 30.0);
        close(ratings.krippendorff_alpha(SetDistance::Masi), masi);
        close(
            ratings.mean_similarity(SetDistance::Masi),
            (2.0 + 0.335) / 3.0,
        );
    }

    #[test]
    fn undefined_and_empty() {
        assert_eq!(ratings(&[]).krippendorff_alpha(SetDistance::Masi), None);
        let equal = ratings(&[[Some(""), Some("")]]);
        assert_eq!(equal.krippendorff_alpha(SetDistance::Jaccard), None);
        assert_eq!(equal.mean_similarity(SetDistance::Jaccard), Some(1.0));
        assert_eq!(
            equal.as_labels().categories().next().unwrap().to_string(),
            "{}"
        );
        let one = ratings(&[[Some("a"), None]]);
        assert_eq!(one.mean_similarity(SetDistance::Masi), None);
        let overlap = ratings(&[[Some("a b"), Some("b c")]]);
        close(overlap.mean_similarity(SetDistance::Masi), 0.33 / 3.0);
    }
}
