//! Documents that two runs rank differently.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ir_core::{Judgments, Run};
use serde::{Deserialize, Serialize};

use super::scores_by_rank::evaluation_order;
use crate::judged::JudgmentStatus;
use crate::measure::{Formula, Measure, Precision};
use crate::rules::{Rules, UnjudgedDocuments};

/// Documents at different ranks in two runs, under the rules of an evaluation.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::runs::RankChanges;
/// use ir_eval::Rules;
/// let mut qrels = Qrels::new();
/// qrels.insert("q1", "good", 1);
/// let (mut old, mut new) = (Run::new("old"), Run::new("new"));
/// old.push("q1", "bad", 2.0);
/// old.push("q1", "good", 1.0);
/// new.push("q1", "good", 2.0);
///
/// let changes = RankChanges::new(&qrels, Rules::default(), &new, &old).on_query("q1");
/// assert_eq!(changes[0].doc, "good");
/// assert_eq!((changes[0].rank, changes[0].against), (Some(1), Some(2)));
/// assert_eq!((changes[1].rank, changes[1].against), (None, Some(1)));
/// ```
///
/// # Order
/// Relevant documents first, then other judged documents, then unjudged ones. Within each group in
/// descending order of influence on the measure: the change of the rank weight, times the grade for
/// relevant documents.
///
/// | measure | weight of rank r |
/// |---|---|
/// | DCG, nDCG | 1 / log₂(r + 1) |
/// | precision, recall, success | 1 |
/// | others, or none | 1 / r |
/// | any, beyond its cutoff | 0 |
#[derive(Debug, Clone, Copy)]
pub struct RankChanges<'a, J: ?Sized> {
    qrels: &'a J,
    rules: Rules,
    system: &'a Run,
    against: &'a Run,
    measure: Option<Measure>,
}

/// Document that two runs rank differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankChange {
    /// Id of the document.
    pub doc: String,
    /// Judgment of the document.
    pub judged: JudgmentStatus,
    /// Rank in the list of the system, from 1; `None` if not retrieved.
    pub rank: Option<usize>,
    /// Rank in the list of the run that the system is compared with; `None` if not retrieved.
    pub against: Option<usize>,
}

impl<'a, J: Judgments + ?Sized> RankChanges<'a, J> {
    /// Compares the ranks of `system` with the ranks of `against`.
    #[must_use]
    pub const fn new(qrels: &'a J, rules: Rules, system: &'a Run, against: &'a Run) -> Self {
        Self {
            qrels,
            rules,
            system,
            against,
            measure: None,
        }
    }

    /// Restricts changes to documents that can influence `measure`: the weight of the rank changes.
    /// Documents beyond the cutoff in both lists are excluded.
    ///
    /// ```
    /// # use ir_core::{Qrels, Run};
    /// # use ir_eval::runs::RankChanges;
    /// # use ir_eval::{Measure, Rules};
    /// # let qrels = Qrels::new();
    /// # let (mut old, mut new) = (Run::new("old"), Run::new("new"));
    /// for (doc, score) in [("a", 3.0), ("b", 2.0), ("c", 1.0)] {
    ///     old.push("q1", doc, score);
    ///     new.push("q1", doc, if doc == "a" { 3.0 } else { -score });
    /// }
    /// let changes = RankChanges::new(&qrels, Rules::default(), &new, &old);
    /// assert_eq!(changes.on_query("q1").len(), 2);
    /// assert_eq!(changes.for_measure(Measure::NDCG.at(1)).on_query("q1"), []);
    /// ```
    #[must_use]
    pub const fn for_measure(mut self, measure: Measure) -> Self {
        self.measure = Some(measure);
        self
    }

    /// Returns `true` if a document has at least the minimum grade of the measure, or else of the
    /// rules.
    #[must_use]
    pub fn is_relevant(&self, change: &RankChange) -> bool {
        let level = self.measure.and_then(|measure| measure.level());
        matches!(change.judged, JudgmentStatus::Grade(grade) if grade >= level.unwrap_or(self.rules.level))
    }

    /// Returns the documents with different ranks on a query, in
    /// [order of influence](RankChanges#order).
    #[must_use]
    pub fn on_query(&self, query: &str) -> Vec<RankChange> {
        let mut ranks: BTreeMap<&str, [Option<usize>; 2]> = BTreeMap::new();
        for (side, run) in [self.system, self.against].into_iter().enumerate() {
            for (at, doc) in self.ranked(run, query).into_iter().enumerate() {
                ranks.entry(doc).or_default()[side] = Some(at + 1);
            }
        }
        let mut changes: Vec<RankChange> = ranks
            .into_iter()
            .filter(|(_, [rank, against])| rank != against)
            .map(|(doc, [rank, against])| RankChange {
                doc: doc.to_owned(),
                judged: self.judged(query, doc),
                rank,
                against,
            })
            .filter(|change| self.measure.is_none() || self.weight_change(change) != 0.0)
            .collect();
        changes.sort_by(|a, b| self.compare(a, b));
        changes
    }

    fn judged(&self, query: &str, doc: &str) -> JudgmentStatus {
        JudgmentStatus::from_grade(self.qrels.grade(query, doc))
    }

    fn compare(&self, a: &RankChange, b: &RankChange) -> Ordering {
        let class = |change: &RankChange| match change.judged {
            _ if self.is_relevant(change) => 2,
            JudgmentStatus::Grade(_) => 1,
            JudgmentStatus::Unjudged | JudgmentStatus::Unpooled => 0,
        };
        let size = |change: &RankChange| match change.judged {
            JudgmentStatus::Grade(grade) if self.is_relevant(change) => {
                self.weight_change(change) * grade.max(1) as f64
            }
            _ => self.weight_change(change),
        };
        class(b)
            .cmp(&class(a))
            .then(size(b).total_cmp(&size(a)))
            .then(a.doc.cmp(&b.doc))
    }

    /// Absolute change of the rank weight.
    fn weight_change(&self, change: &RankChange) -> f64 {
        (self.weight(change.rank) - self.weight(change.against)).abs()
    }

    fn weight(&self, rank: Option<usize>) -> f64 {
        let Some(rank) = rank else { return 0.0 };
        let cutoff = self.measure.and_then(|measure| measure.cutoff());
        if cutoff.is_some_and(|cutoff| rank > cutoff as usize) {
            return 0.0;
        }
        match self.measure.as_ref().map(Measure::formula) {
            Some(Formula::Ndcg(_) | Formula::Dcg(_)) => 1.0 / (rank as f64 + 1.0).log2(),
            Some(
                Formula::Precision(Precision { relative: false })
                | Formula::Recall(_)
                | Formula::Success(_),
            ) => 1.0,
            _ => 1.0 / rank as f64,
        }
    }

    /// Documents of a query in the order in which they are evaluated.
    fn ranked(&self, run: &'a Run, query: &str) -> Vec<&'a str> {
        let rules = &self.rules;
        let mut list = evaluation_order(run.get(query).unwrap_or_default(), query, rules);
        list.truncate(rules.depth.unwrap_or(usize::MAX));
        let docs = list.into_iter().map(|scored| scored.doc.as_str());
        docs.filter(|doc| {
            let judged_only = self.measure.is_some_and(|measure| measure.is_judged_only());
            (rules.unjudged == UnjudgedDocuments::NonRelevant && !judged_only)
                || matches!(self.judged(query, doc), JudgmentStatus::Grade(_))
        })
        .collect()
    }
}
