//! A query bound to an index: one posting list for every pair of a query term and a field.

use std::collections::HashMap;

use ir_core::Analyzer;
use ir_core::store::OpenIndexError;

use super::WeightedTerm;
use super::score_table::ScoreTable;
use super::scorer::{FieldModel, TermScorer};
use crate::postings::PostingsCursor;
use crate::{DocLengths, Index};

/// Minimum number of postings for a table of scores.
const MIN_TABLE: u32 = 256;

/// A query term in one field, with its posting list.
#[derive(Debug)]
pub(super) struct QueryTerm<'a> {
    pub(super) cursor: PostingsCursor<'a>,
    pub(super) scorer: TermScorer<'a>,
    /// Scores of small frequencies; [`None`] if the list is too short to pay for them.
    pub(super) table: Option<ScoreTable>,
    /// Upper bound of the term score.
    pub(super) bound: f32,
    pub(super) field: usize,
    /// Number of the term in the query.
    pub(super) number: usize,
    /// Document frequency of the term in the collection.
    pub(super) df: u32,
    pub(super) idf: f32,
    pub(super) boost: f32,
}

/// The posting lists of a query, ordered by query term, then by field. Term scores are summed in
/// this order.
#[derive(Debug, Default)]
pub(crate) struct QueryPlan<'a> {
    pub(super) terms: Vec<QueryTerm<'a>>,
}

/// The distinct terms of a query in order of first occurrence, weighted by their counts.
pub(crate) fn count_terms(analyzer: &dyn Analyzer, query: &str) -> Vec<WeightedTerm> {
    let mut terms: Vec<(String, u32)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    analyzer.analyze(query, &mut |token| match known.get(token.term) {
        Some(&at) => terms[at].1 = terms[at].1.saturating_add(1),
        None => {
            known.insert(token.term.to_owned(), terms.len());
            terms.push((token.term.to_owned(), 1));
        }
    });
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
    /// Weight in the query × weight of the field.
    boost: f32,
}

/// Opens the posting lists of the query terms in an index. Terms that do not occur and fields of
/// weight 0 have none.
pub(crate) fn open_lists<'a>(
    index: &'a Index,
    weights: &[f32],
    terms: &[WeightedTerm],
) -> Result<Vec<TermList<'a>>, OpenIndexError> {
    let mut lists = Vec::with_capacity(terms.len());
    for (
        number,
        WeightedTerm {
            term,
            weight: in_query,
        },
    ) in terms.iter().enumerate()
    {
        for (field, &weight) in weights.iter().enumerate() {
            if weight == 0.0 {
                continue;
            }
            if let Some(cursor) = index.cursor(field, term)? {
                lists.push(TermList {
                    cursor,
                    field,
                    number,
                    boost: in_query * weight,
                });
            }
        }
    }
    Ok(lists)
}

impl<'a> QueryPlan<'a> {
    /// Binds posting lists to the statistics of the collection: `models`, by field, and `df`, the
    /// document frequency of a list's term. Lists with a document frequency of 0 are dropped.
    pub(crate) fn new(
        index: &'a Index,
        models: &'a [FieldModel],
        lists: Vec<TermList<'a>>,
        df: impl Fn(&TermList<'_>) -> u32,
    ) -> Result<Self, OpenIndexError> {
        let mut terms = Vec::with_capacity(lists.len());
        for list in lists {
            let df = df(&list);
            let TermList {
                mut cursor,
                field,
                number,
                boost,
            } = list;
            let Some(model) = models.get(field).filter(|_| df > 0) else {
                continue;
            };
            if u64::from(df) > model.documents {
                return Err(cursor.malformed());
            }
            let idf = model.idf(df);
            let lengths = match model.bm25.lengths {
                DocLengths::OneByte => &[],
                DocLengths::Exact => index.lengths(field)?,
            };
            let scorer = TermScorer {
                model,
                codes: index.codes(field),
                lengths,
                weight: boost * idf,
            };
            let bound = match cursor.list_impacts() {
                Some(impacts) => scorer.bound(impacts),
                None => match cursor.seek(0) {
                    crate::postings::END => return Err(cursor.malformed()),
                    doc => scorer.score(doc, cursor.tf()),
                },
            };
            let one_byte = model.bm25.lengths == DocLengths::OneByte;
            let table = (one_byte && cursor.df >= MIN_TABLE)
                .then(|| ScoreTable::new(scorer.weight, &model.denominators));
            terms.push(QueryTerm {
                cursor,
                scorer,
                table,
                bound,
                field,
                number,
                df,
                idf,
                boost,
            });
        }
        Ok(Self { terms })
    }

    /// Returns whether the sum of term scores in double precision is independent of their order.
    ///
    /// Every term score is `w - y` with `y = w / (1 + x)` rounded to single precision, `0 <= y <=
    /// w`. For `y >= w/2` the difference is exact and a multiple of the spacing of floats at `w/2`;
    /// otherwise it is rounded to a float of at least `w/2`. So all scores of a term, and all
    /// bounds of them, are multiples of half the spacing of floats at `w`; and sums below 2^53
    /// multiples of the smallest such step are exact. That holds unless the weights of one query
    /// are more than 2^28 apart.
    pub(super) fn is_order_free(&self) -> bool {
        let weights = self.terms.iter().map(|term| f64::from(term.scorer.weight));
        let sum: f64 = weights.clone().sum();
        let smallest = weights.fold(f64::INFINITY, f64::min);
        if smallest < f64::from(f32::MIN_POSITIVE) {
            return false;
        }
        // The largest power of two that is not above `smallest`.
        let power = f64::from_bits(smallest.to_bits() & !((1 << 52) - 1));
        let step = power * 2_f64.powi(-24);
        sum < step * 2_f64.powi(53)
    }

    /// Total number of postings.
    pub(super) fn postings(&self) -> u64 {
        let dfs = self.terms.iter().map(|term| u64::from(term.cursor.df));
        dfs.sum()
    }

    /// A score that at least `k` documents exceed if none are deleted; negative infinity if none is
    /// known. The scores of `k` documents reach a bound of one term, and other terms only add to
    /// them.
    pub(crate) fn floor(&self, k: usize) -> f64 {
        let bounds = self.terms.iter().flat_map(|term| {
            let pairs = term.cursor.kth_impacts(k);
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
