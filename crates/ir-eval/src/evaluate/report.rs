//! Results of an evaluation.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::judged::JudgmentStatus;
use crate::measure::Measure;
use crate::rules::Rules;

/// Results of evaluating a run: the values of every query, and aggregates derived from them.
///
/// `Display` shows the rules, the number of missing and unjudged queries, and one line per measure.
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

/// Values of one query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueryValues {
    pub(crate) query: String,
    pub(crate) retrieved: bool,
    pub(crate) values: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) top: Vec<JudgmentStatus>,
    /// Columns whose values are undefined (0/0) in trec_eval; they are 0 here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) undefined: Vec<usize>,
}

impl QueryValues {
    /// Id of the query.
    #[must_use]
    pub fn query(&self) -> &str {
        &self.query
    }

    /// Whether the run contains the query.
    #[must_use]
    pub const fn retrieved(&self) -> bool {
        self.retrieved
    }

    /// Values in the order of [`Report::measures`].
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Judgments of the first documents, up to the depth set by
    /// [`Evaluator::with_top_judgments`](crate::Evaluator::with_top_judgments).
    #[must_use]
    pub fn top_judgments(&self) -> &[JudgmentStatus] {
        &self.top
    }
}

impl Report {
    /// Sets the name of the run.
    #[must_use]
    pub fn with_run_name(self, run: impl Into<String>) -> Self {
        Self {
            run: run.into(),
            ..self
        }
    }

    /// Name (tag) of the run.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Rules by which the values were computed.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The measures, without duplicates.
    #[must_use]
    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// Values of the queries that count, in ascending byte order of the query ids.
    #[must_use]
    pub fn queries(&self) -> &[QueryValues] {
        &self.queries
    }

    /// Value of a measure for a query. `None` if the query does not count or the measure was not
    /// evaluated.
    #[must_use]
    pub fn value(&self, query: &str, measure: Measure) -> Option<f64> {
        let column = self.column(measure)?;
        let found = self
            .queries
            .binary_search_by(|values| values.query.as_str().cmp(query));
        Some(self.queries[found.ok()?].values[column])
    }

    /// Values of a measure, in the order of [`Report::queries`]. `None` if it was not evaluated.
    pub fn values(&self, measure: Measure) -> Option<impl ExactSizeIterator<Item = f64> + Clone> {
        let column = self.column(measure)?;
        Some(self.queries.iter().map(move |query| query.values[column]))
    }

    /// Aggregate over all queries that count: mean, sum or geometric mean according to
    /// [`Measure::summary`], accumulated in query order. `None` if the measure was not evaluated.
    #[must_use]
    pub fn summary(&self, measure: Measure) -> Option<f64> {
        let values = self.values(measure)?;
        Some(measure.summary().aggregate(values))
    }

    /// Queries with judgments but without results.
    pub fn missing(&self) -> impl ExactSizeIterator<Item = &str> {
        self.missing.iter().map(String::as_str)
    }

    /// Queries with results but without judgments. They never count.
    pub fn unjudged(&self) -> impl ExactSizeIterator<Item = &str> {
        self.unjudged.iter().map(String::as_str)
    }

    /// Number of judgments with a grade above 0, over all queries of the qrels.
    #[must_use]
    pub const fn positive(&self) -> u64 {
        self.positive
    }

    /// Whether the value of a measure for a query is undefined (0/0) in trec_eval.
    pub(crate) fn is_undefined(&self, query: &QueryValues, measure: Measure) -> bool {
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
        print_report(f, head, &self.rules, values)
    }
}

/// Prints the run's name, the number of queries, the rules and the values of a report.
pub(crate) fn print_report<M: fmt::Display>(
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
