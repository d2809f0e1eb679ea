//! [`HeldOut`]: queries that nothing is learnt from, so that choices can be made on them.

use serde::{Deserialize, Serialize};

use crate::SplitMix64;

/// Which of the queries with known answers are held back: a fraction of them by their texts.
///
/// What is trained or tuned must not be judged on queries it has seen, and choices (when to stop,
/// which weights a mixture has) need judgments before the test. Here the text of a query and the
/// seed alone decide: two records of one query never come apart, no query changes sides when others
/// are added, and a program that sees the queries in another order, or another file of them, makes the same
/// choice. So the fraction is met nearly, not to the last query. White space at either end does not
/// count.
///
/// ```
/// use ir_core::Query;
/// use ir_core::training::HeldOut;
/// let queries: Vec<Query> = (0..1000).map(|n| Query::new(n.to_string(), format!("query {n}"))).collect();
/// let held_out = HeldOut { fraction: 0.2, seed: 42 };
/// let (dev, train): (Vec<_>, Vec<_>) = queries.iter().partition(|query| held_out.contains(&query.text));
/// assert_eq!((dev.len(), train.len()), (212, 788));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// The fraction of queries, from 0 to 1.
    pub fraction: f64,
    /// Another seed, other queries.
    pub seed: u64,
}

impl HeldOut {
    /// Whether a query of this text is held back. None is when the fraction is 0, below, or no number.
    #[must_use]
    pub fn contains(&self, query: &str) -> bool {
        // 53 bits are what a number of 64 bits holds exactly.
        let place = (SplitMix64::from_name(self.seed, query.trim()).next_u64() >> 11) as f64;
        place < self.fraction * (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_met() {
        let queries: Vec<String> = (0..4000).map(|n| format!("query {n}")).collect();
        let count = |fraction, seed| {
            let held_out = HeldOut { fraction, seed };
            queries.iter().filter(|text| held_out.contains(text)).count()
        };
        assert_eq!(count(0.0, 1), 0);
        assert_eq!(count(-1.0, 1), 0);
        assert_eq!(count(f64::NAN, 1), 0);
        assert_eq!(count(1.0, 1), 4000);
        // Four deviations of a binomial count are 101.
        for seed in 0..20 {
            assert!(count(0.2, seed).abs_diff(800) < 101, "{seed}");
        }
    }

    #[test]
    fn a_larger_fraction_keeps_the_queries_of_a_smaller_one() {
        for n in 0..1000 {
            let text = format!("query {n}");
            let has = |fraction| HeldOut { fraction, seed: 9 }.contains(&text);
            assert!(!has(0.1) || has(0.3));
        }
    }

    #[test]
    fn seeds_choose_apart_and_blanks_do_not_count() {
        let by = |seed| {
            let held_out = HeldOut { fraction: 0.5, seed };
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
            assert_eq!(held_out.contains(&text), held_out.contains(&format!(" {text}\n")));
        }
    }
}
