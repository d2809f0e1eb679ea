//! Exhaustive scoring, the reference for pruning.

use ir_core::{DocNum, Search};

use super::accumulator::Accumulator;
use super::collector::Collector;
use super::list_scorer::TermScores;
use super::score_window::ScoreWindow;
use crate::postings::END;

/// Scores every document that contains a query term.
pub(super) fn score_all<const WORDS: usize, A: Accumulator, T: TermScores>(
    window: &mut ScoreWindow<WORDS, A>,
    terms: &mut [T],
    documents: u32,
    search: &Search<'_>,
    best: &mut Collector<'_>,
) {
    let postings: u64 = terms.iter().map(TermScores::postings).sum();
    window.set_density(postings as f64 / f64::from(documents));
    let mut start = 0;
    while start < documents {
        window.reset(start, documents, 0.0, best.threshold());
        let mut next = END;
        for term in &mut *terms {
            next = next.min(term.add_to_window(window));
        }
        window.drain(0.0, best.threshold(), |doc, sum| {
            let doc = DocNum::new(doc);
            if search.allows(doc) {
                best.push(doc, sum);
            }
            best.threshold()
        });
        start = next;
    }
}

/// Scores every document that the filter allows. Fast if these are few.
pub(super) fn score_allowed<T: TermScores>(
    terms: &mut [T],
    documents: u32,
    search: &Search<'_>,
    best: &mut Collector<'_>,
) {
    for doc in (0..documents)
        .map(DocNum::new)
        .filter(|&doc| search.allows(doc))
    {
        if let Some(sum) = sum_of(terms, doc) {
            best.push(doc, sum);
        }
    }
}

/// The sum of the term scores of one document; [`None`] if it contains no query term. Successive
/// calls must pass ascending documents.
fn sum_of<T: TermScores>(terms: &mut [T], doc: DocNum) -> Option<f64> {
    let scores = terms.iter_mut().filter_map(|term| term.score_of(doc.get()));
    scores.reduce(|sum, score| sum + score)
}
