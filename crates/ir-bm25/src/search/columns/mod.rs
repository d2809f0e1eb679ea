//! Top-k retrieval over a small collection by columns of upper bounds.
//!
//! The bound of a term score is the score rounded up to a multiple of a unit of the searcher, as an
//! integer of 8 bits for frequent terms, which have a *column*: a bound for every document, 0 where
//! the term does not occur. Adding columns is one vector addition for many documents, cheaper than
//! a posting list of a term that occurs in one of 64 documents. The bounds of rare terms are added
//! posting by posting.
//!
//! The documents with the highest sums of bounds get their exact scores first; then the documents
//! with a sum that reaches the k-th score. Exact scores are computed from columns of frequencies,
//! term by term in the order of exhaustive scoring, with the same float operations.
//!
//! The result equals exhaustive scoring bit for bit: the sum of the bounds of a document is not
//! below its score ([`term_column`] rounds up by more than all rounding errors), and documents with
//! lower sums than the k-th score are not in the top k.
//!
//! Columns are built when a term is first searched, and kept in at most 32 MiB per searcher and its
//! clones ([`cache`]). A column that is not kept is built for one search. Every segment of an index
//! has columns of its own, with the idf of the term in all segments; sums of deleted documents are
//! set to 0.
//!
//! # Source
//! Lin and Trotman, "Anytime Ranking for Impact-Ordered Indexes", ICTIR 2015, quantizes scores to
//! integers; Lù, "BM25S", 2024, stores scores and adds these up for all documents.
//!
//! A query as long as a document has a hundred frequent terms, which no bound prunes. A byte per
//! document and term is added at a fraction of an instruction, a posting costs twenty. Beyond
//! 65,536 documents, columns would not fit into CPU caches, and posting lists are faster.

mod cache;
mod candidates;
mod kernels;
mod term_column;
#[cfg(test)]
mod tests;

use std::cell::Cell;

use ir_core::store::OpenIndexError;
use ir_core::{DocSet, Ranking, Search, SearchError};

use super::bm25_scorer::Bm25Fields;
use super::list_scorer::ListStatistics;
use super::weighted_term::WeightedTerm;
use crate::{Index, Pruning};
use cache::CachedColumns;
pub(crate) use cache::ColumnCache;
use candidates::{Lists, Scratch};
use term_column::{TermColumn, Unit};

/// Maximum number of documents of a collection with columns.
const MAX_DOCUMENTS: usize = 1 << 16;
/// Maximum number of documents per query term: others are faster by posting lists.
const DOCUMENTS_PER_TERM: usize = 4096;
/// Minimum number of documents per hit.
const DOCUMENTS_PER_HIT: usize = 4;
/// Minimum number of documents per document that passes a filter.
const DOCUMENTS_PER_ALLOWED: usize = 8;
/// Range of the weights of posting lists. Rounding errors of others are not bounded.
const WEIGHTS: std::ops::Range<f32> = 1e-30..1e30;
/// Weights are multiples of the highest divided by one of these, unless all are integers.
const WEIGHT_STEPS: [f64; 3] = [64.0, 32.0, 16.0];
/// Higher weights, even if all are integers, are rounded to steps of [`WEIGHT_STEPS`].
const MAX_WEIGHT: f32 = 255.0;
/// Maximum sum of the maximum bounds of all lists. No document comes near it; documents with sums
/// that do not fit into 16 bits are scored.
const MAX_SUM: u64 = 4 << 16;

thread_local! {
    /// Memory for the next search of the thread.
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// A posting list of a query with its column.
struct QueryColumn<'a> {
    column: &'a TermColumn,
    field: usize,
    /// Weight in the query × weight of the field.
    boost: f32,
    /// Limit of the term score as the frequency grows: boost × idf.
    weight: f32,
    /// Factor of the bounds.
    multiplier: u16,
}

/// A segment of the index that is searched.
#[derive(Clone, Copy)]
pub(crate) struct ColumnSegment<'a> {
    pub(crate) index: &'a Index,
    /// Number among the segments.
    pub(crate) number: usize,
    pub(crate) deleted: &'a DocSet,
    /// Scores below this are no hits.
    pub(crate) floor: f32,
    /// Statistics of a term in a field in all segments, without deleted documents. [`None`] if
    /// this is the only segment and no document is deleted.
    pub(crate) statistics: Option<&'a GlobalStatistics<'a>>,
}

/// Function from a field and a term to its statistics in all segments.
pub(crate) type GlobalStatistics<'a> =
    dyn Fn(usize, &str) -> Result<ListStatistics, OpenIndexError> + 'a;

/// Returns whether an index, with its number of documents in all segments, is searched by columns.
pub(crate) fn applies(
    documents: usize,
    terms: usize,
    search: &Search<'_>,
    pruning: Pruning,
) -> bool {
    match pruning {
        Pruning::Auto => pays(documents, terms, search),
        Pruning::Columns => documents <= MAX_DOCUMENTS,
        Pruning::BlockMax | Pruning::MaxScore | Pruning::Exhaustive => false,
    }
}

/// Ranks the documents of a segment for a query, given a positive number of hits. [`None`] if the
/// weights have too wide a range or the index is damaged, which posting lists report.
pub(crate) fn search(
    segment: ColumnSegment<'_>,
    (model, cache): (&Bm25Fields, &ColumnCache),
    field_weights: &[f32],
    terms: &[WeightedTerm],
    search: &Search<'_>,
) -> Result<Option<Ranking>, SearchError> {
    let Some(unit) = Unit::new(model, segment.index.len() as u32) else {
        return Ok(None);
    };
    let first_slot = segment.number * model.fields().len();
    let cells: Vec<_> = cells(field_weights, terms, first_slot).collect();
    let mut cached = cache.read();
    let unkept;
    let mut columns = bind(&cells, &cached, &[]);
    if columns.len() < cells.len() {
        drop(columns);
        let missing = cells.iter().enumerate();
        let missing = missing.filter(|(_, cell)| cached.get(cell.slot, &cell.term.term).is_none());
        let missing: Vec<_> = missing.collect();
        drop(cached);
        let Ok(built) = build_missing(segment, (model, cache), &missing, unit) else {
            return Ok(None);
        };
        unkept = built;
        cached = cache.read();
        columns = bind(&cells, &cached, &unkept);
    }
    columns.retain(|list| list.column.max_bound > 0);
    if columns.is_empty() {
        return Ok(Some(Ranking::default()));
    }
    let Some(scale) = set_multipliers(&mut columns) else {
        return Ok(None);
    };
    let lists = Lists {
        columns,
        unit: unit.value * scale,
    };
    let mut scratch = SCRATCH.take().unwrap_or_default();
    let best = scratch.search(segment, model, &lists, search);
    SCRATCH.set(Some(scratch));
    match best {
        Ok(best) => best.finish().map(Some),
        Err(_) => Ok(None),
    }
}

/// Returns whether columns are faster than posting lists.
fn pays(documents: usize, terms: usize, search: &Search<'_>) -> bool {
    let allowed = search.filter().and_then(|filter| filter.count());
    documents <= MAX_DOCUMENTS
        && documents <= DOCUMENTS_PER_TERM.saturating_mul(terms)
        && search.k().saturating_mul(DOCUMENTS_PER_HIT) <= documents
        && allowed.is_none_or(|allowed| allowed.saturating_mul(DOCUMENTS_PER_ALLOWED) >= documents)
}

/// A query term in one field.
struct QueryCell<'a> {
    term: &'a WeightedTerm,
    field: usize,
    /// Number of the field among the fields of all segments.
    slot: usize,
    field_weight: f32,
}

/// The terms of a query by field, in the order in which their scores are added.
fn cells<'a>(
    field_weights: &'a [f32],
    terms: &'a [WeightedTerm],
    first_slot: usize,
) -> impl Iterator<Item = QueryCell<'a>> {
    terms.iter().flat_map(move |term| {
        let weights = field_weights.iter().copied().enumerate();
        let searched = weights.filter(|&(_, weight)| weight != 0.0);
        searched.map(move |(field, field_weight)| QueryCell {
            term,
            field,
            slot: first_slot + field,
            field_weight,
        })
    })
}

/// The columns of the terms that have one in the cache or in `unkept`.
fn bind<'a>(
    cells: &[QueryCell<'_>],
    cached: &'a CachedColumns,
    unkept: &'a [UnkeptColumn],
) -> Vec<QueryColumn<'a>> {
    let mut unkept = unkept.iter().peekable();
    let bound = cells.iter().enumerate().filter_map(|(at, cell)| {
        let own = unkept.next_if(|column| column.cell == at);
        let own = own.map(|unkept| &unkept.column);
        let column = own.or_else(|| cached.get(cell.slot, &cell.term.term))?;
        let boost = cell.term.weight * cell.field_weight;
        Some(QueryColumn {
            column,
            field: cell.field,
            boost,
            weight: boost * column.idf,
            multiplier: 0,
        })
    });
    bound.collect()
}

/// A column of one search.
struct UnkeptColumn {
    /// Index of the term and field in the query.
    cell: usize,
    column: TermColumn,
}

/// Builds the columns of terms that are not in the cache. Returns those that it has no room for.
fn build_missing(
    segment: ColumnSegment<'_>,
    (model, cache): (&Bm25Fields, &ColumnCache),
    missing: &[(usize, &QueryCell<'_>)],
    unit: Unit,
) -> Result<Vec<UnkeptColumn>, OpenIndexError> {
    let ColumnSegment { index, .. } = segment;
    let fields = model.fields();
    let mut unkept = Vec::new();
    for &(at, cell) in missing {
        let term = &*cell.term.term;
        let Some(field) = fields.get(cell.field) else {
            continue;
        };
        let known = match segment.statistics {
            Some(_) => cache.read().idf(cell.field, fields.len(), term),
            None => None,
        };
        let column = match index.cursor(cell.field, term)? {
            // Not kept without idf: queries may have any number of unknown terms.
            None => known.map(TermColumn::empty),
            Some(mut cursor) => {
                let idf = match (known, segment.statistics) {
                    (Some(idf), _) => idf,
                    (None, Some(statistics)) => field.idf(statistics(cell.field, term)?.df),
                    (None, None) if u64::from(cursor.df) > field.documents() => {
                        return Err(cursor.malformed());
                    }
                    (None, None) => field.idf(cursor.df),
                };
                let lengths = (index.len(), field.lengths(index, cell.field)?);
                let is_kept = cache.has_room(index.len());
                let built = TermColumn::build(&mut cursor, field, idf, lengths, unit, is_kept);
                Some(built?)
            }
        };
        if let Some(column) = column
            && let Err(column) = cache.keep(cell.slot, term, column)
        {
            unkept.push(UnkeptColumn { cell: at, column });
        }
    }
    Ok(unkept)
}

/// Sets the factors of the bounds. Returns the factor by which the product of a bound and its
/// factor is too large; [`None`] if weights are out of range or many sums could overflow.
fn set_multipliers(columns: &mut [QueryColumn<'_>]) -> Option<f64> {
    let in_range =
        |list: &QueryColumn<'_>| WEIGHTS.contains(&list.boost) && WEIGHTS.contains(&list.weight);
    columns.iter().all(in_range).then_some(())?;
    let is_whole = |list: &QueryColumn<'_>| list.boost.fract() == 0.0 && list.boost <= MAX_WEIGHT;
    if columns.iter().all(is_whole) {
        return scale_weights(columns, 1.0);
    }
    let most = columns.iter().map(|list| list.boost).fold(0.0, f32::max);
    let mut scales = WEIGHT_STEPS.iter().map(|steps| f64::from(most) / steps);
    scales.find_map(|scale| scale_weights(columns, scale))
}

fn scale_weights(columns: &mut [QueryColumn<'_>], scale: f64) -> Option<f64> {
    let mut sum = 0;
    for list in columns {
        list.multiplier = (f64::from(list.boost) / scale).ceil() as u16;
        sum += u64::from(list.multiplier) * u64::from(list.column.max_bound);
    }
    (sum <= MAX_SUM).then_some(scale)
}
