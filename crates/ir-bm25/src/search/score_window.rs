//! Term-at-a-time scoring of a window of documents.

use std::cell::Cell;
use std::thread::LocalKey;

use ir_core::TopK;

use super::scorer::TermScorer;
use crate::postings::{BLOCK, END, PostingsCursor};

/// Minimum number of matched documents of a word for one comparison of all its sums with the
/// threshold.
const DENSE: u32 = 16;
/// Documents per word of the set of matched documents.
const WORD: usize = 64;

/// The score that a document must exceed to enter the top k; negative infinity while there are
/// fewer than k hits.
pub(super) fn threshold_of(best: &TopK) -> f64 {
    best.worst()
        .map_or(f64::NEG_INFINITY, |hit| f64::from(hit.score))
}

thread_local! {
    /// Empty window whose sums just fit into the L1 cache, for the next search of the thread.
    pub(super) static NARROW_WINDOW: Cell<Option<Box<ScoreWindow<64>>>> = const { Cell::new(None) };
    /// Empty window whose sums fit into the L2 cache, for the next search of the thread.
    pub(super) static WIDE_WINDOW: Cell<Option<Box<ScoreWindow<1024>>>> = const { Cell::new(None) };
}

/// Runs a search with the window of this thread, which stays in the cache between searches.
pub(super) fn with_window<const WORDS: usize>(
    window_of_thread: &'static LocalKey<Cell<Option<Box<ScoreWindow<WORDS>>>>>,
    search: impl FnOnce(&mut ScoreWindow<WORDS>),
) {
    let mut window = window_of_thread
        .take()
        .unwrap_or_else(|| Box::new(ScoreWindow::new()));
    search(&mut window);
    window_of_thread.set(Some(window));
}

/// Score accumulators for `64 * WORDS` documents, and a bit set of those that contain a query term.
/// `WORDS` is a power of two.
pub(super) struct ScoreWindow<const WORDS: usize> {
    start: u32,
    end: u32,
    sums: Box<[[f64; WORD]; WORDS]>,
    matched: Box<[u64; WORDS]>,
}

impl<const WORDS: usize> ScoreWindow<WORDS> {
    /// Number of documents of a window.
    const DOCS: u32 = {
        assert!(WORDS.is_power_of_two());
        (WORD * WORDS) as u32
    };

    pub(super) fn new() -> Self {
        // Not `Box::new([...])`, which would build the array on the stack.
        fn boxed<T: Clone, const N: usize>(value: T) -> Box<[T; N]> {
            let values = vec![value; N].into_boxed_slice();
            values.try_into().unwrap_or_else(|_| unreachable!())
        }
        Self {
            start: 0,
            end: 0,
            sums: boxed([0.0; WORD]),
            matched: boxed(0),
        }
    }

    /// Moves an empty window to the documents from `start` on, all below `end`.
    pub(super) fn reset(&mut self, start: u32, end: u32) {
        self.start = start;
        self.end = end.min(start.saturating_add(Self::DOCS));
    }

    /// Adds the scores of one term. Skips the blocks for which `skip` returns true when the cursor
    /// is at them. Returns a lower bound, at least `end`, of the next document to score.
    pub(super) fn add(
        &mut self,
        cursor: &mut PostingsCursor<'_>,
        scorer: &TermScorer<'_>,
        mut skip: impl FnMut(&PostingsCursor<'_>) -> bool,
    ) -> u32 {
        let mut scores = [0.0; BLOCK];
        let (mut from, end) = (self.start, self.end);
        loop {
            cursor.shallow(from);
            if skip(cursor) {
                let last = cursor.last_of(cursor.block());
                if last >= end - 1 {
                    return last.saturating_add(1);
                }
                from = last + 1;
                continue;
            }
            let doc = cursor.seek(from);
            if doc == END || doc >= end {
                return doc;
            }
            let (docs, tfs) = cursor.postings();
            let all_inside = docs.last().is_some_and(|&last| last < end);
            let n = if all_inside {
                docs.len()
            } else {
                docs.partition_point(|&doc| doc < end)
            };
            let next = docs.get(n).copied();
            let (docs, tfs) = (&docs[..n.min(docs.len())], &tfs[..n.min(tfs.len())]);
            let scores = &mut scores[..n.min(BLOCK)];
            scorer.scores(docs, tfs, scores);
            for (&doc, &score) in docs.iter().zip(&*scores) {
                let at = doc.wrapping_sub(self.start) as usize;
                // The documents are in the window; the remainder spares a bounds check.
                let word = at / WORD % WORDS;
                self.sums[word][at % WORD] += f64::from(score);
                self.matched[word] |= 1 << (at % WORD);
            }
            match (next, docs.last()) {
                (Some(next), _) => return next,
                (None, Some(&last)) if last + 1 < end => from = last + 1,
                _ => return end,
            }
        }
    }

    /// Empties the window. Calls `visit` with every document that contains a query term and can
    /// have a score above the threshold if `others` is added to its sum, ascending, and with the
    /// sum. `visit` returns the new threshold.
    pub(super) fn drain(
        &mut self,
        others: f64,
        mut threshold: f64,
        mut visit: impl FnMut(u32, f64) -> f64,
    ) {
        let words = (self.end.saturating_sub(self.start) as usize).div_ceil(WORD);
        let matched = self.matched[..words.min(WORDS)].chunks_mut(8);
        for (chunk, (matched, sums)) in matched.zip(self.sums.chunks_mut(8)).enumerate() {
            if matched.iter().fold(0, |all, bits| all | bits) == 0 {
                continue;
            }
            for (word, (matched, sums)) in matched.iter_mut().zip(sums).enumerate() {
                let mut bits = std::mem::take(matched);
                if bits == 0 {
                    continue;
                }
                if WORDS > 64 && bits.count_ones() >= DENSE && max_of(sums) + others <= threshold {
                    *sums = [0.0; WORD];
                    continue;
                }
                let start = self.start + ((8 * chunk + word) * WORD) as u32;
                while bits != 0 {
                    let at = bits.trailing_zeros();
                    bits &= bits - 1;
                    let sum = std::mem::take(&mut sums[at as usize % WORD]);
                    if sum + others > threshold {
                        threshold = visit(start + at, sum);
                    }
                }
            }
        }
    }
}

/// The maximum of nonnegative sums, in independent lanes for vector instructions.
fn max_of(sums: &[f64; WORD]) -> f64 {
    let max = |a: f64, b: f64| if b > a { b } else { a };
    let mut lanes = [0.0; 8];
    for sums in sums.chunks_exact(8) {
        for (lane, &sum) in lanes.iter_mut().zip(sums) {
            *lane = max(*lane, sum);
        }
    }
    lanes.into_iter().fold(0.0, max)
}
