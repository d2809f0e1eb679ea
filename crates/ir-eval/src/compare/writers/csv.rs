//! One flat table in CSV, for programs.

use std::io::{self, Write};

use crate::compare::{Comparison, PairwiseTest, SystemScore};

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
    /// Writes one flat CSV table with numbers in full precision.
    ///
    /// Each measure and system has one row with the score and its confidence interval, where
    /// `against` and the test columns are empty, and one row per significance test. Columns about
    /// the whole comparison (test, rules, number of queries, ...) repeat in every row, so that rows
    /// can be filtered and joined.
    ///
    /// # Errors
    /// When writing to `out` fails.
    pub fn write_csv(&self, out: impl Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        table.write_record(HEADER)?;
        for (at, &measure) in self.measures.iter().enumerate() {
            for system in &self.systems {
                let score = &system.scores[at];
                let tests = self
                    .pairwise_tests
                    .iter()
                    .filter(|test| test.measure == measure && test.system == system.name);
                for test in std::iter::once(None).chain(tests.map(Some)) {
                    let mut record = score_fields(score, &system.name);
                    record.extend(test_fields(test));
                    record.extend([
                        self.queries.len().to_string(),
                        system.missing.to_string(),
                        system.unjudged.to_string(),
                    ]);
                    record.extend(self.config_fields());
                    table.write_record(record)?;
                }
            }
        }
        table.flush()
    }

    fn config_fields(&self) -> [String; 8] {
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

fn test_fields(test: Option<&PairwiseTest>) -> [String; 14] {
    let Some(test) = test else {
        return Default::default();
    };
    let or_empty = |number: Option<f64>| number.map_or_else(String::new, |n| n.to_string());
    let (effect, result) = (&test.effect, &test.result);
    [
        test.against.clone(),
        test.difference.to_string(),
        test.interval.low.to_string(),
        test.interval.high.to_string(),
        or_empty(test.relative),
        or_empty(effect.cohens_d),
        effect.wins.to_string(),
        effect.ties.to_string(),
        effect.losses.to_string(),
        result.statistic.to_string(),
        result.p.to_string(),
        result.null_distribution.to_string(),
        test.adjusted_p.to_string(),
        test.significant.to_string(),
    ]
}
