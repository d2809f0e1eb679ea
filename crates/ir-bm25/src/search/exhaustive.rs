//! Exhaustive scoring, the reference for pruning.

use ir_core::{DocNum, Search, TopK};

use super::list_scorer::TermScores;
use super::score_window::{ScoreWindow, threshold_of};
use crate::postings::END;

/// Scores every document that contains a query term, and keeps those with a score above `floor`.
pub(super) fn score_all<const WORDS: usize, T: TermScores>(
    window: &mut ScoreWindow<WORDS>,
    terms: &mut [T],
    documents: u32,
    how: &Search<'_>,
    floor: f64,
    best: &mut TopK,
) {
    let mut start = 0;
    while start < documents {
        window.reset(start, documents, 0.0, threshold_of(best).max(floor));
        let mut next = END;
        for term in &mut *terms {
            next = next.min(term.add_to_window(window));
        }
        window.drain(0.0, threshold_of(best).max(floor), |doc, sum| {
            let doc = DocNum::new(doc);
            if how.allows(doc) {
                best.push(doc, sum as f32);
            }
            threshold_of(best).max(floor)
        });
        start = next;
    }
}

/// Scores every document that the filter allows. Fast if these are few.
pub(super) fn score_allowed<T: TermScores>(
    terms: &mut [T],
    documents: u32,
    how: &Search<'_>,
    best: &mut TopK,
) {
    for doc in (0..documents)
        .map(DocNum::new)
        .filter(|&doc| how.allows(doc))
    {
        if let Some(score) = score_doc(terms, doc) {
            best.push(doc, score);
        }
    }
}

/// The score of one document; [`None`] if it contains no query term. Successive calls must pass
/// ascending documents.
fn score_doc<T: TermScores>(terms: &mut [T], doc: DocNum) -> Option<f32> {
    let scores = terms.iter_mut().filter_map(|term| term.score_of(doc.get()));
    let sum = scores.reduce(|sum, score| sum + score);
    sum.map(|sum| sum as f32)
}
