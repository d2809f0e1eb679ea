//! Sampling strata of a pool, as sample_eval uses them.
//!
//! A pool is divided into strata. In each, some documents were judged (grade ≥ 0) and the others
//! were not (negative grade). Counts over the judged documents are scaled up by the inverse of the
//! sampling rate.

use std::collections::BTreeMap;

use ir_core::{Grade, Judgments};

use super::documents::DocOrdinal;
use super::sum;

/// Strata of one query, by ascending name.
#[derive(Debug, Clone)]
pub(crate) struct Strata {
    /// Stratum of each judged document, by its ordinal.
    stratum_of: Vec<usize>,
    pub(crate) strata: Vec<StratumCounts>,
}

/// Counts of one stratum.
#[derive(Debug, Clone, Default)]
pub(crate) struct StratumCounts {
    /// Number of documents, judged or not.
    size: f64,
    judged: f64,
    /// Number of documents of each grade ≥ 0.
    grades: BTreeMap<Grade, f64>,
}

impl StratumCounts {
    /// Number of judged relevant documents.
    pub(crate) fn relevant(&self, level: Grade) -> f64 {
        sum(self.grades.range(level..).map(|(_, count)| *count))
    }

    /// Scales a number of judged documents up to the whole stratum.
    pub(crate) fn scale(&self, judged: f64) -> f64 {
        if self.judged > 0.0 {
            judged * self.size / self.judged
        } else {
            0.0
        }
    }
}

impl Strata {
    /// Documents without a stratum form one of their own.
    pub(crate) fn new<J: Judgments + ?Sized>(qrels: &J, query: &str) -> Self {
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        for (doc, _) in qrels.judged(query) {
            numbers.insert(qrels.stratum(query, doc).unwrap_or_default(), 0);
        }
        for (next, number) in (0..).zip(numbers.values_mut()) {
            *number = next;
        }
        let mut strata = vec![StratumCounts::default(); numbers.len()];
        let mut stratum_of = Vec::new();
        for (doc, grade) in qrels.judged(query) {
            let name = qrels.stratum(query, doc).unwrap_or_default();
            let number = numbers.get(name).copied().unwrap_or_default();
            stratum_of.push(number);
            let stratum = &mut strata[number];
            stratum.size += 1.0;
            if grade >= 0 {
                stratum.judged += 1.0;
                *stratum.grades.entry(grade).or_default() += 1.0;
            }
        }
        Self { stratum_of, strata }
    }

    /// Stratum of a document; `None` if it is not in the qrels.
    pub(crate) fn stratum_of(&self, doc: DocOrdinal) -> Option<usize> {
        self.stratum_of.get(doc.index()).copied()
    }

    /// Estimated number of relevant documents.
    pub(crate) fn relevant(&self, level: Grade) -> f64 {
        let strata = self.strata.iter();
        sum(strata.map(|stratum| stratum.scale(stratum.relevant(level))))
    }

    /// Estimated number of documents of each grade above 0.
    pub(crate) fn positive_grades(&self) -> BTreeMap<Grade, f64> {
        let mut grades: BTreeMap<Grade, f64> = BTreeMap::new();
        for stratum in &self.strata {
            for (&grade, &count) in stratum.grades.range(1..) {
                *grades.entry(grade).or_default() += stratum.scale(count);
            }
        }
        grades
    }
}
