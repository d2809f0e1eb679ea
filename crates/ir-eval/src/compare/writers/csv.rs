//! One flat table for programs.

use std::io::{self, Write};

use crate::{Comparison, Contrast, Figure};

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
    pub fn csv(&self, out: impl Write) -> io::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        table.write_record(HEADER)?;
        for (at, &measure) in self.measures.iter().enumerate() {
            for system in &self.systems {
                let figure = &system.figures[at];
                let tests = self
                    .contrasts
                    .iter()
                    .filter(|c| c.measure == measure && c.system == system.name);
                for contrast in std::iter::once(None).chain(tests.map(Some)) {
                    let mut record = figure_fields(figure, &system.name);
                    record.extend(contrast_fields(contrast));
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
            self.plan.test.to_string(),
            self.plan.alternative.to_string(),
            self.plan.correction.to_string(),
            self.plan.family.to_string(),
            self.plan.level.to_string(),
            self.plan.interval.to_string(),
            self.baseline().unwrap_or_default().to_owned(),
            self.rules.to_string(),
        ]
    }
}

fn figure_fields(figure: &Figure, system: &str) -> Vec<String> {
    vec![
        figure.measure.to_string(),
        system.to_owned(),
        figure.value.to_string(),
        figure.interval.low.to_string(),
        figure.interval.high.to_string(),
    ]
}

fn contrast_fields(contrast: Option<&Contrast>) -> [String; 14] {
    let Some(contrast) = contrast else {
        return Default::default();
    };
    let perhaps = |number: Option<f64>| number.map_or_else(String::new, |n| n.to_string());
    let (effect, outcome) = (&contrast.effect, &contrast.outcome);
    [
        contrast.against.clone(),
        contrast.difference.to_string(),
        contrast.interval.low.to_string(),
        contrast.interval.high.to_string(),
        perhaps(contrast.relative),
        perhaps(effect.cohens_d),
        effect.wins.to_string(),
        effect.ties.to_string(),
        effect.losses.to_string(),
        outcome.statistic.to_string(),
        outcome.p.to_string(),
        outcome.by.to_string(),
        contrast.adjusted_p.to_string(),
        contrast.significant.to_string(),
    ]
}
