//! The lines of trec_eval's output.

use std::io::{self, Write};

use super::Detail;
use crate::{Generation, Measure, Missing, Summary, ZScores};

/// What trec_eval would print about a run, line by line: the values of each query and those over
/// all. Made by [`Selection::sheet`](super::Selection::sheet) and
/// [`Selection::sheet_of_preferences`](super::Selection::sheet_of_preferences).
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet<'a> {
    pub(super) columns: Vec<Column<'a>>,
    pub(super) rows: Vec<Row<'a>>,
    pub(super) missing: Missing,
    pub(super) generation: Generation,
    pub(super) standardised: bool,
}

/// A line of a [`Sheet`].
#[derive(Debug, Clone, PartialEq)]
pub struct Line<'a> {
    /// trec_eval's name.
    pub name: &'a str,
    /// Whether the value is a z-score; trec_eval puts a `Z` before the name.
    pub zscore: bool,
    /// The measure. `None` of a text, and of a measure that is for other judgments than qrels.
    pub measure: Option<Measure>,
    /// The query, or `all`.
    pub query: &'a str,
    /// What is printed.
    pub value: Cell,
}

/// A value of a [`Sheet`].
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// The name of the run (`runid`), or which of the first documents are relevant (`relstring`).
    Text(String),
    /// A number of something.
    Count(f64),
    /// Anything else, printed with four decimals. NaN where trec_eval divides 0 by 0.
    Figure(f64),
}

/// All values of one name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column<'a> {
    pub(super) name: &'a str,
    pub(super) kind: ColumnKind<'a>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ColumnKind<'a> {
    /// The run's name.
    RunId(&'a str),
    /// A text for each query.
    Marks,
    /// Numbers.
    Figures {
        measure: Option<Measure>,
        summary: Summary,
        /// Whether it means nothing for a single query.
        once: bool,
        /// Over all queries.
        total: f64,
    },
}

/// A query that counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row<'a> {
    pub(super) query: &'a str,
    pub(super) retrieved: bool,
    /// Of the columns of figures, in their order.
    pub(super) figures: Vec<f64>,
    /// Of the columns of marks.
    pub(super) marks: Vec<String>,
}

impl<'a> Sheet<'a> {
    /// The same with z-scores in place of values, in queries and over all: trec_eval's `-Z`.
    ///
    /// The total is the mean of the z-scores, or their sum or their geometric mean where that of
    /// the values is. Where there is no z-score, [`ZScores::MISSING`] stands for it.
    #[must_use]
    pub fn standardised(mut self, reference: &ZScores) -> Self {
        let mut place = 0;
        for column in &mut self.columns {
            let ColumnKind::Figures {
                measure,
                summary,
                total,
                ..
            } = &mut column.kind
            else {
                continue;
            };
            let mut sum = 0.0;
            for row in &mut self.rows {
                let figure = &mut row.figures[place];
                // Release 9 leaves missing queries out until it divides.
                if !row.retrieved && self.generation == Generation::V9 {
                    if *summary == Summary::GeometricMean {
                        sum += Summary::LEAST.ln();
                    }
                    continue;
                }
                let value = match summary {
                    Summary::GeometricMean => figure.max(Summary::LEAST).ln(),
                    _ => *figure,
                };
                let score = reference.of(row.query, column.name, value);
                *figure = score.unwrap_or(ZScores::MISSING);
                sum += *figure;
            }
            let queries = self.rows.len() as f64;
            // trec_eval counts these anew at the end.
            let counted = *measure == Some(Measure::NUM_Q)
                || *measure == Some(Measure::NUM_REL) && self.missing == Missing::Zero;
            if !counted {
                *total = match summary {
                    Summary::Sum => sum,
                    Summary::GeometricMean => (sum / queries).exp(),
                    _ => sum / queries,
                };
            }
            place += 1;
        }
        self.standardised = true;
        self
    }

    /// The lines, in trec_eval's order.
    pub fn lines(&self, detail: Detail) -> impl Iterator<Item = Line<'a>> + '_ {
        let queries = (detail != Detail::Summary).then(|| {
            self.rows
                .iter()
                .filter(|row| row.retrieved || self.generation == Generation::V10)
                .flat_map(|row| self.query_lines(row))
        });
        let totals = (detail != Detail::Queries).then(|| self.totals());
        queries
            .into_iter()
            .flatten()
            .chain(totals.into_iter().flatten())
    }

    /// Prints it.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(&self, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
        for line in self.lines(detail) {
            line.write(out)?;
        }
        Ok(())
    }

    fn query_lines(&self, row: &Row<'a>) -> impl Iterator<Item = Line<'a>> + '_ {
        let query = row.query;
        let mut figures = row.figures.clone().into_iter();
        let mut marks = row.marks.clone().into_iter();
        self.columns.iter().filter_map(move |column| {
            let (measure, value) = match column.kind {
                ColumnKind::RunId(_) => return None,
                ColumnKind::Marks => (None, Cell::Text(marks.next()?)),
                ColumnKind::Figures {
                    measure,
                    summary,
                    once,
                    ..
                } => {
                    let figure = figures.next()?;
                    if once {
                        return None;
                    }
                    (measure, self.cell(measure, summary, figure))
                }
            };
            Some(self.line(column, measure, query, value))
        })
    }

    fn totals(&self) -> impl Iterator<Item = Line<'a>> + '_ {
        self.columns.iter().filter_map(|column| match column.kind {
            ColumnKind::RunId(run) => {
                Some(self.line(column, None, "all", Cell::Text(run.to_owned())))
            }
            ColumnKind::Marks => None,
            ColumnKind::Figures {
                measure,
                summary,
                total,
                ..
            } => Some(self.line(column, measure, "all", self.cell(measure, summary, total))),
        })
    }

    fn cell(&self, measure: Option<Measure>, summary: Summary, figure: f64) -> Cell {
        let count = measure.map_or(summary == Summary::Sum, |measure| measure.is_count());
        if count && !self.standardised {
            Cell::Count(figure)
        } else {
            Cell::Figure(figure)
        }
    }

    fn line(
        &self,
        column: &Column<'a>,
        measure: Option<Measure>,
        query: &'a str,
        value: Cell,
    ) -> Line<'a> {
        Line {
            name: column.name,
            zscore: self.standardised && matches!(column.kind, ColumnKind::Figures { .. }),
            measure,
            query,
            value,
        }
    }
}

impl Line<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (name, query) = (self.name, self.query);
        let z = if self.zscore { "Z" } else { "" };
        match &self.value {
            Cell::Text(run) if name == "runid" => writeln!(out, "{name:22}\t{query}\t{run}"),
            Cell::Text(marks) => writeln!(out, "{name:22}\t{query}\t'{marks}'"),
            Cell::Count(count) => writeln!(out, "{z}{name:22}\t{query}\t{count:.0}"),
            Cell::Figure(figure) if figure.is_nan() => {
                writeln!(out, "{z}{name:22}\t{query}\t  -nan")
            }
            Cell::Figure(figure) => writeln!(out, "{z}{name:22}\t{query}\t{figure:6.4}"),
        }
    }
}
