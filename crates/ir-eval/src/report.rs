//! What an evaluation found.

use std::fmt;

use ir_core::Grade;
use serde::{Deserialize, Serialize};

use crate::topic::{UNJUDGED, UNPOOLED};
use crate::{Measure, Rules};

/// The values of a run: of every query first, and what follows from them.
///
/// Printed, it shows the rules, what was left out, and a line per measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub(crate) run: String,
    pub(crate) rules: Rules,
    pub(crate) measures: Vec<Measure>,
    pub(crate) queries: Vec<QueryValues>,
    pub(crate) missing: Vec<String>,
    pub(crate) unjudged: Vec<String>,
    pub(crate) positive: u64,
}

/// The values of one query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueryValues {
    pub(crate) query: String,
    pub(crate) retrieved: bool,
    pub(crate) values: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) top: Vec<Judged>,
    /// Columns of values that trec_eval leaves undefined (0/0) and we count as 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) undefined: Vec<usize>,
}

/// How a retrieved document was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judged {
    /// It has a grade, 0 or higher.
    Grade(Grade),
    /// It was in the pool and not judged: its grade is negative.
    Unjudged,
    /// It is not in the qrels.
    Unpooled,
}

impl Judged {
    pub(crate) const fn of(state: Grade) -> Self {
        match state {
            UNPOOLED => Self::Unpooled,
            UNJUDGED => Self::Unjudged,
            grade => Self::Grade(grade),
        }
    }
}

impl QueryValues {
    /// The query's id.
    #[must_use]
    pub fn query(&self) -> &str {
        &self.query
    }

    /// Whether the run has a list for it.
    #[must_use]
    pub const fn retrieved(&self) -> bool {
        self.retrieved
    }

    /// The values, in the order of [`Report::measures`].
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// How the first documents were judged, as far as
    /// [`Evaluator::keeping`](crate::Evaluator::keeping) asked for it.
    #[must_use]
    pub fn top(&self) -> &[Judged] {
        &self.top
    }
}

impl Report {
    /// The same report of a run that goes by another name.
    #[must_use]
    pub fn named(self, run: impl Into<String>) -> Self {
        Self {
            run: run.into(),
            ..self
        }
    }

    /// The run's tag.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The rules by which the values were computed.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The measures, each once.
    #[must_use]
    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// The values of the queries that count, by query id in ascending byte order.
    #[must_use]
    pub fn queries(&self) -> &[QueryValues] {
        &self.queries
    }

    /// The value of a measure for a query. `None` when the query does not count or the measure was
    /// not asked for.
    #[must_use]
    pub fn value(&self, query: &str, measure: Measure) -> Option<f64> {
        let column = self.column(measure)?;
        let found = self
            .queries
            .binary_search_by(|values| values.query.as_str().cmp(query));
        Some(self.queries[found.ok()?].values[column])
    }

    /// The values of a measure, in the order of [`Report::queries`]. `None` when it was not asked
    /// for.
    pub fn values(&self, measure: Measure) -> Option<impl ExactSizeIterator<Item = f64> + Clone> {
        let column = self.column(measure)?;
        Some(self.queries.iter().map(move |query| query.values[column]))
    }

    /// One value for all queries: the mean, the sum or the geometric mean, as
    /// [`Measure::summary`] has it, accumulated in the order of the queries. `None` when the
    /// measure was not asked for.
    #[must_use]
    pub fn summary(&self, measure: Measure) -> Option<f64> {
        self.values(measure)
            .map(|values| measure.summary().of(values))
    }

    /// The queries that have judgments and no list in the run.
    pub fn missing(&self) -> impl ExactSizeIterator<Item = &str> {
        self.missing.iter().map(String::as_str)
    }

    /// The queries that have a list in the run and no judgments. They never count.
    pub fn unjudged(&self) -> impl ExactSizeIterator<Item = &str> {
        self.unjudged.iter().map(String::as_str)
    }

    /// How many judgments have a grade above 0, over all queries of the qrels.
    #[must_use]
    pub const fn positive(&self) -> u64 {
        self.positive
    }

    /// Whether trec_eval divides 0 by 0 for this measure and query.
    pub(crate) fn undefined(&self, query: &QueryValues, measure: Measure) -> bool {
        let column = self.column(measure);
        column.is_some_and(|column| query.undefined.contains(&column))
    }

    fn column(&self, measure: Measure) -> Option<usize> {
        self.measures.iter().position(|&other| other == measure)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [&self.missing, &self.unjudged].map(Vec::len);
        let values = self.measures.iter().map(|&m| (m, self.summary(m)));
        let head = (self.run.as_str(), self.queries.len(), counts);
        print(f, head, &self.rules, values)
    }
}

/// What people read of a report: the run and how many queries count, the rules, the values.
pub(crate) fn print<M: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    (run, counted, [missing, unjudged]): (&str, usize, [usize; 2]),
    rules: &Rules,
    values: impl Iterator<Item = (M, Option<f64>)>,
) -> fmt::Result {
    let run = if run.is_empty() { "(no name)" } else { run };
    writeln!(f, "run: {run}")?;
    writeln!(
        f,
        "queries: {counted} counted; {missing} judged without results; {unjudged} with results not judged"
    )?;
    writeln!(f, "{rules}")?;
    let values: Vec<(String, Option<f64>)> = values.map(|(m, v)| (m.to_string(), v)).collect();
    let width = values.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in values {
        if let Some(value) = value {
            writeln!(f, "{name:width$}  {value:.4}")?;
        }
    }
    Ok(())
}
