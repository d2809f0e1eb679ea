//! Query processing: scoring with dynamic pruning.

mod accumulator;
mod block_max;
mod bm25_scorer;
mod collector;
pub(crate) mod columns;
mod combined_fields;
mod combined_lists;
mod document_scores;
mod exhaustive;
mod explain;
mod lengths;
mod list_scorer;
mod max_score;
mod model_scorer;
mod query;
mod score_table;
mod score_window;
mod scoring;
mod weighted_term;

use ir_core::store::OpenIndexError;
use ir_core::{Ranking, Search, SearchError};

use accumulator::Accumulator;
pub(crate) use bm25_scorer::Bm25Fields;
use collector::Collector;
pub(crate) use combined_fields::CombinedFields;
pub(crate) use combined_lists::{CombinedList, document_frequency, floor, rank_combined};
pub(crate) use document_scores::DocumentScores;
pub(crate) use explain::explain;
pub(crate) use list_scorer::{BoundModel, ListScorer, ListStatistics, ScoredList};
use list_scorer::{QueryTerm, TermScores};
pub(crate) use query::{QueryPlan, TermList, count_terms, open_lists};
use score_window::{INTEGER_WINDOW, ScoreWindow, WIDE_WINDOW, with_window};
pub(crate) use scoring::{Bound, Scoring};
pub use weighted_term::WeightedTerm;

/// Maximum number of posting lists for bounds of blocks. In a long query no list contributes much,
/// so few blocks are skipped.
const MAX_BLOCK_MAX_LISTS: usize = 16;
/// Maximum fraction of postings in essential lists at the first threshold for bounds of blocks. If
/// many postings are scored, wide windows are cheaper than skipping blocks.
const MAX_BLOCK_MAX_ESSENTIAL: f64 = 1.0 / 6.0;

/// Top-k algorithm. Results are bit-identical; only speed differs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pruning {
    /// [`Pruning::Columns`], [`Pruning::BlockMax`] or [`Pruning::MaxScore`], whichever is expected
    /// to be the fastest for the query.
    #[default]
    Auto,
    /// Block-max MaxScore: skips documents that cannot enter the top k, by bounds of the blocks of
    /// posting lists. Fast for short queries with rare terms. BM25F is searched by MaxScore.
    BlockMax,
    /// MaxScore: skips documents by bounds of whole posting lists, over wide windows of documents.
    /// Fast for long queries, and for terms that occur in many documents.
    MaxScore,
    /// Adds upper bounds of the scores of all documents in integers, and computes the scores of the
    /// documents with the highest sums. Fast for long queries over small collections. The bounds of
    /// a term are computed when it is first searched and kept in memory: up to 32 MiB per searcher
    /// and its clones. Applies to [`Bm25`](crate::Bm25) over an index of at most 65,536 documents,
    /// with deleted ones; otherwise as [`Pruning::Auto`].
    Columns,
    /// Scores every document that contains a query term.
    Exhaustive,
}

/// Ranks the documents of an index for a query, given a positive number of hits. Those with a
/// score of at most `floor` may be missing.
pub(crate) fn rank<S: ListScorer>(
    plan: &mut QueryPlan<'_, S>,
    documents: u32,
    search: &Search<'_>,
    pruning: Pruning,
    floor: f64,
) -> Result<Ranking, SearchError> {
    let allowed = search.filter().and_then(|filter| filter.count());
    if plan.terms.is_empty() || allowed == Some(0) {
        return Ok(Ranking::default());
    }
    let QueryPlan {
        terms,
        documents: added,
    } = &mut *plan;
    let collector = || Collector::new(search.k(), floor).with_documents(added);
    let mut best = collector();
    if allowed.is_some_and(|allowed| prefers_seeking(allowed, documents, terms)) {
        exhaustive::score_allowed(terms, documents, search, &mut best);
    } else if pruning == Pruning::Exhaustive || !S::is_order_free(terms) {
        prepare(terms, None);
        with_window(&WIDE_WINDOW, |window| {
            exhaustive::score_all(window, terms, documents, search, &mut best);
        });
    } else {
        let uses_blocks = uses_block_bounds(pruning, terms, floor);
        let mut is_exact = false;
        if let Some(scale) = S::scale(terms) {
            prepare(terms, Some(scale));
            with_window(&INTEGER_WINDOW, |window| {
                window.set_scale(scale);
                prune(window, terms, uses_blocks, documents, search, &mut best);
                is_exact = !window.overflows();
            });
        }
        if !is_exact {
            best = collector();
            prepare(terms, None);
            with_window(&WIDE_WINDOW, |window| {
                prune(window, terms, uses_blocks, documents, search, &mut best);
            });
        }
    }
    let ranking = best.finish();
    plan.check().map_err(search_error)?;
    ranking
}

/// Prepares the lists for a search from the first document, with integer sums if there is a scale.
fn prepare<S: ListScorer>(terms: &mut [QueryTerm<'_, S>], scale: Option<f64>) {
    for term in terms {
        term.cursor.rewind();
        term.scorer.prepare(scale);
    }
}

/// Finds the top k with bounds of blocks or of whole lists.
fn prune<const WORDS: usize, A: Accumulator, S: ListScorer>(
    window: &mut ScoreWindow<WORDS, A>,
    terms: &mut [QueryTerm<'_, S>],
    uses_blocks: bool,
    documents: u32,
    search: &Search<'_>,
    best: &mut Collector<'_>,
) {
    if uses_blocks {
        block_max::search(window, terms, documents, search, best);
    } else {
        max_score::search(window, terms, documents, search, best);
    }
}

/// Returns whether seeking the allowed documents one by one is cheaper than scanning the lists. A
/// filter check costs about half a posting, a seek about thirty.
fn prefers_seeking<T: TermScores>(allowed: usize, documents: u32, terms: &[T]) -> bool {
    let postings: u64 = terms.iter().map(TermScores::postings).sum();
    let seeks = (allowed as u64).saturating_mul(30 * terms.len() as u64);
    seeks.saturating_add(u64::from(documents) / 2) < postings
}

/// Returns whether [`block_max`] is used rather than [`max_score`]. Without a choice, it is faster
/// in short queries if most postings are in lists that cannot lift a document above the first
/// threshold.
fn uses_block_bounds<T: TermScores>(pruning: Pruning, terms: &[T], threshold: f64) -> bool {
    match pruning {
        Pruning::BlockMax => return true,
        Pruning::MaxScore => return false,
        _ if terms.len() > MAX_BLOCK_MAX_LISTS => return false,
        _ => {}
    }
    let mut lists: Vec<_> = terms
        .iter()
        .map(|term| (term.bound(), term.postings() as f64))
        .collect();
    lists.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    let (mut sum, mut all, mut essential) = (0.0, 0.0, 0.0);
    for (bound, postings) in lists {
        all += postings;
        if sum + bound <= threshold {
            sum += bound;
        } else {
            essential += postings;
        }
    }
    essential <= MAX_BLOCK_MAX_ESSENTIAL * all
}

pub(crate) fn search_error(error: OpenIndexError) -> SearchError {
    SearchError::Engine {
        engine: "the BM25 index",
        source: Box::new(error),
    }
}
