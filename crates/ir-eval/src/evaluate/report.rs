//! Results of an evaluation.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::judged::JudgmentStatus;
use crate::measure::{Measure, Summary};
use crate::rules::Rules;

/// Results of evaluating a run: the values of every query, and aggregates derived from them.
///
/// `Display` shows the rules, the number of missing and unjudged queries, and one line per measure.
/// Reports on preference judgments are a
/// [`PreferenceReport`](crate::assess::preferences::PreferenceReport).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report<M = Measure> {
    pub(crate) run: String,
    pub(crate) rules: Rules,
    pub(crate) measures: Vec<M>,
    pub(crate) queries: Vec<QueryValues>,
    pub(crate) missing: Vec<String>,
    pub(crate) unjudged: Vec<String>,
    /// `None` for preferences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) positive: Option<u64>,
    /// A judged and a retrieved document, if no retrieved document is in the qrels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unmatched: Option<[String; 2]>,
}

/// Measure of a [`Report`].
pub trait ReportMeasure: Copy + PartialEq + fmt::Display {
    /// Aggregation of the per-query values.
    fn summary(&self) -> Summary;
}

impl ReportMeasure for Measure {
    fn summary(&self) -> Summary {
        Self::summary(self)
    }
}

/// Values of one query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueryValues {
    pub(crate) query: String,
    pub(crate) retrieved: bool,
    pub(crate) values: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) top: Vec<JudgmentStatus>,
    /// Columns with undefined values (0/0) in trec_eval; they are 0 here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) undefined: Vec<usize>,
    /// First document of a list without a document of the qrels, until the report is complete.
    #[serde(skip)]
    pub(crate) unmatched: Option<String>,
}

impl QueryValues {
    /// Id of the query.
    #[must_use]
    pub fn query(&self) -> &str {
        &self.query
    }

    /// Returns `true` if the run contains the query.
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

impl<M: ReportMeasure> Report<M> {
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
    pub fn measures(&self) -> &[M] {
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
    pub fn value(&self, query: &str, measure: M) -> Option<f64> {
        let column = self.column(measure)?;
        let found = self
            .queries
            .binary_search_by(|values| values.query.as_str().cmp(query));
        Some(self.queries[found.ok()?].values[column])
    }

    /// Values of a measure, in the order of [`Report::queries`]. `None` if it was not evaluated.
    pub fn values(&self, measure: M) -> Option<impl ExactSizeIterator<Item = f64> + Clone> {
        let column = self.column(measure)?;
        Some(self.queries.iter().map(move |query| query.values[column]))
    }

    /// Aggregate over all queries that count: mean, sum or geometric mean, depending on the measure
    /// ([`Measure::summary`]), accumulated in query order. `None` if the measure was not evaluated.
    #[must_use]
    pub fn summary(&self, measure: M) -> Option<f64> {
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

    /// Returns the id of a judged and of a retrieved document if no document of the run is in the
    /// qrels, for any query with judgments: most likely the ids have different forms. `None` for
    /// preferences.
    #[must_use]
    pub fn unmatched(&self) -> Option<[&str; 2]> {
        let [judged, retrieved] = self.unmatched.as_ref()?;
        Some([judged, retrieved])
    }

    /// Number of judgments with a grade above 0, over all queries of the qrels; 0 for preferences.
    #[must_use]
    pub fn positive(&self) -> u64 {
        self.positive.unwrap_or_default()
    }

    /// Index of a measure in [`QueryValues::values`].
    pub(crate) fn column(&self, measure: M) -> Option<usize> {
        self.measures.iter().position(|&other| other == measure)
    }
}

impl<M: ReportMeasure> fmt::Display for Report<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = if self.run.is_empty() {
            "(no name)"
        } else {
            &self.run
        };
        writeln!(f, "run: {run}")?;
        writeln!(
            f,
            "queries: {} counted; {} judged without results; {} with results not judged",
            self.queries.len(),
            self.missing.len(),
            self.unjudged.len()
        )?;
        writeln!(f, "{}", self.rules)?;
        let names: Vec<String> = self.measures.iter().map(M::to_string).collect();
        let width = names.iter().map(String::len).max().unwrap_or(0);
        for (name, &measure) in names.iter().zip(&self.measures) {
            if let Some(value) = self.summary(measure) {
                writeln!(f, "{name:width$}  {value:.4}")?;
            }
        }
        Ok(())
    }
}
