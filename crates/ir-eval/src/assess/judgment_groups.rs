//! Grades by several judges.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

use ir_core::trec::{ColumnReader, Parsed, TrecReadError, TrecWarnings, parse_integer};
use ir_core::{Grade, Qrels, Run};

use crate::{EvalError, Evaluator, Measure, Report, Rules};

/// Relevance judgments by groups: each query was judged by one person or several, who need not
/// agree. A measure is computed for each group's judgments and the mean of that is the query's
/// value. trec_eval's format `qrels_jg` and its measures `map_avgjg`, `P_avgjg`,
/// `Rprec_mult_avgjg`.
///
/// ```
/// use ir_core::Run;
/// use ir_eval::{JudgmentGroups, Measure, Rules};
///
/// // Query, group, document, grade: ann likes d1, bob likes d2.
/// let file = "q1 ann d1 1\nq1 ann d2 0\nq1 bob d2 1\n";
/// let groups = JudgmentGroups::read(file.as_bytes(), "qrels.txt")?.data;
/// let mut run = Run::new("mine");
/// run.push("q1", "d1", 0.9);
/// run.push("q1", "d2", 0.8);
/// let report = groups.evaluate(&run, &[Measure::AP], Rules::default())?;
/// assert_eq!(report.summary(Measure::AP), Some(0.75));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JudgmentGroups {
    queries: BTreeMap<String, BTreeMap<String, BTreeMap<String, Grade>>>,
}

impl JudgmentGroups {
    /// No judgments.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a judgment and gives the earlier one of the same group, which it replaces.
    pub fn insert(&mut self, query: &str, group: &str, doc: &str, grade: Grade) -> Option<Grade> {
        let groups = self.queries.entry(query.to_owned()).or_default();
        let judged = groups.entry(group.to_owned()).or_default();
        judged.insert(doc.to_owned(), grade)
    }

    /// Reads qrels whose second column, which is ignored elsewhere, names the group.
    ///
    /// # Errors
    /// When a line has other columns, a group judges a document twice, or the file cannot be read.
    pub fn read(input: impl BufRead, source: &str) -> Result<Parsed<Self>, TrecReadError> {
        let mut rows = ColumnReader::new(input, source);
        let mut odd = TrecWarnings::new(source);
        let mut data = Self::new();
        let mut places = HashMap::new();
        while let Some((line, [query, group, doc, text])) = rows.next_row("4")? {
            let grade = parse_integer(text).unwrap_or(0);
            if text.parse::<Grade>().is_err() {
                let what = format!("the grade {text:?} is no whole number and was read as {grade}");
                odd.push(line, what);
            }
            data.insert(query, group, doc, grade);
            let pair = [query, group, doc].map(str::to_owned);
            if let Some(first) = places.insert(pair, line) {
                return Err(TrecReadError::Repeated {
                    path: source.to_owned(),
                    line,
                    query: query.to_owned(),
                    doc: doc.to_owned(),
                    first,
                });
            }
        }
        Ok(Parsed {
            data,
            warnings: odd.finish(),
        })
    }

    /// The queries that have judgments, in ascending byte order.
    pub fn queries(&self) -> impl ExactSizeIterator<Item = &str> {
        self.queries.keys().map(String::as_str)
    }

    /// How many queries have judgments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Evaluates a run: a report whose values of a query are the means over its groups, in the
    /// order of their names.
    ///
    /// # Errors
    /// As [`Evaluator::with_rules`] and [`Evaluator::evaluate`].
    pub fn evaluate(
        &self,
        run: &Run,
        measures: &[Measure],
        rules: Rules,
    ) -> Result<Report, EvalError> {
        let mut report = Evaluator::with_rules(&self.layer(0), measures, rules)?.evaluate(run)?;
        let most = self.queries.values().map(BTreeMap::len).max().unwrap_or(0);
        for layer in 1..most {
            let layer_report =
                Evaluator::with_rules(&self.layer(layer), measures, rules)?.evaluate(run)?;
            for (query, other) in report.queries.iter_mut().zip(layer_report.queries) {
                if self.count(&query.query) > layer {
                    let values = query.values.iter_mut().zip(other.values);
                    values.for_each(|(sum, value)| *sum += value);
                    query.undefined.extend(other.undefined);
                }
            }
        }
        for query in &mut report.queries {
            let groups = self.count(&query.query) as f64;
            query.values.iter_mut().for_each(|value| *value /= groups);
        }
        report.positive = self
            .queries
            .values()
            .flat_map(BTreeMap::values)
            .flat_map(BTreeMap::values)
            .filter(|&&grade| grade > 0)
            .count() as u64;
        Ok(report)
    }

    fn count(&self, query: &str) -> usize {
        self.queries.get(query).map_or(0, BTreeMap::len)
    }

    /// The n-th group of every query, or its last one where it has fewer: a report on any layer is
    /// about the same queries.
    fn layer(&self, n: usize) -> Qrels {
        let mut qrels = Qrels::new();
        for (query, groups) in &self.queries {
            let group = groups
                .values()
                .nth(n)
                .or_else(|| groups.values().next_back());
            for (doc, &grade) in group.into_iter().flatten() {
                qrels.insert(query, doc, grade);
            }
        }
        qrels
    }
}
