//! Relevance judgments by several assessors (judgment groups).

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

use ir_core::trec::{ColumnReader, Parsed, TrecReadError, TrecWarnings, parse_integer};
use ir_core::{Grade, Qrels, Run};

use crate::evaluate::{EvalError, Evaluator, Report};
use crate::measure::Measure;
use crate::rules::Rules;

/// Relevance judgments by several assessors or groups of assessors, who may disagree. The value of
/// a query is the mean of the measure over its judgment groups.
///
/// trec_eval's format `qrels_jg` and its measures `map_avgjg`, `P_avgjg` and `Rprec_mult_avgjg`.
///
/// ```
/// use ir_core::Run;
/// use ir_eval::assess::JudgmentGroups;
/// use ir_eval::{Measure, Rules};
///
/// // Query, group, document, grade: d1 is relevant to ann, d2 to bob.
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
    /// Creates an empty collection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Inserts a judgment and returns the previous grade of the same group.
    pub fn insert(&mut self, query: &str, group: &str, doc: &str, grade: Grade) -> Option<Grade> {
        let groups = self.queries.entry(query.to_owned()).or_default();
        let judged = groups.entry(group.to_owned()).or_default();
        judged.insert(doc.to_owned(), grade)
    }

    /// Reads qrels with the judgment group in the second column. `source` appears in errors.
    ///
    /// # Errors
    /// When a line does not have four columns, a group judges a document twice, or reading fails.
    pub fn read(input: impl BufRead, source: &str) -> Result<Parsed<Self>, TrecReadError> {
        let mut rows = ColumnReader::new(input, source);
        let mut warnings = TrecWarnings::new(source);
        let mut data = Self::new();
        let mut lines = HashMap::new();
        while let Some((line, [query, group, doc, text])) = rows.next_row("4")? {
            let grade = parse_integer(text).unwrap_or(0);
            if text.parse::<Grade>().is_err() {
                let message =
                    format!("the grade {text:?} is not an integer and was read as {grade}");
                warnings.push(line, message);
            }
            data.insert(query, group, doc, grade);
            let key = [query, group, doc].map(str::to_owned);
            if let Some(first) = lines.insert(key, line) {
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
            warnings: warnings.finish(),
        })
    }

    /// Ids of the judged queries, in ascending byte order.
    pub fn queries(&self) -> impl ExactSizeIterator<Item = &str> {
        self.queries.keys().map(String::as_str)
    }

    ir_core::query_count!("judged queries");

    /// Evaluates a run. The values of a query are the means over its judgment groups.
    ///
    /// # Errors
    /// Returns the errors of [`Evaluator::with_rules`] and [`Evaluator::evaluate`].
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
                if self.group_count(&query.query) > layer {
                    let values = query.values.iter_mut().zip(other.values);
                    values.for_each(|(sum, value)| *sum += value);
                    query.undefined.extend(other.undefined);
                }
            }
        }
        for query in &mut report.queries {
            let groups = self.group_count(&query.query) as f64;
            query.values.iter_mut().for_each(|value| *value /= groups);
        }
        let groups = self.queries.values().flat_map(BTreeMap::values);
        let grades = groups.flat_map(BTreeMap::values);
        report.positive = Some(grades.filter(|&&grade| grade > 0).count() as u64);
        Ok(report)
    }

    fn group_count(&self, query: &str) -> usize {
        self.queries.get(query).map_or(0, BTreeMap::len)
    }

    /// Judgments of the n-th group of every query, or of the last group of queries with fewer, so
    /// that the reports of all layers have the same queries.
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
