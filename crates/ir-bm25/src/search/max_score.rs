//! Top-k retrieval by MaxScore, where bounds of blocks prune little.
//!
//! In a long query no list contributes much to a high score; in a short one, the lists that do can
//! be long. Then reading a block is cheaper than asking whether it can be skipped. The documents
//! are divided into wide windows. In every window, the lists with the lowest bound per posting,
//! which are the long ones, are *non-essential*: their bounds add up to a fraction of the
//! threshold. The other lists are scored term at a time. A document is a candidate if its sum plus
//! the bounds of the non-essential lists can exceed the threshold. Candidates are completed from
//! these lists, one list after the other. The fraction adapts to the cost of these seeks.
//!
//! The result equals exhaustive scoring bit for bit, for the reasons given in
//! [`super::block_max`]. BM25F, with lists of a term in several fields ([`super::combined_lists`]),
//! is searched so for queries of any length.
//!
//! # Source
//! Turtle and Flood, "Query Evaluation: Strategies and Optimizations", IPM 1995.

use ir_core::{DocNum, Search};

use super::accumulator::Accumulator;
use super::collector::Collector;
use super::list_scorer::TermScores;
use super::score_window::ScoreWindow;
use crate::postings::END;

/// Sum of the bounds of the non-essential lists as a fraction of the threshold: in the first
/// window, and its range.
const FIRST_FRACTION: f64 = 0.4;
const FRACTIONS: std::ops::RangeInclusive<f64> = 0.02..=0.9;
/// Minimum number of windows of a collection that has as many times [`MIN_STEP`] documents.
const WINDOWS: u32 = 16;
/// Minimum number of documents per window.
const MIN_STEP: u32 = 1024;
/// Maximum number of seeks per skipped posting at which the fraction grows.
const MAX_SEEKS: f64 = 0.0125;
/// Minimum rise of the threshold at which the fraction grows again although the last non-essential
/// lists were expensive.
const MIN_RISE: f64 = 1.05;

/// Finds the top k. Stops when integer sums overflow: then the hits are wrong.
pub(super) fn search<const WORDS: usize, A: Accumulator, T: TermScores>(
    window: &mut ScoreWindow<WORDS, A>,
    terms: &mut [T],
    documents: u32,
    search: &Search<'_>,
    best: &mut Collector<'_>,
) {
    let mut lists: Vec<_> = terms.iter_mut().collect();
    let bound_per_posting = |list: &T| list.bound() / list.postings() as f64;
    lists.sort_by(|a, b| bound_per_posting(a).total_cmp(&bound_per_posting(b)));
    // The sum of the bounds of the first `n` lists.
    let mut prefix_bounds = vec![0.0];
    let mut sum = 0.0;
    prefix_bounds.extend(lists.iter().map(|list| {
        sum += list.bound();
        sum
    }));
    // Several windows, so that the threshold rises and the fraction adapts.
    let step = (documents / WINDOWS).max(MIN_STEP);
    // The threshold stays low for a k near the number of documents.
    let mut fraction = if search.k().saturating_mul(32) > documents as usize {
        *FRACTIONS.start()
    } else {
        FIRST_FRACTION
    };
    let mut candidates: Vec<(u32, f64)> = Vec::new();
    // The threshold of the last window with non-essential lists.
    let mut last_threshold = f64::INFINITY;
    let mut start = 0;
    while start < documents {
        let threshold = best.threshold();
        let first_essential =
            prefix_bounds[1..].partition_point(|&sum| sum <= fraction * threshold);
        let others = prefix_bounds[first_essential];
        let (optional, essential) = lists.split_at_mut(first_essential);
        let postings: u64 = essential.iter().map(|list| list.postings()).sum();
        window.set_density(postings as f64 / f64::from(documents));
        let end = start.saturating_add(step).min(documents);
        window.reset(start, end, others, threshold);
        let mut next = END;
        for list in essential {
            next = next.min(list.add_to_window(window));
        }
        candidates.clear();
        window.drain(others, threshold, |doc, sum| {
            if search.allows(DocNum::new(doc)) {
                candidates.push((doc, sum));
            }
            threshold
        });
        if window.overflows() {
            return;
        }
        let seeks = complete(&mut candidates, optional, &prefix_bounds, threshold);
        for &(doc, sum) in &candidates {
            best.push(DocNum::new(doc), sum);
        }
        let has_optional = first_essential > 0;
        if has_optional || threshold > MIN_RISE * last_threshold {
            let scanned = f64::from(next.min(documents) - start) / f64::from(documents);
            let postings = optional.iter().map(|list| list.postings() as f64);
            let skipped = postings.sum::<f64>() * scanned;
            let is_cheap = !has_optional || (seeks as f64) < MAX_SEEKS * skipped;
            fraction = (fraction * if is_cheap { 1.25 } else { 0.8 })
                .clamp(*FRACTIONS.start(), *FRACTIONS.end());
        }
        if has_optional {
            last_threshold = threshold;
        }
        start = next;
    }
}

/// Adds the scores of the non-essential lists to the candidates, and drops those that cannot exceed
/// the threshold. Returns the number of seeks.
fn complete<T: TermScores>(
    candidates: &mut Vec<(u32, f64)>,
    optional: &mut [&mut T],
    prefix_bounds: &[f64],
    threshold: f64,
) -> usize {
    let mut seeks = 0;
    for (list, &others) in optional.iter_mut().zip(prefix_bounds).rev() {
        let bound = others + list.bound();
        candidates.retain_mut(|(doc, sum)| {
            if *sum + bound <= threshold {
                return false;
            }
            seeks += 1;
            *sum += list.score_of(*doc).unwrap_or(0.0);
            true
        });
    }
    seeks
}
