//! Preferences of one judgment group between documents, by position in the list.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use super::{GroupJudgments, PreferenceError, Subgroup};

/// Positions of the judged documents of a query: those in the list in rank order, then the others
/// by id.
#[derive(Debug, Default)]
pub(super) struct DocumentPositions<'a> {
    positions: HashMap<&'a str, usize, FxBuildHasher>,
    docs: Vec<&'a str>,
    /// Number of judged documents in the list.
    pub(super) retrieved: usize,
}

impl<'a> DocumentPositions<'a> {
    /// `list` is in rank order; unjudged documents have no position.
    pub(super) fn new(judged: &[&'a str], list: impl Iterator<Item = &'a str>) -> Self {
        let mut positions = Self::default();
        for doc in list.filter(|doc| judged.binary_search(doc).is_ok()) {
            positions.push(doc);
        }
        positions.retrieved = positions.docs.len();
        for doc in judged {
            if !positions.positions.contains_key(doc) {
                positions.push(doc);
            }
        }
        positions
    }

    fn push(&mut self, doc: &'a str) {
        self.positions.insert(doc, self.docs.len());
        self.docs.push(doc);
    }

    pub(super) fn len(&self) -> usize {
        self.docs.len()
    }

    fn position(&self, doc: &str) -> usize {
        self.positions.get(doc).copied().unwrap_or(self.docs.len())
    }
}

/// Preferences of a judgment group.
#[derive(Debug)]
pub(super) enum GroupOrder {
    /// Group without subgroups: documents are ordered by level.
    Levels(LevelOrder),
    /// Group with several subgroups: the transitive closure of their preferences.
    Partial(PartialOrder),
}

/// Positions and levels of documents. Duplicate judgments are kept.
#[derive(Debug)]
pub(super) struct LevelOrder {
    pub(super) members: Vec<(usize, f64)>,
}

/// Documents by position, and a partial order of them.
#[derive(Debug)]
pub(super) struct PartialOrder {
    pub(super) positions: Vec<usize>,
    /// Last level of each document.
    pub(super) levels: Vec<f64>,
    /// Bit matrix: row i has the documents to which document i is preferred.
    above: Vec<Vec<u64>>,
}

impl GroupOrder {
    pub(super) fn new(
        query: &str,
        group: &str,
        subgroups: &GroupJudgments,
        positions: &DocumentPositions<'_>,
    ) -> Result<Self, PreferenceError> {
        for subgroup in subgroups.values() {
            one_level(subgroup).map_err(|(doc, first, second)| PreferenceError::TwoLevels {
                query: query.to_owned(),
                group: group.to_owned(),
                doc,
                first,
                second,
            })?;
        }
        let mut each = subgroups.values();
        match (each.next(), subgroups.len()) {
            (Some(only), 1) => {
                let position = |(doc, level): &(String, f64)| (positions.position(doc), *level);
                let mut members: Vec<_> = only.iter().map(position).collect();
                members.sort_by_key(|member| member.0);
                Ok(Self::Levels(LevelOrder { members }))
            }
            _ => PartialOrder::new(query, group, subgroups, positions).map(Self::Partial),
        }
    }

    /// Positions and levels of all documents.
    pub(super) fn members(&self) -> Box<dyn Iterator<Item = (usize, f64)> + '_> {
        match self {
            Self::Levels(levels) => Box::new(levels.members.iter().copied()),
            Self::Partial(PartialOrder {
                positions, levels, ..
            }) => Box::new(positions.iter().copied().zip(levels.iter().copied())),
        }
    }

    /// Visits all preferences: the positions of the better and of the worse document.
    pub(super) fn each(&self, mut preference: impl FnMut(usize, usize)) {
        match self {
            Self::Levels(LevelOrder { members }) => {
                for (at, &(position, level)) in members.iter().enumerate() {
                    for &(other, lower) in &members[at + 1..] {
                        if level > lower {
                            preference(position, other);
                        } else if lower > level {
                            preference(other, position);
                        }
                    }
                }
            }
            Self::Partial(partial) => {
                for (at, &position) in partial.positions.iter().enumerate() {
                    for (other, &below) in partial.positions.iter().enumerate() {
                        if partial.is_above(at, other) {
                            preference(position, below);
                        }
                    }
                }
            }
        }
    }

    /// Visits all preferences between the document at `position` and a lower-ranked one: the
    /// position of the latter, and whether the former is better.
    pub(super) fn against(&self, position: usize, mut preference: impl FnMut(usize, bool)) {
        match self {
            Self::Levels(LevelOrder { members }) => {
                let from = members.partition_point(|member| member.0 < position);
                let to = members.partition_point(|member| member.0 <= position);
                for &(_, level) in &members[from..to] {
                    for &(other, lower) in &members[to..] {
                        if level != lower {
                            preference(other, level > lower);
                        }
                    }
                }
            }
            Self::Partial(partial) => {
                let Ok(at) = partial.positions.binary_search(&position) else {
                    return;
                };
                for (other, &below) in partial.positions.iter().enumerate().skip(at + 1) {
                    if partial.is_above(at, other) {
                        preference(below, true);
                    } else if partial.is_above(other, at) {
                        preference(below, false);
                    }
                }
            }
        }
    }
}

impl PartialOrder {
    fn new(
        query: &str,
        group: &str,
        subgroups: &GroupJudgments,
        positions: &DocumentPositions<'_>,
    ) -> Result<Self, PreferenceError> {
        let all = subgroups.values().flatten();
        let mut own_positions: Vec<usize> = all.map(|(doc, _)| positions.position(doc)).collect();
        own_positions.sort_unstable();
        own_positions.dedup();
        let count = own_positions.len();
        let doc = |at: usize| positions.docs[own_positions[at]].to_owned();
        let mut levels = vec![-1.0_f64; count];
        let mut above = vec![vec![0_u64; count.div_ceil(64)]; count];
        for subgroup in subgroups.values() {
            let position = |(doc, level): &(String, f64)| {
                let at = own_positions.binary_search(&positions.position(doc));
                (at.unwrap_or_else(|at| at), *level)
            };
            let members: Vec<(usize, f64)> = subgroup.iter().map(position).collect();
            for &(at, level) in &members {
                if levels[at] > 0.0 && level == 0.0 || levels[at] == 0.0 && level > 0.0 {
                    return Err(PreferenceError::Relevance {
                        query: query.to_owned(),
                        group: group.to_owned(),
                        doc: doc(at),
                    });
                }
                levels[at] = level;
                for &(other, lower) in &members {
                    if level > lower {
                        above[at][other / 64] |= 1 << (other % 64);
                    }
                }
            }
        }
        // Transitive closure: Warshall, "A theorem on Boolean matrices", JACM 1962.
        for middle in 0..count {
            let row = above[middle].clone();
            for upper in &mut above {
                if upper[middle / 64] >> (middle % 64) & 1 == 1 {
                    let words = upper.iter_mut().zip(&row);
                    words.for_each(|(to, from)| *to |= from);
                }
            }
        }
        let order = Self {
            positions: own_positions,
            levels,
            above,
        };
        if let Some(first) = (0..count).find(|&at| order.is_above(at, at)) {
            let doc = |at: usize| positions.docs[order.positions[at]].to_owned();
            let back =
                |&at: &usize| at != first && order.is_above(first, at) && order.is_above(at, first);
            return Err(PreferenceError::Cycle {
                query: query.to_owned(),
                group: group.to_owned(),
                first: doc(first),
                second: doc((0..count).find(back).unwrap_or(first)),
            });
        }
        Ok(order)
    }

    /// Returns `true` if one document is preferred to another, by index into
    /// [`PartialOrder::positions`].
    pub(super) fn is_above(&self, at: usize, other: usize) -> bool {
        self.above[at][other / 64] >> (other % 64) & 1 == 1
    }
}

/// Returns an error with the document and its levels if a document has two levels in a subgroup.
fn one_level(subgroup: &Subgroup) -> Result<(), (String, f64, f64)> {
    let mut sorted: Vec<&(String, f64)> = subgroup.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    let mut pairs = sorted.windows(2).map(|pair| (pair[0], pair[1]));
    match pairs.find(|(one, next)| one.0 == next.0 && one.1 != next.1) {
        None => Ok(()),
        Some((one, next)) => Err((one.0.clone(), one.1, next.1)),
    }
}
