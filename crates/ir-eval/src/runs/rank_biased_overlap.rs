//! Rank-biased overlap of two ranked lists.

use std::collections::HashSet;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

/// Rank-biased overlap (RBO) of two ranked lists, which may contain different items and be
/// truncated at different depths.
///
/// ```
/// use ir_eval::runs::RankBiasedOverlap;
/// let rbo = RankBiasedOverlap::new(&["a", "b", "c"], &["b", "a", "d"], 0.9).unwrap();
/// assert!(rbo.min < rbo.ext && rbo.ext < rbo.max());
/// ```
///
/// # Source
/// Webber, Moffat and Zobel, "A similarity measure for indefinite rankings", ACM TOIS 2010.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RankBiasedOverlap {
    /// Lower bound: the unseen items have nothing in common.
    pub min: f64,
    /// Difference between upper and lower bound: the unseen items agree as far as possible.
    pub residual: f64,
    /// Extrapolated RBO: the agreement at the deepest known rank continues (equation 32).
    pub ext: f64,
}

impl RankBiasedOverlap {
    /// Computes the RBO of two lists, best item first, of any lengths.
    ///
    /// `p` is the persistence: the probability of looking at one more rank. With 0.9, the first ten
    /// ranks carry 86 % of the weight. Range: between 0 and 1. Ties must be broken before; only the
    /// first occurrence of a repeated item counts.
    ///
    /// Returns `None` if both lists are empty or `p` is out of range. With one empty list, `ext`
    /// is 0.
    ///
    /// # Complexity
    /// O(n) hash lookups.
    #[must_use]
    pub fn new<T: Eq + Hash>(first: &[T], second: &[T], p: f64) -> Option<Self> {
        let (first, second) = (distinct(first), distinct(second));
        let (short, long) = if first.len() <= second.len() {
            (first, second)
        } else {
            (second, first)
        };
        let (s, l) = (short.len(), long.len());
        if l == 0 || !(p > 0.0 && p < 1.0) {
            return None;
        }
        // Overlap X_d at depth d; the short list ends at depth s.
        let (mut in_short, mut in_long) = (HashSet::new(), HashSet::new());
        let mut overlap = 0_u64;
        let (mut overlap_at_s, mut base, mut beyond) = (0.0, 0.0, 0.0);
        // Σ p^d / d, and p^d.
        let (mut harmonic, mut power) = (0.0, 1.0);
        // Upper bound of Σ p^d · X_d / d: every unseen item of the short list is one that the long
        // list contains and the short one does not yet.
        let mut upper = 0.0;
        for d in 1..=l {
            power *= p;
            let depth = d as f64;
            harmonic += power / depth;
            let longer = long[d - 1];
            if let Some(&shorter) = short.get(d - 1) {
                in_long.insert(longer);
                overlap += u64::from(in_long.contains(shorter));
                overlap += u64::from(shorter != longer && in_short.contains(longer));
                in_short.insert(shorter);
            } else {
                overlap += u64::from(in_short.contains(longer));
            }
            let x = overlap as f64;
            base += power * x / depth;
            if d == s {
                overlap_at_s = x;
            } else if d > s && s > 0 {
                beyond += power * overlap_at_s * (d - s) as f64 / (s as f64 * depth);
            }
            upper += power / depth * (x + d.saturating_sub(s) as f64).min(depth);
        }
        let x = overlap as f64;
        let scale = (1.0 - p) / p;
        // Σ p^d / d over all d is −ln(1 − p).
        let rest = (-(-p).ln_1p() - harmonic).max(0.0);
        let min = scale * (base + x * rest);
        // Beyond both lists, two items become common at each depth until all are.
        let start = x + (l - s) as f64;
        let (mut d, mut deep_power) = (l, power);
        while start + 2.0 * ((d - l) as f64) < d as f64 {
            d += 1;
            deep_power *= p;
            let common = (start + 2.0 * (d - l) as f64).min(d as f64);
            upper += deep_power / d as f64 * common;
        }
        // From here on X_d = d: the remaining sum is Σ p^d.
        let max = scale * (upper + deep_power * p / (1.0 - p));
        let ext = if s == 0 {
            0.0
        } else {
            let agreement = (x - overlap_at_s) / l as f64 + overlap_at_s / s as f64;
            scale * (base + beyond) + agreement * power
        };
        Some(Self {
            min: min.clamp(0.0, 1.0),
            residual: (max - min).clamp(0.0, 1.0),
            ext: ext.clamp(0.0, 1.0),
        })
    }

    /// Upper bound: [`min`](Self::min) + [`residual`](Self::residual).
    #[must_use]
    pub fn max(&self) -> f64 {
        (self.min + self.residual).min(1.0)
    }
}

/// The items without duplicates.
fn distinct<T: Eq + Hash>(list: &[T]) -> Vec<&T> {
    let mut seen = HashSet::new();
    list.iter().filter(|item| seen.insert(*item)).collect()
}
