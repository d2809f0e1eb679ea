//! The posting lists of a query term in all fields, scored together by BM25F.

use std::cell::Cell;

use ir_core::store::OpenIndexError;
use ir_core::{Explanation, Ranking, Search, SearchError};

use super::accumulator::Accumulator;
use super::collector::Collector;
use super::combined_fields::{CombinedFields, CombinedTerm, FieldFrequencies, MAX_SUM};
use super::list_scorer::TermScores;
use super::query::TermList;
use super::score_window::{NARROW_WINDOW, ScoreWindow, with_window};
use super::{Pruning, exhaustive, max_score, prefers_seeking, search_error};
use crate::postings::{END, PostingsCursor};
use crate::{Index, small_float};

thread_local! {
    /// Empty window for the next term of the thread.
    static FREQUENCY_WINDOW: Cell<FrequencyWindow> = const { Cell::new(FrequencyWindow::new()) };
}

/// Normalized frequencies of a term in a window of documents, added up field by field.
#[derive(Debug, Default)]
struct FrequencyWindow {
    sums: Vec<f64>,
    /// The documents with a sum above 0.
    docs: Vec<u32>,
}

impl FrequencyWindow {
    const fn new() -> Self {
        Self {
            sums: Vec::new(),
            docs: Vec::new(),
        }
    }
}

/// The posting lists of a query term in the fields of an index.
#[derive(Debug)]
pub(crate) struct CombinedList<'a> {
    /// In field order. Normalized frequencies are added up in this order.
    fields: Vec<FieldList<'a>>,
    scorer: CombinedTerm,
    /// Upper bound of the term score.
    bound: f64,
    /// Number of the term in the query.
    pub(crate) number: usize,
}

/// The posting list of a term in a field.
#[derive(Debug)]
struct FieldList<'a> {
    cursor: PostingsCursor<'a>,
    field: usize,
    frequencies: FieldFrequencies<'a>,
}

impl<'a> CombinedList<'a> {
    /// Binds the lists of one term, at least one, to a model.
    pub(crate) fn new(
        index: &'a Index,
        model: &'a CombinedFields,
        scorer: CombinedTerm,
        lists: Vec<TermList<'a>>,
    ) -> Result<Self, OpenIndexError> {
        let number = lists.first().map_or(0, |list| list.number);
        let mut fields = Vec::with_capacity(lists.len());
        let mut most = 0.0;
        for list in lists {
            let frequencies = model.frequencies(index, list.field, list.weight)?;
            let mut list = FieldList {
                cursor: list.cursor,
                field: list.field,
                frequencies,
            };
            most += list.most()?;
            fields.push(list);
        }
        Ok(Self {
            fields,
            scorer,
            bound: scorer.score(most),
            number,
        })
    }

    /// Explains the term score of a document; [`None`] if it does not contain the term. `names` are
    /// the names of the fields.
    pub(crate) fn explain(
        &mut self,
        (names, text): (&[&str], &str),
        doc: u32,
    ) -> Option<Explanation> {
        let details = self.fields.iter_mut().filter_map(|list| {
            let tf = list.tf(doc)?;
            let name = names.get(list.field).copied().unwrap_or_default();
            let name = format!("{name}:{text}");
            Some(list.frequencies.explain(&name, doc, tf))
        });
        let details: Vec<Explanation> = details.collect();
        (!details.is_empty()).then(|| self.scorer.explain(text, details))
    }

    /// A score that at least `k` documents exceed if none are deleted. Other fields and terms only
    /// add to the score of one field.
    fn floor(&self, k: usize) -> f64 {
        let bounds = self.fields.iter().flat_map(|list| {
            let pairs = list.cursor.kth_impacts(k);
            pairs.map(|(tf, code)| list.frequencies.least_of_code(code, tf))
        });
        match bounds.fold(0.0, f64::max) {
            0.0 => f64::NEG_INFINITY,
            least => f64::from((self.scorer.score(least) as f32).next_down()),
        }
    }

    /// Returns the damage that a cursor has found.
    pub(crate) fn check(&mut self) -> Result<(), OpenIndexError> {
        let mut cursors = self.fields.iter_mut().map(|list| &mut list.cursor);
        cursors
            .find_map(PostingsCursor::take_damage)
            .map_or(Ok(()), Err)
    }
}

impl FieldList<'_> {
    /// Upper bound of the normalized frequencies.
    fn most(&mut self) -> Result<f64, OpenIndexError> {
        let frequencies = self.frequencies;
        if let Some(impacts) = self.cursor.list_impacts() {
            let bounds = impacts
                .map(|impact| frequencies.of_code(impact.length, small_float::decode(impact.tf)));
            return Ok(bounds.fold(0.0, f64::max));
        }
        match self.cursor.seek(0) {
            END => Err(self.cursor.malformed()),
            doc => Ok(frequencies.of(doc, self.cursor.tf())),
        }
    }

    /// The frequency in a document; [`None`] if the field does not contain the term.
    fn tf(&mut self, doc: u32) -> Option<u32> {
        let found = self.cursor.seek(doc);
        (found == doc && found != END).then(|| self.cursor.tf())
    }

    /// Calls `visit` with the documents of a range and their normalized frequencies. Returns the
    /// next document.
    fn for_each(&mut self, (start, end): (u32, u32), mut visit: impl FnMut(u32, f64)) -> u32 {
        let mut from = start;
        loop {
            let doc = self.cursor.seek(from);
            if doc == END || doc >= end {
                return doc;
            }
            let frequencies = self.frequencies;
            let postings = self.cursor.postings();
            for (&doc, &tf) in postings.docs.iter().zip(postings.tfs) {
                if doc >= end {
                    return doc;
                }
                visit(doc, frequencies.of(doc, tf));
                from = doc + 1;
            }
        }
    }
}

impl TermScores for CombinedList<'_> {
    fn bound(&self) -> f64 {
        self.bound
    }

    fn postings(&self) -> u64 {
        let dfs = self.fields.iter().map(|list| u64::from(list.cursor.df));
        dfs.sum()
    }

    fn add_to_window<const WORDS: usize, A: Accumulator>(
        &mut self,
        window: &mut ScoreWindow<WORDS, A>,
    ) -> u32 {
        let (start, end) = window.range();
        let scorer = self.scorer;
        if let [only] = &mut *self.fields {
            return only.for_each((start, end), |doc, frequency| {
                window.add_score(doc, scorer.score(frequency));
            });
        }
        let mut frequencies = FREQUENCY_WINDOW.take();
        let FrequencyWindow { sums, docs } = &mut frequencies;
        let size = (end - start) as usize;
        if sums.len() < size {
            sums.resize(size, 0.0);
        }
        let mut next = END;
        for list in &mut self.fields {
            let after = list.for_each((start, end), |doc, frequency| {
                let sum = &mut sums[(doc - start) as usize];
                if *sum == 0.0 {
                    docs.push(doc);
                }
                *sum += frequency;
            });
            next = next.min(after);
        }
        for doc in docs.drain(..) {
            let frequency = std::mem::take(&mut sums[(doc - start) as usize]);
            window.add_score(doc, scorer.score(frequency));
        }
        FREQUENCY_WINDOW.set(frequencies);
        next
    }

    fn score_of(&mut self, doc: u32) -> Option<f64> {
        let mut frequency = None;
        for list in &mut self.fields {
            if let Some(tf) = list.tf(doc) {
                *frequency.get_or_insert(0.0) += list.frequencies.of(doc, tf);
            }
        }
        frequency.map(|frequency| self.scorer.score(frequency))
    }
}

/// A score that at least `k` documents exceed if none are deleted; negative infinity if none is
/// known.
pub(crate) fn floor(lists: &[CombinedList<'_>], k: usize) -> f64 {
    let floors = lists.iter().map(|list| list.floor(k));
    floors.fold(f64::NEG_INFINITY, f64::max)
}

/// Ranks the documents of an index for the terms of a query, given a positive number of hits. Those
/// with a score of at most `floor` may be missing.
pub(crate) fn rank_combined(
    lists: &mut [CombinedList<'_>],
    documents: u32,
    search: &Search<'_>,
    pruning: Pruning,
    floor: f64,
) -> Result<Ranking, SearchError> {
    let allowed = search.filter().and_then(|filter| filter.count());
    if lists.is_empty() || allowed == Some(0) {
        return Ok(Ranking::default());
    }
    let mut best = Collector::new(search.k(), floor);
    let bounds: f64 = lists.iter().map(TermScores::bound).sum();
    if allowed.is_some_and(|allowed| prefers_seeking(allowed, documents, lists)) {
        exhaustive::score_allowed(lists, documents, search, &mut best);
    } else if pruning == Pruning::Exhaustive || bounds >= MAX_SUM {
        with_window(&NARROW_WINDOW, |window| {
            exhaustive::score_all(window, lists, documents, search, &mut best);
        });
    } else {
        with_window(&NARROW_WINDOW, |window| {
            max_score::search(window, lists, documents, search, &mut best);
        });
    }
    for list in lists {
        list.check().map_err(search_error)?;
    }
    best.finish()
}

/// The number of documents of an index that have a term in at least one of the fields and that
/// `is_counted`. The fields are ordered by the length of their lists; `longest` is the number of
/// counted documents of the last one.
pub(crate) fn document_frequency(
    index: &Index,
    term: &str,
    fields: &[usize],
    is_counted: impl Fn(u32) -> bool,
    longest: u32,
) -> Result<u64, OpenIndexError> {
    let open = |field: &usize| index.cursor(*field, term);
    let mut total = u64::from(longest);
    for (at, field) in fields
        .iter()
        .enumerate()
        .take(fields.len().saturating_sub(1))
    {
        let longer = &fields[at + 1..];
        let Some(mut cursor) = open(field)? else {
            continue;
        };
        let others = longer.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let mut others: Vec<_> = others.into_iter().flatten().collect();
        let mut doc = cursor.seek(0);
        while doc != END {
            let is_new = others.iter_mut().all(|other| other.seek(doc) != doc);
            total += u64::from(is_new && is_counted(doc));
            doc = cursor.seek(doc + 1);
        }
        let mut opened = std::iter::once(&mut cursor).chain(&mut others);
        if let Some(damage) = opened.find_map(PostingsCursor::take_damage) {
            return Err(damage);
        }
    }
    Ok(total)
}
