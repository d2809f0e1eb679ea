use serde::{Deserialize, Serialize};

use crate::random::SplitMix64;

/// Random split that holds out a fraction of the queries as validation set.
///
/// Membership depends on the query text and the seed alone: records of the same query stay
/// together, and neither other queries nor their order change the split. The fraction is therefore
/// approximate. Leading and trailing white space is ignored.
///
/// ```
/// use ir_core::Query;
/// use ir_core::training::HeldOut;
/// let query = |n: u32| Query::new(n.to_string(), format!("query {n}"));
/// let queries: Vec<Query> = (0..1000).map(query).collect();
/// let held_out = HeldOut { fraction: 0.2, seed: 42 };
/// let (dev, train): (Vec<_>, Vec<_>) =
///     queries.iter().partition(|query| held_out.contains(&query.text));
/// assert_eq!((dev.len(), train.len()), (212, 788));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// Fraction of queries held out. Range: 0..=1.
    pub fraction: f64,
    /// Seed of the random split.
    pub seed: u64,
}

impl HeldOut {
    /// Returns whether a query is held out. Always false if the fraction is ≤ 0 or NaN.
    #[must_use]
    pub fn contains(&self, query: &str) -> bool {
        // The top 53 bits, exact in f64.
        let position = (SplitMix64::from_name(self.seed, query.trim()).next_u64() >> 11) as f64;
        position < self.fraction * (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fraction_is_approximated() {
        let queries: Vec<String> = (0..4000).map(|n| format!("query {n}")).collect();
        let count = |fraction, seed| {
            let held_out = HeldOut { fraction, seed };
            queries
                .iter()
                .filter(|text| held_out.contains(text))
                .count()
        };
        assert_eq!(count(0.0, 1), 0);
        assert_eq!(count(-1.0, 1), 0);
        assert_eq!(count(f64::NAN, 1), 0);
        assert_eq!(count(1.0, 1), 4000);
        // Four standard deviations of a binomial count are 101.
        for seed in 0..20 {
            assert!(count(0.2, seed).abs_diff(800) < 101, "{seed}");
        }
    }

    #[test]
    fn larger_fractions_contain_smaller_ones() {
        for n in 0..1000 {
            let text = format!("query {n}");
            let has = |fraction| HeldOut { fraction, seed: 9 }.contains(&text);
            assert!(!has(0.1) || has(0.3));
        }
    }

    #[test]
    fn seeds_are_independent_and_white_space_is_trimmed() {
        let by = |seed| {
            let held_out = HeldOut {
                fraction: 0.5,
                seed,
            };
            (0..1000)
                .map(|n| held_out.contains(&format!("query {n}")))
                .collect::<Vec<_>>()
        };
        assert_eq!(by(1), by(1));
        let same = by(1).iter().zip(by(2)).filter(|(a, b)| **a == *b).count();
        assert!((420..580).contains(&same), "{same}");
        for n in 0..100 {
            let held_out = HeldOut {
                fraction: 0.5,
                seed: 3,
            };
            let text = format!("query {n}");
            assert_eq!(
                held_out.contains(&text),
                held_out.contains(&format!(" {text}\n"))
            );
        }
    }
}
