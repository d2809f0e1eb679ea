//! Differences between two systems per query.

use serde::{Deserialize, Serialize};

use super::Comparison;
use crate::measure::Measure;

/// Values of two systems on one query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueryDifference {
    /// Id of the query.
    pub query: String,
    /// Value of the system.
    pub value: f64,
    /// Value of the system that it is compared with.
    pub against: f64,
    /// `value` − `against`: positive where the system is better.
    pub difference: f64,
}

impl QueryDifference {
    /// Numbers of positive, negative and zero differences.
    #[cfg(feature = "plots")]
    pub(crate) fn signs(differences: &[Self]) -> [usize; 3] {
        let signs: [fn(f64) -> bool; 3] = [|d| d > 0.0, |d| d < 0.0, |d| d == 0.0];
        signs.map(|sign| differences.iter().filter(|d| sign(d.difference)).count())
    }
}

impl Comparison {
    /// Returns the differences between two systems on all queries, in descending order of
    /// difference, then by query id. `None` for an unknown system or measure.
    #[must_use]
    pub fn query_differences(
        &self,
        system: &str,
        against: &str,
        measure: Measure,
    ) -> Option<Vec<QueryDifference>> {
        let values = &self.score(system, measure)?.values;
        let others = &self.score(against, measure)?.values;
        let mut differences: Vec<QueryDifference> = self
            .queries
            .iter()
            .zip(values.iter().zip(others))
            .map(|(query, (&value, &against))| QueryDifference {
                query: query.clone(),
                value,
                against,
                difference: value - against,
            })
            .collect();
        // The sort is stable: ties stay in the order of query ids.
        differences.sort_by(|a, b| b.difference.total_cmp(&a.difference));
        Some(differences)
    }
}
