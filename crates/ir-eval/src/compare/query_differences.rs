//! Differences between two systems per query.

use serde::{Deserialize, Serialize};

use super::Comparison;
#[cfg(feature = "plots")]
use super::alignment::differences_on_averaging_scale;
#[cfg(feature = "plots")]
use super::significance::count_wins_ties_losses;
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

impl Comparison {
    /// Numbers of won, tied and lost queries, as in the effect size of a pairwise test.
    #[cfg(feature = "plots")]
    pub(crate) fn wins_ties_losses(
        &self,
        system: &str,
        against: &str,
        measure: Measure,
    ) -> Option<[usize; 3]> {
        let values = &self.score(system, measure)?.values;
        let others = &self.score(against, measure)?.values;
        let differences = differences_on_averaging_scale(measure, values, others);
        Some(count_wins_ties_losses(&differences))
    }

    /// Returns the differences between two systems on all queries, in descending order of
    /// difference, then by query id. `None` for an unknown system or measure.
    ///
    /// ```
    /// # use ir_core::{Qrels, Run};
    /// # use ir_eval::compare::{Comparison, ComparisonConfig};
    /// # use ir_eval::{Evaluator, Measure};
    /// # let mut qrels = Qrels::new();
    /// # let (mut old, mut new) = (Run::new("old"), Run::new("new"));
    /// # for query in ["q1", "q2", "q3"] {
    /// #     qrels.insert(query, "d", 1);
    /// #     if query != "q2" { old.push(query, "d", 1.0); }
    /// #     if query != "q3" { new.push(query, "d", 1.0); }
    /// # }
    /// # let evaluator = Evaluator::new(&qrels, &[Measure::RR])?;
    /// # let reports = [evaluator.evaluate(&old)?, evaluator.evaluate(&new)?];
    /// let comparison = Comparison::new(&reports, &ComparisonConfig::default())?;
    /// let differences = comparison
    ///     .query_differences("new", "old", Measure::RR)
    ///     .ok_or("no such system")?;
    /// let queries: Vec<&str> = differences.iter().map(|d| d.query.as_str()).collect();
    /// assert_eq!(queries, ["q2", "q1", "q3"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
