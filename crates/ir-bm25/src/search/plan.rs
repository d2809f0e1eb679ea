//! A query bound to an index: one slot for every term and field that occurs.

use std::collections::HashMap;

use ir_core::Analyzer;

use super::score::{FieldModel, TermScorer};
use crate::Index;
use crate::error::Damaged;
use crate::postings::Cursor;

/// One term of the query in one field.
#[derive(Debug)]
pub(super) struct Slot<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) scorer: TermScorer<'a>,
    /// No posting of the list adds more than this.
    pub(super) bound: f32,
    pub(super) field: usize,
    /// Which term of the query.
    pub(super) term: usize,
    pub(super) idf: f32,
    pub(super) boost: f32,
}

/// The slots of a query, in the order of the terms in the query, for each term in the order of the fields.
/// This is the order in which the parts of a score are added up.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) slots: Vec<Slot<'a>>,
}

/// The different terms of a query with their counts, in the order of their first appearance.
pub(super) fn terms_of(analyzer: &dyn Analyzer, query: &str) -> Vec<(String, u32)> {
    let mut terms: Vec<(String, u32)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    analyzer.analyze(query, &mut |token| match known.get(token.term) {
        Some(&at) => terms[at].1 = terms[at].1.saturating_add(1),
        None => {
            known.insert(token.term.to_owned(), terms.len());
            terms.push((token.term.to_owned(), 1));
        }
    });
    terms
}

impl<'a> Plan<'a> {
    /// Looks the terms up. Terms that do not occur, and fields of weight 0, have no slot.
    pub(super) fn new(
        index: &'a Index,
        models: &'a [FieldModel],
        weights: &[f32],
        terms: &[(String, u32)],
    ) -> Result<Self, Damaged> {
        let mut slots = Vec::with_capacity(terms.len());
        for (term, (text, count)) in terms.iter().enumerate() {
            for (field, (model, &weight)) in models.iter().zip(weights).enumerate() {
                if weight == 0.0 {
                    continue;
                }
                let Some(mut cursor) = index.cursor(field, text)? else {
                    continue;
                };
                if u64::from(cursor.df()) > model.documents() {
                    return Err(Damaged);
                }
                let (idf, boost) = (model.idf(cursor.df()), *count as f32 * weight);
                let scorer = TermScorer {
                    model,
                    codes: index.codes(field),
                    lengths: index.lengths(field),
                    weight: boost * idf,
                };
                let bound = match cursor.list_points() {
                    Some(points) => scorer.bound(points),
                    None => match cursor.seek(0) {
                        crate::postings::END => return Err(Damaged),
                        doc => scorer.part(doc, cursor.tf()),
                    },
                };
                slots.push(Slot {
                    cursor,
                    scorer,
                    bound,
                    field,
                    term,
                    idf,
                    boost,
                });
            }
        }
        Ok(Self { slots })
    }

    /// Whether the parts of a score give the same sum in whatever order they are added up in double precision.
    ///
    /// Every part is `w - y` with `y = w / (1 + x)` rounded to single, `0 <= y <= w`. For `y >= w/2` the difference
    /// is exact and a multiple of the spacing of floats at `w/2`; otherwise it is rounded to a float of at least
    /// `w/2`. So all parts of a term, and all bounds of them, are multiples of half the spacing of floats at `w`; and
    /// sums below 2^53 multiples of the smallest such step are exact. That holds unless the weights of one query are
    /// more than 2^28 apart.
    pub(super) fn is_order_free(&self) -> bool {
        let weights = self.slots.iter().map(|slot| f64::from(slot.scorer.weight));
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

    /// Postings of all slots.
    pub(super) fn postings(&self) -> u64 {
        let dfs = self.slots.iter().map(|slot| u64::from(slot.cursor.df()));
        dfs.sum()
    }

    pub(super) fn check(&self) -> Result<(), Damaged> {
        let damaged = self.slots.iter().any(|slot| slot.cursor.is_damaged());
        if damaged { Err(Damaged) } else { Ok(()) }
    }
}
