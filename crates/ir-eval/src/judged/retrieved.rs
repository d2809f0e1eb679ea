//! Result list of one query: filled line by line, then sorted according to the rules.

use std::cmp::Ordering;
use std::ops::Range;

use super::documents::{DocOrdinal, IdEntry, IdTable};
use super::query::PreparedQuery;
use super::ranking::JudgedRanking;
use crate::rules::{Rules, ScorePrecision, SelfHits, TieBreak, UnjudgedDocuments};

/// Documents retrieved for one query. Its buffers are reused from query to query.
#[derive(Debug, Default)]
pub(crate) struct RetrievedList {
    /// Document ids, concatenated without separators.
    ids: String,
    entries: Vec<Entry>,
    table: IdTable,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    score: f64,
    id_start: usize,
    id_len: u32,
    ordinal: DocOrdinal,
    /// Line number in the run file.
    line: u64,
}

impl Entry {
    fn id(&self) -> Range<usize> {
        self.id_start..self.id_start + self.id_len as usize
    }
}

/// Two documents with equal scores where the rules reject ties.
#[derive(Debug)]
pub(crate) struct RejectedTie {
    pub(crate) first: String,
    pub(crate) second: String,
    pub(crate) score: f64,
}

impl RetrievedList {
    /// Clears the list and loads the judged documents of its query, if it has judgments.
    pub(crate) fn start(&mut self, query: Option<&PreparedQuery<'_>>) {
        self.ids.clear();
        self.entries.clear();
        self.table.clear();
        let Some(judged) = query.map(|query| &query.doc_ids) else {
            return;
        };
        for (ordinal, id) in judged.iter() {
            let hash_of = |entry| match entry {
                IdEntry::Judged(ordinal) => IdTable::hash(judged.id(ordinal)),
                IdEntry::Retrieved(_) => 0,
            };
            let hash = IdTable::hash(id);
            // Ids are distinct here.
            self.table
                .find_or_insert(hash, IdEntry::Judged(ordinal), |_| false, hash_of);
        }
    }

    /// Appends a document and looks up its judgment. `query` must be the one passed to
    /// [`start`](Self::start).
    ///
    /// Returns the line of the first occurrence as the error if the list has the document already.
    pub(crate) fn push(
        &mut self,
        doc: &str,
        score: f64,
        line: u64,
        query: Option<&PreparedQuery<'_>>,
    ) -> Result<(), u64> {
        let Self {
            ids,
            entries,
            table,
        } = self;
        let id = |entry| match entry {
            IdEntry::Judged(ordinal) => query.map_or("", |query| query.doc_ids.id(ordinal)),
            IdEntry::Retrieved(n) => &ids[entries[n as usize].id()],
        };
        let entry = IdEntry::Retrieved(entries.len() as u32);
        let is_same = |other| id(other).as_bytes() == doc.as_bytes();
        let hash_of = |entry| IdTable::hash(id(entry));
        let ordinal = match table.find_or_insert(IdTable::hash(doc), entry, is_same, hash_of) {
            Some(IdEntry::Retrieved(n)) => return Err(entries[n as usize].line),
            Some(IdEntry::Judged(ordinal)) => ordinal,
            None => DocOrdinal::NOT_IN_QRELS,
        };
        entries.push(Entry {
            score,
            id_start: ids.len(),
            id_len: doc.len() as u32,
            ordinal,
            line,
        });
        ids.push_str(doc);
        Ok(())
    }

    /// Returns the first document if no document of the list is in the qrels of its query.
    pub(crate) fn unmatched(&self) -> Option<&str> {
        let first = self.entries.first()?;
        let mut ordinals = self.entries.iter().map(|entry| entry.ordinal);
        ordinals
            .all(|ordinal| ordinal == DocOrdinal::NOT_IN_QRELS)
            .then(|| &self.ids[first.id()])
    }

    /// Sorts and cuts the list according to the rules and writes it to `ranking`.
    pub(crate) fn rank(
        &mut self,
        query: &PreparedQuery<'_>,
        rules: &Rules,
        ranking: &mut JudgedRanking,
    ) -> Result<(), RejectedTie> {
        let Self { ids, entries, .. } = self;
        if rules.self_hits == SelfHits::Drop {
            entries.retain(|entry| ids[entry.id()] != *query.id);
        }
        if rules.scores == ScorePrecision::F32 {
            for entry in &mut *entries {
                entry.score = f64::from(entry.score as f32);
            }
        }
        // Most lists are sorted already.
        if !entries.is_sorted_by(|a, b| a.score > b.score) {
            sort(entries, ids, rules.ties)?;
        }
        entries.truncate(rules.depth.unwrap_or(usize::MAX));
        if rules.unjudged == UnjudgedDocuments::Remove {
            entries.retain(|entry| query.state(entry.ordinal) >= 0);
        }
        ranking.clear();
        for entry in entries {
            ranking.push(entry.ordinal, query.state(entry.ordinal));
        }
        Ok(())
    }

    /// Iterates over documents and scores, by rank once [`rank`](Self::rank) was called.
    pub(crate) fn documents(&self) -> impl ExactSizeIterator<Item = (&str, f64)> + Clone {
        let entries = self.entries.iter();
        entries.map(|entry| (&self.ids[entry.id()], entry.score))
    }
}

/// Sorts by descending score and breaks ties.
fn sort(entries: &mut [Entry], ids: &str, ties: TieBreak) -> Result<(), RejectedTie> {
    if !entries.is_sorted_by(|a, b| a.score >= b.score) {
        // A stable sort: ties keep the order of the run.
        entries.sort_by(|a, b| b.score.partial_cmp(&a.score).unwrap_or(Ordering::Equal));
    }
    for equal in entries.chunk_by_mut(|a, b| a.score == b.score) {
        match (&mut *equal, ties) {
            ([] | [_], _) | (_, TieBreak::RunOrder) => {}
            (_, TieBreak::TrecEval) => equal.sort_unstable_by(|a, b| ids[b.id()].cmp(&ids[a.id()])),
            (_, TieBreak::IdAscending) => {
                equal.sort_unstable_by(|a, b| ids[a.id()].cmp(&ids[b.id()]));
            }
            ([first, second, ..], TieBreak::Reject) => {
                return Err(RejectedTie {
                    first: ids[first.id()].to_owned(),
                    second: ids[second.id()].to_owned(),
                    score: first.score,
                });
            }
        }
    }
    Ok(())
}
