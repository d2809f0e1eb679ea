//! One flat table for programs.

use std::io::{self, Write};

use crate::{Comparison, PairwiseTest, SystemScore};

const HEADER: [&str; 30] = [
    "measure",
    "system",
    "value",
    "low",
    "high",
    "against",
    "difference",
    "difference_low",
    "difference_high",
    "relative",
    "cohens_d",
    "wins",
    "ties",
    "losses",
    "statistic",
    "p",
    "p_by",
    "adjusted_p",
    "significant",
    "queries",
    "missing",
    "unjudged",
    "test",
    "alternative",
    "correction",
    "family",
    "level",
    "interval",
    "baseline",
    "rules",
];

impl Comparison {
    /// One flat table in CSV, numbers in full: for each measure and system a line with the figure
    /// and its confidence interval, `against` and what follows left empty, and a line for each
    /// test of the system. What holds for the whole table (the test, the rules, the number of
    /// queries, ...) stands in every line, so that lines can be filtered and joined.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn write_csv(&self, out: impl Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        table.write_record(HEADER)?;
        for (at, &measure) in self.measures.iter().enumerate() {
            for system in &self.systems {
                let score = &system.scores[at];
                let tests = self
                    .pairwise_tests
                    .iter()
                    .filter(|c| c.measure == measure && c.system == system.name);
                for pairwise in std::iter::once(None).chain(tests.map(Some)) {
                    let mut record = score_fields(score, &system.name);
                    record.extend(test_fields(pairwise));
                    record.extend([
                        self.queries.len().to_string(),
                        system.missing.to_string(),
                        system.unjudged.to_string(),
                    ]);
                    record.extend(self.plan_fields());
                    table.write_record(record)?;
                }
            }
        }
        table.flush()
    }

    fn plan_fields(&self) -> [String; 8] {
        [
            self.config.test.to_string(),
            self.config.alternative.to_string(),
            self.config.correction.to_string(),
            self.config.family.to_string(),
            self.config.level.to_string(),
            self.config.interval.to_string(),
            self.baseline().unwrap_or_default().to_owned(),
            self.rules.to_string(),
        ]
    }
}

fn score_fields(score: &SystemScore, system: &str) -> Vec<String> {
    vec![
        score.measure.to_string(),
        system.to_owned(),
        score.value.to_string(),
        score.interval.low.to_string(),
        score.interval.high.to_string(),
    ]
}

fn test_fields(pairwise: Option<&PairwiseTest>) -> [String; 14] {
    let Some(pairwise) = pairwise else {
        return Default::default();
    };
    let perhaps = |number: Option<f64>| number.map_or_else(String::new, |n| n.to_string());
    let (effect, result) = (&pairwise.effect, &pairwise.result);
    [
        pairwise.against.clone(),
        pairwise.difference.to_string(),
        pairwise.interval.low.to_string(),
        pairwise.interval.high.to_string(),
        perhaps(pairwise.relative),
        perhaps(effect.cohens_d),
        effect.wins.to_string(),
        effect.ties.to_string(),
        effect.losses.to_string(),
        result.statistic.to_string(),
        result.p.to_string(),
        result.null_distribution.to_string(),
        pairwise.adjusted_p.to_string(),
        pairwise.significant.to_string(),
    ]
}
