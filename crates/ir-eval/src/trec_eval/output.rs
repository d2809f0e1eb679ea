//! Lines of trec_eval's output.

use std::io::{self, Write};

use super::zscores::ZScores;
use crate::measure::{Measure, Summary};
use crate::rules::{MissingQueries, Rules, TrecEvalVersion};

/// Lines to print: totals, values per query, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputDetail {
    /// Values over all queries.
    #[default]
    Summary,
    /// Values of each query: trec_eval's `-q -n`.
    Queries,
    /// Both: trec_eval's `-q`.
    QueriesAndSummary,
}

/// trec_eval's output for a run as values: the lines of each query and those over all queries.
/// Created by [`MeasureSelection::output`](super::MeasureSelection::output) and
/// [`MeasureSelection::preference_output`](super::MeasureSelection::preference_output).
#[derive(Debug, Clone, PartialEq)]
pub struct TrecEvalOutput<'a> {
    columns: Vec<OutputColumn<'a>>,
    rows: Vec<OutputRow<'a>>,
    rules: Rules,
    standardized: bool,
}

/// Line of a [`TrecEvalOutput`].
#[derive(Debug, Clone, PartialEq)]
pub struct OutputLine<'a> {
    /// trec_eval's name of the measure.
    pub name: &'a str,
    /// Whether the value is a z-score; trec_eval then prints a `Z` before the name.
    pub zscore: bool,
    /// The measure. `None` for texts and for measures of preferences.
    pub measure: Option<Measure>,
    /// The query, or `all`.
    pub query: &'a str,
    /// Value that is printed.
    pub value: OutputValue,
}

/// Value of an [`OutputLine`].
#[derive(Debug, Clone, PartialEq)]
pub enum OutputValue {
    /// Name of the run (`runid`) or judgments of the first documents (`relstring`).
    Text(String),
    /// A count, printed as an integer.
    Count(f64),
    /// Any other number, printed with four decimals. NaN where trec_eval divides 0 by 0.
    Number(f64),
}

/// All values of one name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutputColumn<'a> {
    pub(super) name: &'a str,
    pub(super) content: ColumnContent<'a>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ColumnContent<'a> {
    /// Name of the run.
    RunId(&'a str),
    /// A string of relevance marks per query.
    RelString,
    /// Values of a measure.
    Numbers {
        measure: Option<Measure>,
        summary: Summary,
        /// Whether only the total is printed.
        total_only: bool,
        total: f64,
    },
}

/// Values of a query that counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutputRow<'a> {
    pub(super) query: &'a str,
    pub(super) retrieved: bool,
    /// One per column of numbers.
    pub(super) numbers: Vec<f64>,
    /// One per column of relevance marks.
    pub(super) relstrings: Vec<String>,
}

impl<'a> TrecEvalOutput<'a> {
    pub(super) fn new(
        columns: Vec<OutputColumn<'a>>,
        rows: impl Iterator<Item = OutputRow<'a>>,
        rules: &Rules,
    ) -> Self {
        Self {
            columns,
            rows: rows.collect(),
            rules: *rules,
            standardized: false,
        }
    }

    /// Replaces all values by their z-scores: trec_eval's `-Z`.
    ///
    /// Totals become the mean, sum or geometric mean of the z-scores, as those of the values were.
    /// Values without a z-score become [`ZScores::MISSING`].
    #[must_use]
    pub fn standardized(mut self, reference: &ZScores) -> Self {
        let mut index = 0;
        for column in &mut self.columns {
            let ColumnContent::Numbers {
                measure,
                summary,
                total,
                ..
            } = &mut column.content
            else {
                continue;
            };
            let mut sum = 0.0;
            for row in &mut self.rows {
                let number = &mut row.numbers[index];
                // Release 9 ignores missing queries until it divides by the number of queries.
                if !row.retrieved && self.rules.trec_eval_version == TrecEvalVersion::V9 {
                    if *summary == Summary::GeometricMean {
                        sum += Summary::FLOOR.ln();
                    }
                    continue;
                }
                let value = match summary {
                    Summary::GeometricMean => number.max(Summary::FLOOR).ln(),
                    _ => *number,
                };
                let score = reference.zscore(row.query, column.name, value);
                *number = score.unwrap_or(ZScores::MISSING);
                sum += *number;
            }
            let queries = self.rows.len() as f64;
            // trec_eval recomputes these totals at the end.
            let is_recomputed = *measure == Some(Measure::NUM_Q)
                || *measure == Some(Measure::NUM_REL) && self.rules.missing == MissingQueries::Zero;
            if !is_recomputed {
                *total = match summary {
                    Summary::Sum => sum,
                    Summary::GeometricMean => (sum / queries).exp(),
                    _ => sum / queries,
                };
            }
            index += 1;
        }
        self.standardized = true;
        self
    }

    /// Iterates over the lines in trec_eval's order.
    pub fn lines(&self, detail: OutputDetail) -> impl Iterator<Item = OutputLine<'a>> + '_ {
        let queries = (detail != OutputDetail::Summary).then(|| {
            let prints_missing = self.rules.trec_eval_version == TrecEvalVersion::V10;
            self.rows
                .iter()
                .filter(move |row| row.retrieved || prints_missing)
                .flat_map(|row| self.query_lines(row))
        });
        let totals = (detail != OutputDetail::Queries).then(|| self.totals());
        queries
            .into_iter()
            .flatten()
            .chain(totals.into_iter().flatten())
    }

    /// Prints the lines.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn write(&self, detail: OutputDetail, out: &mut dyn Write) -> io::Result<()> {
        for line in self.lines(detail) {
            line.write(out)?;
        }
        Ok(())
    }

    fn query_lines(&self, row: &OutputRow<'a>) -> impl Iterator<Item = OutputLine<'a>> + '_ {
        let query = row.query;
        let mut numbers = row.numbers.clone().into_iter();
        let mut relstrings = row.relstrings.clone().into_iter();
        self.columns.iter().filter_map(move |column| {
            let (measure, value) = match column.content {
                ColumnContent::RunId(_) => return None,
                ColumnContent::RelString => (None, OutputValue::Text(relstrings.next()?)),
                ColumnContent::Numbers {
                    measure,
                    summary,
                    total_only,
                    ..
                } => {
                    let number = numbers.next()?;
                    if total_only {
                        return None;
                    }
                    (measure, self.number(measure, summary, number))
                }
            };
            Some(self.line(column, measure, query, value))
        })
    }

    fn totals(&self) -> impl Iterator<Item = OutputLine<'a>> + '_ {
        self.columns.iter().filter_map(|column| {
            let (measure, value) = match column.content {
                ColumnContent::RunId(run) => (None, OutputValue::Text(run.to_owned())),
                ColumnContent::RelString => return None,
                ColumnContent::Numbers {
                    measure,
                    summary,
                    total,
                    ..
                } => (measure, self.number(measure, summary, total)),
            };
            Some(self.line(column, measure, "all", value))
        })
    }

    fn number(&self, measure: Option<Measure>, summary: Summary, number: f64) -> OutputValue {
        let is_count = measure.map_or(summary == Summary::Sum, |measure| measure.is_count());
        if is_count && !self.standardized {
            OutputValue::Count(number)
        } else {
            OutputValue::Number(number)
        }
    }

    fn line(
        &self,
        column: &OutputColumn<'a>,
        measure: Option<Measure>,
        query: &'a str,
        value: OutputValue,
    ) -> OutputLine<'a> {
        OutputLine {
            name: column.name,
            zscore: self.standardized && matches!(column.content, ColumnContent::Numbers { .. }),
            measure,
            query,
            value,
        }
    }
}

impl OutputLine<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (name, query) = (self.name, self.query);
        let z = if self.zscore { "Z" } else { "" };
        match &self.value {
            OutputValue::Text(run) if name == "runid" => writeln!(out, "{name:22}\t{query}\t{run}"),
            OutputValue::Text(marks) => writeln!(out, "{name:22}\t{query}\t'{marks}'"),
            OutputValue::Count(count) => writeln!(out, "{z}{name:22}\t{query}\t{count:.0}"),
            OutputValue::Number(number) if number.is_nan() => {
                writeln!(out, "{z}{name:22}\t{query}\t  -nan")
            }
            OutputValue::Number(number) => writeln!(out, "{z}{name:22}\t{query}\t{number:6.4}"),
        }
    }
}
