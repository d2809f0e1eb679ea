//! Interleaving: one list out of several, with click credit that estimates user preference.
//!
//! | function | next list | credit for a click |
//! |---|---|---|
//! | [`round_robin`] | in turn | the contributing list |
//! | [`balanced`] | the one consumed less far | lists with the item in the top k |
//! | [`team_draft`] | random order in each round | the contributing list |
//!
//! These functions take lists of any item type, best first. [`InterleaveConfig`] selects one of
//! them with its parameters and interleaves whole runs.
//!
//! ```
//! use ir_core::fusion::interleave::{Leader, balanced};
//! let lists = [&["a", "b", "c", "d"][..], &["c", "a", "e"]];
//! let shown = balanced(lists, Leader::First, 10);
//! assert_eq!(shown.items().copied().collect::<String>(), "acbe");
//! // A click on c, the second item: rank 1 of the second list, so the top 1 of both counts.
//! assert_eq!(shown.credit(&[1])?, [0, 1]);
//! # Ok::<(), ir_core::fusion::interleave::ClickError>(())
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use crate::random::SplitMix64;
use crate::run::Run;
use crate::run_order::RunOrder;

/// Interleaved list with the origin of every item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interleaved<T> {
    /// Items with their origins, best first.
    pub slots: Vec<InterleavedItem<T>>,
    lists: usize,
    rule: CreditRule,
}

/// Item of an interleaved list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InterleavedItem<T> {
    /// Item shown at this rank.
    pub item: T,
    /// Contributing list, from 0.
    pub list: usize,
    /// Rank of the item in each list, from 1; `None` if missing.
    pub ranks: Vec<Option<usize>>,
}

/// Rule that assigns credit for a click.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CreditRule {
    Team,
    Depth,
}

/// Error for a click beyond the end of the list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("click: expected a position below {length}, found {found}")]
pub struct ClickError {
    /// Clicked position, from 0.
    pub found: usize,
    /// Length of the list.
    pub length: usize,
}

impl<T> Interleaved<T> {
    /// Iterates over the items, best first.
    pub fn items(&self) -> impl ExactSizeIterator<Item = &T> {
        self.slots.iter().map(|slot| &slot.item)
    }

    /// Returns the number of items contributed by each list.
    #[must_use]
    pub fn teams(&self) -> Vec<usize> {
        let mut teams = vec![0; self.lists];
        self.slots.iter().for_each(|slot| teams[slot.list] += 1);
        teams
    }

    /// Returns the credit of each list for clicks at the given positions, from 0. Repeated clicks
    /// count once. The list with more credit wins the impression; equal credit is a tie.
    ///
    /// For [`round_robin`] and [`team_draft`], a click counts for the contributing list. For
    /// [`balanced`], let k be the smallest depth at which the two lists together contain all
    /// clicked items; each list gets the number of clicked items in its top k.
    ///
    /// # Errors
    /// If a click is beyond the end of the list.
    pub fn credit(&self, clicks: &[usize]) -> Result<Vec<usize>, ClickError> {
        let clicked: BTreeSet<usize> = clicks.iter().copied().collect();
        let length = self.slots.len();
        if let Some(&found) = clicked.iter().find(|&&position| position >= length) {
            return Err(ClickError { found, length });
        }
        let slots = || clicked.iter().map(|&position| &self.slots[position]);
        let mut credit = vec![0; self.lists];
        match self.rule {
            CreditRule::Team => slots().for_each(|slot| credit[slot.list] += 1),
            CreditRule::Depth => {
                let least = |slot: &InterleavedItem<T>| slot.ranks.iter().flatten().copied().min();
                let depth = slots().filter_map(least).max().unwrap_or(0);
                for slot in slots() {
                    for (credit, rank) in credit.iter_mut().zip(&slot.ranks) {
                        *credit += usize::from(rank.is_some_and(|rank| rank <= depth));
                    }
                }
            }
        }
        Ok(credit)
    }
}

/// Interleaves lists in turn, up to `limit` items. Skips a turn without replacement if the result
/// already contains its item. Ends when all lists are exhausted.
///
/// # Source
/// Combination of several searches in the published code of DataFinder (Viswanathan et al.,
/// ACL 2023).
#[must_use]
pub fn round_robin<T: Clone + Eq + Hash>(lists: &[&[T]], limit: usize) -> Interleaved<T> {
    let mut merge = Interleaver::new(lists, limit, CreditRule::Team);
    let longest = lists.iter().map(|list| list.len()).max().unwrap_or(0);
    for at in 0..longest {
        for (number, list) in lists.iter().enumerate() {
            if let Some(item) = list.get(at) {
                merge.take(number, item);
            }
        }
    }
    merge.finish()
}

/// List that contributes first when two lists are consumed equally far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leader {
    /// The first list leads.
    First,
    /// The second list leads.
    Second,
}

/// Balanced interleaving of two lists, up to `limit` items. The list consumed less far contributes
/// next, so every prefix contains the top of both lists to depths that differ by at most 1. Ends
/// when one list is exhausted.
///
/// # Source
/// Joachims, "Optimizing search engines using clickthrough data", KDD 2002.
#[must_use]
pub fn balanced<T: Clone + Eq + Hash>(
    lists: [&[T]; 2],
    leader: Leader,
    limit: usize,
) -> Interleaved<T> {
    let mut merge = Interleaver::new(&lists, limit, CreditRule::Depth);
    let mut looked = [0, 0];
    let leads = usize::from(leader == Leader::Second);
    while looked[0] < lists[0].len() && looked[1] < lists[1].len() && !merge.full() {
        let next = match looked[0].cmp(&looked[1]) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Greater => 1,
            std::cmp::Ordering::Equal => leads,
        };
        merge.take(next, &lists[next][looked[next]]);
        looked[next] += 1;
    }
    merge.finish()
}

/// Team-draft interleaving, up to `limit` items. In every round each list, in random order,
/// contributes its best item not yet selected. A round starts only if every list has such an item,
/// so that team sizes differ by at most one; an empty list yields an empty result.
///
/// # Source
/// Radlinski, Kurup and Joachims, "How does clickthrough data reflect retrieval quality?", CIKM
/// 2008; for more than two lists, Schuth et al., "Multileaved comparisons for fast online
/// evaluation", CIKM 2014.
#[must_use]
pub fn team_draft<T: Clone + Eq + Hash>(
    lists: &[&[T]],
    limit: usize,
    random: &mut SplitMix64,
) -> Interleaved<T> {
    let mut merge = Interleaver::new(lists, limit, CreditRule::Team);
    let mut looked = vec![0; lists.len()];
    let mut order: Vec<usize> = (0..lists.len()).collect();
    let next = |merge: &Interleaver<'_, T>, looked: &mut [usize], list: usize| {
        let rest = lists[list].iter().skip(looked[list]);
        looked[list] += rest.take_while(|item| merge.seen.contains(item)).count();
        lists[list].get(looked[list])
    };
    'rounds: while !order.is_empty() && !merge.full() {
        random.partial_shuffle(&mut order, lists.len());
        if (order.iter()).any(|&list| next(&merge, &mut looked, list).is_none()) {
            break;
        }
        for &list in &order {
            // Another list may have contributed the last item of this one in this round.
            match next(&merge, &mut looked, list) {
                Some(item) => merge.take(list, item),
                None => break 'rounds,
            }
        }
    }
    merge.finish()
}

struct Interleaver<'a, T> {
    lists: &'a [&'a [T]],
    limit: usize,
    rule: CreditRule,
    seen: HashSet<&'a T>,
    taken: Vec<(usize, &'a T)>,
}

impl<'a, T: Clone + Eq + Hash> Interleaver<'a, T> {
    fn new(lists: &'a [&'a [T]], limit: usize, rule: CreditRule) -> Self {
        Self {
            lists,
            limit,
            rule,
            seen: HashSet::new(),
            taken: Vec::new(),
        }
    }

    fn full(&self) -> bool {
        self.taken.len() >= self.limit
    }

    fn take(&mut self, list: usize, item: &'a T) {
        if !self.full() && self.seen.insert(item) {
            self.taken.push((list, item));
        }
    }

    fn finish(self) -> Interleaved<T> {
        let ranks: Vec<HashMap<&T, usize>> = self
            .lists
            .iter()
            // In reverse, so that a repeated item keeps its first rank.
            .map(|list| {
                let ranked = list.iter().enumerate().rev();
                ranked.map(|(at, item)| (item, at + 1)).collect()
            })
            .collect();
        let slot = |(list, item): (usize, &T)| InterleavedItem {
            item: item.clone(),
            list,
            ranks: ranks.iter().map(|ranks| ranks.get(item).copied()).collect(),
        };
        Interleaved {
            slots: self.taken.into_iter().map(slot).collect(),
            lists: self.lists.len(),
            rule: self.rule,
        }
    }
}

/// Configuration of interleaving of whole runs.
///
/// ```
/// use ir_core::Run;
/// use ir_core::fusion::interleave::{InterleaveConfig, InterleaveMethod};
/// let (mut a, mut b) = (Run::new("a"), Run::new("b"));
/// for (doc, score) in [("x", 2.0), ("y", 1.0)] { a.push("q1", doc, score); }
/// for (doc, score) in [("z", 0.9), ("x", 0.8)] { b.push("q1", doc, score); }
/// let method = InterleaveMethod::RoundRobin;
/// let config = InterleaveConfig { method, limit: 5, ..InterleaveConfig::default() };
/// let lists = config.interleave(&[a, b])?;
/// assert_eq!(lists["q1"].items().cloned().collect::<String>(), "xzy");
/// # Ok::<(), ir_core::fusion::interleave::InterleaveError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InterleaveConfig {
    /// Interleaving method. Default: team draft.
    pub method: InterleaveMethod,
    /// Maximum length of an interleaved list. Default: 10.
    pub limit: usize,
    /// Random seed; every query has its own stream. Default: 0.
    pub seed: u64,
    /// Order of the documents of each run. Default: by score.
    pub order: RunOrder,
}

/// Method by which runs are interleaved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum InterleaveMethod {
    /// [`round_robin`].
    RoundRobin,
    /// [`balanced`], of two runs. Without a leader, one is chosen at random for each query.
    Balanced(Option<Leader>),
    /// [`team_draft`].
    #[default]
    TeamDraft,
}

/// Error of interleaving whole runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum InterleaveError {
    /// Balanced interleaving requires two runs.
    #[error("expected two runs for balanced interleaving, found {found}")]
    Two { found: usize },
}

impl Default for InterleaveConfig {
    fn default() -> Self {
        Self {
            method: InterleaveMethod::TeamDraft,
            limit: 10,
            seed: 0,
            order: RunOrder::Score,
        }
    }
}

impl InterleaveConfig {
    /// Interleaves the runs for every query of any run. A run without the query contributes an
    /// empty list, which ends balanced interleaving and team draft at once.
    ///
    /// # Errors
    /// If [`InterleaveMethod::Balanced`] is used with other than two runs.
    pub fn interleave(
        &self,
        runs: &[Run],
    ) -> Result<BTreeMap<String, Interleaved<String>>, InterleaveError> {
        if matches!(self.method, InterleaveMethod::Balanced(_)) && runs.len() != 2 {
            return Err(InterleaveError::Two { found: runs.len() });
        }
        let queries: BTreeSet<&str> = runs
            .iter()
            .flat_map(|run| run.iter().map(|(query, _)| query))
            .collect();
        let merged = |query: &str| {
            let list = |run: &Run| -> Vec<String> {
                let list = self.order.ranked(run.get(query).unwrap_or_default());
                list.into_iter().map(|scored| scored.doc.clone()).collect()
            };
            let lists: Vec<Vec<String>> = runs.iter().map(list).collect();
            let lists: Vec<&[String]> = lists.iter().map(Vec::as_slice).collect();
            let mut random = SplitMix64::from_name(self.seed, query);
            match (self.method, lists.as_slice()) {
                (InterleaveMethod::Balanced(leader), &[first, second]) => {
                    let heads = random.below(2) == 0;
                    let toss = if heads { Leader::First } else { Leader::Second };
                    balanced([first, second], leader.unwrap_or(toss), self.limit)
                }
                (InterleaveMethod::TeamDraft, lists) => team_draft(lists, self.limit, &mut random),
                (_, lists) => round_robin(lists, self.limit),
            }
        };
        Ok(queries
            .into_iter()
            .map(|query| (query.to_owned(), merged(query)))
            .collect())
    }
}

/// Converts interleaved lists to a run: scores are `limit`, `limit` − 1, ...
#[must_use]
pub fn to_run(tag: &str, lists: &BTreeMap<String, Interleaved<String>>, limit: usize) -> Run {
    let longest = lists
        .values()
        .map(|list| list.slots.len())
        .max()
        .unwrap_or(0);
    let top = if limit == usize::MAX { longest } else { limit };
    let mut run = Run::new(tag);
    for (query, list) in lists {
        for (position, doc) in list.items().enumerate() {
            run.push(query, doc.as_str(), top as f64 - position as f64);
        }
    }
    run
}

#[cfg(test)]
mod tests;
