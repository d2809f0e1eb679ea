//! A query bound to an index: one posting list for every pair of a query term and a field.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};

use ir_core::Analyzer;
use ir_core::store::OpenIndexError;
use rustc_hash::FxBuildHasher;

use super::WeightedTerm;
use super::document_scores::DocumentScores;
use super::list_scorer::{BoundModel, ListScorer, ListStatistics, QueryTerm, ScoredList};
use crate::Index;
use crate::postings::{END, PostingsCursor};

/// The posting lists of a query, ordered by query term, then by field. Term scores are summed in
/// this order.
#[derive(Debug)]
pub(crate) struct QueryPlan<'a, S> {
    pub(super) terms: Vec<QueryTerm<'a, S>>,
    pub(super) documents: DocumentScores<'a>,
}

/// Maximum number of tokens of a query for a fast hash function. The terms of longer queries could
/// be made to collide.
const FAST_HASH_TOKENS: usize = 1024;

/// The distinct terms of a query in order of first occurrence, weighted by their counts.
pub(crate) fn count_terms(analyzer: &dyn Analyzer, query: &str) -> Vec<WeightedTerm> {
    let mut text = String::with_capacity(query.len());
    let mut ends = Vec::new();
    analyzer.analyze(query, &mut |token| {
        text.push_str(token.term);
        ends.push(text.len());
    });
    if ends.len() <= FAST_HASH_TOKENS {
        count_tokens::<FxBuildHasher>(&text, &ends)
    } else {
        count_tokens::<RandomState>(&text, &ends)
    }
}

/// Counts the tokens that end at these offsets of the text.
fn count_tokens<H: BuildHasher + Default>(text: &str, ends: &[usize]) -> Vec<WeightedTerm> {
    let mut terms: Vec<(&str, u32)> = Vec::with_capacity(ends.len());
    let mut known = HashMap::with_capacity_and_hasher(ends.len(), H::default());
    let mut start = 0;
    for &end in ends {
        let term = text.get(start..end).unwrap_or_default();
        start = end;
        match known.entry(term) {
            Entry::Occupied(at) => {
                let (_, count): &mut (&str, u32) = &mut terms[*at.get()];
                *count = count.saturating_add(1);
            }
            Entry::Vacant(new) => {
                new.insert(terms.len());
                terms.push((term, 1));
            }
        }
    }
    let weighted = |(term, count)| WeightedTerm::new(term, count as f32);
    terms.into_iter().map(weighted).collect()
}

/// The posting list of a query term in one field.
#[derive(Debug)]
pub(crate) struct TermList<'a> {
    pub(crate) cursor: PostingsCursor<'a>,
    pub(crate) field: usize,
    /// Number of the term in the query.
    pub(crate) number: usize,
    /// Weight in the query, by default the count.
    pub(crate) count: f32,
    /// Weight of the field.
    pub(crate) weight: f32,
    /// Number of postings of deleted documents.
    pub(crate) deleted: u32,
}

impl TermList<'_> {
    fn scored(&self) -> ScoredList {
        ScoredList {
            field: self.field,
            count: self.count,
            weight: self.weight,
            postings: self.cursor.df,
        }
    }
}

/// Opens the posting lists of the query terms in an index. Terms that do not occur and fields of
/// weight 0 have none.
pub(crate) fn open_lists<'a>(
    index: &'a Index,
    weights: &[f32],
    terms: &[WeightedTerm],
) -> Result<Vec<TermList<'a>>, OpenIndexError> {
    let mut searched = Vec::with_capacity(terms.len());
    for (number, of_query) in terms.iter().enumerate() {
        for (field, &weight) in weights.iter().enumerate() {
            if weight != 0.0 {
                searched.push((number, field, of_query, weight));
            }
        }
    }
    let keys = searched
        .iter()
        .map(|&(_, field, of_query, _)| (field, of_query.term.as_str()));
    let cursors = index.cursors(keys)?;
    let found = searched
        .iter()
        .zip(cursors)
        .filter_map(|(searched, cursor)| {
            let &(number, field, of_query, weight) = searched;
            Some(TermList {
                cursor: cursor?,
                field,
                number,
                count: of_query.weight,
                weight,
                deleted: 0,
            })
        });
    Ok(found.collect())
}

impl<'a, S: ListScorer> QueryPlan<'a, S> {
    /// Binds posting lists to a model and to the `statistics` of their terms in the collection.
    /// `documents` is what documents add to the sums of their term scores. Lists with a document
    /// frequency of 0 are dropped.
    pub(crate) fn new<M: BoundModel<Scorer<'a> = S>>(
        index: &'a Index,
        model: &'a M,
        lists: Vec<TermList<'a>>,
        statistics: impl Fn(&TermList<'_>) -> ListStatistics,
        documents: DocumentScores<'a>,
    ) -> Result<Self, OpenIndexError> {
        let mut terms = Vec::with_capacity(lists.len());
        for mut list in lists {
            let statistics = statistics(&list);
            let documents = model.documents(list.field);
            let Some(documents) = documents.filter(|_| statistics.df > 0) else {
                continue;
            };
            if u64::from(statistics.df) > documents {
                return Err(list.cursor.malformed());
            }
            let scorer = model.scorer(index, list.scored(), statistics)?;
            let cursor = &mut list.cursor;
            let bound = match cursor.list_impacts() {
                Some(impacts) => scorer.bound(impacts),
                None => match cursor.seek(0) {
                    END => return Err(cursor.malformed()),
                    doc => scorer.bound_of_posting(doc, cursor.tf()),
                },
            };
            terms.push(QueryTerm {
                cursor: list.cursor,
                scorer,
                bound,
                field: list.field,
                number: list.number,
                deleted: list.deleted,
            });
        }
        Ok(Self { terms, documents })
    }

    /// A score that at least `k` documents that are not deleted exceed; negative infinity if none
    /// is known. The scores of `k` documents reach a bound of one term, and other terms only add to
    /// them.
    pub(crate) fn floor(&self, k: usize) -> f64 {
        if !S::has_floor(&self.terms) || !self.documents.is_empty() {
            return f64::NEG_INFINITY;
        }
        let bounds = self.terms.iter().flat_map(|term| {
            let postings = k.saturating_add(term.deleted as usize);
            let pairs = term.cursor.kth_impacts(postings);
            pairs.map(|(tf, code)| term.scorer.lower_bound(tf, code))
        });
        bounds.fold(f64::NEG_INFINITY, |most, bound| {
            most.max(f64::from(bound.next_down()))
        })
    }

    /// Returns the damage that a cursor has found.
    pub(crate) fn check(&mut self) -> Result<(), OpenIndexError> {
        let cursors = self.terms.iter_mut().map(|term| &mut term.cursor);
        cursors
            .filter_map(PostingsCursor::take_damage)
            .next()
            .map_or(Ok(()), Err)
    }
}
