//! Which queries one system gains on, and which it loses.

use serde::{Deserialize, Serialize};

use super::Comparison;
use crate::Measure;

/// Two systems on one query. Serialised as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueryDifference {
    /// The query.
    pub query: String,
    /// The value of the system.
    pub value: f64,
    /// The value of the one it is compared with.
    pub against: f64,
    /// The first less the second: above 0 where the system is better.
    pub difference: f64,
}

impl Comparison {
    /// All queries, those on which `system` gains most over `against` first, those on which it
    /// loses most last, equal ones by id. `None` for a system or measure that is not there.
    ///
    /// ```
    /// # use ir_core::{Qrels, Run};
    /// # use ir_eval::{Comparison, Evaluator, Measure, ComparisonConfig};
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
    /// let topics = comparison.topics("new", "old", Measure::RR).ok_or("no such system")?;
    /// let queries: Vec<&str> = topics.iter().map(|topic| topic.query.as_str()).collect();
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
        let mut topics: Vec<QueryDifference> = self
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
        // Stable: equal ones stay in the order of their ids.
        topics.sort_by(|a, b| b.difference.total_cmp(&a.difference));
        Some(topics)
    }
}
