//! The list of one query: filled line by line, then put in order by the rules.

use std::cmp::Ordering;
use std::ops::Range;

use crate::places::{Key, Place, Table};
use crate::rules::{ScoreWidth, SelfHits, Ties, Unjudged};
use crate::topic::{Ranked, Topic};
use crate::{EvalError, Rules};

/// What was retrieved for a query. The memory is used again.
#[derive(Debug, Default)]
pub(crate) struct List {
    /// The documents' ids, one behind the other.
    ids: String,
    entries: Vec<Entry>,
    table: Table,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    score: f64,
    /// Where the id is.
    from: usize,
    length: u32,
    place: Place,
    /// Where it stands in its file.
    line: u64,
}

impl Entry {
    fn id(&self) -> Range<usize> {
        self.from..self.from + self.length as usize
    }
}

impl List {
    fn clear(&mut self) {
        self.ids.clear();
        self.entries.clear();
        self.table.clear();
    }

    /// Begins the list of a query, with its judgments if it has any.
    pub(crate) fn begin(&mut self, topic: Option<&Topic<'_>>) {
        self.clear();
        let Some(places) = topic.map(Topic::places) else {
            return;
        };
        for (place, doc) in places.iter() {
            let hash_of = |key| match key {
                Key::Judged(place) => Table::hash(places.doc(place)),
                Key::Listed(_) => 0,
            };
            let hash = Table::hash(doc);
            // No id stands twice among them.
            self.table.put(hash, Key::Judged(place), |_| false, hash_of);
        }
    }

    /// Appends a document, and looks it up among those of the `topic` that the list began with.
    /// When the list has it already: its line there.
    pub(crate) fn push(
        &mut self,
        doc: &str,
        score: f64,
        line: u64,
        topic: Option<&Topic<'_>>,
    ) -> Result<(), u64> {
        let Self {
            ids,
            entries,
            table,
        } = self;
        let id = |key| match key {
            Key::Judged(place) => topic.map_or("", |topic| topic.places().doc(place)),
            Key::Listed(n) => &ids[entries[n as usize].id()],
        };
        let key = Key::Listed(entries.len() as u32);
        let same = |key| id(key).as_bytes() == doc.as_bytes();
        let there = table.put(Table::hash(doc), key, same, |key| Table::hash(id(key)));
        let place = match there {
            Some(Key::Listed(n)) => return Err(entries[n as usize].line),
            Some(Key::Judged(place)) => place,
            None => Place::NOWHERE,
        };
        entries.push(Entry {
            score,
            from: ids.len(),
            length: doc.len() as u32,
            place,
            line,
        });
        ids.push_str(doc);
        Ok(())
    }

    /// The list as the measures of its topic see it.
    pub(crate) fn rank(
        &mut self,
        topic: &Topic<'_>,
        rules: &Rules,
        ranked: &mut Ranked,
    ) -> Result<(), EvalError> {
        let Self { ids, entries, .. } = self;
        if rules.self_hits == SelfHits::Drop {
            entries.retain(|entry| ids[entry.id()] != *topic.id);
        }
        if rules.scores == ScoreWidth::F32 {
            for entry in &mut *entries {
                entry.score = f64::from(entry.score as f32);
            }
        }
        // Most lists are in order as they come.
        if !entries.is_sorted_by(|a, b| a.score > b.score) {
            order(entries, ids, topic, rules.ties)?;
        }
        entries.truncate(rules.depth.unwrap_or(usize::MAX));
        if rules.unjudged == Unjudged::Remove {
            entries.retain(|entry| topic.state(entry.place) >= 0);
        }
        ranked.clear();
        for entry in entries {
            ranked.push(entry.place, topic.state(entry.place));
        }
        Ok(())
    }

    /// The documents and their scores; in their order once they are ranked.
    pub(crate) fn documents(&self) -> impl ExactSizeIterator<Item = (&str, f64)> + Clone {
        let entries = self.entries.iter();
        entries.map(|entry| (&self.ids[entry.id()], entry.score))
    }
}

/// Memory that is used again from query to query.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) list: List,
    /// The list as the measures see it.
    pub(crate) ranked: Ranked,
    /// The judged documents of `ranked` alone.
    pub(crate) condensed: Ranked,
}

/// Sorts by falling scores, and what is equal by the rule.
fn order(entries: &mut [Entry], ids: &str, topic: &Topic<'_>, ties: Ties) -> Result<(), EvalError> {
    if !entries.is_sorted_by(|a, b| a.score >= b.score) {
        // This sort keeps the order of equals, which is that of the run.
        entries.sort_by(|a, b| b.score.partial_cmp(&a.score).unwrap_or(Ordering::Equal));
    }
    for equal in entries.chunk_by_mut(|a, b| a.score == b.score) {
        match (&mut *equal, ties) {
            ([] | [_], _) | (_, Ties::RunOrder) => {}
            (_, Ties::TrecEval) => equal.sort_unstable_by(|a, b| ids[b.id()].cmp(&ids[a.id()])),
            (_, Ties::IdAscending) => equal.sort_unstable_by(|a, b| ids[a.id()].cmp(&ids[b.id()])),
            ([first, second, ..], Ties::Reject) => {
                return Err(EvalError::Tie {
                    query: topic.id.to_owned(),
                    first: ids[first.id()].to_owned(),
                    second: ids[second.id()].to_owned(),
                    score: first.score,
                });
            }
        }
    }
    Ok(())
}
