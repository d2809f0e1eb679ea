//! Rankings of several runs for one query, side by side.

use std::collections::HashSet;

use ir_core::{Grade, Judgments, Run};
use serde::Serialize;

use super::evaluation_order;
use crate::judged::JudgmentStatus;
use crate::rules::{Rules, UnjudgedDocuments};

/// First documents of several runs for one query, with their judgments.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::Rules;
/// use ir_eval::runs::SideBySide;
/// let mut qrels = Qrels::new();
/// qrels.insert("q1", "a", 1);
/// qrels.insert("q1", "b", 2);
/// let (mut old, mut new) = (Run::new("old"), Run::new("new"));
/// old.push("q1", "x", 2.0);
/// new.push("q1", "b", 2.0);
/// let runs = [("old", &old), ("new", &new)];
/// let lists = SideBySide::new(&qrels, &Rules::default(), &runs, "q1", 5).unwrap();
/// assert!(!lists.lists[0].documents[0].relevant && lists.lists[1].documents[0].relevant);
/// assert_eq!(lists.missed[0].doc, "a");
/// assert!(SideBySide::new(&qrels, &Rules::default(), &runs, "q2", 5).is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SideBySide {
    /// Id of the query.
    pub query: String,
    /// Number of relevant documents of the query in the judgments.
    pub relevant: usize,
    /// List of each run, in the order of the runs.
    pub lists: Vec<RankedList>,
    /// Relevant documents that are not among the first documents of any list, highest grade first;
    /// equal grades in byte order of the id.
    pub missed: Vec<RankedDocument>,
}

/// First documents of a run for a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RankedList {
    /// Name of the system.
    pub system: String,
    /// Documents from rank 1 on.
    pub documents: Vec<RankedDocument>,
}

/// Document of a ranking, with its judgment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RankedDocument {
    /// Id of the document.
    pub doc: String,
    /// Judgment of the document.
    pub judged: JudgmentStatus,
    /// If `true`, the grade reaches the relevance level of the rules.
    pub relevant: bool,
}

impl RankedDocument {
    fn new(doc: &str, grade: Option<Grade>, level: Grade) -> Self {
        let judged = JudgmentStatus::from_grade(grade);
        Self {
            doc: doc.to_owned(),
            judged,
            relevant: matches!(judged, JudgmentStatus::Grade(grade) if grade >= level),
        }
    }
}

impl SideBySide {
    /// Takes the first `depth` documents of each run, in the order and under the rules of an
    /// evaluation. `runs` are names and runs. [`None`] if neither the judgments nor a run have the
    /// query.
    #[must_use]
    pub fn new(
        qrels: &(impl Judgments + ?Sized),
        rules: &Rules,
        runs: &[(&str, &Run)],
        query: &str,
        depth: usize,
    ) -> Option<Self> {
        let judged: Vec<(&str, Grade)> = qrels.judged(query).collect();
        let is_known = !judged.is_empty() || runs.iter().any(|(_, run)| run.get(query).is_some());
        if !is_known {
            return None;
        }
        let list = |(system, run): &(&str, &Run)| {
            let mut ranked = evaluation_order(run.get(query).unwrap_or_default(), query, rules);
            ranked.truncate(rules.depth.unwrap_or(usize::MAX));
            let documents = ranked.into_iter().map(|scored| {
                RankedDocument::new(&scored.doc, qrels.grade(query, &scored.doc), rules.level)
            });
            let keeps_unjudged = rules.unjudged == UnjudgedDocuments::NonRelevant;
            let is_kept = |doc: &RankedDocument| {
                keeps_unjudged || matches!(doc.judged, JudgmentStatus::Grade(_))
            };
            RankedList {
                system: (*system).to_owned(),
                documents: documents.filter(is_kept).take(depth).collect(),
            }
        };
        let lists: Vec<RankedList> = runs.iter().map(list).collect();
        let shown = lists.iter().flat_map(|list| &list.documents);
        let shown: HashSet<&str> = shown.map(|document| document.doc.as_str()).collect();
        let relevant = judged.iter().filter(|(_, grade)| *grade >= rules.level);
        let missed = relevant.clone().filter(|(doc, _)| !shown.contains(doc));
        let mut missed: Vec<(&str, Grade)> = missed.copied().collect();
        missed.sort_by_key(|(_, grade)| std::cmp::Reverse(*grade));
        let missed = missed.into_iter();
        Some(Self {
            query: query.to_owned(),
            relevant: relevant.count(),
            missed: missed
                .map(|(doc, grade)| RankedDocument::new(doc, Some(grade), rules.level))
                .collect(),
            lists,
        })
    }
}

#[cfg(test)]
mod tests {
    use ir_core::Qrels;

    use super::*;

    #[test]
    fn lists_follow_the_rules() {
        let mut qrels = Qrels::new();
        for (doc, grade) in [("a", 1), ("b", 2), ("c", 0), ("d", -1), ("e", 2)] {
            qrels.insert("q", doc, grade);
        }
        let mut run = Run::new("run");
        // trec_eval breaks ties by descending id.
        for (doc, score) in [("c", 1.0), ("a", 1.0), ("x", 3.0), ("d", 0.5), ("b", 0.1)] {
            run.push("q", doc, score);
        }
        let docs = |rules: Rules, depth| {
            let lists = SideBySide::new(&qrels, &rules, &[("run", &run)], "q", depth).unwrap();
            let mark = |document: &RankedDocument| {
                let sign = if document.relevant { "+" } else { "" };
                format!("{sign}{}", document.doc)
            };
            let shown: Vec<String> = lists.lists[0].documents.iter().map(mark).collect();
            let missed: Vec<String> = lists.missed.iter().map(mark).collect();
            (shown.join(" "), missed.join(" "), lists.relevant)
        };
        let rules = Rules::default();
        assert_eq!(docs(rules, 3), ("x c +a".to_owned(), "+b +e".to_owned(), 3));
        let level = Rules { level: 2, ..rules };
        assert_eq!(
            docs(level, 9),
            ("x c a d +b".to_owned(), "+e".to_owned(), 2)
        );
        let judged = Rules {
            unjudged: UnjudgedDocuments::Remove,
            ..rules
        };
        assert_eq!(docs(judged, 2), ("c +a".to_owned(), "+b +e".to_owned(), 3));
    }
}
