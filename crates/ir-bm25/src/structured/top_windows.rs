//! Top documents of one phrase or window.
//!
//! A window is scored by the statistics of its terms, so the score of a match is known at once. In
//! most documents the term frequencies bound the score below the k-th score, and no position is
//! read. Blocks of postings are skipped if their impacts bound it so.

use std::cmp::Ordering;

use ir_core::store::OpenIndexError;
use ir_core::{DocNum, Ranking, Search, SearchError, TopK};

use super::evaluate::sum_of;
use super::windows::{Window, Windows};
use crate::Searcher;
use crate::postings::END;
use crate::search::{
    BoundModel, DocumentScores, ListScorer, ListStatistics, ScoredList, search_error,
};
use crate::segments::NumberedSegment;

/// Ranks the documents with matches of a window in the field of `list`.
pub(super) fn top_windows<M: BoundModel>(
    searcher: &Searcher,
    model: &M,
    window: &Window,
    list: ScoredList,
    search: &Search<'_>,
) -> Result<Ranking, SearchError> {
    let terms = window.terms.iter();
    let statistics = terms.map(|(term, _)| searcher.term_statistics(list.field, term));
    let statistics: Result<Vec<ListStatistics>, _> = statistics.collect();
    let statistics = statistics.map_err(search_error)?;
    let mut best = TopK::new(search.k());
    for numbered in searcher.index().numbered_segments() {
        let index = &numbered.segment.index;
        let opened = Windows::open(index, list.field, window).map_err(search_error)?;
        let Some(windows) = opened else {
            continue;
        };
        let postings = windows.max_docs();
        let list = ScoredList { postings, ..list };
        let scorers = model.window_scorers(index, list, &statistics);
        let scorers = scorers.map_err(search_error)?;
        let terms = statistics.iter().map(|&term| (list, term));
        let documents = model.document_scores(index, terms).map_err(search_error)?;
        let scores = (&*scorers, &documents);
        add_top(windows, scores, numbered, search, &mut best).map_err(search_error)?;
    }
    best.finish()
}

/// Adds the documents of a segment that may be among the best.
fn add_top<S: ListScorer>(
    mut windows: Windows<'_>,
    (scorers, documents): (&[S], &DocumentScores<'_>),
    numbered: &NumberedSegment,
    search: &Search<'_>,
    best: &mut TopK,
) -> Result<(), OpenIndexError> {
    let most_added = documents.bound();
    let mut doc = 0;
    // Last document and bound of the current block.
    let mut block = (None, f32::INFINITY);
    loop {
        if best.worst().is_some()
            && let Some((last, impacts)) = windows.impacts(doc)
        {
            if block.0 != Some(last) {
                let impacts: Vec<_> = impacts.collect();
                let bound = sum_of(scorers, |scorer| scorer.bound(impacts.iter().copied()));
                block = (Some(last), (bound + most_added) as f32);
            }
            let first = numbered.least_number(DocNum::new(doc));
            if !may_enter(best, first, block.1) {
                if last == END {
                    break;
                }
                doc = last + 1;
                continue;
            }
        }
        doc = windows.seek(doc);
        if doc == END {
            break;
        }
        let local = DocNum::new(doc);
        if numbered.segment.is_live(local) {
            let number = numbered.number(local);
            if search.allows(number) {
                let most = windows.max_count();
                let bound = sum_of(scorers, |scorer| scorer.bound_up_to(doc, most));
                if may_enter(best, number, (bound + most_added) as f32) {
                    let tf = windows.count()?;
                    if tf > 0 {
                        let score = sum_of(scorers, |scorer| scorer.score(doc, tf));
                        best.push(number, documents.add_to(score, doc) as f32);
                    }
                }
            }
        }
        doc += 1;
    }
    windows.take_damage().map_or(Ok(()), Err)
}

/// Returns `true` if a document from `doc` on with at most this score may be among the best.
fn may_enter(best: &TopK, doc: DocNum, bound: f32) -> bool {
    best.worst()
        .is_none_or(|worst| match bound.partial_cmp(&worst.score) {
            Some(Ordering::Less) => false,
            Some(Ordering::Equal) => doc < worst.doc,
            Some(Ordering::Greater) | None => true,
        })
}
