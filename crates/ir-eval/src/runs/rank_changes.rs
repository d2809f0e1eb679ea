//! The documents that make the difference on a query.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ir_core::{Judgments, Run};
use serde::{Deserialize, Serialize};

use super::scores_by_rank::in_order;
use crate::rules::Unjudged;
use crate::{Judged, Kind, Measure, Rules};

/// The documents whose rank differs between two runs, under the rules of an evaluation.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::{RankChanges, Rules};
/// let mut qrels = Qrels::new();
/// qrels.insert("q1", "good", 1);
/// let (mut old, mut new) = (Run::new("old"), Run::new("new"));
/// old.push("q1", "bad", 2.0);
/// old.push("q1", "good", 1.0);
/// new.push("q1", "good", 2.0);
///
/// let moved = RankChanges::new(&qrels, Rules::default(), &new, &old).of("q1");
/// assert_eq!(moved[0].doc, "good");
/// assert_eq!((moved[0].rank, moved[0].against), (Some(1), Some(2)));
/// assert_eq!((moved[1].rank, moved[1].against), (None, Some(1)));
/// ```
///
/// # Order
/// Relevant documents come first, then others that were judged, then the rest; in each of the three
/// those that matter most to the measure: by the change of the document's weight, times the grade
/// where it is relevant. The weight of rank r is 1 / log₂(r + 1) for measures by discounted gain, 1
/// for those that only ask what was found (precision, recall, success), and 1 / r for all others,
/// and where no measure is named. Beyond the measure's cut-off it is 0.
#[derive(Debug, Clone, Copy)]
pub struct RankChanges<'a, J: ?Sized> {
    qrels: &'a J,
    rules: Rules,
    system: &'a Run,
    against: &'a Run,
    measure: Option<Measure>,
}

/// A document that two runs rank differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankChange {
    /// The document's id.
    pub doc: String,
    /// How it was judged.
    pub judged: Judged,
    /// Its rank in the system's list, from 1; `None` where it is not in the list.
    pub rank: Option<usize>,
    /// Its rank in the list of the one the system is compared with.
    pub against: Option<usize>,
}

impl<'a, J: Judgments + ?Sized> RankChanges<'a, J> {
    /// What moved from `against` to `system`.
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

    /// Only the documents whose move can change `measure`: those whose weight changed, none of
    /// which are beyond its cut-off in both lists.
    ///
    /// ```
    /// # use ir_core::{Qrels, Run};
    /// # use ir_eval::{Measure, RankChanges, Rules};
    /// # let qrels = Qrels::new();
    /// # let (mut old, mut new) = (Run::new("old"), Run::new("new"));
    /// for (doc, score) in [("a", 3.0), ("b", 2.0), ("c", 1.0)] {
    ///     old.push("q1", doc, score);
    ///     new.push("q1", doc, if doc == "a" { 3.0 } else { -score });
    /// }
    /// let moves = RankChanges::new(&qrels, Rules::default(), &new, &old);
    /// assert_eq!(moves.of("q1").len(), 2);
    /// assert_eq!(moves.by(Measure::NDCG.at(1)).of("q1"), []);
    /// ```
    #[must_use]
    pub const fn by(mut self, measure: Measure) -> Self {
        self.measure = Some(measure);
        self
    }

    /// Whether a document is relevant, to the measure or else by the rules.
    #[must_use]
    pub fn is_relevant(&self, moved: &RankChange) -> bool {
        let level = self.measure.and_then(|measure| measure.rel);
        matches!(moved.judged, Judged::Grade(grade) if grade >= level.unwrap_or(self.rules.level))
    }

    /// The documents that moved on a query, those that matter most first: see
    /// [the order](Moves#order).
    #[must_use]
    pub fn of(&self, query: &str) -> Vec<RankChange> {
        let mut ranks: BTreeMap<&str, [Option<usize>; 2]> = BTreeMap::new();
        for (side, run) in [self.system, self.against].into_iter().enumerate() {
            for (at, doc) in self.ranked(run, query).into_iter().enumerate() {
                ranks.entry(doc).or_default()[side] = Some(at + 1);
            }
        }
        let mut moved: Vec<RankChange> = ranks
            .into_iter()
            .filter(|(_, [rank, against])| rank != against)
            .map(|(doc, [rank, against])| RankChange {
                doc: doc.to_owned(),
                judged: self.judged(query, doc),
                rank,
                against,
            })
            .filter(|moved| self.measure.is_none() || self.change(moved) != 0.0)
            .collect();
        moved.sort_by(|a, b| self.order(a, b));
        moved
    }

    fn judged(&self, query: &str, doc: &str) -> Judged {
        match self.qrels.grade(query, doc) {
            None => Judged::Unpooled,
            Some(grade) if grade < 0 => Judged::Unjudged,
            Some(grade) => Judged::Grade(grade),
        }
    }

    fn order(&self, a: &RankChange, b: &RankChange) -> Ordering {
        let class = |moved: &RankChange| match moved.judged {
            _ if self.is_relevant(moved) => 2,
            Judged::Grade(_) => 1,
            Judged::Unjudged | Judged::Unpooled => 0,
        };
        let size = |moved: &RankChange| match moved.judged {
            Judged::Grade(grade) if self.is_relevant(moved) => {
                self.change(moved) * grade.max(1) as f64
            }
            _ => self.change(moved),
        };
        class(b)
            .cmp(&class(a))
            .then(size(b).total_cmp(&size(a)))
            .then(a.doc.cmp(&b.doc))
    }

    /// By how much the weight of a document's rank changed.
    fn change(&self, moved: &RankChange) -> f64 {
        (self.weight(moved.rank) - self.weight(moved.against)).abs()
    }

    fn weight(&self, rank: Option<usize>) -> f64 {
        let Some(rank) = rank else { return 0.0 };
        let cutoff = self.measure.and_then(|measure| measure.cutoff);
        if cutoff.is_some_and(|cutoff| rank > cutoff.get() as usize) {
            return 0.0;
        }
        match self.measure.map(|measure| measure.kind) {
            Some(Kind::NDCG { .. } | Kind::DCG { .. }) => 1.0 / (rank as f64 + 1.0).log2(),
            Some(Kind::P | Kind::R | Kind::Success) => 1.0,
            _ => 1.0 / rank as f64,
        }
    }

    /// A query's documents in the order in which they are evaluated.
    fn ranked(&self, run: &'a Run, query: &str) -> Vec<&'a str> {
        let rules = &self.rules;
        let mut list = in_order(run.get(query).unwrap_or_default(), query, rules);
        list.truncate(rules.depth.unwrap_or(usize::MAX));
        let docs = list.into_iter().map(|scored| scored.doc.as_str());
        docs.filter(|doc| {
            let judged_only = self.measure.is_some_and(|measure| measure.judged_only);
            (rules.unjudged == Unjudged::NonRelevant && !judged_only)
                || matches!(self.judged(query, doc), Judged::Grade(_))
        })
        .collect()
    }
}
