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
    pub(super) columns: Vec<OutputColumn<'a>>,
    pub(super) rows: Vec<OutputRow<'a>>,
    pub(super) rules: Rules,
    pub(super) standardized: bool,
}

/// Line of a [`TrecEvalOutput`].
#[derive(Debug, Clone, PartialEq)]
pub struct OutputLine<'a> {
    /// trec_eval's name of the measure.
    pub name: &'a str,
    /// If `true`, the value is a z-score, and trec_eval prints a `Z` before the name.
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
    pub(super) measure: Option<Measure>,
    pub(super) summary: Summary,
    /// If `true`, only the total is printed.
    pub(super) total_only: bool,
    /// Value over all queries; `None` for relevance marks.
    pub(super) total: Option<OutputValue>,
}

/// Values of a query that counts, one per column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutputRow<'a> {
    pub(super) query: &'a str,
    pub(super) retrieved: bool,
    pub(super) values: Vec<OutputValue>,
}

impl OutputValue {
    fn number_mut(&mut self) -> Option<&mut f64> {
        match self {
            Self::Count(number) | Self::Number(number) => Some(number),
            Self::Text(_) => None,
        }
    }
}

impl<'a> OutputColumn<'a> {
    /// Column of a text, which has no numbers to aggregate.
    pub(super) fn text(name: &'a str, total: Option<&str>) -> Self {
        Self {
            name,
            measure: None,
            summary: Summary::Sum,
            total_only: total.is_some(),
            total: total.map(|text| OutputValue::Text(text.to_owned())),
        }
    }

    /// Column of a measure, or of a preference measure without `measure`.
    pub(super) fn number(
        name: &'a str,
        measure: Option<Measure>,
        summary: Summary,
        total: f64,
    ) -> Self {
        let mut column = Self {
            name,
            measure,
            summary,
            total_only: measure == Some(Measure::NUM_Q) || summary == Summary::GeometricMean,
            total: None,
        };
        column.total = Some(column.value(total));
        column
    }

    /// Number in the format of the column.
    pub(super) fn value(&self, number: f64) -> OutputValue {
        let is_sum = self.summary == Summary::Sum;
        if self.measure.map_or(is_sum, |measure| measure.is_count()) {
            OutputValue::Count(number)
        } else {
            OutputValue::Number(number)
        }
    }
}

impl<'a> TrecEvalOutput<'a> {
    /// Replaces all values by their z-scores: trec_eval's `-Z`.
    ///
    /// Totals become the mean, sum or geometric mean of the z-scores, like the totals of the
    /// values. Values without a z-score become [`ZScores::MISSING`].
    #[must_use]
    pub fn standardized(mut self, reference: &ZScores) -> Self {
        for (index, column) in self.columns.iter_mut().enumerate() {
            let (measure, summary) = (column.measure, column.summary);
            let Some(total) = column.total.as_mut().and_then(OutputValue::number_mut) else {
                continue;
            };
            let mut sum = 0.0;
            for row in &mut self.rows {
                let Some(number) = row.values[index].number_mut() else {
                    continue;
                };
                // Release 9 ignores missing queries until it divides by the number of queries.
                if !row.retrieved && self.rules.trec_eval_version == TrecEvalVersion::V9 {
                    if summary == Summary::GeometricMean {
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
            let is_recomputed = measure == Some(Measure::NUM_Q)
                || measure == Some(Measure::NUM_REL) && self.rules.missing == MissingQueries::Zero;
            if !is_recomputed {
                *total = match summary {
                    Summary::Sum => sum,
                    Summary::GeometricMean => (sum / queries).exp(),
                    _ => sum / queries,
                };
            }
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
                .flat_map(|row| {
                    let values = self.columns.iter().zip(&row.values);
                    let printed = values.filter(|(column, _)| !column.total_only);
                    printed.map(|(column, value)| self.line(column, row.query, value))
                })
        });
        let totals = (detail != OutputDetail::Queries).then(|| {
            let total = |column: &OutputColumn<'a>| {
                let total = column.total.as_ref()?;
                Some(self.line(column, "all", total))
            };
            self.columns.iter().filter_map(total)
        });
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

    fn line(
        &self,
        column: &OutputColumn<'a>,
        query: &'a str,
        value: &OutputValue,
    ) -> OutputLine<'a> {
        OutputLine {
            name: column.name,
            zscore: self.standardized && !matches!(value, OutputValue::Text(_)),
            measure: column.measure,
            query,
            value: match value {
                OutputValue::Count(number) if self.standardized => OutputValue::Number(*number),
                value => value.clone(),
            },
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
