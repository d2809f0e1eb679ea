//! Interleaving: one list out of several whose clicks say which of them people prefer.
//!
//! | function | who is next | credit for a click |
//! |---|---|---|
//! | [`round_robin`] | the lists in turn | the list that the item was taken from |
//! | [`balanced`] | the list that is behind; one of two leads | lists that have it as early as the last clicked item needs |
//! | [`team_draft`] | the lists in an order drawn anew each round | the list that the item was taken from |
//!
//! They work on lists of anything, best first. [`InterleaveConfig`] is a choice of one with its
//! parameters, as a value, and works on whole runs.
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

use crate::{RunOrder, Run, SplitMix64};

/// Several lists merged into one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interleaved<T> {
    slots: Vec<InterleavedItem<T>>,
    lists: usize,
    rule: CreditRule,
}

/// One place of a merged list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InterleavedItem<T> {
    /// What is shown there.
    pub item: T,
    /// The list that it was taken from, from 0.
    pub list: usize,
    /// Its rank in each list, from 1; `None` where a list lacks it.
    pub ranks: Vec<Option<usize>>,
}

/// Who gets credit for a click.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CreditRule {
    Team,
    Depth,
}

/// A click on a place that the merged list does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a click on one of {length} places counted from 0, found {found}")]
pub struct ClickError {
    /// The place, from 0.
    pub found: usize,
    /// How many places there are.
    pub length: usize,
}

impl<T> Interleaved<T> {
    /// The items, best first.
    pub fn items(&self) -> impl ExactSizeIterator<Item = &T> {
        self.slots.iter().map(|slot| &slot.item)
    }

    /// The places of the list, with where each item comes from.
    #[must_use]
    pub fn slots(&self) -> &[InterleavedItem<T>] {
        &self.slots
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many items were taken from each list.
    #[must_use]
    pub fn teams(&self) -> Vec<usize> {
        let mut teams = vec![0; self.lists];
        self.slots.iter().for_each(|slot| teams[slot.list] += 1);
        teams
    }

    /// The credit of each list for clicks on some places, counted from 0. A place counts once
    /// however often it was clicked. Who has more credit won this impression; equal credit is a
    /// tie.
    ///
    /// After [`round_robin`] and [`team_draft`] a click counts for the list that the item was taken
    /// from. After [`balanced`] let k be the least depth at which the two lists together hold all
    /// clicked items; a list gets the number of clicked items among its first k.
    ///
    /// # Errors
    /// When a click is beyond the end of the list.
    pub fn credit(&self, clicks: &[usize]) -> Result<Vec<usize>, ClickError> {
        let clicked: BTreeSet<usize> = clicks.iter().copied().collect();
        let length = self.slots.len();
        if let Some(&found) = clicked.iter().find(|&&place| place >= length) {
            return Err(ClickError { found, length });
        }
        let slots = || clicked.iter().map(|&place| &self.slots[place]);
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

/// The first `limit` items of lists that take turns in their order. In its turn a list gives its
/// next item; one that stands in the merged list already uses the turn up. The end is reached
/// when all lists are empty.
///
/// # Source
/// What the published code of DataFinder (Viswanathan et al., ACL 2023) does to combination the
/// results of several searches.
#[must_use]
pub fn round_robin<T: Clone + Eq + Hash>(lists: &[&[T]], limit: usize) -> Interleaved<T> {
    let mut merge = Merge::new(lists, limit, CreditRule::Team);
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

/// Which of two lists is first where both are equally far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leader {
    /// The first.
    First,
    /// The second.
    Second,
}

/// The first `limit` items of a balanced interleaving: the list from which fewer items were
/// looked at gives its next one, so that every beginning of the merged list holds the top of both
/// lists to depths that differ by at most 1. It ends where one list is used up.
///
/// # Source
/// Joachims, "Optimizing search engines using clickthrough data", KDD 2002.
#[must_use]
pub fn balanced<T: Clone + Eq + Hash>(
    lists: [&[T]; 2],
    leader: Leader,
    limit: usize,
) -> Interleaved<T> {
    let mut merge = Merge::new(&lists, limit, CreditRule::Depth);
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

/// The first `limit` items of a team draft: in every round each list, in an order drawn anew,
/// gives its best item that is not there yet. A round begins only while every list has one, so that
/// no two teams differ by more than one item, and a list without items leaves nothing to show.
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
    let mut merge = Merge::new(lists, limit, CreditRule::Team);
    let mut looked = vec![0; lists.len()];
    let mut order: Vec<usize> = (0..lists.len()).collect();
    let next = |merge: &Merge<'_, T>, looked: &mut [usize], list: usize| {
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
            // Another one may have given its last item in this round.
            match next(&merge, &mut looked, list) {
                Some(item) => merge.take(list, item),
                None => break 'rounds,
            }
        }
    }
    merge.finish()
}

struct Merge<'a, T> {
    lists: &'a [&'a [T]],
    limit: usize,
    rule: CreditRule,
    seen: HashSet<&'a T>,
    taken: Vec<(usize, &'a T)>,
}

impl<'a, T: Clone + Eq + Hash> Merge<'a, T> {
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
            // From the end, so that the first place of an item that repeats stays.
            .map(|list| {
                let places = list.iter().enumerate().rev();
                places.map(|(at, item)| (item, at + 1)).collect()
            })
            .collect();
        let slot = |(list, item): (usize, &T)| InterleavedItem {
            item: item.clone(),
            list,
            ranks: ranks.iter().map(|of| of.get(item).copied()).collect(),
        };
        Interleaved {
            slots: self.taken.into_iter().map(slot).collect(),
            lists: self.lists.len(),
            rule: self.rule,
        }
    }
}

/// How whole runs are interleaved, as a value.
///
/// ```
/// use ir_core::Run;
/// use ir_core::fusion::interleave::{InterleaveConfig, InterleaveMethod};
/// let (mut a, mut b) = (Run::new("a"), Run::new("b"));
/// for (doc, score) in [("x", 2.0), ("y", 1.0)] { a.push("q1", doc, score); }
/// for (doc, score) in [("z", 0.9), ("x", 0.8)] { b.push("q1", doc, score); }
/// let how = InterleaveConfig { method: InterleaveMethod::RoundRobin, limit: 5, ..InterleaveConfig::default() };
/// let lists = how.interleave(&[a, b])?;
/// assert_eq!(lists["q1"].items().cloned().collect::<String>(), "xzy");
/// # Ok::<(), ir_core::fusion::interleave::InterleaveError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InterleaveConfig {
    /// Who is next.
    pub method: InterleaveMethod,
    /// How many documents a merged list has at most. Default 10.
    pub limit: usize,
    /// Where the random numbers start; every query has a stream of its own.
    pub seed: u64,
    /// The order of each run's documents.
    pub order: RunOrder,
}

/// Which list gives the next document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum InterleaveMethod {
    /// [`round_robin`].
    RoundRobin,
    /// [`balanced`], of two runs. Without a leader a coin is tossed for each query.
    Balanced(Option<Leader>),
    /// [`team_draft`].
    #[default]
    TeamDraft,
}

/// Why runs could not be interleaved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterleaveError {
    /// Balanced interleaving is defined for two lists.
    #[error("expected two runs for balanced interleaving, found {found}")]
    Two {
        /// How many runs there are.
        found: usize,
    },
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
    /// The merged list of every query that any run has. A run that lacks a query has an empty list
    /// there, with which balanced interleaving and team draft end at once.
    ///
    /// # Errors
    /// When [`InterleaveMethod::Balanced`] is asked for other than two runs.
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

/// Merged lists as a run: with `limit` documents at most, the first scores `limit`, the next
/// `limit` − 1, and so on.
#[must_use]
pub fn to_run(tag: &str, lists: &BTreeMap<String, Interleaved<String>>, limit: usize) -> Run {
    let longest = lists.values().map(Interleaved::len).max().unwrap_or(0);
    let top = if limit == usize::MAX { longest } else { limit };
    let mut run = Run::new(tag);
    for (query, list) in lists {
        for (place, doc) in list.items().enumerate() {
            run.push(query, doc.as_str(), top as f64 - place as f64);
        }
    }
    run
}

#[cfg(test)]
mod tests;
