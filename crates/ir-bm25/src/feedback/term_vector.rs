//! Sparse vectors of terms, in single precision as in Anserini, and the feedback documents that
//! they represent.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Weights of terms. Terms are distinct and in byte order, so that every sum has one order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TermVector(BTreeMap<String, f32>);

impl TermVector {
    pub(super) fn add(&mut self, term: &str, weight: f32) {
        match self.0.get_mut(term) {
            Some(sum) => *sum += weight,
            None => {
                self.0.insert(term.to_owned(), weight);
            }
        }
    }

    /// The weight of a term; 0 if it is missing.
    pub(super) fn get(&self, term: &str) -> f32 {
        self.0.get(term).copied().unwrap_or(0.0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, f32)> {
        self.0.iter().map(|(term, &weight)| (term.as_str(), weight))
    }

    /// The terms by descending weight; equal weights in byte order of the terms.
    pub(super) fn descending(&self) -> Vec<(&str, f32)> {
        let mut terms: Vec<(&str, f32)> = self.iter().collect();
        // Stable.
        terms.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap_or(Ordering::Equal));
        terms
    }

    /// Keeps the first `terms` of [`Self::descending`].
    #[must_use]
    pub(super) fn pruned(self, terms: usize) -> Self {
        if self.0.len() <= terms {
            return self;
        }
        let best = self.descending().into_iter().take(terms);
        best.map(|(term, weight)| (term.to_owned(), weight))
            .collect()
    }

    pub(super) fn l1_norm(&self) -> f64 {
        self.0.values().map(|weight| f64::from(weight.abs())).sum()
    }

    pub(super) fn l2_norm(&self) -> f64 {
        let squares = self.0.values().map(|weight| f64::from(*weight).powi(2));
        squares.sum::<f64>().sqrt()
    }

    /// Divides the weights by a norm; a norm of 0 leaves them.
    #[must_use]
    pub(super) fn scaled(mut self, norm: f64) -> Self {
        if norm > 0.0 {
            for weight in self.0.values_mut() {
                *weight = (f64::from(*weight) / norm) as f32;
            }
        }
        self
    }
}

impl FromIterator<(String, f32)> for TermVector {
    fn from_iter<I: IntoIterator<Item = (String, f32)>>(terms: I) -> Self {
        Self(terms.into_iter().collect())
    }
}

/// A feedback document and its candidate terms.
#[derive(Debug)]
pub(super) struct FeedbackDocument {
    pub(super) score: f32,
    /// Number of tokens, candidates or not.
    pub(super) length: u32,
    /// Frequencies of the candidates.
    pub(super) terms: TermVector,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(terms: &[(&str, f32)]) -> TermVector {
        let terms = terms.iter();
        terms.map(|&(term, w)| (term.to_owned(), w)).collect()
    }

    #[test]
    fn pruning_keeps_the_heaviest_and_breaks_ties_by_term() {
        let all = vector(&[("b", 2.0), ("a", 1.0), ("d", 1.0), ("c", 1.0)]);
        assert_eq!(
            all.clone().pruned(3),
            vector(&[("b", 2.0), ("a", 1.0), ("c", 1.0)])
        );
        assert_eq!(all.clone().pruned(9), all);
        assert_eq!(all.descending()[0], ("b", 2.0));
    }

    #[test]
    fn norms() {
        let all = vector(&[("a", 3.0), ("b", -4.0)]);
        assert_eq!((all.l1_norm(), all.l2_norm()), (7.0, 5.0));
        let unit = all.clone().scaled(5.0);
        assert_eq!(
            (unit.get("a"), unit.get("b"), unit.get("c")),
            (0.6, -0.8, 0.0)
        );
        assert_eq!(all.clone().scaled(0.0), all);
    }
}
