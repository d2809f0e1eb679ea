//! The documents that make the difference on a query.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ir_core::{Judgments, Run};
use serde::{Deserialize, Serialize};

use crate::by_rank::in_order;
use crate::rules::Unjudged;
use crate::{Judged, Rules};

/// The documents whose rank differs between two runs, under the rules of an evaluation.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::{Moves, Rules};
/// let mut qrels = Qrels::new();
/// qrels.insert("q1", "good", 1);
/// let (mut old, mut new) = (Run::new("old"), Run::new("new"));
/// old.push("q1", "bad", 2.0);
/// old.push("q1", "good", 1.0);
/// new.push("q1", "good", 2.0);
///
/// let moved = Moves::new(&qrels, Rules::default(), &new, &old).of("q1");
/// assert_eq!(moved[0].doc, "good");
/// assert_eq!((moved[0].rank, moved[0].against), (Some(1), Some(2)));
/// assert_eq!((moved[1].rank, moved[1].against), (None, Some(1)));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Moves<'a, J: ?Sized> {
    qrels: &'a J,
    rules: Rules,
    system: &'a Run,
    against: &'a Run,
}

/// A document that two runs rank differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The document's id.
    pub doc: String,
    /// How it was judged.
    pub judged: Judged,
    /// Its rank in the system's list, from 1; `None` where it is not in the list.
    pub rank: Option<usize>,
    /// Its rank in the list of the one the system is compared with.
    pub against: Option<usize>,
}

impl<'a, J: Judgments + ?Sized> Moves<'a, J> {
    /// What moved from `against` to `system`.
    #[must_use]
    pub const fn new(qrels: &'a J, rules: Rules, system: &'a Run, against: &'a Run) -> Self {
        Self {
            qrels,
            rules,
            system,
            against,
        }
    }

    /// The documents that moved on a query: those whose relevance matters first, by grade, then
    /// judged ones, then the others; among equals those that moved most, by the reciprocals of
    /// their ranks.
    #[must_use]
    pub fn of(&self, query: &str) -> Vec<Moved> {
        let mut ranks: BTreeMap<&str, [Option<usize>; 2]> = BTreeMap::new();
        for (side, run) in [self.system, self.against].into_iter().enumerate() {
            for (at, doc) in self.ranked(run, query).into_iter().enumerate() {
                ranks.entry(doc).or_default()[side] = Some(at + 1);
            }
        }
        let mut moved: Vec<Moved> = ranks
            .into_iter()
            .filter(|(_, [rank, against])| rank != against)
            .map(|(doc, [rank, against])| Moved {
                doc: doc.to_owned(),
                judged: self.judged(query, doc),
                rank,
                against,
            })
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

    fn order(&self, a: &Moved, b: &Moved) -> Ordering {
        let weight = |moved: &Moved| match moved.judged {
            Judged::Grade(grade) if grade >= self.rules.level => grade + 2,
            Judged::Grade(_) => 1,
            Judged::Unjudged | Judged::Unpooled => 0,
        };
        let share = |rank: Option<usize>| rank.map_or(0.0, |rank| 1.0 / rank as f64);
        let way = |moved: &Moved| (share(moved.rank) - share(moved.against)).abs();
        weight(b)
            .cmp(&weight(a))
            .then(way(b).total_cmp(&way(a)))
            .then(a.doc.cmp(&b.doc))
    }

    /// A query's documents in the order in which they are evaluated.
    fn ranked(&self, run: &'a Run, query: &str) -> Vec<&'a str> {
        let rules = &self.rules;
        let mut list = in_order(run.get(query).unwrap_or_default(), query, rules);
        list.truncate(rules.depth.unwrap_or(usize::MAX));
        let docs = list.into_iter().map(|scored| scored.doc.as_str());
        docs.filter(|doc| {
            rules.unjudged == Unjudged::NonRelevant
                || matches!(self.judged(query, doc), Judged::Grade(_))
        })
        .collect()
    }
}
