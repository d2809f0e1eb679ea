//! What one group prefers, by the places of the documents in the list.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use super::{Opinion, PreferenceError, Subgroup};

/// Where the judged documents of a query stand: 0, 1, ... for those in the list, then the others
/// by id.
#[derive(Debug, Default)]
pub(super) struct Places<'a> {
    places: HashMap<&'a str, usize, FxBuildHasher>,
    docs: Vec<&'a str>,
    /// How many stand in the list.
    pub(super) retrieved: usize,
}

impl<'a> Places<'a> {
    /// `list` is in the order of the ranks; documents that nobody judged have no place.
    pub(super) fn new(judged: &[&'a str], list: impl Iterator<Item = &'a str>) -> Self {
        let mut places = Self::default();
        for doc in list.filter(|doc| judged.binary_search(doc).is_ok()) {
            places.push(doc);
        }
        places.retrieved = places.docs.len();
        for doc in judged {
            if !places.places.contains_key(doc) {
                places.push(doc);
            }
        }
        places
    }

    fn push(&mut self, doc: &'a str) {
        self.places.insert(doc, self.docs.len());
        self.docs.push(doc);
    }

    /// How many documents were judged.
    pub(super) fn len(&self) -> usize {
        self.docs.len()
    }

    fn of(&self, doc: &str) -> usize {
        self.places.get(doc).copied().unwrap_or(self.docs.len())
    }
}

/// What a group prefers.
#[derive(Debug)]
pub(super) enum Order {
    /// A group without subgroups: everything is above what has a lower level.
    Levels(Levels),
    /// A group of several subgroups: what they say, and what follows.
    Partial(Partial),
}

/// Documents by place, with their levels. A document that was judged twice stands twice.
#[derive(Debug)]
pub(super) struct Levels {
    pub(super) members: Vec<(usize, f64)>,
}

/// Documents by place, and which are above which.
#[derive(Debug)]
pub(super) struct Partial {
    pub(super) places: Vec<usize>,
    /// The level that was given last.
    pub(super) levels: Vec<f64>,
    /// A row of bits for each document: those it is above.
    above: Vec<Vec<u64>>,
}

impl Order {
    pub(super) fn new(
        query: &str,
        group: &str,
        opinion: &Opinion,
        places: &Places<'_>,
    ) -> Result<Self, PreferenceError> {
        for subgroup in opinion.values() {
            one_level(subgroup).map_err(|(doc, first, second)| PreferenceError::TwoLevels {
                query: query.to_owned(),
                group: group.to_owned(),
                doc,
                first,
                second,
            })?;
        }
        let mut subgroups = opinion.values();
        match (subgroups.next(), opinion.len()) {
            (Some(only), 1) => {
                let place = |(doc, level): &(String, f64)| (places.of(doc), *level);
                let mut members: Vec<_> = only.iter().map(place).collect();
                members.sort_by_key(|member| member.0);
                Ok(Self::Levels(Levels { members }))
            }
            _ => Partial::new(query, group, opinion, places).map(Self::Partial),
        }
    }

    /// Every document, with its level.
    pub(super) fn members(&self) -> Box<dyn Iterator<Item = (usize, f64)> + '_> {
        match self {
            Self::Levels(levels) => Box::new(levels.members.iter().copied()),
            Self::Partial(partial) => Box::new(
                partial
                    .places
                    .iter()
                    .copied()
                    .zip(partial.levels.iter().copied()),
            ),
        }
    }

    /// Every preference: the place of the better document and that of the worse.
    pub(super) fn each(&self, mut preference: impl FnMut(usize, usize)) {
        match self {
            Self::Levels(Levels { members }) => {
                for (at, &(place, level)) in members.iter().enumerate() {
                    for &(other, lower) in &members[at + 1..] {
                        if level > lower {
                            preference(place, other);
                        } else if lower > level {
                            preference(other, place);
                        }
                    }
                }
            }
            Self::Partial(partial) => partial.each(preference),
        }
    }

    /// Every preference between the document at `place` and one further down: where that is, and
    /// whether the first is the better one.
    pub(super) fn against(&self, place: usize, mut preference: impl FnMut(usize, bool)) {
        match self {
            Self::Levels(Levels { members }) => {
                let from = members.partition_point(|member| member.0 < place);
                let to = members.partition_point(|member| member.0 <= place);
                for &(_, level) in &members[from..to] {
                    for &(other, lower) in &members[to..] {
                        if level != lower {
                            preference(other, level > lower);
                        }
                    }
                }
            }
            Self::Partial(partial) => {
                let Ok(at) = partial.places.binary_search(&place) else {
                    return;
                };
                for (other, &below) in partial.places.iter().enumerate().skip(at + 1) {
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

impl Partial {
    fn new(
        query: &str,
        group: &str,
        opinion: &Opinion,
        places: &Places<'_>,
    ) -> Result<Self, PreferenceError> {
        let all = opinion.values().flatten();
        let mut own: Vec<usize> = all.map(|(doc, _)| places.of(doc)).collect();
        own.sort_unstable();
        own.dedup();
        let count = own.len();
        let mut partial = Self {
            places: own,
            levels: vec![-1.0; count],
            above: vec![vec![0; count.div_ceil(64)]; count],
        };
        let doc = |at: usize| places.docs[partial.places[at]].to_owned();
        let mut levels = vec![-1.0_f64; count];
        let mut above = std::mem::take(&mut partial.above);
        for subgroup in opinion.values() {
            let place = |(doc, level): &(String, f64)| {
                let at = partial.places.binary_search(&places.of(doc));
                (at.unwrap_or_else(|at| at), *level)
            };
            let members: Vec<(usize, f64)> = subgroup.iter().map(place).collect();
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
        // What follows: Warshall, "A theorem on Boolean matrices", JACM 1962.
        for middle in 0..count {
            let row = above[middle].clone();
            for upper in &mut above {
                if upper[middle / 64] >> (middle % 64) & 1 == 1 {
                    upper
                        .iter_mut()
                        .zip(&row)
                        .for_each(|(to, from)| *to |= from);
                }
            }
        }
        let is_above = |a: usize, b: usize| above[a][b / 64] >> (b % 64) & 1 == 1;
        if let Some(first) = (0..count).find(|&at| is_above(at, at)) {
            let back = |&at: &usize| at != first && is_above(first, at) && is_above(at, first);
            return Err(PreferenceError::Circle {
                query: query.to_owned(),
                group: group.to_owned(),
                first: doc(first),
                second: doc((0..count).find(back).unwrap_or(first)),
            });
        }
        partial.levels = levels;
        partial.above = above;
        Ok(partial)
    }

    /// Whether one document is above another, by their positions among [`Partial::places`].
    pub(super) fn is_above(&self, at: usize, other: usize) -> bool {
        self.above[at][other / 64] >> (other % 64) & 1 == 1
    }

    fn each(&self, mut preference: impl FnMut(usize, usize)) {
        for (at, &place) in self.places.iter().enumerate() {
            for (other, &below) in self.places.iter().enumerate() {
                if self.is_above(at, other) {
                    preference(place, below);
                }
            }
        }
    }
}

/// A document with two levels in one subgroup is an error: the document and both.
fn one_level(subgroup: &Subgroup) -> Result<(), (String, f64, f64)> {
    let mut sorted: Vec<(&str, f64)> = subgroup
        .iter()
        .map(|(doc, level)| (doc.as_str(), *level))
        .collect();
    sorted.sort_by(|a, b| a.0.cmp(b.0));
    for pair in sorted.windows(2) {
        let ((doc, first), (next, second)) = (pair[0], pair[1]);
        if doc == next && first != second {
            return Err((doc.to_owned(), first, second));
        }
    }
    Ok(())
}
