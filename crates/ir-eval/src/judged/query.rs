//! Judgments of one query, prepared once per evaluator.

use ir_core::Grade;
use serde::{Deserialize, Serialize};

use super::documents::{DocOrdinal, JudgedIds};
use super::gain::Gain;
use super::strata::Strata;
use super::subtopics::{NoveltySettings, Subtopics};
use super::{UNJUDGED, UNPOOLED, discount};

/// Judgment of a retrieved document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JudgmentStatus {
    /// Judged with this grade, 0 or higher.
    Grade(Grade),
    /// In the pool but not judged: its grade in the qrels is negative.
    Unjudged,
    /// Not in the qrels.
    Unpooled,
}

impl JudgmentStatus {
    /// Status of a document by its grade in the judgments.
    pub(crate) const fn from_grade(grade: Option<Grade>) -> Self {
        match grade {
            None => Self::Unpooled,
            Some(grade) if grade < 0 => Self::Unjudged,
            Some(grade) => Self::Grade(grade),
        }
    }

    pub(crate) const fn from_state(state: Grade) -> Self {
        match state {
            UNPOOLED => Self::Unpooled,
            UNJUDGED => Self::Unjudged,
            grade => Self::Grade(grade),
        }
    }
}

/// Relevance levels, gains and novelties that the measures of an evaluator require, without
/// duplicates. Measures refer to them by index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requirements {
    /// Relevance levels; the first is the level of the rules.
    pub(crate) levels: Vec<Grade>,
    pub(crate) gains: Vec<Gain>,
    pub(crate) novelties: Vec<NoveltySettings>,
    /// If `true`, a measure needs sampling strata.
    pub(crate) strata: bool,
    /// If `true`, a measure needs the list without unjudged documents.
    pub(crate) condensed: bool,
}

/// Judgments of one query.
#[derive(Debug, Clone)]
pub(crate) struct PreparedQuery<'q> {
    pub(crate) id: &'q str,
    pub(crate) doc_ids: JudgedIds<'q>,
    /// By [`DocOrdinal`].
    states: Vec<Grade>,
    /// Grades ≥ 0, ascending, and the number of documents of each.
    pub(crate) grades: Vec<(Grade, u64)>,
    /// Number of relevant documents, by level of [`Requirements`].
    relevant: Vec<u64>,
    /// By gain of [`Requirements`].
    ideals: Vec<IdealRanking>,
    /// Present if [`Requirements`] asks for strata.
    pub(crate) strata: Option<Strata>,
    /// Present if [`Requirements`] asks for novelties and the judgments name subtopics.
    pub(crate) subtopics: Option<Subtopics>,
}

/// Ideal ranking of a query: its positive gains in descending order.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdealRanking {
    /// Distinct gains, descending, each with the last rank that has it.
    pub(crate) steps: Vec<(f64, usize)>,
    /// DCG at rank i + 1.
    dcg: Vec<f64>,
}

impl IdealRanking {
    fn new(gain: Gain, grades: &[(Grade, u64)]) -> Self {
        let mut counts: Vec<(f64, u64)> = grades
            .iter()
            .map(|&(grade, count)| (gain.of_grade(grade), count))
            .collect();
        counts.retain(|(gain, _)| *gain > 0.0);
        counts.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut ideal = Self::default();
        let mut sum = 0.0;
        for (gain, count) in counts {
            for _ in 0..count {
                sum += gain / discount(ideal.dcg.len() + 1);
                ideal.dcg.push(sum);
            }
            match ideal.steps.last_mut() {
                Some(step) if step.0 == gain => step.1 = ideal.dcg.len(),
                _ => ideal.steps.push((gain, ideal.dcg.len())),
            }
        }
        ideal
    }

    /// DCG at rank `k`.
    pub(crate) fn dcg(&self, k: usize) -> f64 {
        match k.min(self.dcg.len()) {
            0 => 0.0,
            k => self.dcg[k - 1],
        }
    }

    /// Number of documents with a positive gain.
    pub(crate) fn len(&self) -> usize {
        self.dcg.len()
    }
}

impl<'q> PreparedQuery<'q> {
    pub(crate) fn new(
        id: &'q str,
        judged: impl Iterator<Item = (&'q str, Grade)>,
        requirements: &Requirements,
    ) -> Self {
        let count_hint = judged.size_hint().0;
        let mut doc_ids = JudgedIds::with_capacity(count_hint);
        let mut states = Vec::with_capacity(count_hint);
        let mut list = Vec::with_capacity(count_hint);
        for (doc, grade) in judged {
            // Every negative grade, -1 included, means "pooled, not judged".
            let state = if grade < 0 { UNJUDGED } else { grade };
            match doc_ids.insert(doc) {
                None => states.push(state),
                Some(ordinal) => states[ordinal.index()] = state,
            }
            list.push(grade);
        }
        list.retain(|&grade| grade >= 0);
        list.sort_unstable();
        let mut grades: Vec<(Grade, u64)> = Vec::new();
        for grade in list {
            match grades.last_mut() {
                Some(last) if last.0 == grade => last.1 += 1,
                _ => grades.push((grade, 1)),
            }
        }
        let relevant = |&level: &Grade| count(&grades, |grade| grade >= level);
        let ideal = |&gain: &Gain| IdealRanking::new(gain, &grades);
        Self {
            id,
            relevant: requirements.levels.iter().map(relevant).collect(),
            ideals: requirements.gains.iter().map(ideal).collect(),
            doc_ids,
            states,
            grades,
            strata: None,
            subtopics: None,
        }
    }

    /// Grade of a document, or [`UNPOOLED`], or [`UNJUDGED`].
    pub(crate) fn state(&self, ordinal: DocOrdinal) -> Grade {
        self.states
            .get(ordinal.index())
            .map_or(UNPOOLED, |&state| state)
    }

    /// Number of relevant documents at a level of [`Requirements`].
    pub(crate) fn relevant(&self, level: usize) -> u64 {
        self.relevant[level]
    }

    /// Number of documents with a grade from 0 to below `level`.
    pub(crate) fn judged_below(&self, level: Grade) -> u64 {
        count(&self.grades, |grade| grade < level)
    }

    /// Number of documents with a grade above 0.
    pub(crate) fn positive(&self) -> u64 {
        count(&self.grades, |grade| grade > 0)
    }

    /// Highest grade, at least 0.
    pub(crate) fn highest_grade(&self) -> Grade {
        self.grades.last().map_or(0, |g| g.0)
    }

    /// Ideal ranking for a gain of [`Requirements`].
    pub(crate) fn ideal(&self, gain: usize) -> &IdealRanking {
        &self.ideals[gain]
    }
}

fn count(grades: &[(Grade, u64)], is_counted: impl Fn(Grade) -> bool) -> u64 {
    let counted = grades.iter().filter(|(grade, _)| is_counted(*grade));
    counted.map(|(_, count)| count).sum()
}
