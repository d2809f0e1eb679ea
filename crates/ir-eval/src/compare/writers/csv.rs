//! One flat table in CSV, for programs.

use std::io::{self, Write};

use crate::compare::{ComparedSystem, Comparison, PairwiseTest, SystemScore};

/// Name of a column, and its value in a record.
type CsvColumn = (&'static str, fn(&CsvRecord<'_>) -> String);

const COLUMNS: [CsvColumn; 30] = [
    ("measure", |r| r.score.measure.to_string()),
    ("system", |r| r.system.name.clone()),
    ("value", |r| r.score.value.to_string()),
    ("low", |r| r.score.interval.low.to_string()),
    ("high", |r| r.score.interval.high.to_string()),
    ("against", |r| r.test(|t| t.against.clone())),
    ("difference", |r| r.test(|t| t.difference.to_string())),
    ("difference_low", |r| r.test(|t| t.interval.low.to_string())),
    ("difference_high", |r| {
        r.test(|t| t.interval.high.to_string())
    }),
    ("relative", |r| r.test(|t| or_empty(t.relative))),
    ("cohens_d", |r| r.test(|t| or_empty(t.effect.cohens_d))),
    ("wins", |r| r.test(|t| t.effect.wins.to_string())),
    ("ties", |r| r.test(|t| t.effect.ties.to_string())),
    ("losses", |r| r.test(|t| t.effect.losses.to_string())),
    ("statistic", |r| r.test(|t| or_empty(t.result.statistic))),
    ("p", |r| r.test(|t| or_empty(t.result.p))),
    ("p_by", |r| {
        r.test(|t| t.result.null_distribution.to_string())
    }),
    ("adjusted_p", |r| r.test(|t| or_empty(t.adjusted_p))),
    ("significant", |r| r.test(|t| t.significant.to_string())),
    ("queries", |r| r.comparison.queries.len().to_string()),
    ("missing", |r| r.system.missing.to_string()),
    ("unjudged", |r| r.system.unjudged.to_string()),
    ("test", |r| r.comparison.config.test.to_string()),
    ("alternative", |r| {
        r.comparison.config.alternative.to_string()
    }),
    ("correction", |r| r.comparison.config.correction.to_string()),
    ("family", |r| r.comparison.config.family.to_string()),
    ("level", |r| r.comparison.config.level.to_string()),
    ("interval", |r| r.comparison.config.interval.to_string()),
    ("baseline", |r| {
        r.comparison.baseline().unwrap_or_default().to_owned()
    }),
    ("rules", |r| r.comparison.rules.to_string()),
];

/// Score of a system on a measure and, except in the first record of a score, a test.
struct CsvRecord<'a> {
    comparison: &'a Comparison,
    system: &'a ComparedSystem,
    score: &'a SystemScore,
    test: Option<&'a PairwiseTest>,
}

impl CsvRecord<'_> {
    /// Value of the test; empty without a test.
    fn test(&self, value: fn(&PairwiseTest) -> String) -> String {
        self.test.map(value).unwrap_or_default()
    }
}

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
        table.write_record(COLUMNS.map(|column| column.0))?;
        for (at, &measure) in self.measures.iter().enumerate() {
            for system in &self.systems {
                let tests = self
                    .pairwise_tests
                    .iter()
                    .filter(|test| test.measure == measure && test.system == system.name);
                for test in std::iter::once(None).chain(tests.map(Some)) {
                    let record = CsvRecord {
                        comparison: self,
                        system,
                        score: &system.scores[at],
                        test,
                    };
                    table.write_record(COLUMNS.map(|column| (column.1)(&record)))?;
                }
            }
        }
        table.flush()
    }
}

fn or_empty(number: Option<f64>) -> String {
    number.map_or_else(String::new, |n| n.to_string())
}
